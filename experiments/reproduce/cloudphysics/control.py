"""The CloudPhysics talk: controllers over time, tuning in miniature, and curves that are bent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.config.spec import SystemSpec
from mcsim.figures.declared import Plot
from mcsim.figures.looks import system_looks
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.mix import best_parts
from mcsim.locality.sharing import sharing
from mcsim.policies.simulation import simulate
from mcsim.policies.tuning import tune
from mcsim.reproduce.catalogue import Check, Found, said
from mcsim.reproduce.context import Context
from mcsim.results.results import Results
from mcsim.results.series import Series, series_of, vms_of
from mcsim.results.tables import devices_of
from mcsim.traces.synth import synth_trace
from mcsim.traces.trace import Trace

from .customers import customers_trace

__all__ = ["find_adapting", "find_bending", "find_iops", "find_latency", "find_tuning"]

_CHANGE = 36
"""The interval in which two VMs of workloads/phases.yaml change places: of ten minutes each."""


_PARTS_PLOTS = [
    Plot(
        f"Parts of the cache: {title}", f"Two clients change places in interval {_CHANGE}.",
        "parts", "interval", "blocks", "Interval", "Target (blocks)", "steps",
        by=["vm"], only={"system": title}, marks=[(_CHANGE, "the change")],
    )
    for title in ("multicache", "steady")
]  # fmt: skip


def find_adapting(context: Context) -> Found:
    """Parts of a cache before and after two clients change places."""
    results = context.run("cloudphysics/adapting.yaml")
    vms = vms_of(results)
    named = {s.title: series_of(results, s) for s in results.spec.systems}
    after = _adapted(named["multicache"], vms)

    return Found(
        values={"intervals until parts adapt": after},
        checks=[
            Check(
                "parts adapt within two intervals after two clients have changed places",
                after <= 2,
                f"after {after:g}",
            )
        ],
        tables={"parts": _over_time(results, named)},
        plots=_PARTS_PLOTS,
        ran=[results.run_id],
        recorded=False,
    )


def _adapted(series: Series, vms: Sequence[str]) -> float:
    """Return how many intervals after the change the parts are the other way round."""
    target = series.target.sum(axis=2)
    larger = target[:, vms.index("grows")] > target[:, vms.index("shrinks")]
    turned = np.flatnonzero(larger[_CHANGE:])
    return float(turned[0]) if len(turned) and not larger[_CHANGE - 1] else float("inf")


def find_latency(context: Context) -> Found:
    """A client's latency over time, the target, and the space that keeps it."""
    return _promise(context, "cloudphysics/promises.yaml", "latency_ms", "Latency (ms)")


def find_iops(context: Context) -> Found:
    """A client's accesses a second over time, the target, and the space that keeps it."""
    return _promise(context, "cloudphysics/iops.yaml", "iops", "Accesses a second")


def _promise(context: Context, file: str, goal: str, label: str) -> Found:
    results = context.run(file)
    vm = vms_of(results).index("db")
    slo = next(system for system in results.spec.systems if system.name == "slo")
    target = float(_goal(slo, goal)["db"])
    named = {s.title: series_of(results, s) for s in results.spec.systems}
    mean_ns = {title: _mean_ns(results, series)[:, vm] for title, series in named.items()}
    if goal == "latency_ms":
        achieved = {title: ns / 1e6 for title, ns in mean_ns.items()}
    else:  # Little's law
        under_way = float(_goal(slo, "outstanding")["db"])
        achieved = {title: under_way * 1e9 / ns for title, ns in mean_ns.items()}
    rows = results.to_arrow("decisions").to_pylist()
    refused = {row["interval"]: row["infeasible"] for row in rows if row["infeasible"]}
    # There is no curve before the first interval.
    counted = [i for i in range(1, len(mean_ns[slo.title])) if i not in refused]
    met = {
        title: (values <= target if goal == "latency_ms" else values >= target)[counted]
        for title, values in achieved.items()
    }

    return Found(
        values={"intervals in which it is met": 100 * met[slo.title].mean()},
        checks=_claims_of_promises(slo.title, met, refused),
        tables={"over_time": _over_time(results, named), "achieved": _achieved(achieved, goal)},
        plots=_promise_plots(results, goal, label, target),
        ran=[results.run_id],
        recorded=False,
    )


def _achieved(achieved: Mapping[str, NDArray[np.float64]], goal: str) -> pa.Table:
    rows = [
        {"system": title, "interval": interval, goal: value}
        for title, values in achieved.items()
        for interval, value in enumerate(values.tolist())
    ]
    return pa.Table.from_pylist(rows)


def _promise_plots(results: Results, goal: str, label: str, target: float) -> list[Plot]:
    looks = system_looks(results.spec.systems)
    return [
        Plot(
            f"{label} of db", f"By interval, under every system; the target is {target:g}.",
            "achieved", "interval", goal, "Interval", label, "steps", by=["system"],
            levels=[(target, "target")], looks=looks,
        ),
        Plot(
            "Space of db", "Blocks that it is given, by interval.",
            "over_time", "interval", "blocks", "Interval", "Space (blocks)", "steps",
            by=["system"], only={"vm": "db"}, looks=looks,
        ),
    ]  # fmt: skip


def _mean_ns(results: Results, series: Series) -> NDArray[np.float64]:
    """Return what accesses wait for in the mean, shape (intervals, vms)."""
    hit, miss = (float(device.waits[0]) for device in devices_of(results.spec, 1))
    return series.hit_ratio * hit + (1 - series.hit_ratio) * miss


def _claims_of_promises(
    slo: str, met: Mapping[str, NDArray[np.bool_]], refused: Mapping[int, str]
) -> list[Check]:
    shares = {title: float(each.mean()) for title, each in met.items()}
    others = max(share for title, share in shares.items() if title != slo)
    return [
        Check(
            "the target is met in nine of ten intervals in which it can be",
            shares[slo] >= 0.9,
            f"{shares[slo]:.0%} of {len(met[slo])}",
        ),
        Check(
            "intervals in which it cannot be met are named",
            bool(refused),
            f"{len(refused)}: {next(iter(refused.values()), '')}",
            construction="an hour of workloads/promises.yaml cannot be served in time",
        ),
        Check(
            "it is met more often than by sharing or equal parts",
            shares[slo] > others,
            ", ".join(f"{title} {share:.0%}" for title, share in shares.items()),
        ),
    ]


def _goal(system: SystemSpec, name: str) -> Mapping[str, float]:
    given: Mapping[str, float] = system.params.get(name, {})
    return given


def _over_time(results: Results, named: Mapping[str, Series]) -> pa.Table:
    """Tabulate parts and hit ratios, a row an interval, system and VM."""
    vms, rows = vms_of(results), []
    for title, series in named.items():
        for interval in range(len(series.accesses)):
            rows += [
                {
                    "system": title,
                    "interval": interval,
                    "vm": vm,
                    "blocks": int(series.target[interval, v].sum()),
                    "hit_ratio": float(series.hit_ratio[interval, v]),
                }
                for v, vm in enumerate(vms)
            ]
    return pa.Table.from_pylist(rows)


def find_tuning(context: Context) -> Found:
    """Block size, write mode and policy of a cache, in miniature and replayed."""
    trace, recorded = _tuned(context)
    sizes = ["4KiB", "16KiB"] if context.quick else ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]
    grid: dict[str, Any] = {
        "policies": ["lru", "arc"],
        "block_bytes": sizes,
        "writes": ["through", "back"],
        "objective": "latency",
        "threads": context.threads,
    }
    size = "64MiB" if context.quick else "256MiB"
    full = tune(trace, size, **grid)
    mini = tune(trace, size, rate=0.1, seeds=3, **grid)
    best, guess = full[0], mini[0]
    point = ["policy", "block", "writes"]
    of_guess = next(row for row in full if all(row[name] == guess[name] for name in point))
    apart = float(of_guess.latency_ns - best.latency_ns)
    band = float(guess.latency_ns_margin)
    same = all(best[name] == guess[name] for name in point)

    return Found(
        values={"winner": _named(best)},
        checks=[
            Check(
                "the winner in miniature is the replays' winner, or within its band of it",
                same or apart <= band,
                f"{_named(guess)} against {_named(best)}: {apart / 1e3:.1f} us apart, "
                + (f"band {band / 1e3:.1f} us" if band == band else "no band"),
            ),
        ],
        tables={"replayed": full.to_arrow(), "miniatures": mini.to_arrow()},
        plots=_TUNING_PLOTS,
        ran=[f"{trace.metadata.source}, a cache of {size}, {len(full)} combinations"],
        recorded=recorded,
    )


_TUNING_PLOTS = [
    Plot(
        f"Latency, {how}", "Over block size, by policy and write mode.",
        table, "block", "latency_ns", "Block size (KiB)", "Mean latency (ms)",
        by=["policy", "writes"], x_times=1 / 1024, y_times=1e-6, log_x=True,
    )
    for table, how in (("replayed", "replayed"), ("miniatures", "in miniature"))
]  # fmt: skip


def _named(row: Any) -> str:
    from mcsim.base.units import format_bytes

    return f"{row.policy}, {format_bytes(int(row.block))}, write {row.writes}"


def _tuned(context: Context) -> tuple[Trace, bool]:
    recorded = customers_trace("cloudPhysicsIO", context)
    if recorded is not None:
        return recorded, True
    profile = context.folder("cloudphysics").parents[1] / "workloads" / "mix.yaml"
    return synth_trace(profile, seed=context.seed), False


_LOOP, _SPACE = 2000, 1000


def find_bending(context: Context) -> Found:
    """Cliffs that Talus and SLIDE bend into hulls, alone and of two clients mixed."""
    epoch = 50_000 if context.quick else 200_000
    count = 5 * epoch
    loop = np.arange(count) % _LOOP
    sizes = list(range(250, _LOOP + 1, 250))
    # They plan after an epoch for the first time; it is not counted.
    bent = [f"talus(epoch={epoch})", f"slide(policy=lru,epoch={epoch})"]
    alone = simulate(loop, ["lru", *bent], sizes, threads=context.threads, warm_up=epoch)
    misses = {policy: 1 - alone.hit_ratio[alone.policy == policy] for policy in ("lru", *bent)}
    at = sizes.index(_SPACE)
    mixed = _mixed(loop, epoch, bent[0], context)
    return Found(
        values={"miss ratio of half a loop": float(misses[bent[0]][at])},
        checks=_claims_of_bending({policy: of[at] for policy, of in misses.items()}, mixed),
        tables={
            "alone": alone.to_arrow(),
            "mixed": pa.table({"cache": list(mixed), "miss_ratio": list(mixed.values())}),
        },
        plots=_BENDING_PLOTS,
        ran=[f"a loop of {_LOOP:,} blocks, {count:,} references; beside it popular blocks"],
    )


_BENDING_PLOTS = [
    Plot("Hit ratio of a loop", f"Of {_LOOP:,} blocks, by policy, over the size of the cache.",
         "alone", "capacity", "hit_ratio", "Size (blocks)", "Hit ratio (%)", by=["policy"],
         y_times=100),
    Plot("Misses of two clients", "A loop and popular blocks, in one cache or in parts of it.",
         "mixed", "cache", "miss_ratio", "Cache", "Misses (%)", "stacked", y_times=100),
]  # fmt: skip


def _claims_of_bending(misses: Mapping[str, float], mixed: Mapping[str, float]) -> list[Check]:
    bent = {policy.partition("(")[0]: ratio for policy, ratio in misses.items() if policy != "lru"}
    return [
        Check(
            "LRU misses always where a loop does not fit",
            misses["lru"] == 1,
            f"{misses['lru']:.3f}",
            construction="the loop is twice as large as the cache",
        ),
        *(
            Check(f"{policy} bends it to at most .55", ratio <= 0.55, f"{ratio:.3f}")
            for policy, ratio in bent.items()
        ),
        Check(
            "two clients mixed miss less when the curve is bent",
            mixed["shared, bent"] < mixed["shared"],
            said(mixed, 3),
        ),
        Check(
            "and so when each has a part of its own",
            mixed["parts, bent"] < mixed["parts"],
            said(mixed, 3),
        ),
    ]


def _mixed(loop: NDArray[np.int64], epoch: int, talus: str, context: Context) -> dict[str, float]:
    """Return the miss ratios of a loop and popular blocks in one cache, shared and divided."""
    random = np.random.default_rng(context.seed or 1)
    popular = np.minimum(random.zipf(1.3, len(loop)), 4 * _LOOP)
    streams = {"loop": loop, "popular": popular}
    together = sharing(streams, "rates")
    size = _LOOP
    shared = simulate(
        together.ids, ["lru", talus], [size], threads=context.threads, warm_up=2 * epoch
    )
    hulls = [_hull_of(curve) for curve in together.alone.values()]
    divided = {
        "parts": (best_parts(list(together.alone.values()), size), "lru"),
        "parts, bent": (best_parts(hulls, size), talus),
    }
    found = {"shared": 1 - shared.hit_ratio[0], "shared, bent": 1 - shared.hit_ratio[1]}
    for name, (parts, policy) in divided.items():
        misses = sum(
            simulate(stream, policy, [int(part)], warm_up=epoch).misses[0]
            if part
            else len(stream) - epoch
            for stream, part in zip(streams.values(), parts, strict=True)
        )
        found[name] = misses / (len(together) - 2 * epoch)
    return {name: float(ratio) for name, ratio in found.items()}


def _hull_of(curve: HitRatioCurve) -> HitRatioCurve:
    """Return a curve that is its own hull: what a bent cache hits, at best."""
    at, ratio = curve.hull()
    sizes = np.arange(at[-1] + 1)
    return replace(curve, capacities=sizes, hits=np.interp(sizes, at, ratio) * curve.accesses)
