"""Summary of a run: one or two sentences computed from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcsim.base.suggest import some_of
from mcsim.base.units import format_latency
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, baseline, is_legacy
from mcsim.results.tables import comparison, totals
from mcsim.results.yardsticks import slowdowns

_Row = Mapping[str, Any]

_EQUAL = 0.0005
"""Relative difference of latencies below which systems count as equal."""


def rank(results: Results) -> list[str]:
    """Return the titles of the systems, the best first, yardsticks last.

    Best is the least mean latency; without latencies, the highest hit ratio.
    """
    rows = comparison(results, by_vm=False).to_pylist()
    return [row["system"] for row in sorted(rows, key=lambda row: _sort_key(row, results))]


def _sort_key(row: _Row, results: Results) -> tuple[Any, ...]:
    latency = row["mean_latency_ns"]
    is_yardstick = row["system"] in results.foresight
    return is_yardstick, latency is None, latency or 0.0, -row["hit_ratio"]


def answer(results: Results) -> str:
    """Describe the best realisable system, its lead, and its worst VM.

    Examples
    --------
    >>> results = mc.run("tiny")
    >>> results.answer  # doctest: +ELLIPSIS
    '`lru` is best: mean latency 2.41 ms, ...
    """
    rows = comparison(results, by_vm=False).to_pylist()
    realisable = [row for row in rows if row["system"] not in results.foresight]
    ranked = sorted(realisable or rows, key=lambda row: _sort_key(row, results))
    best = ranked[0]
    sentences = [_best(results, ranked, rows)]
    if (worst := _worst_vm(results, best["system"])) is not None:
        sentences.append(worst)
    if (modes := _modes(ranked)) is not None:
        sentences.append(modes)
    return " ".join(sentences)


def _best(results: Results, ranked: Sequence[_Row], rows: Sequence[_Row]) -> str:
    best = ranked[0]
    measured = _measured(best)
    if len(ranked) == 1:
        return f"`{best['system']}`: {measured}{_of_hindsight(results, best, rows)}."
    base = _baseline(results, ranked)
    title = base["system"]
    equal = [row["system"] for row in ranked[1:] if _is_equal(row, best)]
    if equal:
        names = ", ".join(f"`{name}`" for name in equal)
        lead = f"`{best['system']}` is best, equal to {names}: {measured}"
    else:
        lead = f"`{best['system']}` is best: {measured}"
    if title not in (best["system"], *equal):
        lead += f", {_against(best, base)} {_named(results, title)}"
    elif len(equal) < len(ranked) - 1:
        second = ranked[1 + len(equal)]
        lead += f", {_against(best, second)} the next, `{second['system']}`"
    return f"{lead}{_of_hindsight(results, best, rows)}."


def _baseline(results: Results, ranked: Sequence[_Row]) -> _Row:
    """Return the row of Global LRU, else of the first realisable system."""
    try:
        title = baseline(results).title
    except CannotDrawError:
        return ranked[0]
    return next(row for row in ranked if row["system"] == title)


def _measured(row: _Row) -> str:
    ratio = f"hit ratio {100 * row['hit_ratio']:.1f} %"
    latency = row["mean_latency_ns"]
    return ratio if latency is None else f"mean latency {format_latency(latency)}, {ratio}"


def _is_equal(row: _Row, best: _Row) -> bool:
    latency, least = row["mean_latency_ns"], best["mean_latency_ns"]
    if latency is None or least is None:
        return bool(row["hit_ratio"] == best["hit_ratio"])
    return bool(latency <= least * (1 + _EQUAL))


def _against(best: _Row, other: _Row) -> str:
    latency, least = other["mean_latency_ns"], best["mean_latency_ns"]
    if latency is None or not latency:
        return f"{100 * (best['hit_ratio'] - other['hit_ratio']):.1f} points above"
    return f"latency {100 * (1 - least / latency):.3g} % below"


def _named(results: Results, title: str) -> str:
    system = next(of for of in results.spec.systems if of.title == title)
    if system.name != "lru":
        return f"`{title}`"
    is_clear = title == "lru" and not is_legacy(system)
    return "Global LRU" if is_clear else f"Global LRU (`{title}`)"


def _of_hindsight(results: Results, best: _Row, rows: Sequence[_Row]) -> str:
    """Return its hits as a share of those of the best fixed division, if that is in the run."""
    name = next((of.title for of in results.spec.systems if of.name == "hindsight"), None)
    row = next((row for row in rows if row["system"] == name), None)
    if row is None or not row["hits"]:
        return ""
    return f", {100 * best['hits'] / row['hits']:.0f} % of the hits of the best fixed division"


def _worst_vm(results: Results, system: str) -> str | None:
    of = next(each for each in totals(results) if each.system.title == system)
    factors = slowdowns(results, of)
    if not factors or len(factors) < 2:
        return None
    name, factor = max(factors.items(), key=lambda each: each[1])
    if factor <= 1:
        return f"No VM is slower than alone with all tiers; closest: {name}."
    return f"Worst VM: {name}, {factor:.3g} times the latency it has alone with all tiers."


def _modes(rows: Sequence[_Row]) -> str | None:
    modes: dict[str, list[str]] = {}
    for row in rows:
        if row["writes"] is not None:
            modes.setdefault(row["writes"], []).append(row["system"])
    if len(modes) < 2:
        return None
    named = "; ".join(f"{mode}: {some_of(titles, 3)}" for mode, titles in modes.items())
    return f"Write modes differ ({named})."
