"""Naive twins of systems: their rules as published, in plain Python, one allocator each.

They see what the meters show, look for sizes one block after the other, and give the rest to
`mcsim.optimizers.optimize`, whose optimum brute force confirms where there is little to try.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from mcsim.experiment.allocator import Decision, Observation
from mcsim.locality.curve import HitRatioCurve
from mcsim.optimizers import optimize

Ratio = Callable[[int], float]


def hits(curve: HitRatioCurve, blocks: int) -> int:
    return int(curve.hits[np.searchsorted(curve.capacities, blocks, side="right") - 1])


def ratio_of(curve: HitRatioCurve, accesses: int | None = None) -> Ratio:
    of = curve.accesses if accesses is None else accesses
    return lambda blocks: hits(curve, blocks) / of if of else 0.0


def proportional(blocks: int, weights: Sequence[float]) -> list[int]:
    """Floors, then a block each to the largest remainders, the first on a tie."""
    total = float(sum(weights))
    exact = [w / total * blocks if total > 0 else 1 / len(weights) * blocks for w in weights]
    parts = [int(e) for e in exact]
    order = sorted(range(len(parts)), key=lambda i: parts[i] - exact[i])
    for i in order[: blocks - sum(parts)]:
        parts[i] += 1
    return parts


def over_tiers(capacities: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Equal parts of each tier for all VMs."""
    left, capacity = list(sizes), int(capacities.sum())
    rows = []
    for k, of_tier in enumerate(capacities.tolist()):
        last = k + 1 == len(capacities)
        here = sum(left) if last else sum(left) * of_tier // capacity
        rows.append(proportional(here, left) if sum(left) else [0] * len(left))
        left = [a - b for a, b in zip(left, rows[-1], strict=True)]
        capacity -= of_tier
    return np.array(rows, dtype=np.int64)


def share_free(capacity: int, blocks: list[int], present: Sequence[bool]) -> None:
    """Free space goes to the present VMs, in proportion to their space."""
    takers = [v for v in range(len(blocks)) if present[v]]
    if takers:
        extra = proportional(capacity - sum(blocks), [blocks[v] for v in takers])
        for v, more in zip(takers, extra, strict=True):
            blocks[v] += more


class Mix(NamedTuple):
    """Accesses of a VM: what its reads hit by size, the share of writes, and their mode."""

    ratio: Ratio
    writes: float = 0.0
    mode: str = "through"


def latency(seen: Observation, vm: int, blocks: int, mix: Mix) -> float:
    """Mean ns of an access, given the blocks, in equal shares of the tiers."""
    device = [*seen.tier_read_ns.tolist(), float(seen.vm_backend_ns[vm])]
    total, together, mean = int(seen.capacities.sum()), 0, device[-1]
    held = [0]
    for k, of_tier in enumerate(seen.capacities.tolist()):
        together += of_tier
        held.append(blocks if together == total else together * blocks // total)
        mean -= mix.ratio(held[-1]) * (device[k + 1] - device[k])
    # A write back waits for the tier that it comes into, all others for the backend.
    own = float(seen.vm_backend_ns[vm]) != seen.backend_read_ns
    write = float(seen.vm_backend_ns[vm]) if own else seen.devices[-1].write_ns
    takers = [k for k in range(len(held) - 1) if held[k + 1] > held[k]]
    if mix.mode == "back" and takers:
        write = seen.devices[takers[0]].write_ns
    return (1 - mix.writes) * mean + mix.writes * write


def least_for(seen: Observation, vm: int, wanted: float, mix: Mix) -> int | None:
    for blocks in range(int(seen.capacities.sum()) + 1):
        if latency(seen, vm, blocks, mix) <= wanted:
            return blocks
    return None


def modes_of(writes: str, vms: Sequence[str]) -> list[str]:
    """Write modes by VM, of a text such as ``through, vm1=back``."""
    words = [word.strip().partition("=") for word in writes.split(",")]
    general = next((name for name, equals, _ in words if not equals), "through")
    own = {name: mode for name, equals, mode in words if equals}
    return [own.get(vm, general) for vm in vms]


class Twin:
    """Common base: parameters by name, one timer, eager resizing."""

    resize_mode = "eager"
    writes = "through"

    def __init__(self, interval: int, **params: Any) -> None:
        self.timers = {"sizes": interval}
        self.params = params
        self.writes = params.get("writes", self.writes)
        self.data_path = {"writes": self.writes}
        self.unmet: list[list[int]] = []  # by decision: VMs that went without
        tells = 0.0 in params.get("outstanding", {}).values()
        self.waits = {"waits": {"meter": "responses"}} if tells else {}

    def curve_meters(self, scope: str) -> dict[str, dict[str, str]]:
        """Curves of all accesses, of reads, and of reads where writes go around."""
        curve = {"meter": "curve", "scope": scope}
        reads = curve | {"ops": "reads"}
        return {"curve": curve, "reads": reads, "alone": reads | {"between": "around"}}

    def ratios(self, seen: Observation) -> list[Ratio]:
        """Hits of every VM under its write mode, by these meters, as shares of its accesses."""
        curves, alone = seen.meters["curve"], seen.meters["alone"]
        return [
            ratio_of(alone[v], curves[v].accesses) if mode == "around" else ratio_of(curves[v])
            for v, mode in enumerate(modes_of(self.writes, seen.vms))
        ]

    def mixes(self, seen: Observation) -> list[Mix]:
        """Accesses of every VM, by these meters."""
        mixes = []
        for v, mode in enumerate(modes_of(self.writes, seen.vms)):
            reads = seen.meters["alone" if mode == "around" else "reads"][v]
            accesses = seen.meters["curve"][v].accesses
            writes = 1 - reads.accesses / accesses if accesses else 0.0
            mixes.append(Mix(ratio_of(reads), writes, mode))
        return mixes

    def of_vm(self, key: str, seen: Observation, otherwise: float) -> list[float]:
        given = self.params.get(key, {})
        return [given.get(name, otherwise) for name in seen.vms]

    def divided(
        self,
        seen: Observation,
        here: Sequence[bool],
        least: Sequence[int],
        most: Sequence[int],
        worth: Callable[[int, int], float],
        *,
        spread: bool = False,
    ) -> np.ndarray:
        """Sizes by VM: the least, and of the rest what is worth the most."""
        vms, capacity = range(len(seen.vms)), int(seen.capacities.sum())
        base = [least[v] if here[v] else 0 for v in vms]
        rest = capacity - sum(base)
        unit = max(1, rest // self.params.get("grid", 200))
        sizes = list(range(0, rest + 1, unit))
        high = [
            sizes.index(max(s for s in sizes if s <= most[v] - base[v])) if here[v] else 0
            for v in vms
        ]
        values = [[worth(v, base[v] + s) if here[v] else 0.0 for s in sizes] for v in vms]
        if rest == 0:
            return over_tiers(seen.capacities, base)
        found = optimize(
            values, sizes[-1], sizes=sizes, highest=[sizes[h] for h in high], optimizer="exact"
        ).allocation[0]
        choice = [sizes.index(int(found[v])) for v in vms]
        if len(sizes) ** len(seen.vms) <= 3000:
            best = max(
                sum(values[v][i] for v, i in enumerate(tried))
                for tried in itertools.product(*(range(h + 1) for h in high))
                if sum(sizes[i] for i in tried) <= sizes[-1]
            )
            assert math.isclose(
                best, sum(values[v][choice[v]] for v in vms), rel_tol=1e-12, abs_tol=1e-12
            )
        for v in vms:
            while choice[v] > 0 and values[v][choice[v] - 1] == values[v][choice[v]]:
                choice[v] -= 1
        got = [base[v] + sizes[choice[v]] for v in vms]
        if spread:
            share_free(capacity, got, here)
        return over_tiers(seen.capacities, got)

    def promised(
        self, seen: Observation, wanted: Sequence[float], mixes: Sequence[Mix | None]
    ) -> tuple[list[int], list[int]]:
        """Least sizes by VM, and the VMs without a sufficient size."""
        least, unmet = [0] * len(seen.vms), []
        for v, mix in enumerate(mixes):
            if mix is None or math.isinf(wanted[v]):
                continue
            found = least_for(seen, v, wanted[v], mix)
            least[v] = found or 0
            if found is None:
                unmet.append(v)
        return least, unmet

    def fitted(self, seen: Observation, least: list[int]) -> tuple[list[int], list[int]]:
        """Sizes that fit; VMs with least priority are dropped first, of these the last."""
        least, dropped = list(least), []
        priorities = self.of_vm("priorities", seen, 1.0)
        for v in sorted(range(len(least)), key=lambda v: (priorities[v], -v)):
            if sum(least) > seen.capacities.sum() and least[v] > 0:
                least[v] = 0
                dropped.append(v)
        return least, dropped

    def wanted_ns(self, seen: Observation) -> list[float]:
        by_latency = [1e6 * ms for ms in self.of_vm("latency_ms", seen, math.inf)]
        rates = self.of_vm("iops", seen, 0.0)
        outstanding = self.of_vm("outstanding", seen, 1.0)
        if "waits" in seen.meters:
            told = seen.meters["waits"]["outstanding"].tolist()
            outstanding = [o or t for o, t in zip(outstanding, told, strict=True)]
        by_rate = [
            o * 1e9 / r if r > 0 < o else math.inf for r, o in zip(rates, outstanding, strict=True)
        ]
        return [min(pair) for pair in zip(by_latency, by_rate, strict=True)]

    def weights(self, seen: Observation, curves: Sequence[HitRatioCurve]) -> list[float]:
        rate = self.params.get("weight", "ratio") == "rate"
        priorities = self.of_vm("priorities", seen, 1.0)
        return [p * (c.accesses if rate else 1) for p, c in zip(priorities, curves, strict=True)]

    def decision(self, targets: np.ndarray, unmet: Sequence[int], **more: Any) -> Decision:
        return Decision(targets, infeasible=f"without: {sorted(unmet)}" if unmet else "", **more)


class VCacheShareTwin(Twin):
    writes = "around"

    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        kind = params.get("intensity", "per-second")
        reads = {"meter": "curve", "ops": "reads", "between": "around"}
        self.meters = {
            "curve": reads | {"window": params["window"] or interval},
            "reuse": {
                "meter": "intensity",
                "ops": "reads",
                "kind": kind,
                "window": params["ri_window"],
            },
            "load": {"meter": "load"},
        }

    def allocate(self, seen: Observation) -> Any:
        capacity = int(seen.capacities.sum())
        reuse, load = seen.meters["reuse"], seen.meters["load"]
        alpha, top = self.params.get("alpha", 0.1), max(reuse)
        priorities = self.of_vm("priorities", seen, 1.0)

        def utility(v: int, c: int) -> float:
            if load["accesses"][v] == 0:
                return 0.0
            read_share = load["reads"][v] / load["accesses"][v]
            term = alpha * reuse[v]
            if self.params.get("alpha_mode", "literal") == "linear":
                term = term / top * (c / capacity) if top > 0 else 0.0
            gain = ratio_of(seen.meters["curve"][v])(c) + term
            return priorities[v] * seen.vm_backend_ns[v] * read_share * gain

        here = [not gone for gone in seen.departed]
        if not any(here):
            return None
        least = [int(x) for x in self.of_vm("reservations", seen, 0)]
        most = [int(min(x, capacity)) for x in self.of_vm("limits", seen, capacity)]
        return Decision(self.divided(seen, here, least, most, utility))


class RiSharesTwin(Twin):
    resize_mode = "lazy"

    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        kind = params.get("intensity", "share")
        self.meters = {"reuse": {"meter": "intensity", "kind": kind, "window": interval}}

    def allocate(self, seen: Observation) -> Any:
        reuse = seen.meters["reuse"].tolist()
        if sum(reuse) == 0:
            return None
        return Decision(np.array([proportional(int(c), reuse) for c in seen.capacities]))


class CentaurTwin(Twin):
    writes = "back"

    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        self.meters = self.curve_meters(params.get("distance_scope", "interval")) | self.waits

    def allocate(self, seen: Observation) -> Any:
        curves, capacity = seen.meters["curve"], int(seen.capacities.sum())
        here = [curve.accesses > 0 for curve in curves]
        if not any(here):
            return None
        ratios, mixes = self.ratios(seen), self.mixes(seen)
        weight = self.weights(seen, curves)
        objective = self.params.get("objective", "latency")

        def worth(v: int, c: int) -> float:
            return -weight[v] * latency(seen, v, c, mixes[v])

        if self.params.get("baseline") == "eci":
            mixes = [Mix(ratio) for ratio in ratios]
            largest = [int(curve.saturation) for curve in curves]
            if sum(largest) <= capacity:
                return Decision(self.divided(seen, here, largest, largest, worth))
            free = self.divided(seen, here, [0] * len(here), [capacity] * len(here), worth)
            return self.decision(free, range(len(here)))
        known = [mix if of else None for mix, of in zip(mixes, here, strict=True)]
        least, unmet = self.promised(seen, self.wanted_ns(seen), known)
        if objective == "least-size":
            for v, ratio in enumerate(ratios):
                bound = 1 - ratio(capacity) + self.params.get("miss_tolerance", 0.0)
                enough = next(c for c in range(capacity + 1) if 1 - ratio(c) <= bound)
                least[v] = max(least[v], enough)
        asked = least
        least, dropped = self.fitted(seen, least)
        most = [capacity] * len(here)
        if objective == "least-size":
            most = [capacity if v in dropped else asked[v] for v in range(len(here))]
        if objective == "latency-shares":
            least = most = self.shared(seen, least, mixes, here)
        spread = objective == "latency"
        targets = self.divided(seen, here, least, most, worth, spread=spread)
        return self.decision(targets, [*unmet, *dropped])

    def shared(
        self, seen: Observation, least: list[int], mixes: Sequence[Mix], here: Sequence[bool]
    ) -> list[int]:
        """Sizes of the least fitting κ among those at which a size changes."""
        capacity, shares = int(seen.capacities.sum()), self.of_vm("shares", seen, 1.0)
        waits = [
            [latency(seen, v, c, mixes[v]) for c in range(capacity + 1)] for v in range(len(here))
        ]

        def sizes(kappa: float) -> list[int]:
            got = []
            for v, of_size in enumerate(waits):
                wanted = max(kappa / shares[v], of_size[-1])
                first = next(c for c, ns in enumerate(of_size) if ns <= wanted * (1 + 1e-12))
                got.append(max(least[v], first) if here[v] else 0)
            return got

        kappas = sorted({shares[v] * ns for v in range(len(here)) if here[v] for ns in waits[v]})
        return sizes(next((k for k in kappas if sum(sizes(k)) <= capacity), kappas[-1]))


class EciTwin(Twin):
    writes = "back"

    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        self.meters = {
            "useful": {"meter": "curve", "ops": "reads", "between": "all"},
            "of_reads": {"meter": "curve", "ops": "reads", "between": "around"},
            "classes": {"meter": "classes"},
        }
        self.modes: list[str] = []
        self.streak: list[int] = []

    def allocate(self, seen: Observation) -> Any:
        vms, capacity = range(len(seen.vms)), int(seen.capacities.sum())
        classes = {name: counts.tolist() for name, counts in seen.meters["classes"].items()}
        self.modes = self.modes or ["back"] * len(vms)
        self.streak = self.streak or [0] * len(vms)
        accesses = [sum(counts[v] for counts in classes.values()) for v in vms]
        for v in vms:
            again = [classes[name][v] for name in ("rar", "raw", "war", "waw")]
            of = sum(again)
            if self.params.get("write_share_of") == "accesses":
                of = accesses[v]
            if of == 0:
                continue
            share = (again[2] + again[3]) / of
            wanted = "around" if share > self.params.get("theta", 0.5) else "back"
            self.streak[v] = self.streak[v] + 1 if wanted != self.modes[v] else 0
            if self.streak[v] >= self.params.get("hysteresis", 1):
                self.modes[v], self.streak[v] = wanted, 0
        here = [bool(a and not d) for a, d in zip(seen.arrived, seen.departed, strict=True)]
        if not any(here):
            return Decision(write_modes=list(self.modes))
        drop = self.params.get("drop_writes", True)
        curves = [
            seen.meters["of_reads" if drop and self.modes[v] == "around" else "useful"][v]
            for v in vms
        ]
        wanted_floor = self.params.get("min_blocks", 1000)
        floor = min(wanted_floor, capacity // len(vms))
        sizes = []
        for v in vms:
            most_hits = hits(curves[v], 1 << 60)
            enough = math.ceil(Fraction(str(self.params.get("quantile", 1.0))) * most_hits)
            size = next(c for c in itertools.count() if hits(curves[v], c) >= enough)
            sizes.append(max(floor, size) if here[v] else 0)
        feasible = sum(sizes) <= capacity
        ratios = [ratio_of(curves[v], accesses[v]) for v in vms]
        priorities = self.of_vm("priorities", seen, 1.0)

        def worth(v: int, c: int) -> float:
            return -priorities[v] * latency(seen, v, c, Mix(ratios[v])) if accesses[v] else 0.0

        least = sizes if feasible else [floor] * len(vms)
        targets = self.divided(seen, here, least, sizes, worth)
        kept = feasible and floor == wanted_floor
        return self.decision(targets, [] if kept else vms, write_modes=list(self.modes))


class SloTwin(Twin):
    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        self.meters = self.curve_meters(params.get("distance_scope", "warm")) | self.waits
        self.missed: dict[int, float] = {}

    def allocate(self, seen: Observation) -> Any:
        curves, capacity = seen.meters["curve"], int(seen.capacities.sum())
        here = [curve.accesses > 0 for curve in curves]
        if not any(here):
            return None
        mixes = self.mixes(seen)
        gain = self.params.get("correction", 0.0)
        wanted = self.wanted_ns(seen)
        for v, target in enumerate(wanted):
            if gain == 0 or math.isinf(target) or not here[v]:
                continue
            waited = float(seen.latency_ns[v])
            self.missed[v] = max(0.0, self.missed.get(v, 0.0) + waited / target - 1)
            possible = latency(seen, v, capacity, mixes[v])
            wanted[v] = min(target, max(target / (1 + gain * self.missed[v]), possible))
        known = [mix if of else None for mix, of in zip(mixes, here, strict=True)]
        least, unmet = self.promised(seen, wanted, known)
        least, dropped = self.fitted(seen, least)
        weight = self.weights(seen, curves)

        def worth(v: int, c: int) -> float:
            return -weight[v] * latency(seen, v, c, mixes[v])

        targets = self.divided(seen, here, least, [capacity] * len(here), worth, spread=True)
        return self.decision(targets, [*unmet, *dropped])


class MaxperfTwin(Twin):
    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        self.meters = dict(self.waits)
        if params.get("curve", "exact") == "exact":
            self.meters |= self.curve_meters("warm")
        self.points: dict[int, list[tuple[int, float]]] = {}

    def allocate(self, seen: Observation) -> Any:
        vms, capacity = range(len(seen.vms)), int(seen.capacities.sum())
        steps = self.params.get("steps", 200)
        here = [bool(n and not d) for n, d in zip(seen.accesses, seen.departed, strict=True)]
        if self.params.get("curve", "exact") == "exact":
            ratios = [mix.ratio for mix in self.mixes(seen)]
        else:
            ratios = [self.measured(seen, v, capacity, steps) for v in vms]
        shares = (seen.writes / np.maximum(seen.accesses, 1)).tolist()
        modes = modes_of(self.writes, seen.vms)
        mixes = [Mix(*of) for of in zip(ratios, shares, modes, strict=True)]
        if not any(here):
            return None
        known = [mix if of else None for mix, of in zip(mixes, here, strict=True)]
        least, unmet = self.promised(seen, self.wanted_ns(seen), known)
        least, dropped = self.fitted(seen, least)
        more, priorities = max(1, capacity // steps), self.of_vm("priorities", seen, 1.0)
        gains = [0.0] * len(vms)
        for v in vms:
            if here[v]:
                before = latency(seen, v, least[v], mixes[v])
                gain = before - latency(seen, v, least[v] + more, mixes[v])
                gains[v] = priorities[v] * float(seen.accesses[v]) * max(0.0, gain)
        if max(gains) <= 0:
            gains = [float(of) for of in here]
        extra = proportional(capacity - sum(least), gains)
        sizes = [a + b for a, b in zip(least, extra, strict=True)]
        return self.decision(over_tiers(seen.capacities, sizes), [*unmet, *dropped])

    def measured(self, seen: Observation, v: int, capacity: int, steps: int) -> Ratio:
        points = self.points.setdefault(v, [])
        reads = int(seen.reads[v])
        if reads:
            size = int(seen.current[:, v].sum())
            ratio = int((seen.hits - seen.write_hits)[:, v].sum()) / reads
            points[:] = [*(p for p in points if p[0] != size), (size, ratio)][-4:]

        def neville(x: float) -> float:
            xs, values = [float(p[0]) for p in points], [p[1] for p in points]
            for width in range(1, len(xs)):
                values = [
                    ((x - xs[i + width]) * values[i] + (xs[i] - x) * values[i + 1])
                    / (xs[i] - xs[i + width])
                    for i in range(len(values) - 1)
                ]
            return min(max(values[0], 0.0), 1.0)

        def lines(x: float) -> float:
            before = (0.0, 0.0)
            for at, value in sorted(points):
                if at >= x:
                    if at == before[0]:
                        return value
                    return before[1] + (value - before[1]) * (x - before[0]) / (at - before[0])
                before = (at, value)
            return before[1]

        step = capacity / steps
        tried = [neville(i * step) for i in range(steps + 1)] if len(points) > 1 else []
        rises = bool(tried) and all(a <= b for a, b in itertools.pairwise(tried))
        return neville if rises else lines


class ExclusiveTwin(Twin):
    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        scope = params.get("distance_scope", "interval")
        self.meters = {"curve": {"meter": "curve", "scope": scope}}

    def allocate(self, seen: Observation) -> Any:
        vms, curves = range(len(seen.vms)), seen.meters["curve"]
        here = [not gone for gone in seen.departed]
        if not any(here):
            return None
        equal = [proportional(int(c), [1.0] * len(vms)) for c in seen.capacities]
        two = len(equal) == 2
        own = list(equal[0]) if two else [0] * len(vms)
        held = [blocks if of else 0 for blocks, of in zip(own, here, strict=True)]
        if two:  # what the departed leave
            share_free(int(seen.capacities[0]), held, here)
        least = []
        for v in vms:
            misses = curves[v].accesses - hits(curves[v], sum(tier[v] for tier in equal))
            allowed = int((1 + Fraction(str(self.params.get("delta", 0.05)))) * misses)
            needed = next(
                c for c in itertools.count() if curves[v].accesses - hits(curves[v], c) <= allowed
            )
            least.append(max(0, needed - own[v]))
        priorities = self.of_vm("priorities", seen, 1.0)

        def worth(v: int, c: int) -> float:
            curve = curves[v]
            if curve.accesses == 0:
                return 0.0
            misses = max(0.5, float(curve.accesses - hits(curve, held[v] + c)))
            return -priorities[v] * math.log(misses / curve.accesses)

        class LastTier:
            capacities = seen.capacities[-1:]
            vms = seen.vms

        capacity = int(seen.capacities[-1])
        rows = self.divided(
            LastTier,
            here,
            least,
            [capacity] * len(vms),
            worth,
            spread=True,  # type: ignore[arg-type]
        )
        return Decision(np.vstack([[held], rows]) if two else rows)
