"""The best division of all tiers in plain Python: `steady`, `hindsight`, `clairvoyant`.

Of several divisions that are worth the same which one is taken is `mcsim.optimizers.optimize`'s
affair. That it is worth as much as any division there is, a sum over all of them confirms.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from naive_replay import Block, Request
from naive_systems import hits as hits_at

from mcsim.experiment.allocator import Decision, Observation
from mcsim.locality.curve import HitRatioCurve
from mcsim.optimizers import optimize

Division = list[list[int]]  # blocks by tier and VM


class Hits:
    """Hits of VMs in LRU caches of 0, unit, 2 unit, … blocks."""

    def __init__(self, unit: int, rows: list[list[float]]) -> None:
        self.unit, self.rows = unit, rows

    def at(self, v: int, blocks: int) -> float:
        row = self.rows[v]
        return row[min(blocks // self.unit, len(row) - 1)]


def together(division: Division, v: int) -> list[int]:
    """By tier, what a VM has in it and in all faster ones."""
    return list(itertools.accumulate(of_tier[v] for of_tier in division))


def gains_of(objective: str, read_ns: Sequence[float]) -> list[float]:
    """By tier, what a hit gains from not being in the next slower place."""
    if objective == "hits":
        return [0.0] * (len(read_ns) - 2) + [1.0]
    return [slower - faster for faster, slower in itertools.pairwise(read_ns)]


def worth(hits: Hits, division: Division, gains: Sequence[float]) -> float:
    return sum(
        gain * hits.at(v, blocks)
        for v in range(len(hits.rows))
        for gain, blocks in zip(gains, together(division, v), strict=True)
    )


def deal_out(space: int, blocks: list[int], most: Sequence[int]) -> None:
    """One block after the other of what is left, in turns, as far as they may have more."""
    while sum(blocks) < space:
        for v in range(len(blocks)):
            if sum(blocks) < space and blocks[v] < most[v]:
                blocks[v] += 1


def best_division(hits: Hits, capacities: Sequence[int], gains: Sequence[float]) -> Division:
    """Slowest tier first, with all faster ones as one cache, within what the slower ones left."""
    vms, unit = range(len(hits.rows)), hits.unit
    sizes = [unit * i for i in range(len(hits.rows[0]))]
    cumulative = list(itertools.accumulate(capacities))
    unlimited = [cumulative[-1] + unit for _ in vms]

    def alone(space: int, most: Sequence[int]) -> Any:
        highest = [max(s for s in sizes if s <= m) for m in most]
        return optimize(hits.rows, space, sizes=sizes, highest=highest, optimizer="exact")

    within, parts = unlimited, []
    for space in reversed(cumulative):
        blocks = [int(b) for b in alone(space, within).allocation[0]]
        deal_out(space, blocks, within)
        parts.append([m - b for m, b in zip(within, blocks, strict=True)])
        within = blocks
    division = [within, *reversed(parts[1:])]
    # Tiers may want what excludes each other: then all at once.
    bound = sum(
        gain * alone(space, unlimited).objective
        for gain, space in zip(gains, cumulative, strict=True)
        if gain
    )
    if worth(hits, division, gains) < bound and len(capacities) > 1:
        values = [[[gain * h for h in row] for gain in gains] for row in hits.rows]
        found = optimize(values, list(capacities), sizes=sizes, optimizer="exact").allocation
        joint = [[int(b) for b in of_tier] for of_tier in found]
        for space, blocks in zip(capacities, joint, strict=True):
            deal_out(space, blocks, unlimited)
        if worth(hits, joint, gains) > worth(hits, division, gains):
            division = joint
    if math.prod(c // unit + 1 for c in capacities) <= 50:
        most, had = best_of_all(hits, capacities, gains), worth(hits, division, gains)
        # Tiers that are no multiples of the unit may be worth more together.
        assert had >= most or math.isclose(had, most)
        assert unit > 1 or math.isclose(had, most)
    return division


def best_of_all(hits: Hits, capacities: Sequence[int], gains: Sequence[float]) -> float:
    """VM after VM, the most that is had with so much of every tier used, for all that may be."""
    units = [range(capacity // hits.unit + 1) for capacity in capacities]
    parts = list(itertools.product(*units))
    most = {parts[0]: 0.0}
    for v in range(len(hits.rows)):
        own = {
            part: sum(
                gain * hits.at(v, hits.unit * blocks)
                for gain, blocks in zip(gains, itertools.accumulate(part), strict=True)
            )
            for part in parts
        }
        more: dict[tuple[int, ...], float] = {}
        for used, had in most.items():
            for part, worth_of_it in own.items():
                key = tuple(map(sum, zip(used, part, strict=True)))
                if all(map(operator.contains, units, key)):
                    more[key] = max(more.get(key, 0.0), had + worth_of_it)
        most = more
    return max(most.values())


class Follower:
    """One that remembers for so long and moves so reluctantly, on paper."""

    def __init__(self, half_life: float, reluctance: float, division: Division) -> None:
        self.half_life, self.reluctance = half_life, reluctance
        self.division = self.before = division
        self.record = 0.0


class SteadyTwin:
    """Followers of the best divisions by curves that fade; whose record is best is followed."""

    resize_mode = "lazy"

    def __init__(
        self,
        interval: int,
        *,
        objective: str = "hits",
        grid: int = 1000,
        regret_half_life: float = 8.0,
    ) -> None:
        self.timers = {"sizes": interval}
        counted = {"ops": "reads"} if objective == "latency" else {}
        self.meters = {"curve": {"meter": "curve", "scope": "warm"} | counted}
        self.objective, self.grid, self.regret = objective, grid, regret_half_life
        self.followers: list[Follower] = []
        self.memory: dict[float, list[list[float]]] = {}
        self.weight: dict[float, float] = {}
        self.useful = 0
        self.moves = 0
        self.led: set[tuple[float, float]] = set()

    def allocate(self, seen: Observation) -> Decision:
        capacities = [int(c) for c in seen.capacities]
        gains = gains_of(self.objective, [*seen.tier_read_ns, seen.backend_read_ns])
        current: Division = seen.current.tolist()
        if not self.followers:
            for half_life in (0.5, 1.0, 2.0, 4.0, 16.0, math.inf):
                self.memory[half_life], self.weight[half_life] = [[] for _ in seen.vms], 0.0
                for reluctance in (0.0, 0.1, 0.5):
                    self.followers.append(Follower(half_life, reluctance, current))
        last = self.last_interval(seen.meters["curve"], capacities)
        for of in self.followers:
            of.record *= math.exp2(-1 / self.regret)
            of.record += self.earned(last, of, gains)
            of.before = of.division
        best = {}
        for half_life, rows in self.memory.items():
            self.remember(half_life, rows, last, seen.departed.tolist())
            best[half_life] = best_division(Hits(last.unit, rows), capacities, gains)
        for of in self.followers:
            if self.pays(of, of.division, best[of.half_life], gains):
                of.division = best[of.half_life]
        leader = max(self.followers, key=lambda of: of.record)  # the first of those
        self.led.add((leader.half_life, leader.reluctance))
        if not self.pays(leader, current, leader.division, gains):
            return Decision()
        self.moves += leader.division != current
        return Decision(np.array(leader.division))

    def last_interval(self, curves: Sequence[HitRatioCurve], capacities: Sequence[int]) -> Hits:
        space = sum(capacities)
        self.unit = max(1, space // self.grid)
        self.useful = max([self.useful, *(min(space, int(c.saturation)) for c in curves)])
        sizes = range(0, self.useful + self.unit, self.unit)
        return Hits(self.unit, [[float(hits_at(curve, s)) for s in sizes] for curve in curves])

    def earned(self, last: Hits, of: Follower, gains: Sequence[float]) -> float:
        """What its division would have hit, less what it lacked of what it had just been given."""
        earned = 0.0
        for v in range(len(last.rows)):
            spaces = zip(gains, together(of.before, v), together(of.division, v), strict=True)
            for gain, before, after in spaces:
                hits = last.at(v, after)
                if after > before:
                    hits = max(last.at(v, before), hits - (after - before))
                earned += gain * hits
        return earned

    def remember(
        self, half_life: float, rows: list[list[float]], last: Hits, departed: Sequence[bool]
    ) -> None:
        fade = math.exp2(-1 / half_life)
        self.weight[half_life] = fade * self.weight[half_life] + 1
        for row, news, gone in zip(rows, last.rows, departed, strict=True):
            # Of sizes that nobody had use for so far it had as much as of the largest that had.
            row += [row[-1] if row else 0.0] * (len(news) - len(row))
            row[:] = [0.0 if gone else fade * a + b for a, b in zip(row, news, strict=True)]

    def pays(self, of: Follower, here: Division, there: Division, gains: Sequence[float]) -> bool:
        """Whether an interval gains more by a move than it costs, times the reluctance."""
        hits = Hits(self.unit, self.memory[of.half_life])
        gain = worth(hits, there, gains) - worth(hits, here, gains)
        cost = sum(
            each * max(0, after - before)
            for v in range(len(hits.rows))
            for each, before, after in zip(
                gains, together(here, v), together(there, v), strict=True
            )
        )
        return gain / self.weight[of.half_life] > of.reluctance * cost


class Stacks:
    """Distances, each the depth of a block in the list of what its VM touched last.

    For latency those of reads: writes wait for the backend, whatever they hit.
    """

    def __init__(self, requests: Sequence[Request], vms: int, objective: str) -> None:
        self.found: list[list[tuple[int, int]]] = [[] for _ in range(vms)]  # time and distance
        stacks: list[list[Block]] = [[] for _ in range(vms)]
        for request in requests:
            stack = stacks[request.vm]
            for block in request.touched:
                if block in stack:
                    if objective == "hits" or not request.writes:
                        self.found[request.vm].append((request.time, stack.index(block)))
                    stack.remove(block)
                stack.insert(0, block)

    def best(
        self, begin: float, end: float, capacities: Sequence[int], gains: Sequence[float], grid: int
    ) -> tuple[Division, float] | None:
        """The best division of a time, at so many sizes, and what it is worth, if anything."""
        space = sum(capacities)
        rows = [[d for t, d in found if begin <= t < end] for found in self.found]
        useful = [min(space, max(row, default=-1) + 1) for row in rows]
        unit = max(1, -(-min(space, sum(useful)) // grid))
        sizes = range(0, max(useful) + unit, unit)
        hits = Hits(unit, [[float(sum(d < s for d in row)) for s in sizes] for row in rows])
        if not any(map(any, hits.rows)):
            return None
        division = best_division(hits, capacities, gains)
        every = range(space + 1)
        exactly = Hits(1, [[float(sum(d < s for d in row)) for s in every] for row in rows])
        return division, worth(exactly, division, gains)
