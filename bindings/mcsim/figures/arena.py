"""Figure of an arena: the scores of its leaders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcsim.figures.chart import Chart, Series, Sheet
from mcsim.figures.looks import looks_of
from mcsim.results.series import CannotDrawError
from mcsim.tables.result_table import ResultTable

_MOST = 20


def scores(ranking: ResultTable, by_trace: ResultTable) -> Sheet:
    """Return the score of each leader: the mean with its interval, and a dot for each cache.

    Parameters
    ----------
    ranking, by_trace : ResultTable
        Of `mcsim.arena`. At most 20 leaders are drawn.

    Raises
    ------
    CannotDrawError
        If no candidate has a rank.
    """
    leaders = _leaders(ranking)
    names = leaders.candidate.tolist()
    if not names:
        raise CannotDrawError("no candidate has a rank")
    x, y = [], []
    for place, name in enumerate(names):
        of_one = by_trace.score[by_trace.candidate == name]
        found = 100 * of_one[~np.isnan(of_one)]
        x.append(np.full(len(found), place + 0.2))
        y.append(found)
    look = looks_of(["mean"])["mean"]
    grey = replace(looks_of(["cache"])["cache"], color="#8A8A8A", marker=".")
    dots = Series(grey, np.concatenate(y), np.concatenate(x), is_pale=True)
    middle, low, high = (100 * leaders[name] for name in ("score", "low", "high"))
    # Without an interval, the bar has no length.
    low, high = (np.where(np.isnan(end), middle, end) for end in (low, high))
    means = Series(look, middle, np.arange(len(names), dtype=np.float64), low, high)
    note = "Means with 95 % intervals over traces; a dot is a cache."
    chart = Chart(
        "Share of the distance from LRU to the optimum",
        f"Highest score: {names[0]}. {note}",
        "points",
        names,
        [dots, means],
        "",
        "Score (%)",
        levels=[(0.0, "LRU"), (100.0, "optimum")],
    )
    return Sheet.of(chart, note, height=2.2)


def scores_by_cache(ranking: ResultTable, by_trace: ResultTable) -> Sheet:
    """Return a map of scores: a row for each leader, a column for each trace and size.

    Parameters
    ----------
    ranking, by_trace : ResultTable
        As of `scores`.
    """
    names = _leaders(ranking).candidate.tolist()[::-1]  # the first row is the lowest
    first = by_trace[by_trace.candidate == names[0]]
    columns = [f"{row.trace} at {row['size']}" for row in first]
    values = [100 * by_trace.score[by_trace.candidate == name] for name in names]
    looks = looks_of(names)
    chart = Chart(
        "Score by trace and size",
        "A map of scores: negative where a policy has fewer hits than LRU.",
        "map",
        columns,
        [Series(looks[name], row) for name, row in zip(names, values, strict=True)],
        "",
        "",
        rows=names,
        value_label="Score (%)",
    )
    return Sheet.of(chart, height=2.6)


def _leaders(ranking: ResultTable) -> ResultTable:
    leaders: ResultTable = ranking[(ranking["rank"] > 0) & (ranking["rank"] <= _MOST)]
    return leaders
