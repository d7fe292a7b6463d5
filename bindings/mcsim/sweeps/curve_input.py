"""The requests of a piece: read, merged by time, and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.base.suggest import names_listed, names_matching
from mcsim.locality.curve_discards import VmDiscards, discards_by_vm
from mcsim.locality.curve_parts import Ends
from mcsim.locality.curve_pieces import CurvePiece, FileContent, Span, overlap
from mcsim.references.blocks import Blocks
from mcsim.references.interned import interned, many_accesses
from mcsim.references.pieces import Discards, interval_length
from mcsim.references.workload import Workload, vms_of
from mcsim.sweeps.curve_contents import Contents
from mcsim.sweeps.curve_plan import CurvePlan
from mcsim.traces.joined import check_alike
from mcsim.traces.open import open_files

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace

Bounds = tuple[int | None, int | None]
"""Time from which on, and before which, a piece has requests; None for all."""


def piece_of(plan: CurvePlan, index: int, reporter: Reporter) -> CurvePiece:
    """Compute a piece; its files are merged by time, or follow each other without a clock."""
    files = _Files(plan, reporter)
    shares = [_Share(files.open(at), first, last) for at, first, last in plan.shares(index)]
    has_clock = shares[0].trace.time_base == "clock"
    groups = [shares] if has_clock else [[share] for share in shares]
    made: CurvePiece | None = None
    for at, group in enumerate(groups):
        ends = Ends(
            starts=index == 0 and at == 0,
            ends=index == plan.count - 1 and at == len(groups) - 1,
        )
        piece = _piece_of_group(files, index, group, ends)
        made = piece if made is None else made.merge(piece)
    assert made is not None
    return replace(made, contents=files.contents)


class _Files:
    """The files of a plan, and the contents of those that were opened."""

    def __init__(self, plan: CurvePlan, reporter: Reporter) -> None:
        self.plan = plan
        self.reporter = reporter
        self.contents: dict[int, FileContent] = {}
        self._now = Contents(plan)

    def open(self, at: int) -> Trace:
        """Open a trace; raise ConfigError if it cannot be divided into pieces."""
        file, state = self.plan.files[at], self._now.state(at)
        with self.reporter.stage("read", unit="B", about=file.name) as stage:
            trace = open_files([file], self.plan.reading, self.plan.vm_name, stage.update_of)
        of = trace.metadata
        if trace.keys is not None:
            raise ConfigError(f"{of.source}: its keys are text, and pieces need numbers")
        self.contents[at] = FileContent(of.source_digest, state)
        return trace


def _piece_of_group(files: _Files, index: int, group: Sequence[_Share], ends: Ends) -> CurvePiece:
    """Compute the curves of the requests of some files, merged by time."""
    plan, reporter = files.plan, files.reporter
    traces = [share.trace for share in group]
    bounds = _bounds(plan, group)
    has_ties = _have_ties(traces, bounds)
    order = _order_of_vms(files, index, traces) if has_ties else _names(traces)
    workload = _workload(plan, traces, bounds, order)
    blocks = None if workload is None else _blocks(plan, workload, reporter)
    discards = {} if workload is None else _discards(plan, traces, workload)
    vms = tuple(_chosen(plan, order))
    times: tuple[int, int] | None = None
    if blocks is not None:
        of_requests = blocks.accesses.request_time
        times = int(of_requests[0]), int(of_requests[-1])
    spans = tuple(
        Span(of.metadata.source, f"{of.digest} {bounds}", times, vms, has_ties) for of in traces
    )
    facts = _facts(plan, traces) | _intervals(files, traces[0].time_base)
    with reporter.stage("distances", 0 if blocks is None else len(blocks), "refs") as stage:
        piece = CurvePiece.of(blocks, discards, spans, facts, (index, index + 1), ends)
        stage.update(0 if blocks is None else len(blocks))
    return piece


@dataclass(frozen=True)
class _Share:
    """A trace, and which of the parts of it a piece has."""

    trace: Trace
    first: int
    last: int


def _bounds(plan: CurvePlan, group: Sequence[_Share]) -> Bounds:
    """Return the bounds of the requests of files; the first and the last may be cut."""
    begin = _time_at(group[0].trace, group[0].first, plan.count)
    end = _time_at(group[-1].trace, group[-1].last, plan.count)
    cut_at_begin, cut_at_end = group[0].trace.metadata, group[-1].trace.metadata
    for share in group:
        of = share.trace.metadata
        if begin is not None and of is not cut_at_begin and of.counts.first_time < begin:
            raise overlap(cut_at_begin.source, begin, of.source, of.counts.first_time)
        if end is not None and of is not cut_at_end and of.counts.last_time >= end:
            raise overlap(of.source, of.counts.last_time, cut_at_end.source, end)
    return begin, end


def _facts(plan: CurvePlan, traces: Sequence[Trace]) -> dict[str, Any]:
    check_alike(traces)
    return {
        "plan": plan.digest,
        "count": plan.count,
        "ops": plan.ops,
        "block_bytes": plan.block_bytes,
        "by": plan.by,
        "estimator": plan.estimator,
        "seed": plan.seed,
        "kind": traces[0].kind,
        "time_base": traces[0].time_base,
        "synthetic": any(trace.metadata.synthetic for trace in traces),
        "has_prefixes": any(trace.metadata.has_prefixes for trace in traces),
    }


def _intervals(files: _Files, time_base: str) -> dict[str, Any]:
    """Return the length of intervals, and the time at which the first begins.

    Raises
    ------
    ConfigError
        If pieces need a clock that the trace does not have, or the length is none.
    """
    plan = files.plan
    if time_base != "clock":
        if plan.estimator != "exact":
            raise ConfigError(f"{plan.estimator}: pieces sample by time, and there is no clock")
        if plan.interval is not None:
            raise ConfigError("interval: pieces of a trace without a clock do not know their begin")
    if plan.interval is None:
        return {}
    length = interval_length(plan.interval, has_clock=True)
    return {"length": length, "origin": _first_time(files)}


def _first_time(files: _Files) -> int | None:
    """Return the time of the first request of all pieces; None without any."""
    plan = files.plan
    ops = "reads" if plan.ops == "reads" else "all"
    for index in range(plan.count):
        traces = [files.open(at) for at, _, _ in plan.shares(index)]
        if chosen := _chosen(plan, _names(traces)):
            spans = [vm.span(ops) for vm in vms_of(traces, plan.ops, chosen)]
            if times := [span[0] for span in spans if span]:
                return min(times)
    return None


def _workload(
    plan: CurvePlan, traces: Sequence[Trace], bounds: Bounds, order: Sequence[str]
) -> Workload | None:
    """Return the requests of a piece, with its VMs in this order; None without any VM."""
    if not (chosen := _chosen(plan, order)):
        return None
    begin, end = bounds
    of = {vm.name: vm for vm in vms_of(traces, plan.ops, chosen)}
    vms = tuple(replace(of[name], begin=begin, end=end) for name in chosen)
    return Workload(vms, synthetic=False)


def _blocks(plan: CurvePlan, workload: Workload, reporter: Reporter) -> Blocks | None:
    """Return the references of a piece; None if there are none."""
    view: dict[str, Any] = {
        "block_bytes": plan.block_bytes,
        "ops": "reads" if plan.ops == "reads" else "all",
        "line_blocks": 1,
        "addresses": True,
    }
    if not workload.without_lengths():
        view["bytes"] = True
    with reporter.stage("intern", unit="requests") as stage:
        accesses = interned(workload, view, stage.update, at_least=many_accesses())
    if accesses.access_count == 0:
        return None
    requests = slice(0, accesses.request_count)
    return Blocks("", workload, plan.ops, accesses, requests, Discards.of(accesses))


def _discards(
    plan: CurvePlan, traces: Sequence[Trace], workload: Workload
) -> dict[str, VmDiscards]:
    """Return the discards of a piece by VM."""
    if not any(trace.metadata.counts.discards for trace in traces):
        return {}
    return discards_by_vm(workload.vms, plan.ops, traces[0].kind, plan.block_bytes)


def _names(traces: Sequence[Trace]) -> list[str]:
    return list(dict.fromkeys(name for trace in traces for name in trace.vms))


def _have_ties(traces: Sequence[Trace], bounds: Bounds) -> bool:
    """Return whether requests of different VMs may have the same time."""
    if len(_names(traces)) == 1:
        return False
    counts = [trace.metadata.counts for trace in traces]
    if any(after.first_time <= before.last_time for before, after in pairwise(counts)):
        return True
    return any(_has_ties(trace, bounds) for trace in traces if len(trace.vms) > 1)


def _has_ties(trace: Trace, bounds: Bounds) -> bool:
    begin, end = bounds
    time = vm = None
    for batch in trace.batches():
        first = 0 if begin is None else int(np.searchsorted(batch.time, begin))
        last = len(batch.time) if end is None else int(np.searchsorted(batch.time, end))
        if first >= last:
            continue
        times, vms = batch.time[first:last], batch.vm[first:last]
        if ((times[1:] == times[:-1]) & (vms[1:] != vms[:-1])).any():
            return True
        if time == times[0] and vm != vms[0]:
            return True
        time, vm = times[-1], vms[-1]
    return False


def _order_of_vms(files: _Files, index: int, traces: Sequence[Trace]) -> list[str]:
    """Return the VMs of traces after those of earlier files, as these are merged by time."""
    before = range(index * len(files.plan.files) // files.plan.count)
    own = set(_names(traces))
    all_files = [*(files.open(at) for at in before), *traces]
    return [name for name in _names(all_files) if name in own]


def _chosen(plan: CurvePlan, names: Sequence[str]) -> list[str]:
    return list(names) if plan.vms is None else _named(plan.vms, names)


def _named(text: str, names: Sequence[str]) -> list[str]:
    """Return the VMs of a trace that names and patterns select, perhaps none."""
    chosen: list[str] = []
    listed = names_listed(text, names)
    excluded = [one for one in listed if one.startswith("!") and one not in names]
    for patterns in [one for one in listed if one not in excluded] or ["all"]:
        try:
            chosen += names_matching([patterns], names)
        except ConfigError:
            continue
    without: set[str] = set()
    for pattern in excluded:
        try:
            without |= set(names_matching([pattern[1:]], names))
        except ConfigError:
            continue
    return [name for name in names if name in chosen and name not in without]


def _time_at(trace: Trace, part: int, count: int) -> int | None:
    """Return the time at which one of `count` parts of equal length begins; None at both ends.

    Requests of the same time are in one part.
    """
    rows = trace.metadata.counts.rows
    if part in (0, count) or not rows:
        return None
    row = rows * part // count
    for batch in trace.batches():
        if row < len(batch.time):
            return int(batch.time[row])
        row -= len(batch.time)
    raise IndexError(row)
