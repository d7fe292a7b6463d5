"""Print, draw and write hit ratio curves for `mcsim mrc`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcsim.cli.options import sizes_given
from mcsim.cli.policy_report import PolicyReport
from mcsim.cli.stream import StreamReport
from mcsim.tables.column import Column, column, percent
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.cli.terminal import Line
    from mcsim.figures.chart import Sheet
    from mcsim.locality.curve import HitRatioCurve
    from mcsim.locality.hit_units import HitUnit
    from mcsim.locality.measure import Measured
    from mcsim.tables.formatted_table import RowStyle

PER_CENT = "hit ratio, %"
"""Note of tables whose headings are sizes."""

SHARED = "all, sharing one cache"

_MOST_NOTES = 5
"""Notes of estimators that are printed, of all VMs or intervals."""


@dataclass
class ByPolicy(PolicyReport):
    """A row a size, a column a policy."""

    remark: str = ""
    """A line below the table."""

    suffix = "-mrc-policies"
    default_sizes = "log(0.1%, 100%, 13)"

    def lines(self) -> list[Line]:
        """Return the table, and how its numbers were obtained."""
        about = [self._about_miniatures()] if self.is_estimate else []
        return [self.heading(), self.table(), *about, *([self.remark] if self.remark else [])]

    def table(self) -> ResultTable:
        """Return the table that is printed."""
        heads = [*self.size_heads, *(["rate"] if self.is_estimate else []), *self.policies]
        cells = []
        for i, blocks in enumerate(self.capacities):
            rows = [self.of(policy)[i] for policy in self.policies]
            rate = [f"{rows[0].rate:.3g}"] if self.is_estimate else []
            cells.append([*self.size_cells(blocks), *rate, *map(self._cell, rows)])
        return ResultTable.of_rows([*map(column, heads)], cells, notes=[PER_CENT])

    def _cell(self, row: Any) -> str:
        ratio = percent(row.hit_ratio)
        if not self.is_estimate or row.correction == "exact":
            return ratio
        margin = (row.high - row.low) / 2
        return ratio if margin != margin else f"{ratio} ±{100 * margin:.2f}"

    def _about_miniatures(self) -> str:
        how = {
            "none": "ratios of the samples",
            "adj": "adjusted to the length of the trace",
        }
        used = [how[name] for name in how if name in self.rows.correction]
        exact = "those at rate 1 exact" if "exact" in self.rows.correction else ""
        has_margin = (self.rows.low < self.rows.high).any()
        band = "± half the 95 % band of the mean over the seeds" if has_margin else ""
        parts = [part for part in (*used, exact, band) if part]
        return "\n".join(["miniatures: " + "; ".join(parts), *self.no_band_notes])


@dataclass
class Curves(StreamReport):
    """Report on one hit ratio curve; the base of reports on several."""

    measured: list[Measured]
    given_sizes: str | None = None
    """As of `--sizes`."""

    suffix = "-mrc"
    subject = "Hit ratio of LRU over cache size"
    default_sizes = (2, 14)
    """From one to the next, and how many."""

    def named(self) -> list[tuple[str, HitRatioCurve]]:
        """Return the curves with what they are called."""
        return [(one.label, one.curve) for one in self.measured]

    def lines(self) -> list[Line]:
        """Return the table, and the notes of estimators."""
        sizes = self.sizes(self.given_sizes)
        lines: list[Line] = [self.heading(), self.table(sizes)]
        noted = list({c.note: (name, c.note) for name, c in self.named() if c.note}.values())
        for name, note in noted[:_MOST_NOTES]:
            lines.append(f"{name}: {note}" if len(self.measured) > 1 else note)
        if (more := len(noted) - _MOST_NOTES) > 0:
            lines.append(f"and {more:,} more notes; --json has all")
        return [*lines, *self._about_unresolved(sizes)]

    def _about_unresolved(self, sizes: Sequence[int]) -> list[Line]:
        """Return the meaning of ~, which marks sizes of the table."""
        from mcsim.references.objects import SizedObjects

        least = {curve.resolved_from for _, curve in self.named() if curve.resolved_from > 1}
        if isinstance(self.blocks, SizedObjects):
            if min(sizes, default=0) >= max(least, default=0):
                return []
            return ["~ marks sizes at which one pass is not exact: smaller than the largest object"]
        if not least:
            return []
        blocks = f", {max(least):,.0f} blocks" if len(least) == 1 else ""
        return [f"~ marks sizes below the estimator's resolution{blocks}"]

    def not_in_one_pass(self) -> str:
        """Return why the curve of objects with sizes is not exact at all sizes of the table."""
        from mcsim.references.objects import SizedObjects

        ((_, curve),) = self.named()
        if not isinstance(self.blocks, SizedObjects) or "exact" not in curve.estimator:
            return ""
        smallest = min(self.sizes(self.given_sizes), default=0)
        reason = curve.note or "a size is smaller than the largest object"
        return reason if smallest < curve.resolved_from else ""

    def sizes(self, given: str | None) -> list[int]:
        """Return the capacities of the table, in blocks."""
        from mcsim.references.objects import whole_of

        footprint = whole_of(self.blocks)
        if given is None:
            step, count = self.default_sizes
            powers = [step**k for k in range(64) if step**k < footprint]
            return [*powers[-count:], footprint]
        return sizes_given(given, footprint, self.blocks.capacity_unit)

    def table(self, sizes: Sequence[int]) -> ResultTable:
        """Return the table that is printed."""
        import numpy as np

        ((_, curve),) = self.named()
        band = curve.band_at(sizes)
        units = self._units(sizes)
        names = [self.blocks.kind, *units[1:]]
        heads = ["hit %"] if len(units) == 1 else [f"hit %\n{name}" for name in names]
        heads = [*self.size_heads, *heads, *(["95 % band"] if band else [])]
        rows = []
        for i, blocks in enumerate(sizes):
            ratios = (ratio_text(curve.of(unit), blocks) for unit in units)
            row = [*self.size_cells(blocks), *ratios]
            if band:
                low, high = (float(np.clip(side[i], 0, 1)) for side in band)
                row.append(f"{percent(low)}–{percent(high)}")
            rows.append(row)
        others = " and ".join(self._counted()[1:]) if len(units) == 1 else ""
        notes = [f"{others}: the same"] if others else []
        return ResultTable.of_rows([*map(column, heads)], rows, notes=notes)

    def _by_size(self, sizes: Sequence[int]) -> list[Column]:
        """Return a column for each size."""
        texts = [self.size_cells(size)[0] for size in sizes]
        return [column(text, name=f"size {at}") for at, text in enumerate(texts)]

    def _units(self, sizes: Sequence[int]) -> list[HitUnit]:
        """Return blocks, and requests and bytes if their ratios differ."""
        ((_, curve),) = self.named()
        counted = self._counted()
        texts = {tuple(ratio_text(curve.of(unit), at) for at in sizes) for unit in counted}
        return counted if len(texts) > 1 else ["blocks"]

    def _counted(self) -> list[HitUnit]:
        """Return the units whose hits the curve counts; a request of objects is one."""
        ((_, curve),) = self.named()
        counted: list[HitUnit] = ["blocks"]
        if curve.requests is not None and self.blocks.kind == "blocks":
            counted.append("requests")
        if curve.bytes is not None:
            counted.append("bytes")
        return counted

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the curves."""
        from mcsim.figures.locality import curves

        return curves(self.named(), log=log)

    def data(self) -> pa.Table:
        """Return the curves at the requested sizes; as drawn if none were."""
        if self.given_sizes is None:
            return self._thinned(log=True)
        at = self.sizes(self.given_sizes)
        return self.source.marked(
            self._rows([(name, curve.resampled(at)) for name, curve in self.named()])
        )

    def tables(self, *, log: bool) -> dict[str, pa.Table]:
        """Return the curves as drawn, and all their steps."""
        steps = self.source.marked(self._rows(self.named()))
        return {".csv": self._thinned(log=log), ".arrow": steps}

    def _thinned(self, *, log: bool) -> pa.Table:
        named = [(name, curve.thinned(log=log)) for name, curve in self.named()]
        return self.source.marked(self._rows(named))

    def _rows(self, named: Sequence[tuple[str, HitRatioCurve]]) -> pa.Table:
        """Return one row a step of each curve; a single curve's table is `to_arrow`'s.

        Notes of the estimators are a column, since programs read no lines below a table.
        """
        import numpy as np
        import pyarrow as pa

        has_notes = any(curve.note for _, curve in named)

        def with_note(table: pa.Table, curve: HitRatioCurve) -> pa.Table:
            note = pa.array([curve.note] * len(table), pa.string())
            return table.append_column("note", note) if has_notes else table

        if len(named) == 1:
            return with_note(named[0][1].to_arrow(), named[0][1])
        tables = [
            with_note(
                curve.to_arrow()
                .replace_schema_metadata(None)
                .add_column(0, "curve", pa.array(np.full(len(curve.capacities), name)))
                .append_column("resolved", pa.array(curve.is_resolved(curve.capacities))),
                curve,
            )
            for name, curve in named
        ]
        # A chunk for each curve would be a batch of its own in files.
        return pa.concat_tables(tables, promote_options="default").combine_chunks()


class PerVm(Curves):
    """A row a VM."""

    suffix = "-mrc-per-vm"
    subject = "Hit ratio of LRU over cache size, by VM"
    default_sizes = (4, 6)

    def table(self, sizes: Sequence[int]) -> ResultTable:
        """Return the table that is printed."""
        return self._wide("VM", sizes)

    def _wide(self, what: str, sizes: Sequence[int]) -> ResultTable:
        counted = [column("accesses", "count"), column(self.blocks.kind)]
        columns = [column(what, "text"), *counted, *self._by_size(sizes)]
        rows = [
            [
                *(name, curve.accesses, f"{curve.distinct:,.0f}"),
                *(ratio_texts(curve, sizes) if curve.accesses else ["-"] * len(sizes)),
            ]
            for name, curve in self.named()
        ]
        styles: list[RowStyle] = ["total" if name == SHARED else "" for name, _ in self.named()]
        return ResultTable.of_rows(columns, rows, notes=[PER_CENT], styles=styles)

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the curves."""
        from mcsim.figures.locality import curves

        return curves(self.named(), log=log, together=SHARED)


@dataclass
class PerInterval(PerVm):
    """A row an interval."""

    length: int = 0
    by_reference: bool = False
    places: Sequence[int] = ()
    """Positions of the rows among all intervals, and their number at the end."""

    suffix = "-mrc-intervals"
    subject = "Hit ratio of LRU by interval and cache size"

    def table(self, sizes: Sequence[int]) -> ResultTable:
        """Return the table that is printed."""
        return self._wide("from", sizes)

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the curves."""
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
            if self.length * self.places[-1] >= 3 * unit
        )
        begins = [k * self.length / unit for k in self.places]
        return over_intervals(self.named(), begins, f"Since the first request ({name})")


def interval_label(number: int, length: int) -> str:
    """Write the begin of an interval in the largest unit of its length: `180min`."""
    from mcsim.base.units import format_duration

    text = format_duration(length)
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return f"{number * int(digits)}{text.removeprefix(digits)}"


class Compared(Curves):
    """A row an estimator."""

    suffix = "-mrc-compare"
    subject = "Estimates of LRU's hit ratio over cache size"
    default_sizes = (4, 6)

    def named(self) -> list[tuple[str, HitRatioCurve]]:
        """Return the curves with what they are called."""
        return [(one.curve.estimator, one.curve) for one in self.measured]

    def table(self, sizes: Sequence[int]) -> ResultTable:
        """Return the table that is printed."""
        import numpy as np

        exact = self.measured[0].curve
        at = exact.hundredths()
        rows = []
        for one in self.measured:
            curve = one.curve
            apart = np.abs(curve.at(at, unresolved=True) - exact.at(at))
            is_exact = curve is exact
            rows.append(
                [
                    curve.estimator,
                    "-" if is_exact else f"{curve.mae(exact):.5f}",
                    "-" if is_exact else f"{apart.max():.5f}",
                    f"{one.seconds:.3f} s",
                    f"{one.rate / 1e6:.1f}",
                    one.bytes,
                    f"{curve.distinct:,.0f}",
                    *ratio_texts(curve, sizes),
                ]
            )
        columns = [
            *(column("estimator", "text"), *map(column, ("MAE", "worst", "time", "M refs/s"))),
            *(column("memory", "bytes"), column(self.blocks.kind), *self._by_size(sizes)),
        ]
        what = "MAE and worst: of the ratio, at U/100, …, U of the trace's U distinct blocks"
        return ResultTable.of_rows(columns, rows, notes=[PER_CENT, what])

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the curves."""
        from mcsim.figures.locality import comparison, curves

        named = self.named()
        return comparison(named, log=log) if len(named) > 1 else curves(named, log=log)


def ratio_text(curve: HitRatioCurve, blocks: int) -> str:
    """Write the hit ratio of a size, after ~ where the estimator does not resolve it."""
    return ratio_texts(curve, [blocks])[0]


def ratio_texts(curve: HitRatioCurve, sizes: Sequence[int]) -> list[str]:
    """Write the hit ratios of sizes, as `ratio_text` does."""
    ratios = curve.at(list(sizes), unresolved=True).tolist()
    return [
        f"{'' if blocks >= curve.resolved_from else '~'}{percent(ratio)}"
        for blocks, ratio in zip(sizes, ratios, strict=True)
    ]
