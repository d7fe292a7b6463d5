# Trusts: `mcsim mrc` and `hit_ratio_curves` of the whole traces.
"""Sampled curves, and curves of intervals, in pieces: equal to those of one process."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call
from curve_traces import expect_equal, in_pieces, made_trace, plan_of, run, untimed

from mcsim.locality.curve_parts import ALL
from mcsim.locality.estimators import estimate
from mcsim.references.blocks import Blocks
from mcsim.traces.trace import Trace

RATES = ["shards-rate(rate=0.3)", "shards-rate(rate=0.1,correction=adj)", "shards-rate(rate=1)"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def traces(folder: Path, rng: np.random.Generator, **more: Any) -> list[Path]:
    return [
        made_trace(folder, f"t{k}", rng, 90 * k, vms=vms, **more)
        for k, vms in enumerate([2, 3, 1, 3])
    ]


@pytest.mark.parametrize("count", [1, 2, 5, 16, 64])
@pytest.mark.parametrize("estimator", RATES)
def test_samples_are_those_of_one_process(count: int, estimator: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(count)
    # More references than a reference sample has.
    files = traces(tmp_path, rng, count=2000, blocks=3000)
    plan = plan_of(files, count, tmp_path / "pieces", estimator=estimator, seed=5)
    found = in_pieces(plan, random.Random(count)).finished()
    blocks = Blocks.of([Trace.open(file) for file in files], "all")
    name, params = estimator.rstrip(")").split("(")
    given = dict(param.split("=") for param in params.split(","))
    for part in (blocks, *blocks.by_vm()):
        expected = estimate(part, name, seed=5, **given)  # type: ignore[arg-type]
        expect_equal(found[ALL if part is blocks else part.label], expected)
        assert found[ALL].note == estimate(blocks, name, seed=5, **given).note  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("estimator", ["exact", RATES[0]])
@pytest.mark.parametrize("by", [[], ["--per-vm"], ["--interval", "45s"]])
def test_commands(count: int, estimator: str, by: list[str], tmp_path: Path) -> None:
    files = traces(tmp_path, np.random.default_rng(2))
    options = [*files, "--ops", "all", *by, "-q", "--estimator", estimator]
    for index in range(count):
        run("mrc", *options, "--shard", f"{index}/{count}")
    expected = run("mrc", *options, "--json")
    assert untimed(run("mrc", "--merge", "pieces", "-q", "--json")) == untimed(expected)
    if estimator == "exact":
        assert run("mrc", "--merge", "pieces", "-q") == run("mrc", *options)


@pytest.mark.parametrize("count", [1, 2, 5, 16, 64])
@pytest.mark.parametrize("interval", ["1s", "7s", "1min", "1h"])
@pytest.mark.parametrize("ops", ["all", "reads"])
def test_intervals(count: int, interval: str, ops: str, tmp_path: Path) -> None:
    """Files of several VMs with discards, ties, gaps, and requests of no length."""
    rng = np.random.default_rng(count)
    files = []
    for k in range(3):
        rows = 300
        trace = Trace.from_arrays(
            (np.sort(rng.integers(0, 90, rows)) + 200 * k + 13) * 10**9,
            rng.integers(0, 60, rows) * 2048,
            rng.choice([0, 512, 4096, 40000], rows),
            op=rng.choice([0, 1, 2], rows, p=[0.5, 0.35, 0.15]),
            vm=rng.integers(0, 3, rows),
            vms=[f"vm{v}" for v in rng.permutation(3)],
            source=f"t{k}",
        )
        files.append(trace.save(tmp_path / f"t{k}.arrow"))
    options = [*files, "--ops", ops, "--interval", interval, "-q"]
    for index in range(count):
        run("mrc", *options, "--shard", f"{index}/{count}")
    expected = run("mrc", *options, "--json")
    assert untimed(run("mrc", "--merge", "pieces", "-q", "--json")) == untimed(expected)


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def complaint(*arguments: object) -> str:
        code, _, err = call(capsys, "mrc", *arguments, "-q")
        assert code == 2
        return err

    (file, *_) = traces(tmp_path, np.random.default_rng(2))
    pieces = [file, "--shard", "0/2"]
    for name in ("shards", "parda", "mimir", "aet", "statstack", "counter-stacks", "urd"):
        assert f"{name}: not in pieces: " in complaint(*pieces, "--estimator", name)
    both = complaint(*pieces, "--per-vm", "--interval", "1h")
    assert "--per-vm and --interval: one at a time" in both
    assert "interval" in complaint(*pieces, "--interval", "50 references")
    keys = tmp_path / "keys.txt"
    keys.write_text("1\n2\n1\n")
    pieces = [keys, "--format", "keys", "--shard", "0/2"]
    assert "there is no clock" in complaint(*pieces, "--estimator", "shards-rate(rate=0.5)")
    assert "without a clock" in complaint(*pieces, "--interval", "2 references")
    discards = Trace.from_arrays([0, 1], [0, 0], [4096, 4096], op=[0, 2], source="d")
    pieces = [discards.save(tmp_path / "d.arrow"), "--shard", "0/1"]
    assert "it has discards" in complaint(*pieces, "--estimator", "shards-rate(rate=0.5)")


def test_a_sample_depends_on_blocks_and_not_on_other_vms(tmp_path: Path) -> None:
    files = traces(tmp_path, np.random.default_rng(3))
    whole = Blocks.of([Trace.open(file) for file in files], "all")
    alone = Blocks.of([Trace.open(file) for file in files], "all", vms=["vm1"])
    (of_whole,) = (part for part in whole.by_vm() if part.label == "vm1")
    expect_equal(
        estimate(of_whole, "shards-rate", rate=0.2), estimate(alone, "shards-rate", rate=0.2)
    )


def test_files_that_begin_when_another_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The references of one time are sampled together."""
    for k in range(2):
        Trace.from_arrays([k, k + 1], [0, 4096], 4096, source=f"t{k}", vms=["vm"]).save(f"t{k}.csv")
    for folder, estimator in (("exact", "exact"), ("sampled", "shards-rate(rate=1)")):
        options = ["--estimator", estimator, "--pieces", folder, "-q"]
        for index in range(2):
            run("mrc", "t0.csv", "t1.csv", *options, "--shard", f"{index}/2")
    expected = run("mrc", "t0.csv", "t1.csv", "-q", "--json")
    assert untimed(run("mrc", "--merge", "exact", "-q", "--json")) == untimed(expected)
    code, _, err = call(capsys, "mrc", "--merge", "sampled", "-q")
    assert code == 2
    assert "t1.csv begins at the time at which t0.csv ends" in err


def test_a_sample_of_all_blocks_is_exact(tmp_path: Path) -> None:
    """Of warm-ups, lines, VMs and intervals, too, which have no addresses at first."""
    (first, *files) = traces(tmp_path, np.random.default_rng(4))
    trace = Trace.join([Trace.open(file) for file in files])
    whole = trace.blocks("all")
    for blocks in (
        whole,
        trace.blocks("writes"),
        trace.blocks(line=4),
        trace.blocks("all", warm_up="100s"),
        trace.blocks("all", warm_up=Trace.open(first)),
        *whole.by_vm(),
        *whole.by_interval("1min"),
    ):
        found = estimate(blocks, "shards-rate", rate=1, correction="none")
        expected = estimate(blocks, "exact")
        assert np.array_equal(found.capacities, expected.capacities)
        assert np.array_equal(found.hits, expected.hits)


@pytest.mark.parametrize("by", [[], ["--per-vm"]])
def test_trace_info_of_pieces(
    by: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = traces(tmp_path, np.random.default_rng(2))
    for index in range(5):
        run("mrc", *files, "--ops", "all", *by, "--shard", f"{index}/5", "-q")
    whole = Trace.join([Trace.open(file) for file in files]).info()
    found = json.loads(run("trace", "info", "pieces", "--json"))
    names = ["requests", "total_bytes", "blocks", "unique_blocks", "footprint_bytes"]
    vms = [*whole.vms, whole.total] if by else [whole.total]
    expected = [[getattr(vm, name) for name in names] for vm in vms]
    assert [[row[name] for name in names] for row in found["rows"]] == expected
    assert [row["name"] for row in found["rows"]] == [*(vm.name for vm in vms[:-1]), "all"]
    assert found["first_time"] == whole.total.first_time
    assert found["last_time"] == whole.total.last_time
    text = run("trace", "info", "pieces")
    assert "4 files in 5 pieces: all" in text
    assert f"{whole.total.unique_blocks:,}" in text
    Path("keys.txt").write_text("1\n2\n1\n")
    run("mrc", "keys.txt", "--format", "keys", "--shard", "0/1", "--pieces", "keys", "-q")
    (row,) = json.loads(run("trace", "info", "keys", "--json"))["rows"]
    assert (row["blocks"], row["unique_blocks"], "footprint_bytes" in row) == (3, 2, False)
    assert "objects" in run("trace", "info", "keys")
    code, _, err = call(capsys, "trace", "info", "pieces", "--block-bytes", "512")
    assert code == 2
    assert "pieces of a curve and --block-bytes: not together" in err
