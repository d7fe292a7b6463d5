"""`mcsim mrc`: hit ratio over cache size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.threads import threads_given
from mcsim.cli.compare_each import each_alone, named_sources
from mcsim.cli.curve_report import (
    PER_CENT,
    SHARED,
    ByPolicy,
    Compared,
    Curves,
    PerInterval,
    PerVm,
    interval_label,
    ratio_texts,
)
from mcsim.cli.help import Sectioned
from mcsim.cli.mrc_pieces import CurveOptions, PieceOptions, in_pieces, pieces_options
from mcsim.cli.options import code_options, plugin_option, reporter_asked, sizes_given
from mcsim.cli.output import Output, picture_options
from mcsim.cli.policy_report import Mini, memory_option, mini_options
from mcsim.cli.stream import (
    Source,
    curve_options,
    estimator_given,
    estimator_option,
    make_curves,
    warm_up_option,
)
from mcsim.cli.terminal import Form
from mcsim.tables.column import column
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from mcsim.base.progress import Reporter
    from mcsim.cli.stream import Source
    from mcsim.cli.terminal import Line
    from mcsim.experiment.code import Permission
    from mcsim.locality.measure import EstimatorSpec, Measured
    from mcsim.references.blocks import Blocks


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@estimator_option
@curve_options
@click.option(
    "--per-vm", is_flag=True, help="A curve for each VM, and one for all sharing a cache."
)
@click.option("--each", is_flag=True, help="A curve for each TRACE; shares are of its own blocks.")
@click.option(
    "--interval",
    metavar="LENGTH",
    help="A curve for each interval, such as 1h, or '50000 references' without a clock.",
)
@click.option(
    "--compare",
    metavar="NAME,NAME,...",
    help="Measure these estimators, written as for --estimator, by the exact curve.",
)
@click.option(
    "--policies",
    metavar="NAME[(PARAM=VALUE,...)],...",
    help="Curves of these eviction policies, by a replay for each size or in miniature.",
)
@mini_options(
    mini="With --policies: miniature caches, given this share of the blocks (0.01, 1% or 1/16)."
)
@click.option(
    "--sizes",
    metavar="SIZE,...",
    help="Rows of the table: 1GiB, 250000 (blocks), 10% (of the distinct blocks) or "
    "log(FROM, TO, COUNT).",
)
@warm_up_option
@pieces_options
@memory_option
@code_options
@plugin_option
@picture_options
def mrc(
    files: tuple[str, ...],
    estimator: str,
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    threads: int | None,
    per_vm: bool,
    each: bool,
    interval: str | None,
    compare: str | None,
    policies: str | None,
    mini: str | None,
    seeds: int,
    sizes: str | None,
    warm_up: str | None,
    pieces: PieceOptions,
    memory: str | None,
    code: Permission,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Tabulate and draw the hit ratio of LRU over cache size, for the references of TRACEs.

    Several traces are merged by time, unless --each gives a curve to every TRACE, in one table and
    one picture. Every VM has blocks of its own.

    With -o DIR, the command writes the picture, the curves as drawn (.csv) and all their steps
    (.arrow).

    With --interval, adjacent intervals without accesses are one row. A size with ~ is below the
    estimator's resolution.

    Policies other than LRU are replayed at --sizes alone, by default at 13 sizes. A miniature is a
    cache of RATE times the size, replayed with the references to that share of the blocks. Smaller
    caches get a higher rate, so that no miniature has fewer than 100 blocks. A policy under which
    small caches differ from large ones has no error band; the reason is printed.

    If a size is in bytes, as in --sizes 1GiB,10%, objects take their sizes of the cache. One pass
    is exact at sizes that hold the largest object, if no object changes its size or is deleted;
    other sizes are replayed.

    With --shard and --merge, or --dask, curves are computed in pieces, exactly or by shards-rate:
    ranges of the files, or of the requests of a file. The files follow one another in time.

    \b
    mcsim mrc web_0.csv.gz
    mcsim mrc web_*.csv.gz --per-vm --ops all
    mcsim mrc *.csv.gz --each --sizes 1%,3%,10%
    mcsim mrc web_0.csv.gz --interval 1h
    mcsim mrc web_0.csv.gz --compare 'shards,shards-rate(rate=0.01),aet'
    mcsim mrc 'year/*.csv.zst' --dask tcp://head:8786
    mcsim mrc 'year/*.csv.zst' --shard 0/12
    mcsim mrc --merge pieces
    mcsim mrc web_0.csv.gz --policies arc,lirs,s3-fifo --sizes 'log(1%, 100%, 20)' --mini 0.01
    """  # noqa: D301
    modes = {
        "--per-vm": per_vm and not pieces.mode,
        "--each": each,
        "--interval": interval and not pieces.mode,
        "--compare": compare,
        "--estimator": policies and estimator != "exact",
        "--policies": policies,
        **pieces.modes,
    }
    _check_modes(modes, mini, warm_up)
    cores = threads_given(threads)
    source = Source(files, block_size, ops, vms, seed, cores, reading, warm_up=warm_up, sizes=sizes)
    sizes_given(sizes or "1", 1, 1)  # mistakes in them end the work at once
    if pieces.mode:
        if report := in_pieces(source, pieces, CurveOptions(estimator, per_vm, interval)):
            report.show(form, output)
        return
    if policies:
        _by_policy(source, policies, sizes, memory, (mini, seeds), code).show(form, output)
        return
    if each:
        curves_of_each(source, estimator_given(estimator), sizes).show(form, output)
        return
    report = _of_lru(source, estimator, compare, interval, per_vm=per_vm)
    report.given_sizes = sizes
    _replayed_if_needed(report, memory, (mini, seeds), code).show(form, output)


def _replayed_if_needed(
    report: Curves, memory: str | None, mini: tuple[str | None, int], code: Permission
) -> Curves | ByPolicy:
    """Return a report on replays if one pass is not exact at all given sizes."""
    source, sizes = report.source, report.given_sizes
    if sizes and type(report) is Curves and (why := report.not_in_one_pass()):
        replayed = _by_policy(source, "lru", sizes, memory, mini, code)
        replayed.remark = f"replayed: {why}"
        return replayed
    return report


def _check_modes(modes: dict[str, Any], mini: str | None, warm_up: str | None) -> None:
    """Raise ConfigError for options that do not go together."""
    from mcsim.base.errors import ConfigError

    if len(given := [name for name, value in modes.items() if value]) > 1:
        raise ConfigError(f"{given[0]} and {given[1]}: one at a time")
    if mini is not None and not modes["--policies"]:
        raise ConfigError("--mini: of which policies? --policies says")
    for name, value in {"--interval": modes["--interval"], "--mini": mini}.items():
        if warm_up is not None and value:
            raise ConfigError(f"--warm-up: not with {name}")


def _of_lru(
    source: Source, estimator: str, compare: str | None, interval: str | None, *, per_vm: bool
) -> Curves:
    if compare:
        return _compare(source, compare)
    if interval:
        return _per_interval(source, estimator, interval)
    return _per_vm(source, estimator) if per_vm else _one(source, estimator)


def _one(source: Source, estimator: str) -> Curves:
    spec = estimator_given(estimator)
    blocks, measured = make_curves(source, [spec], lambda of: [of])
    return Curves(source, blocks, str(spec), measured)


def _per_vm(source: Source, estimator: str) -> Curves:
    spec = estimator_given(estimator)
    blocks, measured = make_curves(
        source,
        [spec],
        lambda of: [*of.by_vm(), *([replace(of, label=SHARED)] if len(of.vms) > 1 else [])],
    )
    return PerVm(source, blocks, str(spec), measured)


def _per_interval(source: Source, estimator: str, interval: str) -> Curves:
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.base.units import parse_interval

    spec = estimator_given(estimator)
    with mistakes_in("--interval"):
        length, by_reference = parse_interval(interval)
    if length == 0:
        raise ConfigError("--interval: must be positive")

    begins: list[int] = []

    def label_of(begin: int) -> str:
        begins.append(begin // length)
        return f"{begin:,}" if by_reference else interval_label(begin // length, length)

    def intervals_of(of: Blocks) -> list[Blocks]:
        intervals = of.by_interval(interval, label_of)
        times = of.accesses.request_time
        begins.append((int(times[-1]) - int(times[0])) // length + 1)
        return intervals

    blocks, measured = make_curves(source, [spec], intervals_of)
    return PerInterval(source, blocks, str(spec), measured, None, length, by_reference, begins)


def _compare(source: Source, compare: str) -> Curves:
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.locality.measure import EstimatorSpec, parse_estimators

    with mistakes_in("--compare"):
        asked = parse_estimators(compare)
    if not asked:
        raise ConfigError("--compare: expected names of estimators")
    exact = EstimatorSpec("exact", {})
    specs = list({str(spec): spec for spec in [exact, *asked]}.values())
    blocks, measured = make_curves(source, specs, lambda of: [of])
    return Compared(source, blocks, "", measured)


def _by_policy(
    source: Source,
    policies: str,
    sizes: str | None,
    memory: str | None,
    mini: tuple[str | None, int],
    code: Permission,
) -> ByPolicy:
    from mcsim.base.sizes import share_given

    rate, seeds = mini
    small = None if rate is None else Mini(share_given("--mini", rate), seeds)
    sizes = sizes or ByPolicy.default_sizes
    return ByPolicy.simulated(source, policies, sizes, memory, small, code=code)


def curves_of_each(source: Source, estimator: EstimatorSpec, sizes: str | None) -> PerTrace:
    """Read the traces, one after the other, and make the curve of each."""
    from mcsim.base.errors import mistakes_in
    from mcsim.base.sizes import sizes_in, steps_in
    from mcsim.references.block_keys import SAMPLED_BY_KEY

    source.addresses = estimator.name in SAMPLED_BY_KEY
    given: dict[str, int | str] = {}
    with mistakes_in("--sizes"):
        for text in sizes_in(sizes) if sizes else ():
            given |= steps_in(text, 1)
    reporter = reporter_asked()
    with reporter.live():
        largest, all_of_each, measured = _measured(source, estimator, reporter)
    return PerTrace(source, largest, str(estimator), measured, steps=given, all_of_each=all_of_each)


def _measured(
    source: Source, estimator: EstimatorSpec, reporter: Reporter
) -> tuple[Blocks, dict[str, int], list[Measured]]:
    """Return the largest trace, the capacity that holds all of each, and all curves."""
    from mcsim.base.errors import ConfigError
    from mcsim.locality.measure import measure
    from mcsim.policies.comparison import Readable
    from mcsim.references.objects import whole_of

    largest: Blocks | None = None
    all_of_each: dict[str, int] = {}
    measured: list[Measured] = []
    for name, blocks in Readable(named_sources(source, reporter), None, reporter.note):
        if largest is not None and largest.capacity_unit != blocks.capacity_unit:
            raise ConfigError(f"--each: {name} has {blocks.kind}, and others have {largest.kind}")
        task = (replace(blocks, label=name), estimator)
        measured += measure([task], seed=source.seed, threads=source.threads, reporter=reporter)
        all_of_each[name] = whole_of(blocks)
        if largest is None or whole_of(largest) < whole_of(blocks):
            largest = blocks
    assert largest is not None
    return largest, all_of_each, measured


@dataclass
class PerTrace(Curves):
    """A row a trace; shares are of the distinct blocks of each."""

    steps: dict[str, int | str] = field(default_factory=dict)
    """Names of columns, and sizes, as of `--sizes`."""
    all_of_each: dict[str, int] = field(default_factory=dict)
    """Capacity that holds all of each trace."""

    suffix = "-mrc-each"
    subject = "Hit ratio of LRU over cache size, by trace"
    default_sizes = (4, 6)

    def heading(self) -> str:
        """Name the traces and the requests."""
        return f"{each_alone(self.source)}; {self.by}"

    def sizes_of(self, name: str) -> list[int]:
        """Return the capacities of the columns for a trace, in blocks."""
        from mcsim.base.sizes import parse_capacity

        if not self.steps:
            return self.sizes(None)
        unit = self.blocks.capacity_unit
        return [parse_capacity(size, self.all_of_each[name], unit) for size in self.steps.values()]

    def _about_unresolved(self, sizes: Sequence[int]) -> list[Line]:
        shown = [size for name in self.all_of_each for size in self.sizes_of(name)]
        return super()._about_unresolved(shown)

    def table(self, sizes: Sequence[int]) -> ResultTable:
        """Return the table that is printed."""
        names = self.steps or [self.size_cells(size)[0] for size in sizes]
        columns = [
            *(column("trace", "text"), column("accesses", "count"), column(self.blocks.kind)),
            *(column(name, name=f"size {at}") for at, name in enumerate(names)),
        ]
        rows = [
            [
                *(name, curve.accesses, f"{curve.distinct:,.0f}"),
                *ratio_texts(curve, self.sizes_of(name)),
            ]
            for name, curve in self.named()
        ]
        return ResultTable.of_rows(columns, rows, notes=[PER_CENT])

    def data(self) -> pa.Table:
        """Return the curves at the requested sizes; as drawn if none were."""
        if not self.steps:
            return super().data()
        named = [(name, curve.resampled(self.sizes_of(name))) for name, curve in self.named()]
        return self.source.marked(self._rows(named))
