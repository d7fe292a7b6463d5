"""Multi-Cache: tiers divided among virtual machines by what each is worth to them (IC2E 2016)."""

from __future__ import annotations

import pyarrow as pa

from mcsim.config.devices import CATALOGUE, Range
from mcsim.reproduce.catalogue import Check, Figure, Found, in_document
from mcsim.reproduce.context import Context

from . import examples, gains, servers, text, web

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
                construction="the catalogue of devices has the document's numbers",
            )
        ],
        tables={"devices": pa.Table.from_pylist(rows)},
        ran=["the catalogue of devices"],
    )


def _range_text(span: Range, unit: str) -> str:
    low, high = (f"{value / _UNITS[unit]:g}" for value in (span.low, span.high))
    return low if low == high else f"{low} to {high}"


_WEB = "web_0 to web_3 of the MSR Cambridge traces; workloads/web.yaml stands in"
_SIX = "web_0 to web_3, prn_0, prn_1 of the MSR Cambridge traces; workloads stand in"
_ALL_SERVERS = "all 36 volumes of the MSR Cambridge traces; web and prn are stood in for"
_PRIVATE = "synthetic: the traces are private"

FIGURES = in_document(
    "multicache",
    Figure("fig1", "A hit ratio curve", 8, 2, _PRIVATE, examples.find_curve),
    Figure("fig2", "A terminal server beside a scan", 15, 5, _PRIVATE, examples.find_scan),
    Figure("fig4", "Reuse intensity over time", 75, 20, _WEB, web.find_intensity),
    Figure("fig5", "Curves cut where tiers end", 30, 5, _PRIVATE, examples.find_split),
    Figure("table1", "Latencies and prices of devices", 1, 1, "nothing", _find_devices),
    Figure("servers", "The servers and their volumes", 60, 15, _ALL_SERVERS, servers.find_servers),
    Figure(
        "fig6",
        "Hit ratio by volume",
        5,
        2,
        _ALL_SERVERS,
        servers.find_hit_ratio_by_volume,
    ),
    Figure("fig7", "Hit ratio curves of a week", 2, 1, _WEB, web.find_curves),
    Figure("fig8", "Occupancy under Global LRU", 2, 2, _WEB, web.find_occupancy_over_time),
    Figure("fig9", "What Multi-Cache grants", 3, 3, _WEB, web.find_granted_over_time),
    Figure("fig10", "Hit ratio over time", 3, 3, _WEB, gains.find_hit_ratio_over_time),
    Figure("fig11", "Mean latency by volume", 2, 2, _WEB, gains.find_latency),
    Figure("fig12", "Mean shares of the tiers", 2, 2, _WEB, web.find_shares),
    Figure("fig13", "Hit ratio by tier", 2, 2, _WEB, gains.find_hit_ratio_by_tier),
    Figure("fig14", "Hit ratio by capacity", 360, 60, _SIX, servers.find_hit_ratio_by_size),
    Figure("text", "Worked examples of the text", 1, 1, "nothing", text.find_worked_examples),
    Figure("bursts", "Resizing when a burst of reuse begins", 140, 45, _WEB, text.find_bursts),
)
