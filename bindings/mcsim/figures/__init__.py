"""Figures of a run: pure functions of its results.

`FIGURES` is the one list of them, named after the figures of the Multi-Cache
paper that they redraw. `plot` returns one as a matplotlib figure, `draw` writes
them to files.

matplotlib is loaded when the first figure is drawn.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.spec import FigureFormat
from mcsim.figures import comparison, curves, timeline
from mcsim.figures.style import Sheet, save, styled
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, vms_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "CannotDrawError", "PaperFigure", "draw", "plot"]

_Runs = Results | Sequence[Results]

# More of them cannot be told apart.
_MOST_VMS = 24


@dataclass(frozen=True)
class PaperFigure:
    """One figure of the Multi-Cache paper, redrawn from results.

    Attributes
    ----------
    title : str
        Stands above the figure.
    shows : str
        What the paper's figure shows.
    of_run : callable, optional
        Plots one run.
    of_runs : callable, optional
        Plots several runs: servers, or capacities.
    """

    title: str
    shows: str
    of_run: Callable[[Results], Sheet] | None = None
    of_runs: Callable[[Sequence[Results]], Sheet] | None = None

    def plot(self, runs: Sequence[Results]) -> Figure:
        """Plot the figure with title, legend and footer."""
        for run in runs:
            if (vms := len(vms_of(run))) > _MOST_VMS:
                raise CannotDrawError(
                    f"shows VMs one by one, at most {_MOST_VMS}; the run has {vms:,}"
                )
        with styled():
            if self.of_runs is not None:
                sheet = self.of_runs(runs)
            elif len(runs) == 1:
                assert self.of_run is not None
                sheet = self.of_run(runs[0])
            else:
                raise CannotDrawError(f"shows one run, got {len(runs)}")
            return sheet.finish(self.title, runs)


FIGURES: Mapping[str, PaperFigure] = {
    "fig1": PaperFigure(
        "A hit ratio curve",
        "hit ratio of one workload over cache size, and how to read it",
        of_run=curves.example_curve,
    ),
    "fig4": PaperFigure(
        "Reuse intensity over time",
        "reuse intensity of web_0..3 in windows of 60 s",
        of_run=timeline.reuse_intensity,
    ),
    "fig5": PaperFigure(
        "Hits of each tier, read off the hit ratio curve",
        "hit ratio curves of two workloads, cut where the tiers end",
        of_run=curves.tier_split,
    ),
    "fig6": PaperFigure(
        "Hit ratio by VM",
        "mean hit ratio of every volume, Global LRU and Multi-Cache, one server at a time",
        of_runs=comparison.hit_ratio_by_vm,
    ),
    "fig7": PaperFigure(
        "Hit ratio curves",
        "hit ratio of web_0..3 over cache size, the whole week",
        of_run=curves.hit_ratio_curves,
    ),
    "fig8": PaperFigure(
        "Occupancy under Global LRU",
        "blocks that web_0..3 hold of each tier over time",
        of_run=timeline.global_lru_occupancy,
    ),
    "fig9": PaperFigure(
        "Occupancy under Multi-Cache",
        "blocks that web_0..3 hold of each tier over time",
        of_run=timeline.multicache_occupancy,
    ),
    "fig10": PaperFigure(
        "Hit ratio over time",
        "hit ratio of web_0..3 by hour, Global LRU and Multi-Cache",
        of_run=timeline.hit_ratio_over_time,
    ),
    "fig11": PaperFigure(
        "Mean latency by VM",
        "mean latency of web_0..3 by Table I, Global LRU and Multi-Cache",
        of_run=comparison.latency_by_vm,
    ),
    "fig12": PaperFigure(
        "Mean share of each tier",
        "mean share of each tier that web_0..3 hold",
        of_run=comparison.tier_shares,
    ),
    "fig13": PaperFigure(
        "Hit ratio by tier",
        "hit ratio of web_0..3 divided by the tier that hit",
        of_run=comparison.hit_ratio_by_tier,
    ),
    "fig14": PaperFigure(
        "Hit ratio by capacity",
        "hit ratio of web_0..3, prn_0 and prn_1 together over the second tier's capacity, "
        "the first tier a tenth of it",
        of_runs=comparison.hit_ratio_by_capacity,
    ),
}

_logger = logging.getLogger(__name__)


def plot(name: str, runs: _Runs) -> Figure:
    """Plot one figure.

    Parameters
    ----------
    name : str
        A key of `FIGURES`.
    runs : Results or sequence of Results
        What to plot; several for figures over servers or capacities.

    Raises
    ------
    ConfigError
        If there is no such figure.
    CannotDrawError
        If the results do not hold what it shows.
    """
    return _find(name).plot(_as_list(runs))


def draw(
    runs: _Runs,
    names: Iterable[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    *,
    formats: Sequence[FigureFormat] = ("png",),
    processes: int = 1,
    on_skip: Callable[[str], None] = _logger.info,
) -> list[Path]:
    """Write figures to files.

    Parameters
    ----------
    runs : Results or sequence of Results
        What to draw; of several runs, only figures over servers or capacities.
    names : iterable of str, optional
        Keys of `FIGURES`; all if not given.
    folder : path, optional
        Where to write; `figures` in the folder of the run if not given.
    formats : sequence of {'png', 'pdf', 'svg'}
        A file is written in each.
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
    """
    listed = _as_list(runs)
    if folder is None and len(listed) > 1:
        raise ConfigError("figures of several runs need a folder to go to")
    out = listed[0].path / "figures" if folder is None else Path(folder)
    wanted = {name: _find(name) for name in (_applicable(listed) if names is None else names)}
    out.mkdir(parents=True, exist_ok=True)
    tasks = [(name, figure, listed, out, formats) for name, figure in wanted.items()]
    written: list[Path] = []
    for drawn in _draw_all(tasks, processes):
        if isinstance(drawn, str):
            on_skip(drawn)
        else:
            written += drawn
    return written


_Task = tuple[str, PaperFigure, list[Results], Path, Sequence[FigureFormat]]


def _draw_one(task: _Task) -> list[Path] | str:
    """Write one figure; return its files, or why it is not drawn."""
    name, figure, runs, out, formats = task
    try:
        plotted = figure.plot(runs)
    except CannotDrawError as reason:
        return f"{name} ({figure.title}) is not drawn: {reason}"
    return save(plotted, out / name, figure.title, runs, formats)


def _draw_all(tasks: list[_Task], processes: int) -> Iterator[list[Path] | str]:
    """Do the tasks and yield what comes of each, in order.

    Other processes are forked: they find matplotlib and the tasks in memory, and a script
    of the user's does not begin anew in them. Where there is no fork, this one does it all.
    """
    if min(processes, len(tasks)) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(_draw_one, tasks)
        return
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401

    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(min(processes, len(tasks)), context, _begin_process, (tasks,))
    try:
        yield from pool.map(_draw_inherited, range(len(tasks)))
    finally:
        pool.shutdown(cancel_futures=True)


_inherited: list[_Task] = []


def _begin_process(tasks: list[_Task]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to it
    _inherited[:] = tasks


def _draw_inherited(index: int) -> list[Path] | str:
    return _draw_one(_inherited[index])


def _applicable(runs: Sequence[Results]) -> list[str]:
    return [name for name, figure in FIGURES.items() if len(runs) == 1 or figure.of_runs]


def _find(name: str) -> PaperFigure:
    if name not in FIGURES:
        raise ConfigError(f"unknown figure {name!r}{did_you_mean(name, FIGURES)}")
    return FIGURES[name]


def _as_list(runs: _Runs) -> list[Results]:
    return [runs] if isinstance(runs, Results) else list(runs)
