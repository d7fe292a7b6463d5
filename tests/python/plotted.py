"""Find figures without a plot, and published numbers without a value."""

from __future__ import annotations

from mcsim.report.declared import charts_of
from mcsim.reproduce.reproduction import Reproduction
from mcsim.reproduce.verdicts import NO_VALUE


def unplotted(reproduction: Reproduction) -> set[str]:
    """Return the figures that have no plot; plots that do not fit their tables raise."""
    without = set()
    for outcome in reproduction.outcomes:
        found = outcome.finding.found
        assert all(charts_of([plot], found.tables) for plot in found.plots), outcome.figure.name
        if not found.plots:
            without.add(outcome.figure.name)
    return without


def unmeasured(reproduction: Reproduction) -> list[str]:
    """Return the published numbers without a value and without a declared reason."""
    return [
        f"{outcome.figure.name}: {row.item}"
        for outcome in reproduction.outcomes
        for row in outcome.rows
        if row.why == NO_VALUE
    ]
