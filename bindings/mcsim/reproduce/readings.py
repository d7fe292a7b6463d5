"""What figures of several documents read off runs, and how they say it."""

from __future__ import annotations

from collections.abc import Mapping

from mcsim.base.errors import ConfigError
from mcsim.config.spec import SystemSpec
from mcsim.results.results import Results


def system_of(results: Results, title: str) -> SystemSpec:
    """Return the system of a run that tables call so."""
    for system in results.spec.systems:
        if system.title == title:
            return system
    there = ", ".join(system.title for system in results.spec.systems)
    raise ConfigError(f"{results.run_id}: no system {title!r}; there are {there}")


def said(numbers: Mapping[str, float], digits: int = 1) -> str:
    """Write numbers with their names, such as `web_0 12.0, web_1 3.1`."""
    return ", ".join(f"{name} {number:.{digits}f}" for name, number in numbers.items())
