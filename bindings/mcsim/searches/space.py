"""Where is searched: hierarchies by their sizes and policies, and what they are judged by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcsim.config.spec import ExperimentSpec
from mcsim.results.models import lifetime_years

Objective = Literal["latency", "hit-ratio", "per-dollar", "dollars"]

OBJECTIVES: Mapping[str, tuple[str, int]] = {
    "latency": ("latency_ns", 1),
    "hit-ratio": ("hit_ratio", -1),
    "per-dollar": ("per_dollar", -1),
    "dollars": ("dollars", 1),
}
"""Objectives: the field of `Values`, and whether less or more is better."""

LIMITS: Mapping[str, tuple[str, int]] = {
    "dollars": ("dollars", 1),
    "years": ("years", -1),
    "device-writes": ("worn_blocks", 1),
    "latency": ("latency_ns", 1),
    "hit-ratio": ("hit_ratio", -1),
}
"""Limits: the field of `Values`, and whether it is an upper or a lower limit."""

_ROUNDING = 1e-9
"""Tolerance for equal sums of prices."""


@dataclass(frozen=True)
class Point:
    """One hierarchy: blocks of every tier, and policies as of the system `hierarchy`."""

    blocks: tuple[int, ...]
    policy: str

    @property
    def is_lru(self) -> bool:
        """Whether every tier is under LRU."""
        return set(self.policy.split(" / ")) == {"lru"}


@dataclass(frozen=True)
class Outcome:
    """Results of a hierarchy, measured or predicted."""

    hit_ratio: float
    latency_ns: float
    """Mean of all accesses."""
    device_writes: tuple[float, ...]
    """Blocks written, by tier."""

    def scaled(self, actual: Outcome, expected: Outcome) -> Outcome:
        """Return this, wrong by as much as something was that is another than was expected."""
        return Outcome(
            hit_ratio=min(1.0, self.hit_ratio * _ratio(actual.hit_ratio, expected.hit_ratio)),
            latency_ns=self.latency_ns * _ratio(actual.latency_ns, expected.latency_ns),
            device_writes=tuple(
                written * _ratio(of, instead_of)
                for written, of, instead_of in zip(
                    self.device_writes, actual.device_writes, expected.device_writes, strict=True
                )
            ),
        )


def _ratio(a: float, b: float) -> float:
    return a / b if a > 0 and b > 0 else 1.0


@dataclass(frozen=True)
class Values:
    """Values by which hierarchies are compared."""

    hit_ratio: float
    latency_ns: float
    dollars: float
    per_dollar: float
    """Accesses a second of one client, per dollar."""
    worn_blocks: float
    """Written to tiers that wear."""
    years: float
    """Until the first tier is worn out; infinite if none wears, nan without a clock."""


@dataclass(frozen=True)
class Judge:
    """The objective and the limits of a search, and the devices it is for.

    Attributes
    ----------
    spec : ExperimentSpec
        Its tiers have the prices and wear; their sizes do not count.
    days : float
        Time from the first counted request to the last; nan if there is none.
    objective : str
        One of `OBJECTIVES`.
    limits : mapping of str to float
        By name, those of `LIMITS`.
    """

    spec: ExperimentSpec
    days: float
    objective: Objective
    limits: Mapping[str, float]

    def dollars(self, blocks: Sequence[int]) -> float:
        """Return what tiers of these sizes cost."""
        block_bytes = self.spec.block_bytes
        return sum(
            tier.dollars(size, block_bytes)
            for tier, size in zip(self.spec.tiers, blocks, strict=True)
        )

    def is_affordable(self, blocks: Sequence[int]) -> bool:
        """Whether tiers of these sizes keep a limit of money."""
        limit = self.limits.get("dollars")
        return limit is None or self.dollars(blocks) <= limit * (1 + _ROUNDING)

    def values(self, point: Point, outcome: Outcome) -> Values:
        """Return what a hierarchy that does this is judged by."""
        dollars = self.dollars(point.blocks)
        speed = 1e9 / outcome.latency_ns if outcome.latency_ns else math.inf
        worn = [
            (
                tier.drive_bytes(size, self.spec.block_bytes),
                tier.pe_cycles,
                tier.write_amplification or 1,
                written,
            )
            for size, tier, written in zip(
                point.blocks, self.spec.tiers, outcome.device_writes, strict=True
            )
            if tier.pe_cycles is not None
        ]
        block = self.spec.block_bytes
        years = [
            lifetime_years(size, cycles, written * block / self.days, amplification)
            for size, cycles, amplification, written in worn
        ]
        return Values(
            hit_ratio=outcome.hit_ratio,
            latency_ns=outcome.latency_ns,
            dollars=dollars,
            per_dollar=speed / dollars if dollars else math.inf,
            worn_blocks=sum(written for *_, written in worn),
            years=min(years, default=math.inf),
        )

    def score(self, values: Values) -> float:
        """Return the objective, turned so that less is better."""
        name, sign = OBJECTIVES[self.objective]
        return sign * float(getattr(values, name))

    def excess(self, values: Values) -> float:
        """Return by which share the limit that is exceeded most is; 0 if none is."""
        worst = max(self._excesses(values), default=0.0)
        return worst if worst > _ROUNDING else 0.0

    def _excesses(self, values: Values) -> Iterator[float]:
        for name, limit in self.limits.items():
            field, sign = LIMITS[name]
            beyond = sign * (float(getattr(values, field)) - limit)
            yield max(0.0, beyond / max(abs(limit), 1e-300))
