"""The messages of the language server protocol in and out: who asked, what changed, what is to be shown.

Judging happens in one thread beside the one that reads messages; what was judged when something newer had come in is
thrown away. Nothing but messages goes to the output.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, NoReturn, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from trainlint import __version__
from trainlint.baseline import BaselineError
from trainlint.config import ConfigError
from trainlint.rule import PackError
from trainlint.selection import UnknownSelector
from trainlint.server import hover
from trainlint.server.actions import FIX_ALL, KINDS, QUICK_FIX, action, is_wanted
from trainlint.server.diagnostics import Atlas, diagnostics, shown_by
from trainlint.server.documents import Documents
from trainlint.server.places import UTF_16, characters, path_of
from trainlint.server.work import Change, Look, Work, changes
from trainlint.span import Span

T = TypeVar("T")
Shown = Mapping[str, list[types.Diagnostic]]

PAUSE = 0.1
"""Seconds without a change after which a text is judged: who types on wants no word on half a line."""

PATIENCE = 0.3
"""Seconds for all that may have a place in an open file; then what stands in it comes first."""

STACK = 64 * 2**20
"""Bytes for the thread that judges: what a main thread has elsewhere, some systems give no other."""

MISTAKES = (ConfigError, UnknownSelector, BaselineError, PackError)
"""What the user can put right: told without a traceback."""

WATCHED = "**/*.{py,pyi,ipynb,toml,json,yaml,yml,txt,cfg,safetensors,gitignore}"
"""Whatever may be read, settings and data files included."""

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(kind) for kind in ("jupyter-notebook", "interactive")], save=True
)

KEPT = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)
"""Messages about documents, which are kept here and nowhere else."""

log = logging.getLogger(__name__)


class Door(LanguageServer):
    """The server: documents by what the editor says, and the thread that judges them."""

    def __init__(self) -> None:
        super().__init__("trainlint", __version__, notebook_document_sync=NOTEBOOKS)
        for method in KEPT:
            # Pygls ends lines where Unicode does, and moves the places of a change to suit.
            del self.protocol.fm.builtin_features[method]
        self.documents = Documents(os.getcwd(), UTF_16)
        self.encoding = UTF_16
        self.said_goodbye = False
        self._folders: list[str] = []
        self._table: Mapping[str, object] = {}
        self._work = Work((), {})
        self._touched: set[str] = set()
        self._changes, self._judged, self._whole, self._waiting = 1, 0, 0, 0
        self._look: Look = Look({}, ())
        self._shown: dict[str, tuple[int | None, list[types.Diagnostic]]] = {}
        self._told: set[str] = set()
        self._mistake = ""
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Future[None] | None = None
        self._later: asyncio.Future[None] | None = None
        self._looking = asyncio.Lock()
        self._thread = _one_thread()

    # What the editor is told

    async def current(self) -> Look:
        """What is found in the text as it is now, shown as well."""
        async with self._looking:
            while self._judged < self._changes:
                await self._judge()
            return self._look

    async def _keep_up(self) -> None:
        """Judge what changed, once: what comes in meanwhile has its own turn."""
        async with self._looking:
            if self._judged < self._changes:
                await self._judge()

    async def _judge(self) -> None:
        """Judge everything where that is soon done, else what stands in the open files and the rest later."""
        now, opened, touched, work = self._changes, self.documents.opened, frozenset(self._touched), self._work

        def judge() -> tuple[Look, Shown, bool]:
            late = time.monotonic() + PATIENCE
            whole = work.look(opened, touched, lambda: time.monotonic() > late)
            look = work.look_here(opened) if whole is None else whole
            return look, self._shown_as(look), whole is not None

        found = await self.guarded(self.apart(judge))
        self._touched -= touched
        if now == self._changes:
            self._judged = now
            self._whole = now if found is None or found[2] else self._whole
            if found:
                self._mistake = ""
                self._show(*found[:2])

    async def _finish(self) -> None:
        """Judge what lies elsewhere and has a place in the open files, if nothing else is to be done."""
        now, opened, work = self._changes, self.documents.opened, self._work

        def judge() -> tuple[Look, Shown] | None:
            look = work.look(opened, (), lambda: self._waiting > 0)
            return (look, self._shown_as(look)) if look else None

        found = await asyncio.get_running_loop().run_in_executor(self._thread, judge)
        if found and now == self._changes:
            self._whole = now
            self._show(*found)

    def _shown_as(self, look: Look) -> Shown:
        return diagnostics(look, Atlas(look, self.encoding), shown_by(self.client_capabilities))

    def _show(self, look: Look, shown: Shown) -> None:
        """Publish what is new, and empty lists where nothing is left."""
        self._look = look
        versions = {
            buffer.uri: buffer.version for file in self._look.opened.values() for buffer in file.buffers.values()
        }
        for uri in {**self._shown, **shown}:
            new = (versions.get(uri), shown.get(uri, []))
            if self._shown.get(uri) != new:
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, new[1], new[0]))
        self._shown = {uri: (versions.get(uri), each) for uri, each in shown.items() if each or uri in versions}

    def changed(self, path: str | None, pause: float = 0.0) -> None:
        """Something is not as it was when it was last judged; judge it after a pause in which nothing else happens."""
        if path is None:
            return
        self._changes += 1
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(pause, self._start)

    def _start(self) -> None:
        self._task = asyncio.ensure_future(self.guarded(self._keep_up()))

    def touch(self, uris: Sequence[str]) -> None:
        """Files changed on the disk."""
        paths = list(filter(None, map(path_of, uris)))
        self._touched.update(paths)
        self.changed(next(iter(paths), None))

    def saved(self, uri: str) -> None:
        """A document was written; who cannot watch files may have changed others too."""
        if self._watches:
            self.touch([uri])
        else:
            self._renew()

    async def apart(self, job: Callable[[], T]) -> T:
        """Do something in the thread that judges, after what waits there; what nobody waits for is broken off."""
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, job)
        finally:
            self._waiting -= 1
            asyncio.get_running_loop().call_soon(self._rest)

    def _rest(self) -> None:
        """Go on with what was left for later."""
        if not self._waiting and self._whole < self._judged == self._changes:
            self._later = asyncio.ensure_future(self.guarded(self._finish()))

    async def guarded(self, job: Awaitable[T]) -> T | None:
        """The result of a job; where it fails, the failure is logged and shown, once, and the server goes on."""
        try:
            return await job
        except MISTAKES as error:
            if self._mistake != str(error):
                self._mistake = str(error)
                self._say(self._mistake)
        except Exception as error:
            log.error("internal error\n%s", traceback.format_exc())
            self.complain(f"internal error: {error!r} (the log has more)")
        return None

    def complain(self, message: str) -> None:
        """Show a message that was not shown before."""
        if message not in self._told:
            self._told.add(message)
            self._say(message)

    def _say(self, message: str) -> None:
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"trainlint: {message}"))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """What goes wrong around our own code."""
        log.error("%s: %s", getattr(source, "__name__", source), error)
        self.complain(f"internal error: {error} (the log has more)")

    # What the editor tells

    def begin(self, params: types.InitializeParams) -> None:
        """Take the folders and the settings of the editor."""
        uris = [folder.uri for folder in params.workspace_folders or ()]
        uris = uris or [uri for uri in (params.root_uri,) if uri]
        self._folders = [path for path in map(path_of, uris) if path]
        if not self._folders and params.root_path:
            self._folders = [os.path.abspath(params.root_path)]
        self.encoding = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        self.documents = Documents(self._folders[0] if self._folders else os.getcwd(), self.encoding)
        self._table = _section(params.initialization_options)
        self._renew()

    def settle(self, settings: object) -> None:
        """Take other settings of the editor."""
        if isinstance(settings, dict) and "trainlint" in settings:
            self._table = _section(settings)
            self._renew()

    def move(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Folders come and go."""
        gone = {path_of(folder.uri) for folder in event.removed}
        new = [path for path in (path_of(folder.uri) for folder in event.added) if path]
        self._folders = [path for path in self._folders if path not in gone] + new
        self._renew()

    def _renew(self) -> None:
        self._work = Work(tuple(self._folders), self._table)
        self.changed("")

    @property
    def _watches(self) -> bool:
        """Whether the editor can tell of files that change outside it."""
        can = self.client_capabilities.workspace
        return bool(can and can.did_change_watched_files and can.did_change_watched_files.dynamic_registration)

    async def watch(self) -> None:
        """Ask to be told of files that change outside the editor."""
        if self._watches:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(WATCHED)])
            asked = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            # An interrupt ends the server while the editor has not answered.
            with contextlib.suppress(asyncio.CancelledError):
                await self.client_register_capability_async(types.RegistrationParams([asked]))

    # What the editor asks

    async def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        """What is known of a place."""
        at = self._span(uri, position)
        if at is None:
            return None
        opened, work = self.documents.opened, self._work

        def believed() -> tuple[types.Range, str] | None:
            found = hover.told(work.resolve(at.path, at.cell, at.row, opened), at, os.path.dirname(at.path))
            return (Atlas(Look(opened, ()), self.encoding).location(found[0]).range, found[1]) if found else None

        found = await self.guarded(self.apart(believed))
        if found is None:
            return None
        can = self.client_capabilities.text_document
        forms = (can.hover.content_format if can and can.hover else None) or [types.MarkupKind.Markdown]
        if types.MarkupKind.Markdown in forms:
            return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found[1]), found[0])
        return types.Hover(types.MarkupContent(types.MarkupKind.PlainText, hover.plain(found[1])), found[0])

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What can be done about the findings of a stretch, and about all of a file."""
        at, work = self.documents.at(params.text_document.uri), self._work
        if at is None:
            return []
        only = [str(getattr(kind, "value", kind)) for kind in params.context.only] if params.context.only else None
        look = await self.current()
        found = await self.guarded(self.apart(lambda: list(self._actions(work, look, at[0], params, only))))
        return found or []

    def _actions(
        self, work: Work, look: Look, path: str, params: types.CodeActionParams, only: Sequence[str] | None
    ) -> Iterator[types.CodeAction]:
        atlas, client, every = Atlas(look, self.encoding), self.client_capabilities, list[tuple[Change, str]]()
        if is_wanted(QUICK_FIX, only):
            found = [each for each in look.findings if meets(atlas.location(each.where), params)]
            every += [(change, QUICK_FIX) for change in changes(look, found)]
        if is_wanted(FIX_ALL, only) and (change := work.repair(path, look)):
            every.append((change, FIX_ALL))
        made = (action(change, kind, look, atlas, client) for change, kind in every)
        return filter(None, made)

    def _span(self, uri: str, position: types.Position) -> Span | None:
        """A place of a document that is open as a place of a file."""
        at = self.documents.at(uri)
        if at is None:
            return None
        path, cell = at
        row = position.line + 1
        text = self.documents.opened[path].buffers[cell].row(row)
        column = characters(text, position.character, self.encoding) + 1
        return Span(path, row, column, cell=cell)


def meets(location: types.Location, params: types.CodeActionParams) -> bool:
    """Whether a place and the stretch that is asked about have anything in common, be it one end."""
    place, asked = location.range, params.range
    return location.uri == params.text_document.uri and place.start <= asked.end and asked.start <= place.end


def _section(options: object) -> Mapping[str, object]:
    """The settings in what an editor gives, which may have a section of their own."""
    table = options.get("trainlint", options) if isinstance(options, dict) else {}
    return table if isinstance(table, dict) else {}


def _one_thread() -> ThreadPoolExecutor:
    threading.stack_size(STACK)
    return ThreadPoolExecutor(1, "judge")


def door() -> Door:
    """A server that hears everything it is told."""
    server = Door()
    hears = server.feature

    @hears(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)

    @hears(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await server.watch()

    @hears(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.said_goodbye = True

    @hears(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(server.documents.open(params.text_document))

    @hears(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        server.changed(server.documents.change(document.uri, document.version, params.content_changes), PAUSE)

    @hears(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.saved(params.text_document.uri)

    @hears(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.changed(server.documents.close(params.text_document.uri))

    @hears(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened_notebook(params: types.DidOpenNotebookDocumentParams) -> None:
        server.changed(server.documents.open_notebook(params.notebook_document, params.cell_text_documents))

    @hears(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed_notebook(params: types.DidChangeNotebookDocumentParams) -> None:
        server.changed(server.documents.change_notebook(params.notebook_document.uri, params.change), PAUSE)

    @hears(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved_notebook(params: types.DidSaveNotebookDocumentParams) -> None:
        server.saved(params.notebook_document.uri)

    @hears(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed_notebook(params: types.DidCloseNotebookDocumentParams) -> None:
        server.changed(server.documents.close_notebook(params.notebook_document.uri))

    @hears(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def touched(params: types.DidChangeWatchedFilesParams) -> None:
        server.touch([change.uri for change in params.changes])

    @hears(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def moved(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.move(params.event)

    @hears(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def settled(params: types.DidChangeConfigurationParams) -> None:
        server.settle(params.settings)

    @hears(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return await server.hover(params.text_document.uri, params.position)

    @hears(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(list(KINDS)))
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    return server


def serve() -> NoReturn:
    """Serve on the standard streams, then end the process: 0 if a shutdown was asked for before, else 1."""
    server, (asked, answered) = door(), _streams()
    server.start_io(asked, answered)
    sys.stderr.flush()
    # The interpreter would wait for the thread that judges, and nobody waits for that any more.
    os._exit(0 if server.said_goodbye else 1)


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The standard streams, kept for messages: whatever else reads finds nothing, and prints to the errors."""
    asked, answered = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return asked, answered
