"""What a page says of one run beside its charts: workload, systems, tables, configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mcsim._core import engine
from mcsim.base import units
from mcsim.figures.looks import system_looks
from mcsim.report.page import Block, Facts, Listing, Prose
from mcsim.report.tables import Cell, Table, from_arrow, number_cell
from mcsim.results.data_paths import FIELDS, data_paths, differing_fields, mode_warning
from mcsim.results.demands import overloads
from mcsim.results.files import yaml_of
from mcsim.results.foresight import FORESEEN, in_two, marked_title, yardstick_note
from mcsim.results.loads import device_titles
from mcsim.results.models import devices, requests, waits_of
from mcsim.results.render import says_nothing
from mcsim.results.results import Results
from mcsim.results.series import vms_of
from mcsim.results.tables import comparison, systems
from mcsim.results.yardsticks import yardsticks

__all__ = [
    "configuration",
    "marked",
    "mode_note",
    "origins",
    "question",
    "run_tables",
    "synthetic_note",
    "systems_table",
    "workload",
]

_MOST_VMS = 100  # of tables that show them one by one


def question(results: Results) -> str:
    """Say what the run asks."""
    spec = results.spec
    return spec.description or f"How do {len(spec.systems)} systems compare on {spec.name}?"


def synthetic_note(results: Results) -> list[Block]:
    """Say that the workload was made up, if it was."""
    if not results.synthetic:
        return []
    text = "The workload is synthetic: it stands in for recorded traces, and numbers are its own."
    return [Prose(text, alert=True)]


def mode_note(*runs: Results) -> list[Block]:
    """Warn where the systems of runs write in different modes."""
    rows = [row for run in runs for row in comparison(run, by_vm=False).to_pylist()]
    warning = mode_warning(rows)
    return [] if warning is None else [Prose(f"{warning[:1].upper()}{warning[1:]}.", alert=True)]


def workload(results: Results) -> list[Block]:
    """Tell what ran on which machine."""
    spec = results.spec
    space = " + ".join(f"{tier.device} {tier.capacity:,} blocks" for tier in spec.tiers)
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
    """List the systems: what each is, and what it was told."""
    summaries = {entry["name"]: entry["summary"] for entry in engine.describe_systems()}
    defaults = {
        entry["name"]: {param["name"]: param["default"] for param in entry["params"]}
        for entry in engine.describe_systems()
    }
    looks = system_looks(results.spec.systems)
    paths = {title: path._asdict() for title, path in data_paths(results).items()}
    fields = differing_fields(paths.values())
    rows = []
    for system in results.spec.systems:
        told = _told(system.params, defaults.get(system.name, {}))
        if system.optimizer is not None:
            told = ", ".join(filter(None, [told, f"optimizer={system.optimizer.name}"]))
        summary = summaries.get(system.name, "a system of the user's")
        if system.title in results.foresight:
            known = FORESEEN[results.foresight[system.title]]
            summary = f"{summary.removesuffix('.')}; a yardstick that knows {known} beforehand"
        label = looks[system.title].label
        path = [paths[system.title][name] or "–" for name in fields]
        rows.append([Cell(text) for text in (system.title, label, summary, *path, told or "–")])
    return Table(["system", "in plots", "what it does", *fields.values(), "told"], rows)


def _told(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Write the parameters that are not as they come."""
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


_COMPARISON = {
    "vm": "VM",
    "system": "system",
    **FIELDS,
    "accesses": "accesses",
    "hit_ratio": "hits",
    "tier_hit_ratio": "hits",
    "mean_latency_ns": "mean latency",
    "gain": "gain",
    "gain_absolute": "points",
    "latency_gain": "latency saved",
}
_SYSTEMS = {
    "system": "system",
    "gain_over_legacy": "gain over legacy LRU",
    "gain_absolute_over_legacy": "points over it",
    "device_writes": "writes",
    "cost_dollars": "cost ($)",
    "performance_per_cost": "1/s/$",
}
_YARDSTICKS = {
    "system": "system",
    "hit_ratio": "hits",
    "share_of_opt": "of OPT",
    "over_hindsight": "points over hindsight",
    "fairness": "fairness",
    "worst_slowdown": "worst slowdown",
    "churn": "blocks moved an interval",
    "infeasible": "infeasible decisions",
}
_REQUESTS = {
    "system": "system",
    "requests": "requests",
    "read_hit_ratio": "read hits",
    "served_by_cache": "served by cache",
    "mean_ns": "mean",
    "p50_ns": "median",
    "p95_ns": "95 %",
    "p99_ns": "99 %",
}
_DEVICES = {
    "system": "system",
    "device": "device",
    "reads": "reads",
    "writes": "writes",
    "written_bytes_per_day": "written",
    "lifetime_years": "lifetime (years)",
    "drive_writes_per_day": "drive writes per day",
    "utilization": "busy",
    "peak_utilization": "peak",
    "saturated_intervals": "saturated",
    "queueing_ns": "queueing",
    "asked": "asked",
    "peak_asked": "peak asked",
    "overloaded_intervals": "over",
    "energy_joules": "energy (J)",
}


def run_tables(results: Results) -> list[Table]:
    """Return all tables of a run."""
    tiers = device_titles(results.spec)[:-1]
    compared = comparison(results, by_vm=len(vms_of(results)) <= _MOST_VMS)
    hidden = FIELDS.keys() - differing_fields(compared.to_pylist()).keys()
    whole = systems(results)
    return [
        from_arrow(
            marked(_by_vm(compared, vms_of(results)), results.foresight),
            {name: head for name, head in _COMPARISON.items() if name not in hidden},
            parts=tiers,
            nothing={"vm": "all"},
            title="Hits and latency",
            caption=_sentences(
                "Gain, points and latency saved: against Global LRU", _yardsticks(results)
            ),
        ),
        _possible(results),
        from_arrow(
            marked(whole, results.foresight),
            _telling(whole, _SYSTEMS),
            parts=tiers,
            title="Systems",
            caption=(
                "Writes in blocks; cost: of the blocks granted, in the mean; 1/s/$: accesses per "
                "second one client completes, per dollar."
            ),
        ),
        from_arrow(
            marked(requests(results, by_vm=False), results.foresight),
            _REQUESTS,
            title="Requests",
            caption="A request waits for its slowest block.",
        ),
        _loaded(results),
    ]


def _possible(results: Results) -> Table:
    """Hold the systems to what was possible."""
    held = yardsticks(results)
    heads = _telling(held, _YARDSTICKS)
    explained = {
        "share_of_opt": "OPT: of one cache of all VMs, with a block more",
        "fairness": "fairness: Jain's index of slowdowns against all tiers of one's own",
    }
    said = "; ".join(text for name, text in explained.items() if name in heads)
    caption = _sentences(said, _yardsticks(results))
    shown = marked(held, results.foresight)
    return from_arrow(shown, heads, title="What was possible", caption=caption)


def _yardsticks(results: Results) -> str:
    note = yardstick_note(results.foresight)
    return note[:1].upper() + note[1:]


def _sentences(*said: str) -> str:
    return " ".join(f"{sentence}." for sentence in said if sentence)


def _loaded(results: Results) -> Table:
    """Tell what the devices had to do."""
    loaded = devices(results)
    heads = _telling(loaded, _DEVICES)
    explained = {
        "reads": "Reads and writes in blocks",
        "saturated_intervals": "saturated: intervals with more work than time",
        "queueing_ns": waits_of(heads),
    }
    said = "; ".join(text for name, text in explained.items() if name in heads)
    caption = " ".join(f"{sentence}." for sentence in (said, *overloads(results)))
    titles = device_titles(results.spec)
    shown = pa.array([titles[-1 if k is None else k] for k in loaded["tier"].to_pylist()])
    named = loaded.set_column(loaded.schema.get_field_index("device"), "device", shown)
    named = marked(named, results.foresight)
    return from_arrow(named, heads, title="Devices", caption=caption)


def _telling(table: pa.Table, heads: Mapping[str, str]) -> dict[str, str]:
    """Return the heads of those columns that say something."""
    return {
        name: head
        for name, head in heads.items()
        if name in table.column_names and not says_nothing(name, table[name].to_pylist())
    }


def marked(table: pa.Table, foresight: Mapping[str, str]) -> pa.Table:
    """Return rows of systems with yardsticks last, their titles marked."""
    rows = [
        row | {"system": marked_title(row["system"], row["system"] in foresight)}
        for of_kind in in_two(table.to_pylist(), foresight)
        for row in of_kind
    ]
    return pa.Table.from_pylist(rows, schema=table.schema)


def _by_vm(compared: pa.Table, vms: list[str]) -> pa.Table:
    """Return rows VM by VM, all of them together last."""
    place = {vm: i for i, vm in enumerate(vms)}
    rows = compared.to_pylist()
    rows.sort(key=lambda row: place.get(row["vm"], len(place)))
    return pa.Table.from_pylist(rows, schema=compared.schema)


def configuration(results: Results) -> Listing:
    """Return the experiment as it ran, every default written out."""
    text = yaml_of(results.spec.expanded()).decode()
    return Listing(f"{results.run_id}: the experiment, every default written out", text)


# The host is private, and pages of equal results are equal, whenever these were made.
_PRIVATE = ("host", "started", "traces", "code", "foresight", "data_paths")
_TIMED = ("environment.json", "timings.json")


def origins(results: Results) -> list[Block]:
    """Tell what the numbers rest on: versions, digests of traces and of tables."""
    facts: list[tuple[str, str]] = [("run", results.run_id)]
    environment = results.environment
    for name, value in environment.items():
        if name not in _PRIVATE and value not in ([], {}, None):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            facts.append((name.replace("_", " "), shown))
    traces = [
        [Cell(str(trace.get("vm"))), Cell(str(trace.get("digest")))]
        for trace in environment.get("traces", [])[:1000]
    ]
    code = [[Cell(str(name)), Cell(str(d))] for name, d in environment.get("code", {}).items()]
    sums = {name: digest for name, digest in results.sums.items() if name not in _TIMED}
    files = [[Cell(name), Cell(digest)] for name, digest in sums.items()]
    found: list[Block] = [Facts(facts), Table(["VM", "digest of its trace"], traces)]
    if code:
        found.append(Table(["code", "digest"], code))
    return [*found, Table(["file", "SHA-256"], files)]
