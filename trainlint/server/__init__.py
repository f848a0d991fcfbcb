"""``trainlint server``: a language server on the standard streams; an editor's messages in, findings out.

Nothing but messages of the protocol is ever written to the output. What knows the protocol is imported when the server
starts, for it needs pygls.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

NO_PYGLS = "the language server needs pygls: pip install 'trainlint[server]'"
PYGLS = frozenset({"pygls", "lsprotocol"})


def run(arguments: tuple[str, ...], said: Mapping[str, tuple[str, ...]]) -> int:
    """Serve until the editor says goodbye, which ends the process; 2 where nothing can be served."""
    if arguments:
        return _complain(f"server takes no paths, the editor names them; got {' '.join(arguments)}")
    try:
        from trainlint.server.door import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in PYGLS:
            raise
        return _complain(NO_PYGLS)
    return serve()


def _complain(message: str) -> int:
    print(f"trainlint: {message}", file=sys.stderr)
    return 2
