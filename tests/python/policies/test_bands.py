"""Trusts: tables of Student's t; sums made with dictionaries; exact replay for what bands hold."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import trials

import mcsim as mc
from mcsim.policies.bands import _student, rare_deviation, squares_of_places
from mcsim.policies.scaled import ESTIMATES
from mcsim.references.workload import Workload, WorkloadVm
from mcsim.traces.trace import Trace


def test_students_t() -> None:
    # By the usual tables.
    for freedom, expected in ((1, 63.657), (4, 4.604), (11, 3.106), (20, 2.845), (60, 2.660)):
        assert _student(freedom) == pytest.approx(expected, abs=2e-3)


def test_few_or_none_seen_may_be_more() -> None:
    # 97.5 % limits of a Poisson count, by the usual tables.
    for seen, limit in ((0, 3.689), (1, 5.572), (5, 11.668), (20, 30.888), (100, 121.63)):
        reach = 2.575829 * rare_deviation(np.array([seen]))[0]
        assert seen + reach == pytest.approx(limit, rel=6e-3)


@pytest.mark.parametrize("ops", ["reads", "all"])
@pytest.mark.parametrize("place", [4096, 16384])
def test_squares_of_places_are_those_of_a_count(ops: str, place: int) -> None:
    rng = np.random.default_rng(1)
    n = 40_000
    offset = (rng.integers(0, 3000, n) * rng.integers(0, 2, n) * 4096 + 512).astype(np.uint64)
    length = rng.choice([0, 512, 4096, 20_000], n).astype(np.uint32)
    vm, op = rng.integers(0, 3, n), rng.integers(0, 2, n)
    trace = Trace.from_arrays(np.arange(n), offset, length, vm=vm, op=op, vms=("a", "b", "c"))
    # The third VM does not count.
    workload = Workload(
        tuple(WorkloadVm(name, trace, only=i) for i, name in enumerate("ab")), synthetic=False
    )
    counted: Counter[tuple[int, int, int]] = Counter()
    for v, o, begin, size in zip(vm, op, offset.tolist(), length.tolist(), strict=True):
        if v < 2 and size and (ops == "all" or o == 0):
            for at in range(begin // place, (begin + size - 1) // place + 1):
                counted[v, o, at] += 1
    expected = [sum(c * c for (_, o, _), c in counted.items() if o == which) for which in (0, 1)]
    assert squares_of_places(workload, ops, place) == pytest.approx(expected, rel=0.03)


# In the first samples may all lack what has most references, and agree; in the second caches are
# at a cliff; the others are what bands are easy for.
@pytest.mark.parametrize(
    "kind",
    [
        "one hot",
        "once, 1 hot",
        "once, some twice",
        "once, few twice",
        "uniform, then once",
        "loop",
        "zipf 1.2",
    ],
)
def test_margins_of_tuning_hold_the_truth(kind: str) -> None:
    keys = np.unique(trials.synthetic(30_000)[kind], return_inverse=True)[1].astype(np.uint64)
    op = (np.random.default_rng(5).random(len(keys)) < 0.3).astype(np.uint8)
    time = np.arange(len(keys))
    trace = Trace.from_arrays(time, keys * 4096, 4096, op=op, time_base="index")
    size = 4096 * max(400, int(keys.max()) // 4)
    asked = {"block_bytes": ("4KiB", "8KiB"), "writes": ("through", "back", "around")}

    def estimated(**how: object) -> dict[tuple[object, ...], np.void]:
        rows = mc.tune(trace, size, **asked, **how)  # type: ignore[arg-type]
        assert (rows.correction == "exact").all() == (not how)
        return {(row.block, row.writes): row for row in rows}

    exact = estimated()
    held = []
    for group in range(12):
        found = estimated(rate=0.2, seeds=range(4 * group, 4 * group + 4))
        for key, row in found.items():
            for name in ESTIMATES:
                error = abs(row[name] - exact[key][name])
                held.append(error <= row[f"{name}_margin"] + 1e-9 * exact[key][name])
    assert np.mean(held) >= 0.93
