"""The best setting of each deployed cache of an experiment, found by replays in full."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.deployed import RULES, SETTINGS
from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.base.threads import Pool, threads_given
from mcsim.config import Source
from mcsim.config.spec import SystemSpec
from mcsim.experiment.chain_checks import refuse_chains
from mcsim.experiment.code import AllowCode
from mcsim.experiment.experiment import Experiment, Given
from mcsim.experiment.prepared import Prepared
from mcsim.experiment.stages import Stages, sized
from mcsim.experiment.states import refuse_states
from mcsim.policies.deployed_caches import least_bytes
from mcsim.policies.specs import DeployedSpec
from mcsim.references.opened import open_workload
from mcsim.results.answer_deployed import deployed, saved_share
from mcsim.results.output import RunOutput
from mcsim.results.results import Results
from mcsim.results.standings import Standing
from mcsim.tables.result_table import ResultTable
from mcsim.traces.find import trace_dirs_given


class FoundSettings(ResultTable):
    """Replayed settings of deployed caches, the best of each cache first.

    The columns are ``system`` (the label in the experiment), ``setting`` (parameters that differ
    from the installed ones), ``hit_ratio``, ``latency_ns`` and ``saved`` (share of the latency
    without a cache; nan without one).

    Attributes
    ----------
    experiment : str
    overrides : list of str
        Overrides that give each cache its best setting, for `mcsim.run` and ``--set``.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        *,
        experiment: str,
        answer: str,
        overrides: Sequence[str],
        styles: Sequence[Any],
    ) -> None:
        title = f"{experiment}: settings of deployed caches, the best of each first"
        super().__init__(columns, "settings", title=title, answer=answer, styles=styles)
        self.experiment, self.overrides = experiment, list(overrides)


def search_settings(
    given: Given,
    *,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    threads: int | None = None,
    reporter: Reporter | None = None,
) -> FoundSettings:
    """Find the best setting of each deployed cache of an experiment.

    The first system of each kind is the installed cache, and the search starts with its parameters.
    It tries the alternatives of one parameter and keeps the best, then those of the next one, until
    none is better. Parameters without alternatives keep their values, and further systems of the
    same kind are replaced. The best has the lowest mean latency, or without latencies the
    highest hit ratio.

    Parameters
    ----------
    given : path, name, mapping or ExperimentSpec
        An experiment with at least one deployed cache.
    overrides, allow_code, trace_dirs, threads, reporter
        As of `run`.

    Returns
    -------
    FoundSettings

    Raises
    ------
    ConfigError, TraceError
        For mistakes in the experiment or its traces, or if it has no deployed cache.

    Examples
    --------
    >>> found = mc.search_settings("tiny", overrides=["systems=[dm-cache]"])
    >>> found.overrides
    ['systems.0.block_kib=512']
    """
    reporter = reporter or Reporter()
    experiment = Experiment.load(given, overrides, allow_code=allow_code)
    refuse_states(experiment.spec, experiment.source, "a search")
    refuse_chains(experiment.spec, experiment.source, "a search")
    cores = threads_given(threads)
    with reporter.live():
        dirs = trace_dirs_given(trace_dirs)
        workload = open_workload(experiment.spec, experiment.source, dirs, reporter)
        experiment.check_workload(workload)
        prepared = Prepared(workload, reporter)
        experiment = sized(experiment, prepared)
        search = _Search(experiment, prepared, reporter, cores)
        search.climb()
        return search.found()


@dataclass
class _Climb:
    """The settings of one cache, one parameter after the other."""

    index: int
    installed: SystemSpec
    size: int
    """Bytes of all tiers together."""
    best: SystemSpec = field(init=False)
    known: dict[str, tuple[SystemSpec, Standing, float]] = field(default_factory=dict)
    axis: int = 0
    axes_without_gain: int = 0

    def __post_init__(self) -> None:
        self.best = self.installed

    @property
    def axes(self) -> Sequence[Sequence[Mapping[str, Any]]]:
        """Alternatives of each parameter."""
        return SETTINGS.get(self.installed.name, ())

    @property
    def is_done(self) -> bool:
        """Whether no alternative of any parameter is better."""
        return bool(self.known) and self.axes_without_gain >= len(self.axes)

    def alternatives(self) -> list[SystemSpec]:
        """Return the best setting, and those with other values of the current parameter."""
        values = self.axes[self.axis] if self.axes else ()
        others = [of for of in map(self._with, values) if _least_bytes(of) <= self.size]
        return [self.best, *others]

    def take(self) -> None:
        """Keep the best of the replayed alternatives, and go on with the next parameter."""
        before = self.loss(self.best)
        self.best = min(self.alternatives(), key=self.loss)
        self.axes_without_gain = 0 if self.loss(self.best) < before else self.axes_without_gain + 1
        self.axis = (self.axis + 1) % max(len(self.axes), 1)

    def loss(self, of: SystemSpec) -> float:
        """Return the value to minimise."""
        return self.known[of.title][1].loss

    def difference(self, of: SystemSpec) -> dict[str, Any]:
        """Return the parameters that are not the installed ones."""
        return {k: v for k, v in of.params.items() if v != self.installed.params.get(k)}

    def _with(self, value: Mapping[str, Any]) -> SystemSpec:
        params = {**self.best.params, **value}
        of = SystemSpec.model_validate({"name": self.installed.name, **params})
        words = [f"{key} {value}" for key, value in self.difference(of).items()]
        label = ", ".join([self.installed.title, *words])
        return of.model_copy(update={"label": label})


class _Search:
    """Replays settings of all caches of an experiment, several at a time."""

    def __init__(
        self, experiment: Experiment, prepared: Prepared, reporter: Reporter, threads: int
    ) -> None:
        self._experiment, self._prepared = experiment, prepared
        self._reporter, self._threads = reporter, threads
        climbs: dict[str, _Climb] = {}
        size = sum(experiment.spec.space) * experiment.spec.block_bytes
        for index, system in enumerate(experiment.spec.systems):
            if system.name in RULES:
                climbs.setdefault(system.name, _Climb(index, system, size))
        if not climbs:
            known = ", ".join(RULES)
            raise ConfigError(f"{experiment.source.name}: systems: no deployed cache ({known})")
        self._climbs = list(climbs.values())

    def climb(self) -> None:
        """Replay alternatives until no parameter has a better one."""
        while pending := [of for of in self._climbs if not of.is_done]:
            wanted = {
                system.title: (of, system)
                for of in pending
                for system in of.alternatives()
                if system.title not in of.known
            }
            if wanted:
                results = self._run([system for _, system in wanted.values()])
                for title, (of, system) in wanted.items():
                    standing = results.standings.whole[title]
                    of.known[title] = system, standing, saved_share(results, standing)
            for of in pending:
                of.take()

    def found(self) -> FoundSettings:
        """Compare the installed and the best settings with the other systems."""
        systems = [
            system
            for of in self._climbs
            for system in {of.installed.title: of.installed, of.best.title: of.best}.values()
        ]
        systems += [of for of in self._experiment.spec.systems if of.name not in RULES]
        answer = deployed(self._run(systems), is_searched=True)
        rows = [
            (of, *replayed)
            for of in self._climbs
            for replayed in sorted(of.known.values(), key=lambda each: each[1].loss)
        ]
        columns = {
            "system": [of.installed.title for of, *_ in rows],
            "setting": [_text(of.difference(system)) for of, system, *_ in rows],
            "hit_ratio": [standing.hit_ratio for *_, standing, _ in rows],
            "latency_ns": [_number(standing.latency_ns) for *_, standing, _ in rows],
            "saved": [saved for *_, saved in rows],
        }
        return FoundSettings(
            {name: np.array(values) for name, values in columns.items()},
            experiment=self._experiment.spec.name,
            answer=answer or "",
            overrides=[
                f"systems.{of.index}.{key}={value}"
                for of in self._climbs
                for key, value in of.difference(of.best).items()
            ],
            styles=["best" if system is of.best else "" for of, system, *_ in rows],
        )

    def _run(self, systems: Sequence[SystemSpec]) -> Results:
        experiment = self._experiment
        values = experiment.spec.expanded() | {
            "systems": [system.model_dump(exclude_none=True) for system in systems],
            "opt": False,
            "slowdowns": False,
        }
        source = Source("spec", values, experiment.source.code_folder)
        made = replace(Experiment.of(source, experiment.code), given=experiment.given)
        output = RunOutput(Path("settings"))
        Stages(made, self._prepared, output, self._reporter, Pool(self._threads)).execute()
        return output.results()


def _least_bytes(system: SystemSpec) -> int:
    # As in a spec of a policy, where true and false have small letters.
    params = {key: str(value).lower() for key, value in system.params.items()}
    return least_bytes(DeployedSpec(system.name, params))


def _text(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in setting.items()) or "as installed"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
