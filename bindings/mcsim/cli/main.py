"""The command line: `mcsim run`, `mrc`, `size`, `list`, `describe`, `trace` and so on.

Nothing heavy is imported before a command needs it. A user's mistake ends in one
line and exit code 2, the host's in 3, ours in 70 with a traceback. Exit code 4: an
output is missing, such as a figure, of work that is finished.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mcsim.base.errors import CORE_IS_MISSING
from mcsim.cli.help import Commands, Sectioned
from mcsim.cli.options import (
    code_options,
    folder_to_write,
    overrides_option,
    per_vm_option,
    plugin_option,
    quiet_option,
    reporter_asked,
    results_option,
    systems_threads_option,
    table_option,
    trace_dirs_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from mcsim.cli.terminal import Form, Line
    from mcsim.experiment.code import Permission

INTERNAL = 70  # exit code

# Commands that are imported when they are called for: their modules and short helps.
_ELSEWHERE = {
    "advise": ("mcsim.cli.advise", "Advise on policy, size, write mode and division of a cache."),
    "arena": ("mcsim.cli.arena", "Rank eviction policies, each in a process with limits."),
    "cache": ("mcsim.cli.cache", "List, verify and remove cached traces."),
    "compare": ("mcsim.cli.compare", "Tabulate and draw the hit ratios of eviction policies."),
    "distances": ("mcsim.cli.distances", "Count accesses by reuse distance."),
    "kv": ("mcsim.cli.kv", "Size a KV cache of a language model, by hits of prefixes."),
    "mix": ("mcsim.cli.mix", "Compare sharing a cache with dividing it among its VMs."),
    "mrc": ("mcsim.cli.mrc", "Draw and tabulate hit ratio over cache size, by any estimator."),
    "reproduce": ("mcsim.cli.reproduce", "Reproduce published figures, and compare the numbers."),
    "results": ("mcsim.cli.results", "List, show, draw, compare, verify and remove runs."),
    "schema": ("mcsim.cli.schema", "Print the JSON schema of experiment files, for editors."),
    "search": ("mcsim.cli.search", "Find the best hierarchy of two tiers with few replays."),
    "size": ("mcsim.cli.size", "Find the smallest cache that reaches a hit ratio or latency."),
    "sweep": ("mcsim.cli.sweep", "Run an experiment at every point of a grid, and join results."),
    "tune": ("mcsim.cli.tune", "Find the block size, write mode and policy of a cache."),
    "trace": ("mcsim.cli.trace", "Inspect, convert, cut and generate traces."),
    "watch": ("mcsim.cli.watch", "Draw hit ratios of requests as they come through a pipe."),
    "whatif": ("mcsim.cli.whatif", "Predict hit ratios for another cache size or other VMs."),
}

_SECTIONS = {
    "Experiments": ("run", "sweep", "search", "results", "reproduce"),
    "Traces and caches": (
        "trace",
        "mrc",
        "watch",
        "distances",
        "compare",
        "arena",
        "size",
        "kv",
        "tune",
        "advise",
        "mix",
        "whatif",
        "cache",
    ),
    "Reference": ("list", "describe", "schema", "build-flags"),
}


class _LazyGroup(Commands):
    """A group that imports some commands when they are called for."""

    command_class = Sectioned

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        import importlib

        from mcsim.base.limits import check_address_space

        check_address_space()  # which modules of commands need, too
        module, _ = _ELSEWHERE[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Their own help would import them.
        texts = {name: command.get_short_help_str(200) for name, command in self.commands.items()}
        texts |= {name: text for name, (_, text) in _ELSEWHERE.items()}
        for title, names in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, texts.pop(name)) for name in names])
        assert not texts, texts


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from mcsim._core import __version__

    click.echo(f"mcsim {__version__}")
    ctx.exit()


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="mcsim COMMAND --help describes a command; --help-all has its rare options, too.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Simulate host-side storage caches shared by many virtual machines."""
    from mcsim.base.limits import check_address_space

    check_address_space()


@cli.command()
@click.argument("file", type=click.Path())
@overrides_option("Change a value of the file, such as tiers.0.capacity=1e6; may be repeated.")
@code_options
@trace_dirs_option()
@results_option
@systems_threads_option
@click.option("--force", is_flag=True, help="Run again what was finished.")
@click.option(
    "--save-state",
    metavar="DIR",
    type=click.Path(),
    callback=folder_to_write,
    help="Save the state of each system at the end, for `warm_up: {state: DIR}`.",
)
@click.option(
    "--figures/--no-figures", default=None, help="Draw the figures.  [default: `figures` of FILE]"
)
@click.option("--page/--no-page", default=None, help="Write the page.  [default: `page` of FILE]")
@per_vm_option
@table_option
@quiet_option
def run(
    file: str,
    overrides: tuple[str, ...],
    code: Permission,
    trace_dirs: list[Path],
    out: str,
    threads: int | None,
    force: bool,
    save_state: str | None,
    figures: bool | None,
    page: bool | None,
    per_vm: bool,
    form: Form,
) -> None:
    """Run the experiment in FILE and show how its systems compare.

    FILE is a path, or the name of an experiment that mcsim has (see mcsim list).

    \b
    mcsim run tiny
    mcsim run mine.yaml --set tiers.0.capacity=1GiB
    """  # noqa: D301
    from mcsim.base.errors import MissingOutputError
    from mcsim.cli.show import show_results
    from mcsim.experiment.runner import run as run_experiment

    try:
        results = run_experiment(
            file,
            overrides=overrides,
            allow_code=code,
            trace_dirs=trace_dirs,
            out=out,
            threads=threads,
            force=force,
            save_state=save_state,
            figures=figures,
            page=page,
            reporter=reporter_asked(),
        )
    except MissingOutputError as error:
        show_results(error.results, form, per_vm=per_vm)
        raise
    show_results(results, form, per_vm=per_vm)


@cli.command("list")
@click.argument("kind", required=False)
@plugin_option
@table_option
def list_names(kind: str | None, form: Form) -> None:
    """List all names: systems, policies, trace formats, devices, experiments and others.

    KIND, such as `policies`, lists these alone.
    """
    from mcsim.cli.terminal import print_result
    from mcsim.experiment.catalogue import catalogue, groups
    from mcsim.tables.column import column
    from mcsim.tables.result_columns import TABLES
    from mcsim.tables.result_table import ResultTable

    every = catalogue()
    if kind is not None:
        every = _of_kind(every, kind)
    lines: list[Line] = []
    for heading, entries in groups(every):
        columns = [column(heading, "text", name="name"), column("", "text", name="summary")]
        named = [(entry["name"], entry["summary"]) for entry in entries]
        lines += [ResultTable.of_rows(columns, named), *([""] if form == "text" else [])]
    keys = ("name", "summary", "reference")
    rows = [(of, *map(entry.get, keys)) for of, entries in every.items() for entry in entries]
    table = ResultTable.of_rows(TABLES["names"], rows)
    print_result(form, *lines, data=table.to_arrow, listing=True)


def _of_kind(every: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the entries of a kind, which the last word of its name is enough for."""
    from mcsim.base.errors import ConfigError
    from mcsim.base.suggest import did_you_mean

    last = {name.rpartition(" ")[2]: name for name in every}
    name = kind if kind in every else last.get(kind)
    if name is None:
        raise ConfigError(f"KIND: {kind!r}{did_you_mean(kind, last)}; one of {', '.join(last)}")
    return {name: every[name]}


@cli.command()
@click.argument("name")
@plugin_option
def describe(name: str) -> None:
    """Show the parameters of a system, policy, estimator, format, device or other name."""
    from mcsim.experiment.catalogue import describe as description_of

    click.echo(description_of(name))


@cli.command("build-flags")
@click.option("--include", "what", flag_value="include", help="The folder of the C++ headers.")
@click.option("--cmake-dir", "what", flag_value="cmake", help="The folder for CMake's mcsim_DIR.")
def build_flags(what: str | None) -> None:
    """Print where the things are that eviction policies in C++ are compiled with."""
    from mcsim.base.package import get_cmake_dir, get_include

    if what in (None, "include"):
        click.echo(get_include())
    if what in (None, "cmake"):
        click.echo(get_cmake_dir())


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    from mcsim.base.later import begin_command, begin_later_work
    from mcsim.base.signals import leave

    begin_command()
    try:
        _spell_what_the_terminal_lacks()
        _run_command(arguments)
        begin_later_work()
    except KeyboardInterrupt as interruption:
        leave(interruption)
    except MemoryError:  # while an error is reported, or before errors are imported
        os.write(2, b"mcsim: there is not enough memory\n")
        sys.exit(3)


def _run_command(arguments: Iterable[str] | None) -> None:
    from mcsim.base.inputs import protected_inputs
    from mcsim.base.signals import ending_in_time
    from mcsim.cli.terminal import for_terminal

    try:
        given = None if arguments is None else list(arguments)
        with ending_in_time(), protected_inputs():
            # The argument of `Context.exit` is returned here, like a value of the command.
            code = cli.main(given, "mcsim", standalone_mode=False)
        if isinstance(code, int) and code != 0:
            sys.exit(code)
    except click.NoSuchOption as error:
        text = error.format_message().removesuffix(".") + _options_instead(error)
        click.UsageError(for_terminal(text), error.ctx).show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.ClickException.__init__(error, for_terminal(error.message))
        error.show()
        sys.exit(error.exit_code)
    except click.Abort as error:
        raise KeyboardInterrupt from error  # which no signal set off
    except Exception as error:
        _end_with(error)


def _options_instead(error: click.NoSuchOption) -> str:
    """Return the options that there are, if none is near the one that was given."""
    if error.possibilities or error.ctx is None:
        return ""
    params = error.ctx.command.get_params(error.ctx)
    names = [max(of.opts, key=len) for of in params if isinstance(of, click.Option)]
    return f" (one of {', '.join(names)})"


# Replacements of letters of tables and messages beyond ASCII; all others are escaped.
_SPELT = {"–": "-", "−": "-", "µ": "u", "…": "...", "±": "+-", "×": "x", "·": ".", "━": "-"}


def _spell_what_the_terminal_lacks() -> None:
    """Replace letters that the terminal's encoding lacks, so that they raise no error."""
    import codecs

    from mcsim.base.inputs import escape_unencodable

    def spelt(error: UnicodeError) -> tuple[str | bytes, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        letters = error.object[error.start : error.end]
        if all(letter in _SPELT for letter in letters):
            return "".join(_SPELT[letter] for letter in letters), error.end
        return escape_unencodable(error)

    codecs.register_error("mcsim", spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="mcsim")


def _end_with(error: Exception) -> NoReturn:
    """Print an error in one line; print a traceback if it is a bug in mcsim."""
    from mcsim.base.errors import HostError, McsimError, MissingOutputError, exit_code_of
    from mcsim.base.limits import limit_error
    from mcsim.cli.terminal import for_terminal

    if not isinstance(error, MissingOutputError):
        error = limit_error(error) or error
    if isinstance(error, ImportError) and isinstance(error.__cause__, McsimError):
        error = error.__cause__
    elif isinstance(error, ImportError) and error.name == "mcsim._core":
        error = HostError(CORE_IS_MISSING)
    if isinstance(error, OSError):
        code = exit_code_of(error)
    else:
        code = error.exit_code if isinstance(error, McsimError) else INTERNAL
    if code == INTERNAL:
        import traceback

        traceback.print_exc()
        click.echo("mcsim: this is a bug in mcsim; please report it with the lines above", err=True)
    else:
        click.echo(f"mcsim: {for_terminal(str(error))}", err=True)
    sys.exit(code)
