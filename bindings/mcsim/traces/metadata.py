"""Facts about a trace other than its requests, as stores and tables of mcsim carry them.

The metadata of a schema has under the key ``mcsim`` the `TraceMetadata` as JSON, and their checksum
under ``mcsim-checksum``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pyarrow as pa

from mcsim._core import __version__
from mcsim.base.inputs import parse_object, read_regular
from mcsim.traces.batches import DISCARD, Batch, Kind, check_vm_names

if TYPE_CHECKING:
    from mcsim._core import trace as _core_trace

STORE_VERSION = 1
BLOCK_BYTES = 4096

TimeBase = Literal["clock", "index"]
OptionValue = bool | int | float | str

METADATA_KEY = b"mcsim"
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

    @classmethod
    def of(cls, counted: _core_trace.RequestCounts) -> Self:
        """Return what the core counted."""
        return cls(
            requests=counted.rows - counted.discards,
            reads=counted.reads,
            blocks=counted.blocks,
            read_blocks=counted.read_blocks,
            first_time=counted.first_time,
            last_time=counted.last_time,
            discards=counted.discards,
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
class Signs:
    """Signs of wrong times and lengths; 0 where there are none.

    Attributes
    ----------
    backwards : int
        Requests that are earlier than the one before them in the source.
    gap : int
        Longest time between two consecutive requests, in ns, if it is more than a year.
    gap_at : int
        Number of the request after it, from 1.
    small : int
        Requests of fewer than 64 bytes, if the median is.
    """

    backwards: int = 0
    gap: int = 0
    gap_at: int = 0
    small: int = 0


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
    signs: Signs = Signs()
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
    "signs": asdict(Signs()),
    "rows": asdict(RowCounts()),
    "notes": (),
}


def _may_tell_lengths(format: str, options: Mapping[str, OptionValue]) -> bool:
    """Return whether a source may have lengths that its store does not record."""
    if format == "keys" or options.get("ignore_size", False):
        return False
    return options.get("length") != ""


def schema_with(metadata: TraceMetadata, schema: pa.Schema) -> pa.Schema:
    """Return a store's schema, carrying the metadata."""
    said = metadata.to_json()
    return schema.with_metadata({METADATA_KEY: said, CHECKSUM_KEY: _digest(said)})


def metadata_in(schema: pa.Schema) -> TraceMetadata | None:
    """Return the description in a table of mcsim's; None if there is none that can be read."""
    said = (schema.metadata or {}).get(METADATA_KEY)
    try:
        return None if said is None else TraceMetadata.from_json(said)
    except (ValueError, TypeError, AttributeError):
        return None


def check_metadata(schema: pa.Schema) -> None:
    """Raise ValueError if the description in a table of mcsim's differs from its checksum."""
    said, checksum = ((schema.metadata or {}).get(key) for key in (METADATA_KEY, CHECKSUM_KEY))
    if said is not None and checksum is not None and checksum != _digest(said):
        raise ValueError("its metadata are damaged")


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def write_metadata(path: Path, metadata: TraceMetadata) -> None:
    """Write metadata to a file of their own, with a checksum."""
    text = metadata.to_json()
    content = {"metadata": text.decode(), "checksum": _digest(text).decode()}
    path.write_text(json.dumps(content))


def read_metadata(path: Path) -> TraceMetadata:
    """Read a file of metadata.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, or of another version.
    """
    found = parse_object(read_regular(path))
    text = str(found.get("metadata")).encode()
    if found.get("checksum") != _digest(text).decode():
        raise ValueError(f"{path}: damaged: its checksum does not match")
    return TraceMetadata.from_json(text)
