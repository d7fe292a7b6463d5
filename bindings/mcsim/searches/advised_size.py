"""The line of advice about the size: where the curve bends, or the size for a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from mcsim.base.errors import ConfigError
from mcsim.base.sizes import share_given
from mcsim.base.units import format_latency, parse_duration
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.latency import CacheLatency, curve_under
from mcsim.locality.size_verdict import SizeVerdict, verdict
from mcsim.policies.simulation import simulate
from mcsim.searches.advice_case import Candidate, Case, Line, percent, points

_WORTH = 0.05
"""Least gain of the hit ratio for which a larger size is advised."""


@dataclass(frozen=True)
class Target:
    """A hit ratio, or a mean latency; one of them is None."""

    text: str
    ratio: float | None = None
    latency_ns: int | None = None

    @classmethod
    def of(cls, given: float | str) -> Self:
        """Parse ``'80%'`` or ``0.8`` as a hit ratio, and ``'2ms'`` as a latency.

        Raises
        ------
        ConfigError
            If it is neither.
        """
        if isinstance(given, str):
            try:
                return cls(given, latency_ns=parse_duration(given))
            except ValueError:
                pass
        try:
            return cls(f"{given}", share_given("target", given, zero=True))
        except ConfigError:
            raise ConfigError(
                f"target: expected a hit ratio such as 80%, or a mean latency such as 2ms, got "
                f"{given!r}"
            ) from None


def advise_size(case: Case, target: Target | None) -> Line:
    """Find the size for a target, or judge the given size by the bends of the curve."""
    return _judged(case) if target is None else _for_target(case, target)


def _judged(case: Case) -> Line:
    """Judge the given size by the curve of LRU, and by what the policy hits around it."""
    curve = case.references.together
    found = verdict(curve, case.capacity)
    commands = [case.commands.whatif()]
    if found.best == 0:
        here = case.size_text(case.capacity)
        text = f"{here} is no better than no cache: no block is accessed twice."
        return Line("size", text, tuple(commands))
    parts = [_lead(case, found), *_around(case, found)]
    if found.ratio < found.best:
        sizes = [max(1, case.capacity // 2), 2 * case.capacity]
        halved, doubled = _under_policy(case, sizes)
        parts.append(
            f"under {case.policy} half of it hits {percent(halved)}, twice as much "
            f"{percent(doubled)}"
        )
        commands.append(_compare(case, sizes))
    _add_rows(case, curve, found)
    return Line("size", "; ".join(parts) + ".", tuple(commands))


def _lead(case: Case, found: SizeVerdict) -> str:
    """Return the advised size, with its reason."""
    here, knee = case.size_text(case.capacity), found.knee_above
    hits = f"lru hits {percent(found.ratio)}"
    if knee is not None and knee.ratio - found.ratio >= _WORTH:
        case.size = knee.capacity
        return (
            f"{case.size_text(knee.capacity)} is the next bend of the curve: lru hits "
            f"{percent(knee.ratio)}, at {here} {percent(found.ratio)} "
            f"({points(knee.ratio - found.ratio)})"
        )
    case.size = case.capacity
    if found.judgement == "too large":
        return f"{here} is more than needed: {hits}, with half of it {percent(found.halved)}"
    if knee is None:
        return f"{here} is enough: {hits}, and the curve does not bend beyond it"
    return (
        f"{here} is enough: {hits}, and the next bend at {case.size_text(knee.capacity)} adds "
        f"{points(knee.ratio - found.ratio)}"
    )


def _around(case: Case, found: SizeVerdict) -> list[str]:
    """Describe the bend below the size, and all there is to hit."""
    parts = []
    if found.knee_below is not None:
        knee = found.knee_below
        parts.append(
            f"the bend below is at {case.size_text(knee.capacity)} ({percent(knee.ratio)})"
        )
    what = f"all there is to hit, {percent(found.best)},"
    at = case.size_text(found.saturation)
    parts.append(f"{what} {'needs' if found.ratio < found.best else 'fits into'} {at}")
    return parts


def _under_policy(case: Case, sizes: list[int]) -> list[float]:
    """Return the hit ratios of the advised policy at other sizes."""
    with case.reporter.stage("replay", len(sizes) * len(case.blocks), "accesses") as stage:
        rows = simulate(
            case.blocks,
            case.policy,
            sizes,
            seed=case.seed,
            threads=case.threads,
            memory=case.memory,
            progress=stage.update,
        )
    ratios: list[float] = rows.hit_ratio.tolist()
    case.rows += [
        Candidate("size", case.policy, size, ratio)
        for size, ratio in zip(sizes, ratios, strict=True)
    ]
    return ratios


def _compare(case: Case, sizes: list[int]) -> str:
    listed = ",".join(map(str, sizes))
    return case.commands.about(
        "compare", "--policies", case.policy, "--sizes", listed, *case.seed_words()
    )


def _add_rows(case: Case, curve: HitRatioCurve, found: SizeVerdict) -> None:
    sizes = {found.size, found.saturation}
    sizes |= {knee.capacity for knee in (found.knee_below, found.knee_above) if knee is not None}
    case.rows += [
        Candidate("size", "lru", size, float(curve.at(size)), chosen=size == case.size)
        for size in sorted(sizes)
    ]


def _for_target(case: Case, target: Target) -> Line:
    """Find the smallest LRU cache that reaches the target, and what the policy hits there."""
    mode = case.writes or "through"
    if target.latency_ns is None:
        curve, options = case.references.together, ["--target-hit-ratio", target.text]
        assert target.ratio is not None
        case.size = curve.capacity_for(target.ratio)
        best = f"the best is {percent(curve.best_ratio)}"
    else:
        case.size, best = _for_latency(case, target.latency_ns)
        options = ["--target-latency", target.text, *case.commands.machine]
        if case.blocks.ops_kept == "all":
            options += ["--writes", mode]
        curve = curve_under(case.blocks, mode)
    command = case.commands.about("size", *options)
    wanted = "a hit ratio" if target.latency_ns is None else "a mean latency"
    wanted += f" of {target.text}"
    if case.size is None:
        return Line("size", f"no lru cache reaches {wanted}: {best}.", (command,))
    if case.size == 0:
        return Line("size", f"{wanted} needs no cache.", (command,))
    text = f"{wanted} needs {case.size_text(case.size)} under lru"
    commands = [command]
    if case.policy != "lru":
        (ratio,) = _under_policy(case, [case.size])
        text += f", where {case.policy} hits {percent(ratio)}"
        commands.append(_compare(case, [case.size]))
    else:
        case.rows.append(
            Candidate("size", "lru", case.size, float(curve.at(case.size)), chosen=True)
        )
    return Line("size", f"{text}.", tuple(commands))


def _for_latency(case: Case, ns: int) -> tuple[int | None, str]:
    """Return the size for a mean latency, and the best that there is."""
    if case.blocks.kind == "objects":
        raise ConfigError("target: a latency of an object trace: devices read and write blocks")
    mode = case.writes or "through"
    curve = curve_under(case.blocks, mode)
    model = CacheLatency(case.machine.tier, case.machine.backend, mode)
    best = model.mean_ns(curve, curve.saturation)
    return model.capacity_for(curve, ns), f"the best is {format_latency(best)}"
