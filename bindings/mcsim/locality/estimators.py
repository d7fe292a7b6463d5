"""Reuse distances of a reference stream, and their hit ratio curves.

The reuse distance of an access is the number of distinct other blocks accessed since the
last access to the same block; the first access to a block is cold. An LRU cache of ``c``
blocks hits exactly the accesses with a distance below ``c``, so one pass over a trace
gives the hits of LRU at every capacity: exactly, or nearly in a fraction of the memory by
one of the estimators of `estimator_names`. `analyse` and `merge` do it piece by piece, for
streams that are spread over processes or machines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import locality as _locality
from mcsim.base.arguments import seed_given, text, whole_number
from mcsim.base.columns import array_given, keys_of, operations_of, unchanging
from mcsim.base.errors import ConfigError
from mcsim.base.specs import ParamValue, as_declared, declared_by, title
from mcsim.base.suggest import did_you_mean
from mcsim.base.threads import threads_given
from mcsim.locality.byte_curves import curve_by_bytes
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.hit_units import threads_for, with_reads
from mcsim.locality.warm_up import curve_of_blocks
from mcsim.references.block_keys import SAMPLED_BY_KEY, keys_for, with_keys
from mcsim.references.blocks import References
from mcsim.references.given import blocks_in
from mcsim.references.objects import SizedObjects
from mcsim.references.pieces import Piece

_MOST_NS = 2**63 - 1


def reuse_distances(references: References) -> NDArray[np.int64]:
    """Compute the exact LRU reuse distance of every access.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks, or array_like of int, shape (n,)
        The block of each access, in the order of the accesses. A trace stands for its reads, in
        blocks of 4 KiB: `Trace.blocks` has others. Arrays may be NumPy's, pandas', Polars' or
        Arrow's, or lists. Arrays that can be written to are copied.

    Returns
    -------
    ndarray of int64, shape (n,), read-only
        Distinct other blocks since the last access to the same block, 0 for an immediate
        repeat, `COLD` for a first access; also of accesses of a warm-up, which come first.

    Raises
    ------
    TypeError
        If an array does not hold integers.
    ConfigError
        If an array has more than one dimension or a negative element; as of `Trace.blocks`.

    References
    ----------
    F. Olken, *Efficient methods for calculating the success function of fixed space
    replacement policies*, LBL-12370, 1981. R. L. Mattson et al., *Evaluation techniques for
    storage hierarchies*, IBM Systems Journal 9(2), 1970.

    Examples
    --------
    >>> mc.reuse_distances([3, 2, 1, 4, 1, 2, 3]).tolist()
    [-1, -1, -1, -1, 1, 2, 3]
    """
    blocks = blocks_in(references, warm_up=True)
    if blocks is None or blocks.discarded is None:
        return _locality.reuse_distances(keys_given(references if blocks is None else blocks))
    ids = blocks.whole_ids.astype(np.uint64)
    return _locality.reuse_distances_with_discards(ids, blocks.discarded)


def hit_ratio_curve(references: References, capacities: ArrayLike | None = None) -> HitRatioCurve:
    """Compute the exact hits of an LRU cache of any capacity.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks, or array_like of int, shape (n,)
        The block of each access, in the order of the accesses. A trace stands for its reads, in
        blocks of 4 KiB: `Trace.blocks` has others. Arrays may be NumPy's, pandas', Polars' or
        Arrow's, or lists. Arrays that can be written to are copied.
    capacities : array_like of int, shape (k,), optional
        Keep the curve at these capacities alone, in blocks, strictly increasing. By default
        it has 0 and every capacity that hits more than the next smaller one.

    Returns
    -------
    HitRatioCurve

    Raises
    ------
    TypeError
        If an array does not hold integers.
    ConfigError
        If an array has more than one dimension or a negative element, or `capacities` do not
        increase; as of `Trace.blocks`.

    References
    ----------
    R. L. Mattson et al., *Evaluation techniques for storage hierarchies*, IBM Systems
    Journal 9(2), 1970.

    Examples
    --------
    >>> curve = mc.hit_ratio_curve([1, 2, 1, 2], capacities=[1, 2, 3])
    >>> curve.hits.tolist(), curve.at(2)
    ([0.0, 2.0, 2.0], 0.5)
    """
    curve = estimate(references)
    return curve if capacities is None else curve.resampled(capacities)


def estimator_names() -> list[str]:
    """List the estimators of `estimate`; `mcsim describe` shows their parameters.

    Returns
    -------
    list of str
        Names for the parameter `estimator`, ``'exact'`` among them.

    Examples
    --------
    >>> "exact" in mc.estimator_names()
    True
    """
    return [entry["name"] for entry in _locality.describe_estimators()]


def estimate(
    references: References,
    estimator: str = "exact",
    *,
    times: ArrayLike | None = None,
    ops: ArrayLike | None = None,
    seed: int = 1,
    threads: int | None = None,
    block_bytes: int | None = None,
    progress: Callable[[int], object] | None = None,
    **params: ParamValue,
) -> HitRatioCurve:
    """Compute or estimate the hits of an LRU cache of any capacity.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks, or array_like of int, shape (n,)
        The block of each access, in the order of the accesses. A trace stands for its reads, in
        blocks of 4 KiB: `Trace.blocks` has others. Arrays may be NumPy's, pandas', Polars' or
        Arrow's, or lists. Arrays that can be written to are copied.
    estimator : str
        One of `estimator_names`.
    times : array_like of int, shape (n,), optional
        When each access was, in ns, never decreasing, for estimators that look at time. With
        an array alone: others have their own `times`, `ops` and `block_bytes`.
    ops : array_like of int or bool, shape (n,), optional
        0 for a read, 1 for a write. With ``'exact'`` the curve also counts the hits that
        read (`HitRatioCurve.of_reads`), which takes 8 bytes an access.
    seed : int
        Seed of draws and hashes.
    threads : int, optional
        How many it may use; all cores if not given. The curve is the same with any number.
    block_bytes : int, optional
        Size of a block, which the curve keeps.
    progress : callable, optional
        ``progress(accesses_done)``, about once a million accesses.
    **params
        The estimator's own parameters; lengths of time and counts may be text, ``'1h'``.

    Returns
    -------
    HitRatioCurve

    Raises
    ------
    TypeError
        If a column does not hold integers.
    ConfigError
        If there is no such estimator or parameter, a column has another length or more than
        one dimension, an element is negative, or times decrease.

    Examples
    --------
    >>> mc.estimate([3, 2, 1, 4, 1, 2, 3], "exact").capacity_for(0.2)
    3
    """
    blocks = blocks_in(references, warm_up=True, addresses=estimator in SAMPLED_BY_KEY)
    if blocks is not None:
        given = {"times": times, "ops": ops, "block_bytes": block_bytes}
        if twice := [name for name, value in given.items() if value is not None]:
            raise ConfigError(f"{twice[0]}: the blocks of a trace have theirs")
        # Streams of reads alone need no separation.
        ops = blocks.ops if blocks.ops_kept == "all" else None
        block_bytes = blocks.capacity_unit
        threads = threads_for(blocks, estimator, threads)
    stream = Estimator(estimator, seed=seed, threads=threads, block_bytes=block_bytes, **params)
    if isinstance(blocks, SizedObjects):
        return curve_by_bytes(blocks, estimator, params, seed=seed, progress=progress)[0]
    if blocks is None:
        stream.process(cast(ArrayLike, references), times, ops, progress=progress)
        curve = stream.curve()
    else:
        key_of = keys_for(estimator, blocks)

        def process(piece: Piece) -> None:
            stream.process_piece(piece, key_of)
            if progress is not None:
                progress(stream.references)

        curve = curve_of_blocks(blocks, process, stream.curve)
    if ops is None or estimator != "exact":
        return curve
    is_read = operations_of(ops) == 0
    first = 0 if blocks is None else blocks.warm_up
    return with_reads(curve, reuse_distances(references)[first:], is_read[first:])


def keys_given(references: References) -> NDArray[np.uint64] | NDArray[np.uint32]:
    """Return the key of the block of each access."""
    blocks = blocks_in(references, warm_up=True)
    return keys_of(cast(ArrayLike, references)) if blocks is None else blocks.ids


class Estimator:
    """Estimates LRU's hits from a stream that comes in pieces.

    How the stream is cut changes nothing. While a piece is processed, other threads run, and
    Ctrl-C is served about once a million accesses; what was processed by then stays counted.

    Parameters
    ----------
    name : str
        One of `estimator_names`.
    seed, threads, block_bytes, **params
        As of `estimate`.

    Raises
    ------
    ConfigError
        If there is no such estimator or parameter.

    Examples
    --------
    >>> from mcsim.locality.estimators import Estimator
    >>> stream = Estimator("exact")
    >>> for piece in ([1, 2], [1, 2]):
    ...     stream.process(piece)
    >>> stream.curve().at(2), stream.distinct
    (0.5, 2.0)
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int = 1,
        threads: int | None = None,
        block_bytes: int | None = None,
        **params: ParamValue,
    ) -> None:
        self.name = title(text("estimator", name), params)
        if block_bytes is not None:
            block_bytes = whole_number("block_bytes", block_bytes, 1, 2**32 - 1)
        self._block_bytes = block_bytes
        cores = threads_given(threads)
        self._counts_requests = name == "exact" and cores == 1
        kinds = _declared(name)
        if kinds and (unknown := next((key for key in params if key not in kinds), None)):
            near = did_you_mean(unknown, kinds)
            raise ConfigError(
                f"{name}: unknown parameter {unknown!r}{near}; one of {', '.join(kinds)}"
            )
        declared = as_declared(params, kinds)
        self._core = _locality.Estimator(name, declared, seed_given(seed), cores)

    def __repr__(self) -> str:
        return f"<Estimator {self.name}: {self.references:,} references>"

    def process(
        self,
        keys: ArrayLike,
        times: ArrayLike | None = None,
        ops: ArrayLike | None = None,
        *,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Count the next accesses; the arguments are as those of `estimate`."""
        self._core.process(
            keys_of(keys),
            None if times is None else _times(times),
            None if ops is None else operations_of(ops),
            progress=progress,
        )

    def process_piece(self, piece: Piece, key_of: NDArray[np.uint64] | None = None) -> None:
        """Count the next accesses of a trace, with its discards and requests.

        Parameters
        ----------
        piece : Piece
        key_of : ndarray of int, optional
            Keys to count instead of ids, as of `keys_for`.
        """
        requests = piece.requests if self._counts_requests else None
        piece = piece if key_of is None else with_keys(piece, key_of)
        self._core.process(
            piece.keys, piece.times, piece.ops, discards=piece.discards, requests=requests
        )

    def curve(self) -> HitRatioCurve:
        """Return the curve of all accesses so far; the stream may go on afterwards."""
        return curve_of(self._core.curve(), self.distinct, self.name, self._block_bytes)

    @property
    def references(self) -> int:
        """Accesses processed so far."""
        return self._core.references

    @property
    def distinct(self) -> float:
        """Distinct blocks so far, perhaps estimated."""
        return self._core.distinct

    @property
    def bytes(self) -> int:
        """Memory that the estimator holds."""
        return self._core.bytes


@cache
def _declared(name: str) -> Any:
    return declared_by(_locality.describe_estimators(), name)


def curve_of(
    made: _locality.CurveEstimate,
    distinct: float | None,
    estimator: str,
    block_bytes: int | None,
) -> HitRatioCurve:
    """Return what the core estimated as a curve at whole capacities."""
    # Capacities are whole: a step at 2.5 blocks is one at 3.
    steps = np.ceil(made.capacity).astype(np.int64)
    last = np.ones(steps.size, np.bool_)
    last[:-1] = steps[1:] > steps[:-1]
    has_band = made.low.size > 0

    def column(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate(([0.0], values[last]))

    return HitRatioCurve(
        capacities=np.concatenate(([0], steps[last])),
        hits=column(made.hits),
        accesses=round(made.accesses),
        distinct=distinct,
        low=column(made.low) if has_band else None,
        high=column(made.high) if has_band else None,
        requests=round(made.requests) if made.requests else None,
        request_hits=column(made.request_hits) if made.requests else None,
        bytes=round(made.bytes) if made.bytes else None,
        byte_hits=column(made.byte_hits) if made.bytes else None,
        resolved_from=made.resolved_from,
        estimator=estimator,
        note=made.note,
        block_bytes=block_bytes,
    )


def _times(times: ArrayLike) -> NDArray[np.int64]:
    array = array_given(times, "times")
    if array.ndim != 1:
        raise ConfigError(f"times: expected one dimension, got an array of shape {array.shape}")
    array = unchanging(array)
    if array.dtype.kind in "mM":
        array = _as_ns(array)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"times: expected integers (ns), got {array.dtype}")
    later = array[1:] < array[:-1]
    if later.any():
        at = int(np.argmax(later)) + 1
        raise ConfigError(f"times[{at}]: {array[at]} is before {array[at - 1]}")
    if array.size and (array[-1] > _MOST_NS or int(array[-1]) - int(array[0]) > _MOST_NS):
        raise ConfigError(f"times: {array[0]} to {array[-1]} ns are more than 63 bits hold")
    return np.ascontiguousarray(array, np.int64)


def _as_ns(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return NumPy's times or lengths of time as ns; ConfigError if one is none or overflows."""
    if np.isnat(array).any():
        raise ConfigError(f"times[{int(np.argmax(np.isnat(array)))}]: not a time")
    in_ns = array.astype(f"{array.dtype.kind}8[ns]")
    if wrong := np.flatnonzero(in_ns.astype(array.dtype) != array).tolist():
        raise ConfigError(f"times[{wrong[0]}]: {array[wrong[0]]} does not fit 64 bits of ns")
    return in_ns.view(np.int64)
