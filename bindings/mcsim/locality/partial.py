"""Distances of parts of a stream, analysed apart and put together."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor
from itertools import pairwise

import numpy as np

from mcsim._core import engine
from mcsim._core import locality as _locality
from mcsim.base.errors import ConfigError
from mcsim.base.specs import title
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import curve_of, keys_given
from mcsim.traces.blocks import References

__all__ = ["PartialDistances", "analyse", "analyse_apart", "merge"]


class PartialDistances:
    """What a piece of a stream tells of its reuse distances, to be merged with its neighbours.

    `analyse` makes it of a piece, `merge` of two pieces that follow one another. Merging is
    associative, so the pieces of a stream may be analysed by any processes or machines and
    merged in any tree over neighbours: the result has the same bits always. It can be
    pickled, and `to_bytes` is the same on any machine.

    With a limit ``D > 0``, distances of `D` and more count as cold, and the first and the last
    `D` blocks are all that is kept of a piece beside its histogram.

    References
    ----------
    Q. Niu, J. Dinan, Q. Lu and P. Sadayappan, *PARDA: a fast parallel reuse distance analysis
    algorithm*, IPDPS 2012.

    Examples
    --------
    >>> whole = merge(analyse([3, 2, 1]), analyse([4, 1, 2, 3]))
    >>> whole == analyse([3, 2, 1, 4, 1, 2, 3]), whole.curve().at(4)
    (True, 0.42857142857142855)
    """

    def __init__(self, core: _locality.PartialDistances) -> None:
        self._core = core

    def __repr__(self) -> str:
        limit = f", distances below {self.limit:,}" if self.limit else ""
        return f"<PartialDistances of {self.accesses:,} accesses{limit}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialDistances) and self._core == other._core

    __hash__ = None  # type: ignore[assignment]  # as large as what it is equal to

    def __reduce__(self) -> tuple[Callable[[bytes], PartialDistances], tuple[bytes]]:
        return PartialDistances.from_bytes, (self.to_bytes(),)

    @property
    def limit(self) -> int:
        """Distances from here on count as cold; 0 if there is no limit."""
        return self._core.limit

    @property
    def accesses(self) -> int:
        """Accesses of the piece."""
        return self._core.accesses

    def curve(self, *, block_bytes: int | None = None) -> HitRatioCurve:
        """Return the curve of a stream that begins with this piece.

        With a limit the distinct blocks are not known, and the curve is exact up to a capacity
        of `limit` blocks and flat beyond.
        """
        limit = {"limit": self.limit} if self.limit else {}
        distinct = None if self.limit else float(self._core.blocks)
        return curve_of(self._core.curve(), distinct, title("parda", limit), block_bytes)

    def to_bytes(self) -> bytes:
        """Return the form for a file or a socket: versioned and checksummed."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> PartialDistances:
        """Read what `to_bytes` returned.

        Raises
        ------
        TraceError
            If that cannot be; the message says how.
        """
        return cls(_locality.PartialDistances.from_bytes(data))


def analyse(references: References, *, limit: int = 0) -> PartialDistances:
    """Count the reuse distances in a piece of a stream; other threads run meanwhile.

    Parameters
    ----------
    references
        The piece, as of `reuse_distances`; of several pieces equal blocks must have equal
        numbers, so cut `Blocks.ids` of a whole trace and not the trace.
    limit : int
        Distances from here on count as cold; 0 for none.

    Raises
    ------
    TypeError
        If an array does not hold integers.
    ConfigError
        As of `reuse_distances`, or if `limit` is negative.
    """
    return PartialDistances(
        _locality.analyse(keys_given(references).astype(np.uint64, copy=False), limit)
    )


def analyse_apart(
    file: str | os.PathLike[str],
    executor: Executor,
    pieces: int = 2,
    *,
    limit: int = 0,
    checked: bool = False,
) -> PartialDistances:
    """Count the reuse distances of an interned trace, its pieces by processes of their own.

    What comes of it has the same bits for any number of pieces, processes and machines. A piece
    takes 7 bytes a distinct block of the whole trace, however long it is, and 16 more a block of
    its own to be sent back.

    Parameters
    ----------
    file : path
        Of the trace (`mcsim.traces.interned`), under that name for all who work on it.
    executor : concurrent.futures.Executor
        Who works: a `ProcessPoolExecutor`, or `Client.get_executor()` of Dask distributed.
    pieces : int
        Into how many the accesses are cut, all of them about as long.
    limit : int
        As of `analyse`.
    checked : bool
        Whether the file was opened before, and is not to be read for damage again, which takes a
        fifth of the time that one process takes for its distances.

    Raises
    ------
    TraceError
        If the file is no interned trace, or damaged.
    ConfigError
        If `limit` is negative, or `pieces` not positive.
    """
    if pieces < 1:
        raise ConfigError(f"pieces: expected at least 1, got {pieces}")
    count = engine.open_accesses(os.fspath(file), checked=checked).access_count
    ends = [piece * count // pieces for piece in range(pieces + 1)]
    waiting = [
        executor.submit(_analyse_piece, os.fspath(file), begin, end, limit)
        for begin, end in pairwise(ends)
    ]
    partials = [future.result() for future in waiting]
    while len(partials) > 1:  # neighbours pairwise, so that no piece is merged over and over
        partials = [
            merge(*partials[at : at + 2]) if at + 1 < len(partials) else partials[at]
            for at in range(0, len(partials), 2)
        ]
    return partials[0]


def _analyse_piece(file: str, begin: int, end: int, limit: int) -> PartialDistances:
    """Count those of some accesses of a file that was checked."""
    accesses = engine.open_accesses(file, checked=True)
    core = _locality.analyse_blocks(accesses.ids[begin:end], accesses.id_count, limit)
    return PartialDistances(core)


def merge(left: PartialDistances, right: PartialDistances) -> PartialDistances:
    """Return the partial distances of a piece and the one that follows it, as one piece.

    Raises
    ------
    ConfigError
        If their limits differ.

    Examples
    --------
    >>> from functools import reduce
    >>> pieces = [analyse(piece) for piece in ([1, 2], [1], [2, 1])]
    >>> reduce(merge, pieces) == analyse([1, 2, 1, 2, 1])
    True
    """
    return PartialDistances(_locality.merge(left._core, right._core))
