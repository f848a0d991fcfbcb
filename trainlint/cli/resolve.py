"""``trainlint resolve``: places in, what the reader believes of them out."""

from __future__ import annotations

import os

from trainlint.check import Request
from trainlint.cli import UsageError, complain
from trainlint.cli.check import jobs, layers
from trainlint.cli.options import Said
from trainlint.cli.output import COLOURS, choice, write
from trainlint.config import ConfigError
from trainlint.report.resolution import Resolution, as_json, as_table, as_text
from trainlint.resolve import NoPlace, place, resolve
from trainlint.selection import UnknownSelector

FORMATS = ("text", "json")


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Print what is believed of these places; 2 where a file could not be read."""
    folder, colour = os.getcwd(), choice(said, "color", COLOURS)
    form = choice(said, "output-format", FORMATS)
    if not arguments:
        raise UsageError("of what? give a file, a folder, or a line as FILE:LINE")
    try:
        request = Request((), folder, tuple(layers(said, folder)), "isolated" in said, jobs(said))
        found = [resolve(place(words, folder), request) for words in arguments]
    except (ConfigError, UnknownSelector, NoPlace) as error:
        raise UsageError(str(error)) from error
    everything = Resolution(
        tuple(dict.fromkeys(site for each in found for site in each.sites)),
        tuple(name for each in found for name in each.names),
        tuple(dict.fromkeys(fault for each in found for fault in each.faults)),
    )
    if form == "json":
        write(iter([(("", as_json(everything, folder)),)]), "", "never")
    else:
        write((as_table if "table" in said else as_text)(everything, folder), "", colour)
    for fault in everything.faults:
        complain(fault)
    return 2 if everything.faults else 0
