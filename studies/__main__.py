"""``python -m studies NAME [--quick | --full] [--out DIR]``: runs what a study still lacks and writes what it shows."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from studies.report import write
from studies.run import Shard, complete, in_batches, in_processes, recorded
from studies.study import Size, Study

NAMES = ("collision", "checkpoint", "margin", "distillation", "weights")


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser("python -m studies", description=__doc__.partition(":")[2] if __doc__ else None)
    options.add_argument("name", choices=NAMES, help="which study; docs/studies/README.md describes them")
    size = options.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", dest="size", action="store_const", const=Size.QUICK, help="less of it; under a minute of one core"
    )
    size.add_argument("--full", dest="size", action="store_const", const=Size.FULL, help="hours; margin only")
    options.add_argument(
        "--out",
        type=Path,
        default=Path("build/studies"),
        metavar="DIR",
        help="where the page, the picture and the record go; default: %(default)s",
    )
    options.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes; default: one for each core; 0: run nothing, show what is there",
    )
    options.add_argument(
        "--batch", metavar="DEVICE", help="compute runs side by side on this device, as in cuda; margin only"
    )
    options.set_defaults(size=Size.NORMAL)
    return options


def main(arguments: Sequence[str]) -> int:
    """Runs this shard's part; whoever then finds all records writes the report."""
    options = parser().parse_args(arguments)
    # Read when torch is first imported, here and in processes started from here: those share the cores, not a run.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    study: Study[object] = import_module(f"studies.{options.name}").STUDY
    if options.size not in study.sizes:
        parser().error(f"{study.name} has no {options.size.value} size")
    if options.batch and not study.measure_batch:
        parser().error(f"{study.name} cannot be batched")
    settings = study.sizes[options.size]
    source = (
        partial(in_batches, study, device=options.batch)
        if options.batch
        else partial(in_processes, study, jobs=options.jobs)
    )
    complete(study, settings, options.out, Shard.of(dict(os.environ)), source)
    by_setting = {record.setting: record for record in recorded(study, options.out)}
    records = [by_setting[setting] for setting in settings if setting in by_setting]
    if records and (len(records) == len(settings) or not options.jobs):
        print(write(study, options.size, records, options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
