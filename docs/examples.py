"""Write the examples of these pages: ``python docs/examples.py`` makes output-formats.md and finding.svg."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from trainlint.check import Request, check
from trainlint.cli.output import FORMATS, rendered
from trainlint.report import Report
from trainlint.report.colour import picture
from trainlint.report.text import plain

DOCS = Path(__file__).parent
EXAMPLE = DOCS.parent / "examples" / "codec_lm"
PAGE = DOCS / "output-formats.md"
PICTURE = DOCS / "finding.svg"

HEAD = """\
# One finding in every format

Of the program in `examples/codec_lm`, `trainlint . --output-format FORMAT` says what follows. `python docs/examples.py`
writes this page, and a test holds it in step. Left out are the page of the rule in SARIF, and the kinds of places that
the program has none of in JSON. What the formats are for is told in [The command line](command-line.md#formats).
"""

SHOWN_AS = {
    "full": "text",
    "concise": "text",
    "json": "json",
    "json-lines": "json",
    "sarif": "json",
    "github": "text",
    "gitlab": "json",
    "junit": "xml",
    "rdjson": "json",
    "markdown": "markdown",
}


def page() -> str:
    """The text of the page."""
    with tempfile.TemporaryDirectory() as folder:
        report = checked(Path(folder))
        return "\n".join([HEAD, *(section(name, report, folder) for name in FORMATS)])


def checked(folder: Path) -> Report:
    """What is found in a copy of the example in this folder."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    return check(Request((".",), str(folder), isolated=True))


def section(name: str, report: Report, folder: str) -> str:
    """One format."""
    text = "".join(plain(rendered(name, report, folder, {})))
    text = text.replace(Path(folder).as_uri(), "file:///home/user/codec_lm")
    return f"## {name}\n\n````{SHOWN_AS[name]}\n{SHORTER.get(name, str)(text)}````\n"


def without_pages(text: str) -> str:
    """A SARIF log without the pages of the rules, which are long."""
    document = json.loads(text)
    for rule in document["runs"][0]["tool"]["driver"]["rules"]:
        rule["help"] = {"text": "(the page of the rule)", "markdown": "(the page of the rule)"}
    return json.dumps(document, indent=1) + "\n"


def without_nothing(text: str) -> str:
    """A document in JSON, or lines of it, without the kinds that the program has none of."""
    indent = 1 if text.startswith("{\n") else None
    documents = [json.loads(text)] if indent else [json.loads(line) for line in text.splitlines()]
    for each in (each for each in documents if "judged" in each):
        each["judged"] = {kind: tally for kind, tally in each["judged"].items() if tally["total"]}
    return "".join(f"{json.dumps(each, indent=indent)}\n" for each in documents)


SHORTER: Mapping[str, Callable[[str], str]] = {
    "sarif": without_pages,
    "json": without_nothing,
    "json-lines": without_nothing,
}


def drawing() -> str:
    """The finding as a terminal shows it."""
    with tempfile.TemporaryDirectory() as folder:
        lines = list(rendered("full", checked(Path(folder)), folder, {}))
    return picture(lines, "trainlint", width=WIDTH)


WIDTH = 134
"""Columns of the terminal: no line is broken."""


def written() -> Iterator[Path]:
    """Write both."""
    PAGE.write_text(page(), encoding="utf-8")
    yield PAGE
    PICTURE.write_text(drawing(), encoding="utf-8")
    yield PICTURE


if __name__ == "__main__":
    for path in written():
        print(path)
