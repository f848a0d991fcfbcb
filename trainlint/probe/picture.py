"""The cut-offs as a picture: rows of ``margin`` under their headings in, a file out. The only door to matplotlib."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainlint.facts.precision import Dtype
from trainlint.numerics import cutoff
from trainlint.probe.margin import Row

COLOURS = dict(zip(Dtype, ("tab:blue", "tab:green", "tab:red", "tab:orange"), strict=True))
APART = 0.16
"""How far below each other the formats of one loss are drawn, as many of them end at the same margin."""
BELOW = "margin from which the right class gets no gradient; dotted: bits of the significand times ln 2"


def draw(rows: Sequence[tuple[str, Row]], path: str) -> None:
    """One panel for each heading, one line for each loss, and a dot where a format's signal ends, if it does.

    Raises:
        OSError: the file cannot be written.
        ValueError: its ending is no format of pictures.
    """
    panels = {heading: [row for title, row in rows if title == heading] for heading, _ in rows}
    heights = [len({row.arithmetic.loss for row in shown}) + 2 for shown in panels.values()]
    figure = Figure(figsize=(9, 0.3 * sum(heights) + 1), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for each, (heading, shown) in zip(axes, panels.items(), strict=True):
        each.set_title(heading, loc="left", fontsize="medium")
        _fill(each, shown)
    axes[-1].set_xlabel(BELOW)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=4, fontsize="small")
    figure.savefig(path, dpi=100)


def _fill(axes: Axes, rows: Sequence[Row]) -> None:
    losses = list(dict.fromkeys(row.arithmetic.loss for row in rows))
    for index, dtype in enumerate(dict.fromkeys(row.arithmetic.dtype for row in rows)):
        ends = [
            (row.cutoff, losses.index(row.arithmetic.loss) + APART * (index - 1))
            for row in rows
            if row.arithmetic.dtype is dtype and row.cutoff is not None
        ]
        margins, lines = [margin for margin, _ in ends], [line for _, line in ends]
        axes.plot(margins, lines, "o", color=COLOURS[dtype], label=dtype.value, markersize=4)
        axes.axvline(cutoff(dtype.significand), color=COLOURS[dtype], linewidth=0.7, linestyle=":")
    axes.set_yticks(range(len(losses)), losses)
    axes.set_ylim(len(losses) - 0.4, -0.6)
