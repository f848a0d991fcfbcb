"""``python -m trainlint`` and the command ``trainlint``."""

from __future__ import annotations

import sys

from trainlint.cli import main as run


def main() -> int:
    """Run the command line that this process was started with."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
