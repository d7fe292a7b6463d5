"""The page of a sweep: its table over all VMs, and hit ratio and latency over its axes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.files import write_whole
from mcsim.figures.chart import Chart
from mcsim.figures.sweeps import axis_label, is_seed, over_axis
from mcsim.report.page import Block, Facts, Page, Prose, Section, render
from mcsim.report.tables import page_table, sentence
from mcsim.results.data_paths import mode_warning
from mcsim.results.tables import ALL
from mcsim.sweeps.swept import Sweep


def write_page(folder: str | os.PathLike[str], html: str | os.PathLike[str]) -> None:
    """Write the finished cells of a sweep as one HTML file.

    Raises
    ------
    ConfigError
        If there is no sweep, or the packages that pages need are not there.
    """
    write_whole(Path(html), sweep_page(Sweep.open(folder)))


def sweep_page(sweep: Sweep) -> str:
    """Return the page of the finished cells of a sweep; the same cells give the same page."""
    table, shown, there = sweep.to_arrow(), sweep.overview(), sweep.finished()
    axes = [
        f"{_named(name)} ({len(set(sweep.plan[name].to_pylist()))} values)" for name in sweep.axes
    ]
    facts = [("Axes", ", ".join(axes)), ("Cells", f"{sum(there)} of {len(there)} finished")]
    whole = table.filter(pc.is_null(table["vm"]))
    warning = mode_warning(whole.to_pylist())
    note = [] if warning is None else [Prose(sentence(warning), alert=True)]
    charts = [chart for axis in sweep.axes for chart in _over(table, axis)] if len(whole) else []
    sections: list[Section] = [
        Section("Results", [Prose(shown.answer.replace("`", "")), *note, *_some(charts)]),
        Section("Axes", [Facts(facts)]),
        Section(f"All cells, {ALL}", [page_table(shown)]),
    ]
    *others, last = map(_named, sweep.axes)
    several = f"{', '.join(others)} and {last}" if others else last
    lead = f"How do hits and latency depend on {several}?"
    command = shlex.join(["mcsim", "results", "page", sweep.path.name])
    return render(Page(f"Sweep {sweep.path.name}", lead, sections, command))


def _some(charts: Sequence[Block]) -> Sequence[Block]:
    return charts or [Facts([("Cells", "none finished yet")])]


def _over(table: pa.Table, axis: str) -> Iterator[Chart]:
    """Yield the charts over one axis, unless it is of seeds or systems, or has one value."""
    if is_seed(axis) or axis == "systems" or len(pc.unique(table[axis])) < 2:
        return
    for value in ("hit_ratio", "mean_latency_ns"):
        if table[value].null_count < len(table):
            yield from over_axis(table, axis, value).charts


def _named(axis: str) -> str:
    """Return the name of an axis without its unit, as within a sentence."""
    return axis_label(axis).partition(" (")[0].lower()
