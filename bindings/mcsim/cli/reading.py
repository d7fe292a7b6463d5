"""Options of reading a trace, and the trace that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.options import Command, quiet_option, trace_dirs_option, with_options

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.traces.metadata import OptionValue
    from mcsim.traces.streamed import View
    from mcsim.traces.trace import Trace

vms_option = click.option(
    "--vms",
    metavar="NAME,...",
    help="These VMs alone: names or patterns such as 'web_*'; '!backup*' leaves some out. A name "
    "with a comma, such as 8,0, comes before the list.",
)


def words_of(option: str, text: str) -> list[str]:
    """Split the value of an option at its commas.

    Raises
    ------
    ConfigError
        If there is nothing but commas and spaces.
    """
    from mcsim.base.errors import ConfigError

    if words := [word.strip() for word in text.split(",") if word.strip()]:
        return words
    raise ConfigError(f"{option}: expected one or more values between commas, got {text!r}")


def vms_named(option: str, text: str, names: Sequence[str]) -> list[str]:
    """Return the VMs that an option names, by names or patterns."""
    from mcsim.base.errors import mistakes_in
    from mcsim.base.suggest import names_listed, names_matching

    words_of(option, text)
    with mistakes_in(option):
        return names_matching(names_listed(text, names), names)


def format_options(command: Command) -> Command:
    """Add the options of finding a trace, and of its format."""
    options = [
        trace_dirs_option("traces by name or pattern"),
        click.option(
            "--format",
            metavar="NAME",
            help="Format of the file (see mcsim list, mcsim describe FORMAT); by its content if "
            "not given.",
        ),
        click.option(
            "--option",
            "options",
            metavar="NAME=VALUE",
            multiple=True,
            hidden=True,
            help="A parameter of the format (see mcsim describe FORMAT); may be repeated.",
        ),
        click.option(
            "--mapping",
            metavar="FILE",
            type=click.Path(path_type=Path),
            hidden=True,
            help="Format and parameters as written by mcsim trace info --save; others come on top.",
        ),
        click.option(
            "--vm-name",
            "vm_name",
            metavar="NAME",
            help="Name of the VM of files without names of VMs, which are then one VM; by default "
            "each has its file's name.",
        ),
        click.option(
            "--on-bad-line",
            type=click.Choice(["error", "skip"]),
            default="error",
            show_default=True,
            help="What to do with a line that cannot be parsed.",
        ),
        quiet_option,
    ]
    return with_options(command, options)


def reading_options(command: Command) -> Command:
    """Add the options of finding and reading traces."""
    options = [
        format_options,
        click.option(
            "--max-skipped",
            metavar="N|SHARE",
            hidden=True,
            help="With --on-bad-line skip: how many lines may be left out, such as 500 or 5%; "
            "10 or 1% if not given.",
        ),
        click.option(
            "--on-unsorted",
            type=click.Choice(["error", "sort"]),
            default="sort",
            show_default=True,
            hidden=True,
            help="What to do with requests that are not in the order of time.",
        ),
        click.option(
            "--cache-dir",
            metavar="DIR",
            type=click.Path(path_type=Path),
            hidden=True,
            help="Where parsed traces are kept; $MCSIM_CACHE_DIR or the user's cache if not given.",
        ),
    ]
    return with_options(command, options)


def open_trace(
    name: str,
    reporter: Reporter,
    *,
    trace_dirs: Sequence[Path],
    format: str | None,
    options: tuple[str, ...],
    mapping: Path | None,
    on_bad_line: Any,
    on_unsorted: Any,
    max_skipped: str | None,
    cache_dir: Path | None,
    vm_name: str | None,
    view: View | None = None,
) -> Trace:
    """Open a trace by path, name, pattern or folder, with the options of `reading_options`.

    Raises
    ------
    ConfigError
        If an option is wrong, or the file is an output of the command.
    """
    from mcsim.traces.find import files_of
    from mcsim.traces.joined import note_on
    from mcsim.traces.open import Reading, open_files

    given = params_given(options)
    how = Reading(format, given, mapping, cache_dir, on_bad_line, on_unsorted, max_skipped, view)
    files = files_of([name], trace_dirs)
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    with (
        in_words_of_the_shell(READING_ERRORS),
        reporter.stage("parse", unit="B", about=files[0].name + more) as stage,
    ):
        trace = open_files(files, how, vm_name, stage.update_of)
    if (note := note_on(trace)) is not None:
        reporter.note(note)
    return trace


def params_given(options: Sequence[str]) -> dict[str, OptionValue]:
    """Read `--option`: parameters of a format."""
    from mcsim.base.errors import ConfigError

    given: dict[str, OptionValue] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise ConfigError(f"--option: expected NAME=VALUE, got {option!r}")
        given[key] = value
    return given


READING_ERRORS = {
    "on_bad_line: ": "--on-bad-line ",
    "on_unsorted: ": "--on-unsorted ",
    "vm_name: ": "--vm-name: ",
}


@contextmanager
def in_words_of_the_shell(options: Mapping[str, str]) -> Iterator[None]:
    """Replace arguments of a function in messages by the options of the command."""
    from mcsim.base.errors import ConfigError, TraceError

    try:
        yield
    except (ConfigError, TraceError) as error:
        message = str(error)
        for argument, option in options.items():
            message = message.replace(argument, option)
        raise type(error)(message) from error
