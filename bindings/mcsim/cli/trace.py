"""`mcsim trace`: look into traces, convert, cut and generate them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Commands, Sectioned
from mcsim.cli.options import (
    Command,
    block_bytes_option,
    check_only,
    file_to_write,
    quiet_option,
    reporter_asked,
    seed_option,
    table_option,
)
from mcsim.cli.reading import (
    in_words_of_the_shell,
    open_trace,
    reading_options,
    vms_named,
    vms_option,
)
from mcsim.cli.terminal import Form, print_result
from mcsim.cli.trace_cache_device import cache_device, counters
from mcsim.cli.trace_info import catalogue
from mcsim.cli.trace_map import map_
from mcsim.cli.trace_misses import misses

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.exchange.written import WrittenFormat
    from mcsim.traces.trace import Trace


@click.command(cls=Sectioned, short_help="Generate a synthetic trace from a profile.")
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
trace.add_command(misses)
trace.add_command(cache_device)
trace.add_command(counters)


def _reading_options(command: Command) -> Command:
    """Add the argument TRACE and the options of reading it."""
    return click.argument("file", metavar="TRACE")(reading_options(command))


@trace.command(short_help="Show the content of a trace, per VM.")
@_reading_options
@block_bytes_option
@click.option(
    "--save",
    "save_mapping",
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

    If TRACE is a folder of pieces of mcsim mrc --shard, the table has the counts of all pieces.

    Of requests to a KV cache, a table shows the tokens by the requests that have read them before.
    """
    from mcsim.cli.trace_chains import chains_of, has_chains_alone, show_chains
    from mcsim.cli.trace_info import collection_of, lines_of
    from mcsim.cli.trace_pieces import has_pieces, show_counts
    from mcsim.references.pieces import bytes_of_block
    from mcsim.traces.mapping import write_mapping

    if has_pieces(reading["file"]):
        check_only("pieces of a curve", ("file", "form", "quiet"))
        show_counts(reading["file"], form)
        return
    if has_chains_alone(reading["file"]):
        check_only("chains of blocks", ("file", "form", "quiet"))
        show_chains(reading["file"], form)
        return
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
        *chains_of(opened, reading["file"], reading["trace_dirs"]),
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
    "--out-format",
    "to",
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

    with in_words_of_the_shell({"format: ": "--out-format: "}):
        return format_of(out, to)


def _open(file: str, out: Path | None = None, to: str | None = None, **reading: Any) -> Trace:
    if out is not None:
        _format_of(out, to)
    reporter = reporter_asked()
    with reporter.live():
        return open_trace(file, reporter, **reading)
