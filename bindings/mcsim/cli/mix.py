"""`mcsim mix`: sharing a cache against dividing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.units import format_size
from mcsim.cli.help import Sectioned
from mcsim.cli.output import Output, picture_options
from mcsim.cli.sharing import (
    cache_of,
    deployed_read,
    heading_of_tenants,
    notes_on,
    shared_source,
    sharing_options,
    sharing_read,
    tenants_read,
)
from mcsim.cli.stream import Report
from mcsim.cli.terminal import Form, Line
from mcsim.tables.column import column
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.figures.chart import Sheet
    from mcsim.locality.mix import Mix
    from mcsim.locality.sharing import Order, Sharing


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--sizes",
    metavar="SIZE,...",
    default="log(1%, 100%, 13)",
    show_default=True,
    help="Of the cache: 1GiB, 250000 (blocks), 10% (of the distinct blocks) or "
    "log(FROM, TO, COUNT).",
)
@click.option(
    "--units",
    metavar="N",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Parts are multiples of one Nth of the cache.",
)
@click.option(
    "--prefixes", is_flag=True, help="Of chains, as for mcsim kv: tokens of tenants, not of VMs."
)
@sharing_options
@picture_options
def mix(
    files: tuple[str, ...],
    sizes: str,
    units: int,
    prefixes: bool,
    block_size: str,
    ops: Any,
    vms: str | None,
    order: Order,
    deployed: str | None,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Compare an LRU cache that the VMs of TRACEs share with its best division into fixed parts.

    The effective size of the parts is that of a shared cache with as few misses. The size gain is
    the effective size relative to the real one. It may be negative, because fixed parts do not
    follow changing needs of VMs.

    All results are exact without a replay. The parts follow from the hit ratio curves of the VMs,
    by dynamic programming. The shared cache follows from the curve of all references.

    With --deployed, the shared cache and those of the VMs are deployed caches, replayed at 25 sizes
    and at --sizes. The best parts are then among these sizes.

    With --prefixes, TRACE is a file of requests to a KV cache, whose tenants share it.

    \b
    mcsim mix web_*.csv.gz
    mcsim mix web_*.csv.gz --sizes 1MiB,4MiB,16MiB --ops all
    mcsim mix web_0.csv.gz web_1.csv.gz --order rates --sizes 'log(5%, 80%, 5)'
    """  # noqa: D301
    from mcsim.base.sizes import sizes_in
    from mcsim.cli.options import check_only, sizes_given
    from mcsim.locality.mix import mix_of

    source = shared_source(files, block_size, ops, vms, reading, sizes)
    sizes_given(sizes, 1, 1)  # sizes are validated before the work begins
    if prefixes:
        check_only("--prefixes", _OF_PREFIXES)
        sharing: Sharing = tenants_read(source)
    elif deployed is None:
        sharing = sharing_read(source, order)
    else:
        of_deployed = deployed_read(source, order, deployed)
        sharing = of_deployed.with_sizes(of_deployed.sizes("--sizes", sizes_in(sizes)))
    found = mix_of(sharing, sizes_in(sizes), units=units)
    _Answer(source, found).show(form, output)


_OF_PREFIXES = (
    *("files", "sizes", "units", "prefixes", "trace_dirs", "quiet", "form", "folder"),
    *("formats", "style", "linear"),
)
"""Options that chains of tenants have."""


@dataclass
class _Answer(Report):
    """A cache, shared and divided."""

    found: Mix

    subject = "A cache shared or divided"
    suffix = "-mix"

    def heading(self) -> str:
        of = self.found.sharing
        if (tenants := heading_of_tenants(of)) is not None:
            return f"{self.source.name}: {tenants}"
        return self.source.heading(of, cache_of(of))

    def lines(self) -> list[Line]:
        """Return the summary, the table by size, and the best parts."""
        alone = len(self.found.sharing.vms) == 1
        answer = "One VM has the whole cache: there is nothing to divide."
        parts: tuple[Line, ...] = () if alone else ("best parts, % of the cache:", self._parts())
        first = [answer if alone else self.found.answer, self.heading()]
        return [*first, *notes_on(self.found.sharing), self._sizes(), *parts]

    def _sizes(self) -> ResultTable:
        unit = self.found.sharing.capacity_unit
        rows = [
            (
                None if unit is None else row.capacity * unit,
                row.capacity,
                *(1 - row[name] / row.accesses for name in ("shared", "equal", "parts")),
                row.effective * (unit or 1),
                row.size_gain,
            )
            for row in self.found
        ]
        columns = [
            *(column("size", "bytes"), column(self.found.sharing.capacity_name, "count")),
            *(column(f"{name} %", "share") for name in ("shared", "equal parts", "best parts")),
            column("as good as", "count" if unit is None else "bytes"),
            column("gain %", "relative"),
        ]
        return ResultTable.of_rows(columns, rows)

    def _parts(self) -> ResultTable:
        found, unit = self.found, self.found.sharing.capacity_unit
        sizes = [
            f"{int(size):,}" if unit is None else format_size(int(size) * unit)
            for size in found.capacity
        ]
        rows = [
            (str(name), curve.accesses, *(found.allocation[:, i] / found.capacity))
            for i, (name, curve) in enumerate(found.sharing.alone.items())
        ]
        parts = [column(size, "share", name=f"part {at}") for at, size in enumerate(sizes)]
        heads = ("tenant", "tokens") if heading_of_tenants(found.sharing) else ("VM", "accesses")
        columns = [column(heads[0], "text"), column(heads[1], "count"), *parts]
        return ResultTable.of_rows(columns, rows)

    def sheet(self, *, log: bool) -> Sheet:
        """Draw hit ratios and effective sizes."""
        from mcsim.figures.tables import shared_and_divided

        return shared_and_divided(self.found, log=log)

    def data(self) -> pa.Table:
        """Return a row a size, with a column for the part of each VM."""
        import pyarrow as pa

        table = self.found.to_arrow()
        names = [f"part of {name}" for name in self.found.sharing.vms]
        parts = [pa.array(column) for column in self.found.allocation.T]
        return self.source.marked(
            pa.Table.from_arrays([*table.columns, *parts], [*table.column_names, *names])
        )
