"""The catalogue of devices: latencies and prices of tiers and backends.

The built-in ones are Table I of the Multi-Cache paper. It prints ranges; the
catalogue takes their midpoints and keeps the ranges for sensitivity studies.
An experiment may add devices or override single values (`devices:` and the
entries of `tiers:` in YAML).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcsim.suggest import did_you_mean

__all__ = ["CATALOGUE", "Device", "Range", "find_device"]

TABLE_I = "Multi-Cache (Table I)"


@dataclass(frozen=True, slots=True)
class Range:
    """What a source prints for one quantity: `low` to `high`."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The value the catalogue uses."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class Device:
    """A storage device as the latency and cost models see it.

    Latencies are in nanoseconds per block, prices in dollars per 10^9 bytes.
    """

    name: str
    read_ns: Range
    write_ns: Range
    dollars_per_gb: Range
    summary: str
    reference: str = TABLE_I


CATALOGUE: Mapping[str, Device] = {
    device.name: device
    for device in (
        Device(
            name="dram",
            read_ns=Range(10, 50),
            write_ns=Range(10, 50),
            dollars_per_gb=Range(8, 12),
            summary="DRAM, standing for byte-addressable non-volatile memory",
        ),
        Device(
            name="flash",
            read_ns=Range(25e3, 25e3),
            write_ns=Range(200e3, 200e3),
            dollars_per_gb=Range(1, 3),
            summary="NAND flash drive",
        ),
        Device(
            name="hdd",
            read_ns=Range(5e6, 8e6),
            write_ns=Range(5e6, 8e6),
            dollars_per_gb=Range(0.05, 0.10),
            summary="hard disk",
        ),
    )
}


def find_device(name: str) -> Device:
    """Return a device of the catalogue.

    Raises
    ------
    KeyError
        If there is none of that name; the message names the nearest.
    """
    try:
        return CATALOGUE[name]
    except KeyError:
        raise KeyError(f"unknown device {name!r}{did_you_mean(name, CATALOGUE)}") from None
