"""Stand-in."""
from __future__ import annotations
import ast
from dataclasses import dataclass
@dataclass(frozen=True)
class Fault:
    reason: str
    row: int
    column: int
def read(path):
    with open(path,'rb') as f: return f.read()
def parse(data, path):
    try: return ast.parse(data)
    except (SyntaxError, ValueError) as e: return Fault(str(e), getattr(e,'lineno',1) or 1, getattr(e,'offset',1) or 1)
def rows(data):
    return tuple(data.decode('utf-8','replace').splitlines())
