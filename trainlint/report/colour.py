"""Styled lines in, text with colour out: the only module that knows rich."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from trainlint.report.text import Line


def coloured(lines: Iterable[Line]) -> str:
    """The lines with the escape codes of a terminal, never wrapped."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, no_color=False, color_system="standard", legacy_windows=False)
    for line in lines:
        console.print(Text.assemble(*((piece, style) for style, piece in line)), soft_wrap=True)
    return text.getvalue()
