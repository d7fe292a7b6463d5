"""`mcsim mrc --each`: the curve of each of many traces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mcsim.cli.compare_each import each_alone, named_sources
from mcsim.cli.curve_report import PER_CENT, Curves, ratio_texts
from mcsim.cli.options import reporter_asked
from mcsim.tables.column import column
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from mcsim.base.progress import Reporter
    from mcsim.cli.stream import Source
    from mcsim.cli.terminal import Line
    from mcsim.locality.measure import EstimatorSpec, Measured
    from mcsim.references.blocks import Blocks


def curves_of_each(source: Source, estimator: EstimatorSpec, sizes: str | None) -> PerTrace:
    """Read the traces, one after the other, and make the curve of each."""
    from mcsim.base.errors import mistakes_in
    from mcsim.base.sizes import sizes_in, steps_in

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
