"""TL999: a fault of trainlint itself.

Something that trainlint should have understood, or passed over, made it fail. The fault is confined to one place:
everything else is judged and reported as always. The exit code is 2, so that a failed check is never taken for a
clean one.

To get on, suppress nothing and change nothing: the code may be perfectly good. Report the message, the version
(``trainlint version``) and the smallest piece of code that still shows it. If the place is in code that is not yours,
exclude that file meanwhile.

Severity. Always an error.

Silent unless trainlint fails.
"""

from collections.abc import Iterator

from trainlint import Crash, Finding, rule


@rule("TL999")
def internal_error(crash: Crash) -> Iterator[Finding]:
    """Report a fault of trainlint's own."""
    yield Finding(
        crash.call,
        f"trainlint failed while {crash.doing}: {crash.error}",
        "this place is not judged; everything else is",
        help="report this message with the output of `trainlint version` and the code at this place",
    )
