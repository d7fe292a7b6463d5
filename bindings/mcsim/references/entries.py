"""Entries of an experiment's workload: their files opened, and their VMs joined by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.config import Source
from mcsim.config.load import Location
from mcsim.config.spec import VmTraceSpec, WarmUpSpec, WorkloadSpec
from mcsim.references.workload import WorkloadVm
from mcsim.traces.joined import join, joined_by_vm, note_on
from mcsim.traces.open import Reading, open_file, parse_side_by_side, unparsed, with_requests

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.traces.trace import Trace


class EntryOpener:
    """Opens files of entries; entries with the same options share an opened file.

    Parameters
    ----------
    folder : Path
        Folder of the experiment.
    reporter : Reporter
        Every file is a stage `parse`.
    """

    def __init__(self, folder: Path, reporter: Reporter) -> None:
        self._folder = folder
        self._reporter = reporter
        self._opened: dict[str, Trace] = {}
        self._joined: dict[tuple[str, str | None], Trace] = {}

    def open(self, entry: VmTraceSpec, files: Sequence[Path]) -> Trace:
        """Open the files of an entry, and join them.

        If an entry of one VM has `vm` or several files, files without names of VMs have its name.

        Raises
        ------
        ConfigError, HostError, TraceError
            As of `Trace.open`.
        """
        traces = with_requests(
            files, entry.format, lambda file, format: self._open_file(entry, file, format)
        )
        name = entry.vm or (entry.name if len(files) > 1 else None)
        if entry.vms is not None or not any(
            trace.vms != (name,) and trace.metadata.vm_from_file for trace in traces
        ):
            name = None
        key = repr([trace.digest for trace in traces]), name
        if key not in self._joined:
            if name is not None:
                traces = [
                    join([trace], [[name]]) if trace.metadata.vm_from_file else trace
                    for trace in traces
                ]
            self._joined[key] = noted(join(traces), self._reporter)
        return self._joined[key]

    def parse(self, given: Sequence[tuple[VmTraceSpec, Sequence[Path]]]) -> None:
        """Parse several files of entries side by side; `open` opens them."""
        files = [(file, self._reading(vm, vm.format)) for vm, of_vm in given for file in of_vm]
        if plans := unparsed(files):
            about = f"{len(plans)} files"
            with self._reporter.stage("parse", unit="bytes", about=about) as stage:
                parse_side_by_side(plans, stage.update_of)

    def _reading(self, entry: VmTraceSpec, format: str | None) -> Reading:
        mapping = None if entry.mapping is None else self._folder / entry.mapping
        return Reading(
            format,
            entry.options,
            mapping,
            None,
            entry.on_bad_line,
            entry.on_unsorted,
            entry.max_skipped,
        )

    def _open_file(self, entry: VmTraceSpec, file: Path, format: str | None) -> Trace:
        reading = self._reading(entry, format)
        key = repr((file, reading))
        if key not in self._opened:
            about = entry.name or file.name
            with self._reporter.stage("parse", unit="bytes", about=about) as stage:
                trace = open_file(file, reading.checked(), stage.update_of)
            for complaint in trace.metadata.complaints:
                self._reporter.note(f"skipped: {complaint}")
            self._opened[key] = trace
        return self._opened[key]


def noted(trace: Trace, reporter: Reporter) -> Trace:
    """Report which files a trace was joined from, if there are several, and return the trace."""
    if (note := note_on(trace)) is not None:
        reporter.note(note)
    return trace


def join_entries(
    given: WorkloadSpec | WarmUpSpec,
    vms: Sequence[WorkloadVm],
    place: Location,
    source: Source,
    reporter: Reporter,
) -> list[WorkloadVm]:
    """Join VMs of different traces that have the same name; each has the entry of its first.

    Raises
    ------
    ConfigError
        If entries of a VM read the same trace, or differ in times of arrival and departure.
    """
    by_name: dict[str, list[WorkloadVm]] = {}
    for vm in vms:
        by_name.setdefault(vm.name, []).append(vm)
    several = {name: of_name for name, of_name in by_name.items() if len(of_name) > 1}
    if not several:
        return list(vms)
    # A trace is read once for all its VMs, but a VM with two names is in two parts.
    parts: dict[tuple[str, int], tuple[Trace, dict[str, str]]] = {}
    for name, of_name in several.items():
        _check_entries(given, name, of_name, place, source)
        for vm in of_name:
            own = vm.trace.vms[vm.only or 0]
            copy = 0
            while own in parts.get((vm.trace.digest, copy), (vm.trace, {}))[1]:
                copy += 1
            parts.setdefault((vm.trace.digest, copy), (vm.trace, {}))[1][own] = name
    traces = []
    for trace, names in parts.values():
        part = trace.slice(vms=list(names))
        traces.append(join([part], [[names[name] for name in part.vms]]))
    whole = [noted(trace, reporter) for trace in joined_by_vm(traces)]
    of_vm = {
        name: WorkloadVm(name, trace, only=number, entry=several[name][0].entry)
        for trace in whole
        for number, name in enumerate(trace.vms)
    }
    return [of_vm.get(name, of_name[0]) for name, of_name in by_name.items()]


def _check_entries(
    given: WorkloadSpec | WarmUpSpec,
    name: str,
    vms: Sequence[WorkloadVm],
    place: Location,
    source: Source,
) -> None:
    seen: set[str] = set()
    for vm in vms:
        assert vm.entry is not None
        where = (*place, "vms", vm.entry)
        if vm.trace.digest in seen:
            raise source.complain(where, f"a second VM {name!r}; rename it: name: 'x-{{vm}}'")
        seen.add(vm.trace.digest)
        entries = [given.vms[index] for index in (vms[0].entry, vm.entry) if index is not None]
        if len({(getattr(e, "arrives", None), getattr(e, "departs", None)) for e in entries}) > 1:
            raise source.complain(where, f"VM {name!r} has another arrival or departure before")
