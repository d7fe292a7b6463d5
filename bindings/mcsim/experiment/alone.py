"""Replays of each VM alone with all tiers, against which the effect of sharing is measured.

A VM is replayed on the data path of the system as it is configured: eviction policy, chain,
admission filter, write mode, dirty limit and flushes. It has all tiers all the time, as under
`hierarchy`; decisions of the system, which also may change write modes, are left out. A system
without these parameters (`lru`, `single-tier`, `dss`, `hindsight`, and those that place extents)
replays the VM itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim._core import engine, locality
from mcsim.config.load import Source
from mcsim.config.spec import ExperimentSpec, SystemSpec, text_of_tiers
from mcsim.experiment.code import Code, blamed, is_class
from mcsim.experiment.components import Components, data_path_of, has_own_host, prefetches
from mcsim.results.schemas import SCHEMAS
from mcsim.results.tables import whole
from mcsim.results.totals import Totals
from mcsim.results.version import RESULTS_VERSION

_DATA_PATH = (
    *("policy", "chain", "admission", "prefetch", "writes"),
    *("update_around", "dirty_limit", "flush_every"),
)

# Limits of what is replayed by default: the time of one more replay for each data path.
_MOST_VMS = 64
_MOST_ACCESSES = 1 << 27

Progress = Callable[[int], object]


def is_alone_wanted(spec: ExperimentSpec, accesses: engine.Accesses) -> bool:
    """Return whether a run replays each VM alone."""
    if spec.starts_filled or spec.workload.chains is not None:
        return False
    if spec.slowdowns is not None:
        return spec.slowdowns
    return len(accesses.vms) <= _MOST_VMS and accesses.access_count <= _MOST_ACCESSES


@dataclass(frozen=True)
class Alone:
    """The data path of a system for one VM at a time.

    Attributes
    ----------
    spec : ExperimentSpec
        One host, and one system with the data path.
    source, code
        As of an `Experiment`.
    """

    spec: ExperimentSpec
    source: Source
    code: Code

    @classmethod
    def of(cls, spec: ExperimentSpec, source: Source, code: Code, index: int) -> Alone | None:
        """Return the data path of a system; None if a class of Python places extents."""
        system = _system_alone(spec, index, code)
        if system is None:
            return None
        return cls(spec.model_copy(update={"hosts": None, "systems": [system]}), source, code)

    @property
    def key(self) -> str:
        """A text that is equal for equal replays."""
        system = self.spec.systems[0]
        tiers = [tier.model_dump(mode="json") for tier in self.spec.tiers]
        values = [system.name, system.params, tiers, self.spec.backend.model_dump(mode="json")]
        timing = [self.spec.interval.length, self.spec.warm_up_intervals, self.spec.random_seed]
        return json.dumps([*values, *timing], sort_keys=True, default=str)

    @property
    def cause(self) -> dict[str, Any] | None:
        """All that the replays depend on, in a form of JSON; None if it includes code of a user."""
        system = self.spec.systems[0]
        named = map(str, [system.name, *system.params.values()])
        if self.spec.plugins or self.code.given or any(":" in name for name in named):
            return None
        left_out = {"name", "description", "opt", "slowdowns", "page", "figures", "figure_formats"}
        given = self.spec.model_dump(mode="json", exclude=left_out | {"systems"})
        of_system = system.model_dump(mode="json", exclude={"label"})
        return {"what": "alone", "results": RESULTS_VERSION, "system": of_system, "spec": given}

    def table(
        self,
        accesses: engine.Accesses,
        first: int,
        order: NDArray[np.int64],
        *,
        has_times: bool,
        progress: Progress,
    ) -> pa.Table:
        """Replay each VM alone: a table of schema `alone` without the column `system`.

        A single VM is not replayed, and has no misses and no latency: those of the run are its own.

        Parameters
        ----------
        accesses : Accesses
        first : int
            The first request that is counted.
        order : array
            The requests, ordered by VM.
        has_times : bool
            Whether devices are modelled.
        progress : callable
            Notified of the number of accesses done; it may interrupt the replays.
        """
        rows: list[dict[str, Any]] = []
        done = 0

        def replaying(now: int) -> None:
            progress(done + now)

        def waiting(_: int) -> None:
            progress(done)

        ends = np.searchsorted(accesses.request_vm[order], np.arange(len(accesses.vms) + 1))
        for vm, info in enumerate(accesses.vms):
            own = order[ends[vm] : ends[vm + 1]]
            counted = int(np.searchsorted(own, first))
            if counted == len(own):
                continue
            is_single = len(accesses.vms) == 1
            alone = accesses if is_single else engine.vm_accesses(accesses, vm, own)
            row: dict[str, Any] = {"vm": info.name} | self._certain(alone, vm, counted, waiting)
            if not is_single:
                totals = self._replayed(self.spec, alone, vm, counted, replaying)
                row["misses"] = int(totals.misses.sum())
                if has_times:
                    row["mean_latency_ns"] = whole(self.spec, totals).mean_latency_ns
            rows.append(row)
            done += alone.access_count
            progress(done)
        return rows_alone(rows)

    def _certain(
        self, alone: engine.Accesses, vm: int, first: int, progress: Progress
    ) -> dict[str, int]:
        """Return the accesses of a VM, and its misses that no space avoids, by cause.

        Lines, extents and tiers that prefetch hold blocks that were never accessed: such systems
        have no causes.
        """
        begin = int(alone.request_begin[first])
        counts = {"accesses": alone.access_count - begin}
        if alone.line_blocks > 1 or prefetches(self.spec.systems[0].params):
            return counts
        before = np.zeros(alone.id_count, dtype=bool)
        before[alone.ids[:begin]] = True
        counts["compulsory"] = alone.id_count - int(np.count_nonzero(before))
        counts["invalidated"] = 0
        if len(alone.discard_block) or self._refuses_blocks():
            unlimited = self._unlimited(2**50 if self.spec.in_bytes else alone.id_count)
            misses = self._replayed(unlimited, alone, vm, first, progress).misses.sum()
            counts["invalidated"] = int(misses) - counts["compulsory"]
        return counts

    def _refuses_blocks(self) -> bool:
        """Whether the data path may leave out or drop blocks for which it has space."""
        params = self.spec.systems[0].params
        filters = str(params.get("admission", "none")).replace("/", " ").split()
        return set(filters) != {"none"} or "around" in str(params.get("writes", ""))

    def _unlimited(self, blocks: int) -> ExperimentSpec:
        """Return the data path with space for all blocks in every tier."""
        system = self.spec.systems[0]
        params = {name: system.params[name] for name in _DATA_PATH if name in system.params}
        given = {"name": "hierarchy", "label": system.title} | params | {"policy": "lru"}
        tiers = [tier.model_copy(update={"capacity": max(1, blocks)}) for tier in self.spec.tiers]
        systems = [SystemSpec.model_validate(given)]
        return self.spec.model_copy(update={"tiers": tiers, "systems": systems})

    def _replayed(
        self,
        spec: ExperimentSpec,
        alone: engine.Accesses,
        vm: int,
        first: int,
        progress: Progress,
    ) -> Totals:
        names = [vm.name for vm in alone.vms]
        system = Components(spec, self.source, self.code, names).build(0)
        measured = locality.Characterised()
        if system.meters:
            measured = locality.characterise(alone, system.meters, lambda _: progress(0))
        cuts = np.unique(np.array([alone.warm_up, first, alone.request_count], dtype=np.int64))
        with blamed(spec.systems[0].title, surely=False):
            result = engine.run(alone, system, measured, cuts, progress)
        by_vm, by_tier = result.vms, result.tiers  # each is made anew at every use
        return Totals.of(
            spec.systems[0],
            names[vm : vm + 1],
            lambda name: by_vm[name][-1, vm : vm + 1],
            lambda name: by_tier[name][-1, vm : vm + 1],
        )


def _system_alone(spec: ExperimentSpec, index: int, code: Code) -> SystemSpec | None:
    """Return a system that replays a VM with all tiers on the data path of another."""
    system = spec.systems[index]
    params: Mapping[str, Any] = system.params
    if is_class(system.name):
        if has_own_host(system, code):
            return None
        modes = {} if spec.writes is None else {"writes": text_of_tiers(spec.writes)}
        params = modes | dict(data_path_of(system, code))
    elif "chain" not in params:
        return system
    given = {name: params[name] for name in _DATA_PATH if name in params}
    return SystemSpec.model_validate({"name": "hierarchy", "label": system.title} | given)


def rows_alone(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Tabulate rows of VMs: schema `alone` without the column `system`."""
    schema = SCHEMAS["alone"]
    return pa.Table.from_pylist(list(rows), schema=schema.remove(schema.get_field_index("system")))


def alone_table(title: str, rows: pa.Table) -> pa.Table:
    """Tabulate the replays of each VM alone for a system."""
    titles = pa.repeat(pa.scalar(title, pa.string()), len(rows))
    return rows.add_column(0, SCHEMAS["alone"].field("system"), titles)


def requests_by_vm(accesses: engine.Accesses) -> NDArray[np.int64]:
    """Return the requests, ordered by VM and time."""
    return np.argsort(accesses.request_vm, kind="stable")
