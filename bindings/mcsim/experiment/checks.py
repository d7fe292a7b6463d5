"""Checks beyond the schema: unique names, and times in one unit and in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import format_duration, format_span
from mcsim.config import ExperimentSpec, Source
from mcsim.config.load import Location
from mcsim.config.placed import PlacedSpec
from mcsim.config.spec import SystemSpec, VmTraceSpec, WindowSpec
from mcsim.config.values import Interval
from mcsim.experiment.code import is_class
from mcsim.references.workload import Workload
from mcsim.results.foresight import FORESEEN, policy_foresight
from mcsim.traces.batches import check_vm_names
from mcsim.traces.table_files import TABLE_FORMATS

# Limit of intervals in the engine.
_MOST_INTERVALS = 1 << 20


def check_unique(spec: ExperimentSpec, source: Source) -> None:
    """Check that names of VMs and systems exist, each once."""

    def check(names: Iterable[str], where: Callable[[int], Location], what: str) -> None:
        seen: set[str] = set()
        for index, name in enumerate(names):
            if name in seen:
                raise source.complain(where(index), f"a second {what} {name!r}")
            seen.add(name)

    names = spec.workload.known_names
    check(names, lambda i: ("workload", "vms", i), "VM")
    if (warm_up := spec.warm_up_traces) is not None:
        warmed = [vm.name for vm in warm_up.vms if vm.vms is None]
        check(warmed, lambda i: ("warm_up", "vms", i), "VM")
        for index, name in enumerate(warmed if names else []):
            if name not in names:
                message = f"the workload has no VM {name!r}{did_you_mean(name, names)}"
                raise source.complain(("warm_up", "vms", index), message)
        if not warm_up.vms and not warm_up.profiles:
            raise source.complain(("warm_up",), "neither VMs nor a profile")
    titles = (system.title for system in spec.systems)
    check(titles, lambda i: ("systems", i), "system; give it a label of its own, not")
    if not (spec.workload.vms or spec.workload.profiles or spec.workload.chains):
        raise source.complain(("workload",), "neither VMs nor a profile")


def check_names(spec: ExperimentSpec, source: Source) -> None:
    """Check that new names of VMs are valid."""
    sections: list[tuple[str, Sequence[VmTraceSpec]]] = [("workload", spec.workload.vms)]
    if spec.warm_up_traces is not None:
        sections.append(("warm_up", spec.warm_up_traces.vms))
    for section, vms in sections:
        for index, vm in enumerate(vms):
            renamed = vm.vms.values() if isinstance(vm.vms, Mapping) else ()
            with source.blaming((section, "vms", index)):
                check_vm_names(list(dict.fromkeys(filter(None, (vm.name, *renamed)))))


def check_named_vms(spec: ExperimentSpec, source: Source, names: Sequence[str]) -> None:
    """Check that VMs with storage or a host of their own are in the workload."""
    placed = spec.hosts.vms if spec.hosts is not None else {}
    for section, named in (("backend", spec.backend.vms or {}), ("hosts", placed)):
        for name in named:
            if name not in names:
                message = f"no VM {name!r}{did_you_mean(name, names)}"
                raise source.complain((section, "vms", name), message)


def check_interval(spec: ExperimentSpec, source: Source, workload: Workload) -> None:
    """Check that the workload has no more intervals than the engine supports."""
    length = spec.interval.length
    spans = [span for vm in workload.vms if (span := vm.times_within()) is not None]
    if _longest(spans) < _MOST_INTERVALS * length:
        return
    # Other VMs of the traces, or what is not replayed, may have made it seem longer than it is.
    spans = [span for vm in workload.vms if (span := vm.span(spec.ops)) is not None]
    if _longest(spans) >= _MOST_INTERVALS * length:
        pieces = _longest(spans) // length + 1
        given = source.root.get("interval", str(spec.interval))
        raise source.complain(
            ("interval",),
            f"{given!r} cuts the workload into {pieces:,} intervals; at most {_MOST_INTERVALS:,} "
            "can be kept",
        )


def _longest(spans: Sequence[tuple[int, int]]) -> int:
    """From the first of all times to the last."""
    return max(last for _, last in spans) - min(first for first, _ in spans) if spans else 0


def check_meters(system: engine.System, by_reference: bool) -> None:
    """Check that the windows of meters are whole periods of their timers."""
    for spec in system.meters:
        window = spec.params.get("window", 0)
        if spec.meter == "intensity" or window % spec.interval == 0:
            continue
        period, given = (Interval(length, by_reference) for length in (spec.interval, window))
        raise ConfigError(
            f"meter {spec.meter!r}: window: expected a whole number of periods of '{period}', "
            f"got '{given}'"
        )


def check_hosts(spec: ExperimentSpec, source: Source) -> None:
    """Check that hosts are unique, and that the workload has a clock."""
    if spec.hosts is None:
        return
    names = spec.hosts.names
    for index, name in enumerate(names):
        if name in names[:index]:
            raise source.complain(("hosts", "names", index), f"a second host {name!r}")
    for vm, host in spec.hosts.vms.items():
        if host not in names:
            message = f"no host {host!r}{did_you_mean(host, names)}"
            raise source.complain(("hosts", "vms", vm), message)
    if spec.interval.by_reference:
        raise source.complain(
            ("hosts", "link", "rate"), "blocks a second of what has no clock: see `interval`"
        )


def check_delayed_hits(spec: ExperimentSpec, source: Source) -> None:
    """Check that tiers with delayed hits are those of one host, and that the workload has times."""
    for index, tier in enumerate(spec.tiers):
        if not tier.delayed_hits:
            continue
        if spec.hosts is not None:
            message = "no delayed hits with several hosts: leave it out, or `hosts`"
        elif spec.interval.by_reference:
            message = (
                "fetches take time, and a workload without a clock has none: give traces with "
                "times (`mcsim describe csv`: time) and an `interval` such as 1h"
            )
        else:
            continue
        raise source.complain(("tiers", index, "delayed_hits"), message)


def check_responses(workload: Workload, ops: str, source: Source, system: int) -> None:
    """Check that a workload has the response times that a system needs."""
    if workload.time_base == "index":
        lacks = "the workload has no clock, and without one there are none"
    else:
        vms = [*workload.vms, *workload.warm_up.values()]
        lack = [vm for vm in vms if not vm.has_responses(ops)]
        if not lack:
            return
        if lack[0].trace.metadata.synthetic:
            lacks = (
                "those of a synthetic workload are not known: give recorded traces, or in its "
                f"profile {lack[0].name!r} a client"
            )
        else:
            lacks = (
                f"the trace of {lack[0].name!r}, {lack[0].trace.metadata.source}, has none: give "
                "one whose columns have them (`mcsim describe csv`: response)"
            )
    raise source.complain(("systems", system), f"it asks for response times: {lacks}")


def check_classes(workload: Workload, source: Source, system: int) -> None:
    """Check that a workload has the classes that a system needs."""
    lack = workload.without_classes()
    if not lack:
        return
    if workload.synthetic:
        right = "say the `class` of every component of the profile, 0 to 7"
    else:
        right = "say which column has them, as numbers from 0 to 7 (`mcsim describe csv`: classes)"
    raise source.complain(
        ("systems", system),
        f"it asks for classes of requests: the trace of {lack[0].name!r}, "
        f"{lack[0].trace.metadata.source}, has none: {right}",
    )


def check_prices(spec: ExperimentSpec, source: Source) -> None:
    """Check that all devices have a price if a system places extents by price."""
    by_price = [system.title for system in spec.systems if system.name == "edt"]
    places: list[tuple[Location, PlacedSpec]] = [
        (("tiers", index), tier) for index, tier in enumerate(spec.tiers)
    ]
    for where, placed in [*places, (("backend",), spec.backend)]:
        if by_price and placed.price is None:
            raise source.complain(
                where,
                f"{placed.device} has no price, by which {by_price[0]} places extents: add one",
            )


def check_bytes(workload: Workload, source: Source, system: int) -> None:
    """Check that a workload has the lengths that a system sums."""
    lack = workload.without_lengths()
    if not lack:
        return
    metadata = lack[0].trace.metadata
    column = "say which column has the length (`mcsim describe {}`: length)"
    right = {
        "csv": column.format("csv"),
        "jsonl": column.format("jsonl"),
        "binary": column.format("binary"),
        **dict.fromkeys(
            TABLE_FORMATS,
            column.format("arrow") + "; if mcsim made the table of a trace that does not tell, "
            "make it again of one that does: `mcsim trace convert`",
        ),
    }.get(metadata.format, "the format has none, so give a trace of another one")
    store = lack[0].trace.store_path
    if store is not None and metadata.digest[:16] not in store.name:  # which parsed ones have
        right += f", and make {store.name} again, which was made without: `mcsim trace convert`"
    raise source.complain(
        ("systems", system),
        f"it asks for bytes of requests: the trace of {lack[0].name!r}, {metadata.source}, does "
        f"not tell how long they were: {right}",
    )


def check_figures(spec: ExperimentSpec, source: Source) -> None:
    """Check that the requested figures exist."""
    if isinstance(spec.figures, bool):
        return
    from mcsim.figures import find

    for index, name in enumerate(spec.figures):
        try:
            find(name)
        except ConfigError as error:
            raise source.complain(("figures", index), str(error)) from None


def check_times(spec: ExperimentSpec, source: Source) -> None:
    """All lengths in the time of the interval; what begins ends later."""

    def check(given: Interval | None, where: Location) -> None:
        if given is None or given.by_reference == spec.interval.by_reference:
            return
        wanted = "references" if spec.interval.by_reference else "a length of time"
        raise source.complain(where, f"expected {wanted}, as in `interval`, got '{given}'")

    def check_order(begin: Interval | None, end: Interval | None, where: Location) -> None:
        if begin is not None and end is not None and end.length <= begin.length:
            raise source.complain(where, f"expected more than '{begin}', got '{end}'")

    def check_window(window: WindowSpec, where: Location) -> None:
        check(window.start, (*where, "start"))
        check(window.end, (*where, "end"))
        check_order(window.start, window.end, (*where, "end"))

    if isinstance(spec.warm_up, Interval):
        check(spec.warm_up, ("warm_up",))
        if spec.warm_up.length % spec.interval.length:
            raise source.complain(
                ("warm_up",), f"expected a multiple of the interval '{spec.interval}'"
            )
    elif spec.warm_up_traces is not None:
        check_window(spec.warm_up_traces.window, ("warm_up", "window"))
    check_window(spec.workload.window, ("workload", "window"))
    for index, vm in enumerate(spec.workload.vms):
        where: Location = ("workload", "vms", index)
        check(vm.arrives, (*where, "arrives"))
        check(vm.departs, (*where, "departs"))
        check_order(vm.arrives, vm.departs, (*where, "departs"))


CHECKS = (check_names, check_unique, check_hosts, check_delayed_hits, check_figures, check_times)
"""Checks of an experiment before its devices and systems are known."""


def foresight_of(system: engine.System) -> str:
    """Return the foresight of a system's meters: ``'none'``, ``'next'`` or ``'whole'``."""
    asked = {spec.params.get("foresight", "none") for spec in system.meters}
    return next((kind for kind in ("whole", "next") if kind in asked), "none")


def foresight_warnings(system: engine.System, given: SystemSpec) -> Iterable[str]:
    """Warn if a system has foresight."""
    known = policy_foresight(given.params.get("policy")) or foresight_of(system)
    if known != "none":
        yield f"it knows {FORESEEN[known]} beforehand: a yardstick"


def missing_writes(
    system: engine.System, given: SystemSpec, accesses: engine.Accesses
) -> Iterable[str]:
    """Warn if a system depends on writes, and the workload has none."""
    if accesses.request_op.any():
        return
    if any(spec.meter == "classes" for spec in system.meters):
        yield "it goes by what writes do, and none is replayed: `ops: all`, of traces with some"
    if not is_class(given.name) and given.params.get("write_area"):
        yield (
            "write_area: space that stays empty, for no write is replayed: `ops: all`, of traces "
            "with some"
        )


def timers_that_never_fire(
    system: engine.System, accesses: engine.Accesses, spec: ExperimentSpec
) -> Iterable[str]:
    """Warn about each timer that does not fire before the trace ends."""
    first, last = accesses.request_time[[0, -1]]
    for name, period, always in system.timers:
        if always or period <= last - first:
            continue
        by_reference = spec.interval.by_reference
        length = f"{period:,} references" if by_reference else format_duration(period)
        span = f"{last - first:,} references" if by_reference else format_span(int(last - first))
        is_interval = period == spec.interval.length
        hint = "; shorten `interval:`" if is_interval else ""
        why = f"the trace ends before, after {span}{hint}"
        yield f"nothing is decided each {length} ({name}): {why}"
