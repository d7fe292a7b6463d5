"""Summary of a sweep: at most five sentences from its table, by the rules of a run's summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.base.suggest import some_of
from mcsim.base.units import format_latency
from mcsim.results.answer_best import EQUAL_HITS, EQUAL_LATENCY
from mcsim.results.standings import EQUAL, Standing, Standings, by_mode

_MOST_MODES = 3
_MOST_SYSTEMS = 4


@dataclass(frozen=True)
class Candidate:
    """A system at one point of the grid, over all seeds and all values of the axis `over`.

    Attributes
    ----------
    standings : tuple of Standings
        Those of the cell of each seed; empty if candidates are not ranked.
    opt_hits : tuple of int or None
        Hits of OPT in these cells, if known.
    """

    point: tuple[Any, ...]
    variant: tuple[Any, ...]
    system: str
    foresight: str | None
    numbers: Mapping[str, NDArray[np.float64]]
    standings: tuple[Standings, ...]
    opt_hits: tuple[int | None, ...]
    over: str | None = None

    @property
    def name(self) -> str:
        """Title of the system, with its variant."""
        variant = [str(value) for value in self.variant]
        is_in_variant = any(value.split(" ")[0] == self.system for value in variant)
        return ", ".join(variant if is_in_variant else [self.system, *variant])

    @cached_property
    def counted(self) -> list[Standing]:
        """Its standing for each seed, without the VMs that are set apart."""
        return [of.others[self.system] for of in self.standings]

    @property
    def writes(self) -> str | None:
        """Its write mode; None if only reads were replayed."""
        return self.counted[0].writes

    @property
    def loss(self) -> NDArray[np.float64]:
        """Values to minimise: latencies, or negative hit ratios."""
        counted = [of for of in self.counted if of.accesses]
        if any(of.latency_ns is None for of in counted):
            return np.array([-of.hit_ratio for of in counted])
        return np.array([of.loss for of in counted])

    @property
    def has_seeds(self) -> bool:
        """Whether its values differ by the seed alone, and there are several."""
        return self.over is None and len(self.loss) > 1

    @property
    def rank(self) -> tuple[bool, float]:
        """Yardsticks come last."""
        return self.foresight is not None, float(self.loss.mean()) if len(self.loss) else np.inf

    def is_equal(self, other: Candidate) -> bool:
        """Whether seeds overlap; otherwise whether (mean) values differ by less than `EQUAL`."""
        if self.over is not None:
            own, its = float(self.loss.mean()), float(other.loss.mean())
            return abs(its - own) < EQUAL * (own if own > 0 else 1)
        if self.has_seeds or other.has_seeds:
            return bool(self.loss.max() >= other.loss.min())
        return abs(other.counted[0].excess(self.counted[0], self.counted[0])) < EQUAL

    def hits_everything(self) -> bool:
        """Whether it has all hits of OPT for every seed."""
        return all(
            opt is not None and of.whole[self.system].hits >= opt
            for of, opt in zip(self.standings, self.opt_hits, strict=True)
        )


@dataclass(frozen=True)
class Contest:
    """All candidates at one point of the grid, the best first."""

    ranked: tuple[Candidate, ...]

    @cached_property
    def realisable(self) -> list[Candidate]:
        """The candidates that are no yardsticks and have accesses."""
        return [one for one in self.ranked if one.foresight is None and len(one.loss)]

    @cached_property
    def modes(self) -> dict[str | None, list[Candidate]]:
        """The realisable candidates by write mode."""
        return by_mode(self.realisable)

    @cached_property
    def is_all_hit(self) -> bool:
        """Whether every candidate hits all there is to hit."""
        return len(self.modes) == 1 and all(one.hits_everything() for one in self.realisable)

    @cached_property
    def winners(self) -> dict[str | None, Candidate]:
        """The best candidate of each write mode with several, unless it equals another."""
        if self.is_all_hit:
            return {}
        return {
            mode: of[0]
            for mode, of in self.modes.items()
            if len(of) > 1 and not any(of[0].is_equal(other) for other in of[1:])
        }


def standings_by_cell(table: pa.Table) -> dict[int, Standings]:
    """Return the standings of each cell of a sweep's table."""
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        rows.setdefault(row["cell"], []).append(row)
    return {cell: Standings.of(of) for cell, of in rows.items()}


def answer(contests: Sequence[Contest]) -> str:
    """Describe the best systems over the points of a grid, each sentence on a line."""
    found = [of for of in contests if of.realisable]
    if not contests:
        return "No cell is finished."
    if not found:
        return f"Only yardsticks, at {len(contests):,} points of the grid."
    if len({one.name for of in found for one in of.realisable}) < 2:
        name = found[0].realisable[0].name
        return f"One system, `{name}`, at {len(contests):,} points of the grid."
    modes = list(dict.fromkeys(mode for of in found for mode in of.modes))
    sentences = [_of_mode(found, mode, len(modes) > 1) for mode in modes[:_MOST_MODES]]
    if all_hit := sum(of.is_all_hit for of in found):
        where = "" if len(found) == 1 else f" at {all_hit} of {len(found)} points"
        sentences.append(f"All systems hit all there is to hit{where}.")
    sentences.append(_apart(found))
    return "\n".join(filter(None, sentences))


def _of_mode(contests: Sequence[Contest], mode: str | None, is_named: bool) -> str:
    """Return which candidates of a write mode are best, and at how many points."""
    ranked = [of.modes[mode] for of in contests if mode in of.modes and not of.is_all_hit]
    if not ranked:
        return ""
    begin = f"Write mode {mode or 'unknown'}: " if is_named else ""
    names = {one.name for each in ranked for one in each}
    if len(names) == 1:
        only = ranked[0][0]
        shown = f" ({_measured(only)})" if len(contests) == 1 else ""
        return f"{begin}only `{only.name}`{shown}."
    if len(contests) == 1:
        return f"{begin}{_at_one_point(ranked[0], contests[0].winners.get(mode))}"
    winners = [of.winners.get(mode) for of in contests if mode in of.modes and not of.is_all_hit]
    counts: dict[str, int] = {}
    for winner in winners:
        if winner is not None:
            counts[winner.name] = counts.get(winner.name, 0) + 1
    parts = _counted(counts, len(contests))
    if unclear := sum(winner is None for winner in winners):
        best = [each for each, one in zip(ranked, winners, strict=True) if one is None]
        begins = "no clear winner at" if best[0][0].has_seeds else "the best are equal at"
        begins = begins if parts else begins[0].upper() + begins[1:]
        of_points = "" if parts else f" of {len(contests)} points"
        parts.append(f"{begins} {unclear}{of_points} ({_rule(best[0][0])})")
    return f"{begin}{', '.join(parts)}."


def _counted(counts: Mapping[str, int], points: int) -> list[str]:
    most = sorted(counts.items(), key=lambda each: -each[1])
    parts = [
        f"`{name}` is best at {count} of {points} points" if i == 0 else f"`{name}` at {count}"
        for i, (name, count) in enumerate(most[:_MOST_SYSTEMS])
    ]
    if others := sum(count for _, count in most[_MOST_SYSTEMS:]):
        parts.append(f"others at {others}")
    return parts


def _rule(one: Candidate) -> str:
    if one.has_seeds:
        return "seeds overlap"
    return EQUAL_HITS if one.counted[0].latency_ns is None else EQUAL_LATENCY


def _at_one_point(ranked: Sequence[Candidate], winner: Candidate | None) -> str:
    best, second = ranked[:2]
    if winner is not None:
        named = f"`{best.name}` is best: {_measured(best)}"
        return f"{named}; next is `{second.name}`, {_measured(second)}."
    equal = [one for one in ranked if one is best or best.is_equal(one)]
    if best.has_seeds:
        return (
            f"There is no clear winner: the seeds of `{best.name}` ({_measured(best)}) and "
            f"`{equal[1].name}` ({_measured(equal[1])}) overlap."
        )
    names = some_of([f"`{one.name}`" for one in equal], 3)
    which = "equal" if len(equal) == len(ranked) else "equal and best"
    return f"{names} are {which} ({_rule(best)}): {_measured(best)}."


def _measured(one: Candidate) -> str:
    latencies = [of.latency_ns for of in one.counted if of.latency_ns is not None]
    if len(latencies) < len(one.counted):
        return f"hit ratio {100 * np.mean([of.hit_ratio for of in one.counted]):.1f} %"
    spread = f" ± {format_latency(float(np.std(latencies, ddof=1)))}" if one.has_seeds else ""
    return f"mean latency {format_latency(float(np.mean(latencies)))}{spread}"


def _apart(contests: Sequence[Contest]) -> str:
    """Return the VMs that do not count for the ranking, at how many points."""
    counts: dict[str, int] = {}
    for of in contests:
        for vm in dict.fromkeys(vm for each in of.ranked[0].standings for vm in each.apart):
            counts[vm] = counts.get(vm, 0) + 1
    if not counts:
        return ""
    points = len(contests)
    names = [vm if points == 1 else f"{vm} at {count}" for vm, count in counts.items()]
    of_points = "" if points == 1 else f" of {points} points"
    return (
        f"Not counted, for most accesses are theirs and their hits hardly differ: "
        f"VM{'s' if len(names) > 1 else ''} {some_of(names, 3)}{of_points}."
    )
