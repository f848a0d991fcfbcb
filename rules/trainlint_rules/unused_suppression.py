"""TL900: a comment silences a finding that is not there.

``# trainlint: ignore[TL101]`` was written for a finding. When the code changes and the finding goes, the comment stays,
and the next bug of that kind on the same lines is silenced before anybody has seen it. A comment is a decision about
one bug; left behind, it decides about bugs that do not exist yet.

To fix it, delete the comment, or take the code out of it that silences nothing. ``trainlint --fix --select TL900`` does
that and leaves the rest of the comment as it is.

Bad:

    import torch.nn.functional as F


    def loss(logits, targets):
        return F.cross_entropy(logits, targets)  # trainlint: ignore[TL101] class 0 is only padding here

Good:

    import torch.nn.functional as F


    def loss(logits, targets):
        return F.cross_entropy(logits, targets)

Severity. A note: nothing is wrong today, and the door stands open. The exit status stays 0 unless ``fail-on`` is note.

Silent for rules that did not run on the file: left out by ``--ignore`` or ``per-file-ignores``, off and not selected,
or speaking only of a run; for a place that could not be judged; while any file of the project cannot be read; and for
a bare ``# noqa``, of which nobody knows what it is for. In ``# noqa`` only codes of installed rules are looked at.
``# trainlint: ignore[TL101, TL900]`` keeps a comment for later.
"""

from collections.abc import Iterator

from trainlint import Applicability, Delete, Finding, Fix, Replace, Severity, UnusedSuppression, rule


@rule("TL900")
def unused_suppression(comment: UnusedSuppression) -> Iterator[Finding]:
    """Note a comment that silences nothing."""
    idle = ", ".join(comment.unused)
    all_of_it = not comment.kept
    edit = Delete(comment.call) if all_of_it else Replace(comment.names, ", ".join(comment.kept))
    help = "delete the comment" if all_of_it else f"take {idle} out of the comment"
    yield Finding(
        comment.call,
        f"{comment.words!r} silences nothing" if all_of_it else f"{idle} in {comment.words!r} silences nothing",
        f"the next finding of {idle} here is silenced before anybody sees it",
        help=help,
        severity=Severity.NOTE,
        fix=Fix(Applicability.SAFE, f"{help[0].upper()}{help[1:]}", (edit,)),
    )
