"""Charts of result tables by kind: rooms above register them, and `ResultTable.plot` draws them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from mcsim.base.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mcsim.tables.result_table import ResultTable

Draw = Callable[..., "Figure"]
"""Draws a table with options of the figure, such as ``style='paper'``."""

_DRAWN: dict[str, Draw] = {}
_FIGURES: set[str] = set()
_LOADERS: list[Callable[[], object]] = []


def register(kind: str, draw: Draw) -> None:
    """Register the chart of a kind of table."""
    _DRAWN[kind] = draw


def register_figures(names: Iterable[str]) -> None:
    """Register the names of figures of runs, which are the names of their files."""
    _FIGURES.update(names)


def load_with(load: Callable[[], object]) -> None:
    """Set a function that registers charts; it is called before they are needed."""
    _LOADERS.append(load)


def _load() -> None:
    while _LOADERS:
        _LOADERS[-1]()
        _LOADERS.pop()


def figure_names() -> Collection[str]:
    """Return the names of the figures of runs."""
    _load()
    return _FIGURES


def plot(table: ResultTable, **options: Any) -> Figure:
    """Draw a table by the chart of its kind.

    Raises
    ------
    ConfigError
        If its kind has no chart.
    """
    _load()
    if table.kind not in _DRAWN:
        raise ConfigError(f"{table.title or 'this table'}: no figure shows it")
    return _DRAWN[table.kind](table, **options)
