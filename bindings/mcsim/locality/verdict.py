"""Whether a cache has a good size: how far it is from the knees of its curve, and from infinity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mcsim.base.errors import ConfigError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.steps import Knee

Judgement = Literal["nothing to hit", "too large", "on a plateau", "too small", "good"]

_NOTICED = 0.1
"""Twice the size brings so much of all that can be hit: then it is worth asking for."""
_UNNOTICED = 0.01
"""Half the size loses no more than this of what is hit: then it would do."""


@dataclass(frozen=True)
class SizeVerdict:
    """What to think of the size of a cache; sizes in blocks, hit ratios in [0, 1].

    Attributes
    ----------
    judgement : str
        ``'too large'``: half the size hits nearly as much (99 %). ``'on a plateau'``: that too,
        but a larger cache hits much more. ``'too small'``: twice the size hits much more, by a
        tenth of all that any size hits. ``'good'``: none of these. ``'nothing to hit'``: no size
        hits anything.
    size : int
    ratio : float
        What it hits.
    best : float
        What an infinite cache hits; all other accesses are first ones.
    saturation : int
        The least size that hits as much.
    halved, doubled : float
        What half and twice the size hit.
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
        """What it hits as a share of what an infinite cache hits."""
        return self.ratio / self.best if self.best else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON takes it; of a knee size and hit ratio."""

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
    size : int
        Blocks.

    Raises
    ------
    ConfigError
        If the size is less than a block.

    Examples
    --------
    >>> from mcsim.locality.verdict import verdict
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
