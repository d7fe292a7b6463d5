"""How every figure looks: sizes, fonts, title, legend and footer; `looks` has the colours.

The title stands above, the legend between it and the panels, and the run's id
below, where none of them covers data. In the style of a paper, and in PDF and SVG of
runs, which go into documents that have captions, there is neither title nor id but in
their metadata; that a workload is synthetic all of them say. What is written is the
same bytes whenever it is written from the same results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mcsim.base.files import replacing
from mcsim.config.spec import FigureFormat
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.transforms import Bbox

__all__ = [
    "COLUMN",
    "PAGE",
    "Sheet",
    "Style",
    "draw_sheet",
    "new_gallery",
    "new_sheet",
    "save",
    "styled",
    "write",
]

COLUMN = 3.5  # inches, one of two columns
PAGE = 7.0  # inches, both columns

_TEXT = 7.5  # points
_LINE = 1.6 * _TEXT  # from one line of text to the next
_BETWEEN_COLUMNS = 1.2  # of a legend, in letters

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": _TEXT,
    "axes.labelsize": _TEXT,
    "figure.labelsize": _TEXT,
    "axes.titlesize": _TEXT,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": _TEXT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#d9d9d9",
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.4,
    "patch.linewidth": 0.5,
    "savefig.dpi": 300,
    "figure.dpi": 150,
    "pdf.fonttype": 42,
    "svg.hashsalt": "mcsim",
    "text.parse_math": False,  # a VM may be called anything
}

_PAPER_RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "figure.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
}

Style = Literal["screen", "paper"]
"""Of a screen, or of a column of a paper: without title and run, all text in 8 points."""

_MANY_ENTRIES = 12

_style: ContextVar[Style] = ContextVar("style", default="screen")
_drawing = threading.RLock()


@contextmanager
def styled(style: Style | None = None) -> Iterator[None]:
    """Draw with the style of this module, whatever the user's own is; one thread at a time.

    Parameters
    ----------
    style : {'screen', 'paper'}, optional
        As around it if not given, and a screen's if there is none.
    """
    import matplotlib

    outer = _style.set(style or _style.get())
    try:
        # Matplotlib's parameters are those of the process.
        with _drawing, matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_RC)
            if _on_paper():
                matplotlib.rcParams.update(_PAPER_RC)
            yield
    finally:
        _style.reset(outer)


def _on_paper() -> bool:
    return _style.get() == "paper"


@dataclass
class Sheet:
    """A figure in the making: its panels, what its legend lists and its footnotes.

    Attributes
    ----------
    title : str
        Stands above the figure; if empty, that of its kind does.
    columns : int
        Of panels side by side.
    """

    figure: Figure
    axes: list[Axes]
    legend: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    title: str = ""
    columns: int = 1

    @property
    def lowest(self) -> list[Axes]:
        """The last panel of each column."""
        return self.axes[-self.columns :]

    def finish(
        self, runs: Sequence[Results], *, captioned: bool = True, synthetic: bool = False
    ) -> Figure:
        """Add legend, footnotes and, if it is `captioned`, the title and what runs it shows.

        A workload is synthetic if that of a run is; without runs `synthetic` says so.
        """
        synthetic = synthetic or any(run.synthetic for run in runs)
        title = self.title + (" (synthetic workload)" if synthetic else "")
        footer = _footer(runs, synthetic) if runs else ""
        return self.caption(title, footer, synthetic=synthetic, captioned=captioned)

    def caption(
        self, title: str, footer: str, *, synthetic: bool, captioned: bool = True
    ) -> Figure:
        """Do what `frame` does; without captions, as on paper, only `synthetic` is said."""
        if _on_paper() or not captioned:
            return self.frame("", "synthetic workload" if synthetic else "")
        return self.frame(title, footer)

    def frame(self, title: str, footer: str) -> Figure:
        """Add title, legend and footer around the panels; where one is empty, there is none."""
        below = [*self.notes, *([footer] if footer else [])]
        if _on_paper():
            below = self._fit_column(below)
        if len(self.legend) > _MANY_ENTRIES:
            around = self._legend_height() + (len(below) + 2) * _LINE
            if around > 36 * self.figure.get_figheight():  # half its height
                self.figure.set_figheight(self.figure.get_figheight() + around / 72)
        height = self.figure.get_figheight() * 72
        begin = 1.6 * _LINE if title else 0.25 * _LINE
        if title:
            self._text(title, 1 - 0.25 * _LINE / height, top=True, weight="bold")
        above = begin + self._add_legend(1 - begin / height)
        for line, text in enumerate(reversed(below)):
            self._text(text, (0.25 + line) * _LINE / height, top=False, color="#555555")
        beneath = (len(below) + 0.25) * _LINE
        engine = self.figure.get_layout_engine()
        assert engine is not None
        engine.set(rect=(0, beneath / height, 1, 1 - (above + beneath) / height))  # type: ignore[call-arg]
        self._settle()
        return self.figure

    def _legend_height(self) -> float:
        height = self._add_legend(1.0)
        for legend in self.figure.legends:
            legend.remove()
        return height

    def _fit_column(self, below: Sequence[str]) -> list[str]:
        """Break lines that are too long for a column, make room; return the footnotes."""
        letters = int(self.figure.get_figwidth() * 72 / (0.56 * _PAPER_RC["font.size"]))
        for axes in self.axes:
            title = axes.get_title(loc="left")
            axes.set_title(fill(title, letters - 8), loc="left", pad=2)
        broken = [line for text in below for line in wrap(text, letters)]
        taller = (self._legend_height() + len(broken) * _LINE) / 72
        self.figure.set_figheight(self.figure.get_figheight() + taller)
        return broken

    def _settle(self) -> None:
        """Lay out once and for all, in round numbers.

        The solver behind the layout orders its sums by memory addresses, and so
        differs in the last bits from one process to the next.
        """
        from kiwisolver import UnsatisfiableConstraint

        engine = self.figure.get_layout_engine()
        assert engine is not None
        try:
            engine.execute(self.figure)
        except UnsatisfiableConstraint:
            raise CannotDrawError("its names are too long for a layout") from None
        # With an engine, even one that does nothing, saving would draw all twice.
        self.figure.set_layout_engine(None)
        for axes in self.axes:
            x0, y0, width, height = axes.get_position().bounds
            axes.set_position((round(x0, 4), round(y0, 4), round(width, 4), round(height, 4)))
        for text in self.figure.texts:
            x, y = text.get_position()
            text.set_position((round(x, 4), round(y, 4)))

    def _text(self, text: str, y: float, *, top: bool, **look: Any) -> None:
        self.figure.text(0.01, y, text, va="top" if top else "bottom", ha="left", **look)

    def _add_legend(self, y: float) -> float:
        """Put the legend below `y` in as few rows as fit; return its height in points."""
        if not self.legend:
            return 0.0
        widest = 0.98 * self.figure.get_figwidth() * self.figure.dpi
        legend, extent = self._legend_in(len(self.legend), y)
        if extent.width > widest:
            for columns in range(self._columns_that_fit(legend, widest), 0, -1):
                legend.remove()
                legend, extent = self._legend_in(columns, y)
                if extent.width <= widest:
                    break
        return float(extent.height * 72 / self.figure.dpi) + 0.3 * _LINE

    def _legend_in(self, columns: int, y: float) -> tuple[Legend, Bbox]:
        legend = self.figure.legend(
            handles=self.legend,
            ncols=columns,
            loc="upper left",
            bbox_to_anchor=(0.01, y),
            frameon=False,
            borderpad=0,
            borderaxespad=0,
            columnspacing=_BETWEEN_COLUMNS,
            handlelength=2.4,
        )
        legend.set_in_layout(False)
        return legend, legend.get_window_extent()

    def _columns_that_fit(self, row: Legend, widest: float) -> int:
        """Return how many columns are at most as wide as that, by a legend of a single row."""
        texts = [text.get_window_extent().width for text in row.get_texts()]
        letter = float(row.get_texts()[0].get_fontsize()) * self.figure.dpi / 72
        between = _BETWEEN_COLUMNS * letter
        count = len(texts)
        # All that an entry has beside its text.
        around = (row.get_window_extent().width - sum(texts) - (count - 1) * between) / count
        for columns in range(count - 1, 1, -1):
            parts = np.array_split(texts, columns)
            if sum(around + max(part) for part in parts) + (columns - 1) * between <= widest:
                return columns
        return 1


def new_sheet(
    width: float, height: float, rows: int = 1, columns: int = 1, **subplots: Any
) -> Sheet:
    """Begin a figure of equal panels; `width` and `height` in inches.

    In a column of a paper they stand below each other.
    """
    from matplotlib.figure import Figure

    if _on_paper():
        height = 0.9 + (height - 0.9) * columns if columns > 1 else height
        width, rows, columns = COLUMN, rows * columns, 1
        subplots.pop("width_ratios", None)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **subplots)
    return Sheet(figure, list(np.ravel(axes)), columns=columns)


def new_gallery(count: int) -> Sheet:
    """Begin a figure of many small panels, which have their axes in common.

    There are fewer side by side in a column of a paper, and they are lower, to fit on a page.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    width, columns, row = (COLUMN, 3, 0.8) if _on_paper() else (PAGE, 4, 1.15)
    rows = -(-count // columns)
    figure = Figure(figsize=(width, 0.5 + row * rows), layout="constrained")
    axes = list(np.ravel(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)))
    axes[0].set_xscale("log")
    if _on_paper():
        axes[0].xaxis.set_major_locator(LogLocator(base=100))
    for beyond in axes[count:]:
        beyond.set_visible(False)
    return Sheet(figure, axes[:count], columns=columns)


def _footer(runs: Sequence[Results], synthetic: bool) -> str:
    first = runs[0].run_id
    named = f"run {first}" if len(runs) == 1 else f"runs {first} and {len(runs) - 1} more"
    return f"mcsim {named}" + (", synthetic workload" if synthetic else "")


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
    """Plot what is not of runs, or not of them alone, and write it in each of the formats.

    Parameters
    ----------
    plot : callable
        Returns the figure without what stands around its panels.
    path : Path
        Of the files, without their endings.
    title, footer : str
        Stand around the panels but in the style of a paper, and go into the files' metadata.
    synthetic : bool
        Whether the workload is, which the title says too; on paper a footnote does.
    formats : sequence of {'png', 'pdf', 'svg'}
    style : {'screen', 'paper'}, optional
        As of `styled`.
    """
    with styled(style):
        figure = plot().caption(title, footer, synthetic=synthetic)
    return write(figure, path, title, footer, formats)


def save(
    figure: Figure,
    path: Path,
    title: str,
    runs: Sequence[Results],
    formats: Sequence[FigureFormat],
    *,
    synthetic: bool = False,
) -> list[Path]:
    """Write a figure in each of the formats, complete or not at all.

    Parameters
    ----------
    path : Path
        Of the files, without their endings.
    title : str
        Goes into the files' metadata, as do the ids of the runs.
    synthetic : bool
        As of `Sheet.finish`.
    """
    subject = "mcsim results of " + ", ".join(run.run_id for run in runs) if runs else "mcsim"
    if synthetic or any(run.synthetic for run in runs):
        subject += " (synthetic workload)"
    return write(figure, path, title, subject, formats)


def write(
    figure: Figure, path: Path, title: str, subject: str, endings: Sequence[str]
) -> list[Path]:
    """Write a figure as PNG, PDF or SVG, complete or not at all."""
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Title": title, "Description": subject, "Software": None},
        "pdf": {"Title": title, "Subject": subject, "CreationDate": None},
        "svg": {"Title": title, "Description": subject, "Date": None},
    }
    written = []
    for ending in endings:
        about = metadata[ending]
        final = path.with_name(f"{path.name}.{ending}")
        with styled(), replacing(final) as temporary:
            figure.savefig(temporary, format=ending, metadata=about)
        written.append(final)
    return written
