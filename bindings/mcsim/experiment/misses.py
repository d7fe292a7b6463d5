"""Miss streams: what leaves the slowest tier of a hierarchy for the backend, as a trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from mcsim._core import engine, locality
from mcsim.base.arguments import seed_given, shortened
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.files import temporary_beside
from mcsim.base.progress import Reporter, notebook_reporter
from mcsim.base.sizes import parse_capacity
from mcsim.base.suggest import did_you_mean
from mcsim.base.threads import Inline
from mcsim.exchange.miss_rows import MissRows
from mcsim.experiment.chain_checks import refuse_chains
from mcsim.experiment.code import AllowCode
from mcsim.experiment.experiment import Experiment, Given
from mcsim.experiment.prepared import Prepared, View
from mcsim.experiment.stages import Stages, sized
from mcsim.experiment.states import refuse_states
from mcsim.references.given import traces_in
from mcsim.references.opened import open_workload
from mcsim.references.pieces import bytes_of_block
from mcsim.references.workload import Workload, vms_of
from mcsim.results.output import RunOutput
from mcsim.traces.batches import SCHEMA, Ops
from mcsim.traces.cache import cache_directory, open_cache
from mcsim.traces.find import trace_dirs_given
from mcsim.traces.trace import Trace


def misses(
    source: Given | Trace | Sequence[Trace],
    size: int | float | str | None = None,
    *,
    policy: str = "lru",
    writes: str = "through",
    ops: Ops = "all",
    block_bytes: int | str = 4096,
    seed: int = 1,
    system: str | None = None,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    reporter: Reporter | None = None,
) -> Trace:
    """Replay traces through a cache or a hierarchy, and return the requests to the backend.

    The rows are in the order in which they reach the backend. Each has the time of the request
    that causes it.

    - Reads: blocks that no tier holds. An extent that moves to a tier is read as a whole.
    - Writes: what the write mode sends to the backend, which is the write itself (through, around)
      or a dirty block that leaves the cache, is flushed or exceeds the limit (back). Blocks
      that are dirty at the end are not written.
    - Discards: of blocks that were accessed before, at their own time.

    Blocks are whole: the offset is a multiple of the block size. Neighbouring blocks of one request
    are one row, unless another block reaches the backend between them. Objects keep key and size.
    The rows of a warm-up are left out.

    Parameters
    ----------
    source : path, mapping, ExperimentSpec, Trace or sequence of Trace
        An experiment, with any hierarchy; or traces for one cache of `size`, which all VMs share.
    size : int, float or str, optional
        Size of the cache for traces: blocks, ``'1GiB'``, or ``'10%'`` of the distinct blocks.
    policy, writes : str
        Parameters of the cache for traces, as of the system ``hierarchy``: ``'arc'``, ``'back'``.
    ops : {'all', 'reads', 'writes'}
        Which requests of the traces are replayed.
    block_bytes : int or str
        Size of a block of the traces.
    seed : int
        Seed of a policy that draws random numbers.
    system : str, optional
        Label or name of the system of an experiment; needed if it has several.
    overrides, allow_code, trace_dirs, reporter
        For experiments, as of `run`.

    Returns
    -------
    Trace
        Without rows, if nothing reaches the backend.

    Raises
    ------
    ConfigError, TraceError
        For mistakes in the experiment or its traces. If there is no such system, if there are
        several and none is named, or if the experiment replays a sample.
    HostError
        If the stream cannot be written to the folder of the trace cache.

    Examples
    --------
    >>> trace = mc.Trace.from_arrays([0, 1, 2, 3], [0, 4096, 0, 8192], 4096)
    >>> mc.misses(trace, 2).to_pandas().offset.tolist()
    [0, 4096, 8192]
    """
    reporter = reporter or notebook_reporter() or Reporter()
    traces = traces_in(cast(Any, source))
    if traces is None and isinstance(source, (list, tuple)):
        raise ConfigError(f"source: expected traces or an experiment, got {shortened(source)}")
    if (traces is None) != (size is None):
        raise ConfigError(
            "size: an experiment has its own tiers" if size else "size: a trace needs a cache size"
        )
    with reporter.live():
        if traces is not None:
            cache = _Cache(size, policy, writes, seed_given(seed))
            replay = cache.replay(traces, ops, block_bytes, reporter)
        else:
            experiment = Experiment.load(cast(Given, source), overrides, allow_code=allow_code)
            index = _index_of(experiment, system)
            replay = _system_replay(experiment, index, trace_dirs, reporter)
        return replay.stream()


@dataclass
class _Replay:
    """One system and the trace that it replays.

    Attributes
    ----------
    first : int
        First request that is counted.
    run : callable
        ``run(log, taken)`` replays all requests, and calls ``taken()`` now and then.
    """

    workload: Workload
    view: View
    accesses: engine.Accesses
    first: int
    source: str
    options: dict[str, Any]
    run: Callable[[engine.BackendLog, Callable[[], object]], object]

    @property
    def _block_size(self) -> dict[str, int]:
        """Return the size of the blocks of the stream; objects have sizes of their own."""
        return {"block_bytes": self.accesses.block_bytes} if self.workload.kind == "blocks" else {}

    def stream(self) -> Trace:
        """Return what reaches the backend. Its rows are in a file without a name."""
        log = engine.BackendLog()
        cache = cache_directory()
        open_cache(cache)
        with temporary_beside(cache / "misses.arrow", private=True) as path:
            with (
                pa.OSFile(os.fsencode(path), "wb") as file,
                pa.ipc.new_file(file, SCHEMA) as writer,
            ):
                rows = MissRows(
                    self.workload, self.view, self.accesses, self.first, writer.write_batch
                )
                self.run(log, lambda: rows.add(*log.take()))
                rows.add(*log.take())
            reader = pa.ipc.open_file(pa.memory_map(os.fsencode(path)))
            batches = [reader.get_batch(index) for index in range(reader.num_record_batches)]
        return rows.trace(batches, self.source, self.options | self._block_size)


@dataclass
class _Cache:
    """One cache that all VMs of traces share."""

    size: int | float | str | None
    policy: str
    writes: str
    seed: int

    def replay(
        self, traces: Sequence[Trace], ops: Ops, block_bytes: int | str, reporter: Reporter
    ) -> _Replay:
        workload = Workload(
            vms_of(traces, ops), synthetic=any(trace.metadata.synthetic for trace in traces)
        )
        view: dict[str, Any] = {
            "block_bytes": bytes_of_block("block_bytes", block_bytes),
            "ops": "reads" if ops == "reads" else "all",
            "key": "aligned",
            "whole_seconds": False,
            "line_blocks": 1,
        }
        if workload.kind == "objects" and not workload.without_lengths():
            view["bytes"] = True
        source = ", ".join(trace.metadata.source for trace in traces)
        accesses = Prepared(workload, reporter).accesses(view)
        if accesses.access_count == 0:
            raise ConfigError(f"{source}: no request is left to replay (ops: {ops})")
        system = self._system(accesses, workload)
        total = accesses.access_count

        def run(log: engine.BackendLog, taken: Callable[[], object]) -> None:
            with reporter.stage("replay", total, "accesses", about=self.policy) as stage:

                def progress(done: int) -> None:
                    stage.update(done)
                    taken()

                cuts = np.array([0, accesses.request_count])
                engine.run(accesses, system, locality.Characterised(), cuts, progress, log)
                stage.update(total)

        options = {"policy": self.policy, "size": str(self.size), "writes": self.writes}
        return _Replay(
            workload,
            view,
            accesses,
            0,
            f"misses of {self.policy} {self.size}, {source}",
            options,
            run,
        )

    def _system(self, accesses: engine.Accesses, workload: Workload) -> engine.System:
        in_bytes = accesses.block_bytes if workload.kind == "blocks" else None
        with mistakes_in("size"):
            capacity = parse_capacity(self.size, accesses.id_count, in_bytes)
        device = engine.Device("cache", 0, 0, 0)
        return engine.System(
            "hierarchy",
            {"policy": self.policy, "writes": self.writes},
            engine.Machine([(device, capacity)], device),
            seed=self.seed,
            vms=[vm.name for vm in accesses.vms],
        )


def _index_of(experiment: Experiment, system: str | None) -> int:
    """Return the position of a system that is named, or of the only one."""
    titles = [of.title for of in experiment.spec.systems]
    if system is None:
        if len(titles) == 1:
            return 0
        raise ConfigError(f"system: name one of {', '.join(titles)}")
    if system not in titles:
        known = f"; the experiment has {', '.join(titles)}"
        raise ConfigError(f"system: no {system!r}{did_you_mean(system, titles)}{known}")
    return titles.index(system)


def _system_replay(
    experiment: Experiment,
    index: int,
    trace_dirs: Sequence[str | os.PathLike[str]] | None,
    reporter: Reporter,
) -> _Replay:
    """Open the workload of an experiment, for one of its systems."""
    refuse_states(experiment.spec, experiment.source, "a miss stream")
    refuse_chains(experiment.spec, experiment.source, "a miss stream")
    workload = open_workload(
        experiment.spec, experiment.source, trace_dirs_given(trace_dirs), reporter
    )
    experiment.check_workload(workload)
    if workload.sample is not None:
        raise experiment.source.complain(
            ("workload", "sample"), "the misses of a sample are no miss stream"
        )
    prepared = Prepared(workload, reporter)
    experiment = sized(experiment, prepared)
    output = RunOutput(cache_directory())
    stages = Stages(experiment, prepared, output, reporter, Inline(lambda: None))
    view, accesses, system, measured = stages.prepare_alone(index)
    cuts = engine.aligned_cuts(accesses, experiment.spec.interval.length)
    title = experiment.spec.systems[index].title

    def run(log: engine.BackendLog, taken: Callable[[], object]) -> None:
        stages.replay_watched(accesses, system, measured, cuts, index, (log, taken))

    return _Replay(
        workload,
        view,
        accesses,
        int(cuts[experiment.spec.warm_up_intervals]),
        f"misses of {title}, {experiment.spec.name}",
        {"system": title},
        run,
    )
