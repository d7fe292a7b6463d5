"""KV caches under eviction policies, and the bound on prefix hits.

Trusts: a trie in plain Python; `simulate`, which finds by one more access whether a block is
cached; the best of all contents that small caches can have.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from naive_prefixes import most_hits, replay, replay_trie
from prefix_workloads import BLOCK, trace_of, workload

import mcsim as mc
from mcsim.locality.prefixes import FullHit, Order

SIZES = [1, 2, 3, 5, 8, 13, 30, 10_000]
LEAVES = ["leaf-lru", "leaf-lfu", "leaf-fifo"]


def timed(trace: mc.ChainTrace, seed: int) -> tuple[mc.ChainTrace, list[tuple[float, float]]]:
    """Give requests times and durations; some arrive or finish together."""
    draw = random.Random(seed)
    times = sorted(draw.randrange(30) for _ in range(len(trace)))
    running = [(float(at), float(at + draw.randrange(8))) for at in times]
    columns = np.array(running).T
    return dataclasses.replace(trace, times=columns[0], finish_times=columns[1]), running


@pytest.mark.parametrize("policy", LEAVES)
def test_leaves_equal_a_trie_in_python(policy: str) -> None:
    for seed in range(6):
        chains, tokens = workload(seed)
        trace, running = timed(trace_of(chains, tokens), seed)
        for pin in ("none", "arrival-to-finish"):
            given = None if pin == "none" else running
            for row in mc.prefix_replay(trace, policy, SIZES, pin=pin):
                counts = replay_trie(
                    chains, tokens, BLOCK, row.capacity, rule=policy, running=given
                )
                found = (row.hits, row.token_hits, row.full_hits)
                assert found == (counts.blocks, counts.tokens, counts.full), (seed, row)


@pytest.mark.parametrize("order", ["tail-first", "head-first"])
@pytest.mark.parametrize("full_hit", ["all", "minus-one-block", "minus-one-token"])
def test_lru_equals_the_curve(order: Order, full_hit: FullHit) -> None:
    rules: dict[str, Any] = {"order": order, "full_hit": full_hit, "warm_up": "25%"}
    for seed in range(4):
        trace = trace_of(*workload(seed))
        curve = mc.prefix_curve(trace, block_bytes=10, **rules).table(SIZES)
        rows = mc.prefix_replay(trace, "lru", SIZES, block_bytes=10, threads=2, **rules)
        for name in curve.column_names:
            assert np.array_equal(rows[name], curve[name]), (seed, name)
        if order == "tail-first":
            leaves = mc.prefix_replay(trace, "leaf-lru", SIZES, **rules)
            assert np.array_equal(leaves.token_hits, rows.token_hits)


@pytest.mark.parametrize("policy", ["fifo", "s3-fifo", "sieve", "arc", "w-tinylfu"])
@pytest.mark.parametrize("order", ["tail-first", "head-first"])
def test_blocks_are_looked_up_before_any_is_touched(policy: str, order: Order) -> None:
    chains, tokens = workload(2)
    trace = trace_of(chains[:15], tokens[:15])
    for capacity in (2, 6, 11):
        hits, stream = 0, list[int]()
        for chain in np.split(trace.blocks, trace.starts[1:-1]):
            for block in chain.tolist():
                before, after = (
                    mc.simulate(np.array(blocks, np.int64), policy, [capacity]).hits[0]
                    for blocks in (stream, [*stream, block])
                )
                if before == after:
                    break
                hits += 1
            stream += chain.tolist()[:: -1 if order == "tail-first" else 1]
        (row,) = mc.prefix_replay(trace, policy, [capacity], order=order)
        assert row.hits == hits, capacity


def test_the_bound_is_the_best_of_all_contents() -> None:
    for seed in range(12):
        draw = random.Random(seed)
        chains = [
            [draw.randrange(2) for _ in range(draw.randrange(4))] for _ in range(5 + seed % 3)
        ]
        trace = trace_of(chains, [len(chain) * BLOCK for chain in chains])
        for capacity in (1, 2, 3):
            (row,) = mc.prefix_replay(trace, "bound", capacity)
            assert row.hits == most_hits(chains, capacity), (seed, capacity)
            (row,) = mc.prefix_replay(trace, "bound", capacity, full_hit="minus-one-block")
            assert row.hits == most_hits(chains, capacity, misses_last=True), (seed, capacity)


@pytest.mark.parametrize("full_hit", ["all", "minus-one-block", "minus-one-token"])
def test_no_policy_exceeds_the_bound(full_hit: FullHit) -> None:
    policies = [*LEAVES, "lru", "fifo", "s3-fifo", "sieve", "arc", "w-tinylfu", "bound"]
    for seed in range(6):
        chains, tokens = workload(seed)
        trace = trace_of(chains, tokens)
        rows = mc.prefix_replay(trace, policies, SIZES, full_hit=full_hit, warm_up=7)
        bound = rows[rows.policy == "bound"]
        for policy in policies:
            of = rows[rows.policy == policy]
            for column in ("hits", "token_hits", "full_hits"):
                assert (of[column] <= bound[column]).all(), (seed, policy, column)
        unlimited = replay(chains, tokens, BLOCK, 10_000, full_hit=full_hit, warm_up=7)
        assert bound.token_hits[-1] in (unlimited.tokens, bound.hits[-1] * BLOCK)
        assert bound.hits[-1] == unlimited.blocks


def test_no_policy_with_pins_exceeds_the_bound() -> None:
    for seed in range(6):
        trace, _ = timed(trace_of(*workload(seed)), seed)
        rows = mc.prefix_replay(trace, [*LEAVES, "bound"], SIZES, pin="arrival-to-finish")
        bound = rows[rows.policy == "bound"]
        assert np.array_equal(bound.hits, mc.prefix_replay(trace, "bound", SIZES).hits)
        for policy in LEAVES:
            assert (rows[rows.policy == policy].hits <= bound.hits).all(), (seed, policy)


def test_shares_of_the_distinct_blocks() -> None:
    trace = trace_of([[1, 2, 3, 4], [1, 2]], [16, 8])
    rows = mc.prefix_replay(trace, ["leaf-lru,sieve", "bound"], ["50%", 1])
    assert rows[["policy", "capacity", "hits"]].tolist() == [
        ("leaf-lru", 2, 2), ("leaf-lru", 1, 1), ("sieve", 2, 2), ("sieve", 1, 1),
        ("bound", 2, 2), ("bound", 1, 1),
    ]  # fmt: skip
    assert set(mc.prefix_replay(trace).capacity) == {1}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policies": "opt"}, "policies: opt: uses the future; `bound` is the upper bound"),
        ({"policies": "leaf-mru"}, "policies: unknown eviction policy 'leaf-mru'"),
        ({"policies": "lru,fifo,lru"}, "policies: lru is given twice"),
        (
            {"policies": "sieve", "pin": "arrival-to-finish"},
            "pin: not for sieve, which evicts any block; for leaf-lru",
        ),
        ({"pin": "always"}, "pin: unknown choice 'always'"),
        ({"order": "middle"}, "order: unknown choice 'middle'"),
        ({"sizes": "1GiB"}, "sizes: "),
        ({"sizes": 0}, "sizes: at least 1 block, got 0"),
        ({"block_bytes": 0}, "block_bytes"),
        ({"threads": 0}, "threads"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any], message: str) -> None:
    trace, _ = timed(trace_of([[1]], [4]), 1)
    with pytest.raises(mc.ConfigError, match=message):
        mc.prefix_replay(trace, **{"sizes": [1], **wrong})


def test_pins_need_finish_times() -> None:
    with pytest.raises(mc.ConfigError, match="chains: pin: the trace has no finish times"):
        mc.prefix_replay(trace_of([[1]], [4]), "leaf-lru", [1], pin="arrival-to-finish")
    finished = dataclasses.replace(trace_of([[1]], [4]), finish_times=np.array([1.0]))
    with pytest.raises(mc.ConfigError, match="pin: the trace has finish times, but no arrivals"):
        mc.prefix_replay(finished, "leaf-lru", [1], pin="arrival-to-finish")
