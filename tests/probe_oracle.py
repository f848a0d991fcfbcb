"""What the probe says of a fixture: run each given folder's ``train.py``, or its notebook, and judge what was seen.

Run as a script, one process for many folders: folders in, one line of JSON out, ``{folder: {"error": traceback or null,
"findings": [[code, severity, file, cell, row]], "unjudged": [[file, cell, row, question, why]], "losses": [[file, cell,
row]], "unobserved": [why], "faults": [what]}}``. Rules that are off speak too.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import torch
from torch_oracle import run

from trainlint.facts import Facts, Loss
from trainlint.lint import lint
from trainlint.probe.conclusions import facts
from trainlint.probe.watching import Watch
from trainlint.rule import installed
from trainlint.span import Span


def main(paths: list[str]) -> None:
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True
    os.chdir(tempfile.mkdtemp())
    print(json.dumps({path: seen(Path(path)) for path in paths}))


def seen(path: Path) -> dict[str, Any]:
    """One fixture, or one script, run from its own folder with fresh modules."""
    folder = path if path.is_dir() else path.parent
    before = list(sys.path), sys.argv, set(sys.modules)
    sys.path.insert(0, str(folder))
    sys.argv = ["train.py"]
    torch.manual_seed(0)
    error = None
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], Watch(every=1) as watched:
        try:
            run(path) if path.is_dir() else runpy.run_path(str(path), run_name="__main__")
        except Exception:
            error = traceback.format_exc()
    sys.path[:], sys.argv = before[:2]
    for name in set(sys.modules) - before[2]:
        if str(folder) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]
    return {"error": error, **verdicts(watched)}


def verdicts(watched: Watch) -> dict[str, Any]:
    seen = list(facts(watched.record))
    unjudged = [each for fact in seen for each in fact.unjudged()]
    losses = [fact.call for fact in seen if isinstance(fact, Loss)]
    return {
        "findings": [
            [each.code, each.severity.value, *at(each.where)] for each in lint(Facts(seen), installed().values())
        ],
        "unjudged": [[*at(each.where), each.question, each.why.reason] for each in unjudged],
        "losses": [at(call) for call in losses],
        "unobserved": watched.unobserved,
        "faults": list(watched.record.faults),
    }


def at(where: Span) -> tuple[str, int | None, int]:
    file, _, cell = where.path.partition("#")
    return file, int(cell) if cell else None, where.row


if __name__ == "__main__":
    main(sys.argv[1:])
