"""What allocators in Python see, may ask for and may answer.

Trusts: LRU as an OrderedDict, and everything else counted in the test from the requests, by the
words of `mcsim.Observation`.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from complaints import complaint
from hosts import ran
from naive_lru import lru_hits
from small import TINY, small_experiment

import mcsim
from mcsim._core import engine, locality
from mcsim.base.errors import ConfigError
from mcsim.experiment.allocator import answering
from mcsim.experiment.experiment import Experiment

NAMES = ("a", "b", "c")
CAPACITY = 24
READ, WRITE = 0, 1


@dataclass(frozen=True)
class Request:
    time: int
    vm: int
    op: int
    blocks: tuple[int, ...]

    @property
    def took(self) -> int:
        """Recorded response times; some requests have none."""
        return (self.time * 7 + self.blocks[0]) % 40 - 1

    @property
    def bytes(self) -> int:
        """The recorded length, which is less than its blocks."""
        return len(self.blocks) * 4096 - self.time * 13 % 4000


@dataclass
class Workload:
    """Requests of three VMs; the second may depart, the third comes late."""

    requests: list[Request]
    departs: int | None = None

    @classmethod
    def drawn(cls, seed: int, departs: int | None = None) -> Workload:
        draw = random.Random(seed)
        requests, time = [], 100
        while time < 800:
            vm = draw.choice((0, 0, 1) if time < 300 else (0, 1, 2))
            if departs is None or vm != 1 or time < departs:
                first, count = draw.randrange(14), draw.randint(1, 3)
                op = int(draw.random() < 0.3)
                requests.append(Request(time, vm, op, tuple(range(first, first + count))))
            time += draw.choice((0, 1, 2, 7)) if draw.random() < 0.97 else 60
        return cls(requests, departs)

    @property
    def begin(self) -> int:
        return self.requests[0].time

    @property
    def length(self) -> int:
        return self.requests[-1].time - self.begin

    def intern(self) -> engine.Accesses:
        builder = engine.AccessBuilder(ops="all", responses=True, bytes=True)
        for vm, name in enumerate(NAMES):
            mine = [r for r in self.requests if r.vm == vm]
            builder.begin_vm(name)
            builder.add(
                np.array([r.time for r in mine], np.int64),
                np.full(len(mine), vm, np.uint16),
                np.array([r.op for r in mine], np.uint8),
                np.array([r.blocks[0] * 4096 for r in mine], np.uint64),
                np.array([r.bytes for r in mine], np.uint32),
                np.array([r.took for r in mine], np.int64),
            )
            if vm == 1 and self.departs is not None:
                builder.depart(self.departs)
        return builder.finish()

    def rings(self, timers: dict[str, int]) -> list[tuple[int, str]]:
        """When which timer rings: of those at one time, in the order of the declaration."""
        order = list(timers)
        rings = [
            (now, name)
            for name, period in timers.items()
            for now in range(period, self.length + 1, period)
        ]
        return sorted(rings, key=lambda ring: (ring[0], order.index(ring[1])))

    def accesses(self, vm: int, begin: int, end: int) -> list[tuple[int, int]]:
        """Blocks and operations from one time to another, since the trace began."""
        return [
            (block, r.op)
            for r in self.requests
            if r.vm == vm and begin <= r.time - self.begin < end
            for block in r.blocks
        ]


class NaiveCache:
    """One tier, written back, an LRU cache for every VM; what it counts, it counts for ever."""

    def __init__(self) -> None:
        self.targets = [8, 8, 8]
        self.admits = [True, True, True]
        self.held: list[OrderedDict[int, bool]] = [OrderedDict() for _ in NAMES]  # whether dirty
        self.counts: list[Counter[str]] = [Counter() for _ in NAMES]
        self.gone = [False] * 3
        self.begin_window()

    def begin_window(self) -> None:
        self.hit: list[set[int]] = [set() for _ in NAMES]
        self.accessed: list[set[int]] = [set() for _ in NAMES]
        self.peak = [len(held) for held in self.held]

    def access(self, request: Request) -> None:
        held, counts = self.held[request.vm], self.counts[request.vm]
        counts["requests"] += 1
        for block in request.blocks:
            hit = block in held
            counts["hits" if hit else "misses"] += 1
            counts["writes" if request.op == WRITE else "reads"] += 1
            self.watch(request.vm, block, hit)
            counts["read_hits"] += hit and request.op == READ
            if not hit and not self.admits[request.vm]:
                counts["past"] += request.op == WRITE
                continue
            held[block] = held.pop(block, False) or request.op == WRITE
            self.shrink(request.vm)
            self.peak[request.vm] = max(self.peak[request.vm], len(held))

    def watch(self, vm: int, block: int, hit: bool) -> None:
        self.accessed[vm].add(block)
        if hit:
            self.hit[vm].add(block)

    def shrink(self, vm: int) -> None:
        while len(self.held[vm]) > self.targets[vm]:
            self.held[vm].popitem(last=False)

    def depart(self, vm: int) -> None:
        self.held[vm].clear()
        self.gone[vm] = True

    def resize(self, targets: list[int]) -> None:
        self.targets = targets
        for vm in range(3):
            self.shrink(vm)


@dataclass
class Watcher:
    """Keeps what it sees; at every other ring of the slow timer it moves space."""

    timers: ClassVar = {"slow": 60, "fast": "20ns"}
    meters: ClassVar = {
        "wss": {"meter": "distinct", "window": 120},
        "hot": {"meter": "distinct", "timer": "fast", "window": 40, "reuses": 1},
        "useful": {"meter": "curve", "ops": "reads", "scope": "warm"},
        "load": {"meter": "load", "timer": "fast", "bytes": True},
        "long load": {"meter": "load", "window": 180},
        "classes": {"meter": "classes"},
        "wide": {"meter": "classes", "window": 180},
        "warm": {"meter": "classes", "scope": "warm", "window": 120},
        "ever": {"meter": "classes", "scope": "cumulative"},
        "inside": {"meter": "host"},
        "rush": {"meter": "intensity", "kind": "per-second", "timer": "fast", "window": "20ns"},
        "waits": {"meter": "responses", "timer": "fast"},
        "long waits": {"meter": "responses", "timer": "fast", "window": "60ns"},
    }
    resize_mode: str = "eager"
    ri_window: int = 30
    distance_scope: str = "interval"
    data_path: ClassVar = {"writes": "back"}
    seen: list[mcsim.Observation] = field(default_factory=list)

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision | None:
        self.seen.append(seen)
        if seen.timer == "fast" or seen.interval % 2:
            return None
        return mcsim.Decision([self.wanted(seen.interval)], admits=self.admitted(seen.interval))

    @staticmethod
    def wanted(interval: int) -> list[int]:
        return [6 + interval % 5, 4, 12 - interval % 5]

    @staticmethod
    def admitted(interval: int) -> list[bool]:
        return [interval % 4 != 2, True, interval % 4 != 0]


def machine(*capacities: int) -> engine.Machine:
    device = engine.Device("any", 30.0, 40.0, 10.0)
    return engine.Machine(
        [(device, blocks) for blocks in capacities],
        engine.Device("hdd", 5e6, 6e6, 0.1),
        {"c": 7e6},
    )


def run(workload: Workload, allocator: Any, interval: int = 100) -> engine.RunResult:
    accesses = workload.intern()
    system = engine.System.from_python(
        answering(allocator, "mine"), machine(CAPACITY), interval=interval
    )
    return ran(accesses, system, interval)


@pytest.mark.parametrize("departs", [None, 500])
@pytest.mark.parametrize("scope", ["interval", "cumulative", "warm"])
def test_everything_seen_is_as_counted_from_the_trace(scope: str, departs: int | None) -> None:
    workload = Workload.drawn(seed=3, departs=departs)
    watcher = Watcher(distance_scope=scope)
    run(workload, watcher)
    timers = {"slow": 60, "fast": 20}
    rings = workload.rings(timers)
    assert [(seen.now, seen.timer) for seen in watcher.seen] == rings
    cache = NaiveCache()
    left = list(workload.requests)
    rang = Counter[str]()
    before = {name: [Counter[str]() for _ in NAMES] for name in timers}
    for (now, timer), seen in zip(rings, watcher.seen, strict=True):
        while left and left[0].time - workload.begin < now:
            if departs is not None and left[0].time >= departs and not cache.gone[1]:
                cache.depart(1)
            cache.access(left.pop(0))
        if departs is not None and left[0].time >= departs and not cache.gone[1]:
            cache.depart(1)
        check_constants(seen, rang[timer])
        check_counts(seen, cache, before[timer])
        check_meters(seen, workload, cache.gone, scope)
        check_inside(seen, cache)
        before[timer] = [Counter(counts) for counts in cache.counts]
        if timer == "slow" and rang[timer] % 2 == 0:
            cache.resize(Watcher.wanted(rang[timer]))
            cache.admits = Watcher.admitted(rang[timer])
            cache.peak = [max(p, len(h)) for p, h in zip(cache.peak, cache.held, strict=True)]
        rang[timer] += 1


def check_inside(seen: mcsim.Observation, cache: NaiveCache) -> None:
    """The probe of the cache, since the last firing of the slow timer."""
    inside = seen.meters["inside"]
    if seen.timer != "slow":
        assert inside is None
        return
    there = [vm for vm in range(3) if not cache.gone[vm]]
    assert [inside["distinct_hits"][vm] for vm in there] == [len(cache.hit[vm]) for vm in there]
    touched = [len(cache.accessed[vm] & set(cache.held[vm])) for vm in range(3)]
    assert inside["touched"].tolist() == touched
    assert [inside["peak"][vm] for vm in there] == [cache.peak[vm] for vm in there]
    cache.begin_window()


def check_constants(seen: mcsim.Observation, rang: int) -> None:
    assert seen.interval == rang
    assert seen.vms == NAMES
    assert seen.capacities.tolist() == [CAPACITY]
    assert seen.tier_read_ns.tolist() == [30.0]
    told = [(of.name, of.read_ns, of.write_ns, of.dollars_per_gb) for of in seen.devices]
    assert told == [("any", 30.0, 40.0, 10.0), ("hdd", 5e6, 6e6, 0.1)]
    assert seen.block_bytes == 4096
    assert seen.backend_read_ns == 5e6
    assert seen.vm_backend_ns.tolist() == [5e6, 5e6, 7e6]


def check_counts(seen: mcsim.Observation, cache: NaiveCache, before: list[Counter[str]]) -> None:
    """Counts since this timer rang last, and what is as it is."""
    since = [
        Counter() if gone else counts - old
        for counts, old, gone in zip(cache.counts, before, cache.gone, strict=True)
    ]
    assert seen.hits.tolist() == [[of["hits"] for of in since]]
    assert seen.write_hits.tolist() == [[of["hits"] - of["read_hits"] for of in since]]
    assert seen.misses.tolist() == [of["misses"] for of in since]
    assert seen.accesses.tolist() == [of["hits"] + of["misses"] for of in since]
    assert seen.reads.tolist() == [of["reads"] for of in since]
    assert seen.writes.tolist() == [of["writes"] for of in since]
    assert seen.requests.tolist() == [of["requests"] for of in since]
    # Written back, a write waits for the tier alone, unless it is not let in.
    waited = [
        30 * of["read_hits"]
        + 40 * (of["writes"] - of["past"])
        + backend_reads * (of["reads"] - of["read_hits"])
        + backend_writes * of["past"]
        for of, backend_reads, backend_writes in zip(
            since, seen.vm_backend_ns, (6e6, 6e6, 7e6), strict=True
        )
    ]
    accesses = [max(of["reads"] + of["writes"], 1) for of in since]
    assert seen.latency_ns == pytest.approx(np.divide(waited, accesses))
    assert seen.occupancy.tolist() == [[len(held) for held in cache.held]]
    assert seen.dirty.tolist() == [sum(held.values()) for held in cache.held]
    targets = [0 if gone else of for of, gone in zip(cache.targets, cache.gone, strict=True)]
    assert seen.current.tolist() == [targets]
    assert seen.departed.tolist() == cache.gone
    assert seen.arrived.all()


def check_meters(seen: mcsim.Observation, workload: Workload, gone: list[bool], scope: str) -> None:
    """Meters of the trace cover the last period of the timer that reads them."""
    slow = seen.now // 60 * 60
    fast = seen.now // 20 * 20
    if seen.timer == "slow":
        fast = (seen.now - 1) // 20 * 20  # its turn comes
    for vm in range(3):
        period = [] if gone[vm] or slow == 0 else workload.accesses(vm, slow - 60, slow)
        past = [] if gone[vm] else workload.accesses(vm, 0, slow)
        assert seen.unique_blocks[vm] == len({block for block, _ in period})
        counted = past if scope == "cumulative" else period
        known = period if scope == "interval" else past
        curve = seen.curves[vm]
        assert curve.accesses == len(counted)
        for size in (1, 3, 8, 20):
            hits = lru_hits([block for block, _ in known], size, len(known) - len(counted))
            assert curve.at(size) == (hits / len(counted) if counted else 0)
        check_own_meters(seen, workload, vm, gone[vm], slow, fast)


def check_own_meters(
    seen: mcsim.Observation, workload: Workload, vm: int, gone: bool, slow: int, fast: int
) -> None:
    def accesses(begin: int, end: int) -> list[tuple[int, int]]:
        return [] if gone else workload.accesses(vm, begin, end)

    wide = Counter(block for block, _ in accesses(slow - 120, slow))
    assert seen.meters["wss"][vm] == len(wide)
    often = Counter(block for block, _ in accesses(fast - 40, fast))
    assert seen.meters["hot"][vm] == sum(times > 1 for times in often.values())
    last = accesses(fast - 20, fast)

    def shown(name: str) -> dict[str, float]:
        return {key: column[vm] for key, column in seen.meters[name].items()}

    def requests(begin: int, end: int) -> list[Request]:
        mine = [r for r in workload.requests if r.vm == vm and not gone]
        return [r for r in mine if begin <= r.time - workload.begin < end]

    inside = requests(fast - 20, fast)
    assert shown("load") == load_of(inside) | bytes_of(inside)
    assert shown("long load") == load_of(requests(slow - 180, slow))
    assert shown("waits") == waits_of(inside, 20)
    assert shown("long waits") == waits_of(requests(fast - 60, fast), max(min(fast, 60), 20))
    distinct = len({block for block, _ in last})
    rush = len(last) / distinct / 20e-9 if last else 0
    assert seen.meters["rush"][vm] == pytest.approx(rush)
    past = accesses(0, slow)
    assert shown("classes") == classes_of([], accesses(slow - 60, slow))
    assert shown("wide") == classes_of([], accesses(slow - 180, slow))
    assert shown("warm") == classes_of(accesses(0, slow - 120), accesses(slow - 120, slow))
    assert shown("ever") == classes_of([], past)
    period = accesses(slow - 60, slow)
    useful = seen.meters["useful"][vm]
    assert useful.accesses == sum(op == READ for _, op in period)
    if useful.accesses:
        expected, blocks = 0, [block for block, _ in past]
        for i in range(len(past) - len(period), len(past)):
            expected += past[i][1] == READ and lru_hits(blocks[: i + 1], 5, i)
        assert useful.at(5) * useful.accesses == pytest.approx(expected)


_AFTER = {READ: ("rar", "war"), WRITE: ("raw", "waw")}
_CLASSES = ("cold_reads", "cold_writes", "rar", "raw", "war", "waw")


def classes_of(before: list[tuple[int, int]], counted: list[tuple[int, int]]) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    was = dict(before)
    for block, op in counted:
        kind = ("cold_reads", "cold_writes") if block not in was else _AFTER[was[block]]
        kinds[kind[op]] += 1
        was[block] = op
    return {name: kinds[name] for name in _CLASSES}


def load_of(requests: list[Request]) -> dict[str, int]:
    by_op = [[r for r in requests if r.op == op] for op in (READ, WRITE)]
    calls = [len(of) for of in by_op]
    blocks = [sum(len(r.blocks) for r in of) for of in by_op]
    return {
        "requests": sum(calls),
        "read_requests": calls[0],
        "write_requests": calls[1],
        "accesses": sum(blocks),
        "reads": blocks[0],
        "writes": blocks[1],
    }


def bytes_of(requests: list[Request]) -> dict[str, int]:
    by_op = [sum(r.bytes for r in requests if r.op == op) for op in (READ, WRITE)]
    return {"bytes_read": by_op[0], "bytes_written": by_op[1]}


def waits_of(requests: list[Request], length: int) -> dict[str, float]:
    took = [r.took for r in requests if r.took >= 0]
    mean = sum(took) / len(took) if took else 0
    return {"requests": len(took), "mean_ns": mean, "outstanding": sum(took) / length}


def test_reuse_intensity_is_of_the_last_window_that_closed() -> None:
    workload = Workload.drawn(seed=5)
    watcher = Watcher()
    run(workload, watcher)
    for seen in watcher.seen:
        slow = seen.now // 60 * 60
        for vm in range(3):
            window = [block for block, _ in workload.accesses(vm, slow - 30, slow)]
            wanted = 1 - len(set(window)) / len(window) if window else 0
            assert seen.reuse_intensity[vm] == pytest.approx(wanted)


def test_without_timers_it_is_asked_at_the_end_of_every_interval() -> None:
    class Plain:
        def __init__(self) -> None:
            self.seen: list[mcsim.Observation] = []

        def allocate(self, seen: mcsim.Observation) -> None:
            self.seen.append(seen)

    workload = Workload.drawn(seed=1)
    plain = Plain()
    run(workload, plain)
    every = range(100, workload.length + 1, 100)
    assert [(seen.timer, seen.now) for seen in plain.seen] == [("interval", now) for now in every]
    assert plain.seen[0].meters == {}


class Answers:
    """Returns the same decision each time."""

    data_path: ClassVar = {"writes": "back"}

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def allocate(self, seen: mcsim.Observation) -> Any:
        return self.answer


def test_a_decision_may_leave_out_anything() -> None:
    workload = Workload.drawn(seed=2)
    nothing = run(workload, Answers(None))
    assert nothing.decisions == []
    empty = run(workload, Answers(mcsim.Decision()))
    modes = run(workload, Answers(mcsim.Decision(write_modes=["through"] * 3)))
    blocks = run(workload, Answers([[3, 4, 5]]))
    both = run(workload, Answers(([[3, 4, 5]], ["through"] * 3)))
    same = run(workload, Answers(mcsim.Decision([[3, 4, 5]], ["through"] * 3)))
    shut = run(workload, Answers(mcsim.Decision(admits=np.array([False, True, True]))))
    assert {tuple(d["admits"]) for d in shut.decisions} == {(False, True, True)}
    assert {tuple(d["admits"]) for d in empty.decisions + both.decisions} == {()}
    assert (shut.tiers["target"] == nothing.tiers["target"]).all()
    assert (shut.tiers["fills"][1:, 0] == 0).all()
    held = shut.tiers["occupancy"][:, 0, 0]
    assert held[0] >= held[-1] > 0
    assert (np.diff(held) <= 0).all()
    assert (shut.tiers["hits"][:, 1:] == nothing.tiers["hits"][:, 1:]).all()
    assert (empty.tiers["hits"] == nothing.tiers["hits"]).all()
    assert [d["targets"].tolist() for d in empty.decisions] == [[[8, 8, 8]]] * len(empty.decisions)
    assert (modes.tiers["target"] == nothing.tiers["target"]).all()
    assert modes.vms["dirty"][1:].sum() == 0 < nothing.vms["dirty"][1:].sum()
    assert (blocks.tiers["target"][1:, :, 0] == [3, 4, 5]).all()
    assert blocks.vms["dirty"][1:].sum() > 0
    for name in both.tiers:
        assert (both.tiers[name] == same.tiers[name]).all()


def test_what_cannot_be_had_is_kept_with_the_decision() -> None:
    workload = Workload.drawn(seed=2)
    why = "b: 3 ms cannot be had with 8 blocks"
    result = run(workload, Answers(mcsim.Decision(infeasible=why)))
    assert {d["infeasible"] for d in result.decisions} == {why}
    assert {d["infeasible"] for d in run(workload, Answers([[1, 1, 1]])).decisions} == {""}


def test_a_system_that_runs_twice_sees_the_same() -> None:
    workload = Workload.drawn(seed=1)
    accesses = workload.intern()
    watcher = Watcher()
    system = engine.System.from_python(answering(watcher, "mine"), machine(CAPACITY))
    measured = locality.characterise(accesses, system.meters)
    for _ in range(2):
        engine.run(accesses, system, measured, engine.aligned_cuts(accesses, 100))
    assert {seen.vms for seen in watcher.seen} == {NAMES}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"timers": ["a"]}, "mine.timers: expected a mapping by name, got ['a']"),
        ({"timers": {1: "1h"}}, "mine.timers: expected a mapping by name, got {1: '1h'}"),
        (
            {"timers": {"a": "soon"}},
            "mine.timers['a']: expected a length of time such as 60s, got 'soon'",
        ),
        (
            {"timers": {"a": "1h"}, "interval": "1h"},
            "mine: interval and timers say the same; give one of them",
        ),
        ({"meters": "wss"}, "mine.meters: expected a mapping by name, got 'wss'"),
        (
            {"meters": {"wss": "distinct"}},
            'mine.meters[\'wss\']: expected a mapping such as {"meter": "distinct"}, '
            "got 'distinct'",
        ),
        (
            {"meters": {"wss": {"window": "1h"}}},
            'mine.meters[\'wss\']: expected a mapping such as {"meter": "distinct"}, '
            "got {'window': '1h'}",
        ),
        (
            {"meters": {"wss": {"meter": "distinct", "timer": "slow"}}},
            "mine.meters['wss']: no timer 'slow'; there are interval",
        ),
        (
            {"timers": {"a": 1, "b": 2}, "meters": {"x": {"meter": "load", "timer": "c"}}},
            "mine.meters['x']: no timer 'c'; there are a, b",
        ),
        (
            {"meters": {"wss": {"meter": "distinct", "window": "long"}}},
            "mine.meters['wss']: window: expected a length of time such as 60s, got 'long'",
        ),
        (
            {"meters": {"wss": {"meter": "distinct", "ops": ["reads"]}}},
            "mine.meters['wss']: ops: expected a number, text or truth value, got ['reads']",
        ),
        (
            {"meters": {"wss": {"meter": "wss"}}},
            "meters['wss']: no meter 'wss'; there are curve, load, distinct, intensity, classes",
        ),
        (
            {"meters": {"wss": {"meter": "distinct", "opps": "reads"}}},
            "meters['wss']: unknown parameter 'opps' (did you mean 'ops'?)",
        ),
        (
            {"meters": {"wss": {"meter": "curve", "scope": "hour"}}},
            "meters['wss']: scope: unknown choice 'hour' (one of interval, cumulative, warm)",
        ),
        (
            {"distance_scope": "hour"},
            "distance_scope: unknown choice 'hour' (one of interval, cumulative, warm)",
        ),
        (
            {"meters": {"wss": {"meter": "distinct", "window": 150}}},
            "meter 'distinct': window: expected a whole number of periods of 100 ns, got 150 ns",
        ),
        ({"timers": {"a": "0s"}}, "mine.timers['a']: must be positive, got '0s'"),
        ({"interval": "0s"}, "mine.interval: must be positive, got '0s'"),
    ],
)
def test_what_is_said_wrong_of_timers_and_meters_is_named(
    said: dict[str, Any], message: str
) -> None:
    allocator = type("Allocator", (Answers,), said)(None)
    assert message in complaint(run, Workload.drawn(seed=1), allocator)


WANTED = "expected whole numbers of blocks, an array of 1 tiers x 3 VMs"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1, 2]], f"{WANTED}, got an array of shape (1, 2)"),
        ([[1], [2, 3]], f"{WANTED}, got rows of different lengths"),
        ("all", f"{WANTED}, got 'all'"),
        ([[1.5, 1, 1]], f"{WANTED}, got 1.5"),
        ([[float("nan"), 1, 1]], f"{WANTED}, got nan"),
        (mcsim.Decision([[1, 2]]), f"{WANTED}, got an array of shape (1, 2)"),
        ([[-1, 1, 1]], f"allocate() of interval 0: {WANTED}, got -1"),
        ([[float("inf"), 1, 1]], f"{WANTED}, got inf"),
        ([[2.0**63, 1, 1]], f"{WANTED}, got 9.22"),
        (
            [[CAPACITY, 1, 0]],
            "allocate() of interval 0: 25 blocks of tier 0, which has 24",
        ),
        (mcsim.Decision(write_modes=[1]), "expected names of write modes, got [1]"),
        (mcsim.Decision(write_modes=["back"]), "allocate() of interval 0: 1 write mode for 3 VMs"),
        (
            mcsim.Decision(write_modes=["back", "forth", "back"]),
            "allocate() of interval 0: unknown write mode 'forth' (one of through, back, around)",
        ),
        (
            mcsim.Decision(admits=[True]),
            "admits: expected 3 truth values, one for each VM, got [True]",
        ),
        (mcsim.Decision(admits=[1, 0, 1]), "one for each VM, got [1, 0, 1]"),
        (mcsim.Decision(admits=[[True], []]), "one for each VM, got [[True], []]"),
        (
            mcsim.Decision(infeasible=3),  # type: ignore[arg-type]
            "infeasible: expected the reason as text, got 3",
        ),
    ],
)
def test_wrong_answers_are_named(answer: Any, message: str) -> None:
    assert message in complaint(run, Workload.drawn(seed=1), Answers(answer))


@pytest.mark.parametrize(
    ("actions", "answer", "message"),
    [
        (
            ["targets"],
            mcsim.Decision(admits=[True] * 3),
            "admits decided, and `actions` has targets",
        ),
        ((), [[1, 1, 1]], "targets decided, and `actions` has nothing"),
        (
            ["targets", "admits"],
            mcsim.Decision(write_modes=["back"] * 3),
            "write_modes decided, and `actions` has targets, admits",
        ),
    ],
)
def test_what_an_allocator_says_that_it_decides_it_is_held_to(
    actions: Any, answer: Any, message: str
) -> None:
    allocator = type("Allocator", (Answers,), {"actions": actions})(answer)
    assert f"mine: allocate() of interval 0: {message}" == complaint(
        run, Workload.drawn(seed=1), allocator
    )
    run(Workload.drawn(seed=1), type("Allocator", (Answers,), {"actions": actions})(None))


_DECIDES = """
class Decides:
    actions = {actions!r}

    def allocate(self, seen):
        raise RuntimeError("it was never to run")
"""


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (
            ["targets", "placements"],
            "Decides.actions: decisions change placements; the host can change "
            "targets, write_modes, admits",
        ),
        (
            ["admit"],
            "Decides.actions: unknown choice 'admit' "
            "(one of targets, write_modes, write_modes_by_tier, admits, placements, migrations)",
        ),
        ("admits", "decides:Decides.actions: expected names of actions, got 'admits'"),
    ],
)
def test_a_system_on_a_host_that_cannot_is_refused_as_it_is_loaded(
    tmp_path: Path, actions: Any, message: str
) -> None:
    (tmp_path / "decides.py").write_text(_DECIDES.format(actions=actions))
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\ninterval: 10min\n"
        f"workload: {{profile: {TINY}}}\n"
        "tiers: [{device: dram, capacity: 400}]\n"
        "systems:\n  - lru\n  - name: decides:Decides\n"
    )
    assert complaint(Experiment.load, file, allow_code=True).endswith(
        f"mine.yaml:7: systems[1]: {message}"
    )


def test_a_wrong_answer_says_of_which_timer() -> None:
    allocator = type("Allocator", (Answers,), {"timers": {"sizes": 60}})([[1]])
    with pytest.raises(ConfigError, match=r"mine: allocate\(\) of sizes 0: expected whole numbers"):
        run(Workload.drawn(seed=1), allocator)


def test_results_say_what_could_not_be_had(tmp_path: Path) -> None:
    class Wants:
        timers: ClassVar = {"sizes": "30min", "peak": "1h"}
        meters: ClassVar = {"hot": {"meter": "distinct", "timer": "peak", "reuses": 1}}

        def allocate(self, seen: mcsim.Observation) -> mcsim.Decision:
            if seen.timer == "sizes":
                return mcsim.Decision(seen.current)
            return mcsim.Decision(infeasible=f"{seen.meters['hot'].sum()} blocks are hot")

    spec = small_experiment("lru", {"name": Wants}, tiers={"dram": 400}, interval="10min")
    decisions = mcsim.run(spec, out=tmp_path, figures=False).decisions().to_arrow().to_pylist()
    assert [d["interval"] for d in decisions] == [3, 6, 6, 9, 12, 12, 15, 18, 18, 21]
    of_hour = [d["infeasible"] for d in decisions if d["interval"] % 6 == 0][1::2]
    assert len(set(of_hour)) == 3
    assert all(why.endswith(" blocks are hot") for why in of_hour)
    assert [d["infeasible"] for d in decisions].count("") == 7


def test_results_say_who_was_shut_out(tmp_path: Path) -> None:
    class Shuts:
        def __init__(self, shuts: bool) -> None:
            self.shuts = shuts

        def allocate(self, seen: mcsim.Observation) -> mcsim.Decision:
            if not self.shuts or seen.interval > 1:
                return mcsim.Decision()
            return mcsim.Decision(admits=[seen.interval == 1] + [True] * (len(seen.vms) - 1))

    def decisions(name: str, *shuts: bool) -> list[dict[str, Any]]:
        spec = small_experiment(
            *(
                {"name": Shuts, "shuts": of, "label": f"{index} {of}"}
                for index, of in enumerate(shuts)
            ),
            tiers={"dram": 400},
            name=name,
            interval="30min",
        )
        return mcsim.run(spec, out=tmp_path, figures=False).decisions().to_arrow().to_pylist()

    assert {"admits" in row for row in decisions("nobody", False)} == {False}
    rows = decisions("one", False, True)
    said = [(row["system"], row["interval"], row["admits"]) for row in rows if row["admits"]]
    assert [(system, interval) for system, interval, _ in said] == [("1 True", 1), ("1 True", 2)]
    assert [admits[0] for _, _, admits in said] == [False, True]
    assert all(all(admits[1:]) for _, _, admits in said)
