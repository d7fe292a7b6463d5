"""Pages of runs: one by itself, or several side by side."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError
from mcsim.base.files import write_whole
from mcsim.figures import FIGURES, drawing
from mcsim.report.page import Block, Page, Picture, Section, render
from mcsim.report.run_charts import charts_of, occupancy_charts, vm_charts
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
from mcsim.report.several import compared
from mcsim.report.svg import lean
from mcsim.results.results import Results
from mcsim.results.version import check_versions

__all__ = ["report"]


def report(
    *runs: Results | str | os.PathLike[str],
    html: str | os.PathLike[str] | None = None,
    figures: bool = True,
) -> str:
    """Make a page of a run, or of several side by side: one file that opens offline.

    Parameters
    ----------
    *runs : Results or path
        Finished runs, or their folders.
    html : path, optional
        Where to write the page; nowhere if not given.
    figures : bool
        Whether the page has the figures for print, too.

    Returns
    -------
    str
        The page. The same runs give the same.

    Raises
    ------
    ConfigError
        If there is no run, one is not finished, runs have different versions of results, or the
        packages that pages need are absent.
    """
    if not runs:
        raise ConfigError("name a finished run, or several")
    target = None if html is None else file_given("html", html)
    opened = [run if isinstance(run, Results) else Results.open(run) for run in runs]
    check_versions(opened)
    drawn: list[Block] = []
    with _drawing(opened, None if figures else ()) as finish:
        page = _of_run(opened[0], drawn) if len(opened) == 1 else _of_runs(opened, drawn)
        drawn += finish()
    text = render(page)
    if target is not None:
        write_whole(target, text)
    return text


def _of_run(results: Results, drawn: Sequence[Block]) -> Page:
    sections = [
        Section("Answer", [*synthetic_note(results), *answer_note(results)]),
        Section("Workload", workload(results)),
        Section("Systems", [systems_table(results)]),
        Section("What came out", [*mode_note(results), *charts_of(results)]),
    ]
    if by_vm := list(vm_charts(results)):
        sections.append(Section("Hit ratio over time, VM by VM", by_vm, folded=True))
    if occupancy := list(occupancy_charts(results)):
        sections.append(Section("Occupancy", occupancy))
    sections.append(Section("Tables", run_tables(results)))
    sections.append(Section("Configuration", [configuration(results)]))
    sections.append(Section("Digests and versions", origins(results), folded=True))
    sections.append(Section("Figures for print", drawn, folded=True))
    return Page(results.title, question(results), sections)


def _of_runs(runs: Sequence[Results], drawn: Sequence[Block]) -> Page:
    sections = [Section("Side by side", compared(runs))]
    for run in runs:
        blocks: list[Block] = [*synthetic_note(run), *workload(run), systems_table(run)]
        blocks += [
            *mode_note(run),
            *charts_of(run),
            *run_tables(run),
            configuration(run),
            *origins(run),
        ]
        sections.append(Section(run.run_id, blocks, folded=True))
    sections.append(Section("Figures for print", drawn, folded=True))
    names = ", ".join(dict.fromkeys(run.title for run in runs))
    lead = " ".join(dict.fromkeys(question(run) for run in runs))
    return Page(f"{len(runs)} runs: {names}", lead, sections)


@contextmanager
def _drawing(
    runs: Sequence[Results], names: Sequence[str] | None
) -> Iterator[Callable[[], Sequence[Block]]]:
    """Begin figures of runs, for print, in other processes; give what waits for them."""
    options: dict[str, Any] = {"formats": ("svg",), "processes": len(os.sched_getaffinity(0))}
    with (
        tempfile.TemporaryDirectory() as folder,
        drawing(runs, names, folder, **options) as finish,
    ):
        yield lambda: [
            Picture(FIGURES[path.stem].title, "image/svg+xml", lean(path.read_text("utf-8")))
            for path in finish()
        ]
