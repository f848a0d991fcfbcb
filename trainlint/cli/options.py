"""Every option, said once; from this table come the quick parse of a plain run and, through typer, help and completion.

Options in and words in, words by option out: what a word means is decided by whoever runs the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from importlib import import_module

from trainlint.record import record

Said = Mapping[str, tuple[str, ...]]
"""What was said on the command line: the values of each option that was given, in order; a flag's value is empty."""


class Kind(Enum):
    """How often an option may be given, and whether it takes a value; of a single one the last counts.

    One that takes a value or none takes it behind an equals sign alone.
    """

    FLAG = "flag"
    ONE = "one"
    ONE_OR_NONE = "one or none"
    MANY = "many"


@record
class Option:
    """One option of a command, named without its dashes; ``metavar`` is how help shows its value."""

    name: str
    help: str
    kind: Kind = Kind.FLAG
    metavar: str = ""
    short: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"--{self.name}", self.short) if self.short else (f"--{self.name}",)


@record
class Command:
    """One command: what it is for, what its arguments are, its options, and the module and function that run it.

    ``passes_on`` says that the first argument starts the words of another program.
    """

    name: str
    help: str
    arguments: str
    arguments_help: str
    options: tuple[Option, ...]
    module: str
    passes_on: bool = False
    function: str = "run"


CHECK = Command(
    "check",
    "Find training bugs in these files and folders. `trainlint PATHS` is short for this.",
    "paths",
    "Files and folders; without any, the src of the settings, else the working directory.",
    (
        Option("select", "Run these rules only.", Kind.MANY, "RULES"),
        Option("ignore", "Leave these rules out.", Kind.MANY, "RULES"),
        Option("extend-select", "Run these rules too.", Kind.MANY, "RULES"),
        Option("extend-ignore", "Leave these rules out too.", Kind.MANY, "RULES"),
        Option(
            "per-file-ignores",
            "Leave a rule out in the files that match a pattern.",
            Kind.MANY,
            "PATTERN:RULE",
        ),
        Option(
            "fail-on",
            "The least level that makes the exit status 1 (default: warning).",
            Kind.ONE,
            "error|warning|note|never",
        ),
        Option("exit-zero", "Exit with 0 even when there are findings."),
        Option(
            "output-format",
            "full, concise, json, json-lines, sarif, github, gitlab, junit, rdjson or markdown; FORMAT:FILE writes to a"
            " file. May be given several times.",
            Kind.MANY,
            "FORMAT",
        ),
        Option("fix", "Write the safe fixes into the files, each checked before it is written."),
        Option("diff", "Print what --fix would change and write nothing; the exit status is 1 if that is anything."),
        Option("unsafe-fixes", "Apply fixes too that change more than the bug."),
        Option("show-fixes", "Name each fix that is applied."),
        Option(
            "add-ignore",
            "Write a comment that silences beside each finding, and why behind it.",
            Kind.ONE_OR_NONE,
            "REASON",
        ),
        Option("statistics", "Say how many findings each rule has, most first, instead of each finding."),
        Option("show-unjudged", "Say what could not be judged, and what would settle it."),
        Option("show-files", "Name the files that would be checked, and check nothing."),
        Option("show-settings", "Say which settings hold and where each was made, and check nothing."),
        Option("color", "When to use colour (default: auto).", Kind.ONE, "auto|always|never"),
        Option("quiet", "Findings and faults only.", short="-q"),
        Option("verbose", "Also say which projects were read and which files were not.", short="-v"),
        Option("exclude", "Leave out what matches these patterns.", Kind.MANY, "PATTERNS"),
        Option("extend-exclude", "Leave out what matches these patterns too.", Kind.MANY, "PATTERNS"),
        Option("force-exclude", "Leave out what is excluded also where it is named."),
        Option("files-from", "Check the paths that stand in a file, one a line; - is the input.", Kind.ONE, "FILE"),
        Option("shard", "Tell only of one of N parts into which the files fall by their names.", Kind.ONE, "I/N"),
        Option(
            "define",
            "A number that only a run knows, as in cfg.vocab_size=1025.",
            Kind.MANY,
            "NAME=VALUE",
        ),
        Option("config", "A settings file, or one setting as 'key = value'.", Kind.MANY, "FILE|SETTING"),
        Option("isolated", "Ignore all settings files."),
        Option("watch", "Check again whenever a file changes, until it is interrupted."),
        Option("baseline", "A file of known findings, which are not reported (trainlint baseline).", Kind.ONE, "FILE"),
        Option("hook", "Called by a hook: without paths there is nothing to check."),
        Option("jobs", "How many processes may work at once (default: 1).", Kind.ONE, "N", short="-j"),
        Option("no-cache", "Keep nothing for the next run, and use nothing of the last one."),
        Option("cache-dir", "Where results are kept for the next run (default: the user's cache).", Kind.ONE, "FOLDER"),
    ),
    "trainlint.cli.check",
)

RULE = Command(
    "rule",
    "Explain a rule: the bug, an example of it, and its cure.",
    "rules",
    "Codes, beginnings of codes, or names.",
    (
        Option("all", "Every installed rule; as text, one line each."),
        Option("output-format", "How to write it (default: text).", Kind.ONE, "text|json|markdown"),
    ),
    "trainlint.cli.rule",
)

RESOLVE = Command(
    "resolve",
    "Show what is believed of losses and names, and why: each loss of a file, folder or line, each name of a line.",
    "places",
    "FILE, FOLDER, FILE:LINE, or NOTEBOOK:cell N:LINE.",
    (
        Option("table", "One line for each loss: its head, what it skips, where that stands."),
        Option("output-format", "How to write it (default: text).", Kind.ONE, "text|json"),
        *(
            option
            for option in CHECK.options
            if option.name in {"color", "exclude", "extend-exclude", "define", "config", "isolated", "jobs"}
        ),
    ),
    "trainlint.cli.resolve",
)

DIFF = Command(
    "diff",
    "Show what changed in value since a git revision: heads, sentinels, formats, verdicts; 1 if findings are new.",
    "revision",
    "REVISION [PATHS]: a revision, then files and folders.",
    (
        Option("output-format", "How to write it (default: text).", Kind.ONE, "text|json|markdown"),
        *(
            option
            for option in CHECK.options
            if option.name
            in {
                *("select", "ignore", "extend-select", "extend-ignore", "fail-on", "color", "exclude"),
                *("extend-exclude", "define", "config", "isolated", "jobs"),
            }
        ),
    ),
    "trainlint.cli.diff",
)

DEMO = Command(
    "demo",
    "Watch a rule's bug and its cure on this machine, side by side, in seconds. Needs torch.",
    "codes",
    "A code or a name of a rule that there is a demo of.",
    (
        Option("show", "Print the program instead of running it."),
        Option("output-format", "How to write it (default: text).", Kind.ONE, "text|json"),
    ),
    "trainlint.cli.demo",
)

SCHEMA = Command(
    "schema",
    "Print the JSON Schema of the settings, or of --output-format json.",
    "names",
    "config or output.",
    (),
    "trainlint.cli.schema",
)

CONFIG = Command(
    "config",
    "Say what a setting is for, or name them all.",
    "keys",
    "Names of settings.",
    (Option("output-format", "How to write it (default: text).", Kind.ONE, "text|json"),),
    "trainlint.cli.config",
)

SERVER = Command(
    "server",
    "Serve an editor through the language server protocol on the standard streams. Needs pygls.",
    "",
    "",
    (Option("stdio", "What is served anyway; editors say it."),),
    "trainlint.server",
)

CLEAN = Command(
    "clean",
    "Remove what was kept of earlier runs.",
    "",
    "",
    tuple(option for option in CHECK.options if option.name == "cache-dir"),
    "trainlint.cli.clean",
)

INIT = Command(
    "init",
    "Show the first settings and the pre-commit hook of a project; write them if you say so.",
    "",
    "",
    (Option("write", "Write without asking."),),
    "trainlint.cli.init",
)

VERSION = Command("version", "Print the version.", "", "", (), "trainlint.cli.version")

COMMANDS = {
    command.name: command
    for command in (CHECK, RULE, RESOLVE, DIFF, DEMO, INIT, CONFIG, SCHEMA, SERVER, CLEAN, VERSION)
}

GROUPS = {"baseline": "trainlint.cli.baseline", "probe": "trainlint.cli.probe"}
"""Words in front of commands of their own; each group is a table in a module that only its use loads."""


def group(name: str) -> Mapping[str, Command]:
    """The commands of a group by their second word."""
    table: Mapping[str, Command] = import_module(GROUPS[name]).COMMANDS
    return table


def parse(words: Sequence[str], options: Sequence[Option]) -> tuple[tuple[str, ...], Said] | None:
    """The arguments and the options among these words, or None where the full parser must have a look.

    >>> parse(["src", "--select", "TL1", "-q"], CHECK.options)
    (('src',), {'select': ('TL1',), 'quiet': ('',)})
    >>> parse(["--selekt", "TL1"], CHECK.options) is None
    True
    """
    by_flag = {flag: option for option in options for flag in option.flags}
    arguments: list[str] = []
    said: dict[str, tuple[str, ...]] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            return (*arguments, *rest), said
        if word == "-" or not word.startswith("-"):
            arguments.append(word)
            continue
        flag, equals, value = word.partition("=")
        option = by_flag.get(flag)
        if option is None or (equals and (option.kind is Kind.FLAG or not flag.startswith("--"))):
            return None
        if option.kind in {Kind.ONE, Kind.MANY} and not equals:
            value = next(rest, "-")
            if value.startswith("-"):
                return None
        said[option.name] = (*said.get(option.name, ()), value) if option.kind is Kind.MANY else (value,)
    return tuple(arguments), said


def passed_on(words: Sequence[str], options: Sequence[Option]) -> tuple[Sequence[str], Sequence[str]]:
    """The words that are options here, and those of another program: a script, ``-m`` or ``--`` begins them.

    >>> passed_on(["--select", "TL1", "train.py", "--select", "x"], CHECK.options)
    (['--select', 'TL1'], ['train.py', '--select', 'x'])
    """
    valued = {flag for option in options if option.kind in {Kind.ONE, Kind.MANY} for flag in option.flags}
    place = 0
    while place < len(words) and words[place].startswith("-") and words[place] not in {"-m", "--"}:
        place += 2 if words[place] in valued else 1
    return words[:place], words[place:]


def call(command: Command, arguments: tuple[str, ...], said: Said) -> int:
    """Run a command whose words are parsed."""
    run = getattr(import_module(command.module), command.function)
    status: int = run(arguments, said)
    return status
