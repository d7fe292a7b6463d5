"""Yardsticks: systems with foresight, which cannot be run in practice.

They are listed below the realisable systems and are never a baseline, a winner or a leader.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcsim.config.spec import SystemSpec

FORESEEN: Mapping[str, str] = {"next": "the next interval", "whole": "the whole trace"}

# For runs of an earlier mcsim, which did not store it.
_BY_NAME = {"hindsight": "whole", "clairvoyant": "next"}


def foresight_by_name(systems: list[SystemSpec]) -> dict[str, str]:
    """Return the foresight of systems that have it by their name, by title."""
    return {of.title: _BY_NAME[of.name] for of in systems if of.name in _BY_NAME}


def yardstick_note(foresight: Mapping[str, str]) -> str:
    """Return the note on yardsticks for the caption of a table; empty without any.

    Examples
    --------
    >>> from mcsim.results.foresight import yardstick_note
    >>> yardstick_note({"hindsight": "whole"})
    'yardsticks, which know what is to come: hindsight (the whole trace)'
    """
    known = ", ".join(f"{title} ({FORESEEN[what]})" for title, what in foresight.items())
    return f"yardsticks, which know what is to come: {known}" if known else ""
