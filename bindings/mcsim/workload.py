"""The VMs of an experiment as requests: recorded traces, or what stands in for them.

The traces of an experiment are used where all of them are found; where some are
missing, its synthetic profile stands in for all, so that no mix is half real.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.config import ExperimentSpec, Source
from mcsim.config.spec import VmSpec
from mcsim.errors import ConfigError, McsimError
from mcsim.suggest import did_you_mean

if TYPE_CHECKING:
    from mcsim._core import engine
    from mcsim.progress import Reporter
    from mcsim.traces import Trace

__all__ = ["Workload", "WorkloadVm", "open_workload"]


@dataclass(frozen=True)
class WorkloadVm:
    """One VM: which requests of which trace, and how far its clock is shifted.

    `begin` and `end` bound its times after the shift; None does not.
    """

    name: str
    trace: Trace
    only: int | None
    shift: int = 0
    begin: int | None = None
    end: int | None = None

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
    """

    vms: tuple[WorkloadVm, ...]
    synthetic: bool
    missing: tuple[str, ...] = ()

    @property
    def time_base(self) -> str:
        """`clock`, or `index` for traces that count references."""
        return self.vms[0].trace.time_base

    def describe(self) -> list[dict[str, Any]]:
        """Return what a result must remember of each VM's requests."""
        return [
            {
                "vm": vm.name,
                "digest": vm.trace.digest,
                "vm_of_trace": None if vm.only is None else vm.trace.vms[vm.only],
                "shift": vm.shift,
            }
            | {key: bound for key in ("begin", "end") if (bound := getattr(vm, key)) is not None}
            for vm in self.vms
        ]

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
        for vm in self.vms:
            builder.begin_vm(vm.name)
            for columns in vm.batches():
                builder.add(*columns, only=vm.only)
                read += len(columns[0])
                if progress is not None:
                    progress(read)
        return builder.finish()


def open_workload(
    spec: ExperimentSpec,
    source: Source,
    trace_dirs: Sequence[Path],
    reporter: Reporter,
) -> Workload:
    """Open the traces of an experiment, parsing those that were not parsed before.

    Every file is a stage `parse` of its own.

    Raises
    ------
    ConfigError
        If traces are missing and no profile stands in, a trace does not hold the
        VM it should, or traces with and without a clock are mixed.
    TraceError
        If a trace contradicts its format.
    """
    found = [_find(vm, source.folder, trace_dirs) for vm in spec.workload.vms]
    missing = tuple(
        _sought(vm) for vm, path in zip(spec.workload.vms, found, strict=True) if path is None
    )
    if spec.workload.vms and not missing:
        opened: dict[str, Trace] = {}
        vms = []
        for index, (vm, path) in enumerate(zip(spec.workload.vms, found, strict=True)):
            assert path is not None
            where = ("workload", "vms", index)
            key = repr((path, vm.format, vm.options, vm.on_bad_line, vm.on_unsorted))
            if key not in opened:
                try:
                    opened[key] = _open(vm, path, reporter)
                except ConfigError as error:
                    raise source.complain(where, str(error)) from None
            vms.append(_pick(vm, opened[key], source, where))
        workload = Workload(tuple(vms), synthetic=False)
    elif spec.workload.profiles:
        workload = _synthesise(spec, source, missing, reporter)
    else:
        index = found.index(None)
        raise source.complain(
            ("workload", "vms", index),
            f"no trace {missing[0]!r} {_where_sought(trace_dirs)}, and no profile to stand in",
        )
    _check_time_base(workload, spec, source)
    if spec.workload.align == "start":
        workload = _align(workload)
    return _bounded(workload, spec)


def _sought(vm: VmSpec) -> str:
    return vm.trace or vm.name


def _where_sought(trace_dirs: Sequence[Path]) -> str:
    if not trace_dirs:
        return "(give --trace-dir, or set MCSIM_TRACE_DIR)"
    return "in " + ", ".join(map(str, trace_dirs))


def _find(vm: VmSpec, folder: Path, trace_dirs: Sequence[Path]) -> Path | None:
    from mcsim.traces import find_trace

    name = _sought(vm)
    for base in (folder, *trace_dirs):
        if (base / name).is_file():
            return base / name
    return find_trace(name, trace_dirs)


def _open(vm: VmSpec, path: Path, reporter: Reporter) -> Trace:
    from mcsim.traces import Trace

    with reporter.stage("parse", unit="bytes", about=vm.name) as stage:
        trace = Trace.open(
            path,
            format=vm.format,
            options=vm.options,
            on_bad_line=vm.on_bad_line,
            on_unsorted=vm.on_unsorted,
            progress=stage.update_of,
        )
    for complaint in trace.metadata.complaints:
        reporter.note(f"skipped: {complaint}")
    return trace


def _pick(vm: VmSpec, trace: Trace, source: Source, where: tuple[str | int, ...]) -> WorkloadVm:
    """Choose the VM of a trace that may hold several."""
    names = list(trace.vms)
    if len(names) == 1 and vm.vm is None:
        return WorkloadVm(vm.name, trace, only=None)
    wanted = vm.vm or vm.name
    if wanted not in names:
        raise source.complain(
            (*where, "vm") if vm.vm else where,
            f"no VM {wanted!r} in {_sought(vm)!r}{did_you_mean(wanted, names)}; "
            f"it holds {', '.join(names)}",
        )
    return WorkloadVm(vm.name, trace, only=names.index(wanted))


def _synthesise(
    spec: ExperimentSpec,
    source: Source,
    missing: tuple[str, ...],
    reporter: Reporter,
) -> Workload:
    from mcsim.synth import synth_trace

    held: dict[str, WorkloadVm] = {}
    for profile in spec.workload.profiles:
        path = source.folder / profile
        if not path.is_file():
            raise source.complain(("workload", "profile"), f"no file {profile!r}")
        with reporter.stage("parse", unit="requests", about=path.stem) as stage:
            trace = synth_trace(path, progress=stage.update_of)
        for index, name in enumerate(trace.vms):
            if name in held:
                raise source.complain(("workload", "profile"), f"two profiles have a VM {name!r}")
            held[name] = WorkloadVm(name, trace, only=index)
    wanted = [vm.name for vm in spec.workload.vms] or list(held)
    for index, name in enumerate(wanted):
        if name not in held:
            raise source.complain(
                ("workload", "vms", index),
                f"the profile has no VM {name!r}{did_you_mean(name, list(held))}",
            )
    vms = tuple(held[name] for name in wanted)
    return Workload(vms, synthetic=True, missing=missing)


def _check_time_base(workload: Workload, spec: ExperimentSpec, source: Source) -> None:
    wanted = "index" if spec.interval.by_reference else "clock"
    for index, vm in enumerate(workload.vms):
        if vm.trace.time_base == wanted:
            continue
        where = ("workload", "vms", index)
        if wanted == "index":
            raise source.complain(
                where, "it has a clock, and the experiment's interval counts references"
            )
        raise source.complain(
            where,
            "it has no clock: give the experiment's interval as a number of references, "
            "such as '50000 references'",
        )


def _align(workload: Workload) -> Workload:
    """Shift every VM so that all begin at time 0."""
    begun = [WorkloadVm(vm.name, vm.trace, vm.only, shift=-_first_time(vm)) for vm in workload.vms]
    return Workload(tuple(begun), workload.synthetic, workload.missing)


def _bounded(workload: Workload, spec: ExperimentSpec) -> Workload:
    """Leave out what is outside the window, or before a VM arrives or after it departs."""
    window = spec.workload.window
    stays = [(vm.arrives, vm.departs) for vm in spec.workload.vms] or [(None, None)]
    stays *= len(workload.vms) // len(stays)
    bounds = [
        (
            [at.length for at in (window.begin, arrives) if at is not None],
            [at.length for at in (window.end, departs) if at is not None],
        )
        for arrives, departs in stays
    ]
    if not any(begins or ends for begins, ends in bounds):
        return workload
    start = min(_first_time(vm) for vm in workload.vms)
    vms = tuple(
        replace(
            vm,
            begin=start + max(begins) if begins else None,
            end=start + min(ends) if ends else None,
        )
        for vm, (begins, ends) in zip(workload.vms, bounds, strict=True)
    )
    return replace(workload, vms=vms)


def _first_time(vm: WorkloadVm) -> int:
    for times, vms, *_ in vm.batches():
        times = times if vm.only is None else times[vms == vm.only]
        if len(times):
            return int(times[0])
    raise McsimError(f"{vm.name}: the trace has no requests")
