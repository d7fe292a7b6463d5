"""Thin provisioning: its related work on VMs that share a cache, and on guests' caches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mcsim.base.package import experiments_folder
from mcsim.config.devices import CATALOGUE
from mcsim.experiment.experiment import Experiment
from mcsim.figures.declared import Plot
from mcsim.locality.sharing import Sharing, sharing
from mcsim.locality.whatif import Situation
from mcsim.policies.simulation import simulate
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import QUICK_SHARE, Context
from mcsim.results.schemas import counts_of, of_system
from mcsim.traces.synth import synth_trace

__all__ = ["find_guests", "find_interference"]

_CAUSES = ("compulsory", "capacity", "interference")

_INTERFERENCE_PLOTS = [
    Plot(
        "Misses by cause", "Of each server in the shared cache.",
        "misses", "vm", {cause: cause for cause in _CAUSES},
        "", "Miss ratio (%)", "stacked", y_times=100,
    ),
    Plot(
        "Performance that sharing costs", "Accesses a second, against the whole cache alone.",
        "misses", "vm", "performance_percent", "", "Change (%)", "bars",
    ),
]  # fmt: skip


def find_interference(context: Context) -> Found:
    """The misses of servers that share one cache, by cause, and the performance that it costs."""
    size = Experiment.load(context.folder("thesis/turns.yaml")).spec.tiers[0].capacity
    profile = experiments_folder() / "workloads" / "thin3.yaml"
    shared = sharing(synth_trace(profile, seed=context.seed).blocks("all"))
    now = Situation(_sampled(shared) if context.quick else shared, context.scaled(size))
    rows = now.rows
    served = simulate(now.sharing.ids, "lru", [now.size], one_pass=False, threads=1)
    misses = sum(rows[cause] * rows.accesses for cause in _CAUSES).sum()
    lost = 100 * (_rate(rows.shared) / _rate(rows.alone) - 1)
    table = rows.to_arrow().append_column("performance_percent", pa.array(lost))
    changes = ", ".join(f"{vm} {of:+.0f} %" for vm, of in zip(rows.vm, lost, strict=True))
    return Found(
        values={"performance": float(lost.min())},
        checks=[
            Check(
                "compulsory, capacity and interference misses are all there are",
                round(misses) == len(now.sharing) - int(served.hits[0]),
                f"{round(misses):,} of {len(now.sharing):,} accesses; a replay counts as many",
            ),
            Check("every server loses performance by sharing", bool(lost.max() < 0), changes),
        ],
        tables={"misses": table},
        plots=_INTERFERENCE_PLOTS,
        ran=[f"workloads/thin3.yaml in one LRU cache of {now.size:,} blocks"],
    )


def _sampled(whole: Sharing) -> Sharing:
    """Return the references to a share of the blocks. There are no discards: clients send none."""
    kept = whole.ids % round(1 / QUICK_SHARE) == 0
    return Sharing(whole.vms, whole.ids[kept], whole.vm[kept], whole.block_bytes)


def _rate(hit_ratio: np.ndarray) -> np.ndarray:
    """Return accesses a second of one client, of which hits take flash and misses a disk."""
    hit, miss = (CATALOGUE[name].read_ns.middle for name in ("flash", "hdd"))
    return 1e9 / (hit_ratio * hit + (1 - hit_ratio) * miss)


_GUEST_PLOTS = [
    Plot(
        "Hits of guests and host", "Of all reads, by what the host caches.",
        "hits", "system", {"guest": "in guests", "host": "in the host"},
        "", "Hits", "stacked",
    )
]  # fmt: skip


_CLAIMS_WITHOUT_NUMBERS = (
    "capacity misses are fewer with thin provisioning than with static parts",
    "REMOCA reduces the number of disk accesses",
    "CacheCOW meets response times by locality and arrival pattern",
    "Maxperf meets targets first and divides the rest by gain",
)


def find_guests(context: Context) -> Found:
    """Guests' caches above the host's: what the host caches, and guests that shrink."""
    run = context.run("../guests.yaml")
    metrics = run.measured("metrics")
    hits = {
        system.title: counts_of(of_system(metrics, system.title), "hits").sum(axis=(0, 1))
        for system in run.spec.systems
    }
    reads, evictions = (hits[f"host caches {what}"] for what in ("reads", "evictions"))
    shrunk, copies = hits["mixed-caching"], hits["host has copies"]
    held = counts_of(of_system(metrics, "mixed-caching"), "occupancy").sum(axis=1)[:, 0]
    kept = 100 * (shrunk.sum() / copies.sum() - 1)
    return Found(
        checks=[
            Check(
                "a host hits more if it caches what guests evict, and not what they read",
                bool(evictions[1] > reads[1] and evictions[0] == reads[0]),
                f"Geiger: {evictions[1]:,} and {reads[1]:,} hits, beside {reads[0]:,} of guests",
            ),
            Check(
                "mixed caching: guests that shrink lose no more than 1 % of all hits",
                bool(kept >= -1),
                f"{kept:+.2f} %, with {held[-1]:,} instead of {held.max():,} blocks of guests",
            ),
            Check(
                "Geiger infers evictions from page faults and the reuse of page frames",
                None,
                "traces of block requests have neither page faults nor page frames",
            ),
            Check(
                "balloons shrink guests whose memory is not under pressure",
                None,
                "traces of block requests do not tell how much memory guests use for other data",
            ),
            *(
                Check(claim, None, "the thesis has no number or workload to compare with")
                for claim in _CLAIMS_WITHOUT_NUMBERS
            ),
        ],
        tables={
            "hits": pa.table(
                {
                    "system": list(hits),
                    "guest": [int(of[0]) for of in hits.values()],
                    "host": [int(of[1]) for of in hits.values()],
                }
            )
        },
        plots=_GUEST_PLOTS,
        runs=[run],
    )
