# Trusts: `mcsim mrc` of the whole traces, and a list as the LRU stack.
"""Exact curves in pieces: equal to those of one process for every division."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call, code_of
from curve_traces import SECOND, expect_equal, in_pieces, made_trace, plan_of, run, untimed
from local_dask import Dask, until

from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.curve_parts import ALL
from mcsim.locality.curve_pieces import CurvePiece
from mcsim.locality.estimators import estimate
from mcsim.references.blocks import Blocks
from mcsim.sweeps.curves import (
    CurveTask,
    merge_files,
    missing_merges,
    missing_pieces,
    run_by,
    run_task,
)
from mcsim.traces.trace import Trace


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def curves_of_whole(files: list[Path], **more: Any) -> dict[str, HitRatioCurve]:
    def curve(blocks: Blocks) -> HitRatioCurve:
        # The command counts no reads.
        return replace_reads(estimate(blocks, "exact", threads=1))

    given = {"ops": "all", "block_bytes": 4096, "vms": None, **more}
    blocks = Blocks.of([Trace.open(file) for file in files], **given)
    return {ALL: curve(blocks)} | {part.label: curve(part) for part in blocks.by_vm()}


def replace_reads(curve: HitRatioCurve) -> HitRatioCurve:
    return replace(curve, reads=None, read_hits=None)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 64])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"ops": "reads", "block_bytes": 512},
        {"ops": "writes", "block_bytes": 65536},
        {"vms": "vm2,vm0"},
    ],
)
def test_equal_to_one_process(count: int, more: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(count)
    files = [
        made_trace(tmp_path, f"t{k}", rng, 90 * k, vms=vms) for k, vms in enumerate([2, 3, 1, 3])
    ]
    whole = in_pieces(plan_of(files, count, tmp_path / "pieces", **more), random.Random(count))
    vms = more.get("vms")
    expected = curves_of_whole(files, **more | {"vms": vms and vms.split(",")})
    found = whole.finished()
    assert found.keys() == expected.keys()
    for label, curve in found.items():
        expect_equal(curve, expected[label])


@pytest.mark.parametrize("lengths", [[4096], [512], [4096, 8192]])
@pytest.mark.parametrize("count", [1, 5, 64])
def test_requests_of_equal_length(count: int, lengths: list[int], tmp_path: Path) -> None:
    """Pieces with requests of one length, followed by pieces with others."""
    rng = np.random.default_rng(1)
    files = [
        made_trace(tmp_path, f"t{k}", rng, 90 * k, lengths=of, align=4096)
        for k, of in enumerate([[4096], [4096], lengths])
    ]
    whole = in_pieces(plan_of(files, count, tmp_path / "pieces"), random.Random(1))
    expected = curves_of_whole(files)
    for label, curve in whole.finished().items():
        expect_equal(curve, expected[label])


def test_equal_to_a_list(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    file = made_trace(tmp_path, "t", rng, 0, vms=1, lengths=[4096], align=4096, seconds=9)
    stack: list[int] = []
    distances = []
    for block in (Trace.open(file).to_arrow()["offset"].to_numpy() // 4096).tolist():
        if block in stack:
            distances.append(stack.index(block))
            stack.remove(block)
        stack.insert(0, block)
    whole = in_pieces(plan_of([file], 6, tmp_path / "pieces"), random.Random(7))
    hits = [*accumulate(np.bincount(distances).tolist())]
    curve = whole.finished()[ALL]
    ratios = curve.at(np.arange(1, len(hits) + 1)) * curve.accesses
    assert np.rint(ratios).astype(int).tolist() == hits
    assert curve.distinct == len(stack)


def test_all_at_one_time_and_pieces_without_requests(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    files = [made_trace(tmp_path, f"t{k}", rng, 5 * k, seconds=1, count=30) for k in range(2)]
    whole = in_pieces(plan_of(files, 64, tmp_path / "pieces"), random.Random(3))
    expect_equal(whole.finished()[ALL], curves_of_whole(files)[ALL])


def test_traces_without_a_clock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    files = [tmp_path / f"keys{k}.txt" for k in range(3)]
    for file in files:
        file.write_text("\n".join(map(str, rng.integers(0, 40, 300).tolist())) + "\n")
    options = [*files, "--format", "keys", "-q"]
    for index in range(7):
        run("mrc", *options, "--vm-name", "one", "--shard", f"{index}/7")
    expected = run("mrc", *options, "--vm-name", "one", "--json")
    assert untimed(run("mrc", "--merge", "pieces", "-q", "--json")) == untimed(expected)
    for index in range(3):
        run("mrc", *options, "--shard", f"{index}/3", "--pieces", "p2")
    code, _, err = call(capsys, "mrc", "--merge", "p2", "-q")
    assert code == 2
    assert "it has no clock and no VM of keys0.txt" in err


@pytest.mark.parametrize("per_vm", [(), ("--per-vm",)])
@pytest.mark.parametrize("count", [1, 4])
def test_commands(count: int, per_vm: tuple[str, ...], tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    files = [made_trace(tmp_path, f"t{k}", rng, 90 * k) for k in range(2)]
    options = [*files, "--ops", "all", *per_vm, "-q"]
    for index in range(count):
        run("mrc", *options, "--shard", f"{index}/{count}")
    assert "already" in run("mrc", *options, "--shard", f"0/{count}")
    expected = run("mrc", *options, "--json")
    assert untimed(run("mrc", "--merge", "pieces", "-q", "--json")) == untimed(expected)
    table = run("mrc", *options, "--sizes", "10%,100%")
    assert run("mrc", "--merge", "pieces", "-q", "--sizes", "10%,100%") == table
    assert json.loads(expected)["rows"]


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    one, two = (made_trace(tmp_path, f"t{k}", rng, 60 * k) for k in range(2))
    later = made_trace(tmp_path, "later", rng, 500)

    def complaint(*arguments: object) -> str:
        code, _, err = call(capsys, "mrc", *arguments, "-q")
        assert code != 0
        return err

    assert "from 0 to n - 1" in complaint(one, "--shard", "3/3")
    assert "--policies and --shard: one at a time" in complaint(
        one, "--shard", "0/3", "--policies", "arc"
    )
    assert "--shard and --sizes: not together" in complaint(one, "--shard", "0/3", "--sizes", "1")
    assert "--merge and --ops: not together" in complaint("pieces", "--merge", "--ops", "all")
    assert "the same trace is given twice" in complaint(one, one, "--shard", "0/3")
    assert "none: no such file or folder" in complaint("none", "--merge")
    assert "not a piece of a curve" in complaint(one, "--merge")
    for index in (0, 2):
        assert code_of("mrc", one, later, "-q", "--shard", f"{index}/4") == 0
    assert "2 of 4 pieces are missing: --shard 1/4, 3/4" in complaint("pieces", "--merge")
    for index in (1, 3):
        assert code_of("mrc", one, later, "-q", "--shard", f"{index}/4", "--pieces", "p2") == 0
    assert code_of("mrc", "--merge", "pieces", "p2", "-q") == 0
    assert "are the same piece" in complaint("--merge", "pieces", "pieces")
    assert code_of("mrc", one, later, "-q", "--ops", "all", "--shard", "0/4", "--pieces", "p3") == 0
    assert "different curves: they differ in ops" in complaint("--merge", "pieces", "p2", "p3")
    for index in range(2):
        assert code_of("mrc", one, two, "-q", "--shard", f"{index}/2", "--pieces", "p4") == 0
    assert "t1.csv begins at 60000000000 ns, and t0.csv ends at" in complaint("--merge", "p4")
    for index in range(2):
        assert code_of("mrc", later, one, "-q", "--shard", f"{index}/2", "--pieces", "p5") == 0
    assert "pieces follow one another in time" in complaint("--merge", "p5")


def test_damaged_pieces(tmp_path: Path) -> None:
    file = made_trace(tmp_path, "t", np.random.default_rng(2), 0)
    plan = plan_of([file], 1, tmp_path / "pieces")
    run_task(CurveTask(plan, 0, 1))
    path = plan.path(0, 1)
    content = path.read_bytes()
    for at in (30, 60, len(content) // 2, len(content) - 40, len(content) - 1):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ConfigError, match="damaged"):
            merge_files([path], Reporter())
    for length in (0, 10, 25, 100, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ConfigError, match=r"damaged|not a piece"):
            merge_files([path], Reporter())


@pytest.mark.parametrize("count", [1, 2, 5, 16, 64])
@pytest.mark.parametrize("ops", ["all", "reads", "writes"])
def test_discards(count: int, ops: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(count)
    files = []
    for k in range(3):
        rows = 400
        op = rng.choice([0, 1, 2], rows, p=[0.5, 0.35, 0.15])
        trace = Trace.from_arrays(
            (np.sort(rng.integers(0, 90, rows)) + 90 * k) * SECOND,
            rng.integers(0, 60, rows) * 2048,
            rng.choice([512, 4096, 9000, 40000], rows),
            op=op,
            vm=rng.integers(0, 3, rows),
            vms=[f"vm{v}" for v in rng.permutation(3)],
            source=f"t{k}",
        )
        files.append(trace.save(tmp_path / f"t{k}.arrow"))
    whole = in_pieces(plan_of(files, count, tmp_path / "pieces", ops=ops), random.Random(count))
    expected = curves_of_whole(files, ops=ops)
    found = whole.finished()
    assert found.keys() == expected.keys()
    for label, curve in found.items():
        expect_equal(curve, expected[label])


def test_files_that_overlap_within_a_piece(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    begins = [0, 40, 100, 130]
    files = [made_trace(tmp_path, f"t{k}", rng, at, seconds=59) for k, at in enumerate(begins)]
    expected = curves_of_whole(files)
    for count in (1, 2):
        plan = plan_of(files, count, tmp_path / "pieces")
        expect_equal(in_pieces(plan, random.Random(8)).finished()[ALL], expected[ALL])
    for count in (3, 4, 8):
        with pytest.raises(ConfigError, match="pieces follow one another in time"):
            in_pieces(plan_of(files, count, tmp_path / "pieces"), random.Random(8))


def test_any_executor_will_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    files = [made_trace(tmp_path, f"t{k}", rng, 90 * k) for k in range(2)]
    plan = plan_of(files, 5, tmp_path / "pieces")
    with ThreadPoolExecutor(2) as executor:
        expect_equal(
            run_by(plan, executor, Reporter()).finished()[ALL], curves_of_whole(files)[ALL]
        )
    kept = {file.suffix for file in plan.path(0, 5).parent.iterdir()}
    assert kept == {".piece"}
    made = [plan.path(at, at + 1).stat().st_mtime_ns for at in range(5)]
    plan.path(0, 5).unlink()
    plan.path(2, 3).unlink()
    assert [task.path for task in missing_pieces(plan)] == [plan.path(2, 3)]
    with ThreadPoolExecutor(2) as executor:
        run_by(plan, executor, Reporter())
    made_again = [plan.path(at, at + 1).stat().st_mtime_ns for at in range(5)]
    assert [a != b for a, b in zip(made, made_again, strict=True)] == [at == 2 for at in range(5)]


def test_merges_by_ranges_continue(tmp_path: Path) -> None:
    """Tasks with results do not run again, and no task runs for these alone."""
    rng = np.random.default_rng(9)
    files = [made_trace(tmp_path, f"t{k}", rng, 90 * k) for k in range(2)]
    plan = plan_of(files, 4, tmp_path / "pieces")
    for task in missing_pieces(plan):
        run_task(task)
    steps = missing_merges(plan)
    assert [[task.step for task in level] for level in steps] == [
        ["join"] * 4,
        ["rank"] * 4,
        ["resolve"] * 4,
        ["add"] * 2,
        ["add"],
    ]
    for task in (*steps[0], steps[1][0]):
        run_task(task)
    assert [len(level) for level in missing_merges(plan)] == [3, 4, 2, 1]
    for task in (*steps[1], *steps[2], steps[3][0]):
        run_task(task)
    assert missing_merges(plan) == [[steps[3][1]], steps[4]]
    for file in plan.path(0, 1).parent.glob("*.join"):
        file.unlink()
    assert missing_merges(plan) == [[steps[3][1]], steps[4]]
    content = (damaged := steps[2][0].path).read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ConfigError, match="damaged"):
        CurvePiece.read(damaged)


def test_pieces_with_discards_are_merged_in_a_tree(tmp_path: Path) -> None:
    trace = Trace.from_arrays(
        range(8), [0, 4096] * 4, 4096, op=[0, 0, 0, 2, 0, 0, 1, 0], source="d"
    )
    plan = plan_of([trace.save(tmp_path / "d.arrow")], 4, tmp_path / "pieces")
    for task in missing_pieces(plan):
        run_task(task)
    assert [[task.step for task in level] for level in missing_merges(plan)] == [["", ""], [""]]


def test_a_worker_with_another_mcsim_is_refused(tmp_path: Path) -> None:
    file = made_trace(tmp_path, "t", np.random.default_rng(9), 0)
    plan = replace(plan_of([file], 2, tmp_path / "pieces"), build="feed")
    with pytest.raises(ConfigError, match="the curve was planned by"):
        run_task(CurveTask(plan, 0, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [["--per-vm"], ["--interval", "20s", "--estimator", "shards-rate(rate=0.2)"]]
)
def test_dask_workers_that_die(kind: list[str], tmp_path: Path, dask: Dask) -> None:
    dask.wait()
    rng = np.random.default_rng(9)
    files = [made_trace(tmp_path, f"t{k}", rng, 90 * k, count=60_000) for k in range(4)]
    options = [*files, "--ops", "all", *kind, "-q", "--json"]
    expected = run("mrc", *options)

    def kill() -> None:
        until(lambda: any(tmp_path.glob("pieces/*/*.piece")))
        dask.workers[0].kill()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(kill)
        assert untimed(run("mrc", *options, "--dask", dask.address)) == untimed(expected)
