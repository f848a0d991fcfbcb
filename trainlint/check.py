"""The pipeline that every door calls: a request in, a report out. Prints nothing and exits nowhere.

Find the project of each path, observe it, judge the facts, move severities, drop what a comment silences, and keep the
findings with a place in what was asked for.
"""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial, reduce
from typing import TypeVar

from trainlint import config
from trainlint.config import Settings
from trainlint.facts import (
    Crash,
    CtcLoss,
    DiscardedResult,
    Divergence,
    DivergenceInput,
    Fact,
    Facts,
    FreezingWrite,
    InvalidSuppression,
    LabelMask,
    Loss,
    LossArithmetic,
    LossInput,
    Metric,
    Optimizer,
    StopCheck,
    Unjudged,
    Unreadable,
    UnusedSuppression,
)
from trainlint.facts import Selection as ModelSelection
from trainlint.facts.runs import ONLY_RUNS
from trainlint.finding import Finding, Severity
from trainlint.identity import Identities, Identity, Surroundings, identities
from trainlint.lint import lint
from trainlint.record import field, record, replace
from trainlint.report import FORMATS, INPUTS, OPTIMIZERS, Report, Tally, filename
from trainlint.rule import Rule
from trainlint.selection import Selection, always_runs, chosen, matches, require_known, strength
from trainlint.source import Observer, Project, cells_in, definitions, foreign, is_test, read
from trainlint.source.find import excluded, find
from trainlint.source.observe import Sifted
from trainlint.source.root import root_of
from trainlint.source.text import NOTEBOOK, Fault
from trainlint.span import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.keep import Keep
    from trainlint.source import stamps
    from trainlint.suppress import Ran

K = TypeVar("K")
V = TypeVar("V")

ABSENT = "no such file or folder"
LEFT_OUT = "the settings leave it out, and force-exclude holds"

JUDGED: Mapping[str, tuple[tuple[type[Fact], ...], Severity]] = {
    "losses": ((Loss, CtcLoss), Severity.WARNING),
    "metrics": ((Metric,), Severity.NOTE),
    "label masks": ((LabelMask,), Severity.WARNING),
    INPUTS: ((LossInput,), Severity.WARNING),
    FORMATS: ((LossArithmetic,), Severity.WARNING),
    "checkpoints": ((ModelSelection,), Severity.WARNING),
    OPTIMIZERS: ((Optimizer,), Severity.WARNING),
    "divergences": ((Divergence, DivergenceInput), Severity.WARNING),
    "stop checks": ((StopCheck,), Severity.WARNING),
    "discarded results": ((DiscardedResult,), Severity.WARNING),
    "frozen modules": ((FreezingWrite,), Severity.WARNING),
}
"""What is counted as safe, flagged or not judged, and the least finding that makes it flagged."""


@record
class Shard:
    """One of so many parts, counted from 1, into which the files of a project fall by their names alone."""

    number: int = 1
    total: int = 1

    def has(self, path: str, root: str) -> bool:
        """Whether a file of the project in this folder falls into this part."""
        if self.total == 1:
            return True
        from zlib import crc32

        return crc32(os.fsencode(filename(path, root))) % self.total == self.number - 1


@record
class Request:
    """What to check: paths, settings that weigh more than those found beside the code, and how many processes to use.

    ``isolated`` ignores the settings beside the code. ``folder`` is the working directory. ``texts`` are the bytes that
    files are taken to hold, whatever they hold on the disk. ``tell`` is told how many of how many files are observed.
    ``cache`` is the folder in which results are kept from one run to the next; without one, none are.
    """

    paths: tuple[str, ...]
    folder: str
    layers: tuple[config.Layer, ...] = ()
    isolated: bool = False
    jobs: int = 1
    texts: Mapping[str, bytes] = field(default_factory=dict)
    shard: Shard = Shard()
    tell: Callable[[int, int], None] | None = None
    cache: str = ""


@record
class Scope:
    """One project, the settings that hold for it, the paths in it that were asked for, and which part of it is told.

    ``left_out`` are paths that were asked for and that the settings exclude all the same, ``layers`` what the settings
    are made of. ``here`` says that nothing is judged but what stands in the files that were asked for.
    """

    root: str
    settings: Settings
    asked: tuple[str, ...]
    shard: Shard = Shard()
    left_out: tuple[str, ...] = ()
    layers: tuple[config.Layer, ...] = ()
    here: bool = False

    @cached_property
    def named(self) -> frozenset[str]:
        """The paths that were asked for: a hook may name thousands."""
        return frozenset(self.asked)

    @cached_property
    def _below(self) -> tuple[str, ...]:
        return tuple(os.path.join(asked, "") for asked in self.asked)

    def holds(self, path: str) -> bool:
        """Whether a path was asked for."""
        return path in self.named or path.startswith(self._below)

    def is_over(self, path: str) -> bool:
        """Whether a path lies in the project."""
        return self.holds(path) or path.startswith(os.path.join(self.root, ""))

    def tells(self, path: str) -> bool:
        """Whether what stands in a file belongs to the part that is told."""
        return self.shard.has(path, self.root)

    def touches(self, finding: Finding) -> bool:
        """Whether any place of a finding, its evidence included, was asked for."""
        return any(self.holds(place.path) for place in finding.places())


@record
class Files:
    """The files of a project, those among them that were asked for, and what was left out of those and why."""

    every: tuple[str, ...]
    asked: tuple[str, ...]
    skipped: Mapping[str, str]


@record
class Seen:
    """A project as it was read: by whom, the files among those asked for, what was left out and why, and all facts.

    ``silencing`` are the files among those asked for that may hold a comment which silences.
    """

    observer: Observer
    checked: tuple[str, ...]
    skipped: Mapping[str, str]
    facts: Facts
    silencing: tuple[str, ...] = ()


@record
class Basis:
    """What the report of one project rests on: its files, how each file that was read was, and the rules' folders.

    It rests on its settings and on the names of the files that were asked for beside that.
    """

    scope: Scope
    files: Files
    seen: Mapping[str, stamps.Seen]
    packs: tuple[str, ...]


@record
class Text:
    """What a file says, by cell where it is a notebook: its lines as they stand there, and its text as Python."""

    lines: Mapping[int | None, Sequence[str]]
    code: Mapping[int | None, str]


def check(request: Request) -> Report:
    """Check every path, each with the whole of its project known.

    Raises:
        ConfigError, UnknownSelector, BaselineError: the settings cannot be followed.
        PackError: the installed rule packs cannot be used.
    """
    return Session(request, is_once=True).report()


class Session:
    """One request, kept open between looks: what changed since the last look is judged again, nothing else.

    With ``is_once`` there is one look: without a cache, what verdicts rest on is not noted.
    """

    def __init__(self, request: Request, *, is_once: bool = False) -> None:
        self._request, self._is_once = request, is_once
        self._texts = dict(request.texts)
        self._changed: dict[tuple[object, ...], set[str]] = {}
        self._observers: dict[tuple[object, ...], Observer] = {}
        self._scopes: dict[tuple[str, ...], tuple[Scope, ...]] = {}
        self._files: dict[tuple[object, ...], Files] = {}
        self._written: dict[str, Text] = {}
        self._keeps: dict[tuple[object, ...], Keep] = {}
        self.basis: list[Basis] = []
        """What the reports of whole projects rest on that could be kept."""
        self._rules: Callable[[], Mapping[str, Rule]] = cache(_installed)

    def change(self, path: str, data: bytes | None) -> None:
        """A file holds these bytes now, whatever the disk says; with None it is as the disk says, looked at anew.

        The path is absolute. A file whose change nobody tells may be known as it was.
        """
        before = self._texts.pop(path, None)
        if data is not None:
            self._texts[path] = data
            self._keeps.clear()
        if data is None or before is None:
            self._look_anew(path)
        self._written.pop(path, None)
        for changed in self._changed.values():
            changed.add(path)

    def _look_anew(self, path: str) -> None:
        """Forget the settings and the lists of files, unless a file that was known is still one."""
        known = all(path in files.every for files in self._files.values())
        if not (known and path.endswith(".py") and (path in self._texts or os.path.isfile(path))):
            self._scopes.clear()
            self._files.clear()

    def report(self, paths: Sequence[str] | None = None, *, here: bool = False) -> Report:
        """What ``check`` says of these paths, or of those of the request, with all changes as its texts.

        With ``here``, sites that stand in these files are judged and no others: what lies elsewhere and only has its
        evidence here is not told.

        Raises:
            ConfigError, UnknownSelector, BaselineError: the settings cannot be followed.
            PackError: the installed rule packs cannot be used.
        """
        wanted = self._request.paths if paths is None else tuple(paths)
        request = replace(self._request, paths=wanted, texts=self._texts)
        asked = {path: os.path.normpath(os.path.join(request.folder, path)) for path in request.paths}
        missing = {path: absolute for path, absolute in asked.items() if not _is_there(absolute, request)}
        start = Report(
            judged={kind: Tally() for kind in JUDGED},
            skipped=dict.fromkeys(missing.values(), ABSENT),
            faults=tuple(f"{filename(path, request.folder)}: {ABSENT}" for path in missing.values()),
        )
        there = tuple(absolute for path, absolute in asked.items() if path not in missing)
        known = (replace(scope, here=here) for scope in self._scopes_of(there, request))
        return reduce(_joined, (self._checked(scope, request) for scope in known), start)

    def keep(self) -> None:
        """Leave for the next run what was judged, ``here`` or not; nothing after a change that no disk holds."""
        for key, keep in self._keeps.items():
            if keep.ledger.seen:
                keep.add(self._observers[key], self._rules().values())

    def seen(self, path: str) -> tuple[Scope, Seen]:
        """What stands in a file of these projects as it is now, with the scope that it is seen in.

        Raises:
            ConfigError, UnknownSelector: the settings cannot be followed.
        """
        request = replace(self._request, paths=(path,), texts=self._texts)
        (found,) = self._scopes_of((path,), request)
        scope = replace(found, here=True)
        files = self._files_of(scope, request)
        return scope, seen(scope, request, files, self._observer(scope, files.every, request, None))

    def text(self, path: str) -> Text:
        """What a file says now."""
        if path not in self._written:
            self._written[path] = text_of(path, self._texts)
        return self._written[path]

    def _scopes_of(self, paths: tuple[str, ...], request: Request) -> tuple[Scope, ...]:
        if paths not in self._scopes:
            self._scopes[paths] = tuple(scopes(request, paths))
        return self._scopes[paths]

    def _checked(self, scope: Scope, request: Request) -> Report:
        files = self._files_of(scope, request)
        keep = self._keep(scope, request, files)
        whole = keep if not (scope.here or self._texts) else None
        report = whole.report() if whole else None
        if report is None:
            observer = self._observer(scope, files.every, request, keep)
            known = seen(scope, request, files, observer)
            rules = list(rules_for(known, scope.settings, self._rules))
            report = _checked(scope, request, known, rules, self.text)
            if whole:
                whole.write(report, observer, rules)
        if whole:
            self.basis.append(Basis(scope, files, whole.seen, whole.packs))
        return report

    def _keep(self, scope: Scope, request: Request, files: Files) -> Keep | None:
        """What earlier runs left for this one, the first that looks at a project."""
        if not request.cache or _whose(scope) in self._observers or scope.is_over(request.cache):
            return None
        from trainlint.keep import Keep

        settings = scope.settings
        skipped = [(path, why, os.access(path, os.R_OK)) for path, why in files.skipped.items()]
        known = settings.baseline and read(settings.baseline)
        told = replace(scope, layers=(), settings=replace(settings, output_format=()))
        wanted = (request.paths, request.folder, told, files.asked, skipped, known)
        deciding = (settings.src, settings.values)
        return Keep(request.cache, scope.root, files.every, deciding, wanted, lambda path: self.text(path).lines)

    def _files_of(self, scope: Scope, request: Request) -> Files:
        """What ``files_of`` says, one walk for all that lies in a project."""
        whole = self._walked(replace(scope, asked=(scope.root,), left_out=()), request)
        if not scope.asked or not all(path == scope.root or path in whole.every for path in scope.asked):
            return self._walked(scope, request)
        skipped = {path: why for path, why in whole.skipped.items() if scope.holds(path)}
        out = {path: LEFT_OUT for path in scope.left_out if scope.tells(path)}
        return Files(whole.every, tuple(filter(scope.holds, whole.every)), {**skipped, **out})

    def _walked(self, scope: Scope, request: Request) -> Files:
        key = (scope.root, scope.asked, scope.settings.exclude, scope.left_out)
        if key not in self._files:
            self._files[key] = files_of(scope, request.texts)
        return self._files[key]

    def _observer(self, scope: Scope, files: tuple[str, ...], request: Request, keep: Keep | None) -> Observer:
        """Who observes the project of a scope, told of all that changed."""
        settings = scope.settings
        project = Project(scope.root, files, settings.src, settings.values, request.texts)
        key = _whose(scope)
        if key not in self._observers:
            ledger = keep.ledger if keep and not self._texts else None
            self._observers[key] = Observer(project, ledger, is_once=self._is_once and not keep)
            if keep:
                keep.restore(self._observers[key])
                self._observers[key].change(project, set(self._texts))
            if keep and not self._texts:
                self._keeps[key] = keep
        elif self._changed[key] or files != self._observers[key].project.files:
            self._observers[key].change(project, self._changed[key])
        self._changed[key] = set()
        return self._observers[key]


def judge(
    facts: Facts, rules: Iterable[Rule], scope: Scope, text: Callable[[str], Text], silencing: Iterable[str] = ()
) -> Report:
    """What these rules make of these facts: moved, silenced and selected as the scope says.

    ``text`` gives what a file says, for comments and excerpts; the comments of the ``silencing`` files are judged too.
    """
    known = list(rules)
    constant_rules = [rule for rule in known if always_runs(rule)]
    constant = {rule.code for rule in constant_rules}
    running = chosen(known, scope.settings.selections)
    findings = [
        finding if finding.code in constant else _moved(finding, scope.settings.severity)
        for finding in lint(facts, running)
    ]
    # A rule that was left out reports nothing, but what it would flag is not counted as safe.
    left_out = [rule for rule in known if rule.on and rule not in running]
    unsaid = [finding for finding in lint(facts, [*left_out, *constant_rules]) if finding.code not in constant]
    every = [*findings, *unsaid]
    said = Said(findings, facts, known, running)
    findings += _about_comments(said, scope, text, silencing)
    asked = [finding for finding in findings if scope.touches(finding) and scope.tells(finding.where.path)]
    quiet = _quiet([finding for finding in asked if finding.code not in constant], scope, text)
    reported = tuple(finding for finding in asked if finding not in quiet)
    crashes = {rule.code for rule in known if rule.wants is Crash}
    # A report is of this moment, even where it is read after a change.
    held = {finding.where.path: text(finding.where.path) for finding in asked}
    return Report(
        findings=reported,
        suppressed=tuple(finding for finding in asked if finding in quiet),
        commented={finding: reason for finding, reason in quiet.items() if reason is not None},
        unjudged=_unjudged(facts, scope),
        judged={kind: _tally(facts, _about(kind, every, known), constant, kind, scope) for kind in JUDGED},
        failing=tuple(each for each in reported if each.code in constant or _fails(each, scope.settings)),
        faults=tuple(f"{each.where}: {each.message}" for each in reported if each.code in crashes),
        lines={path: text(path).lines for finding in asked for path in _shown(finding)},
        identities=Identities(partial(_identities, findings, asked, surroundings(scope, held.__getitem__))),
    )


def _shown(finding: Finding) -> set[str]:
    """The files that a report quotes from: where a finding is, and where its fix would write."""
    edits = finding.fix.edits if finding.fix else ()
    return {finding.where.path, *(edit.where.path for edit in edits)}


def files(request: Request) -> Files:
    """The files that a check of the same request would tell of, without reading them."""
    there = [os.path.normpath(os.path.join(request.folder, path)) for path in request.paths]
    found = [(scope, files_of(scope)) for scope in scopes(request, filter(os.path.exists, there))]
    return Files(
        tuple(path for _, each in found for path in each.every),
        tuple(path for scope, each in found for path in each.asked if scope.tells(path)),
        {path: why for _, each in found for path, why in each.skipped.items()},
    )


def scopes(request: Request, paths: Iterable[str]) -> Iterator[Scope]:
    """One scope per project, in the order of the paths."""
    asked: dict[str, list[str]] = defaultdict(list)
    beside: dict[str, tuple[config.Layer, ...]] = {}
    for path in paths:
        start = path if os.path.isdir(path) else os.path.dirname(path)
        layer = None if request.isolated else config.nearest(start)
        root = layer.folder if layer else root_of(path, request.folder)
        asked[root].append(path)
        beside[root] = (layer,) if layer else ()
    for root, wanted in asked.items():
        layers = config.chain((*beside[root], *request.layers))
        settings = config.settings(layers)
        out = [path for path in wanted if settings.force_exclude and excluded(path, root, settings.exclude)]
        kept = tuple(path for path in wanted if path not in out)
        yield Scope(root, settings, kept, request.shard, tuple(out), layers)


def _is_there(path: str, request: Request) -> bool:
    """Whether there is something to check: on the disk, or in the request alone, as an editor holds a new file."""
    return path in request.texts or os.path.exists(path)


def files_of(scope: Scope, texts: Iterable[str] = ()) -> Files:
    """Find the files of a project, all of them, and say which of them are to be told of.

    Of ``texts``, those that are not on the disk are files too.
    """
    unsaved = {path for path in texts if scope.is_over(path) and not os.path.exists(path)}
    others = (path for path in scope.asked if path != scope.root and path not in unsaved)
    found = find([scope.root, *others] if scope.asked else [], scope.settings.exclude)
    languages = foreign(found.files)
    every = tuple(sorted(unsaved.union(found.files).difference(languages)))
    skipped = {
        **{each.path: each.reason for each in found.skipped if scope.holds(each.path)},
        **_foreign(languages, scope),
        **dict.fromkeys(scope.left_out, LEFT_OUT),
    }
    told = {path: why for path, why in skipped.items() if scope.tells(path)}
    return Files(every, tuple(path for path in every if scope.holds(path)), told)


def seen(scope: Scope, request: Request, files: Files | None = None, observer: Observer | None = None) -> Seen:
    """Find and observe the project of a scope, whole, or as far as it stands here.

    ``files`` and ``observer`` are those of an earlier look.
    """
    files = files or files_of(scope, request.texts)
    settings = scope.settings
    project = Project(scope.root, files.every, settings.src, settings.values, request.texts)
    observer = observer or Observer(project, is_once=True)
    # A file that was named is read even where none of its words matter: its syntax error must not go unsaid.
    looked_at = files.asked if scope.here else files.every
    within = observer.sifted(looked_at) if files.asked else Sifted((), ())
    alone = {path for path in files.asked if path in scope.named}.difference(within.sites)
    wanted = sorted(alone.union(within.sites))
    facts = observer.observe(wanted, request.jobs, request.tell, alone) if wanted else Facts(())
    checked = tuple(path for path in files.asked if scope.tells(path))
    silencing = tuple(path for path in within.silencing if path in set(checked))
    return Seen(observer, checked, files.skipped, facts, silencing)


def _checked(scope: Scope, request: Request, known: Seen, rules: Sequence[Rule], text: Callable[[str], Text]) -> Report:
    report = judge(known.facts, rules, scope, text, known.silencing)
    if scope.settings.baseline:
        report = _compared(report, known, rules, scope, text)
    there = ((path, why) for path, why in known.skipped.items() if os.path.exists(path))
    refused = [f"{filename(path, request.folder)}: {why}" for path, why in there if not os.access(path, os.R_OK)]
    return replace(
        report,
        files_checked=len(known.checked),
        skipped=known.skipped,
        faults=(*report.faults, *refused),
        roots=(scope.root,),
        asked_for=known.facts.asked_for,
    )


def _compared(report: Report, known: Seen, rules: Sequence[Rule], scope: Scope, text: Callable[[str], Text]) -> Report:
    """The report without what the baseline of the project knows, and the entries that nothing is found for."""
    from trainlint import baseline

    written = baseline.read(scope.settings.baseline)
    constant = {rule.code for rule in rules if always_runs(rule)}
    there = {finding: report.identities[finding] for finding in report.findings if finding.code not in constant}
    baselined = written.known(there)
    gone = written.gone(there)
    looked_for = _looked_for(report, known, rules, scope, text) if gone else None
    return replace(
        report,
        findings=tuple(finding for finding in report.findings if finding not in baselined),
        baselined=tuple(baselined),
        stale=tuple(each for each in gone if looked_for and looked_for(written.located(each), each.identity)),
        failing=tuple(finding for finding in report.failing if finding not in baselined),
    )


def _looked_for(
    report: Report, known: Seen, rules: Sequence[Rule], scope: Scope, text: Callable[[str], Text]
) -> Callable[[str, Identity], bool] | None:
    """Whether a finding would have been found in a file, were it there; nobody can say while a file cannot be read."""
    if any(isinstance(fact, Unreadable | Crash) for fact in known.facts):
        return None
    left_out = {rule.code for rule in rules} - {rule.code for rule in chosen(rules, scope.settings.selections)}
    around = surroundings(scope, text)
    unjudged = {(each.where.path, around.within(each.where), around.text(each.where)) for each in report.unjudged}

    def looked_for(path: str, identity: Identity) -> bool:
        if identity.code in left_out or (path, identity.within, identity.text) in unjudged:
            return False
        here = scope.holds(path) and scope.tells(path)
        return here and (path in known.checked or not os.path.exists(path))

    return looked_for


def _foreign(languages: Mapping[str, str], scope: Scope) -> dict[str, str]:
    return {path: f"its language is {name}, not Python" for path, name in languages.items() if scope.holds(path)}


def _installed() -> Mapping[str, Rule]:
    from trainlint.rule import installed

    return installed()


def rules_for(
    seen: Seen, settings: Settings, installed: Callable[[], Mapping[str, Rule]] = _installed
) -> Iterable[Rule]:
    """The installed rules, if there is something for them to do or a selector of the user's to compare with them."""
    named = any(selection != Selection() for selection in settings.selections)
    there = len(seen.facts) or seen.silencing
    if not (there or named or settings.severity or settings.per_file_ignores or settings.baseline):
        return ()
    rules = installed().values()
    for selector in settings.severity:
        require_known(selector, rules, "severity")
    for selector in (each for ignored in settings.per_file_ignores.values() for each in ignored):
        require_known(selector, rules, "per-file-ignores")
    return rules


def text_of(path: str, texts: Mapping[str, bytes] | None = None) -> Text:
    """What a file says; ``texts`` may hold its bytes."""
    data = texts[path] if texts and path in texts else read(path)
    if path.endswith(NOTEBOOK):
        code = cells_in(data)
        return Text({cell.number: cell.rows for cell in code}, {cell.number: cell.python for cell in code})
    try:
        lines = [] if isinstance(data, Fault) else _lines(data)
    except (SyntaxError, UnicodeError):
        lines = []
    return Text({None: lines}, {None: "".join(lines)})


def _lines(data: bytes) -> list[str]:
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).readlines()


def _identities(
    findings: Sequence[Finding], asked: Sequence[Finding], around: Surroundings
) -> Mapping[Finding, Identity]:
    """Of every finding in the files of those that were asked for: of equal ones, each has its number in the file."""
    files = {finding.where.path for finding in asked}
    return identities((finding for finding in findings if finding.where.path in files), around)


def surroundings(scope: Scope, text: Callable[[str], Text]) -> Surroundings:
    around = cache(lambda path, cell: definitions(text(path).code.get(cell, "")))

    def within(span: Span) -> str:
        return next((each.name for each in reversed(around(span.path, span.cell)) if each.holds(span.row)), "")

    return Surroundings(
        lambda path: filename(path, scope.root), lambda span: text(span.path).lines.get(span.cell, ()), within
    )


def _moved(finding: Finding, severity: Mapping[str, Severity]) -> Finding:
    """The finding at the level that the settings give its rule, the most specific selector deciding."""
    best = max(severity, key=lambda selector: strength(selector, finding.code, finding.name), default="")
    return replace(finding, severity=severity[best]) if matches(best, finding.code, finding.name) else finding


def _quiet(findings: Sequence[Finding], scope: Scope, text: Callable[[str], Text]) -> Mapping[Finding, str | None]:
    """The findings that a comment, with its reason, or the settings for their file, without one, silence."""
    if not findings:
        return {}
    from trainlint.suppress import silenced, silences

    ignored = dict.fromkeys(finding for finding in findings if _is_ignored(finding, scope))
    return {**ignored, **silenced(findings, cache(lambda path: silences(path, text(path).code)))}


@record
class Said:
    """What was found, from which facts, by which rules of those that are known."""

    findings: Sequence[Finding]
    facts: Facts
    known: Sequence[Rule]
    running: Sequence[Rule]

    @cached_property
    def unsettled(self) -> tuple[Fact, ...]:
        """The facts that are not judged in full."""
        return tuple(fact for fact in self.facts if any(fact.unjudged()))


def _about_comments(said: Said, scope: Scope, text: Callable[[str], Text], paths: Iterable[str]) -> Iterator[Finding]:
    """What is wrong with the comments of these files that silence."""
    comments = [fact for path in paths for fact in _comments(said, scope, path, text(path).code)]
    for finding in lint(Facts(comments), said.running) if comments else ():
        yield _moved(finding, scope.settings.severity)


def _comments(said: Said, scope: Scope, path: str, code: Mapping[int | None, str]) -> Iterator[Fact]:
    """The comments of a file that do something else than silence; none is idle where something was not judged."""
    from trainlint.suppress import invalid, silences, unexplained, unused

    there, ran = silences(path, code), _ran(said, path, scope)
    yield from invalid(path, code, there, ran)
    if scope.settings.require_reason:
        yield from unexplained(there, ran)
    if not is_test(path) and not any(isinstance(fact, Unreadable | Crash) for fact in said.facts):
        yield from unused(there, said.findings, ran, said.unsettled)


def _ran(said: Said, path: str, scope: Scope) -> Ran:
    """Which rules could have said something about a file; nobody knows of those that speak of runs or of comments."""
    from trainlint.suppress import Ran

    ignored = _ignored(path, scope)
    others = (*ONLY_RUNS, UnusedSuppression, InvalidSuppression)
    judging = [rule for rule in said.known if rule.wants not in others and not always_runs(rule)]
    heard = [rule for rule in judging if not any(matches(each, rule.code, rule.name) for each in ignored)]
    return Ran(
        said.known,
        frozenset(rule.code for rule in heard if rule in said.running),
        frozenset(rule.code for rule in judging if not rule.on and rule not in said.running),
    )


def _ignored(path: str, scope: Scope) -> list[str]:
    """The selectors that the settings ignore in a file."""
    if not scope.settings.per_file_ignores:
        return []
    from fnmatch import fnmatch

    name = filename(path, scope.root)
    return [
        selector
        for pattern, selectors in scope.settings.per_file_ignores.items()
        if any(fnmatch(each, pattern) for each in (name, os.path.basename(name)))
        for selector in selectors
    ]


def _is_ignored(finding: Finding, scope: Scope) -> bool:
    return any(matches(each, finding.code, finding.name) for each in _ignored(finding.where.path, scope))


def _fails(finding: Finding, settings: Settings) -> bool:
    return settings.fail_on != "never" and finding.severity.rank <= Severity(settings.fail_on).rank


def _unjudged(facts: Facts, scope: Scope) -> tuple[Unjudged, ...]:
    """One reason for each question at each place, though several paths may lead there."""
    each_open = (each for fact in facts for each in fact.unjudged())
    every = (each for each in each_open if scope.holds(each.where.path) and scope.tells(each.where.path))
    ordered = sorted(every, key=lambda each: (each.where, each.question, each.why.reason))
    first = {(each.where, each.question): each for each in reversed(ordered)}
    return tuple(reversed(first.values()))


def _about(kind: str, findings: list[Finding], rules: Iterable[Rule]) -> list[Finding]:
    """A loss is flagged by whatever is found at its call, anything else only by what is found about itself."""
    if kind not in (INPUTS, FORMATS, OPTIMIZERS):
        return findings
    ((wanted,), _) = JUDGED[kind]
    other = {rule.code for rule in rules if rule.wants is not wanted and not always_runs(rule)}
    return [finding for finding in findings if finding.code not in other]


def _tally(facts: Facts, findings: Iterable[Finding], constant: set[str], kind: str, scope: Scope) -> Tally:
    """One verdict per call, the worst of all the ways it is reached; where trainlint failed, nothing was judged."""
    kinds, least = JUDGED[kind]
    flagged, failed, touched = set(), set(), set()
    for finding in findings:
        if scope.touches(finding):
            touched.add(finding.call)
        if finding.code in constant:
            failed.add(finding.call)
        elif finding.severity.rank <= least.rank:
            flagged.add(finding.call)
    counted = (fact for each in kinds for fact in facts.of(each))
    told = (fact for fact in counted if scope.tells(fact.call.path))
    asked = [fact for fact in told if scope.holds(fact.call.path) or fact.call in touched]
    unsettled = failed | {fact.call for fact in asked if any(fact.unjudged())}
    crashed = {fact.call for fact in facts.of(Crash) if kind == "losses" and scope.holds(fact.call.path)}
    calls = {fact.call for fact in asked} | {call for call in crashed if scope.tells(call.path)}
    return Tally(
        safe=len(calls - flagged - unsettled),
        flagged=len(calls & flagged),
        unjudged=len((calls & unsettled) - flagged),
    )


def _whose(scope: Scope) -> tuple[object, ...]:
    """What all that look at a project in the same way have in common."""
    return scope.root, scope.settings.src, tuple(scope.settings.values.items())


def _joined(first: Report, second: Report) -> Report:
    findings = sorted((*first.findings, *second.findings), key=lambda each: (each.where, each.code, each.message))
    return Report(
        findings=tuple(findings),
        suppressed=(*first.suppressed, *second.suppressed),
        commented={**first.commented, **second.commented},
        unjudged=(*first.unjudged, *second.unjudged),
        judged={kind: first.judged[kind] + second.judged[kind] for kind in JUDGED},
        files_checked=first.files_checked + second.files_checked,
        skipped={**first.skipped, **second.skipped},
        failing=(*first.failing, *second.failing),
        faults=(*first.faults, *second.faults),
        roots=(*first.roots, *second.roots),
        asked_for=first.asked_for | second.asked_for,
        identities=_either(first.identities, second.identities),
        baselined=(*first.baselined, *second.baselined),
        stale=(*first.stale, *second.stale),
        lines=_either(first.lines, second.lines),
    )


def _either(first: Mapping[K, V], second: Mapping[K, V]) -> Mapping[K, V]:
    """Both tables as one; one that is alone is left as it is, for it may still be unread."""
    return {**first, **second} if first and second else first or second
