"""Requests one after the other on hosts in plain Python, counted as the core counts.

A twin of a system that has a data path of its own reads the trace itself: `replay` shows it what
comes, in the order of time, and `differences` says where its counts are not those of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine

Block = tuple[int, int]  # a VM, and the number of a block in it


@dataclass(frozen=True)
class Request:
    """A request of a VM: time, first block, number of blocks."""

    time: int
    vm: int
    writes: bool
    first: int
    blocks: int
    of_class: int = 0

    @property
    def touched(self) -> list[Block]:
        return [(self.vm, self.first + i) for i in range(self.blocks)]


@dataclass(frozen=True)
class Workload:
    """Requests in the order of time, and when VMs are gone."""

    requests: list[Request]
    vms: int
    departures: dict[int, int] = field(default_factory=dict)

    def accesses(self, block_bytes: int = 4096, **options: Any) -> engine.Accesses:
        """The trace that the core replays."""
        builder = engine.AccessBuilder(ops="all", block_bytes=block_bytes, **options)
        for v in range(self.vms):
            builder.begin_vm(f"vm{v}")
            rows = [r for r in self.requests if r.vm == v]
            builder.add(
                np.array([r.time for r in rows], np.int64),
                np.zeros(len(rows), np.uint16),
                np.array([r.writes for r in rows], np.uint8),
                np.array([r.first * block_bytes for r in rows], np.uint64),
                np.array([r.blocks * block_bytes for r in rows], np.uint32),
                classes=np.array([r.of_class for r in rows], np.uint8),
            )
            if v in self.departures:
                builder.depart(self.departures[v])
        return builder.finish()


def random_workload(
    seed: int, *, length: int, most_blocks: int = 6, footprint: int = 160, count: int = 1500
) -> Workload:
    """Some hot blocks, others later on; reads and writes; a VM may depart, or be idle for long."""
    draw = np.random.default_rng(seed)
    vms = int(draw.integers(1, 4))
    requests = []
    for v in range(vms):
        writes = float(draw.choice([0.0, 0.3, 0.7]))
        for time in np.sort(draw.integers(100, 100 + length, count // vms)).tolist():
            hot = (time // (length // 3)) * footprint // 4
            skewed = int(footprint * draw.random() ** 4) + hot
            anywhere = draw.random() < 0.3
            requests.append(
                Request(
                    time,
                    v,
                    bool(draw.random() < writes),
                    int(draw.integers(2 * footprint)) if anywhere else skewed,
                    int(draw.integers(1, most_blocks + 1)),
                    int(draw.integers(8)),
                )
            )
    departures = {}
    if vms > 1 and seed % 2:
        departures[0] = 100 + int(draw.integers(length // 2, length))
        requests = [r for r in requests if r.vm or r.time < departures[0]]
    if vms > 1:
        idle = 100 + int(draw.integers(length // 2))
        pause = range(idle, idle + length // 3)
        requests = [r for r in requests if r.vm != 1 or r.time not in pause]
    return Workload(sorted(requests, key=lambda r: (r.time, r.vm)), vms, departures)


class Counts:
    """Counts by interval, VM and tier; the backend follows the last tier."""

    def __init__(self, capacities: Sequence[int]) -> None:
        self.tiers = len(capacities)
        self.interval = 0
        self.of_tier: Counter[tuple[str, int, int, int]] = Counter()
        self.of_vm: Counter[tuple[str, int, int]] = Counter()

    def add(self, name: str, vm: int, tier: int, times: int = 1) -> None:
        if tier == self.tiers:
            self.of_vm[name, self.interval, vm] += times
        else:
            self.of_tier[name, self.interval, vm, tier] += times

    def add_vm(self, name: str, vm: int, times: int = 1) -> None:
        self.of_vm[name, self.interval, vm] += times

    def found(self, vm: int, writes: bool, tier: int, times: int = 1) -> None:
        """Accesses to what is in a tier, or nowhere."""
        self.add_vm("accesses", vm, times)
        missed = tier == self.tiers
        if missed:
            self.add_vm("misses", vm, times)
        else:
            self.add("hits", vm, tier, times)
        if writes:
            self.add_vm("writes", vm, times)
            self.add("write_misses" if missed else "write_hits", vm, tier, times)

    def waited(self, request: Request, places: Sequence[int]) -> None:
        """By block, what it waited for; a request waits for the slowest."""
        kind = "write" if request.writes else "read"
        for place in places:
            self.add(f"{kind}s_served", request.vm, place)
        self.add(f"{kind}_requests", request.vm, max(places))


class Host(Protocol):
    counts: Counts

    def serve(self, request: Request) -> None: ...
    def release(self, vm: int) -> None: ...
    def ring(self, timer: int, times: int) -> None:
        """A timer rings, for the first time if `times` is 1."""

    def levels(self, vm: int) -> tuple[list[int], list[int], int]:
        """Blocks held and granted, by tier, and those that are dirty."""


def serve(host: Host, request: Request) -> None:
    """Serve a request, which hits if none of its blocks misses or is a delayed hit."""
    counts = host.counts

    def found_none() -> int:
        kinds = ("misses", "delayed_hits")
        return sum(counts.of_vm[kind, counts.interval, request.vm] for kind in kinds)

    before = found_none()
    host.serve(request)
    counts.add_vm("requests", request.vm)
    counts.add_vm("request_hits", request.vm, int(found_none() == before))


def replay(
    workload: Workload, host: Host, interval: int, periods: Sequence[int] = ()
) -> tuple[Counts, int]:
    """Show a host all there is; its counts, and the number of intervals."""
    begin = workload.requests[0].time
    departures = dict(workload.departures)
    rung = [0] * len(periods)

    def depart(until: float) -> None:
        for vm, time in list(departures.items()):
            if time <= until:
                host.release(vm)
                del departures[vm]

    def close() -> None:
        for vm in range(workload.vms):
            held, granted, dirty = host.levels(vm)
            for k, (blocks, target) in enumerate(zip(held, granted, strict=True)):
                host.counts.add("occupancy", vm, k, blocks)
                host.counts.add("target", vm, k, target)
            host.counts.add_vm("dirty", vm, dirty)
        host.counts.interval += 1

    def ring_once(now: int) -> bool:
        """All timers of the earliest time that has come, if one has."""
        due = [(rung[i] + 1) * period for i, period in enumerate(periods)]
        earliest = min(due, default=now + 1)
        for timer, at in enumerate(due):
            if at == earliest <= now:
                depart(begin + now)
                rung[timer] += 1
                host.ring(timer, rung[timer])
        return earliest <= now

    for request in workload.requests:
        now = request.time - begin
        # An interval is over before anything changes that its last request has not seen; those
        # without requests take a time each.
        while host.counts.interval < now // interval:
            close()
            if host.counts.interval < now // interval:
                ring_once(now)
        while ring_once(now):
            pass
        depart(request.time)
        serve(host, request)
    depart(float("inf"))
    close()
    return host.counts, host.counts.interval


def differences(workload: Workload, counts: Counts, result: engine.RunResult) -> list[str]:
    """Names of all that is counted where a run and a twin do not have the same."""

    def array(of: Counter[Any], name: str, like: NDArray[np.int64]) -> NDArray[np.int64]:
        made = np.zeros_like(like)
        for (kind, *at), times in of.items():
            if kind == name:
                made[tuple(at)] = times
        return made

    known = {name for name, *_ in counts.of_tier} - set(result.tiers)
    known |= {name for name, *_ in counts.of_vm} - set(result.vms)
    assert not known, f"counts that no run has: {known}"
    wrong = []
    for of, counted in ((result.tiers, counts.of_tier), (result.vms, counts.of_vm)):
        for name, values in of.items():
            if not np.array_equal(values, array(counted, name, values)):
                where = "tiers" if of is result.tiers else "vms"
                at = np.argwhere(values != array(counted, name, values))[0]
                wrong.append(f"{name} of {where} from {at.tolist()} on")
    return wrong
