"""Several runs side by side: what they have in common, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.base.result_table import ResultTable
from mcsim.figures.looks import Look, system_looks
from mcsim.report.charts import Chart, Series
from mcsim.report.page import Block, Prose
from mcsim.report.run_parts import mode_note
from mcsim.report.tables import Cell, Table, page_table
from mcsim.results.data_paths import differing_fields
from mcsim.results.foresight import yardstick_note
from mcsim.results.results import Results
from mcsim.results.tables import ALL, comparison

__all__ = ["compared", "differences"]

_MOST = 12  # systems that bars tell apart


def compared(runs: Sequence[Results]) -> list[Block]:
    """Return what differs between runs, and their systems in one table and chart."""
    blocks: list[Block] = []
    if any(run.synthetic for run in runs):
        which = ", ".join(run.run_id for run in runs if run.synthetic)
        blocks.append(Prose(f"The workload is synthetic: {which}.", alert=True))
    different = differences(runs)
    if different.rows:
        blocks.append(different)
    else:
        blocks.append(Prose("The experiments do not differ."))
    blocks += [*mode_note(*runs), *_charts(runs), _joined(runs)]
    return blocks


def differences(runs: Sequence[Results]) -> Table:
    """Return the keys of the experiments that differ, a column for each run."""
    flat = [dict(_leaves(run.spec.model_dump(mode="json"), "")) for run in runs]
    keys = dict.fromkeys(key for each in flat for key in each)
    rows = [
        [Cell(key), *(Cell(str(each.get(key, "–"))) for each in flat)]
        for key in keys
        if any(a.get(key, "–") != b.get(key, "–") for a, b in pairwise(flat))
    ]
    return Table(["key", *(run.run_id for run in runs)], rows, title="Where they differ")


def _leaves(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list) and node and isinstance(node[0], Mapping):
        for i, value in enumerate(node):
            yield from _leaves(value, f"{path}.{i}")
    elif node not in (None, {}, [], ""):
        yield path, node


def _charts(runs: Sequence[Results]) -> Iterator[Chart]:
    """Yield hit ratio and latency of all VMs, run by run, by the systems that there are."""
    looks = system_looks_of(runs)
    if len(looks) > _MOST:
        return
    rows = [
        {row["system"]: row for row in comparison(run, by_vm=False).to_pylist()} for run in runs
    ]
    names = [run.run_id for run in runs]
    for title, column, scale, label in (
        ("Hit ratio", "hit_ratio", 100, "Hit ratio (%)"),
        ("Latency", "mean_latency_ns", 1e-6, "Mean latency (ms)"),
    ):
        series = [
            Series(look, np.array([_value(each.get(system), column, scale) for each in rows]))
            for system, look in looks.items()
        ]
        says = f"{label.partition(' (')[0]} of {ALL} together, run by run and system by system."
        yield Chart(f"{title} of {ALL}", says, "bars", names, series, "", label)


def _value(row: Mapping[str, Any] | None, column: str, scale: float) -> float:
    value = None if row is None else row[column]
    return float("nan") if value is None else scale * value


def system_looks_of(runs: Sequence[Results]) -> dict[str, Look]:
    """Return one look for each title of a system, whichever runs have it."""
    every = {system.title: system for run in runs for system in run.spec.systems}
    return system_looks(list(every.values()))


def _joined(runs: Sequence[Results]) -> Table:
    tables: list[pa.Table] = []
    foresight: dict[str, str] = {}
    for run in runs:
        table = comparison(run, by_vm=False)
        foresight |= run.foresight
        names = pa.array([run.run_id] * len(table), pa.string())
        tables.append(table.add_column(0, "run", names))
    joined = pa.concat_tables(tables)
    shown = ["run", "system", *differing_fields(joined.to_pylist()), "accesses", "hit_ratio"]
    shown += ["mean_latency_ns", "gain", "gain_absolute"]
    table = ResultTable(
        joined,
        "comparison",
        title=f"All runs, {ALL}",
        notes=["gain and points: against Global LRU of the same run", yardstick_note(foresight)],
        shown=shown,
        styles=["yardstick" if row else "" for row in joined["foresight"].to_pylist()],
    )
    return page_table(table)
