"""Human units: parse and format `4KiB`, `1h`, `30ns` and `2.5e5 blocks`.

Numbers may be written as in Python (`250_000`, `2.5e5`). A quantity that has a
unit must be given one, so that no file leaves it to a guess; counts of blocks
are the exception, because sizes are in blocks by default.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, DecimalException
from fractions import Fraction
from numbers import Integral

from mcsim.base.arguments import shortened

_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
    "week": 7 * 86400 * 10**9,
}
_BYTES = {"B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for suffix, base in (("iB", 1024), ("B", 1000))
}
_BYTES["kB"] = 1000
_BLOCKS = {"block": 1, "blocks": 1}
_REFERENCES = {"reference": 1, "references": 1}

_QUANTITY = re.compile(r"\s*([-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?)\s*([^\W\d]*)\s*")
_MOST_DIGITS = 400
"""Upper limit of digits of a number; a double has 309 before the point."""


def _split(value: object, wanted: str) -> tuple[Decimal, str]:
    """Split a value into number and unit ('' where it has none)."""
    if isinstance(value, bool) or not isinstance(value, (str, Integral, float)):
        raise ValueError(f"expected {wanted}, got {shortened(value)}")
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        raise ValueError(f"expected {wanted}, got {shortened(value)}")
    try:
        number = Decimal(match[1].replace("_", ""))
    except DecimalException:
        raise ValueError(f"expected {wanted}, got {shortened(value)}") from None
    if number and abs(number.adjusted()) > _MOST_DIGITS:
        raise ValueError(f"expected {wanted}, got {shortened(value)}: its exponent is out of range")
    return number, match[2]


def _whole(number: Decimal, value: object, wanted: str) -> int:
    if number < 0:
        raise ValueError(f"expected {wanted}, got {shortened(value)}: it must not be negative")
    if number != number.to_integral_value():
        raise ValueError(
            f"expected {wanted}, got {shortened(value)}: it is not a whole number of them"
        )
    if number >= 2**63:
        raise ValueError(f"expected {wanted}, got {shortened(value)}: it is more than 63 bits hold")
    return int(number)


def _scaled(value: object, units: dict[str, int], wanted: str, others: Iterable[str] = ()) -> int:
    number, unit = _split(value, wanted)
    if unit not in units:
        known = ", ".join(filter(None, (*units, *others)))
        missing = f"unknown unit {unit!r}" if unit else "it has no unit"
        one_of = f" (one of {known})" if known else ""
        raise ValueError(f"expected {wanted}, got {shortened(value)}: {missing}{one_of}")
    return _whole(number * units[unit], value, wanted)


def parse_bytes(value: object) -> int:
    """Parse a number of bytes: `4KiB`, `1 GiB`, `512B`, or a plain whole number.

    Raises
    ------
    ValueError
        If it is no such quantity; the message has an example.
    """
    return _scaled(value, {"": 1} | _BYTES, "a size such as 4KiB")


def parse_duration(value: object) -> int:
    """Read a length of time and return nanoseconds: `1h`, `60 s`, `30ns`, `25 us`.

    Raises
    ------
    ValueError
        If it is no such quantity, has no unit, or is not a whole number of ns.
    """
    return _scaled(value, _NS, "a length of time such as 60s")


def parse_references(value: object) -> int:
    """Read a length in references, for traces without a clock: `50000 references`.

    Raises
    ------
    ValueError
        If it is no such quantity or has another unit.
    """
    return _scaled(value, _REFERENCES, "a length such as '50000 references'")


def parse_interval(value: object) -> tuple[int, bool]:
    """Read a length of time or, for traces without a clock, of references.

    Returns
    -------
    length : int
        Nanoseconds, or references.
    by_reference : bool
        Which of the two.
    """
    _, unit = _split(value, "a length such as 1h or '50000 references'")
    if unit in _REFERENCES:
        return parse_references(value), True
    return parse_duration(value), False


def parse_count(value: object) -> int:
    """Read a plain count: `250000`, `2.5e5`, `250_000`.

    Raises
    ------
    ValueError
        If it is not a whole number, is negative, or carries a unit.
    """
    return _scaled(value, {"": 1}, "a whole number")


def parse_fraction(value: object, wanted: str) -> Fraction:
    """Read an exact number: `0.3`, `1e-3`, `1576/1831` or `30%`.

    Parameters
    ----------
    value : object
        A number, or text.
    wanted : str
        Its description, for messages.

    Raises
    ------
    ValueError
        If it is no number, infinite, or has more than 400 digits.
    """
    fault = ValueError(f"expected {wanted}, got {value!r}")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise fault
    text = str(value).strip()
    parts = text.removesuffix("%").split("/")
    try:
        # Before it is written out: 1e999999999 would take gigabytes.
        if any(part and abs(Decimal(part).adjusted()) > _MOST_DIGITS for part in parts):
            raise fault
        if text.endswith("%"):
            return Fraction(text.removesuffix("%")) / 100
        return Fraction(value)
    except (ArithmeticError, ValueError):
        raise fault from None


def parse_share(value: object, wanted: str = "a share such as 10%, 1/16 or 0.1") -> Fraction:
    """Parse a share from 0 to 1: `10%`, `1/16` or `0.1`.

    Raises
    ------
    ValueError
        If it is not a number, or outside 0 to 1.
    """
    share = parse_fraction(value, wanted)
    if not 0 <= share <= 1:
        raise ValueError(f"expected {wanted}, got {shortened(value)}")
    return share


def parse_quantity(value: object, wanted: str) -> tuple[int, int | None]:
    """Parse blocks, or bytes with a unit.

    Returns
    -------
    blocks : int
        0 if it has a unit of bytes.
    size : int or None
        Bytes.
    """
    _, unit = _split(value, wanted)
    if unit not in _BYTES:
        return _scaled(value, {"": 1} | _BLOCKS, wanted, _BYTES), None
    return 0, parse_bytes(value)


def _exact(value: int, units: dict[str, int]) -> str:
    """The largest unit in which `value` is a whole number."""
    name, size = max(
        ((name, size) for name, size in units.items() if value and value % size == 0),
        key=lambda unit: unit[1],
        default=(next(iter(units)), 1),
    )
    return f"{value // size}{name}"


def format_duration(ns: int) -> str:
    """Write a length of time so that `parse_duration` gives it back: `1h`, `25us`."""
    return _exact(ns, {unit: size for unit, size in _NS.items() if unit not in ("µs", "week")})


def format_span(ns: int) -> str:
    """Write a length of time for people, to three digits: `6.88 d`."""
    for size, unit in ((86400 * 10**9, "d"), (3600 * 10**9, "h"), (60 * 10**9, "min")):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def format_bytes(size: int) -> str:
    """Write a size so that `parse_bytes` gives it back: `4KiB`."""
    return _exact(size, {unit: n for unit, n in _BYTES.items() if unit == "B" or "i" in unit})


def format_size(size: float) -> str:
    """Write a number of bytes for people, to four digits: `1.465 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} TiB"


def format_drive(size: int) -> str:
    """Write the size of a drive in decimal units if it is round in them, then in binary units.

    Examples
    --------
    >>> from mcsim.base.units import format_drive
    >>> format_drive(960 * 10**9), format_drive(2**40)
    ('960GB (894.1 GiB)', '1 TiB')
    """
    decimal = _decimal(size)
    return format_size(size) if decimal is None else f"{decimal} ({format_size(size)})"


def format_drive_exactly(size: int) -> str:
    """Write the size of a drive so that `parse_bytes` gives it back: `960GB`, `1TiB`."""
    return _decimal(size) or format_bytes(size)


def _decimal(size: int) -> str | None:
    """Return a size in decimal units; None unless it is a whole number of 10^6 bytes."""
    if size == 0 or size % _BYTES["MB"]:
        return None
    unit = next(of for of in ("TB", "GB", "MB") if size >= _BYTES[of])
    return f"{size / _BYTES[unit]:.15g}{unit}"


def format_references(count: int) -> str:
    """Write a length in references so that `parse_references` gives it back."""
    return f"{count} references"


def format_capacity(capacity: int, unit: int | None) -> str:
    """Write a capacity for people.

    Parameters
    ----------
    unit : int or None
        Bytes of a block; 1 of a capacity in bytes, None of a number of objects.

    Examples
    --------
    >>> from mcsim.base.units import format_capacity
    >>> [format_capacity(4096, unit) for unit in (4096, 1, None)]
    ['16 MiB (4,096 blocks)', '4 KiB (4,096 bytes)', '4,096 objects']
    """
    if unit is None:
        return f"{capacity:,} objects"
    count = f"{capacity:,} bytes" if unit == 1 else format_blocks(capacity)
    return f"{format_size(capacity * unit)} ({count})"


def format_blocks(blocks: int) -> str:
    """Write a capacity for people: `250,000 blocks`."""
    return f"{blocks:,} block{'' if blocks == 1 else 's'}"


def format_count(count: float) -> str:
    """Write a count for people: `382`, or to three digits `5.18 M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if abs(count) >= size:
            return f"{_three_digits(count / size)} {unit}"
    return f"{count:.0f}" if count == int(count) else _three_digits(count)


def format_number(value: float) -> str:
    """Write a number for people, to three digits and without an exponent: `2,850`, `0.001`.

    Examples
    --------
    >>> from mcsim.base.units import format_number
    >>> format_number(2850.4), format_number(0.00132), format_number(1e-9)
    ('2,850', '0.001', '<0.001')
    """
    if 0 < abs(value) < 0.0005:
        return "<0.001" if value > 0 else ">-0.001"
    if abs(value) < 1:
        return f"{value:.3f}".rstrip("0").rstrip(".")
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def format_latency(ns: float) -> str:
    """Write a latency for people, to three digits: `1.73 ms`."""
    for size, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if abs(ns) >= size:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{_three_digits(ns)} ns"


def _three_digits(value: float) -> str:
    return f"{value:#.3g}".rstrip(".") if abs(value) < 999.5 else f"{value:.0f}"
