"""The page of a sweep: its joined table, and hit ratio and latency over its axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from mcsim.figures.chart import Chart
from mcsim.figures.sweeps import axis_label, is_seed, over_axis
from mcsim.report.page import Block, Facts, Page, Prose, Section, render
from mcsim.report.run_parts import marked
from mcsim.report.tables import from_arrow
from mcsim.results.data_paths import differing_fields, mode_warning
from mcsim.results.tables import ALL

__all__ = ["sweep_page"]

_HEADS = {
    "accesses": "accesses",
    "hit_ratio": "hits",
    "mean_latency_ns": "mean latency",
    "gain": "gain",
    "gain_absolute": "points",
}


def sweep_page(
    table: pa.Table, axes: Sequence[str], *, title: str, lead: str, facts: Sequence[tuple[str, str]]
) -> str:
    """Make the page of a sweep; the same table gives the same.

    Parameters
    ----------
    table : pa.Table
        A row for each cell, system and VM; `vm` is null where a row is of all together.
    axes : sequence of str
        Which of its columns are axes.
    title, lead : str
        What stands above.
    facts : sequence of (str, str)
        Names with what is known of them.
    """
    whole = table.filter(pc.is_null(table["vm"]))
    rows = whole.to_pylist()
    shown = {name: head for name, head in differing_fields(rows).items() if name not in axes}
    heads = {axis: axis_label(axis) for axis in axes} | {"system": "system"} | shown | _HEADS
    foresight = {row["system"]: row["foresight"] for row in rows if row["foresight"] is not None}
    caption = "Gain and points: against Global LRU of the cell."
    joined = from_arrow(marked(whole, foresight), heads, caption=caption)
    warning = mode_warning(rows)
    note = [] if warning is None else [Prose(f"{warning[:1].upper()}{warning[1:]}.", alert=True)]
    charts = [chart for axis in axes for chart in _over(table, axis)] if len(whole) else []
    sections: list[Section] = [
        Section("Axes", [Facts(facts)]),
        Section("What came out", [*note, *_some(charts)]),
        Section(f"All cells, {ALL}", [joined]),
    ]
    return render(Page(title, lead, sections))


def _some(charts: Sequence[Block]) -> Sequence[Block]:
    return charts or [Facts([("Cells", "none finished yet")])]


def _over(table: pa.Table, axis: str) -> Iterator[Chart]:
    """Yield the charts over one axis, unless it is of seeds or systems, or has one value."""
    if is_seed(axis) or axis == "systems" or len(pc.unique(table[axis])) < 2:
        return
    for value in ("hit_ratio", "mean_latency_ns"):
        if table[value].null_count < len(table):
            yield from over_axis(table, axis, value).charts
