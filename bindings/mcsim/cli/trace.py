"""`mcsim trace`: look into traces, convert, cut and generate them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.options import (
    Command,
    Commands,
    block_bytes_option,
    file_to_write,
    quiet_option,
    reporter_asked,
    seed_option,
    table_option,
    trace_dirs_option,
    with_options,
)
from mcsim.cli.terminal import Form, print_result
from mcsim.cli.trace_catalogue import catalogue
from mcsim.cli.trace_map import map_

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.base.progress import Reporter
    from mcsim.exchange.written import WrittenFormat
    from mcsim.traces.metadata import OptionValue
    from mcsim.traces.trace import Trace


@click.command(short_help="Generate a synthetic trace from a profile.")
@click.argument("profile", type=click.Path(path_type=Path))
@click.argument(
    "out",
    required=False,
    type=click.Path(dir_okay=False, path_type=Path),
    callback=file_to_write,
)
@seed_option("Instead of the profile's seed.", None)
@quiet_option
def synth(profile: Path, out: Path | None, seed: int | None) -> None:
    """Generate the requests of PROFILE, unless they are in the cache.

    PROFILE is a file, or a name of mcsim list. The requests are written to OUT, in the format of
    its ending (see convert), or only to the cache.

    The same profile and seed give the same bytes. The trace is marked as synthetic, and so are all
    outputs made from it.
    """
    from mcsim.traces.synth import synth_trace

    reporter = reporter_asked()
    with reporter.live(), reporter.stage("generate", unit="requests", about=profile.name) as stage:
        trace = synth_trace(profile, progress=stage.update_of, seed=seed)
    counts = trace.metadata.counts
    click.echo(
        f"synthetic trace of {len(trace.vms)} VMs: {counts.requests:,} requests "
        f"({counts.reads:,} reads), {counts.blocks:,} accesses to blocks of 4 KiB"
    )
    click.echo(str(trace.store_path if out is None else trace.save(out)))


@click.group(cls=Commands)
def trace() -> None:
    """Inspect, convert, cut and generate traces."""


trace.add_command(synth)
trace.add_command(map_)
trace.add_command(catalogue)


def _reading_options(command: Command) -> Command:
    """Add the argument TRACE and the options of reading it."""
    return click.argument("file", metavar="TRACE")(reading_options(command))


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
            "--format", help="Format of the file (see mcsim list); by its content if not given."
        ),
        click.option(
            "--option",
            "options",
            metavar="NAME=VALUE",
            multiple=True,
            help="A parameter of the format (see mcsim describe FORMAT); may be repeated.",
        ),
        click.option(
            "--mapping",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Format and parameters as written by mcsim trace info --save-mapping; others "
            "come on top.",
        ),
        click.option(
            "--vm",
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
            help="With --on-bad-line skip: how many lines may be left out, such as 500 or 5%; "
            "10 or 1% if not given.",
        ),
        click.option(
            "--on-unsorted",
            type=click.Choice(["error", "sort"]),
            default="sort",
            show_default=True,
            help="What to do with requests that are not in the order of time.",
        ),
        click.option(
            "--cache-dir",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Where parsed traces are kept; $MCSIM_CACHE_DIR or the user's cache if not given.",
        ),
    ]
    return with_options(command, options)


@trace.command(short_help="Show the content of a trace, per VM.")
@_reading_options
@block_bytes_option
@click.option(
    "--save-mapping",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=file_to_write,
    help="Keep format and parameters in this file, for --mapping.",
)
@table_option
def info(block_size: str, save_mapping: Path | None, form: Form, **reading: Any) -> None:
    """Show the requests, blocks, footprint, span, rate and sizes of TRACE, per VM.

    A second table shows what the trace stresses: blocks accessed once, popularity, sequential
    requests, writes, and growth of the working set. --json and --csv have all columns. They add the
    distinct blocks after each tenth of the requests and of the time.
    """
    from mcsim.cli.trace_info import collection_of, lines_of
    from mcsim.references.pieces import bytes_of_block
    from mcsim.traces.mapping import write_mapping

    block_bytes = bytes_of_block("--block-bytes", block_size)
    opened = _open(**reading)
    if save_mapping is not None:
        write_mapping(save_mapping, opened.metadata.format, opened.metadata.options)
    found = opened.info(block_bytes)
    rows = [asdict(vm) for vm in found.vms]

    def data() -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_pylist(rows)

    print_result(
        form,
        *lines_of(opened, found),
        data=data,
        whole=lambda: {
            **asdict(opened.metadata),
            **asdict(found),
            "collection": collection_of(opened),
        },
    )


_object_bytes_option = click.option(
    "--block-bytes",
    "block_size",
    metavar="SIZE",
    help="Size of the blocks that become objects of oracle-general and lcs; by default 4KiB, or "
    "that of the blocks that a miss stream is of.",
)


@trace.command(short_help="Write a trace in another form.")
@_reading_options
@click.argument("out", type=click.Path(path_type=Path), callback=file_to_write)
@click.option(
    "--to",
    metavar="FORMAT",
    help="arrow, parquet, csv, oracle-general or lcs; by the end of OUT if not given.",
)
@_object_bytes_option
def convert(out: Path, to: str | None, block_size: str | None, **reading: Any) -> None:
    """Write TRACE as OUT.

    OUT ends in .arrow, .parquet, .csv, .csv.gz, .csv.zst or .csv.bz2, which hold all requests of a
    trace, or in .oracleGeneral, .oracleGeneral.bin or .lcs, also with .zst, for libCacheSim. A line
    names each thing that the format cannot hold.
    """
    object_bytes = _object_bytes(block_size, out, to)
    opened = _open(**reading, out=out, to=to)
    opened.save(out, format=to, block_bytes=object_bytes)
    click.echo(f"{opened.request_count:,} requests to {out}")


@trace.command("slice", short_help="Write a part of a trace.")
@_reading_options
@click.argument("out", type=click.Path(path_type=Path), callback=file_to_write)
@click.option(
    "--start", metavar="TIME", help="From here on, such as 30min after the first request."
)
@click.option("--end", metavar="TIME", help="Up to here, such as 2h after the first request.")
@vms_option
@click.option(
    "--ops", type=click.Choice(["all", "reads", "writes"]), default="all", show_default=True
)
@_object_bytes_option
def slice_(
    out: Path,
    start: str | None,
    end: str | None,
    vms: str | None,
    ops: Any,
    block_size: str | None,
    **reading: Any,
) -> None:
    """Write a part of TRACE as OUT (see convert).

    TIME is counted in references, such as '5000 references', if TRACE has no clock.
    """
    from mcsim.base.errors import ConfigError

    object_bytes = _object_bytes(block_size, out)
    opened = _open(**reading, out=out)
    names = None if vms is None else vms_named("--vms", vms, opened.vms)
    with in_words_of_the_shell({"start: ": "--start: ", "end: ": "--end: "}):
        part = opened.slice(start, end, names, ops)
    if part.request_count == 0:
        asked = {"--start": start, "--end": end, "--vms": vms, "--ops": ops}
        given = ", ".join(f"{name} {value}" for name, value in asked.items() if value)
        raise ConfigError(f"{opened.metadata.source}: no request is left ({given})")
    part.save(out, block_bytes=object_bytes)
    click.echo(f"{part.request_count:,} of {opened.request_count:,} requests to {out}")


def _object_bytes(size: str | None, out: Path, to: str | None = None) -> int | None:
    """Read `--block-bytes` of a trace that is written."""
    from mcsim.base.errors import ConfigError
    from mcsim.references.pieces import bytes_of_block

    if not _format_of(out, to).has_objects and size is not None:
        raise ConfigError("--block-bytes: only oracle-general and lcs have blocks as objects")
    return None if size is None else bytes_of_block("--block-bytes", size)


def _format_of(out: Path, to: str | None) -> WrittenFormat:
    from mcsim.exchange.written import format_of

    with in_words_of_the_shell({"format: ": "--to: "}):
        return format_of(out, to)


def _open(file: str, out: Path | None = None, to: str | None = None, **reading: Any) -> Trace:
    if out is not None:
        _format_of(out, to)
    reporter = reporter_asked()
    with reporter.live():
        return open_trace(file, reporter, **reading)


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
    view: Any = None,
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
    first, *others = files = files_of([name], trace_dirs)
    about = first.name + (f" and {len(others)} more" if others else "")
    parsing = reporter.stage("parse", unit="B", about=about)
    with in_words_of_the_shell(READING_ERRORS), parsing as stage:
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
    "vm_name: ": "--vm: ",
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


from mcsim.cli import trace_cache_device, trace_misses  # noqa: E402, F401 - add commands
