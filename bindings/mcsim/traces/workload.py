"""The VMs of an experiment as requests: recorded traces, or what stands in for them.

The traces of an experiment are used where all of them are found; where some are
missing, its synthetic profile stands in for all, so that no mix is half real.

Traces of a warm-up are put before the workload. They keep their clocks towards each
other, and as a whole begin so many whole intervals before it that they are over when
it begins. A block that a warm-up and the workload have at the same place is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim.base.errors import ConfigError

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.traces.trace import Trace

__all__ = ["Ops", "Workload", "WorkloadVm", "read_accesses", "vms_of"]


@dataclass(frozen=True)
class WorkloadVm:
    """One VM: which requests of which trace, and how far its clock is shifted.

    `begin` and `end` bound its times after the shift; None does not. Where it `departs`
    while the workload goes on, that is when its blocks are freed.
    """

    name: str
    trace: Trace
    only: int | None
    shift: int = 0
    begin: int | None = None
    end: int | None = None
    departs: int | None = None

    def describe(self) -> dict[str, Any]:
        """Return what a result must remember of the requests."""
        described = {
            "vm": self.name,
            "digest": self.trace.digest,
            "vm_of_trace": None if self.only is None else self.trace.vms[self.only],
            "shift": self.shift,
        }
        bounds = {"begin": self.begin, "end": self.end, "departs": self.departs}
        return described | {key: bound for key, bound in bounds.items() if bound is not None}

    def shifted(self, shift: int) -> WorkloadVm:
        """Return the same requests, so much later."""
        return replace(
            self,
            shift=self.shift + shift,
            begin=None if self.begin is None else self.begin + shift,
            end=None if self.end is None else self.end + shift,
        )

    def batches(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Iterate over times, VMs, operations, offsets and lengths within the bounds.

        Those of other VMs of the trace are among them.
        """
        for batch in self.trace.batches():
            times = batch.time + self.shift if self.shift else batch.time
            first = 0 if self.begin is None else int(np.searchsorted(times, self.begin))
            last = len(times) if self.end is None else int(np.searchsorted(times, self.end))
            columns = (times, batch.vm, batch.op, batch.offset, batch.length)
            if first == 0 and last == len(times):
                yield columns
            elif first < last:
                yield tuple(np.ascontiguousarray(column[first:last]) for column in columns)


@dataclass(frozen=True)
class Workload:
    """The VMs of one run.

    Attributes
    ----------
    synthetic : bool
        Whether the requests were generated.
    missing : tuple of str
        The traces that were looked for in vain.
    warm_up : mapping of str to WorkloadVm
        Requests before the workload's that fill the caches, by the name of the VM.
    """

    vms: tuple[WorkloadVm, ...]
    synthetic: bool
    missing: tuple[str, ...] = ()
    warm_up: Mapping[str, WorkloadVm] = field(default_factory=dict)

    @property
    def time_base(self) -> str:
        """`clock`, or `index` for traces that count references."""
        return self.vms[0].trace.time_base

    def describe(self) -> list[dict[str, Any]]:
        """Return what a result must remember of each VM's requests."""
        described = [vm.describe() for vm in self.vms]
        for entry in described:
            if (warm_up := self.warm_up.get(entry["vm"])) is not None:
                entry["warm_up"] = warm_up.describe()
        return described

    def intern(
        self, view: dict[str, Any], progress: Callable[[int], None] | None = None
    ) -> engine.Accesses:
        """Split the requests of all VMs into blocks with dense ids, merged by time.

        Parameters
        ----------
        view : dict
            How requests become accesses: `block_bytes`, `ops`, `key`, `whole_seconds`,
            `line_blocks`, and of a sample `cut_bytes`, `sample_rate`, `sample_seed`.
        progress : callable, optional
            Called with the number of requests read so far.
        """
        from mcsim._core import engine

        builder = engine.AccessBuilder(**view, time_base=self.time_base)
        read = 0

        def add(requests: WorkloadVm) -> None:
            nonlocal read
            for columns in requests.batches():
                builder.add(*columns, only=requests.only)
                read += len(columns[0])
                if progress is not None:
                    progress(read)

        for vm in self.vms:
            builder.begin_vm(vm.name)
            if vm.name in self.warm_up:
                add(self.warm_up[vm.name])
                builder.end_warm_up()
            add(vm)
            if vm.departs is not None:
                builder.depart(vm.departs)
        return builder.finish()


Ops = Literal["reads", "all", "writes"]


def read_accesses(
    traces: Sequence[Trace], *, ops: Ops, block_bytes: int, reporter: Reporter
) -> engine.Accesses:
    """Split the requests of traces into blocks, merged by time; every VM has its own blocks.

    Raises
    ------
    ConfigError
        If some have a clock and others do not, or there is nothing to count.
    """
    vms = vms_of([trace.slice(ops="writes") if ops == "writes" else trace for trace in traces])
    requests = sum(vm.trace.request_count for vm in vms)
    view = {"block_bytes": block_bytes, "ops": "reads" if ops == "reads" else "all"}
    with reporter.stage("intern", total=requests, unit="requests") as stage:
        accesses = Workload(vms, synthetic=False).intern(view, stage.update)
    if accesses.access_count == 0:
        sources = ", ".join(trace.metadata.source for trace in traces)
        what = {"reads": "reads (try --ops all)", "writes": "writes", "all": "requests"}[ops]
        raise ConfigError(f"{sources}: there are no {what}, so there is no curve")
    return accesses


def vms_of(traces: Sequence[Trace]) -> tuple[WorkloadVm, ...]:
    """Return the VMs of all traces, under names that tell them apart.

    Raises
    ------
    ConfigError
        If some have a clock and others do not.
    """
    if len({trace.time_base for trace in traces}) > 1:
        raise ConfigError("some of the traces have a clock and some do not: they do not merge")
    several = Counter(name for trace in traces for name in trace.vms)
    return tuple(
        WorkloadVm(
            name if several[name] == 1 else f"{trace.metadata.source}:{name}", trace, only=v
        )
        for trace in traces
        for v, name in enumerate(trace.vms)
    )
