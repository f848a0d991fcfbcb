"""The commands behind the word ``probe``, said once, and what to tell someone who has no torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trainlint.cli import UsageError
from trainlint.cli.options import CHECK, Command, Kind, Option

HELP = """Measure what source code cannot show. Needs torch: pip install 'trainlint[probe]'."""

NO_TORCH = "this needs torch: pip install 'trainlint[probe]'"

JUDGING = tuple(
    option
    for option in CHECK.options
    if option.name
    in {"select", "ignore", "extend-select", "extend-ignore", "fail-on", "config", "isolated", "color", "quiet"}
)
REPORTS = (
    Option("output-format", "How to write it, as in check (default: full).", Kind.ONE, "FORMAT"),
    Option("output", "Write the report to a file instead.", Kind.ONE, "FILE", short="-o"),
)

RUN = Command(
    "run",
    "Run a training script as it is and watch it: `probe run train.py ARGS`, `probe run -m pkg.train ARGS`, or any"
    " program that starts Python: `probe run -- torchrun train.py ARGS`.",
    "command",
    "A script, -m and a module, or -- and a program; with its arguments.",
    (
        Option("every", "Look at every so many calls of a loss in depth (default: 10).", Kind.ONE, "N"),
        Option("steps", "End the run after so many optimizer steps.", Kind.ONE, "N"),
        Option("report", "Keep the records of the run in this folder.", Kind.ONE, "FOLDER"),
        *REPORTS,
        *JUDGING,
    ),
    "trainlint.cli.watched",
    passes_on=True,
)

REPORT = Command(
    "report",
    "Say what the records of a run show.",
    "folders",
    "The folder that `probe run --report` or `watch` wrote to.",
    (*REPORTS, *JUDGING),
    "trainlint.cli.recorded",
)

FORMAT = Option("output-format", "How to write it (default: text).", Kind.ONE, "text|json")
OUTPUT = Option("output", "Write to a file instead.", Kind.ONE, "FILE", short="-o")
DEVICES = Option("device", "cpu, cuda, mps, xpu (default: all that torch finds here).", Kind.MANY, "DEVICES")
DTYPES = Option("dtype", "float64, float32, float16, bfloat16.", Kind.MANY, "DTYPES")

MARGIN = Command(
    "margin",
    "Find the margin from which the right class gets exactly no gradient, by arithmetic, on this machine.",
    "",
    "",
    (
        DEVICES,
        DTYPES,
        Option("loss", "Ways to write the loss (default: all; a wrong name lists them).", Kind.MANY, "LOSSES"),
        Option("layout", "Where the classes stand: NC, NCT (default: both).", Kind.MANY, "LAYOUTS"),
        Option("classes", "How many classes (default: 2,1025); 2 has a closed form.", Kind.MANY, "NUMBERS"),
        Option("compiled", "Measure each loss under torch.compile too; takes seconds for each."),
        Option("autocast", "Measure 16-bit logits under autocast too."),
        FORMAT,
        OUTPUT,
        Option("plot", "Also draw the cut-offs; needs matplotlib.", Kind.ONE, "FILE.png"),
    ),
    "trainlint.cli.margin",
)

LOSS = Command(
    "loss",
    "Find the classes that your own loss does not teach. Imports and calls it, on random numbers: this runs your code.",
    "loss",
    "pkg.module:callable or file.py:callable: a function, a partial, a class or an object; name() is called first.",
    (
        Option("classes", "How many classes the loss is for.", Kind.ONE, "N"),
        Option("ignore-index", "The number of padding: its targets must get no gradient.", Kind.ONE, "N"),
        Option("set", "An argument for the callable, or for making the class.", Kind.MANY, "NAME=VALUE"),
        Option("dtype", "Formats of the logits (default: float32).", Kind.MANY, "DTYPES"),
        Option("device", "Where to run it (default: cpu).", Kind.ONE, "DEVICE"),
        FORMAT,
        OUTPUT,
    ),
    "trainlint.cli.loss",
)

COMMANDS = {command.name: command for command in (RUN, REPORT, MARGIN, LOSS)}


@contextmanager
def needing_torch() -> Iterator[None]:
    """What is done inside imports torch.

    Raises:
        UsageError: it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UsageError(NO_TORCH) from error
