"""Where the blocks of an interned workload are on their devices, and when they are discarded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim.base.errors import InternalError
from mcsim.traces.batches import DISCARD, Batch
from mcsim.traces.block_pieces import vms_of_ids
from mcsim.traces.joined import Part, with_joined_keys
from mcsim.traces.workload import Workload, WorkloadVm

_ACCESSES_AT_ONCE = 1 << 22
_ONE = np.uint64(1)


class BlockKeys:
    """Keys of the blocks of an interned workload, and times of its discards.

    An interned trace has ids in place of block numbers, and no times of discards. Both follow from
    the requests of each VM, which have the same order there.

    Parameters
    ----------
    workload : Workload
        All of it was interned (no sample).
    view : mapping
        As of `Workload.intern`.
    accesses : Accesses

    Attributes
    ----------
    scale : int
        Offset of a key of 1.
    texts : pyarrow.Array or None
        Text keys of objects.
    discard_times : ndarray of int64
        Time of each discarded block, in the order of the accesses.
    """

    def __init__(
        self, workload: Workload, view: Mapping[str, Any], accesses: engine.Accesses
    ) -> None:
        self._workload = workload
        self._reads_alone = view["ops"] == "reads"
        self._accesses = accesses
        self._line = np.uint64(accesses.line_blocks)
        self._block = np.uint64(accesses.block_bytes)
        self._is_objects = workload.kind == "objects"
        is_aligned = not self._is_objects and view.get("key", "aligned") == "aligned"
        self.scale = self._block if is_aligned else _ONE
        vms = (*workload.warm_up.values(), *workload.vms)
        traces = {vm.trace.digest: vm.trace for vm in vms}
        parts, self.texts = with_joined_keys([Part(trace, trace.vms) for trace in traces.values()])
        self._key_ids = {digest: of.key_ids for digest, of in zip(traces, parts, strict=True)}
        self._lines = np.zeros(accesses.id_count // accesses.line_blocks, np.uint64)
        self.discard_times = np.zeros(len(accesses.discard_block), np.int64)
        requests = _by_vm(accesses.request_vm, len(accesses.vms))
        discards = _by_vm(self.vms_of(accesses.discard_block), len(accesses.vms))
        for v, own in enumerate(requests):
            self._read_vm(workload.vms[v], accesses.vms[v], own, discards[v])

    def of(self, ids: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the keys of blocks: numbers on the device, byte offsets, or keys of objects."""
        keys: NDArray[np.uint64] = self._lines[ids // self._line] * self._line + ids % self._line
        return keys

    def vms_of(self, ids: NDArray[np.uint32]) -> NDArray[np.uint16]:
        """Return the VMs of blocks."""
        return vms_of_ids(self._accesses, ids)

    def _read_vm(
        self,
        vm: WorkloadVm,
        info: engine.VmInfo,
        own: NDArray[np.int64],
        discards: NDArray[np.int64],
    ) -> None:
        """Store the keys of a VM's blocks, and the times of its discards, from its requests."""
        done = 0
        ranges: list[NDArray[Any]] = []
        for batch, offsets in self._batches(vm):
            chosen = batch.op == 0 if self._reads_alone else batch.op < DISCARD
            requests = own[done : done + np.count_nonzero(chosen)]
            first = offsets[chosen] // self.scale
            if len(requests) < len(first):
                break
            for which, ids, place in self._blocks_of(requests):
                self._lines[ids // self._line] = (first[which] + place) // self._line
            if len(discards):
                is_discard = batch.op == DISCARD
                before = done + np.cumsum(chosen)[is_discard]
                begin, last = self._discarded(offsets[is_discard], batch.length[is_discard])
                ranges.append(np.array([batch.time[is_discard], before, begin, last], object))
            done += len(requests)
        if done != len(own):
            raise InternalError(f"{vm.name}: {len(own)} requests were interned, not {done}")
        if len(discards):
            times = self._times(info, own, np.concatenate(ranges, axis=1))
            if len(times) != len(discards):
                raise InternalError(
                    f"{vm.name}: {len(discards)} blocks are discarded, not {len(times)}"
                )
            self.discard_times[discards] = times

    def _batches(self, vm: WorkloadVm) -> Iterator[tuple[Batch, NDArray[np.uint64]]]:
        """Iterate over the requests of a VM, with their offsets or keys."""
        before = self._workload.warm_up.get(vm.name)
        for requests in chain([] if before is None else [before], [vm]):
            key_ids = self._key_ids[requests.trace.digest]
            for batch in requests.batches():
                of_vm = batch if requests.only is None else batch.where(batch.vm == requests.only)
                yield of_vm, of_vm.offset if key_ids is None else key_ids[of_vm.offset]

    def _blocks_of(
        self, requests: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint64]]]:
        """Iterate over blocks of requests: which request, the id, and its place in the request."""
        begins = self._accesses.request_begin[requests].astype(np.int64)
        counts = self._accesses.request_begin[requests + 1].astype(np.int64) - begins
        pieces = np.cumsum(counts) // _ACCESSES_AT_ONCE
        for piece in np.split(np.arange(len(requests)), np.flatnonzero(np.diff(pieces)) + 1):
            which = np.repeat(piece, counts[piece])
            starts = np.cumsum(counts[piece]) - counts[piece]
            place = np.arange(len(which)) - np.repeat(starts, counts[piece])
            yield which, self._accesses.ids[begins[which] + place], place.astype(np.uint64)

    def _discarded(
        self, offset: NDArray[np.uint64], length: NDArray[np.uint32]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the first and the last key that discards cover as a whole; last < first: none."""
        if self._is_objects:
            return offset, offset
        if self.scale == _ONE:
            blocks = length // self._block
            return np.where(blocks > 0, offset, _ONE), offset + blocks - np.sign(blocks)
        first = offset // self._block + (offset % self._block > 0)
        last_byte = offset + length - _ONE
        end = last_byte // self._block + (last_byte % self._block == self._block - _ONE)
        is_empty = (length == 0) | (end <= first)
        return np.where(is_empty, _ONE, first), np.where(is_empty, 0, end - _ONE).astype(np.uint64)

    def _times(
        self, info: engine.VmInfo, own: NDArray[np.int64], ranges: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Return the times of a VM's discarded blocks: those that it accessed before."""
        line = int(self._line)
        begin = info.first_id // line
        keys = self._lines[begin : begin + info.unique_blocks // line]
        # Lines are numbered as they are accessed first.
        known = np.zeros(len(own) + 1, np.int64)
        for which, ids, _ in self._blocks_of(own):
            np.maximum.at(known, which + 1, ids.astype(np.int64) // line - begin + 1)
        known = np.maximum.accumulate(known)
        order = np.argsort(keys)
        keys = keys[order]
        counts = np.zeros(ranges.shape[1], np.int64)
        for i, (_, before, first, last) in enumerate(ranges.T):
            if last < first:
                continue
            low = np.searchsorted(keys, np.uint64(first // line))
            high = np.searchsorted(keys, np.uint64(last // line), side="right")
            found = keys[low:high][order[low:high] < known[before]] * self._line
            ends = np.minimum(found + (self._line - _ONE), np.uint64(last))
            counts[i] = int(np.sum(ends - np.maximum(found, np.uint64(first)) + _ONE))
        return np.repeat(ranges[0].astype(np.int64), counts)


def _by_vm(vm: NDArray[np.uint16], vms: int) -> list[NDArray[np.int64]]:
    """Return the rows of each VM."""
    ends = np.cumsum(np.bincount(vm, minlength=vms))
    return np.split(np.argsort(vm, kind="stable"), ends[:-1])
