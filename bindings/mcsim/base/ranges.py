"""Ranges of values: `log(1MiB, 1TiB, 12)` and `linear(0.1, 0.9, 5)`."""

from __future__ import annotations

import re
from typing import NamedTuple

from mcsim.base.units import parse_count

_RANGE = re.compile(r"\s*(log|linear)\s*\(([^(),]*),([^(),]*),([^(),]*)\)\s*")
_OLD_RANGE = re.compile(r"([^:]*):([^:]*):([^:]*)")
_MOST = 10_000


class Range(NamedTuple):
    """`number` values from one end to the other, in equal ratios (log) or steps (linear)."""

    text: str
    kind: str
    begin: str
    end: str
    number: int


def split_range(text: str) -> Range | None:
    """Split a range into its parts; None if the text is not a range.

    Raises
    ------
    ValueError
        If its count is wrong, or it is written as `FROM:TO:COUNT`.

    Examples
    --------
    >>> from mcsim.base.ranges import split_range
    >>> split_range("log(1%, 100%, 3)")[1:]
    ('log', '1%', '100%', 3)
    """
    if (old := _OLD_RANGE.fullmatch(text)) is not None:
        begin, end, count = (part.strip() for part in old.groups())
        raise ValueError(f"{text!r}: a range is now written log({begin}, {end}, {count})")
    if (found := _RANGE.fullmatch(text)) is None:
        return None
    kind, begin, end, count = (part.strip() for part in found.groups())
    return Range(text, kind, begin, end, count_of(count, text))


def count_of(text: str, of: str) -> int:
    """Parse the number of values of a range, whose text is `of`."""
    try:
        count = parse_count(text.strip())
    except ValueError as error:
        raise ValueError(f"{of!r}: {error}") from None
    if not 1 <= count <= _MOST:
        raise ValueError(f"{of!r}: expected 1 to {_MOST:,} values, got {count:,}")
    return count


def between(of: Range, first: float, last: float) -> list[float]:
    """Return the values of a range, whose ends are numbers; the ends exactly."""
    if of.kind == "log" and not (first > 0 and last > 0):
        raise ValueError(f"{of.text!r}: ends of a logarithmic range are above 0")
    shares = [index / max(1, of.number - 1) for index in range(of.number)]
    if of.kind == "log":
        values = [first * (last / first) ** share for share in shares]
    else:
        values = [first + (last - first) * share for share in shares]
    return [last if s == 1 else first if s == 0 else v for s, v in zip(shares, values, strict=True)]
