"""The line of advice about eviction policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.suggest import some_of
from mcsim.policies.miniatures import miniature, rates_of
from mcsim.policies.simulation import simulate
from mcsim.policies.specs import parse_policies, policy_names
from mcsim.searches.advice_case import EQUAL, Candidate, Case, Line, others, percent, points
from mcsim.tables.result_table import ResultTable

BOUND = "opt"
"""Upper bound: it has foresight, so it is never advised."""

_BIAS = 0.03
"""Allowed error of miniatures of policies without a confidence band."""

_MOST_ACCESSES = 100_000_000
"""Upper limit of accesses that are replayed in full for all leaders together."""

_LEAST_LEADERS = 4

_LAST = ("random", "mru", "perfect-lfu")
"""Policies that are advised only if no other is equal: extremes, and counts of all blocks ever."""

_NAMED = 4
"""Upper limit of policies that the line names as equal or next."""


def advise_policy(case: Case) -> Line:
    """Choose the policy with most hits; the first of the list among equal ones."""
    names = candidates_given(case.candidates)
    estimated = _estimated(case, names)
    most = max(_LEAST_LEADERS, _MOST_ACCESSES // len(case.blocks))
    leaders = leaders_of(names, estimated, most)
    full = _replayed(case, [*leaders, BOUND])
    # Estimates of the leaders may have been too high, so that others may be as good.
    if near := _may_be_best(names, full, estimated)[: max(0, most - len(leaders))]:
        full |= _replayed(case, near)
    ratios = {name: full[name] for name in names if name in full}
    best = max(ratios.values())
    equal = [name for name, ratio in ratios.items() if ratio >= best - EQUAL]
    equal.sort(key=lambda name: name in _LAST)
    case.policy, case.policy_ratio = equal[0], ratios[equal[0]]
    case.leaders = sorted(ratios, key=lambda name: (name != case.policy, -ratios[name]))
    _add_rows(case, full, estimated)
    parts = [f"{case.policy} hits {percent(case.policy_ratio)}", *_against_lru(case, ratios)]
    parts += _others(case.policy, ratios, equal)
    parts.append(f"opt, which has foresight, hits {percent(full[BOUND])}")
    parts += _unsure(names, full, estimated)
    return Line("policy", "; ".join(parts) + ".", _commands(case, names, full, estimated))


def leaders_of(names: Sequence[str], estimated: ResultTable | None, most: int) -> list[str]:
    """Return the policies that may be best, and LRU, in the order of `names`.

    Parameters
    ----------
    names : sequence of str
    estimated : ResultTable, optional
        Rows of miniatures, one a policy; without them every policy is returned.
    most : int
        Upper limit of policies, of which those with the highest estimates are returned.
    """
    if estimated is None:
        return list(names)
    highest = _highest(estimated)
    rows = {str(row.policy): row for row in estimated}
    best = max(row.hit_ratio for row in rows.values())
    ranked = sorted(rows, key=lambda name: -rows[name].hit_ratio)
    chosen = {name for name in ranked if highest[name] >= best}
    chosen &= set(ranked[:most])
    return [name for name in names if name in chosen or name == "lru"]


def candidates_given(given: str | Sequence[str]) -> list[str]:
    """Return the policies by name, without the bound.

    Raises
    ------
    ConfigError
        If one is unknown, or none is left.
    """
    texts = [given] if isinstance(given, str) else list(given)
    with mistakes_in("policies"):
        specs = [spec for text in texts for spec in parse_policies(text)]
    names = list(dict.fromkeys(str(spec) for spec in specs if spec.name != BOUND))
    if not names:
        raise ConfigError(f"policies: expected one of {', '.join(policy_names())} but {BOUND}")
    return names


def _estimated(case: Case, names: Sequence[str]) -> ResultTable | None:
    """Estimate all policies in miniature; None where miniatures would be as long as the trace."""
    (rate,) = rates_of([case.capacity], case.rate, len(case.seeds))
    if rate == 1 or len(names) == 1:
        return None
    total = round(len(case.blocks) * rate * len(case.seeds) * len(names))
    about = f"{len(names)} policies in miniature"
    with case.reporter.stage("estimate", total, "accesses", about=about) as stage:
        return miniature(
            case.blocks,
            list(names),
            [case.capacity],
            rate=case.rate,
            seeds=case.seeds,
            seed=case.seed,
            threads=case.threads,
            memory=case.memory,
            progress=stage.update,
        )


def _replayed(case: Case, names: Sequence[str]) -> dict[str, float]:
    """Return exact hit ratios by policy."""
    about = f"{len(names)} policies"
    total = len(names) * len(case.blocks)
    with case.reporter.stage("replay", total, "accesses", about=about) as stage:
        rows = simulate(
            case.blocks,
            list(names),
            [case.capacity],
            seed=case.seed,
            threads=case.threads,
            memory=case.memory,
            progress=stage.update,
        )
    return dict(zip(rows.policy.tolist(), rows.hit_ratio.tolist(), strict=True))


def _highest(estimated: ResultTable) -> dict[str, float]:
    """Return what each policy may hit: the end of its band, or its estimate and a bias."""
    high = np.where(np.isnan(estimated.high), estimated.hit_ratio + _BIAS, estimated.high)
    return dict(zip(estimated.policy.tolist(), high.tolist(), strict=True))


def _add_rows(case: Case, full: dict[str, float], estimated: ResultTable | None) -> None:
    case.rows += [
        Candidate("policy", name, case.capacity, ratio, chosen=name == case.policy)
        for name, ratio in full.items()
    ]
    if estimated is not None:
        case.rows += [
            Candidate("policy", row.policy, case.capacity, row.hit_ratio, rate=row.rate)
            for row in estimated
            if row.policy not in full
        ]


def _against_lru(case: Case, ratios: dict[str, float]) -> list[str]:
    if case.policy == "lru" or "lru" not in ratios:
        return []
    gain = case.policy_ratio - ratios["lru"]
    return [f"lru {percent(ratios['lru'])} ({points(gain)})"]


def _others(policy: str, ratios: dict[str, float], equal: Sequence[str]) -> list[str]:
    """Name the policies that hit as much, or the next one."""
    if len(equal) == len(ratios) > 1:
        return [f"all {len(ratios)} policies are equal (within {100 * EQUAL:g} points)"]
    if len(equal) > 1:
        others = some_of([name for name in equal if name != policy], _NAMED)
        return [f"equal, within {100 * EQUAL:g} points: {others}"]
    left = {name: ratio for name, ratio in ratios.items() if name not in (policy, "lru")}
    if not left:
        return []
    name = max(left, key=lambda each: left[each])
    return [f"the next is {name}, {percent(left[name])}"]


def _may_be_best(
    names: Sequence[str], full: dict[str, float], estimated: ResultTable | None
) -> list[str]:
    """Return the policies that were only estimated, and may hit as much as the best."""
    if estimated is None:
        return []
    best = max(ratio for name, ratio in full.items() if name != BOUND)
    highest = _highest(estimated)
    return [name for name in names if name not in full and highest[name] >= best]


def _unsure(
    names: Sequence[str], full: dict[str, float], estimated: ResultTable | None
) -> list[str]:
    """Count the policies that hit less in miniature, or warn of those that may be as good."""
    if near := _may_be_best(names, full, estimated):
        return [f"within the sampling error, not replayed in full: {some_of(near, _NAMED)}"]
    left = len([name for name in names if name not in full])
    return [others(left)] if left else []


def _commands(
    case: Case, names: Sequence[str], full: dict[str, float], estimated: ResultTable | None
) -> tuple[str, ...]:
    words = case.commands
    compare = words.about(
        *("compare", "--policies", ",".join(full), "--sizes", words.size, *case.seed_words())
    )
    if estimated is None:
        return (compare,)
    rate, seeds = f"{case.rate:g}", str(len(case.seeds))
    every = "all" if case.candidates == "all" else ",".join(names)
    estimate = words.about(
        *("mrc", "--policies", every, "--sizes", words.size),
        *("--mini", rate, "--seeds", seeds, *case.seed_words()),
    )
    return (compare, estimate)
