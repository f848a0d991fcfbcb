"""``trainlint schema``: the name of what we read or write in, its JSON Schema out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from trainlint import config
from trainlint.cli import UsageError
from trainlint.cli.options import Said
from trainlint.report import structured
from trainlint.selection import did_you_mean

SCHEMAS: Mapping[str, Callable[[], Mapping[str, object]]] = {"config": config.schema, "output": structured.schema}


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Print a schema."""
    if len(arguments) != 1 or arguments[0] not in SCHEMAS:
        expected = " or ".join(SCHEMAS)
        raise UsageError(f"which schema? {expected}{did_you_mean(' '.join(arguments), SCHEMAS)}")
    print(json.dumps(SCHEMAS[arguments[0]](), indent=2))
    return 0
