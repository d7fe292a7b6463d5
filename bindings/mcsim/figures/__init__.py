"""Figures of a run: pure functions of its results.

`FIGURES` is the one list of them, named after what they show; `ALIASES` has the
numbers of the Multi-Cache paper's. `plot` returns one as a matplotlib figure,
`draw` writes them to files.

matplotlib is loaded when the first figure is drawn.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.base.errors import ConfigError, McsimError, MissingOutputError
from mcsim.base.suggest import did_you_mean
from mcsim.config.spec import FigureFormat
from mcsim.figures import comparison, curves, timeline
from mcsim.figures.style import Sheet, Style, save, styled
from mcsim.figures.workers import mapped
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, vms_of
from mcsim.results.version import check_versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ALIASES",
    "FIGURES",
    "CannotDrawError",
    "RunFigure",
    "draw",
    "missing",
    "plot",
]

_Runs = Results | Sequence[Results]

# More of them cannot be told apart.
_MOST_VMS = 24


@dataclass(frozen=True)
class RunFigure:
    """One figure of results.

    Attributes
    ----------
    paper : int, optional
        The number of the figure in the Multi-Cache paper that shows the same, if one does;
        ``figN`` is another name for it.
    title : str
        Stands above the figure, unless it has one that names a system.
    shows : str
        What there is to see.
    of_run : callable, optional
        Plots one run.
    of_runs : callable, optional
        Plots several runs: servers, or capacities.
    """

    paper: int | None
    title: str
    shows: str
    of_run: Callable[[Results], Sheet] | None = None
    of_runs: Callable[[Sequence[Results]], Sheet] | None = None

    def sheet(self, runs: Sequence[Results]) -> Sheet:
        """Plot all but what stands around the panels."""
        check_versions(runs)
        for run in runs:
            if (vms := len(vms_of(run))) > _MOST_VMS:
                raise CannotDrawError(
                    f"shows VMs one by one, at most {_MOST_VMS}; the run has {vms:,}"
                )
        if self.of_runs is not None:
            sheet = self.of_runs(runs)
        elif len(runs) == 1:
            assert self.of_run is not None
            sheet = self.of_run(runs[0])
        else:
            raise CannotDrawError(f"shows one run, got {len(runs)}")
        sheet.title = sheet.title or self.title
        return sheet

    def plot(self, runs: Sequence[Results], style: Style = "screen") -> Figure:
        """Plot the figure with title, legend and footer."""
        with styled(style):
            return self.sheet(runs).finish(runs)


FIGURES: Mapping[str, RunFigure] = {
    "curve": RunFigure(
        1,
        "A hit ratio curve",
        "hit ratio of one VM over cache size, and how to read it",
        of_run=curves.example_curve,
    ),
    "reuse-intensity": RunFigure(
        4,
        "Reuse intensity over time",
        "reuse intensity of every VM by window",
        of_run=timeline.reuse_intensity,
    ),
    "tier-split": RunFigure(
        5,
        "Hits of each tier, read off the hit ratio curve",
        "hit ratio curves of two VMs, cut where the tiers end",
        of_run=curves.tier_split,
    ),
    "hit-ratio": RunFigure(
        6,
        "Hit ratio by VM",
        "hit ratio of every VM by system; several runs, one a server, side by side",
        of_runs=comparison.hit_ratio_by_vm,
    ),
    "curves": RunFigure(
        7,
        "Hit ratio curves",
        "hit ratio of every VM over cache size, the whole trace",
        of_run=curves.hit_ratio_curves,
    ),
    "occupancy-baseline": RunFigure(
        8,
        "Occupancy under the baseline",
        "what VMs hold of each tier over time under Global LRU, or else the first system",
        of_run=timeline.baseline_occupancy,
    ),
    "targets": RunFigure(
        9,
        "Targets",
        "what VMs are granted of each tier over time by Multi-Cache, or else the last system",
        of_run=timeline.leading_targets,
    ),
    "occupancy": RunFigure(
        None,
        "Occupancy",
        "what VMs hold of each tier over time under Multi-Cache, or else the last system",
        of_run=timeline.leading_occupancy,
    ),
    "hit-ratio-over-time": RunFigure(
        10,
        "Hit ratio over time",
        "hit ratio of every VM by interval, under both of these systems",
        of_run=timeline.hit_ratio_over_time,
    ),
    "latency": RunFigure(
        11,
        "Mean latency by VM",
        "mean latency of every VM by system",
        of_run=comparison.latency_by_vm,
    ),
    "tier-shares": RunFigure(
        12,
        "Mean share of each tier",
        "mean share of each tier that every VM holds, by system",
        of_run=comparison.tier_shares,
    ),
    "granted-shares": RunFigure(
        None,
        "Mean share of each tier that is granted",
        "mean share of each tier that every VM is granted, by system that divides them",
        of_run=comparison.granted_shares,
    ),
    "hit-ratio-by-tier": RunFigure(
        13,
        "Hit ratio by tier",
        "hit ratio of every VM divided by the tier that hit, by system",
        of_run=comparison.hit_ratio_by_tier,
    ),
    "hit-ratio-by-capacity": RunFigure(
        14,
        "Hit ratio by capacity",
        "hit ratio of all VMs over the last tier's capacity; several runs",
        of_runs=comparison.hit_ratio_by_capacity,
    ),
}

ALIASES: Mapping[str, str] = {
    f"fig{figure.paper}": name for name, figure in FIGURES.items() if figure.paper is not None
}
"""Names by the number in the Multi-Cache paper."""

_logger = logging.getLogger(__name__)


def plot(name: str, runs: _Runs, style: Style = "screen") -> Figure:
    """Plot one figure.

    Parameters
    ----------
    name : str
        A key of `FIGURES` or `ALIASES`.
    runs : Results or sequence of Results
        What to plot; several for figures over servers or capacities.
    style : {'screen', 'paper'}
        A paper's is a column wide, in 8 points, without title and run.

    Raises
    ------
    ConfigError
        If there is no such figure.
    CannotDrawError
        If the results do not hold what it shows.
    """
    return _find(name).plot(_as_list(runs), style)


def missing(runs: _Runs) -> dict[str, str]:
    """Return why figures cannot be drawn of results, by name; empty where one can.

    Parameters
    ----------
    runs : Results or sequence of Results
        As of `plot`.
    """
    reasons = {}
    for name, figure in FIGURES.items():
        reasons[name] = ""
        try:
            with styled():
                figure.sheet(_as_list(runs))
        except CannotDrawError as reason:
            reasons[name] = str(reason)
    return reasons


def draw(
    runs: _Runs,
    names: Iterable[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    *,
    formats: Sequence[FigureFormat] = ("png",),
    style: Style = "screen",
    processes: int = 1,
    on_skip: Callable[[str], None] = _logger.info,
) -> list[Path]:
    """Write figures to files.

    Parameters
    ----------
    runs : Results or sequence of Results
        What to draw; of several runs, only figures over servers or capacities.
    names : iterable of str, optional
        Keys of `FIGURES` or `ALIASES`, after which files are named; all if not given.
    folder : path, optional
        Where to write; `figures` in the folder of the run if not given.
    formats : sequence of {'png', 'pdf', 'svg'}
        A file is written in each.
    style : {'screen', 'paper'}
        As of `plot`.
    processes : int
        Processes that draw at a time. The files do not depend on it.
    on_skip : callable
        Told, in one line each, of figures that these results cannot feed.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ConfigError
        If there is no such figure, or several runs and no folder.
    MissingOutputError
        If a figure cannot be drawn for another reason than its results; the others are.
    """
    with drawing(
        runs, names, folder, formats=formats, style=style, processes=processes, on_skip=on_skip
    ) as finish:
        return finish()


@contextmanager
def drawing(
    runs: _Runs,
    names: Iterable[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    *,
    formats: Sequence[FigureFormat] = ("png",),
    style: Style = "screen",
    processes: int = 1,
    on_skip: Callable[[str], None] = _logger.info,
) -> Iterator[Callable[[], list[Path]]]:
    """Begin what `draw` does, if there are other processes for it; give what waits for it.

    Whoever leaves without waiting leaves nobody behind who still writes.
    """
    listed = _as_list(runs)
    if folder is None and len(listed) > 1:
        raise ConfigError("figures of several runs need a folder to go to")
    out = listed[0].path / "figures" if folder is None else Path(folder)
    wanted = dict.fromkeys(_applicable(listed) if names is None else names)
    for name in wanted:
        _find(name)
    out.mkdir(parents=True, exist_ok=True)
    tasks: list[_Task] = [(name, listed, out, formats, style) for name in wanted]
    # A process begins in the time of four figures, so two of them save none.
    worth = min(processes, len(tasks) * len(formats) // 4)
    with mapped(_draw_one, tasks, worth if worth > 2 else 1) as under_way:

        def finish() -> list[Path]:
            written: list[Path] = []
            failed: list[str] = []
            for drawn in under_way:
                if isinstance(drawn, str):
                    on_skip(drawn)
                elif isinstance(drawn, _Failed):
                    failed.append(drawn.why)
                else:
                    written += drawn
            if failed:
                raise MissingOutputError(f"figures are missing: {'; '.join(failed)}")
            return written

        yield finish


_Task = tuple[str, list[Results], Path, Sequence[FigureFormat], Style]


@dataclass(frozen=True)
class _Failed:
    """Why a figure that could be drawn is not."""

    why: str


def _draw_one(task: _Task) -> list[Path] | str | _Failed:
    """Write one figure; return its files, or why it is not drawn."""
    name, runs, out, formats, style = task
    figure = _find(name)
    written = []
    try:
        for ending in formats:
            with styled(style):
                sheet = figure.sheet(runs)
                plotted = sheet.finish(runs, captioned=ending == "png")
            written += save(plotted, out / name, sheet.title, runs, [ending])
    except CannotDrawError as reason:
        return f"{name} ({figure.title}) is not drawn: {reason}"
    except (McsimError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        return _Failed(f"{name} ({figure.title}): {type(error).__name__}: {said}")
    return written


def _applicable(runs: Sequence[Results]) -> list[str]:
    return [name for name, figure in FIGURES.items() if len(runs) == 1 or figure.of_runs]


def _find(name: str) -> RunFigure:
    key = ALIASES.get(name, name)
    if key not in FIGURES:
        raise ConfigError(
            f"unknown figure {name!r}{did_you_mean(name, [*FIGURES, *ALIASES])}; there are "
            f"{', '.join(FIGURES)}"
        )
    return FIGURES[key]


def _as_list(runs: _Runs) -> list[Results]:
    return [runs] if isinstance(runs, Results) else list(runs)
