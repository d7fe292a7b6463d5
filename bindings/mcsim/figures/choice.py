"""The choice of systems that a chart shows."""

from __future__ import annotations

from collections.abc import Sequence

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.spec import SystemSpec
from mcsim.results.answer import rank
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError

MOST_SYSTEMS = 10
"""Upper limit of systems on one chart."""

_WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def best_first(results: Results) -> list[SystemSpec]:
    """Return the systems, the best first and yardsticks last."""
    by_title = {system.title: system for system in results.spec.systems}
    return [by_title[title] for title in rank(results)]


def systems_named(results: Results, names: Sequence[str]) -> list[SystemSpec]:
    """Return the systems with these titles; several in one name have commas between.

    Raises
    ------
    ConfigError
        If there is none of a name; it names the closest.
    """
    by_name = {system.title: system for system in results.spec.systems}
    given = [part for name in names for part in ([name] if name in by_name else name.split(","))]
    given = list(dict.fromkeys(part.strip() for part in given))
    for name in given:
        if name not in by_name:
            near = did_you_mean(name, list(by_name))
            raise ConfigError(f"systems: no {name!r}{near}; there are {', '.join(by_name)}")
    return [by_name[name] for name in given]


def chosen(
    results: Results,
    names: Sequence[str] | None = None,
    *,
    among: Sequence[SystemSpec] | None = None,
    most: int = MOST_SYSTEMS,
) -> tuple[list[SystemSpec], str]:
    """Choose the systems of a chart, in the order of the experiment.

    Parameters
    ----------
    results : Results
    names : sequence of str, optional
        Titles of systems. If absent, they are the best ones and Global LRU.
    among : sequence of SystemSpec, optional
        Systems that the chart can show; all if absent.
    most : int
        Upper limit of systems that are not named.

    Returns
    -------
    systems : list of SystemSpec
    note : str
        The choice in a sentence; empty where the chart shows all.
    """
    every = list(results.spec.systems if among is None else among)
    if names:
        titles = {system.title for system in systems_named(results, names)}
        found = [system for system in every if system.title in titles]
        if not found:
            raise CannotDrawError(f"does not apply to {', '.join(sorted(titles))}")
        return found, ""
    if len(every) <= most:
        return every, ""
    allowed = {system.title for system in every}
    ranked = [system for system in best_first(results) if system.title in allowed]
    best = ranked[:most]
    baseline = next((system for system in every if system.name == "lru"), None)
    shown = f"the best {_WORDS[most]}"
    if baseline is not None and baseline not in best:
        best = [*ranked[: most - 1], baseline]
        shown = f"the best {_WORDS[most - 1]} and {baseline.title}"
    titles = {system.title for system in best}
    return (
        [system for system in every if system.title in titles],
        f"{most} of {len(every)} systems: {shown}.",
    )
