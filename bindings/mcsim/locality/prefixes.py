"""Prefix hits of LRU at all capacities, exact, for chain traces; see `prefix_depths`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import policies as _policies
from mcsim.base.arguments import seed_given, whole_number
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.suggest import check_choice
from mcsim.base.units import format_duration, parse_duration, parse_share
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.prefix_depths import (
    Depths,
    FullHit,
    head_first,
    reductions_of,
    tail_first,
    warm_up_requests,
)
from mcsim.locality.prefix_tables import PrefixCounts, prefix_table
from mcsim.traces.chains import ChainTrace

if TYPE_CHECKING:
    from mcsim.tables.result_table import ResultTable

Order = Literal["tail-first", "head-first"]
"""The order in which a request touches its blocks."""

MOST_BLOCK_BYTES = 1 << 42
"""Bytes of a block, at most."""

_MOST_INTERVALS = 10_000

PrefixUnit = Literal["blocks", "tokens", "requests"]


@dataclass(frozen=True, eq=False)
class PrefixCurve:
    """The prefix hits of LRU over its capacity, a step function.

    Attributes
    ----------
    capacities : ndarray of int64, shape (k,)
        Capacities in blocks, strictly increasing.
    block_hits, token_hits, full_hits : ndarray of int64, shape (k,)
        Blocks and tokens of the cached prefixes at each capacity, and requests of which all blocks
        hit.
    requests, blocks, tokens : int
        What was counted, without the warm-up.
    distinct : int
        Distinct blocks of the trace.
    block_tokens : int
        Tokens of a block.
    block_bytes : int, optional
        Bytes of a block.
    label : str
        Name of the trace or tenant.
    """

    capacities: NDArray[np.int64]
    block_hits: NDArray[np.int64]
    token_hits: NDArray[np.int64]
    full_hits: NDArray[np.int64]
    requests: int
    blocks: int
    tokens: int
    distinct: int
    block_tokens: int
    block_bytes: int | None = None
    label: str = ""

    def __repr__(self) -> str:
        return (
            f"<PrefixCurve of {self.requests:,} requests: {self.ceiling:.4f} of {self.tokens:,} "
            f"tokens at {int(self.capacities[-1]) if len(self.capacities) else 0:,} blocks>"
        )

    @property
    def ceiling(self) -> float:
        """Share of the tokens that an unlimited cache hits."""
        return float(self.token_hits[-1]) / max(1, self.tokens) if len(self.token_hits) else 0.0

    def of(self, unit: PrefixUnit) -> HitRatioCurve:
        """Return the curve of the hits of blocks, tokens or requests.

        Parameters
        ----------
        unit : {'blocks', 'tokens', 'requests'}
            A request hits if all its blocks do.

        Returns
        -------
        HitRatioCurve
            Hits in `unit`, over capacities in blocks; `optimize` divides a cache by such curves.

        Raises
        ------
        ConfigError
            If there is no such unit.

        Examples
        --------
        >>> trace = mc.ChainTrace.from_arrays([0, 2, 4], [7, 8, 7, 9], block_tokens=16)
        >>> mc.prefix_curve(trace).of("tokens").at([1, 2])
        array([0.25, 0.25])
        """
        check_choice("unit", unit, get_args(PrefixUnit))
        hits = {"blocks": self.block_hits, "tokens": self.token_hits, "requests": self.full_hits}
        return HitRatioCurve(
            self.capacities,
            hits[unit].astype(np.float64),
            accesses=getattr(self, unit),
            distinct=self.distinct,
            block_bytes=self.block_bytes,
            note=f"prefix hits, in {unit}",
        )

    def capacity_for(self, token_ratio: float) -> int | None:
        """Return the smallest capacity that hits a share of the tokens.

        Parameters
        ----------
        token_ratio : float
            Share of the tokens, in [0, 1].

        Returns
        -------
        int or None
            Capacity in blocks; None if no capacity hits as much.
        """
        return self.of("tokens").capacity_for(token_ratio)

    def table(self, capacities: ArrayLike) -> ResultTable:
        """Tabulate the hits at some capacities.

        Parameters
        ----------
        capacities : array_like of int
            Capacities in blocks.

        Returns
        -------
        ResultTable
            A row for each capacity.
        """
        sizes = np.asarray(capacities, np.int64).reshape(-1)
        step = np.searchsorted(self.capacities, sizes, "right")
        blocks, tokens, full = (
            np.concatenate([[0], hits])[step]
            for hits in (self.block_hits, self.token_hits, self.full_hits)
        )
        return prefix_table(
            sizes, PrefixCounts(blocks, tokens, full, self.blocks, self.tokens), self.block_bytes
        )


def prefix_curve(
    trace: ChainTrace,
    *,
    order: Order = "tail-first",
    full_hit: FullHit = "all",
    warm_up: int | str = 0,
    block_bytes: int | None = None,
    rate: float | str = 1,
    seed: int = 1,
) -> PrefixCurve:
    """Count the prefix hits of LRU at all capacities, in one pass.

    Parameters
    ----------
    trace : ChainTrace
        The requests, which share one cache.
    order : {'tail-first', 'head-first'}
        The order in which a request touches its blocks, after it has looked up all. With
        ``'tail-first'``, tails are evicted before heads, as in vLLM and SGLang.
    full_hit : {'all', 'minus-one-block', 'minus-one-token'}
        What a request hits if all its tokens are cached: all, all blocks but the last one (vLLM),
        or all tokens but one.
    warm_up : int or str
        First requests that are replayed without being counted, or their share, such as ``'50%'``.
    block_bytes : int, optional
        Bytes of a block, for capacities in bytes.
    rate : float or str
        Share of the blocks to sample, such as ``'1%'``; only with ``'tail-first'``.
    seed : int
        Of the sample.

    Returns
    -------
    PrefixCurve
        Exact at every capacity if the rate is 1; otherwise an estimate without an error band.

    Raises
    ------
    ConfigError
        If a parameter is wrong.

    Examples
    --------
    >>> trace = mc.ChainTrace.from_arrays([0, 2, 4], [7, 8, 7, 8], block_tokens=16)
    >>> mc.prefix_curve(trace).table([1, 2]).token_hits.tolist()
    [16, 32]
    """
    with mistakes_in("rate"):
        share = parse_share(rate)
    if share == 0 or (share < 1 and order != "tail-first"):
        raise ConfigError(f"rate: expected a share above 0, and 1 for {order}")
    if share < 1:
        return _estimated(trace, full_hit, warm_up, block_bytes, float(share), seed_given(seed))
    (curve,) = _curves(trace, order, full_hit, warm_up, block_bytes, {trace.label: None})
    return curve


def _estimated(
    trace: ChainTrace,
    full_hit: FullHit,
    warm_up: int | str,
    block_bytes: int | None,
    rate: float,
    seed: int,
) -> PrefixCurve:
    from mcsim.locality.prefix_samples import estimated_hits

    _check(full_hit, block_bytes)
    counted = np.arange(len(trace)) >= warm_up_requests(warm_up, len(trace))
    capacities, hits = estimated_hits(trace, counted, full_hit, rate, seed)
    return _curve_of(trace, counted, capacities, hits, block_bytes, trace.label)


def _check(full_hit: FullHit, block_bytes: int | None) -> None:
    check_choice("full_hit", full_hit, get_args(FullHit))
    if block_bytes is not None:
        whole_number("block_bytes", block_bytes, 1, MOST_BLOCK_BYTES)


def prefix_curves(
    trace: ChainTrace,
    *,
    order: Order = "tail-first",
    full_hit: FullHit = "all",
    warm_up: int | str = 0,
    block_bytes: int | None = None,
    interval: str | None = None,
) -> dict[str, PrefixCurve]:
    """Count the prefix hits of each tenant, or interval, in one LRU cache that all share.

    The curve of a tenant with a cache of its own is that of ``trace.of_tenant(name)``.

    Parameters
    ----------
    trace : ChainTrace
        A trace with tenants.
    order, full_hit, warm_up, block_bytes
        As of `prefix_curve`.
    interval : str, optional
        Length of intervals in place of tenants, such as ``'1h'``; they begin at the first request.

    Returns
    -------
    dict of str to PrefixCurve
        By tenant, or by the begin of each interval with requests; capacities are those of the
        shared cache.

    Raises
    ------
    ConfigError
        If the trace has no tenants or times, or a parameter is wrong.
    """
    if interval is not None:
        groups = intervals_of(trace, interval)
    elif trace.tenant is None:
        raise ConfigError(f"{trace.label}: no tenants: the trace has no such field")
    else:
        groups = {name: trace.tenant == i for i, name in enumerate(trace.tenants)}
    curves = _curves(trace, order, full_hit, warm_up, block_bytes, groups)
    return dict(zip(groups, curves, strict=True))


def intervals_of(trace: ChainTrace, interval: str) -> dict[str, NDArray[np.bool_]]:
    """Return the requests of each interval with any, by its begin after the first request.

    Parameters
    ----------
    trace : ChainTrace
    interval : str
        Such as ``'1h'``.

    Returns
    -------
    dict of str to ndarray of bool, shape (requests,)

    Raises
    ------
    ConfigError
        If the trace has no times, there are too many intervals, or the length is none.
    """
    if trace.times is None:
        raise ConfigError(f"{trace.label}: interval: the trace has no times")
    with mistakes_in("interval"):
        length = parse_duration(interval)
        if length == 0:
            raise ValueError("expected a length above 0")
    places = (trace.times - trace.times[:1]) // (length * 1e-9)
    if (count := len(np.unique(places))) > _MOST_INTERVALS:
        raise ConfigError(f"interval: {count:,} intervals; at most {_MOST_INTERVALS:,}")
    begins = {
        int(at): format_duration(int(at) * length) if at else "0s" for at in np.unique(places)
    }
    return {begin: places == at for at, begin in begins.items()}


def _curves(
    trace: ChainTrace,
    order: Order,
    full_hit: FullHit,
    warm_up: int | str,
    block_bytes: int | None,
    groups: Mapping[str, NDArray[np.bool_] | None],
) -> list[PrefixCurve]:
    """Count the hits of groups of requests, each a mask or, if None, all."""
    check_choice("order", order, get_args(Order))
    _check(full_hit, block_bytes)
    first = warm_up_requests(warm_up, len(trace))
    depths = tail_first(trace) if order == "tail-first" else head_first(trace)
    reductions = reductions_of(trace, full_hit)
    made = []
    for label, mask in groups.items():
        counted = np.ones(len(trace), bool) if mask is None else mask.copy()
        counted[:first] = False
        made.append(_counted(trace, depths, reductions, counted, block_bytes, label))
    return made


def _counted(
    trace: ChainTrace,
    depths: Depths,
    reductions: tuple[NDArray[np.int64], NDArray[np.int64]],
    counted: NDArray[np.bool_],
    block_bytes: int | None,
    label: str,
) -> PrefixCurve:
    every = depths.every
    if not counted.all():
        every = every[np.repeat(counted, trace.lengths)]
    hits = _policies.count_values(every, depths.never)
    full = counted & (depths.last < depths.never)
    at = depths.last[full]
    fewer_blocks, fewer_tokens = (
        np.bincount(at, part[full], len(hits)).astype(np.int64) for part in reductions
    )
    counts = np.stack(
        [
            hits - fewer_blocks,
            hits * trace.block_tokens - fewer_tokens,
            np.bincount(at, minlength=len(hits)),
        ]
    )
    used = np.flatnonzero(hits)
    return _curve_of(
        trace, counted, used + 1, np.cumsum(counts[:, used], axis=1), block_bytes, label
    )


def _curve_of(
    trace: ChainTrace,
    counted: NDArray[np.bool_],
    capacities: NDArray[np.int64],
    hits: NDArray[np.int64],
    block_bytes: int | None,
    label: str,
) -> PrefixCurve:
    blocks, tokens, full = hits
    return PrefixCurve(
        capacities, blocks, tokens, full,
        int(counted.sum()), int(trace.lengths[counted].sum()), int(trace.tokens[counted].sum()),
        trace.distinct, trace.block_tokens, block_bytes, label,
    )  # fmt: skip
