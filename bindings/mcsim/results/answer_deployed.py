"""A sentence on deployed caches: what each saves as installed, with its best setting, and at most.

Savings are shares of the latency that the same accesses have without a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mcsim.base.deployed import RULES
from mcsim.config.latency import ServiceTimes
from mcsim.config.spec import SystemSpec
from mcsim.results.results import Results
from mcsim.results.standings import Standing
from mcsim.results.totals import Totals, totals


def deployed(results: Results, *, is_searched: bool = False) -> str | None:
    """Return the savings of deployed caches that a run has in several settings.

    The first setting of each in the experiment is the one that is installed. `is_searched`: the
    others are results of a search, which may have found none.
    """
    settings: dict[str, list[SystemSpec]] = {}
    for system in results.spec.systems:
        if system.name in RULES:
            settings.setdefault(system.name, []).append(system)
    if not is_searched and all(len(of) == 1 for of in settings.values()):
        return None
    whole = results.standings.whole
    uncached = uncached_ns(results, next(iter(totals(results))))
    if not uncached or any(of.waited_ns is None for of in whole.values()):
        return None

    def saved(of: Standing) -> str:
        assert of.waited_ns is not None
        return f"{100 * (1 - of.waited_ns / uncached):.1f} %"

    parts = [_of_settings(each, whole, saved) for each in settings.values()]
    chosen = {system.title for each in settings.values() for system in each}
    others = [of for of in results.standings.realisable() if of.system not in chosen]
    if others:
        best = whole[min(others, key=lambda of: whole[of.system].loss).system]
        parts.append(f"the best of the other systems, `{best.system}`, saves {saved(best)}")
    title = next((of.title for of in results.spec.systems if of.name == "hindsight"), None)
    if title is not None:
        bound = whole[title]
        mode = "" if bound.writes is None else f", written {bound.writes},"
        parts.append(f"the best fixed division (`{title}`){mode} would save {saved(bound)}")
    return f"Of the latency without a cache, {'; '.join(parts)}."


def _of_settings(
    systems: Sequence[SystemSpec],
    whole: Mapping[str, Standing],
    saved: Callable[[Standing], str],
) -> str:
    """Return what the first setting saves, and the best of the others if it saves more."""
    first, best = systems[0], min(systems, key=lambda of: whole[of.title].loss)
    text = f"`{first.title}` as installed saves {saved(whole[first.title])}"
    if whole[best.title].loss < whole[first.title].loss:
        changes = [
            f"{key} {value}" for key, value in best.params.items() if value != first.params.get(key)
        ]
        text += f" ({saved(whole[best.title])} with {', '.join(changes)})"
    return text


def saved_share(results: Results, of: Standing) -> float:
    """Return the share of the latency without a cache that a system saves; nan without latency."""
    uncached = uncached_ns(results, next(iter(totals(results))))
    if not uncached or of.waited_ns is None:
        return float("nan")
    return 1 - of.waited_ns / uncached


def uncached_ns(results: Results, of: Totals) -> int:
    """Return the latency of all accesses together if the backend serves them."""
    spec = results.spec
    times = ServiceTimes.of([spec.backend.waits])
    own = spec.backend.vms or {}
    total = 0
    reads, writes = of.reads_served.sum(axis=1), of.writes_served.sum(axis=1)
    for vm, read, write in zip(of.vms, reads.tolist(), writes.tolist(), strict=True):
        if vm in own:
            total += (read + write) * own[vm]
        else:
            total += int(times.waited_ns([read], [write]))
    return total
