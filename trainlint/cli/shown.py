"""``--show-files`` and ``--show-settings``: a request in, what it comes to out; nothing is checked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from trainlint.check import ABSENT, Request, files, scopes
from trainlint.cli import complain
from trainlint.cli.options import Said
from trainlint.config import Setting, shown
from trainlint.report import filename


def show(request: Request, said: Said) -> int:
    """Print what was asked for; 2 where a path is not there."""
    if "show-settings" in said:
        print("\n".join(_settings(request)))
    if "show-files" in said:
        found = files(request)
        for path in found.asked:
            print(filename(path, request.folder))
        if "verbose" in said:
            for path, why in found.skipped.items():
                print(f"{filename(path, request.folder)}: {why}", file=sys.stderr)
    sys.stdout.flush()
    missing = (path for path in request.paths if not os.path.exists(os.path.join(request.folder, path)))
    return max((0, *(complain(f"{path}: {ABSENT}") for path in missing)))


def _settings(request: Request) -> Iterator[str]:
    """By project: each key, its value as TOML writes it, and where it was said."""
    paths = (os.path.normpath(os.path.join(request.folder, path)) for path in request.paths)
    for scope in scopes(request, filter(os.path.exists, paths)):
        yield f"# the settings of {filename(scope.root, request.folder)}"
        rows = [(_assignment(each), _origin(each, request)) for each in shown(scope.layers)]
        width = max(len(assignment) for assignment, _ in rows)
        yield from (f"{assignment:<{width}}  # {origin}" for assignment, origin in rows)


def _assignment(setting: Setting) -> str:
    if setting.value is None:
        return f"# {setting.key} is not set"
    return f"{setting.key} = {json.dumps(setting.value, ensure_ascii=False)}"


def _origin(setting: Setting, request: Request) -> str:
    return filename(setting.origin, request.folder) if setting.origin else "default"
