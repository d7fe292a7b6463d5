"""The fields and units that names and values of columns suggest."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from mcsim.exchange.samples import is_date, is_number, number_of

Role = Literal["key", "offset", "length", "time", "op", "vm", "response", "repeat"]

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_BINARY_UNIT = re.compile(r"[KM]i?B(?![A-Za-z])")

_TIME_UNITS = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "ms": ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    "us": ("us", "usec", "usecs", "micros", "microsecond", "microseconds"),
    "ns": ("ns", "nanos", "nanosecond", "nanoseconds"),
    "filetime": ("filetime",),
}
_BYTE_WORDS = {"byte", "bytes", "nbytes", "b"}
_UNIT_BYTES = {
    **dict.fromkeys(("kib", "kb", "kbyte", "kbytes"), 1 << 10),
    **dict.fromkeys(("mib", "mb", "mbyte", "mbytes"), 1 << 20),
}

# Names by field, the most telling first. A name matches if it has all words of an entry.
_NAMES: dict[Role, Sequence[str]] = {
    "response": ("response time", "response", "latency", "lat", "duration", "elapsed"),
    "repeat": ("op count", "repeat"),
    "key": (
        *("key", "obj id", "object id", "objectid", "objid", "object", "obj", "hash ids", "url"),
        *("uuid", "content id", "item id", "item"),
    ),
    "time": (
        *("timestamp", "time", "ts", "start time", "arrival", "date", "datetime", "occurred"),
        *("clock", "epoch"),
    ),
    "op": (
        *("op", "operation", "rwbs", "rw", "iotype", "optype", "opcode", "type", "command", "cmd"),
        *("is write", "iswrite", "is read", "isread", "direction", "dir", "verb", "method"),
        *("access", "flags", "write", "read"),
    ),
    "vm": (
        *("vm", "guest", "machine", "instance", "tenant", "volume", "lun", "host", "hostname"),
        *("server", "device", "disk", "dev"),
    ),
}
_OTHER_TIMES = {"end", "finish", "finished", "complete", "completed", "completion", "ttl", "expiry"}
_OFFSET_WORDS = {"offset", "off", "address", "addr", "position", "pos"}
_LENGTH_WORDS = {"length", "len", "size", "sz", "bytes", "nbytes"}
_COUNT_WORDS = {"count", "cnt", "n", "nr", "num"}

_UNIT = r"(?P<unit>sect(?:or)?|lba|lbn|bl(?:oc)?k|page)"
_UNITS_COUNTED = re.compile(
    rf"(?:n|nr|num|numberof|number|noof|no|count)(?:of)?(?:{_UNIT}s?|lb)|"
    r"(?:sect(?:or)?|lba|bl(?:oc)?k|page)s|"
    r"(?:sect(?:or)?|lba|bl(?:oc)?k|page)s?(?:count|cnt|len|length)|nlb"
)
_UNIT_NUMBER = re.compile(
    rf"(?:s|start|starting|first|begin|logical|phys|physical|disk)?(?:{_UNIT}|pfn|[lpv]pn)"
    r"(?:no|nr|num|number|id|index|start)?"
)

_READ_WORDS = {"read", "r", "reads", "rd", "get", "gets", "load", "0x28", "28", "fetch"}
_WRITE_WORDS = {"write", "w", "writes", "wr", "wt", "set", "put", "store", "add", "0x2a", "2a"}
_DISCARD_WORDS = {"discard", "d", "delete", "del", "trim", "t", "unmap"}
_FLUSH_WORDS = {"flush", "f", "sync", "fsync", "fdatasync"}
_WORDS = {
    "read": _READ_WORDS,
    "write": _WRITE_WORDS,
    "discard": _DISCARD_WORDS,
    "flush": _FLUSH_WORDS,
}
# The words that need no parameter (core/trace/reading/row_mapper.hpp).
_DEFAULT_WORDS = {
    "read": {"read", "r"},
    "write": {"write", "w"},
    "discard": {"discard", "trim", "delete", "unmap", "d", "t"},
    "flush": {"flush", "sync", "fsync", "f"},
}
_RWBS = re.compile(r"F?[RWDN][AFSME]*|FF?[ASM]*")
_CLOCK_RANGES = (
    (1.16e17, 1.5e17, "filetime"),
    (1e18, 3e18, "ns"),
    (1e15, 3e15, "us"),
    (1e12, 3e12, "ms"),
    (1e9, 3e9, "s"),
)


class Unit(NamedTuple):
    """The unit of an offset or a length."""

    kind: Literal["bytes", "sectors", "blocks", "count"]
    block_bytes: int = 4096

    @property
    def name(self) -> str:
        """The unit in words."""
        if self.kind == "blocks":
            return f"blocks of {self.block_bytes:,} bytes"
        return self.kind


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, in lower case."""
    name = _BINARY_UNIT.sub(lambda unit: f" {unit[0].lower()}", name)
    return [word for word in re.split(r"[^a-z0-9]+", _HUMP.sub(" ", name).lower()) if word]


def role_rank(role: Role, name: str) -> int | None:
    """Return how well a name fits a field, 0 the best; None if it does not."""
    words = words_of(name)
    if role in ("offset", "length"):
        return _place_rank(role, words)
    if role == "time" and _OTHER_TIMES & set(words):
        return None
    for rank, known in enumerate(_NAMES[role]):
        if " ".join(words) == known or set(known.split()) <= set(words):
            return rank
    return None


def _place_rank(role: Role, words: Sequence[str]) -> int | None:
    """Return the rank of a name as an offset or a length."""
    compact = "".join(word for word in words if word not in _BYTE_WORDS | set(_UNIT_BYTES))
    is_count = _UNITS_COUNTED.fullmatch(compact) is not None
    is_offset = bool(_OFFSET_WORDS & set(words))
    is_length = not is_offset and bool(_LENGTH_WORDS & set(words))
    if role == "offset":
        if is_offset:
            return 0
        is_number = not is_count and not is_length and _UNIT_NUMBER.fullmatch(compact)
        return 1 if is_number else None
    if is_count:
        return 0
    if is_length:
        is_whole = not {"block", "sector", "page"} & set(words)
        return 1 if is_whole else 2
    return 3 if not is_offset and _COUNT_WORDS & set(words) else None


def unit_of_name(name: str) -> Unit | None:
    """Return the unit that the name of an offset or of a length states, if it does."""
    words = words_of(name)
    for word in words:
        if word in _UNIT_BYTES:
            return Unit("blocks", _UNIT_BYTES[word])
    if (len(words) > 1 and _BYTE_WORDS & set(words)) or words[:1] in (["bytes"], ["nbytes"]):
        return Unit("bytes")
    compact = "".join(words)
    if "logicalblockaddress" in compact:
        return Unit("sectors")
    if {"size", "length", "len"} & set(words) and not re.search(r"sectors|blocks|pages", compact):
        return None  # block_size has no stated unit
    if re.search(r"sect|lba|lbn|nlb", compact):
        return Unit("sectors")
    if re.search(r"bl(oc)?k|page|pfn|[lpv]pn", compact):
        return Unit("blocks")
    return Unit("count") if _COUNT_WORDS & set(words) else None


def time_unit_of_name(name: str) -> str | None:
    """Return the unit that the name of a time ends with."""
    words = words_of(name)
    for unit, known in _TIME_UNITS.items():
        if words and words[-1] in known:
            return unit
    return None


def has_known_time_unit(name: str) -> bool:
    """Return whether the reader finds the unit of a time in its name."""
    return bool(re.search(r"_(s|ms|us|ns|filetime|iso)$", name.lower()))


def clock_unit(values: Sequence[str]) -> str | None:
    """Return the unit in which times are dates after 1970, or that they are written as dates."""
    if values and all(map(is_date, values)):
        return "iso"
    numbers = [number_of(value) for value in values if is_number(value)]
    if not numbers or len(numbers) < len(values):
        return None
    for least, most, unit in _CLOCK_RANGES:
        if least <= min(numbers) and max(numbers) <= most:
            return unit
    return None


def is_rising(values: Sequence[str]) -> bool:
    """Return whether values are numbers that do not decrease, and not all the same."""
    if not values or not all(map(is_number, values)):
        return False
    numbers = [number_of(value) for value in values]
    return numbers == sorted(numbers) and numbers[0] != numbers[-1]


def is_operation(values: Collection[str]) -> bool:
    """Return whether all values are words of operations, some of them reads or writes."""
    words = set(values)
    if not words or not all(_operation_of(word) or _RWBS.fullmatch(word) for word in words):
        return False
    kinds = {_operation_of(word) or ("read" if "R" in word else "write") for word in words}
    return bool(kinds & {"read", "write"})


def is_switch(values: Collection[str]) -> bool:
    """Return whether all values are 0 or 1, or false or true."""
    words = {value.lower() for value in values}
    return bool(words) and (words <= {"0", "1"} or words <= {"false", "true"})


def operation_options(name: str, values: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the parameters for the words of operations that are not known without, and why."""
    words = set(values)
    if is_switch(words):
        on, off = ("true", "false") if words & {"true", "false", "True", "False"} else ("1", "0")
        first = words_of(name)
        is_read = "read" in first or "isread" in first
        is_named = is_read or "write" in first or "iswrite" in first
        reason = "by its name" if is_named else "a guess: check which number {}s"
        read, write = (on, off) if is_read else (off, on)
        return {"read": (read, reason.format("read")), "write": (write, reason.format("write"))}
    if all(_RWBS.fullmatch(word) or word.lower() in _known_words() for word in words):
        return {}
    options = {}
    for operation, known in _WORDS.items():
        found = sorted(word for word in words if word.lower() in known)
        if not {word.lower() for word in found} <= _DEFAULT_WORDS[operation]:
            options[operation] = (",".join(found), f"values such as {found[0]}")
    return options


def _known_words() -> set[str]:
    return set().union(*_DEFAULT_WORDS.values())


def _operation_of(word: str) -> str | None:
    return next((name for name, known in _WORDS.items() if word.lower() in known), None)
