"""`mcsim tune`: a cache of one size under all combinations of its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.threads import threads_given
from mcsim.cli.help import Sectioned
from mcsim.cli.options import devices_options, plugin_option, reporter_asked, seed_option
from mcsim.cli.output import Output, output_options
from mcsim.cli.policy_report import memory_option, mini_options, policies_option
from mcsim.cli.reading import reading_options, vms_option, words_of
from mcsim.cli.stream import Report, Source
from mcsim.cli.terminal import Form, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from mcsim.base.progress import Reporter
    from mcsim.figures.chart import Sheet
    from mcsim.policies.grid import Point
    from mcsim.policies.scaled import Objective
    from mcsim.tables.result_table import ResultTable


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--size",
    required=True,
    help="Of the cache: 1GiB, 250000 (blocks of the smallest size), or 1% of all that is read and "
    "written.",
)
@click.option(
    "--block-bytes",
    metavar="SIZE,...",
    default="4KiB,8KiB,16KiB,32KiB,64KiB",
    show_default=True,
    help="Block sizes.",
)
@click.option(
    "--sub-block-bytes",
    metavar="SIZE,...",
    default="none",
    show_default=True,
    help="What is loaded at a time of a block, which is evicted whole; none: whole blocks.",
)
@click.option(
    "--writes",
    metavar="MODE,...",
    default="through,back,around",
    show_default=True,
    help="What becomes of writes.",
)
@policies_option("lru", classes=False)
@mini_options(mini="Caches in miniature, given such a share of the requests (0.01, 1% or 1/16).")
@click.option(
    "--objective",
    type=click.Choice(["hit-ratio", "latency", "device-writes", "backend-writes"]),
    default="hit-ratio",
    show_default=True,
    help="By what the table is sorted.",
)
@devices_options
@seed_option("Of policies that draw.")
@click.option(
    "--threads", metavar="N", type=click.IntRange(min=1), hidden=True, help="Caches at a time."
)
@memory_option
@plugin_option
@vms_option
@reading_options
@output_options
def tune(
    files: tuple[str, ...],
    size: str,
    block_bytes: str,
    sub_block_bytes: str,
    writes: str,
    policies: str,
    mini: str | None,
    seeds: int,
    objective: Objective,
    tier: str,
    backend: str,
    devices: tuple[str, ...],
    seed: int,
    threads: int | None,
    vms: str | None,
    memory: str | None,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Find the block size, write mode and policy of a cache for the requests of TRACEs.

    Every combination is replayed, or its miniature with a sample of the requests. The table is
    sorted by the objective, with the best in bold. DIR gets the table as .csv, and a picture of
    all objectives over block size.

    A block, or sub-block, is read and written whole. Requests are cut where blocks of the
    largest size begin. The hit ratio is the share of read pieces that did not wait for the
    backend; the latency is the mean of all pieces. The rate of a miniature is doubled until the
    cache has 100 of the largest blocks. If all samples together would be as long as the trace, the
    whole trace is replayed. A policy under which small caches differ from large ones has no error
    band; the reason is printed. The memory of the caches is printed before the replay, by block
    size.

    Deployed caches, such as dm-cache, are replayed whole in all their settings, without cutting
    requests. Block sizes and samples are those of policies alone.

    \b
    mcsim tune web_0.csv.gz --size 1GiB
    mcsim tune web_0.csv.gz --size 1GiB --block-bytes 64KiB --sub-block-bytes 4KiB --writes back
    mcsim tune web_0.csv.gz --size 1GiB --policies 'lru,arc,2q(kin=0.1)' --objective latency
    mcsim tune web_*.csv.gz --size 64GiB --mini 0.01 --objective backend-writes
    mcsim tune web_0.csv.gz --size 1GiB --policies dm-cache,bcache --objective latency
    """  # noqa: D301
    from mcsim.base.sizes import is_share, parse_capacity, share_given
    from mcsim.config.device_choice import device_given, devices_given
    from mcsim.policies.deployed_tuning import BLOCK_BYTES
    from mcsim.policies.grid import Grid
    from mcsim.policies.simulation import memory_given
    from mcsim.policies.tuning import blocks_of_share
    from mcsim.policies.tuning import tune as replay

    rate = 1.0 if mini is None else share_given("--mini", mini)
    layouts: dict[str, Any] = {
        "policies": policies,
        "block_bytes": words_of("--block-bytes", block_bytes),
        "sub_block_bytes": words_of("--sub-block-bytes", sub_block_bytes),
        "writes": words_of("--writes", writes),
    }
    # Arguments are validated before the work begins.
    settings = _settings(policies, layouts["writes"], rate)
    grid = None if settings else Grid.asked(size, **layouts)
    own = devices_given("--device", devices)
    device_given("--tier", tier, own)
    device_given("--backend", backend, own)
    limit = memory_given(memory)
    source = Source(
        files, "4KiB", "all", vms, seed, threads_given(threads), reading, usual_ops="all"
    )
    reporter = reporter_asked()
    told = _MemoryTold(reporter, len(grid.points), source.threads, limit) if grid else None
    with reporter.live():
        traces = source.open(reporter)
        if vms is not None:
            traces = source.chosen(traces)
        smallest = BLOCK_BYTES if grid is None else grid.smallest
        if is_share(size):
            size = str(blocks_of_share(size, traces, smallest))
            grid = grid and Grid.asked(size, **layouts)
        caches = settings
        if grid is not None:
            caches = len(grid.points) * (seeds if grid.rate(rate, seeds) < 1 else 1)
        with reporter.stage("tune", total=caches, unit="caches") as stage:
            rows = replay(
                traces,
                size,
                **layouts,
                rate=rate,
                seeds=seeds,
                objective=objective,
                tier=tier,
                backend=backend,
                devices=devices,
                seed=seed,
                threads=source.threads,
                memory=limit,
                told=told,
                progress=stage.update,
            )
    total = smallest * parse_capacity(size, None, smallest)
    report = _Report(source, total, f"{tier} before {backend}", objective, rows)
    report.show(form, output)


def _settings(policies: str, writes: Sequence[Any], rate: float) -> int:
    """Return the number of settings of deployed caches in place of policies; 0 for policies."""
    from mcsim.policies.deployed_tuning import deployed_in, settings_of

    deployed = deployed_in(policies)
    return len(settings_of(deployed, writes, rate)) if deployed else 0


@dataclass
class _MemoryTold:
    """Report the memory of caches for the first sample; it is similar for others."""

    reporter: Reporter
    caches: int
    threads: int
    limit: int
    told: set[tuple[int, int]] = field(default_factory=set)

    def __call__(self, points: Sequence[Point], sizes: NDArray[np.int64]) -> None:
        """Report the memory of caches of one block size, by policy."""
        from mcsim.base.units import format_bytes, format_size

        if not self.told:
            self.reporter.note(
                f"memory for {self.caches} caches, {self.threads} at a time within "
                f"{format_size(self.limit)}; about, by block size:"
            )
        block, sub_block = points[0].layout
        if points[0].layout in self.told:
            return
        self.told.add(points[0].layout)
        largest: dict[str, int] = {}
        for point, size in zip(points, sizes.tolist(), strict=True):
            largest[str(point.policy)] = max(size, largest.get(str(point.policy), 0))
        of = "" if sub_block == block else f" of {format_bytes(sub_block)}"
        held = "  ".join(f"{policy} {format_size(size)}" for policy, size in largest.items())
        self.reporter.note(f"  {format_bytes(block) + of:<15} {held}")


@dataclass
class _Report(Report):
    size: int
    devices: str
    objective: Objective
    rows: ResultTable

    suffix = "-tune"

    @property
    def title(self) -> str:
        from mcsim.base.units import format_bytes

        return f"A cache of {format_bytes(self.size)}, by block size: {self.source.name}"

    def lines(self) -> list[Line]:
        """Return the best, the table, and which other rows have their merits."""
        return [self.rows.answer, self.heading(), self.rows]

    def heading(self) -> str:
        from mcsim.base.units import format_size

        rate = self.rows.rate[0]
        how = f"in miniature, at rate {rate:.3g}" if rate < 1 else "all requests"
        size = format_size(self.size)
        return f"{self.source.name}: a cache of {size}, {self.devices}; {how}"

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the objective by block size."""
        from mcsim.figures.tables import objectives_by_block
        from mcsim.policies.scaled import OBJECTIVES

        return objectives_by_block(self.rows, OBJECTIVES[self.objective])

    def data(self) -> pa.Table:
        """Return a row for every point of the grid."""
        return self.rows.to_arrow()
