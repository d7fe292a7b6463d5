"""`mcsim size`: the smallest cache that reaches a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.threads import threads_given
from mcsim.base.units import format_capacity
from mcsim.cli.help import Sectioned
from mcsim.cli.kv_tables import size_of_chains
from mcsim.cli.options import devices_options, table_option
from mcsim.cli.stream import (
    Source,
    curve_options,
    estimator_given,
    estimator_option,
    make_curves,
)
from mcsim.cli.terminal import Form, Line, print_result
from mcsim.tables.column import column

if TYPE_CHECKING:
    from mcsim.config.latency import WriteMode
    from mcsim.locality.curve import HitRatioCurve
    from mcsim.locality.latency import CacheLatency
    from mcsim.locality.measure import EstimatorSpec
    from mcsim.references.blocks import Blocks
    from mcsim.tables.formatted_table import RowStyle
    from mcsim.tables.result_table import ResultTable
    from mcsim.traces.batches import Ops


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@click.option("--target-hit-ratio", metavar="RATIO", help="Such as 0.8 or 80%.")
@click.option(
    "--target-token-hits", metavar="RATIO", help="Of a KV cache, in prefixes: see mcsim kv."
)
@click.option("--target-latency", metavar="TIME", help="Mean latency of an access, such as 2ms.")
@devices_options
@click.option(
    "--writes",
    metavar="MODE",
    type=click.Choice(["through", "back", "around"]),
    help="Write mode (through, back or around), where --ops includes writes.  [default: through]",
)
@click.option(
    "--deployed",
    metavar="NAME[(PARAM=VALUE,...)]",
    help="A deployed cache in place of LRU, such as dm-cache(block_kib=64): replayed at 25 sizes.",
)
@click.option("--in-bytes", "by_bytes", is_flag=True, help="Of objects: a size in bytes.")
@estimator_option
@curve_options
@table_option
def size(
    files: tuple[str, ...],
    target_hit_ratio: str | None,
    target_latency: str | None,
    tier: str,
    backend: str,
    devices: tuple[str, ...],
    writes: WriteMode | None,
    deployed: str | None,
    by_bytes: bool,
    estimator: str,
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    threads: int | None,
    form: Form,
    **reading: Any,
) -> None:
    """Find the smallest LRU cache for TRACEs that reaches a hit ratio or a mean latency.

    With --in-bytes, the size holds objects by their bytes.

    A read takes the cache device's time to read a block if it hits, and the backend's if it
    misses. A write takes the backend's time to write a block or, written back, the cache
    device's. The table also has the knees of the curve: sizes above which more space is worth much
    less.

    With --deployed, the size is that of a deployed cache, by replays. It is the smallest of the
    replayed sizes that reaches a hit ratio.

    With --target-token-hits, TRACE has requests to a KV cache, and the table is that of mcsim kv.

    Exit code 2 means that no cache is large enough; the message has the best possible value.

    \b
    mcsim size web_0.csv.gz --target-hit-ratio 80%
    mcsim size web_0.csv.gz --target-latency 2ms --tier flash --backend hdd
    mcsim size web_0.csv.gz --target-latency 2ms --ops all --writes back
    mcsim size web_0.csv.gz --target-hit-ratio 5% --ops all --deployed 'dm-cache(block_kib=64)'
    mcsim size cdn.csv --target-hit-ratio 80% --in-bytes
    mcsim size chat.jsonl --target-token-hits 80%
    """  # noqa: D301
    from mcsim.base.errors import ConfigError

    if (token_hits := reading.pop("target_token_hits")) is not None:
        return size_of_chains(files, token_hits, reading["trace_dirs"], form)
    latency = _latency(tier, backend, devices, writes, ops)
    target = _target(target_hit_ratio, target_latency)
    spec = estimator_given(estimator)
    around = ops != "reads" and latency.writes == "around"
    _check_reads(target, spec, counts_reads=ops == "reads" or around or spec.name == "exact")
    source = Source(files, block_size, ops, vms, seed, threads_given(threads), reading)
    if deployed is None:
        blocks, curve = _curve_with_reads(source, spec, around, by_bytes=by_bytes)
    else:
        has_more = by_bytes or writes is not None or str(spec) != "exact"
        blocks, curve = _replayed(source, deployed, target, has_more=has_more)
    if blocks.kind == "objects" and target.latency_ns is not None:
        raise ConfigError("--target-latency: an object trace: devices read and write blocks")
    answer = _Answer(
        curve, target, latency, ops, len(blocks.discards) > 0, is_replayed=deployed is not None
    )
    heading = source.heading(blocks, str(spec) if deployed is None else curve.estimator)
    print_result(
        form,
        *answer.lines(heading),
        data=lambda: answer.table().to_arrow(),
        whole=lambda: answer.to_dict() | {"trace": source.name},
    )
    if answer.blocks is None:
        option = "--target-hit-ratio" if target.latency_ns is None else "--target-latency"
        raise ConfigError(f"{option}: {answer.refusal()}")


def _check_reads(target: _Target, spec: EstimatorSpec, *, counts_reads: bool) -> None:
    """Check that the hits of reads are known where a latency needs them."""
    from mcsim.base.errors import ConfigError

    if target.latency_ns is not None and not counts_reads:
        raise ConfigError(
            f"--target-latency: {spec} does not tell hits of reads from those of writes; give "
            "--estimator exact, --ops reads or --writes around"
        )


def _curve_with_reads(
    source: Source, spec: EstimatorSpec, around: bool, *, by_bytes: bool
) -> tuple[Blocks, HitRatioCurve]:
    """Measure the curve, with hits of reads if the estimator counts them."""
    from mcsim.locality.estimators import reuse_distances
    from mcsim.locality.hit_units import with_reads
    from mcsim.locality.latency import of_reads_alone
    from mcsim.references.objects import in_bytes

    if by_bytes:
        blocks, (measured,) = make_curves(source, [spec], lambda of: [in_bytes(of)])
        return blocks, measured.curve
    blocks, (measured,) = make_curves(
        source, [spec], lambda of: [of.written_around() if around else of]
    )
    if around:
        return blocks, of_reads_alone(measured.curve, len(blocks))
    if source.ops != "reads" and spec.name == "exact":
        return blocks, with_reads(measured.curve, reuse_distances(blocks), blocks.ops == 0)
    return blocks, measured.curve


def _replayed(
    source: Source, deployed: str, target: _Target, *, has_more: bool
) -> tuple[Blocks, HitRatioCurve]:
    """Replay a deployed cache at several sizes; `has_more`: options do not fit it."""
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.cli.options import reporter_asked
    from mcsim.policies.deployed_caches import deployed_given, replayed_curve

    if target.latency_ns is not None:
        raise ConfigError("--target-latency: not with --deployed; experiments have its latency")
    if has_more:
        raise ConfigError("--deployed: without --estimator, --in-bytes and --writes")
    with mistakes_in("--deployed"):
        spec = deployed_given(deployed)
    reporter = reporter_asked()
    with reporter.live():
        blocks = source.read(reporter)
        with reporter.stage("replay"), mistakes_in("--deployed"):
            return blocks, replayed_curve(blocks, spec, threads=source.threads)


def _latency(
    tier: str, backend: str, devices: tuple[str, ...], writes: WriteMode | None, ops: Ops
) -> CacheLatency:
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.config.device_choice import device_given, devices_given
    from mcsim.locality.latency import CacheLatency

    own = devices_given("--device", devices)
    before, behind = device_given("--tier", tier, own), device_given("--backend", backend, own)
    with mistakes_in("--tier"):
        latency = CacheLatency(before, behind, writes or "through")
    if writes is not None and ops == "reads":
        raise ConfigError(f"--writes {writes}: there are none with --ops reads; give --ops all")
    return latency


@dataclass(frozen=True)
class _Target:
    """A hit ratio or a mean latency; one of them is None."""

    text: str
    ratio: float | None = None
    latency_ns: int | None = None


def _target(ratio: str | None, latency: str | None) -> _Target:
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.base.sizes import share_given
    from mcsim.base.units import parse_duration

    if (ratio is None) == (latency is None):
        raise ConfigError("give one of --target-hit-ratio and --target-latency")
    if ratio is not None:
        value = share_given("--target-hit-ratio", ratio, zero=True)
        return _Target(f"a hit ratio of {value:g}", value)
    with mistakes_in("--target-latency"):
        ns = parse_duration(latency)
    return _Target(f"a mean latency of {latency}", latency_ns=ns)


@dataclass(frozen=True)
class _Answer:
    """The smallest cache that reaches a target, and the knees of the curve."""

    curve: HitRatioCurve
    target: _Target
    latency: CacheLatency
    ops: Ops
    has_discards: bool
    is_replayed: bool = False
    """Whether the cache is a deployed one."""

    @property
    def blocks(self) -> int | None:
        if self.target.latency_ns is not None:
            return self.latency.capacity_for(self.curve, self.target.latency_ns)
        return self.curve.capacity_for(self._ratio)

    @property
    def is_of_objects(self) -> bool:
        """Whether capacities have no blocks of a device."""
        return self.curve.block_bytes in (None, 1)

    @property
    def has_latency(self) -> bool:
        """Whether the hits of the curve determine the latency of an access."""
        return not (self.is_of_objects or self.is_replayed)

    @property
    def range(self) -> tuple[int | None, int | None] | None:
        if self.target.latency_ns is not None:
            return self.latency.capacity_range_for(self.curve, self.target.latency_ns)
        return self.curve.capacity_range_for(self._ratio)

    @property
    def _ratio(self) -> float:
        """The share of accesses that must hit; for a latency, reads that hit."""
        if self.target.latency_ns is not None:
            return max(0.0, self.latency.ratio_for(self.curve, self.target.latency_ns))
        assert self.target.ratio is not None
        return self.target.ratio

    def _mean_ns(self, blocks: int) -> float | None:
        """Return the mean latency at a size in blocks.

        None if hits of reads are not known, or of objects.
        """
        if not self.has_latency:
            return None
        if self.ops != "reads" and self.curve.reads is None:
            return None
        return self.latency.mean_ns(self.curve, blocks)

    def refusal(self) -> str:
        """Return the message that no size reaches the target, with the best possible value."""
        from mcsim.base.units import format_blocks, format_latency

        best = self.curve.best_ratio
        wanted = self.target.latency_ns
        if wanted is not None and (least := self.latency.least_ns(self.curve)) > wanted:
            device = self.latency.tier.name
            how = (
                f"{device} itself takes"
                if self.ops == "reads"
                else (
                    f"with writes {self.latency.writes}, and reads that all hit in {device}, it is"
                )
            )
            return f"no cache reaches {self.target.text}: {how} {format_latency(least)}"
        reached = f"hit ratio {100 * best:.2f} %"
        if wanted is not None:
            mean = self.latency.mean_ns(self.curve, self.curve.saturation)
            reached = f"{format_latency(mean)} ({reached})"
        most = self.curve.saturation
        of_objects = format_capacity(most, self.curve.block_bytes)
        at = of_objects if self.is_of_objects else format_blocks(most)
        others = "first ones"
        if self.has_discards:
            others += ", or of discarded blocks"
        if self.ops != "reads" and self.latency.writes == "around":
            others = "writes, first ones, or of blocks that were written or discarded"
        if self.is_replayed:
            return f"no replayed size reaches {self.target.text}: the best is {reached}, at {at}"
        return (
            f"no cache reaches {self.target.text}: the best is {reached}, at {at}; the other "
            f"accesses are {others}"
        )

    def to_dict(self) -> dict[str, Any]:
        curve = self.curve
        return {
            "target_hit_ratio": self._ratio,
            "target_latency_ns": self.target.latency_ns,
            "tier": self.latency.tier.name,
            "backend": self.latency.backend.name,
            "writes": None if self.ops == "reads" else self.latency.writes,
            "estimator": curve.estimator,
            "block_bytes": curve.block_bytes,
            "blocks": self.blocks,
            "blocks_range": self.range,
            "resolved": None if self.blocks is None else self.blocks >= curve.resolved_from,
            "best_hit_ratio": curve.best_ratio,
            "best_latency_ns": self._mean_ns(curve.saturation),
            "saturation_blocks": curve.saturation,
            "knees": [
                {
                    "blocks": knee.capacity,
                    "hit_ratio": knee.ratio,
                    "latency_ns": self._mean_ns(knee.capacity),
                }
                for knee in curve.knees()
            ],
            "note": curve.note,
        }

    def lines(self, heading: str) -> list[Line]:
        """Return the size that was requested, if any, and the table."""
        lines: list[Line] = []
        if self.blocks is not None:
            lines.append(
                f"{self.target.text}: {format_capacity(self.blocks, self.curve.block_bytes)}"
            )
            if self.blocks < self.curve.resolved_from:
                lines.append(
                    f"~ that is below the resolution of {self.curve.estimator}, "
                    f"{format_capacity(round(self.curve.resolved_from), self.curve.block_bytes)}"
                )
        if self.range is not None:
            ends = (
                "no size" if end is None else format_capacity(end, self.curve.block_bytes)
                for end in self.range
            )
            low, high = ends
            lines.append(f"by its 95 % band: from {low} to {high}")
        notes = [self.curve.note] if self.curve.note else []
        devices = f"; latency of {self.latency.tier.name} before {self.latency.backend.name}"
        if self.ops != "reads":
            devices += f", writes {self.latency.writes}"
        if not self.has_latency:
            devices = ""
        return [*lines, f"{heading}{devices}", *notes, self.table()]

    def _marked(self) -> dict[int, str]:
        marked = {knee.capacity: "knee" for knee in self.curve.knees()}
        last = "the most hits" if self.is_replayed else "all there is to hit"
        marked.setdefault(self.curve.saturation, last)
        if self.blocks is not None:
            marked[self.blocks] = "the target"
        return marked

    def table(self) -> ResultTable:
        """Return the target, the knees and the size with all hits."""
        from mcsim.tables.result_columns import TABLES
        from mcsim.tables.result_table import ResultTable

        unit, marked = self.curve.block_bytes, self._marked()
        rows = [
            (
                None if unit is None else blocks * unit,
                blocks,
                float(self.curve.at(blocks, unresolved=True)),
                "" if blocks >= self.curve.resolved_from else "below the resolution",
                self._mean_ns(blocks),
                marked[blocks],
            )
            for blocks in sorted(marked)
        ]
        styles: list[RowStyle] = ["best" if row[1] == self.blocks else "" for row in rows]
        columns = list(TABLES["sizes"])
        if self.is_of_objects:
            name = "objects" if unit is None else "bytes"
            columns[1] = column(name, "count", name="blocks")
        return ResultTable.of_rows(columns, rows, "sizes", styles=styles)
