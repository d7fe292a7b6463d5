"""Pages of runs, one or several side by side, and their charts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError
from mcsim.base.files import write_whole
from mcsim.figures import MOST_VMS
from mcsim.figures.chart import Chart
from mcsim.figures.choice import chosen
from mcsim.figures.comparison import hit_ratio_by_vm, latency_by_vm, tier_chart
from mcsim.figures.curves import hit_ratio_curves
from mcsim.figures.timeline import (
    baseline_occupancy,
    occupancy_over_time,
    over_time,
    reuse_intensity,
)
from mcsim.report.page import Block, Page, Section, render
from mcsim.report.run_parts import (
    answer_note,
    configuration,
    mode_note,
    origins,
    question,
    run_tables,
    synthetic_note,
    systems_table,
    workload,
)
from mcsim.report.several import compared, labels_of
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, vms_of
from mcsim.results.version import check_versions


def report(
    *runs: Results | str | os.PathLike[str],
    html: str | os.PathLike[str] | None = None,
    systems: Sequence[str] | None = None,
) -> str:
    """Render a page of a run, or of several side by side: one HTML file that opens offline.

    Parameters
    ----------
    *runs : Results or path
        Finished runs, or their folders.
    html : path, optional
        Path of the page. If absent, no file is written.
    systems : sequence of str, optional
        Titles of the systems that charts show; the best and Global LRU if absent.

    Returns
    -------
    str
        The page, which depends on the runs alone.

    Raises
    ------
    ConfigError
        If no run is given, or one is unfinished. If a system is unknown. If runs have different
        versions of results, or a package that pages need is missing.
    """
    if not runs:
        raise ConfigError("name a finished run, or several")
    target = None if html is None else file_given("html", html)
    opened = [run if isinstance(run, Results) else Results.open(run) for run in runs]
    check_versions(opened)
    text = render(_of_run(opened[0], systems) if len(opened) == 1 else _of_runs(opened, systems))
    if target is not None:
        write_whole(target, text)
    return text


def _of_run(results: Results, systems: Sequence[str] | None) -> Page:
    charts = charts_of(results, systems)
    sections = [
        Section("Answer", [*synthetic_note(results), *answer_note(results)]),
        Section("Workload", workload(results)),
        Section("Systems", [systems_table(results)]),
        Section("What came out", [*mode_note(results), *charts]),
    ]
    if by_vm := list(vm_charts(results, systems)):
        sections.append(Section("Over time, VM by VM", by_vm, folded=True))
    if occupancy := occupancy_charts(results, systems):
        sections.append(Section("Occupancy", occupancy))
    sections.append(Section("Tables", run_tables(results)))
    sections.append(Section("Configuration", [configuration(results)]))
    sections.append(Section("Digests and versions", origins(results), folded=True))
    return Page(results.title, question(results), sections)


def _of_runs(runs: Sequence[Results], systems: Sequence[str] | None) -> Page:
    sections = [Section("Side by side", compared(runs, systems))]
    for run, label in zip(runs, labels_of(runs), strict=True):
        blocks: list[Block] = [*synthetic_note(run), *workload(run), systems_table(run)]
        blocks += [
            *mode_note(run),
            *charts_of(run, systems),
            *run_tables(run),
            configuration(run),
            *origins(run),
        ]
        sections.append(Section(label, blocks, folded=True))
    names = ", ".join(dict.fromkeys(run.title for run in runs))
    lead = " ".join(dict.fromkeys(question(run) for run in runs))
    return Page(f"{len(runs)} runs: {names}", lead, sections)


_Names = Sequence[str] | None


def charts_of(results: Results, systems: _Names = None) -> list[Chart]:
    """Return the charts of a run as a whole."""
    few = len(vms_of(results)) <= MOST_VMS
    shown, _ = chosen(results, systems)
    charts = [
        *hit_ratio_by_vm([results], systems, by_vm=few).charts,
        *latency_by_vm(results, systems, by_vm=few).charts,
        tier_chart(results, systems),
        over_time(results, shown),
    ]
    if few:
        charts += hit_ratio_curves(results).charts
    return charts


def vm_charts(results: Results, systems: _Names = None) -> Iterator[Chart]:
    """Yield hit ratio and reuse intensity over time of each VM, if there are not too many."""
    vms = vms_of(results)
    if len(vms) > MOST_VMS:
        return
    shown, _ = chosen(results, systems)
    if len(vms) > 1:
        for v in range(len(vms)):
            yield over_time(results, shown, v)
    with contextlib.suppress(CannotDrawError):
        yield from reuse_intensity(results).charts


def occupancy_charts(results: Results, systems: _Names = None) -> list[Chart]:
    """Return what VMs hold of each tier, under the baseline and the best system."""
    if len(vms_of(results)) > MOST_VMS:
        return []
    if systems:
        return list(occupancy_over_time(results, systems).charts)
    charts: dict[str, Chart] = {}
    for sheet_of in (occupancy_over_time, baseline_occupancy):
        with contextlib.suppress(CannotDrawError):
            charts |= {chart.title: chart for chart in sheet_of(results).charts}
    return list(charts.values())
