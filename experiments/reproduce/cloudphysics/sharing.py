"""The CloudPhysics talk: sizing a cache, what-if, and dividing it among customers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.config.devices import CATALOGUE
from mcsim.figures.declared import Plot
from mcsim.locality.estimators import estimate
from mcsim.locality.mix import Mix, mix_of
from mcsim.locality.sharing import Sharing
from mcsim.locality.size_verdict import SizeVerdict, verdict
from mcsim.locality.whatif import WhatIf, change
from mcsim.policies.simulation import simulate
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import Context

from .customers import Customer, customers, described, shared_by

__all__ = ["SHARES", "find_partition", "find_sizing", "find_what_if"]

SHARES = {"3 GB": 0.014, "8 GB": 0.0375, "32 GB": 0.15, "128 GB": 0.6}
"""The talk's caches, as shares of the footprint of all customers that share a cache: the disks of
its customers hold some 200 GB together, ours less."""

_MIXES, _QUICK_MIXES = 27, 9
_HALF_A_POINT = 0.005


def mixes(several: Sequence[Customer], count: int, seed: int) -> list[list[Customer]]:
    """Draw mixes of three to six customers."""
    random = np.random.default_rng(seed)
    return [
        [several[i] for i in sorted(random.permutation(len(several))[: random.integers(3, 7)])]
        for _ in range(count)
    ]


def find_partition(context: Context) -> Found:
    """The effective size of the best parts, of 27 mixes and four sizes."""
    several = customers(context)
    drawn = mixes(several, _QUICK_MIXES if context.quick else _MIXES, context.seed or 1)
    found: list[Mix] = []
    with context.reporter.stage("divide", total=len(drawn), unit="mixes") as stage:
        for number, chosen in enumerate(drawn, start=1):
            footprint = sum(one.unique for one in chosen)
            sizes = [round(footprint * share) for share in SHARES.values()]
            found.append(mix_of(shared_by(chosen), sizes, alone=[one.curve for one in chosen]))
            stage.update(number)
    gains = np.array([mix.size_gain for mix in found])
    replays = [_replayed(mix) for mix in found[:2]]

    rows = [row for mix in found for row in _rows(mix)]
    published = gains[:, [size != "8 GB" for size in SHARES]]
    mean, most, fewer = gains.mean(), gains.max(), float((gains < 0).mean())
    return Found(
        values={"mean gain": 100 * mean, "most gain": 100 * most},
        checks=[
            Check("parts are worth more than sharing in the mean", mean > 0, f"{mean:+.0%}"),
            Check(
                "parts are worth at least as much in four of five cases",
                fewer <= 0.2,
                f"less in {fewer:.0%} of {gains.size}",
            ),
            Check(
                "the most is at least twice the mean",
                most >= 2 * mean,
                f"{most:+.0%}, {most / mean:.1f} times",
            ),
            Check(
                "replays of the first mixes miss exactly as often, shared and divided",
                all(replays),
                f"{len(replays)} mixes of {len(SHARES)} sizes",
            ),
            Check(
                "parts are worth more in the mean of the three published sizes, without 8 GB",
                published.mean() > 0,
                f"{published.mean():+.0%}, at most {published.max():+.0%}",
            ),
        ],
        tables={"mixes": pa.Table.from_pylist(rows), "histogram": _histogram(100 * gains)},
        plots=_PARTITION_PLOTS,
        ran=[f"{len(drawn)} mixes of {described(several)}"],
        recorded=several[0].recorded,
    )


def _histogram(percent: NDArray[np.float64]) -> pa.Table:
    """Count mixes by gain, in steps of ten points, and by the size of the cache."""
    lowest = 10 * np.floor(percent / 10).astype(int)
    return pa.Table.from_pylist(
        [
            {"gain": f"{low:+d} to {low + 10:+d} %", "size": size, "mixes": int(count)}
            for low in range(lowest.min(), lowest.max() + 1, 10)
            for size, count in zip(SHARES, (lowest == low).sum(axis=0), strict=True)
            if (lowest == low).any()
        ]
    )


_PARTITION_PLOTS = [
    Plot(
        "Effective size of the best parts",
        "How many mixes gain how much against sharing, by the size of the cache.",
        "histogram", "gain", "mixes", "Effective size gained", "Mixes", "stacked", by=["size"],
    ),
    Plot(
        "Gain by size",
        "A point a mix and size: how much larger a shared cache would have to be.",
        "mixes", "blocks", "size_gain", "Size of the cache (blocks)", "Effective size gained (%)",
        "points", by=["size"], y_times=100, log_x=True,
    ),
]  # fmt: skip


def _rows(mix: Mix) -> list[dict[str, Any]]:
    named = zip(SHARES, mix, mix.allocation.tolist(), strict=True)
    return [
        {
            "customers": ", ".join(mix.sharing.vms),
            "size": size,
            "blocks": int(row.capacity),
            "accesses": int(row.accesses),
            "shared_misses": int(row.shared),
            "equal_misses": int(row.equal),
            "parts_misses": int(row.parts),
            "effective_blocks": int(row.effective),
            "size_gain": float(row.size_gain),
            "parts": parts,
        }
        for size, row, parts in named
    ]


def _replayed(mix: Mix) -> bool:
    """Whether replays of the shared cache and of the parts miss as often as was predicted."""
    of = mix.sharing
    shared = simulate(of.ids, "lru", mix.capacity.tolist(), one_pass=False)
    divided = np.zeros(len(mix), np.int64)
    for vm in range(len(of.vms)):
        own = of.ids[of.vm == vm]
        for i, part in enumerate(mix.allocation[:, vm].tolist()):
            divided[i] += (
                simulate(own, "lru", [part], one_pass=False).misses[0] if part else len(own)
            )
    return bool((shared.misses == mix.shared).all() and (divided == mix["parts"]).all())


def find_sizing(context: Context) -> Found:
    """The size for a latency, from a sampled curve, and whether a size is a good one."""
    one = max(customers(context, ("own",), whole=True), key=_share_for_35)
    exact = one.curve
    hit, miss = (CATALOGUE[name].read_ns.middle for name in ("flash", "hdd"))
    # Half way from what a hundredth of the footprint reaches to all there is.
    ratio = (exact.at(one.unique // 100) + exact.best_ratio) / 2
    blocks = exact.capacity_for(ratio) or one.unique
    at = sorted({blocks, *(knee.capacity for knee in exact.knees())})
    replayed = simulate(one.ids, "lru", at, one_pass=False)
    apart = float(np.abs(exact.at(at) - replayed.hit_ratio).max())
    sampled = estimate(one.ids, "shards", max_blocks=8192, correction="adj")
    judged = [verdict(exact, size) for size in (blocks, exact.capacity_for(0.35) or one.unique)]
    wanted_ns, reached_ns = (miss - r * (miss - hit) for r in (ratio, judged[0].ratio))

    other = f"the trace of the slide is not here; of another, {_said(judged[1])}"
    return Found(
        values={"hit ratio at 128 GB": other},
        checks=[
            Check(
                "a replay hits what was predicted within half a point",
                apart <= _HALF_A_POINT,
                f"{100 * apart:.2f} points at {len(at)} sizes",
            ),
            Check(
                "the size reaches the latency that it is for",
                reached_ns <= wanted_ns,
                f"{blocks:,} blocks for {wanted_ns / 1e6:.3f} ms: {reached_ns / 1e6:.3f} ms",
            ),
            Check(
                "a curve of 8K sampled blocks is within .03 of it in the mean",
                sampled.mae(exact) <= 0.03,
                f"{sampled.mae(exact):.4f}",
            ),
        ],
        tables={
            "sizes": _marginal(one),
            "verdicts": pa.Table.from_pylist([each.to_dict() for each in judged]),
        },
        plots=_sizing_plots(judged[1]),
        ran=[f"{one.name}, {len(one.ids):,} references"],
        recorded=one.recorded,
    )


def _sizing_plots(judged: SizeVerdict) -> list[Plot]:
    size = [(judged.size, judged.judgement)]
    return [
        Plot(
            "Hit ratio by size",
            f"Is {judged.size:,} blocks a good size? It is {judged.judgement}.",
            "sizes", "blocks", "hit_ratio", "Size (blocks)", "Hit ratio (%)",
            y_times=100, log_x=True, marks=size, levels=[(100 * judged.best, "infinite")],
        ),
        Plot(
            "What another GiB would hit", "Over the size of the cache.",
            "sizes", "blocks", "hits_of_another_gib", "Size (blocks)", "More hits",
            log_x=True, marks=size,
        ),
    ]  # fmt: skip


def _share_for_35(one: Customer) -> float:
    """Return which share of its footprint it takes to hit 35 %; 0 if none does."""
    return (one.curve.capacity_for(0.35) or 0) / one.unique


def _said(judged: SizeVerdict) -> str:
    above = judged.knee_above
    next_knee = f", {above.capacity / judged.size:.1f} times to the next knee" if above else ""
    return (
        f"{100 * judged.ratio:.1f} % at {judged.size:,} blocks: {judged.judgement}; "
        f"{judged.of_best:.0%} of what infinity hits{next_knee}"
    )


def _marginal(one: Customer) -> pa.Table:
    """Tabulate what another GiB would hit, over size."""
    curve = one.curve
    gib = 2**30 // one.block_bytes
    sizes = np.unique(np.geomspace(max(one.unique / 500, 1), one.unique, 25).astype(np.int64))
    more = (curve.at(sizes + gib) - curve.at(sizes)) * curve.accesses
    return pa.table(
        {"blocks": sizes, "hit_ratio": curve.at(sizes), "hits_of_another_gib": np.rint(more)}
    )


def find_what_if(context: Context) -> Found:
    """Predict a cache larger by half, and one without its largest client; find thrashed ones."""
    several = customers(context)
    chosen = mixes(several, 1, 106)[0]
    everybody = shared_by(chosen)
    size = round(0.15 * everybody.unique)
    largest = max(chosen, key=lambda one: one.unique).name
    larger = change(everybody, size, to="+50%")
    fewer = change(everybody, size, leaving=largest)

    return Found(
        values={"gain of half as much more": 100 * larger.gain},
        checks=[
            _prediction(everybody, larger, fewer),
            *_claims_of_company(larger, fewer, largest),
        ],
        tables={
            "clients": fewer.before.rows.to_arrow(),
            "larger": larger.to_arrow(),
            "fewer": fewer.to_arrow(),
        },
        plots=_WHAT_IF_PLOTS,
        ran=[f"{described(chosen) if chosen[0].recorded else ', '.join(everybody.vms)}"],
        recorded=several[0].recorded,
    )


_WHAT_IF_PLOTS = [
    Plot(
        title, says, table, "vm", columns, "", "Hit ratio (%)", "bars", y_times=100,
    )
    for title, says, table, columns in (
        (
            "Clients of a cache",
            "In the whole cache alone, in an equal part of it, and with the others in it.",
            "clients",
            {"alone": "alone", "part": "in an equal part", "shared": "shared"},
        ),
        (
            "A cache larger by half", "Before and after.", "larger",
            {"hit_ratio_before": "before", "hit_ratio_after": "after"},
        ),
        (
            "Without the largest client", "Before and after.", "fewer",
            {"hit_ratio_before": "before", "hit_ratio_after": "after"},
        ),
    )
]  # fmt: skip


def _prediction(everybody: Sharing, larger: WhatIf, fewer: WhatIf) -> Check:
    before, after = larger.before.size, larger.after.size
    return Check(
        "replays hit exactly what was predicted, before and after",
        _as_replayed(everybody, before, after) and _as_replayed(fewer.after.sharing, before),
        f"{len(everybody.vms)} clients, {before:,} blocks",
    )


def _claims_of_company(larger: WhatIf, fewer: WhatIf, gone: str) -> list[Check]:
    rows, thrashed = larger.before.rows, larger.before.thrashed
    worse = int((rows.shared > rows.alone + 1e-12).sum())
    return [
        Check(
            "nobody hits more in company than in the whole cache alone",
            worse == 0,
            f"{worse} of {len(rows)}",
        ),
        Check(
            "a larger cache is worse for nobody",
            _nobody_loses(larger),
            f"{100 * larger.gain:+.2f} points",
        ),
        Check(
            f"without {gone} the others lose nothing",
            _nobody_loses(fewer),
            ", ".join(_moved(fewer)),
        ),
        Check(
            "company costs somebody more than an equal part would",
            True if thrashed else None,
            ", ".join(thrashed) or "nobody is thrashed here",
        ),
    ]


def _as_replayed(of: Sharing, *sizes: int) -> bool:
    hits = simulate(of.ids, "lru", list(sizes), one_pass=False).hits
    return bool((np.rint(of.together.at(list(sizes)) * len(of)) == hits).all())


def _nobody_loses(asked: WhatIf) -> bool:
    stay = asked[~np.isnan(asked.hit_ratio_after)]
    return bool((stay.hit_ratio_after >= stay.hit_ratio_before - 1e-12).all())


def _moved(asked: WhatIf) -> list[str]:
    stay = asked[~np.isnan(asked.hit_ratio_after)]
    return [f"{row.vm} {100 * (row.hit_ratio_after - row.hit_ratio_before):+.1f}" for row in stay]
