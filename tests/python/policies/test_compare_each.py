# Trusts: a naive LRU and a naive FIFO, `statistics`, and `simulate` of each trace alone.
"""Policies over many traces: miss ratio reductions, their statistics, traces left out."""

from __future__ import annotations

import functools
import json
import os
import statistics
from collections import deque
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call
from naive_lru import lru_hits

import mcsim as mc
from mcsim.figures.curves import reductions
from mcsim.policies.reductions import OverTraces, mean_intervals, miss_ratio_reduction

SIZES = ["2%", "10%", 7]
POLICIES = ["fifo", "arc", "s3-fifo", "opt"]


def keys_of(seed: int) -> np.ndarray:
    """Return blocks of one trace: skewed, with loops of another length in each trace."""
    rng = np.random.default_rng(seed)
    keys = (300 * rng.random(1500) ** 3).astype(np.int64)
    keys[:: 2 + seed] = 1000 + np.arange(len(keys[:: 2 + seed])) % (20 + 9 * seed)
    return keys


def made(seed: int, **more: Any) -> mc.Trace:
    return mc.Trace.from_arrays(
        np.arange(1500), 4096 * keys_of(seed), 4096, source=f"t{seed}", **more
    )


@pytest.fixture(scope="module")
def found() -> OverTraces:
    traces = [made(seed) for seed in range(4)]
    rows = mc.compare(traces, POLICIES, SIZES, each=True, against="lru", threads=1)
    assert isinstance(rows, OverTraces)
    return rows


def fifo_hits(blocks: Iterable[int], capacity: int) -> int:
    queue: deque[int] = deque()
    hits = 0
    for block in blocks:
        if block in queue:
            hits += 1
            continue
        queue.append(block)
        if len(queue) > capacity:
            queue.popleft()
    return hits


def capacity_of(size: str, unique: int) -> int:
    return round(int(size[:-1]) * unique / 100) if size.endswith("%") else int(size)


def test_hits_of_each_trace_are_those_of_naive_caches(found: OverTraces) -> None:
    rows = {(row.trace, row["size"], row.policy): row for row in found.by_trace}
    assert len(rows) == 4 * 3 * 5
    for seed in range(4):
        keys = keys_of(seed).tolist()
        for size in map(str, SIZES):
            capacity = capacity_of(size, len(set(keys)))
            for policy, hits in (
                ("lru", lru_hits(keys, capacity)),
                ("fifo", fifo_hits(keys, capacity)),
            ):
                row = rows[f"t{seed}", size, policy]
                assert (row.capacity, row.hits, row.accesses) == (capacity, hits, 1500)


def reduction_of(least: int, misses: int) -> float:
    """Return the reduction from counts of misses, as the scripts of S3-FIFO define it."""
    if misses > least:
        return -(misses - least) / misses
    return (least - misses) / least


@functools.cache
def misses_of(seed: int, size: str) -> dict[str, int]:
    """Return the misses of every policy on one trace alone."""
    keys = keys_of(seed)
    capacity = capacity_of(size, len(set(keys.tolist())))
    rows = mc.simulate(keys, ["lru", *POLICIES], [capacity], one_pass=False)
    return dict(zip(rows.policy.tolist(), rows.misses.tolist(), strict=True))


def by_hand(size: str, policy: str) -> tuple[list[float], list[bool]]:
    """Return the reduction on each trace, and whether no policy but opt misses less there."""
    reduced, best = [], []
    for misses in (misses_of(seed, size) for seed in range(4)):
        reduced.append(reduction_of(misses["lru"], misses[policy]))
        best.append(misses[policy] == min(of for name, of in misses.items() if name != "opt"))
    return reduced, best


def test_statistics_are_those_of_single_runs(found: OverTraces) -> None:
    assert len(found) == 3 * 5
    for row in found:
        reduced, best = by_hand(row["size"], row.policy)
        assert row.mean == pytest.approx(statistics.fmean(reduced), abs=1e-12)
        assert row.median == pytest.approx(statistics.median(reduced), abs=1e-12)
        assert row.won == sum(one > 0 for one in reduced) / 4
        assert row.traces == 4
        if row.policy == "opt":
            assert np.isnan(row.best)
        else:
            assert row.best == sum(best) / 4
    sizes = found["size"].tolist()
    assert sizes == sorted(sizes, key=["2%", "10%", "7"].index)
    for size in set(sizes):
        means = found.mean[found["size"] == size]
        assert (np.diff(means) <= 0).all(), "the best come first"


def test_intervals_are_those_of_all_samples_of_traces(found: OverTraces) -> None:
    for row in found:
        reduced, _ = by_hand(row["size"], row.policy)
        # All 256 equally likely samples of 4 of the traces, instead of some at random.
        means = sorted(statistics.fmean(sample) for sample in product(reduced, repeat=4))
        spread = max(reduced) - min(reduced)
        # A random sample of 10,000 may be off by a few ranks of 256.
        assert means[2] - 1e-12 <= row.low <= means[10] + 1e-12
        assert means[-11] - 1e-12 <= row.high <= means[-3] + 1e-12
        assert row.low <= row.mean <= row.high
        assert (row.low < row.high) == (spread > 0)


def test_intervals_cover_the_mean_as_often_as_they_claim() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        low, high = mean_intervals(rng.normal(0.1, 0.05, (60, 1)), seed=1)[:, 0]
        covered += low <= 0.1 <= high
    assert 180 <= covered <= 198


def test_intervals_depend_on_the_seed_alone() -> None:
    values = np.random.default_rng(1).random((50, 3))
    one = mean_intervals(values, 1)
    assert (one == mean_intervals(values.copy(), 1)).all()
    assert (one != mean_intervals(values, 2)).any()
    # One sample of traces serves all columns.
    assert mean_intervals(values[:, :1], 1)[:, 0] == pytest.approx(one[:, 0], abs=1e-12)
    assert np.isnan(mean_intervals(values[:1], 1)).all()


def test_a_reduction_is_bounded_and_changes_sign_with_the_baseline() -> None:
    hits = np.array([0.0, 0.5, 0.75, 1.0, 1.0, 0.2])
    others = np.array([0.5, 0.0, 0.875, 1.0, 0.5, 1.0])
    reduced = miss_ratio_reduction(hits, others)
    assert reduced.tolist() == [0.5, -0.5, 0.5, 0.0, -1.0, 1.0]
    assert (miss_ratio_reduction(others, hits) == -reduced).all()


def test_the_baseline_is_added_and_loses_to_itself_nowhere(found: OverTraces) -> None:
    own = found[found.policy == "lru"]
    assert own["size"].tolist() == ["2%", "10%", "7"]
    for name in ("mean", "median", "low", "high", "won"):
        assert own[name].tolist() == [0, 0, 0]


def test_the_summary_names_no_yardstick(found: OverTraces) -> None:
    assert "opt" not in found.answer
    rivals = found[(found.policy != "opt") & (found.policy != "lru")]
    first = rivals[rivals["size"] == "2%"][0]
    assert f"at 2% `{first.policy}`, {100 * first.mean:.1f} %" in found.answer
    assert f"{round(4 * first.won)} of 4 traces" in found.answer


def test_traces_of_different_kinds_stand_together(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("\n".join(map(str, keys_of(2))))
    traces = [
        made(0),
        made(1, time_base="index"),
        mc.Trace.from_arrays(np.arange(1500), keys_of(3), 0, kind="objects", source="objects"),
        tmp_path / "plain.txt",
    ]
    rows = mc.compare(traces, ["fifo"], "10%", each=True)
    assert isinstance(rows, OverTraces)
    assert rows.traces.tolist() == [4, 4]
    for name, seed in (("t0", 0), ("t1", 1), ("objects", 3), ("plain", 2)):
        keys = keys_of(seed).tolist()
        own = rows.by_trace[rows.by_trace.trace == name]
        assert own[own.policy == "lru"].hits[0] == lru_hits(
            keys, capacity_of("10%", len(set(keys)))
        )
    with pytest.raises(mc.ConfigError, match="objects"):
        mc.compare(traces, ["fifo"], "1MiB", each=True)


def test_traces_without_reads_are_left_out() -> None:
    traces = [made(0), made(1, op=1), made(2)]
    rows = mc.compare(traces, ["fifo"], "10%", each=True)
    assert isinstance(rows, OverTraces)
    assert [name for name, _ in rows.left_out] == ["t1"]
    assert "no reads" in rows.left_out[0][1]
    assert set(rows.by_trace.trace.tolist()) == {"t0", "t2"}
    assert any("left out: t1" in note for note in rows.notes)
    assert mc.compare(traces, ["fifo"], "10%", each=True, ops="all").traces[0] == 3
    with pytest.raises(mc.ConfigError, match=r"none is left.*t1.*no reads"):
        mc.compare([traces[1]], ["fifo"], "10%", each=True)


def test_a_trace_given_twice_is_an_error() -> None:
    with pytest.raises(mc.ConfigError, match=r"t0 and t0 \(2\) have the same requests"):
        mc.compare([made(0), made(0)], "fifo", "10%", each=True)


class Oldest(mc.PriorityPolicy):
    """FIFO."""

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return inserted


def test_own_policies_and_baselines() -> None:
    traces = [made(seed) for seed in range(2)]
    rows = mc.compare(traces, ["arc", "fifo", Oldest], "10%", each=True, against=Oldest)
    fifo = rows[rows.policy == "fifo"][0]
    assert (fifo.mean, fifo.won) == (0, 0)
    assert len(rows) == 3


def test_merged_traces_have_gains() -> None:
    traces = [made(seed, vms=(f"vm{seed}",)) for seed in range(2)]
    rows = mc.compare(traces, ["fifo"], [50], against="lru")
    merged = mc.simulate(traces, ["lru", "fifo"], [50])
    assert rows.hits.tolist() == merged.hits.tolist()
    assert rows.gain.tolist() == [0, merged.hit_ratio[1] - merged.hit_ratio[0]]
    assert mc.compare(traces, ["fifo"], [50]).hits.tolist() == [merged.hits[1]]


def files(folder: Path) -> list[str]:
    """Write three traces, of which the second has no reads."""
    names = []
    for seed in range(3):
        path = folder / f"t{seed}.csv"
        made(seed, op=int(seed == 1)).save(path)
        names.append(str(path))
    return names


def test_the_command_agrees_with_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path)
    options = ["--each", "--policies", "fifo,arc", "--sizes", "2%,log(5%,20%,3)"]
    code, out, err = call(capsys, "compare", *given, *options, "--json", "-o", tmp_path / "out")
    assert code == 0, err
    assert err.count("left out") == 1
    assert "t1.csv: there are no reads" in err
    whole = json.loads(out)
    rows = mc.compare([given[0], given[2]], ["fifo", "arc"], ["2%", "5%", "10%", "20%"], each=True)
    assert isinstance(rows, OverTraces)
    names = ["size", "policy", "traces", "mean", "low", "high", "median", "won", "best"]
    printed = [[row[name] for name in names] for row in whole["rows"]]
    assert printed == [list(row) for row in rows[names].tolist()]
    assert whole["answer"] == rows.answer
    assert [row["hits"] for row in whole["by_trace"]] == rows.by_trace.hits.tolist()
    assert whole["left_out"] == [{"trace": "t1", "why": "there are no reads (try ops all)"}]
    written = sorted(path.name.partition("-each")[2] for path in (tmp_path / "out").iterdir())
    assert written == ["-by-trace.csv", ".csv", ".png", ".svg"]
    by_trace = (tmp_path / "out").glob("*-by-trace.csv")
    assert len(next(by_trace).read_text().splitlines()) == 1 + 2 * 4 * 3


def test_a_dry_run_finds_traces_that_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = files(tmp_path)
    code, out, err = call(capsys, "compare", *given, "--each", "--dry-run", "--csv")
    assert code == 0
    assert "left out: t1.csv" in err
    assert "t1" not in out
    unique = len(set(keys_of(0).tolist()))
    assert out.splitlines()[1:4] == [
        f'"t0",1500,{unique},"0.1%",1',
        f'"t0",1500,{unique},"1%",{round(unique / 100)}',
        f'"t0",1500,{unique},"10%",{round(unique / 10)}',
    ]
    code, _, err = call(capsys, "compare", given[0], "--dry-run")
    assert (code, "--dry-run: only with --each" in err) == (2, True)
    code, _, err = call(capsys, "compare", given[1], "--each")
    assert (code, "none is left to compare" in err) == (2, True)


def test_latex_has_a_row_for_each_size_and_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = files(tmp_path)
    options = ["--each", "--policies", "fifo", "--sizes", "2%,5%", "--latex"]
    code, out, _ = call(capsys, "compare", *given, *options)
    assert code == 0
    body = out[out.index("\\midrule") : out.index("\\bottomrule")].splitlines()[1:]
    assert [line.count("&") for line in body] == [9] * 4


def test_a_class_of_the_working_directory_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = files(tmp_path)
    (tmp_path / "own.py").write_text(
        "import mcsim as mc\n"
        "class Oldest(mc.PriorityPolicy):\n"
        "    def priority(self, accesses, last, inserted, now):\n"
        "        return inserted\n"
    )
    monkeypatch.chdir(tmp_path)
    options = ["--each", "--policies", "own:Oldest", "--sizes", "5%", "--json"]
    assert call(capsys, "compare", *given, *options)[0] == 2
    code, out, err = call(capsys, "compare", *given, *options, "--allow-code")
    assert code == 0, err
    assert {row["policy"] for row in json.loads(out)["rows"]} == {"lru", "Oldest"}


def test_the_figure_has_a_marker_for_each_row(found: OverTraces) -> None:
    chart = reductions(found).charts[0]
    dots, *sizes = chart.series
    assert len(dots.y) == 4 * 3 * 4
    assert [one.look.label for one in sizes] == ["2%", "10%", "7"]
    for one in sizes:
        for policy, middle, low, high in zip(chart.x, one.y, one.low, one.high, strict=True):
            row = found[(found.policy == policy) & (found["size"] == one.look.label)][0]
            assert (middle, low, high) == (100 * row.mean, 100 * row.low, 100 * row.high)
    assert found.plot(style="paper").get_size_inches()[0] == 3.5


@pytest.mark.skipif("MCSIM_TRACE_DIR" not in os.environ, reason="no recorded traces")
def test_recorded_traces_with_and_without_a_clock(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["web_3", "wdev_1", "wdev_3", "cs", "multi1"]
    options = ["--each", "--policies", "arc", "--sizes", "1%,10%", "--json"]
    code, out, err = call(capsys, "compare", *names, *options)
    if code and "no such" in err:
        pytest.skip(f"recorded traces are missing: {err}")
    assert code == 0, err
    whole = json.loads(out)
    assert [one["trace"] for one in whole["left_out"]] == ["wdev_1"]
    alone = mc.simulate(mc.Trace.open("web_3"), "arc", ["1%", "10%"])
    own = [
        row["hits"]
        for row in whole["by_trace"]
        if (row["trace"], row["policy"]) == ("web_3", "arc")
    ]
    assert own == alone.hits.tolist()
