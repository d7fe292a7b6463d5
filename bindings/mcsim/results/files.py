"""Files of a run: what is in them, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["json_of", "parquet_of", "read_json"]


def parquet_of(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def json_of(value: Mapping[str, Any]) -> bytes:
    """Return a mapping as JSON for people."""
    return (json.dumps(value, indent=2) + "\n").encode()


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of `json_of`."""
    value = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value
