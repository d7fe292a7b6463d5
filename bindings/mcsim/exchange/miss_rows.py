"""Rows of a miss stream: blocks that reach the backend, as requests with times and offsets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim.base.errors import InternalError
from mcsim.references.pieces import vms_of_ids
from mcsim.references.workload import Workload, WorkloadVm
from mcsim.traces.batches import (
    DISCARD,
    SCHEMA,
    Batch,
    keyed,
    record_batch_of,
    schema_with_keys,
)
from mcsim.traces.digests import keys_digest
from mcsim.traces.joined import Part, with_joined_keys
from mcsim.traces.metadata import Counts, TraceMetadata
from mcsim.traces.trace import Trace

_LONGEST = 2**32 - 1
_ACCESSES_AT_ONCE = 1 << 22
_ONE = np.uint64(1)


class MissRows:
    """Converts what a `BackendLog` recorded to rows of a trace, chunk by chunk.

    Neighbouring blocks of one request are one row, unless another block reaches the backend
    between them. Blocks are whole. An object has its size at that time.

    Parameters
    ----------
    workload : Workload
        The replayed requests, all of them (no sample).
    view : mapping
        The view of the workload that was interned as `accesses`.
    accesses : Accesses
    first : int
        First request that is counted; rows of earlier requests are left out.
    write : callable
        Writes a record batch.
    """

    def __init__(
        self,
        workload: Workload,
        view: Mapping[str, Any],
        accesses: engine.Accesses,
        first: int,
        write: Callable[[pa.RecordBatch], object],
    ) -> None:
        self._workload = workload
        self._accesses = accesses
        self._first = first
        self._write = write
        self._is_objects = workload.kind == "objects"
        self._keys = BlockKeys(workload, view, accesses)
        self._has_discard_times = not view.get("whole_seconds")
        self._discarded = 0  # blocks, of rows that were added
        self._last_time = np.iinfo(np.int64).min
        self._sizes = np.zeros(accesses.id_count if self._is_objects else 0, np.uint32)
        self._sized = 0  # requests up to here have their sizes in `_sizes`
        self._counts = Counts()
        self._digest = hashlib.sha256()

    def add(
        self, requests: NDArray[np.uint64], ids: NDArray[np.uint32], op: NDArray[np.uint8]
    ) -> None:
        """Write the rows of consecutive accesses, as of `BackendLog.take`."""
        length = self._sizes_of(requests, ids) if self._is_objects else None
        time = self._times_of(requests, op)
        counted = requests >= self._first
        requests, time, ids, op = requests[counted], time[counted], ids[counted], op[counted]
        if not len(ids):
            return
        key, vm = self._keys.of(ids), self._keys.vms_of(ids)
        if length is not None:
            length = length[counted]
        else:
            begins, length = self._joined((requests, time, vm, op), key)
            time, vm, op, key = time[begins], vm[begins], op[begins], key[begins]
        response = np.full(len(time), -1, np.int64)
        batch = Batch(time, vm, op, key * self._keys.scale, length, response)
        self._counts = self._counts.plus(batch, self._workload.kind)
        for column in batch:
            self._digest.update(np.ascontiguousarray(column).data)
        self._write(record_batch_of(batch))

    def trace(
        self, batches: Sequence[pa.RecordBatch], source: str, options: dict[str, Any]
    ) -> Trace:
        """Return the written batches, read again, as a trace."""
        if self._is_objects:
            schema = schema_with_keys(SCHEMA, text=self._keys.texts is not None)
            batches = [keyed(batch, schema, self._keys.texts) for batch in batches]
        vms = tuple(vm.name for vm in self._accesses.vms)
        of_vms = [vm.trace.metadata for vm in self._workload.vms]
        identity = (
            vms,
            self._workload.time_base,
            self._workload.kind,
            keys_digest(self._keys.texts),
        )
        self._digest.update(repr(identity).encode())
        metadata = TraceMetadata(
            source=source,
            source_digest=hashlib.sha256(repr([of.digest for of in of_vms]).encode()).hexdigest(),
            digest=self._digest.hexdigest(),
            format="misses",
            options=options,
            time_base=of_vms[0].time_base,
            vms=vms,
            counts=self._counts,
            kind=self._workload.kind,
            keys_digest=keys_digest(self._keys.texts),
            synthetic=self._workload.synthetic or any(of.synthetic for of in of_vms),
            has_lengths=all(of.has_lengths for of in of_vms),
        )
        return Trace(batches, metadata)

    def _times_of(self, requests: NDArray[np.uint64], op: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return times that do not decrease. Rows after the last request have its time."""
        at = np.minimum(requests, self._accesses.request_count - 1)
        time = np.maximum(self._accesses.request_time[at], self._last_time)
        is_discard = op == DISCARD
        begin, self._discarded = self._discarded, self._discarded + int(is_discard.sum())
        if self._has_discard_times:
            time[is_discard] = self._keys.discard_times[begin : self._discarded]
            time = np.maximum.accumulate(time)
        self._last_time = int(time[-1]) if len(time) else self._last_time
        return time

    def _joined(
        self, columns: Sequence[NDArray[Any]], key: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return where rows of several blocks begin, and the lengths of these rows."""
        continues = np.zeros(len(key), bool)
        continues[1:] = key[1:] == key[:-1] + np.uint64(1)
        for column in columns:
            continues[1:] &= column[1:] == column[:-1]
        begin = np.maximum.accumulate(np.where(continues, 0, np.arange(len(key))))
        most = _LONGEST // self._accesses.block_bytes
        begins = np.flatnonzero((np.arange(len(key)) - begin) % most == 0)
        blocks = np.diff(begins, append=len(key)).astype(np.uint64)
        # The last block of a device may end beyond 64 bits.
        length = np.minimum(
            blocks * np.uint64(self._accesses.block_bytes), ~(key[begins] * self._keys.scale)
        )
        return begins, length.astype(np.uint32)

    def _sizes_of(
        self, requests: NDArray[np.uint64], ids: NDArray[np.uint32]
    ) -> NDArray[np.uint32]:
        """Return the sizes of objects when these requests came, the last chunk's or later."""
        of = self._accesses
        if not len(ids) or not len(of.request_bytes):
            return np.zeros(len(ids), np.uint32)
        begin, end = self._sized, min(int(requests[-1]) + 1, of.request_count)
        # One object a request. Pairs of object and request sort as one number.
        known = of.ids[begin:end].astype(np.uint64) << np.uint64(32) | np.arange(
            end - begin, dtype=np.uint64
        )
        order = np.argsort(known)
        asked = ids.astype(np.uint64) << np.uint64(32) | (
            np.maximum(requests, begin) - np.uint64(begin)
        )
        place = np.searchsorted(known[order], asked, side="right") - 1
        latest = known[order][np.maximum(place, 0)]
        is_recent = (place >= 0) & (latest >> np.uint64(32) == ids)
        recent = of.request_bytes[begin:end][(latest & np.uint64(_LONGEST)).astype(np.int64)]
        sizes = np.where(is_recent, recent, self._sizes[ids])
        self._sizes[of.ids[begin:end]] = of.request_bytes[begin:end]
        self._sized = end
        return sizes


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
