"""Prefix hits of KV caches at every capacity.

Trusts: replays of prefixes in plain Python, one for each capacity; a trie that evicts leaves;
closed forms for sessions of equal length.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from naive_prefixes import (
    Prefix,
    prefixes_of,
    replay,
    replay_copies,
    replay_inclusive,
    replay_parts,
    replay_tiers,
    replay_trie,
)
from prefix_workloads import BLOCK, trace_of, workload

import mcsim as mc
from mcsim.locality.prefix_tables import kv_bytes_per_token
from mcsim.locality.prefixes import FullHit, Order, PrefixUnit

SIZES = (1, 2, 3, 4, 6, 8, 12, 20, 28, 50, 10_000)


@pytest.mark.parametrize("order", ["tail-first", "head-first"])
@pytest.mark.parametrize("full_hit", ["all", "minus-one-block", "minus-one-token"])
def test_one_pass_equals_a_replay_at_every_capacity(order: Order, full_hit: FullHit) -> None:
    for seed in range(6):
        chains, tokens = workload(seed)
        warm_up = 10 * (seed % 2)
        curve = mc.prefix_curve(
            trace_of(chains, tokens), order=order, full_hit=full_hit, warm_up=warm_up
        )
        for row in curve.table(SIZES):
            counts = replay(
                chains, tokens, BLOCK, row.capacity,
                order=order, full_hit=full_hit, warm_up=warm_up,
            )  # fmt: skip
            found = (row.hits, row.token_hits, row.full_hits)
            assert found == (counts.blocks, counts.tokens, counts.full), (seed, row.capacity)
            assert row.recomputed == sum(tokens[warm_up:]) - counts.tokens


def test_tail_first_equals_a_trie_that_evicts_leaves() -> None:
    for seed in range(4):
        chains, tokens = workload(seed)
        for row in mc.prefix_curve(trace_of(chains, tokens)).table(SIZES):
            counts = replay_trie(chains, tokens, BLOCK, row.capacity)
            assert (row.hits, row.token_hits) == (counts.blocks, counts.tokens), seed


def test_a_sample_of_blocks_estimates_the_curve() -> None:
    draw = random.Random(1)
    chains: list[list[int]] = [[]] * 3000
    prompts: list[list[int]] = []
    for request in range(12_000):
        session = int(len(chains) * draw.random() ** 2)
        base = chains[session] if 0 < len(chains[session]) < 50 else [1, 2, 3, 4][: session % 5]
        chains[session] = [*base, *(1000 * request + k for k in range(10, 10 + session % 7))]
        prompts.append(chains[session])
    trace = trace_of(prompts, [len(prompt) * BLOCK - len(prompt) % 2 for prompt in prompts])
    sizes = np.geomspace(100, trace.distinct, 20).astype(int)
    rules: dict[str, Any] = {"full_hit": "minus-one-block", "warm_up": "20%"}
    exact = mc.prefix_curve(trace, **rules)
    samples = [mc.prefix_curve(trace, rate="10%", seed=seed, **rules) for seed in range(8)]
    for found in samples:
        assert (found.requests, found.blocks) == (exact.requests, exact.blocks)
        assert found.tokens == exact.tokens
        assert (np.diff(found.capacities) > 0).all()
    units: dict[PrefixUnit, float] = {"blocks": 0.02, "tokens": 0.02, "requests": 0.03}
    for unit, most in units.items():
        errors = [found.of(unit).at(sizes) - exact.of(unit).at(sizes) for found in samples]
        assert np.abs(errors).mean() < most, unit
        assert np.abs(np.mean(errors, axis=0)).max() < 0.02, unit  # no bias
    assert np.array_equal(
        mc.prefix_curve(trace, rate=1).token_hits, mc.prefix_curve(trace).token_hits
    )


def test_head_first_throws_away_prefixes() -> None:
    chains = [[1, 2, 3], [9], [1, 2, 3]]
    trace = trace_of(chains, [12, 4, 12])
    hits = {order: mc.prefix_curve(trace, order=order) for order in ("tail-first", "head-first")}
    assert hits["tail-first"].table([3]).hits.tolist() == [2]
    assert hits["head-first"].table([3]).hits.tolist() == [0]


@pytest.mark.parametrize("sessions", [1, 3, 7])
def test_sessions_of_equal_length_hit_from_their_total_on(sessions: int) -> None:
    length, rounds = 5, 4
    chains = [[100 * s + b for b in range(length)] for s in range(sessions)] * rounds
    curve = mc.prefix_curve(trace_of(chains, [length * BLOCK] * len(chains)))
    # A session is under the others; its block at depth d hits from (sessions - 1) * length + d on.
    least = (sessions - 1) * length
    assert curve.capacities.tolist() == [least + d for d in range(1, length + 1)]
    assert np.diff(curve.block_hits, prepend=0).tolist() == [sessions * (rounds - 1)] * length
    assert curve.ceiling == (rounds - 1) / rounds
    assert curve.capacity_for(curve.ceiling) == sessions * length
    assert curve.capacity_for(1) is None


def test_tenants_of_a_shared_cache_add_up() -> None:
    chains, tokens = workload(5)
    names = [("ann", "bob", "cid")[i % 3] for i in range(len(chains))]
    trace = trace_of(chains, tokens, tenants=names)
    assert trace.tenants == ["ann", "bob", "cid"]
    curves = mc.prefix_curves(trace, warm_up="25%")
    whole = mc.prefix_curve(trace, warm_up=10).table(SIZES)
    for column in ("hits", "token_hits", "full_hits"):
        parts = [curve.table(SIZES)[column] for curve in curves.values()]
        assert np.array_equal(np.sum(parts, axis=0), whole[column])
    alone = trace.of_tenant("bob")
    mine = [i for i, name in enumerate(names) if name == "bob"]
    own = [chains[i] for i in mine]
    for row in mc.prefix_curve(alone).table(SIZES):
        assert row.hits == replay(own, [tokens[i] for i in mine], BLOCK, row.capacity).blocks
    with pytest.raises(mc.ConfigError, match="no tenant 'dan'"):
        trace.of_tenant("dan")
    with pytest.raises(mc.ConfigError, match="no tenants"):
        mc.prefix_curves(alone)


def test_a_cache_is_divided_among_tenants_by_their_curves() -> None:
    chains = [[1, 2], [1, 2], [7], [8], [1, 2], [9]]
    trace = trace_of(chains, [len(c) * BLOCK for c in chains], tenants=list("aabbab"))
    curves = [mc.prefix_curve(trace.of_tenant(name)) for name in trace.tenants]
    values = np.array([curve.table(range(3)).token_hits for curve in curves])
    assert values.tolist() == [[0, 8, 16], [0, 0, 0]]
    assert mc.optimize(values, 2).allocation.tolist() == [[2, 0]]


@pytest.mark.parametrize("sizes", [(2, 5, 9), (1, 0, 20), (7,)])
def test_tiers_equal_a_replay_that_moves_victims_down(sizes: tuple[int, ...]) -> None:
    for seed in range(4):
        chains, tokens = workload(seed)
        curve = mc.prefix_curve(trace_of(chains, tokens), block_bytes=100)
        names = [f"tier {k}" for k in range(len(sizes))]
        rows = mc.prefix_tiers(
            curve, dict(zip(names, sizes, strict=True)), bandwidth={"tier 0": 50.0}, prefill=2.0
        )
        hits = replay_tiers(chains, sizes)
        assert rows.loaded.tolist() == [*(100 * blocks for blocks in hits), None]
        assert rows.load_seconds.tolist() == [2.0 * hits[0], *[0.0] * (len(sizes) - 1), None]
        assert sum(rows.token_hits) == sum(tokens)
        saved = [row.token_hits / 2 - row.load_seconds for row in rows[:-1]]
        assert rows.saved_seconds.tolist() == [*saved, None]


@pytest.mark.parametrize("sizes", [(2, 5, 9), (1, 0, 20), (7,), (5, 3), (0, 4)])
def test_tiers_with_copies_equal_replays(sizes: tuple[int, ...]) -> None:
    for seed in range(4):
        chains, tokens = workload(seed)
        trace = trace_of(chains, tokens)
        curve = mc.prefix_curve(trace, block_bytes=1)
        tiers = {f"tier {k}": size for k, size in enumerate(sizes)}
        rows = mc.prefix_tiers(curve, tiers, rule="inclusive")
        assert rows.loaded.tolist() == [*replay_inclusive(chains, sizes), None], seed
        rows = mc.prefix_tiers(curve, tiers, rule="copy-on-eviction", trace=trace)
        assert rows.loaded.tolist() == [*replay_copies(chains, sizes), None], seed
        assert sum(rows.token_hits) == sum(tokens)


def test_one_tier_has_the_hits_of_one_cache_under_all_rules() -> None:
    trace = trace_of(*workload(2))
    rules: dict[str, Any] = {"full_hit": "minus-one-token", "warm_up": "30%"}
    curve = mc.prefix_curve(trace, **rules)
    for size in (1, 7, 300):
        exclusive = mc.prefix_tiers(curve, {"gpu": size})
        inclusive = mc.prefix_tiers(curve, {"gpu": size}, rule="inclusive")
        copies = mc.prefix_tiers(
            curve, {"gpu": size}, rule="copy-on-eviction", trace=trace, **rules
        )
        tokens = exclusive.token_hits.tolist()
        assert tokens == inclusive.token_hits.tolist() == copies.token_hits.tolist()


def test_parts_are_the_best_of_all_divisions() -> None:
    chains, tokens = workload(8)
    trace = trace_of(chains, tokens, tenants=["ab"[i % 2] for i in range(len(chains))])
    capacity = 24
    parts = mc.prefix_partition(trace, capacity)
    values = [
        mc.prefix_curve(trace.of_tenant(name)).table(range(capacity + 1)).token_hits
        for name in "ab"
    ]
    best = max(values[0][k] + values[1][capacity - k] for k in range(capacity + 1))
    assert parts.token_hits.tolist()[-1] == best == sum(parts.token_hits.tolist()[:-1])
    shared = mc.prefix_curve(trace).table([capacity]).token_hits[0]
    assert parts.shared_token_hits.tolist()[-1] == shared


def test_parts_of_intervals_equal_a_replay() -> None:
    for seed in range(4):
        chains, tokens = workload(seed)
        tokens = [len(chain) * BLOCK for chain in chains]
        number = [(i * i + seed) % 3 for i in range(len(chains))]
        number[:3] = range(3)
        trace = trace_of(chains, tokens, tenants=["abc"[n] for n in number])
        times = np.arange(len(chains), dtype=float)
        timed = dataclasses.replace(trace, times=times)
        capacity, parts = 20, [[6, 6, 6]]
        for begin in range(0, 30, 10):
            values = []
            for n in range(3):
                chosen = [i for i in range(begin, begin + 10) if number[i] == n]
                curve = mc.prefix_curve(timed.taken(np.array(chosen, int)))
                values.append(curve.table(range(capacity + 1)).token_hits)
            parts.append(mc.optimize(values, capacity).allocation[0].tolist())
        rows = mc.prefix_partition(timed, capacity, interval="10s")
        assert rows.capacity.tolist()[:3] == np.rint(np.mean(parts, axis=0)).tolist()
        hits = replay_parts(chains, number, [parts[i // 10] for i in range(len(chains))])
        of_tenant = [sum(h for h, n in zip(hits, number, strict=True) if n == k) for k in range(3)]
        assert rows.token_hits.tolist()[:3] == [BLOCK * blocks for blocks in of_tenant], seed


def test_divisions_are_refused_with_the_reason() -> None:
    trace = trace_of([[1], [2]], [4, 4], tenants=["a", "b"])
    with pytest.raises(mc.ConfigError, match="optimizer: centaur: a system of host caches, whose"):
        mc.prefix_partition(trace, 2, optimizer="centaur")
    with pytest.raises(mc.ConfigError, match="interval: the trace has no times"):
        mc.prefix_partition(trace, 2, interval="1s")
    with pytest.raises(mc.ConfigError, match="order: divisions by intervals touch tails first"):
        mc.prefix_partition(trace, 2, interval="1s", order="head-first")
    assert mc.prefix_partition(trace, 4, optimizer="equal").capacity.tolist() == [2, 2, 4]


def test_equal_parts_are_those_of_mix() -> None:
    chains, tokens = workload(9)
    names = ["abc"[i % 3] for i in range(len(chains))]
    trace = trace_of(chains, tokens, tenants=names)
    for capacity in (3, 10, 17):
        parts = mc.prefix_partition(trace, capacity, optimizer="equal")
        assert parts.capacity.tolist()[:3] == [capacity // 3] * 3
        misses = mc.mix(trace, [capacity]).equal[0]
        assert sum(tokens) - parts.token_hits.tolist()[-1] == misses


def test_mix_divides_among_tenants() -> None:
    chains, tokens = workload(8)
    trace = trace_of(chains, tokens, tenants=["ab"[i % 2] for i in range(len(chains))])
    found = mc.mix(trace, [4, 24])
    shared = mc.prefix_curve(trace).table([4, 24])
    assert found.shared.tolist() == shared.recomputed.tolist()
    for capacity, misses, allocation in zip((4, 24), found.parts, found.allocation, strict=True):
        parts = mc.prefix_partition(trace, capacity)
        assert misses == sum(tokens) - parts.token_hits[-1]
        assert allocation.sum() == capacity
    with pytest.raises(mc.ConfigError, match="order: a chain trace is in the order of time"):
        mc.mix(trace, order="rates")
    with pytest.raises(mc.ConfigError, match="no tenants"):
        mc.mix(trace_of(chains, tokens))


def test_tokens_by_earlier_readers() -> None:
    chains, tokens = workload(3)
    names = ["ab"[i % 2] for i in range(len(chains))]
    sessions = [i % 5 for i in range(len(chains))]
    trace = trace_of(chains, tokens, tenants=names)
    trace = dataclasses.replace(trace, session=np.array(sessions, np.int32))
    counts = {"session": 0, "tenant": 0, "others": 0, "first": 0}
    readers: dict[Prefix, set[object]] = {}
    for chain, length, name, session in zip(chains, tokens, names, sessions, strict=True):
        for k, node in enumerate(prefixes_of(chain)):
            of = readers.setdefault(node, set())
            before = "others" if of else "first"
            before = "tenant" if name in of else before
            before = "session" if session in of else before
            counts[before] += min(BLOCK, length - k * BLOCK)
            of |= {session, name}
        counts["first"] += max(0, length - len(chain) * BLOCK)
    found = mc.prefix_sharing(trace)
    assert dict(zip(found.before, found.tokens, strict=True)) == counts
    assert 1 - found.share[-1] == pytest.approx(mc.prefix_curve(trace).ceiling)


def test_wrong_tiers_are_named() -> None:
    curve = mc.prefix_curve(trace_of([[1]], [4]))
    sized = mc.prefix_curve(trace_of([[1]], [4]), block_bytes=1)
    for of, more, message in [
        (curve, {"bandwidth": {"ssd": 1.0}}, "no tier 'ssd'"),
        (curve, {"bandwidth": {"gpu": 1.0}}, "bandwidth: needs block_bytes"),
        (sized, {"bandwidth": {"gpu": 0.0}}, "gpu: expected a rate above 0"),
        (curve, {"rule": "both"}, "rule: unknown choice 'both'"),
        (curve, {"rule": "copy-on-eviction"}, "rule: copy-on-eviction is replayed, and needs the"),
        (curve, {"prefill": float("nan")}, "prefill: expected a rate above 0"),
    ]:
        with pytest.raises(mc.ConfigError, match=message):
            mc.prefix_tiers(of, {"gpu": 1}, **more)  # type: ignore[arg-type]
    with pytest.raises(mc.ConfigError, match="tiers: gpu"):
        mc.prefix_tiers(curve, {"gpu": -1})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"order": "middle"}, "order: unknown choice 'middle'"),
        ({"full_hit": "most"}, "full_hit: unknown choice 'most'"),
        ({"warm_up": -1}, "warm_up"),
        ({"warm_up": "half"}, "warm_up"),
        ({"block_bytes": 0}, "block_bytes"),
        ({"block_bytes": 2**50}, "block_bytes"),
        ({"rate": 0}, "rate: expected a share above 0"),
        (
            {"rate": "2%", "order": "head-first"},
            "rate: expected a share above 0, and 1 for head-fi",
        ),
        ({"rate": 0.5, "seed": -1}, "seed"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(mc.ConfigError, match=message):
        mc.prefix_curve(trace_of([[1]], [4]), **wrong)  # type: ignore[arg-type]


def test_intervals_need_times_and_are_few() -> None:
    trace = trace_of([[1]] * 10_001, [4] * 10_001)
    with pytest.raises(mc.ConfigError, match="interval: the trace has no times"):
        mc.prefix_curves(trace, interval="1s")
    timed = dataclasses.replace(trace, times=np.arange(10_001, dtype=float))
    with pytest.raises(mc.ConfigError, match=r"interval: 10,001 intervals; at most 10,000"):
        mc.prefix_curves(timed, interval="1s")
    curves = mc.prefix_curves(timed, interval="1h")
    assert {begin: curve.requests for begin, curve in curves.items()} == {
        "0s": 3600, "1h": 3600, "2h": 2801,
    }  # fmt: skip


def test_capacities_in_bytes_fit() -> None:
    curve = mc.prefix_curve(trace_of([[1]], [4]), block_bytes=2**40)
    with pytest.raises(mc.ConfigError, match="capacities: 8,388,608 blocks of"):
        curve.table([2**23])


def test_an_empty_trace_hits_nothing() -> None:
    curve = mc.prefix_curve(trace_of([[], []], [0, 3]))
    assert (curve.requests, curve.blocks, curve.tokens, curve.ceiling) == (2, 0, 3, 0)
    assert curve.table([5]).token_hits.tolist() == [0]
    assert curve.of("tokens").at(5) == 0


def test_bytes_of_a_model_card() -> None:
    assert kv_bytes_per_token(80, 8, 128, 1) == 2 * 80 * 8 * 128
    with pytest.raises(mc.ConfigError, match="layers"):
        kv_bytes_per_token(0, 8, 128)
