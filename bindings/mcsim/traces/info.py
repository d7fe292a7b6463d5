"""Facts about the requests of a trace, by VM."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcsim._core import trace as _core_trace
from mcsim.traces.batches import Kind
from mcsim.traces.checks import warn_of_shared_blocks
from mcsim.traces.metadata import TimeBase, TraceMetadata

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class VmInfo:
    """Facts about the requests of one VM, or of all VMs.

    Blocks are aligned; a request counts every block it touches.
    """

    name: str
    requests: int
    """Reads and writes."""
    discards: int
    read_requests: int
    blocks: int
    read_blocks: int
    unique_blocks: int
    unique_read_blocks: int
    block_bytes: int
    total_bytes: int
    """Sum of the requests' lengths."""
    first_time: int
    last_time: int
    mean_request: float
    """Bytes."""
    median_request: float
    """Bytes."""
    largest_request: int
    """Bytes."""
    once_block_share: float
    """Share of the distinct blocks that have one access."""
    once_access_share: float
    """Share of the accesses that are to these blocks."""
    top_1_percent_share: float
    """Share of the accesses that are to the most popular 1 % of the blocks, rounded up."""
    top_10_percent_share: float
    """Share of the accesses that are to the most popular 10 % of the blocks, rounded up."""
    zipf_exponent: float
    """Exponent of Zipf's law: least squares of log(accesses) by log(rank) over all distinct
    blocks, as libCacheSim computes it; 0 for a single block."""
    sequential_share: float | None
    """Share of the requests that begin where the VM's previous request ended; None for objects."""
    sequential_byte_share: float | None
    """Share of the bytes in such requests; None for objects."""
    write_share: float
    """Share of the requests that write."""
    write_byte_share: float
    """Share of the bytes that are written."""
    growth_by_requests: tuple[int, ...]
    """Distinct blocks after each tenth of the requests of the whole trace."""
    growth_by_time: tuple[int, ...] | None
    """Distinct blocks after each tenth of the time of the whole trace; None without a clock."""

    @property
    def half_share(self) -> float:
        """Share of the distinct blocks that are accessed in the first half of the requests."""
        return _share(self.growth_by_requests[4], self.unique_blocks)

    @property
    def last_tenth_share(self) -> float:
        """Share of the distinct blocks that are new in the last tenth of the requests."""
        return _share(self.unique_blocks - self.growth_by_requests[8], self.unique_blocks)

    @property
    def footprint_bytes(self) -> int:
        """Size of the distinct blocks."""
        return self.unique_blocks * self.block_bytes

    @property
    def span(self) -> int:
        """Time from the first request to the last, in the trace's unit."""
        return self.last_time - self.first_time

    @property
    def rate(self) -> float:
        """Requests per second over the span; nan if all have one time, or without a clock."""
        if not self.requests:
            return 0.0
        has_clock = self.growth_by_time is not None
        return self.requests / (self.span / 1e9) if self.span and has_clock else math.nan


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """A trace's VMs and their total."""

    kind: Kind

    time_base: TimeBase
    vms: tuple[VmInfo, ...]
    total: VmInfo


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def vm_info(
    name: str, vm: _core_trace.VmSummary, block_bytes: int, kind: Kind, time_base: TimeBase
) -> VmInfo:
    """Return the core's summary of a VM with its shares."""
    is_blocks = kind == "blocks"
    return VmInfo(
        name=name,
        block_bytes=block_bytes,
        total_bytes=vm.bytes,
        mean_request=vm.bytes / vm.requests if vm.requests else 0.0,
        once_block_share=_share(vm.once_blocks, vm.unique_blocks),
        once_access_share=_share(vm.once_blocks, vm.blocks),
        top_1_percent_share=_share(vm.top_1_percent_accesses, vm.blocks),
        top_10_percent_share=_share(vm.top_10_percent_accesses, vm.blocks),
        sequential_share=_share(vm.sequential_requests, vm.requests) if is_blocks else None,
        sequential_byte_share=_share(vm.sequential_bytes, vm.bytes) if is_blocks else None,
        write_share=_share(vm.requests - vm.read_requests, vm.requests),
        write_byte_share=_share(vm.write_bytes, vm.bytes),
        growth_by_requests=tuple(vm.growth_by_requests),
        growth_by_time=tuple(vm.growth_by_time) if time_base == "clock" else None,
        **{field: getattr(vm, field) for field in _OF_SUMMARY},
    )


_OF_SUMMARY = (
    *("requests", "discards", "read_requests", "blocks", "read_blocks", "unique_blocks"),
    *("unique_read_blocks", "first_time", "last_time", "median_request", "largest_request"),
    "zipf_exponent",
)
"""Fields that the core's summary has, too."""


def info_of(
    trace: Trace, block_bytes: int, progress: Callable[[int, int], None] | None = None
) -> TraceInfo:
    """Summarise a trace in one pass (see `Trace.info`)."""
    warn_of_shared_blocks([trace], block_bytes)
    counts, kind, time_base = trace.metadata.counts, trace.kind, trace.time_base
    summary = _core_trace.Summary(
        block_bytes, kind, counts.requests, counts.first_time, counts.last_time
    )
    done = 0
    for batch in trace.batches():
        summary.add(batch.time, batch.vm, batch.op, batch.offset, batch.length)
        done += len(batch.time)
        if progress is not None:
            progress(done, trace.request_count)
    summaries = summary.vms()
    summaries += [_core_trace.VmSummary()] * (len(trace.vms) - len(summaries))
    vms = zip(trace.vms, summaries, strict=True)
    return TraceInfo(
        kind,
        time_base,
        tuple(vm_info(name, vm, block_bytes, kind, time_base) for name, vm in vms),
        vm_info("total", summary.total(), block_bytes, kind, time_base),
    )


def described_rows(metadata: TraceMetadata) -> dict[str, Any]:
    """Return the numbers of rows that are not requests and of repeated requests, and their shares.

    Numbers of 0 are left out; the dictionary is empty if all are.
    """
    rows, counts = metadata.rows, metadata.counts
    read = counts.rows - rows.repeated + rows.filtered + rows.flushes + rows.skipped
    described: dict[str, Any] = {}
    for name in ("filtered", "skipped", "flushes", "discards", "repeated"):
        number = counts.discards if name == "discards" else getattr(rows, name)
        if number:
            of = counts.requests if name == "repeated" else read
            described[name] = {"count": number, "share": number / of}
    return described


def rows_text(described: Mapping[str, Any]) -> str:
    """Write what `described_rows` returned in a line."""
    parts = []
    for name, of in described.items():
        what = {"repeated": "requests repeated by a count"}.get(name, name)
        if name in ("filtered", "skipped"):
            what = f"row{'s' * (of['count'] != 1)} {name}"
        parts.append(f"{of['count']:,} {what} ({100 * of['share']:.2g} %)")
    return ", ".join(parts)
