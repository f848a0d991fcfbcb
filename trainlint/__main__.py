"""``python -m trainlint`` and the command ``trainlint``."""

from __future__ import annotations

import sys

from trainlint.cli import Process
from trainlint.cli import main as run


def main() -> int:
    """Run the command line that this process was started with."""
    Process.ends_with_run = True
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
