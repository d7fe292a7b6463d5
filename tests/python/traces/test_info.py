"""Trusts: a second implementation with lists and counters, request by request."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import mcsim as mc
from mcsim.tables.result_columns import TABLES
from mcsim.traces.batches import DISCARD, Kind
from mcsim.traces.info import VmInfo

Rows = list[tuple[int, int, int, int, int]]
"""Time, VM, operation, offset and length of requests."""


def references_of(row: tuple[int, ...], kind: Kind, block_bytes: int) -> list[tuple[int, int]]:
    _, vm, op, offset, length = row
    if op == DISCARD:
        return []
    if kind == "objects":
        return [(vm, offset)]
    if not length:
        return []
    last = (offset + length - 1) // block_bytes
    return [(vm, block) for block in range(offset // block_bytes, last + 1)]


def zipf_of(counts: list[int]) -> float:
    x = [math.log(rank) for rank in range(1, len(counts) + 1)]
    y = [math.log(count) for count in counts]
    if len(x) < 2:
        return 0.0
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return -sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


def naive_info(rows: Rows, vms: set[int], kind: Kind, block_bytes: int) -> dict[str, Any]:
    """Return what some VMs of a trace stress."""
    requests = [row for row in rows if row[2] != DISCARD]
    own = [row for row in requests if row[1] in vms]
    counts = Counter(ref for row in own for ref in references_of(row, kind, block_bytes))
    popular = sorted(counts.values(), reverse=True)
    accesses, distinct, length = sum(popular), len(popular), sum(row[4] for row in own)
    once = popular.count(1)
    ends: dict[int, int] = {}
    sequential: list[int] = []
    for _, vm, _, offset, size in own:
        if ends.get(vm) == offset:
            sequential.append(size)
        ends[vm] = offset + size

    def distinct_in(part: Rows) -> int:
        return len(
            {r for row in part if row[1] in vms for r in references_of(row, kind, block_bytes)}
        )

    def share(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    first, last = (rows[0][0], rows[-1][0]) if rows else (0, 0)
    by_time = [
        distinct_in([row for row in rows if row[0] < first + (last - first) * tenth // 10])
        for tenth in range(1, 10)
    ]
    is_blocks = kind == "blocks"
    return {
        "once_block_share": share(once, distinct),
        "once_access_share": share(once, accesses),
        "top_1_percent_share": share(sum(popular[: math.ceil(distinct / 100)]), accesses),
        "top_10_percent_share": share(sum(popular[: math.ceil(distinct / 10)]), accesses),
        "zipf_exponent": pytest.approx(zipf_of(popular), abs=1e-9),
        "sequential_share": share(len(sequential), len(own)) if is_blocks else None,
        "sequential_byte_share": share(sum(sequential), length) if is_blocks else None,
        "write_share": share(sum(row[2] == 1 for row in own), len(own)),
        "write_byte_share": share(sum(row[4] for row in own if row[2] == 1), length),
        "growth_by_requests": tuple(
            distinct_in(requests[: len(requests) * tenth // 10]) for tenth in range(1, 11)
        ),
        "growth_by_time": (*by_time, distinct),
    }


def random_rows(seed: int, number: int) -> Rows:
    rng = np.random.default_rng(seed)
    rows: Rows = []
    time = -(10**6)
    ends = [0, 0, 0]
    for _ in range(number):
        time += int(rng.integers(0, 3)) * int(rng.integers(0, 10**9))
        vm = int(rng.integers(0, 3))
        is_next = rng.random() < 0.3
        offset = ends[vm] if is_next else int(rng.zipf(1.3)) % 5_000 * 512
        length = int(rng.integers(0, 40)) * 512
        rows.append((time, vm, int(rng.choice(3, p=[0.6, 0.3, 0.1])), offset, length))
        if rows[-1][2] != DISCARD:
            ends[vm] = offset + length
    return rows


def trace_of(rows: Rows, kind: Kind) -> mc.Trace:
    time, vm, op, offset, length = (list(column) for column in zip(*rows, strict=True))
    names = ["a", "b", "c", "idle"]
    return mc.Trace.from_arrays(time, offset, length, vm=vm, op=op, vms=names, kind=kind)


@pytest.mark.parametrize("kind", ["blocks", "objects"])
@pytest.mark.parametrize(("seed", "number"), [(1, 1), (2, 7), (3, 400), (4, 2_000)])
def test_what_a_trace_stresses_is_that_of_counters(seed: int, number: int, kind: Kind) -> None:
    rows = random_rows(seed, number)
    for block_bytes in (4096, 512):
        found = trace_of(rows, kind).info(block_bytes)
        for number, vm in enumerate((*found.vms, found.total)):
            own = {number} if vm is not found.total else {0, 1, 2}
            expected = naive_info(rows, own, kind, block_bytes)
            assert {name: getattr(vm, name) for name in expected} == expected, vm.name


def test_growth_needs_a_clock_for_tenths_of_time() -> None:
    trace = mc.Trace.from_arrays(list(range(10)), [0, 4096] * 5, 4096, time_base="index")
    total = trace.info().total
    assert total.growth_by_time is None
    assert total.growth_by_requests == (1, *[2] * 9)
    assert (total.half_share, total.last_tenth_share) == (1, 0)


def test_many_blocks_of_one_request_are_counted_each() -> None:
    trace = mc.Trace.from_arrays([0, 1], [4096 * 3, 0], [4096 * 1000, 4096 * 20])
    total = trace.info().total
    assert total.unique_blocks == 1003
    assert total.once_block_share == pytest.approx((1003 - 17) / 1003)
    assert total.once_access_share == pytest.approx((1003 - 17) / 1020)


def test_declared_columns_are_fields() -> None:
    names = {column.name for column in TABLES["stress"]}
    assert names <= set(VmInfo.__dataclass_fields__)
