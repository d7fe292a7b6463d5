"""Files of a run, written and read."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from mcsim.base.files import write_whole
from mcsim.base.inputs import open_regular, parse_object, read_regular


def parquet_of(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a table, which is there whole or not at all."""
    write_whole(path, parquet_of(table))


def json_of(value: Mapping[str, Any]) -> bytes:
    """Return a mapping as JSON for people."""
    return (_indented(value, "\n") + "\n").encode()


def _indented(value: Any, line: str) -> str:
    """Return the text of `json.dumps` with an indent of 2; `line` begins its lines.

    With an indent, `json.dumps` uses the slow encoder in Python. Values without nested ones are
    passed to the compiled encoder instead, such as the entry of each of a thousand VMs.
    """
    if not value or not isinstance(value, (dict, list, tuple)):
        return json.dumps(value)
    inner = line + "  "
    named = isinstance(value, dict)
    if not any(of and isinstance(of, (dict, list, tuple)) for of in _parts(value)):
        content = json.dumps(value, separators=("," + inner, ": "))[1:-1]
    else:
        parts = [_indented(of, inner) for of in _parts(value)]
        if named:
            # A key may be a number.
            keys = (json.dumps({key: 0})[1:-4] for key in value)
            parts = [f"{key}: {of}" for key, of in zip(keys, parts, strict=True)]
        content = ("," + inner).join(parts)
    begin, end = "{}" if named else "[]"
    return begin + inner + content + line + end


def _parts(value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def yaml_of(value: Mapping[str, Any]) -> bytes:
    """Return a mapping as YAML for people."""
    writer = YAML()
    writer.default_flow_style = False
    text = io.BytesIO()
    writer.dump(value, text)
    return text.getvalue()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a mapping as JSON for people, which is there whole or not at all."""
    write_whole(path, json_of(value))


def read_parquet(source: Path | pa.BufferReader) -> pa.Table:
    """Read a table, on this thread alone: where memory runs out, no other one is waited for."""
    if not isinstance(source, Path):
        return pq.ParquetFile(source).read(use_threads=False)
    with open_regular(source) as file:
        return pq.ParquetFile(file).read(use_threads=False)


def read_json(path: Path) -> dict[str, Any]:
    """Read what `write_json` wrote."""
    return parse_object(read_regular(path))
