"""Hit ratio curves of objects with sizes: LRU over its capacity in bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality as _locality
from mcsim.base.errors import ConfigError
from mcsim.base.specs import title
from mcsim.locality.curve import HitRatioCurve
from mcsim.references.objects import SizedObjects

_EXACT, _SAMPLED = "exact", "shards-rate"


def curve_by_bytes(
    objects: SizedObjects,
    estimator: str,
    params: Mapping[str, object],
    *,
    seed: int,
    progress: Callable[[int], object] | None = None,
) -> tuple[HitRatioCurve, int]:
    """Return the hits of LRU over its capacity in bytes, and the memory that this took.

    The curve has hits of objects and of bytes.
    A reference hits if the bytes of the distinct objects referenced since its last one, and its
    own, fit into the cache. That is exact at every capacity that holds the largest object, if
    every object keeps its size and none is deleted. `resolved_from` is the size of the largest
    object, or the most bytes of all objects if one changes its size or is deleted.

    Parameters
    ----------
    estimator : str
        ``'exact'``, or ``'shards-rate'``: the objects are sampled by a hash, and the bytes
        between two references are scaled. It has no band.
    params : dict
        Parameters of the estimator; ``'shards-rate'`` has `rate`.

    Raises
    ------
    ConfigError
        If the estimator is another one, or does not use a parameter for objects with sizes.
    """
    if estimator not in (_EXACT, _SAMPLED):
        raise ConfigError(
            f"estimator: {estimator} has no rule for objects of different sizes; these have: "
            f"{_EXACT}, {_SAMPLED}"
        )
    if unused := sorted(set(params) - ({"rate"} if estimator == _SAMPLED else set())):
        raise ConfigError(f"{estimator}: {unused[0]} has no meaning for objects with sizes")
    from mcsim.locality.estimators import curve_of

    rate = float(str(params.get("rate", 0.001))) if estimator == _SAMPLED else 1.0
    ids, sizes, warm_up = objects.ids, objects.sizes, objects.warm_up
    if rate < 1:
        chosen = _sampled(np.arange(objects.unique, dtype=np.uint64), rate, seed)[ids]
        warm_up = int(chosen[:warm_up].sum())
        ids, sizes = ids[chosen], sizes[chosen]
    made, held = _locality.byte_curve(
        ids, sizes, objects.unique, rate=rate, warm_up=warm_up, progress=progress
    )
    name = title(estimator, {name: str(value) for name, value in params.items()})
    curve = curve_of(made, float(objects.unique), name, 1)
    notes = []
    if not objects.keep_their_sizes:
        notes.append("an object changes its size")
    if len(objects.discards):
        notes.append("objects are deleted")
    resolved = objects.most_bytes if notes else int(objects.sizes.max(initial=0))
    curve = replace(curve, resolved_from=float(resolved), note="; ".join(notes))
    return curve if rate == 1 else _scaled(curve, objects, rate), held


def _scaled(curve: HitRatioCurve, objects: SizedObjects, rate: float) -> HitRatioCurve:
    """Return the hits of all references: all but the misses of the sample over its rate.

    References that the sample has too few or too many of are taken as hits (SHARDS-adj).
    """
    sizes = objects.sizes[objects.warm_up :]
    counted = int(sizes.sum(dtype=np.int64))

    def scaled(hits: NDArray[np.float64], sampled: int, total: int) -> NDArray[np.float64]:
        adjusted = np.clip(total - (sampled - hits) / rate, 0, total)
        return np.where(hits > 0, adjusted, 0)

    hits = scaled(curve.hits, curve.accesses, len(sizes))
    if curve.byte_hits is None:
        return replace(curve, hits=hits, accesses=len(sizes))
    byte_hits = scaled(curve.byte_hits, curve.bytes or 0, counted)
    return replace(curve, hits=hits, accesses=len(sizes), bytes=counted, byte_hits=byte_hits)


def _sampled(numbers: NDArray[np.uint64], rate: float, seed: int) -> NDArray[np.bool_]:
    """Return whether each number is in the sample: its hash is below the share of all hashes."""
    mixed = numbers + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed < np.uint64(min(int(rate * 2.0**64), 2**64 - 1))
