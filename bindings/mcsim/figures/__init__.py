"""Figures of a run: pure functions of its results.

`FIGURES` lists them by name. `plot` returns one as a matplotlib figure, and `draw` writes files.

matplotlib is loaded when the first figure is drawn.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.base.errors import ConfigError, McsimError, MissingOutputError
from mcsim.base.suggest import did_you_mean
from mcsim.config.spec import FigureFormat
from mcsim.figures import comparison, curves, timeline
from mcsim.figures.chart import Sheet, subject_of
from mcsim.figures.style import Style, save, styled
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, vms_of
from mcsim.results.version import check_versions
from mcsim.tables.charts import register_figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FIGURES",
    "MOST_VMS",
    "CannotDrawError",
    "RunFigure",
    "draw",
    "find",
    "missing",
    "plot",
]

_Runs = Results | Sequence[Results]
_Names = Sequence[str] | None

MOST_VMS = 24
"""Upper limit of VMs that are distinguishable one by one."""


@dataclass(frozen=True)
class RunFigure:
    """One figure of results.

    Attributes
    ----------
    title : str
        Above the figure, unless its sheet has a title that names a system.
    shows : str
        Its content.
    of_run : callable, optional
        Returns the sheet of one run, with the systems of these names.
    of_runs : callable, optional
        Returns the sheet of several runs: servers, or capacities.
    """

    title: str
    shows: str
    of_run: Callable[[Results, _Names], Sheet] | None = None
    of_runs: Callable[[Sequence[Results], _Names], Sheet] | None = None

    def sheet(self, runs: Sequence[Results], systems: _Names = None) -> Sheet:
        """Return the charts of the figure."""
        check_versions(runs)
        for run in runs:
            if (vms := len(vms_of(run))) > MOST_VMS:
                raise CannotDrawError(
                    f"shows VMs one by one, at most {MOST_VMS}; the run has {vms:,}"
                )
        if self.of_runs is not None:
            sheet = self.of_runs(runs, systems)
        elif len(runs) == 1:
            assert self.of_run is not None
            sheet = self.of_run(runs[0], systems)
        else:
            raise CannotDrawError(f"shows one run, got {len(runs)}")
        sheet.title = sheet.title or self.title
        return sheet


FIGURES: Mapping[str, RunFigure] = {
    "curve": RunFigure(
        "A hit ratio curve",
        "hit ratio of one VM over cache size, and how to read it",
        of_run=lambda run, _: curves.example_curve(run),
    ),
    "reuse-intensity": RunFigure(
        "Reuse intensity over time",
        "reuse intensity of every VM by window",
        of_run=lambda run, _: timeline.reuse_intensity(run),
    ),
    "tier-split": RunFigure(
        "Hits of each tier, read off the hit ratio curve",
        "hit ratio curves of two VMs, cut where the tiers end",
        of_run=curves.tier_split,
    ),
    "hit-ratio": RunFigure(
        "Hit ratio by VM",
        "hit ratio of every VM by system; several runs, one a server, side by side",
        of_runs=comparison.hit_ratio_by_vm,
    ),
    "curves": RunFigure(
        "Hit ratio curves",
        "hit ratio of every VM over cache size, the whole trace",
        of_run=lambda run, _: curves.hit_ratio_curves(run),
    ),
    "occupancy-baseline": RunFigure(
        "Occupancy under the baseline",
        "blocks of each tier that VMs hold over time under Global LRU, or else the first system",
        of_run=timeline.baseline_occupancy,
    ),
    "targets": RunFigure(
        "Targets",
        "blocks of each tier that VMs are granted over time by the best system that divides",
        of_run=timeline.targets_over_time,
    ),
    "occupancy": RunFigure(
        "Occupancy",
        "blocks of each tier that VMs hold over time under the best system",
        of_run=timeline.occupancy_over_time,
    ),
    "hit-ratio-over-time": RunFigure(
        "Hit ratio over time",
        "hit ratio of every VM by interval, under the best systems and Global LRU",
        of_run=timeline.hit_ratio_over_time,
    ),
    "latency": RunFigure(
        "Mean latency by VM",
        "mean latency of every VM by system",
        of_run=comparison.latency_by_vm,
    ),
    "tier-shares": RunFigure(
        "Mean share of each tier",
        "mean share of each tier that every VM holds, by system",
        of_run=comparison.tier_shares,
    ),
    "granted-shares": RunFigure(
        "Mean share of each tier that is granted",
        "mean share of each tier that every VM is granted, by system that divides them",
        of_run=comparison.granted_shares,
    ),
    "hit-ratio-by-tier": RunFigure(
        "Hit ratio by tier",
        "hit ratio of every VM divided by the tier that hit, by system",
        of_run=comparison.hit_ratio_by_tier,
    ),
    "hit-ratio-by-capacity": RunFigure(
        "Hit ratio by capacity",
        "hit ratio of all VMs over the last tier's capacity; several runs",
        of_runs=comparison.hit_ratio_by_capacity,
    ),
}

register_figures(FIGURES)

_logger = logging.getLogger(__name__)


def find(name: str) -> RunFigure:
    """Return the figure of a name.

    Raises
    ------
    ConfigError
        If there is none; it names the closest.
    """
    if name not in FIGURES:
        near = did_you_mean(name, list(FIGURES))
        raise ConfigError(f"unknown figure {name!r}{near}; there are {', '.join(FIGURES)}")
    return FIGURES[name]


def plot(name: str, runs: _Runs, style: Style = "screen", *, systems: _Names = None) -> Figure:
    """Plot one figure.

    Parameters
    ----------
    name : str
        A key of `FIGURES`.
    runs : Results or sequence of Results
        The runs to plot; several for figures over servers or capacities.
    style : {'screen', 'paper'}
        A paper's is a column wide, in 8 points, without title and run.
    systems : sequence of str, optional
        Titles of the systems to show; the best and Global LRU if absent.

    Raises
    ------
    ConfigError
        If there is no such figure or system.
    CannotDrawError
        If the results lack what it shows.
    """
    listed = _as_list(runs)
    with styled(style):
        return find(name).sheet(listed, systems).finish(listed)


def missing(runs: _Runs, systems: _Names = None) -> dict[str, str]:
    """Return why figures cannot be drawn of results, by name; empty for those that can.

    Parameters
    ----------
    runs : Results or sequence of Results
        As of `plot`.
    systems : sequence of str, optional
        As of `plot`.
    """
    reasons = {}
    for name, figure in FIGURES.items():
        reasons[name] = ""
        try:
            figure.sheet(_as_list(runs), systems)
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
    systems: _Names = None,
    on_skip: Callable[[str], None] = _logger.info,
) -> list[Path]:
    """Write figures to files.

    Parameters
    ----------
    runs : Results or sequence of Results
        The runs to draw; several only for figures over servers or capacities.
    names : iterable of str, optional
        Keys of `FIGURES`, which also name the files; all if absent.
    folder : path, optional
        Where to write; `figures` in the folder of the run if absent.
    formats : sequence of {'png', 'pdf', 'svg'}
        A file is written in each.
    style : {'screen', 'paper'}
        As of `plot`.
    systems : sequence of str, optional
        As of `plot`.
    on_skip : callable
        Called with a line for each figure that these results cannot feed.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ConfigError
        If there is no such figure or system, or several runs and no folder.
    MissingOutputError
        If a figure fails for another reason than its results; the others are drawn.
    """
    listed = _as_list(runs)
    if folder is None and len(listed) > 1:
        raise ConfigError("figures of several runs need a folder to go to")
    out = listed[0].path / "figures" if folder is None else Path(folder)
    wanted = dict.fromkeys(_applicable(listed) if names is None else names)
    figures = {name: find(name) for name in wanted}
    out.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    failed: list[str] = []
    for name, figure in figures.items():
        try:
            written += _write_one(figure, listed, out / name, formats, style, systems)
        except CannotDrawError as reason:
            on_skip(f"{name} ({figure.title}) is not drawn: {reason}")
        except (McsimError, MemoryError):
            raise
        except Exception as error:
            said = " ".join(str(error).split())[:300]
            failed.append(f"{name} ({figure.title}): {type(error).__name__}: {said}")
    if failed:
        raise MissingOutputError(f"figures are missing: {'; '.join(failed)}")
    return written


def _write_one(
    figure: RunFigure,
    runs: Sequence[Results],
    path: Path,
    formats: Sequence[FigureFormat],
    style: Style,
    systems: _Names,
) -> list[Path]:
    sheet = figure.sheet(runs, systems)
    written = []
    for ending in formats:
        with styled(style):
            plotted = sheet.finish(runs, captioned=ending == "png")
        written += save(plotted, path, sheet.title, subject_of(runs), [ending])
    return written


def _applicable(runs: Sequence[Results]) -> list[str]:
    return [name for name, figure in FIGURES.items() if len(runs) == 1 or figure.of_runs]


def _as_list(runs: _Runs) -> list[Results]:
    return [runs] if isinstance(runs, Results) else list(runs)
