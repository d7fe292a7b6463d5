"""Pages of runs, one or several side by side, and their charts."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError
from mcsim.base.files import write_whole
from mcsim.figures import MOST_VMS
from mcsim.figures.chart import Chart, Series, scaled_latency
from mcsim.figures.comparison import before_and_after, hit_ratio_by_vm, latency_by_vm, tier_chart
from mcsim.figures.curves import hit_ratio_curves
from mcsim.figures.looks import chosen, looks_of
from mcsim.figures.timeline import (
    baseline_occupancy,
    occupancy_over_time,
    over_time,
    reuse_intensity,
)
from mcsim.report.page import Block, Page, Prose, Section, render
from mcsim.report.run_parts import (
    answer_note,
    answer_table,
    configuration,
    mode_note,
    origins,
    question,
    run_tables,
    synthetic_note,
    systems_table,
    workload,
)
from mcsim.report.tables import Cell, Table, page_table
from mcsim.results.data_paths import differing_fields
from mcsim.results.foresight import yardstick_note
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, format_space, vms_of
from mcsim.results.tables import ALL, comparison
from mcsim.results.version import check_versions
from mcsim.tables.result_table import ResultTable


class RenderedPage(str):
    """The HTML of a page; the interpreter shows where it is, or how long it is."""

    html: Path | None = None
    """The file that has it, if one was written."""

    def __repr__(self) -> str:
        if self.html is not None:
            return str(self.html)
        return f"<page of {len(self):,} characters; report(…, html='page.html') writes it>"


def report(
    *runs: Results | str | os.PathLike[str],
    html: str | os.PathLike[str] | None = None,
    systems: Sequence[str] | None = None,
) -> RenderedPage:
    """Render a page of a run, or of several side by side: one HTML file that opens offline.

    Parameters
    ----------
    *runs : Results or path
        Finished runs, or their folders.
    html : path, optional
        Path of the page. If absent, no file is written.
    systems : sequence of str, optional
        Titles of the systems that charts show; the best and Global LRU if absent.

    Returns
    -------
    RenderedPage
        The page, a `str` that depends on the runs alone. An interpreter shows the path of its
        file.

    Raises
    ------
    ConfigError
        If no run is given, or one is unfinished. If a system is unknown. If runs have different
        versions of results, or a package that pages need is missing.
    """
    if not runs:
        raise ConfigError("name a finished run, or several")
    target = None if html is None else file_given("html", html)
    opened = [run if isinstance(run, Results) else Results.open(run) for run in runs]
    check_versions(opened)
    one = len(opened) == 1
    page = RenderedPage(render(_of_run(opened[0], systems) if one else _of_runs(opened, systems)))
    if target is not None:
        write_whole(target, page)
        page.html = target
    return page


def _of_run(results: Results, systems: Sequence[str] | None) -> Page:
    answer: list[Block] = [*synthetic_note(results), answer_note(results), *mode_note(results)]
    with contextlib.suppress(CannotDrawError):
        answer.append(before_and_after(results))
    sections = [
        Section("Answer", [*answer, answer_table(results)]),
        Section("Results", charts_of(results, systems)),
    ]
    if by_vm := list(vm_charts(results, systems)):
        sections.append(Section("Over time, VM by VM", by_vm, folded=True))
    if occupancy := occupancy_charts(results, systems):
        sections.append(Section("Occupancy", occupancy))
    sections.append(Section("Workload", workload(results)))
    sections.append(Section("Systems", [systems_table(results)]))
    sections.append(Section("Tables", run_tables(results)))
    sections.append(Section("Configuration", [configuration(results)]))
    sections.append(Section("Digests and versions", origins(results), folded=True))
    command = page_command([results], systems)
    return Page(results.title, question(results), sections, command)


def _of_runs(runs: Sequence[Results], systems: Sequence[str] | None) -> Page:
    sections = [Section("Side by side", compared(runs, systems))]
    for run, label in zip(runs, labels_of(runs), strict=True):
        blocks: list[Block] = [*synthetic_note(run), *workload(run), systems_table(run)]
        blocks += [
            *mode_note(run),
            *charts_of(run, systems),
            *run_tables(run),
            configuration(run),
            *origins(run),
        ]
        sections.append(Section(label, blocks, folded=True))
    names = ", ".join(dict.fromkeys(run.title for run in runs))
    lead = " ".join(dict.fromkeys(question(run) for run in runs))
    return Page(f"{len(runs)} runs: {names}", lead, sections, page_command(runs, systems))


def page_command(runs: Sequence[Results], systems: Sequence[str] | None) -> str:
    """Return the command that writes the page of runs from their results."""
    parts = ["mcsim", "results", "page", *(run.run_id for run in runs)]
    for name in systems or ():
        parts += ["--systems", name]
    parts += ["-o", "page.html"] if len(runs) > 1 else []
    return shlex.join(parts)


_Names = Sequence[str] | None


def charts_of(results: Results, systems: _Names = None) -> list[Chart]:
    """Return the charts of a run as a whole."""
    few = len(vms_of(results)) <= MOST_VMS
    shown, _ = chosen(results, systems)
    charts = [
        *hit_ratio_by_vm([results], systems, by_vm=few).charts,
        *latency_by_vm(results, systems, by_vm=few).charts,
        tier_chart(results, systems),
        over_time(results, shown),
    ]
    if few:
        charts += hit_ratio_curves(results).charts
    return charts


def vm_charts(results: Results, systems: _Names = None) -> Iterator[Chart]:
    """Yield hit ratio and reuse intensity over time of each VM, if there are not too many."""
    vms = vms_of(results)
    if len(vms) > MOST_VMS:
        return
    shown, _ = chosen(results, systems)
    if len(vms) > 1:
        for v in range(len(vms)):
            yield over_time(results, shown, v)
    with contextlib.suppress(CannotDrawError):
        yield from reuse_intensity(results).charts


def occupancy_charts(results: Results, systems: _Names = None) -> list[Chart]:
    """Return what VMs hold of each tier, under the baseline and the best system."""
    if len(vms_of(results)) > MOST_VMS:
        return []
    if systems:
        return list(occupancy_over_time(results, systems).charts)
    charts: dict[str, Chart] = {}
    for sheet_of in (occupancy_over_time, baseline_occupancy):
        with contextlib.suppress(CannotDrawError):
            charts |= {chart.title: chart for chart in sheet_of(results).charts}
    return list(charts.values())


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
        tier = run.spec.tiers[int(key.split(".")[1])]
        return f"{tier.device} {format_space(run, value)}"
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
    names = [system.title for system in shown]
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
        notes=["gain and points: against lru of the same run", yardstick_note(foresight)],
        shown=shown,
        styles=["yardstick" if row else "" for row in joined["foresight"].to_pylist()],
    )
    return page_table(table)
