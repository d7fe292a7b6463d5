"""Deployed caches in place of policies, in `simulate`, `compare` and `memory_needed`.

Trusts: NaiveSmq, NaiveWritecache; `simulate` of policies alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from naive_smq import NaiveSmq
from naive_writecache import NaiveWritecache

import mcsim as mc
from mcsim import ConfigError, Trace

MS = 1_000_000
COUNT = 3_000


def trace_of(seed: int) -> tuple[Trace, list[tuple[int, int, bool]]]:
    """Return a trace, and the time, block and operation of each request."""
    draw = np.random.default_rng(seed)
    times = np.arange(COUNT) * 20 * MS
    blocks = (600 * draw.random(COUNT) ** 2).astype(np.int64)
    writes = draw.random(COUNT) < 0.5
    trace = Trace.from_arrays(
        times, 4096 * blocks, 4096, op=writes.astype(np.uint8), source="drawn"
    )
    return trace, list(zip(times.tolist(), blocks.tolist(), writes.tolist(), strict=True))


def smq_hits(requests: list[tuple[int, int, bool]], size: int) -> int:
    twin = NaiveSmq(size // 8, 75, created=1_005 * MS, mode="writeback")
    return sum(
        twin.request(2_003 * MS + time, block // 8, write, False) for time, block, write in requests
    )


def writecache_hits(requests: list[tuple[int, int, bool]], size: int) -> int:
    twin = NaiveWritecache(size - 1, created=1_005 * MS)
    return sum(twin.request(2_003 * MS + time, block, write)[0] for time, block, write in requests)


def test_hits_are_those_of_the_rules_in_the_order_of_policies() -> None:
    trace, requests = trace_of(1)
    sizes = [80, 200]
    model = "dm-cache(writes=back)"
    rows = mc.compare(trace, ["lru", model, "fifo", "dm-writecache"], sizes, ops="all")
    alone = mc.compare(trace, ["lru", "fifo"], sizes, ops="all")
    policies = ["lru", model, "fifo", "dm-writecache"]
    assert rows.policy.tolist() == [name for name in policies for _ in sizes]
    hits = [
        *alone.hits[:2],
        *(smq_hits(requests, size) for size in sizes),
        *alone.hits[2:],
        *(writecache_hits(requests, size) for size in sizes),
    ]
    assert rows.hits.tolist() == hits
    assert (rows.hits == rows.request_hit_ratio * COUNT).all()
    assert rows.writes.tolist() == 8 * [sum(write for _, _, write in requests)]
    needed = mc.memory_needed(trace.blocks(ops="all"), policies, sizes)
    assert needed.bytes[[2, 3, 6, 7]].tolist() == rows.bytes[[2, 3, 6, 7]].tolist()
    gains = mc.compare(trace, "lru", sizes, against=model, ops="all")
    assert gains.gain.tolist() == pytest.approx(
        [0, 0, *((alone.hits[:2] - np.array(hits[2:4])) / COUNT)]
    )


def test_the_warm_up_is_not_counted() -> None:
    trace, requests = trace_of(2)
    blocks = trace.blocks(ops="all", warm_up="20s")
    rows = mc.simulate(blocks, "dm-writecache", [200])
    counted = writecache_hits(requests, 200) - writecache_hits(requests[:1_000], 200)
    assert rows[["accesses", "hits"]].tolist() == [(2_000, counted)]


def refusals() -> dict[str, Callable[[Trace], Any]]:
    return {
        "dm-cache: needs the requests of a trace": lambda _: mc.simulate([1, 2], "dm-cache", [8]),
        "policies: dm-cache is a deployed cache, not for miniatures": lambda trace: mc.miniature(
            trace, "dm-cache", [200], rate=0.5
        ),
        "policies: bcache is a deployed cache, not for lines": lambda trace: mc.simulate_lines(
            trace, "bcache", [200], line=2
        ),
        "policies: dm-cache: a deployed cache, which is replayed whole": lambda trace: mc.tune(
            trace, "1MiB", policies="dm-cache"
        ),
        "dm-cache: tiers: 4 blocks have no space for a cache block of 32 KiB": (
            lambda trace: mc.simulate(trace, "dm-cache", [4])
        ),
        r"dm-cache\(block=64\): dm-cache: unknown parameter 'block'": lambda trace: mc.simulate(
            trace, "dm-cache(block=64)", [400]
        ),
        r"dm-cache: these blocks are a part of others": lambda trace: mc.simulate(
            trace.blocks(ops="all").of_reads(), "dm-cache", [400]
        ),
    }


@pytest.mark.parametrize("message", refusals())
def test_other_commands_refuse_them_with_the_reason(message: str) -> None:
    trace, _ = trace_of(3)
    with pytest.raises(ConfigError, match=message):
        refusals()[message](trace)
