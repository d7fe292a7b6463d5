"""`mcsim compare --each`: policies over many traces, each alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcsim.base.inputs import printable, stem_of
from mcsim.cli.options import reporter_asked
from mcsim.cli.policy_report import with_classes
from mcsim.cli.stream import Report, Source
from mcsim.cli.terminal import print_result

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.base.progress import Reporter
    from mcsim.cli.output import Output
    from mcsim.cli.terminal import Form, Line
    from mcsim.experiment.code import Permission
    from mcsim.figures.chart import Sheet
    from mcsim.locality.hit_units import HitUnit
    from mcsim.policies.comparison import Named
    from mcsim.policies.reductions import OverTraces


@dataclass(frozen=True)
class Choice:
    """Options of caches: policies and sizes, the baseline, the limit of memory."""

    policies: str
    sizes: str
    against: str
    memory: str | None
    unit: HitUnit
    code: Permission

    def listed(self) -> tuple[list[Any], str]:
        """Return the policies, the baseline among them, and its name."""
        from mcsim.base.errors import mistakes_in
        from mcsim.policies.comparison import with_baseline

        with mistakes_in("--against"):
            against = with_classes(self.against, self.code)
            if len(against) != 1:
                raise ValueError(f"expected one policy, got {self.against}")
        with mistakes_in("--policies"):
            return with_baseline(with_classes(self.policies, self.code), against[0])


def texts_of_sizes(sizes: str, block_bytes: int) -> list[str]:
    """Return the sizes of `--sizes`, validated."""
    from mcsim.base.errors import mistakes_in
    from mcsim.base.sizes import sizes_in, steps_in

    with mistakes_in("--sizes"):
        texts = sizes_in(sizes)
        for text in texts:
            steps_in(text, block_bytes)
    return texts


def compare_each(
    source: Source, choice: Choice, form: Form, output: Output, *, dry_run: bool
) -> None:
    """Replay each trace alone, and show statistics; with `dry_run`, list the traces."""
    from mcsim.policies.comparison import caches_of_each, sizes_of_each
    from mcsim.policies.simulation import memory_given

    policies, baseline = choice.listed()
    texts, limit = texts_of_sizes(choice.sizes, source.block_bytes), memory_given(choice.memory)
    reporter = reporter_asked()
    with reporter.live(), reporter.stage("traces", len(source.files), "traces") as stage:
        named = named_sources(source, reporter)
        shared: dict[str, Any] = {"progress": stage.update, "note": reporter.note}
        if dry_run:
            planned = sizes_of_each(named, texts, **shared)
        else:
            rows = caches_of_each(
                named,
                policies,
                baseline,
                texts,
                unit=choice.unit,
                seed=source.seed,
                threads=source.threads,
                memory=limit,
                **shared,
            )
    if dry_run:
        print_result(form, planned.formatted(), data=planned.to_arrow)
    else:
        EachReport(source, rows).show(form, output)


@dataclass
class EachReport(Report):
    """Statistics over traces, and a row for each cache."""

    rows: OverTraces

    subject = "Miss ratio reduction over traces"
    suffix = "-each"

    def heading(self) -> str:
        """Name the traces and the replayed requests."""
        return each_alone(self.source)

    def lines(self) -> list[Line]:
        """Return the summary and the table over traces."""
        return [self.rows.answer, self.heading(), self.rows.formatted()]

    def data(self) -> pa.Table:
        """Return the statistics, a row a size and policy."""
        return self.source.marked(self.rows.to_arrow())

    def by_trace(self) -> pa.Table:
        """Return a row for each trace, size and policy."""
        return self.source.marked(self.rows.by_trace.to_arrow())

    def whole(self) -> Any:
        """Return what is printed as JSON."""
        return {
            "answer": self.rows.answer,
            "against": self.rows.against,
            "rows": self.data().to_pylist(),
            "by_trace": self.by_trace().to_pylist(),
            "left_out": [{"trace": name, "why": why} for name, why in self.rows.left_out],
        }

    def tables(self, *, log: bool) -> dict[str, pa.Table]:
        """Return the statistics, and the rows of each trace."""
        return {".csv": self.data(), "-by-trace.csv": self.by_trace()}

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the means with their intervals, and a dot for each trace."""
        from mcsim.figures.curves import reductions

        return reductions(self.rows)


def each_alone(source: Source) -> str:
    """Name the traces of a source and its requests."""
    from mcsim.base.units import format_bytes

    what = {"reads": "reads", "writes": "writes", "all": "reads and writes"}[source.ops]
    units = {
        "blocks": f"in blocks of {format_bytes(source.block_bytes)}",
        "objects": "of objects",
    }
    of = " or ".join(unit for kind, unit in units.items() if kind in source.kinds)
    return f"{source.name}: {what} {of}, each trace alone"


def named_sources(source: Source, reporter: Reporter) -> list[Named]:
    """Return a name and a function that reads the references, of each trace."""
    from mcsim.policies.comparison import names_once

    def reader(file: str) -> Any:
        def read() -> Any:
            one = replace(source, files=(file,))
            blocks = one.read(reporter)
            source.synthetic |= one.synthetic
            source.kinds.add(blocks.kind)
            return blocks

        return read

    stems = [printable(stem_of(file)) for file in source.files]
    names = names_once(stems, [printable(file) for file in source.files])
    return [(name, reader(file)) for name, file in zip(names, source.files, strict=True)]
