"""KV caches of several tiers, and those divided among tenants, from curves of prefix hits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.base.arguments import shortened, whole_number
from mcsim.base.errors import ConfigError
from mcsim.locality.prefix_depths import FullHit
from mcsim.locality.prefixes import Order, PrefixCurve, prefix_curve, prefix_curves
from mcsim.tables.column import Column
from mcsim.tables.result_table import ResultTable
from mcsim.traces.chains import ChainTrace

if TYPE_CHECKING:
    from mcsim.optimizers.optimizer import Optimizer
    from mcsim.tables.formatted_table import RowStyle

_STEPS = 512
"""Sizes of a part other than 0."""

_TOKEN_HITS = Column("token_hits", "hit tokens", "count", "tokens in cached prefixes", "more")
_TOKEN_HIT_RATIO = Column("token_hit_ratio", "token hit %", "share", "by all tokens", "more")
_CAPACITY = Column("capacity", "blocks", "count", "capacity in blocks of tokens")


def prefix_tiers(
    curve: PrefixCurve,
    tiers: Mapping[str, int],
    *,
    bandwidth: Mapping[str, float] | None = None,
    prefill: float | None = None,
) -> ResultTable:
    """Tabulate the prefix hits of exclusive tiers, such as those of GPU, host and flash.

    A block that a request touches moves to the first tier. Each tier is LRU, and moves its victims
    to the next one; the last tier drops them. The tiers together then have the stack of one LRU
    cache, so their hits are exact.

    Parameters
    ----------
    curve : PrefixCurve
        Of the trace; with `block_bytes`, the table has bytes.
    tiers : mapping of str to int
        Capacities in blocks, from the first tier on.
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
        raise ConfigError(f"bandwidth: no tier {shortened(unknown[0])}")
    if rates and curve.block_bytes is None:
        raise ConfigError("bandwidth: needs block_bytes, which this curve does not have")
    for name, rate in {**rates, **({} if prefill is None else {"prefill": prefill})}.items():
        if not 0 < rate < float("inf"):
            raise ConfigError(f"{name}: expected a rate above 0, got {shortened(rate)}")
    sizes = [whole_number(f"tiers: {name}", blocks) for name, blocks in tiers.items()]
    found = curve.table(np.cumsum([0, *sizes]))
    rows: list[list[Any]] = []
    loads = zip(tiers, sizes, np.diff(found.token_hits), np.diff(found.hits), strict=True)
    for name, size, tokens, blocks in loads:
        loaded = None if curve.block_bytes is None else int(blocks) * curve.block_bytes
        seconds = loaded / rates[name] if name in rates and loaded is not None else 0.0
        saved = None if prefill is None else tokens / prefill - seconds
        ratio = tokens / max(1, curve.tokens)
        rows.append([name, size, int(tokens), ratio, loaded, seconds, saved])
    missed = curve.tokens - int(found.token_hits[-1])
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


def prefix_partition(
    trace: ChainTrace,
    capacity: int,
    *,
    optimizer: str | Optimizer = "exact",
    order: Order = "tail-first",
    full_hit: FullHit = "all",
) -> ResultTable:
    """Divide a cache among tenants so that the most tokens hit, and compare with sharing it.

    Parameters
    ----------
    trace : ChainTrace
        A trace with tenants.
    capacity : int
        Blocks to divide, in steps of 1/512.
    optimizer : str or Optimizer
        As of `optimize`.
    order, full_hit
        As of `prefix_curve`.

    Returns
    -------
    ResultTable
        A row for each tenant, and one for all: ``tenant``, ``capacity`` of the part, ``token_hits``
        and ``token_hit_ratio`` in the part, and ``shared_token_hits`` in one shared LRU cache.

    Raises
    ------
    ConfigError
        If the trace has no tenants, or a parameter is wrong.

    Examples
    --------
    >>> trace = mc.ChainTrace.from_arrays(
    ...     [0, 1, 2, 3, 4], [7, 8, 9, 7], block_tokens=16, tenants=["a", "b", "b", "a"]
    ... )
    >>> parts = mc.prefix_partition(trace, 2)
    >>> parts.token_hits.tolist(), parts.shared_token_hits.tolist()
    ([16, 0, 16], [0, 0, 0])
    """
    from mcsim.optimizers.optimizer import optimize

    blocks = whole_number("capacity", capacity, 1, 2**31)
    shared = prefix_curves(trace, order=order, full_hit=full_hit)
    alone = [
        prefix_curve(trace.of_tenant(name), order=order, full_hit=full_hit)
        for name in trace.tenants
    ]
    sizes = np.unique(np.linspace(0, blocks, _STEPS + 1).astype(np.int64))
    values = np.array([curve.table(sizes).token_hits for curve in alone], float)
    parts = optimize(values, blocks, optimizer=optimizer, sizes=sizes).allocation[0].tolist()
    rows = []
    for curve, part in zip(alone, parts, strict=True):
        hits = int(curve.table([part]).token_hits[0])
        in_shared = int(shared[curve.label].table([blocks]).token_hits[0])
        rows.append([curve.label, part, hits, hits / max(1, curve.tokens), in_shared])
    tokens = sum(curve.tokens for curve in alone)
    hits, in_shared = sum(row[2] for row in rows), sum(row[4] for row in rows)
    rows.append(["all", sum(parts), hits, hits / max(1, tokens), in_shared])
    columns = [
        Column("tenant", "tenant", "text", "name of the tenant"),
        *(_CAPACITY, _TOKEN_HITS, _TOKEN_HIT_RATIO),
        Column("shared_token_hits", "if shared", "count", "hit tokens of a shared cache", "more"),
    ]
    styles: list[RowStyle] = ["" for _ in alone]
    styles.append("total")
    return ResultTable.of_rows(columns, rows, styles=styles)
