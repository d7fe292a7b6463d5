"""Figures of result tables: what `ResultTable.plot` draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcsim.base.errors import ConfigError
from mcsim.base.result_table import ResultTable
from mcsim.figures import plot
from mcsim.figures.chart import Sheet
from mcsim.figures.policies import hit_ratios
from mcsim.figures.sharing import before_and_after, shared_and_divided
from mcsim.figures.style import Style, drawn, styled
from mcsim.figures.tuning import objectives_by_block
from mcsim.locality.mix import Mix
from mcsim.locality.whatif import WhatIf
from mcsim.policies.scaled import OBJECTIVES
from mcsim.results.views import RunTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OF_RUNS = {
    "comparison": "hit-ratio",
    "overview": "latency",
    "requests": "latency",
    "metrics": "occupancy",
    "vms": "hit-ratio-over-time",
    "decisions": "targets",
    "curves": "curves",
    "reuse_intensity": "reuse-intensity",
}


def plot_table(table: ResultTable, *, style: Style = "screen", **options: Any) -> Figure:
    """Plot a result table as a matplotlib figure.

    Parameters
    ----------
    table : ResultTable
    style : {'screen', 'paper'}
    **options
        ``figure`` names another figure of a run, and ``systems`` the systems that it shows;
        ``log=False`` has sizes on a linear axis;
        ``objective`` is what a tuning is drawn by.

    Raises
    ------
    ConfigError
        If no figure shows such a table.
    """
    if isinstance(table, RunTable) and (name := options.pop("figure", _OF_RUNS.get(table.kind))):
        return plot(name, table.results, style, systems=options.pop("systems", None))
    if table.kind not in _SHEETS:
        raise ConfigError(f"{table.title or 'this table'}: no figure shows it")
    with styled(style):
        sheet = _SHEETS[table.kind](table, **options)
        return drawn(sheet, table.title, "mcsim")


def _policies(table: ResultTable, *, log: bool = True) -> Sheet:
    names = list(dict.fromkeys(table.policy.tolist()))
    ratios = {name: table[table.policy == name].hit_ratio.tolist() for name in names}
    capacities = table[table.policy == names[0]].capacity.tolist()
    return hit_ratios(capacities, None, ratios, log=log, bound="opt")


def _tuning(table: ResultTable, *, objective: str = "latency") -> Sheet:
    if objective not in OBJECTIVES:
        raise ConfigError(f"objective: {objective!r}; one of {', '.join(OBJECTIVES)}")
    return objectives_by_block(table, OBJECTIVES[objective])


def _mix(table: ResultTable, *, log: bool = True) -> Sheet:
    assert isinstance(table, Mix)
    return shared_and_divided(table, log=log)


def _whatif(table: ResultTable, *, log: bool = True) -> Sheet:
    assert isinstance(table, WhatIf)
    return before_and_after([("before", table.before), ("after", table.after)], log=log)


_SHEETS: Mapping[str, Callable[..., Sheet]] = {
    "policies": _policies,
    "tuning": _tuning,
    "mix": _mix,
    "whatif": _whatif,
}
