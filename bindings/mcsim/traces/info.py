"""What is known of a trace's requests, VM by VM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcsim._core import trace as _core_trace
from mcsim.traces.batches import Kind
from mcsim.traces.store import TimeBase, TraceMetadata


@dataclass(frozen=True, slots=True)
class VmInfo:
    """What is known of one VM's requests, or of all together.

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
        """Requests per second over the span; 0 if the span is. Means nothing without a clock."""
        return self.requests / (self.span / 1e9) if self.span else 0.0


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """A trace's VMs and their total."""

    kind: Kind

    time_base: TimeBase
    vms: tuple[VmInfo, ...]
    total: VmInfo


def vm_info(name: str, vm: _core_trace.VmSummary, block_bytes: int) -> VmInfo:
    """Return what the core's summary of a VM says."""
    return VmInfo(
        name=name,
        requests=vm.requests,
        discards=vm.discards,
        read_requests=vm.read_requests,
        blocks=vm.blocks,
        read_blocks=vm.read_blocks,
        unique_blocks=vm.unique_blocks,
        unique_read_blocks=vm.unique_read_blocks,
        block_bytes=block_bytes,
        total_bytes=vm.bytes,
        first_time=vm.first_time,
        last_time=vm.last_time,
        mean_request=vm.bytes / vm.requests if vm.requests else 0.0,
        median_request=vm.median_request,
        largest_request=vm.largest_request,
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
