"""``trainlint diff``: a revision and paths in, what changed in value since then out, and an exit status."""

from __future__ import annotations

import os

from trainlint import config
from trainlint.cli import UsageError
from trainlint.cli.check import layers, requested
from trainlint.cli.options import Said
from trainlint.cli.output import COLOURS, choice, write
from trainlint.config import ConfigError
from trainlint.difference import difference
from trainlint.report.difference import as_json, as_markdown, as_text
from trainlint.revision import NoRevision
from trainlint.selection import UnknownSelector

FORMATS = ("text", "json", "markdown")


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Print what changed; 1 if there are new findings at the gate."""
    folder, colour = os.getcwd(), choice(said, "color", COLOURS)
    form = choice(said, "output-format", FORMATS)
    if not arguments:
        raise UsageError("since when? give a revision, as in `trainlint diff HEAD`, `trainlint diff main src`")
    revision, *paths = arguments
    if ".." in revision:
        raise UsageError(f"{revision}: one revision; it is compared with the files as they are now")
    try:
        own = {name: values for name, values in said.items() if name != "output-format"}
        given = tuple(layers(own, folder))
        here = config.nearest(folder) if "isolated" not in said else None
        settings = config.settings((*((here,) if here else ()), *given))
        found = difference(revision, requested(tuple(paths), said, given, settings.src))
    except (ConfigError, UnknownSelector, NoRevision) as error:
        raise UsageError(str(error)) from error
    if form == "text":
        write(as_text(found, folder), "", colour)
    else:
        write(iter([(("", (as_json if form == "json" else as_markdown)(found, folder)),)]), "", "never")
    return int(bool(found.failing))
