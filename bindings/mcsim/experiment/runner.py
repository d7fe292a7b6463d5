"""Run an experiment, from files to results.

    parse         requests of every VM, from the trace store or a synthetic profile
    intern        once per view of the trace (systems may want another than the experiment's)
    characterise  hits of LRU at every capacity, per VM, and measurements of controllers
    replay        every system, `threads` at a time; with them the upper bound on hits
    tables        the results, as files
    figures, page  from the finished results alone, on request

A run that was finished before is not run again. An interrupted run continues with the
systems that are missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcsim._core import policies
from mcsim.base.arguments import file_given, list_of, text
from mcsim.base.errors import ConfigError, HostError, McsimError, MissingOutputError
from mcsim.base.files import check_writable
from mcsim.base.inputs import resolved
from mcsim.base.limits import limits_named
from mcsim.base.progress import Reporter, notebook_reporter
from mcsim.base.threads import Pool, threads_given
from mcsim.config.spec import ExperimentSpec, SystemSpec
from mcsim.experiment.chain_checks import refuse_chains
from mcsim.experiment.code import AllowCode, Code, is_class, python_policies
from mcsim.experiment.components import data_path_of
from mcsim.experiment.environment import build_digest
from mcsim.experiment.experiment import Experiment, Given
from mcsim.experiment.prepared import Prepared
from mcsim.experiment.stages import Stages, sized
from mcsim.experiment.states import start_folder, start_warning
from mcsim.references.opened import open_workload
from mcsim.references.workload import Workload
from mcsim.results.files import DONE, LOG, PAGE
from mcsim.results.results import Results
from mcsim.results.writer import RunWriter, clear_left, draft_folder
from mcsim.traces.find import trace_dirs_given


@limits_named()
def run(
    given: Given,
    *,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    out: str | os.PathLike[str] = "results",
    threads: int | None = None,
    force: bool = False,
    save_state: str | os.PathLike[str] | None = None,
    figures: bool | Sequence[str] | None = None,
    page: bool | None = None,
    reporter: Reporter | None = None,
) -> Results:
    """Run an experiment and return its results.

    Parameters
    ----------
    given : path, name, mapping or ExperimentSpec
        The experiment: a file, or the name of one that mcsim has (see `experiment_names`).
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
        Systems replayed and figures drawn at a time; by default the number of cores.
        Results do not depend on it.
    force : bool
        Run again what was finished.
    save_state : path, optional
        Folder for the state of each system at the end, from which later runs start with
        `warm_up: {state: FOLDER}`. All systems are then replayed, also if they were finished. Not
        for systems that decide or have foresight.
    figures : bool or sequence of str, optional
        All figures that apply, or these names. Default: `figures` of the experiment.
    page : bool, optional
        Whether to write ``page.html`` into the run's folder. Default: `page` of the experiment.
    reporter : Reporter, optional
        Shows the progress. If not given, a notebook shows it; elsewhere it goes to the logger
        ``mcsim`` alone.

    Returns
    -------
    Results
        The finished run in ``out/<run_id>``, also if it was finished before.

    Raises
    ------
    ConfigError, TraceError
        For mistakes in the experiment or its traces.
    MissingOutputError
        If figures cannot be drawn; the results are finished and stored.
    KeyboardInterrupt
        If interrupted; systems that had finished are kept for the next time.

    Examples
    --------
    >>> results = mc.run("tiny", overrides=["systems=[lru, static]"])
    >>> [(row.system, round(row.hit_ratio, 2)) for row in results.overview()]
    [('lru', 0.63), ('static', 0.27)]
    """
    reporter = reporter or notebook_reporter() or Reporter()
    out = file_given("out", out)
    check_writable(out)
    cores = threads_given(threads)
    dirs = trace_dirs_given(trace_dirs)
    experiment = Experiment.load(given, overrides, allow_code=allow_code)
    saves = _folder_of_states(experiment, save_state)
    with reporter.live():
        workload = open_workload(experiment.spec, experiment.source, dirs, reporter)
        _tell_of_workload(workload, experiment, reporter)
        experiment.check_workload(workload)
        for warning in warnings_of(experiment, workload):
            reporter.note(warning)
        prepared = Prepared(workload, reporter)
        experiment = sized(experiment, prepared, addresses=saves is not None)
        run_id = experiment.run_id(workload.describe())
        final = out / run_id
        asked = _Asked.of(experiment.spec, figures, page)
        if not (force or saves) and (results := _reopened(final, reporter)) is not None:
            _add_outputs(results, asked, reporter)
            return results
        writer = RunWriter(final, build_digest())
        try:
            reporter.log_to(writer.folder / LOG)
            Stages(experiment, prepared, writer, reporter, Pool(cores), saves).execute()
            reporter.stop_log()
            results = writer.finish()
        except BaseException:
            reporter.stop_log()
            writer.abandon()
            raise
        _add_outputs(results, asked, reporter)
    return results


def _folder_of_states(experiment: Experiment, given: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder for the states of all systems, which must have one."""
    if given is None:
        return None
    folder = file_given("save_state", given)
    start = start_folder(experiment.spec, experiment.source)
    if start is not None and resolved(start) == resolved(folder):
        raise ConfigError(f"save_state: {folder}: the run starts from it: name another folder")
    refuse_chains(experiment.spec, experiment.source, "--save-state")
    experiment.check_savable()
    check_writable(folder)
    return folder


@dataclass(frozen=True)
class _Asked:
    """Outputs that are made from a finished run."""

    figures: Sequence[str] | None
    """Names; none if empty, all that apply if None."""
    page: bool

    @classmethod
    def of(
        cls, spec: ExperimentSpec, figures: bool | Sequence[str] | None, page: bool | None
    ) -> _Asked:
        chosen = spec.figures if figures is None else figures
        if isinstance(chosen, bool):
            named: Sequence[str] | None = None if chosen else ()
        else:
            named = [text("figures", name) for name in list_of("figures", chosen, "names")]
        return cls(named, spec.page if page is None else page)


def _add_outputs(results: Results, asked: _Asked, reporter: Reporter) -> None:
    """Draw the requested figures of a finished run, and write its page."""
    if asked.figures is None or asked.figures:
        _draw_figures(results, asked.figures, reporter)
    if asked.page:
        _write_page(results, reporter)


def _write_page(results: Results, reporter: Reporter) -> None:
    from mcsim.report.make import report

    try:
        with reporter.stage("page"):
            report(results, html=results.path / PAGE)
    except (ConfigError, HostError) as error:
        raise _unfinished(results, error) from error


def _unfinished(results: Results, error: McsimError) -> McsimError:
    """Return the error of an output that is missing of a finished run."""
    message = f"{error}; the results are in {results.path}"
    if isinstance(error, HostError):
        return HostError(message)
    missing = MissingOutputError(message)
    missing.results = results
    return missing


def _tell_of_workload(workload: Workload, experiment: Experiment, reporter: Reporter) -> None:
    if not workload.synthetic:
        return
    if workload.chains is not None:
        reporter.note("synthetic workload: generated chains")
        return
    why = ""
    if workload.missing:
        why = f" (not found: {', '.join(workload.missing)}; give --trace-dir for recorded traces)"
    reporter.note(f"synthetic workload {', '.join(experiment.spec.workload.profiles)}{why}")


def _reopened(final: Path, reporter: Reporter) -> Results | None:
    """Open what was finished before; None if there is nothing, or not as it was written."""
    if not (final / DONE).exists():
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
    if environment.get("build") != build_digest():
        reporter.note("it was made by another build of mcsim")
    return results


def _draw_figures(results: Results, names: Sequence[str] | None, reporter: Reporter) -> None:
    from mcsim import figures

    reporter.log_to(results.path / LOG)
    try:
        with reporter.stage("figures") as stage:
            spec = results.spec
            drawn = figures.draw(
                results,
                names,
                formats=spec.figure_formats,
                on_skip=reporter.note,
            )
            stage.unit = "files"
            stage.update(len(drawn))
    except (ConfigError, HostError, MissingOutputError) as error:
        raise _unfinished(results, error) from error
    finally:
        reporter.stop_log()
    results.record_seconds("figures", reporter.seconds["figures"])


_RANDOM_COMPONENTS = frozenset(
    (
        *("cacheus", "hyperbolic", "lecar", "lhd", "random", "w-tinylfu"),
        *("sampled-lfu", "sampled-lru"),
        *("shards", "slide", "switching", "talus"),  # wrappers
        "probability",  # admission
        *("annealing", "annealing-legacy"),  # optimisers
    )
)
"""Eviction policies, admission filters and optimisers that draw random numbers, by name."""


def seed_warning(spec: ExperimentSpec, workload: Workload, code: Code) -> str | None:
    """Return the warning for a stated seed that changes nothing; None if there is no such seed."""
    if spec.seed is None or spec.workload.sample is not None:
        return None
    if workload.synthetic and workload.chains is not None:
        return None
    sections: Mapping[str, Any] = {"workload": spec.workload, "warm_up": spec.warm_up_traces}
    profiles = {
        name: of
        for name, of in sections.items()
        if workload.synthetic and of is not None and of.profiles
    }
    if any(of.seed is None for of in profiles.values()):
        return None
    if spec.plugins or any(draws_random_numbers(system, code) for system in spec.systems):
        return None
    drawn = " and ".join(f"{name}.seed" for name in profiles)
    why = f"{drawn} draws the synthetic workload" if drawn else "the workload is recorded"
    return f"seed: it changes nothing: {why}, and no system draws random numbers"


def warnings_of(experiment: Experiment, workload: Workload) -> list[str]:
    """List the keys of an experiment that change nothing, with the reasons."""
    seed = seed_warning(experiment.spec, workload, experiment.code)
    found = (seed, writes_warning(experiment), start_warning(experiment.spec))
    return [warning for warning in found if warning is not None]


def writes_warning(experiment: Experiment) -> str | None:
    """Return the warning for a write mode of all systems that changes nothing, or None."""
    if experiment.spec.writes is None:
        return None
    if experiment.spec.ops == "reads":
        return "writes: it changes nothing: reads alone are replayed; `ops: all` replays writes too"
    if all(isinstance(of, Mapping) and "writes" in of for of in experiment.given["systems"]):
        return "writes: it changes nothing: every system states its own"
    return None


def draws_random_numbers(system: SystemSpec, code: Code) -> bool:
    """Whether the policies, the admission filter or the optimiser of a system are random."""
    data_path = data_path_of(system, code)
    texts = [str(data_path.get(name, "")) for name in ("policy", "admission")]
    texts += [of["policy"] for of in policies.describe_libraries() if of["name"] in _words(texts)]
    if any(map(python_policies, texts)):  # `start` receives the seed
        return True
    if system.optimizer is not None and not is_class(system.optimizer.name):
        texts.append(system.optimizer.name)
    return not _RANDOM_COMPONENTS.isdisjoint(_words(texts))


def _words(texts: Iterable[str]) -> Iterable[str]:
    return (word for text in texts for word in re.findall(r"[\w.-]+", text))
