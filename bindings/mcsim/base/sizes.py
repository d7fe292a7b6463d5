"""Sizes of caches: blocks, bytes such as `1GiB`, shares of a workload, and ranges.

An integer is a number of blocks. A number strictly between 0 and 1 is a share of the distinct
blocks of a workload, as are `10%` and `1/16`. Bytes have a unit.
"""

from __future__ import annotations

import re
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple

from mcsim.base.arguments import shortened
from mcsim.base.errors import mistakes_in
from mcsim.base.specs import split_outside
from mcsim.base.units import format_size, parse_count, parse_quantity, parse_share

_RANGE = re.compile(r"\s*(log|linear)\s*\(([^(),]*),([^(),]*),([^(),]*)\)\s*")
_MOST = 10_000


class Range(NamedTuple):
    """`number` values from one end to the other, in equal ratios (log) or steps (linear)."""

    text: str
    kind: str
    begin: str
    end: str
    number: int


def split_range(text: str) -> Range | None:
    """Parse a range; return None if the text is none.

    Raises
    ------
    ValueError
        If its count is wrong.

    Examples
    --------
    >>> from mcsim.base.sizes import split_range
    >>> split_range("log(1%, 100%, 3)")[1:]
    ('log', '1%', '100%', 3)
    """
    if (found := _RANGE.fullmatch(text)) is None:
        return None
    kind, begin, end, count = (part.strip() for part in found.groups())
    return Range(text, kind, begin, end, count_of(count, text))


def count_of(text: str, of: str) -> int:
    """Parse the number of values of the range `of`."""
    try:
        count = parse_count(text.strip())
    except ValueError as error:
        raise ValueError(f"{of!r}: {error}") from None
    if not 1 <= count <= _MOST:
        raise ValueError(f"{of!r}: expected 1 to {_MOST:,} values, got {count:,}")
    return count


def between(of: Range, first: float, last: float) -> list[float]:
    """Compute the values of a range from `first` to `last`; both ends are exact."""
    if of.kind == "log" and not (first > 0 and last > 0):
        raise ValueError(f"{of.text!r}: ends of a logarithmic range are above 0")
    shares = [index / max(1, of.number - 1) for index in range(of.number)]
    if of.kind == "log":
        values = [first * (last / first) ** share for share in shares]
    else:
        values = [first + (last - first) * share for share in shares]
    return [last if s == 1 else first if s == 0 else v for s, v in zip(shares, values, strict=True)]


_WANTED = "a size such as 250000 (blocks), 1GiB or 10%"

_MOST_BLOCKS = 1 << 53
"""Upper limit of a size. Sums over hundreds of hosts stay below 2^63."""


def is_share(value: object) -> bool:
    """Whether a size is written as a share: ``'10%'``, ``'1/16'``, or a number between 0 and 1."""
    if isinstance(value, str):
        if value.strip().endswith("%") or "/" in value:
            return True
        try:
            value = float(value)
        except ValueError:
            return False
    return isinstance(value, float) and 0 < value < 1


def parse_blocks(value: object, block_bytes: int | None) -> int:
    """Parse a number of blocks: `250000`, `2.5e5 blocks`, or bytes such as `1GiB`.

    Bytes are rounded down to whole blocks, which the logger `mcsim` reports.

    Parameters
    ----------
    value : object
        A value from YAML.
    block_bytes : int or None
        Size of a block; None if there are no sizes in bytes.

    Raises
    ------
    ValueError
        If it is not such a size, or less than a block. The size `1.0` is ambiguous: it could be a
        block or all blocks.
    """
    if is_share(value):
        raise ValueError(f"expected blocks or bytes, got {shortened(value)}: a share of what?")
    if isinstance(value, (str, float)) and _is_one_with_a_point(value):
        raise ValueError(f"{shortened(value)}: write 1 for one block or 100% for all blocks")
    blocks, size = parse_quantity(value, _WANTED)
    if size is None:
        return blocks
    if block_bytes is None:
        raise ValueError(
            f"{shortened(value)}: these blocks have no size in bytes; capacities are numbers of "
            "blocks, or of objects in an object trace, or shares (10%)"
        )
    blocks, rest = divmod(size, block_bytes)
    if blocks == 0 and size:
        raise ValueError(f"{shortened(value)} is less than a block of {block_bytes} bytes")
    if rest:
        _note_rounding(str(value), blocks, block_bytes)
    return blocks


def _is_one_with_a_point(value: str | float) -> bool:
    text = str(value).strip()
    try:
        return float(text) == 1 and not text.lstrip("+").isdecimal()
    except ValueError:
        return False


@lru_cache(maxsize=1024)  # one note for a size, however often it is parsed
def _note_rounding(value: str, blocks: int, block_bytes: int) -> None:
    import logging

    logging.getLogger("mcsim").warning(
        "%s: rounded down to %s blocks of %s bytes", value, f"{blocks:,}", block_bytes
    )


def parse_capacity(value: object, unique: int | None, block_bytes: int | None) -> int:
    """Parse the size of a cache: a share, or a size as of `parse_blocks`.

    Parameters
    ----------
    unique : int or None
        Distinct blocks of the workload; None if a share has no meaning. A share is at least
        1 block.
    block_bytes : int or None
        Size of a block; None if there are no sizes in bytes.

    Raises
    ------
    ValueError
        If it is not such a size, or less than a block.
    """
    if unique is not None and is_share(value):
        share = parse_share(value, _WANTED)
        if share == 0:
            raise ValueError(f"expected more than nothing, got {shortened(value)}")
        return max(1, round(share * unique))
    blocks = parse_blocks(value, block_bytes)
    if blocks < 1:
        raise ValueError(f"at least 1 block, got {shortened(value)}")
    check_capacity(blocks, value)
    return blocks


def is_in_bytes(value: str) -> bool:
    """Return whether a size is in bytes, not in blocks or a share.

    Examples
    --------
    >>> from mcsim.base.sizes import is_in_bytes
    >>> [is_in_bytes(size) for size in ("1GiB", "5000", "5000 blocks", "10%")]
    [True, False, False, False]
    """
    return not is_share(value) and parse_quantity(value, _WANTED)[1] is not None


def check_capacity(blocks: int, value: object) -> None:
    """Raise ValueError if a size is above the limit; `value` is its text."""
    if blocks > _MOST_BLOCKS:
        raise ValueError(f"at most {_MOST_BLOCKS:,} blocks, got {shortened(value)}")


def parse_capacities(value: object, unique: int | None, block_bytes: int | None) -> list[int]:
    """Parse a size or a range such as `log(1%, 100%, 13)`; return distinct sizes.

    Raises
    ------
    ValueError
        If the text is not a size or a range.

    Examples
    --------
    >>> from mcsim.base.sizes import parse_capacities
    >>> parse_capacities("log(1%, 100%, 3)", 1000, None)
    [10, 100, 1000]
    """
    found = split_range(value) if isinstance(value, str) else None
    if found is None:
        return [parse_capacity(value, unique, block_bytes)]
    ends = (parse_capacity(end, unique, block_bytes) for end in (found.begin, found.end))
    return list(dict.fromkeys(round(size) for size in between(found, *ends)))


def steps_in(size: int | float | str, block_bytes: int | None) -> list[tuple[str, int | str]]:
    """Return a size, or the steps of a range, as names and sizes that suit any workload.

    Raises
    ------
    ValueError
        As of `parse_capacities`; if the ends of a range are of different kinds.

    Examples
    --------
    >>> from mcsim.base.sizes import steps_in
    >>> [size for _, size in steps_in("log(1%, 100%, 3)", 4096)]
    ['1%', '10%', '100%']
    """
    found = split_range(size) if isinstance(size, str) else None
    if found is None:
        parse_capacity(size, 1, block_bytes)
        return [(str(size).strip(), size if isinstance(size, int) else str(size))]
    kinds = [is_share(end) for end in (found.begin, found.end)]
    if all(kinds):
        shares = [float(parse_share(end, _WANTED)) for end in (found.begin, found.end)]
        percents = [f"{100 * share:.6g}%" for share in between(found, *shares)]
        return [(percent, percent) for percent in dict.fromkeys(percents)]
    if any(kinds):
        raise ValueError(f"{found.text!r}: expected shares at both ends, or at none")
    blocks = parse_capacities(size, None, block_bytes)
    if block_bytes is not None and is_in_bytes(found.begin):
        return [(format_size(count * block_bytes), count) for count in blocks]
    return [(f"{count:,}", count) for count in blocks]


def share_given(name: str, value: Any, *, zero: bool = False) -> float:
    """Parse a share such as `0.01`, `1%` or `1/16`; 1 is all, and 0 is valid with `zero`.

    Raises
    ------
    ConfigError
        If it is no share. Messages begin with `name`.
    """
    with mistakes_in(name):
        if not isinstance(value, (int, str)) and isinstance(value, Real):
            value = float(value)
        share = parse_share(value)
        if share == 0 and not zero:
            raise ValueError(f"expected more than nothing, got {shortened(value)}")
    return float(share)


def sizes_in(text: str) -> list[str]:
    """Split a list of sizes at its commas, outside of ranges.

    Examples
    --------
    >>> from mcsim.base.sizes import sizes_in
    >>> sizes_in("1%, log(1MiB, 1GiB, 4)")
    ['1%', 'log(1MiB, 1GiB, 4)']
    """
    return [part.strip() for part in split_outside(text)]
