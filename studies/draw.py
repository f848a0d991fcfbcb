"""Panels into a picture: narrow, one under the other, lines told apart without colour, for phones and printers."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from studies.study import Panel

WIDTH, HEIGHT, DOTS = 3.6, 2.5, 200
"""Inches and dots an inch: 720 pixels across, so that on a screen of 360 the letters still stand 12 pixels high."""
COLOURS = 24
"""A palette of this size keeps a picture far under 60 KB."""
STYLES = (
    {"color": "#111111", "linestyle": "-", "linewidth": 1.1},
    {"color": "#d1660a", "linestyle": (0, (5, 1.5)), "linewidth": 1.6},
    {"color": "#3f8fd2", "linestyle": (0, (1, 1.2)), "linewidth": 1.8},
    {"color": "#9a9a9a", "linestyle": "-", "linewidth": 2.2},
)


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Writes one PNG; equal styles share one entry of the legend in each panel."""
    figure = Figure(figsize=(WIDTH, HEIGHT * len(panels)), dpi=DOTS, layout="constrained")
    for index, panel in enumerate(panels):
        paint(panel, figure.add_subplot(len(panels), 1, index + 1))
    whole = BytesIO()
    figure.savefig(whole, format="png")
    Image.open(whole).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def paint(panel: Panel, axes: Axes) -> None:
    """One panel."""
    for line in panel.lines:
        style = dict(STYLES[line.style])
        if line.marker:
            style |= {"linestyle": "", "marker": line.marker, "markersize": 5, "markerfacecolor": "none"}
        axes.add_line(Line2D(list(line.x), list(line.y), label=line.label, **style))  # type: ignore[arg-type]
    axes.autoscale_view()
    scale(panel, axes)
    for name, level in panel.levels:
        axes.axhline(level, color="#555555", linewidth=0.8, linestyle=":")
        axes.annotate(name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    legend(axes)


def scale(panel: Panel, axes: Axes) -> None:
    """Titles, scales and ticks."""
    axes.set_title(panel.title, fontsize=9.5, loc="left")
    axes.set_xlabel(panel.x_label, fontsize=8.5)
    axes.set_ylabel(panel.y_label, fontsize=8.5)
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    axes.tick_params(which="both", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.y_range:
        axes.set_ylim(*panel.y_range)
    if panel.x_ticks:
        axes.set_xticks(range(len(panel.x_ticks)), panel.x_ticks)
        axes.set_xlim(-0.5, len(panel.x_ticks) - 0.5)


def legend(axes: Axes) -> None:
    """Each label once."""
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    if len(once) > 1:
        axes.legend(once.values(), once.keys(), fontsize=8, frameon=False, handlelength=2.4)
