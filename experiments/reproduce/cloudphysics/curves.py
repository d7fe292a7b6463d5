"""The CloudPhysics talk: curves of customers, under LRU and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.figures.declared import Plot
from mcsim.locality.estimators import reuse_distances
from mcsim.locality.hit_units import COLD
from mcsim.policies.miniatures import miniature
from mcsim.policies.simulation import simulate
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import Context

from .customers import Customer, customers, described, largest

__all__ = [
    "find_arc",
    "find_example",
    "find_gallery",
    "find_irr",
]


def find_example(_: Context) -> Found:
    """Mattson's stack: the distances of C B A D A B C, counted from 1, after what came before."""
    before, shown = "DWCYZAX", "CBADABC"
    distances = reuse_distances([ord(letter) for letter in before + shown])[len(before) :]
    told = ["∞" if distance == COLD else str(distance) for distance in distances.tolist()]
    cold = reuse_distances([ord(letter) for letter in shown]).tolist()
    return Found(
        values={"distances": " ".join(told)},
        checks=[
            Check(
                "with nothing before, the first four are cold and the others 1 2 3",
                cold == [COLD] * 4 + [1, 2, 3],
                " ".join("∞" if distance == COLD else str(distance) for distance in cold),
            )
        ],
        tables={"distances": pa.table({"block": list(shown), "distance": told})},
        ran=[f"exact reuse distances of {shown} after {before}"],
    )


_GALLERY_PLOTS = [
    Plot(
        "Hit ratio curves of customers' disks",
        "What LRU hits of each, over the size of the cache as a share of its footprint.",
        "curves", "share_of_footprint", "hit_ratio",
        "Size / footprint", "Hit ratio (%)", by=["customer"], y_times=100, log_x=True,
    )
]  # fmt: skip


def find_gallery(context: Context) -> Found:
    """Curves of all customers with their knees."""
    found = customers(context, ("own", "mixed", "shown"))
    curves = [(one.name, one.curve) for one in found]
    rows: list[dict[str, Any]] = []
    replayed = True
    for one, (_, curve) in zip(found, curves, strict=True):
        knees = curve.knees()
        rows.append(
            {
                "customer": one.name,
                "accesses": len(one.ids),
                "blocks": one.unique,
                "block_bytes": one.block_bytes,
                "best_hit_ratio": curve.best_ratio,
                "knees": [knee.capacity for knee in knees],
            }
        )
        if knees:
            sizes = [knees[len(knees) // 2].capacity]
            misses = simulate(one.ids, "lru", sizes, one_pass=False, threads=1).hits
            replayed &= misses.tolist() == [round(curve.at(sizes[0]) * curve.accesses)]
    falls = [name for name, curve in curves if (np.diff(curve.hits) < 0).any()]
    knees_of = [len(row["knees"]) for row in rows]
    return Found(
        checks=[
            Check("LRU never hits less in a larger cache", not falls, f"{len(curves)} curves"),
            Check(
                "a replay at a knee of each hits what its curve says",
                replayed,
                f"{sum(map(bool, knees_of))} replays",
            ),
        ],
        tables={"customers": pa.Table.from_pylist(rows), "curves": _curves_table(found)},
        plots=_GALLERY_PLOTS,
        ran=[described(found)],
        recorded=found[0].recorded,
    )


def _curves_table(several: Sequence[Customer], steps: int = 120) -> pa.Table:
    """Tabulate curves, at sizes that grow by the same ratio up to the footprint."""
    tables = []
    for one in several:
        unique = max(one.unique, 1)
        at = np.unique(np.geomspace(max(unique / 1000, 1), unique, steps).astype(np.int64))
        tables.append(
            pa.table(
                {
                    "customer": [one.name] * len(at),
                    "share_of_footprint": at / unique,
                    "hit_ratio": one.curve.at(at),
                }
            )
        )
    return pa.concat_tables(tables)


def find_arc(context: Context) -> Found:
    """ARC in miniature: a thousandth of the blocks, a hundred sizes, against replays."""
    return _in_miniature(("arc",), context)


def find_irr(context: Context) -> Found:
    """LIRS and CLOCK-Pro in miniature, as ARC."""
    return _in_miniature(("lirs", "clock-pro"), context)


def _in_miniature(policies: Sequence[str], context: Context) -> Found:
    several = {one.name: one for one in customers(context, whole=True)}
    one = several.get("P2") or largest(list(several.values()))
    every, replays = 100, 5 if context.quick else 20
    sizes = [max(1, round(one.unique * step / every)) for step in range(1, every + 1)]
    picked = sizes[every // replays - 1 :: every // replays]
    exact = simulate(one.ids, list(policies), picked, threads=context.threads)
    # As in the talk: the same rate for all sizes, and one way of correcting.
    how: dict[str, Any] = {"rate": 0.001, "seeds": 5, "min_blocks": 1, "correction": "adj"}
    mini = miniature(one.ids, list(policies), sizes, **how, threads=context.threads)
    at = np.isin(mini.capacity, picked)
    apart = np.abs(mini.hit_ratio[at] - exact.hit_ratio).reshape(len(policies), -1).mean(axis=1)
    memory = float(exact.bytes.max() / mini.bytes.max())

    tables = [
        pa.table(
            {
                "how": [f"{policy} {way}" for policy in rows.policy.tolist()],
                "blocks": rows.capacity,
                "hit_ratio": rows.hit_ratio,
            }
        )
        for way, rows in (("replayed", exact), ("in miniature", mini))
    ]
    title = " and ".join(map(str.upper, policies)) + " in miniature"
    return Found(
        values={"error": float(apart.max()), "memory": memory},
        checks=_claims_of_miniatures(policies, apart, len(picked), memory),
        tables={"hit ratios": pa.concat_tables(tables)},
        plots=[
            Plot(
                title, "Replays, and a thousandth of the blocks, over sizes.",
                "hit ratios", "blocks", "hit_ratio", "Size (blocks)", "Hit ratio (%)",
                by=["how"], y_times=100,
            )
        ],
        ran=[f"{one.name}, {len(one.ids):,} references, rate .001, 5 seeds"],
        recorded=one.recorded,
    )  # fmt: skip


def _claims_of_miniatures(
    policies: Sequence[str], errors: NDArray[np.float64], sizes: int, memory: float
) -> list[Check]:
    return [
        *(
            Check(
                f"{policy.upper()}'s curve in miniature errs by at most .015 in the mean",
                bool(error <= 0.015),
                f"{error:.4f} at {sizes} replayed sizes",
            )
            for policy, error in zip(policies, errors, strict=True)
        ),
        Check(
            "a miniature takes at most a five-hundredth of the memory",
            memory >= 500,
            f"{memory:,.0f} times less",
        ),
    ]
