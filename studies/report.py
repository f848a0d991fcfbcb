"""Writes what a study shows: a page of tables, a picture and a JSON record, all from the records of its runs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from studies.draw import draw
from studies.study import Prediction, Record, Size, Study, Table, Tier

S = TypeVar("S")


@dataclass(frozen=True)
class Verdict:
    """A prediction and what became of it."""

    name: str
    tier: str
    says: str
    outcome: str
    seen: str


def machine() -> str:
    """What the runs ran on, as far as a reader of numbers needs it."""
    import torch

    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    python = f"Python {platform.python_version()}"
    return ", ".join(
        [platform.machine(), f"{os.cpu_count()} cores", *(devices or ["no GPU"]), f"torch {torch.__version__}", python]
    )


def command(study: Study[S], size: Size) -> str:
    """What to type to get the same."""
    return f"python -m studies {study.name}" + ("" if size is Size.NORMAL else f" --{size.value}")


def verdict(prediction: Prediction[S], records: Sequence[Record[S]]) -> Verdict:
    """Held, failed, or not run at this size."""
    judged = prediction.judge(records)
    outcome = "not run" if judged is None else "held" if judged.held else "failed"
    return Verdict(prediction.name, prediction.tier.value, prediction.says, outcome, judged.seen if judged else "")


def summary(study: Study[S], size: Size, records: Sequence[Record[S]]) -> dict[str, object]:
    """The JSON record: everything but the curves."""
    return {
        "study": study.name,
        "question": study.question,
        "size": size.value,
        "settings": len(study.sizes[size]),
        "command": command(study, size),
        "machine": machine(),
        "cpu_seconds": round(sum(record.cpu_seconds for record in records), 1),
        "wall_seconds": round(sum(record.wall_seconds for record in records), 1),
        "predictions": [asdict(verdict(prediction, records)) for prediction in study.predictions],
        "tables": [asdict(table) for table in study.tables(records)],
        "runs": [run(record) for record in records],
    }


def run(record: Record[S]) -> dict[str, object]:
    """One run without its curves; six digits are enough to compare by."""
    values = {name: float(f"{value:.6g}") for name, value in record.found.values.items()}
    setting = {name: getattr(record.setting, name) for name in record.setting.__dataclass_fields__}  # type: ignore[attr-defined]
    return {"setting": setting, "found": values, "cpu_seconds": round(record.cpu_seconds, 2)}


def rows(table: Table) -> Iterator[str]:
    """A table in Markdown."""
    yield f"### {table.title}\n"
    yield f"| {' | '.join(table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    yield from (f"| {' | '.join(row)} |" for row in table.rows)
    yield ""


def judged(tier: Tier, verdicts: Sequence[Verdict]) -> Table:
    """The predictions of one tier."""
    chosen = [verdict for verdict in verdicts if verdict.tier == tier.value]
    found = tuple((verdict.name, verdict.says, f"**{verdict.outcome}**", verdict.seen) for verdict in chosen)
    return Table(f"Predictions about {tier.value}", ("name", "prediction", "outcome", "seen"), found)


def page(study: Study[S], size: Size, records: Sequence[Record[S]]) -> str:
    """The whole page."""
    verdicts = [verdict(prediction, records) for prediction in study.predictions]
    cpu, wall = (sum(getattr(record, kind) for record in records) for kind in ("cpu_seconds", "wall_seconds"))
    predicted = [judged(tier, verdicts) for tier in Tier]
    lines = [
        f"# {study.name}\n",
        f"{study.question}\n",
        f"`{command(study, size)}`\n",
        f"{len(records)} of {len(study.sizes[size])} runs, size {size.value}: {cpu:.0f} s of processor time,",
        f"{wall:.0f} s summed over the runs",
        f"({machine()}).\n",
        f"![{study.question}]({study.name}.png)\n",
        *(line for table in predicted if table.rows for line in rows(table)),
        *(line for table in study.tables(records) for line in rows(table)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def write(study: Study[S], size: Size, records: Sequence[Record[S]], folder: Path) -> str:
    """Writes the three files and returns the page."""
    text = page(study, size, records)
    (folder / f"{study.name}.md").write_text(text)
    (folder / f"{study.name}.json").write_text(json.dumps(summary(study, size, records), indent=1) + "\n")
    draw(study.panels(records), folder / f"{study.name}.png")
    return text
