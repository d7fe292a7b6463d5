"""The arena: conformance, miniatures of all candidates, full replays of the leaders."""

from __future__ import annotations

import math
import os
import pickle
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mcsim.base.arguments import list_of, seed_given, shortened, whole_number
from mcsim.base.errors import ConfigError, brief
from mcsim.base.limits import limits_named
from mcsim.base.progress import Reporter
from mcsim.base.sizes import share_given
from mcsim.base.threads import threads_given
from mcsim.contests.candidates import (
    Candidate,
    CandidateGiven,
    candidates_given,
    check_permission,
)
from mcsim.contests.conformance import OPTIMUM
from mcsim.contests.processes import Processes
from mcsim.contests.ranking import Contestant, Final, Ranking, ranking_of
from mcsim.contests.scores import Ratios, Scale
from mcsim.contests.worker import MINIATURE, Reply, Setup, Task
from mcsim.experiment.code import AllowCode, Permission
from mcsim.policies.comparison import AnyTrace, Named, Readable, identity_of, named_traces, steps_of
from mcsim.policies.miniatures import miniature
from mcsim.policies.simulation import memory_given, simulate
from mcsim.references.blocks import Blocks
from mcsim.references.objects import SizedObjects
from mcsim.traces.batches import Ops
from mcsim.traces.trace import Trace

_LEAST_MEMORY = 256 << 20
"""Bytes; less does not suffice for the libraries that a process loads."""


@brief
def arena(
    traces: AnyTrace | Sequence[AnyTrace],
    candidates: CandidateGiven | Sequence[CandidateGiven],
    sizes: str | Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    held_out: Sequence[AnyTrace] = (),
    leaders: int = 20,
    rate: float | str = 0.01,
    seconds: float = 60.0,
    memory: int | str | None = None,
    ops: Ops = "reads",
    block_bytes: int | str = 4096,
    seed: int = 1,
    threads: int | None = None,
    allow_code: AllowCode = False,
    reporter: Reporter | None = None,
) -> Ranking:
    """Rank eviction policies by the share of the distance from LRU to the optimum.

    Each candidate first passes tests on short streams: it never exceeds its capacity, equal
    replays have equal counts, and it does not beat the optimum. Then it has a miniature cache of
    every trace and size. The best are replayed in full, and only this decides their rank.

    Candidates run in processes of their own, with limits of time and memory. One that crashes,
    hangs or uses too much memory fails alone. The limits protect the contest, not the machine: a
    candidate's code has all rights of its user.

    Parameters
    ----------
    traces : Trace, Blocks, path, or a sequence
        Each has caches of its own.
    candidates : str, mapping, or sequence of these
        A policy as in `simulate`, ``module:Class`` of the working directory, or a mapping with
        ``policy``, ``name`` and ``library``, a path as of `load_policies`.
    sizes : str or sequence of int or str
        As in `compare`; shares are of the distinct blocks of each trace.
    held_out : sequence
        Traces that decide the rank; candidates do not see them before. If empty, the rank is
        decided on `traces`.
    leaders : int
        Candidates that are replayed in full.
    rate : float or str
        Share of the blocks in miniatures.
    seconds : float
        Limit for the tests and miniatures of a candidate, and for each full replay of a trace.
    memory : int or str, optional
        Limit for the memory of a process, with the trace and libraries; by default half of the
        machine's, divided among the processes.
    ops, block_bytes, seed
        As in `compare`.
    threads : int, optional
        Processes at a time; one for each core by default.
    allow_code : bool or iterable of str
        Whether Python classes and libraries may run, as in `run`.
    reporter : Reporter, optional
        Shows the progress.

    Returns
    -------
    Ranking
        A row for each candidate, the best first.

    Raises
    ------
    ConfigError
        If an argument is wrong, code was not allowed, or the optimum gains nothing on LRU.
    HostError
        If no process starts.

    Examples
    --------
    >>> loop = np.tile(np.arange(40), 9)
    >>> trace = mc.Trace.from_arrays(np.arange(360), 4096 * loop, 4096)
    >>> ranking = mc.arena(trace, ["lru", "mru"], ["50%"], threads=1)
    >>> ranking.candidate.tolist(), ranking.score.round(2).tolist()
    (['mru', 'lru'], [1.0, 0.0])
    """
    is_one = isinstance(traces, (Trace, Blocks, str, os.PathLike))
    given: list[Any] = [traces] if is_one else list_of("traces", traces, "traces")
    held = list_of("held_out", held_out, "traces")
    rules = Rules.given(sizes, leaders, rate, seconds, memory, seed, threads, allow_code)
    return contest(
        named_traces(given, ops, block_bytes),
        candidates_given(candidates),
        rules,
        named_traces(held, ops, block_bytes),
        reporter or Reporter(),
    )


@dataclass(frozen=True)
class Rules:
    """Options of an arena, checked."""

    sizes: str | Sequence[int | str]
    leaders: int
    rate: float
    seconds: float
    memory: int
    seed: int
    threads: int
    permission: Permission

    @classmethod
    def given(
        cls,
        sizes: str | Sequence[int | str],
        leaders: int,
        rate: float | str,
        seconds: float,
        memory: int | str | None,
        seed: int,
        threads: int | None,
        allow_code: AllowCode,
    ) -> Rules:
        """Check the options, as of `arena`."""
        cores = threads_given(threads)
        limit = memory_given(memory) // (cores if memory is None else 1)
        if limit < _LEAST_MEMORY:
            raise ConfigError(f"memory: expected at least 256MiB for a process, got {memory}")
        return cls(
            sizes,
            whole_number("leaders", leaders, 1),
            share_given("rate", rate),
            _seconds_given(seconds),
            limit,
            seed_given(seed),
            cores,
            Permission.of(allow_code),
        )


def _seconds_given(seconds: object) -> float:
    if isinstance(seconds, (int, float)) and 0 < seconds < math.inf:
        return float(seconds)
    raise ConfigError(f"seconds: expected a positive number, got {shortened(seconds)}")


@limits_named()
def contest(
    named: Iterable[Named],
    candidates: Sequence[Candidate],
    rules: Rules,
    held_out: Iterable[Named],
    reporter: Reporter,
) -> Ranking:
    """Run an arena on named traces."""
    check_permission(candidates, rules.permission)
    contestants = [Contestant(candidate) for candidate in candidates]
    with tempfile.TemporaryDirectory(prefix="mcsim-arena-") as folder, reporter.live():
        seen = _Traces.read("traces", named, rules, Path(folder, "seen"), reporter)
        held = list(held_out)
        final = seen
        if held:
            final = _Traces.read("held-out traces", held, rules, Path(folder, "held"), reporter)
            _check_apart(seen, final)
        with reporter.stage("yardsticks", 1, "sample") as stage:
            small = seen.scale(rules, rules.rate)
            stage.update(1)
        setup = Setup(Path.cwd(), rules.permission, rules.memory, tuple(seen.sizes), rules.seed)
        with Processes(rules.threads, setup, rules.seconds) as processes:
            _in_miniature(contestants, seen, small, rules, processes, reporter)
        leaders = sorted((c for c in contestants if not c.failure), key=lambda c: -c.miniature)
        with reporter.stage("yardsticks", 1, "replay") as stage:
            scale = final.scale(rules, None)
            stage.update(1)
        # New processes: those of the miniatures ran code of candidates before.
        with Processes(rules.threads, setup, rules.seconds) as processes:
            _in_full(leaders[: rules.leaders], final, processes, reporter)
    return ranking_of(contestants, Final(scale, final.names, final.labels, bool(held), rules.seed))


@dataclass
class _Traces:
    """Traces in files for processes.

    Attributes
    ----------
    labels, sizes : list
        Names of the sizes, and the sizes.
    """

    names: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    sizes: list[int | str] = field(default_factory=list)
    identities: list[object] = field(default_factory=list)

    @classmethod
    def read(
        cls,
        what: str,
        named: Iterable[Named],
        rules: Rules,
        folder: Path,
        reporter: Reporter,
    ) -> _Traces:
        """Read traces and write their references into a folder."""
        folder.mkdir()
        traces = cls()
        with reporter.stage(what, unit="traces") as stage:
            for name, blocks in Readable(named, stage.update, reporter.note):
                sized, steps = steps_of(name, blocks, rules.sizes)
                if isinstance(sized, SizedObjects):
                    raise ConfigError(
                        "sizes: an arena has caches of blocks: give numbers of objects or shares"
                    )
                traces.labels = [label for label, _ in steps]
                traces.sizes = [size for _, size in steps]
                traces.names.append(name)
                traces.identities.append(identity_of(blocks))
                traces.files.append(folder / str(len(traces.files)))
                with traces.files[-1].open("wb") as file:
                    pickle.dump(blocks, file)
        return traces

    def scale(self, rules: Rules, rate: float | None) -> Scale:
        """Return the hit ratios of LRU and of the optimum; those of miniatures at a rate."""
        policies = ["lru", OPTIMUM]
        shared: dict[str, Any] = {"seed": rules.seed, "threads": rules.threads}
        tables = []
        for file in self.files:
            blocks = pickle.loads(file.read_bytes())
            if rate is None:
                rows = simulate(blocks, policies, self.sizes, **shared)
            else:
                rows = miniature(blocks, policies, self.sizes, rate=rate, **MINIATURE, **shared)
            tables.append(rows.hit_ratio.reshape(len(policies), len(self.sizes)))
        lru, optimum = np.stack(tables, axis=1)
        scale = Scale(lru, optimum)
        if scale.is_empty:
            raise ConfigError(
                "sizes: the optimum has as many hits as LRU in every cache; give other sizes or "
                "traces"
            )
        return scale


def _check_apart(seen: _Traces, held: _Traces) -> None:
    """Check that no requests are both seen and held out."""
    for name, identity in zip(held.names, held.identities, strict=True):
        if identity in seen.identities:
            other = seen.names[seen.identities.index(identity)]
            raise ConfigError(f"held_out: {name} has the requests of {other}, which candidates see")


def _in_miniature(
    contestants: Sequence[Contestant],
    traces: _Traces,
    scale: Scale,
    rules: Rules,
    processes: Processes,
    reporter: Reporter,
) -> None:
    """Test the candidates, and replay their miniatures."""
    of = {contestant.candidate.name: contestant for contestant in contestants}
    tasks = [Task(each.candidate, tuple(traces.files), rules.rate) for each in contestants]
    with reporter.stage("miniatures", len(tasks), "candidates") as stage:
        for done, (task, reply) in enumerate(processes.replies(tasks), 1):
            contestant = of[task.candidate.name]
            if contestant.took(reply):
                contestant.miniature = float(np.nanmean(scale.scores(_ratios(reply))))
            stage.update(done)


def _in_full(
    leaders: Sequence[Contestant], traces: _Traces, processes: Processes, reporter: Reporter
) -> None:
    """Replay each trace under the leaders; one that fails has no rank."""
    of = {contestant.candidate.name: contestant for contestant in leaders}
    tasks = [Task(each.candidate, (file,), None) for each in leaders for file in traces.files]
    ratios: dict[str, dict[Path, Ratios]] = {name: {} for name in of}
    with reporter.stage("replays", len(tasks), "traces") as stage:
        for done, (task, reply) in enumerate(processes.replies(tasks), 1):
            contestant = of[task.candidate.name]
            if contestant.took(reply):
                ratios[task.candidate.name][task.traces[0]] = _ratios(reply)[0]
            stage.update(done)
    for contestant in leaders:
        if not contestant.failure:
            rows = ratios[contestant.candidate.name]
            contestant.ratios = np.stack([rows[file] for file in traces.files])


def _ratios(reply: Reply) -> Ratios:
    return np.array(reply.ratios)
