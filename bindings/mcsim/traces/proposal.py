"""Propose which columns of a table or of text are what, from their names and values."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.traces.batches import Kind, batch_with
from mcsim.traces.parsed import Parse, as_declared
from mcsim.traces.store import OptionValue
from mcsim.traces.table_files import open_parquet, table_format
from mcsim.traces.tables import keys_of

_ROWS = 200
_MOST_BYTES = 1 << 18
_DELIMITERS = {",": ",", "\t": "tab", ";": ";", "|": "|"}
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

# Names of columns by field, the most telling first.
_NAMES: dict[str, Sequence[str]] = {
    "key": ("key", "obj id", "object id", "objectid", "object", "obj", "hash ids", "url", "uuid"),
    "offset": (
        "offset",
        "start sector",
        "lba",
        "lbn",
        "sector",
        "address",
        "addr",
        "block",
        "blkno",
    ),
    "length": ("length", "len", "size", "sectors", "nbytes", "bytes", "blocks", "count"),
    "time": ("timestamp", "time", "ts", "start time", "arrival", "date", "datetime"),
    "op": ("op", "operation", "rwbs", "rw", "iotype", "optype", "type", "opcode", "command", "cmd"),
    "vm": ("vm", "guest", "tenant", "volume", "lun", "host", "hostname", "device", "disk", "dev"),
    "response": ("response", "response time", "latency", "duration"),
    "repeat": ("op count", "repeat"),
}
_OP_WORDS: dict[str, re.Pattern[str]] = {
    "read": re.compile(r"r.*|get.*|load|0x28|28", re.IGNORECASE),
    "write": re.compile(r"w.*|set|put|store|add|0x2a|2a", re.IGNORECASE),
    "discard": re.compile(r"d.*|t.*|unmap", re.IGNORECASE),
    "flush": re.compile(r"f.*|sync.*", re.IGNORECASE),
}
_INTEGER = re.compile(r"-?\d+(\.0*)?")
_NUMBER = re.compile(r"-?\d+(\.\d*)?")
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d.*")


@dataclass
class Proposal:
    """A format with parameters, and the reason of each."""

    format: str
    options: dict[str, OptionValue] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    """Names of the columns, or their positions from 1."""

    def set(self, name: str, value: OptionValue, reason: str) -> None:
        """Set a parameter."""
        self.options[name] = value
        self.reasons[name] = reason

    def unused(self) -> list[str]:
        """Return the columns that no parameter names."""
        used = {
            part for value in self.options.values() for part in [str(value), *str(value).split("+")]
        }
        return [column for column in self.columns if column not in used]


@dataclass
class _Sample:
    """The first rows of a file as text."""

    names: list[str] | None
    rows: list[list[str]]

    def values(self, column: int) -> list[str]:
        return [row[column].strip() for row in self.rows if column < len(row) and row[column]]


def propose(path: Path) -> Proposal:
    """Propose a mapping for a file.

    Raises
    ------
    ConfigError
        If the file is not a table and has no lines of text with columns, or no column of
        references can be recognised.
    """
    kind = table_format(path)
    if kind is not None:
        proposal, sample = Proposal(kind), _sample_of_table(path, kind)
    else:
        proposal, sample = _sample_of_text(path)
    proposal.columns = sample.names or [str(k + 1) for k in range(len(sample.rows[0]))]
    taken = _by_names(proposal, sample) if sample.names else {}
    _by_values(proposal, sample, taken)
    if not {"offset", "key"} & set(taken):
        shown = ", ".join(proposal.columns[:12])
        raise ConfigError(f"{path}: no column looks like an offset or a key, among {shown}")
    _add_units(proposal, sample, taken)
    _add_operations(proposal, sample, taken)
    return proposal


def _sample_of_table(path: Path, kind: str) -> _Sample:
    if kind == "parquet":
        file = open_parquet(path)
        batch = next(file.iter_batches(_ROWS), None)
        names = file.schema_arrow.names
    else:
        reader = pa.ipc.open_file(pa.memory_map(os.fsencode(path)))
        batch = reader.get_batch(0).slice(0, _ROWS) if reader.num_record_batches else None
        names = reader.schema.names
    if batch is None:
        raise ConfigError(f"{path}: the table has no rows")
    rows = [[str(value) for value in row.values()] for row in batch.to_pylist()]
    return _Sample(names, rows)


def _sample_of_text(path: Path) -> tuple[Proposal, _Sample]:
    try:
        with _opened(path) as file:
            head = file.read(_MOST_BYTES)
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, pa.ArrowException) as error:
        raise ConfigError(f"{path}: damaged: {error}") from None
    try:
        lines = head.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not text in UTF-8: state a binary format") from error
    if len(head) == _MOST_BYTES:
        lines.pop()
    lines = [line for line in lines if line.strip() and not line.startswith("#")][:_ROWS]
    if not lines:
        raise ConfigError(f"{path}: there are no lines in it")
    if lines[0].lstrip().startswith("{"):
        return Proposal("jsonl"), _sample_of_json(path, lines)
    delimiter = max(_DELIMITERS, key=lambda mark: min(line.count(mark) for line in lines))
    if min(line.count(delimiter) for line in lines) == 0:
        delimiter = " "
    proposal = Proposal("csv")
    if delimiter == " ":
        rows = [line.split() for line in lines]
        proposal.set("delimiter", "space", "no other separator is in every line")
    else:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
        if delimiter != ",":
            proposal.set("delimiter", _DELIMITERS[delimiter], "in every line")
    names = None
    if not any(_NUMBER.fullmatch(value.strip()) for value in rows[0]):
        names, rows = rows[0], rows[1:]
    else:
        proposal.set("header", False, "the first line has numbers")
    if not rows:
        raise ConfigError(f"{path}: there are no rows after the header")
    return proposal, _Sample(names, rows)


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


def _sample_of_json(path: Path, lines: Sequence[str]) -> _Sample:
    rows: list[Mapping[str, Any]] = []
    with suppress(ValueError):
        rows.extend(json.loads(line) for line in lines)
    if not rows:
        raise ConfigError(f"{path}:1: not a JSON object")
    names = list(rows[0])
    return _Sample(names, [[_text_of(row.get(name, "")) for name in names] for row in rows])


def _text_of(value: Any) -> str:
    return str(value[0]) if isinstance(value, list) and value else str(value)


def _words(name: str) -> str:
    return " ".join(re.split(r"[^a-z0-9]+", _HUMP.sub(" ", name).lower())).strip()


def _by_names(proposal: Proposal, sample: _Sample) -> dict[str, int]:
    """Assign columns by their names; return the column of each field."""
    taken: dict[str, int] = {}
    words = [_words(name) for name in sample.names or []]
    for of, known in _NAMES.items():
        if of == "offset" and "key" in taken:
            continue
        ranked = [
            (rank, column)
            for column, name in enumerate(words)
            for rank, one in enumerate(known)
            if column not in taken.values()
            and (name == one or set(one.split()) <= set(name.split()))
        ]
        if ranked:
            column = min(ranked)[1]
            taken[of] = column
            proposal.set(of, proposal.columns[column], "by its name")
    return taken


def _by_values(proposal: Proposal, sample: _Sample, taken: dict[str, int]) -> None:
    """Assign columns by their values, for fields that no name suggests."""
    if sample.names:
        return
    columns = range(len(sample.rows[0]))
    numeric = [c for c in columns if all(map(_NUMBER.fullmatch, sample.values(c)))]
    numbers = {c: [float(value) for value in sample.values(c)] for c in numeric}

    def take(of: str, candidates: Sequence[int], reason: str) -> None:
        if free := [c for c in candidates if c not in taken.values()]:
            taken[of] = free[0]
            proposal.set(of, proposal.columns[free[0]], reason)

    words = [c for c in columns if c not in numeric]
    is_op = [
        c
        for c in words
        if all(any(p.fullmatch(v) for p in _OP_WORDS.values()) for v in set(sample.values(c)))
    ]
    take("op", is_op, "its values are words for operations")
    rising = [c for c in numeric if numbers[c] == sorted(numbers[c]) and len(set(numbers[c])) > 1]
    take("time", rising, "its values never decrease")
    sizes = [c for c in numeric if numbers[c] and all(v > 0 and v % 512 == 0 for v in numbers[c])]
    smallest = sorted(sizes, key=lambda c: max(numbers[c]))
    largest = sorted(numeric, key=lambda c: -max(numbers[c], default=0))
    take("offset", [c for c in largest if c not in smallest[:1]], "it has the largest values")
    take("length", smallest, "multiples of 512")
    if "offset" not in taken:
        take("key", words, "text that differs from row to row")


def _add_units(proposal: Proposal, sample: _Sample, taken: Mapping[str, int]) -> None:
    """Add the units of times, offsets and lengths that the names do not state."""
    for of in ("time", "response"):
        if of in taken:
            name = _words(proposal.columns[taken[of]]).split()
            if not {"s", "ms", "us", "ns"} & set(name[-1:]):
                unit, reason = _time_unit(sample.values(taken[of]), of)
                proposal.set(f"{of}_unit", unit, reason)
    for of in ("offset", "length"):
        if of not in taken or "key" in taken:
            continue
        words = _words(proposal.columns[taken[of]])
        values = [float(v) for v in sample.values(taken[of]) if _NUMBER.fullmatch(v)]
        if "sector" in words or "lba" in words or "lbn" in words:
            proposal.set(f"{of}_unit", "sectors", "by its name")
        elif "block" in words or "page" in words:
            proposal.set(f"{of}_unit", "blocks", "by its name")
        elif not sample.names and values and any(v % 512 for v in values):
            proposal.set(f"{of}_unit", "sectors", "not all values are multiples of 512")


def _time_unit(values: Sequence[str], of: str) -> tuple[str, str]:
    """Guess the unit of times from their size."""
    if values and _DATE.fullmatch(values[0]):
        return "iso", "dates"
    numbers = [abs(float(value)) for value in values if _NUMBER.fullmatch(value)]
    largest = max(numbers, default=0)
    if of == "time":
        for least, most, unit in (
            (1.16e17, 1.5e17, "filetime"),
            (1e18, 3e18, "ns"),
            (1e15, 3e15, "us"),
            (1e12, 3e12, "ms"),
            (1e9, 3e9, "s"),
        ):
            if least <= largest <= most:
                return unit, f"the values are then dates after 1970: {values[0]}"
    return "s", "a guess: check it"


def _add_operations(proposal: Proposal, sample: _Sample, taken: Mapping[str, int]) -> None:
    """Add the words of operations that the defaults do not have."""
    if "op" not in taken:
        return
    words = set(sample.values(taken["op"]))
    if words <= {"0", "1"}:
        proposal.set("read", "0", "a guess: check which number reads")
        proposal.set("write", "1", "a guess: check which number writes")
        return
    defaults = {"read", "r", "write", "w", "discard", "trim", "delete", "unmap", "d", "t"}
    for operation, pattern in _OP_WORDS.items():
        found = sorted(word for word in words if pattern.fullmatch(word))
        if not {word.lower() for word in found} <= defaults | {"flush", "sync", "fsync", "f"}:
            initials = {word[0].upper() for word in found}
            value = f"{initials.pop()}*" if len(initials) == 1 else ",".join(found)
            proposal.set(operation, value, f"values such as {found[0]}")


def first_rows(
    path: Path, format: str, options: Mapping[str, OptionValue], count: int
) -> tuple[Kind, list[dict[str, str]]]:
    """Return what the references are, and the first requests as text by column.

    Raises
    ------
    TraceError, ConfigError
        If the file cannot be read this way.
    """
    plan = Parse(
        source=path,
        format=format,
        options=as_declared(format, options),
        skip_bad_lines=False,
        sort=True,
        progress=lambda done, total: None,
    )
    reader = plan.reader()
    columns = reader.next()
    if columns is None:
        raise ConfigError(f"{path}: there are no requests in it")
    batch = batch_with(columns)
    keys, vms, has_clock = keys_of(reader.keys), reader.vms, reader.time_base == "clock"
    places = ("key", "size") if reader.kind == "objects" else ("offset", "length")
    rows = []
    for i in range(min(count, len(batch.time))):
        time, place = int(batch.time[i]), int(batch.offset[i])
        rows.append(
            {
                "time": _time_text(time) if has_clock else f"{time:,}",
                "VM": vms[batch.vm[i]],
                "op": ("read", "write", "discard")[batch.op[i]],
                places[0]: f"{place:,}" if keys is None else keys[place].as_py(),
                places[1]: f"{int(batch.length[i]):,}",
            }
        )
    return reader.kind, rows


def _time_text(ns: int) -> str:
    """Return a time as a date if it is one after 2000, else in seconds."""
    if ns < 946_684_800 * 10**9:
        return f"{ns / 1e9:.6f} s"
    date = datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{date}.{ns % 10**9 // 1000:06d}"
