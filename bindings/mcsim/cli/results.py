"""`mcsim results`: the runs of a folder listed, shown, compared, verified and removed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.formatted_table import FormattedTable
from mcsim.cli.options import Commands, stored_option, table_options
from mcsim.cli.show import page, plot, show
from mcsim.cli.terminal import Form, TextTable, print_json, print_result

if TYPE_CHECKING:
    from mcsim.results.differences import Difference
    from mcsim.results.results import Results
    from mcsim.sweeps.swept import Sweep

_DIFFERENT = 1  # exit code


@click.group(cls=Commands)
def results() -> None:
    """List, show, draw, compare, verify and remove runs.

    RUN is the id of a run, the beginning of one that no other run has, or the path of its folder.
    To show, page and plot, the name of an experiment stands for its newest run.
    SWEEP is the name of a sweep, or the path of its folder.
    """


for command in (show, page, plot):
    results.add_command(command)


_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@results.command("ls", short_help="List the runs and sweeps of a folder, or the cells of a sweep.")
@click.argument("sweep", required=False)
@stored_option
@table_options
def list_(sweep: str | None, out: str, form: Form) -> None:
    """List the runs of a folder, the newest last, and its sweeps; or the cells of a SWEEP.

    A run has one of five states: finished, under way (a process works on it), abandoned (it was
    killed), replaced (about to be removed) or damaged (files are missing). The next run of the
    same id continues an abandoned one. The last column has what a run has otherwise than others
    of its experiment.
    """
    from mcsim.results.differing_keys import differing_keys
    from mcsim.results.listing import list_runs
    from mcsim.sweeps.swept import Sweep, sweeps_in

    runs = list_runs(out)
    if sweep is not None:
        swept = Sweep.named(sweep, out)
        _list_cells(swept, form)
        return
    sweeps = sweeps_in(out)
    in_sweeps = {run: of.path.name for of in sweeps for run in of.plan["run_id"].to_pylist()}
    rows = [row | {"sweep": in_sweeps.get(row["run"])} for row in runs.to_pylist()]
    alone = [row for row in rows if row["sweep"] is None]
    differing = dict(zip((row["path"] for row in alone), differing_keys(alone), strict=True))
    if form in ("json", "csv"):
        names = [None if row["sweep"] is None else str(row["sweep"]) for row in rows]
        runs = runs.append_column("sweep", _strings(names))
        texts = [differing.get(row["path"]) for row in rows]
        print_result(form, data=lambda: runs.append_column("differs_in", _strings(texts)))
        return
    lines: list[str | TextTable] = []
    if alone:
        headings = ["run", "started", "state", "systems", "VMs", "workload", "size"]
        is_told = any(differing.values())
        table = TextTable(headings + ["differs in"] * is_told, left=6, last=is_told)
        for row in alone:
            table.add_row(*_listed(row), *[differing[row["path"]] or "–"] * is_told)
        lines.append(table.formatted().to_text() if form == "" else table)
    if sweeps:
        cells = TextTable(["sweep", "finished", "cells", "axes"], left=1, last=True)
        for of in sweeps:
            done = of.finished()
            cells.add_row(of.path.name, f"{sum(done):,}", f"{len(done):,}", ", ".join(of.axes))
        lines.append(cells.formatted().to_text() if form == "" else cells)
    print_result(form, *(lines or [f"no runs in {out}"]), data=lambda: runs)


def _list_cells(swept: Sweep, form: Form) -> None:
    """Print the cells of a sweep with the values of their axes."""
    import pyarrow as pa

    done = swept.finished()
    table = TextTable(["cell", "run", "state", *swept.axes], left=len(swept.axes) + 3)
    for row, is_finished in zip(swept.plan.to_pylist(), done, strict=True):
        values = (str(row[axis]) for axis in swept.axes)
        state = "finished" if is_finished else "missing"
        table.add_row(str(row["cell"]), row["run_id"], state, *values)
    print_result(
        form, table, data=lambda: swept.plan.append_column("finished", pa.array(done, pa.bool_()))
    )


def _strings(values: Sequence[str | None]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


def _listed(row: Mapping[str, Any]) -> tuple[str, ...]:
    from mcsim.base.units import format_size

    return (
        row["run"],
        "–" if row["started"] is None else f"{row['started'].astimezone():%Y-%m-%d %H:%M}",
        row["state"],
        _first_of(row["systems"]),
        _first_of(row["vms"]),
        row["workload"] or "–",
        format_size(row["bytes"]),
    )


def _first_of(names: Sequence[str] | None, most: int = 3) -> str:
    if names is None:
        return "–"
    more = f" +{len(names) - most:,}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@results.command(short_help="Compare two runs.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@stored_option
@_json_option
def diff(a: str, b: str, out: str, as_json: bool) -> None:
    """Compare the configurations and the results of runs A and B.

    Exit code 0: no differences. 1: differences. 2: the runs cannot be compared.
    """
    from mcsim.results.differences import difference
    from mcsim.results.runs import open_run

    left, right = open_run(a, out), open_run(b, out)
    found = difference(left, right)
    if as_json:
        print_json(_as_mapping(left, right, found))
    else:
        _show_difference(left, right, found)
    if found:
        sys.exit(_DIFFERENT)


def _as_mapping(a: Results, b: Results, found: Difference) -> dict[str, Any]:
    return {
        "a": str(a.path),
        "b": str(b.path),
        "different": bool(found),
        "configuration": {each.key: [each.a, each.b] for each in found.configuration},
        "builds": found.builds,
        "tables": found.tables,
        "results": found.results,
        "warnings": found.warnings,
    }


def _show_difference(a: Results, b: Results, found: Difference) -> None:
    click.echo(f"A  {a.path}\nB  {b.path}\n")
    if found.configuration:
        click.echo("configuration")
        changes = [(each.key, _value(each.a), _value(each.b)) for each in found.configuration]
        click.echo(FormattedTable(["", "A", "B"], changes, [False] * 3).to_text())
    else:
        click.echo("configuration: the same")
    if found.builds[0] != found.builds[1]:
        click.echo(f"made by other builds of mcsim: {found.builds[0]} and {found.builds[1]}")
    click.echo()
    _show_results(found)


def _show_results(found: Difference) -> None:
    if set(found.tables.values()) == {"equal bytes"}:
        click.echo("results: equal bytes")
        return
    named: dict[str, list[str]] = {}
    for name, sameness in found.tables.items():
        named.setdefault(sameness, []).append(name)
    click.echo("results")
    for how, names in named.items():
        click.echo(f"{how}: {', '.join(names)}")
    if not found.results:
        click.echo("hit ratios and latencies of the whole run are the same")
        return
    numbers = ("hit % A", "hit % B", "points", "latency A", "latency B", "B / A")
    fields = found.differing_fields()
    paths = [f"{head} {run}" for head in fields.values() for run in "AB"]
    rows = [_compared(row, list(fields)) for row in found.results]
    headings = ["system", "VM", *paths, *numbers]
    right = [heading in numbers for heading in headings]
    click.echo(FormattedTable(headings, rows, right).to_text())
    for warning in found.warnings:
        click.echo(warning)


def _compared(row: Mapping[str, Any], fields: Sequence[str]) -> tuple[str, ...]:
    from mcsim.base.result_columns import column_of

    percent = column_of("comparison", "hit_ratio").format
    latency = column_of("comparison", "mean_latency_ns").format
    (hit_a, hit_b), (ns_a, ns_b) = row["hit_ratio"], row["mean_latency_ns"]
    both = hit_a is not None and hit_b is not None
    return (
        row["system"],
        row["vm"] or "all",
        *(_value(value) for name in fields for value in row[name]),
        percent(hit_a),
        percent(hit_b),
        f"{100 * (hit_b - hit_a):+.2f}" if both else "–",
        latency(ns_a),
        latency(ns_b),
        f"{ns_b / ns_a:.3f}" if ns_a and ns_b else "–",
    )


def _value(value: Any) -> str:
    return "–" if value is None else str(value)


@results.command("rm", short_help="Remove runs.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@stored_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def remove_(runs: tuple[str, ...], out: str, yes: bool) -> None:
    """Remove runs, finished or abandoned; those under way are refused, and then none is removed."""
    from mcsim.base.units import format_size
    from mcsim.results.runs import removable, remove

    asked = {each.path: each for run in runs for each in removable(run, out)}
    for path, each in asked.items():
        click.echo(f"{path}  {f'{each.count:,} runs' if each.is_pack else each.state}")
    count = sum(each.count for each in asked.values())
    what = "this run" if count == 1 else f"these {count:,} runs"
    if not yes and not click.confirm(f"Remove {what}?"):
        click.echo("nothing is removed")
        return
    freed = sum(remove(path) for path in asked if path.exists())
    click.echo(f"{format_size(freed)} freed")


@results.command(short_help="Remove abandoned and replaced runs.")
@stored_option
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@_json_option
def gc(out: str, dry_run: bool, as_json: bool) -> None:
    """Remove abandoned and replaced runs, which no process works on.

    An abandoned run contains its finished systems. Unless removed, it is continued by the next run
    of the same id.
    """
    from mcsim.base.units import format_size
    from mcsim.results.runs import collect

    freed = collect(out, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "freed": {str(path): n for path, n in freed.items()}})
        return
    for path, size in freed.items():
        click.echo(f"{path}  {format_size(size)}")
    verb = "would be freed" if dry_run else "freed"
    click.echo(f"{format_size(sum(freed.values()))} {verb}" if freed else "nothing to remove")


@results.command(short_help="Verify the checksum of every file.")
@click.argument("runs", metavar="[RUN...]", nargs=-1)
@stored_option
@_json_option
def verify(runs: tuple[str, ...], out: str, as_json: bool) -> None:
    """Verify the checksum of every file of finished RUNs, by default of all in the folder.

    Exit code 1 means that a file is not as the run wrote it. Timings, logs and figures have no
    checksum.
    """
    from mcsim.results.runs import verify as hold

    count, wrong = hold(out, runs)
    if as_json:
        unsound = {str(path): names for path, names in wrong.items()}
        print_json({"verified": count, "unsound": unsound})
    else:
        for path, names in wrong.items():
            click.echo(f"{path}: not what was written, or gone: {', '.join(names)}")
        sound = count - len(wrong)
        click.echo(f"{sound:,} of {count:,} folders and packs of runs are as they were written")
        if wrong:
            click.echo("remove them and run those experiments again")
    if wrong:
        sys.exit(_DIFFERENT)
