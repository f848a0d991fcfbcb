"""``--watch``: paths in, a check of them again and again until somebody interrupts it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from trainlint import config
from trainlint.check import ABSENT, Request, Session, files, scopes
from trainlint.cli import UsageError, complain
from trainlint.cli.options import Said
from trainlint.config import ConfigError

PAUSE = 0.3
"""Seconds between two looks: a change is told at once, and looking at some thousand files costs little."""

Run = Callable[[tuple[str, ...], Said, Callable[[Request], Session]], int]


def watch(paths: tuple[str, ...], said: Said, run: Run) -> int:
    """Check now, and again whenever a file of the project or its settings change; interrupting it is no fault."""
    said = {name: values for name, values in said.items() if name != "watch"}
    if "-" in said.get("files-from", ()):
        raise UsageError("--watch reads no paths from the input: --files-from must name a file")
    missing = next((path for path in paths if not os.path.exists(path)), None)
    if missing is not None:
        raise UsageError(f"{missing}: {ABSENT}")
    interrupts: list[int] = []

    def interrupt(number: int, _: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    # Python drops an interrupt that comes while it lets go of an object, and then the next look must be the last.
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        known: Mapping[str, object] | None = None
        while not interrupts:
            now = dict(_stamps(paths, said))
            if now != known:
                known = now
                _checked(paths, said, run)
                print(f"watching {len(known)} files; Ctrl-C ends it", file=sys.stderr, flush=True)
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def _checked(paths: tuple[str, ...], said: Said, run: Run) -> None:
    """A mistake in the settings is told and waited out: it is being edited."""
    try:
        run(paths, said, Session)
    except UsageError as error:
        complain(str(error))


def _stamps(paths: tuple[str, ...], said: Said) -> Iterator[tuple[str, object]]:
    """What tells that a file has changed, for each file of the projects and of their settings."""
    for path in dict.fromkeys(_files(paths, said)):
        try:
            known = os.stat(path)
        except OSError:
            continue
        yield path, (known.st_mtime_ns, known.st_size, known.st_ino)


def _files(paths: tuple[str, ...], said: Said) -> Iterator[str]:
    from trainlint.cli.check import layers, requested

    folder = os.getcwd()
    try:
        given = tuple(layers(said, folder))
        here = config.nearest(folder) if "isolated" not in said else None
        src = config.settings((*((here,) if here else ()), *given)).src
        request = requested(paths, said, given, src)
        wanted = [os.path.normpath(os.path.join(folder, path)) for path in request.paths]
        for scope in scopes(request, filter(os.path.exists, wanted)):
            yield from (layer.origin for layer in scope.layers)
        yield from files(request).every
    except (ConfigError, UsageError):
        yield from (os.path.join(folder, name) for name in config.FILES)
        yield from said.get("config", ())
