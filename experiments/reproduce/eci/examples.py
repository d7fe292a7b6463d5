"""ECI-Cache: what its slides show without a workload of their own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.config.devices import CATALOGUE
from mcsim.figures.declared import Plot
from mcsim.locality.estimators import estimate, reuse_distances
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import Context
from mcsim.results.models import requests

__all__ = ["find_devices", "find_distances", "find_placement", "find_useful", "request_distances"]

# The slide shows its accesses in a picture alone. Six accesses again, one of them past seven other
# blocks, take at least fourteen; these have its histogram.
_ANY_WITH_ITS_HISTOGRAM = (1, 1, 2, 2, 3, 4, 2, 3, 5, 4, 6, 7, 8, 1)

_EXAMPLE_3 = "W1 W2 R1 R3 R5 R6 R2"


def request_distances(text: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the reuse distance of each access, and which of them read.

    Parameters
    ----------
    text : str
        Accesses such as ``"W1 R1 R2"``.

    Examples
    --------
    >>> from mcsim.reproduce.documents.eci.examples import request_distances
    >>> distances, reads = request_distances("W1 W2 R1")
    >>> distances.tolist(), reads.tolist()
    ([-1, -1, 1], [False, False, True])
    """
    words = text.split()
    blocks = np.array([int(word[1:]) for word in words])
    return reuse_distances(blocks), np.array([word[0] == "R" for word in words])


_DISTANCE_PLOTS = [
    Plot(
        "Reuse distances", "How many accesses have each distance.",
        "distances", "distance", "accesses", "Distance (blocks)", "Accesses", "bars",
    )
]  # fmt: skip


def find_distances(context: Context) -> Found:
    """The slide about all distances: how often each is seen."""
    distances = reuse_distances(np.array(_ANY_WITH_ITS_HISTOGRAM))
    seen = Counter(distances[distances >= 0].tolist())
    rows = [{"distance": d, "accesses": n} for d, n in sorted(seen.items())]
    return Found(
        values={f"distance {d}": float(n) for d, n in seen.items()},
        checks=[
            Check(
                "a cache of the largest distance and one block more hits all there is to hit",
                estimate(np.array(_ANY_WITH_ITS_HISTOGRAM)).saturation == max(seen) + 1,
                f"largest distance {max(seen)}",
            )
        ],
        tables={"distances": pa.Table.from_pylist(rows)},
        plots=_DISTANCE_PLOTS,
        ran=["exact distances of 14 accesses with this histogram"],
    )


def find_useful(context: Context) -> Found:
    """The slides about useful distances: example 3, and cases with smaller sizes."""
    distances, reads = request_distances(_EXAMPLE_3)
    blocks = [int(word[1:]) for word in _EXAMPLE_3.split()]
    useful = distances[reads & (distances >= 0)]
    alike, both = _law_on_random_accesses()
    return Found(
        values={
            "useful distance": float(useful.max()),
            "blocks": float(estimate(blocks, "urd", ops=(~reads).astype(int)).saturation),
        },
        checks=[
            Check(
                "useful distances ask for as much as all do exactly where no rewrite is farther "
                "than every reuse that reads",
                alike == both,
                f"so in {alike} of {both} random sequences",
            )
        ],
        tables={"example": pa.table({"access": _EXAMPLE_3.split(), "distance": distances})},
        ran=[f"exact distances of {_EXAMPLE_3}"],
    )


def _law_on_random_accesses(sequences: int = 300) -> tuple[int, int]:
    """Return in how many sequences of accesses the law of the slides holds, and of how many."""
    random = np.random.default_rng(3)
    held = 0
    for _ in range(sequences):
        blocks, writes = random.integers(0, 6, 20), random.integers(0, 2, 20)
        distances = reuse_distances(blocks)
        of_reads, of_writes = (distances[writes == op].max(initial=-1) for op in (0, 1))
        sizes = [
            estimate(blocks, name, ops=writes if name == "urd" else None).saturation
            for name in ("exact", "urd")
        ]
        held += (sizes[0] == sizes[1]) == (of_writes <= of_reads)
    return held, sequences


def find_devices(context: Context) -> Found:
    """The slide about drives, as the catalogue of devices has them."""
    rows: list[dict[str, Any]] = []
    values: dict[str, float | str] = {}
    for kind, name in (("hdd", "sata-hdd"), ("ssd", "sata-ssd")):
        device = CATALOGUE[name]
        row: dict[str, Any] = {
            "device": name,
            "operations_per_s": 1e9 / device.read_ns.middle,
            "dollars_per_gb": device.dollars_per_gb.middle,
            "megabytes_per_s": (device.bandwidth or 0) / 1e6,
            "watts": device.watts,
            "idle_watts": device.idle_watts,
        }
        values[f"{kind} operations"] = row["operations_per_s"]
        values[f"{kind} price"] = row["dollars_per_gb"]
        values[f"{kind} rate"] = row["megabytes_per_s"]
        values[f"{kind} power"] = f"{device.watts:g} and {device.idle_watts:g}"
        rows.append(row)
    hdd, ssd = rows
    return Found(
        values=values,
        checks=[
            Check(
                "flash is faster and dearer",
                ssd["operations_per_s"] > hdd["operations_per_s"]
                and ssd["dollars_per_gb"] > hdd["dollars_per_gb"],
                "by the catalogue",
                construction="the catalogue of devices has the document's numbers",
            ),
            Check(
                "mean time between failures of the drives",
                None,
                "the slide prints less than 1 million hours and 2 million hours; devices here do "
                "not fail",
            ),
            *(
                Check(claim, None, reason)
                for claim, reason in (
                    ("age and skew of data", "the slide's chart has no readable numbers"),
                    ("weight and noise of the drives", "devices here have neither"),
                    (
                        "what RAID 5 costs",
                        "the slides have no number for it; a backend here has one service time",
                    ),
                )
            ),
        ],
        tables={"devices": pa.Table.from_pylist(rows)},
        ran=["the catalogue of devices"],
    )


_PLACE_PLOTS = [
    Plot(title, says, "places", "system", column, "", label, "stacked", y_times=times)
    for title, says, column, label, times in (
        ("Hits by place", "Of reads.", "read_hit_ratio", "Hit ratio (%)", 100),
        ("Time of a request by place", "Mean.", "mean_ns", "Mean (ms)", 1e-6),
    )
]  # fmt: skip


def find_placement(context: Context) -> Found:
    """The slide about where flash may be: in each VM, in the hypervisor, in the array."""
    host = context.run("../placement.yaml")
    array = context.run("../placement-array.yaml")
    rows = [row for run in (host, array) for row in requests(run, by_vm=False).to_pylist()]
    hits = {row["system"]: row["read_hit_ratio"] for row in rows}
    waits = {row["system"]: row["mean_ns"] for row in rows}
    above, below = "in the hypervisor", "in the array"
    return Found(
        checks=[
            Check(
                "all three places can be simulated",
                {"in each VM", above, below} <= set(hits),
                ", ".join(f"{name} {hits[name]:.1%}" for name in hits),
            ),
            Check(
                "below the network a cache hits as above it, and each hit takes longer",
                hits[above] == hits[below] and waits[above] < waits[below],
                f"{waits[above] / 1e6:.2f} and {waits[below] / 1e6:.2f} ms",
                construction="the network's time is added to each hit of the array",
            ),
        ],
        tables={"places": pa.Table.from_pylist(rows)},
        plots=_PLACE_PLOTS,
        runs=[host, array],
    )
