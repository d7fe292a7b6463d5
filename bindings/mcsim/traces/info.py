"""What is known of a trace's requests, VM by VM."""

from __future__ import annotations

from dataclasses import dataclass

from mcsim._core import trace as _core_trace
from mcsim.traces.store import TimeBase


@dataclass(frozen=True, slots=True)
class VmInfo:
    """What is known of one VM's requests, or of all together.

    Blocks are aligned; a request counts every block it touches.
    """

    name: str
    requests: int
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

    time_base: TimeBase
    vms: tuple[VmInfo, ...]
    total: VmInfo


def vm_info(name: str, vm: _core_trace.VmSummary, block_bytes: int) -> VmInfo:
    """Return what the core's summary of a VM says."""
    return VmInfo(
        name=name,
        requests=vm.requests,
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
