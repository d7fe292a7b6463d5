"""What of a reproduction is plotted on its page."""

from __future__ import annotations

from mcsim.report.declared import charts_of
from mcsim.reproduce.reproduction import Reproduction


def unplotted(reproduction: Reproduction) -> set[str]:
    """Return the figures that have no plot; plots that do not fit their tables raise."""
    without = set()
    for outcome in reproduction.outcomes:
        found = outcome.finding.found
        assert all(charts_of([plot], found.tables) for plot in found.plots), outcome.figure.name
        if not found.plots:
            without.add(outcome.figure.name)
    return without
