"""Chain traces as requests that a run replays, and generated chain traces."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.config.chains import ChainTenantSpec
from mcsim.traces.chains import ChainTrace
from mcsim.traces.trace import Trace

READ, WRITE = 0, 1


def requests_of(chains: ChainTrace, block_bytes: int) -> Trace:
    """Return the lookups and touches of a chain trace, each a request of one block.

    A request of a chain first reads its blocks from head to tail, and then writes them from tail to
    head. So a read hits in a cache with LRU if and only if the block belongs to the longest cached
    prefix.

    Parameters
    ----------
    chains : ChainTrace
        With times. Each tenant is a VM with blocks of its own.
    block_bytes : int
        Bytes of a block, a multiple of its tokens. A read has the bytes of the block's tokens.

    Returns
    -------
    Trace

    Raises
    ------
    ConfigError
        If the trace has no times, or no whole number of bytes for each token.
    """
    if chains.times is None:
        raise ConfigError(f"{chains.label}: the trace has no times")
    if block_bytes % chains.block_tokens:
        raise ConfigError(
            f"block_bytes: expected a multiple of the {chains.block_tokens:,} tokens of a block, "
            f"got {block_bytes:,}"
        )
    lengths, order = chains.lengths, _order_of(chains)
    is_read = order >= 0
    index = np.where(is_read, order, ~order)
    request = np.repeat(np.arange(len(chains)), 2 * lengths)
    tokens = np.full(len(chains.blocks), chains.block_tokens, np.int64)
    listed = lengths > 0
    last = chains.starts[1:][listed] - 1
    tokens[last] = np.minimum(
        chains.block_tokens,
        chains.tokens[listed] - (lengths[listed] - 1) * chains.block_tokens,
    )
    read_bytes = tokens[index] * (block_bytes // chains.block_tokens)
    elapsed = np.rint((chains.times - chains.times[:1]) * 1e9).astype(np.int64)
    tenant = np.zeros(len(chains), np.uint16) if chains.tenant is None else chains.tenant
    return Trace.from_arrays(
        elapsed[request],
        chains.blocks[index].astype(np.uint64) * np.uint64(block_bytes),
        np.where(is_read, read_bytes, block_bytes).astype(np.uint32),
        vm=tenant[request].astype(np.uint16),
        op=np.where(is_read, READ, WRITE).astype(np.uint8),
        vms=tuple(chains.tenants) or ("all",),
        source=chains.label,
    )


def _order_of(chains: ChainTrace) -> NDArray[np.int64]:
    """Return the index of each block that is read, or the complement of one that is touched."""
    lengths = chains.lengths
    rows = np.arange(2 * len(chains.blocks))
    first = np.repeat(2 * chains.starts[:-1], 2 * lengths)
    start, length = (np.repeat(of, 2 * lengths) for of in (chains.starts[:-1], lengths))
    place = rows - first
    order: NDArray[np.int64] = np.where(
        place < length, start + place, ~(start + 2 * length - 1 - place)
    )
    return order


def generate_chains(
    tenants: Mapping[str, ChainTenantSpec], block_tokens: int, duration: int, seed: int
) -> ChainTrace:
    """Generate prompts of tenants, each of which extends the last one of its session.

    Parameters
    ----------
    tenants : mapping of str to ChainTenantSpec
    block_tokens : int
    duration : int
        Nanoseconds.
    seed : int

    Returns
    -------
    ChainTrace
        The requests of all tenants by time. No block is in prompts of two tenants.
    """
    draw = random.Random(seed)
    specs = list(tenants.values())
    arrivals = []
    for number, spec in enumerate(specs):
        begin = spec.start.length
        length = (duration if spec.end is None else spec.end.length) - begin
        arrivals += [(begin + int(draw.random() * length), number) for _ in range(spec.requests)]
    arrivals.sort()
    ids = count()
    first = [list(islice(ids, spec.instructions)) for spec in specs]
    last: dict[tuple[int, int], list[int]] = {}
    flat: list[int] = []
    starts = [0]
    for _, number in arrivals:
        spec = specs[number]
        session = int(draw.random() * spec.sessions)
        prompt = last.get((number, session), first[number])
        if len(prompt) > spec.longest:
            prompt = first[number]
        least, most = spec.turn
        added = least + int(draw.random() * (most - least + 1))
        last[number, session] = prompt = [*prompt, *islice(ids, added)]
        flat += prompt
        starts.append(len(flat))
    lengths = np.diff(starts)
    return ChainTrace(
        starts=np.array(starts, np.int64),
        blocks=np.array(flat, np.uint32),
        tokens=lengths.astype(np.int64) * block_tokens,
        block_tokens=block_tokens,
        times=np.array([time for time, _ in arrivals], np.float64) * 1e-9,
        tenant=np.array([number for _, number in arrivals], np.int32),
        tenants=tuple(tenants),
        label="generated chains",
    )
