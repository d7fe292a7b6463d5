# Trusts: enumeration of everything that a cache may keep, for streams of a few references.
"""PFOO bounds what caches of objects with sizes hit."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import mcsim as mc
from mcsim._core import policies as core
from mcsim.base.errors import ConfigError


def most_hits(keys: list[int], sizes: list[int], capacity: int, *, by_bytes: bool) -> int:
    """Try everything: after each reference, the cache may keep any of its objects and this one."""

    @cache
    def best(at: int, held: frozenset[int]) -> int:
        if at == len(keys):
            return 0
        key, of_size = keys[at], dict(zip(keys, sizes, strict=True))
        gain = (of_size[key] if by_bytes else 1) if key in held else 0
        after = sorted(held | {key})
        options = []
        for choice in range(2 ** len(after)):
            kept = frozenset(one for i, one in enumerate(after) if choice >> i & 1)
            if sum(of_size[one] for one in kept) <= capacity:
                options.append(best(at + 1, kept))
        return gain + max(options)

    return best(0, frozenset())


def bound(keys: list[int], sizes: list[int], capacity: int, *, by_bytes: bool) -> int:
    """Take hits in the order of their cost, until space and time are used up."""
    last: dict[int, int] = {}
    costs = []
    for at, (key, size) in enumerate(zip(keys, sizes, strict=True)):
        if key in last and size <= capacity:
            cost = size * (at - last[key])
            costs.append((Fraction(cost, size if by_bytes else 1), cost, size if by_bytes else 1))
        last[key] = at
    space, gained = Fraction(len(keys) * capacity), Fraction(0)
    for _, cost, value in sorted(costs):
        share = min(Fraction(1), space / cost)
        gained += share * value
        space -= share * cost
    return int(gained)


def trace_of(keys: list[int], sizes: list[int]) -> mc.Trace:
    return mc.Trace.from_arrays(range(len(keys)), keys, sizes, kind="objects", source="few")


def test_no_cache_hits_more() -> None:
    tight = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        keys = draw.integers(0, 4, 9).tolist()
        sizes = draw.integers(1, 8, 4)[keys].tolist()
        blocks = mc.in_bytes(trace_of(keys, sizes))
        for capacity in (3, 7, 12):
            row = mc.simulate(blocks, "pfoo", [capacity])[0]
            found = {False: row.hits, True: round(row.byte_hit_ratio * sum(sizes))}
            for by_bytes, most in found.items():
                assert most == bound(keys, sizes, capacity, by_bytes=by_bytes), (seed, capacity)
                real = most_hits(keys, sizes, capacity, by_bytes=by_bytes)
                assert most >= real, (seed, capacity)
                tight += most == real
    assert tight > 100  # of 360


@pytest.mark.parametrize("changes", [False, True])
def test_no_policy_hits_more(changes: bool) -> None:
    for seed in range(30):
        draw = np.random.default_rng(seed)
        keys = (draw.zipf(1.2, 800) % 50).tolist()
        sizes = draw.integers(1, 500, 800) if changes else draw.integers(1, 500, 50)[keys]
        blocks = mc.in_bytes(trace_of(keys, sizes.tolist()))
        rows = mc.simulate(blocks, "all", ["2%", "10%", "50%"])
        for capacity in set(rows.capacity.tolist()):
            of_size = rows[rows.capacity == capacity]
            most = of_size[of_size.policy == "pfoo"][0]
            assert of_size.hits.max() == most.hits, (seed, capacity)
            if not changes:
                assert of_size.byte_hit_ratio.max() == most.byte_hit_ratio, (seed, capacity)


def test_belady_size_evicts_the_largest_and_latest() -> None:
    evicted = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        keys = (draw.zipf(1.3, 300) % 30).tolist()
        sizes = draw.integers(1, 2**20, 30)[keys].tolist()  # products differ
        capacity = sum(set(sizes)) // 4
        following: dict[int, int] = {}
        next_use = [0] * len(keys)
        for at in range(len(keys) - 1, -1, -1):
            next_use[at] = following.get(keys[at], -1)
            following[keys[at]] = at
        held: dict[int, tuple[int, int]] = {}
        hits = 0
        for at, (key, size) in enumerate(zip(keys, sizes, strict=True)):
            hits += key in held
            if next_use[at] < 0:
                held.pop(key, None)
            elif key in held:
                held[key] = (size, next_use[at])
            elif size <= capacity:
                while sum(of for of, _ in held.values()) + size > capacity:
                    del held[max(held, key=lambda one: held[one][0] * (held[one][1] - at))]
                    evicted += 1
                held[key] = (size, next_use[at])
        numbers, unique = core.number(np.array(keys, np.uint64))
        # So many draws leave out no object.
        config = ("belady-size", {"sample": 4096}, capacity)
        found = core.simulate(numbers, unique, [config], weights=np.array(sizes, np.uint32))
        assert int(found["hits"][0]) == hits, seed
    assert evicted > 500


def test_the_bound_knows_deletions_and_warm_ups() -> None:
    keys, sizes = [1, 2, 1, 2, 1], [10, 20, 10, 20, 10]
    blocks = mc.in_bytes(trace_of(keys, sizes))
    assert mc.simulate(blocks, "pfoo", [30]).hits.tolist() == [3]
    warm = mc.in_bytes(trace_of(keys, sizes).blocks(warm_up="3ns"))
    (row,) = mc.simulate(warm, "pfoo", [30])
    assert (row.accesses, row.hits, row.byte_hit_ratio) == (2, 2, 1.0)
    deleted = mc.Trace.from_arrays(
        range(6), [1, 2, 1, 2, 2, 1], [10, 20, 10, 0, 20, 10], op=[0, 0, 0, 2, 0, 0], kind="objects"
    )
    assert mc.simulate(mc.in_bytes(deleted), ["pfoo", "lru"], [30]).hits.tolist() == [2, 2]


def test_messages_name_what_works() -> None:
    blocks = trace_of([1, 2, 1], [10, 20, 10])
    with pytest.raises(ConfigError, match="pfoo: it is for objects with sizes: give a size in b"):
        mc.simulate(blocks, "pfoo", [1])
    with pytest.raises(ConfigError, match=r"opt: .* belady-size; pfoo bounds the hits of all"):
        mc.simulate(blocks, "opt", ["30B"])
    with pytest.raises(ConfigError, match="pfoo is a bound of whole caches"):
        mc.miniature(blocks, "pfoo", ["30B"])
    with pytest.raises(ConfigError, match="belady-size: it is for objects"):
        mc.simulate([1, 2, 1], "belady-size", [1])
