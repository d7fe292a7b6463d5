"""Tests that a policy must pass before it is compared with others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.policies.simulation import memory_needed, simulate

OPTIMUM = "opt(refuse=true)"
"""The policy that no other can beat, with or without refusal."""

_CAPACITIES = (1, 2, 7, 32)
_LENGTHS = (30, 300, 1200)


def check_conformance(policy: Any, seed: int) -> None:
    """Replay short streams, and check the results of a policy.

    - After each stream the cache holds no more blocks than its capacity, and all that the policy
      holds is in the directory of blocks. The engine checks this, and the invariants of policies.
    - Equal replays have equal counts.
    - No stream has more hits than the optimum with refusal.

    Raises
    ------
    ConfigError
        With the stream and the capacity of the first failure.
    """
    memory_needed([0], policy, [1])  # fails for wrong names and parameters
    for name, blocks in _streams(seed):
        for length in _LENGTHS:
            part = blocks[:length]
            counts = _counts(policy, part, seed, name)
            if counts != _counts(policy, part, seed, name):
                raise ConfigError(f"{name}: two equal replays have different counts")
            best = _optimum(seed, name, length)
            for (hits, _), most, capacity in zip(counts, best, _CAPACITIES, strict=True):
                if hits > most:
                    raise ConfigError(
                        f"{name}, capacity {capacity}: {hits} hits, but the optimum has {most}"
                    )


def _counts(policy: Any, blocks: NDArray[np.int64], seed: int, name: str) -> list[tuple[int, int]]:
    try:
        rows = simulate(blocks, policy, _CAPACITIES, seed=seed, threads=1, one_pass=False)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    return list(zip(rows.hits.tolist(), rows.evictions.tolist(), strict=True))


@cache
def _optimum(seed: int, name: str, length: int) -> list[int]:
    blocks = dict(_streams(seed))[name][:length]
    rows = simulate(blocks, OPTIMUM, _CAPACITIES, seed=seed, threads=1)
    hits: list[int] = rows.hits.tolist()
    return hits


def _streams(seed: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield named streams: skewed, uniform, loops of all lengths, hot blocks in scans."""
    draw = np.random.default_rng(seed)
    longest = _LENGTHS[-1]
    yield "skewed", np.minimum(draw.zipf(1.3, longest), 200)
    yield "uniform", draw.integers(0, 2 * _CAPACITIES[-1], longest)
    loops = [np.tile(np.arange(size + 1) + 1000 * size, 9) for size in _CAPACITIES]
    yield "loops", np.concatenate([*loops, np.arange(longest)])[:longest]
    scans = np.arange(longest) + 1000
    yield "scans", np.where(draw.random(longest) < 0.5, draw.integers(0, 5, longest), scans)
