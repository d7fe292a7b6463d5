"""`mcsim distances`: the histogram of reuse distances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.threads import threads_given
from mcsim.cli.help import Sectioned
from mcsim.cli.output import Output, picture_options
from mcsim.cli.stream import (
    Source,
    StreamReport,
    curve_options,
    estimator_given,
    estimator_option,
    make_curves,
    warm_up_option,
)
from mcsim.cli.terminal import Form, Line
from mcsim.tables.column import column, percent
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.figures.chart import Sheet
    from mcsim.locality.curve import HitRatioCurve


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@estimator_option
@warm_up_option
@curve_options
@picture_options
def distances(
    files: tuple[str, ...],
    estimator: str,
    warm_up: str | None,
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    threads: int | None,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Tabulate and draw how many references of TRACEs have which reuse distance.

    The distance is the number of distinct other blocks since the last access to the block. An LRU
    cache of C blocks hits the accesses with a distance below C. Classes double in width.

    With -o DIR, the command writes a picture, the classes (.csv) and the number of accesses of
    every distance (.arrow).

    \b
    mcsim distances web_0.csv.gz
    mcsim distances web_0.csv.gz --estimator shards --warm-up 1h
    """  # noqa: D301
    spec = estimator_given(estimator)
    source = Source(
        files, block_size, ops, vms, seed, threads_given(threads), reading, warm_up=warm_up
    )
    blocks, (measured,) = make_curves(source, [spec], lambda of: [of])
    _Distances(source, blocks, str(spec), measured.curve).show(form, output)


@dataclass
class _Distances(StreamReport):
    """A row a class of distances."""

    curve: HitRatioCurve

    suffix = "-distances"
    subject = "Accesses by reuse distance"

    @cached_property
    def histogram(self) -> ResultTable:
        from mcsim.locality.distances import distance_histogram

        return distance_histogram(self.curve)

    def lines(self) -> list[Line]:
        rows = self.histogram
        most = max(rows.share.max(), 1e-9)
        heads = [column("distance"), column("accesses"), column("%", "share")]
        columns = [*heads, column("LRU of"), column("hit %"), column("", "text", name="bar")]
        cells = [
            (
                "first access" if first < 0 else f"{first:,}" + (f"–{last:,}" * (last > first)),
                f"{row.accesses:,.0f}",
                row.share,
                None if first < 0 else self._cache(last + 1),
                None if first < 0 else percent(row.hit_ratio),
                "█" * round(30 * row.share / most),
            )
            for row in rows
            for first, last in [(int(row["from"]), int(row["to"]))]
        ]
        table = ResultTable.of_rows(columns, cells)
        return [self.heading(), table, *([self.curve.note] if self.curve.note else [])]

    def _cache(self, blocks: int) -> str:
        from mcsim.base.units import format_size

        unit = self.blocks.capacity_unit
        return f"{blocks:,} {self.blocks.kind}" if unit is None else format_size(blocks * unit)

    def data(self) -> pa.Table:
        import pyarrow as pa

        table = self.source.marked(self.histogram.to_arrow())
        if not self.curve.note:
            return table
        return table.append_column("note", pa.array([self.curve.note] * len(table)))

    def tables(self, *, log: bool) -> dict[str, pa.Table]:
        import numpy as np
        import pyarrow as pa

        counts = np.diff(self.curve.hits, prepend=0.0)
        every = {"distance": self.curve.capacities - 1, "accesses": counts}
        chosen = {name: column[counts > 0] for name, column in every.items()}
        return {".csv": self.data(), ".arrow": self.source.marked(pa.table(chosen))}

    def sheet(self, *, log: bool) -> Sheet:
        from mcsim.figures.locality import histogram

        rows = self.histogram
        return histogram(rows["from"].tolist(), rows.share.tolist(), self.blocks.kind)
