"""Discards of a piece as ranges of keys, of blocks that only earlier pieces access included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsim.traces.batches import DISCARD

if TYPE_CHECKING:
    from mcsim.references.blocks import Blocks
    from mcsim.references.workload import WorkloadVm
    from mcsim.traces.batches import Kind, Ops

Numbers = NDArray[np.uint64]


class Ranges(NamedTuple):
    """Discards as ranges of keys, in the order of accesses."""

    time: NDArray[np.int64]
    at: Numbers
    """Accesses before each."""
    begin: Numbers
    end: Numbers

    def chosen(self, which: NDArray[np.bool_], first: int, count: int) -> Ranges:
        """Return some of them, among `count` accesses from the access `first` on."""
        at = np.maximum(self.at[which], np.uint64(first)) - np.uint64(first)
        at = np.minimum(at, np.uint64(count))
        return Ranges(self.time[which], at, self.begin[which], self.end[which])


class VmDiscards(NamedTuple):
    """Discards of a VM, in the order of its requests."""

    time: NDArray[np.int64]
    before: NDArray[np.int64]
    """Requests of the VM before each."""
    begin: Numbers
    end: Numbers

    def ranges(self, at: Numbers, vm_key: int = 0, most: int | None = None) -> Ranges:
        """Return ranges of keys; keys have the VM in `vm_key` if blocks are below `most`."""
        end = self.end if most is None else np.minimum(self.end, np.uint64(most))
        kept = self.begin < end
        key = np.uint64(vm_key)
        return Ranges(self.time[kept], at[kept], self.begin[kept] + key, end[kept] + key)


def discards_by_vm(
    vms: Iterable[WorkloadVm], ops: Ops, kind: Kind, block_bytes: int
) -> dict[str, VmDiscards]:
    """Return the discards of each VM that has any; `ops` are those of the references."""
    found: dict[str, VmDiscards] = {}
    for vm in vms:
        rows = list(_rows(vm, ops, np.uint64(block_bytes) if kind == "blocks" else None))
        if rows:
            found[vm.name] = VmDiscards(*map(np.concatenate, zip(*rows, strict=True)))
    return found


def _rows(vm: WorkloadVm, ops: Ops, size: np.uint64 | None) -> Iterator[VmDiscards]:
    before = 0
    for batch in vm.batches():
        of_vm = np.ones(len(batch.op), bool) if vm.only is None else batch.vm == vm.only
        is_discard = of_vm & (batch.op == DISCARD)
        is_request = of_vm & (batch.op == 0 if ops == "reads" else batch.op < DISCARD)
        requests = before + np.cumsum(is_request)
        before = int(requests[-1]) if len(requests) else before
        if not is_discard.any():
            continue
        offset, length = batch.offset[is_discard], batch.length[is_discard].astype(np.uint64)
        begin, end = offset, offset + np.uint64(1)
        if size is not None:
            begin, end = _covered(offset, length, size)
        some = begin < end
        yield VmDiscards(
            batch.time[is_discard][some], requests[is_discard][some], begin[some], end[some]
        )


def _covered(offset: Numbers, length: Numbers, size: np.uint64) -> tuple[Numbers, Numbers]:
    """Return the blocks that are covered completely; none without a length."""
    one = np.uint64(1)
    last = offset + np.maximum(length, one) - one
    begin = offset // size + (offset % size > 0)
    end = last // size + (last % size == size - one)
    return begin, np.where(length > 0, end, begin)


def _accesses_before(blocks: Blocks, vm: int, of: VmDiscards) -> Numbers:
    """Return the number of accesses before each discard, in the order of all VMs.

    A discard comes before the next request of its VM, and before requests that are later by time
    and VM.
    """
    time, vms = blocks.accesses.request_time, blocks.accesses.request_vm
    low, high = np.searchsorted(time, of.time), np.searchsorted(time, of.time, side="right")
    up_to_vm = np.concatenate(([0], np.cumsum(vms <= vm)))
    later = low + up_to_vm[high] - up_to_vm[low]
    own = np.append(np.flatnonzero(vms == vm), len(vms))
    before: Numbers = blocks.accesses.request_begin[np.minimum(later, own[of.before])]
    return before


def all_ranges(
    blocks: Blocks | None, vms: Sequence[str], by_vm: Mapping[str, VmDiscards], vm_bits: int
) -> Ranges | None:
    """Return the discards of all VMs, in the order of accesses; None if there are none."""
    if not by_vm:
        return None
    number = {name: at for at, name in enumerate(vms)}
    most = 1 << vm_bits if len(number) > 1 else None
    parts = []
    for name, of in by_vm.items():
        at = np.zeros(len(of.time), np.uint64)
        if blocks is not None:
            at = _accesses_before(blocks, number[name], of)
        parts.append(of.ranges(at, number[name] << vm_bits, most))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[1], kind="stable")
    return Ranges(*(column[order] for column in columns))


def ranges_of_vm(part: Blocks | None, of: VmDiscards | None) -> Ranges | None:
    """Return the discards of a VM, by its own accesses; None if there are none."""
    if of is None:
        return None
    if part is None:
        return of.ranges(np.zeros(len(of.time), np.uint64))
    begin = np.concatenate(([0], np.cumsum(part.lengths))).astype(np.uint64)
    return of.ranges(begin[of.before])
