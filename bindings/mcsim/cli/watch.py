"""`mcsim watch`: the hit ratio curve of a running machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.curve_report import Curves, ratio_text
from mcsim.cli.help import Sectioned
from mcsim.cli.options import quiet_asked, seed_option, sizes_given
from mcsim.cli.output import Output, picture_options
from mcsim.cli.reading import (
    READING_ERRORS,
    format_options,
    in_words_of_the_shell,
    params_given,
    words_of,
)
from mcsim.cli.stream import Source, estimator_given, references_options
from mcsim.cli.terminal import Form, Line, terminal
from mcsim.tables.column import column
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from mcsim.locality.watch import Feed, Watched

_BAR = 30
_ROWS = 12


@click.command(cls=Sectioned)
@click.argument("file", metavar="TRACE")
@click.option(
    "--estimator",
    metavar="NAME[(PARAM=VALUE,...)]",
    default="shards",
    show_default=True,
    help="How the curve is made: shards in constant memory, shards-rate at a fixed rate.",
)
@click.option(
    "--refresh",
    metavar="TIME",
    default="2s",
    show_default=True,
    help="Time from one table on the terminal to the next.",
)
@references_options
@seed_option("Of the estimator.")
@format_options
@click.option("--sizes", metavar="SIZE,...", help="Rows of the table at the end, as for mrc.")
@picture_options
def watch(
    file: str,
    estimator: str,
    refresh: str,
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    sizes: str | None,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Draw the hit ratio curve of requests while they come through a pipe, or of a file.

    Requests count in the order in which they come. A terminal shows the curve so far. The end of
    the input, or Ctrl-C, prints the table of mrc. Discards are ignored.

    \b
    blktrace -d /dev/sda -o - | blkparse -i - | mcsim watch -
    tail -c +1 -f requests.csv | mcsim watch - --json
    """  # noqa: D301
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.base.signals import ending_input
    from mcsim.base.units import parse_duration
    from mcsim.locality import watch as watching

    spec = estimator_given(estimator)
    with mistakes_in("--refresh"):
        seconds = parse_duration(refresh) / 1e9
    if seconds == 0:
        raise ConfigError("--refresh: must be positive")
    source = Source((file,), block_size, ops, vms, seed, 1, reading)
    sizes_given(sizes or "1", 1, source.block_bytes)  # mistakes in them end the work at once
    chosen = None if vms is None else words_of("--vms", vms)
    with mistakes_in("--estimator"):
        watched = watching.Watched(spec, seed, ops, source.block_bytes, chosen)
    with (
        in_words_of_the_shell(READING_ERRORS | {"vms: ": "--vms: "}),
        ending_input() as is_over,
        _display(source, watched, seconds) as show,
    ):
        feed = _open(file, **reading)
        failure = watching.watch(feed, watched, is_over, show)
    _report(source, watched, sizes).show(form, output)
    if failure is not None:
        raise failure


def _open(
    name: str,
    *,
    trace_dirs: Sequence[Path],
    format: str | None,
    options: tuple[str, ...],
    mapping: Path | None,
    on_bad_line: Any,
    vm_name: str | None,
) -> Feed:
    """Open a file or pipe; ConfigError if several files have the name."""
    from mcsim.base.errors import ConfigError
    from mcsim.locality.watch import Feed
    from mcsim.traces.find import files_of
    from mcsim.traces.open import Reading

    reading = Reading(format, params_given(options), mapping, on_bad_line=on_bad_line)
    files = files_of([name], trace_dirs)
    if len(files) != 1:
        raise ConfigError(f"{name}: {len(files)} files; expected one file or a pipe")
    return Feed(files[0], reading.checked(), vm_name)


@dataclass
class WatchReport(Curves):
    """Report on the curve of requests that came."""

    suffix = "-watch"
    subject = "Hit ratio of LRU over cache size"

    def lines(self) -> list[Line]:
        """Return the table, its notes, and the count of skipped rows."""
        watched: Any = self.blocks
        skipped = [f"{watched.skipped:,} rows skipped"] if watched.skipped else []
        return [*super().lines(), *skipped]


def _report(source: Source, watched: Watched, sizes: str | None = None) -> WatchReport:
    measured = [watched.measured(source.name)]
    by = f"{watched.spec}, distinct {watched.kind} estimated"
    return WatchReport(source, watched, by, measured, sizes)


@contextmanager
def _display(source: Source, watched: Watched, seconds: float) -> Iterator[Callable[[], None]]:
    """Yield what redraws the curve on the terminal, if there is one, when it is time to."""
    console = terminal(stderr=True)
    if not console.is_terminal or quiet_asked():
        yield lambda: None
        return
    from rich.live import Live

    shown = time.monotonic(), 0

    def show() -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown[0] < seconds:
            return
        rate = (watched.came - shown[1]) / (now - shown[0])
        shown = now, watched.came
        live.update(_screen(source, watched, rate), refresh=True)

    with Live("", console=console, auto_refresh=False, transient=True) as live:
        yield show


def _screen(source: Source, watched: Watched, rate: float) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from mcsim.base.units import format_count

    state = f"{source.name}: {watched.came:,} requests, {format_count(rate)}/s"
    if not len(watched):
        return Text(state)
    report = _report(source, watched)
    table = _drawn(report, report.sizes(None)[-_ROWS:])
    return Group(Text(state), Text(report.heading()), table.formatted().to_rich())


def _drawn(report: WatchReport, sizes: Sequence[int]) -> ResultTable:
    """Return the hit ratios of sizes, and what the next larger cache would add, with bars."""
    ((_, curve),) = report.named()
    rows = []
    for blocks in sizes:
        ratio = float(curve.at(blocks, unresolved=True))
        more = float(curve.at(2 * blocks, unresolved=True)) - ratio
        bar = "━" * round(_BAR * ratio)
        rows.append([*report.size_cells(blocks), ratio_text(curve, blocks), more, bar])
    heads = [*map(column, (*report.size_heads, "hit %"))]
    more_heads = [column("more if\ntwice as large", "points"), column("", "text", name="bar")]
    return ResultTable.of_rows([*heads, *more_heads], rows)
