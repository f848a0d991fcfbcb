"""TL901: a comment is there to silence and does something else.

``# trainlint: ignore`` without a rule silences nothing. Nor does one whose rule does not exist: a code that was
mistyped, or belongs to a pack that is not installed. The opposite is worse: flake8 and Ruff read ``# noqa`` by codes
alone, so ``# noqa: sentinel-collision`` is one without a code, and silences every rule of every linter on its line.

To fix it, write what is meant: ``# trainlint: ignore[TL101] why``, ``# trainlint: ignore-file[TL101] why``, or
``# noqa: TL101``.

Bad:

    import torch.nn.functional as F


    def loss(logits, targets):
        return F.cross_entropy(logits, targets, ignore_index=0)  # noqa: sentinel-collision

Good:

    import torch.nn.functional as F


    def loss(logits, targets):
        return F.cross_entropy(logits, targets, ignore_index=0)

Severity. A warning: it is very likely not what was meant, and only the author can say what was.

With ``require-reason = true`` in the settings, a comment that gives no reason behind its brackets (or behind the codes
of a ``# noqa``) is one too.

Silent for comments that only speak of trainlint, for ``# noqa`` with the codes of other linters, and for a bare
``# noqa``.
"""

from collections.abc import Iterator

from trainlint import Applicability, Finding, Fix, Flaw, InvalidSuppression, Replace, Severity, rule

FORM = "write # trainlint: ignore[CODE] and why"


@rule("TL901")
def invalid_suppression(comment: InvalidSuppression) -> Iterator[Finding]:
    """Flag a comment that does not do what it seems to."""
    message, consequence, help = _said(comment)
    yield Finding(comment.argument, message, consequence, help=help, severity=Severity.WARNING, fix=_with_code(comment))


def _said(comment: InvalidSuppression) -> tuple[str, str, str]:
    """The message, what comes of it, and the cure."""
    nothing = "it silences nothing"
    match comment.flaw:
        case Flaw.NAMELESS:
            return f"{comment.words!r} names no rule", nothing, FORM
        case Flaw.UNREAD:
            return f"{comment.words!r} is not understood", nothing, FORM
        case Flaw.UNKNOWN:
            message = f"no installed rule answers to {comment.named!r}{comment.meant}"
            return message, nothing, "name a rule that `trainlint rule --all` lists"
        case Flaw.ALWAYS:
            message = f"{comment.named} cannot be silenced"
            return message, nothing, "mend the file, or exclude it if it is no Python program"
        case Flaw.UNEXPLAINED:
            so = "nobody can tell later whether it still holds, and the settings require a reason"
            return f"{comment.words!r} gives no reason", so, "say why behind it"
    so = "every rule of every linter is silenced here" if comment.broad else "the name is passed over"
    return f"flake8 reads no {comment.named!r} in {comment.words!r}", so, f"write # noqa: {comment.meant}"


def _with_code(comment: InvalidSuppression) -> Fix | None:
    """What else was silenced by accident comes back, so a person should look."""
    if comment.flaw is not Flaw.BLANKET:
        return None
    whole = Replace(comment.call, f"# noqa: {comment.meant}")
    edit = whole if comment.broad else Replace(comment.argument, comment.meant)
    return Fix(Applicability.UNSAFE, f"Name {comment.meant} alone", (edit,))
