"""From sites to facts: one module for each kind of site.

Each has two functions. ``sites`` names the places of one file that may show something, cheaply and without evaluating
more than names. ``facts`` looks at one site in one world and yields what holds there; ``link`` calls it once for each
path that leads to the site.

Each family has a folder, whose table says what is done there in words.
"""

from trainlint.source.linkers import copies, distillation, effects, loop, precision, selection, targets, upcasts

LINKERS = (
    *targets.LINKERS,
    *upcasts.LINKERS,
    *copies.LINKERS,
    *selection.LINKERS,
    *precision.LINKERS,
    *distillation.LINKERS,
    *loop.LINKERS,
    *effects.LINKERS,
)
