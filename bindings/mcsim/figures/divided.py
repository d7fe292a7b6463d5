"""Figures of a cache that is divided: what each VM was given, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.figures.looks import looks_of
from mcsim.figures.style import PAGE, Sheet, new_sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["given_over_time", "lines_by_panel", "multiples_by_vm"]


def given_over_time(table: pa.Table, capacity: int) -> Sheet:
    """Stack the blocks that VMs were given over minutes, one panel a system.

    Parameters
    ----------
    table : pa.Table
        With ``system``, ``minute``, ``vm`` and ``blocks``; for every system and minute all VMs, in
        the same order.
    capacity : int
        Of the cache, in blocks; a dashed line where it is reached.
    """
    from matplotlib.ticker import EngFormatter

    systems = pc.unique(table["system"]).to_pylist()
    vms = pc.unique(table["vm"]).to_pylist()
    minutes = np.unique(table["minute"].to_numpy())
    edges = np.append(minutes, 2 * minutes[-1] - minutes[-2])
    given = table["blocks"].to_numpy().reshape(len(systems), len(minutes), len(vms))
    sheet = new_sheet(PAGE, 1.2 + 1.7 * len(systems), rows=len(systems), sharex=True, sharey=True)
    most = given.sum(axis=2).max()
    for of_system, system, axes in zip(given, systems, sheet.axes, strict=True):
        sheet.legend = _stack(axes, edges, of_system, vms)
        if capacity < 1.5 * most:
            axes.axhline(capacity, color="black", linewidth=0.7, linestyle=(0, (2, 2)))
        axes.set_title(system, loc="left", pad=2)
        axes.set_ylabel("Given (blocks)")
        axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.grid(visible=False)
    sheet.axes[0].set_ylim(0, 1.06 * most)
    sheet.axes[-1].set_xlim(edges[0], edges[-1])
    sheet.axes[-1].set_xlabel("Time (min)")
    if capacity < 1.5 * most:
        sheet.notes.append("The dashed line is the capacity.")
    return sheet


def _stack(
    axes: Axes, edges: NDArray[np.int64], given: NDArray[np.int64], vms: Sequence[str]
) -> list[Any]:
    """Draw blocks by interval and VM as stacked areas; return what the legend lists."""
    tops = np.cumsum(given, axis=1)
    below = np.zeros_like(tops[:, 0])
    handles = []
    for v, look in enumerate(looks_of(vms).values()):
        handles.append(axes.stairs(tops[:, v], edges, baseline=below, fill=True, **look.area))
        below = tops[:, v]
    return handles


def multiples_by_vm(table: pa.Table, panels: Mapping[str, str], of: str) -> Sheet:
    """Draw bars by VM of quantities that are multiples of another system's.

    Parameters
    ----------
    table : pa.Table
        With ``vm`` and a column for each panel; 1 is as much as the other system.
    panels : mapping of str to str
        The columns, and what they are called.
    of : str
        The other system.
    """
    vms = table["vm"].to_pylist()
    sheet = new_sheet(PAGE, 0.9 + 1.3 * len(panels), rows=len(panels), sharex=True)
    for (column, called), axes, look in zip(
        panels.items(), sheet.axes, looks_of(list(panels)).values(), strict=True
    ):
        area = look.area | {"label": called}
        axes.bar(vms, table[column].to_numpy(), width=0.7, **area)
        axes.axhline(1, color="black", linewidth=0.7, linestyle=(0, (2, 2)))
        axes.set_title(called, loc="left", pad=2)
        axes.set_ylabel(f"× {of}")
    sheet.axes[-1].tick_params(axis="x", rotation=45)
    sheet.notes.append(f"The dashed line is {of}.")
    return sheet


def lines_by_panel(
    table: pa.Table,
    panel: str,
    line: str,
    x: tuple[str, str],
    y: tuple[str, str],
    *,
    log: bool = False,
) -> Sheet:
    """Draw lines over what was varied, in panels side by side with the same axes.

    Parameters
    ----------
    table : pa.Table
        One row a point, in the order of `x`.
    panel, line : str
        The columns by which panels and lines are told apart.
    x, y : tuple of str
        The columns of the axes, and what these are called.
    log : bool
        Whether the axis of `y` is logarithmic.
    """
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    panels, lines = (pc.unique(table[name]).to_pylist() for name in (panel, line))
    looks = looks_of([str(name) for name in lines])
    dense = len(pc.unique(table[x[0]])) > _MARKED
    columns = 2 if len(panels) % 2 == 0 else len(panels)
    rows = len(panels) // columns
    sheet = new_sheet(PAGE, 0.9 + 1.9 * rows, rows, columns, sharex=True, sharey=True)
    for name, axes in zip(panels, sheet.axes, strict=True):
        sheet.legend = []
        for which, look in zip(lines, looks.values(), strict=True):
            points = table.filter(
                pc.and_(pc.equal(table[panel], name), pc.equal(table[line], which))
            )
            drawn = axes.plot(
                points[x[0]].to_numpy(),
                points[y[0]].to_numpy(),
                marker="" if dense else look.marker,
                **look.line,
            )
            sheet.legend.append(drawn[0])
        axes.set_title(name, loc="left", pad=2)
    if log:
        sheet.axes[0].set_yscale("log")
        sheet.axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        sheet.axes[0].yaxis.set_major_formatter(EngFormatter(sep=" "))
        sheet.axes[0].yaxis.set_minor_locator(NullLocator())
    else:
        sheet.axes[0].set_ylim(0, 1.06 * np.nanmax(table[y[0]].to_numpy()))
    for axes in sheet.axes[-columns:]:
        axes.set_xlabel(x[1])
    for axes in sheet.axes[::columns]:
        axes.set_ylabel(y[1])
    return sheet


# With more points than that, marks hide the line.
_MARKED = 20
