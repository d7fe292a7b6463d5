"""Miss ratio reductions over traces: mean, median, interval and shares of traces won."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.policies import has_foresight
from mcsim.tables.formatted_table import RowStyle
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from mcsim.locality.hit_units import HitUnit

RATIOS = {"blocks": "hit_ratio", "requests": "request_hit_ratio", "bytes": "byte_hit_ratio"}
"""Columns of hit ratios by unit."""

SAMPLES = 10_000
"""Samples of the bootstrap."""

_ENDS = (2.5, 97.5)
_MOST_COUNTS = 1 << 22


class OverTraces(ResultTable):
    """Statistics over traces, a row for each size and policy.

    Attributes
    ----------
    by_trace : ResultTable
        Rows by trace, size and policy. Column ``reduction`` is against the baseline.
    against : str
        Baseline policy.
    left_out : sequence of (str, str)
        Traces without chosen requests, with reasons.
    """

    def __init__(
        self,
        by_trace: ResultTable,
        against: str,
        left_out: Sequence[tuple[str, str]],
        *args: Any,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.by_trace, self.against, self.left_out = by_trace, against, tuple(left_out)


def miss_ratio_reduction(
    baseline: NDArray[np.float64], other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the reduction of miss ratios, from hit ratios of a baseline and of another policy.

    The difference of the miss ratios is divided by the larger one.

    Examples
    --------
    >>> from mcsim.policies.reductions import miss_ratio_reduction
    >>> miss_ratio_reduction(np.array([0.5, 0.75, 1.0]), np.array([0.75, 0.5, 1.0])).tolist()
    [0.5, -0.5, 0.0]
    """
    misses, least = 1 - other, 1 - baseline
    largest = np.maximum(misses, least)
    reduction = np.zeros(len(largest))
    np.divide(other - baseline, largest, out=reduction, where=largest > 0)
    return reduction


def mean_intervals(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Compute 95 % intervals of the mean of each column.

    The method is a percentile bootstrap of the rows. Rows are traces.

    Parameters
    ----------
    values : array of float64, shape (traces, columns)
    seed : int

    Returns
    -------
    array of float64, shape (2, columns)
        Lower and upper ends. NaN for less than two rows.
    """
    count, columns = values.shape
    if count < 2:
        return np.full((2, columns), np.nan)
    generator = np.random.default_rng(seed)
    share = np.full(count, 1 / count)
    at_once = max(1, min(SAMPLES, _MOST_COUNTS // count))
    means = [
        generator.multinomial(count, share, min(at_once, SAMPLES - done)) @ values / count
        for done in range(0, SAMPLES, at_once)
    ]
    ends: NDArray[np.float64] = np.percentile(np.concatenate(means), _ENDS, axis=0)
    return ends


def over_traces(
    rows: ResultTable,
    against: str,
    unit: HitUnit,
    seed: int,
    left_out: Sequence[tuple[str, str]] = (),
) -> OverTraces:
    """Compute statistics over traces, by size and policy.

    Parameters
    ----------
    rows : ResultTable
        Rows by trace, size and policy. All traces have the same sizes and policies.
    """
    columns, reduction = _statistics(rows, against, unit, seed)
    by_trace = ResultTable(
        rows.columns() | {"reduction": reduction}, "by-trace", title="Caches by trace"
    )
    table = ResultTable(columns, "reductions")
    of = "" if unit == "blocks" else f" of {unit}"
    traces = _traces(table[0].traces)
    notes = [
        f"miss ratio reduction{of} against {against}: mean over {traces} with a 95 % interval "
        "(bootstrap), and median",
        f"won: traces with fewer misses than {against}; best: no policy without foresight misses "
        "less",
        *(f"left out: {name}: {reason}" for name, reason in left_out),
    ]
    return OverTraces(
        by_trace,
        against,
        left_out,
        columns,
        "reductions",
        title=f"Policies over {traces}",
        answer=_answer(table, against),
        notes=notes,
        styles=_styles(table, against),
    )


def _statistics(
    rows: ResultTable, against: str, unit: HitUnit, seed: int
) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Return the columns of the table over traces, the best first, and each cache's reduction."""
    traces, sizes, policies = (
        list(dict.fromkeys(rows[name].tolist())) for name in ("trace", "size", "policy")
    )
    ratios = rows[RATIOS[unit]].reshape(len(traces), len(sizes), len(policies))
    least = np.repeat(ratios[:, :, policies.index(against)], len(policies))
    reduction = miss_ratio_reduction(least, ratios.ravel())
    values = reduction.reshape(len(traces), -1)
    is_rival = np.array([not has_foresight(policy) for policy in policies])
    most = ratios.max(axis=2, keepdims=True, where=is_rival, initial=0)
    best = np.where(is_rival, ratios == most, np.nan).mean(axis=0).ravel()
    low, high = mean_intervals(values, seed)
    columns: dict[str, NDArray[Any]] = {
        "size": np.repeat(sizes, len(policies)),
        "policy": np.tile(policies, len(sizes)),
        "traces": np.full(len(sizes) * len(policies), len(traces)),
        "hit_ratio": ratios.mean(axis=0).ravel(),
        "mean": values.mean(axis=0),
        "low": low,
        "high": high,
        "median": np.median(values, axis=0),
        "won": (values > 0).mean(axis=0),
        "best": best,
    }
    place = np.repeat(np.arange(len(sizes)), len(policies))
    order = np.lexsort((-columns["mean"], place))
    return {name: column[order] for name, column in columns.items()}, reduction


def _traces(count: int) -> str:
    return f"{count:,} trace{'' if count == 1 else 's'}"


def _winners(table: ResultTable, against: str) -> dict[str, int | None]:
    """Return the first row of each size that beats the baseline without foresight."""
    winners: dict[str, int | None] = dict.fromkeys(table["size"].tolist())
    for i, row in enumerate(table):
        is_rival = row.policy != against and not has_foresight(row.policy)
        if is_rival and row.mean > 0 and winners[row["size"]] is None:
            winners[row["size"]] = i
    return winners


def _styles(table: ResultTable, against: str) -> list[RowStyle]:
    winners = set(_winners(table, against).values())
    return [
        "best"
        if i in winners
        else "yardstick"
        if has_foresight(row.policy)
        else "total"
        if row.policy == against
        else ""
        for i, row in enumerate(table)
    ]


_MOST_SIZES = 4
"""Sizes that the summary names, at most."""


def _answer(table: ResultTable, against: str) -> str:
    """Name the policy with the highest mean reduction at each size, and whether it is certain."""
    parts = []
    winners = _winners(table, against)
    for size, winner in list(winners.items())[:_MOST_SIZES]:
        if winner is None:
            parts.append(f"at {size} no policy has fewer misses than `{against}` on average")
            continue
        row = table[winner]
        wins = f"fewer misses on {round(row.won * row.traces)} of {_traces(row.traces)}"
        sure = "" if row.low > 0 or row.traces < 2 else ", but the interval has zero in it"
        parts.append(f"at {size} `{row.policy}`, {100 * row.mean:.1f} % ({wins}{sure})")
    more = len(winners) - len(parts)
    others = f"; and {more} more sizes" if more > 0 else ""
    return f"Largest mean miss ratio reduction against `{against}`: {'; '.join(parts)}{others}."
