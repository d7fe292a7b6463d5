"""Small chain traces for tests of KV caches."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

import mcsim as mc

BLOCK = 4
"""Tokens of a block."""


def workload(seed: int) -> tuple[list[list[int]], list[int]]:
    """Make prompts that extend prefixes of earlier ones, of contents that occur anywhere."""
    draw = random.Random(seed)
    chains: list[list[int]] = []
    tokens: list[int] = []
    for _ in range(40):
        base = draw.choice(chains) if chains and draw.random() < 0.6 else []
        chain = base[: draw.randrange(len(base) + 1)]
        chain = chain + [draw.randrange(3) for _ in range(draw.randrange(6))]
        chains.append(chain)
        least = (len(chain) - 1) * BLOCK + 1 if chain else 0
        tokens.append(draw.randrange(least, (len(chain) + 1) * BLOCK))
    return chains, tokens


def trace_of(
    chains: Sequence[Sequence[int]], tokens: Sequence[int], **more: Sequence[str]
) -> mc.ChainTrace:
    starts = np.cumsum([0, *map(len, chains)])
    flat = [one for chain in chains for one in chain]
    return mc.ChainTrace.from_arrays(starts, flat, block_tokens=BLOCK, tokens=tokens, **more)
