"""Series of a run for figures: NumPy arrays of its measured intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base import units
from mcsim.base.errors import ConfigError
from mcsim.base.units import format_size
from mcsim.config.spec import SystemSpec
from mcsim.results.counted_time import counted_time
from mcsim.results.results import Results
from mcsim.results.schemas import all_counts_of, interval_counts, of_system


class CannotDrawError(ConfigError):
    """The results lack data of a figure; the message names the data."""


@dataclass(frozen=True)
class Series:
    """Counts of one system over the measured intervals.

    Attributes
    ----------
    accesses : array of int64, shape (intervals, vms)
    staged_hits : array of int64, shape (intervals, vms)
        Reads of what an admission filter has staged, which are hits of no tier.
    hits, occupancy, target : array of int64, shape (intervals, vms, tiers)
        Occupancy and target in blocks, at the end of each interval.
    """

    accesses: NDArray[np.int64]
    staged_hits: NDArray[np.int64]
    hits: NDArray[np.int64]
    occupancy: NDArray[np.int64]
    target: NDArray[np.int64]

    @property
    def all_hits(self) -> NDArray[np.int64]:
        """Hits of every tier and of staged blocks, shape (intervals, vms)."""
        return np.asarray(self.hits.sum(axis=2) + self.staged_hits)

    @property
    def hit_ratio(self) -> NDArray[np.float64]:
        """All hits per access, shape (intervals, vms); NaN where nothing was accessed."""
        return _share(self.all_hits, self.accesses)

    @property
    def cumulative_hit_ratio(self) -> NDArray[np.float64]:
        """Hits per access since the warm-up ended, shape (intervals, vms)."""
        return _share(self.all_hits.cumsum(axis=0), self.accesses.cumsum(axis=0))


def _share(hits: NDArray[np.int64], accesses: NDArray[np.int64]) -> NDArray[np.float64]:
    ratio = np.full(accesses.shape, np.nan)
    np.divide(hits, accesses, out=ratio, where=accesses > 0)
    return ratio


@dataclass(frozen=True)
class HitCurve:
    """Share of accesses that LRU hits, by capacity in blocks; linear between its points."""

    capacity: NDArray[np.int64]
    ratio: NDArray[np.float64]

    def at(self, capacity: float) -> float:
        """Return the hit ratio at a capacity."""
        return float(np.interp(capacity, self.capacity, self.ratio))


@dataclass(frozen=True)
class Clock:
    """The time axis of a run: it begins with the first measured interval.

    Attributes
    ----------
    begin : array of int64, shape (intervals,)
        Begin of each measured interval, in the trace's own time.
    edges : array of float64, shape (intervals + 1,)
        Their begins and the end of the last one, in a unit that suits the length of the run.
    label : str
        Label of the axis, with its unit.
    """

    begin: NDArray[np.int64]
    edges: NDArray[np.float64]
    label: str
    per_unit: int

    def __call__(self, time: NDArray[np.int64]) -> NDArray[np.float64]:
        """Convert a trace's own times to positions on the axis."""
        position: NDArray[np.float64] = (time - self.begin[0]) / self.per_unit
        return position


# The first unit of which a run lasts at least two.
_UNITS = (("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9), ("ns", 1))


def vms_of(results: Results) -> list[str]:
    """Return the VMs in the order of the experiment."""
    names: list[str] = pc.unique(results.table("vms")["vm"]).to_pylist()
    return names


def series_of(results: Results, system: SystemSpec) -> Series:
    """Return the counts of a system by measured interval, VM and tier."""
    by_vm = of_system(results.measured("vms"), system.title)
    by_tier = of_system(results.measured("metrics"), system.title)
    counts = all_counts_of(by_vm, ["accesses", "staged_hits"])
    accesses, staged_hits = (of[:, :, 0] for of in counts.values())
    levels = all_counts_of(by_tier, ["hits", "occupancy", "target"])
    return Series(accesses, staged_hits, **levels)


def curve_of(results: Results, vm: str) -> HitCurve:
    """Return the hit ratio curve of a VM over the whole trace."""
    table = results.table("curves")
    table = table.filter(pc.and_(pc.equal(table["vm"], vm), pc.equal(table["scope"], "trace")))
    if not len(table):
        raise CannotDrawError(f"needs a hit ratio curve of VM {vm!r}; the run has none")
    accesses = np.maximum(table["accesses"].to_numpy(), 1)
    return HitCurve(table["capacity"].to_numpy(), table["hits"].to_numpy() / accesses)


def clock_of(results: Results) -> Clock:
    """Return the time axis of a run.

    Legacy systems count whole seconds from their own zero; the others keep the
    trace's time.
    """
    system = min(results.spec.systems, key=is_legacy)
    vms, interval = of_system(results.measured("vms"), system.title), results.spec.interval
    if not len(vms):
        raise CannotDrawError("needs an interval; the run has none")
    begin = vms["begin_ns"][0].as_py() + interval.length * np.arange(interval_counts(vms).sum())
    after = " after the warm-up" if results.spec.warm_up_intervals else ""
    edges = np.append(begin, begin[-1] + interval.length) - begin[0]
    if interval.by_reference:
        return Clock(begin, edges / 1, f"Time{after} (references)", 1)
    unit, per_unit = next(entry for entry in _UNITS if edges[-1] >= 2 * entry[1] or entry[1] == 1)
    return Clock(begin, edges / per_unit, f"Time{after} ({unit})", per_unit)


_WHOLE = 0.9
"""Least share of a whole interval up to its last request."""


def is_last_partial(results: Results) -> bool:
    """Return whether the trace ends before nine tenths of the last measured interval.

    A run has no partial interval if its only interval is partial, or if the time of its last
    request is not known.
    """
    system = min(results.spec.systems, key=is_legacy)
    vms, interval = of_system(results.measured("vms"), system.title), results.spec.interval
    count = int(interval_counts(vms).sum()) if len(vms) else 0
    if count < 2:
        return False
    if interval.by_reference:
        last = series_of(results, system).accesses[-1].sum()
        return bool(last < _WHOLE * interval.length)
    counted = counted_time(results)
    if counted is None:
        return False
    begin = (results.spec.warm_up_intervals + count - 1) * interval.length
    return counted.last_ns - begin < _WHOLE * interval.length


def block_bytes_of(results: Results) -> int | None:
    """Return the size of a block, for sizes in bytes; None of a run that counts objects.

    1 if capacities are bytes of objects.
    """
    counts_objects = results.kind == "objects" and not results.spec.in_bytes
    return None if counts_objects else results.spec.block_bytes


def format_capacity(results: Results, blocks: int) -> str:
    """Write a size in bytes, with the blocks second: `976.6 MiB (250,000 blocks)`."""
    return units.format_capacity(blocks, block_bytes_of(results))


def format_space(results: Results, blocks: float) -> str:
    """Write a size in bytes, or in objects: `976.6 MiB`."""
    size = block_bytes_of(results)
    return f"{round(blocks):,} objects" if size is None else format_size(blocks * size)


def divides(results: Results, system: SystemSpec) -> bool:
    """Whether a system divides the tiers: its targets are no more than the space."""
    target = series_of(results, system).target
    capacities = results.spec.space
    return target.shape[2] == len(capacities) and bool((target.sum(axis=1) <= capacities).all())


def is_legacy(system: SystemSpec) -> bool:
    """Whether a system is to do as the authors' public code."""
    return bool(system.params.get("legacy", False))


def baseline(results: Results) -> SystemSpec:
    """Return the baseline: Global LRU, or else the first system that is no yardstick.

    Raises
    ------
    CannotDrawError
        If all systems are yardsticks.
    """
    found = _named(results, _BASELINES) or _realisable(results)
    if not found:
        raise CannotDrawError("needs a system that is no yardstick")
    return found[0]


def _realisable(results: Results) -> list[SystemSpec]:
    """Return the systems that are no yardsticks."""
    return [system for system in results.spec.systems if system.title not in results.foresight]


_BASELINES = ("lru",)


def _named(results: Results, names: Sequence[str]) -> list[SystemSpec]:
    """Return the systems of these names, the clean before the legacy ones, in this order."""
    found = [system for system in results.spec.systems if system.name in names]
    return sorted(found, key=lambda system: (is_legacy(system), names.index(system.name)))
