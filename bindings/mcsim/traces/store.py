"""The trace store: requests as columns in an Arrow IPC file, with what is known of them.

The file holds record batches of the columns in `SCHEMA`, and of classes if it has any
(`CLASSED_SCHEMA`); the schema's metadata
has under the key ``mcsim`` the `TraceMetadata` as JSON. Any Arrow reader opens it.
Beside that and beside every batch is a checksum, under ``mcsim-checksum``. Nothing in
the file is relied on before it was checked: the metadata when it is opened, a batch
when it is read for the first time.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from mcsim._core import __version__
from mcsim._core import trace as _core_trace
from mcsim.base.errors import TraceError, host_faults
from mcsim.base.inputs import open_regular, parse_object
from mcsim.traces.batches import (
    DISCARD,
    Batch,
    Kind,
    batch_of,
    check_vm_names,
    is_trace_schema,
    keys_in,
)
from mcsim.traces.checks import Signs
from mcsim.traces.digests import keys_digest

STORE_VERSION = 1
BATCH_REQUESTS = 1 << 20
BLOCK_BYTES = 4096

TimeBase = Literal["clock", "index"]
OptionValue = bool | int | float | str

_NO_SIGNS = Signs()
_METADATA_KEY = b"mcsim"
CHECKSUM_KEY = b"mcsim-checksum"


@dataclass(frozen=True, slots=True)
class Counts:
    """Facts from one pass over the columns.

    Blocks are accesses to aligned blocks of 4 KiB. An empty trace has both times 0.
    """

    requests: int = 0
    """Reads and writes."""
    reads: int = 0
    blocks: int = 0
    read_blocks: int = 0
    first_time: int = 0
    last_time: int = 0
    discards: int = 0

    def plus(self, batch: Batch, kind: Kind = "blocks") -> Counts:
        """Return the counts with those of a later batch added; an object is one block."""
        if len(batch.time) == 0:
            return self
        is_discard = batch.op == DISCARD
        if kind == "objects":
            blocks = np.ones(len(batch.time), np.uint64)
        else:
            block = np.uint64(BLOCK_BYTES)
            last_byte = batch.offset + np.maximum(batch.length, 1) - np.uint64(1)
            blocks = last_byte // block - batch.offset // block + np.uint64(1)
            blocks *= batch.length > 0
        blocks[is_discard] = 0
        is_read = batch.op == 0
        discards = int(is_discard.sum())
        low, high = int(batch.time.min()), int(batch.time.max())
        is_first = not self.requests and not self.discards
        return Counts(
            requests=self.requests + len(batch.time) - discards,
            reads=self.reads + int(is_read.sum()),
            blocks=self.blocks + int(blocks.sum()),
            read_blocks=self.read_blocks + int(blocks[is_read].sum()),
            first_time=low if is_first else min(self.first_time, low),
            last_time=high if is_first else max(self.last_time, high),
            discards=self.discards + discards,
        )

    @property
    def rows(self) -> int:
        """Requests and discards."""
        return self.requests + self.discards


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of a source that are not requests, and requests that rows stand for.

    Attributes
    ----------
    filtered : int
        Rows that the format, or `where`, defines as no request.
    skipped : int
        Unreadable rows, which were left out.
    flushes : int
    repeated : int
        Requests of rows with a repeat count, without the first of each.
    """

    filtered: int = 0
    skipped: int = 0
    flushes: int = 0
    repeated: int = 0

    def __bool__(self) -> bool:
        return any((self.filtered, self.skipped, self.flushes, self.repeated))


@dataclass(frozen=True, slots=True)
class TraceMetadata:
    """Facts about a trace other than its requests."""

    source: str
    """File name of what the trace was read from, or what made it."""
    source_digest: str
    """SHA-256 of that, in hexadecimal."""
    digest: str
    """Identity of the requests: the source's digest and how it was read."""
    format: str
    options: Mapping[str, OptionValue]
    time_base: TimeBase
    vms: tuple[str, ...]
    counts: Counts
    rows: RowCounts = RowCounts()
    complaints: tuple[str, ...] = ()
    """Errors of the first skipped rows."""
    kind: Kind = "blocks"
    vm_from_file: bool = False
    """Whether the VM has the name of the file, for the content names none."""
    signs: Signs = _NO_SIGNS
    """Signs of wrong times and lengths."""
    keys_digest: str = ""
    """SHA-256 of the text keys of objects; empty if there are none."""
    synthetic: bool = False
    has_lengths: bool = True
    """Whether the source has lengths; otherwise each request is a block."""
    notes: tuple[str, ...] = ()
    """Warnings about what the source has and the requests lack."""
    mcsim_version: str = __version__
    store_version: int = STORE_VERSION

    @property
    def has_prefixes(self) -> bool:
        """Whether a request is a prefix by the hashes of its blocks, each of which is an object."""
        return self.format == "mooncake" or self.options.get("key") == "hash_ids"

    def to_json(self) -> bytes:
        """Return the form kept in the store."""
        values = asdict(self)
        # Most traces have the default, which earlier versions did not write.
        for name, default in _DEFAULTS.items():
            if values[name] == default:
                del values[name]
        return json.dumps(values, sort_keys=True).encode()

    @classmethod
    def from_json(cls, text: bytes) -> TraceMetadata:
        """Read the form kept in the store; ValueError if it is of another shape."""
        values: dict[str, Any] = parse_object(text)
        if values.get("store_version") != STORE_VERSION:
            raise ValueError("another store version")
        if "skipped_lines" in values:  # as earlier versions wrote it
            values["rows"] = {"skipped": values.pop("skipped_lines")}
        if set(values) | set(_DEFAULTS) != {f.name for f in fields(cls)}:
            raise ValueError("other metadata")
        for name in ("has_lengths", "synthetic", "vm_from_file"):
            if not isinstance(values.get(name, True), bool):
                raise ValueError(f"{name} {values[name]!r}")
        if "has_lengths" not in values:
            values["has_lengths"] = _may_tell_lengths(values["format"], values["options"])
        values["counts"] = Counts(**values["counts"])
        values["rows"] = RowCounts(**values.get("rows", {}))
        values["signs"] = Signs(**values.get("signs", {}))
        values["vms"] = tuple(values["vms"])
        values["complaints"] = tuple(values["complaints"])
        values["notes"] = tuple(map(str, values.get("notes", ())))
        check_vm_names(values["vms"])
        if values["time_base"] not in get_args(TimeBase):
            raise ValueError(f"time_base {values['time_base']!r}")
        if values.get("kind", "blocks") not in get_args(Kind):
            raise ValueError(f"kind {values['kind']!r}")
        counts = [asdict(values[name]) for name in ("counts", "rows", "signs")]
        if not all(isinstance(count, int) for of in counts for count in of.values()):
            raise ValueError("counts that are no whole numbers")
        return cls(**values)


_DEFAULTS: dict[str, Any] = {
    "has_lengths": True,
    "kind": "blocks",
    "vm_from_file": False,
    "keys_digest": "",
    "signs": asdict(_NO_SIGNS),
    "rows": asdict(RowCounts()),
    "notes": (),
}


def _may_tell_lengths(format: str, options: Mapping[str, OptionValue]) -> bool:
    """Return whether a source may have lengths that its store does not record."""
    if format == "keys" or options.get("ignore_size", False):
        return False
    return options.get("length") != ""


class _Begin(NamedTuple):
    """State before a batch."""

    rows: int = 0
    last_time: int | None = None


class Store:
    """The record batches of a store file, memory-mapped.

    Iterating raises TraceError at a batch that is damaged or holds what a trace cannot,
    unless the store knows how it is made anew: then it is, and iterating goes on.

    Parameters
    ----------
    path : Path
    make_anew : callable, optional
        Replaces the file by one with the same requests; receives the error.
    """

    def __init__(self, path: Path, make_anew: Callable[[TraceError], None] | None = None) -> None:
        self.path = path
        self._make_anew = make_anew
        self._open()

    def _open(self) -> None:
        with open_regular(self.path) as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._mapped)))
        # Beginnings of the batches with verified predecessors.
        self._begins = {0: _Begin()}

    def __len__(self) -> int:
        return int(self._reader.num_record_batches)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for index in range(len(self)):
            try:
                record_batch = self._batch(index)
            except TraceError as error:
                if self._make_anew is None:
                    raise
                # Once only: what is damaged again is no accident.
                make_anew, self._make_anew = self._make_anew, None
                make_anew(error)
                self._open()
                for checked in range(index):
                    self._batch(checked)
                record_batch = self._batch(index)
            yield record_batch
            # Release the pages that were read: the file may be larger than memory.
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def _batch(self, index: int) -> pa.RecordBatch:
        """Return a batch after all earlier ones."""
        try:
            record_batch, about = self._reader.get_batch_with_custom_metadata(index)
            if index + 1 not in self._begins:
                begin = self._begins[index]
                self._begins[index + 1] = self._check(record_batch, about or {}, begin)
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise TraceError(f"{self.path}: batch {index}: {error}") from error
        return record_batch

    def _check(
        self, record_batch: pa.RecordBatch, about: Mapping[bytes, bytes], begin: _Begin
    ) -> _Begin:
        """Check a batch, ValueError if something is wrong, and return where the next begins."""
        record_batch.validate()
        batch = batch_of(record_batch)
        stored = about.get(CHECKSUM_KEY)
        if stored is not None and stored != checksum_of(batch, begin.rows):
            raise ValueError("it is damaged, for its checksum does not match")
        wrong = _core_trace.wrong_in(
            *batch,
            vms=len(self.metadata.vms),
            kind=self.metadata.kind,
            first_row=begin.rows,
            after=begin.last_time,
        )
        keys = keys_in(record_batch)
        if wrong is None and keys is not None and int(batch.offset.max(initial=0)) >= len(keys):
            wrong = f"a key beyond {len(keys)}"
        if wrong is not None:
            raise ValueError(wrong)
        last_time = int(batch.time[-1]) if len(batch.time) else begin.last_time
        return _Begin(begin.rows + len(batch.time), last_time)

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        return Store, (self.path,)

    @cached_property
    def keys(self) -> pa.Array | None:
        """Text keys of the objects by their ids; None if there are none."""
        if not len(self):
            return None
        keys = keys_in(self._reader.get_batch(0))
        if keys is not None:
            keys.validate(full=True)
        return keys

    @property
    def row_count(self) -> int:
        """Number of requests, from the heads of the batches."""
        rows = (self._reader.get_batch(index).num_rows for index in range(len(self)))
        return int(sum(rows))

    @cached_property
    def metadata(self) -> TraceMetadata:
        """Metadata of the file; ValueError if it is not a store of this version."""
        schema = self._reader.schema
        if not is_trace_schema(schema) or _METADATA_KEY not in (schema.metadata or {}):
            raise ValueError("other columns")
        check_metadata(schema)
        return TraceMetadata.from_json(schema.metadata[_METADATA_KEY])


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def checksum_of(batch: Batch, first_row: int) -> bytes:
    """Return the checksum of a batch, stored under `CHECKSUM_KEY`."""
    return f"{_core_trace.checksum(*batch, first_row=first_row):016x}".encode()


def schema_with(metadata: TraceMetadata, schema: pa.Schema) -> pa.Schema:
    """Return a store's schema, carrying the metadata."""
    said = metadata.to_json()
    return schema.with_metadata({_METADATA_KEY: said, CHECKSUM_KEY: _digest(said)})


def is_store(path: Path) -> bool:
    """Return whether an Arrow file claims to be a store of mcsim, complete or not."""
    try:
        schema = pa.ipc.open_file(pa.memory_map(os.fsencode(path))).schema
    except (pa.ArrowException, OSError):
        return True  # the caller that opens it reports the error
    return _METADATA_KEY in (schema.metadata or {})


def metadata_in(schema: pa.Schema) -> TraceMetadata | None:
    """Return the description in a table of mcsim's; None if there is none that can be read."""
    said = (schema.metadata or {}).get(_METADATA_KEY)
    try:
        return None if said is None else TraceMetadata.from_json(said)
    except (ValueError, TypeError, AttributeError):
        return None


def check_metadata(schema: pa.Schema) -> None:
    """Raise ValueError if the description in a table of mcsim's differs from its checksum."""
    said, checksum = ((schema.metadata or {}).get(key) for key in (_METADATA_KEY, CHECKSUM_KEY))
    if said is not None and checksum is not None and checksum != _digest(said):
        raise ValueError("its metadata are damaged")


def open_store(path: Path, make_anew: Callable[[TraceError], None] | None = None) -> Store:
    """Open a store file and check that all of it is there.

    Its batches are checked as they are read, with `make_anew` as of `Store`.

    Raises
    ------
    TraceError
        If the file is no Arrow file, not a store of this version, or incomplete.
    """
    with host_faults(path):
        try:
            store = Store(path, make_anew)
            if (rows := store.row_count) != store.metadata.counts.rows:
                raise ValueError(f"{rows} rows instead of {store.metadata.counts.rows}")
            if store.metadata.keys_digest != keys_digest(store.keys):
                raise ValueError("its keys are damaged")
        except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError) as error:
            raise TraceError(f"{path}: not a trace store of this version: {error}") from error
        return store
