"""The first rows of a file as text, with the names of its columns."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.base.inputs import printable
from mcsim.traces.metadata import OptionValue
from mcsim.traces.table_files import open_parquet, table_format

_ROWS = 200
_MOST_BYTES = 1 << 18
_DELIMITERS = {",": ",", "\t": "tab", ";": ";", "|": "|"}
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?([eE][-+]?\d+)?|0[xX][0-9a-fA-F]+)")
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d.*")


@dataclass
class Sample:
    """The first rows of a file, and how they are read.

    Attributes
    ----------
    format : str
    options : dict
        Parameters of the format that are not columns, such as the delimiter.
    reasons : dict of str to str
        Reason of each parameter.
    names : list of str or None
        Names of the columns, which may also stand in a comment.
    has_names : bool
        Whether parameters of the format can use these names.
    rows : list of list of str
    """

    format: str
    options: dict[str, OptionValue] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    names: list[str] | None = None
    has_names: bool = True
    rows: list[list[str]] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names or self.rows[0])

    def values(self, column: int) -> list[str]:
        """Return the values of a column, without missing ones."""
        return [row[column].strip() for row in self.rows if column < len(row) and row[column]]

    def label(self, column: int) -> str:
        """Return how a parameter names a column: by its name, or by its position from 1."""
        if not self.has_names or self.names is None:
            return str(column + 1)
        name = self.names[column]
        is_unique = [other.lower() for other in self.names].count(name.lower()) == 1
        is_plain = name and "+" not in name and not name.isdecimal() and name != "none"
        if is_unique and is_plain:
            return name
        return str(column + 1) if self.format == "csv" else name


def sample_of(path: Path) -> Sample:
    """Read the first rows of a file.

    Raises
    ------
    ConfigError
        If it is not a table, or text in UTF-8 with rows.
    """
    kind = table_format(path)
    return _sample_of_text(path) if kind is None else _sample_of_table(path, kind)


def is_number(text: str) -> bool:
    """Return whether a text is a number, also in hexadecimal with 0x."""
    return _NUMBER.fullmatch(text) is not None


def number_of(text: str) -> float:
    """Return the value of such a text."""
    return float(int(text, 16)) if "x" in text.lower() else float(text)


def is_date(text: str) -> bool:
    """Return whether a text begins with a date, such as 2016-02-22."""
    return _DATE.fullmatch(text) is not None


def _sample_of_table(path: Path, kind: str) -> Sample:
    try:
        if kind == "parquet":
            file = open_parquet(path)
            batch = next(file.iter_batches(_ROWS), None)
            names = file.schema_arrow.names
        else:
            reader = pa.ipc.open_file(pa.memory_map(os.fsencode(path)))
            batch = reader.get_batch(0).slice(0, _ROWS) if reader.num_record_batches else None
            names = reader.schema.names
        columns = [] if batch is None else [column.to_pylist() for column in batch.columns]
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read: {printable(str(error))}") from error
    if not columns or not columns[0]:
        raise ConfigError(f"{path}: the table has no rows")
    rows = [
        ["" if v is None else str(int(v)) if isinstance(v, bool) else _text_of(v) for v in row]
        for row in zip(*columns, strict=True)
    ]
    return Sample(kind, names=names, rows=rows)


def _sample_of_text(path: Path) -> Sample:
    lines, comments = _lines_of(path)
    if lines[0].lstrip().startswith("{"):
        return _sample_of_json(path, lines)
    delimiter = max(_DELIMITERS, key=lambda mark: min(line.count(mark) for line in lines))
    if min(line.count(delimiter) for line in lines) == 0:
        delimiter = " "
    sample = Sample("csv")
    if delimiter != ",":
        sample.options["delimiter"] = _DELIMITERS.get(delimiter, "space")
        sample.reasons["delimiter"] = (
            "no other separator is in every line" if delimiter == " " else "in every line"
        )
    rows = list(_split(path, lines, delimiter))
    if any(is_number(value) or is_date(value) for value in rows[0]):
        sample.options["header"] = False
        sample.reasons["header"] = "the first line has numbers"
        sample.has_names = False
        named = list(_split(path, comments[-1:], delimiter))
        if named and len(named[0]) == len(rows[0]) and not any(map(is_number, named[0])):
            sample.names = named[0]
        sample.rows = rows
    else:
        sample.names, sample.rows = rows[0], rows[1:]
    if not sample.rows:
        raise ConfigError(f"{path}: there are no rows after the header")
    return sample


def _lines_of(path: Path) -> tuple[list[str], list[str]]:
    """Return the first whole lines with text, and the comments before them without their #."""
    try:
        with _opened(path) as file:
            head = file.read(_MOST_BYTES)
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, pa.ArrowException, OSError) as error:
        raise ConfigError(f"{path}: damaged: {error}") from None
    if len(head) == _MOST_BYTES:
        end = head.rfind(b"\n")
        if end < 0:
            raise ConfigError(f"{path}:1: longer than {_MOST_BYTES:,} bytes: not a text trace")
        head = head[:end]
    try:
        lines = [line for line in head.decode("utf-8-sig").split("\n") if line.strip()]
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not text in UTF-8: state a binary format") from error
    rows = [line.rstrip("\r") for line in lines if not line.startswith("#")][:_ROWS]
    if not rows:
        raise ConfigError(f"{path}: there are no lines in it")
    comments = []
    for line in lines:
        if not line.startswith("#"):
            break
        comments.append(line.lstrip("#").strip())
    return rows, comments


def _split(path: Path, lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    if delimiter == " ":
        yield from (line.split() for line in lines)
        return
    try:
        for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            yield [value.strip() for value in row]
    except csv.Error as error:
        raise ConfigError(f"{path}: not delimited text: {error}") from error


def _opened(path: Path) -> Any:
    """Open a file that may be compressed, by its first bytes."""
    openers: dict[bytes, Callable[[Path], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ": lzma.open,
        b"\x28\xb5\x2f\xfd": lambda of: pa.CompressedInputStream(of.open("rb"), "zstd"),
    }
    with path.open("rb") as file:
        head = file.read(6)
    found = next((of for magic, of in openers.items() if head.startswith(magic)), None)
    return path.open("rb") if found is None else found(path)


def _sample_of_json(path: Path, lines: Sequence[str]) -> Sample:
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise ConfigError(f"{path}:{number}: not a JSON object: {why}") from None
        if not isinstance(row, dict):
            raise ConfigError(f"{path}:{number}: not a JSON object")
        rows.append(dict(_leaves(row)))
    names = list(rows[0])
    if not names:
        raise ConfigError(f"{path}:1: a JSON object without fields")
    texts = [[_text_of(row.get(name, "")) for name in names] for row in rows]
    return Sample("jsonl", names=names, rows=texts)


def _leaves(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a JSON object and of those in it, by their names with dots."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield before + name, value


def _text_of(value: Any) -> str:
    return str(value[0]) if isinstance(value, list) and value else str(value)
