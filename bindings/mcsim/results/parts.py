"""Parts of a run as bytes: tables and facts in one file that tells whether it is whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

__all__ = ["Part"]


@dataclass(frozen=True)
class Part:
    """What is kept of a run before it is finished.

    Its bytes are a line with the SHA-256 of all that follows; a line of JSON with the build that
    made it, the facts, and the length of every table; the tables, each an Arrow IPC stream.
    """

    tables: Mapping[str, pa.Table]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_bytes(self, build: str) -> bytes:
        """Return the content of a file."""
        streams = {name: _stream_of(table) for name, table in self.tables.items()}
        lengths = {name: len(stream) for name, stream in streams.items()}
        head = json.dumps({"build": build, "facts": self.facts, "tables": lengths})
        content = b"\n".join([head.encode(), b"".join(streams.values())])
        return _digest_of(content) + b"\n" + content

    @classmethod
    def from_bytes(cls, data: bytes, build: str) -> Part | None:
        """Read what `to_bytes` returned; None if another build made it.

        Raises
        ------
        ValueError
            If it is not whole.
        """
        digest, _, content = data.partition(b"\n")
        if digest != _digest_of(content):
            raise ValueError("not what its checksum is of")
        line, _, rest = content.partition(b"\n")
        head = json.loads(line)
        if head["build"] != build:
            return None
        tables, begin = {}, 0
        for name, length in head["tables"].items():
            tables[name] = pa.ipc.open_stream(rest[begin : begin + length]).read_all()
            begin += length
        return cls(tables, head["facts"])


def _stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _digest_of(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
