"""Allocators in Python that decide at the start, or read curves of the future.

Trusts: naive twins of `hindsight` and `clairvoyant`, decision by decision, whose divisions brute
force confirms; what is measured later, without foresight; zeros where nothing has been.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import naive_curves as naive
import numpy as np
import pytest
from complaints import complaint
from hosts import add_vm, ran, tiered
from naive_systems import hits

from mcsim._core import engine
from mcsim.experiment.allocator import Observation, answering
from mcsim.locality.curve import HitRatioCurve

INTERVAL = 300


machine = partial(tiered, read_ns=1e3, write_ns=2e3)  # 1 µs, 100 µs, … before 10 ms


def drawn(seed: int, vms: int = 3, length: int = 2000) -> engine.Accesses:
    """Loops and skew, with other footprints later on; the first VM may depart."""
    rng = np.random.default_rng(seed)
    builder = engine.AccessBuilder(ops="all")
    departs = int(rng.integers(length // 2, length)) if seed % 2 else None
    for v in range(vms):
        time = np.sort(rng.choice(length, size=length // (v + 1), replace=False))
        if v == 0:
            time = time[time < (departs or length)]
        footprint = np.where(time < length // 2, rng.integers(4, 20), rng.integers(4, 20))
        skewed = footprint * rng.random(len(time)) ** rng.choice([1, 2, 4])
        blocks = np.arange(len(time)) % footprint if rng.random() < 0.3 else skewed
        add_vm(builder, f"vm{v}", time, rng.random(len(time)) < 0.2, blocks)
        if v == 0 and departs is not None:
            builder.depart(departs)
    return builder.finish()


def run(trace: engine.Accesses, system: engine.System) -> engine.RunResult:
    return ran(trace, system, INTERVAL)


def asked(allocator: Any, *capacities: int) -> engine.System:
    allocator = answering(allocator, "mine")
    return engine.System.from_python(allocator, machine(*capacities), interval=INTERVAL)


def best_division(seen: Observation, curves: Sequence[HitRatioCurve]) -> list[list[int]]:
    """All hits that there are: of all tiers together first, then of these in the faster ones."""
    capacities = seen.capacities.tolist()
    most = min(sum(capacities), max(int(curve.capacities[-1]) for curve in curves))
    rows = [[float(hits(curve, size)) for size in range(most + 1)] for curve in curves]
    gains = naive.gains_of("hits", [0.0] * (len(capacities) + 1))
    return naive.best_division(naive.Hits(1, rows), capacities, gains)


class Hindsight:
    """The best fixed division, decided once."""

    timers: ClassVar = {"begin": {"at_start": True}}
    meters: ClassVar = {"all": {"meter": "curve", "foresight": "whole"}}
    resize_mode = "eager"

    def allocate(self, seen: Observation) -> list[list[int]]:
        return best_division(seen, seen.meters["all"])


class Clairvoyant:
    """The best division of the interval that begins."""

    timers: ClassVar = {"sizes": {"every": INTERVAL, "at_start": True}}
    meters: ClassVar = {"next": {"meter": "curve", "scope": "warm", "foresight": "next"}}

    def allocate(self, seen: Observation) -> list[list[int]] | None:
        curves = seen.meters["next"]
        return best_division(seen, curves) if any(curve.hits[-1] for curve in curves) else None


@pytest.mark.parametrize("capacities", [(9,), (40,), (4, 8), (3, 12, 20)])
@pytest.mark.parametrize(("name", "twin"), [("hindsight", Hindsight), ("clairvoyant", Clairvoyant)])
def test_every_decision_is_the_yardsticks(
    name: str, twin: Callable[[], Any], capacities: tuple[int, ...]
) -> None:
    for seed in range(4):
        trace = drawn(seed)
        theirs = run(trace, engine.System(name, {}, machine(*capacities), interval=INTERVAL))
        ours = run(trace, asked(twin(), *capacities))
        assert [d["request"] for d in ours.decisions] == [d["request"] for d in theirs.decisions]
        assert len(ours.decisions) == 1 if name == "hindsight" else len(ours.decisions) > 4
        assert ours.decisions[0]["request"] == 0
        for mine, other in zip(ours.decisions, theirs.decisions, strict=True):
            assert mine["targets"].tolist() == other["targets"].tolist()
        for counter, values in theirs.tiers.items():
            assert (ours.tiers[counter] == values).all(), counter


class Watcher:
    """Keeps what it sees."""

    timers: ClassVar = {
        "sizes": {"every": 60, "at_start": True},
        "once": {"at_start": True},
        "plain": {"every": "90ns"},
    }
    meters: ClassVar = {
        "next": {"meter": "curve", "scope": "warm", "foresight": "next"},
        "whole": {"meter": "curve", "foresight": "whole"},
        "was": {"meter": "curve", "scope": "warm"},
        "wss": {"meter": "distinct"},
        "load": {"meter": "load"},
        "inside": {"meter": "host"},
    }

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def allocate(self, seen: Observation) -> None:
        self.seen.append(seen)


def test_at_the_start_nothing_has_been_and_then_timers_ring_as_ever() -> None:
    trace, watcher = drawn(2), Watcher()
    run(trace, asked(watcher, 12))
    last = int(trace.request_time[-1] - trace.request_time[0])
    rings = [(0, "sizes"), (0, "once")]
    periods = [("sizes", 60), ("plain", 90)]
    later = [(t, name) for name, every in periods for t in range(every, last + 1, every)]
    rings += sorted(later, key=lambda ring: (ring[0], ring[1] != "sizes"))
    assert [(seen.now, seen.timer) for seen in watcher.seen] == rings
    sizes = [seen for seen in watcher.seen if seen.timer == "sizes"]
    assert [seen.interval for seen in sizes] == list(range(len(sizes)))
    for seen in watcher.seen[:2]:
        for name in ("accesses", "reads", "requests", "misses", "writes", "dirty", "latency_ns"):
            assert not getattr(seen, name).any(), name
        for name in ("hits", "occupancy", "tier_latency_ns", "departed"):
            assert not getattr(seen, name).any(), name
        assert seen.arrived.all()
        assert not seen.unique_blocks.any()
        assert not seen.reuse_intensity.any()
        assert seen.current.tolist() == [[4, 4, 4]]
        assert not seen.meters["wss"].any()
        assert not seen.meters["load"]["accesses"].any()
        for curve in (*seen.curves, *seen.meters["was"]):
            assert curve.accesses == 0
            assert curve.hits.tolist() == [0]
    inside = watcher.seen[0].meters["inside"]
    assert not any(values.any() for values in inside.values())
    assert watcher.seen[1].meters["inside"] is None


def test_what_is_foreseen_is_what_is_seen_later() -> None:
    trace, watcher = drawn(4), Watcher()
    run(trace, asked(watcher, 12))
    sizes = [seen for seen in watcher.seen if seen.timer == "sizes"]
    for before, after in itertools.pairwise(sizes):
        for foreseen, was in zip(before.meters["next"], after.meters["was"], strict=True):
            assert foreseen.accesses == was.accesses
            assert foreseen.capacities.tolist() == was.capacities.tolist()
            assert foreseen.hits.tolist() == was.hits.tolist()
    accesses = [vm.accesses for vm in trace.vms]
    for seen in sizes:
        assert [curve.accesses for curve in seen.meters["whole"]] == accesses


@pytest.mark.parametrize(
    ("timer", "message"),
    [
        ({}, 'it never rings: give `every`, such as {"every": "10min"}, or "at_start": True'),
        ({"at_start": False}, "it never rings"),
        ({"every": "soon"}, "every: expected a length of time such as 60s, got 'soon'"),
        ({"every": 0, "at_start": True}, "every: "),
        ({"evry": "1h"}, "unknown key 'evry' (did you mean 'every'?)"),
        ({"every": "1h", "at_start": "yes"}, "at_start: expected true or false, got 'yes'"),
    ],
)
def test_what_is_said_wrong_of_a_timer_is_named(timer: Mapping[str, Any], message: str) -> None:
    allocator = type("Mine", (Watcher,), {"timers": {"a": timer}, "meters": {}})()
    said = complaint(asked, allocator, 12)
    assert said.startswith("mine.timers['a']: ")
    assert message in said
