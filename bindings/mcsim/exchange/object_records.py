"""Requests as records of objects, for libCacheSim's binary formats oracleGeneral and lcs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.traces.batches import DISCARD, Batch
from mcsim.traces.metadata import TraceMetadata

_SECOND = 10**9
_PIECE = 1 << 20
_MOST_COMMON = 16

_ORACLE_GENERAL = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
_LCS_2 = np.dtype(
    [
        ("time", "<u4"),
        ("id", "<u8"),
        ("size", "<u4"),
        ("op_and_tenant", "<u4"),  # 8 and 24 bits
        ("next", "<i8"),
    ]
)
_LCS_MAGIC = 0x123456789ABCDEF0
_LCS_VERSION = 2
_READ, _WRITE = 12, 13  # libCacheSim's numbers of operations

_LCS_HEADER = np.dtype(
    [
        ("start_magic", "<u8"),
        ("version", "<u8"),
        ("stat_version", "<i8"),
        ("n_req", "<i8"),
        ("n_obj", "<i8"),
        ("n_req_byte", "<i8"),
        ("n_obj_byte", "<i8"),
        ("start_timestamp", "<i8"),
        ("end_timestamp", "<i8"),
        ("n_read", "<i8"),
        ("n_write", "<i8"),
        ("n_delete", "<i8"),
        ("smallest_obj_size", "<i8"),
        ("largest_obj_size", "<i8"),
        ("most_common_obj_sizes", "<i8", _MOST_COMMON),
        ("most_common_obj_size_ratio", "<f4", _MOST_COMMON),
        ("highest_freq", "<i8", _MOST_COMMON),
        ("most_common_freq", "<i4", _MOST_COMMON),
        ("most_common_freq_ratio", "<f4", _MOST_COMMON),
        ("skewness", "<f8"),
        ("n_tenant", "<i4"),
        ("most_common_tenants", "<i4", _MOST_COMMON),
        ("most_common_tenant_ratio", "<f4", _MOST_COMMON),
        ("n_ttl", "<i4"),
        ("smallest_ttl", "<i4"),
        ("largest_ttl", "<i4"),
        ("most_common_ttls", "<i4", _MOST_COMMON),
        ("most_common_ttl_ratio", "<f4", _MOST_COMMON),
        ("unused", "<i8", 897 + 21),
        ("end_magic", "<u8"),
    ]
)


@dataclass(frozen=True)
class ObjectRecords:
    """Columns of records, one for each request of an object or each block of a request.

    Attributes
    ----------
    time : array of uint32
        Seconds.
    id : array of uint64
    size : array of uint32
    op : array of uint8
        0 read, 1 write.
    vm : array of uint16
    lost : set of str
        Keys of `mcsim.exchange.written.ASPECTS` that the trace has and some formats lack.
    notes : list of str
        Changes of times and ids.
    """

    time: NDArray[np.uint32]
    id: NDArray[np.uint64]
    size: NDArray[np.uint32]
    op: NDArray[np.uint8]
    vm: NDArray[np.uint16]
    lost: set[str]
    notes: list[str]

    @classmethod
    def of(
        cls, batches: Iterable[Batch], metadata: TraceMetadata, block_bytes: int
    ) -> ObjectRecords:
        """Return the records of a trace; an object of a block trace is a block.

        Raises
        ------
        ConfigError
            If the trace is longer than 2^32 seconds.
        """
        has_clock = metadata.time_base == "clock"
        lost = {
            name
            for name, has in {
                "offsets": metadata.kind == "blocks",
                "vms": len(metadata.vms) > 1,
                "order": not has_clock,
                "discards": metadata.counts.discards > 0,
                "keys": bool(metadata.keys_digest),
            }.items()
            if has
        }
        parts: list[tuple[NDArray[Any], ...]] = []
        for batch in batches:
            lost |= _lost_in(batch, metadata)
            rows, keys, sizes = _expanded(batch, metadata.kind == "blocks", block_bytes)
            times = batch.time[rows] // _SECOND if has_clock else np.zeros(len(rows), np.int64)
            parts.append((times, keys, sizes, batch.op[rows], batch.vm[rows]))
        types = (np.int64, np.uint64, np.uint32, np.uint8, np.uint16)
        empty = tuple(np.empty(0, kind) for kind in types)
        times, keys, sizes, ops, vms = map(np.concatenate, zip(empty, *parts, strict=True))
        notes: list[str] = []
        return cls(_seconds(times, notes), _ids(keys, vms, notes), sizes, ops, vms, lost, notes)

    def __len__(self) -> int:
        return len(self.id)

    def by_id(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the records ordered by object, those of one object in order, and where it begins.

        Objects are in the order of their ids.
        """
        order = np.argsort(self.id, kind="stable")
        ids = self.id[order]
        is_first = np.concatenate((np.ones(min(len(ids), 1), bool), ids[1:] != ids[:-1]))
        return order, np.flatnonzero(is_first)


def oracle_general(records: ObjectRecords) -> Iterator[bytes]:
    """Yield the bytes of an oracleGeneral file; next accesses are request numbers from 1."""
    order, begins = records.by_id()
    yield from _packed(records, _ORACLE_GENERAL, {"next": _next_access(order, begins, -1)})


def lcs(records: ObjectRecords) -> Iterator[bytes]:
    """Yield the bytes of an lcs file, version 2."""
    order, begins = records.by_id()
    yield _lcs_header(records, order, begins).tobytes()
    op = np.where(records.op == 0, _READ, _WRITE).astype(np.uint32)
    more = {
        "next": _next_access(order, begins, np.iinfo(np.int64).max),
        "op_and_tenant": op | records.vm.astype(np.uint32) << np.uint32(8),
    }
    yield from _packed(records, _LCS_2, more)


def _lost_in(batch: Batch, metadata: TraceMetadata) -> set[str]:
    is_request = batch.op != DISCARD
    has = {
        "operations": bool((batch.op == 1).any()),
        "fractions": metadata.time_base == "clock" and bool((batch.time % _SECOND).any()),
        "responses": bool((batch.response[is_request] >= 0).any()),
        "empty": metadata.kind == "objects" and bool((batch.length[is_request] == 0).any()),
        "classes": batch.classes is not None,
    }
    return {name for name, is_there in has.items() if is_there}


def _expanded(
    batch: Batch, is_blocks: bool, block_bytes: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the row, the key and the size of each record of a batch."""
    if not is_blocks:
        rows = np.flatnonzero(batch.op != DISCARD)
        return rows, batch.offset[rows], np.maximum(batch.length[rows], 1)
    rows = np.flatnonzero((batch.op != DISCARD) & (batch.length > 0))
    block = np.uint64(block_bytes)
    first = batch.offset[rows] // block
    last = (batch.offset[rows] + (batch.length[rows] - np.uint64(1))) // block
    counts = (last - first).astype(np.int64) + 1
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    within = np.arange(total) - np.repeat(ends - counts, counts)
    keys = np.repeat(first, counts) + within.astype(np.uint64)
    return np.repeat(rows, counts), keys, np.full(total, block_bytes, np.uint32)


def _seconds(times: NDArray[np.int64], notes: list[str]) -> NDArray[np.uint32]:
    """Return times in 32 bits, shifted if they do not fit."""
    if not len(times):
        return times.astype(np.uint32)
    first, last = int(times.min()), int(times.max())
    if first < 0 or last >= 2**32:
        notes.append(f"times are shifted by {-first:,} s, so that the first request is at 0")
        times, last = times - first, last - first
    if last >= 2**32:
        raise ConfigError(f"times: a span of {last:,} s exceeds 32 bits")
    return times.astype(np.uint32)


def _ids(keys: NDArray[np.uint64], vms: NDArray[np.uint16], notes: list[str]) -> NDArray[np.uint64]:
    """Return ids that are equal for equal keys of one VM alone: the VM stands above the key."""
    most_vm = int(vms.max(initial=0))
    if most_vm == 0:
        return keys
    bits = int(keys.max(initial=0)).bit_length()
    if bits + most_vm.bit_length() <= 64:
        return keys | vms.astype(np.uint64) << np.uint64(bits)
    notes.append("ids are numbers in order of the first request: VM and key exceed 64 bits")
    order = np.lexsort((keys, vms))
    is_new = (np.diff(keys[order]) != 0) | (np.diff(vms[order]) != 0)
    groups = np.concatenate(([0], np.cumsum(is_new)))
    number = np.empty(len(keys), np.int64)
    number[order] = groups
    _, firsts, inverse = np.unique(number, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), np.uint64)
    rank[np.argsort(firsts)] = np.arange(len(firsts), dtype=np.uint64)
    return rank[inverse]


def _next_access(
    order: NDArray[np.int64], begins: NDArray[np.int64], never: int
) -> NDArray[np.int64]:
    """Return the number, from 1, of the next record with the same object."""
    after = np.full(len(order), never, np.int64)
    if len(order):
        following = order[1:] + 1
        has_next = np.ones(len(order) - 1, bool)
        has_next[begins[1:] - 1] = False
        after[order[:-1][has_next]] = following[has_next]
    return after


def _packed(
    records: ObjectRecords, layout: np.dtype, more: dict[str, NDArray[Any]]
) -> Iterator[bytes]:
    columns: dict[str, NDArray[Any]] = {
        "time": records.time,
        "id": records.id,
        "size": records.size,
        **more,
    }
    for begin in range(0, len(records), _PIECE):
        piece = np.empty(min(_PIECE, len(records) - begin), layout)
        for name, column in columns.items():
            piece[name] = column[begin : begin + len(piece)]
        yield piece.tobytes()


def _lcs_header(
    records: ObjectRecords, order: NDArray[np.int64], begins: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the header with the statistics that libCacheSim's own converter writes."""
    head = np.zeros((), _LCS_HEADER)
    head["start_magic"] = head["end_magic"] = _LCS_MAGIC
    head["version"], head["stat_version"] = _LCS_VERSION, 1
    if not len(records):
        return head
    ends = np.append(begins[1:], len(order))
    sizes = records.size[order[ends - 1]].astype(np.int64)  # of the last request
    counts = ends - begins
    head["n_req"], head["n_obj"] = len(records), len(begins)
    head["n_req_byte"] = records.size.sum(dtype=np.int64)
    head["n_obj_byte"] = sizes.sum()
    head["n_write"] = (records.op == 1).sum()
    head["n_read"] = len(records) - head["n_write"]
    head["start_timestamp"], head["end_timestamp"] = records.time[0], records.time[-1]
    head["smallest_obj_size"], head["largest_obj_size"] = sizes.min(), sizes.max()
    _set_most_common(head, "most_common_obj_sizes", "most_common_obj_size_ratio", sizes)
    _set_most_common(head, "most_common_freq", "most_common_freq_ratio", counts)
    highest = np.unique(counts)[::-1][:_MOST_COMMON]
    head["highest_freq"][: len(highest)] = highest
    head["skewness"] = _skewness(counts)
    head["n_tenant"] = len(np.unique(records.vm))
    _set_most_common(head, "most_common_tenants", "most_common_tenant_ratio", records.vm)
    head["n_ttl"], head["most_common_ttl_ratio"][0] = 1, 1  # all are 0, which is none
    return head


def _set_most_common(head: NDArray[Any], name: str, ratio: str, values: NDArray[Any]) -> None:
    found, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_COMMON]
    head[name][: len(order)] = found[order]
    head[ratio][: len(order)] = counts[order] / len(values)


def _skewness(counts: NDArray[np.int64]) -> float:
    """Return the exponent of Zipf's law: least squares of log(count) by log(rank)."""
    if len(counts) < 2:
        return 0.0
    x = np.log(np.arange(1, len(counts) + 1))
    y = np.log(np.sort(counts)[::-1])
    x -= x.mean()
    return float(-(x @ y) / (x @ x))
