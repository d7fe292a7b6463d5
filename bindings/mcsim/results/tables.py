"""Tables of a run: pure functions of its results.

`comparison` has one row per system and VM, and one per system for all VMs
together; `systems` has one row per system. Both are Arrow tables with the columns
of `mcsim.tables.result_columns`; `mcsim.results.views` shows them.

Hits are all accesses but misses and delayed hits: those of the tiers and, if an admission filter
stages blocks with their data, reads of staged blocks. Latency is the mean waiting time over all
accesses. A read waits for the device with the block, or for memory if the block was staged, and for
the link if the device is on another host. A delayed hit waits for the rest of the fetch. A write
waits for the backend if written through or around, and for its tier if written back. Cost is the
price of granted blocks on all hosts, in the mean of the intervals. If a system shares or grants all
space, it is the price of the tiers' capacity. Writes to a tier's device are fills, promotions,
demotions, updates and transfers. Loads, percentiles and lifetimes, which follow from the same
counts, are in `mcsim.results.models`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.config.latency import ServiceTimes
from mcsim.config.placed import PlacedSpec, TierSpec
from mcsim.config.spec import ExperimentSpec
from mcsim.results.data_paths import data_paths
from mcsim.results.results import Results
from mcsim.results.schemas import all_counts_of, interval_counts, of_system
from mcsim.results.series import is_legacy
from mcsim.results.totals import Totals, totals
from mcsim.tables.result_columns import schema_of_table

_Quantity = TypeVar("_Quantity", int, float)

COMPARISON = schema_of_table("comparison")
SYSTEMS = schema_of_table("systems")


def tiers_of(spec: ExperimentSpec, tier_count: int) -> list[TierSpec]:
    """Return the tiers that a system used, from the number of tiers it counts.

    A system that counts one tier on a machine of several runs all space as the
    fastest device.
    """
    if tier_count == len(spec.tiers):
        return spec.tiers
    assert tier_count == 1
    everything = sum(tier.capacity for tier in spec.tiers)
    return [spec.tiers[0].model_copy(update={"capacity": everything})]


def known(quantity: _Quantity | None) -> _Quantity:
    """A quantity of a device; the spec of a run has them all written out."""
    assert quantity is not None
    return quantity


@dataclass(frozen=True)
class _Row:
    """Counts of one system, of one VM or of all, and what follows from them."""

    vm: str | None
    accesses: int
    tier_hits: tuple[int, ...]
    staged_hits: int
    delayed_ratio: float | None  # None: no system reads blocks that are on their way
    delayed_wait_ns: float | None
    waited_ns: int | None  # of all accesses together; None of objects, which devices do not model
    request_hit_ratio: float | None
    byte_hit_ratio: float | None

    @property
    def hits(self) -> int:
        return sum(self.tier_hits) + self.staged_hits

    @property
    def hit_ratio(self) -> float:
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def mean_latency_ns(self) -> float | None:
        if self.waited_ns is None or not self.accesses:
            return None
        return self.waited_ns / self.accesses


def devices_of(spec: ExperimentSpec, tier_count: int) -> list[PlacedSpec]:
    """Return the devices that a system used: its tiers, then the backend."""
    return [*tiers_of(spec, tier_count), spec.backend]


def _rows(spec: ExperimentSpec, of: Totals, by_vm: bool) -> Iterator[_Row]:
    used = devices_of(spec, of.hits.shape[1])
    times = ServiceTimes.of(device.waits for device in used)
    # Additional waiting times: for the link, for staged blocks, for fetches, and for a VM's own
    # storage in excess of the backend.
    longer = of.remote_reads.sum(axis=1).astype(object) * spec.link_ns
    longer += of.staged_ns + of.delayed_ns
    for v, vm in enumerate(of.vms):
        own_ns = (spec.backend.vms or {}).get(vm)
        if own_ns is None:
            continue
        longer[v] += int(of.reads_served[v, -1]) * (own_ns - times.read_ns[-1])
        longer[v] += int(of.writes_served[v, -1]) * (own_ns - times.write_ns[-1])

    def row(vm: str | None, which: Any) -> _Row:
        def counted(counts: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.asarray(np.atleast_2d(counts[which]).sum(axis=0))

        reads, writes = counted(of.reads_served), counted(of.writes_served)
        waited = times.waited_ns(reads, writes) + np.sum(longer[which])
        hits = tuple(int(h) for h in counted(of.hits))

        def ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> float | None:
            return int(part[which].sum()) / total if (total := int(whole[which].sum())) else None

        accesses, staged = int(of.accesses[which].sum()), int(of.staged_hits[which].sum())
        return _Row(
            vm,
            accesses,
            hits,
            staged,
            ratio(of.delayed_hits, of.accesses) if of.delayed_hits.any() else None,
            ratio(of.delayed_ns, of.delayed_hits),
            int(waited) if of.has_device_times else None,
            ratio(of.request_hits, of.requests),
            ratio(of.byte_hits, of.bytes),
        )

    for v, vm in enumerate(of.vms if by_vm else ()):
        yield row(vm, v)
    yield row(None, slice(None))


def rows_by_vm(spec: ExperimentSpec, of: Totals) -> dict[str, _Row]:
    """Return what one system did for each VM."""
    return {row.vm: row for row in _rows(spec, of, by_vm=True) if row.vm is not None}


def whole(spec: ExperimentSpec, of: Totals) -> _Row:
    """Return what one system did for all VMs together."""
    (row,) = _rows(spec, of, by_vm=False)
    return row


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
    clean_or_legacy = (of for of in all_totals if of.system.name == "lru")
    return next((of for of in clean_or_legacy if is_legacy(of.system) == legacy), None)


def comparison(results: Results, *, by_vm: bool = True) -> pa.Table:
    """Compare all systems, VM by VM and in total: a table of schema `COMPARISON`.

    `by_vm=False` leaves the totals alone.
    """
    return pa.Table.from_pylist(compared(results, by_vm=by_vm), schema=COMPARISON)


def compared(results: Results, *, by_vm: bool = True) -> list[dict[str, Any]]:
    """Return the rows of `comparison`; what is not known of one may be absent."""
    spec = results.spec
    all_totals = totals(results)
    bases = {
        suffix: {} if base is None else {row.vm: row for row in _rows(spec, base, by_vm)}
        for suffix, base in (
            ("", _baseline(all_totals, legacy=False)),
            ("_over_legacy", _baseline(all_totals, legacy=True)),
        )
    }
    rows: list[dict[str, Any]] = []
    paths, foresight = data_paths(results), results.foresight
    for of in all_totals:
        for row in _rows(spec, of, by_vm):
            shares = [hits / row.accesses if row.accesses else 0.0 for hits in row.tier_hits]
            rows.append(
                {
                    "system": of.system.title,
                    "vm": row.vm,
                    "accesses": row.accesses,
                    "hits": row.hits,
                    "tier_hits": row.tier_hits,
                    "hit_ratio": row.hit_ratio,
                    "request_hit_ratio": row.request_hit_ratio,
                    "byte_hit_ratio": row.byte_hit_ratio,
                    "delayed_ratio": row.delayed_ratio,
                    "delayed_wait_ns": row.delayed_wait_ns,
                    "tier_hit_ratio": shares,
                    "mean_latency_ns": row.mean_latency_ns,
                }
                | _gains(row, bases[""].get(row.vm), "")
                | _gains(row, bases["_over_legacy"].get(row.vm), "_over_legacy")
                | paths[of.system.title]._asdict()
                | {"foresight": foresight.get(of.system.title)}
            )
    return rows


ALL = "all VMs"


def rows_of(results: Results) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of `comparison` by system and VM, all together as `ALL`."""
    return {(row["system"], row["vm"] or ALL): row for row in comparison(results).to_pylist()}


def _granted(results: Results, of: Totals, used: Sequence[TierSpec]) -> list[float]:
    """Return the blocks of each tier that a system grants, in the mean of the intervals.

    Each of several VMs that share space is granted all shared blocks, which count once.
    """
    own = of_system(results.measured("metrics"), of.system.title)
    targets = all_counts_of(own, ("target",), expanded=False)["target"].sum(axis=1)
    targets = np.repeat(targets, interval_counts(own), axis=0)
    space = results.spec.host_count * np.array([tier.capacity for tier in used])
    means: list[float] = np.minimum(targets, space).mean(axis=0).tolist()
    return means


def systems(results: Results) -> pa.Table:
    """Summarise each system over all VMs: a table of schema `SYSTEMS`."""
    spec = results.spec
    whole = comparison(results, by_vm=False).to_pylist()
    timings: Mapping[str, Mapping[str, float]] = results.timings["systems"]
    rows = []
    for of, row in zip(totals(results), whole, strict=True):
        used = tiers_of(spec, of.hits.shape[1])
        cost = sum(
            tier.dollars(blocks, spec.block_bytes, spec.host_count)
            for tier, blocks in zip(used, _granted(results, of, used), strict=True)
        )
        latency = row["mean_latency_ns"]
        timing = timings.get(of.system.title, {})
        replay = timing.get("replay_seconds")
        rows.append(
            {key: row[key] for key in row if key in SYSTEMS.names}
            | {
                "device_writes": of.device_writes.sum(axis=0).tolist(),
                "cost_dollars": None if np.isnan(cost) or not of.has_device_times else cost,
                "performance_per_cost": 1e9 / latency / cost if latency and cost > 0 else None,
                "replay_seconds": replay,
                "decide_seconds": timing.get("decide_seconds"),
                "accesses_per_second": row["accesses"] / replay if replay else None,
            }
        )
    return pa.Table.from_pylist(rows, schema=SYSTEMS)


SUMMARY = pa.schema([*COMPARISON, *schema_of_table("summary")])


def summary(results: Results) -> pa.Table:
    """Return `comparison` of a run with what OPT hits of all VMs, and what else is to be known."""
    return pa.Table.from_pylist(summed_up(results), schema=SUMMARY)


def summed_up(results: Results) -> list[dict[str, Any]]:
    """Return the rows of `summary`; what is not known of one may be absent."""
    bounds = results.table("bounds")
    of = dict(zip(bounds["system"].to_pylist(), bounds["opt_hits"].to_pylist(), strict=True))
    rows = compared(results)
    for row in rows:
        row["synthetic"] = results.synthetic
        if row["vm"] is None:
            row["opt_hits"] = of.get(row["system"])
    return rows
