"""First sentence of a summary: the best system, or the best of each write mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcsim.base.suggest import some_of
from mcsim.base.units import format_latency
from mcsim.config.spec import SystemSpec
from mcsim.results.misses import miss_classes
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, baseline, is_legacy
from mcsim.results.standings import Standing
from mcsim.results.yardsticks import yardsticks

_MOST_MODES = 3
_MOST_NAMES = 3

EQUAL_LATENCY = "less than 0.05 % of latency apart"
EQUAL_HITS = "less than 0.05 points apart"


def base_title(results: Results) -> str:
    """Return the title of the baseline: Global LRU, else the first system that is no yardstick."""
    try:
        return baseline(results).title
    except CannotDrawError:
        return results.spec.systems[0].title


def lead(results: Results) -> Standing | None:
    """Return the system that the answer is about; None if no access was counted.

    It is the best in the write mode of the baseline, if that mode has several systems, and else
    the best of all.
    """
    ranked = results.standings.realisable() or results.standings.ranked()
    same_mode = in_mode_of_baseline(results)
    found = equal_best(results, same_mode if len(same_mode) > 1 else ranked)[0]
    return found if found.accesses else None


def in_mode_of_baseline(results: Results) -> list[Standing]:
    """Return the realisable systems with the write mode of the baseline, the best first."""
    base = results.standings.others[base_title(results)]
    modes = results.standings.by_mode().values()
    return next((ranked for ranked in modes if base in ranked), [])


def equal_best(results: Results, ranked: Sequence[Standing]) -> list[Standing]:
    """Return the systems that equal the best: the baseline first, legacy systems last."""
    base = results.standings.others[base_title(results)]
    legacy = {system.title for system in results.spec.systems if is_legacy(system)}
    equal = [of for of in ranked if of.is_equal(ranked[0], base)]
    return sorted(equal, key=lambda of: (of.system in legacy, of is not base))


def best(results: Results) -> str:
    """Return the best system, its lead, and the part of the write mode alone."""
    modes = results.standings.by_mode()
    base = results.standings.others[base_title(results)]
    if not modes:
        return f"`{base.system}` is a yardstick: {measured(base)}."
    if len(modes) > 1:
        return f"{_per_mode(results, modes, base)}; {_worth_of_mode(results, base)}."
    (ranked,) = modes.values()
    if len(ranked) == 1:
        return f"`{base.system}`: {measured(base)}."
    if hits_everything(results):
        latency = _by_latency(results, ranked, base)
        if not any(of.hits for of in ranked):
            return f"There is nothing to hit{latency}."
        return f"All systems hit all there is to hit: {_hits(ranked[0])}{latency}."
    return f"{_ranking(results, ranked, base)}."


def measured(of: Standing) -> str:
    """Return the latency and the hit ratio in words."""
    latency = of.latency_ns
    return _hits(of) if latency is None else f"mean latency {format_latency(latency)}, {_hits(of)}"


def against(of: Standing, base: Standing, name: str | None = None) -> str:
    """Return the distance to the baseline in words: `12.3 % below `lru``.

    Parameters
    ----------
    name : str, optional
        Name of the baseline, which is left out if not given.
    """
    title = "" if name is None else f" `{name}`"
    percent = 100 * of.excess(base, base)
    if f"{abs(percent):.1f}" == "0.0":
        return f"equal to{title or ' it'}"
    if of.latency_ns is None or not base.latency_ns:
        return f"{abs(percent):.1f} points {'below' if percent > 0 else 'above'}{title}"
    return f"{abs(percent):.1f} % {'above' if percent > 0 else 'below'}{title}"


def names_of(systems: Sequence[Standing]) -> str:
    """Return some titles in words: `a` and `b`, or the first and how many more."""
    quoted = [f"`{of.system}`" for of in systems]
    if len(quoted) > _MOST_NAMES:
        return some_of(quoted, _MOST_NAMES - 1)
    return " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))


def _hits(of: Standing) -> str:
    return f"hit ratio {100 * of.hit_ratio:.1f} %"


def _where(results: Results) -> str:
    """Return which VMs the ranking counts, if some are set apart."""
    apart = results.standings.apart
    return f" without VM{'s' if len(apart) > 1 else ''} {some_of(apart, 3)}" if apart else ""


def _ranking(results: Results, ranked: Sequence[Standing], base: Standing) -> str:
    equal, where = equal_best(results, ranked), _where(results)
    rule = EQUAL_HITS if base.latency_ns is None else EQUAL_LATENCY
    if len(equal) == len(ranked):
        every = names_of(equal) if len(equal) <= _MOST_NAMES else f"All {len(equal)} systems"
        return f"{every} are equal{where} ({rule}): {measured(equal[0])}"
    if len(equal) > 1:
        found = f"{names_of(equal)} are equal ({rule}) and best{where}: {measured(equal[0])}"
    else:
        found = f"`{equal[0].system}` is best{where}: {measured(equal[0])}"
    if base not in equal:
        found += f", {against(equal[0], base, base.system)}"
    following = ranked[len(equal)]
    if following is base:
        return found
    return f"{found}; next is `{following.system}`, {against(following, base)}"


def _per_mode(
    results: Results, modes: Mapping[str | None, Sequence[Standing]], base: Standing
) -> str:
    """Return the best of each write mode: that of the baseline first, then by their result."""
    where = _where(results)
    first = sorted(modes, key=lambda mode: base not in modes[mode])
    parts = []
    for mode in first[:_MOST_MODES]:
        equal = equal_best(results, modes[mode])
        gap = "" if base in equal else f", {against(equal[0], base)}"
        only = ", the only one" if len(modes[mode]) == 1 else ""
        parts.append(f"{mode or 'unknown'}: {names_of(equal)} ({_briefly(equal[0])}{gap}{only})")
    left = len(first) - len(parts)
    more = f"; {left} more mode{'' if left == 1 else 's'}" if left else ""
    return f"Best per write mode{where}, against `{base.system}`: {'; '.join(parts)}{more}"


def _briefly(of: Standing) -> str:
    latency = of.latency_ns
    hits = f"{100 * of.hit_ratio:.1f} % hits"
    return hits if latency is None else f"{format_latency(latency)}, {hits}"


def _worth_of_mode(results: Results, base: Standing) -> str:
    """Return what the write mode alone is worth, from a system that the run has in two modes."""
    standings = results.standings.others
    found: dict[str, list[Standing]] = {}
    for system in results.spec.systems:
        of = standings[system.title]
        same = found.setdefault(_without_mode(system), [])
        if not of.is_yardstick and of.writes not in [other.writes for other in same]:
            same.append(of)
    pairs = [each for each in found.values() if len(each) > 1]
    if not pairs:
        return "no system runs in two modes, so part of the gaps may be the mode's"
    same = min(pairs, key=lambda each: base not in each)
    # The mode of the baseline, if there is a system in it, against the best of the others.
    slowest_last = sorted(same, key=lambda of: of.loss)
    known = next((of for of in same if of.writes == base.writes), slowest_last[-1])
    other = next(of for of in slowest_last if of is not known)
    fast, slow = sorted((known, other), key=lambda of: of.loss)
    unit = "points" if base.latency_ns is None else "%"
    return (
        f"the mode alone is worth {100 * slow.excess(fast, base):.1f} {unit} "
        f"(`{fast.system}` instead of `{slow.system}`)"
    )


def _without_mode(system: SystemSpec) -> str:
    """Return a key that systems share if they differ in their write mode alone."""
    params = {name: value for name, value in system.params.items() if name != "writes"}
    optimizer = None if system.optimizer is None else system.optimizer.model_dump()
    return repr((system.name, sorted(params.items(), key=lambda each: each[0]), optimizer))


def hits_everything(results: Results) -> bool:
    """Whether several systems of one write mode all hit what OPT hits, or all that can be hit."""
    modes = results.standings.by_mode()
    if len(modes) != 1 or sum(map(len, modes.values())) == 1:
        return False
    foresight = results.foresight
    shares = [
        row["share_of_opt"]
        for row in yardsticks(results).to_pylist()
        if row["system"] not in foresight
    ]
    if all(share is not None for share in shares):
        return all(share >= 1 - _ROUNDED for share in shares)
    titles = {system.title for system in results.spec.systems} - foresight.keys()
    avoidable = {
        row["system"]: row["capacity"] + row["interference"]
        for row in miss_classes(results).to_pylist()
        if row["vm"] is None
    }
    return all(avoidable.get(title) == 0 for title in titles)


_ROUNDED = 0.00005
"""A share of OPT that is shown as 100.00 % is at least 1 less this."""


def _by_latency(results: Results, ranked: Sequence[Standing], base: Standing) -> str:
    if ranked[0].latency_ns is None or not base.latency_ns:
        return ""
    if ranked[-1].is_equal(ranked[0], base):
        latency = format_latency(ranked[0].loss)
        return f", and all have the same latency, {latency} ({EQUAL_LATENCY})"
    equal = equal_best(results, ranked)
    gap = "" if base in equal else f", {against(equal[0], base, base.system)}"
    verb = "have" if len(equal) > 1 else "has"
    return f"; {names_of(equal)} {verb} the lowest latency, {format_latency(ranked[0].loss)}{gap}"
