"""`mcsim mix`: sharing a cache against dividing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.output import Output, picture_options
from mcsim.cli.sections import Sectioned
from mcsim.cli.shared import shared_source, sharing_options, sharing_read
from mcsim.cli.stream import Report, print_plainly, table_of

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.locality.mix import Mix
    from mcsim.locality.sharing import Order

__all__ = ["mix"]


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
@sharing_options
@picture_options
def mix(
    files: tuple[str, ...],
    sizes: str,
    units: int,
    block_size: str,
    ops: Any,
    vms: str | None,
    order: Order,
    output: Output,
    **reading: Any,
) -> None:
    """Compare an LRU cache that the VMs of TRACEs share with the best fixed parts of it.

    The effective size of the parts is that of the shared cache that would miss as rarely, and
    their size gain how much more that is than there is. It may be less: fixed parts do not follow
    the needs of VMs as they change.

    Nothing is replayed: the parts follow from the hit ratio curves of the VMs, by dynamic
    programming, and the shared cache from that of all their references, exactly. DIR gets the
    table (.csv) and a picture.

    \b
    mcsim mix web_*.csv.gz
    mcsim mix web_*.csv.gz --sizes 1MiB,4MiB,16MiB --ops all
    mcsim mix web_0.csv.gz web_1.csv.gz --order rates --sizes 'log(5%, 80%, 5)'
    """  # noqa: D301
    from mcsim.base.sizes import sizes_in
    from mcsim.cli.stream import sizes_given
    from mcsim.locality.mix import mix_of

    source = shared_source(files, block_size, ops, vms, reading)
    sizes_given(sizes, 1, source.block_bytes)  # a mistake in them is told before the work begins
    found = mix_of(sharing_read(source, order), sizes_in(sizes), units=units)
    answer = _Answer(source, found)
    answer.show()
    answer.write(output)


@dataclass
class _Answer(Report):
    """What is said of a cache, shared and divided."""

    found: Mix

    subject = "A cache shared or divided"
    suffix = "-mix"

    def heading(self) -> str:
        return self.source.heading(self.found.sharing)

    def show(self) -> None:
        """Print the misses and effective sizes, and who gets which part."""
        found = self.found
        print_plainly(self.source.heading(found.sharing, "LRU"), self._sizes())
        if len(found.sharing.vms) == 1:
            print_plainly("one VM alone has nobody to share with: nothing is to be gained")
            return
        print_plainly("", "best parts, in percent of the cache:", self._parts())
        gains = 100 * found.rows.size_gain
        print_plainly(
            f"effective size: {gains.mean():+.1f} % in the mean over these sizes, from "
            f"{gains.min():+.1f} % to {gains.max():+.1f} %"
        )

    def _sizes(self) -> Any:
        from mcsim.base.units import format_size

        headings = ["size", "blocks", "shared", "equal parts", "best parts", "effective size"]
        table = table_of([*headings, "size gain"])
        for row in self.found.rows:
            ratios = [1 - row[name] / row.accesses for name in ("shared", "equal", "parts")]
            table.add_row(
                format_size(int(row.capacity) * self.source.block_bytes),
                f"{row.capacity:,}",
                *(f"{ratio:.4f}" for ratio in ratios),
                format_size(int(row.effective) * self.source.block_bytes),
                f"{100 * row.size_gain:+.1f} %",
            )
        return table

    def _parts(self) -> Any:
        from mcsim.base.units import format_size

        found = self.found
        sizes = [format_size(int(size) * self.source.block_bytes) for size in found.rows.capacity]
        table = table_of(["VM", "accesses", *sizes], left=1)
        for i, (name, curve) in enumerate(found.sharing.alone.items()):
            shares = 100 * found.parts[:, i] / found.rows.capacity
            table.add_row(name, f"{curve.accesses:,}", *(f"{share:.1f}" for share in shares))
        return table

    def write(self, output: Output) -> None:
        """Write picture and table, and print their names."""
        from mcsim.figures.sharing import shared_and_divided

        tables = {".csv": self.source.marked(self._table())}
        self.write_files(output, lambda: shared_and_divided(self.found, log=output.log), tables)

    def _table(self) -> pa.Table:
        """Return a row a size, with a column for the part of each VM."""
        import pyarrow as pa

        table = self.found.rows.to_arrow()
        for i, name in enumerate(self.found.sharing.vms):
            table = table.append_column(f"part of {name}", pa.array(self.found.parts[:, i]))
        return table
