"""TL902: a file, or a cell of a notebook, cannot be read as Python.

A file with a syntax error, or with bytes that its encoding does not allow, is not judged: no rule can say anything
about it, and a chain of names that leads through it ends there. A linter that skipped it quietly would call the
project clean.

To fix it, mend the syntax, or declare the encoding in the first line. A file that needs a newer Python than the one
that runs trainlint is readable from there; run trainlint with that one. A file of Python 2 is named as such; it has to
be ported or excluded. A file that is no Python program belongs under ``exclude``. In a notebook each cell is read by
itself, the commands of IPython and of the shell included, and only the broken cell is lost.

Bad:

    def step(loss, optimizer):
        loss.backward(
        optimizer.step()

Good:

    def step(loss, optimizer):
        loss.backward()
        optimizer.step()

Severity. Always an error: what was not read was not checked.

Silent for files that are excluded, and for templates that say so by braces in their path (``{{cookiecutter.name}}``),
which are skipped and listed as such.
"""

from collections.abc import Iterator

from trainlint import Finding, Unreadable, rule


@rule("TL902")
def unreadable_code(file: Unreadable) -> Iterator[Finding]:
    """Report a file that could not be judged."""
    what = "cell" if file.call.cell else "file"
    no_python = "make it no cell of code" if file.call.cell else "exclude it"
    yield Finding(
        file.call,
        f"this {what} cannot be read as Python: {file.reason}",
        "nothing in it is judged, and nothing that is defined in it is known elsewhere",
        help=f"mend the {what}, or {no_python} if it is no Python program",
    )
