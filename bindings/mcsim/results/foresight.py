"""Yardsticks: systems with foresight, which cannot be run in practice.

They are listed below the realisable systems and are never a baseline, a winner or a leader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mcsim.config.spec import SystemSpec

FORESEEN: Mapping[str, str] = {"next": "the next interval", "whole": "the whole trace"}

# For runs of an earlier mcsim, which did not store it.
_BY_NAME = {"hindsight": "whole", "clairvoyant": "next"}


def policy_foresight(policy: object) -> str | None:
    """Return ``'whole'`` if an eviction policy of a tier or a VM is OPT; None if it is not.

    Examples
    --------
    >>> from mcsim.results.foresight import policy_foresight
    >>> [policy_foresight(policy) for policy in ("lru / opt", "lru", None)]
    ['whole', None, None]
    """
    return "whole" if re.search(r"\bopt\b", str(policy or "")) else None


def foresight_of_run(
    systems: Sequence[SystemSpec], environment: Mapping[str, Any]
) -> dict[str, str]:
    """Return the foresight of the systems of a run that have it, by title."""
    recorded: Mapping[str, str] | None = environment.get("foresight")
    if recorded is None:
        recorded = {of.title: _BY_NAME[of.name] for of in systems if of.name in _BY_NAME}
    found = {}
    for of in systems:
        path = of.params | environment.get("data_paths", {}).get(of.title, {})
        known = recorded.get(of.title) or policy_foresight(path.get("policy"))
        if known is not None:
            found[of.title] = known
    return found


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
