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
from mcsim.traces.batches import (
    DISCARD,
    SCHEMA,
    Batch,
    keyed,
    record_batch_of,
    schema_with_keys,
)
from mcsim.traces.joined import Part, with_joined_keys
from mcsim.traces.store import Counts, TraceMetadata, keys_digest
from mcsim.traces.trace import Trace
from mcsim.traces.workload import Workload, WorkloadVm

_LONGEST = 2**32 - 1
_ACCESSES_AT_ONCE = 1 << 22


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
        is_aligned = not self._is_objects and view.get("key", "aligned") == "aligned"
        self._scale = np.uint64(accesses.block_bytes if is_aligned else 1)
        parts, self._texts = _parts_with_keys(workload)
        self._line_keys = _line_keys(workload, view, accesses, parts, int(self._scale))
        self._first_ids = np.array([vm.first_id for vm in accesses.vms], np.uint32)
        self._sizes = np.zeros(accesses.id_count if self._is_objects else 0, np.uint32)
        self._sized = 0  # requests whose sizes are in `_sizes`
        self._counts = Counts()
        self._digest = hashlib.sha256()

    def add(
        self, requests: NDArray[np.uint64], ids: NDArray[np.uint32], op: NDArray[np.uint8]
    ) -> None:
        """Write the rows of consecutive accesses, as of `BackendLog.take`."""
        length = self._sizes_of(requests, ids) if self._is_objects else None
        counted = requests >= self._first
        requests, ids, op = requests[counted], ids[counted], op[counted]
        if not len(ids):
            return
        line = np.uint32(self._accesses.line_blocks)
        key = self._line_keys[ids // line] * np.uint64(line) + ids % line
        vm = (np.searchsorted(self._first_ids, ids, side="right") - 1).astype(np.uint16)
        if length is not None:
            length = length[counted]
        else:
            begins, length = self._joined(requests, vm, op, key)
            requests, vm, op, key = requests[begins], vm[begins], op[begins], key[begins]
        # What happens after the last request has its time.
        at = np.minimum(requests, self._accesses.request_count - 1)
        batch = Batch(
            self._accesses.request_time[at],
            vm,
            op,
            key * self._scale,
            length,
            np.full(len(at), -1, np.int64),
        )
        self._counts = self._counts.plus(batch, self._workload.kind)
        for column in batch:
            self._digest.update(np.ascontiguousarray(column).data)
        self._write(record_batch_of(batch))

    def trace(
        self, batches: Sequence[pa.RecordBatch], source: str, options: dict[str, Any]
    ) -> Trace:
        """Return the written batches, read again, as a trace."""
        if self._is_objects:
            schema = schema_with_keys(SCHEMA, text=self._texts is not None)
            batches = [keyed(batch, schema, self._texts) for batch in batches]
        vms = tuple(vm.name for vm in self._accesses.vms)
        of_vms = [vm.trace.metadata for vm in self._workload.vms]
        identity = (vms, self._workload.time_base, self._workload.kind, keys_digest(self._texts))
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
            keys_digest=keys_digest(self._texts),
            synthetic=self._workload.synthetic or any(of.synthetic for of in of_vms),
            has_lengths=all(of.has_lengths for of in of_vms),
        )
        return Trace(batches, metadata)

    def _joined(
        self,
        requests: NDArray[np.uint64],
        vm: NDArray[np.uint16],
        op: NDArray[np.uint8],
        key: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return where rows of several blocks begin, and the lengths of these rows."""
        continues = np.zeros(len(key), bool)
        continues[1:] = key[1:] == key[:-1] + np.uint64(1)
        for column in (requests, vm, op):
            continues[1:] &= column[1:] == column[:-1]
        begin = np.maximum.accumulate(np.where(continues, 0, np.arange(len(key))))
        most = _LONGEST // self._accesses.block_bytes
        begins = np.flatnonzero((np.arange(len(key)) - begin) % most == 0)
        blocks = np.diff(begins, append=len(key)).astype(np.uint64)
        # The last block of a device may end beyond 64 bits.
        last_byte = np.minimum(
            blocks * np.uint64(self._accesses.block_bytes) - np.uint64(1),
            ~(key[begins] * self._scale),
        )
        return begins, (last_byte + np.uint64(1)).astype(np.uint32)

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


def _parts_with_keys(workload: Workload) -> tuple[dict[str, Part], pa.Array | None]:
    """Return the traces of a workload by digest, with text keys numbered together; these keys."""
    vms = (*workload.warm_up.values(), *workload.vms)
    traces = {vm.trace.digest: vm.trace for vm in vms}
    parts, texts = with_joined_keys([Part(trace, trace.vms) for trace in traces.values()])
    return dict(zip(traces, parts, strict=True)), texts


def _line_keys(
    workload: Workload,
    view: Mapping[str, Any],
    accesses: engine.Accesses,
    parts: Mapping[str, Part],
    scale: int,
) -> NDArray[np.uint64]:
    """Return the number of each line on its device: the requests tell the blocks of the ids."""
    line = np.uint64(accesses.line_blocks)
    keys = np.zeros(accesses.id_count // accesses.line_blocks, np.uint64)
    order = np.argsort(accesses.request_vm, kind="stable")
    ends = np.cumsum(np.bincount(accesses.request_vm, minlength=len(accesses.vms)))
    for vm, own in zip(workload.vms, np.split(order, ends[:-1]), strict=True):
        done = 0
        for offsets in _offsets(workload, vm, view, parts):
            requests = own[done : done + len(offsets)]
            done += len(offsets)
            if len(requests) < len(offsets):
                break
            first = offsets // np.uint64(scale)
            for chosen, ids, place in _accesses_of(accesses, requests):
                keys[ids // line] = (first[chosen] + place) // line
        if done != len(own):
            raise InternalError(f"{vm.name}: {len(own)} requests were interned, not {done}")
    return keys


def _offsets(
    workload: Workload,
    vm: WorkloadVm,
    view: Mapping[str, Any],
    parts: Mapping[str, Part],
) -> Iterator[NDArray[np.uint64]]:
    """Iterate over the offsets, or keys, of a VM's interned requests."""
    before = workload.warm_up.get(vm.name)
    for requests in chain([] if before is None else [before], [vm]):
        key_ids = parts[requests.trace.digest].key_ids
        for batch in requests.batches():
            chosen = batch.op == 0 if view["ops"] == "reads" else batch.op < DISCARD
            if requests.only is not None:
                chosen &= batch.vm == requests.only
            offsets = batch.offset[chosen]
            yield offsets if key_ids is None else key_ids[offsets]


def _accesses_of(
    accesses: engine.Accesses, requests: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint64]]]:
    """Iterate over the blocks of requests: which request, the id, and the place in the request."""
    begins = accesses.request_begin[requests].astype(np.int64)
    counts = accesses.request_begin[requests + 1].astype(np.int64) - begins
    pieces = np.cumsum(counts) // _ACCESSES_AT_ONCE
    for piece in np.split(np.arange(len(requests)), np.flatnonzero(np.diff(pieces)) + 1):
        chosen = np.repeat(piece, counts[piece])
        starts = np.cumsum(counts[piece]) - counts[piece]
        place = np.arange(len(chosen)) - np.repeat(starts, counts[piece])
        yield chosen, accesses.ids[begins[chosen] + place], place.astype(np.uint64)
