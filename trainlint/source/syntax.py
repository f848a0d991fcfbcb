"""Text or bytes in, the syntax tree out: the one place that calls Python's parser."""

from __future__ import annotations

from _ast import PyCF_ONLY_AST

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast


def tree(source: bytes | str) -> ast.Module:
    """The syntax tree, silently: what Python warns of is not ours to say.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError, OverflowError: it cannot be read.
    """
    import gc
    import warnings

    collecting = gc.isenabled()
    gc.disable()  # Every node is tracked and none is garbage.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # On an error Python opens the file of this name to quote from it; a name that no file can have stops that.
            return compile(source, "", "exec", PyCF_ONLY_AST, dont_inherit=True)  # type: ignore[return-value]
    finally:
        if collecting:
            gc.enable()


def is_readable(source: str) -> bool:
    """Whether Python reads a text."""
    try:
        tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def compiles(source: bytes) -> bool:
    """Whether Python turns a file into a program, which it refuses for more reasons than it fails to read one."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True
