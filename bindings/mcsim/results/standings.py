"""Standings of systems: their numbers over all VMs, and over VMs with unequal hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

EQUAL = 0.0005
"""Systems are equal if they differ by less: a share of the baseline's latency, or of accesses."""

_SAME_HITS = 0.01
"""Hits of a VM hardly differ if its hit ratios under all systems are within a point."""


@dataclass(frozen=True)
class Standing:
    """Counts of one system over some VMs.

    Attributes
    ----------
    writes : str, optional
        Write mode; None for reads alone.
    waited_ns : float, optional
        Sum of latencies; None without a device model.
    """

    system: str
    writes: str | None
    is_yardstick: bool
    accesses: int
    hits: int
    waited_ns: float | None

    @property
    def hit_ratio(self) -> float:
        """Hits divided by accesses."""
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def latency_ns(self) -> float | None:
        """Mean latency of an access."""
        if self.waited_ns is None or not self.accesses:
            return None
        return self.waited_ns / self.accesses

    @property
    def loss(self) -> float:
        """Value to minimise: the mean latency, or without it the negative hit ratio."""
        latency = self.latency_ns
        return -self.hit_ratio if latency is None else latency

    def excess(self, other: Standing, base: Standing) -> float:
        """Return how much worse it is than another.

        That is a share of the latency of `base`, or of accesses if there is no latency.
        """
        own, its, unit = self.latency_ns, other.latency_ns, base.latency_ns
        if own is None or its is None or not unit:
            return other.hit_ratio - self.hit_ratio
        return (own - its) / unit

    def is_equal(self, other: Standing, base: Standing) -> bool:
        """Whether two systems are equal by the rule of `EQUAL`."""
        return abs(self.excess(other, base)) < EQUAL


class _HasMode(Protocol):
    @property
    def writes(self) -> str | None: ...


_Any = TypeVar("_Any", bound=_HasMode)


def by_mode(ranked: Iterable[_Any]) -> dict[str | None, list[_Any]]:
    """Group systems by write mode; an unknown mode (None) counts as the only known one."""
    modes: dict[str | None, list[_Any]] = {}
    ranked = list(ranked)
    known = {of.writes for of in ranked} - {None}
    for of in ranked:
        modes.setdefault(of.writes if len(known) > 1 else None, []).append(of)
    return modes


Rows = Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Standings:
    """Systems of one run.

    Attributes
    ----------
    by_vm : mapping of (str, str) to Standing
        By system and VM.
    whole : mapping of str to Standing
        By system, over all VMs.
    apart : tuple of str
        VMs with nearly equal hits under all systems, if they make most accesses. The VM with the
        most accesses is first.
    others : mapping of str to Standing
        By system, over all other VMs.
    """

    by_vm: Mapping[tuple[str, str], Standing]
    whole: Mapping[str, Standing]
    apart: tuple[str, ...]
    others: Mapping[str, Standing]

    @classmethod
    def of(cls, rows: Rows) -> Standings:
        """Return the standings of rows of `comparison`."""
        by_vm: dict[tuple[str, str], Standing] = {}
        whole: dict[str, Standing] = {}
        for row in rows:
            latency, accesses = row["mean_latency_ns"], row["accesses"]
            standing = Standing(
                row["system"],
                row.get("writes"),
                row.get("foresight") is not None,
                accesses,
                row["hits"],
                None if latency is None else latency * accesses,
            )
            if row["vm"] is None:
                whole[row["system"]] = standing
            else:
                by_vm[row["system"], row["vm"]] = standing
        apart = _set_apart(by_vm.values(), [vm for _, vm in by_vm])
        others = {name: _without(whole[name], apart, by_vm) for name in whole} if apart else whole
        return cls(by_vm, whole, apart, others)

    def ranked(self) -> list[Standing]:
        """Return the systems over the VMs that are not set apart: best first, yardsticks last."""
        return sorted(self.others.values(), key=lambda of: (of.is_yardstick, of.loss))

    def realisable(self) -> list[Standing]:
        """Return the systems that are no yardsticks, the best first."""
        return [of for of in self.ranked() if not of.is_yardstick]

    def by_mode(self) -> dict[str | None, list[Standing]]:
        """Return the realisable systems by write mode, the best of each mode first."""
        return by_mode(self.realisable())

    def share_of_apart(self) -> float:
        """Return the share of accesses of the VMs that are set apart."""
        first = next(iter(self.whole))
        accesses = sum(self.by_vm[first, vm].accesses for vm in self.apart)
        return accesses / self.whole[first].accesses

    def hit_range_of_apart(self) -> tuple[float, float]:
        """Return the least and the highest hit ratio of the VMs that are set apart, together."""
        ratios = []
        for system in self.realisable():
            own = [self.by_vm[system.system, vm] for vm in self.apart]
            ratios.append(sum(of.hits for of in own) / sum(of.accesses for of in own))
        return min(ratios), max(ratios)


def _set_apart(standings: Iterable[Standing], vms: Sequence[str]) -> tuple[str, ...]:
    """Return VMs with nearly equal hits under all systems, if they make most accesses.

    The result is empty if only one system is realisable. It is also empty if it would contain all
    VMs.
    """
    found: dict[str, list[Standing]] = {}
    for standing, vm in zip(standings, vms, strict=True):
        if not standing.is_yardstick and standing.accesses:
            found.setdefault(vm, []).append(standing)
    accesses = {vm: each[0].accesses for vm, each in found.items()}
    ratios = {vm: [of.hit_ratio for of in each] for vm, each in found.items()}
    same = [vm for vm in found if max(ratios[vm]) - min(ratios[vm]) <= _SAME_HITS]
    is_compared = any(len(each) > 1 for each in found.values())
    is_most = 2 * sum(accesses[vm] for vm in same) > sum(accesses.values())
    if not is_compared or not is_most or len(same) == len(found):
        return ()
    return tuple(sorted(same, key=lambda vm: -accesses[vm]))


def _without(
    whole: Standing, apart: Sequence[str], by_vm: Mapping[tuple[str, str], Standing]
) -> Standing:
    """Return the standing of a system without some VMs."""
    left = [by_vm[whole.system, vm] for vm in apart]

    def rest(value: Callable[[Standing], float | None]) -> Any:
        total = value(whole)
        # A VM without accesses has no latency.
        return None if total is None else total - sum(value(of) or 0 for of in left)

    return Standing(
        whole.system,
        whole.writes,
        whole.is_yardstick,
        rest(lambda of: of.accesses),
        rest(lambda of: of.hits),
        rest(lambda of: of.waited_ns),
    )
