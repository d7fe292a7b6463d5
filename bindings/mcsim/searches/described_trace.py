"""The first line of advice: what a trace is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mcsim.base.progress import Stage
from mcsim.base.suggest import some_of
from mcsim.searches.advice_case import Case, Line, percent
from mcsim.traces.info import VmInfo

_SCANS = 0.5
"""Share of sequential requests, and of accesses to blocks accessed once, from which a VM scans."""


def describe_trace(case: Case) -> Line:
    """Describe the requests: their number, scans, blocks accessed once, and VMs."""
    blocks = case.blocks
    vms = [vm for vm in _infos(case) if vm.requests]
    kind = "objects" if blocks.kind == "objects" else "blocks"
    what = {"all": "accesses", "reads": "accesses by reads", "writes": "accesses by writes"}
    parts = [f"{len(blocks):,} {what[blocks.ops_kept]} to {blocks.unique:,} {kind}"]
    parts += [_once(vms), *_scans(vms)]
    writing = [vm for vm in vms if vm.write_share > 0]
    if not writing:
        parts.append("no writes")
    elif len(vms) > 1:
        parts.append(f"{len(writing)} of {len(vms)} VMs write")
    else:
        parts.append(f"{percent(vms[0].write_share)} of requests write")
    if len(vms) == 1:
        parts.append(f"one VM, {vms[0].name}: not shared")
    else:
        parts.append(f"{len(vms)} VMs share the cache")
    return Line("trace", "; ".join(parts) + ".", case.commands.of_trace())


def _infos(case: Case) -> Iterator[VmInfo]:
    """Yield facts about each VM; a trace is read once for all its VMs."""
    known: dict[int, dict[str, VmInfo]] = {}
    members = case.blocks.workload.vms
    total = sum({id(vm.trace): vm.trace.request_count for vm in members}.values())
    with case.reporter.stage("describe", total, "requests") as stage:
        for vm in members:
            if id(vm.trace) not in known:
                update = partial(_update, stage, stage.done)
                found = vm.trace.info(case.blocks.block_bytes, progress=update)
                known[id(vm.trace)] = {of.name: of for of in found.vms}
            yield known[id(vm.trace)][vm.trace.vms[vm.only or 0]]


def _update(stage: Stage, before: int, done: int, _total: int) -> None:
    stage.update(before + done)


def _once(vms: list[VmInfo]) -> str:
    """Name the share of accesses to blocks that are accessed once, by VM if there are several."""
    ranked = sorted(vms, key=lambda vm: -vm.once_access_share)
    shares = [f"{percent(vm.once_access_share)} of {vm.name}" for vm in ranked[:3]]
    if len(vms) == 1:
        return f"{percent(vms[0].once_access_share)} of accesses are to blocks accessed once"
    return f"accesses to blocks accessed once: {', '.join(shares)}"


def _scans(vms: list[VmInfo]) -> list[str]:
    found = [
        vm.name
        for vm in vms
        if (vm.sequential_share or 0) >= _SCANS and vm.once_access_share >= _SCANS
    ]
    if not found:
        return ["no VM scans"] if len(vms) > 1 else ["no scan"]
    return [f"scans: {some_of(found, 3)}"]
