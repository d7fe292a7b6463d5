"""The CloudPhysics talk: what sampling costs, in error, memory and time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.figures.declared import Plot
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import Estimator, estimate
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import Context

from .customers import Customer, customers, described, largest

__all__ = ["find_errors", "find_monitoring", "find_rate", "find_sample_sizes"]

TRACKED = 8192
"""Blocks that the talk's fixed-size samples track: its s_max of 8K."""

_INITIAL_RATE = 0.1
"""The rate at which these samples begin."""


_UNMEASURED = {
    "the library needs no floating-point numbers": "ours computes weights with them",
    "samples at a lower rate are subsets of those at a higher rate": "a property of the hash, "
    "which the tests of the sampler check; the talk has no number",
    "scaled-down simulation is faster": "the time depends on the machine; the talk has no number "
    "for one policy and trace",
    "memory and time fall up to 10,000 times": "the traces here are shorter than the talk's",
    "caches are optimised online": "the talk has no trace or number; policy `switching` does it",
}
"""Statements of the talk that nothing here measures, and the reasons."""


def find_sample_sizes(context: Context) -> Found:
    """Error of fixed-size samples over the blocks they track (the talk's trace t04)."""
    one = largest(customers(context, ("own",), whole=True))
    exact = one.curve
    tracked = [128 << step for step in range(9)]
    seeds = range(1, 3 if context.quick else 6)
    errors = np.array(
        [
            [estimate(one.ids, "shards", **_sample(size), seed=seed).mae(exact) for size in tracked]
            for seed in seeds
        ]
    )
    mean = errors.mean(axis=0)
    slope, _ = np.polyfit(np.log(tracked), np.log(mean), 1)
    accurate = mean[tracked.index(2048) :].max()

    return Found(
        values={"slope": slope},
        checks=[
            Check(
                "the error falls with the root of the sample",
                -0.65 <= slope <= -0.35,
                f"slope {slope:.2f} over {len(tracked)} sizes",
            ),
            Check(
                "samples of 2K and more are very accurate: errors below .01",
                accurate < 0.01,
                f"at most {accurate:.4f}",
            ),
        ],
        tables={"errors": pa.table({"blocks": tracked, "mean_absolute_error": mean})},
        plots=_sample_plots(len(seeds)),
        ran=[
            f"{one.name}, {len(one.ids):,} references to {one.unique:,} blocks, {len(seeds)} seeds"
        ],
        recorded=one.recorded,
    )


def _sample_plots(seeds: int) -> list[Plot]:
    return [
        Plot(
            "Error of samples of fixed size", f"Mean of {seeds} seeds.",
            "errors", "blocks", "mean_absolute_error",
            "Blocks tracked", "Mean absolute error of the hit ratio", log_x=True, log_y=True,
        )
    ]  # fmt: skip


def find_rate(context: Context) -> Found:
    """How the rate of a fixed-size sample falls as distinct blocks appear, from .1 on."""
    several = sorted(customers(context), key=lambda one: -one.unique)[:4]
    tracked = max(16, context.scaled(TRACKED))
    references, rates, apart = {}, {}, []
    for one in several:
        seen, rate, true = _rates(one, tracked)
        references[one.name], rates[one.name] = seen, rate
        apart.append(float(np.abs(rate / true - 1).max()))
    rising = [name for name, rate in rates.items() if (np.diff(rate) > 0).any()]

    columns = [
        pa.table({"customer": [name] * len(rate), "references": references[name], "rate": rate})
        for name, rate in rates.items()
    ]
    plots = [
        Plot(
            "Sampling rate of a fixed-size sample",
            f"It begins at {_INITIAL_RATE} and falls as blocks appear; {tracked:,} are tracked.",
            "rates", "references", "rate", "References processed", "Share of blocks sampled",
            by=["customer"], log_y=True,
        )
    ]  # fmt: skip
    return Found(
        values={"rate at the beginning": _first_rate(several[0], tracked)},
        checks=[
            Check("the rate never rises", not rising, f"{len(rates)} traces, {tracked:,} blocks"),
            Check(
                "it is what the distinct blocks leave of it, but for the sample's own error",
                max(apart) < 4 / tracked**0.5,
                f"at most {max(apart):.1%} off, of {4 / tracked**0.5:.1%}",
            ),
        ],
        tables={"rates": pa.concat_tables(columns)},
        plots=plots,
        ran=[described(several)],
        recorded=several[0].recorded,
    )


def _first_rate(one: Customer, tracked: int) -> float:
    """Return the rate at which a sample has its first block, which stands for 1 / rate blocks."""
    stream = Estimator("shards", max_blocks=tracked, initial_rate=_INITIAL_RATE)
    for block in one.ids:
        stream.process(np.array([block]))
        if stream.distinct:
            return 1 / stream.distinct
    return float("nan")


def _rates(
    one: Customer, tracked: int, steps: int = 200
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return references so far, the sample's rate, and what it should be."""
    stream = Estimator("shards", max_blocks=tracked, initial_rate=_INITIAL_RATE)
    first = np.full(one.unique, len(one.ids))
    np.minimum.at(first, one.ids, np.arange(len(one.ids)))
    ends = np.unique(np.geomspace(100, len(one.ids), steps).astype(np.int64))
    distinct = []
    for begin, end in zip([0, *ends], ends, strict=False):
        stream.process(one.ids[begin:end])
        distinct.append(stream.distinct)
    known = np.searchsorted(np.sort(first), ends)
    rate = np.minimum(_INITIAL_RATE, tracked / np.maximum(distinct, 1))
    return ends, rate, np.minimum(_INITIAL_RATE, tracked / np.maximum(known, 1))


_ERROR_PLOTS = [
    Plot(
        "Errors of sampled curves", "A point a trace and way of sampling.",
        "traces", "references", {"error_8k": "8,192 blocks", "error_rate": "rate .001"},
        "References", "Mean absolute error of the hit ratio", "points",
        log_x=True, log_y=True, levels=[(0.03, ".03")],
    ),
    Plot(
        "Time of curves", "A point a trace and way, on one thread.",
        "traces", "references",
        {"exact_s": "exactly", "8k_s": "8,192 blocks", "rate_s": "rate .001"},
        "References", "Time (s)", "points", log_x=True, log_y=True,
    ),
]  # fmt: skip


def find_errors(context: Context) -> Found:
    """Error, memory and time of sampling over all traces that are there."""
    several = [one for one in customers(context, whole=True) if one.unique > TRACKED]
    if context.quick:
        several = [one for one in several if len(one.ids) < 2_000_000]
    rows = [_cost_of(one) for one in several]
    table = pa.Table.from_pylist(rows)
    fixed_size = np.array(table["error_8k"])
    long = [row for row in rows if row["references"] >= 500_000] or rows
    faster = {name: [row["exact_s"] / row[f"{name}_s"] for row in long] for name in ("rate", "8k")}
    rate = max((row["references"], row["references"] / row["8k_s"]) for row in rows)[1] / 1e6
    memory = {row["8k_bytes"] for row in rows}

    return Found(
        values={
            "median error": float(np.median(fixed_size)),
            "worst error": float(fixed_size.max()),
            "memory": max(memory) / 1e6,
            "references a second": rate,
            "time of a reference": 1e3 / rate,
            **{f"least gain of {name}": min(gains) for name, gains in faster.items()},
            **{f"most gain of {name}": max(gains) for name, gains in faster.items()},
        },
        checks=_claims_of_errors(fixed_size, memory, faster),
        tables={"traces": table},
        plots=_ERROR_PLOTS,
        ran=[described(several)],
        recorded=several[0].recorded,
    )


def _claims_of_errors(
    errors: NDArray[np.float64], memory: set[int], faster: Mapping[str, Sequence[float]]
) -> list[Check]:
    return [
        Check(
            "the worst error with 8K blocks is at most .03",
            errors.max() <= 0.03,
            f"{errors.max():.4f} of {len(errors)} traces",
        ),
        Check("memory does not depend on the trace", len(memory) == 1, f"{max(memory):,} bytes"),
        Check(
            "samples are faster than exact curves",
            min(min(gains) for gains in faster.values()) > 1,
            ", ".join(f"{name}: {min(g):.0f} to {max(g):.0f} x" for name, g in faster.items()),
        ),
    ]


def _cost_of(one: Customer) -> dict[str, Any]:
    """Measure one trace: exactly on one thread by PARDA's way, and sampled in two."""
    exact, exact_s, _ = _timed(one, "parda", {})
    row: dict[str, Any] = {
        "customer": one.name,
        "references": len(one.ids),
        "blocks": one.unique,
        "exact_s": exact_s,
    }
    ways = {"8k": ("shards", _sample(TRACKED)), "rate": ("shards-rate", {"rate": 0.001})}
    for name, (estimator, params) in ways.items():
        curve, seconds, held = _timed(one, estimator, params)
        row |= {f"error_{name}": curve.mae(exact), f"{name}_s": seconds, f"{name}_bytes": held}
    return row


def _timed(
    one: Customer, estimator: str, params: dict[str, Any]
) -> tuple[HitRatioCurve, float, int]:
    stream = Estimator(estimator, threads=1, **params)
    keys = one.ids.astype(np.uint64)
    begun = time.process_time()
    stream.process(keys)
    curve = stream.curve()
    return curve, time.process_time() - begun, stream.bytes


def find_monitoring(context: Context) -> Found:
    """The online library's way of keeping a curve: nanoseconds, bytes, and asking it."""
    several = customers(context, ("own",), whole=True)
    first = np.cumsum([0, *(one.unique for one in several)])
    keys = np.concatenate(
        [one.ids + np.uint64(begin) for one, begin in zip(several, first, strict=False)]
    )
    stream = Estimator("shards", max_blocks=TRACKED, threads=1)
    held, seconds = [stream.bytes], 0.0
    for piece in np.array_split(keys, 20):
        begun = time.process_time()
        stream.process(piece)
        seconds += time.process_time() - begun
        held.append(stream.bytes)
    begun = time.process_time()
    curve = stream.curve()
    asked = time.process_time() - begun
    nanoseconds = 1e9 * seconds / len(keys)
    return Found(
        values={"time of a reference": nanoseconds, "memory": max(held) / 1e6},
        checks=[
            Check("a reference costs at most 60 ns", nanoseconds <= 60, f"{nanoseconds:.2f} ns"),
            Check(
                "a curve takes at most 1 MB, from the first reference to the last",
                max(held) <= 1e6 and len(set(held)) == 1,
                f"{max(held):,} bytes",
            ),
            *(Check(claim, None, reason) for claim, reason in _UNMEASURED.items()),
        ],
        tables={
            "cost": pa.table(
                {
                    "references": [len(keys)],
                    "seconds": [seconds],
                    "bytes": [max(held)],
                    "asking_s": [asked],
                    "steps": [len(curve.capacities)],
                }
            )
        },
        ran=[
            f"{described(several)}, one after the other, {len(keys):,} references, by what "
            "capi/mcsim_mrc.h gives to C"
        ],
        recorded=several[0].recorded,
    )


def _sample(blocks: int) -> dict[str, Any]:
    """Return the parameters of the talk's samples: SHARDS_adj of fixed size."""
    return {"max_blocks": blocks, "correction": "adj"}
