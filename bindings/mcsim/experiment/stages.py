"""The stages of a run, with results in a folder or in memory.

Data of the workload alone come from a `Prepared`, which other runs may share; outputs go to a
`RunOutput`. So a run of its own and one of thousands do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim._core import engine, locality
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.progress import Reporter
from mcsim.base.threads import Work
from mcsim.config import ExperimentSpec
from mcsim.experiment.alone import Alone, alone_table, is_alone_wanted
from mcsim.experiment.checks import (
    check_bytes,
    check_classes,
    check_responses,
    foresight_of,
    foresight_warnings,
    missing_writes,
    timers_that_never_fire,
)
from mcsim.experiment.code import blamed, is_class
from mcsim.experiment.components import declared_data_path
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.prepared import Prepared, View, distinct_bytes, is_bound_wanted
from mcsim.experiment.recorded import bound_table, intensity_asked, system_tables
from mcsim.experiment.states import saved_state, state_arguments
from mcsim.references.workload import ON_DEMAND
from mcsim.results.counted_time import CountedTime
from mcsim.results.files import ENVIRONMENT
from mcsim.results.schemas import concat_tables, fill_repeats
from mcsim.results.yardsticks import how_to_get_opt

if TYPE_CHECKING:
    from mcsim.results.output import RunOutput

_OF_THE_WORKLOAD = (ENVIRONMENT, "curves.parquet", "reuse_intensity.parquet")


def own_view(spec: ExperimentSpec, prepared: Prepared, *, addresses: bool = False) -> View:
    """Return how an experiment sees the trace, as most systems do.

    `addresses`: keep the addresses of blocks, because states are saved.
    """
    # Bytes are kept for their hit ratio.
    kept = {} if prepared.workload.without_lengths() else {"bytes": True}
    if addresses or spec.saved_states is not None:
        kept["addresses"] = True
    is_reads = spec.ops == "reads" and spec.workload.chains is None  # chains have touches
    return kept | {
        "block_bytes": spec.block_bytes,
        "ops": "reads" if is_reads else "all",  # of writes alone the workload is made
        "key": "aligned",
        "whole_seconds": False,
        "line_blocks": 1,
    }


def sized(experiment: Experiment, prepared: Prepared, *, addresses: bool = False) -> Experiment:
    """Return an experiment with capacities as numbers, none as a share of its workload.

    `addresses` as of `own_view`.
    """
    in_bytes = prepared.workload.kind == "objects" and experiment.is_in_bytes
    if not experiment.shares:
        return experiment.sized(0, in_bytes=True) if in_bytes else experiment
    accesses = prepared.accesses(own_view(experiment.spec, prepared, addresses=addresses))
    whole = distinct_bytes(accesses) if in_bytes else accesses.id_count
    return experiment.sized(whole, in_bytes=in_bytes)


@dataclass
class Stages:
    """One run under way.

    Attributes
    ----------
    experiment : Experiment
    prepared : Prepared
        Its workload.
    sink : RunOutput
        Where its results go.
    reporter : Reporter
    work : Pool or Inline
        Does its replays.
    saves : Path, optional
        Folder for the states of all systems at the end. Every system is then replayed.
    """

    experiment: Experiment
    prepared: Prepared
    sink: RunOutput
    reporter: Reporter
    work: Work
    saves: Path | None = None

    @property
    def _titles(self) -> list[str]:
        return [system.title for system in self.experiment.spec.systems]

    def execute(self) -> None:
        """Write everything but DONE."""
        own, systems, views = self._systems_and_views()
        # The experiment's own view comes last: what takes others is replayed while it is prepared.
        in_turn = [*(view for view in _distinct(views) if view != own), own]
        with self.work:
            for view in in_turn:
                self._start_view(view, systems, views, own=view == own)
        self._write()

    def prepare_alone(
        self, index: int
    ) -> tuple[View, engine.Accesses, engine.System, locality.Characterised]:
        """Return one system, its view of the trace, the trace, and what its meters show."""
        _, systems, views = self._systems_and_views()
        view, system = views[index], systems[index]
        accesses = self._intern(view, self._titles[index])
        measured = locality.Characterised()
        if specs := _distinct(system.meters):
            with self._asked_by(index):
                measured = self.prepared.measured(view, specs)
        return view, accesses, system, measured

    def _systems_and_views(self) -> tuple[View, list[engine.System], list[View]]:
        """Build all systems. Return the experiment's own view, the systems and their views."""
        spec = self.experiment.spec
        systems = [self.experiment.make_system(index) for index in range(len(spec.systems))]
        own = own_view(spec, self.prepared, addresses=self.saves is not None)
        views: list[View] = [system.view(**own) for system in systems]
        own, views = self._with_columns(own, systems, views)
        return own, systems, views

    def _with_columns(
        self, own: View, systems: list[engine.System], views: list[View]
    ) -> tuple[View, list[View]]:
        """Use the union of all needed columns: interned traces and measurements are shared."""
        workload, source = self.prepared.workload, self.experiment.source
        asked = {
            column: [index for index, view in enumerate(views) if view.get(column)]
            for column in ON_DEMAND
        }
        for index in asked["responses"][:1]:
            check_responses(workload, own["ops"], source, index)
        for index in [index for index in asked["classes"] if systems[index].needs_classes][:1]:
            check_classes(workload, source, index)
        # Meters of bytes need them; hystor uses blocks if they are missing.
        for index in [index for index in asked["bytes"] if _measures_bytes(systems[index])][:1]:
            check_bytes(workload, source, index)
        if workload.without_classes():
            asked["classes"] = []
        kept = {column: True for column in ("responses", "classes", "addresses") if asked[column]}
        if not workload.without_lengths():
            kept["bytes"] = True
        bare = [{name: of for name, of in view.items() if name not in ON_DEMAND} for view in views]
        return {**own, **kept}, [{**view, **kept} for view in bare]

    def _start_view(
        self, view: View, systems: list[engine.System], views: list[View], own: bool
    ) -> None:
        """Prepare the trace as one view shows it, and let its systems be replayed."""
        members = [index for index, of in enumerate(views) if of == view]
        replays_all = self.saves is not None
        pending = [index for index in members if replays_all or self.sink.part(index) is None]
        whole = own and not self.sink.has(*_OF_THE_WORKLOAD)
        if not pending and not whole:
            return
        wanted_by = "" if own else ", ".join(self._titles[index] for index in members)
        accesses = self._intern(view, wanted_by)
        asking = [systems[index] for index in (members if whole else pending)]
        specs = _distinct([spec for system in asking for spec in system.meters])
        intensity = intensity_asked(specs)
        if intensity is not None:
            specs = _distinct([*specs, intensity])
        if specs and len(accesses.discard_block):
            self.reporter.note(
                f"{len(accesses.discard_block):,} discarded blocks leave the caches, but not the "
                "curves that systems measure"
            )
        needed = bool(specs) or whole
        measured = locality.Characterised()
        if needed:
            with self._asked_by(*(index for index in members if systems[index].meters)):
                measured = self.prepared.measured(view, specs)
        if whole:
            with self.reporter.stage("tables"):
                self._write_of_the_workload(view, specs, intensity, systems)
        # In threads: the core works without the interpreter's lock. Replays wait for what comes
        # first, which does not wait.
        bound = None
        if pending and is_bound_wanted(self.experiment.spec, accesses):
            bound = self.work.submit(self._find_bound, view)
        elif pending and self._is_bound_missing(accesses):
            count = accesses.access_count
            self.reporter.note(f"OPT: not computed for {count:,} accesses; {how_to_get_opt(count)}")
        alone = self._start_alone(view, accesses, pending)
        for index in pending:
            others = (bound, alone.get(index))
            self.work.submit(self._replay_one, accesses, index, systems[index], measured, *others)

    def _start_alone(
        self, view: View, accesses: engine.Accesses, pending: Iterable[int]
    ) -> dict[int, Future[pa.Table]]:
        """Start replays of each VM alone, once for all systems with the same data path."""
        experiment = self.experiment
        if not is_alone_wanted(experiment.spec, accesses):
            return {}
        found: dict[str, Future[pa.Table]] = {}
        of_system = {}
        for index in pending:
            path = Alone.of(experiment.spec, experiment.source, experiment.code, index)
            if path is None:
                continue
            if path.key not in found:
                found[path.key] = self.work.submit(self._replay_alone, view, path, index)
            of_system[index] = found[path.key]
        return of_system

    def _replay_alone(self, view: View, path: Alone, index: int) -> pa.Table:
        with self._asked_by(index):
            return self.prepared.alone(view, path, lambda _: self.work.check())

    def _is_bound_missing(self, accesses: engine.Accesses) -> bool:
        spec = self.experiment.spec
        is_none = spec.starts_filled or spec.in_bytes or accesses.line_blocks > 1
        return spec.opt is None and not is_none

    def _find_bound(self, view: View) -> int:
        spec = self.experiment.spec
        blocks = sum(spec.space)
        warm_up = spec.warm_up_intervals
        return self.prepared.opt_hits(
            view, blocks, spec.interval.length, warm_up, lambda _: self.work.check()
        )

    def _intern(self, view: View, wanted_by: str) -> engine.Accesses:
        accesses = self.prepared.accesses(view, f"for {wanted_by}" if wanted_by else "")
        if accesses.access_count == accesses.request_begin[accesses.warm_up]:
            raise ConfigError(
                f"{self.experiment.source.name}: no request of the workload is left to replay "
                f"(ops: {view['ops']})"
            )
        self._check_warm_up(accesses)
        return accesses

    def _check_warm_up(self, accesses: engine.Accesses) -> None:
        spec = self.experiment.spec
        intervals = len(engine.aligned_cuts(accesses, spec.interval.length)) - 1
        if intervals <= spec.warm_up_intervals:
            raise self.experiment.source.complain(
                ("warm_up",), f"the workload ends before: it has {intervals} intervals"
            )

    def _write_of_the_workload(
        self,
        view: View,
        specs: list[locality.MeterSpec],
        intensity: locality.MeterSpec | None,
        systems: list[engine.System],
    ) -> None:
        described = self.prepared.environment(view)
        known = zip(self._titles, map(foresight_of, systems), strict=True)
        accesses = self.prepared.accesses(view)
        spec = self.experiment.spec
        cuts = engine.aligned_cuts(accesses, spec.interval.length)
        more = {
            "counted_ns": CountedTime.of(accesses, int(cuts[spec.warm_up_intervals])),
            "code": self.experiment.code_digests(),
            "foresight": {title: kind for title, kind in known if kind != "none"},
            "data_paths": {
                system.title: declared_data_path(system, self.experiment.code, spec.writes)
                for system in spec.systems
                if is_class(system.name)
            },
        }
        self.sink.write_json("environment", described | more)
        tiers = [tier.capacity for tier in self.experiment.spec.tiers]
        self.sink.write_curves(*self.prepared.curves(view, specs, np.cumsum(tiers)))
        self.sink.write_table("reuse_intensity", self.prepared.intensity(view, specs, intensity))

    def _replay_one(
        self,
        accesses: engine.Accesses,
        index: int,
        system: engine.System,
        measured: locality.Characterised,
        bound: Future[int] | None,
        alone: Future[pa.Table] | None,
    ) -> None:
        """Replay one system and keep what it did."""
        spec = self.experiment.spec
        title = self._titles[index]
        told = [
            *foresight_warnings(system, spec.systems[index]),
            *missing_writes(system, spec.systems[index], accesses),
            *timers_that_never_fire(system, accesses, spec),
        ]
        for sentence in told:
            self.reporter.note(f"{title}: {sentence}")
        cuts = engine.aligned_cuts(accesses, spec.interval.length)
        with saved_state(self.saves, title) as path:
            result = self.replay_watched(accesses, system, measured, cuts, index, saved=path)
        names = [vm.name for vm in accesses.vms]
        hosts = spec.hosts.names if spec.hosts is not None else ()
        timers = [name for name, *_ in system.timers]
        tables = system_tables(
            title, result, cuts, names, spec.interval.length, hosts, timers, spec.warm_up_intervals
        )
        if bound is not None:
            tables = replace(tables, bounds=bound_table(title, bound.result()))
        if alone is not None:
            tables = replace(tables, alone=alone_table(title, alone.result()))
        self.sink.save_part(index, tables)

    @contextmanager
    def _asked_by(self, *indices: int) -> Iterator[None]:
        """Add the name of the system to errors, or state that one of several failed."""
        try:
            yield
        except ConfigError as error:
            source = self.experiment.source
            if len(indices) == 1:
                raise source.complain(("systems", indices[0]), str(error)) from error
            titles = ", ".join(self._titles[index] for index in indices)
            raise source.complain(("systems",), f"one of {titles}: {error}") from error

    def replay_watched(
        self,
        accesses: engine.Accesses,
        system: engine.System,
        measured: locality.Characterised,
        cuts: NDArray[np.int64],
        index: int,
        logged: tuple[engine.BackendLog, Callable[[], object]] | None = None,
        saved: Path | None = None,
    ) -> engine.RunResult:
        """Replay a system.

        `logged`: a log, and what is called to take its content. `saved`: a file for the state.
        """
        title = self._titles[index]
        total = accesses.access_count
        log, taken = logged or (None, lambda: None)
        spec, source = self.experiment.spec, self.experiment.source
        states = state_arguments(spec, source, self.prepared.workload, index, saved)
        with self.reporter.stage("replay", total, "accesses", about=title) as stage:

            def progress(done: int) -> None:
                stage.update(done)
                self.work.check()
                taken()

            with self._asked_by(index), blamed(title, surely=False):
                result = engine.run(accesses, system, measured, cuts, progress, log, **states)
            stage.update(total)
        return result

    def _write(self) -> None:
        """Join the parts of all systems, in the order of the spec."""
        systems = self.experiment.spec.systems
        parts = [self.sink.part(index) for index in range(len(systems))]
        complete = [part for part in parts if part is not None]
        if len(complete) < len(systems):
            raise HostError(f"{self.sink.path}: files changed while the run went on; run it again")
        with self.reporter.stage("tables"):
            for name in ("metrics", "vms", "decisions", "bounds", "alone"):
                joined = fill_repeats(concat_tables(getattr(part, name) for part in complete))
                self.sink.write_table(name, joined)
            self.sink.write_spec(self.experiment.spec)
        timings = {s.title: part.timing for s, part in zip(systems, complete, strict=True)}
        self.sink.write_json("timings", {"stages": self.reporter.seconds, "systems": timings})


def _measures_bytes(system: engine.System) -> bool:
    return any(spec.params.get("bytes") for spec in system.meters)


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Values that differ, in order; for values that compare but do not hash."""
    found: list[Any] = []
    for value in values:
        found += [] if value in found else [value]
    return found
