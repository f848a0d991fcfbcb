"""Styled lines in, text with colour out: the only module that knows rich."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from trainlint.report.text import Line


def coloured(lines: Iterable[Line]) -> str:
    """The lines with the escape codes of a terminal, never wrapped."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, no_color=False, color_system="standard", legacy_windows=False)
    for line in lines:
        console.print(Text.assemble(*((piece, style) for style, piece in line)), soft_wrap=True)
    return text.getvalue()


def picture(lines: Iterable[Line], title: str, width: int) -> str:
    """The lines as a terminal of this width shows them, as SVG that asks nobody for a font."""
    console = Console(file=io.StringIO(), record=True, width=width, force_terminal=True, color_system="standard")
    for line in lines:
        console.print(Text.assemble(*((piece, style) for style, piece in line)))
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title=title, code_format=form, unique_id="trainlint")


class Bar:
    """A bar on the error stream, which leaves no trace."""

    def __init__(self) -> None:
        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("reading", total=None)
        self._bar.start()

    def draw(self, done: int, total: int) -> None:
        """Show that so much is done."""
        self._bar.update(self._task, completed=done, total=total)

    def end(self) -> None:
        """Take it away."""
        self._bar.stop()
