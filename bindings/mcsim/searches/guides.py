"""Predictions for hierarchies without full replays.

For LRU in both tiers, exclusive and with reads alone, the curve of the whole workload is exact.
The first tier hits references with a reuse distance below its size. Both tiers together hit those
with a distance below the sum of their sizes (Mattson's stack). Other hierarchies are estimated by
miniatures: the hierarchy is scaled down and replays a sample of the blocks (Waldspurger et al.,
*Cache Modeling and Optimization using Miniature Simulations*, USENIX ATC 2017). All hierarchies
have the same samples, and so similar errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality
from mcsim.config.latency import ServiceTimes, served_by_lru
from mcsim.config.spec import SystemSpec
from mcsim.locality.curve import HitRatioCurve
from mcsim.searches.replays import Replays
from mcsim.searches.space import Outcome, Point

_LEAST_SAMPLED = 2000
_LEAST_BLOCKS = 8
_HIGHEST_RATE = 0.2


@dataclass
class Expected:
    """Expected outcomes of hierarchies.

    Attributes
    ----------
    outcomes : dict of Point to Outcome
    exact : set of Point
        Those of which that is no estimate.
    replayed : float
        Work of the miniatures, in lengths of the workload.
    """

    outcomes: dict[Point, Outcome] = field(default_factory=dict)
    exact: set[Point] = field(default_factory=set)
    replayed: float = 0.0


def expect(
    replays: Replays,
    points: Sequence[Point],
    rate: float,
    seeds: int,
    threads: int,
    progress: Callable[[int], object],
) -> Expected:
    """Find what every point is expected to do; `progress(miniatures_done)`."""
    found = Expected()
    stack = Stack(replays)
    if stack.is_exact:
        stacked = [point for point in points if point.is_lru]
        found.outcomes |= {point: stack.outcome(point) for point in stacked}
        found.exact |= set(stacked)
    estimated = [point for point in points if point not in found.exact]
    if not estimated:
        return found
    # Estimates for LRU, where the exact curve exists, show the error of the samples.
    sizes = {point.blocks for point in estimated}
    controls = [point for point in points if point in found.exact and point.blocks in sizes]
    small = _miniatures(replays, [*estimated, *controls], rate, seeds, threads, progress)
    found.replayed = sum(sample.length for sample in small) * len(small[0].outcomes)
    means = {point: _mean([of.outcomes[point] for of in small]) for point in small[0].outcomes}
    control = {point.blocks: (found.outcomes[point], means[point]) for point in controls}
    for point in estimated:
        known, seen = control.get(point.blocks, (means[point], means[point]))
        found.outcomes[point] = means[point].scaled(known, seen)
    return found


@dataclass(frozen=True)
class _Miniatures:
    """Results of the miniatures of one sample."""

    outcomes: dict[Point, Outcome]
    length: float
    """Length of the sample, in lengths of the workload."""


def _miniatures(
    replays: Replays,
    points: Sequence[Point],
    rate: float,
    seeds: int,
    threads: int,
    progress: Callable[[int], object],
) -> list[_Miniatures]:
    found = []
    for seed in range(1, seeds + 1):
        sample = replays.sampled(rate, seed)
        length = sample.accesses.access_count / replays.all.accesses.access_count
        found.append(_Miniatures(replays.outcomes(points, threads, sample), length))
        progress(seed * len(points))
    return found


def rate_for(asked: float, points: Iterable[Point], unique: int) -> float:
    """Return the share of the blocks in a sample: higher for small workloads and small tiers.

    Samples and tiers of too few blocks have large errors. A sample of a fifth of the workload is
    hardly a miniature.
    """
    smallest = min(min(point.blocks) for point in points)
    needed = max(_LEAST_SAMPLED / max(unique, 1), _LEAST_BLOCKS / smallest)
    return max(asked, min(_HIGHEST_RATE, needed))


def _mean(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(
        hit_ratio=float(np.mean([each.hit_ratio for each in outcomes])),
        latency_ns=float(np.mean([each.latency_ns for each in outcomes])),
        device_writes=tuple(np.mean([each.device_writes for each in outcomes], axis=0).tolist()),
    )


@dataclass
class Stack:
    """Mattson's stack of a whole workload: what LRU does in tiers of any sizes."""

    replays: Replays

    @property
    def is_exact(self) -> bool:
        """Whether the LRU stack predicts both tiers exactly."""
        spec, accesses = self.replays.spec, self.replays.all.accesses
        return (
            _is_plain(self.replays.system)
            and not accesses.departures
            and not spec.backend.vms
            and not any(tier.delayed_hits for tier in spec.tiers)
            and not accesses.request_op.any()
        )

    def outcome(self, point: Point) -> Outcome:
        """Return what two tiers of LRU do, the second of what falls out of the first."""
        fast, both = point.blocks[0], sum(point.blocks)
        hits, all_hits = self._reuse.hits(fast), self._reuse.hits(both)
        count = self._reuse.accesses
        spec = self.replays.spec
        times = ServiceTimes.of(device.waits for device in (*spec.tiers, spec.backend))
        waited = times.waited_ns(*served_by_lru([hits, all_hits], count, 0, "through"))
        brought = count - hits
        grown = min(fast, self._reuse.blocks_at_end) - min(fast, self._reuse.blocks_before)
        return Outcome(
            hit_ratio=all_hits / count,
            latency_ns=waited / count,
            device_writes=(float(brought), float(brought - grown)),
        )

    def knees(self, count: int) -> list[int]:
        """Return the sizes after which more space begins to be worth much less."""
        reuse = self._reuse
        curve = HitRatioCurve(
            reuse.distances + 1, reuse.cumulative.astype(np.float64), accesses=reuse.accesses
        )
        return [knee.capacity for knee in curve.knees(count)]

    @cached_property
    def _reuse(self) -> _Reuse:
        whole = self.replays.all
        return _Reuse.of(whole.accesses.ids, whole.first_access)


@dataclass(frozen=True)
class _Reuse:
    """At which distances blocks are reused, from some access on."""

    distances: NDArray[np.int64]
    cumulative: NDArray[np.int64]
    """How many at each of them or below."""
    accesses: int
    blocks_before: int
    blocks_at_end: int

    @classmethod
    def of(cls, ids: NDArray[np.uint32], first: int) -> _Reuse:
        """Count from an access on, as all but those before it: their distances are the same."""
        distances, counts, blocks = locality.reuse_histogram(ids)
        before, counts_before, blocks_before = locality.reuse_histogram(ids[:first])
        counted = counts.astype(np.int64)
        counted[np.searchsorted(distances, before)] -= counts_before
        return cls(distances, np.cumsum(counted), len(ids) - first, blocks_before, blocks)

    def hits(self, size: int) -> int:
        """Return how many are at distances below a size."""
        below = int(np.searchsorted(self.distances, size))
        return int(self.cumulative[below - 1]) if below else 0


def _is_plain(system: SystemSpec) -> bool:
    """Whether a hierarchy is one exclusive stack over both tiers and all VMs."""
    params = system.params
    return (
        params["chain"] == "exclusive"
        and params["admission"] == "none"
        and params["prefetch"] == "none"
        and params["line"] == 1
        and not params["groups"]
    )
