"""Read chain traces from JSON Lines; `chain_lines` finds the line of an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim._core import trace as _lines
from mcsim.base.arguments import file_given, whole_number
from mcsim.base.errors import ConfigError, TraceError, host_faults
from mcsim.base.inputs import note_input, open_regular, printable, stem_of
from mcsim.traces.chain_lines import (
    MOST_BLOCK_TOKENS,
    MOST_SECONDS,
    MOST_TOKENS,
    IdRule,
    Layout,
    LineError,
    check_lines,
    layout_of,
    lines_of,
    parse_line,
)
from mcsim.traces.chains import ChainTrace, chained, lengths_fit, number_values

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK = 16 << 20
_LARGEST = (1 << 31) - 1
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".lz4": "lz4", ".zst": "zstd"}


class _BrokenRuleError(Exception):
    """A column breaks a rule of lines."""


def read(
    path: Any,
    *,
    ids: IdRule,
    block_tokens: int | None,
    fields: Mapping[str, str],
    time_unit: float | None,
) -> ChainTrace:
    """Read a trace, as of `mcsim.traces.chains.read_chains`."""
    file = file_given("path", path)
    if block_tokens is not None:
        whole_number("block_tokens", block_tokens, 1, 2**31)
    if time_unit is not None and not 0 < time_unit < float("inf"):
        raise ConfigError(f"time_unit: expected a number of seconds, got {time_unit}")
    note_input(file)
    name = printable(file)
    with host_faults(file):
        content = _content(file)
    try:
        layout = layout_of(
            content, fields=fields, ids=ids, block_tokens=block_tokens, time_unit=time_unit
        )
        try:
            return _trace(_table(content, layout), layout, printable(stem_of(file)))
        except _BrokenRuleError as error:
            check_lines(content, layout)
            raise TraceError(str(error)) from None
    except LineError as error:
        raise TraceError(f"{name}:{error.number}: {error}") from None
    except (ConfigError, TraceError) as error:
        raise type(error)(f"{name}: {error}") from None


def first_fields(file: Path) -> list[str]:
    """Return the names of the fields of the first line.

    Raises
    ------
    TraceError
        If the file has no such line.
    """
    _, line = next(lines_of(_content(file)), (0, b""))
    return list(parse_line(line))


def _content(file: Path) -> bytes:
    import pyarrow as pa

    with open_regular(file) as opened:
        if (codec := _COMPRESSED.get(file.suffix)) is None:
            return opened.read()
        try:
            with pa.CompressedInputStream(pa.PythonFile(opened), codec) as stream:
                content: bytes = stream.read()
                return content
        except (OSError, pa.ArrowException) as error:
            raise TraceError(f"{printable(file)}: cannot be decompressed: {error}") from None


def _table(content: bytes, layout: Layout) -> pa.Table:
    """Read the fields of all lines: Arrow reads those that are not in the simplest form."""
    import pyarrow as pa

    def kind(role: str) -> pa.DataType:
        number = pa.uint64() if role == "ids" else pa.int64()
        return pa.string() if layout.is_text[role] else number

    types = {
        "ids": lambda: pa.list_(kind("ids")),
        "time": pa.float64,
        "finish": pa.float64,
        "tenant": lambda: kind("tenant"),
        "session": lambda: kind("session"),
    }
    named = {name: types.get(role, pa.int64)() for role, name in layout.names.items()}
    if layout.parent:
        named[layout.parent] = pa.int64()
    schema = pa.schema(list(named.items()))
    flat = _flat_table(content, schema)
    return _parsed_table(content, schema) if flat is None else flat


def _flat_table(content: bytes, schema: pa.Schema) -> pa.Table | None:
    """Read lines in the simplest form; return None if there are others."""
    import pyarrow as pa

    def made(kind: pa.DataType, column: tuple[Any, Any, Any, bytes]) -> pa.Array:
        list_ends, numbers, text_ends, text = column
        if pa.types.is_list(kind):
            values = made(kind.value_type, column)
            return pa.ListArray.from_arrays(pa.array(list_ends), values)
        if pa.types.is_string(kind):
            ends, texts = pa.py_buffer(text_ends), pa.py_buffer(text)
            return pa.StringArray.from_buffers(len(text_ends) - 1, ends, texts)
        return pa.array(numbers.view(kind.to_pandas_dtype()))

    def field(of: pa.Field) -> tuple[str, str, bool]:
        is_list = pa.types.is_list(of.type)
        return of.name, str(of.type.value_type if is_list else of.type), is_list

    columns = _lines.read_flat_columns(content, [field(of) for of in schema])
    if columns is None:
        return None
    return pa.table(list(map(made, schema.types, columns)), schema=schema)


def _parsed_table(content: bytes, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    longest = _CHUNK
    while True:
        try:
            table = pj.read_json(
                pa.BufferReader(content),
                read_options=pj.ReadOptions(block_size=min(longest, _LARGEST)),
                parse_options=pj.ParseOptions(
                    explicit_schema=schema,
                    unexpected_field_behavior="ignore",
                ),
            )
        except pa.ArrowException as error:
            if "straddl" in str(error) and longest < min(len(content), _LARGEST):
                longest = len(content) + 1
                continue
            raise _BrokenRuleError(str(error)) from None
        _check_one_a_line(content, table)
        return table


def _check_one_a_line(content: bytes, table: pa.Table) -> None:
    """Check that no line has two objects."""
    if sum(not line.isspace() for line in content.splitlines() if line) != len(table):
        raise _BrokenRuleError("expected one object a line")


def _trace(table: pa.Table, layout: Layout, label: str) -> ChainTrace:
    names = layout.names
    lists = table[names["ids"]].combine_chunks()
    _require(lists.null_count == 0, "a line has no ids")
    starts = lists.offsets.to_numpy().astype(np.int64)
    flat = lists.values[starts[0] : starts[-1]]
    starts -= starts[0]
    _require(flat.null_count == 0, "an id is null")
    counts = np.diff(starts)
    block = layout.block_tokens
    if block is None:
        blocks = _whole(table, names["block_tokens"])
        block = int(blocks[0])
        is_valid = 0 < block <= MOST_BLOCK_TOKENS
        _require(is_valid and bool((blocks == block).all()), "blocks of several sizes")
    if "tokens" in names:
        tokens = _whole(table, names["tokens"])
        _require(bool(lengths_fit(counts, tokens, block).all()), "lengths do not add up")
    else:
        _require(bool((counts > 0).all()), "a list is empty")
        tokens = counts * block
    numbers, conflicts = chained(starts, number_values(flat))
    _require(layout.ids != "prefix" or not conflicts, "an id follows two different ids")
    trace = ChainTrace(
        starts, numbers, tokens, block,
        label=label,
        notes=[_about(conflicts)] if conflicts and layout.ids == "auto" else [],
        **_who(table, layout),
    )  # fmt: skip
    return _by_time(trace)


def _about(conflicts: int) -> str:
    which = "1 id follows" if conflicts == 1 else f"{conflicts:,} ids follow"
    return f"{which} different ids, so ids were chained: each block is its id after its prefix"


def _who(table: pa.Table, layout: Layout) -> dict[str, Any]:
    """Return times, outputs, tenants and sessions."""
    import pyarrow.compute as pc

    names, found = layout.names, dict[str, Any]()
    for role, to in {"time": "times", "finish": "finish_times"}.items():
        if role in names:
            times = table[names[role]]
            _require(times.null_count == 0, f"a line has no {role}")
            found[to] = times.to_numpy() * layout.time_unit
            _require(bool((np.abs(found[to]) <= MOST_SECONDS).all()), "a time is not finite")
    if "finish_times" in found and "times" in found:
        _require(bool((found["finish_times"] >= found["times"]).all()), "a finish before the time")
    if "output" in names:
        found["output_tokens"] = _whole(table, names["output"], missing=0)
    if "tenant" in names:
        column = pc.fill_null(table[names["tenant"]].cast("string"), "(none)")
        coded = pc.dictionary_encode(column.combine_chunks())
        found["tenant"] = coded.indices.to_numpy()
        found["tenants"] = coded.dictionary.to_pylist()
    if layout.parent:
        found["session"] = _sessions(table[names["session"]], table[layout.parent])
    elif "session" in names:
        found["session"] = number_values(table[names["session"]].combine_chunks().fill_null(
            "" if layout.is_text["session"] else -1
        ))  # fmt: skip
    return found


def _sessions(chats: pa.ChunkedArray, parents: pa.ChunkedArray) -> NDArray[np.int32]:
    """Number the conversations: a turn belongs to that of its parent."""
    number_of: dict[int | None, int] = {}
    numbers = np.empty(len(chats), np.int32)
    for i, (chat, parent) in enumerate(zip(chats.to_pylist(), parents.to_pylist(), strict=True)):
        number = number_of.get(parent)
        numbers[i] = number_of[chat] = i if number is None else number
    return numbers


def _whole(table: pa.Table, name: str, missing: int | None = None) -> NDArray[np.int64]:
    column = table[name]
    if missing is not None:
        column = column.combine_chunks().fill_null(missing)
    _require(column.null_count == 0, f"a line has no {name}")
    values: NDArray[np.int64] = column.to_numpy()
    is_valid = (values >= 0) & (values <= MOST_TOKENS)
    _require(bool(is_valid.all()), f"{name}: not a number of tokens")
    return values


def _by_time(trace: ChainTrace) -> ChainTrace:
    """Sort the requests by time, stably, and note how many times run backwards."""
    from dataclasses import replace

    if trace.times is None:
        return trace
    back = np.flatnonzero(trace.times[1:] < trace.times[:-1])
    if not back.size:
        return trace
    times = "1 time runs" if back.size == 1 else f"{back.size:,} times run"
    note = f"{times} backwards, first at request {back[0] + 2:,}: requests were sorted by time"
    ordered = trace.taken(np.argsort(trace.times, kind="stable"))
    return replace(ordered, notes=[*trace.notes, note])


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise _BrokenRuleError(reason)
