"""Where in the user's code something stands."""

from __future__ import annotations

from trainlint.record import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of one file: rows and columns count from 1, and the end column is the first one outside.

    ``path`` is absolute. In a notebook ``cell`` counts all cells from 1 and rows count inside the cell.
    """

    path: str
    row: int
    column: int = 1
    end_row: int = 0
    end_column: int = 0
    cell: int | None = None

    def __post_init__(self) -> None:
        if not self.end_row:
            object.__setattr__(self, "end_row", self.row)
            object.__setattr__(self, "end_column", self.column)

    def __lt__(self, other: Span) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[str, int, int, int, int, int]:
        return self.path, self.cell or 0, self.row, self.column, self.end_row, self.end_column

    def __str__(self) -> str:
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.path}{cell}:{self.row}:{self.column}"
