# Trusts: every way to fill a tiny cache, and that a bound is one, whatever system runs.
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hosts import add_vm, tiered

from mcsim._core import engine, locality
from mcsim.experiment.prepared import opt_hits

machine = partial(tiered, read_ns=30.0, slower=10, disk_ns=1e6)


READ, WRITE, DISCARD = range(3)


def interned(
    rng: np.random.Generator, count: int, vms: int, blocks: int, discards: float = 0.0
) -> engine.Accesses:
    """Reads, writes and discards of several VMs, some blocks hotter than others."""
    builder = engine.AccessBuilder(ops="all")
    owner = rng.integers(0, vms, count)
    hot = rng.integers(0, 2, count).astype(bool)
    number = np.where(
        hot, rng.integers(0, max(1, blocks // 6), count), rng.integers(0, blocks, count)
    )
    for vm in range(vms):
        mine = owner == vm
        drawn = rng.random(count)
        ops = np.select([drawn < discards, drawn < discards + 0.3], [DISCARD, WRITE], READ)
        add_vm(builder, f"vm{vm}", np.flatnonzero(mine), ops[mine], number[mine])
    return builder.finish()


def most_hits(
    blocks: list[int], capacity: int, first: int, discards: Sequence[tuple[int, int]] = ()
) -> int:
    """Hits from access `first` on, in a cache that may begin with any blocks accessed before.

    Blocks that are discarded before an access leave the cache.
    """
    seen: set[int] = set()
    for i, block in enumerate(blocks[:first]):
        seen -= {of for at, of in discards if at == i}
        seen.add(block)
    kept = min(capacity, len(seen))
    best = {frozenset(held): 0 for held in combinations(sorted(seen), kept)} or {frozenset(): 0}
    for i, block in enumerate(blocks[first:], first):
        gone = {of for at, of in discards if at == i}
        after: dict[frozenset[int], int] = {}
        for held, hits in best.items():
            held -= gone
            hits += block in held
            ways = [held]
            if block not in held:
                grown = held | {block}
                ways += [grown] if len(grown) <= capacity else [grown - {out} for out in held]
            for way in ways:
                after[way] = max(after.get(way, 0), hits)
        best = after
    return max(best.values())


@pytest.mark.parametrize("capacity", [1, 2, 3])
@pytest.mark.parametrize("first", [0, 8])
def test_nothing_that_a_tiny_cache_can_do_hits_more(capacity: int, first: int) -> None:
    rng = np.random.default_rng(capacity)
    for _ in range(20):
        accesses = interned(rng, 26, 2, 5)
        blocks = accesses.ids.tolist()
        bound = opt_hits(accesses, capacity, first)
        assert most_hits(blocks, capacity, first) <= bound <= most_hits(blocks, capacity + 1, first)


@pytest.mark.parametrize("capacity", [1, 2, 3])
@pytest.mark.parametrize("first", [0, 12])
def test_discards_bound_what_a_tiny_cache_can_do(capacity: int, first: int) -> None:
    rng = np.random.default_rng(10 + capacity)
    for _ in range(40):
        accesses = interned(rng, 32, 2, 5, discards=0.25)
        blocks, start = accesses.ids.tolist(), min(first, accesses.request_count)
        positions = accesses.request_begin[accesses.discard_request].tolist()
        gone = list(zip(positions, accesses.discard_block.tolist(), strict=True))
        bound = opt_hits(accesses, capacity, start)
        most = [most_hits(blocks, of, start, gone) for of in (capacity, capacity + 1)]
        assert most[0] <= bound <= most[1]


def test_what_a_warm_up_discards_is_not_hit() -> None:
    builder = engine.AccessBuilder(ops="all")
    add_vm(builder, "vm", np.arange(4), [READ, DISCARD, READ, READ], [0, 0, 1, 0])
    assert opt_hits(builder.finish(), 2, 2) == 0


def params_of(name: str) -> list[dict[str, Any]]:
    """Variants of each system: its defaults, other policies, and admission filters."""
    entry = next(entry for entry in engine.describe_systems() if entry["name"] == name)
    declared = {param["name"] for param in entry["params"]}
    needed = {"bcache": {"bucket_kib": 4}, "open-cas": {"metadata": False}}
    tried: list[dict[str, Any]] = [needed.get(name, {})]
    if {"policy", "admission", "writes"} <= declared:
        tried += [
            {"policy": "opt", "writes": "back"},
            {"policy": "s3-fifo", "admission": "nth(n=2)"},
            {"policy": "arc", "chain": "inclusive"},
            {"writes": "around", "policy": "lirs / lru"},
        ]
    return tried


def of_single_blocks(name: str) -> bool:
    """Whether a system holds nothing but what was accessed; extents have more."""
    return bool(engine.System(name, {}, machine(12, 25)).view()["line_blocks"] == 1)


SYSTEMS = [entry["name"] for entry in engine.describe_systems() if of_single_blocks(entry["name"])]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("warm_up", [0, 2])
def test_no_system_hits_more(name: str, warm_up: int) -> None:
    rng = np.random.default_rng(5)
    for seed, params in enumerate(params_of(name)):
        scale = 20 if name == "bcache" else 1  # 513 buckets are the least
        accesses = interned(rng, 4000, 3, scale * (60 + 10 * seed))
        host = machine(scale * 12, scale * 25)
        system = engine.System(name, params, host, interval=500)
        measured = locality.characterise(accesses, system.meters)
        cuts = engine.aligned_cuts(accesses, 500)[warm_up:]
        result = engine.run(accesses, system, measured, cuts)
        hits = int(result.tiers["hits"].sum())
        assert 0 < hits <= opt_hits(accesses, scale * 37, int(cuts[0])), params
