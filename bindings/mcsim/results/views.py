"""Result tables of a run: its Arrow tables with title, order, notes and figure.

Realisable systems come sorted by mean latency, the best first; yardsticks come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from mcsim.base import units
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean, some_of
from mcsim.results.answer import answer, rank, winners
from mcsim.results.answer_best import base_title
from mcsim.results.counted_time import why_no_rates
from mcsim.results.data_paths import differing_fields
from mcsim.results.demands import device_titles, overloads
from mcsim.results.foresight import yardstick_note
from mcsim.results.misses import alone_by_vm, changes_write_modes, miss_classes
from mcsim.results.models import devices, requests
from mcsim.results.prefix_hits import block_tokens_of, prefix_hits
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS
from mcsim.results.tables import comparison, systems
from mcsim.results.yardsticks import why_no_opt, yardsticks
from mcsim.tables.column import column, hidden
from mcsim.tables.formatted_table import RowStyle
from mcsim.tables.result_columns import column_of
from mcsim.tables.result_table import ResultTable
from mcsim.tables.run_columns import DELAYED, REQUEST_RATIOS

MOST_VMS = 24
"""With more VMs, people are shown only all together."""

_FEW_VMS = 6
"""Upper limit of VMs with hit ratios in the overview."""

_REQUEST_RATIOS = {column.name for column in REQUEST_RATIOS}
_DELAYED = {column.name for column in DELAYED}
_OTHERS = ("others_hit_ratio", "others_latency_gain")


def overview(results: Results) -> RunTable:
    """Return one row a system over all VMs."""
    rows = {row["system"]: row for row in yardsticks(results).to_pylist()}
    whole = comparison(results, by_vm=False)
    table = whole
    for name in ("share_of_opt", "over_hindsight", "worst_slowdown"):
        values = pa.array([rows[title][name] for title in whole["system"].to_pylist()])
        table = table.append_column(name, values)
    for name, values in zip(_OTHERS, _of_others(results, whole["system"].to_pylist()), strict=True):
        table = table.append_column(name, pa.array(values, pa.float64()))
    years = _years(results)
    of_drives = [years.get(title) for title in whole["system"].to_pylist()]
    table = table.append_column("lifetime_years", pa.array(of_drives, pa.float64()))
    more = [*differing_fields(whole.to_pylist()), *_differing_ratios(table)]
    notes = [
        f"saved: mean latency against {base_title(results)}",
        _opt_note(results, table, "hits of one cache of all VMs that knows the future"),
        "worst VM: its latency by its latency alone with all tiers, in the same write mode",
        yardstick_note(results.foresight),
        "years: life of the first drive that is worn out",
    ]
    headings = {
        notes[0]: "latency_gain",
        notes[2]: "worst_slowdown",
        notes[4]: "lifetime_years",
    }
    told = [note for note in notes if note and _is_known(table, headings.get(note))]
    if results.standings.apart:
        told.append(f"others: all VMs but {some_of(results.standings.apart, 3)}")
    return _of_systems(results, "overview", table, _title(results), told, more)


def _of_others(results: Results, titles: Sequence[str]) -> Iterator[list[float | None]]:
    """Yield hit ratios and latencies saved without the VMs that the answer sets apart."""
    standings = results.standings
    base = standings.others[base_title(results)]
    others = [standings.others[title] for title in titles] if standings.apart else []
    yield [of.hit_ratio for of in others] or [None] * len(titles)
    saved = [None if of.latency_ns is None else -of.excess(base, base) for of in others]
    yield saved or [None] * len(titles)


def _years(results: Results) -> dict[str, float]:
    """Return the life of the first drive that is worn out, by system."""
    drives = {k for k, tier in enumerate(results.spec.tiers) if tier.drive}
    rows = devices(results).to_pylist() if drives and results.kind != "objects" else []
    found: dict[str, float] = {}
    for row in rows:
        years = row["lifetime_years"]
        if row["tier"] in drives and years is not None:
            found[row["system"]] = min(years, found.get(row["system"], years))
    return found


def hits_by_vm(results: Results) -> ResultTable | None:
    """Return the hit ratio of each VM and the mean over VMs; None for one VM, or for many."""
    by_vm = results.standings.by_vm
    ranked = rank(results)
    vms = [vm for system, vm in by_vm if system == ranked[0]]
    if not 2 <= len(vms) <= _FEW_VMS:
        return None
    rows: list[list[Any]] = []
    for title in ranked:
        own = [by_vm[title, vm] for vm in vms]
        ratios = [of.hit_ratio if of.accesses else None for of in own]
        known = [ratio for ratio in ratios if ratio is not None]
        rows.append([title, *ratios, sum(known) / len(known) if known else None])
    names = [*(f"of {vm}" for vm in vms), "mean"]
    ratios_of = [column(of.removeprefix("of "), "share", name=of) for of in names]
    best = winners(results)
    styles = [_style(title, best, None, results.foresight) for title in ranked]
    title = "hit % by VM, and the mean over VMs"
    return ResultTable.of_rows(
        [column("system", "text"), *ratios_of], rows, title=title, styles=styles
    )


def result_table(results: Results, name: str) -> RunTable:
    """Return one table of a run.

    Parameters
    ----------
    name : {'comparison', 'systems', 'yardsticks', 'requests', 'devices', 'misses', \
'prefix_hits', 'metrics', 'vms', 'curves', 'reuse_intensity', 'decisions', 'bounds', 'alone'}
    """
    if name in _DERIVED:
        return _DERIVED[name](results)
    if name not in SCHEMAS:
        known = [*_DERIVED, *SCHEMAS]
        raise ConfigError(
            f"no table {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
        )
    title = f"{results.title}: {name.replace('_', ' ')}"
    return RunTable(results, results.to_arrow(name), name, title=title)


def result_tables(results: Results) -> list[RunTable]:
    """Return the tables that people read, in the order of a page."""
    names = ["comparison", "yardsticks", "systems", "requests", "devices"]
    if block_tokens_of(results) is not None:
        names = ["prefix_hits", "comparison", "yardsticks", "systems", "devices"]
    return [result_table(results, name) for name in names]


class RunTable(ResultTable):
    """A table of a run.

    Attributes
    ----------
    results : Results
    """

    def __init__(self, results: Results, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.results = results


def _comparison(results: Results) -> RunTable:
    table = comparison(results)
    more = [*differing_fields(table.to_pylist()), *_differing_ratios(table)]
    notes = [
        f"gain, points and saved: hit ratio and mean latency against {base_title(results)}"
        if _is_known(table, "gain")
        else "",
        yardstick_note(results.foresight),
    ]
    return _of_systems(results, "comparison", table, _title(results), notes, more)


def _yardsticks(results: Results) -> RunTable:
    table = yardsticks(results)
    notes = [
        _opt_note(
            results, table, "hits of one cache of all VMs, with a block more, that knows the future"
        ),
        "fairness: Jain's index of the slowdowns of VMs against each alone with all tiers"
        if _is_known(table, "fairness")
        else "",
        yardstick_note(results.foresight),
    ]
    return _of_systems(results, "yardsticks", table, "what was possible", notes)


def _systems(results: Results) -> RunTable:
    notes = [
        "writes in blocks; cost: of the blocks granted, in the mean; 1/s/$: accesses per second "
        "that one client completes, per dollar",
    ]
    return _of_systems(results, "systems", systems(results), "systems", notes)


def _requests(results: Results) -> RunTable:
    notes = ["cache: served without the backend; a request waits for its slowest block"]
    table = requests(results, by_vm=False)
    return _of_systems(results, "requests", table, "requests", notes)


def _devices(results: Results) -> RunTable:
    table = devices(results)
    titles = device_titles(results.spec)
    named = pa.array([titles[-1 if k is None else k] for k in table["tier"].to_pylist()])
    index = table.schema.get_field_index("device")
    queueing = "; queueing: mean wait at the mean load" if _is_known(table, "queueing_ns") else ""
    notes = [f"reads and writes in blocks{queueing}"]
    if len(table) and (why := why_no_rates(results)) is not None:
        notes.append(f"no rates by time: {why}")
    if _is_known(table, "drive_writes_per_day"):
        notes.append("DWPD: drive writes per day")
    if any(table["saturated_intervals"].to_pylist()):
        notes.append("saturated: intervals with more work than time")
    if "asked" in table.column_names:
        notes.append("asked: of what a device can do; overloaded: intervals that ask for more")
        notes += overloads(results)
    table = table.set_column(index, "device", named)
    return _of_systems(results, "devices", table, "devices", notes)


def _misses(results: Results) -> RunTable:
    table = miss_classes(results)
    notes = [
        "compulsory: first accesses; capacity: other misses of the VM alone with all tiers; "
        "interference: misses that the VM has not when alone"
    ]
    if any(table["invalidated"].to_pylist()):
        notes.append(
            "invalidated: misses at any size, of blocks written around, discarded or not admitted"
        )
    counted = set(table["system"].to_pylist())
    for why, titles in _without_causes(results).items():
        if left := [title for title in titles if title not in counted]:
            notes.append(f"no causes ({why}): {', '.join(left)}")
    return _of_systems(results, "misses", table, "misses by cause", notes)


def _prefix_hits(results: Results) -> RunTable:
    table = prefix_hits(results)
    notes = ["saved: time to first token of all requests together, against no cache"]
    return _of_systems(results, "prefix_hits", table, "prefix hits", notes if len(table) else [])


def _without_causes(results: Results) -> dict[str, list[str]]:
    """Return the systems by the reason for which their misses may have no causes."""
    found: dict[str, list[str]] = {}
    for system in results.spec.systems:
        title = system.title
        if changes_write_modes(results, title):
            why = "write modes change"
        elif alone_by_vm(results, title):
            why = "extents or lines"
        else:
            why = "no VM was replayed alone: see `slowdowns`"
        found.setdefault(why, []).append(title)
    return found


_DERIVED: Mapping[str, Callable[[Results], RunTable]] = {
    "comparison": _comparison,
    "systems": _systems,
    "yardsticks": _yardsticks,
    "requests": _requests,
    "devices": _devices,
    "misses": _misses,
    "prefix_hits": _prefix_hits,
}


def _of_systems(
    results: Results,
    kind: str,
    table: pa.Table,
    title: str,
    notes: Sequence[str],
    more: Sequence[str] = (),
) -> RunTable:
    """Return a table with rows of systems: VM by VM, sorted by result, the best row bold."""
    place = {title: i for i, title in enumerate(rank(results))}
    best = winners(results)
    titles = table["system"].to_pylist()
    vms = table["vm"].to_pylist() if "vm" in table.column_names else [None] * len(titles)
    of_vm = {vm: i for i, vm in enumerate(dict.fromkeys(filter(None, vms)))}
    order = sorted(
        (row for row in range(len(titles)) if len(of_vm) <= MOST_VMS or vms[row] is None),
        key=lambda row: (of_vm.get(vms[row], len(of_vm)), place[titles[row]]),
    )
    if len(order) < len(titles):
        notes = [*notes, "VMs one by one: in vms.parquet and metrics.parquet, or to_pandas()"]
    styles = [_style(titles[row], best, vms[row], results.foresight) for row in order]
    whole = title if title.startswith(results.title) else f"{results.title}: {title}"
    # Without another system nothing is compared with hindsight.
    declared = [hidden(column_of("yardsticks", "over_hindsight"))] if len(table) < 2 else []
    return RunTable(
        results,
        table,
        kind,
        title=whole,
        answer=answer(results) if kind in ("overview", "comparison") else "",
        notes=[note for note in notes if note],
        more=more,
        parts=device_titles(results.spec)[:-1],
        order=order,
        styles=styles,
        declared=declared,
    )


def _differing_ratios(table: pa.Table) -> list[str]:
    """Return the hit ratios that are not those of blocks, and the columns of delayed hits."""
    blocks = table["hit_ratio"].to_pylist()
    ratios = [
        name
        for name in table.column_names
        if name in _REQUEST_RATIOS
        and any(
            of not in (None, ratio)
            for of, ratio in zip(table[name].to_pylist(), blocks, strict=True)
        )
    ]
    delayed = [name for name in table.column_names if name in _DELAYED and _is_known(table, name)]
    return [*ratios, *delayed]


def _style(title: str, best: set[str], vm: str | None, foresight: Mapping[str, str]) -> RowStyle:
    if title in foresight:
        return "yardstick"
    return "best" if title in best and vm is None else ""


def _opt_note(results: Results, table: pa.Table, meaning: str) -> str:
    """Return what OPT is, or why the column is missing; nothing if OPT hits nothing."""
    if block_tokens_of(results) is not None:
        meaning = "the most prefix hits of any cache of all tenants"
    known = f"OPT: {meaning}" if _is_known(table, "share_of_opt") else ""
    return why_no_opt(results) or known


def _is_known(table: pa.Table, name: str | None) -> bool:
    """Whether a column has a value; true without a column."""
    return name is None or table[name].null_count < len(table)


def _title(results: Results) -> str:
    spec = results.spec
    blocks = " + ".join(f"{tier.capacity:,}" for tier in spec.tiers)
    hosts = "" if spec.hosts is None else f"{spec.host_count} hosts of "
    ops = {"all": "reads and writes"}.get(spec.ops, spec.ops)
    if results.kind == "objects":
        name = "bytes of objects" if spec.in_bytes else "objects"
        return f"{results.title}: {ops}, {hosts}{blocks} {name}"
    size = spec.block_bytes
    space = " + ".join(units.format_size(tier.capacity * size) for tier in spec.tiers)
    of = f"{blocks} blocks of {units.format_bytes(size)}"
    return f"{results.title}: {ops}, {hosts}{space} ({of})"
