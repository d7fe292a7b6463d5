"""`mcsim results show`, `page` and `plot`: what finished runs and sweeps came to."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import (
    folder_or_file,
    folder_to_write,
    formats_option,
    per_vm_option,
    stored_option,
    style_option,
    systems_option,
    table_option,
)
from mcsim.cli.terminal import print_result

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.cli.terminal import Form, Line
    from mcsim.config.spec import FigureFormat
    from mcsim.figures.style import Style
    from mcsim.results.results import Results
    from mcsim.sweeps.swept import Sweep


over_option = click.option(
    "--over",
    metavar="AXIS",
    help="Of a sweep: show means over this axis, such as workload.",
)


@click.command(cls=Sectioned, short_help="Show the summary and the tables of a run or a sweep.")
@click.argument("run")
@stored_option
@per_vm_option
@click.option("--config", "configuration", is_flag=True, help="Show the whole experiment instead.")
@click.option("--x", metavar="AXIS", help="Of a sweep: show a column over this axis.")
@click.option("--value", metavar="COLUMN", help="Of a sweep: this column.  [default: hit_ratio]")
@over_option
@table_option
def show(
    run: str,
    out: str,
    per_vm: bool,
    configuration: bool,
    x: str | None,
    value: str | None,
    over: str | None,
    form: Form,
) -> None:
    """Show the summary and the table of a finished RUN, as mcsim run did, or its experiment.

    The name of an experiment stands for its newest run. A SWEEP has a table with a row for each
    combination of values and system. The experiment has every default written out.

    \b
    mcsim results show tiny
    mcsim results show tiny --per-vm
    mcsim results show tiny --config
    mcsim results show web-sizes --x tiers.1.capacity --latex
    """  # noqa: D301
    from mcsim.results.files import yaml_of
    from mcsim.results.runs import open_run

    if (swept := sweep_named(run, out)) is not None:
        _refuse(f"of runs; {run} is a sweep", {"--per-vm": per_vm, "--config": configuration})
        show_sweep(swept, form, x=x, value=value, over=over)
        return
    _refuse(f"of sweeps; {run} is a run", {"--x": x, "--value": value, "--over": over})
    found = open_run(run, out, on_several=_say)
    if configuration:
        click.echo(yaml_of(found.spec.expanded()), nl=False)
    else:
        show_results(found, form, per_vm=per_vm)


@click.command(cls=Sectioned, short_help="Write a page of runs or of a sweep.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path())
@stored_option
@click.option(
    "-o",
    "--output",
    "file",
    metavar="DIR|FILE",
    type=click.Path(path_type=Path),
    callback=folder_or_file("page.html"),
    help="Where to write it; page.html in a folder.  [default: the folder of the run]",
)
@systems_option
def page(runs: tuple[str, ...], out: str, file: Path | None, systems: tuple[str, ...]) -> None:
    """Write a page: one HTML file that opens offline, with plots that zoom and tables that sort.

    Several runs come side by side on one page. RUN may also be a SWEEP.

    \b
    mcsim results page tiny
    mcsim results page tiny-2 tiny-7 -o both.html
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.report.make import report
    from mcsim.results.files import PAGE
    from mcsim.results.results import Results
    from mcsim.results.runs import folder_of

    if len(runs) == 1 and (swept := sweep_named(runs[0], out)) is not None:
        from mcsim.sweeps.page import write_page

        _refuse(f"of runs; {runs[0]} is a sweep", {"--systems": systems})
        file = file or swept.path / "page.html"
        write_page(swept.path, file)
    else:
        paths = [folder_of(run, out, on_several=_say) for run in runs]
        if file is None:
            if len(paths) > 1:
                raise ConfigError("-o: name the file of a page of several runs")
            found = Results.open(paths[0])
            if not found.path.is_dir():
                raise ConfigError(
                    f"-o: name a file; {found.path} is a cell of a sweep, without a folder"
                )
            file = found.path / PAGE
        report(*paths, html=file, systems=systems or None)
    click.echo(file)


@click.command(cls=Sectioned, short_help="Draw figures of runs or of a sweep.")
@click.argument("named", metavar="RUN...", nargs=-1, type=click.Path())
@stored_option
@click.option("--list", "listing", is_flag=True, help="List figures; with RUN, which can be drawn.")
@click.option(
    "--only", "names", metavar="NAME", multiple=True, help="Draw this figure; may be repeated."
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(),
    callback=folder_to_write,
    help="Folder of the figures.  [default: that of the run or sweep]",
)
@click.option("--x", metavar="AXIS", help="Of a sweep: the axis; the one of most values.")
@click.option("--y", metavar="AXIS", help="Of a sweep: a second axis, maps instead of lines.")
@click.option("--value", metavar="COLUMN", default=None, help="Of a sweep: what is shown.")
@over_option
@click.option("--vms", metavar="NAME,...", help="Of a sweep: a figure of each of these VMs.")
@systems_option
@formats_option(otherwise="as the experiment of the first run says")
@style_option("screen")
def plot(
    named: tuple[str, ...],
    out: str,
    listing: bool,
    names: tuple[str, ...],
    folder: str | None,
    x: str | None,
    y: str | None,
    value: str | None,
    over: str | None,
    vms: str | None,
    systems: tuple[str, ...],
    formats: tuple[FigureFormat, ...],
    style: Style,
) -> None:
    """Draw the figures of finished RUNs, or a SWEEP over an axis.

    \b
    mcsim results plot tiny
    mcsim results plot tiny --only latency --figure-format pdf --style paper
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.figures import missing
    from mcsim.results.results import Results
    from mcsim.results.runs import folder_of

    if len(named) == 1 and (swept := sweep_named(named[0], out)) is not None:
        of_runs = {"--list": listing, "--only": names, "--systems": systems}
        _refuse(f"of runs; {named[0]} is a sweep", of_runs)
        shown = {"x": x, "y": y, "value": value or "hit_ratio", "over": over}
        _plot_sweep(swept, shown, vms, folder, formats or ("png",), style)
        return
    _refuse(
        f"of sweeps; {', '.join(named) or 'nothing'} is no sweep",
        {"--x": x, "--y": y, "--value": value, "--over": over, "--vms": vms},
    )
    runs = [Results.open(folder_of(name, out, on_several=_say)) for name in named]
    if listing:
        _list_figures(missing(runs, systems or None) if runs else {})
        return
    if not runs:
        raise ConfigError("RUN: name a finished run, by its folder or id (or --list)")
    _plot_runs(runs, names, folder, systems, formats, style)


def _say(sentence: str) -> None:
    click.echo(sentence, err=True)


def _refuse(why: str, options: Mapping[str, object]) -> None:
    """Raise ConfigError for the first of some options that was given."""
    from mcsim.base.errors import ConfigError

    for option, given in options.items():
        if given not in (None, False, ()):
            raise ConfigError(f"{option}: {why}")


def _plot_runs(
    runs: list[Results],
    names: tuple[str, ...],
    folder: str | None,
    systems: tuple[str, ...],
    formats: tuple[FigureFormat, ...],
    style: Style,
) -> None:
    from mcsim.base.errors import ConfigError
    from mcsim.figures import draw, missing

    skipped: list[str] = []
    drawn = draw(
        runs,
        names or None,
        folder,
        formats=formats or runs[0].spec.figure_formats,
        style=style,
        systems=systems or None,
        on_skip=skipped.append,
    )
    for path in drawn:
        click.echo(path)
    if skipped and names:
        there = [name for name, reason in missing(runs, systems or None).items() if not reason]
        raise ConfigError(f"{'; '.join(skipped)}; there are {', '.join(there) or 'none'}")
    for why in skipped:
        click.echo(why, err=True)


def _plot_sweep(
    swept: Sweep,
    shown: Mapping[str, str | None],
    vms: str | None,
    folder: str | None,
    formats: tuple[FigureFormat, ...],
    style: Style,
) -> None:
    from mcsim.base.inputs import plain_name
    from mcsim.cli.reading import vms_named

    chosen: list[str | None] = [None]
    if vms is not None:
        names = swept.to_arrow()["vm"].unique().drop_null().to_pylist()
        chosen = list(vms_named("--vms", vms, names))
    into = swept.path / "figures" if folder is None else Path(folder)
    for vm in chosen:
        means = shown["over"] and f"over-{shown['over']}"
        given = [shown["value"], *filter(None, (shown["x"], shown["y"], means))]
        name = "-".join(filter(None, given)).replace(".", "_").replace("/", "_")
        path = into / (name if vm is None else f"{name}-{plain_name(vm)}")
        options: dict[str, Any] = {name: of for name, of in shown.items() if of is not None}
        for written in swept.draw(path, formats, style=style, vm=vm, **options):
            click.echo(written)


def _list_figures(reasons: Mapping[str, str]) -> None:
    """Print every figure's name and what it shows; of a run, also why it cannot be drawn."""
    from mcsim.figures import FIGURES

    width = max(map(len, FIGURES))
    for name, figure in FIGURES.items():
        why = f"  [cannot be drawn: {reasons[name]}]" if reasons.get(name) else ""
        click.echo(f"  {name:<{width}}  {figure.shows}{why}")


def sweep_named(name: str, out: str) -> Sweep | None:
    """Open a sweep by its name or folder; None if there is none, and the name is of a run."""
    from mcsim.sweeps.swept import Sweep, sweeps_in

    if (Path(name) / "plan.parquet").is_file():
        return Sweep.open(name)
    if os.sep in name:
        return None
    names = [sweep.path.name for sweep in sweeps_in(out)]
    is_run = Path(name).is_dir() or any(Path(out).glob(f"{glob.escape(name)}*/DONE"))
    is_sweep = name in names or (not is_run and any(of.startswith(name) for of in names))
    return Sweep.named(name, out) if is_sweep else None


def show_results(found: Results, form: Form = "text", *, per_vm: bool = False) -> None:
    """Print the summary and the table of a finished run; with `per_vm`, all tables."""
    from mcsim.results.views import hits_by_vm, overview, result_tables

    lines: list[Line] = [found.answer, "", overview(found)]
    if form == "text" and (by_vm := hits_by_vm(found)) is not None:
        lines += ["", by_vm]
    for table in result_tables(found) if per_vm else ():
        lines += ["", table]
    if form == "text":
        lines += ["", *_what_next(found, per_vm=per_vm)]
    print_result(form, *lines, data=lambda: _comparison(found), whole=lambda: _whole(found))


def show_sweep(
    swept: Sweep,
    form: Form = "text",
    *,
    x: str | None = None,
    value: str | None = None,
    over: str | None = None,
) -> None:
    """Print the summary and the table of a sweep, or a column over an axis."""
    from mcsim.sweeps.views import overview, pivot, pivot_data

    if x is not None or value is not None:
        shown = value or "hit_ratio"
        table = pivot(swept, x, shown, over)
        print_result(form, table, data=lambda: pivot_data(swept, x, shown, over))
        return
    rows = overview(swept, over)
    data = swept.to_arrow if over is None else rows.to_arrow
    print_result(form, rows.answer, "", rows, data=data)


def _comparison(found: Results) -> pa.Table:
    from mcsim.results.tables import comparison

    return comparison(found)


def _whole(found: Results) -> dict[str, Any]:
    from mcsim.results.data_paths import mode_warning
    from mcsim.results.tables import comparison, systems

    whole = systems(found).to_pylist()
    warning = mode_warning(whole)
    return {
        "run": found.run_id,
        "path": str(found.path),
        "answer": found.answer,
        "experiment": found.spec.expanded(),
        "environment": found.environment,
        "comparison": comparison(found).to_pylist(),
        "systems": whole,
        "warnings": [] if warning is None else [warning],
    }


def _what_next(found: Results, *, per_vm: bool) -> list[str]:
    """Return the folder of the results, and commands that show more."""
    from mcsim.results.files import PAGE

    run = found.run_id if found.path.parent == Path("results") else str(found.path)
    page = found.path / PAGE
    more = [] if per_vm else [f"Every VM and device: mcsim results show {run} --per-vm"]
    more.append(f"Page: {page}" if page.exists() else f"Page: mcsim results page {run}")
    return [f"Results in {found.path}", *more]
