"""The result of an arena: ranks, scores, and where candidates gain and lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcsim.contests.candidates import Candidate
from mcsim.contests.conformance import OPTIMUM
from mcsim.contests.scores import LEAST_GAIN, Ratios, Scale, Summary, extreme_cells
from mcsim.contests.worker import Reply
from mcsim.tables.result_table import ResultTable

_MOST_FAILURES = 5
"""Failed candidates that people are shown."""


@dataclass
class Contestant:
    """A candidate and its results so far.

    Attributes
    ----------
    miniature : float
        Mean score of its miniatures.
    ratios : array or None
        Hit ratios of its full replays.
    failure : str
        Why it has no rank; empty if it did not fail.
    """

    candidate: Candidate
    miniature: float = float("nan")
    ratios: Ratios | None = None
    seconds: float = 0.0
    failure: str = ""

    def took(self, reply: Reply) -> bool:
        """Add the time of a reply, or its failure; return whether it succeeded."""
        self.seconds += reply.seconds
        self.failure = self.failure or reply.failure
        return not reply.failure


@dataclass(frozen=True)
class Final:
    """The full replays that decide the rank."""

    scale: Scale
    traces: Sequence[str]
    sizes: Sequence[str]
    is_held_out: bool
    seed: int


class Ranking(ResultTable):
    """Candidates in the order of their ranks, then those in miniature alone, then failures.

    Attributes
    ----------
    by_trace : ResultTable
        A row for each full replay: candidate, trace, size, hit ratios and score.
    """

    def __init__(self, by_trace: ResultTable, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.by_trace = by_trace


def ranking_of(contestants: Sequence[Contestant], final: Final) -> Ranking:
    """Rank candidates by the means of their full replays."""
    replayed = [each for each in contestants if each.ratios is not None and not each.failure]
    scores = {
        each.candidate.name: final.scale.scores(each.ratios)
        for each in replayed
        if each.ratios is not None
    }
    rows = _ranked(scores, final) if scores else {}
    order = sorted(
        contestants,
        key=lambda each: (
            bool(each.failure),
            rows[each.candidate.name]["rank"] if each.candidate.name in rows else np.inf,
            -np.nan_to_num(each.miniature, nan=-np.inf),
        ),
    )
    ranked = sorted(replayed, key=lambda each: rows[each.candidate.name]["rank"])
    by_trace = ResultTable(_cells(ranked, scores, final), "arena-by-trace", title="Full replays")
    failed = [i for i, each in enumerate(order) if each.failure]
    return Ranking(
        by_trace,
        _columns(order, rows),
        "arena",
        title=f"{len(contestants):,} candidate{'' if len(contestants) == 1 else 's'}",
        answer=_answer(ranked, rows, final, len(failed), len(contestants)),
        notes=_notes(final, len(order) - len(replayed) - len(failed), len(failed)),
        order=[*range(len(replayed)), *failed[:_MOST_FAILURES]],
    )


def _ranked(scores: dict[str, Ratios], final: Final) -> dict[str, dict[str, Any]]:
    """Return rank, mean, interval and extremes of each candidate that was replayed in full."""
    names = list(scores)
    summary = Summary.of([scores[name] for name in names], final.seed)
    rows = {}
    for rank, i in enumerate(np.argsort(-summary.mean, kind="stable"), 1):
        extremes = extreme_cells(scores[names[i]], final.traces, final.sizes)
        rows[names[i]] = {
            "rank": rank,
            "score": summary.mean[i],
            "low": summary.low[i],
            "high": summary.high[i],
            "worst": extremes["worst"][1],
            "worst_at": extremes["worst"][0],
            "best": extremes["best"][1],
            "best_at": extremes["best"][0],
        }
    return rows


_MISSING = {
    "rank": 0,
    **dict.fromkeys(("score", "low", "high", "worst", "best"), float("nan")),
    **dict.fromkeys(("worst_at", "best_at"), ""),
}


def _columns(
    order: Sequence[Contestant], rows: dict[str, dict[str, Any]]
) -> dict[str, np.ndarray[Any, Any]]:
    found = [rows.get(each.candidate.name, _MISSING) for each in order]
    columns = {name: np.array([row[name] for row in found]) for name in _MISSING}
    return {
        "rank": columns.pop("rank"),
        "candidate": np.array([each.candidate.name for each in order]),
        "policy": np.array([each.candidate.policy for each in order]),
        **columns,
        "miniature": np.array([each.miniature for each in order]),
        "seconds": np.array([each.seconds for each in order]),
        "failure": np.array([each.failure for each in order]),
    }


def _cells(
    ranked: Sequence[Contestant], scores: dict[str, Ratios], final: Final
) -> dict[str, np.ndarray[Any, Any]]:
    """Return a row for each trace, size and candidate."""
    shape = final.scale.lru.shape
    count = len(ranked)
    trace, size, place = np.meshgrid(
        np.arange(shape[0]), np.arange(shape[1]), np.arange(count), indexing="ij"
    )
    ratios = [each.ratios for each in ranked if each.ratios is not None]
    none = np.zeros((0, *shape))
    at = (place.ravel(), trace.ravel(), size.ravel())
    return {
        "candidate": np.array([each.candidate.name for each in ranked], dtype=np.str_)[at[0]],
        "trace": np.array(final.traces)[at[1]],
        "size": np.array(final.sizes)[at[2]],
        "hit_ratio": (np.stack(ratios) if ratios else none)[at],
        "lru": final.scale.lru[at[1:]],
        "optimum": final.scale.optimum[at[1:]],
        "score": (np.stack([scores[each.candidate.name] for each in ranked]) if ratios else none)[
            at
        ],
    }


def _answer(
    ranked: Sequence[Contestant],
    rows: dict[str, dict[str, Any]],
    final: Final,
    failed: int,
    count: int,
) -> str:
    """Name the two best candidates, and count failures."""
    failures = f" {failed:,} of {count:,} candidates failed." if failed else ""
    if not ranked:
        return f"No candidate has a rank.{failures}"
    first, *others = [each.candidate.name for each in ranked]
    row = rows[first]
    kind = "held-out " if final.is_held_out else ""
    traces = f"{len(final.traces):,} {kind}trace{'' if len(final.traces) == 1 else 's'}"
    band = ""
    if row["low"] == row["low"]:
        band = f" ({100 * row['low']:.1f} to {100 * row['high']:.1f} %)"
    second = f" Next: `{others[0]}`, {100 * rows[others[0]]['score']:.1f} %." if others else ""
    return (
        f"`{first}` covers {100 * row['score']:.1f} % of the distance from LRU to the optimum, "
        f"the mean over {traces}{band}; least {100 * row['worst']:.1f} %, on {row['worst_at']}."
        f"{second}{failures}"
    )


def _notes(final: Final, in_miniature: int, failed: int) -> list[str]:
    decided = "held-out traces" if final.is_held_out else "traces that candidates saw"
    left_out = int(np.isnan(final.scale.scores(final.scale.lru)).sum())
    notes = [
        f"score: share of the distance from the hit ratio of LRU to that of {OPTIMUM}; decided by "
        f"full replays of the {decided}; interval: 95 %, bootstrap over traces",
        "miniature: mean score of small caches with a sample of the blocks",
    ]
    if in_miniature:
        notes.append(f"{in_miniature:,} other candidates were replayed in miniature alone")
    if failed > _MOST_FAILURES:
        notes.append(f"{failed - _MOST_FAILURES:,} other candidates failed")
    if left_out:
        notes.append(
            f"without a score: {left_out} of {final.scale.lru.size} caches, where the optimum "
            f"gains less than {100 * LEAST_GAIN:g} points"
        )
    return notes
