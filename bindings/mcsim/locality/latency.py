"""The mean latency of accesses to one LRU cache, from its hit-ratio curve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import check_choice
from mcsim.config.devices import Device
from mcsim.config.latency import ServiceTimes, WriteMode, served_by_lru
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import estimate
from mcsim.references.blocks import References
from mcsim.references.given import blocks_in


def curve_under(references: References, writes: WriteMode = "through") -> HitRatioCurve:
    """Compute the exact curve of a cache under a write mode, with its hits of reads.

    Under ``'around'`` writes take no space, hit nothing, and discard the blocks that they touch.

    Parameters
    ----------
    references : Trace, sequence of Trace, or Blocks
        As of `estimate`; for writes, `Trace.blocks` with ``ops='all'``.

    Examples
    --------
    >>> from mcsim.locality.latency import curve_under
    >>> trace = mc.Trace.from_arrays(
    ...     [0, 1, 2, 3], [0, 4096, 4096, 0], 4096, op=[0, 1, 0, 0], source="few"
    ... )
    >>> [curve_under(trace.blocks("all"), mode).at(1) for mode in ("through", "around")]
    [0.25, 0.0]
    """
    check_choice("writes", writes, get_args(WriteMode))
    blocks = blocks_in(references)
    if blocks is None:
        raise ConfigError("references: an array has no operations; give a Trace or Blocks")
    if writes != "around":
        return estimate(blocks)
    return of_reads_alone(estimate(blocks.written_around()), len(blocks))


def of_reads_alone(curve: HitRatioCurve, accesses: int) -> HitRatioCurve:
    """Return the curve of all accesses, from that of the reads among them by themselves."""
    return replace(curve, accesses=accesses, reads=curve.accesses, read_hits=curve.hits)


@dataclass(frozen=True)
class CacheLatency:
    """Mean latency of an access to an LRU cache of one device, in front of a backend.

    A curve of all accesses needs its `read_hits` (`curve_under`, or `estimate` with operations). A
    curve without them is taken for one of reads.

    Attributes
    ----------
    tier, backend : Device
    writes : {'through', 'back', 'around'}
        Device that writes wait for: the backend, or with ``'back'`` the cache.

    Raises
    ------
    ConfigError
        If the tier does not read faster than the backend.

    Examples
    --------
    >>> from mcsim.config.devices import CATALOGUE
    >>> from mcsim.locality.latency import CacheLatency
    >>> curve = mc.hit_ratio_curve([1, 2, 1, 2])
    >>> CacheLatency(CATALOGUE["flash"], CATALOGUE["hdd"]).mean_ns(curve, 2)
    3262500.0
    """

    tier: Device
    backend: Device
    writes: WriteMode = "through"

    def __post_init__(self) -> None:
        check_choice("writes", self.writes, get_args(WriteMode))
        if self.tier.read_ns.middle >= self.backend.read_ns.middle:
            raise ConfigError(
                f"{self.tier.name} is not faster than the backend {self.backend.name}"
            )

    def mean_ns(self, curve: HitRatioCurve, blocks: int) -> float:
        """Return the mean latency with a cache of a number of blocks, in ns."""
        return self._mean_ns(curve, self.hits(curve).at(blocks, unresolved=True), space=blocks > 0)

    def least_ns(self, curve: HitRatioCurve) -> float:
        """Return the mean latency if every read hit, in ns."""
        return self._mean_ns(curve, _read_share(curve), space=True)

    def hits(self, curve: HitRatioCurve) -> HitRatioCurve:
        """Return the curve of the hits that shorten the latency: reads, of all accesses."""
        return curve if curve.reads is None else curve.of_reads("all")

    def ratio_for(self, curve: HitRatioCurve, ns: float) -> float:
        """Return the share of accesses that must be reads that hit, for a mean latency of `ns`.

        It may be below 0, or above what any cache reaches.
        """
        without = self._mean_ns(curve, 0.0, space=True)
        return (without - ns) / (self.backend.read_ns.middle - self.tier.read_ns.middle)

    def capacity_for(self, curve: HitRatioCurve, ns: float) -> int | None:
        """Find the smallest cache, in blocks, with a mean latency of at most `ns`; None if none."""
        if self.mean_ns(curve, 0) <= ns:
            return 0
        ratio = self.ratio_for(curve, ns)
        if ratio > 1:
            return None
        # One block takes writes back, whatever reads hit.
        return self.hits(curve).capacity_for(ratio) if ratio > 0 else 1

    def capacity_range_for(
        self, curve: HitRatioCurve, ns: float
    ) -> tuple[int | None, int | None] | None:
        """Find the same by both ends of the curve's band; None if it has none."""
        ratio = self.ratio_for(curve, ns)
        if not 0 < ratio <= 1:
            return None
        return self.hits(curve).capacity_range_for(ratio)

    def _mean_ns(self, curve: HitRatioCurve, ratio: float, *, space: bool) -> float:
        reads = _read_share(curve)
        served = served_by_lru([ratio], reads, 1 - reads, self.writes, space=space)
        devices = (self.tier, self.backend)
        times = ServiceTimes.of((of.read_ns.middle, of.write_ns.middle) for of in devices)
        return float(times.waited_ns(*served))


def _read_share(curve: HitRatioCurve) -> float:
    return 1.0 if curve.reads is None else curve.reads / curve.accesses
