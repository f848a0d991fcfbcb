"""A study of nothing that takes its time; it needs no torch, so that processes start quickly."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.run import Shard, complete, in_processes
from studies.study import Found, Judged, Panel, Prediction, Record, Size, Study, Table, Tier


@dataclass(frozen=True)
class Setting:
    number: int


def sleep(setting: Setting) -> Found:
    time.sleep(0.15)
    return Found({"square": float(setting.number**2)}, {"curve": [0.0, 1.0]})


def no_panels(records: Sequence[Record[Setting]]) -> list[Panel]:
    return []


def one_table(records: Sequence[Record[Setting]]) -> list[Table]:
    return [
        Table(
            "Squares", ("number", "square"), tuple((str(one.setting.number), f"{one['square']:g}") for one in records)
        )
    ]


def right(records: Sequence[Record[Setting]]) -> Judged:
    return Judged(all(one["square"] == one.setting.number**2 for one in records), f"{len(records)} squares")


def wrong(records: Sequence[Record[Setting]]) -> Judged:
    return Judged(False, "none")


def missing(records: Sequence[Record[Setting]]) -> None:
    return None


SLEEPY = Study(
    name="sleepy",
    question="Are squares square?",
    setting=Setting,
    sizes={Size.NORMAL: [Setting(number) for number in range(12)]},
    measure=sleep,
    predictions=(
        Prediction("right", Tier.NUMERICS, "all are", right),
        Prediction("wrong", Tier.NUMERICS, "none is", wrong),
        Prediction("missing", Tier.ACCURACY, "who knows", missing),
    ),
    tables=one_table,
    panels=no_panels,
)


if __name__ == "__main__":
    # A worker process must find the study under the name of this module, not as a part of the script.
    from sleepy import SLEEPY as STUDY

    complete(STUDY, STUDY.sizes[Size.NORMAL], Path(sys.argv[1]), Shard(), lambda rest: in_processes(STUDY, rest, 2))
