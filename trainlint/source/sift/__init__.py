"""The bytes of a file in; out, whether it may hold anything to judge, so that most files are never parsed.

A site is a call, and a call spells the last word of what it calls: whatever the imports, ``cross_entropy`` stands in
the file that applies it or builds it. Words that are everywhere count only beside a second one that their sites need
too. A name that only Unicode makes equal, such as ``ｃross_entropy``, is not looked for. Each family of sites has a
module here and a folder of the same name in ``linkers``.
"""

from __future__ import annotations

from trainlint.source.sift import copies, distillation, effects, loop, precision, selection, targets, upcasts
from trainlint.source.sift.kind import words_of
from trainlint.source.text import UTF_16, Fault, encoding

FAMILIES = (targets, upcasts, copies, selection, precision, distillation, loop, effects)
KINDS = sorted((kind for family in FAMILIES for kind in family.KINDS), key=lambda kind: kind.confirms is not None)
"""Every kind of site, those first that words alone decide."""


def relevant(data: bytes) -> bool:
    """May this file hold a site?"""
    if data.startswith(UTF_16):
        return True
    declared = encoding(data)
    if declared != "utf-8" and not isinstance(declared, Fault):
        data = data.decode(declared, errors="replace").encode(errors="replace")
    words = words_of(data)
    return any(kind.may_be_in(words) for kind in KINDS)
