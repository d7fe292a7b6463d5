"""Distances of parts of a stream, analysed apart and put together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mcsim._core import locality as _locality
from mcsim.base.errors import ConfigError
from mcsim.base.specs import title
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import curve_of, keys_given
from mcsim.references.blocks import References
from mcsim.references.given import blocks_in


class PartialDistances:
    """Reuse distances of a piece of a stream, to be merged with its neighbours.

    `analyse` makes it of a piece, `merge` of two pieces that follow one another. Merging is
    associative, so the pieces of a stream may be analysed by any processes or machines and
    merged in any tree over neighbours: the result has the same bits always. It can be
    pickled, and `to_bytes` is the same on any machine.

    With a limit ``D > 0``, distances of `D` and more count as cold, and the first and the last
    `D` blocks and the histogram are the state of a piece.

    References
    ----------
    Q. Niu, J. Dinan, Q. Lu and P. Sadayappan, *PARDA: a fast parallel reuse distance analysis
    algorithm*, IPDPS 2012.

    Examples
    --------
    >>> from mcsim.locality.partial import analyse, merge
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
            If that is impossible; the message has the reason.
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
        As of `reuse_distances`, if `limit` is negative, or if blocks are discarded or have a
        warm-up.
    """
    blocks = blocks_in(references)
    if blocks is not None and blocks.discarded is not None:
        raise ConfigError(
            f"references: {len(blocks.discarded[0]):,} blocks are discarded, and pieces cannot be "
            "merged with discards; take estimate(references, 'parda'), or `ids` to ignore them"
        )
    return PartialDistances(
        _locality.analyse(keys_given(references).astype(np.uint64, copy=False), limit)
    )


def merge(left: PartialDistances, right: PartialDistances) -> PartialDistances:
    """Return the partial distances of a piece and the one that follows it, as one piece.

    Raises
    ------
    ConfigError
        If their limits differ.

    Examples
    --------
    >>> from functools import reduce
    >>> from mcsim.locality.partial import analyse, merge
    >>> pieces = [analyse(piece) for piece in ([1, 2], [1], [2, 1])]
    >>> reduce(merge, pieces) == analyse([1, 2, 1, 2, 1])
    True
    """
    return PartialDistances(_locality.merge(left._core, right._core))
