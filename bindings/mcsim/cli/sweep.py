"""`mcsim sweep`: an experiment at every point of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import (
    code_options,
    dask_option,
    overrides_option,
    quiet_option,
    reporter_asked,
    results_option,
    shard_option,
    trace_dirs_option,
)

if TYPE_CHECKING:
    from mcsim.experiment.code import Permission
    from mcsim.sweeps.swept import Sweep


class _FileOrCommand(click.Group):
    """A group in which any other word is a file to run: `mcsim sweep FILE`."""

    command_class = Sectioned

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or self.commands["run"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_FileOrCommand)
def sweep() -> None:
    """Run an experiment at every point of a grid, and join the results.

    `mcsim sweep FILE` runs the unfinished cells of an experiment with axes: a file, or the name of
    one that mcsim has. An axis under `sweep:` is a path such as `tiers.0.capacity` and its values,
    `[1GiB, 2GiB]` or `log(1MiB, 1TiB, 12)`.
    For options, run `mcsim sweep run --help`.
    """


set_option = overrides_option("As of mcsim run.")


@sweep.command()
@click.argument("file", type=click.Path())
@set_option
@code_options
@trace_dirs_option()
@results_option
@click.option("--dry-run", is_flag=True, help="Only say what there is to run and what it takes.")
@click.option(
    "--cells",
    metavar="AXIS=VALUE|A-B,C",
    multiple=True,
    help="Run the cells with this value, or with these numbers; may be repeated.",
)
@shard_option
@click.option(
    "--threads", metavar="N", type=click.IntRange(min=1), help="Cells at a time; all cores."
)
@click.option(
    "--memory",
    metavar="SIZE",
    hidden=True,
    help="Run no more at a time than fit; what is free.",
)
@dask_option
@quiet_option
def run(
    code: Permission,
    cells: tuple[str, ...],
    **options: Any,
) -> None:
    """Run the cells of FILE that are not finished."""
    from mcsim.cli.reading import in_words_of_the_shell
    from mcsim.sweeps.selection import values_by_axis

    only = values_by_axis(text for text in cells if "=" in text)
    numbers = ",".join(text for text in cells if "=" not in text)
    with in_words_of_the_shell({"only, cells: ": "--cells: ", "only: ": "--cells: "}):
        _run(allow_code=code, only=only, cells=numbers or None, **options)


def _run(
    file: str,
    *,
    dry_run: bool,
    threads: int | None,
    memory: str | None,
    scheduler: str | None,
    **options: Any,
) -> None:
    from mcsim.base.errors import ConfigError
    from mcsim.base.threads import threads_given
    from mcsim.sweeps.dask import dask_executor
    from mcsim.sweeps.sweep import affordable, bytes_given, look, sweep

    if scheduler is not None and (threads is not None or memory is not None or dry_run):
        raise ConfigError("--threads, --memory and --dry-run are of this machine: not with --dask")
    reporter = reporter_asked()
    if dry_run:
        planned = look(file, reporter=reporter, **options)
        click.echo(planned.text())
        if planned.missing:
            _, told = affordable(planned, threads_given(threads), bytes_given(memory))
            click.echo(told)
        return
    if scheduler is None:
        made = sweep(file, threads=threads, memory=memory, reporter=reporter, **options)
    else:
        with dask_executor(scheduler) as (executor, workers):
            made = sweep(file, threads=workers, executor=executor, reporter=reporter, **options)
    _tell(made)


def _tell(made: Sweep) -> None:
    """Write and show the joined table; print only the number of finished cells if some are not."""
    from mcsim.cli.show import show_sweep
    from mcsim.results.data_paths import mode_warning

    done = made.finished()
    if not all(done):
        click.echo(f"{sum(done)} of {len(done)} cells finished")
        return
    table = made.write_tables()
    show_sweep(made)
    warning = mode_warning(table.select(["system", "writes"]).to_pylist())
    if warning is not None and not any(axis.rpartition(".")[2] == "writes" for axis in made.axes):
        click.echo(warning)
    name = made.path.name if made.path.parent == Path("results/sweeps") else made.path
    click.echo(f"\n{len(done)} cells, {len(table)} rows: {made.path / 'table.parquet'}, table.csv")
    click.echo(f"Page: mcsim results page {name}\nFigures: mcsim results plot {name}")


@sweep.command()
@click.argument("file", type=click.Path(), required=False)
@set_option
@results_option
def status(file: str | None, overrides: tuple[str, ...], out: str) -> None:
    """Print how many cells of FILE, or of every sweep, are finished."""
    from mcsim.sweeps.swept import Sweep

    if file is not None:
        made = _planned(file, overrides, out)
        done = made.finished()
        click.echo(f"{made.path.name}: {sum(done)} of {len(done)} cells finished")
        if not all(done):
            numbers = made.plan["cell"].to_pylist()
            missing = [cell for cell, has in zip(numbers, done, strict=True) if not has]
            click.echo(f"missing: {_ranges(missing)}")
        return
    folders = sorted((Path(out) / "sweeps").glob("*/plan.parquet"))
    for plan in folders:
        done = Sweep.open(plan.parent).finished()
        click.echo(f"{plan.parent.name}: {sum(done)} of {len(done)} cells finished")
    if not folders:
        click.echo(f"no sweeps in {out}")


def _planned(file: str, overrides: tuple[str, ...], out: str) -> Sweep:
    """Open the sweep of a file, without planning it anew."""
    from mcsim.base.errors import ConfigError
    from mcsim.sweeps.plan import folder_of, read_grid
    from mcsim.sweeps.swept import Sweep

    grid, _ = read_grid(file, None, overrides)
    folder = folder_of(grid, Path(out))
    if not folder.is_dir():
        raise ConfigError(f"{file}: this sweep was not begun in {out}: mcsim sweep {file}")
    return Sweep.open(folder)


def _ranges(numbers: Sequence[int], most: int = 20) -> str:
    """Write numbers as `--cells` takes them."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ",".join(f"{a}-{b}" if b > a else str(a) for a, b in runs[:most])
    return text + (f" and {len(runs) - most} more ranges" if len(runs) > most else "")
