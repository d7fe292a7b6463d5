"""`mcsim mrc` and `mcsim size`: hit ratio over cache size, and the size for a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.plugin import plugin_option
from mcsim.cli.policy_report import Mini, PolicyReport, memory_option, simulated
from mcsim.cli.stream import (
    Report,
    Source,
    cores,
    interruptible,
    picture_options,
    print_plainly,
    sizes_given,
    stream_options,
    table_of,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from mcsim._core import engine
    from mcsim.config.devices import Device
    from mcsim.locality.curve import HitRatioCurve
    from mcsim.locality.measure import EstimatorSpec, Measured, Stream

__all__ = ["mrc", "share_given", "size"]

SHARED = "all, sharing one cache"

_estimator_option = click.option(
    "--estimator",
    metavar="NAME[:PARAM=VALUE,...]",
    default="exact",
    show_default=True,
    help="How the curve is made (see mcsim list, mcsim describe NAME).",
)
_stream_options = stream_options(
    seed="Of estimators.",
    jobs="Threads: curves made at a time, or for one alone; all cores if not given.",
)


@click.command()
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@_estimator_option
@_stream_options
@click.option(
    "--per-vm", is_flag=True, help="A curve for each VM, and one for all sharing a cache."
)
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
    "--policy",
    metavar="NAME[:PARAM=VALUE,...],...",
    help="Curves of these eviction policies, by a replay for each size or in miniature.",
)
@click.option(
    "--mini",
    metavar="RATE",
    help="With --policy: caches in miniature, given such a share of the blocks (0.01 or 1%).",
)
@click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="With --mini: samples of which the mean is taken, and the error band.",
)
@click.option(
    "--sizes",
    metavar="SIZE,...",
    help="Rows of the table: 1GiB, 250000 (blocks), 10% (of the distinct blocks) or "
    "FROM:TO:COUNT, in equal ratios.",
)
@memory_option
@plugin_option
@picture_options
def mrc(
    files: tuple[str, ...],
    estimator: str,
    block_size: str,
    ops: Any,
    seed: int,
    jobs: int | None,
    per_vm: bool,
    interval: str | None,
    compare: str | None,
    policy: str | None,
    mini: str | None,
    seeds: int,
    sizes: str | None,
    memory: str | None,
    linear: bool,
    out: Path,
    no_figures: bool,
    **reading: Any,
) -> None:
    """Tabulate and draw the hit ratio of LRU over cache size, for the references of TRACEs.

    Several traces are merged by time; every VM has blocks of its own. The table is printed;
    DIR gets a picture (.png, .svg), the curve as drawn (.csv) and every step of it (.arrow).

    A number after ~ is of fewer blocks than the estimator resolves.

    Of other policies than LRU there are --sizes alone, 13 of them if not given. In miniature
    each is a cache of RATE times the size, given the references to so many of the blocks;
    smaller caches get a higher rate, so that no miniature has fewer than 100 blocks.

    \b
    mcsim mrc web_0.csv.gz
    mcsim mrc web_*.csv.gz --per-vm --ops all
    mcsim mrc web_0.csv.gz --interval 1h
    mcsim mrc web_0.csv.gz --compare shards,shards-rate:rate=0.01,aet
    mcsim mrc web_0.csv.gz --policy arc,lirs,s3-fifo --sizes 1%:100%:20 --mini 0.01
    """  # noqa: D301
    from mcsim.base.errors import ConfigError

    modes = {
        "--per-vm": per_vm,
        "--interval": interval,
        "--compare": compare,
        "--estimator": policy and estimator != "exact",
        "--policy": policy,
    }
    if len(given := [name for name, value in modes.items() if value]) > 1:
        raise ConfigError(f"{given[0]} and {given[1]}: one at a time")
    if mini is not None and not policy:
        raise ConfigError("--mini: of which policies? --policy says")
    source = Source(files, block_size, ops, seed, jobs or cores(), reading)
    if sizes is not None:  # a mistake in them is told before the work begins
        sizes_given(sizes, 1, source.block_bytes)
    with interruptible():
        if policy:
            by_policy = _by_policy(source, policy, sizes, memory, mini, seeds)
            by_policy.show()
            by_policy.write(out, log=not linear, figures=not no_figures)
            return
        if compare:
            report = _compare(source, compare)
        elif interval:
            report = _per_interval(source, estimator, interval)
        elif per_vm:
            report = _per_vm(source, estimator)
        else:
            report = _one(source, estimator)
        report.show(sizes)
        report.write(out, log=not linear, figures=not no_figures)


def _measure(
    source: Source,
    estimators: Sequence[EstimatorSpec],
    streams_of: Callable[[engine.Accesses], Sequence[Stream]],
) -> tuple[engine.Accesses, list[Measured]]:
    """Read the traces and make the curve of every stream by every estimator."""
    from rich.console import Console

    from mcsim.base.progress import Reporter
    from mcsim.locality.measure import measure

    source.block_bytes  # noqa: B018  # a mistake in it is told before the work begins
    reporter = Reporter(Console(stderr=True))
    with reporter.live():
        accesses = source.read(reporter)
        streams = streams_of(accesses)
        tasks = [(stream, spec) for stream in streams for spec in estimators]
        measured = measure(
            tasks,
            seed=source.seed,
            jobs=source.jobs,
            reporter=reporter,
            one_at_a_time=len(estimators) > 1,
        )
    return accesses, measured


def _one(source: Source, estimator: str) -> _Curves:
    from mcsim.locality.measure import parse_estimator, whole

    spec = parse_estimator(estimator)
    accesses, measured = _measure(source, [spec], lambda of: [whole(of, source.name)])
    return _Curves(source, accesses, str(spec), measured)


def _per_vm(source: Source, estimator: str) -> _Curves:
    from mcsim.locality.measure import by_vm, parse_estimator, whole

    spec = parse_estimator(estimator)
    accesses, measured = _measure(
        source, [spec], lambda of: [*by_vm(of), *([whole(of, SHARED)] if len(of.vms) > 1 else [])]
    )
    return _PerVm(source, accesses, str(spec), measured)


def _per_interval(source: Source, estimator: str, interval: str) -> _Curves:
    from mcsim.base.errors import ConfigError
    from mcsim.base.units import parse_interval
    from mcsim.locality.measure import by_interval, parse_estimator

    spec = parse_estimator(estimator)
    try:
        length, by_reference = parse_interval(interval)
    except ValueError as error:
        raise ConfigError(f"--interval: {error}") from None
    if length == 0:
        raise ConfigError("--interval: must be positive")

    def streams(of: engine.Accesses) -> list[Stream]:
        if by_reference != (of.time_base == "index"):
            wanted = "such as 1h" if by_reference else "in references, such as '50000 references'"
            raise ConfigError(
                f"--interval: the trace has {'a' if by_reference else 'no'} clock: give a length "
                f"{wanted}"
            )
        count, unit = _in_one_unit(length)
        label = (lambda t: f"{t:,}") if by_reference else (lambda t: f"{t // length * count}{unit}")
        return by_interval(of, length, label)

    accesses, measured = _measure(source, [spec], streams)
    return _PerInterval(source, accesses, str(spec), measured, length, by_reference)


def _compare(source: Source, compare: str) -> _Curves:
    from mcsim.base.errors import ConfigError
    from mcsim.locality.measure import EstimatorSpec, parse_estimators, whole

    asked = parse_estimators(compare)
    if not asked:
        raise ConfigError("--compare: expected names of estimators")
    exact = EstimatorSpec("exact", {})
    specs = list({str(spec): spec for spec in [exact, *asked]}.values())
    accesses, measured = _measure(source, specs, lambda of: [whole(of, source.name)])
    return _Compared(source, accesses, "", measured)


def _by_policy(
    source: Source,
    policies: str,
    sizes: str | None,
    memory: str | None,
    mini: str | None,
    seeds: int,
) -> _ByPolicy:
    from mcsim.base.errors import ConfigError

    rate = None if mini is None else share_given("--mini", mini)
    if rate == 0:
        raise ConfigError("--mini: expected more than nothing")
    done = simulated(
        source,
        policies,
        sizes or _ByPolicy.default_sizes,
        memory,
        None if rate is None else Mini(rate, seeds),
    )
    return _ByPolicy(source, done.accesses, "", done.capacities, done.rows)


class _ByPolicy(PolicyReport):
    """A row a size, a column a policy."""

    suffix = "-mrc-policies"
    default_sizes = "0.1%:100%:13"

    def show(self) -> None:
        """Print the table and how its numbers came about."""
        print_plainly(self.heading(), self.table())
        if self.has_band:
            print_plainly(self._about_miniatures())

    def table(self) -> Any:
        from mcsim.base.units import format_size

        table = table_of(["size", "blocks", *(["rate"] if self.has_band else []), *self.policies])
        for i, blocks in enumerate(self.capacities):
            rows = [self.of(policy)[i] for policy in self.policies]
            rate = [f"{rows[0].rate:.3g}"] if self.has_band else []
            size = format_size(blocks * self.accesses.block_bytes)
            table.add_row(size, f"{blocks:,}", *rate, *(self._cell(row) for row in rows))
        return table

    def _cell(self, row: Any) -> str:
        ratio = f"{row.hit_ratio:.4f}"
        if not self.has_band or row.correction == "exact":
            return ratio
        margin = (row.high - row.low) / 2
        return ratio if margin != margin else f"{ratio} ±{margin:.4f}"

    def _about_miniatures(self) -> str:
        how = {
            "none": "ratios of the samples",
            "adj": "adjusted to the length of the trace",
        }
        used = [how[name] for name in how if name in self.rows.correction]
        exact = "those at rate 1 exact" if "exact" in self.rows.correction else ""
        has_margin = self.rows.low.tolist() == self.rows.low.tolist()  # nan is not itself
        band = "± half the 95 % band of the mean over the seeds" if has_margin else ""
        parts = [part for part in (*used, exact, band) if part]
        return "miniatures: " + "; ".join(parts)


@dataclass
class _Curves(Report):
    """What is said of curves; here of one."""

    measured: list[Measured]

    suffix = ""
    subject = "Hit ratio of LRU over cache size"
    default_sizes = (2, 14)
    """From one to the next, and how many."""

    def named(self) -> list[tuple[str, HitRatioCurve]]:
        """Return the curves with what they are called."""
        return [(one.label, one.curve) for one in self.measured]

    def show(self, sizes: str | None) -> None:
        """Print the table and what the estimators chose by themselves."""
        print_plainly(self.heading(), self.table(self.sizes(sizes)))
        for name, curve in {curve.note: (n, curve) for n, curve in self.named()}.values():
            about = f"{name}: " if len(self.measured) > 1 else ""
            if curve.note:
                print_plainly(f"{about}{curve.note}")
        unresolved = {curve.resolved_from for _, curve in self.named() if curve.resolved_from > 1}
        if unresolved:
            blocks = f", {max(unresolved):,.0f} blocks" if len(unresolved) == 1 else ""
            print_plainly(f"~ marks sizes below what the estimator resolves{blocks}")

    def sizes(self, given: str | None) -> list[int]:
        """Return the capacities of the table, in blocks."""
        footprint = sum(vm.unique_blocks for vm in self.accesses.vms)
        if given is None:
            step, count = self.default_sizes
            powers = [step**k for k in range(64) if step**k < footprint]
            return [*powers[-count:], footprint]
        return sizes_given(given, footprint, self.accesses.block_bytes)

    def table(self, sizes: Sequence[int]) -> Any:
        import numpy as np

        ((_, curve),) = self.named()
        band = curve.band_at(sizes)
        headings = ["size", "blocks", "hit ratio", *(["95 % band"] if band else [])]
        table = table_of(headings)
        resolved = curve.is_resolved(sizes)
        for i, blocks in enumerate(sizes):
            row = [*self._size(blocks), _ratio(curve.at(blocks), bool(resolved[i]))]
            if band:
                low, high = (float(np.clip(side[i], 0, 1)) for side in band)
                row.append(f"{low:.4f}–{high:.4f}")
            table.add_row(*row)
        return table

    def _size(self, blocks: int) -> tuple[str, str]:
        from mcsim.base.units import format_size

        return format_size(blocks * self.accesses.block_bytes), f"{blocks:,}"

    def figure(self, *, log: bool) -> Figure:
        """Draw the curves."""
        from mcsim.figures.locality import curves

        return curves(self.named(), log=log).frame(self.title, self.footer())

    def write(self, out: Path, *, log: bool, figures: bool) -> None:
        """Write picture and tables, and print their names."""
        from pyarrow import csv

        rows = self._rows([(name, curve.thinned(log=log)) for name, curve in self.named()])
        steps = self._rows(self.named())
        self.write_files(
            out / f"{self.source.file_name}-mrc{self.suffix}",
            (lambda: self.figure(log=log)) if figures else None,
            {
                ".csv": lambda sink: csv.write_csv(rows, sink),
                ".arrow": lambda sink: _write_arrow(steps, sink),
            },
        )

    def _rows(self, named: Sequence[tuple[str, HitRatioCurve]]) -> pa.Table:
        """Return one row a step of each curve; a single curve's table is `to_arrow`'s."""
        import numpy as np
        import pyarrow as pa

        if len(named) == 1:
            return named[0][1].to_arrow()
        tables = [
            curve.to_arrow()
            .replace_schema_metadata(None)
            .add_column(0, "curve", pa.array(np.full(len(curve.capacities), name)))
            .append_column("resolved", pa.array(curve.is_resolved(curve.capacities)))
            for name, curve in named
        ]
        return pa.concat_tables(tables, promote_options="default")


class _PerVm(_Curves):
    """A row a VM."""

    suffix = "-per-vm"
    subject = "Hit ratio of LRU over cache size, by VM"
    default_sizes = (4, 6)

    def table(self, sizes: Sequence[int]) -> Any:
        return self._wide("VM", sizes)

    def _wide(self, what: str, sizes: Sequence[int]) -> Any:
        table = table_of(
            [what, "accesses", "blocks", *(self._size(blocks)[0] for blocks in sizes)], left=1
        )
        for name, curve in self.named():
            resolved = curve.is_resolved(sizes)
            ratios = [
                _ratio(curve.at(blocks), bool(resolved[i])) if curve.accesses else "-"
                for i, blocks in enumerate(sizes)
            ]
            table.add_row(
                name,
                f"{curve.accesses:,}",
                f"{curve.distinct:,.0f}",
                *ratios,
                style="bold" if name == SHARED else "",
            )
        return table

    def figure(self, *, log: bool) -> Figure:
        from mcsim.figures.locality import curves

        return curves(self.named(), log=log, together=SHARED).frame(self.title, self.footer())


@dataclass
class _PerInterval(_PerVm):
    """A row an interval."""

    length: int = 0
    by_reference: bool = False

    suffix = "-intervals"
    subject = "Hit ratio of LRU by interval and cache size"

    def table(self, sizes: Sequence[int]) -> Any:
        return self._wide("from", sizes)

    def figure(self, *, log: bool) -> Figure:
        from mcsim.figures.locality import over_intervals

        hour = 3600 * 10**9
        unit, name = next(
            (unit, name)
            for unit, name in (
                (1, "references") if self.by_reference else (24 * hour, "days"),
                (hour, "hours"),
                (hour // 60, "minutes"),
                (10**9, "seconds"),
                (1, "ns"),
            )
            if self.length * len(self.measured) >= 3 * unit
        )
        begins = [k * self.length / unit for k in range(len(self.measured) + 1)]
        sheet = over_intervals(self.named(), begins, f"Since the first request ({name})")
        return sheet.frame(self.title, self.footer())


class _Compared(_Curves):
    """A row an estimator."""

    suffix = "-compare"
    subject = "Estimates of LRU's hit ratio over cache size"
    default_sizes = (4, 6)

    def named(self) -> list[tuple[str, HitRatioCurve]]:
        return [(one.curve.estimator, one.curve) for one in self.measured]

    def table(self, sizes: Sequence[int]) -> Any:
        import numpy as np

        from mcsim.base.units import format_size

        headings = ["estimator", "MAE", "worst", "time", "M refs/s", "memory", "blocks"]
        table = table_of([*headings, *(self._size(blocks)[0] for blocks in sizes)], left=1)
        exact = self.measured[0].curve
        at = exact.hundredths()
        for one in self.measured:
            curve = one.curve
            apart = np.abs(curve.at(at) - exact.at(at))
            is_exact = curve is exact
            resolved = curve.is_resolved(sizes)
            table.add_row(
                curve.estimator,
                "-" if is_exact else f"{curve.mae(exact):.5f}",
                "-" if is_exact else f"{apart.max():.5f}",
                f"{one.seconds:.3f} s",
                f"{one.rate / 1e6:.1f}",
                format_size(one.bytes),
                f"{curve.distinct:,.0f}",
                *(_ratio(curve.at(blocks), bool(resolved[i])) for i, blocks in enumerate(sizes)),
            )
        table.caption = (
            "MAE and worst: of the hit ratio, at U/100, …, U of the trace's U distinct blocks"
        )
        table.caption_justify = "left"
        return table

    def figure(self, *, log: bool) -> Figure:
        from mcsim.figures.locality import comparison, curves

        named = self.named()
        sheet = comparison(named, log=log) if len(named) > 1 else curves(named, log=log)
        return sheet.frame(self.title, self.footer())


@click.command()
@click.argument("file", metavar="TRACE", type=click.Path())
@click.option("--target-hit-ratio", metavar="RATIO", help="Such as 0.8 or 80%.")
@click.option("--target-latency", metavar="TIME", help="Mean latency of an access, such as 2ms.")
@click.option(
    "--tier",
    default="flash",
    show_default=True,
    help="Device of the cache (see mcsim list).",
)
@click.option("--backend", default="hdd", show_default=True, help="Device behind the cache.")
@_estimator_option
@_stream_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: sizes in blocks, times in ns.")
def size(
    file: str,
    target_hit_ratio: str | None,
    target_latency: str | None,
    tier: str,
    backend: str,
    estimator: str,
    block_size: str,
    ops: Any,
    seed: int,
    jobs: int | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Find the smallest LRU cache for TRACE that reaches a hit ratio or a mean latency.

    An access takes the cache device's time to read a block if it hits, and the backend's if
    it misses. Also shown are the knees of the curve: sizes after which more space is worth
    much less.

    Exit code 2 says that no cache is large enough, and what the best one reaches.

    \b
    mcsim size web_0.csv.gz --target-hit-ratio 80%
    mcsim size web_0.csv.gz --target-latency 2ms --tier flash --backend hdd
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.config.devices import device_named
    from mcsim.locality.measure import parse_estimator, whole

    latency = _Latency(device_named("--tier", tier), device_named("--backend", backend))
    target = _target(target_hit_ratio, target_latency, latency)
    spec = parse_estimator(estimator)
    source = Source((file,), block_size, ops, seed, jobs or cores(), reading)
    with interruptible():
        accesses, (measured,) = _measure(source, [spec], lambda of: [whole(of, source.name)])
    answer = _Answer(measured.curve, target, latency)
    if as_json:
        import json

        click.echo(json.dumps(answer.to_dict() | {"trace": source.name}, indent=2))
    else:
        answer.show(source.heading(accesses, str(spec)))
    if answer.blocks is None:
        raise ConfigError(answer.refusal())


@dataclass(frozen=True)
class _Latency:
    """The mean latency of an access that hits in one device or reads from another."""

    tier: Device
    backend: Device

    def __post_init__(self) -> None:
        from mcsim.base.errors import ConfigError

        if self.hit_ns >= self.miss_ns:
            raise ConfigError(
                f"--tier: {self.tier.name} is not faster than the backend {self.backend.name}"
            )

    @property
    def hit_ns(self) -> float:
        return self.tier.read_ns.middle

    @property
    def miss_ns(self) -> float:
        return self.backend.read_ns.middle

    def of(self, ratio: float) -> float:
        return ratio * self.hit_ns + (1 - ratio) * self.miss_ns

    def ratio_for(self, ns: float) -> float:
        """Return the hit ratio at which the mean latency is so long; perhaps none has it."""
        return (self.miss_ns - ns) / (self.miss_ns - self.hit_ns)


@dataclass(frozen=True)
class _Target:
    """What is wanted, in words and as the hit ratio that it takes."""

    text: str
    ratio: float
    latency_ns: int | None = None


def _target(ratio: str | None, latency: str | None, model: _Latency) -> _Target:
    from mcsim.base.errors import ConfigError
    from mcsim.base.units import parse_duration

    if (ratio is None) == (latency is None):
        raise ConfigError("give one of --target-hit-ratio and --target-latency")
    if ratio is not None:
        value = share_given("--target-hit-ratio", ratio)
        return _Target(f"a hit ratio of {value:g}", value)
    try:
        ns = parse_duration(latency)
    except ValueError as error:
        raise ConfigError(f"--target-latency: {error}") from None
    return _Target(f"a mean latency of {latency}", max(0.0, model.ratio_for(ns)), ns)


@dataclass(frozen=True)
class _Answer:
    """The smallest cache that reaches a target, and the knees of the curve."""

    curve: HitRatioCurve
    target: _Target
    latency: _Latency

    @property
    def blocks(self) -> int | None:
        return self.curve.capacity_for(self.target.ratio) if self.target.ratio <= 1 else None

    @property
    def range(self) -> tuple[int | None, int | None] | None:
        if self.target.ratio > 1:
            return None
        return self.curve.capacity_range_for(self.target.ratio)

    def refusal(self) -> str:
        """Say that no size will do, and what the best one reaches."""
        from mcsim.base.units import format_blocks, format_latency

        best = self.curve.best_ratio
        if self.target.ratio > 1:
            return (
                f"no cache reaches {self.target.text}: {self.latency.tier.name} itself takes "
                f"{format_latency(self.latency.hit_ns)}"
            )
        reached = f"hit ratio {best:.4f}"
        if self.target.latency_ns is not None:
            reached = f"{format_latency(self.latency.of(best))} ({reached})"
        return (
            f"no cache reaches {self.target.text}: the best is {reached}, at "
            f"{format_blocks(self.curve.saturation)}; the other accesses are first ones"
        )

    def to_dict(self) -> dict[str, Any]:
        curve = self.curve
        return {
            "target_hit_ratio": self.target.ratio,
            "target_latency_ns": self.target.latency_ns,
            "tier": self.latency.tier.name,
            "backend": self.latency.backend.name,
            "estimator": curve.estimator,
            "block_bytes": curve.block_bytes,
            "blocks": self.blocks,
            "blocks_range": self.range,
            "resolved": None if self.blocks is None else self.blocks >= curve.resolved_from,
            "best_hit_ratio": curve.best_ratio,
            "best_latency_ns": self.latency.of(curve.best_ratio),
            "saturation_blocks": curve.saturation,
            "knees": [
                {
                    "blocks": knee.capacity,
                    "hit_ratio": knee.ratio,
                    "latency_ns": self.latency.of(knee.ratio),
                }
                for knee in curve.knees()
            ],
            "note": curve.note,
        }

    def show(self, heading: str) -> None:
        say = print_plainly
        say(heading)
        if self.blocks is not None:
            say(f"{self.target.text}: {self._sized(self.blocks)}")
            if self.blocks < self.curve.resolved_from:
                say(
                    f"~ that is below what {self.curve.estimator} resolves, "
                    f"{self._sized(round(self.curve.resolved_from))}"
                )
        if self.range is not None:
            low, high = (self._sized(end) for end in self.range)
            say(f"by its 95 % band: from {low} to {high}")
        if self.curve.note:
            say(self.curve.note)
        say(self._table())

    def _sized(self, blocks: int | None) -> str:
        from mcsim.base.units import format_blocks, format_size

        if blocks is None:
            return "no size"
        assert self.curve.block_bytes is not None
        return f"{format_size(blocks * self.curve.block_bytes)} ({format_blocks(blocks)})"

    def _table(self) -> Any:
        from mcsim.base.units import format_latency, format_size

        assert self.curve.block_bytes is not None
        marked = {knee.capacity: "knee" for knee in self.curve.knees()}
        marked.setdefault(self.curve.saturation, "all there is to hit")
        if self.blocks is not None:
            marked[self.blocks] = "the target"
        device = f"{self.latency.tier.name}, {self.latency.backend.name}"
        table = table_of(["size", "blocks", "hit ratio", f"mean latency ({device})", ""])
        for blocks in sorted(marked):
            ratio = self.curve.at(blocks)
            table.add_row(
                format_size(blocks * self.curve.block_bytes),
                f"{blocks:,}",
                _ratio(ratio, blocks >= self.curve.resolved_from),
                format_latency(self.latency.of(ratio)),
                marked[blocks],
                style="bold" if blocks == self.blocks else "",
            )
        table.columns[-1].justify = "left"
        return table


def share_given(option: str, text: str) -> float:
    """Read a share of 1: `0.8` or `80%`."""
    from mcsim.base.errors import ConfigError

    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if rest or not 0 <= value <= 1:
        raise ConfigError(f"{option}: expected a share such as 0.8 or 80%, got {text!r}")
    return value


def _in_one_unit(length: int) -> tuple[int, str]:
    """Write a length of time as a whole number of the largest unit: 90, `min`."""
    from mcsim.base.units import format_duration

    text = format_duration(length)
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits), text.removeprefix(digits)


def _ratio(ratio: float, resolved: bool) -> str:
    return f"{'' if resolved else '~'}{ratio:.4f}"


def _write_arrow(table: pa.Table, sink: Any) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
