"""Curves of the references after a warm-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.hit_units import with_requests
from mcsim.references.blocks import Blocks
from mcsim.references.pieces import Piece


def curve_of_blocks(
    blocks: Blocks, process: Callable[[Piece], None], curve: Callable[[], HitRatioCurve]
) -> HitRatioCurve:
    """Return the curve of the references after the warm-up, by an estimator.

    Parameters
    ----------
    process : callable
        Called with pieces of the references, in order.
    curve : callable
        Returns the curve of all that was processed.
    """
    if blocks.first_counted == 0:
        for piece in blocks.pieces():
            process(piece)
        return with_requests(curve(), blocks)
    warm_up, counted = blocks.split_at_warm_up()
    for piece in warm_up.pieces():
        process(piece)
    before = with_requests(curve(), warm_up)
    for piece in counted.pieces():
        process(piece)
    return hits_after(before, with_requests(curve(), blocks))


def hits_after(before: HitRatioCurve, whole: HitRatioCurve) -> HitRatioCurve:
    """Return the curve of the accesses of `whole` that come after those of `before`.

    A cache that is empty before the first access of `whole` hits `whole.hits - before.hits` of
    these accesses. For estimates, the difference is kept from decreasing, and its band is as wide
    as both bands together.
    """
    if before.accesses == 0:
        return whole
    table = np.unique(np.concatenate([before.capacities, whole.capacities]))
    first, last = before.resampled(table), whole.resampled(table)
    hits = last.hits - first.hits
    columns: dict[str, Any] = {"hits": hits}
    if last.low is not None and last.high is not None:
        low, high = last.hits - last.low, last.high - last.hits
        if first.low is not None and first.high is not None:
            low, high = low + first.hits - first.low, high + first.high - first.hits
        columns |= {"low": hits - low, "high": hits + high}
    counted = whole.accesses - before.accesses
    columns = {name: _rising(column, counted) for name, column in columns.items()}
    for total, name in (("requests", "request_hits"), ("bytes", "byte_hits")):
        if getattr(whole, total) is not None:
            columns[total] = getattr(whole, total) - getattr(before, total)
            columns[name] = _rising(getattr(last, name) - getattr(first, name), columns[total])
    return replace(
        whole,
        capacities=table,
        accesses=counted,
        **columns,
        resolved_from=max(before.resolved_from, whole.resolved_from),
    )


def _rising(hits: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    return np.maximum.accumulate(np.clip(hits, 0, total))
