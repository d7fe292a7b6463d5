"""`./mcsim bench search`: what a search finds with how few replays, beside the whole grid.

Needs the recorded traces of MCSIM_TRACE_DIR; a trace that is not there is left out. The grid has
all sizes from a two-hundredth to a third of a trace's blocks for the first tier, and from a
hundredth to all for the second, equal ratios apart; it is replayed in full, which takes minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import mcsim

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from recorded import CLOUDPHYSICS

TRACES: dict[str, dict[str, Any]] = {
    "OLTP": {"format": "arc"},
    "P3": {"format": "arc"},
    "w106": {"format": "keys"},
    "web_3": {"format": "msr"},
    "cloudPhysicsIO": {"format": "csv", "options": CLOUDPHYSICS | {"op": "op"}},
}
CLOCKED = ("web_3", "cloudPhysicsIO")


def experiment(trace: str, backend: str) -> dict[str, Any]:
    """Two tiers for a trace; their sizes do not count. A backend may be how long it takes."""
    device = {"device": "hdd"}
    if backend != "hdd":
        device |= {"read": backend, "write": backend}
    return {
        "name": trace,
        "ops": "reads" if trace in CLOCKED else "all",
        "interval": "1h" if trace in CLOCKED else "1000000 references",
        "workload": {"vms": [{"name": trace, "trace": trace} | TRACES[trace]]},
        "tiers": [
            {"device": "dram", "capacity": "1%"},
            {"device": "flash", "capacity": "10%"},
        ],
        "backend": device,
        "systems": ["hierarchy"],
    }


def goals(dearest: float) -> list[tuple[str, dict[str, Any]]]:
    """Goals: the best for a share of the price of the largest tiers, and the best ratio."""
    latency = [("latency", {"dollars": share * dearest}) for share in (0.1, 0.25, 0.5)]
    return [*latency, ("per-dollar", {})]


def compare(trace: str, policy: str, backend: str, points: int) -> None:
    """Print a line for every goal."""
    spec = experiment(trace, backend)
    sizes = f"log(0.5%, 33%, {points}) / log(1%, 100%, {points})"
    shared: dict[str, Any] = {"sizes": sizes, "policies": policy}
    began = time.monotonic()
    everything = mcsim.search(spec, objective="per-dollar", exhaustive=True, **shared)
    seconds_grid = time.monotonic() - began
    for objective, limits in goals(float(everything.dollars.max())):
        affordable = everything[everything.dollars <= limits.get("dollars", float("inf"))]
        name, sign = ("latency_ns", 1) if objective == "latency" else ("per_dollar", -1)
        best = float((sign * affordable[name]).min() * sign)
        for refine in (False, True):
            began = time.monotonic()
            found = mcsim.search(spec, objective=objective, limits=limits, refine=refine, **shared)
            seconds = time.monotonic() - began
            off = round(100 * sign * (float(found.best[name]) - best) / best, 2) + 0.0
            both = found.replay_count + found.replayed
            goal = objective + "".join(f" for ${value:.3g}" for value in limits.values())
            print(
                f"{trace:<15}{policy:<5}{backend:<7}{goal:<22}{'between' if refine else 'grid':<9}"
                f"{found.grid:>5}{found.replay_count:>6}{found.grid / found.replay_count:>8.1f}"
                f"{found.replayed:>8.1f}{found.grid / both:>8.1f}{off:>+9.2f} %"
                f"{seconds:>8.1f}{seconds_grid:>8.1f}",
                flush=True,
            )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", default="OLTP,P3,cloudPhysicsIO", help=", ".join(TRACES))
    parser.add_argument("--policies", default="lru,arc")
    parser.add_argument("--backends", default="hdd,200us", help="a disk, or times of another")
    parser.add_argument("--points", type=int, default=12, help="sizes of either tier")
    asked = parser.parse_args()
    print(
        f"{'trace':<15}{'':<5}{'before':<7}{'sought':<22}{'sizes':<9}{'grid':>5}{'full':>6}"
        f"{'fewer':>8}{'beside':>8}{'fewer':>8}{'from best':>11}{'s':>8}{'grid s':>8}"
    )
    for trace in asked.traces.split(","):
        for backend in asked.backends.split(","):
            for policy in asked.policies.split(","):
                compare(trace, policy, backend, asked.points)
    print(
        "full: replays in full; beside: what miniatures replayed, in lengths of the trace, and how "
        "many times fewer both are; from best: of the grid; below 0: better than any of the grid"
    )


if __name__ == "__main__":
    main()
