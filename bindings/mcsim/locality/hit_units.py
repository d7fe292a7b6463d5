"""Hits of reads, of requests and of bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import check_choice
from mcsim.locality.steps import Steps

if TYPE_CHECKING:
    from mcsim.locality.curve import HitRatioCurve
    from mcsim.references.blocks import Blocks

Denominator = Literal["all", "reads"]
HitUnit = Literal["blocks", "requests", "bytes"]

COLD = -1
"""The distance of a first access."""


class HitUnits(Steps):
    """Curves of the hits of reads, requests and bytes, from a curve that counts them."""

    def of_reads(self, denominator: Denominator = "reads") -> Self:
        """Return the curve of the hits that read.

        Writes use the cache as before; they are left out of the hits.

        Parameters
        ----------
        denominator : {'reads', 'all'}
            Accesses that the ratio is a share of: those that read, or all.

        Returns
        -------
        HitRatioCurve
            Hits of reads at the same capacities, without a confidence band.

        Raises
        ------
        ConfigError
            If the curve was made without operations, or by an estimator without
            hits of reads.

        Examples
        --------
        >>> curve = mc.estimate([1, 1, 2, 2], ops=[0, 0, 1, 0])
        >>> curve.at(1), round(curve.of_reads().at(1), 2), curve.of_reads("all").at(1)
        (0.5, 0.67, 0.5)
        """
        check_choice("denominator", denominator, ("reads", "all"))
        if self.reads is None or self.read_hits is None:
            raise ConfigError(
                f"the curve by {self.estimator!r} does not tell reads from writes: make it with "
                "estimate(ids, 'exact', ops=...)"
            )
        return replace(
            self,
            hits=self.read_hits,
            accesses=self.reads if denominator == "reads" else self.accesses,
            low=None,
            high=None,
        )

    def of(self, unit: HitUnit) -> Self:
        """Return the curve of the hits of requests or of bytes.

        Parameters
        ----------
        unit : {'blocks', 'requests', 'bytes'}
            A request hits if all its blocks do; every block counts for the bytes that the request
            has in it.

        Returns
        -------
        HitRatioCurve
            Hits and ratios in `unit`, over the same capacities, without a confidence band; the
            curve itself for ``'blocks'``.

        Raises
        ------
        ConfigError
            If the curve has no such hits: only exact curves of traces have, and those of bytes only
            if requests have lengths.

        Examples
        --------
        >>> trace = mc.Trace.from_arrays([0, 1], [0, 0], [4096, 8192], source="two")
        >>> curve = mc.hit_ratio_curve(trace)
        >>> [curve.of(unit).at(2) for unit in ("blocks", "requests", "bytes")]
        [0.3333333333333333, 0.0, 0.3333333333333333]
        """
        check_choice("unit", unit, get_args(HitUnit))
        if unit == "blocks":
            return self
        requests = unit == "requests"
        hits, total = (
            (self.request_hits, self.requests) if requests else (self.byte_hits, self.bytes)
        )
        if hits is None or total is None:
            raise ConfigError(f"the curve by {self.estimator!r} does not count hits of {unit}")
        return replace(self, hits=hits, accesses=total, low=None, high=None)


def threads_for(blocks: Blocks, estimator: str, threads: int | None) -> int | None:
    """Return the threads of an estimator: `exact` needs one for discards and for requests."""
    has_one = estimator == "exact" and (len(blocks.discards) or blocks.bytes_per_reference is None)
    return 1 if has_one else threads


def with_requests(curve: HitRatioCurve, blocks: Blocks) -> HitRatioCurve:
    """Add the hits of requests and bytes to an exact curve of equal requests of a block."""
    if not curve.estimator.startswith("exact") or curve.requests is not None:
        return curve
    if (size := blocks.bytes_per_reference) is None:
        return curve
    return replace(
        curve,
        requests=curve.accesses,
        request_hits=curve.hits,
        bytes=curve.accesses * size if size else None,
        byte_hits=curve.hits * size if size else None,
    )


def with_reads(
    curve: HitRatioCurve, distances: NDArray[np.int64], is_read: NDArray[np.bool_]
) -> HitRatioCurve:
    """Add the hits that read: the reads of a distance below each capacity."""
    of_reads = np.sort(distances[is_read & (distances != COLD)])
    hits = np.searchsorted(of_reads, curve.capacities).astype(np.float64)
    return replace(curve, reads=int(is_read.sum()), read_hits=hits)
