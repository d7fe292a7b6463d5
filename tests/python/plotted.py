"""Find figures without a plot, and published numbers without a value."""

from __future__ import annotations

import pyarrow as pa

from mcsim.figures.declared import charts_of
from mcsim.reproduce.catalogue import Found
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


def plotted_texts(found: Found) -> set[str]:
    """Return the texts in the tables that a finding plots."""
    columns = (column for plot in found.plots for column in found.tables[plot.table].columns)
    return {text for column in columns if column.type == pa.string() for text in column.to_pylist()}


def unmeasured(reproduction: Reproduction) -> list[str]:
    """Return the published numbers without a value and without a declared reason."""
    return [
        f"{outcome.figure.name}: {row.item}"
        for outcome in reproduction.outcomes
        for row in outcome.rows
        if row.why == NO_VALUE
    ]
