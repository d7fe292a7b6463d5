"""Tiers that prefetch: every count of random requests, and cases worked by hand.

Trusts: lists of blocks in plain Python (naive_prefetch.py), which see one request after the other,
and closed forms of scans, loops and sparse reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import naive_prefetch as naive
import numpy as np
import pytest
from hosts import ran, tiered
from naive_replay import Request, Workload, differences, replay
from naive_systems import proportional

from mcsim._core import engine

INTERVAL = 700
LENGTH = 7 * INTERVAL
RULES: dict[str, Any] = {
    "one-ahead": naive.OneAhead,
    "readahead": naive.Readahead,
    "readahead(max=2)": lambda: naive.Readahead(2),
    "readahead(max=7)": lambda: naive.Readahead(7),
    "readahead(max=128)": lambda: naive.Readahead(128),
    "readahead(max=16,initial=3)": lambda: naive.Readahead(16, 3),
    "stream": naive.Stream,
    "stream(threshold=0,min=3,streams=2)": lambda: naive.Stream(0, 3, 2),
}


def machine(*capacities: int, **more: Any) -> engine.Machine:
    return tiered(*capacities, read_ns=100.0, slower=1, disk_ns=1e6, **more)


@cache
def streams_of(seed: int) -> Workload:
    """Streams that are interleaved, end and begin elsewhere, random reads, and some writes."""
    draw = np.random.default_rng(seed)
    vms = int(draw.integers(1, 4))
    footprint = int(draw.choice([80, 400, 3000]))
    requests = []
    for vm in range(vms):
        writes = float(draw.choice([0.0, 0.2]))
        most, random = int(draw.choice([1, 4, 40])), float(draw.choice([0.05, 0.4]))
        at = [int(n) for n in draw.integers(footprint, size=draw.integers(1, 5))]
        for time in np.sort(draw.integers(100, 100 + LENGTH, 900 // vms)).tolist():
            stream, blocks = int(draw.integers(len(at))), int(draw.integers(1, most + 1))
            if draw.random() < random:
                at[stream] = int(draw.integers(footprint)) * int(draw.random() < 0.9)
            elif draw.random() < 0.1:
                at[stream] += int(draw.integers(3))
            requests.append(Request(time, vm, bool(draw.random() < writes), at[stream], blocks))
            at[stream] += blocks
    departures = {}
    if vms > 1 and seed % 2:
        departures[0] = 100 + LENGTH // 2
        requests = [r for r in requests if r.vm or r.time < departures[0]]
    return Workload(sorted(requests, key=lambda r: (r.time, r.vm)), vms, departures)


def compare(
    name: str, params: dict[str, Any], capacities: Sequence[int], workload: Workload, twin: Any
) -> engine.RunResult:
    """Run a system, and check that every count is the twin's."""
    result = ran(
        workload.accesses(addresses=True),
        engine.System(name, params, machine(*capacities)),
        INTERVAL,
    )
    counts, _ = replay(workload, twin, INTERVAL)
    wrong = differences(workload, counts, result)
    assert not wrong, f"{name} {params} of {capacities}: {wrong}"
    return result


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(6))
def test_all_vms_share_the_tiers(seed: int, rule: str) -> None:
    workload, draw = streams_of(seed), np.random.default_rng(seed)
    tiers = 1 + seed % 3
    capacities = [int(n) for n in draw.choice([0, 3, 40, 200, 1000], tiers)]
    tier = int(draw.integers(tiers))
    capacities[tier] += int(draw.integers(1, 60))
    given = ["none"] * tiers
    given[tier] = rule
    twin = naive.Prefetching(
        workload,
        [0] * workload.vms,
        [[blocks] for blocks in capacities],
        ["through"] * workload.vms,
        tier,
        RULES[rule](),
    )
    result = compare("hierarchy", {"prefetch": " / ".join(given)}, capacities, workload, twin)
    assert result.tiers["prefetched"].sum() or rule.startswith("stream")


@pytest.mark.parametrize("mode", ["through", "back", "around"])
@pytest.mark.parametrize("rule", ["one-ahead", "readahead"])
@pytest.mark.parametrize("seed", range(4))
def test_parts_of_ones_own(seed: int, rule: str, mode: str) -> None:
    workload, capacities = streams_of(seed), [50 * seed, 90]
    vms = range(workload.vms)
    shares = [0.0, 1.0, 2.0][: workload.vms] if workload.vms > 1 else [1.0]
    targets = [proportional(blocks, shares) for blocks in capacities]
    params = {
        "shares": {f"vm{v}": shares[v] for v in vms},
        "writes": mode,
        "prefetch": f"none / {rule}",
    }
    twin = naive.Prefetching(workload, list(vms), targets, [mode] * workload.vms, 1, RULES[rule]())
    compare("static", params, capacities, workload, twin)


def reads(blocks: Sequence[int], length: int = 1) -> Workload:
    return Workload([Request(100 + i, 0, False, at, length) for i, at in enumerate(blocks)], 1)


def totals(workload: Workload, prefetch: str, *capacities: int, **params: Any) -> dict[str, int]:
    """Return what a run counts, summed over tiers and intervals; levels at the end."""
    system = engine.System(
        "hierarchy", {"prefetch": prefetch} | params, machine(*capacities or (100,))
    )
    result = ran(workload.accesses(addresses=True), system, 10 * LENGTH)
    names = ("hits", "fills", "evictions", "prefetched")
    names += ("prefetch_used", "prefetch_wasted", "prefetch_unread")
    found = {name: int(result.tiers[name].sum()) for name in names}
    return found | {name: int(result.vms[name].sum()) for name in ("misses", "backend_reads")}


def test_a_scan_misses_its_first_block_alone() -> None:
    got = totals(reads(range(7, 67)), "one-ahead", 50)
    assert (got["misses"], got["hits"]) == (1, 59)
    assert got["prefetched"] == got["prefetch_used"] == 59
    assert got["backend_reads"] == 60


@pytest.mark.parametrize("length", [1, 4, 5, 33])
def test_readahead_of_a_scan_from_the_first_block(length: int) -> None:
    """One request misses; the last window ends with the device."""
    got = totals(reads(range(0, 60 * length, length), length), "readahead", 5000)
    assert got["misses"] == length
    assert got["prefetched"] == got["prefetch_used"] == 59 * length
    assert got["backend_reads"] == 60 * length


def test_reads_of_several_blocks_prefetch_one_block_after_the_last() -> None:
    got = totals(reads(range(0, 40, 4), 4), "one-ahead", 500)
    # The first block of each request but the first was prefetched; nothing is after the last.
    assert got["misses"] == 40 - 9
    assert got["prefetched"] == got["prefetch_used"] == 9


def test_a_loop_that_does_not_fit_misses_once_per_round() -> None:
    loop = [*range(50)] * 4
    got = totals(reads(loop), "one-ahead", 10)
    # The device ends after the loop, so each round begins with a miss.
    assert got["misses"] == 4
    assert got["prefetched"] == got["prefetch_used"] == 4 * 49


def test_all_blocks_after_sparse_reads_are_wasted() -> None:
    got = totals(reads(range(0, 1000, 5)), "one-ahead", 20)
    assert got["misses"] == 200
    assert got["prefetched"] == 199  # the device ends with the last block
    assert got["prefetch_used"] == 0
    assert got["prefetch_wasted"] + got["prefetch_unread"] == 199
    assert got["prefetch_unread"] == 10  # the last block has none
    assert got["backend_reads"] == 399


def test_readahead_leaves_sparse_reads_alone() -> None:
    assert totals(reads(range(5, 1000, 5)), "readahead", 20)["prefetched"] == 0


def test_windows_of_linux() -> None:
    """Windows of 4, 8, 16 and 32 blocks from the first block on: a mark each begins the next."""
    ends = []
    for count in (1, 2, 3, 5, 6, 13, 14, 29, 30):
        got = totals(reads([*range(count), 10_000]), "readahead", 2000)
        ends.append(got["prefetched"] + 1)
    assert ends == [4, 12, 12, 28, 28, 60, 60, 92, 92]


def test_open_cas_waits_for_the_threshold() -> None:
    for count, prefetched in ((16, 0), (17, 16), (18, 17)):
        assert totals(reads([*range(count), 10_000]), "stream", 500)["prefetched"] == prefetched


def test_overwritten_blocks_are_wasted() -> None:
    workload = Workload(
        [Request(1, 0, False, 0, 1), Request(2, 0, True, 1, 1), Request(3, 0, False, 5, 1)], 1
    )
    got = totals(workload, "one-ahead")
    assert (got["prefetched"], got["prefetch_used"], got["prefetch_wasted"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("chain", "tier", "fills"),
    [
        *[("exclusive", 0, 1), ("exclusive", 1, 1), ("victim", 0, 1), ("victim", 1, 1)],
        *[("inclusive", 0, 2), ("inclusive", 1, 1)],
        *[("independent", 0, 1), ("independent", 1, 1)],
    ],
)
def test_the_tiers_that_a_prefetched_block_enters(chain: str, tier: int, fills: int) -> None:
    """Two misses and one prefetched block, which stays unread."""
    given = " / ".join("one-ahead" if k == tier else "none" for k in range(2))
    got = totals(reads([3, 99]), given, 10, 10, chain=chain)
    without = totals(reads([3, 99]), "none", 10, 10, chain=chain)
    assert got["fills"] - without["fills"] == fills
    assert got["prefetch_unread"] == got["prefetched"] == 1
    assert got["misses"] == without["misses"] == 2


def test_a_filter_keeps_prefetched_blocks_out() -> None:
    """A block is offered to the filter when it would be prefetched, and when it is missed."""
    got = totals(reads([3, 4, 3, 4]), "one-ahead", admission="nth(n=2)")
    # Block 4 is offered after the miss of block 3, and enters with its own miss.
    assert (got["misses"], got["prefetched"]) == (3, 0)


@pytest.mark.parametrize("policy", ["w-tinylfu", "sieve", "arc", "s3-fifo", "clock-pro", "lirs"])
def test_other_policies_keep_their_laws(policy: str) -> None:
    """The engine checks the sums of counters and the state of each policy."""
    for seed in range(3):
        workload = streams_of(seed)
        got = totals(workload, "readahead", 60, policy=policy)
        sums = got["prefetch_used"] + got["prefetch_wasted"] + got["prefetch_unread"]
        assert got["prefetched"] == sums > 0
        assert got["backend_reads"] >= got["prefetched"]


@pytest.mark.parametrize("policy", ["lru", "arc", "fifo"])
def test_none_is_the_default(policy: str) -> None:
    workload = streams_of(1)
    assert totals(workload, "none", 60, policy=policy)["prefetched"] == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prefetch": "one-ahed"}, "unknown prefetcher 'one-ahed'.*one-ahead"),
        ({"prefetch": "readahead(max=1)"}, "max.*at least 2"),
        ({"prefetch": "readahead(size=3)"}, "size"),
        ({"prefetch": ""}, "prefetch: "),
        ({"prefetch": "one-ahead / one-ahead / none"}, "prefetch: 3 entries for 2 tiers"),
        ({"prefetch": "one-ahead"}, "only one tier can prefetch.*'one-ahead / none'"),
        ({"prefetch": "none / readahead", "policy": "opt"}, "the policy opt reads the future"),
    ],
)
def test_odd_values(params: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        engine.System("hierarchy", params, machine(10, 10))


def test_lines_of_several_blocks_are_refused() -> None:
    system = engine.System("hierarchy", {"prefetch": "one-ahead", "line": 4}, machine(16))
    with pytest.raises(Exception, match="prefetch: needs lines of 1 block, got 4"):
        ran(reads([1, 2]).accesses(addresses=True, line_blocks=4), system, 10)


def test_objects_are_refused() -> None:
    system = engine.System("hierarchy", {"prefetch": "one-ahead"}, machine(16))
    builder = engine.AccessBuilder(ops="all", key="object", addresses=True)
    builder.begin_vm("a")
    column = np.array([0, 7], np.uint64)
    builder.add(
        column.astype(np.int64), column.astype(np.uint16) * 0, column.astype(np.uint8) * 0,
        column, column.astype(np.uint32) * 0 + 9,
    )  # fmt: skip
    with pytest.raises(Exception, match="prefetch: the trace has objects"):
        ran(builder.finish(), system, 10)
