"""Estimate prefix hits of LRU from a sample of the blocks (SHARDS)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mcsim.locality.prefix_depths import FullHit, reductions_of, tail_first
from mcsim.traces.chains import ChainTrace

_ODD = 0x9E3779B97F4A7C15


def estimated_hits(
    trace: ChainTrace, counted: NDArray[np.bool_], full_hit: FullHit, rate: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Estimate the hits at each capacity, tails touched first.

    The blocks with a depth below C are a prefix, so blocks can be sampled one at a time. A depth
    in the sample is that of the trace times the rate. The number of sampled blocks differs from
    its expectation mostly by heads, which hit in small caches. The difference is therefore added to
    the hits of all capacities (SHARDS-adj); so for tokens and requests.

    Parameters
    ----------
    trace : ChainTrace
    counted : ndarray of bool, shape (requests,)
    full_hit : {'all', 'minus-one-block', 'minus-one-token'}
    rate : float
        Share of the blocks.
    seed : int
        Seed of the sample.

    Returns
    -------
    capacities : ndarray of int64, shape (k,)
    hits : ndarray of int64, shape (3, k)
        Hit blocks, hit tokens and requests that hit as a whole.
    """
    numbers = np.arange(int(trace.blocks.max(initial=0)) + 1, dtype=np.uint64)
    hashes = _mixed(numbers + np.uint64(seed * _ODD % 2**64))
    is_sampled = (hashes < np.uint64(min(rate * 2**64, 2**64 - 2**11)))[trace.blocks]
    index = np.concatenate([[0], np.cumsum(is_sampled)])
    sample = replace(trace, starts=index[trace.starts], blocks=trace.blocks[is_sampled])
    depths = tail_first(sample)
    every = depths.every[np.repeat(counted, sample.lengths)]
    # The last sampled block of these requests is their last block.
    whole = counted & (trace.lengths > 0)
    expected = rate * _weights(trace, int(trace.lengths[counted].sum()), whole, full_hit)
    whole[whole] = is_sampled[trace.starts[1:][whole] - 1]
    missing = expected - _weights(trace, len(every), whole, full_hit)
    hits = np.bincount(every, minlength=depths.never)[: depths.never]
    whole &= depths.last < depths.never
    at = depths.last[whole]
    reductions = reductions_of(trace, full_hit)
    fewer_blocks, fewer_tokens = (np.bincount(at, part[whole], depths.never) for part in reductions)
    full = np.bincount(at, minlength=depths.never)
    counts = np.cumsum(
        [hits - fewer_blocks, hits * trace.block_tokens - fewer_tokens, full], axis=1
    )
    counts = counts + missing[:, None]
    most = [trace.lengths[counted].sum(), trace.tokens[counted].sum(), counted.sum()]
    used = np.flatnonzero(hits + full)
    found = np.rint(counts[:, used] / rate).astype(np.int64)
    capacities = (used / rate).astype(np.int64) + 1
    return capacities, np.clip(found, 0, np.array(most)[:, None])


def _weights(
    trace: ChainTrace, blocks: int, whole: NDArray[np.bool_], full_hit: FullHit
) -> NDArray[np.float64]:
    """Return what hits if all of some blocks do, with the last ones of the requests `whole`."""
    fewer_blocks, fewer_tokens = (part[whole].sum() for part in reductions_of(trace, full_hit))
    return np.array(
        [blocks - fewer_blocks, blocks * trace.block_tokens - fewer_tokens, whole.sum()], float
    )


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers (the finalizer of SplitMix64, Steele, Lea and Flood, OOPSLA 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ keys >> np.uint64(shift)) * np.uint64(factor)
    return np.asarray(keys ^ keys >> np.uint64(31))
