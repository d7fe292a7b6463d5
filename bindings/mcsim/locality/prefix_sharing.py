"""Where the prefix hits of an unlimited cache come from: sessions, tenants and others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsim.locality.prefix_depths import count_hits, hits_without_limit, reductions_of
from mcsim.tables.column import Column
from mcsim.tables.result_table import ResultTable
from mcsim.traces.chains import ChainTrace, number_values


def prefix_sharing(trace: ChainTrace) -> ResultTable:
    """Split the tokens of a trace by the requests that have read them before.

    Parameters
    ----------
    trace : ChainTrace
        The requests.

    Returns
    -------
    ResultTable
        Rows ``session``, ``tenant``, ``others`` and ``first``: tokens of blocks that were read
        before by the same session, otherwise by the same tenant, otherwise by another request, and
        those that are new. A trace without sessions or tenants has no such row. The rows before
        ``first`` add up to the hits of an unlimited cache.

    Examples
    --------
    >>> trace = mc.ChainTrace.from_arrays(
    ...     [0, 2, 4, 6], [7, 8, 7, 8, 7, 8], block_tokens=16, tenants=["a", "a", "b"]
    ... )
    >>> mc.prefix_sharing(trace)[["before", "tokens"]].tolist()
    [('tenant', 32), ('others', 32), ('first', 32)]
    """
    weights = np.full(len(trace.blocks), trace.block_tokens)
    has_blocks = trace.lengths > 0
    lacking = np.maximum(trace.lengths * trace.block_tokens - trace.tokens, 0)
    weights[trace.starts[1:][has_blocks] - 1] -= lacking[has_blocks]
    rows: list[tuple[str, int]] = []
    counted = np.zeros(len(trace.blocks), bool)
    for name, group in {"session": trace.session, "tenant": trace.tenant}.items():
        if group is not None:
            again = _read_again(trace, group) & ~counted
            counted |= again
            rows.append((name, int(weights[again].sum())))
    again = _read_again(trace, np.zeros(len(trace), np.int32)) & ~counted
    rows.append(("others", int(weights[again].sum())))
    total = int(trace.tokens.sum())
    rows.append(("first", total - sum(tokens for _, tokens in rows)))
    columns = [
        Column("before", "read before by", "text", "requests that have read the tokens"),
        Column("tokens", "tokens", "count", "number of tokens"),
        Column("share", "tokens %", "share", "by all tokens"),
    ]
    return ResultTable.of_rows(
        columns, [[name, tokens, tokens / max(1, total)] for name, tokens in rows]
    )


def described_chains(trace: ChainTrace) -> str:
    """Return requests, chains, blocks, tokens and the ceiling of token hits in a line.

    Parameters
    ----------
    trace : ChainTrace

    Returns
    -------
    str
    """
    has_blocks = trace.lengths > 0
    chains = len(np.unique(trace.blocks[trace.starts[1:][has_blocks] - 1]))
    rules = reductions_of(trace, "all")
    everything = np.ones(len(trace), bool)
    _, tokens, _ = count_hits(trace, hits_without_limit(trace), rules, everything)
    share = 100 * tokens / max(1, int(trace.tokens.sum()))
    return (
        f"{trace.label}: {len(trace):,} requests of {chains:,} chains, {len(trace.blocks):,} "
        f"blocks of {trace.block_tokens:,} tokens, {trace.distinct:,} distinct; "
        f"{int(trace.tokens.sum()):,} tokens, at most {share:.2f} % hit in prefixes"
    )


def _read_again(trace: ChainTrace, group: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return, by block, whether an earlier request of the same group has it."""
    groups = np.repeat(group.astype(np.uint64), trace.lengths)
    numbers = number_values(groups << np.uint64(32) | trace.blocks)
    # A new number is above all numbers before it; a request has each block once.
    first = np.ones(len(numbers), bool)
    first[1:] = numbers[1:] > np.maximum.accumulate(numbers)[:-1]
    return ~first
