"""Trusts: independent results of small cases, and LRU as a plain list of blocks.

Discards remove blocks from caches; requests and bytes have hit ratios of their own.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from tests.python.small import small_experiment

import mcsim as mc
from mcsim.references.blocks import Blocks

CASES = Path(__file__).parents[2] / "data" / "cases"
BLOCK = 4096


def random_trace(seed: int) -> mc.Trace:
    """Requests of any alignment of three VMs, a tenth of them discards."""
    random = np.random.default_rng(seed)
    n = 2_000
    return mc.Trace.from_arrays(
        np.sort(random.integers(0, 10**10, n)),
        random.integers(0, 60 * BLOCK, n).astype(np.uint64),
        random.integers(1, 6 * BLOCK, n).astype(np.uint32),
        op=random.choice([0, 1, 2], n, p=[0.5, 0.4, 0.1]).astype(np.uint8),
        vm=random.integers(0, 3, n).astype(np.uint16),
        vms=["a", "b", "c"],
    )


def ratios_of_lru(trace: mc.Trace, size: int, only: int | None, ops: set[int]) -> list[float]:
    """Replay byte by byte; return hit ratios of blocks, requests and bytes."""
    cache: OrderedDict[tuple[int, int], None] = OrderedDict()
    hits, requests, byte_hits = [], [], []
    for batch in trace.batches():
        for vm, op, offset, length in zip(*map(np.ndarray.tolist, batch[1:5]), strict=True):
            if only not in (None, vm):
                continue
            if op == 2:
                for block in range(-(-offset // BLOCK), (offset + length) // BLOCK):
                    cache.pop((vm, block), None)
            elif op in ops:
                held = {}
                for block in range(offset // BLOCK, (offset + length - 1) // BLOCK + 1):
                    held[block] = (vm, block) in cache
                    cache[vm, block] = None
                    cache.move_to_end((vm, block))
                    if len(cache) > size:
                        cache.popitem(last=False)
                hits += held.values()
                requests.append(all(held.values()))
                byte_hits += [held[byte // BLOCK] for byte in range(offset, offset + length)]
    return [float(np.mean(of)) for of in (hits, requests, byte_hits)]


def expect(blocks: Blocks, size: int, expected: list[float]) -> None:
    row = mc.simulate(blocks, "lru", [size])
    found = [row[name][0] for name in ("hit_ratio", "request_hit_ratio", "byte_hit_ratio")]
    assert found == pytest.approx(expected, abs=1e-12)


def test_discards_and_ratios_are_those_of_a_list() -> None:
    trace = random_trace(1)
    for ops, kept in (("reads", {0}), ("all", {0, 1})):
        blocks = trace.blocks(ops)
        expect(blocks, 50, ratios_of_lru(trace, 50, None, kept))
        for vm, part in enumerate(blocks.by_vm()):
            expect(part, 20, ratios_of_lru(trace, 20, vm, kept))
    expect(trace.blocks("all").of_reads(), 50, ratios_of_lru(trace, 50, None, {0}))


def test_one_pass_counts_what_replays_count() -> None:
    trace = mc.Trace.from_arrays([0, 1, 2, 3], [0, 4000, 0, 100], [5000, 4196, 8192, 10])
    sizes = [1, 2, 3]
    passed = mc.simulate(trace, "lru", sizes)
    alone = mc.simulate(trace, "lru", sizes, one_pass=False)
    for name in ("hit_ratio", "request_hit_ratio", "byte_hit_ratio"):
        assert passed[name].tolist() == alone[name].tolist()


@pytest.mark.parametrize("policy", ["lru", "arc", "s3-fifo", "opt"])
def test_a_trim_removes_its_block(policy: str, tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "fio_v2.log", cache_dir=tmp_path)
    assert mc.simulate(trace.blocks("all"), policy, [10]).hits.tolist() == [1]


def test_objects_hit_by_request_and_by_byte(tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "sizes6.csv", cache_dir=tmp_path, options={"time_unit": "s"})
    row = mc.simulate(trace, "lru", [10])
    assert row.request_hit_ratio.tolist() == [2 / 6]
    assert row.byte_hit_ratio.tolist() == [222 / 664]


def test_miniatures_at_rate_1_discard_as_replays_do() -> None:
    blocks = random_trace(2).blocks("all")
    whole = mc.miniature(blocks, ["lru", "arc"], [40], rate=1.0)
    exact = mc.simulate(blocks, ["lru", "arc"], [40])
    assert whole.hit_ratio.tolist() == pytest.approx(exact.hit_ratio.tolist())


def test_a_run_discards_and_tells_ratios_apart(tmp_path: Path) -> None:
    trace = random_trace(3)
    file = str(trace.save(tmp_path / "trace.parquet"))
    workload = {"vms": [{"trace": file, "vms": "all"}]}
    spec = small_experiment("lru", tiers={"dram": 50}, workload=workload, ops="all")
    results = mc.run(spec, out=tmp_path / "runs", figures=False)
    rows = results.comparison().to_arrow().to_pylist()
    row = next(row for row in rows if row["vm"] is None)
    found = [row[name] for name in ("hit_ratio", "request_hit_ratio", "byte_hit_ratio")]
    assert found == pytest.approx(ratios_of_lru(trace, 50, None, {0, 1}), abs=1e-12)
    shown = str(results.comparison())
    assert "requests %" in shown
    assert "bytes %" in shown
