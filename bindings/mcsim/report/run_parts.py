"""Parts of a page of one run: workload, systems, tables, configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcsim._core import engine
from mcsim.base import units
from mcsim.report.page import Block, Facts, Listing, Prose
from mcsim.report.tables import Cell, Table, number_cell, page_table, sentence
from mcsim.results.data_paths import data_paths, differing_fields, mode_warning
from mcsim.results.files import yaml_of
from mcsim.results.foresight import FORESEEN
from mcsim.results.results import Results
from mcsim.results.series import format_capacity
from mcsim.results.tables import ALL, comparison
from mcsim.results.views import overview, result_tables
from mcsim.tables.result_columns import column_of
from mcsim.tables.result_table import ResultTable
from mcsim.traces.info import rows_text


def question(results: Results) -> str:
    """Return the experiment's description, or else the question that the run compares."""
    spec = results.spec
    return (
        spec.description.replace("`", "")
        or f"How do {len(spec.systems)} systems compare on {spec.name}?"
    )


def synthetic_note(results: Results) -> list[Block]:
    """Warn that the workload is synthetic, if it is."""
    if not results.synthetic:
        return []
    text = "The workload is synthetic: it stands in for recorded traces, whose numbers may differ."
    return [Prose(text, alert=True)]


def mode_note(*runs: Results) -> list[Block]:
    """Warn where the systems of runs write in different modes."""
    rows = [row for run in runs for row in comparison(run, by_vm=False).to_pylist()]
    warning = mode_warning(rows)
    return [] if warning is None else [Prose(sentence(warning), alert=True)]


def workload(results: Results) -> list[Block]:
    """Describe the simulated machine and the traces of the VMs."""
    spec = results.spec
    space = " + ".join(
        f"{tier.device} {format_capacity(results, tier.capacity)}" for tier in spec.tiers
    )
    interval = (
        units.format_references(spec.interval.length)
        if spec.interval.by_reference
        else units.format_duration(spec.interval.length)
    )
    facts = Facts(
        [
            ("Requests", "reads" if spec.ops == "reads" else "reads and writes"),
            ("Blocks", units.format_bytes(spec.block_bytes)),
            ("Tiers", space),
            *([] if spec.hosts is None else [("Hosts", ", ".join(spec.hosts.names))]),
            ("Backend", spec.backend.device),
            ("Interval", interval),
            ("Seed", str(spec.random_seed)),
        ]
    )
    traces = results.environment.get("traces", [])
    heads = {
        "vm": "VM",
        "requests": "requests",
        "accesses": "accesses",
        "unique_blocks": "distinct blocks",
    }
    rows: list[list[Cell]] = [[_cell(trace.get(name)) for name in heads] for trace in traces[:1000]]
    return [facts, Table(list(heads.values()), rows)] if rows else [facts]


def _cell(value: Any) -> Cell:
    if isinstance(value, (int, float)):
        return number_cell(value)
    return Cell("–" if value is None else str(value))


def systems_table(results: Results) -> Table:
    """List the systems, each with a summary and its parameters that are not defaults."""
    summaries = {entry["name"]: entry["summary"] for entry in engine.describe_systems()}
    defaults = {
        entry["name"]: {param["name"]: param["default"] for param in entry["params"]}
        for entry in engine.describe_systems()
    }
    paths = {title: path._asdict() for title, path in data_paths(results).items()}
    fields = differing_fields(paths.values())
    rows = []
    for system in results.spec.systems:
        params = _changed_params(system.params, defaults.get(system.name, {}))
        if system.optimizer is not None:
            params = ", ".join(filter(None, [params, f"optimizer={system.optimizer.name}"]))
        summary = summaries.get(system.name, "a system of the user's")
        if system.title in results.foresight:
            known = FORESEEN[results.foresight[system.title]]
            summary = f"{summary.removesuffix('.')}; a yardstick that knows {known} beforehand"
        path = [paths[system.title][name] or "–" for name in fields]
        rows.append([Cell(text) for text in (system.title, summary, *path, params or "–")])
    return Table(["system", "what it does", *fields.values(), "parameters"], rows)


def _changed_params(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Format the parameters that differ from their defaults."""
    return ", ".join(
        f"{name}={value}"
        for name, value in params.items()
        if not (name in defaults and _same(value, defaults[name]))
    )


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, str) and isinstance(default, int) and not isinstance(default, bool):
        try:
            return units.parse_duration(value) == default
        except ValueError:
            return False
    return bool(value == default) or (not value and not default)


def run_tables(results: Results) -> list[Table]:
    """Return the tables of a run, those of `mcsim results show --per-vm`."""
    whole = replace(page_table(overview(results)), title=f"{results.title}: {ALL}")
    return [whole, *map(page_table, result_tables(results))]


def answer_note(results: Results) -> Prose:
    """Return the summary in words."""
    return Prose(results.answer.replace("`", ""))


def answer_table(results: Results) -> Table:
    """Return the few columns of the table over all VMs that fit a phone."""
    table = overview(results)
    names = [name for name in _ANSWER_COLUMNS if is_shown(table, name)]
    return replace(page_table(table, shown=names), title="", caption="", is_narrow=True)


_ANSWER_COLUMNS = ("system", "hit_ratio", "mean_latency_ns", "latency_gain")


def is_shown(table: ResultTable, name: str) -> bool:
    """Return whether a table has a column with values."""
    if name not in table.column_names:
        return False
    return column_of(table.kind, name).is_informative(table.values(name))


def configuration(results: Results) -> Listing:
    """Return the experiment that ran, with every default written out."""
    text = yaml_of(results.spec.expanded()).decode()
    return Listing(f"{results.run_id}: the experiment, every default written out", text)


# Entries of the environment that pages omit: the host is private, and a start time would make
# pages of equal results differ.
_PRIVATE = ("host", "started", "traces", "code", "foresight", "data_paths")
_TIMED = ("environment.json", "timings.json")


def _rows_of(trace: Mapping[str, Any]) -> str:
    return rows_text(trace.get("rows", {}))


def origins(results: Results) -> list[Block]:
    """List the provenance of the numbers: versions, digests of traces, code and tables."""
    facts: list[tuple[str, str]] = [("run", results.run_id)]
    environment = results.environment
    for name, value in environment.items():
        if name not in _PRIVATE and value not in ([], {}, None):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            facts.append((name.replace("_", " "), shown))
    traces = [
        [Cell(str(trace.get("vm"))), Cell(str(trace.get("digest"))), Cell(_rows_of(trace))]
        for trace in environment.get("traces", [])[:1000]
    ]
    code = [[Cell(str(name)), Cell(str(d))] for name, d in environment.get("code", {}).items()]
    sums = {name: digest for name, digest in results.sums.items() if name not in _TIMED}
    files = [[Cell(name), Cell(digest)] for name, digest in sums.items()]
    headings = ["VM", "digest of its trace", "rows that are not requests"]
    found: list[Block] = [Facts(facts), Table(headings, traces)]
    if code:
        found.append(Table(["code", "digest"], code))
    return [*found, Table(["file", "SHA-256"], files)]
