"""KV caches that are divided among tenants, by curves of prefix hits."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim._core import optimizers as _optimizers
from mcsim._core import policies as _policies
from mcsim.base.arguments import whole_number
from mcsim.base.errors import ConfigError
from mcsim.locality.prefix_depths import FullHit, count_hits, reductions_of
from mcsim.locality.prefixes import Order, intervals_of, prefix_curve, prefix_curves
from mcsim.tables.column import Column
from mcsim.tables.result_table import ResultTable
from mcsim.traces.chains import ChainTrace, number_values

if TYPE_CHECKING:
    from mcsim.optimizers.optimizer import Optimizer
    from mcsim.tables.formatted_table import RowStyle

MOST_BLOCKS = 2**31
"""Blocks of a cache that is divided, at most."""

_STEPS = 512
"""Sizes of a part other than 0."""

_COLUMNS = (
    Column("tenant", "tenant", "text", "name of the tenant"),
    Column("capacity", "blocks", "count", "capacity in blocks of tokens, the mean over divisions"),
    Column("token_hits", "hit tokens", "count", "tokens in cached prefixes", "more"),
    Column("token_hit_ratio", "token hit %", "share", "by all tokens", "more"),
    Column("shared_token_hits", "if shared", "count", "hit tokens of a shared cache", "more"),
)


def prefix_partition(
    trace: ChainTrace,
    capacity: int,
    *,
    optimizer: str | Optimizer = "exact",
    order: Order = "tail-first",
    full_hit: FullHit = "all",
    interval: str | None = None,
) -> ResultTable:
    """Divide a cache among tenants so that the most tokens hit, and compare with sharing it.

    Parameters
    ----------
    trace : ChainTrace
        A trace with tenants.
    capacity : int
        Blocks to divide, in steps of 1/512.
    optimizer : str or Optimizer
        As of `optimize`; ``'equal'`` is a static division.
    order, full_hit
        As of `prefix_curve`; with `interval`, tails are touched first.
    interval : str, optional
        Divide anew for each interval, such as ``'10min'``, by the curves of the one before; the
        first interval has equal parts. Otherwise there is one division, by the whole trace.

    Returns
    -------
    ResultTable
        A row for each tenant, and one for all: ``tenant``, ``capacity`` of the part, ``token_hits``
        and ``token_hit_ratio`` in the part, and ``shared_token_hits`` in one shared LRU cache.

    Raises
    ------
    ConfigError
        If the trace has no tenants, or no times for `interval`, or a parameter is wrong.

    Examples
    --------
    >>> trace = mc.ChainTrace.from_arrays(
    ...     [0, 1, 2, 3, 4], [7, 8, 9, 7], block_tokens=16, tenants=["a", "b", "b", "a"]
    ... )
    >>> parts = mc.prefix_partition(trace, 2)
    >>> parts.token_hits.tolist(), parts.shared_token_hits.tolist()
    ([16, 0, 16], [0, 0, 0])
    """
    blocks = whole_number("capacity", capacity, 1, MOST_BLOCKS)
    _check_optimizer(optimizer)
    shared = prefix_curves(trace, order=order, full_hit=full_hit)
    if interval is None:
        curves = [
            prefix_curve(trace.of_tenant(name), order=order, full_hit=full_hit)
            for name in trace.tenants
        ]
        values = [curve.table(_sizes(blocks)).token_hits for curve in curves]
        parts = _parts(np.array(values), blocks, optimizer)
        tokens = [
            int(curve.table([part]).token_hits[0])
            for curve, part in zip(curves, parts, strict=True)
        ]
    else:
        if order != "tail-first":
            raise ConfigError("order: divisions by intervals touch tails first")
        tokens, parts = _divided_anew(trace, blocks, optimizer, full_hit, interval)
    rows: list[list[Any]] = []
    for name, part, hits in zip(trace.tenants, parts.tolist(), tokens, strict=True):
        in_shared = int(shared[name].table([blocks]).token_hits[0])
        rows.append([name, part, hits, hits / max(1, shared[name].tokens), in_shared])
    total = sum(tokens)
    in_shared = sum(row[4] for row in rows)
    ratio = total / max(1, sum(curve.tokens for curve in shared.values()))
    rows.append(["all", int(parts.sum()), total, ratio, in_shared])
    styles: list[RowStyle] = ["" for _ in tokens]
    styles.append("total")
    return ResultTable.of_rows(_COLUMNS, rows, styles=styles)


def _check_optimizer(optimizer: str | Optimizer) -> None:
    systems = {entry["name"] for entry in engine.describe_systems()}
    known = [entry["name"] for entry in _optimizers.describe()]
    if isinstance(optimizer, str) and optimizer in systems and optimizer not in known:
        raise ConfigError(
            f"optimizer: {optimizer}: a system of host caches, whose rule decides at intervals: "
            f"`mcsim run` has it for chains; one of {', '.join(known)}"
        )


def _sizes(blocks: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, blocks, _STEPS + 1).astype(np.int64))


def _parts(values: NDArray[Any], blocks: int, optimizer: str | Optimizer) -> NDArray[np.int64]:
    """Divide by the token hits of each tenant at `_sizes`; equal parts have no steps."""
    from mcsim.optimizers.optimizer import optimize

    if optimizer == "equal":
        return np.full(len(values), blocks // len(values))

    found = optimize(values.astype(float), blocks, optimizer=optimizer, sizes=_sizes(blocks))
    return np.asarray(found.allocation[0])


def _divided_anew(
    trace: ChainTrace,
    blocks: int,
    optimizer: str | Optimizer,
    full_hit: FullHit,
    interval: str,
) -> tuple[list[int], NDArray[np.int64]]:
    """Return the token hits of each tenant, and its mean part, of a replay."""
    masks = list(intervals_of(trace, interval).values())
    tenants = len(trace.tenants)
    assert trace.tenant is not None
    divisions = [np.full(tenants, blocks // tenants)]
    division = np.zeros(len(trace), np.uint32)
    for number, (before, mask) in enumerate(pairwise(masks), 1):
        values = [
            _curve_values(trace, before & (trace.tenant == tenant), blocks, full_hit)
            for tenant in range(tenants)
        ]
        divisions.append(_parts(np.array(values), blocks, optimizer))
        division[mask] = number
    distinct = int(trace.blocks.max(initial=0)) + 1
    parts = np.array(divisions, np.int64)
    hits = _policies.divided_prefix_hits(
        (trace.starts, trace.blocks, distinct),
        (trace.tenant.astype(np.uint32), division, parts.reshape(-1), tenants),
    )
    rules = reductions_of(trace, full_hit)
    tokens = [
        count_hits(trace, hits, rules, trace.tenant == tenant)[1] for tenant in range(tenants)
    ]
    return tokens, np.rint(parts.mean(axis=0)).astype(np.int64)


def _curve_values(
    trace: ChainTrace, chosen: NDArray[np.bool_], blocks: int, full_hit: FullHit
) -> NDArray[np.int64]:
    """Return the token hits of some requests in a cache of their own, at `_sizes`."""
    from dataclasses import replace

    part = trace.taken(np.flatnonzero(chosen))
    numbers = number_values(part.blocks.astype(np.uint64)).view(np.uint32)
    part = replace(part, blocks=numbers)
    return np.asarray(prefix_curve(part, full_hit=full_hit).table(_sizes(blocks)).token_hits)
