"""The observer that reads code and runs none of it: paths in, facts out."""

from trainlint.lazy import fetch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.source.observe import (
        Observer,
        Project,
        cells,
        cells_in,
        definitions,
        foreign,
        observe,
        settle,
        sifted,
        sites,
    )
    from trainlint.source.syntax import compiles
    from trainlint.source.text import is_test, read

__all__ = [
    "Observer",
    "Project",
    "cells",
    "cells_in",
    "compiles",
    "definitions",
    "foreign",
    "is_test",
    "observe",
    "read",
    "settle",
    "sifted",
    "sites",
]

fetch(__name__, __all__, ("trainlint.source.text", "trainlint.source.syntax", "trainlint.source.observe"))
