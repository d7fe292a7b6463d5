"""Traces written to files: the formats, what each of them cannot hold, and their writers."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing
from mcsim.base.suggest import check_choice
from mcsim.exchange.object_records import ObjectRecords, lcs, oracle_general
from mcsim.references.pieces import bytes_of_block
from mcsim.traces.batches import INDEX_TIME, batch_of, keys_in
from mcsim.traces.metadata import BLOCK_BYTES, TraceMetadata
from mcsim.traces.store import named, write_store

_log = logging.getLogger(__name__)

ASPECTS: Mapping[str, str] = {
    "offsets": "offset and length within blocks",
    "operations": "reads and writes",
    "vms": "names of VMs",
    "fractions": "fractions of a second",
    "order": "traces without a clock",
    "responses": "response times",
    "discards": "discards",
    "keys": "keys that are text",
    "empty": "objects of unknown size or size 0",
    "classes": "classes",
}
"""Properties of traces that some formats cannot hold."""

_OF_OBJECTS: Mapping[str, str] = {
    "offsets": "one record for each block of a request; offset and length in it are lost",
    "operations": "writes become reads",
    "vms": "the VM is part of the object id; names of VMs are lost",
    "fractions": "times are whole seconds, rounded down",
    "order": "the trace has no clock: all times are 0",
    "responses": "response times are lost",
    "discards": "discards are left out",
    "keys": "text keys become numbers, in the order of their first request",
    "empty": "unknown sizes, and 0, become 1: libCacheSim leaves out requests of size 0",
    "classes": "classes are lost",
}


@dataclass(frozen=True)
class WrittenFormat:
    """A format that traces are written in.

    Attributes
    ----------
    name : str
    endings : tuple of str
        Ends of file names that select it, without compression.
    codecs : mapping of str to str
        Compression by the last ending.
    lacks : mapping of str to str
        By key of `ASPECTS` that the format cannot hold: the effect on the file.
    """

    name: str
    endings: tuple[str, ...]
    codecs: Mapping[str, str] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_objects(self) -> bool:
        """Whether blocks are written as objects."""
        return "offsets" in self.lacks


_ZSTD = {".zst": "zstd"}

FORMATS = (
    WrittenFormat("arrow", (".arrow",)),
    WrittenFormat("parquet", (".parquet",)),
    WrittenFormat("csv", (".csv",), {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}),
    WrittenFormat("oracle-general", (".oracleGeneral", ".oracleGeneral.bin"), _ZSTD, _OF_OBJECTS),
    WrittenFormat(
        "lcs",
        (".lcs",),
        _ZSTD,
        {name: text for name, text in _OF_OBJECTS.items() if name != "operations"}
        | {"vms": "VMs become tenant numbers and a part of the object id; names are lost"},
    ),
)


def codec_of(path: Path) -> str | None:
    """Return the compression that the end of a file's name selects; None without any."""
    return next((f.codecs[path.suffix] for f in FORMATS if path.suffix in f.codecs), None)


def format_of(path: Path, name: str | None = None) -> WrittenFormat:
    """Return the format in which a trace is written to a file.

    Parameters
    ----------
    path : Path
    name : str, optional
        The format; by default the end of the path selects it.

    Raises
    ------
    ConfigError
        If there is no such format, the end of the path selects none, or the format is not
        compressed this way.
    """
    if name is not None:
        check_choice("format", name, [of.name for of in FORMATS])
        found = next(of for of in FORMATS if of.name == name)
        if codec_of(path) is not None and path.suffix not in found.codecs:
            raise ConfigError(f"{path}: {name} is not compressed as {path.suffix}")
        return found
    for of in FORMATS:
        plain = path.name.removesuffix(path.suffix) if path.suffix in of.codecs else path.name
        if plain.endswith(of.endings):
            return of
    endings = [ending for of in FORMATS for ending in of.endings]
    raise ConfigError(
        f"{path}: expected a name that ends in {', '.join(endings)}, or the last three with .zst, "
        ".csv also with .gz or .bz2"
    )


def save_trace(
    path: Path,
    batches: Iterable[pa.RecordBatch],
    metadata: TraceMetadata,
    format_name: str | None = None,
    block_bytes: int | str | None = None,
) -> None:
    """Write a trace to a file in a format (see `Trace.save`)."""
    if block_bytes is None and metadata.format == "misses":
        block_bytes = cast("str | None", metadata.options.get("block_bytes"))
    size = BLOCK_BYTES if block_bytes is None else bytes_of_block("block_bytes", block_bytes)
    format = format_of(path, format_name)
    if format.has_objects:
        _save_objects(path, batches, metadata, format, size)
    elif format.name == "arrow":
        given = list(batches) if metadata.keys_digest else batches
        write_store(
            path,
            (batch_of(record_batch) for record_batch in given),
            lambda counts: metadata,
            kind=lambda: metadata.kind,
            keys=lambda: keys_in(next(iter(given))) if metadata.keys_digest else None,
        )
    elif format.name == "parquet":
        _save_parquet(path, batches, metadata)
    else:
        _save_text(path, batches, metadata)


def _save_objects(
    path: Path,
    batches: Iterable[pa.RecordBatch],
    metadata: TraceMetadata,
    format: WrittenFormat,
    block_bytes: int,
) -> None:
    """Write records of libCacheSim; log a line for each thing that the format cannot hold."""
    records = ObjectRecords.of(map(batch_of, batches), metadata, block_bytes)
    lost = [text for name, text in format.lacks.items() if name in records.lost]
    for line in [*lost, *records.notes]:
        _log.warning("%s: %s: %s", path, format.name, line)
    with _stream_to(path) as stream:
        for piece in (lcs if format.name == "lcs" else oracle_general)(records):
            stream.write(piece)


@contextmanager
def _stream_to(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file that appears whole or not at all, compressed as its name ends."""
    codec = codec_of(path)
    with replacing(path) as file, pa.OSFile(os.fsencode(file), "wb") as stream:
        if codec is None:
            yield stream
            return
        with pa.CompressedOutputStream(stream, codec) as compressed:
            yield compressed


def _save_parquet(path: Path, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
    import pyarrow.parquet as pq

    schema, named_batches = named(batches, metadata)
    with (
        replacing(path) as file,
        pa.OSFile(os.fsencode(file), "wb") as sink,
        pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        for record_batch in named_batches:
            writer.write_batch(record_batch)


_OPS = ["read", "write", "discard"]
# Text that the reader of CSV would change without quotes.
_NEEDS_QUOTES = r'[",]|^\s|\s$|^$'


def _save_text(path: Path, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
    import pyarrow.csv as text

    schema, named_batches = named(batches, metadata)
    header = _csv_header(metadata, schema)
    style: Literal["needed", "none"] = _quoting_style(pa.array(metadata.vms, pa.string()))
    known = None  # the last keys; batches usually share them
    with _stream_to(path) as stream:
        stream.write((",".join(header) + "\n").encode())
        for record_batch in named_batches:
            columns = record_batch.columns
            keys = columns[3].dictionary if isinstance(columns[3], pa.DictionaryArray) else None
            if keys is not None and style == "none" and not _is_same_memory(known, keys):
                style = _quoting_style(keys)
            known = keys
            columns[1] = columns[1].dictionary_decode()
            columns[2] = pa.array(_OPS).take(columns[2])
            if keys is not None:
                columns[3] = columns[3].dictionary_decode()
            options = text.WriteOptions(include_header=False, quoting_style=style)
            try:
                text.write_csv(pa.RecordBatch.from_arrays(columns, header), stream, options)
            except pa.ArrowInvalid as error:
                raise ConfigError(f"{path}: a name or key cannot stand in CSV: {error}") from error


def _quoting_style(texts: pa.Array) -> Literal["needed", "none"]:
    """Return whether some texts need quotes in CSV (RFC 4180); all texts are quoted then."""
    import pyarrow.compute as pc

    is_needed = pc.any(pc.match_substring_regex(texts, _NEEDS_QUOTES)).as_py()
    return "needed" if is_needed else "none"


def _is_same_memory(one: pa.Array | None, other: pa.Array) -> bool:
    if one is None or len(one) != len(other) or one.offset != other.offset:
        return False
    places = [[b.address for b in of.buffers() if b is not None] for of in (one, other)]
    return places[0] == places[1]


def _csv_header(metadata: TraceMetadata, schema: pa.Schema) -> list[str]:
    time = "time_ns" if metadata.time_base == "clock" else INDEX_TIME
    return [time, "vm", "op", *schema.names[3:5], "response_ns", *schema.names[6:]]
