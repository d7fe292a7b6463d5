"""`mcsim results`: the runs of a folder listed, shown, compared, verified and removed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Commands
from mcsim.cli.options import stored_option, table_option
from mcsim.cli.show import page, plot, show, sweep_named
from mcsim.cli.terminal import Form, Line, print_result
from mcsim.tables.column import column
from mcsim.tables.result_columns import TABLES

if TYPE_CHECKING:
    from mcsim.results.differences import Difference
    from mcsim.results.results import Results
    from mcsim.results.stored import Run
    from mcsim.sweeps.swept import Sweep
    from mcsim.tables.result_table import ResultTable

_DIFFERENT = 1  # exit code


@click.group(cls=Commands)
def results() -> None:
    """List, show, draw, compare, verify and remove runs.

    RUN is the id of a run, the beginning of one that no other run has, or the path of its folder.
    To show, page and plot, the name of an experiment stands for its newest run.
    SWEEP is the name of a sweep, or the path of its folder; it may stand for a RUN, but not for A
    or B of diff.
    """


for command in (show, page, plot):
    results.add_command(command)


@results.command("ls", short_help="List the runs and sweeps of a folder, or the cells of a sweep.")
@click.argument("sweep", required=False)
@stored_option
@table_option
def list_(sweep: str | None, out: str, form: Form) -> None:
    """List the runs of a folder, the newest last, and its sweeps; or the cells of a SWEEP.

    A run has one of four states: finished, under way (a process works on it), abandoned (it was
    killed) or damaged (files are missing). The next run of the
    same id continues an abandoned one. The last column has what a run has otherwise than others
    of its experiment.
    """
    import pyarrow as pa

    from mcsim.results.listing import differing_keys, list_runs
    from mcsim.sweeps.swept import Sweep, sweeps_in
    from mcsim.tables.result_table import ResultTable

    runs = list_runs(out)
    if sweep is not None:
        _list_cells(Sweep.named(sweep, out), form)
        return
    sweeps = sweeps_in(out)
    in_sweeps = {run: of.path.name for of in sweeps for run in of.plan["run_id"].to_pylist()}
    names = [in_sweeps.get(run) for run in runs["run"].to_pylist()]
    alone = [row for row, name in zip(runs.to_pylist(), names, strict=True) if name is None]
    differing = dict(zip((row["path"] for row in alone), differing_keys(alone), strict=True))
    texts = [differing.get(path) for path in runs["path"].to_pylist()]
    runs = runs.append_column("sweep", pa.array(names, pa.string()))
    runs = runs.append_column("differs_in", pa.array(texts, pa.string()))
    is_alone = pa.array([name is None for name in names], pa.bool_())
    shown = ResultTable(runs.filter(is_alone), "runs")
    cells = [(of.path.name, sum(of.finished()), len(of.plan), ", ".join(of.axes)) for of in sweeps]
    tables = [shown, ResultTable.of_rows(TABLES["sweeps"], cells, "sweeps")]
    lines: list[Line] = [table for table in tables if len(table)]
    lines = lines or [f"no runs in {out}"]
    print_result(form, *lines, data=lambda: runs, listing=True)


def _list_cells(swept: Sweep, form: Form) -> None:
    """Print the cells of a sweep with the values of their axes."""
    import pyarrow as pa

    from mcsim.tables.result_table import ResultTable

    done = swept.finished()
    states = ["finished" if is_finished else "missing" for is_finished in done]
    rows = [
        (row["cell"], row["run_id"], state, *(str(row[axis]) for axis in swept.axes))
        for row, state in zip(swept.plan.to_pylist(), states, strict=True)
    ]
    headings = ("cell", "run", "state", *swept.axes)
    table = ResultTable.of_rows([column(heading, "text") for heading in headings], rows)
    print_result(
        form, table, data=lambda: swept.plan.append_column("finished", pa.array(done, pa.bool_()))
    )


@results.command(short_help="Compare two runs.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@stored_option
@table_option
def diff(a: str, b: str, out: str, form: Form) -> None:
    """Compare the configurations and the results of runs A and B.

    Exit code 0: no differences. 1: differences. 2: the runs cannot be compared.
    """
    from mcsim.results.differences import difference
    from mcsim.results.runs import open_run

    left, right = open_run(a, out), open_run(b, out)
    found = difference(left, right)
    table = _compared(found)
    print_result(
        form,
        *_lines_of(left, right, found, table),
        data=table.to_arrow,
        whole=lambda: _as_mapping(left, right, found),
        listing=True,
    )
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


def _lines_of(a: Results, b: Results, found: Difference, table: ResultTable) -> Iterator[Line]:
    """Yield the differences for people."""
    from mcsim.tables.result_table import ResultTable

    yield f"A  {a.path}\nB  {b.path}\n"
    if found.configuration:
        yield "configuration"
        changes = [(each.key, _value(each.a), _value(each.b)) for each in found.configuration]
        heads = [
            column(head, "text", name=name) for head, name in zip(("", *"AB"), "kab", strict=True)
        ]
        yield ResultTable.of_rows(heads, changes)
    else:
        yield "configuration: the same"
    if found.builds[0] != found.builds[1]:
        yield f"made by other builds of mcsim: {found.builds[0]} and {found.builds[1]}"
    yield ""
    if set(found.tables.values()) == {"equal bytes"}:
        yield "results: equal bytes"
        return
    named: dict[str, list[str]] = {}
    for name, sameness in found.tables.items():
        named.setdefault(sameness, []).append(name)
    yield "results"
    yield from (f"{how}: {', '.join(names)}" for how, names in named.items())
    if not found.results:
        yield "hit ratios and latencies of the whole run are the same"
        return
    yield table
    yield from found.warnings


def _compared(found: Difference) -> ResultTable:
    """Return hit ratios and latencies of both runs."""
    from mcsim.tables.result_table import ResultTable

    fields = found.differing_fields()
    rows = []
    for row in found.results:
        (hit_a, hit_b), (ns_a, ns_b) = row["hit_ratio"], row["mean_latency_ns"]
        both = hit_a is not None and hit_b is not None
        rows.append(
            (
                row["system"],
                row["vm"],
                *(_value(value) for name in fields for value in row[name]),
                *(hit_a, hit_b, hit_b - hit_a if both else None),
                *(ns_a, ns_b, ns_b / ns_a if ns_a and ns_b else None),
            )
        )
    columns = [
        *(column("system", "text"), column("VM", "text", name="vm")),
        *(column(f"{head} {run}", "text") for head in fields.values() for run in "AB"),
        *(column(f"hit % {run}", "share", name=f"hit_ratio_{run.lower()}") for run in "AB"),
        column("points", "points"),
        *(column(f"latency {run}", "ns", name=f"mean_latency_ns_{run.lower()}") for run in "AB"),
        column("B / A", "index", name="latency_ratio"),
    ]
    return ResultTable.of_rows(columns, rows)


def _value(value: Any) -> str:
    return "–" if value is None else str(value)


@results.command("rm", short_help="Remove runs and sweeps.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@stored_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def remove_(runs: tuple[str, ...], out: str, yes: bool) -> None:
    """Remove runs, finished or abandoned; those under way are refused, and then none is removed.

    A SWEEP goes with its plan, tables, page and figures. Its runs that are also cells of another
    sweep, or share a folder with other runs, are kept.
    """
    from mcsim.base.units import format_size
    from mcsim.results.runs import remove
    from mcsim.sweeps.removal import remove_plan

    sweeps, asked = _removable(runs, out)
    for path, each in asked.items():
        click.echo(f"{path}  {f'{each.count:,} runs' if each.kind == 'pack' else each.state}")
    for swept in sweeps:
        click.echo(f"{swept.path}  sweep of {len(swept.plan):,} cells")
    counts = {"run": sum(each.count for each in asked.values()), "sweep": len(sweeps)}
    what = [
        f"this {noun}" if count == 1 else f"these {count:,} {noun}s"
        for noun, count in counts.items()
        if count
    ]
    if not yes and not click.confirm(f"Remove {' and '.join(what)}?"):
        click.echo("nothing is removed")
        return
    freed = sum(remove(path) for path in asked if path.exists())
    for swept in sweeps:
        of_plan, kept = remove_plan(swept)
        freed += of_plan
        for path in kept:
            click.echo(f"{path}: kept: not of mcsim", err=True)
    click.echo(f"{format_size(freed)} freed")


def _removable(named: tuple[str, ...], out: str) -> tuple[list[Sweep], dict[Path, Run]]:
    """Return the sweeps that are named, and folders of runs to remove; print what is kept."""
    from mcsim.results.runs import removable
    from mcsim.sweeps.removal import folders_of

    sweeps: dict[Path, Sweep] = {}
    asked: dict[Path, Run] = {}
    for name in named:
        swept = sweep_named(name, out)
        if swept is None:
            asked |= {each.path: each for each in removable(name, out)}
            continue
        sweeps[swept.path] = swept
        for run, is_own in folders_of(swept).items():
            if is_own:
                asked |= {each.path: each for each in removable(run.path)}
            else:
                click.echo(f"{run.path}: kept: it is also of other sweeps or runs", err=True)
    return list(sweeps.values()), asked


@results.command(short_help="Remove abandoned runs.")
@stored_option
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@table_option
def gc(out: str, dry_run: bool, form: Form) -> None:
    """Remove abandoned runs, which no process works on.

    An abandoned run contains its finished systems. Unless removed, it is continued by the next run
    of the same id.
    """
    from mcsim.base.units import format_size
    from mcsim.results.runs import collect
    from mcsim.tables.result_table import ResultTable

    freed = {str(path): size for path, size in collect(out, dry_run=dry_run).items()}
    verb = "would be freed" if dry_run else "freed"
    table = ResultTable.of_rows(TABLES["freed"], list(freed.items()))
    print_result(
        form,
        *([table] if freed else []),
        f"{format_size(sum(freed.values()))} {verb}" if freed else "nothing to remove",
        data=table.to_arrow,
        whole=lambda: {"dry_run": dry_run, "freed": freed},
        listing=True,
    )


@results.command(short_help="Verify the checksum of every file.")
@click.argument("runs", metavar="[RUN...]", nargs=-1)
@stored_option
@table_option
def verify(runs: tuple[str, ...], out: str, form: Form) -> None:
    """Verify the checksum of every file of finished RUNs or of a SWEEP, by default of all.

    Exit code 1 means that a file is not as the run wrote it. Timings, logs and figures have no
    checksum.
    """
    from mcsim.base.errors import ConfigError
    from mcsim.results.runs import verify as hold
    from mcsim.sweeps.removal import finished_in
    from mcsim.tables.result_table import ResultTable

    asked: list[str | Path] = []
    for run in runs:
        swept = sweep_named(run, out)
        asked += [run] if swept is None else finished_in(swept)
    if runs and not asked:
        raise ConfigError(f"{runs[0]}: no cell of this sweep is finished")
    count, wrong = hold(out, asked)
    unsound = {str(path): names for path, names in wrong.items()}
    faults = [
        (path, f"not what was written, or gone: {', '.join(names)}")
        for path, names in unsound.items()
    ]
    print_result(
        form,
        *(f"{path}: {fault}" for path, fault in faults),
        f"{count - len(wrong):,} of {count:,} folders and packs of runs are as they were written",
        *(["remove them and run those experiments again"] if wrong else []),
        data=ResultTable.of_rows(TABLES["faults"], faults).to_arrow,
        whole=lambda: {"verified": count, "unsound": unsound},
    )
    if wrong:
        sys.exit(_DIFFERENT)
