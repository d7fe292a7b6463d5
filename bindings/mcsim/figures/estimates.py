"""Pictures of estimated curves: many at a glance, their errors, the rates of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mcsim.figures.locality import plain_log
from mcsim.figures.looks import looks_of
from mcsim.figures.style import PAGE, Sheet, new_gallery, new_sheet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcsim.locality.curve import HitRatioCurve

__all__ = [
    "error_over_sample",
    "errors_of_many",
    "gallery",
    "rate_over_references",
    "replayed_and_estimated",
]

_POINTS = 400


def gallery(named: Sequence[tuple[str, HitRatioCurve]]) -> Sheet:
    """Draw many curves, a small panel each, sizes as a share of the footprint; knees marked."""
    sheet = new_gallery(len(named))
    for axes, (name, curve) in zip(sheet.axes, named, strict=True):
        unique = max(float(curve.distinct or curve.saturation), 1.0)
        at = np.unique(np.geomspace(max(unique / 1000, 1), unique, _POINTS).astype(np.int64))
        axes.plot(at / unique, 100 * curve.at(at), color="#0072B2")
        knees = [knee for knee in curve.knees() if knee.capacity >= at[0]]
        axes.plot(
            [knee.capacity / unique for knee in knees],
            [100 * knee.ratio for knee in knees],
            "o",
            color="#000000",
            markerfacecolor="none",
        )
        axes.set_title(name, loc="left")
        axes.set_ylim(0, 100)
        plain_log(axes.xaxis)
    for axes in sheet.lowest:
        axes.tick_params(labelbottom=True)
    sheet.figure.supxlabel("Size / footprint")
    sheet.figure.supylabel("Hit ratio (%)")
    sheet.notes.append("Circles: knees, where more space begins to be worth much less.")
    return sheet


def error_over_sample(
    blocks: Sequence[int], errors: NDArray[np.float64], slope: float, constant: float
) -> Sheet:
    """Plot mean absolute errors over the blocks that are tracked, with the line through them.

    Parameters
    ----------
    blocks : sequence of int, length k
    errors : ndarray of float64, shape (seeds, k)
    slope, constant : float
        Of the line through the mean errors, both axes logarithmic (base e).
    """
    sheet = new_sheet(PAGE, 3.0)
    (axes,) = sheet.axes
    x = np.asarray(blocks, np.float64)
    for row in errors:
        axes.plot(x, row, ".", color="#999999", markersize=3)
    (mean,) = axes.plot(x, errors.mean(axis=0), "o", color="#0072B2", label="mean of the seeds")
    (line,) = axes.plot(
        x, np.exp(constant) * x**slope, "--", color="#D55E00", label=f"slope {slope:.2f}"
    )
    sheet.legend += [mean, line]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(x, [f"{int(b):,}" for b in x])
    axes.minorticks_off()
    plain_log(axes.yaxis)
    axes.set_xlabel("Blocks tracked")
    axes.set_ylabel("Mean absolute error")
    sheet.notes.append("Of the hit ratio, at U/100, …, U of the U distinct blocks; grey: a seed.")
    return sheet


def rate_over_references(
    references: Mapping[str, NDArray[np.int64]], rates: Mapping[str, NDArray[np.float64]]
) -> Sheet:
    """Plot the sampling rate of each stream over the references that it has processed."""
    sheet = new_sheet(PAGE, 2.8)
    (axes,) = sheet.axes
    looks = looks_of(list(rates))
    for name, look in looks.items():
        (line,) = axes.plot(references[name], rates[name], **look.line)
        sheet.legend.append(line)
    axes.set_yscale("log")
    plain_log(axes.yaxis)
    axes.set_xlabel("References processed")
    axes.set_ylabel("Share of blocks sampled")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return sheet


def errors_of_many(errors: Mapping[str, NDArray[np.float64]], bound: float) -> Sheet:
    """Draw a box of errors for each way of sampling: quartiles, extremes, each trace."""
    sheet = new_sheet(PAGE, 2.8)
    (axes,) = sheet.axes
    values = list(errors.values())
    axes.boxplot(
        values,
        orientation="horizontal",
        whis=(0, 100),
        widths=0.5,
        medianprops={"color": "#D55E00"},
        flierprops={"marker": "."},
    )
    for place, each in enumerate(values, start=1):
        axes.plot(each, np.full(len(each), place), ".", color="#0072B2", alpha=0.6)
    axes.set_yticks(range(1, len(errors) + 1), list(errors))
    axes.axvline(bound, color="#000000", linewidth=0.6, linestyle="--")
    axes.set_xscale("log")
    plain_log(axes.xaxis)
    axes.set_xlabel("Mean absolute error of the hit ratio, a dot a trace")
    sheet.notes.append(f"Dashed: {bound:g}. Whiskers reach from the least to the largest error.")
    return sheet


def replayed_and_estimated(
    named: Sequence[tuple[str, NDArray[np.int64], NDArray[np.float64], bool]],
) -> Sheet:
    """Plot hit ratios over size: replays as marks, estimates and curves as lines.

    Parameters
    ----------
    named : sequence of (str, ndarray, ndarray, bool)
        What it is, sizes, hit ratios in [0, 1], and whether it was replayed size by size.
    """
    sheet = new_sheet(PAGE, 3.2)
    (axes,) = sheet.axes
    looks = looks_of([name for name, *_ in named])
    for name, sizes, ratios, replayed in named:
        look = looks[name]
        marks = {"linestyle": "none", "marker": look.marker} if replayed else {}
        (line,) = axes.plot(sizes, 100 * ratios, **{**look.line, **marks})
        sheet.legend.append(line)
    axes.set_xlabel("Size (blocks)")
    axes.set_ylabel("Hit ratio (%)")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return sheet
