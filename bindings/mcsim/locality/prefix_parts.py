"""KV caches of several tiers, from curves of prefix hits, or replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mcsim._core import policies as _policies
from mcsim.base.arguments import shortened, whole_number
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import check_choice
from mcsim.locality.prefix_depths import FullHit, reductions_of, warm_up_requests
from mcsim.locality.prefixes import PrefixCurve
from mcsim.tables.column import Column
from mcsim.tables.result_table import ResultTable
from mcsim.traces.chains import ChainTrace

_CAPACITY = Column("capacity", "blocks", "count", "capacity in blocks of tokens")


TierRule = Literal["exclusive", "inclusive", "copy-on-eviction"]
"""Which tiers have a block."""


def prefix_tiers(
    curve: PrefixCurve,
    tiers: Mapping[str, int],
    *,
    rule: TierRule = "exclusive",
    trace: ChainTrace | None = None,
    full_hit: FullHit = "all",
    warm_up: int | str = 0,
    bandwidth: Mapping[str, float] | None = None,
    prefill: float | None = None,
) -> ResultTable:
    """Tabulate the prefix hits of tiers of LRU, such as those of GPU, host and flash.

    A touched block is in the first tier, from which it is loaded at no cost. A block hits in the
    first tier that has it.

    Parameters
    ----------
    curve : PrefixCurve
        The curve of the trace, with tails touched first. If it has `block_bytes`, the table
        has bytes.
    tiers : mapping of str to int
        Capacities in blocks, from the first tier on.
    rule : {'exclusive', 'inclusive', 'copy-on-eviction'}
        ``'exclusive'``: a touched block leaves its tier, and a victim moves to the next tier.
        ``'inclusive'``: all tiers store and touch each block. These two are exact from the curve.
        ``'copy-on-eviction'``: a loaded block is touched in its tier and stays there, and a victim
        is copied to the next tier, or touched there; this is replayed.
    trace, full_hit, warm_up
        Only for ``'copy-on-eviction'``: what the curve is of, with tails touched first.
    bandwidth : mapping of str to float, optional
        Bytes a second of loads from a tier; needs `block_bytes`. Others take no time.
    prefill : float, optional
        Tokens a second that are computed where they are not loaded.

    Returns
    -------
    ResultTable
        A row for each tier, and one for recomputed tokens: ``tier``, ``capacity``, ``token_hits``,
        ``token_hit_ratio``, ``loaded`` (bytes), ``load_seconds`` and ``saved_seconds``.

    Raises
    ------
    ConfigError
        If a capacity or rate is wrong, or a bandwidth is of no tier.

    Examples
    --------
    >>> trace = mc.ChainTrace.from_arrays([0, 2, 4], [7, 8, 7, 8], block_tokens=16)
    >>> mc.prefix_tiers(mc.prefix_curve(trace), {"gpu": 1, "host": 4}).token_hits.tolist()
    [16, 16, 32]
    """
    rates = dict(bandwidth or {})
    if unknown := [name for name in rates if name not in tiers]:
        raise ConfigError(f"bandwidth: no tier {shortened(unknown[0])} (one of {', '.join(tiers)})")
    if rates and curve.block_bytes is None:
        raise ConfigError("bandwidth: needs block_bytes, which this curve does not have")
    for name, rate in {**rates, **({} if prefill is None else {"prefill": prefill})}.items():
        if not 0 < rate < float("inf"):
            raise ConfigError(f"{name}: expected a rate above 0, got {shortened(rate)}")
    sizes = [whole_number(f"tiers: {name}", blocks) for name, blocks in tiers.items()]
    hits = _tier_hits(curve, sizes, rule, trace, full_hit, warm_up)
    rows: list[list[Any]] = []
    loads = zip(tiers, sizes, *hits, strict=True)
    for name, size, blocks, tokens in loads:
        loaded = None if curve.block_bytes is None else int(blocks) * curve.block_bytes
        seconds = loaded / rates[name] if name in rates and loaded is not None else 0.0
        saved = None if prefill is None else tokens / prefill - seconds
        ratio = tokens / max(1, curve.tokens)
        rows.append([name, size, int(tokens), ratio, loaded, seconds, saved])
    missed = curve.tokens - int(hits[1].sum())
    rows.append(["recomputed", None, missed, missed / max(1, curve.tokens), None, None, None])
    columns = [
        Column("tier", "tier", "text", "name of the tier"),
        *(_CAPACITY, Column("token_hits", "tokens", "count", "tokens that the tier has")),
        Column("token_hit_ratio", "tokens %", "share", "by all tokens"),
        Column("loaded", "loaded", "bytes", "bytes of blocks that hit in the tier"),
        Column("load_seconds", "load", "s", "time of these loads"),
        Column("saved_seconds", "saved", "s", "prefill time that hits save, less the loads"),
    ]
    used = [
        at for at, column in enumerate(columns)
        if not (column.name == "loaded" and curve.block_bytes is None)
        and not (column.name == "load_seconds" and not rates)
        and not (column.name == "saved_seconds" and prefill is None)
    ]  # fmt: skip
    return ResultTable.of_rows(
        [columns[at] for at in used], [[row[at] for at in used] for row in rows]
    )


def _tier_hits(
    curve: PrefixCurve,
    sizes: list[int],
    rule: TierRule,
    trace: ChainTrace | None,
    full_hit: FullHit,
    warm_up: int | str,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the blocks and tokens that hit in each tier."""
    check_choice("rule", rule, get_args(TierRule))
    if rule == "copy-on-eviction":
        if trace is None:
            raise ConfigError(f"rule: {rule} is replayed, and needs the trace")
        return _replayed_tiers(trace, sizes, full_hit, warm_up)
    ends = np.cumsum if rule == "exclusive" else np.maximum.accumulate
    found = curve.table(ends([0, *sizes]))
    return np.diff(found.hits), np.diff(found.token_hits)


def _replayed_tiers(
    trace: ChainTrace, sizes: list[int], full_hit: FullHit, warm_up: int | str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    check_choice("full_hit", full_hit, get_args(FullHit))
    distinct = int(trace.blocks.max(initial=0)) + 1
    tier = _policies.tiers_of_copies((trace.starts, trace.blocks, distinct), sizes)
    counted = np.arange(len(trace)) >= warm_up_requests(warm_up, len(trace))
    count = len(sizes) + 1
    blocks = np.bincount(tier[np.repeat(counted, trace.lengths)], minlength=count)
    tokens = blocks * trace.block_tokens
    whole = counted & (trace.lengths > 0)
    last = tier[trace.starts[1:][whole] - 1]
    for hits, fewer in zip((blocks, tokens), reductions_of(trace, full_hit), strict=True):
        hits -= np.bincount(last, fewer[whole], count).astype(np.int64)
    return blocks[:-1], tokens[:-1]
