"""`mcsim trace map`: propose which columns of a file are what."""

from __future__ import annotations

import logging
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import file_to_write, trace_dirs_option
from mcsim.cli.terminal import print_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcsim.exchange.proposal import Proposal
    from mcsim.exchange.trial import Trial

_log = logging.getLogger(__name__)

_ROWS = 10


@click.command("map", cls=Sectioned, short_help="Propose which columns of a file are what.")
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

    If several readings are plausible, such as blocks or objects, each is printed with its hit ratio
    in an unlimited cache. In a terminal, choose one; otherwise the exit code is 2. A warning
    names the columns of numbers that are not used.

    \b
    mcsim trace map requests.csv
    mcsim trace map requests.csv --save requests.map.yaml
    mcsim mrc requests.csv --mapping requests.map.yaml
    """  # noqa: D301
    from mcsim.base.inputs import note_input
    from mcsim.traces.cache import cache_directory
    from mcsim.traces.find import files_of
    from mcsim.traces.pipes import is_pipe, spooled

    path = files_of([file], trace_dirs)[0]
    if is_pipe(path):
        with spooled(path, cache_directory(), lambda done, total: None) as spool:
            _propose(spool.file, file, save)
    else:
        note_input(path)
        _propose(path, file, save)


def _propose(path: Path, file: str, save: Path | None) -> None:
    from mcsim.base.inputs import printable
    from mcsim.exchange.proposal import propose
    from mcsim.traces.mapping import as_declared, write_mapping

    proposals = propose(path)
    name, format, columns = printable(path.name), proposals[0].format, len(proposals[0].columns)
    trials = _trials(path, proposals)
    click.echo(f"{name}: format {format}, {columns} columns")
    for number, (proposal, trial) in enumerate(trials, 1):
        if len(trials) > 1:
            click.echo(f"reading {number} of {len(trials)}: {proposal.title}")
        _show(proposal, trial, several=len(trials) > 1)
        if len(trials) > 1:
            click.echo(_command(file, proposal))
    proposal = _chosen(path, [proposal for proposal, _ in trials])
    if save is not None:
        write_mapping(save, format, as_declared(format, proposal.options))
        click.echo(f"mcsim mrc {_quoted(file)} --mapping {_quoted(str(save))}")
    elif len(trials) == 1:
        click.echo(_command(file, proposal))


def _trials(path: Path, proposals: Sequence[Proposal]) -> list[tuple[Proposal, Trial]]:
    """Read the first requests of each proposal, without those that cannot read the file.

    Raises
    ------
    ConfigError
        If none can.
    """
    from mcsim.base.errors import ConfigError, HostError, McsimError
    from mcsim.exchange.trial import try_reading

    trials = []
    errors = []
    for proposal in proposals:
        try:
            trial = try_reading(path, proposal.format, proposal.options, _ROWS)
        except HostError:
            raise
        except McsimError as error:
            errors.append((proposal, str(error)))
        else:
            trials.append((proposal, trial))
    if not trials:
        proposal, why = errors[0]
        options = ", ".join(f"{name}={_text_of(v)}" for name, v in proposal.options.items())
        raise ConfigError(f"{why} (as {proposal.format} with {options})")
    return trials


def _show(proposal: Proposal, trial: Trial, *, several: bool) -> None:
    """Print a proposal, the columns without a field, and its first requests."""
    from mcsim.tables.column import column
    from mcsim.tables.result_table import ResultTable

    names = ("parameter", "value", "reason")
    rows = [
        [name, _printable(_text_of(value)), _printable(proposal.reasons[name])]
        for name, value in proposal.options.items()
    ]
    print_lines(ResultTable.of_rows([column(name, "text") for name in names], rows))
    if unused := proposal.unused():
        click.echo(f"columns not used: {', '.join(map(_printable, unused))}")
    for warning in proposal.warnings:
        _log.warning("%s", _printable(warning))
    click.echo(f"first requests, for {trial.kind}:")
    headings = [column(name, "text" if at < 3 else "cell") for at, name in enumerate(trial.rows[0])]
    rows = [[*map(_printable, row.values())] for row in trial.rows]
    print_lines(ResultTable.of_rows(headings, rows))
    if several:
        hits = trial.hits
        ratio = hits.hits / hits.accesses if hits.accesses else 0
        click.echo(
            f"in an unlimited cache: requests {hits.requests:,}, accesses {hits.accesses:,}, "
            f"distinct {trial.kind} {hits.distinct:,}, hit ratio {100 * ratio:.2f} %"
        )


def _chosen(path: Path, proposals: Sequence[Proposal]) -> Proposal:
    """Prompt for one of several proposals.

    Raises
    ------
    ConfigError
        If there is no terminal.
    """
    from mcsim.base.errors import ConfigError

    if len(proposals) == 1:
        return proposals[0]
    if not is_interactive():
        raise ConfigError(
            f"{path}: {len(proposals)} readings are plausible: run the command of the right one "
            "(mcsim trace info with its options and --save FILE keeps it)"
        )
    number = click.prompt("which reading is right?", type=click.IntRange(1, len(proposals)))
    return proposals[number - 1]


def is_interactive() -> bool:
    """Return whether standard input and output are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _command(file: str, proposal: Proposal) -> str:
    from mcsim.traces.mapping import as_declared

    given = " ".join(
        f"--option {_quoted(f'{name}={_text_of(value)}')}"
        for name, value in as_declared(proposal.format, proposal.options).items()
    )
    return f"mcsim mrc {_quoted(file)} --format {proposal.format} {given}".rstrip()


def _quoted(text: str) -> str:
    return _printable(shlex.quote(text))


def _printable(text: str) -> str:
    from mcsim.base.inputs import printable

    return printable(text)


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
