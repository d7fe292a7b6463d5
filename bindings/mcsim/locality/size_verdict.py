"""Whether the size of a cache is right, by the hit ratio curve of what it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mcsim.base.errors import ConfigError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.steps import Knee

Judgement = Literal[
    "nothing to hit", "too large", "on a plateau", "too small", "good", "decided by one VM"
]

_NOTICED = 0.1
"""Least gain from doubling a cache that is too small, as a share of the highest hit ratio."""
_UNNOTICED = 0.01
"""Greatest loss from halving a cache that is too large, as a share of its hit ratio."""


@dataclass(frozen=True)
class SizeVerdict:
    """Judgement of the size of a cache; sizes in blocks, hit ratios in [0, 1].

    Attributes
    ----------
    judgement : str
        ``'too large'``: half the size hits nearly as much (99 %). ``'on a plateau'``: that too,
        but a larger cache hits much more. ``'too small'``: twice the size hits much more, by a
        tenth of the highest hit ratio. ``'nothing to hit'``: no size hits anything. ``'decided by
        one VM'``: the situation has a `dominant` VM. ``'good'``: all other sizes.
    size : int
    ratio : float
        Hit ratio of this size.
    best : float
        Hit ratio of an infinite cache; all other accesses are first ones, or of discarded blocks.
    saturation : int
        Smallest size with the hit ratio of an infinite cache.
    halved, doubled : float
        Hit ratios of half and of twice the size.
    knee_below, knee_above : Knee, optional
        The last knee up to the size, and the first beyond it.
    """

    judgement: Judgement
    size: int
    ratio: float
    best: float
    saturation: int
    halved: float
    doubled: float
    knee_below: Knee | None
    knee_above: Knee | None

    @property
    def of_best(self) -> float:
        """Hit ratio as a share of that of an infinite cache."""
        return self.ratio / self.best if self.best else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON; a knee becomes its size and hit ratio."""

        def told(knee: Knee | None) -> dict[str, Any] | None:
            return None if knee is None else {"blocks": knee.capacity, "hit_ratio": knee.ratio}

        return {
            "judgement": self.judgement,
            "blocks": self.size,
            "hit_ratio": self.ratio,
            "of_best": self.of_best,
            "best_hit_ratio": self.best,
            "saturation_blocks": self.saturation,
            "halved_hit_ratio": self.halved,
            "doubled_hit_ratio": self.doubled,
            "knee_below": told(self.knee_below),
            "knee_above": told(self.knee_above),
        }


def verdict(curve: HitRatioCurve, size: int) -> SizeVerdict:
    """Judge the size of a cache by the hit ratio curve of what it serves.

    Parameters
    ----------
    curve : HitRatioCurve
        Hits of LRU at every capacity.
    size : int
        Blocks.

    Returns
    -------
    SizeVerdict
        The judgement, with the hit ratios that it follows from.

    Raises
    ------
    ConfigError
        If the size is less than a block.

    Examples
    --------
    >>> from mcsim.locality.size_verdict import verdict
    >>> curve = mc.HitRatioCurve(np.array([10, 100]), np.array([70, 80]), accesses=100)
    >>> [verdict(curve, size).judgement for size in (5, 10, 15, 40, 300)]
    ['too small', 'good', 'good', 'on a plateau', 'too large']
    """
    if size < 1:
        raise ConfigError(f"size: at least 1 block, got {size}")
    ratio, halved, doubled = (curve.at(blocks) for blocks in (size, size // 2, 2 * size))
    knees = curve.knees()
    best = curve.best_ratio
    too_large = halved >= (1 - _UNNOTICED) * ratio
    judgement: Judgement = "good"
    if best == 0:
        judgement = "nothing to hit"
    elif doubled - ratio >= _NOTICED * best:
        judgement = "too small"
    elif too_large:
        judgement = "on a plateau" if best - ratio >= _NOTICED * best else "too large"
    return SizeVerdict(
        judgement,
        size,
        ratio,
        best,
        curve.saturation,
        halved,
        doubled,
        max((knee for knee in knees if knee.capacity <= size), default=None),
        min((knee for knee in knees if knee.capacity > size), default=None),
    )
