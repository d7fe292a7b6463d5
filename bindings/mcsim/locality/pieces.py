"""The exact curve of one trace, its pieces by processes of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim._core import locality as _locality
from mcsim.base.errors import ConfigError
from mcsim.base.specs import title
from mcsim.locality.curve import HitRatioCurve

__all__ = ["hit_ratio_curve_apart"]

_LOOKED_AT = 0.1
"""What it takes to look at an access before a piece, of what it takes to count one of the piece."""

_Counted: TypeAlias = tuple[NDArray[np.unsignedinteger], int]
"""How often each distance from 0 on occurred, and how many accesses were cold."""


def hit_ratio_curve_apart(
    file: str | os.PathLike[str],
    executor: Executor,
    pieces: int = 2,
    *,
    limit: int = 0,
    checked: bool = False,
) -> HitRatioCurve:
    """Compute the exact curve of an interned trace, its pieces by processes of their own.

    What comes of it is the same for any number of pieces, processes and machines. Each piece
    takes up to 11 bytes a distinct block of the whole trace and 4 to 8 a distance, however many
    accesses there are. It begins with a look at what was accessed before, so more than about
    eight pieces gain little.

    Parameters
    ----------
    file : path
        Of the trace (`mcsim.traces.interned`), under that name for all who work on it.
    executor : concurrent.futures.Executor
        Who works: a `ProcessPoolExecutor`, or `Client.get_executor()` of Dask distributed.
    pieces : int
        Into how many the accesses are cut; later ones are shorter, by what they look at before.
    limit : int
        Distances from here on count as cold, which spares memory and much of the look at what
        was accessed before; 0 for none. The curve is exact up to `limit` blocks and flat beyond.
    checked : bool
        Whether the file was opened before, and is not to be read for damage again, which takes a
        tenth of the time that one process takes for its distances.

    Raises
    ------
    TraceError
        If the file is no interned trace, or damaged.
    ConfigError
        If `limit` is negative, or `pieces` not positive.
    """
    if pieces < 1:
        raise ConfigError(f"pieces: expected at least 1, got {pieces}")
    accesses = engine.open_accesses(os.fspath(file), checked=checked).access_count
    waiting = [
        executor.submit(_count_piece, os.fspath(file), begin, end, limit)
        for begin, end in pairwise(_ends(accesses, pieces))
    ]
    counted = [future.result() for future in waiting]
    return _curve([counts for counts, _ in counted], sum(cold for _, cold in counted), limit)


def _ends(accesses: int, pieces: int) -> list[int]:
    """Cut so that all pieces take as long: e(k + 1) - e(k) + r e(k) is the same for all k."""
    shares = 1 - (1 - _LOOKED_AT) ** np.arange(pieces + 1)
    return [round(share * accesses) for share in shares / shares[-1]]


def _count_piece(file: str, begin: int, end: int, limit: int) -> _Counted:
    """Count distances of a piece of a file that was checked; densely, for most of them occur."""
    accesses = engine.open_accesses(file, checked=True)
    distance, count, cold = _locality.distances_of_piece(accesses, begin, end, limit)
    narrow = end - begin < 2**32
    counts = np.zeros(distance[-1] + 1 if distance.size else 0, np.uint32 if narrow else np.uint64)
    counts[distance] = count
    return counts, cold


def _curve(pieces: Sequence[NDArray[np.unsignedinteger]], cold: int, limit: int) -> HitRatioCurve:
    counts = np.zeros(max(piece.size for piece in pieces), np.uint64)
    for piece in pieces:
        counts[: piece.size] += piece
    distances = np.flatnonzero(counts)
    hits = np.cumsum(counts[distances])
    return HitRatioCurve(
        capacities=np.concatenate(([0], distances + 1)),
        hits=np.concatenate(([0.0], hits)),
        accesses=cold + int(counts.sum()),
        distinct=None if limit else float(cold),
        estimator=title("parda", {"limit": limit}) if limit else "exact",
    )
