"""Hierarchies replayed: in full, or in miniature over samples of the workload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mcsim._core import engine, locality
from mcsim.base.errors import ConfigError
from mcsim.base.threads import Pool
from mcsim.config.spec import ExperimentSpec, SystemSpec
from mcsim.experiment.code import blamed
from mcsim.experiment.components import Components
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.prepared import Prepared
from mcsim.experiment.stages import own_view
from mcsim.results.counted_time import CountedTime
from mcsim.results.models import DAY_NS
from mcsim.results.tables import whole
from mcsim.results.totals import Totals
from mcsim.searches.space import Outcome, Point

Progress = Callable[[int], object]


@dataclass(frozen=True)
class Sample:
    """The workload or a part, interned."""

    accesses: engine.Accesses
    rate: float
    first: int
    """Request that is counted first."""

    @property
    def first_access(self) -> int:
        """Access that is counted first."""
        return int(self.accesses.request_begin[self.first])


@dataclass
class Replays:
    """Replays hierarchies of one experiment."""

    experiment: Experiment
    system: SystemSpec
    prepared: Prepared

    @property
    def spec(self) -> ExperimentSpec:
        """The experiment."""
        return self.experiment.spec

    @cached_property
    def all(self) -> Sample:
        """The whole workload."""
        accesses = self.prepared.accesses(own_view(self.spec, self.prepared))
        cuts = engine.aligned_cuts(accesses, self.spec.interval.length)
        if len(cuts) - 1 <= self.spec.warm_up_intervals:
            where = ("warm_up",) if self.spec.warm_up_intervals else ("workload",)
            raise self.experiment.source.complain(
                where, f"nothing is left to count: the workload has {len(cuts) - 1} intervals"
            )
        return Sample(accesses, 1.0, int(cuts[self.spec.warm_up_intervals]))

    @cached_property
    def days(self) -> float:
        """Time that is counted; nan without a clock, or if all requests have one time."""
        duration = CountedTime.of(self.all.accesses, self.all.first).duration_ns
        if self.spec.interval.by_reference or duration == 0:
            return float("nan")
        return duration / DAY_NS

    def sampled(self, rate: float, seed: int) -> Sample:
        """Return the accesses to a share of the blocks, picked by their hash."""
        view = {
            **own_view(self.spec, self.prepared),
            "cut_bytes": self.spec.block_bytes,
            "sample_rate": rate,
            "sample_seed": seed,
        }
        accesses = self.prepared.workload.intern(view)
        times = accesses.request_time
        first = int(np.searchsorted(times, self.all.accesses.request_time[self.all.first]))
        if first == accesses.request_count:
            raise ConfigError("rate: a sample is empty; try a higher one")
        return Sample(accesses, rate, max(first, accesses.warm_up))

    def outcome(
        self, point: Point, sample: Sample | None = None, progress: Progress | None = None
    ) -> Outcome:
        """Replay a hierarchy in full, or a miniature of it over a sample.

        What a miniature counts is of the size of its sample: the outcome is scaled to the whole,
        as if what a sample has too few accesses of were hits of the first tier (SHARDS-adj), since
        the blocks that make the difference are those with most accesses.
        """
        of = sample or self.all
        blocks = [max(1, round(of.rate * size)) for size in point.blocks]
        totals = self._replayed(self._spec_of(point, blocks), of, progress)
        if of.rate < 1:
            totals = self._adjusted(totals, of)
        row = whole(self._spec_of(point, blocks), totals)
        written = totals.device_writes.sum(axis=0) / of.rate
        return Outcome(row.hit_ratio, row.mean_latency_ns or 0.0, tuple(written.tolist()))

    def outcomes(
        self, points: Sequence[Point], threads: int, sample: Sample | None = None
    ) -> dict[Point, Outcome]:
        """Replay several hierarchies, as `outcome` does, `threads` at a time."""
        with Pool(min(threads, len(points))) as pool:
            found = {
                point: pool.submit(self.outcome, point, sample, lambda _: pool.check())
                for point in points
            }
        return {point: outcome.result() for point, outcome in found.items()}

    def _spec_of(self, point: Point, blocks: list[int]) -> ExperimentSpec:
        tiers = [
            tier.model_copy(update={"capacity": size})
            for tier, size in zip(self.spec.tiers, blocks, strict=True)
        ]
        system = SystemSpec.model_validate(
            self.system.model_dump() | {"policy": point.policy, "label": point.policy}
        )
        return self.spec.model_copy(update={"tiers": tiers, "systems": [system]})

    def _replayed(self, spec: ExperimentSpec, of: Sample, progress: Progress | None) -> Totals:
        system = Components(spec, self.experiment.source, self.experiment.code).build(0)
        ends = [of.accesses.warm_up, of.first, of.accesses.request_count]
        cuts = np.unique(np.array(ends, dtype=np.int64))
        with blamed(spec.systems[0].title, surely=False):
            result = engine.run(of.accesses, system, locality.Characterised(), cuts, progress)
        # The warm-up and what is not counted are intervals of their own, before the last.
        return Totals.of(
            spec.systems[0],
            [vm.name for vm in of.accesses.vms],
            lambda name: result.vms[name][-1],
            lambda name: result.tiers[name][-1],
        )

    def _adjusted(self, totals: Totals, sample: Sample) -> Totals:
        """Adjust a sample to the expected reads: those of the whole times the rate."""
        if self.all.first_access != 0:
            return totals  # how many are counted of the whole is not known by operation
        reads = totals.reads_served.copy()
        expected = round(sample.accesses.given["accesses"][0] * sample.rate)
        missing = max(expected - int(reads.sum()), -int(reads[0, 0]))
        reads[0, 0] += missing
        hits, accesses = totals.hits.copy(), totals.accesses.copy()
        hits[0, 0] += missing
        accesses[0] += missing
        return replace(totals, reads_served=reads, hits=hits, accesses=accesses)
