"""Rules of the lines of chain traces, one at a time, to find the line of an error.

Also the layout of a file, which its first line defines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcsim.base.arguments import shortened
from mcsim.base.errors import ConfigError, TraceError
from mcsim.base.suggest import check_choice

IdRule = Literal["auto", "prefix", "content"]
"""Whether an id names a whole prefix, or the content of one block."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "ids": ("hash_ids", "chunk_hashes", "prefix_block_hashes"),
    "tokens": ("input_length", "seq_len", "prompt_tokens", "input_tokens"),
    "output": ("output_length", "completion_tokens", "output_tokens"),
    "time": ("timestamp",),
    "finish": ("finish_time",),
    "block_tokens": ("block_size", "chunk_size"),
    "tenant": ("tenant", "user"),
    "session": ("session_id", "chat_id"),
}
"""The fields of known collections, by role."""

_BLOCK_TOKENS = {"hash_ids": 512, "chunk_hashes": 256}
_QWEN_BLOCK_TOKENS = 16
_LARGEST_ID = 2**64 - 1
MOST_TOKENS = 2**40
"""Tokens of a request, at most."""
MOST_BLOCK_TOKENS = 2**31
MOST_SECONDS = 2**53


class LineError(TraceError):
    """A line that breaks a rule, with its number; the message is without the file."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


@dataclass(frozen=True)
class Layout:
    """The layout of a chain trace.

    Attributes
    ----------
    names : mapping of str to str
        Names of the fields, by role.
    is_text : mapping of str to bool
        Whether the values of a role are text, for ids, tenant and session.
    ids : {'prefix', 'content', 'auto'}
        Whether ids name prefixes; with ``'auto'``, they are chained if they contradict that.
    parent : str
        Field with the previous turn of the session; empty if there is none.
    time_unit : float
        Seconds of a unit of time.
    block_tokens : int or None
        Tokens of a block; None if a field of every line has it.
    """

    names: Mapping[str, str]
    is_text: Mapping[str, bool]
    ids: IdRule
    parent: str
    time_unit: float
    block_tokens: int | None


@dataclass
class LineRules:
    """The rules of lines, in order; `check` raises TraceError at the first broken one."""

    layout: Layout
    block_tokens: int | None = None
    parent_of: dict[int | str, int | str | None] = field(default_factory=dict)

    def check(self, text: bytes) -> None:
        """Check the next line.

        Raises
        ------
        TraceError
            If the line breaks a rule; without the file and the number of the line.
        """
        record = parse_line(text)
        names = self.layout.names
        ids = self._ids(record)
        times = {role: self._time(record, role) for role in ("time", "finish") if role in names}
        if "finish" in times and not times["finish"] >= times.get("time", -math.inf):
            raise TraceError(f"{names['finish']}: {times['finish']}, before {names['time']}")
        for role in ("tenant", "session"):
            if role in names and record.get(names[role]) is not None:
                self._check_kind(role, record[names[role]])
        block = self._block_tokens(record)
        if "output" in names and record.get(names["output"]) is not None:
            _whole(record, names["output"])
        if "tokens" in names:
            self._check_length(len(ids), _whole(record, names["tokens"]), block)
        elif not ids:
            raise TraceError(f"{names['ids']}: the list is empty")
        if self.layout.ids == "prefix":
            self._check_prefixes(ids)

    def _ids(self, record: Mapping[str, Any]) -> list[Any]:
        name = self.layout.names["ids"]
        ids = record.get(name)
        if not isinstance(ids, list):
            raise TraceError(f"{name}: expected a list of ids, got {shortened(ids)}")
        for one in ids:
            self._check_kind("ids", one)
        return ids

    def _time(self, record: Mapping[str, Any], role: str) -> float:
        name = self.layout.names[role]
        time = record.get(name)
        if isinstance(time, bool) or not isinstance(time, (int, float)):
            raise TraceError(f"{name}: expected a number, got {shortened(time)}")
        if not math.isfinite(time) or abs(time * self.layout.time_unit) > MOST_SECONDS:
            raise TraceError(f"{name}: expected a finite time, got {time}")
        return time

    def _check_kind(self, role: str, value: object) -> None:
        name, is_text = self.layout.names[role], self.layout.is_text[role]
        if isinstance(value, str) and is_text:
            return
        kind = "text" if is_text else "an integer"
        if is_text or isinstance(value, bool) or not isinstance(value, int):
            others = ", as in the first line" if isinstance(value, (int, str)) else ""
            raise TraceError(f"{name}: expected {kind}{others}, got {shortened(value)}")
        if role == "ids" and not 0 <= value <= _LARGEST_ID:
            raise TraceError(f"{name}: an id is from 0 to 2^64 - 1, got {value}")

    def _block_tokens(self, record: Mapping[str, Any]) -> int:
        if self.layout.block_tokens is not None:
            return self.layout.block_tokens
        name = self.layout.names["block_tokens"]
        block = _whole(record, name)
        if not 0 < block <= MOST_BLOCK_TOKENS:
            raise TraceError(f"{name}: expected a positive integer up to 2^31, got {block}")
        if self.block_tokens not in (None, block):
            raise TraceError(
                f"{name}: {block}, after {self.block_tokens} in the first line: a trace has blocks "
                "of one size"
            )
        self.block_tokens = block
        return block

    def _check_length(self, blocks: int, tokens: int, block: int) -> None:
        if not tokens // block <= blocks <= -(-tokens // block):
            names = self.layout.names
            raise TraceError(
                f"{names['tokens']}: {tokens:,} tokens do not fill {blocks:,} blocks of {block:,} "
                f"tokens (block_tokens), as {names['ids']} has"
            )

    def _check_prefixes(self, ids: list[int | str]) -> None:
        name = self.layout.names["ids"]
        parent: int | str | None = None
        for one in ids:
            known = self.parent_of.setdefault(one, parent)
            if known != parent:
                before, after = (_position(of) for of in (known, parent))
                raise TraceError(
                    f"{name}: the id {one} {after}, and {before} before: it does not name a prefix"
                )
            parent = one


def _position(parent: int | str | None) -> str:
    return "is the first block" if parent is None else f"follows {shortened(parent)}"


def _whole(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise TraceError(f"{name}: expected a number of tokens, got {shortened(value)}")
    return value


def parse_line(text: bytes) -> dict[str, Any]:
    """Parse a line of JSON.

    Raises
    ------
    TraceError
        If it is not a JSON object.
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"not a JSON object: {error}") from None
    if not isinstance(record, dict):
        raise TraceError("not a JSON object")
    return record


def lines_of(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Return the lines that are not blank, with their numbers from 1."""
    begin, number = 0, 0
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end < 0 else end
        number += 1
        if line := content[begin:end].strip():
            yield number, line
        begin = end + 1


def layout_of(
    content: bytes,
    *,
    fields: Mapping[str, str],
    ids: IdRule,
    block_tokens: int | None,
    time_unit: float | None,
) -> Layout:
    """Derive the layout of a trace from its first line.

    Raises
    ------
    ConfigError
        If a field is missing in the first line, or no field has the ids or the tokens of a block.
    TraceError
        If the file is empty, or its first line is not an object.
    """
    check_choice("ids", ids, ("auto", "prefix", "content"))
    _, first = next(lines_of(content), (0, b""))
    if not first:
        raise TraceError("the file is empty")
    record = parse_line(first)
    names = _names_in(record, fields)
    is_qwen = "parent_chat_id" in record and "chat_id" in record
    if block_tokens is not None:
        names.pop("block_tokens", None)
    elif "block_tokens" not in names:
        block_tokens = _QWEN_BLOCK_TOKENS if is_qwen else _BLOCK_TOKENS.get(names["ids"])
        if block_tokens is None:
            raise ConfigError("block_tokens: the first line has no block_size; give the tokens")
    if ids == "auto" and is_qwen:
        ids = "content"
    if time_unit is None:
        time_unit = 1e-3 if names["ids"] == "hash_ids" and not is_qwen else 1.0
    is_text = {
        role: isinstance(record.get(names.get(role, "")), str) for role in ("tenant", "session")
    }
    is_text["ids"] = _is_first_id_text(content, names["ids"])
    return Layout(
        names=names,
        is_text=is_text,
        ids=ids,
        parent="parent_chat_id" if is_qwen and names.get("session") == "chat_id" else "",
        time_unit=time_unit,
        block_tokens=block_tokens,
    )


def _names_in(record: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the fields of a line, by role."""
    for role in fields:
        check_choice("fields", role, tuple(FIELDS))
    names = {}
    for role, known in FIELDS.items():
        wanted = (fields[role],) if role in fields else known
        found = next((name for name in wanted if name in record), None)
        if found is not None:
            names[role] = found
        elif role in fields:
            raise ConfigError(f"fields: {role}: the first line has no {shortened(fields[role])}")
    if "ids" not in names:
        raise ConfigError(
            f"no list of ids: expected one of {', '.join(FIELDS['ids'])}, or its name as `ids`"
        )
    return names


def _is_first_id_text(content: bytes, name: str) -> bool:
    """Return whether the first id is text."""
    for number, line in lines_of(content):
        try:
            ids = parse_line(line).get(name)
        except TraceError as error:
            raise LineError(number, str(error)) from None
        if isinstance(ids, list) and ids:
            return isinstance(ids[0], str)
    return False


def check_lines(content: bytes, layout: Layout) -> None:
    """Check all lines.

    Raises
    ------
    LineError
        For the first line that breaks a rule.
    """
    rules = LineRules(layout)
    for number, line in lines_of(content):
        try:
            rules.check(line)
        except TraceError as error:
            raise LineError(number, str(error)) from None
