"""Counts of a system over the whole run, the warm-up left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.config.spec import SystemSpec
from mcsim.results.results import Results
from mcsim.results.schemas import BYTES, DELAYED, REQUESTS, STAGED, all_counts_of, of_system

_Counts = Callable[[str], NDArray[np.int64]]

DEVICE_WRITES = ("fills", "promotions", "demotions", "updates", "transfers")
_REMOTE = ("remote_reads", "remote_requests")
_SERVED = ("reads_served", "writes_served", "read_requests", "write_requests")


@dataclass(frozen=True)
class Totals:
    """Counts of one system over the whole run.

    Attributes
    ----------
    accesses, misses : array of int64, shape (vms,)
    hits, device_writes : array of int64, shape (vms, tiers)
    reads_served, writes_served : array of int64, shape (vms, tiers + 1)
        Blocks by the device that the VM waited for; the last is the backend.
    read_requests, write_requests : array of int64, shape (vms, tiers + 1)
        Requests by the slowest device that any of their blocks waited for.
    remote_reads, remote_requests : array of int64, shape (vms, tiers)
        The part of these that waited for the link as well: blocks on a host that their VM left.
    staged_hits, staged_requests, staged_ns : array of int64, shape (vms,)
        Reads of blocks that are staged in memory, which `reads_served` does not include; requests
        of staged blocks only; and the total time of these reads.
    delayed_hits, delayed_ns, delayed_requests, request_delay_ns : array of int64, shape (vms,)
        Reads of blocks on their way into a tier, which are neither hits nor misses, and the time
        that they waited; requests that waited longest for such a block, and their time. Served
        blocks and requests include neither.
    requests, request_hits, bytes, byte_hits : array of int64, shape (vms,)
        Requests, and those of which all blocks hit; their bytes, and those in blocks that hit.
        Zeros where a run did not count them.
    has_device_times : bool
        Whether devices are modelled. Objects differ in size and have no models.
    """

    system: SystemSpec
    vms: tuple[str, ...]
    accesses: NDArray[np.int64]
    misses: NDArray[np.int64]
    hits: NDArray[np.int64]
    device_writes: NDArray[np.int64]
    reads_served: NDArray[np.int64]
    writes_served: NDArray[np.int64]
    read_requests: NDArray[np.int64]
    write_requests: NDArray[np.int64]
    remote_reads: NDArray[np.int64]
    remote_requests: NDArray[np.int64]
    staged_hits: NDArray[np.int64]
    staged_requests: NDArray[np.int64]
    staged_ns: NDArray[np.int64]
    delayed_hits: NDArray[np.int64]
    delayed_ns: NDArray[np.int64]
    delayed_requests: NDArray[np.int64]
    request_delay_ns: NDArray[np.int64]
    requests: NDArray[np.int64]
    request_hits: NDArray[np.int64]
    bytes: NDArray[np.int64]
    byte_hits: NDArray[np.int64]
    has_device_times: bool = True

    @classmethod
    def of(cls, system: SystemSpec, vms: Iterable[str], by_vm: _Counts, by_tier: _Counts) -> Self:
        """Collect every count by its column, from tables by VM and by VM and tier."""
        counts: dict[str, Any] = {
            **{name: np.column_stack([by_tier(name), by_vm(name)]) for name in _SERVED},
            **{name: by_tier(name) for name in _REMOTE},
            **{name: by_vm(name) for name in (*STAGED, *DELAYED, *REQUESTS, *BYTES)},
        }
        return cls(
            system=system,
            vms=tuple(vms),
            accesses=by_vm("accesses"),
            misses=by_vm("misses"),
            hits=by_tier("hits"),
            device_writes=np.sum([by_tier(name) for name in DEVICE_WRITES], axis=0),
            **counts,
        )


def totals(results: Results) -> list[Totals]:
    """Sum the counts of every system, the warm-up left out, in the order of the spec."""
    metrics, vms = results.measured("metrics"), results.measured("vms")
    has_times = results.kind == "blocks"
    return [
        replace(_totals_of(system, metrics, vms), has_device_times=has_times)
        for system in results.spec.systems
    ]


def _totals_of(system: SystemSpec, metrics: pa.Table, vms: pa.Table) -> Totals:
    of_vm, of_tier = (of_system(table, system.title) for table in (vms, metrics))
    try:
        vm_counts = all_counts_of(
            of_vm,
            ("accesses", "misses", *STAGED, *DELAYED, *REQUESTS, *BYTES, *_SERVED),
            expanded=False,
        )
        tier_counts = all_counts_of(
            of_tier, ("hits", *DEVICE_WRITES, *_REMOTE, *_SERVED), expanded=False
        )
    except ValueError:
        raise _lacks_rows(system) from None
    if vm_counts["accesses"].shape[:2] != tier_counts["hits"].shape[:2]:
        raise _lacks_rows(system)

    def by_vm(name: str) -> NDArray[np.int64]:
        return np.asarray(np.sum(vm_counts[name], axis=(0, 2)))

    def by_tier(name: str) -> NDArray[np.int64]:
        return np.asarray(np.sum(tier_counts[name], axis=0))

    return Totals.of(system, pc.unique(of_vm["vm"]).to_pylist(), by_vm, by_tier)


def _lacks_rows(system: SystemSpec) -> ConfigError:
    return ConfigError(
        f"tables metrics and vms: rows of system {system.title!r} are not there for every interval "
        "and VM: run the experiment again"
    )
