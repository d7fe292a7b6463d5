"""The version of results: which runs can stand in one table, figure or finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcsim.base.errors import ConfigError

if TYPE_CHECKING:
    from mcsim.results.results import Results

RESULTS_VERSION = 2
"""Version of the numbers in results; part of every run id.

Raise it in each change after which an unchanged experiment has other numbers in its tables. Such
changes are a corrected count, another rule of a system or policy, or another default. Speed,
messages and new columns need no new version. Runs of before keep their ids and can be opened.
"""


def check_versions(runs: Sequence[Results]) -> None:
    """Check that runs have one version of results, so that they can be shown together.

    Raises
    ------
    ConfigError
        If they do not; it names a run of each version.
    """
    first = {run.version: run.run_id for run in reversed(runs)}
    if len(first) > 1:
        named = ", ".join(f"{run_id} has {number}" for number, run_id in sorted(first.items()))
        raise ConfigError(
            f"runs of different versions of results cannot be shown together: {named}; this mcsim "
            f"makes version {RESULTS_VERSION}: run the experiments again"
        )
