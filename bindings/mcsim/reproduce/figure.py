"""Parts of a document: figures, their findings, and claims about shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mcsim.base.errors import ConfigError
from mcsim.config.spec import SystemSpec
from mcsim.results.results import Results

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.figures.declared import Plot
    from mcsim.reproduce.context import Context

Value = float | str


@dataclass(frozen=True)
class Check:
    """One claim about shape, computed.

    Attributes
    ----------
    claim : str
        Such as "MC is nowhere below G by more than half a point".
    holds : bool or None
        None: it cannot be checked here, and `detail` says why.
    detail : str
        The numbers it rests on.
    construction : str
        How the workload or the model was built to make it hold; empty if it was not.
    """

    claim: str
    holds: bool | None
    detail: str
    construction: str = ""


@dataclass(frozen=True)
class Found:
    """What one figure's finding returned.

    Attributes
    ----------
    values : mapping of str to a float, a str, or a mapping of str to either
        Measured, by `item` of the published YAML, in its unit. A figure that compares variants of
        a system has a mapping by variant.
    checks : sequence of Check
        Claims about shape.
    tables : mapping of str to pa.Table
        What the figure shows, as data.
    plots : sequence of Plot
        How pages and figures for print show these tables.
    runs : sequence of Results
        What the figures show, if that is runs.
    ran : sequence of str
        Ids of runs, or the description of an analysis; the ids of `runs` if not given.
    recorded : bool
        False: a synthetic stand-in took the place of the recorded traces. Of `runs` it need not
        be given.
    """

    values: Mapping[str, Value | Mapping[str, Value]] = field(default_factory=dict)
    checks: Sequence[Check] = ()
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    plots: Sequence[Plot] = ()
    runs: Sequence[Results] = ()
    ran: Sequence[str] = ()
    recorded: bool = False


@dataclass(frozen=True)
class Figure:
    """One figure, table or worked example of a document.

    Attributes
    ----------
    name : str
        Such as "multicache/fig14".
    title : str
        What it shows.
    seconds, seconds_quick : float
        What it takes on two cores, by itself.
    needs : str
        "nothing", "synthetic", or which recorded traces would be used if present.
    find : callable
        Runs what is to be run, and measures.
    """

    name: str
    title: str
    seconds: float
    seconds_quick: float
    needs: str
    find: Callable[[Context], Found]

    @property
    def document(self) -> str:
        """The document that it is of."""
        return self.name.partition("/")[0]

    def estimate(self, quick: bool) -> float:
        """Return how many seconds it takes."""
        return self.seconds_quick if quick else self.seconds


def in_document(document: str, *figures: Figure) -> Sequence[Figure]:
    """Return the figures of a document under their full names: "fig14" as "multicache/fig14"."""
    return tuple(replace(figure, name=f"{document}/{figure.name}") for figure in figures)


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
