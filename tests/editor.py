"""An editor without a window: it starts the language server and speaks with it over the standard streams."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 120
"""Seconds after which a server that says nothing is taken for dead."""

RICH: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1, 2]}, "versionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source.fixAll"]}}},
    },
    "workspace": {
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceFolders": True,
    },
}
"""What an editor can do that can do everything."""

Message = dict[str, Any]


class Exit(NamedTuple):
    """How a server ended: its status, and what else it wrote."""

    status: int
    out: bytes
    err: str


class Editor:
    """One server and what it has said so far."""

    def __init__(self, folder: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "trainlint", "server", *words]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env={**os.environ, **(env or {})}
        )
        self.heard: queue.Queue[Message | None] = queue.Queue()
        self.messages: list[Message] = []
        self.errors: list[bytes] = []
        self._id = 0
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._drain)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            assert line.startswith(b"Content-Length: "), f"no message: {line!r}"
            length = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            self.heard.put(json.loads(stream.read(length)))
        self.heard.put(None)

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.errors += self.process.stderr

    def send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method: str, params: object = None) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: object = None) -> int:
        """Ask, and do not wait; the number of the request."""
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        return self._id

    def answer(self, number: int) -> Message:
        """The answer to a request, an error included."""
        return self.hear(lambda each: "method" not in each and each.get("id") == number)

    def request(self, method: str, params: object = None) -> Any:
        answer = self.answer(self.ask(method, params))
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def hear(self, is_meant: Callable[[Message], bool]) -> Message:
        """The next message that is meant, with those that were heard already and not yet taken."""
        for message in self.messages:
            if is_meant(message):
                self.messages.remove(message)
                return message
        while True:
            new = self.heard.get(timeout=PATIENCE)
            assert new is not None, f"the server has gone: {b''.join(self.errors).decode()}"
            if is_meant(new):
                return new
            self.messages.append(new)

    def told(self, method: str) -> Any:
        """What the server tells or asks next by a method."""
        return self.hear(lambda each: each.get("method") == method)["params"]

    def begin(self, *folders: Path, able: Mapping[str, Any] = RICH, **more: object) -> Any:
        """Shake hands; what the server can do."""
        named = [{"uri": each.as_uri(), "name": each.name} for each in folders]
        params = {"processId": None, "rootUri": None, "workspaceFolders": named, "capabilities": able, **more}
        result = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, *changes: Message) -> None:
        about = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": about, "contentChanges": list(changes)})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def shown(self, uri: str, version: int | None = None) -> list[Message]:
        """The diagnostics that are published next for a document, or next for a version of it."""

        def is_meant(each: Message) -> bool:
            if each.get("method") != "textDocument/publishDiagnostics" or each["params"]["uri"] != uri:
                return False
            return version is None or each["params"].get("version") == version

        found: list[Message] = self.hear(is_meant)["params"]["diagnostics"]
        return found

    def hover(self, uri: str, line: int, character: int) -> Any:
        place = {"line": line, "character": character}
        return self.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})

    def actions(self, uri: str, line: int, character: int = 0, only: list[str] | None = None) -> list[Message]:
        place = {"line": line, "character": character}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        about = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "context": context}
        found: list[Message] = self.request("textDocument/codeAction", about)
        return found

    def leave(self) -> Exit:
        """Say goodbye as the protocol wants it."""
        self.request("shutdown")
        self.notify("exit")
        return self.gone()

    def gone(self) -> Exit:
        """Wait for the end of the process."""
        status = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return Exit(status, b"", b"".join(self.errors).decode())


@contextmanager
def editor(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Editor]:
    """A server for a while, which is ended with the test if it does not end itself."""
    running = Editor(folder, *words, env=env)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        for stream in (running.process.stdin, running.process.stdout, running.process.stderr):
            assert stream is not None
            stream.close()
