"""Multi-Cache: tiers divided among virtual machines by what each is worth to them (IC2E 2016)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from mcsim.config.devices import CATALOGUE, Range
from mcsim.reproduce.context import Context
from mcsim.reproduce.figure import Check, Figure, Found

__all__ = ["FIGURES"]

_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "$/GB": 1.0}


def _find_devices(context: Context) -> Found:
    """Table I: latencies and prices, as the catalogue of devices has them."""
    of = CATALOGUE
    ranges = {
        "dram latency": (of["dram"].read_ns, "ns"),
        "dram price": (of["dram"].dollars_per_gb, "$/GB"),
        "flash read": (of["flash"].read_ns, "us"),
        "flash write": (of["flash"].write_ns, "us"),
        "flash price": (of["flash"].dollars_per_gb, "$/GB"),
        "hdd latency": (of["hdd"].read_ns, "ms"),
        "hdd price": (of["hdd"].dollars_per_gb, "$/GB"),
    }
    rows = [
        {"quantity": name, "low": span.low, "high": span.high} for name, (span, _) in ranges.items()
    ]
    faster = of["dram"].read_ns.high < of["flash"].read_ns.low < of["hdd"].read_ns.low
    dearer = of["dram"].dollars_per_gb.low > of["flash"].dollars_per_gb.high
    return Found(
        values={name: _range_text(span, unit) for name, (span, unit) in ranges.items()},
        checks=[
            Check(
                "a faster tier costs more, and none is faster and cheaper",
                faster and dearer,
                "dram, flash, hdd in the order of latency, and of price from the highest",
            )
        ],
        tables={"devices": pa.Table.from_pylist(rows)},
        ran=["the catalogue of devices"],
    )


def _range_text(span: Range, unit: str) -> str:
    low, high = (f"{value / _UNITS[unit]:g}" for value in (span.low, span.high))
    return low if low == high else f"{low} to {high}"


FIGURES: Sequence[Figure] = (
    Figure(
        "multicache/table1",
        "Latencies and prices of devices",
        seconds=0.1,
        seconds_quick=0.1,
        needs="nothing",
        find=_find_devices,
    ),
)
