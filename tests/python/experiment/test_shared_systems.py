"""Systems that decide nothing about space, or once: every count of random requests.

Trusts: lists of blocks in plain Python (naive_hosts.py), which see one request after the other.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import naive_hosts as naive
import numpy as np
import pytest
from hosts import ran, tiered
from naive_replay import Request, Workload, differences, random_workload, replay
from naive_systems import proportional

from mcsim._core import engine

INTERVAL = 700
LENGTH = 7 * INTERVAL
SEEDS = range(4)


def compare(
    name: str, params: dict[str, Any], capacities: list[int], workload: Workload, twin: Any
) -> engine.RunResult:
    """Every count of a run is the twin's."""
    system = engine.System(name, params, tiered(*capacities, read_ns=100.0, slower=1, disk_ns=1e6))
    result = ran(workload.accesses(classes=True), system, INTERVAL)
    counts, _ = replay(workload, twin, INTERVAL, [period for _, period, _ in system.timers])
    wrong = differences(workload, counts, result)
    assert not wrong, f"{name} {params} of {capacities}: {wrong}"
    return result


@cache
def workload_of(seed: int, most_blocks: int = 6) -> Workload:
    return random_workload(seed, length=LENGTH, footprint=100, most_blocks=most_blocks, count=900)


def sizes(seed: int, tiers: int) -> list[int]:
    """Blocks by tier, of which there may be none."""
    return [int(n) for n in np.random.default_rng(seed).integers(0, 70, tiers)]


def shared(workload: Workload, capacities: list[int], mode: str = "through") -> naive.Chain:
    vms = workload.vms
    return naive.Chain([0] * vms, [[blocks] for blocks in capacities], [mode] * vms)


@pytest.mark.parametrize("tiers", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_stack_for_all(seed: int, tiers: int) -> None:
    workload, capacities = workload_of(seed), sizes(seed, tiers)
    compare("lru", {}, capacities, workload, shared(workload, capacities))
    compare("single-tier", {}, capacities, workload, shared(workload, [sum(capacities)]))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_authors_stack_loses_what_leaves_its_first_tier(seed: int) -> None:
    first, second = (1 + blocks for blocks in sizes(seed, 2))
    for capacities in ([first, second], [0, second], [first, 0]):
        workload, twin = workload_of(seed), naive.LegacyLru(capacities)
        compare("lru", {"legacy": True}, capacities, workload, twin)


@pytest.mark.parametrize("mode", ["through", "back", "around"])
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_ones_own(seed: int, mode: str) -> None:
    workload, capacities = workload_of(seed), [sizes(10 + seed, 1)[0] * (seed > 1), 50]
    vms = range(workload.vms)
    shares = ([1.0, 2.0, 0.5] if seed else [0.0, 1.0, 1.0])[: workload.vms]
    given = {f"vm{v}": shares[v] for v in vms if shares[v] != 1.0}
    targets = [proportional(blocks, shares) for blocks in capacities]
    twin = naive.Chain(vms, targets, [mode] * workload.vms)
    compare("static", {"shares": given, "writes": mode}, capacities, workload, twin)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_groups(seed: int) -> None:
    workload, capacities = workload_of(seed), sizes(20 + seed, 1 + seed % 3)
    modes = ["back", "around", "through"][: workload.vms]
    part_of = [0, 1, 0][: workload.vms]
    weights = [float(part_of.count(part)) for part in sorted(set(part_of))]
    targets = [proportional(blocks, weights) for blocks in capacities]
    params = {
        "groups": {f"vm{v}": float(part) for v, part in enumerate(part_of)},
        "writes": ", ".join(["through", *(f"vm{v}={mode}" for v, mode in enumerate(modes))]),
    }
    compare("hierarchy", params, capacities, workload, naive.Chain(part_of, targets, modes))


@pytest.mark.parametrize("mode", ["through", "back", "around"])
@pytest.mark.parametrize("seed", SEEDS)
def test_memory_of_other_hosts_until_they_fail(seed: int, mode: str) -> None:
    workload = workload_of(seed)
    capacities = [*sizes(30 + seed, 1 + seed % 2), 60]
    times = [{}, {"fails_at": 1500}, {"fails_at": 2 * INTERVAL, "returns_at": 5 * INTERVAL}]
    for at in times:
        twin = naive.Remoca(workload.vms, capacities, mode)
        result = compare("remoca", at | {"writes": mode}, capacities, workload, twin)
        assert len(result.decisions) == len(at)
        granted = [decision["targets"].sum(axis=1).tolist() for decision in result.decisions]
        lost, back = [*capacities[:-1], 0], capacities
        assert granted == [lost, back][: len(at)]


CLASSES: list[dict[str, Any]] = [
    {},  # by the column that there is
    {"by": "size", "always": 0},
    {"by": "size", "always": 1, "small": 8192, "large": 16384},
    {"by": "column", "always": 3},
    {"by": "column", "always": 8, "classes": {"vm0": 5.0}},
    {"by": "size", "classes": {"vm0": 1.0}, "small": 4096, "large": 12288},
]


@pytest.mark.parametrize("case", range(len(CLASSES)))
@pytest.mark.parametrize("seed", SEEDS)
def test_classes_decide_who_comes_in_and_who_leaves(seed: int, case: int) -> None:
    params = CLASSES[case]
    workload, capacities = workload_of(seed, 24), sizes(40 + seed, 1 + seed % 3)

    def class_of(request: Request) -> int:
        of_vm = params.get("classes", {}).get(f"vm{request.vm}")
        if of_vm is not None:
            return int(of_vm)
        if params.get("by") != "size":
            return request.of_class
        limits = params.get("small", 4096), params.get("large", 65536)
        return sum(4096 * request.blocks > limit for limit in limits)

    twin = naive.Classes(capacities, params.get("always", 2), class_of)
    result = compare("dss", params, capacities, workload, twin)
    assert sum(twin.hits_of_class) == result.tiers["hits"].sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_class_is_lru(seed: int) -> None:
    """Also for the twin, whose rule is independent of LRU; all tiers have space."""
    workload, capacities = workload_of(seed), [1 + blocks for blocks in sizes(50 + seed, 2)]
    one = {"classes": {f"vm{v}": 0.0 for v in range(workload.vms)}, "always": 1}
    classed = naive.Classes(capacities, 1, lambda request: 0)
    result = compare("dss", one, capacities, workload, classed)
    counts, _ = replay(workload, shared(workload, capacities), INTERVAL)
    assert not differences(workload, counts, result)
