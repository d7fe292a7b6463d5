"""Tables of a run: pure functions of its results.

`comparison` has one row per system and VM, and one per system for all VMs
together; `systems` has what can only be said of a system as a whole. Both are
Arrow tables; `render_*` turn them into what the terminal shows.

Latency is the mean over all accesses of the latency of the device that had the
block: a hit in a tier costs that tier's read latency, a miss the
backend's. Cost is the price of the tiers' capacity (E3). Writes to a tier's
device are fills, promotions and demotions into it (E4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim import units
from mcsim.config.spec import ExperimentSpec, SystemSpec, TierSpec
from mcsim.results import Results

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "COMPARISON",
    "SYSTEMS",
    "Totals",
    "comparison",
    "render_comparison",
    "render_systems",
    "systems",
    "tiers_of",
    "totals",
]

_Quantity = TypeVar("_Quantity", int, float)

COMPARISON = pa.schema(
    [
        ("system", pa.string()),
        ("vm", pa.string()),  # null: all VMs together
        ("accesses", pa.int64()),
        ("hits", pa.int64()),
        ("tier_hits", pa.list_(pa.int64())),
        ("hit_ratio", pa.float64()),
        ("tier_hit_ratio", pa.list_(pa.float64())),
        ("mean_latency_ns", pa.float64()),
        # Against Global LRU: (h - b) / b, h - b, (l_b - l) / l_b; null without one.
        ("gain", pa.float64()),
        ("gain_absolute", pa.float64()),
        ("latency_gain", pa.float64()),
        # The same against the legacy Global LRU.
        ("gain_over_legacy", pa.float64()),
        ("gain_absolute_over_legacy", pa.float64()),
        ("latency_gain_over_legacy", pa.float64()),
    ]
)

SYSTEMS = pa.schema(
    [
        ("system", pa.string()),
        ("hit_ratio", pa.float64()),
        ("mean_latency_ns", pa.float64()),
        ("gain_over_legacy", pa.float64()),
        ("gain_absolute_over_legacy", pa.float64()),
        ("device_writes", pa.list_(pa.int64())),  # blocks, by tier
        ("cost_dollars", pa.float64()),
        ("performance_per_cost", pa.float64()),  # (1 / mean latency in s) per dollar
        ("replay_seconds", pa.float64()),
        ("decide_seconds", pa.float64()),
        ("accesses_per_second", pa.float64()),  # of replay
    ]
)


@dataclass(frozen=True)
class Totals:
    """Counts of one system over the whole run.

    Attributes
    ----------
    accesses, misses : array of int64, shape (vms,)
    hits, device_writes : array of int64, shape (vms, tiers)
    """

    system: SystemSpec
    vms: tuple[str, ...]
    accesses: NDArray[np.int64]
    misses: NDArray[np.int64]
    hits: NDArray[np.int64]
    device_writes: NDArray[np.int64]


def totals(results: Results) -> list[Totals]:
    """Sum the counts of every system over all intervals, in the order of the spec."""
    metrics, vms = results.metrics(), results.vms()
    return [_totals_of(system, metrics, vms) for system in results.spec.systems]


def _totals_of(system: SystemSpec, metrics: pa.Table, vms: pa.Table) -> Totals:
    counted = ("hits", "fills", "promotions", "demotions")
    by_vm = _sums(vms, system, ["vm"], ("accesses", "misses"))
    by_tier = _sums(metrics, system, ["vm", "tier"], counted)
    names = tuple(by_vm["vm"].to_pylist())
    hits, fills, promotions, demotions = (
        by_tier[f"{name}_sum"].to_numpy().reshape(len(names), -1) for name in counted
    )
    return Totals(
        system=system,
        vms=names,
        accesses=by_vm["accesses_sum"].to_numpy(),
        misses=by_vm["misses_sum"].to_numpy(),
        hits=hits,
        device_writes=fills + promotions + demotions,
    )


def _sums(table: pa.Table, system: SystemSpec, by: list[str], counted: Sequence[str]) -> pa.Table:
    """Sum over intervals; groups come in the order of the table: VM, then tier."""
    of_system = table.filter(pc.equal(table["system"], system.title))
    groups = of_system.group_by(by, use_threads=False)
    return groups.aggregate([(name, "sum") for name in counted])


def tiers_of(spec: ExperimentSpec, tier_count: int) -> list[TierSpec]:
    """Return the tiers that a system used, from the number of tiers it counts.

    A system that counts one tier on a machine of several runs all space as the
    fastest device.
    """
    if tier_count == len(spec.tiers):
        return spec.tiers
    assert tier_count == 1
    everything = sum(tier.capacity_blocks for tier in spec.tiers)
    return [spec.tiers[0].model_copy(update={"capacity_blocks": everything})]


def _known(quantity: _Quantity | None) -> _Quantity:
    """A quantity of a device; the spec of a run has them all written out."""
    assert quantity is not None
    return quantity


@dataclass(frozen=True)
class _Row:
    """Counts of one system, of one VM or of all, and what follows from them."""

    vm: str | None
    accesses: int
    tier_hits: tuple[int, ...]
    tier_read_ns: tuple[int, ...]
    backend_read_ns: int

    @property
    def hits(self) -> int:
        return sum(self.tier_hits)

    @property
    def hit_ratio(self) -> float:
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def mean_latency_ns(self) -> float | None:
        if self.accesses == 0:
            return None
        spent = sum(h * ns for h, ns in zip(self.tier_hits, self.tier_read_ns, strict=True))
        return (spent + (self.accesses - self.hits) * self.backend_read_ns) / self.accesses


def _rows(spec: ExperimentSpec, of: Totals) -> Iterator[_Row]:
    used = tiers_of(spec, of.hits.shape[1])
    read_ns = tuple(_known(tier.read) for tier in used)
    backend_ns = _known(spec.backend.read)

    def row(vm: str | None, accesses: Any, hits: Any) -> _Row:
        return _Row(vm, int(accesses), tuple(int(h) for h in hits), read_ns, backend_ns)

    for v, vm in enumerate(of.vms):
        yield row(vm, of.accesses[v], of.hits[v])
    yield row(None, of.accesses.sum(), of.hits.sum(axis=0))


def _relative(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else (value - base) / base


def _gains(row: _Row, base: _Row | None, suffix: str) -> dict[str, float | None]:
    if base is None:
        return {}
    faster = _relative(row.mean_latency_ns, base.mean_latency_ns)
    return {
        f"gain{suffix}": _relative(row.hit_ratio, base.hit_ratio),
        f"gain_absolute{suffix}": row.hit_ratio - base.hit_ratio,
        f"latency_gain{suffix}": None if faster is None else -faster,
    }


def _baseline(all_totals: Sequence[Totals], legacy: bool) -> Totals | None:
    """The first Global LRU of the run, clean or legacy."""
    for of in all_totals:
        if of.system.name == "lru" and bool(of.system.params.get("legacy", False)) == legacy:
            return of
    return None


def comparison(results: Results) -> pa.Table:
    """Compare all systems, VM by VM and in total: a table of schema `COMPARISON`."""
    spec = results.spec
    all_totals = totals(results)
    bases = {
        suffix: {} if base is None else {row.vm: row for row in _rows(spec, base)}
        for suffix, base in (
            ("", _baseline(all_totals, legacy=False)),
            ("_over_legacy", _baseline(all_totals, legacy=True)),
        )
    }
    rows: list[dict[str, Any]] = []
    for of in all_totals:
        for row in _rows(spec, of):
            shares = [hits / row.accesses if row.accesses else 0.0 for hits in row.tier_hits]
            rows.append(
                {
                    "system": of.system.title,
                    "vm": row.vm,
                    "accesses": row.accesses,
                    "hits": row.hits,
                    "tier_hits": row.tier_hits,
                    "hit_ratio": row.hit_ratio,
                    "tier_hit_ratio": shares,
                    "mean_latency_ns": row.mean_latency_ns,
                }
                | _gains(row, bases[""].get(row.vm), "")
                | _gains(row, bases["_over_legacy"].get(row.vm), "_over_legacy")
            )
    return pa.Table.from_pylist(rows, schema=COMPARISON)


def systems(results: Results) -> pa.Table:
    """Return what can be said of each system as a whole: a table of schema `SYSTEMS`."""
    spec = results.spec
    compared = comparison(results)
    whole = compared.filter(pc.is_null(compared["vm"])).to_pylist()
    timings: Mapping[str, Mapping[str, float]] = results.timings["systems"]
    rows = []
    for of, row in zip(totals(results), whole, strict=True):
        used = tiers_of(spec, of.hits.shape[1])
        cost = sum(
            _known(tier.dollars_per_gb) * tier.capacity_blocks * spec.block_bytes / 1e9
            for tier in used
        )
        latency = row["mean_latency_ns"]
        timing = timings[of.system.title]
        replay = timing["replay_seconds"]
        rows.append(
            {key: row[key] for key in row if key in SYSTEMS.names}
            | {
                "device_writes": of.device_writes.sum(axis=0).tolist(),
                "cost_dollars": cost,
                "performance_per_cost": 1e9 / latency / cost if latency and cost else None,
                "replay_seconds": replay,
                "decide_seconds": timing["decide_seconds"],
                "accesses_per_second": row["accesses"] / replay if replay else None,
            }
        )
    return pa.Table.from_pylist(rows, schema=SYSTEMS)


def render_comparison(results: Results) -> RenderableType:
    """Show `comparison` in at most 100 columns."""
    from rich.table import Table

    spec = results.spec
    table = Table(title=_title(results), **STYLE)
    table.add_column("VM")
    table.add_column("accesses", justify="right")
    table.add_column("system", overflow="fold")
    table.add_column("hit %", justify="right")
    for tier in spec.tiers:
        table.add_column(f"{tier.device} %", justify="right")
    for name in ("latency", "gain", "points", "faster"):
        table.add_column(name, justify="right")
    rows = comparison(results).to_pylist()
    vms = list(dict.fromkeys(row["vm"] for row in rows))
    for vm in vms:
        shown: int | None = None
        for row in (row for row in rows if row["vm"] == vm):
            first = shown is None
            changed = row["accesses"] != shown
            shown = row["accesses"]
            shares = row["tier_hit_ratio"] + [None] * (len(spec.tiers) - len(row["tier_hits"]))
            table.add_row(
                (vm or "all") if first else "",
                f"{shown:,}" if changed else "",
                row["system"],
                _percent(row["hit_ratio"]),
                *map(_percent, shares),
                _latency(row["mean_latency_ns"]),
                _signed_percent(row["gain"]),
                _points(row["gain_absolute"]),
                _signed_percent(row["latency_gain"]),
                style="bold" if vm is None else None,
            )
        table.add_section()
    table.caption = "against Global LRU: gain and points in hit ratio, faster in mean latency"
    return table


def render_systems(results: Results) -> RenderableType:
    """Show `systems` in at most 100 columns."""
    from rich.table import Table

    spec = results.spec
    table = Table(title=f"{results.title}: systems", **STYLE)
    table.add_column("system", overflow="fold")
    table.add_column("vs legacy\nLRU", justify="right")
    table.add_column("points", justify="right")
    for tier in spec.tiers:
        table.add_column(f"{tier.device}\nwrites", justify="right")
    for name in ("cost $", "1/s/$", "replay", "rate", "decide"):
        table.add_column(name, justify="right")
    for row in systems(results).to_pylist():
        writes = [units.format_count(blocks) for blocks in row["device_writes"]]
        rate = row["accesses_per_second"]
        table.add_row(
            row["system"],
            _signed_percent(row["gain_over_legacy"]),
            _points(row["gain_absolute_over_legacy"]),
            *writes,
            *["–"] * (len(spec.tiers) - len(writes)),
            f"{row['cost_dollars']:.3g}",
            "–" if row["performance_per_cost"] is None else f"{row['performance_per_cost']:.3g}",
            f"{row['replay_seconds']:.2f} s",
            "–" if rate is None else f"{units.format_count(rate)}/s",
            f"{row['decide_seconds']:.2f} s",
        )
    table.caption = "writes in blocks; 1/s/$: accesses per second one client completes, per dollar"
    return table


STYLE: Mapping[str, Any] = {
    "box": None,
    "padding": (0, 1, 0, 0),
    "title_justify": "left",
    "caption_justify": "left",
}


def _title(results: Results) -> str:
    spec = results.spec
    space = " + ".join(f"{tier.capacity_blocks:,}" for tier in spec.tiers)
    ops = "reads" if spec.ops == "reads" else "reads and writes"
    return f"{results.title}: {ops}, {space} blocks of {units.format_bytes(spec.block_bytes)}"


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.2f}"


def _signed_percent(ratio: float | None) -> str:
    return "–" if ratio is None else _signed(100 * ratio, 1) + "%"


def _points(difference: float | None) -> str:
    return "–" if difference is None else _signed(100 * difference, 2)


def _signed(value: float, digits: int) -> str:
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"


def _latency(ns: float | None) -> str:
    return "–" if ns is None else units.format_latency(ns)
