"""Systems that divide one cache, as allocators in plain Python: one rule after the other, block
by block where it matters, and no word shared with the ones in C++."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, inf
from typing import ClassVar

import numpy as np
from naive_systems import over_tiers, proportional, share_free

from mcsim.experiment.allocator import Decision, Observation
from mcsim.experiment.answers import Migration


def share_of(whole: int, decimals: float) -> int:
    """At most that share, as it is written."""
    return floor(Fraction(str(decimals)) * whole)


class SCave:
    """SPEC: score, unfriendly VMs, disjoint pairs from the least to the greatest score."""

    resize_mode = "eager"

    def __init__(
        self,
        *,
        metric: str = "wss",
        chunk: float = 0.01,
        epsilon: float = 0.01,
        theta: float = 0.1,
    ) -> None:
        self.metric = metric
        self.meters = {metric: {"meter": "distinct" if metric == "wss" else "host"}}
        self.chunk, self.epsilon, self.theta = chunk, epsilon, theta
        self.hit_ratio: dict[int, float] = {}
        self.received: set[int] = set()
        self.unfriendly_until: dict[int, int] = {}
        self.marked = 0

    def allocate(self, seen: Observation) -> Decision:
        capacity = int(seen.capacities.sum())
        granted = [int(b) for b in seen.current.sum(axis=0)]
        held = seen.occupancy.sum(axis=0)
        scores = []
        for v in range(len(granted)):
            size = max(granted[v], 1)
            full = 100 * held[v] >= 95 * size
            if seen.accesses[v]:
                ratio = float(seen.hits[:, v].sum()) / float(seen.accesses[v])
                gain = ratio - self.hit_ratio.get(v, 0.0)
                if v in self.received and full and gain < self.epsilon:
                    self.unfriendly_until[v] = seen.interval + 3
                    self.marked += 1
                self.hit_ratio[v] = ratio
            metric = seen.meters[self.metric]
            demand = metric if self.metric == "wss" else metric["distinct_hits"]
            score = float(demand[v]) / size
            if not full:
                score = score * float(held[v]) / size
            unfriendly = seen.interval < self.unfriendly_until.get(v, 0)
            scores.append(-1.0 if unfriendly else score)
        blocks = list(granted)
        share_free(capacity, blocks, [not d for d in seen.departed])
        chunk = max(1, share_of(capacity, self.chunk))
        waiting = {v for v in range(len(blocks)) if not seen.departed[v]}
        self.received = set()
        for _ in range(4):
            givers = [v for v in waiting if blocks[v] > chunk]
            if not givers:
                break
            to = max(waiting, key=lambda v: (scores[v], -v))
            source = min(givers, key=lambda v: (scores[v], v))
            if not scores[to] - scores[source] > self.theta:
                break
            moved = min(chunk, blocks[source] - chunk)
            blocks[source] -= moved
            blocks[to] += moved
            waiting -= {to, source}
            self.received.add(to)
        return Decision(over_tiers(seen.capacities, blocks))


class Karma:
    """One block after the other, from the poorest lender to the richest borrower."""

    resize_mode = "eager"

    def __init__(self, *, alpha: float = 0.5, demand: str = "distinct") -> None:
        self.alpha, self.demand = alpha, demand
        self.credits: list[int] = []
        self.meters = {
            "demand": {"meter": "distinct"}
            if demand == "distinct"
            else {"meter": "curve", "scope": "warm"}
        }

    def needs(self, seen: Observation, v: int) -> int:
        if self.demand == "distinct":
            return int(seen.meters["demand"][v])
        curve = seen.meters["demand"][v]
        most = curve.hits[-1] if len(curve.hits) else 0
        enough = [
            c for c, h in zip(curve.capacities, curve.hits, strict=True) if 10 * h >= 9 * most
        ]
        return int(enough[0]) if most else 0

    def allocate(self, seen: Observation) -> Decision:
        self.credits = self.credits or [0] * len(seen.vms)
        here = [v for v in range(len(seen.vms)) if seen.arrived[v] and not seen.departed[v]]
        needs = {v: self.needs(seen, v) for v in here}
        got = self.share(int(seen.capacities.sum()), needs)
        return Decision(over_tiers(seen.capacities, [got.get(v, 0) for v in range(len(seen.vms))]))

    def share(self, capacity: int, needs: dict[int, int]) -> dict[int, int]:
        """What each gets of what it needs; credits change hands."""
        here = list(needs)
        fair = proportional(capacity, [1.0] * len(here)) if here else []
        sure = {v: share_of(f, self.alpha) for v, f in zip(here, fair, strict=True)}
        got = {v: min(needs[v], sure[v]) for v in here}
        lent = {v: sure[v] - got[v] for v in here}
        shared = capacity - sum(sure.values())
        paid = 0
        while borrowers := [v for v in here if got[v] < needs[v]]:
            lenders = [v for v in here if lent[v] > 0]
            if lenders:
                lender = min(lenders, key=lambda v: (self.credits[v], v))
                lent[lender] -= 1
                self.credits[lender] += 1
            elif shared > 0:
                shared -= 1
                paid += 1
            else:
                break
            borrower = max(borrowers, key=lambda v: (self.credits[v], -v))
            got[borrower] += 1
            self.credits[borrower] -= 1
        # Back to all in equal parts; what is left over to the poorest, one each.
        poorest = sorted(here, key=lambda v: (self.credits[v], v))
        for i, v in enumerate(poorest):
            self.credits[v] += (paid + len(here) - 1 - i) // len(here)
        return got


class CloudCache:
    """Reuse working sets, without spikes, by Holt's formulas with weights found by trying."""

    resize_mode = "eager"

    def __init__(
        self,
        *,
        reuses: int = 1,
        smoothing: str = "holt",
        spike: float = 3,
        migrates: bool = False,
        rate: float | None = None,
    ) -> None:
        self.smoothing, self.spike = smoothing, spike
        self.migrates, self.rate = migrates, rate
        self.meters = {"rwss": {"meter": "distinct", "reuses": reuses}}
        self.data_path = {"writes": "back", "admission": f"staged(n={reuses + 1})"}
        self.raw: dict[int, list[int]] = {}
        self.smooth: dict[int, list[float]] = {}
        self.forecasts: dict[int, float] = {}
        self.spikes = 0
        self.overloads = 0
        self.moves = 0

    def holt(self, x: list[float], a: float, g: float) -> tuple[float, float]:
        s, b, error = x[0], 0.0, 0.0
        for value in x[1:]:
            error += (value - (s + b)) * (value - (s + b))
            s_before, s = s, a * value + (1 - a) * (s + b)
            b = g * (s - s_before) + (1 - g) * b
        return error, s + b

    def forecast(self, x: list[float]) -> float:
        if self.smoothing == "none":
            return x[-1]
        tenths = [i / 10 for i in range(1, 10)]
        trends = tenths if self.smoothing == "holt" else [0.0]
        tried = [self.holt(x, a, g) for a in tenths for g in trends]
        return min(tried, key=lambda one: one[0])[1]

    def is_spike(self, v: int, value: int) -> bool:
        before = self.raw[v]
        if not self.spike or len(before) < 10:
            return False
        mean = Fraction(sum(before), len(before))
        variance = sum((x - mean) ** 2 for x in before) / len(before)
        return (value - mean) ** 2 > Fraction(self.spike) ** 2 * variance

    def allocate(self, seen: Observation) -> Decision:
        capacity = int(seen.capacities.sum())
        wanted = []
        for v in range(len(seen.vms)):
            x = int(seen.meters["rwss"][v])
            raw, smooth = self.raw.setdefault(v, []), self.smooth.setdefault(v, [])
            spike = self.is_spike(v, x)
            self.spikes += spike
            smooth.append(self.forecasts[v] if spike else float(x))
            raw.append(x)
            del raw[:-10], smooth[:-10]
            self.forecasts[v] = self.forecast(smooth)
            here = seen.arrived[v] and not seen.departed[v]
            if not here:
                del self.raw[v], self.smooth[v]
            wanted.append(floor(max(self.forecasts[v], 0.0) + 0.5) if here else 0)
        hosts = seen.host.tolist()
        if self.migrates:
            self.relieve(wanted, hosts, seen.on_the_way.tolist(), max(len(seen.hosts), 1), capacity)
        targets = np.zeros((len(seen.capacities), len(wanted)), dtype=np.int64)
        too_full = False
        for host in set(hosts):
            vms = [v for v, of in enumerate(hosts) if of == host]
            here = [wanted[v] for v in vms]
            if sum(here) > capacity:
                too_full = True
                here = proportional(capacity, here)
            targets[:, vms] = over_tiers(seen.capacities, here)
        self.overloads += too_full
        moves = [
            Migration(seen.vms[v], seen.hosts[host], rate=self.rate)
            for v, host in enumerate(hosts)
            if host != seen.host[v]
        ]
        self.moves += len(moves)
        return Decision(targets, infeasible="too little" if too_full else "", migrations=moves)

    def relieve(
        self, wanted: list[int], hosts: list[int], on_the_way: list[int], count: int, capacity: int
    ) -> None:
        """Move whoever leaves the fuller of two hosts least full, while one is too full."""
        while True:
            load = [
                sum(w for w, of in zip(wanted, hosts, strict=True) if of == h) for h in range(count)
            ]
            full = load.index(max(load))
            if load[full] <= capacity:
                return
            moves = [
                (max(load[full] - wanted[v], load[to] + wanted[v]), v, to)
                for v in range(len(wanted))
                for to in range(count)
                if hosts[v] == full and to != full and on_the_way[v] == 0
            ]
            best = min(moves, default=(load[full], 0, 0))
            if best[0] >= load[full]:
                return
            hosts[best[1]] = best[2]


class Thin:
    """The thesis' table, row by row."""

    resize_mode = "eager"
    meters = {"touched": {"meter": "distinct"}}  # noqa: RUF012

    def __init__(
        self,
        *,
        borrow_when: str = "used",
        misses: str = "ratio",
        twice: str = "use",
        donor_windows: int = 2,
        eager_pool: bool = False,
        given: tuple[float, float] | None = None,
    ) -> None:
        self.borrow_when, self.misses, self.twice = borrow_when, misses, twice
        self.donor_windows, self.eager_pool, self.given = donor_windows, eager_pool, given
        self.windows: dict[int, list[tuple[float, float]]] = {}
        self.before: dict[int, dict[str, bool]] = {}
        self.quanta: list[int] = []
        self.moves = 0

    def thresholds(self, v: int) -> tuple[float, float] | None:
        if self.given:
            return self.given
        busiest = sorted(self.windows.get(v, []), key=lambda w: -w[0])[:12]
        if len(busiest) < 12:
            return None
        return 0.25 * (sum(w[0] for w in busiest) / 12), sum(w[1] for w in busiest) / 12

    def allocate(self, seen: Observation) -> Decision:
        capacity = int(seen.capacities.sum())
        vms = range(len(seen.vms))
        blocks = [int(b) for b in seen.current.sum(axis=0)]
        if not self.quanta:
            first = proportional(capacity, [1.0] * len(seen.vms))
            self.quanta = [max(1, floor(0.25 * b)) for b in first]
        borrowers: list[tuple[float, int]] = []
        donors: list[tuple[int, int, int]] = []
        for v in vms:
            if seen.departed[v]:
                continue
            requests, missed = float(seen.requests[v]), float(seen.misses[v])
            if self.misses == "ratio":
                missed /= max(float(seen.accesses[v]), 1.0)
            if requests:
                self.windows.setdefault(v, []).append((requests, missed))
            limits = self.thresholds(v)
            before = self.before.pop(v, {})
            if limits is None:
                continue
            # Under LRU what was touched and is held is what was touched last.
            c_used = min(int(seen.meters["touched"][v]), int(seen.occupancy[:, v].sum()))
            c_remain = max(blocks[v] - c_used, 0)
            quantum = self.quanta[v]
            now = {
                "busy": requests > limits[0] and missed > limits[1],
                "idle": requests < limits[0] and missed < limits[1],
                "used": c_used > quantum if self.borrow_when == "used" else c_remain < quantum,
                "unused": c_remain > 2 * quantum,
            }
            self.before[v] = now
            was_busy = self.twice == "use" or before.get("busy")
            if now["busy"] and now["used"] and before.get("used") and was_busy:
                over = missed / limits[1] if limits[1] > 0 else inf
                borrowers.append((-over, v))
            gave = self.donor_windows == 1 or (before.get("idle") and before["unused"])
            if now["idle"] and now["unused"] and gave:
                donors.append((-quantum, -c_remain, v))
        pool = capacity - sum(blocks)
        donors.sort()
        if self.eager_pool:
            for _, _, v in donors:
                blocks[v] -= self.quanta[v]
                pool += self.quanta[v]
            donors = []
        for _, v in sorted(borrowers):
            if pool:
                lent = min(pool, self.quanta[v])
                pool -= lent
            elif donors:
                donor = donors.pop(0)[2]
                lent = self.quanta[donor]
                blocks[donor] -= lent
            else:
                continue
            blocks[v] += lent
            self.moves += 1
        return Decision(over_tiers(seen.capacities, blocks))


class CacheCow:
    """SPEC: who misses a target first, then from the coldest tail to the hottest ghosts."""

    resize_mode = "eager"
    meters = {"curve": {"meter": "curve", "scope": "warm"}}  # noqa: RUF012

    def __init__(
        self, targets: dict[str, float], *, chunk: float = 0.01, ghost: float = 0.1
    ) -> None:
        self.targets, self.chunk, self.ghost = targets, chunk, ghost
        self.helped = self.gained = 0

    def allocate(self, seen: Observation) -> Decision:
        capacity = int(seen.capacities.sum())
        chunk = max(1, share_of(capacity, self.chunk))
        length = share_of(capacity, self.ghost)
        blocks = [int(b) for b in seen.current.sum(axis=0)]
        here = [v for v in range(len(blocks)) if not seen.departed[v]]
        share_free(capacity, blocks, [v in here for v in range(len(blocks))])

        def hits(v: int, size: int) -> float:
            curve = seen.meters["curve"][v]
            return max(
                (h for c, h in zip(curve.capacities, curve.hits, strict=True) if c <= size),
                default=0,
            )

        ghosts = {v: hits(v, blocks[v] + length) - hits(v, blocks[v]) for v in here}
        tails = {v: hits(v, blocks[v]) - hits(v, max(blocks[v] - length, 0)) for v in here}
        slack = {}
        for v in here:
            target = self.targets.get(seen.vms[v], inf) * 1e6
            slack[v] = 1 - float(seen.latency_ns[v]) / target
        late = sorted((v for v in here if slack[v] < 0), key=lambda v: (slack[v], v))
        complaint = ""
        if late:
            donors = [v for v in here if v not in late and blocks[v] > chunk]
            for v in late:
                if not donors:
                    complaint = f"{seen.vms[v]} waits too long"
                    break
                donor = min(donors, key=lambda d: (-slack[d], tails[d], d))
                moved = min(chunk, blocks[donor] - chunk)
                blocks[donor] -= moved
                blocks[v] += moved
                donors.remove(donor)
                self.helped += 1
        elif here:
            to = max(here, key=lambda v: (ghosts[v], -v))
            donors = [v for v in here if v != to and blocks[v] > chunk]
            donor = min(donors, key=lambda v: (tails[v], v), default=None)
            if donor is not None and ghosts[to] > tails[donor]:
                moved = min(chunk, blocks[donor] - chunk)
                blocks[donor] -= moved
                blocks[to] += moved
                self.gained += 1
        if not late and len(here) * chunk > capacity:
            complaint = "the floors do not fit"
        return Decision(over_tiers(seen.capacities, blocks), infeasible=complaint)


class MixedCaching:
    """A period leaves a share of each guest's memory, but no less than a share of the first."""

    resize_mode = "eager"
    data_path: ClassVar = {"chain": "inclusive"}

    def __init__(self, *, factor: str = "0.5", least: str = "0.1") -> None:
        self.factor, self.least = Fraction(factor), Fraction(least)
        self.first: list[int] = []

    def allocate(self, seen: Observation) -> Decision | None:
        now, host = seen.current.tolist()
        self.first = self.first or now
        kept = [
            min(held, max(floor(self.factor * held), ceil(self.least * first)))
            for held, first in zip(now, self.first, strict=True)
        ]
        return Decision(np.array([kept, host])) if kept != now else None
