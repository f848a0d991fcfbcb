"""A project in, facts out: the only module of this package that touches the disk.

Most runs of a hook have nothing to observe, so what reads code is imported when there is.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from trainlint.facts import Facts
from trainlint.record import dataclass, field, replace
from trainlint.source.sift import relevant
from trainlint.source.silencing import may_silence
from trainlint.source.stamps import Ledger, Seen
from trainlint.source.text import NOTEBOOK, Fault, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.source.enclosing import Definition
    from trainlint.source.notebook import Cell
    from trainlint.source.verdicts import Unit, Verdicts
    from trainlint.source.workspace import Tables, Workspace
    from trainlint.value import Settled

T = TypeVar("T")
Tell = Callable[[int, int], None]
"""Who wants to know how many of how many pieces of work are done."""

FEWEST_FILES = 24
"""Files to judge from which starting processes can pay."""

WORK = 4
"""Notes of what was known before that are written in the time in which one is made anew."""

DEEPEST_PYTHON = 3000
"""Python frames that the evaluator's own budget may need."""


@dataclass(frozen=True)
class Project:
    """What is linted together: every Python file below one root, absolute and sorted.

    ``search`` are the folders that imports start from beside the root and the folder of the importing file. ``values``
    are numbers that only a run knows, by the name that the code gives them (``--define cfg.vocab_size=1025``).
    ``texts`` are the bytes that files are taken to hold, whatever they hold on the disk.
    """

    root: str
    files: tuple[str, ...]
    search: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, path: str) -> bytes | Fault:
        """The bytes of a file."""
        return self.texts[path] if path in self.texts else read(path)


@dataclass(frozen=True)
class Sifted:
    """The files that may hold something to judge, and those that may hold a comment which silences."""

    sites: tuple[str, ...]
    silencing: tuple[str, ...]


def sites(project: Project) -> tuple[str, ...]:
    """The files that may hold something to judge, found by their bytes alone."""
    return sifted(project).sites


def sifted(project: Project) -> Sifted:
    """What each file of a project may hold, found by its bytes alone."""
    return Observer(project, is_once=True).sifted()


def foreign(files: Iterable[str]) -> Mapping[str, str]:
    """The notebooks among these files whose language is not Python, with that language."""
    notebooks = [path for path in files if path.endswith(NOTEBOOK)]
    if not notebooks:
        return {}
    from trainlint.source import notebook

    read_ones = ((path, read(path)) for path in notebooks)
    named = ((path, notebook.foreign(data)) for path, data in read_ones if isinstance(data, bytes))
    return {path: language for path, language in named if language}


def cells(path: str) -> tuple[Cell, ...]:
    """The cells of a notebook that hold code; none where it cannot be read."""
    return cells_in(read(path))


def cells_in(data: bytes | Fault) -> tuple[Cell, ...]:
    """The same for the bytes of a notebook."""
    from trainlint.source.notebook import opened

    notebook = data if isinstance(data, Fault) else opened(data)
    return () if isinstance(notebook, Fault) else notebook.cells


def definitions(text: str) -> tuple[Definition, ...]:
    """The classes and functions in the text of a file or of a cell, the outer ones first."""
    from trainlint.source.enclosing import definitions

    return definitions(text)


def settle(project: Project, path: str, cell: int | None, row: int) -> tuple[Settled, ...] | Fault:
    """What each name in a row of a file is worth, or why the file cannot be read."""
    return Observer(project, is_once=True).settle(path, cell, row)


def _searched(path: str, read: Callable[[str], bytes | Fault]) -> bytes | Fault:
    """What words are looked for in: a file's bytes, or those of a notebook's code."""
    data = read(path)
    if isinstance(data, Fault) or not path.endswith(NOTEBOOK):
        return data
    from trainlint.source.notebook import opened

    notebook = opened(data)
    return notebook if isinstance(notebook, Fault) else notebook.data


def observe(project: Project, files: Sequence[str], jobs: int = 1, tell: Tell | None = None) -> Facts:
    """The facts of these files of the project; everything else is read only when a fact asks for it.

    With more than one job the files are shared out among processes; the facts and their order are the same. ``tell`` is
    told how many of how many files are observed.
    """
    return Observer(project, is_once=True).observe(files, jobs, tell)


class Observer:
    """A project that is kept open between looks: what nobody said has changed is neither read nor judged again.

    With ``is_once`` there is one look: what verdicts rest on is not noted, and after a change all is judged again.
    """

    def __init__(self, project: Project, ledger: Ledger | None = None, *, is_once: bool = False) -> None:
        self.project, self._ledger, self._is_once = project, ledger, is_once
        self._sifted: dict[str, tuple[bool, bool]] = {}
        self._verdicts: Verdicts | None = None
        self._taken_over = 0

    def change(self, project: Project, changed: Collection[str]) -> None:
        """The same project with other files, or with other bytes in those that changed."""
        self.project = project
        for path in changed:
            self._sifted.pop(path, None)
        if self._is_once:
            self._verdicts = None
        if self._verdicts is not None and (changed or project.files != self._verdicts.workspace.files):
            self._verdicts.change(project.files, changed)

    def sifted(self, files: Sequence[str] | None = None) -> Sifted:
        """What each of these files, or of all files of the project, may hold, found by its bytes alone."""
        wanted = self.project.files if files is None else files
        for path in wanted:
            if path not in self._sifted:
                self._sifted[path] = _may_hold(_searched(path, self._read))
        held = [(path, *self._sifted[path]) for path in wanted]
        return Sifted(
            tuple(path for path, may_matter, _ in held if may_matter),
            tuple(path for path, _, silences in held if silences),
        )

    def observe(
        self, files: Sequence[str], jobs: int = 1, tell: Tell | None = None, alone: Collection[str] = ()
    ) -> Facts:
        """What ``observe`` says of the project as it is now; of files ``alone``, only whether they can be read."""
        from trainlint.source.company import joined

        known = self._known()
        if jobs > 1:
            self._judge_apart(known, [path for path in files if path not in alone], jobs, tell or _nobody)
        with _deep():
            verdicts = list(known.of(_told(files, len(files), tell or _nobody), alone))
        facts = joined(fact for verdict in verdicts for fact in verdict.facts)
        return Facts(facts, frozenset(name for verdict in verdicts for name in verdict.given))

    def settle(self, path: str, cell: int | None, row: int) -> tuple[Settled, ...] | Fault:
        """What ``settle`` says of the project as it is now."""
        from trainlint.source.settle import settled

        workspace = self._known().workspace
        module = workspace.module(path)
        if isinstance(module, Fault):
            return module
        with _deep():
            return tuple(settled(workspace, module, cell, row))

    def _known(self) -> Verdicts:
        from trainlint.source.verdicts import Verdicts

        self._verdicts = self._verdicts or Verdicts(_workspace(self.project, self._read, is_once=self._is_once))
        return self._verdicts

    @property
    def has_done_much(self) -> bool:
        """Whether what was judged since the last change took longer than to write all that is known."""
        return self._verdicts is None or self._verdicts.workspace.notes * WORK > self._taken_over

    def kept(self) -> tuple[dict[str, tuple[bool, bool]], tuple[dict[str, Unit], Tables] | None]:
        """All that is known of the project, for another observer of the same files; what it judged must be encoded."""
        known = self._verdicts
        return self._sifted, None if known is None else (known.units, known.workspace.tables())

    def restore(
        self,
        files: Sequence[str],
        sifted: Mapping[str, tuple[bool, bool]],
        known: tuple[dict[str, Unit], Tables] | None,
    ) -> None:
        """Take over what another observer knew when the project had these files."""
        from trainlint.source.verdicts import Verdicts

        self._sifted = dict(sifted)
        if known is not None:
            workspace = _workspace(replace(self.project, files=tuple(files)), self._read)
            places = workspace.adopt(known[1])
            self._taken_over = len(places)
            self._verdicts = Verdicts(workspace)
            self._verdicts.join(known[0], places)

    def join(self, sifted: Mapping[str, tuple[bool, bool]], known: tuple[dict[str, Unit], Tables] | None) -> None:
        """Add what another observer of the same files knows; what both know is known already."""
        self._sifted = {**sifted, **self._sifted}
        if known is not None and self._verdicts is not None:
            self._verdicts.join(known[0], self._verdicts.workspace.adopt(known[1]))

    def _read(self, path: str) -> bytes | Fault:
        if self._ledger is None or path in self.project.texts:
            return self.project.read(path)
        return self._ledger.read(path)

    def _judge_apart(self, verdicts: Verdicts, files: Sequence[str], jobs: int, tell: Tell) -> None:
        """Judge what is not known yet in several processes, where there is enough of it."""
        unknown = verdicts.unknown(files)
        if len(unknown) < FEWEST_FILES:
            return
        from concurrent.futures import ProcessPoolExecutor

        self._taken_over = 0
        # One share each: what several sites ask for is worked out once a share, and takes longer than most sites.
        size = -(-len(unknown) // jobs)
        shares = [unknown[start : start + size] for start in range(0, len(unknown), size)]
        with ProcessPoolExecutor(jobs) as pool:
            every = pool.map(_judged, [self.project] * len(shares), shares, [self._is_once] * len(shares))
            for units, tables, seen in _told(every, len(shares), tell):
                verdicts.join(units, verdicts.workspace.adopt(tables))
                if self._ledger:
                    self._ledger.seen.update(seen)


def _may_hold(data: bytes | Fault) -> tuple[bool, bool]:
    """Whether bytes may hold something to judge, and whether they may hold a comment that silences."""
    if isinstance(data, Fault):
        return True, False
    return relevant(data), may_silence(data)


def _nobody(done: int, total: int) -> None:
    """Told, and silent."""


def _told(things: Iterable[T], total: int, tell: Tell) -> Iterator[T]:
    """The same things, each told when its turn has come."""
    for done, thing in enumerate(things):
        tell(done, total)
        yield thing


def _judged(project: Project, files: Sequence[str], is_once: bool) -> tuple[dict[str, Unit], Tables, dict[str, Seen]]:
    """Every verdict of these files, by file, what was asked for them, and what was read."""
    from trainlint.source.verdicts import Verdicts

    ledger = Ledger(project.read)
    verdicts = Verdicts(_workspace(project, ledger.read, is_once=is_once))
    with _deep():
        for _ in verdicts.of(files):
            pass
    return verdicts.units, verdicts.workspace.tables(), ledger.seen


def _workspace(project: Project, read: Callable[[str], bytes | Fault], *, is_once: bool = False) -> Workspace:
    from trainlint.source.journal import Fleeting, Journal
    from trainlint.source.workspace import Workspace

    journal = Fleeting() if is_once else Journal()
    return Workspace(project.root, project.files, project.search, project.values, read, journal)


@contextmanager
def _deep() -> Iterator[None]:
    """Python as the evaluator needs it: deep enough, and without collecting trees, which hold no cycles."""
    limit, collects = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, DEEPEST_PYTHON))
    # With the collector on, reading a large project takes twice as long.
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if collects:
            gc.enable()
