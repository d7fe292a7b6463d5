"""Systems that divide all tiers by curves, decision by decision, on random requests.

Trusts: their rules in plain Python (naive_curves.py, naive_multicache.py), over Mattson's lists
where they look ahead; every division there is, where there are few.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import naive_curves as naive
import numpy as np
import pytest
from hosts import ran, tiered
from naive_multicache import AuthorsTwin, JointTwin, MultiCacheTwin
from naive_replay import Workload, random_workload

from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.experiment.allocator import answering
from mcsim.optimizers import load

INTERVAL = 500
LENGTH = 9 * INTERVAL


machine = partial(tiered, read_ns=1e3)  # 1 µs, 100 µs, … before 10 ms


@cache
def workload_of(seed: int) -> Workload:
    return random_workload(seed, length=LENGTH, most_blocks=2, footprint=40)


def ours(name: str, on: engine.Machine, **params: Any) -> engine.System:
    return engine.System(name, params, on, load("exact"), interval=INTERVAL)


def compare(seed: int, twin: Any, system: engine.System, on: engine.Machine) -> int:
    """Number of decisions, each equal to the twin's, as are the counts."""
    accesses = workload_of(seed).accesses()
    asked = engine.System.from_python(answering(twin, "twin"), on, interval=INTERVAL)
    expected, result = ran(accesses, asked, INTERVAL), ran(accesses, system, INTERVAL)
    decided, wanted = (
        [(decision["request"], decision["targets"].tolist()) for decision in of.decisions]
        for of in (result, expected)
    )
    assert decided == wanted, f"seed {seed}"
    for mine, theirs in ((result.tiers, expected.tiers), (result.vms, expected.vms)):
        for name, counts in mine.items():
            np.testing.assert_array_equal(counts, theirs[name], err_msg=f"seed {seed}: {name}")
    return len(result.decisions)


STEADY: list[dict[str, Any]] = [
    {},
    {"objective": "latency"},
    {"regret_half_life": 1.0, "grid": 12},
    {"regret_half_life": 0.3, "objective": "latency", "grid": 9},
]


@pytest.mark.parametrize("case", range(len(STEADY)))
@pytest.mark.parametrize("capacities", [(12,), (3, 7), (20, 90)])
def test_steady(capacities: tuple[int, ...], case: int) -> None:
    moves, led = 0, set()
    for seed in range(4):
        twin = naive.SteadyTwin(INTERVAL, **STEADY[case])
        on = machine(*capacities)
        decided = compare(seed, twin, ours("steady", on, **STEADY[case]), on)
        assert decided == LENGTH // INTERVAL - 1
        moves += twin.moves
        led |= twin.led
    assert moves > 3
    assert len(led) > 1


MULTICACHE: list[dict[str, Any]] = [
    {},
    {"ri_mode": "gated", "distance_scope": "cumulative"},
    {"idle": "curve", "distance_scope": "cumulative"},
    {"ri_mode": "linear", "weight": "rate", "ri_aggregate": "mean"},
    {"minimum_share": 0.4, "priorities": {"vm1": 3.0}},
    {"idle": "keep", "grid": 7, "ri_mode": "linear", "ri_aggregate": "max"},
]


@pytest.mark.parametrize("case", range(len(MULTICACHE)))
@pytest.mark.parametrize("capacities", [(20,), (8, 40), (5, 9, 30)])
def test_multicache(capacities: tuple[int, ...], case: int) -> None:
    for seed in (0, 1, 4):
        params = {"ri_window": 100} | MULTICACHE[case]
        if "vm1" in params.get("priorities", {}) and workload_of(seed).vms < 2:
            continue
        on = machine(*capacities)
        twin = MultiCacheTwin(INTERVAL, **params)
        assert compare(seed, twin, ours("multicache", on, **params), on) > 5


BURSTS: list[dict[str, Any]] = [
    {"ri_trigger": 0.4, "ri_mode": "linear", "ri_aggregate": "mean"},
    {"ri_trigger": 0.6, "distance_scope": "cumulative", "idle": "keep"},
    {"ri_trigger": 0.5, "idle": "curve", "distance_scope": "cumulative", "ri_mode": "gated"},
]


@pytest.mark.parametrize("case", range(len(BURSTS)))
@pytest.mark.parametrize("capacities", [(20,), (8, 40)])
def test_multicache_divides_when_a_burst_begins(capacities: tuple[int, ...], case: int) -> None:
    bursts = 0
    for seed in (0, 1, 4):
        params = {"ri_window": 50} | BURSTS[case]
        on = machine(*capacities)
        twin = MultiCacheTwin(INTERVAL, **params)
        decided = compare(seed, twin, ours("multicache", on, **params), on)
        assert decided > LENGTH // INTERVAL - 1
        bursts += twin.bursts
    assert bursts > 5


def test_multicache_has_no_trigger_between_windows() -> None:
    with pytest.raises(ConfigError, match="rd_interval must be 1 to 256 times ri_window"):
        ours("multicache", machine(20), ri_trigger=0.5, ri_window=70)


@pytest.mark.parametrize("scope", ["interval", "cumulative"])
@pytest.mark.parametrize("capacities", [(20,), (8, 40), (12, 60)])
def test_multicache_as_its_authors_coded_it(capacities: tuple[int, ...], scope: str) -> None:
    decided = 0
    for seed in range(4):
        params = {"ri_window": 100, "distance_scope": scope, "grid": 20}
        on = machine(*capacities)
        switches = dict.fromkeys(AuthorsTwin.SWITCHES, True)
        system = ours("multicache", on, **params, **switches)
        decided += compare(seed, AuthorsTwin(INTERVAL, **params), system, on)
    assert decided > 20


JOINT: list[dict[str, Any]] = [
    {},
    {"objective": "latency", "weight": "rate"},
    {"grid": 3, "priorities": {"vm1": 3.0}},
]


@pytest.mark.parametrize("case", range(len(JOINT)))
@pytest.mark.parametrize("capacities", [(20,), (8, 40), (5, 9, 30)])
def test_multicache_of_all_tiers_at_once(capacities: tuple[int, ...], case: int) -> None:
    for seed in (0, 1, 4):
        on = machine(*capacities)
        twin = JointTwin(INTERVAL, **JOINT[case])
        system = ours("multicache-joint", on, **JOINT[case])
        assert compare(seed, twin, system, on) > 5


def gains(objective: str, capacities: tuple[int, ...]) -> list[float]:
    return naive.gains_of(objective, [*(1e3 * 100.0**k for k in range(len(capacities))), 1e7])


@pytest.mark.parametrize("objective", ["hits", "latency"])
@pytest.mark.parametrize("capacities", [(12,), (4, 9), (6, 30)])
def test_hindsight(capacities: tuple[int, ...], objective: str) -> None:
    for seed in range(4):
        workload = workload_of(seed)
        stacks = naive.Stacks(workload.requests, workload.vms, objective)
        for grid in (10, 20_000):
            of_tier = gains(objective, capacities)
            best = stacks.best(0, float("inf"), capacities, of_tier, grid)
            assert best is not None
            system = ours("hindsight", machine(*capacities), objective=objective, grid=grid)
            (decision,) = ran(workload.accesses(), system, INTERVAL).decisions
            assert decision["request"] == 0
            decided = decision["targets"].tolist(), decision["objective"]
            assert decided == best, f"seed {seed}, grid {grid}"


@pytest.mark.parametrize("objective", ["hits", "latency"])
@pytest.mark.parametrize("capacities", [(12,), (4, 9), (6, 30)])
def test_clairvoyant(capacities: tuple[int, ...], objective: str) -> None:
    for seed in range(4):
        workload = workload_of(seed)
        stacks = naive.Stacks(workload.requests, workload.vms, objective)
        system = ours("clairvoyant", machine(*capacities), objective=objective, grid=11 + seed)
        decisions = ran(workload.accesses(), system, INTERVAL).decisions
        begin = workload.requests[0].time
        found = []
        for k in range((workload.requests[-1].time - begin) // INTERVAL + 1):
            first = begin + k * INTERVAL
            of_tier = gains(objective, capacities)
            best = stacks.best(first, first + INTERVAL, capacities, of_tier, 11 + seed)
            found += [best] if best else []
        decided = [(d["targets"].tolist(), d["objective"]) for d in decisions]
        assert decided == found, f"seed {seed}"
