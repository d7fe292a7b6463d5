"""Statements of the Multi-Cache paper's text: worked examples, and resizing on bursts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mcsim._core import engine, locality
from mcsim.figures.declared import Plot
from mcsim.optimizers import load
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import Context
from mcsim.results.results import Results
from mcsim.results.schemas import counts_of, of_system

__all__ = ["find_bursts", "find_worked_examples"]

_WINDOW = 60 * 10**9


def find_worked_examples(context: Context) -> Found:
    """The numbers that the text works out: reuse intensity, its weights, and a hit ratio."""
    intensity = _intensity_of([0, 1, 2, 3, 4, 5, 6, 7, 8, 0])
    weight = _weight_of_reuse(1, 10)
    ratio, mean = _ratios([(10_000, 5000), (5000, 5)])
    return Found(
        values={
            "reuse intensity": intensity,
            "weight": weight,
            "hit ratio": 100 * ratio,
        },
        checks=[
            Check(
                "a hit ratio of all counts hits, and is no mean of the VMs' ratios",
                ratio > mean,
                f"{ratio:.2%}; the mean is {mean:.2%}",
            )
        ],
        ran=["three streams of a few accesses"],
    )


def _accesses(vms: Mapping[str, Sequence[int]]) -> engine.Accesses:
    """Return reads of blocks, a second apart, and one more read an hour later."""
    builder = engine.AccessBuilder()
    for name, blocks in (*vms.items(), ("later", [0])):
        builder.begin_vm(name)
        count = len(blocks)
        times = np.arange(count) * 10**6 + (3600 * 10**9 if name == "later" else 0)
        builder.add(
            times,
            np.zeros(count, np.uint16),
            np.zeros(count, np.uint8),
            np.array(blocks, np.uint64) * np.uint64(4096),
            np.full(count, 4096, np.uint32),
        )
    return builder.finish()


def _machine(*capacities: int) -> engine.Machine:
    tiers = [
        (engine.Device(f"tier {k}", 10.0**k, 10.0**k, 1.0), blocks)
        for k, blocks in enumerate(capacities)
    ]
    return engine.Machine(tiers, engine.Device("disk", 1e4, 1e4, 0.1))


def _ran(
    accesses: engine.Accesses, name: str, machine: engine.Machine, **params: str | int
) -> engine.RunResult:
    hour = 3600 * 10**9
    optimizer = load("exact") if name == "multicache" else None
    system = engine.System(name, params, machine, optimizer, interval=hour)
    measured = locality.characterise(accesses, system.meters)
    return engine.run(accesses, system, measured, engine.aligned_cuts(accesses, hour))


def _intensity_of(blocks: Sequence[int]) -> float:
    """Return the reuse intensity of a window with these accesses."""
    spec = locality.MeterSpec("intensity", {"window": _WINDOW}, interval=_WINDOW)
    measured = locality.characterise(_accesses({"a": blocks}), [spec])
    return float(measured.tables(spec)["intensity"][0, 0])


def _weight_of_reuse(fast: int, slow: int) -> float:
    """Return the weight of reuse intensity in the slow tier, as the objective has it.

    Two VMs reuse alike and hit nothing. Each counts in a tier in which it has space. One of them
    has space in a fast tier of one block, both have space in the slow one. The weights of the
    tiers add up to one.
    """
    loop = [*range(20)] * 2
    intensity = _intensity_of(loop)
    accesses = _accesses({"a": loop, "b": loop})
    result = _ran(
        accesses, "multicache", _machine(fast, slow), ri_mode="gated", ri_window=3600 * 10**9
    )
    return float(result.decisions[0]["objective"] / intensity - 1)


def _ratios(streams: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the hit ratio of VMs with these accesses and hits, and the mean of their ratios."""
    vms = {
        f"vm {number}": np.repeat(
            np.arange(accesses - hits), [2] * hits + [1] * (accesses - 2 * hits)
        )
        for number, (accesses, hits) in enumerate(streams)
    }
    result = _ran(
        _accesses({name: ids.tolist() for name, ids in vms.items()}), "lru", _machine(100)
    )
    hits = result.tiers["hits"].sum(axis=(0, 2))[: len(vms)]
    counts = result.vms["accesses"].sum(axis=0)[: len(vms)]
    return float(hits.sum() / counts.sum()), float((hits / counts).mean())


_BY_TIME = Plot(
    "Hits by the time of divisions", "Of all volumes, in both tiers.",
    "systems", "system", "hits", "", "Hits", "bars",
)  # fmt: skip


def find_bursts(context: Context) -> Found:
    """Resizing that follows reuse intensity at once: tiers divided when a burst begins."""
    run = context.run("multicache/bursts.yaml")
    hourly, bursts = (system.title for system in run.spec.systems)
    trigger = run.spec.systems[1].params["ri_trigger"]
    began = _bursts(run, trigger)
    decided = of_system(run.to_arrow("decisions"), bursts)
    at_once = int(pc.sum(pc.equal(decided["timer"], "window")).as_py())
    hits = {
        title: int(counts_of(of_system(run.measured("metrics"), title), "hits").sum())
        for title in (hourly, bursts)
    }
    more = 100 * (hits[bursts] / hits[hourly] - 1)
    return Found(
        checks=[
            Check(
                "tiers are divided at the end of every window in which a burst begins",
                at_once == began > 0,
                f"{at_once} decisions for {began} windows",
            ),
            Check(
                "all volumes together hit at least as often as if tiers are divided by the hour",
                more >= 0,
                f"{more:+.2f} %",
            ),
        ],
        tables={"systems": pa.table({"system": list(hits), "hits": list(hits.values())})},
        plots=[_BY_TIME],
        runs=[run],
    )


def _bursts(run: Results, trigger: float) -> int:
    """Return in how many windows a volume's reuse intensity rises to the trigger."""
    table = run.table("reuse_intensity")
    ends, vms, intensity = (
        table[name].to_numpy(zero_copy_only=False)
        for name in ("window_end_ns", "vm", "reuse_intensity")
    )
    began: set[int] = set()
    for vm in np.unique(vms):
        high = ends[(vms == vm) & (intensity >= trigger)]
        began |= set(high[~np.isin(high - _WINDOW, high)].tolist())
    return len(began)
