"""`mcsim trace map`: propose which columns of a file are what."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcsim.cli.options import file_to_write, trace_dirs_option
from mcsim.cli.terminal import TextTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcsim.traces.proposal import Proposal

_ROWS = 10


@click.command("map", short_help="Propose which columns of a file are what.")
@click.argument("file", metavar="TRACE")
@trace_dirs_option("traces by name")
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=file_to_write,
    help="Write the proposal to this file, for --mapping.",
)
def map_(file: str, trace_dirs: Sequence[Path], save: Path | None) -> None:
    """Propose a mapping for TRACE from the names and values of its columns.

    The command prints the proposal with its reasons, the first ten rows as the proposal reads
    them, and a command to copy. Text with or without a header, JSON lines, Parquet and Arrow files
    are recognised. A guessed unit or word is marked: check it.

    \b
    mcsim trace map requests.csv
    mcsim trace map requests.csv --save requests.map.yaml
    mcsim mrc requests.csv --mapping requests.map.yaml
    """  # noqa: D301
    from mcsim.traces.cache import cache_directory
    from mcsim.traces.find import files_of
    from mcsim.traces.pipes import is_pipe, spooled

    path = files_of([file], trace_dirs)[0]
    if is_pipe(path):
        with spooled(path, cache_directory(), lambda done, total: None) as spool:
            _propose(spool.file, file, save)
    else:
        _propose(path, file, save)


def _propose(path: Path, file: str, save: Path | None) -> None:
    from mcsim.base.errors import McsimError
    from mcsim.traces.mapping import write_mapping
    from mcsim.traces.parsed import as_declared
    from mcsim.traces.proposal import first_rows, propose

    proposal = propose(path)
    options = as_declared(proposal.format, proposal.options)
    click.echo(f"{path.name}: format {proposal.format}, {len(proposal.columns)} columns")
    _print(_table_of(proposal))
    if unused := proposal.unused():
        click.echo(f"columns not used: {', '.join(unused)}")
    try:
        kind, rows = first_rows(path, proposal.format, options, _ROWS)
    except McsimError as error:
        click.echo(f"not read this way: {error}".replace(str(path), path.name))
    else:
        click.echo(f"first requests, for {kind}:")
        table = TextTable(list(rows[0]), left=3)
        for row in rows:
            table.add_row(*row.values())
        _print(table)
    if save is not None:
        write_mapping(save, proposal.format, options)
        click.echo(f"mcsim mrc {shlex.quote(file)} --mapping {shlex.quote(str(save))}")
        return
    given = " ".join(
        f"--option {shlex.quote(f'{name}={_text_of(value)}')}" for name, value in options.items()
    )
    click.echo(f"mcsim mrc {shlex.quote(file)} --format {proposal.format} {given}".rstrip())


def _print(table: TextTable) -> None:
    from mcsim.cli.terminal import print_lines

    print_lines(table)


def _table_of(proposal: Proposal) -> TextTable:
    table = TextTable(["parameter", "value", "reason"], left=3)
    for name, value in proposal.options.items():
        table.add_row(name, _text_of(value), proposal.reasons[name])
    return table


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
