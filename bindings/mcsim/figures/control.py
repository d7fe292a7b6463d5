"""Pictures of controllers: parts and promises over time; and of curves that are bent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mcsim.figures.looks import looks_of
from mcsim.figures.style import PAGE, Sheet, new_sheet

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bent_curves", "parts_over_time", "promise_over_time"]


def parts_over_time(
    edges: NDArray[np.float64],
    time_label: str,
    vms: Sequence[str],
    targets: Mapping[str, NDArray[np.int64]],
) -> Sheet:
    """Plot what each VM is granted of one cache, a panel a system.

    Parameters
    ----------
    edges : ndarray of float64, shape (intervals + 1,)
    time_label : str
    vms : sequence of str
    targets : mapping of str to ndarray of int64, shape (intervals, vms)
        By system, in blocks.
    """
    sheet = new_sheet(PAGE, 1.0 + 1.7 * len(targets), rows=len(targets), sharex=True)
    looks = looks_of(vms)
    for axes, (title, blocks) in zip(sheet.axes, targets.items(), strict=True):
        for v, vm in enumerate(vms):
            lines = axes.step(edges[:-1], blocks[:, v], where="post", **looks[vm].line)
            if axes is sheet.axes[0]:
                sheet.legend += lines
        axes.set_title(title, loc="left")
        axes.set_ylabel("Target (blocks)")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    sheet.axes[-1].set_xlabel(time_label)
    return sheet


def promise_over_time(
    edges: NDArray[np.float64],
    time_label: str,
    label: str,
    achieved: Mapping[str, NDArray[np.float64]],
    target: float,
    space: Mapping[str, NDArray[np.int64]],
) -> Sheet:
    """Plot what a VM achieves under each system with its target, and below its space."""
    sheet = new_sheet(PAGE, 4.2, rows=2, sharex=True, height_ratios=[2, 1])
    above, below = sheet.axes
    looks = looks_of(list(achieved))
    for title, values in achieved.items():
        sheet.legend += above.step(edges[:-1], values, where="post", **looks[title].line)
    line = above.axhline(target, color="#000000", linewidth=0.8, linestyle=":", label="target")
    sheet.legend.append(line)
    above.set_ylabel(label)
    above.set_ylim(bottom=0)
    for title, blocks in space.items():
        below.step(edges[:-1], blocks, where="post", **looks[title].line)
    below.set_ylabel("Space (blocks)")
    below.set_ylim(bottom=0)
    below.set_xlabel(time_label)
    below.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return sheet


def bent_curves(
    sizes: Sequence[int],
    named: Mapping[str, NDArray[np.float64]],
    hull: tuple[NDArray[np.int64], NDArray[np.float64]],
    mixed: Mapping[str, float],
) -> Sheet:
    """Plot hit ratios over size with their hull, and beside them miss ratios of a mix.

    Parameters
    ----------
    sizes : sequence of int, length k
    named : mapping of str to ndarray of float64, shape (k,)
        Hit ratios, by policy.
    hull : tuple of two ndarrays
        Sizes and hit ratios of the vertices.
    mixed : mapping of str to float
        Miss ratios, by how two VMs share a cache.
    """
    sheet = new_sheet(PAGE, 3.0, columns=2, width_ratios=[3, 2])
    curves, bars = sheet.axes
    looks = looks_of(list(named))
    for name, ratios in named.items():
        look = looks[name]
        sheet.legend += curves.plot(sizes, 100 * ratios, marker=look.marker, **look.line)
    at, ratio = hull
    sheet.legend += curves.plot(
        at, 100 * ratio, color="#000000", linewidth=0.8, linestyle=":", label="hull"
    )
    curves.set_xlim(0, 1.05 * max(sizes))
    curves.set_xlabel("Size (blocks)")
    curves.set_ylabel("Hit ratio (%)")
    curves.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    places = np.arange(len(mixed))[::-1]
    bars.barh(places, [100 * ratio for ratio in mixed.values()], color="#56B4E9", height=0.6)
    bars.set_yticks(places, list(mixed))
    bars.set_xlabel("Misses of two VMs (%)")
    return sheet
