"""The catalogue: documents, their figures, findings and claims about shapes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mcsim.base.arguments import text
from mcsim.base.errors import ConfigError
from mcsim.base.package import experiments_folder
from mcsim.base.suggest import did_you_mean
from mcsim.config.spec import SystemSpec
from mcsim.reproduce.published import Document, read_document
from mcsim.results.results import Results

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.figures.declared import Plot
    from mcsim.reproduce.context import Context


DOCUMENTS = ("multicache", "eci", "thesis", "cloudphysics")
"""In the order of the catalogue; the `figures.py` of each declares `FIGURES`."""


def figures_of(document: str) -> Sequence[Figure]:
    """Return the figures of a document, in its own order."""
    module = importlib.import_module(f"mcsim.reproduce.documents.{document}.figures")
    figures: Sequence[Figure] = module.FIGURES
    return figures


def document_of(name: str) -> Document:
    """Return the bibliography of a document."""
    return read_document(experiments_folder() / "reproduce" / name)


def chosen(names: Iterable[str]) -> list[Figure]:
    """Return the selected figures, each once, in the order of the catalogue.

    Parameters
    ----------
    names : iterable of str
        Documents, and figures as ``"multicache/fig14"``; none is all.

    Raises
    ------
    ConfigError
        For an unknown name; the message has the nearest one.
    """
    asked = list(names)
    every = [figure for document in DOCUMENTS for figure in figures_of(document)]
    known = [*DOCUMENTS, *(figure.name for figure in every)]
    for name in asked:
        if text("names", name) not in known:
            document = name.partition("/")[0]
            of = [figure.name for figure in every if figure.document == document]
            raise ConfigError(
                f"no document or figure {name!r}{did_you_mean(name, of or known)}; there are "
                f"{', '.join(of or DOCUMENTS)}; see mcsim reproduce --list"
            )
    return [
        figure for figure in every if not asked or figure.name in asked or figure.document in asked
    ]


Value = float | str


@dataclass(frozen=True)
class Check:
    """A claim about shape, checked by computation.

    Attributes
    ----------
    claim : str
        Text such as "MC is nowhere below G by more than half a point".
    holds : bool or None
        Result of the check; None if it is impossible here, with the reason in `detail`.
    detail : str
        Numbers that support the result.
    construction : str
        Reason why the claim holds by construction of the workload or the model; empty otherwise.
    """

    claim: str
    holds: bool | None
    detail: str
    construction: str = ""


@dataclass(frozen=True)
class Found:
    """Measurements of a figure.

    Attributes
    ----------
    values : mapping of str to a float, a str, or a mapping of str to either
        Measured values by `item` of the published YAML, in its unit. A figure that compares
        variants of a system has a mapping by variant.
    checks : sequence of Check
        Claims about shape.
    tables : mapping of str to pa.Table
        Data of the figure.
    plots : sequence of Plot
        Declared plots of these tables, for pages and for print.
    runs : sequence of Results
        Runs of the figure, if it shows runs.
    ran : sequence of str
        Ids of runs, or the description of an analysis; the ids of `runs` if absent.
    recorded : bool
        Whether the traces are recorded; False for a synthetic stand-in. With `runs`, it may be
        omitted.
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
    """A figure, table or worked example of a document.

    Attributes
    ----------
    name : str
        Name such as "multicache/fig14".
    title : str
        Content, in a few words.
    seconds, seconds_quick : float
        Time on two cores without other load.
    needs : str
        "nothing", "synthetic", or the recorded traces that are used if present.
    find : callable
        Runs the experiments and measures.
    """

    name: str
    title: str
    seconds: float
    seconds_quick: float
    needs: str
    find: Callable[[Context], Found]

    @property
    def document(self) -> str:
        """Name of the document."""
        return self.name.partition("/")[0]

    def estimate(self, quick: bool) -> float:
        """Return the estimated time in seconds."""
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
