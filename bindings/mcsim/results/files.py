"""Files that the folder of a run may have: declared once, written and read."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from mcsim.base.files import write_whole
from mcsim.base.inputs import open_regular, parse_object, read_regular
from mcsim.results.schemas import SCHEMAS
from mcsim.tables.charts import figure_names


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


DONE = "DONE"
SPEC = "spec.yaml"
ENVIRONMENT = "environment.json"
TIMINGS = "timings.json"
LOG = "log.txt"
PAGE = "page.html"
SECONDS_OF_FIGURES = "seconds-figures.json"
FIGURES = "figures"
"""A folder; the others are files."""

RUN_FILES = frozenset(
    (
        *(DONE, ENVIRONMENT, LOG, PAGE, SECONDS_OF_FIGURES, SPEC, TIMINGS),
        *(f"{table}.parquet" for table in SCHEMAS),
    )
)
"""Names of all files of the folder itself."""

_EARLIER_FIGURES = ("fig1", *(f"fig{number}" for number in range(4, 15)))
"""Names of figures that version 0.1 drew."""

_FIGURE = re.compile(r"([\w-]+)\.(png|pdf|svg)", re.ASCII)


def is_figure(file: str) -> bool:
    """Return whether a file of the folder `figures` has the name of a figure."""
    found = _FIGURE.fullmatch(file)
    return found is not None and (found[1] in _EARLIER_FIGURES or found[1] in figure_names())


def declared(file: str) -> str:
    """Return the name of a file that is about to be written, which is in `RUN_FILES`."""
    assert file in RUN_FILES, file
    return file
