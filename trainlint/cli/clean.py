"""``trainlint clean``: what was kept of earlier runs is removed."""

from __future__ import annotations

import os

from trainlint import cache
from trainlint.cli.check import kept_in
from trainlint.cli.options import Said


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Remove everything, and say how much that was."""
    folder = kept_in(said, os.getcwd())
    files, size = cache.clean(folder)
    print(f"removed {files} file{'' if files == 1 else 's'} ({size / 1e6:.1f} MB) from {folder}")
    return 0
