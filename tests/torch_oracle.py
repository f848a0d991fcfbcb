"""What PyTorch itself does in a fixture: run each given folder's ``train.py``, or its notebook, and record its losses.

Run as a script, one process for many folders, because importing torch costs more than a fixture: folders in, one line
of JSON out, ``{folder: {"error": traceback or null, "losses": [{...}]}}``.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import json
import os
import re
import runpy
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

CLASSIFIERS = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
MATCHING = ("mse_loss", "l1_loss", "smooth_l1_loss")


def main(folders: list[str]) -> None:
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True
    os.chdir(tempfile.mkdtemp())
    print(json.dumps({folder: trained(Path(folder)) for folder in folders}))


def trained(folder: Path) -> dict[str, Any]:
    """One fixture, run from its own folder with fresh modules."""
    losses: list[dict[str, Any]] = []
    path, argv, before = list(sys.path), sys.argv, set(sys.modules)
    sys.path.insert(0, str(folder))
    sys.argv = ["train.py"]
    torch.manual_seed(0)
    try:
        with recorded(folder, losses), contextlib.redirect_stdout(io.StringIO()):
            run(folder)
        return {"error": None, "losses": losses}
    except Exception:
        return {"error": traceback.format_exc(), "losses": losses}
    finally:
        sys.path[:], sys.argv = path, argv
        for name in set(sys.modules) - before:
            if str(folder) in str(getattr(sys.modules[name], "__file__", None)):
                del sys.modules[name]


def run(folder: Path) -> None:
    """A script from its top, a notebook cell by cell, each cell a file of its own: ``train.ipynb#3``."""
    notebook = folder / "train.ipynb"
    if not notebook.exists():
        runpy.run_path(str(folder / "train.py"), run_name="__main__")
        return
    space: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"], start=1):
        if cell["cell_type"] == "code":
            exec(compile(without_commands("".join(cell["source"])), f"{notebook}#{number}", "exec"), space)


def without_commands(text: str) -> str:
    """A cell without what only IPython would do."""
    return re.sub(r"^(\s*)(\w+ = )?[!%].*", lambda found: f"{found[1]}{found[2] or ''}None", text, flags=re.MULTILINE)


@contextlib.contextmanager
def recorded(folder: Path, losses: list[dict[str, Any]]) -> Iterator[None]:
    """Let every loss of PyTorch tell what it was given, and pass it on untouched."""
    originals = {name: getattr(F, name) for name in (*CLASSIFIERS, *BINARY, *MATCHING, "kl_div", "ctc_loss")}
    for name, original in originals.items():
        setattr(F, name, _telling(original, folder, losses))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(F, name, original)


def _telling(original: Callable[..., Any], folder: Path, losses: list[dict[str, Any]]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def tell(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        witness = WITNESSES.get(original.__name__) or functools.partial(_classes, original)
        losses.append({"function": original.__name__, **_caller(folder), **witness(given.arguments)})
        return original(*args, **kwargs)

    return tell


def _classes(original: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """How wide the logits are, which targets the loss dropped, and whether the model hears anything of those."""
    logits, target, ignored = given["input"].detach(), given["target"], given["ignore_index"]
    rows = logits.unsqueeze(0) if logits.dim() == 1 else logits
    misfit = _is_likely(rows) if original.__name__ == "cross_entropy" else not _is_likely(rows.exp())
    if target.is_floating_point():
        kept = {"dropped": 0, "kept": target.size(0), "silent": True}
        return {"width": rows.size(1), "ignored": ignored, "misfit": misfit, **kept}
    rows = rows.clone().requires_grad_()
    with torch.enable_grad():
        targets = target.reshape(rows.size(0), *target.shape[1:])
        original(rows, targets, ignore_index=ignored, reduction="sum").backward()
    heard = rows.grad.abs().sum(1) if rows.grad is not None else torch.zeros(0)
    dropped = target.reshape(heard.shape) == ignored
    return {
        "width": rows.size(1),
        "ignored": ignored,
        "misfit": misfit,
        "dropped": int(dropped.sum()),
        "kept": int((~dropped).sum()),
        "silent": bool((heard[dropped] == 0).all()),
    }


def _is_likely(rows: torch.Tensor) -> bool:
    """Whether these are probabilities: every number from 0 to 1, and not all of them alike by chance."""
    return bool(((rows >= 0) & (rows <= 1)).all()) and rows.numel() > 1


def _binary(given: dict[str, Any]) -> dict[str, Any]:
    """Whether scores stand where the loss wants a probability, or the reverse; of several scores one is below 0."""
    scores = given["input"].detach()
    wants_scores = "pos_weight" in given
    bounded = _is_likely(scores) or (wants_scores and bool((scores <= 0).all()))
    return {"width": 1, "ignored": None, "dropped": 0, "silent": True, "misfit": bounded is wants_scores}


def _divergence(given: dict[str, Any]) -> dict[str, Any]:
    """Whether both sides are distributions in the form that is wanted, and whether they are the same one."""
    first, target = given["input"].detach().exp(), given["target"].detach()
    second = target.exp() if given["log_target"] else target
    misfit = not (_is_distribution(first) and _is_distribution(second))
    return {
        "width": first.size(-1),
        "ignored": None,
        "dropped": 0,
        "misfit": misfit,
        "same": first.allclose(second.to(first.dtype)),
    }


def _is_distribution(rows: torch.Tensor) -> bool:
    return bool((rows >= 0).all()) and rows.float().sum(-1).allclose(torch.ones(()), atol=1e-2)


def _match(given: dict[str, Any]) -> dict[str, Any]:
    """Whether a tensor is compared with itself."""
    return {"width": 1, "ignored": None, "dropped": 0, "misfit": False, "same": given["input"].equal(given["target"])}


def _ctc(given: dict[str, Any]) -> dict[str, Any]:
    """How many of the spelled symbols no class is left for: the blank has it, or the output ends before it."""
    targets, lengths = given["targets"], torch.as_tensor(given["target_lengths"])
    if targets.dim() == 2:
        targets = torch.cat([row[:length] for row, length in zip(targets, lengths.tolist(), strict=True)])
    blank, width = given["blank"], given["log_probs"].size(-1)
    lost = (targets == blank) | (targets >= width)
    return {"width": width, "ignored": blank, "dropped": int(lost.sum()), "silent": True}


WITNESSES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "ctc_loss": _ctc,
    "kl_div": _divergence,
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(MATCHING, _match),
}


def _caller(folder: Path) -> dict[str, Any]:
    """The line of the fixture that is computing this loss."""
    frame = inspect.currentframe()
    while frame and not frame.f_code.co_filename.startswith(str(folder)):
        frame = frame.f_back
    if frame is None:
        return {"file": None, "cell": None, "row": None}
    file, _, cell = frame.f_code.co_filename.partition("#")
    return {"file": file, "cell": int(cell) if cell else None, "row": frame.f_lineno}


if __name__ == "__main__":
    main(sys.argv[1:])
