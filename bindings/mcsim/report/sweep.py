"""The page of a sweep: its joined table, and hit ratio and latency over its axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.result_table import ResultTable
from mcsim.config.spec import SystemSpec
from mcsim.figures.looks import Look, system_looks
from mcsim.report.charts import Chart, Series
from mcsim.report.page import Block, Facts, Page, Prose, Section, render
from mcsim.report.tables import page_table
from mcsim.results.data_paths import mode_warning
from mcsim.results.tables import ALL

__all__ = ["sweep_page"]

_MOST_LINES = 12

_MEASURES = (
    ("Hit ratio", "hit_ratio", 100.0, "Hit ratio (%)"),
    ("Latency", "mean_latency_ns", 1e-6, "Mean latency (ms)"),
)


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
        A row for each cell, system and VM; `vm` is null where a row is of all together.
    axes : sequence of str
        Which of its columns are axes.
    shown : ResultTable
        Its table over all VMs.
    title, lead : str
        What stands above.
    facts : sequence of (str, str)
        Names with what is known of them.
    """
    whole = table.filter(pc.is_null(table["vm"]))
    rows = whole.to_pylist()
    warning = mode_warning(rows)
    note = [] if warning is None else [Prose(f"{warning[:1].upper()}{warning[1:]}.", alert=True)]
    charts = [chart for axis in axes for chart in _over(whole, axis, axes)] if len(whole) else []
    sections: list[Section] = [
        Section("Question", [Facts(facts)]),
        Section("What came out", [Prose(shown.answer), *note, *_some(charts)]),
        Section(f"All cells, {ALL}", [page_table(shown)]),
    ]
    return render(Page(title, lead, sections))


def _some(charts: Sequence[Block]) -> Sequence[Block]:
    return charts or [Facts([("Cells", "none is there yet")])]


def _over(table: pa.Table, axis: str, axes: Sequence[str]) -> Iterator[Chart]:
    """Yield the charts over one axis: by system, the mean over all other axes."""
    rows = table.to_pylist()
    values = list(dict.fromkeys(row[axis] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    if len(values) < 2 or len(systems) > _MOST_LINES or axis == "systems":
        return
    looks = system_looks([SystemSpec.model_validate({"name": name}) for name in systems])
    others = [name for name in axes if name != axis and _count(rows, name) > 1]
    averaged = f", the mean over {', '.join(others)}" if others else ""
    for title, column, scale, label in _MEASURES:
        means = {
            system: np.array([_mean(rows, axis, value, system, column, scale) for value in values])
            for system in systems
        }
        says = f"{label.partition(' (')[0]} of {ALL} together{averaged}; {_ends(means, looks)}."
        yield _chart(f"{title} over {axis}", says, values, means, looks, axis, label)


def _count(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return len({str(row[name]) for row in rows})


def _mean(
    rows: Sequence[Mapping[str, Any]], axis: str, value: Any, system: str, column: str, scale: float
) -> float:
    found = [
        scale * row[column]
        for row in rows
        if row[axis] == value and row["system"] == system and row[column] is not None
    ]
    return sum(found) / len(found) if found else float("nan")


def _ends(means: Mapping[str, Any], looks: Mapping[str, Look]) -> str:
    """Say from where to where each system goes."""
    return ", ".join(
        f"{looks[system].label} {each[0]:.3g} to {each[-1]:.3g}" for system, each in means.items()
    )


def _chart(
    title: str,
    says: str,
    values: Sequence[Any],
    means: Mapping[str, Any],
    looks: Mapping[str, Look],
    axis: str,
    label: str,
) -> Chart:
    if not all(isinstance(value, (int, float)) for value in values):
        bars = [Series(looks[system], each) for system, each in means.items()]
        return Chart(title, says, "bars", [str(value) for value in values], bars, axis, label)
    order = np.argsort(np.array(values, float), kind="stable")
    x = np.array(values, float)[order]
    # Sizes that grow by ratios stand at equal distances.
    log_x = bool(x[0] > 0 and x[-1] / x[0] >= 16)
    lines = [Series(looks[system], each[order]) for system, each in means.items()]
    return Chart(title, says, "lines", x, lines, axis, label, log_x=log_x)
