"""VMs as requests of traces, and their references to blocks, merged by time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import names_matching
from mcsim.traces.batches import DISCARD, Batch, Kind, Ops, batch_with
from mcsim.traces.checks import warn_of_shared_blocks
from mcsim.traces.joined import check_alike, joined_by_vm
from mcsim.traces.metadata import BLOCK_BYTES

if TYPE_CHECKING:
    from mcsim.traces.chains import ChainTrace
    from mcsim.traces.trace import Trace

ON_DEMAND = ("responses", "classes", "bytes", "addresses")
"""Columns of a view that are kept only if a system needs them."""


@dataclass(frozen=True)
class WorkloadVm:
    """One VM: which requests of which trace, and how far its clock is shifted.

    `begin` and `end` bound its times after the shift; None does not. The VM is present from the
    start, or from the time at which it `arrives`. Its blocks are freed at the time at which it
    `departs`, which is given only if the workload continues after it.
    """

    name: str
    trace: Trace
    only: int | None
    shift: int = 0
    begin: int | None = None
    end: int | None = None
    arrives: int | None = None
    departs: int | None = None
    entry: int | None = None
    """Index of its entry in the list of VMs."""

    def describe(self) -> dict[str, Any]:
        """Return what a result must remember of the requests."""
        described = {
            "vm": self.name,
            "digest": self.trace.digest,
            "vm_of_trace": None if self.only is None else self.trace.vms[self.only],
            "shift": self.shift,
        }
        names = ("begin", "end", "arrives", "departs")
        bounds = {name: getattr(self, name) for name in names}
        return described | {key: bound for key, bound in bounds.items() if bound is not None}

    @property
    def looked_at(self) -> int:
        """How many VMs of the trace `batches` has requests of."""
        many = self.only is None or self.trace.has_many_vms
        return 1 if many else len(self.trace.vms)

    def shifted(self, shift: int) -> WorkloadVm:
        """Return the same requests, shifted in time."""
        return replace(
            self,
            shift=self.shift + shift,
            begin=None if self.begin is None else self.begin + shift,
            end=None if self.end is None else self.end + shift,
        )

    def batches(self) -> Iterator[Batch]:
        """Iterate over the columns of the store within the bounds, times after the shift.

        Those of other VMs of the trace may be among them.
        """
        of_trace = self.trace.batches() if self.only is None else self.trace.batches_with(self.only)
        for batch in of_trace:
            times = batch.time + self.shift if self.shift else batch.time
            first = 0 if self.begin is None else int(np.searchsorted(times, self.begin))
            last = len(times) if self.end is None else int(np.searchsorted(times, self.end))
            shifted = batch._replace(time=times)
            if first == 0 and last == len(times):
                yield shifted
            elif first < last:
                within = (np.ascontiguousarray(of[first:last]) for of in shifted)
                yield batch_with(within)

    def _chosen(self, batch: Batch, ops: str) -> NDArray[np.bool_]:
        chosen = np.ones(len(batch.op), dtype=bool)
        if self.only is not None:
            chosen &= batch.vm == self.only
        chosen &= batch.op == 0 if ops == "reads" else batch.op < DISCARD
        return chosen

    def times(self, ops: str) -> Iterator[NDArray[np.int64]]:
        """Iterate over the times of its requests, of reads alone with `ops`; no piece is empty."""
        for batch in self.batches():
            if len(picked := batch.time[self._chosen(batch, ops)]):
                yield picked

    def span(self, ops: str) -> tuple[int, int] | None:
        """Return the times of its first and last request, of reads alone with `ops`."""
        span: tuple[int, int] | None = None
        for times in self.times(ops):
            span = (int(times[0]) if span is None else span[0], int(times[-1]))
        return span

    def times_within(self) -> tuple[int, int] | None:
        """Bounds of the times of its requests, from the metadata; None without requests."""
        counts = self.trace.metadata.counts
        if counts.requests == 0:
            return None
        first, last = counts.first_time + self.shift, counts.last_time + self.shift
        first = first if self.begin is None else max(first, self.begin)
        last = last if self.end is None else min(last, self.end)
        return first, last

    def has_requests(self, ops: str) -> bool:
        """Whether it has requests, or reads with `ops`; the first of them is looked for."""
        return next(self.times(ops), None) is not None

    def has_responses(self, ops: str) -> bool:
        """Whether requests have response times, of reads alone with `ops`."""
        empty = True
        for batch in self.batches():
            chosen = self._chosen(batch, ops)
            if np.any(batch.response[chosen] >= 0):
                return True
            empty &= not chosen.any()
        return empty

    def has_lengths(self) -> bool:
        """Whether its trace has lengths of requests."""
        return self.trace.metadata.has_lengths

    def has_classes(self) -> bool:
        """Whether its requests have classes, or there are none."""
        return all(batch.classes is not None for batch in islice(self.batches(), 1))


@dataclass(frozen=True)
class Workload:
    """The VMs of one run.

    Attributes
    ----------
    synthetic : bool
        Whether the requests were generated.
    missing : tuple of str
        The traces that were not found.
    warm_up : mapping of str to WorkloadVm
        Requests before the workload's that fill the caches, by the name of the VM.
    sample : float, optional
        Share of the blocks that is replayed; all if not given.
    sample_seed : int
        Which blocks these are.
    chains : ChainTrace, optional
        The chains of which the requests are lookups and touches.
    """

    vms: tuple[WorkloadVm, ...]
    synthetic: bool
    missing: tuple[str, ...] = ()
    warm_up: Mapping[str, WorkloadVm] = field(default_factory=dict)
    sample: float | None = None
    sample_seed: int = 1
    chains: ChainTrace | None = None

    @property
    def time_base(self) -> str:
        """`clock`, or `index` for traces that count references."""
        return self.vms[0].trace.time_base

    @property
    def kind(self) -> Kind:
        """Kind of the references."""
        return self.vms[0].trace.kind

    def without_classes(self) -> list[WorkloadVm]:
        """Return the VMs without classes, those of the warm-up included."""
        return [vm for vm in (*self.vms, *self.warm_up.values()) if not vm.has_classes()]

    def without_lengths(self) -> list[WorkloadVm]:
        """Return the VMs without known lengths, those of the warm-up included."""
        return [vm for vm in (*self.vms, *self.warm_up.values()) if not vm.has_lengths()]

    def warn_of_shared_blocks(self, view: Mapping[str, Any]) -> None:
        """Log a warning for traces in which ids probably share blocks of a view (see `intern`)."""
        if self.kind == "blocks" and view.get("key", "aligned") == "aligned":
            vms = (*self.vms, *self.warm_up.values())
            warn_of_shared_blocks((vm.trace for vm in vms), view.get("block_bytes", BLOCK_BYTES))

    def describe(self) -> list[dict[str, Any]]:
        """Return what a result must remember of each VM's requests."""
        described = [vm.describe() for vm in self.vms]
        for entry in described:
            if (warm_up := self.warm_up.get(entry["vm"])) is not None:
                entry["warm_up"] = warm_up.describe()
            if self.sample is not None:
                entry |= {"sample": self.sample, "sample_seed": self.sample_seed}
        return described

    def streamed(self, view: Mapping[str, Any]) -> engine.Accesses | None:
        """Return the accesses of a file that was interned as it was read.

        None unless the workload is the whole trace.
        """
        trace = self.vms[0].trace
        whole = [WorkloadVm(name, trace, only=number) for number, name in enumerate(trace.vms)]
        if self.vms != tuple(whole) or self.warm_up or self.sample is not None:
            return None
        return trace.streamed_accesses(view)

    def intern(
        self,
        view: dict[str, Any],
        progress: Callable[[int], object] | None = None,
        path: Path | None = None,
    ) -> engine.Accesses:
        """Split the requests of all VMs into blocks with dense ids, merged by time.

        Parameters
        ----------
        view : dict
            How requests become accesses: `block_bytes`, `ops`, `key`, `whole_seconds`,
            `line_blocks`, those of `ON_DEMAND`, and of a sample `cut_bytes`, `sample_rate`,
            `sample_seed`.
        progress : callable, optional
            Called with the number of requests read so far.
        path : Path, optional
            A file to put them into, which is then mapped: memory is needed for the numbers of
            the blocks alone. `mcsim.references.interned` keeps such files.
        """
        if self.sample is not None:
            view = view | {
                "cut_bytes": view["block_bytes"] * view["line_blocks"],
                "sample_rate": self.sample,
                "sample_seed": self.sample_seed,
            }
        if self.kind == "objects":
            view = view | {"key": "object"}
        self.warn_of_shared_blocks(view)
        file = None if path is None else os.fsencode(path)
        builder = engine.AccessBuilder(**view, time_base=self.time_base, path=file)
        read = 0.0

        def add(requests: WorkloadVm) -> None:
            nonlocal read
            for columns in requests.batches():
                builder.add(*columns, only=requests.only)
                read += len(columns.time) / requests.looked_at
                if progress is not None:
                    progress(round(read))

        for vm in self.vms:
            builder.begin_vm(vm.name)
            if vm.name in self.warm_up:
                add(self.warm_up[vm.name])
                builder.end_warm_up()
            elif vm.arrives is not None:
                builder.arrive(vm.arrives)
            add(vm)
            if vm.departs is not None:
                builder.depart(vm.departs)
        return builder.finish()


def vms_of(
    traces: Sequence[Trace], ops: Ops = "all", vms: str | Sequence[str] | None = None
) -> tuple[WorkloadVm, ...]:
    """Return the VMs of all traces; those with the same name are one VM.

    Parameters
    ----------
    ops : {'all', 'reads', 'writes'}
        Which of their requests; `Workload.intern` selects reads.
    vms : str or sequence of str, optional
        Names of VMs and patterns such as ``'web_*'``; all if not given.

    Raises
    ------
    ConfigError
        As of `Trace.join`, or if no VM has such a name.
    """
    check_alike(traces)
    names = list(dict.fromkeys(name for trace in traces for name in trace.vms))
    kept = set(names if vms is None else names_matching(vms, names))
    if not kept and names:
        raise ConfigError("vms: expected at least one name")
    given = [trace.slice(ops="writes") for trace in traces] if ops == "writes" else traces
    return tuple(
        WorkloadVm(name, trace, only=number)
        for trace in joined_by_vm(given)
        for number, name in enumerate(trace.vms)
        if name in kept
    )
