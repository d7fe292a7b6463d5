"""`mcsim sweep`: an experiment at every point of a grid."""

from __future__ import annotations

from pathlib import Path

import click

from mcsim.cli.options import folder_to_write, quiet_option, reporter_asked
from mcsim.cli.terminal import terminal

__all__ = ["sweep"]


class _FileOrCommand(click.Group):
    """A group in which what is no command is a file to run: `mcsim sweep FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_FileOrCommand)
def sweep() -> None:
    r"""Run an experiment at every point of a grid, and join the results.

    FILE is an experiment with axes:

    \b
        sweep:
          tiers.0.capacity_blocks: log(64MiB, 1GiB, 5)
          seed: 5 seeds

    \b
        mcsim sweep FILE             runs the cells that are not there yet
        mcsim sweep status [FILE]    says how far it is
    """


@sweep.command()
@click.argument("file", type=click.Path())
@click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help="As of mcsim run.")
@click.option("--allow-code", is_flag=True, help="As of mcsim run.")
@click.option("--code", "named_code", metavar="NAME", multiple=True, help="As of mcsim run.")
@click.option(
    "--trace-dir",
    "trace_dirs",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    multiple=True,
    help="Where to look for traces, before $MCSIM_TRACE_DIR; may be repeated.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    default="results",
    callback=folder_to_write,
    help="Folder of all results.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Cells at a time; all cores.",
)
@quiet_option
def run(
    file: str,
    overrides: tuple[str, ...],
    allow_code: bool,
    named_code: tuple[str, ...],
    trace_dirs: tuple[str, ...],
    out: str,
    jobs: int | None,
) -> None:
    """Run the cells of FILE that are not there yet."""
    from mcsim.experiment.code import Permission
    from mcsim.sweeps.sweep import sweep as run_sweep
    from mcsim.traces.find import default_trace_dirs

    made = run_sweep(
        file,
        overrides=overrides,
        allow_code=Permission(allow_code, frozenset(named_code)),
        trace_dirs=[*trace_dirs, *default_trace_dirs()],
        out=out,
        jobs=jobs,
        reporter=reporter_asked(),
    )
    from mcsim.results.files import write_parquet

    table = made.table()
    write_parquet(made.path / "table.parquet", table)
    terminal().print(
        f"{len(made.plan)} cells, {len(table)} rows in {made.path / 'table.parquet'}",
        highlight=False,
        soft_wrap=True,
    )


@sweep.command()
@click.argument("file", type=click.Path(), required=False)
@click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help="As of mcsim run.")
@click.option("--out", metavar="DIR", type=click.Path(), default="results", help="As of mcsim run.")
def status(file: str | None, overrides: tuple[str, ...], out: str) -> None:
    """Say how many cells of FILE are there, or of all sweeps of a folder."""
    from mcsim.sweeps.plan import folder_of, read_grid
    from mcsim.sweeps.sweep import Sweep

    if file is not None:
        grid, _ = read_grid(file, None, overrides)
        folders = [folder_of(grid, Path(out))]
    else:
        folders = sorted((Path(out) / "sweeps").glob("*/"))
    for folder in folders:
        known = Sweep.open(folder).finished()
        click.echo(f"{folder.name}: {sum(known)} of {len(known)} cells are there")
