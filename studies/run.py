"""Runs the settings of a study and appends one record for each to a file; what is recorded already is not run again."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic, TypeVar

from studies.study import Found, Record, Study

S = TypeVar("S")


@dataclass(frozen=True)
class Shard:
    """Which part of the work is ours; ``torchrun`` and other launchers say it in the environment."""

    rank: int = 0
    world: int = 1

    @staticmethod
    def of(environment: dict[str, str]) -> Shard:
        """
        >>> Shard.of({"RANK": "1", "WORLD_SIZE": "4"}).part(range(10))
        [1, 5, 9]
        """
        return Shard(int(environment.get("RANK", "0")), int(environment.get("WORLD_SIZE", "1")))

    def part(self, settings: Sequence[S]) -> list[S]:
        """Every ``world``-th setting: it depends on the list alone, so that no two shards share one."""
        return list(settings[self.rank :: self.world])


@dataclass(frozen=True)
class Timed(Generic[S]):
    """Measures one setting and takes the time; a class so that a worker process can receive it."""

    measure: Callable[[S], Found]

    def __call__(self, setting: S) -> Record[S]:
        cpu, wall = time.process_time(), time.perf_counter()
        found = self.measure(setting)
        return Record(setting, found, time.process_time() - cpu, time.perf_counter() - wall)


def begin_worker() -> None:
    """Makes a worker process end as soon as its parent ends, however that ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a child process can wait for its parent"

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()


def in_processes(study: Study[S], settings: Sequence[S], jobs: int) -> Iterator[Record[S]]:
    """Records as they are finished, from this process or from several; from none there are none."""
    if not jobs:
        return
    timed = Timed(study.measure)
    if jobs == 1:
        yield from map(timed, settings)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, begin_worker) as pool:
        yield from pool.imap_unordered(timed, settings)


def in_batches(study: Study[S], settings: Sequence[S], device: str) -> Iterator[Record[S]]:
    """Records of runs that are computed side by side on a device; the time of a batch is split evenly."""
    assert study.batches and study.measure_batch, f"{study.name} cannot be batched"
    for batch in study.batches(settings):
        cpu, wall = time.process_time(), time.perf_counter()
        founds = study.measure_batch(batch, device)
        share = len(batch)
        spent = (time.process_time() - cpu) / share, (time.perf_counter() - wall) / share
        yield from (Record(setting, found, *spent) for setting, found in zip(batch, founds, strict=True))


def log_of(study: Study[S], folder: Path, shard: Shard) -> Path:
    """The file that this shard appends to."""
    return folder / f"{study.name}.runs-{shard.rank:03}.jsonl"


def recorded(study: Study[S], folder: Path) -> list[Record[S]]:
    """All records in a folder, of whichever shards; a line that was cut off is no record."""
    return [
        Record(
            study.setting(**fields["setting"]), Found(**fields["found"]), fields["cpu_seconds"], fields["wall_seconds"]
        )
        for path in sorted(folder.glob(f"{study.name}.runs-*.jsonl"))
        for line in path.read_text().splitlines(keepends=True)
        if line.endswith("\n")
        for fields in [json.loads(line)]
    ]


def mend(path: Path) -> None:
    """Drops a last line that was cut off, so that the next record starts a line of its own."""
    if path.exists():
        text = path.read_bytes()
        os.truncate(path, text.rfind(b"\n") + 1)


def complete(
    study: Study[S],
    settings: Sequence[S],
    folder: Path,
    shard: Shard,
    source: Callable[[Sequence[S]], Iterator[Record[S]]],
) -> None:
    """Runs what this shard still lacks; every record is on disk before the next one is waited for."""
    folder.mkdir(parents=True, exist_ok=True)
    path = log_of(study, folder, shard)
    mend(path)
    done = {record.setting for record in recorded(study, folder)}
    missing = [setting for setting in shard.part(settings) if setting not in done]
    with path.open("a") as log:
        for number, record in enumerate(source(missing), 1):
            log.write(json.dumps(asdict(record)) + "\n")
            log.flush()
            os.fsync(log.fileno())
            print(
                f"{study.name} {number}/{len(missing)} {record.setting} {record.cpu_seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )
