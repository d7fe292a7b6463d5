"""The VMs of an experiment as requests: recorded traces, or synthetic stand-ins.

The traces of an experiment are used where all of them are found; where some are
missing, its synthetic profile stands in for all, so that no mix is half real.

Traces of a warm-up are put before the workload. They keep their clocks towards each
other, and as a whole begin so many whole intervals before it that they are over when
it begins. A block that a warm-up and the workload have at the same place is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError, McsimError, TimeBaseError
from mcsim.base.package import find_file, shipped_files
from mcsim.base.sizes import is_in_bytes
from mcsim.base.suggest import did_you_mean, names_matching, some_of
from mcsim.config import ExperimentSpec, Source
from mcsim.config.load import Location
from mcsim.config.spec import VmTraceSpec, WarmUpSpec, WindowSpec, WorkloadSpec
from mcsim.config.values import Interval
from mcsim.references.chains import open_chains
from mcsim.references.entries import EntryOpener, join_entries
from mcsim.references.workload import Workload, WorkloadVm
from mcsim.traces.find import TraceFinder, searched

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.traces.trace import Trace


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
        VM it should, or traces with and without a clock are mixed; of the workload or
        of what warms up for it.
    TraceError
        If a trace contradicts its format.
    """
    if spec.workload.chains is not None:
        return open_chains(spec, source, trace_dirs, reporter)
    workload = _open_all(spec, spec.workload, ("workload",), source, trace_dirs, reporter)
    _check_time_base(workload, ("workload",), spec, source)
    _check_kind(workload, source)
    given = spec.workload.vms
    stays = [
        (None, None) if vm.entry is None else (given[vm.entry].arrives, given[vm.entry].departs)
        for vm in workload.vms
    ]
    workload = _bounded(workload, spec.workload.window, stays)
    workload = replace(workload, sample=spec.workload.sample, sample_seed=spec.random_seed)
    if spec.warm_up_traces is None:
        return workload
    before = _open_warm_up(spec, spec.warm_up_traces, workload, source, trace_dirs, reporter)
    missing = workload.missing + before.missing
    return replace(workload, missing=missing, warm_up={vm.name: vm for vm in before.vms})


def _open_warm_up(
    spec: ExperimentSpec,
    given: WarmUpSpec,
    workload: Workload,
    source: Source,
    trace_dirs: Sequence[Path],
    reporter: Reporter,
) -> Workload:
    """Open what is replayed before the workload, with the times at which it will be."""
    where: Location = ("warm_up",)
    before = _open_all(spec, given, where, source, trace_dirs, reporter)
    if before.synthetic != workload.synthetic:
        kinds = ("synthetic", "recorded") if before.synthetic else ("recorded", "synthetic")
        raise source.complain(where, "it is {}, and the workload is {}".format(*kinds))
    names = {vm.name: None for vm in workload.vms}
    for vm in before.vms:
        if vm.name not in names:
            at = (*where, "profile") if vm.entry is None else (*where, "vms", vm.entry)
            message = f"the workload has no VM {vm.name!r}{did_you_mean(vm.name, names)}"
            raise source.complain(at, message)
    _check_time_base(before, where, spec, source)
    before = _bounded(before, given.window, [(None, None)] * len(before.vms))
    replayed = [span for vm in before.vms if (span := vm.span(spec.ops)) is not None]
    if not replayed:
        message = f"no request of it is left to replay (ops: {spec.ops})"
        raise source.complain(where, message)
    first, last = min(begin for begin, _ in replayed), max(end for _, end in replayed)
    begins = [begin for vm in workload.vms if (begin := _first(vm, spec.ops)) is not None]
    if not begins:
        return before  # and nothing is replayed after it, which is complained of later
    whole = (last - first) // spec.interval.length + 1
    shift = min(begins) - whole * spec.interval.length - first
    # Requests that are not replayed come in order too.
    starts = [within[0] for vm in workload.vms if (within := vm.times_within()) is not None]
    ends = [within[1] for vm in before.vms if (within := vm.times_within()) is not None]
    if (late := max(ends) + shift - min(starts)) >= 0:
        shift -= (late // spec.interval.length + 1) * spec.interval.length
    return replace(before, vms=tuple(vm.shifted(shift) for vm in before.vms))


def _open_all(
    spec: ExperimentSpec,
    given: WorkloadSpec | WarmUpSpec,
    place: Location,
    source: Source,
    trace_dirs: Sequence[Path],
    reporter: Reporter,
) -> Workload:
    """Open traces or what stands in for them, and align their clocks."""
    finder = TraceFinder(trace_dirs)
    found = [_find(vm, source.folder, finder) for vm in given.vms]
    missing = tuple(_sought(vm) for vm, files in zip(given.vms, found, strict=True) if not files)
    if given.vms and not missing:
        opener = EntryOpener(source.folder, reporter)
        opener.parse(list(zip(given.vms, found, strict=True)))
        vms = []
        for index, (vm, files) in enumerate(zip(given.vms, found, strict=True)):
            where: Location = (*place, "vms", index)
            try:
                trace = opener.open(vm, files)
            except ConfigError as error:
                raise source.complain(where, str(error)) from None
            vms += [replace(one, entry=index) for one in _pick(vm, trace, source, where)]
        if given.seed is not None:
            reporter.note(f"{place[0]}.seed is of what stands in for traces, which were all found")
        vms = join_entries(given, vms, place, source, reporter)
        workload = Workload(tuple(vms), synthetic=False)
    elif given.profiles:
        seed = spec.profile_seed(given)
        workload = _synthesise(given, seed, place, source, missing, reporter)
    else:
        index = found.index([])
        raise source.complain(
            (*place, "vms", index),
            f"no trace {missing[0]!r} {searched(trace_dirs)}, and no profile to stand in",
        )
    _check_names(workload, place, source)
    if spec.ops == "writes":
        workload = _writes_alone(workload)
    return _align(workload) if given.align == "start" else workload


def _writes_alone(workload: Workload) -> Workload:
    """Drop the reads of a workload."""
    kept = {id(vm.trace): vm.trace.slice(ops="writes") for vm in workload.vms}
    return replace(
        workload, vms=tuple(replace(vm, trace=kept[id(vm.trace)]) for vm in workload.vms)
    )


def _check_names(workload: Workload, place: Location, source: Source) -> None:
    """Check that every name, also from a file or a pattern, occurs once."""
    seen: set[str] = set()
    for vm in workload.vms:
        if vm.name in seen:
            where = place if vm.entry is None else (*place, "vms", vm.entry)
            raise source.complain(where, f"a second VM {vm.name!r}; rename it: name: 'x-{{vm}}'")
        seen.add(vm.name)


def _sought(vm: VmTraceSpec) -> str:
    return vm.trace if isinstance(vm.trace, str) else ", ".join(vm.trace or [vm.name])


def _find(vm: VmTraceSpec, folder: Path, finder: TraceFinder) -> list[Path]:
    """Return the files of an entry; none if one of its names has none."""
    if vm.trace is None:
        file = finder.find(vm.name, folder)
        return [] if file is None else [file]
    names = [vm.trace] if isinstance(vm.trace, str) else vm.trace
    files = [finder.files(name, folder) for name in names]
    return [file for of_name in files for file in of_name] if all(files) else []


def _pick(vm: VmTraceSpec, trace: Trace, source: Source, where: Location) -> list[WorkloadVm]:
    """Return the VMs of a trace that an entry selects."""
    if len(trace.vms) == 1 and vm.vm is None and vm.vms is None:
        return [WorkloadVm(vm.name, trace, only=None)]
    number = {name: index for index, name in enumerate(trace.vms)}
    if vm.vms is None and (wanted := vm.vm or vm.name) not in number:
        raise source.complain(
            (*where, "vm") if vm.vm else where,
            f"no VM {wanted!r} in {_sought(vm)!r}{did_you_mean(wanted, trace.vms)}; "
            f"it holds {some_of(trace.vms)}",
        )
    return [
        WorkloadVm(shown, trace, only=number[name])
        for name, shown in _chosen(vm, trace.vms, source, where)
    ]


def _chosen(
    vm: VmTraceSpec, names: Sequence[str], source: Source, where: Location
) -> list[tuple[str, str]]:
    """Return the VMs that an entry selects, by their names in the trace and in results."""
    if vm.vms is None:
        return [(vm.vm or vm.name, vm.name)]
    try:
        chosen = names_matching(list(vm.vms) if isinstance(vm.vms, dict) else vm.vms, names)
    except ConfigError as error:
        raise source.complain(
            (*where, "vms"), f"{error} in {_sought(vm)!r}; it holds {some_of(names)}"
        ) from None
    if isinstance(vm.vms, dict):
        return [(name, vm.vms.get(name, name)) for name in chosen]
    return [(name, vm.name.replace("{vm}", name) if vm.name else name) for name in chosen]


def _profile_at(profile: str, place: Location, source: Source) -> Path:
    """Return the file of a profile; ConfigError if there is none."""
    try:
        path = find_file("profile", file_given("profile", profile), source.folder)
    except ConfigError as error:
        raise source.complain(place, str(error).removeprefix("profile: ")) from None
    if path is None:
        hint = did_you_mean(profile, shipped_files("profile"))
        raise source.complain(place, f"no file {profile!r}{hint}")
    if path.is_dir():
        raise source.complain(place, f"{profile!r} is a folder, expected a file")
    return path


def _synthesise(
    given: WorkloadSpec | WarmUpSpec,
    seed: int | None,
    place: Location,
    source: Source,
    missing: tuple[str, ...],
    reporter: Reporter,
) -> Workload:
    from mcsim.traces.synth import synth_trace

    held: dict[str, WorkloadVm] = {}
    for profile in given.profiles:
        path = _profile_at(profile, (*place, "profile"), source)
        with reporter.stage("parse", unit="requests", about=path.stem) as stage:
            trace = synth_trace(path, seed=seed, progress=stage.update_of)
        for index, name in enumerate(trace.vms):
            if name in held:
                raise source.complain((*place, "profile"), f"two profiles have a VM {name!r}")
            held[name] = WorkloadVm(name, trace, only=index)
    if not given.vms:
        return Workload(tuple(held.values()), synthetic=True, missing=missing)
    vms = []
    for index, entry in enumerate(given.vms):
        where: Location = (*place, "vms", index)
        # One VM goes by its own name there, whatever the trace calls it.
        one = None if entry.vms is not None else [(entry.name, entry.name)]
        for name, shown in one or _chosen(entry, list(held), source, where):
            if name not in held:
                message = f"the profile has no VM {name!r}{did_you_mean(name, list(held))}"
                raise source.complain(where, message)
            vms.append(replace(held[name], name=shown, entry=index))
    return Workload(tuple(vms), synthetic=True, missing=missing)


def _check_time_base(
    workload: Workload, place: Location, spec: ExperimentSpec, source: Source
) -> None:
    wanted = "index" if spec.interval.by_reference else "clock"
    for vm in workload.vms:
        if vm.trace.time_base == wanted:
            continue
        where = place if vm.entry is None else (*place, "vms", vm.entry)
        if wanted == "index":
            message = "it has a clock, and the experiment's interval counts references"
        else:
            message = (
                "it has no clock: give the experiment's interval as a number of references, such "
                "as '50000 references'"
            )
        raise TimeBaseError(str(source.complain(where, message)))


def _check_kind(workload: Workload, source: Source) -> None:
    """Check that all traces are of one kind, and that objects with bytes have one tier."""
    odd = next((vm for vm in workload.vms if vm.trace.kind != workload.kind), None)
    if odd is not None:
        where = ("workload",) if odd.entry is None else ("workload", "vms", odd.entry)
        raise source.complain(
            where, f"it has {odd.trace.kind}, and {workload.vms[0].name!r} has {workload.kind}"
        )
    if workload.kind == "blocks":
        return
    tiers = source.root.get("tiers") or []
    for index, tier in enumerate(tiers):
        given = tier.get("capacity")
        if not (isinstance(given, str) and is_in_bytes(given)):
            continue
        if workload.without_lengths():
            raise source.complain(
                ("tiers", index, "capacity"),
                f"{given!r}: the objects of the workload have no sizes: expected a number of "
                "objects or a share (10%)",
            )
        if len(tiers) > 1:
            raise source.complain(
                ("tiers", index, "capacity"),
                f"{given!r}: objects take their bytes of one tier, and there are {len(tiers)}",
            )


def _align(workload: Workload) -> Workload:
    """Shift every VM so that all begin at time 0."""
    begun = [replace(vm, shift=-_first_time(vm)) for vm in workload.vms]
    return Workload(tuple(begun), workload.synthetic, workload.missing)


def _bounded(
    workload: Workload,
    window: WindowSpec,
    stays: Sequence[tuple[Interval | None, Interval | None]],
) -> Workload:
    """Remove requests outside of the window and of the presence of VMs."""
    bounds = [
        (
            [at.length for at in (window.start, arrives) if at is not None],
            [at.length for at in (window.end, departs) if at is not None],
        )
        for arrives, departs in stays
    ]
    if not any(begins or ends for begins, ends in bounds):
        return workload
    start = min(_first_time(vm) for vm in workload.vms)
    spans = [span for vm in workload.vms if (span := vm.span("all")) is not None]
    last = max(end for _, end in spans)
    if window.end is not None:
        last = min(last, start + window.end.length - 1)

    def bounded(
        vm: WorkloadVm,
        begins: list[int],
        ends: list[int],
        stay: tuple[Interval | None, Interval | None],
    ) -> WorkloadVm:
        comes, gone = (None if at is None else start + at.length for at in stay)
        return replace(
            vm,
            begin=start + max(begins) if begins else None,
            end=start + min(ends) if ends else None,
            arrives=comes,
            departs=gone if gone is not None and gone <= last else None,
        )

    vms = tuple(
        bounded(vm, begins, ends, stay)
        for vm, (begins, ends), stay in zip(workload.vms, bounds, stays, strict=True)
    )
    return replace(workload, vms=vms)


def _first_time(vm: WorkloadVm) -> int:
    if (first := _first(vm, "all")) is None:
        raise McsimError(f"{vm.name}: the trace has no requests")
    return first


def _first(vm: WorkloadVm, ops: str) -> int | None:
    return next((int(times[0]) for times in vm.times(ops)), None)
