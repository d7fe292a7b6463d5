"""Running an experiment, from files to results.

    parse         requests of every VM, from the trace store or a synthetic profile
    intern        once per view of the trace (systems may want another than the experiment's)
    characterise  hits of LRU at every capacity, per VM, and what controllers ask to know
    replay        every system, `threads` at a time; with them what none can hit more than
    tables        what was found, as files
    figures       from the finished results alone

A run that was finished before is not run again; one that was interrupted goes on
with the systems that are missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim import _core
from mcsim._core import engine, locality
from mcsim.base.errors import ConfigError
from mcsim.base.files import check_writable
from mcsim.base.progress import Reporter
from mcsim.base.threads import Pool, threads_given
from mcsim.config import ExperimentSpec
from mcsim.experiment.bound import is_bound_wanted, opt_hits
from mcsim.experiment.checks import check_backend, silent_timers
from mcsim.experiment.code import AllowCode, blamed
from mcsim.experiment.environment import build_digest, describe_environment
from mcsim.experiment.experiment import Experiment, Given
from mcsim.experiment.recorded import (
    bound_table,
    curve_table,
    intensity_asked,
    intensity_table,
    system_tables,
    unique_blocks,
)
from mcsim.results.draft import Draft, clear_left, draft_folder
from mcsim.results.parts import Part
from mcsim.results.results import Results
from mcsim.traces.find import default_trace_dirs
from mcsim.traces.opened import open_workload
from mcsim.traces.workload import Workload

__all__ = ["run"]

View = dict[str, Any]


def run(
    given: Given,
    *,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    out: str | os.PathLike[str] = "results",
    threads: int | None = None,
    force: bool = False,
    figures: bool = True,
    reporter: Reporter | None = None,
) -> Results:
    """Run an experiment and return its results.

    Parameters
    ----------
    given : path, mapping or ExperimentSpec
        The experiment.
    overrides : iterable of str
        `key=value`, as of `--set`.
    allow_code : bool or iterable of str
        Whether to use the classes (`module:Class`) and libraries of policies that the experiment
        names and that are in its folder; or the names of modules and paths of libraries to use,
        wherever they are. Such code may do whatever you may. A class that is itself among the
        systems of a mapping needs no permission.
    trace_dirs : sequence of path, optional
        Where to look for traces; those of `MCSIM_TRACE_DIR` if not given.
    out : path
        The folder of all results.
    threads : int, optional
        Systems replayed and figures drawn at a time; as many as there are cores if not given.
        Results do not depend on it.
    force : bool
        Run again what was finished.
    figures : bool
        Draw the figures.
    reporter : Reporter, optional
        What to tell of progress; nothing is shown if not given.

    Raises
    ------
    ConfigError, TraceError
        For mistakes in the experiment or its traces.
    KeyboardInterrupt
        If interrupted; systems that had finished are kept for the next time.
    """
    reporter = reporter or Reporter()
    check_writable(Path(out))
    experiment = Experiment.load(given, overrides, allow_code=allow_code)
    with reporter.live():
        dirs = default_trace_dirs() if trace_dirs is None else [Path(d) for d in trace_dirs]
        workload = open_workload(experiment.spec, experiment.source, dirs, reporter)
        _tell_of_workload(workload, experiment, reporter)
        names = [vm.name for vm in workload.vms]
        check_backend(experiment.spec, experiment.source, names)
        if experiment.shares:
            experiment = _sized(experiment, workload, reporter)
        run_id = experiment.run_id(_core.__version__, workload.describe())
        final = Path(out) / run_id
        if not force and (results := _reopened(final, reporter)) is not None:
            if figures and "figures" not in results.timings["stages"]:
                _draw_figures(results, threads_given(threads), reporter)
            return results
        draft = Draft.begin(Path(out), run_id, build_digest())
        try:
            reporter.log_to(draft.folder / "log.txt")
            _Run(experiment, workload, draft, reporter, threads_given(threads)).execute()
            reporter.stop_log()
            results = draft.finish()
        except BaseException:
            reporter.stop_log()
            draft.abandon()
            raise
        if figures:
            _draw_figures(results, threads_given(threads), reporter)
    return results


def _tell_of_workload(workload: Workload, experiment: Experiment, reporter: Reporter) -> None:
    if not workload.synthetic:
        return
    why = ""
    if workload.missing:
        why = f" (not found: {', '.join(workload.missing)}; give --trace-dir for recorded traces)"
    reporter.note(f"synthetic workload {', '.join(experiment.spec.workload.profiles)}{why}")


def _own_view(spec: ExperimentSpec) -> View:
    """Return how the experiment sees the trace, as most systems do."""
    return {
        "block_bytes": spec.block_bytes,
        "ops": spec.ops,
        "key": "aligned",
        "whole_seconds": False,
        "line_blocks": 1,
    }


def _sized(experiment: Experiment, workload: Workload, reporter: Reporter) -> Experiment:
    """Find the distinct blocks of which capacities are shares."""
    with reporter.stage("intern", unit="requests", about="for capacities") as stage:
        whole = workload.intern(_own_view(experiment.spec), stage.update)
    return experiment.sized(whole.id_count)


def _reopened(final: Path, reporter: Reporter) -> Results | None:
    """Open what was finished before; None if there is nothing, or not as it was written."""
    if not (final / "DONE").exists():
        return None
    try:
        results = Results.open(final)
        results.check()
        environment = results.environment
    except ConfigError as error:
        damage = str(error).partition(": run the experiment")[0].partition("; run the exp")[0]
        reporter.note(f"{damage}; the experiment is run again")
        return None
    clear_left(draft_folder(final.parent, final.name))
    reporter.note(f"{final} was finished before; --force runs it again")
    if environment["build"] != build_digest():
        reporter.note("it was made by another build of mcsim")
    return results


def _draw_figures(results: Results, processes: int, reporter: Reporter) -> None:
    from mcsim import figures

    reporter.log_to(results.path / "log.txt")
    with reporter.stage("figures") as stage:
        spec = results.spec
        drawn = figures.draw(
            results,
            spec.figures,
            formats=spec.figure_formats,
            processes=processes,
            on_skip=reporter.note,
        )
        stage.unit = "files"
        stage.update(len(drawn))
    reporter.stop_log()
    results.record_seconds("figures", reporter.seconds["figures"])


@dataclass
class _Run:
    """One run under way."""

    experiment: Experiment
    workload: Workload
    draft: Draft
    reporter: Reporter
    threads: int
    _pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        self._pool = Pool(self.threads)

    @property
    def _titles(self) -> list[str]:
        return [system.title for system in self.experiment.spec.systems]

    def execute(self) -> None:
        """Write everything but DONE."""
        spec = self.experiment.spec
        systems = [self.experiment.make_system(index) for index in range(len(spec.systems))]
        own_view = _own_view(spec)
        views = [system.view(**own_view) for system in systems]
        # The experiment's own view comes last: what takes others is replayed while it is prepared.
        in_turn = [*(view for view in _distinct(views) if view != own_view), own_view]
        with self._pool:
            for view in in_turn:
                self._start_view(view, systems, views, own=view == own_view)
        self._write()

    def _start_view(
        self, view: View, systems: list[engine.System], views: list[View], own: bool
    ) -> None:
        """Prepare the trace as one view shows it, and let its systems be replayed."""
        members = [index for index, of in enumerate(views) if of == view]
        pending = [index for index in members if self.draft.part(index) is None]
        whole = own and self.draft.workload() is None
        if not pending and not whole:
            return
        wanted_by = "" if own else ", ".join(self._titles[index] for index in members)
        accesses = self._intern(view, wanted_by)
        asking = [systems[index] for index in (members if whole else pending)]
        specs = _distinct([spec for system in asking for spec in system.meters])
        intensity = intensity_asked(specs)
        if intensity is not None:
            specs = _distinct([*specs, intensity])
        measured = self._characterise(accesses, specs, needed=bool(specs) or whole)
        if whole:
            with self.reporter.stage("tables"):
                tables = {
                    "curves": self._curves(accesses, measured.whole_curves),
                    "reuse_intensity": intensity_table(accesses, measured, intensity),
                }
                self.draft.save_workload(Part(tables, self._environment(accesses)))
        # In threads: the core works without the interpreter's lock. Replays wait for what comes
        # first, which waits for nobody.
        bound = None
        if pending and is_bound_wanted(self.experiment.spec, accesses):
            bound = self._pool.submit(self._find_bound, accesses)
        for index in pending:
            self._pool.submit(self._replay_one, accesses, index, systems[index], measured, bound)

    def _find_bound(self, accesses: engine.Accesses) -> int:
        spec = self.experiment.spec
        total = accesses.access_count
        first = int(engine.aligned_cuts(accesses, spec.interval.length)[spec.warm_up_intervals])
        blocks = sum(tier.capacity_blocks for tier in spec.tiers)
        with self.reporter.stage("bound", total, "accesses", about="OPT") as stage:

            def progress(done: int) -> None:
                self._pool.check()
                stage.update(done)

            hits = opt_hits(accesses, blocks, first, progress)
            stage.update(total)
        return hits

    def _intern(self, view: View, wanted_by: str) -> engine.Accesses:
        about = f"for {wanted_by}" if wanted_by else ""
        with self.reporter.stage("intern", unit="requests", about=about) as stage:
            accesses = self.workload.intern(view, stage.update)
            stage.unit = "accesses"
            stage.update(accesses.access_count)
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

    def _characterise(
        self, accesses: engine.Accesses, specs: list[locality.MeterSpec], *, needed: bool
    ) -> locality.Characterised:
        if not needed:
            return locality.Characterised()
        total = accesses.access_count
        with self.reporter.stage("characterise", total, "accesses") as stage:
            found = locality.characterise(accesses, specs, stage.update)
            stage.update(total)
        return found

    def _curves(self, accesses: engine.Accesses, curves: Sequence[locality.HitCurve]) -> pa.Table:
        tiers = [tier.capacity_blocks for tier in self.experiment.spec.tiers]
        names = [vm.name for vm in accesses.vms]
        return curve_table(names, curves, np.cumsum(tiers))

    def _replay_one(
        self,
        accesses: engine.Accesses,
        index: int,
        system: engine.System,
        measured: locality.Characterised,
        bound: Future[int] | None,
    ) -> None:
        """Replay one system and keep what it did."""
        spec = self.experiment.spec
        title = self._titles[index]
        for silence in silent_timers(system, accesses, spec):
            self.reporter.note(f"{title}: {silence}")
        cuts = engine.aligned_cuts(accesses, spec.interval.length)
        result = self._replay_watched(accesses, system, measured, cuts, title)
        names = [vm.name for vm in accesses.vms]
        tables = system_tables(title, result, cuts, names, spec.interval.length)
        if bound is not None:
            tables = replace(tables, bounds=bound_table(title, bound.result()))
        self.draft.save_part(index, tables)

    def _replay_watched(
        self,
        accesses: engine.Accesses,
        system: engine.System,
        measured: locality.Characterised,
        cuts: NDArray[np.int64],
        title: str,
    ) -> engine.RunResult:
        total = accesses.access_count
        with self.reporter.stage("replay", total, "accesses", about=title) as stage:

            def progress(done: int) -> None:
                self._pool.check()
                stage.update(done)

            with blamed(title, surely=False):
                result = engine.run(accesses, system, measured, cuts, progress)
            stage.update(total)
        return result

    def _environment(self, accesses: engine.Accesses) -> dict[str, Any]:
        described = self.workload.describe()
        for entry, vm, unique in zip(described, accesses.vms, unique_blocks(accesses), strict=True):
            entry["requests"] = vm.requests
            entry["accesses"] = vm.accesses
            entry["unique_blocks"] = unique
        return describe_environment() | {
            "synthetic": self.workload.synthetic,
            "first_access_ns": int(accesses.request_time[accesses.warm_up]),
            "missing": list(self.workload.missing),
            "traces": described,
            "code": self.experiment.code_digests(),
        }

    def _write(self) -> None:
        """Join the parts of all systems, in the order of the spec."""
        systems = self.experiment.spec.systems
        parts = [self.draft.part(index) for index in range(len(systems))]
        complete = [part for part in parts if part is not None]
        workload = self.draft.workload()
        assert workload is not None
        assert len(complete) == len(systems)
        with self.reporter.stage("tables"):
            self.draft.write_json("environment", workload.facts)
            for name, table in workload.tables.items():
                self.draft.write_table(name, table)
            for name in ("metrics", "vms", "decisions", "bounds"):
                joined = pa.concat_tables([getattr(part, name) for part in complete])
                self.draft.write_table(name, joined)
            self.draft.write_spec(self.experiment.spec)
        timings = {s.title: part.timing for s, part in zip(systems, complete, strict=True)}
        self.draft.write_json("timings", {"stages": self.reporter.seconds, "systems": timings})


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Values that differ, in order; for values that compare but do not hash."""
    found: list[Any] = []
    for value in values:
        found += [] if value in found else [value]
    return found
