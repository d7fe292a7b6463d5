"""Simulate caches for commands about eviction policies; draw and write the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from mcsim.cli.options import Command, reporter_asked, sizes_given, with_options
from mcsim.cli.stream import Source, StreamReport
from mcsim.policies import bound_among

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from mcsim.base.progress import Reporter
    from mcsim.experiment.code import Permission
    from mcsim.figures.chart import Sheet
    from mcsim.locality.hit_units import HitUnit
    from mcsim.policies.python_policies import AnyPolicy, PythonSpec
    from mcsim.policies.specs import PolicySpec
    from mcsim.references.blocks import Blocks
    from mcsim.tables.result_table import ResultTable

memory_option = click.option(
    "--memory",
    metavar="SIZE",
    hidden=True,
    help="What the caches at work may hold together, such as 4GiB; half of the machine's memory "
    "if not given.",
)


def policies_option(default: str, *, classes: bool) -> Callable[[Command], Command]:
    """Make the option of the eviction policies; with `classes`, those of Python too."""
    more = ", or classes of Python as module:Class" if classes else ""
    return click.option(
        "--policies",
        metavar="NAME[(PARAM=VALUE,...)],...",
        default=default,
        show_default=True,
        help=f"Eviction policies (see mcsim list, mcsim describe NAME){more}.",
    )


def mini_options(*, mini: str) -> Callable[[Command], Command]:
    """Make the options of miniatures; `mini` is the help text of `--mini`."""
    options = [
        click.option("--mini", metavar="RATE", help=mini),
        click.option(
            "--seeds",
            metavar="N",
            type=click.IntRange(min=1, max=1000),
            default=5,
            show_default=True,
            help="With --mini: samples of which the mean is taken, and the error band.",
        ),
    ]
    return lambda command: with_options(command, options)


@dataclass(frozen=True)
class Mini:
    """How caches are simulated in miniature."""

    rate: float
    seeds: int


@dataclass(frozen=True)
class _Run:
    source: Source
    blocks: Blocks
    given: Sequence[str | type[AnyPolicy]]
    specs: Sequence[PolicySpec | PythonSpec]
    capacities: list[int]
    memory: int
    mini: Mini | None

    @property
    def policies(self) -> list[str]:
        return [str(spec) for spec in self.specs]

    @property
    def rates(self) -> list[float]:
        """The share of the blocks that caches of each capacity are given."""
        from mcsim.policies.miniatures import rates_of

        if self.mini is None:
            return [1.0] * len(self.capacities)
        return rates_of(self.capacities, self.mini.rate, self.mini.seeds)

    def tell_memory(self, reporter: Reporter) -> None:
        """Report the memory of each cache, before the replay."""
        from mcsim.base.units import format_size
        from mcsim.policies.simulation import memory_needed

        rows = memory_needed(self.blocks, self.given, self.capacities, memory=self.memory)
        # A miniature has a share of the blocks in its cache and in its directory.
        held = rows.bytes * (self.rates * len(self.specs))
        about = "" if self.mini is None else "about "
        reporter.note(
            f"memory for {len(held)} caches, {self.source.threads} at a time within "
            f"{format_size(self.memory)}; {about}by size:"
        )
        for policy in self.policies:
            sizes = "  ".join(format_size(int(size)) for size in held[rows.policy == policy])
            reporter.note(f"  {policy:<20} {sizes}")

    def rows(self, reporter: Reporter) -> ResultTable:
        from mcsim.policies.miniatures import miniature
        from mcsim.policies.simulation import simulate

        caches = len(self.specs) * len(self.capacities)
        options: dict[str, Any] = {
            "seed": self.source.seed,
            "threads": self.source.threads,
            "memory": self.memory,
        }
        seeds = 1 if self.mini is None else self.mini.seeds
        # A miniature with rate 1 is simulated once, for any number of seeds.
        shares = sum(rate * seeds if rate < 1 else 1 for rate in self.rates) * len(self.specs)
        with reporter.stage(
            "replay",
            total=round(len(self.blocks) * shares),
            unit="accesses",
            about=f"{caches} caches" + ("" if self.mini is None else " in miniature"),
        ) as stage:
            options["progress"] = stage.update
            if self.mini is None:
                return simulate(self.blocks, self.given, self.capacities, **options)
            return miniature(
                self.blocks,
                self.given,
                self.capacities,
                rate=self.mini.rate,
                seeds=self.mini.seeds,
                **options,
            )


def with_classes(text: str, code: Permission) -> list[str | type[AnyPolicy]]:
    """Return policies by name, and the classes of those that are written as `module:Class`."""
    from mcsim.base.specs import split_specs
    from mcsim.experiment.code import Code, Kind, python_policies
    from mcsim.policies.python_policies import Policy, PriorityPolicy

    kind = Kind("policy", bases=(Policy, PriorityPolicy))
    own = Code(Path.cwd(), code)
    return [
        own.class_named(item.strip(), kind) if python_policies(item) == [item.strip()] else item
        for item in split_specs(text)
    ]


@dataclass
class PolicyReport(StreamReport):
    """Figure and tables of caches under policies; subclasses define the printed lines."""

    capacities: list[int]
    rows: ResultTable

    unit: HitUnit = "blocks"
    """Unit of the hit ratio that is printed and drawn."""

    subject = "Hit ratio of eviction policies over cache size"

    @classmethod
    def simulated(
        cls,
        source: Source,
        policies: str,
        sizes: str,
        memory: str | None,
        mini: Mini | None = None,
        *,
        code: Permission,
    ) -> Self:
        """Read the traces, report the memory of the caches, and simulate these."""
        from mcsim.base.errors import mistakes_in
        from mcsim.policies.simulation import memory_given
        from mcsim.policies.specs import policies_given, with_rules_for_sizes
        from mcsim.references.objects import SizedObjects, whole_of

        # Arguments are validated before the work begins.
        with mistakes_in("--policies"):
            given = with_classes(policies, code)
            specs = policies_given(given, sizes=True)
            if not specs:
                raise ValueError("expected names of eviction policies")
            names = [str(spec) for spec in specs]
            if (again := next((name for name in names if names.count(name) > 1), None)) is not None:
                raise ValueError(f"{again} is given twice")
        sizes_given(sizes, 1, 1)
        source = replace(source, sizes=sizes)
        limit = memory_given(memory)
        reporter = reporter_asked()
        with reporter.live():
            blocks = source.read(reporter, requests=mini is not None)
            capacities = sizes_given(sizes, whole_of(blocks), blocks.capacity_unit)
            if isinstance(blocks, SizedObjects):
                given = with_rules_for_sizes(given)
                specs = policies_given(given, sizes=True)
            else:
                specs = policies_given(given)
            run = _Run(source, blocks, given, specs, capacities, limit, mini)
            run.tell_memory(reporter)
            rows = run.rows(reporter)
        return cls(source, blocks, "", capacities, rows)

    @property
    def policies(self) -> list[str]:
        """Policies of the caches, in the order of `--policies`."""
        return list(dict.fromkeys(self.rows.policy.tolist()))

    @property
    def is_estimate(self) -> bool:
        """Whether the ratios come from miniatures."""
        return "low" in (self.rows.column_names)

    @property
    def no_band_notes(self) -> list[str]:
        """Return a sentence for each reason why policies have no band."""
        from mcsim.policies.bands import no_band_notes

        return no_band_notes(self.rows) if self.is_estimate else []

    def ratios(self, rows: ResultTable) -> NDArray[np.float64]:
        """Return the hit ratios of `unit`."""
        from mcsim.policies.reductions import RATIOS

        ratios: NDArray[np.float64] = rows[RATIOS[self.unit]]
        return ratios

    def of(self, policy: str) -> ResultTable:
        """Return the rows of a policy, by size."""
        chosen: ResultTable = self.rows[self.rows.policy == policy]
        return chosen

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the hit ratio of every policy."""
        from mcsim.figures.tables import hit_ratios

        ratios = {policy: self.ratios(self.of(policy)).tolist() for policy in self.policies}
        bands = {
            policy: (self.of(policy).low.tolist(), self.of(policy).high.tolist())
            for policy in self.policies
            if self.is_estimate and (self.of(policy).low < self.of(policy).high).any()
        }
        return hit_ratios(
            self.capacities,
            self.blocks.capacity_unit,
            ratios,
            log=log,
            bound=bound_among(ratios),
            bands=bands,
            no_band=self.no_band_notes,
        )

    def data(self) -> pa.Table:
        """Return all counts, a row a cache."""
        return self.source.marked(self.rows.to_arrow())
