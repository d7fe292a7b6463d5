"""Deployed caches in place of policies, in `simulate`, `compare` and `memory_needed`.

Trusts: NaiveSmq, NaiveWritecache; `simulate` of policies alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call, printed
from naive_smq import NaiveSmq
from naive_writecache import NaiveWritecache

import mcsim as mc
from mcsim import ConfigError, Trace
from mcsim.base.units import format_capacity
from mcsim.policies.deployed_caches import deployed_given, replayed_curve
from mcsim.policies.deployed_sharing import DeployedSharing

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


@pytest.mark.parametrize(
    ("system", "unit", "least"),
    [
        ("dm-cache(writes=back,block_kib=64)", 16, 16),
        ("dm-writecache", 1, 2),
        ("bcache(bucket_kib=4)", 1, 513),
        ("open-cas(metadata=false,line_kib=8)", 2, 2),
        ("open-cas", 1, 10_240),
        ("zfs-arc(record_kib=8,overflow_kib=64)", 2, 18),
    ],
)
def test_curves_have_the_hits_of_replays(system: str, unit: int, least: int) -> None:
    trace, _ = trace_of(4)
    blocks = trace.blocks(ops="all")
    curve = replayed_curve(blocks, deployed_given(system))
    sizes = curve.capacities
    assert sizes[0] == least
    assert (sizes % unit == 0).all()
    assert sizes[-1] >= 2 * blocks.unique
    hits = mc.simulate(blocks, system, sizes.tolist()).hits
    assert curve.hits.tolist() == np.maximum.accumulate(hits).tolist()
    assert len(set(curve.hits.tolist())) > 3 or least >= 513


def test_the_size_that_reaches_a_hit_ratio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, _ = trace_of(5)
    file = tmp_path / "drawn.arrow"
    trace.save(file)
    curve = replayed_curve(trace.blocks(ops="all"), deployed_given("dm-writecache"))
    expected = next(int(size) for size in curve.capacities if curve.at(size) >= 0.2)
    words = ("size", str(file), "--ops", "all", "--deployed", "dm-writecache", "--target-hit-ratio")
    lines = printed(capsys, *words, "20%")
    assert lines[0] == f"a hit ratio of 0.2: {format_capacity(expected, 4096)}"
    assert lines[2].startswith(f"replayed at {len(curve.capacities)} sizes;")
    assert lines[2].endswith(
        "dm-writecache: the size is that of the device, a part of which is metadata"
    )
    for more, message in (
        (("99%",), "no replayed size reaches a hit ratio of 0.99: the best is hit ratio"),
        (("20%", "--estimator", "aet"), "--deployed: without --estimator, --in-bytes and --writes"),
        (("20%", "--writes", "back"), "--deployed: without --estimator, --in-bytes and --writes"),
    ):
        code, _, said = call(capsys, *words, *more)
        assert (code, message in said) == (2, True), said
    code, _, said = call(capsys, *words[:-1], "--target-latency", "2ms")
    assert (code, "--target-latency: not with --deployed" in said) == (2, True)
    code, _, said = call(capsys, "size", str(file), "--deployed", "zfs", "--target-hit-ratio", "9%")
    assert (code, "--deployed: unknown deployed cache 'zfs'" in said) == (2, True)


def trace_of_vms(seed: int) -> Trace:
    draw = np.random.default_rng(seed)
    blocks = (600 * draw.random(COUNT) ** 2).astype(np.int64)
    ops, vm = ((draw.random(COUNT) < share).astype(kind) for share, kind in VMS_AND_OPS)
    times = np.arange(COUNT) * 20 * MS
    return Trace.from_arrays(
        times, 4096 * blocks, 4096, op=ops, vm=vm, vms=["a", "b"], source="drawn"
    )


VMS_AND_OPS = ((0.5, np.uint8), (0.4, np.uint16))


def test_curves_of_vms_that_share_are_those_of_replays() -> None:
    trace = trace_of_vms(6)
    system = "dm-cache(writes=back)"
    shared = DeployedSharing.of(trace.blocks(ops="all"), deployed_given(system)).with_sizes([200])
    own = {vm: mc.simulate(trace.blocks(ops="all", vms=vm), system, [200, 96]) for vm in shared.vms}
    for vm, rows in own.items():
        curve = shared.alone[vm]
        assert curve.accesses == rows.accesses[0]
        # 100 blocks are 12 cache blocks.
        hits = [curve.at(200) * curve.accesses, curve.at(100) * curve.accesses]
        assert hits == pytest.approx(rows.hits.tolist())
    together = mc.simulate(trace.blocks(ops="all"), system, [200]).hits[0]
    by_vm = {vm: curve.at(200) * curve.accesses for vm, curve in shared.shared.items()}
    assert sum(by_vm.values()) == pytest.approx(together)
    assert shared.together.at(200) * COUNT == pytest.approx(together)
    assert by_vm["a"] < own["a"].hits[0]
    left = shared.without(["b"])
    assert left.together.at(200) * left.together.accesses == pytest.approx(own["a"].hits[0])


def test_what_if_and_mix_of_deployed_caches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = trace_of_vms(7)
    file = tmp_path / "drawn.arrow"
    trace.save(file)
    rows = mc.simulate(trace.blocks(ops="all"), "dm-writecache", [200, 300])
    gain = 100 * (rows.hits[1] - rows.hits[0]) / COUNT
    of = (str(file), "--ops", "all", "--deployed", "dm-writecache")
    lines = printed(capsys, "whatif", *of, "--size", "200", "--to", "300")
    assert lines[0] == f"all VMs together hit {gain:+.2f} points after the change"
    assert lines[1].endswith("shared by dm-writecache")
    assert lines[2].startswith("replayed at ")
    lines = printed(capsys, "whatif", *of, "--size", "200")
    assert not any("by cause" in line or "first ones" in line for line in lines)
    lines = printed(capsys, "mix", *of, "--sizes", "200")
    (row,) = (line.split() for line in lines if line.startswith("800 KiB"))
    assert row[3] == f"{100 * rows.hits[0] / COUNT:.2f}"
    code, _, said = call(capsys, "mix", *of, "--order", "rates")
    assert (code, "--order rates: not with --deployed" in said) == (2, True)


def test_tune_replays_every_setting_that_fits() -> None:
    """Trusts: NaiveSmq; waits of requests by hand."""
    trace, requests = trace_of(5)
    fast, slow = 100_000, 4_000_000
    rows = mc.tune(
        trace, "200KiB", policies="dm-cache", objective="latency", tier="100us", backend="4ms"
    )
    assert sorted(rows.policy) == sorted(
        f"dm-cache({','.join(filter(None, of))})".replace("()", "")
        for of in product(["", "block_kib=64", "block_kib=128"], ["", "writes=back"])
    )
    assert (np.diff(rows.latency_ns) >= 0).all()
    for row in rows:
        mode, unit = row.writes, row.block // 4096
        twin = NaiveSmq(
            50 // unit, -(-600 // unit), created=1_005 * MS, mode=f"write{mode}",
            block_sectors=row.block // 512,
        )  # fmt: skip
        for time, block, write in requests:
            twin.request(2_003 * MS + time, block // unit, write)
        hits, misses = twin.counts["read hits"], twin.counts["read misses"]
        near = hits + (twin.counts["write hits"] if mode == "back" else 0)
        assert row.hit_ratio == pytest.approx(hits / (hits + misses)), row.policy
        waits = near * fast + (COUNT - near) * slow
        assert row.latency_ns == pytest.approx(waits / COUNT)
        written = unit * twin.counts["promotions"] + twin.counts["write hits"]
        assert row.device_writes == 4096 * written
        back = COUNT - hits - misses - (twin.counts["write hits"] if mode == "back" else 0)
        assert row.backend_writes == 4096 * (back + unit * twin.counts["write-backs"])


def refusals() -> dict[str, Callable[[Trace], Any]]:
    return {
        "dm-cache: needs the requests of a trace": lambda _: mc.simulate([1, 2], "dm-cache", [8]),
        "policies: dm-cache is a deployed cache, not for miniatures": lambda trace: mc.miniature(
            trace, "dm-cache", [200], rate=0.5
        ),
        "policies: bcache is a deployed cache, not for lines": lambda trace: mc.simulate_lines(
            trace, "bcache", [200], line=2
        ),
        "policies: dm-cache is a deployed cache, which has settings of its own, and lru": (
            lambda trace: mc.tune(trace, "1MiB", policies="dm-cache,lru")
        ),
        "rate: dm-cache is a deployed cache, which is replayed whole": lambda trace: mc.tune(
            trace, "1MiB", policies=["dm-cache"], rate=0.5
        ),
        "writes: dm-writecache: none of through, around": lambda trace: mc.tune(
            trace, "1MiB", policies="dm-writecache", writes=["through", "around"]
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


def test_an_error_of_one_cache_is_told_though_others_are_stopped() -> None:
    at = np.arange(4000)
    trace = mc.Trace.from_arrays(at * 1_000_000, 4096 * (at % 700), 4096)
    for _ in range(3):
        with pytest.raises(mc.ConfigError, match="bcache"):
            mc.simulate(trace, "dm-cache,bcache", [20])
