"""A search under way: what is expected, what was replayed, and what is to be replayed next."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.package import shortest_name
from mcsim.base.progress import Reporter
from mcsim.base.units import format_count, format_latency
from mcsim.experiment.experiment import Experiment
from mcsim.searches.asked import Asked, grid_of, policies_of, sizes_of
from mcsim.searches.guides import Expected, Stack, expect, rate_for
from mcsim.searches.replays import Replays
from mcsim.searches.space import Judge, Objective, Outcome, Point
from mcsim.tables.result_table import ResultTable

_MAX_REPLAYS_WITHOUT_GAIN = 3
"""Number of consecutive replays without improvement that ends a search."""

_NEAR = 0.05
"""Estimated points within this share of the best are replayed."""

_KNEES = 3

_EACH_REPLAY = 60_000
"""Fixed cost of a replay, in accesses: about 1.5 ms at 40 million a second."""


class Found(ResultTable):
    """Hierarchies that a search compared, the best first; replayed ones are before all others.

    The columns ``policy``, ``blocks_0`` and ``blocks_1`` describe a hierarchy. A row is
    ``simulated`` if it was replayed in full; other rows have expected numbers. A row is ``kept``
    if it is within all limits. Results are ``dollars``, ``latency_ns``, ``hit_ratio``,
    ``per_dollar`` (accesses a second of one client), ``worn_blocks`` (written to tiers that wear)
    and ``years`` (infinite without wear, nan without a clock or if all requests have one time).

    Attributes
    ----------
    replay_count : int
        Hierarchies replayed in full.
    replayed : float
        References that miniatures replayed, in lengths of the workload.
    grid : int
        Size of the full grid: combinations of the sizes and policies, within the limit of price.
    limits : mapping of str to float
    objective : str
    experiment : str
    devices : tuple of str
    system : int or None
        Index of the hierarchy among the experiment's systems, if it is one.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        *,
        replayed: float,
        grid: int,
        limits: Mapping[str, float],
        objective: Objective,
        experiment: str,
        devices: tuple[str, ...],
        system: int | None,
    ) -> None:
        title = f"{experiment}: hierarchies of two tiers, the best first by {objective}"
        super().__init__(columns, "search", title=title)
        self.replay_count = int(self["simulated"].sum())
        self.replayed, self.grid, self.limits = replayed, grid, limits
        self.objective, self.experiment, self.devices = objective, experiment, devices
        self.system = system
        best = self.best
        self.answer = (
            "No hierarchy that was replayed keeps the limits."
            if best is None
            else f"Best: {best.policy} with {best.blocks_0:,} and {best.blocks_1:,} blocks, mean "
            f"latency {format_latency(best.latency_ns)}, {best.dollars:.4g} dollars."
        )

    @property
    def overrides(self) -> list[str]:
        """Overrides for the best hierarchy, for `mcsim.run` and ``--set``."""
        best = self.best
        if best is None:
            return []
        # In a flow map of YAML a comma ends a value that is not quoted.
        quoted = json.dumps(best.policy) if "," in best.policy else best.policy
        policy = f"systems=[{{name: hierarchy, policy: {quoted}}}]"
        if self.system is not None:
            policy = f"systems.{self.system}.policy={best.policy}"
        sizes = (best.blocks_0, best.blocks_1)
        return [*(f"tiers.{k}.capacity={size}" for k, size in enumerate(sizes)), policy]

    @property
    def best(self) -> Any:
        """The row of the best hierarchy; None if none that was replayed keeps the limits."""
        first = self[0]
        return first if first.simulated and first.kept else None


def place_of_hierarchy(experiment: Experiment) -> int | None:
    """Return where among the systems of an experiment the hierarchy is, if it is there."""
    names = [system.name for system in experiment.spec.systems]
    return names.index("hierarchy") if "hierarchy" in names else None


@dataclass
class SearchState:
    """A search under way."""

    replays: Replays
    asked: Asked
    threads: int
    reporter: Reporter
    judge: Judge = field(init=False)
    grid: list[Point] = field(init=False)
    expected: Expected = field(default_factory=Expected)
    simulated: dict[Point, Outcome] = field(default_factory=dict)
    replays_without_gain: int = 0

    def __post_init__(self) -> None:
        spec, unique = self.replays.spec, self.replays.all.accesses.id_count
        self.sizes = sizes_of(self.asked.sizes, spec, unique)
        own = str(self.replays.system.params["policy"])
        self.policies = policies_of(self.asked.policies, own, len(spec.tiers))
        self.judge = Judge(spec, self.replays.days, self.asked.objective, {})
        self.judge = replace(self.judge, limits=self._limits())
        self.grid = [p for p in grid_of(self.sizes, self.policies) if self._is_affordable(p)]
        if not self.grid:
            least = self.judge.dollars([of_tier[0] for of_tier in self.sizes])
            raise ConfigError(
                f"limits: the smallest tiers cost {least:.4g} dollars, more than "
                f"{self.judge.limits['dollars']:.4g}"
            )

    def _limits(self) -> dict[str, float]:
        spec, given = self.replays.spec, self.asked.limits
        priced = given is None or given.dollars is not None or "dollar" in self.asked.objective
        if priced and (unknown := [tier.device for tier in spec.tiers if tier.price is None]):
            raise ConfigError(
                f"limits: {unknown[0]} has no price: give limits and an objective without dollars"
            )
        if given is None and self.asked.objective not in ("dollars", "per-dollar"):
            return {"dollars": self.judge.dollars([tier.capacity for tier in spec.tiers])}
        limits = {} if given is None else given.named()
        wear = [name for name in ("years", "device-writes") if name in limits]
        if wear and all(tier.pe_cycles is None for tier in spec.tiers):
            raise ConfigError(f"limits: {wear[0]}: no tier wears (has pe_cycles)")
        if "years" in limits and math.isnan(self.judge.days):
            no_clock = spec.interval.by_reference
            why = "the workload has no clock" if no_clock else "all counted requests have one time"
            raise ConfigError(f"limits: years: {why}; device_writes can be limited")
        if self.asked.objective == "dollars" and not set(limits) - {"dollars"}:
            raise ConfigError("limits: the cheapest of what? give one, such as latency")
        return limits

    def _is_affordable(self, point: Point) -> bool:
        return self.judge.is_affordable(point.blocks)

    def expect(self, rate: float, seeds: int, *, refine: bool, in_full: bool) -> None:
        """Estimate every point, or replay it in full if that is allowed and takes less time."""
        points = list(self.grid)
        if refine:
            points = list(dict.fromkeys([*points, *self._between()]))
        used = rate_for(rate, points, self.replays.all.accesses.id_count)
        if in_full and self._is_cheaper_in_full(points, used, seeds):
            self.simulate_all(points)
            return
        with self.reporter.stage("expect", len(points) * seeds, "miniatures") as stage:
            self.expected = expect(self.replays, points, used, seeds, self.threads, stage.update)

    def _is_cheaper_in_full(self, points: Sequence[Point], rate: float, seeds: int) -> bool:
        """Whether replays in full take less time than the miniatures, as for short traces."""
        if Stack(self.replays).is_exact and all(point.is_lru for point in points):
            return False
        accesses = self.replays.all.accesses.access_count
        return accesses + _EACH_REPLAY <= seeds * (rate * accesses + _EACH_REPLAY)

    def _between(self) -> list[Point]:
        """Return points between those of the grid: knees, and all that money can buy."""
        first, second = self.sizes
        pairs = []
        for knee in Stack(self.replays).knees(_KNEES):
            pairs += [(knee, size) for size in second]
            pairs += [(size, knee - size) for size in first]
        if (dollars := self.judge.limits.get("dollars")) is not None:
            price = self.judge.dollars([0, 1]) - self.judge.dollars([0, 0])
            if price:
                pairs += [(s, int((dollars - self.judge.dollars([s, 0])) / price)) for s in first]
        points = [
            Point(pair, policy)
            for policy in self.policies
            for pair in pairs
            if first[0] <= pair[0] <= first[-1] and second[0] <= pair[1] <= second[-1]
        ]
        return [point for point in points if self._is_affordable(point)]

    def simulate_all(self, points: Sequence[Point]) -> None:
        """Replay these points."""
        with self.reporter.stage("simulate", len(points), "points") as stage:
            self.simulated = self.replays.outcomes(points, self.threads)
            stage.update(len(points))

    def simulate_promising(self, most: int | None) -> None:
        """Replay what promises most, until nothing promises more or `most` were replayed."""
        if most is None:
            most = max(1, len(self.grid) // 5)
        while len(self.simulated) < most and self.replays_without_gain < _MAX_REPLAYS_WITHOUT_GAIN:
            if (point := self._most_promising()) is None:
                return
            total = self.replays.all.accesses.access_count
            about = f"{point.policy}, {' + '.join(map(format_count, point.blocks))} blocks"
            best = self._rank_of_best()
            with self.reporter.stage("simulate", total, "accesses", about=about) as stage:
                self.simulated[point] = self.replays.outcome(point, progress=stage.update)
                stage.update(total)
            better = best is None or self._rank(point, self.simulated[point]) < best
            self.replays_without_gain = 0 if better else self.replays_without_gain + 1

    def _most_promising(self) -> Point | None:
        """Return what is expected to be best, unless that is clearly worse than what is known."""
        left = [point for point in self.expected.outcomes if point not in self.simulated]
        if not left:
            return None
        ranks = {point: self._rank(point, self._corrected(point)) for point in left}
        point = min(ranks, key=lambda each: ranks[each])
        best = self._rank_of_best()
        if best is None:
            return point
        slack = 0.0 if point in self.expected.exact else _NEAR
        excess, score = ranks[point]
        within = score < best[1] + slack * abs(best[1])
        if best[0] > 0:  # nothing that was replayed keeps the limits
            return point if excess < best[0] * (1 + slack) else None
        return point if excess <= slack and within else None

    def _rank_of_best(self) -> tuple[float, float] | None:
        return min((self._rank(*each) for each in self.simulated.items()), default=None)

    def _rank(self, point: Point, outcome: Outcome) -> tuple[float, float]:
        """Return what is less the better: how far limits are exceeded, then the objective."""
        values = self.judge.values(point, outcome)
        return self.judge.excess(values), self.judge.score(values)

    def _corrected(self, point: Point) -> Outcome:
        """Correct predictions by their errors at replayed points.

        Errors of the samples are much alike where sizes are, and the more so under one policy.
        """
        outcome = self.expected.outcomes[point]
        if point in self.expected.exact:
            return outcome
        known = [p for p in self.simulated if p not in self.expected.exact]
        if not known:
            return outcome
        near = np.array([_nearness(point, other) for other in known])
        actual, expected = (
            _between([of[p] for p in known], near / near.sum())
            for of in (self.simulated, self.expected.outcomes)
        )
        return outcome.scaled(actual, expected)

    def found(self) -> Found:
        """Return all that was looked at, the best first."""
        outcomes = {p: self._corrected(p) for p in self.expected.outcomes} | self.simulated
        ranked = sorted(
            outcomes, key=lambda p: (p not in self.simulated, self._rank(p, outcomes[p]))
        )
        values = [self.judge.values(point, outcomes[point]) for point in ranked]
        columns: dict[str, Any] = {
            "policy": np.array([point.policy for point in ranked]),
            "blocks_0": np.array([point.blocks[0] for point in ranked]),
            "blocks_1": np.array([point.blocks[1] for point in ranked]),
            "simulated": np.array([point in self.simulated for point in ranked]),
            "kept": np.array([self.judge.excess(each) == 0 for each in values]),
        }
        for name in ("dollars", "latency_ns", "hit_ratio", "per_dollar", "worn_blocks", "years"):
            columns[name] = np.array([getattr(each, name) for each in values])
        return Found(
            columns,
            replayed=self.expected.replayed,
            grid=len(self.grid),
            limits=self.judge.limits,
            objective=self.judge.objective,
            experiment=shortest_name("experiment", self.replays.experiment.source.name),
            devices=tuple(tier.device for tier in self.replays.spec.tiers),
            system=place_of_hierarchy(self.replays.experiment),
        )


def _nearness(a: Point, b: Point) -> float:
    """Return how alike two points are: 1 if equal, and next to nothing at ratios of three or so."""
    apart = sum(math.log(x / y) ** 2 for x, y in zip(a.blocks, b.blocks, strict=True))
    policies = zip(a.policy.split(" / "), b.policy.split(" / "), strict=True)
    apart += 4 * sum(x != y for x, y in policies)
    return math.exp(-apart / 2) + 1e-9


def _between(outcomes: Sequence[Outcome], weights: NDArray[np.float64]) -> Outcome:
    """Return the geometric mean of outcomes."""

    def mean(values: Sequence[float]) -> float:
        return float(np.exp(weights @ np.log(np.maximum(values, 1e-300))))

    return Outcome(
        hit_ratio=mean([each.hit_ratio for each in outcomes]),
        latency_ns=mean([each.latency_ns for each in outcomes]),
        device_writes=tuple(map(mean, zip(*(o.device_writes for o in outcomes), strict=True))),
    )
