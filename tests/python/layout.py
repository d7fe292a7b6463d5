"""Overlaps in a drawn figure, measured by the extents that matplotlib reports."""

from __future__ import annotations

import itertools
from math import radians, sin
from typing import Any

from matplotlib.figure import Figure

__all__ = ["check_layout", "overlapping_ticks"]


def overlapping_ticks(axis: Any, is_x: bool) -> list[tuple[str, str]]:
    """Return pairs of neighbouring tick labels that overlap."""
    low, high = sorted(axis.get_view_interval())
    labels = [
        tick.label1
        for tick in axis.get_major_ticks()
        if tick.label1.get_visible() and tick.label1.get_text() and low <= tick.get_loc() <= high
    ]
    boxes = [(label, label.get_window_extent()) for label in labels]
    boxes.sort(key=lambda each: each[1].x0 if is_x else each[1].y0)
    found = []
    for (a, box_a), (b, box_b) in itertools.pairwise(boxes):
        angle = a.get_rotation()
        if is_x and angle:
            # Turned labels are parallel: their distance is across the text.
            height = a.get_fontsize() * a.figure.dpi / 72
            overlaps = (box_b.x1 - box_a.x1) * sin(radians(angle)) < height
        else:
            overlaps = box_a.x1 > box_b.x0 if is_x else box_a.y1 > box_b.y0 + 1
        if overlaps:
            found.append((a.get_text(), b.get_text()))
    return found


def check_layout(figure: Figure, least: float) -> None:
    """Check that nothing overlaps or leaves the figure; `least` is the smallest font, in points."""
    figure.draw_without_rendering()
    for text in figure.findobj(lambda artist: hasattr(artist, "get_fontsize")):
        assert text.get_fontsize() >= least
    panels = [axes for axes in figure.axes if axes.get_visible()]
    for axes in panels:
        assert overlapping_ticks(axes.xaxis, True) == []
        assert overlapping_ticks(axes.yaxis, False) == []
    width, height = figure.get_size_inches() * figure.dpi
    legends = [legend.get_window_extent() for legend in figure.legends]
    outside = [text.get_window_extent() for text in figure.texts if text.get_text()]
    boxes = [axes.get_tightbbox() for axes in panels]
    for box in [*boxes, *legends, *outside]:
        assert box is not None
        assert box.x0 >= -2
        assert box.y0 >= -2
        assert box.x1 <= width + 2
        assert box.y1 <= height + 2
    for legend in [*legends, *outside]:
        assert not any(legend.overlaps(box) for box in boxes)
    for one, other in itertools.combinations([*legends, *outside], 2):
        assert not one.overlaps(other)
