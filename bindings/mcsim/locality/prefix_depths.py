"""Depths of the blocks of chain traces in the LRU stack, before the request that looks them up.

A request first looks up all its blocks and then touches them. If it touches the tail first, blocks
lie deeper in the stack the farther they are from the head. A cache of C blocks then hits the blocks
with a depth below C, and these are a prefix.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality as _locality
from mcsim._core import policies as _policies
from mcsim.base.errors import mistakes_in
from mcsim.base.units import parse_count, parse_share
from mcsim.traces.chains import ChainTrace

FullHit = Literal["all", "minus-one-block", "minus-one-token"]
"""What a request hits if all its tokens are cached."""


class Depths(NamedTuple):
    """Depths in blocks, before the request that looks them up.

    Attributes
    ----------
    every : ndarray of uint32, shape (blocks,)
        Least capacity that hits each block of a request, minus 1, in any order.
    last : ndarray of uint32, shape (requests,)
        The same for the last block of each request.
    never : int
        Depth of a block that no cache has; all others are less.
    """

    every: NDArray[np.uint32]
    last: NDArray[np.uint32]
    never: int


def _never(trace: ChainTrace) -> int:
    return int(trace.blocks.max(initial=0)) + 1


def tail_first(trace: ChainTrace) -> Depths:
    """Return the depths if a request touches its tail first."""
    never = _never(trace)
    depths = _policies.chain_depths((trace.starts, trace.blocks, never))
    last = np.full(len(trace), never, np.uint32)
    has_blocks = trace.lengths > 0
    last[has_blocks] = depths[trace.starts[:-1][has_blocks]]
    return Depths(depths, last, never)


def head_first(trace: ChainTrace) -> Depths:
    """Return the greatest depth of each block and those before it, if heads are touched first.

    Blocks before a block in its chain were last touched by the same request, and are deeper, or by
    a later one, and are less deep. Its distance has the former in addition to its depth.
    """
    never, index = _never(trace), np.arange(len(trace.blocks))
    distances = _locality.reuse_distances(trace.blocks)
    request = np.repeat(np.arange(len(trace)), trace.lengths)
    by_block = np.argsort(trace.blocks, kind="stable")
    previous = np.full(len(index), -1)
    again = trace.blocks[by_block[1:]] == trace.blocks[by_block[:-1]]
    previous[by_block[1:][again]] = request[by_block[:-1][again]]
    begins = np.ones(len(index), bool)
    begins[1:] = (request[1:] != request[:-1]) | (previous[1:] != previous[:-1])
    run = np.maximum.accumulate(np.where(begins, index, 0))
    depths = np.where(distances < 0, never, distances - (index - run))
    # The maximum along each request: later requests have larger keys.
    keys = np.maximum.accumulate(request * (never + 1) + depths)
    depths = (keys - request * (never + 1)).astype(np.uint32)
    last = np.full(len(trace), never, np.uint32)
    has_blocks = trace.lengths > 0
    last[has_blocks] = depths[trace.starts[1:][has_blocks] - 1]
    return Depths(depths, last, never)


def reductions_of(
    trace: ChainTrace, full_hit: FullHit
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the blocks and tokens that a request of which all blocks hit has less than these."""
    capacity = trace.lengths * trace.block_tokens
    blocks, tokens = np.zeros(len(trace), np.int64), np.maximum(capacity - trace.tokens, 0)
    has_all = (trace.tokens <= capacity) & (trace.lengths > 0)
    if full_hit == "minus-one-block":
        blocks[has_all] = 1
        tokens[has_all] = trace.block_tokens
    elif full_hit == "minus-one-token":
        tokens[has_all] += 1
    return blocks, tokens


def hits_without_limit(trace: ChainTrace) -> NDArray[np.int64]:
    """Return the blocks of each request that an unlimited cache hits."""
    index = np.arange(len(trace.blocks))
    first = np.zeros(int(trace.blocks.max(initial=0)) + 1, np.int64)
    first[trace.blocks[::-1]] = index[::-1]
    seen = np.concatenate([[0], np.cumsum(first[trace.blocks] < index)])
    return np.diff(seen[trace.starts])


def count_hits(
    trace: ChainTrace,
    hits: NDArray[np.integer],
    reductions: tuple[NDArray[np.int64], NDArray[np.int64]],
    counted: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Return hit blocks, hit tokens and requests of which all blocks hit.

    Parameters
    ----------
    trace : ChainTrace
    hits : ndarray of int, shape (requests,)
        Blocks of the cached prefix of each request.
    reductions : tuple of ndarray
        As of `reductions_of`.
    counted : ndarray of bool, shape (requests,)

    Returns
    -------
    tuple of int
    """
    blocks, tokens = reductions
    is_full = (hits == trace.lengths) & (trace.lengths > 0) & counted
    hit_blocks = int(hits[counted].sum(dtype=np.int64))
    return (
        hit_blocks - int(blocks[is_full].sum()),
        hit_blocks * trace.block_tokens - int(tokens[is_full].sum()),
        int(np.count_nonzero(is_full)),
    )


def warm_up_requests(warm_up: int | str, requests: int) -> int:
    """Return the number of requests of a warm-up, which may be a share of all.

    Parameters
    ----------
    warm_up : int or str
    requests : int
        Requests of the trace.

    Returns
    -------
    int

    Raises
    ------
    ConfigError
        If it is no number of requests and no share, or leaves no request.
    """
    with mistakes_in("warm_up"):
        if isinstance(warm_up, str) and not warm_up.strip().isdecimal():
            count = int(parse_share(warm_up) * requests)
        else:
            count = parse_count(warm_up)
        if count and count >= requests:
            raise ValueError(f"{count:,} of {requests:,} requests leave none to count")
    return count
