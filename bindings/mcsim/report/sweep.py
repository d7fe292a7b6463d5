"""The page of a sweep: its joined table, and hit ratio and latency over its axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.result_table import ResultTable
from mcsim.figures.chart import Chart
from mcsim.figures.sweeps import is_seed, over_axis
from mcsim.report.page import Block, Facts, Page, Prose, Section, render
from mcsim.report.tables import page_table
from mcsim.results.data_paths import mode_warning
from mcsim.results.tables import ALL


def sweep_page(
    table: pa.Table,
    axes: Sequence[str],
    shown: ResultTable,
    *,
    title: str,
    lead: str,
    facts: Sequence[tuple[str, str]],
) -> str:
    """Make the page of a sweep; the same table gives the same.

    Parameters
    ----------
    table : pa.Table
        A row for each cell, system and VM; `vm` is null in rows of all together.
    axes : sequence of str
        The columns that are axes.
    shown : ResultTable
        Its table over all VMs.
    title, lead : str
        Above the sections.
    facts : sequence of (str, str)
        Names with values, such as the number of cells.
    """
    whole = table.filter(pc.is_null(table["vm"]))
    warning = mode_warning(whole.to_pylist())
    note = [] if warning is None else [Prose(f"{warning[:1].upper()}{warning[1:]}.", alert=True)]
    charts = [chart for axis in axes for chart in _over(table, axis)] if len(whole) else []
    sections: list[Section] = [
        Section("What came out", [Prose(shown.answer.replace("`", "")), *note, *_some(charts)]),
        Section("Axes", [Facts(facts)]),
        Section(f"All cells, {ALL}", [page_table(shown)]),
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
