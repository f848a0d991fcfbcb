"""PyTorch is the oracle for TL104: the end of a text is a target of the loss in the good twin only."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures" / "pad_is_eos"
RUNNABLE = sorted(file for file in FIXTURES.glob("*/train.py") if not file.read_text().startswith("# cannot run"))


@pytest.mark.parametrize("file", RUNNABLE, ids=lambda file: file.parent.name)
def test_the_end_of_a_text_is_a_target_in_the_good_twin_only(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functional = pytest.importorskip("torch.nn.functional")
    original, seen = functional.cross_entropy, set()

    def recording(logits: object, targets: object) -> object:
        seen.update(targets.flatten().tolist())  # type: ignore[attr-defined]
        return original(logits, targets)

    monkeypatch.setattr(functional, "cross_entropy", recording)
    monkeypatch.syspath_prepend(str(file.parent))
    before = set(sys.modules)
    made = runpy.run_path(str(file))
    letters = sys.modules.get("letters")
    end = made.get("EOS", made.get("END", getattr(letters, "END", None)))
    for name in {"letters"} - before:
        sys.modules.pop(name, None)
    assert (end in seen) == file.parent.name.startswith("good_")
