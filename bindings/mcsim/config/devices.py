"""The catalogue of devices: latencies and prices of tiers and backends.

The built-in ones are Table I of the Multi-Cache paper, and the two drives of the
ECI-Cache slides. Where ranges are printed the catalogue takes their midpoints and
keeps the ranges for sensitivity studies.
An experiment may add devices or override single values (`devices:` and the
entries of `tiers:` in YAML).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from mcsim.base.units import format_duration

TABLE_I = "Multi-Cache (Table I)"
ECI_SLIDES = "ECI-Cache (slides: operations and bytes a second, power, prices)"
S4500 = "Intel SSD DC S4500 series, product specification: typical latency of random 4 KiB"
P4500 = "Intel SSD DC P4500, Lenovo product guide: random access latency, 1.38 PB written of 1 TB"


@dataclass(frozen=True, slots=True)
class Range:
    """Published range of a quantity: `low` to `high`."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The value the catalogue uses."""
        return round((self.low + self.high) / 2, 9)


NO_PRICE = Range(nan, nan)


@dataclass(frozen=True, slots=True)
class Device:
    """A storage device as the latency and cost models see it.

    Latencies are in nanoseconds per block, prices in dollars per 10^9 bytes.
    """

    name: str
    read_ns: Range
    write_ns: Range
    summary: str
    dollars_per_gb: Range = NO_PRICE
    # Program/erase cycles; None for media that do not wear.
    pe_cycles: float | None = None
    # Bytes that it can read and write in a second; None if no limit is known.
    bandwidth: int | None = None
    # Power when busy and when idle; None if unknown.
    watts: float | None = None
    idle_watts: float | None = None
    reference: str = TABLE_I

    def describe(self) -> Iterator[dict[str, Any]]:
        """Yield its quantities in the form of declared parameters."""
        for name, kind, of, text in (
            ("read", "duration", self.read_ns, "time to read one block"),
            ("write", "duration", self.write_ns, "time to write one block"),
            ("price", "real", self.dollars_per_gb, "dollars per 10^9 bytes"),
        ):
            if isnan(of.low):
                continue
            low, middle, high = (of.low, of.middle, of.high)
            if kind == "duration":
                span = f"{format_duration(round(low))} to {format_duration(round(high))}"
                middle = round(middle)
            else:
                span = f"{low:g} to {high:g}"
            yield {
                "name": name,
                "kind": kind,
                "default": middle,
                "help": text + (f"; the source prints {span}" if low < high else ""),
                "min": 0.0,
                "max": float("inf"),
                "choices": [],
            }
        for name, value, text in (
            ("pe_cycles", self.pe_cycles, "program/erase cycles"),
            ("bandwidth", self.bandwidth, "bytes that it can read and write in a second"),
            ("watts", self.watts, "power while it works"),
            ("idle_watts", self.idle_watts, "power while it waits"),
        ):
            if value is not None:
                yield {
                    "name": name,
                    "kind": "real",
                    "default": value,
                    "help": text,
                    "min": 0.0,
                    "max": float("inf"),
                    "choices": [],
                }


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
            summary="NAND flash drive; 3,000 program-erase cycles, as of three-bit cells",
            pe_cycles=3000,
        ),
        Device(
            name="hdd",
            read_ns=Range(5e6, 8e6),
            write_ns=Range(5e6, 8e6),
            dollars_per_gb=Range(0.05, 0.10),
            summary="hard disk",
        ),
        # A block's time is that of an operation: at these bandwidths it is no longer for its size.
        Device(
            name="sata-ssd",
            read_ns=Range(20e3, 20e3),
            write_ns=Range(100e3, 100e3),
            dollars_per_gb=Range(0.1, 0.1),
            summary="flash drive, 50,000 reads a second; what a write takes, and wear, are ours",
            pe_cycles=3000,
            bandwidth=550_000_000,
            watts=3,
            idle_watts=0.06,
            reference=ECI_SLIDES,
        ),
        Device(
            name="sata-flash",
            read_ns=Range(110e3, 110e3),
            write_ns=Range(52e3, 52e3),
            summary="SATA flash drive for data centres; 3,000 program-erase cycles are ours",
            pe_cycles=3000,
            bandwidth=490_000_000,
            watts=5.6,
            idle_watts=1.1,
            reference=S4500,
        ),
        Device(
            name="nvme-flash",
            read_ns=Range(85e3, 115e3),
            write_ns=Range(20e3, 20e3),
            summary="NVMe flash drive for data centres; its rated writes as program-erase cycles",
            pe_cycles=1380,
            bandwidth=3_200_000_000,
            reference=P4500,
        ),
        Device(
            name="sata-hdd",
            read_ns=Range(1e9 / 140, 1e9 / 140),
            write_ns=Range(1e9 / 140, 1e9 / 140),
            dollars_per_gb=Range(0.06, 0.06),
            bandwidth=180_000_000,
            watts=9,
            idle_watts=8,
            summary="hard disk, 140 operations a second",
            reference=ECI_SLIDES,
        ),
    )
}
