"""Rows of a miss stream: blocks that reach the backend, as requests with times and offsets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim.traces.batches import (
    DISCARD,
    SCHEMA,
    Batch,
    keyed,
    record_batch_of,
    schema_with_keys,
)
from mcsim.traces.block_keys import BlockKeys
from mcsim.traces.digests import keys_digest
from mcsim.traces.store import Counts, TraceMetadata
from mcsim.traces.trace import Trace
from mcsim.traces.workload import Workload

_LONGEST = 2**32 - 1


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
