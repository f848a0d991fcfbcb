"""A watch over one process, from its start to its end: settings in, a record on the disk out.

The record is written when the process ends, when it is told to end, and every so many steps before.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing.util
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from trainlint.probe.attach import Attachment
from trainlint.probe.guard import guarded
from trainlint.probe.launch import VARIABLE
from trainlint.probe.session import EVERY, Session, Settings


def from_environment(environment: Mapping[str, str]) -> None:
    """Watch this process as the environment says, until it ends."""
    said = json.loads(environment[VARIABLE])
    settings = Settings(said.get("every", EVERY), said.get("steps"), Path(said["folder"]))
    session = Session(settings)
    Attachment(session).attach()
    keep(session)


def keep(session: Session) -> None:
    """See that the record is written, however the process ends."""
    atexit.register(_end, session)
    _at_end_of_worker(session)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _forked(session))
    _on_signal(session)


@guarded("writing the report at the end")
def _end(session: Session) -> None:
    if session.pid == os.getpid():
        session.complete = True
        session.save()


@guarded("preparing for the end of a worker")
def _at_end_of_worker(session: Session) -> None:
    """Workers of multiprocessing leave without what ``atexit`` holds."""
    multiprocessing.util.Finalize(None, _end, args=(session,), exitpriority=0)


@guarded("starting anew in a process that was forked off")
def _forked(session: Session) -> None:
    session.forget()
    session.pid = os.getpid()
    _after_fork(session)


def _after_fork(session: Session) -> None:
    # multiprocessing forgets its finalizers in a child before it runs anything; a plain fork keeps ``atexit``.
    multiprocessing.util.register_after_fork(session, _at_end_of_worker)


def _on_signal(session: Session) -> None:
    """A process that is told to end writes first and then ends as it would have; whoever handles the signal may."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def save_and_end(number: int, _: FrameType | None) -> None:
        if session.pid == os.getpid():
            session.save()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, save_and_end)
