"""The time of the bound of OPT, and the reason if a run has none."""

from __future__ import annotations

from mcsim.config.deployed import RULES
from mcsim.config.spec import SystemSpec
from mcsim.results.data_paths import FIXED, PLACED
from mcsim.results.results import Results

# Seconds of time: OPT replays 15 million accesses a second or more, of caches of gigabytes.
MOST_ACCESSES = 1 << 27
"""Number of accesses up to which a run computes the bound by default."""
_ACCESSES_PER_SECOND = 15e6


def how_to_get_opt(accesses: int) -> str:
    """Return the sentence that names the option for the bound, and the time that it takes.

    Examples
    --------
    >>> from mcsim.results.opt import how_to_get_opt
    >>> how_to_get_opt(900_000_000)
    '`--set opt=true` computes it in about 1 min'
    """
    seconds = accesses / _ACCESSES_PER_SECOND
    if seconds < 60:
        return f"`--set opt=true` computes it in about {max(1, round(seconds))} s"
    minutes = seconds / 60
    time = f"{round(minutes)} min" if minutes < 90 else f"{round(minutes / 60, 1):g} h"
    return f"`--set opt=true` computes it in about {time}"


def why_no_opt(results: Results) -> str | None:
    """Return why a run has no bound of OPT, and how to get it; None if it has one."""
    if results.table("bounds").num_rows:
        return None
    if not any(_can_be_bounded(results, system) for system in results.spec.systems):
        return (
            "OPT: no bound of systems that hold blocks which were never accessed (lines, extents)"
        )
    if results.spec.in_bytes:
        return (
            "OPT: no bound of objects with sizes; `mcsim compare --policies pfoo` has a bound of "
            "one shared cache"
        )
    if results.spec.saved_states is not None:
        return "OPT: not computed, because the caches start from a state and OPT would start empty"
    accesses = sum(entry.get("accesses", 0) for entry in results.environment.get("traces", []))
    why = " (`opt: false`)" if results.spec.opt is False else f" for {accesses:,} accesses"
    return f"OPT: not computed{why}; {how_to_get_opt(accesses)}"


def _can_be_bounded(results: Results, system: SystemSpec) -> bool:
    recorded = results.environment.get("data_paths", {}).get(system.title, {})
    is_placed = FIXED.get(system.name) == PLACED or recorded.get("writes") == PLACED.writes
    has_lines = system.params.get("line", 1) > 1 or system.name in RULES
    return not is_placed and not has_lines
