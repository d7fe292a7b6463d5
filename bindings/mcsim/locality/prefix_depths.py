"""Depths of the blocks of chain traces in the LRU stack, before the request that looks them up.

A request first looks up all its blocks and then touches them. If it touches the tail first, blocks
lie deeper in the stack the farther they are from the head. A cache of C blocks then hits the blocks
with a depth below C, and these are a prefix.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality as _locality
from mcsim.traces.chains import ChainTrace

FullHit = Literal["all", "minus-one-block", "minus-one-token"]
"""What a request hits if all its tokens are cached."""

NEVER = np.int64(2**32)
"""Depth of a block that no cache has."""


def _bases(trace: ChainTrace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, by block, the index of the first block of its request, and its distance from it."""
    base = np.repeat(trace.starts[:-1], trace.lengths)
    return base, np.arange(len(base)) - base


def tail_first(trace: ChainTrace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the depths of blocks before their request, and of the last block of each request.

    The blocks of a request are in order of their touches. A touched block has passed those that
    its request touched before, which are deeper, so its distance has them in addition.
    """
    base, rank = _bases(trace)
    mirrored = np.repeat(trace.starts[1:] - 1, trace.lengths) - rank
    distances = _locality.reuse_distances(trace.blocks[mirrored])
    depths = np.where(distances < 0, NEVER, distances - rank)
    last = np.full(len(trace), NEVER)
    last[trace.lengths > 0] = depths[base[rank == 0]]
    return depths, last


def head_first(trace: ChainTrace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the greatest depth of each block and those before it; otherwise as of `tail_first`.

    Blocks before a block in its chain were last touched by the same request, and are deeper, or by
    a later one, and are less deep. Its distance has the former in addition to its depth.
    """
    base, rank = _bases(trace)
    distances = _locality.reuse_distances(trace.blocks)
    request = np.repeat(np.arange(len(trace)), trace.lengths)
    by_block = np.argsort(trace.blocks, kind="stable")
    previous = np.full(len(base), -1)
    again = trace.blocks[by_block[1:]] == trace.blocks[by_block[:-1]]
    previous[by_block[1:][again]] = request[by_block[:-1][again]]
    begins = rank == 0
    begins[1:] |= previous[1:] != previous[:-1]
    run = np.maximum.accumulate(np.where(begins, np.arange(len(base)), 0))
    depths = np.where(distances < 0, NEVER, distances - (np.arange(len(base)) - run))
    # The maximum along each request: later requests have larger keys.
    keys = np.maximum.accumulate(request * (2 * NEVER) + depths)
    depths = keys - request * (2 * NEVER)
    last = np.full(len(trace), NEVER)
    has_blocks = trace.lengths > 0
    last[has_blocks] = depths[trace.starts[1:][has_blocks] - 1]
    return depths, last


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
