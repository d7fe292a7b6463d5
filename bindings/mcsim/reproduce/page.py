"""The page of a reproduction."""

from __future__ import annotations

from mcsim.report.reproduction import Reproduced, reproduction_page
from mcsim.reproduce.render import totals
from mcsim.reproduce.reproduction import Outcome, Reproduction

__all__ = ["page_of"]


def page_of(reproduction: Reproduction, command: str) -> str:
    """Return a reproduction as one HTML file, with the command that makes it.

    Raises
    ------
    ConfigError
        If the packages that pages need are not there.
    """
    lead = f"What documents print, beside what comes out here: {totals(reproduction)}."
    if reproduction.quick:
        lead += " Quick: a sixteenth of the blocks was replayed."
    figures = [_shown(outcome) for outcome in reproduction.outcomes]
    return reproduction_page(figures, lead=lead, facts=[("Made by", command)])


def _shown(outcome: Outcome) -> Reproduced:
    return Reproduced(
        outcome.figure.name,
        outcome.figure.title,
        str(outcome.verdict),
        outcome.rows,
        ran=outcome.ran,
        notes=[(note.about, note.note) for note in outcome.notes],
        tables=outcome.finding.found.tables,
        pictures=outcome.finding.drawn,
    )
