"""``trainlint version``."""

from __future__ import annotations

from trainlint import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.cli.options import Said


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Print the version."""
    print(f"trainlint {__version__}")
    return 0
