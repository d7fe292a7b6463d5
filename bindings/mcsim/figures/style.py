"""Figures for print: charts drawn by matplotlib, and written as PNG, PDF or SVG.

`screen.mplstyle` and `paper.mplstyle` hold fonts, lines and grids. The title and the legend stand
above the charts, notes and the id of the run below. In the style of a paper, and in PDF and SVG
files of runs, title and id are only in the metadata, because documents have captions of their own.
All figures of synthetic workloads are marked as such. The same results give the same bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mcsim.base.files import replacing
from mcsim.base.package import require
from mcsim.config.spec import FigureFormat
from mcsim.figures.chart import Chart, Sheet
from mcsim.figures.looks import short_names
from mcsim.figures.panels import draw_chart, label_axes, limit_axes, names_of, value_range

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLUMN = 3.5  # inches, one of two columns
_PAPER_COLUMNS = {1: 1, 2: 1, 3: 2, 4: 3}
_LETTER = 0.6  # mean width of a letter, in font sizes
_MOST_COLUMNS = 8  # of a legend
_MOST_LINES = 4  # of a legend with long names in one column
_LONGEST_IN_COLUMN = 18  # letters, so that two names are side by side
_MOST_BARS = {"screen": 80, "paper": 40}

Style = Literal["screen", "paper"]
"""For a screen; or for a column of a paper, without title and run, all text in 8 points."""

_style: ContextVar[Style] = ContextVar("style", default="screen")
_drawing = threading.RLock()


@contextmanager
def styled(style: Style | None = None) -> Iterator[None]:
    """Draw with the style of this module instead of the user's own; one thread at a time.

    Parameters
    ----------
    style : {'screen', 'paper'}, optional
        The one in force if absent, by default that of a screen.
    """
    require("figures", "matplotlib")
    import matplotlib.style

    outer = _style.set(style or _style.get())
    folder = resources.files("mcsim.figures")
    names = ["screen", "paper"] if _style.get() == "paper" else ["screen"]
    files: list[Any] = [str(folder / f"{name}.mplstyle") for name in names]
    try:
        # The parameters of matplotlib are those of the process.
        with _drawing, matplotlib.style.context(files, after_reset=True):
            yield
    finally:
        _style.reset(outer)


def drawn(
    sheet: Sheet, title: str, footer: str, *, synthetic: bool = False, captioned: bool = True
) -> Figure:
    """Draw a figure; without captions, as on paper, only `synthetic` is stated."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    on_paper = _style.get() == "paper"
    if on_paper or not captioned:
        title, footer = "", "synthetic workload" if synthetic else ""
    width = COLUMN if on_paper else sheet.width
    charts = [part for chart in sheet.charts for part in _split(chart)]
    columns = _PAPER_COLUMNS[sheet.columns] if on_paper else sheet.columns
    columns = min(columns, len(charts))
    rows = -(-len(charts) // columns)
    figure = Figure(figsize=(width, 3), layout="constrained")
    panels = list(
        figure.subplots(
            rows, columns, squeeze=False, sharex=sheet.share_x, sharey=sheet.share_y
        ).flat
    )
    handles: dict[str, Any] = {}
    limits = value_range(charts)
    for number, (axes, chart) in enumerate(zip(panels, charts, strict=False)):
        for label, handle in draw_chart(axes, chart, limits).items():
            handles.setdefault(label, handle)
        label_axes(axes, chart, _letters(width / columns) - 6)
        is_lowest = number >= len(charts) - columns
        if is_lowest or not sheet.share_x:
            names = max(map(len, names_of(chart))) if chart.is_horizontal else 0
            letters = max(_letters(width / columns) - names, 12)
            axes.set_xlabel("\n".join(wrap(chart.x_label, letters)))
        if is_lowest:
            axes.tick_params(labelbottom=True)
    has_one_label = rows > 1 and len({chart.y_label for chart in charts}) == 1
    if has_one_label:
        figure.supylabel(charts[0].y_label)
    for number, (axes, chart) in enumerate(zip(panels, charts, strict=False)):
        limit_axes(axes, chart)
        if not has_one_label and (number % columns == 0 or not sheet.share_y):
            axes.set_ylabel(chart.y_label)
    for axes in panels[len(charts) :]:
        axes.set_visible(False)
    if charts[0].kind == "map":
        figure.colorbar(panels[0].collections[0], ax=panels, label=charts[0].value_label)
    lines = _frame(figure, sheet, charts, handles, title, footer)
    height = sheet.height * (0.8 if on_paper and columns > 1 else 1.0)
    figure.set_figheight(height * rows + lines * 0.023 * rcParams["font.size"])
    named = {axes.xaxis for axes, chart in zip(panels, charts, strict=False) if chart.has_names}
    _settle(figure, named)
    return figure


def _letters(inches: float) -> int:
    """Return the number of letters that fit into a width."""
    from matplotlib import rcParams

    return int(inches * 72 / (_LETTER * rcParams["font.size"]))


def _frame(
    figure: Figure,
    sheet: Sheet,
    charts: Sequence[Chart],
    handles: dict[str, Any],
    title: str,
    footer: str,
) -> int:
    """Add title and legend above the charts and notes below; return the number of lines."""
    letters = _letters(figure.get_figwidth()) - 2
    named = dict.fromkeys(name for chart in charts for _, name in chart.levels if name)
    dashed = [f"Dashed: {', '.join(named)}."] if named else []
    notes = [line for text in [*sheet.notes, *dashed] for line in wrap(text, letters)]
    notes += [footer] if footer else []
    if notes:
        figure.supxlabel("\n".join(notes), x=0.01, ha="left", color="#555555")
    above = wrap(title, int(0.9 * letters))
    count = len(above) + len(notes)
    if len(handles) > 1:
        count += _add_legend(figure, handles, "\n".join(above))
    elif above:
        figure.suptitle("\n".join(above), x=0.01, ha="left", weight="bold")
    return count


def _add_legend(figure: Figure, handles: dict[str, Any], title: str) -> int:
    """Add a legend of as many columns as fit; return its number of lines without the title.

    In a narrow figure, names that would take many lines are shortened.
    """
    names = list(handles)
    if figure.get_figwidth() <= COLUMN and len(names) > _MOST_LINES:
        names = short_names(names, _LONGEST_IN_COLUMN)
    are_markers = all(_is_marker(handle) for handle in handles.values())
    narrow: dict[str, Any] = {"handlelength": 1.0, "columnspacing": 0.8} if are_markers else {}
    for columns in range(min(len(names), _MOST_COLUMNS), 0, -1):
        legend = figure.legend(
            handles=list(handles.values()),
            labels=names,
            ncols=columns,
            loc="outside upper left",
            title=title or None,
            alignment="left",
            title_fontproperties={"weight": "bold"},
            **narrow,
        )
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    return -(-len(names) // columns)


def _is_marker(handle: Any) -> bool:
    """Whether a handle of a legend has no line, so that a marker's width is enough for it."""
    from matplotlib.lines import Line2D

    return isinstance(handle, Line2D) and handle.get_linestyle() == "None"


def _split(chart: Chart) -> Iterator[Chart]:
    """Yield a chart of bars in rows that keep the bars wide enough."""
    if chart.kind != "bars" or len(chart.x) < 2:
        yield chart
        return
    most = max(1, _MOST_BARS[_style.get()] // max(1, len(chart.series)))
    rows = -(-len(chart.x) // most)
    top = max(float(np.nanmax(one.y, initial=0)) for one in chart.series)
    for part in np.array_split(np.arange(len(chart.x)), rows):
        names = [chart.x[i] for i in part]
        series = [replace(one, y=one.y[part]) for one in chart.series]
        end = chart.y_end or (1.05 * top if rows > 1 and top > 0 else None)
        yield replace(chart, x=names, series=series, y_end=end)


def _settle(figure: Figure, named: Collection[Axis]) -> None:
    """Lay out the figure, thin overlapping tick labels, and round the positions.

    Rounding makes results reproducible. The solver of the layout orders its sums by memory
    addresses, so the last bits differ between processes.
    """
    from kiwisolver import UnsatisfiableConstraint

    from mcsim.results.series import CannotDrawError

    try:
        for _ in range(6):
            figure.draw_without_rendering()
            shown = [axes for axes in figure.axes if axes.get_visible()]
            every = [axis for axes in shown for axis in (axes.xaxis, axes.yaxis)]
            loosened = [_loosen(axis, axis in named) for axis in every]
            if not any(loosened):
                break
    except UnsatisfiableConstraint:
        raise CannotDrawError("its names are too long for a layout") from None
    figure.set_layout_engine("none")
    for axes in figure.axes:
        x0, y0, width, height = axes.get_position().bounds
        axes.set_position((round(x0, 4), round(y0, 4), round(width, 4), round(height, 4)))
    for text in figure.texts:
        x, y = text.get_position()
        text.set_position((round(x, 4), round(y, 4)))


def _loosen(axis: Axis, has_names: bool) -> bool:
    """Turn names, or halve numbers, where tick labels overlap; return whether it was needed."""
    from matplotlib.ticker import FixedLocator

    low, high = sorted(axis.get_view_interval())
    labels = [
        tick.label1
        for tick in axis.get_major_ticks()
        if tick.label1.get_visible() and tick.label1.get_text() and low <= tick.get_loc() <= high
    ]
    if len(labels) < 2:
        return False
    is_x = axis is axis.axes.xaxis
    boxes = [label.get_window_extent() for label in labels]
    starts = [box.x0 if is_x else box.y0 for box in boxes]
    ends = [box.x1 + 3 if is_x else box.y1 for box in boxes]
    order = np.argsort(starts)
    if labels[0].get_rotation() or all(ends[i] <= starts[j] for i, j in pairwise(order)):
        return False
    if is_x and has_names:
        gap = abs(boxes[-1].x0 + boxes[-1].x1 - boxes[0].x0 - boxes[0].x1) / 2 / (len(boxes) - 1)
        is_wide = gap > 1.5 * boxes[0].height
        turn: dict[str, Any] = {"rotation": 45 if is_wide else 90}
        turn |= {"ha": "right", "rotation_mode": "anchor"} if is_wide else {}
        for label in labels:
            label.set(**turn)
        return True
    ticks = sorted(tick for tick in axis.get_majorticklocs() if low <= tick <= high)
    axis.set_major_locator(FixedLocator(ticks[::-1][::2][::-1]))
    return True


def draw_sheet(
    plot: Callable[[], Sheet],
    path: Path,
    title: str,
    footer: str,
    *,
    synthetic: bool,
    formats: Sequence[FigureFormat],
    style: Style | None = None,
) -> list[Path]:
    """Draw a figure that is not of runs, and write it in each format, as `save` does.

    The texts `title` and `footer` are above and below the charts. The style of a paper omits both.
    """
    with styled(style):
        figure = drawn(plot(), title, footer, synthetic=synthetic)
    return save(figure, path, title, footer, formats)


def save(
    figure: Figure, path: Path, title: str, subject: str, formats: Sequence[FigureFormat]
) -> list[Path]:
    """Write a figure in each format, complete or not at all; return the files.

    The path has no ending. The metadata of the files are the title and the subject, such as ids
    of runs.
    """
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Title": title, "Description": subject, "Software": None},
        "pdf": {"Title": title, "Subject": subject, "CreationDate": None},
        "svg": {"Title": title, "Description": subject, "Date": None},
    }
    written = []
    for ending in formats:
        final = path.with_name(f"{path.name}.{ending}")
        with styled(), replacing(final) as temporary:
            figure.savefig(temporary, format=ending, metadata=metadata[ending])
        written.append(final)
    return written
