"""Stored results of runs, and their tables."""

from __future__ import annotations

from mcsim.results.differences import Change, Difference, difference
from mcsim.results.listing import list_runs
from mcsim.results.results import Results
from mcsim.results.runs import (
    collect,
    find_run,
    open_run,
    remove,
    verify,
)
from mcsim.results.seals import unsound_files

__all__ = [
    "Change",
    "Difference",
    "Results",
    "collect",
    "difference",
    "find_run",
    "list_runs",
    "open_run",
    "remove",
    "unsound_files",
    "verify",
]
