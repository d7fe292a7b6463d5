"""Multi-Cache in plain Python, tier after tier and all at once; `mcsim.optimizers` divides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from naive_curves import Division, gains_of
from naive_systems import ratio_of, share_free
from numpy.typing import NDArray

from mcsim.experiment.allocator import Decision, Observation
from mcsim.optimizers import optimize


class MultiCacheTwin:
    """Tier after tier, each given the ones above: the largest sum of utilities, then the rest."""

    resize_mode = "lazy"

    def __init__(self, interval: int, **params: Any) -> None:
        self.params = params
        self.bursting: set[int] = set()
        self.bursts = 0
        scope = params.get("distance_scope", "interval")
        self.timers = {"sizes": interval}
        self.meters: dict[str, dict[str, Any]] = {
            "curve": {"meter": "curve", "scope": scope, "timer": "sizes"}
        }
        if "ri_window" in params:
            window, aggregate = params["ri_window"], params.get("ri_aggregate", "last")
            # Its window ends before anything is decided.
            self.timers = {"window": window} | self.timers
            if params.get("ri_trigger"):
                self.meters["last"] = {"meter": "intensity", "window": window, "timer": "window"}
                self.meters["load"] = {"meter": "load", "window": interval, "timer": "window"}
                self.meters["curve"] |= {"timer": "window"}
                if scope == "interval":
                    self.meters["curve"] |= {"window": interval}
            self.meters["wss"] = {"meter": "distinct", "timer": "window"}
            self.meters["reuse"] = {
                "meter": "intensity",
                "window": window,
                "aggregate": aggregate,
                "timer": "sizes",
            }

    def weight(self, seen: Observation, v: int) -> float:
        rate = self.params.get("weight") == "rate"
        accesses = seen.meters["curve"][v].accesses if rate else 1
        return float(self.params.get("priorities", {}).get(seen.vms[v], 1.0) * accesses)

    def allocate(self, seen: Observation) -> Decision | None:
        vms = range(len(seen.vms))
        here = [accesses > 0 for accesses in seen.accesses]
        if "ri_trigger" in self.params:
            here = [accesses > 0 for accesses in seen.meters["load"]["accesses"]]
        if self.params.get("idle") == "curve":
            here = [curve.accesses > 0 for curve in seen.meters["curve"]]
        if not (seen.timer == "sizes" or self.burst_begins(seen)) or not any(here):
            return None
        targets: Division = []
        for k, of_tier in enumerate(seen.capacities.tolist()):
            keeps = self.params.get("idle") == "keep"
            kept = [0 if here[v] or not keeps else int(seen.current[k, v]) for v in vms]
            base = [sum(above[v] for above in targets) for v in vms]
            space = of_tier - sum(kept)
            unit = max(1, space // self.params.get("grid", 200))
            sizes = list(range(0, space + 1, unit))
            values = [
                [self.utility(seen, k, v, base[v], c, space) if here[v] else 0.0 for c in sizes]
                for v in vms
            ]
            sure = int(Fraction(str(self.params.get("minimum_share", 0.0))) * space / len(vms))
            least = max(s for s in sizes if s <= sure)
            found = optimize(
                values,
                space,
                sizes=sizes,
                lowest=[least if here[v] else 0 for v in vms],
                highest=[sizes[-1] if here[v] else 0 for v in vms],
            ).allocation[0]
            got = [smallest(values[v], sizes, int(found[v]), least) + kept[v] for v in vms]
            share_free(of_tier, got, here)
            targets.append(got)
        return Decision(np.array(targets))

    def burst_begins(self, seen: Observation) -> bool:
        """Whether the reuse of a VM reaches the trigger, and was below it one window earlier."""
        trigger = self.params.get("ri_trigger", 0.0)
        if not trigger:
            return False
        before = self.bursting
        self.bursting = {v for v, reuse in enumerate(seen.meters["last"]) if reuse >= trigger}
        self.bursts += bool(self.bursting - before)
        return bool(self.bursting - before)

    def utility(
        self, seen: Observation, k: int, v: int, base: int, blocks: int, space: int
    ) -> float:
        """CU = p W (l_b / l_i (H(b + c) - H(b)) + α_i RI)."""
        curve = seen.meters["curve"][v]
        reuse = float(seen.meters["reuse" if seen.timer == "sizes" else "last"][v])
        mode = self.params.get("ri_mode", "literal")
        if mode == "gated":
            reuse *= blocks > 0
        elif mode == "linear":
            full = min(space, int(seen.meters["wss"][v]))
            reuse *= min(1.0, blocks / full) if full else 0.0
        gain = ratio_of(curve)(base + blocks) - ratio_of(curve)(base)
        return self.worth(seen, k, v, gain, self.alpha(seen, k) * reuse)

    def alpha(self, seen: Observation, k: int) -> float:
        """Weights of reuse, which sum to 1: small tiers have most of it."""
        capacities = seen.capacities.tolist()
        tiers = len(capacities)
        return 1.0 if tiers == 1 else (1 - capacities[k] / sum(capacities)) / (tiers - 1)

    def worth(self, seen: Observation, k: int, v: int, gain: float, reuse: float) -> float:
        speed = seen.backend_read_ns / float(seen.tier_read_ns[k])
        return self.weight(seen, v) * (speed * gain + reuse)


class AuthorsTwin(MultiCacheTwin):
    """As the authors' code has it.

    Utility is whole percent. Sizes are points of the curve up to either tier's capacity, and count
    what a VM has in faster tiers once more. The solution is scaled to fill the tier.
    """

    SWITCHES: ClassVar = ("split_grid", "percent_utility", "total_size_weight", "rescale")

    def allocate(self, seen: Observation) -> Decision | None:
        vms, capacities = range(len(seen.vms)), seen.capacities.tolist()
        here = [accesses > 0 for accesses in seen.accesses]
        if self.params.get("idle") == "curve":
            here = [curve.accesses > 0 for curve in seen.meters["curve"]]
        if seen.timer != "sizes" or not any(here):
            return None
        first, last, half = capacities[0], capacities[-1], self.params["grid"] // 2
        points = {first * i // (half - 1) for i in range(half)}
        points |= {first + (last - first) * i // (half - 1) for i in range(half)}
        targets: Division = []
        base = [0] * len(vms)
        for k, space in enumerate(capacities):
            sizes = sorted({0} | {base[v] + p for v in vms if here[v] for p in points})
            values = [
                [self.utility(seen, k, v, base[v], max(s - base[v], 0), space) for s in sizes]
                if here[v]
                else [0.0] * len(sizes)
                for v in vms
            ]
            found = optimize(
                values,
                space,
                sizes=sizes,
                lowest=[base[v] if here[v] else 0 for v in vms],
                highest=[sizes[-1] if here[v] else 0 for v in vms],
            ).allocation[0]
            got = [int(found[v]) - (base[v] if here[v] else 0) for v in vms]
            if not any(got):
                return None
            targets.append([blocks * space // sum(got) for blocks in got])
            base = [b + g for b, g in zip(base, got, strict=True)]
        return Decision(np.array(targets))

    def worth(self, seen: Observation, k: int, v: int, gain: float, reuse: float) -> float:
        return math.trunc(100 * (gain + reuse))


def smallest(values: Sequence[float], sizes: Sequence[int], size: int, least: int) -> int:
    """The fewest blocks that are worth as much: what hits nothing is no use."""
    at = sizes.index(size)
    while sizes[at] > least and values[at - 1] == values[at]:
        at -= 1
    return sizes[at]


class JointTwin(MultiCacheTwin):
    """The same utility of all tiers at once: H(c_0 + … + c_k) counts l_b / l_k - l_b / l_k+1."""

    def __init__(self, interval: int, **params: Any) -> None:
        super().__init__(interval, **params)
        if params.get("objective") == "latency":
            self.meters["reads"] = self.meters["curve"] | {"ops": "reads"}

    def allocate(self, seen: Observation) -> Decision | None:
        curves, vms = seen.meters["curve"], range(len(seen.vms))
        counted = seen.meters.get("reads", curves)
        here = [curve.accesses > 0 for curve in curves]
        if not any(here):
            return None
        read_ns = [*seen.tier_read_ns.tolist(), seen.backend_read_ns]
        gains = [seen.backend_read_ns / ns for ns in read_ns[:-1]]
        gains = [a - b for a, b in itertools.pairwise([*gains, 0.0])]
        if self.params.get("objective") == "latency":
            gains = gains_of("latency", read_ns)
        unit = max(1, int(min(seen.capacities)) // self.params.get("grid", 20))
        spaces = [int(c) // unit * unit for c in seen.capacities]
        sizes = list(range(0, sum(spaces) + 1, unit))
        values = np.zeros((len(vms), len(spaces), len(sizes)))
        for v, k in itertools.product(vms, range(len(spaces))):
            for i, size in enumerate(sizes):
                if here[v]:
                    counts = self.weight(seen, v) * gains[k]
                    values[v, k, i] = counts * ratio_of(counted[v], curves[v].accesses)(size)
        highest = [[sizes[-1] if here[v] else 0] * len(spaces) for v in vms]
        found: NDArray[np.int64] = optimize(values, spaces, sizes=sizes, highest=highest).allocation
        targets: Division = found.tolist()
        for v in vms:
            above = sum(of_tier[v] for of_tier in targets[:-1])
            size = smallest(values[v, -1].tolist(), sizes, above + targets[-1][v], above)
            targets[-1][v] = size - above
        for k, of_tier in enumerate(seen.capacities.tolist()):
            share_free(of_tier, targets[k], here)
        return Decision(np.array(targets))
