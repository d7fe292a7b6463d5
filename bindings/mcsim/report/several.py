"""Several runs side by side: what they have in common, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.base.result_table import ResultTable
from mcsim.figures.chart import Chart, Series, scaled_latency
from mcsim.figures.choice import chosen
from mcsim.figures.looks import looks_of, system_looks
from mcsim.report.page import Block, Prose
from mcsim.report.run_parts import mode_note
from mcsim.report.tables import Cell, Table, page_table
from mcsim.results.data_paths import differing_fields
from mcsim.results.foresight import yardstick_note
from mcsim.results.results import Results
from mcsim.results.tables import ALL, comparison

_MOST_PARTS = 3  # of a label


def compared(runs: Sequence[Results], systems: Sequence[str] | None = None) -> list[Block]:
    """Return the differences between runs, and their systems in charts and a table."""
    blocks: list[Block] = []
    labels = labels_of(runs)
    if any(run.synthetic for run in runs):
        which = ", ".join(label for run, label in zip(runs, labels, strict=True) if run.synthetic)
        blocks.append(Prose(f"The workload is synthetic: {which}.", alert=True))
    different = differences(runs)
    if different.rows:
        blocks.append(different)
    else:
        blocks.append(Prose("The experiments do not differ."))
    blocks += [*mode_note(*runs), *_charts(runs, labels, systems), _joined(runs, labels)]
    return blocks


def labels_of(runs: Sequence[Results]) -> list[str]:
    """Return a distinct label for each run: what differs, such as "flash 2,000 blocks"."""
    flat = [dict(_leaves(run.spec.model_dump(mode="json"), "")) for run in runs]
    keys = [key for key in _different(flat) if key != "description" and "systems." not in key]
    parts = [
        [_part(run, key, each[key]) for key in keys if key in each][:_MOST_PARTS]
        for run, each in zip(runs, flat, strict=True)
    ]
    labels = [", ".join(own) or run.title for own, run in zip(parts, runs, strict=True)]
    if len(set(labels)) == len(labels):
        return labels
    return [
        f"{label} ({run.run_id})" if labels.count(label) > 1 else label
        for label, run in zip(labels, runs, strict=True)
    ]


def _part(run: Results, key: str, value: Any) -> str:
    """Write a key of an experiment with its value for people."""
    first, *_, last = key.split(".")
    if key == "name":
        return str(value)
    if first == "tiers" and last.startswith("capacity"):
        return f"{run.spec.tiers[int(key.split('.')[1])].device} {value:,} blocks"
    return f"{last.replace('_', ' ')} {value:,}" if isinstance(value, int) else f"{last} {value}"


def _different(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys that differ between experiments."""
    return [
        key
        for key in dict.fromkeys(key for each in flat for key in each)
        if any(a.get(key, "–") != b.get(key, "–") for a, b in pairwise(flat))
    ]


def differences(runs: Sequence[Results]) -> Table:
    """Return the keys of the experiments that differ, a column for each run."""
    flat = [dict(_leaves(run.spec.model_dump(mode="json"), "")) for run in runs]
    rows = [
        [Cell(key), *(Cell(str(each.get(key, "–"))) for each in flat)] for key in _different(flat)
    ]
    return Table(["key", *labels_of(runs)], rows, title="Where they differ")


def _leaves(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list) and node and isinstance(node[0], Mapping):
        for i, value in enumerate(node):
            yield from _leaves(value, f"{path}.{i}")
    elif node not in (None, {}, [], ""):
        yield path, node


def _charts(
    runs: Sequence[Results], labels: Sequence[str], systems: Sequence[str] | None
) -> Iterator[Chart]:
    """Yield hit ratio and latency of all VMs: systems with a bar for each run."""
    with_most = max(runs, key=lambda run: len(run.spec.systems))
    shown, note = chosen(with_most, systems)
    names = [system_looks(shown)[system.title].label for system in shown]
    rows = [
        {row["system"]: row for row in comparison(run, by_vm=False).to_pylist()} for run in runs
    ]
    looks = looks_of(labels)
    for title, column in (("Hit ratio", "hit_ratio"), ("Mean latency", "mean_latency_ns")):
        values = {
            label: np.array([_value(each.get(system.title), column) for system in shown])
            for label, each in zip(labels, rows, strict=True)
        }
        times, unit = (100.0, "%") if column == "hit_ratio" else scaled_latency(values.values())
        series = [Series(looks[label], times * of) for label, of in values.items()]
        says = f"{title} of {ALL} together, system by system and run by run. {note}".strip()
        yield Chart(f"{title} of {ALL}", says, "bars", names, series, "", f"{title} ({unit})")


def _value(row: Mapping[str, Any] | None, column: str) -> float:
    value = None if row is None else row[column]
    return float("nan") if value is None else float(value)


def _joined(runs: Sequence[Results], labels: Sequence[str]) -> Table:
    tables: list[pa.Table] = []
    foresight: dict[str, str] = {}
    for run, label in zip(runs, labels, strict=True):
        table = comparison(run, by_vm=False)
        foresight |= run.foresight
        names = pa.array([label] * len(table), pa.string())
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
