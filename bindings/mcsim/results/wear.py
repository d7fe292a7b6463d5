"""Wear of devices that can be written a limited number of times."""

from __future__ import annotations


def lifetime_years(
    capacity_bytes: float, pe_cycles: float, written_bytes_per_day: float, amplification: float = 1
) -> float:
    """Return how long a device lasts that can be written `pe_cycles` times over.

    Examples
    --------
    >>> from mcsim.results.wear import lifetime_years
    >>> lifetime_years(100e9, 3000, 821e9, amplification=1)  # doctest: +ELLIPSIS
    1.0...
    """
    if written_bytes_per_day == 0:
        return float("inf")
    return capacity_bytes * pe_cycles / (written_bytes_per_day * amplification) / 365.25


def drive_writes_per_day(capacity_bytes: float, written_bytes_per_day: float) -> float | None:
    """Return how often the host writes the whole drive in a day; None without space."""
    return written_bytes_per_day / capacity_bytes if capacity_bytes else None
