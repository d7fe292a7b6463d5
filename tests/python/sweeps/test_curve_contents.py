# Trusts: `mcsim mrc` of the whole traces.
"""Pieces of curves are computed again if, and only if, the content of their files changes."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from curve_traces import expect_equal, in_pieces, made_trace, plan_of, run

from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.locality.curve_parts import ALL
from mcsim.locality.curve_pieces import CurvePiece
from mcsim.locality.estimators import hit_ratio_curve
from mcsim.sweeps.curve_contents import Contents
from mcsim.sweeps.curves import merge_files, missing_pieces, run_by
from mcsim.traces.trace import Trace

OLD = 10**18


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def old_traces(folder: Path) -> list[Path]:
    """Write two traces whose times of change lie in the past."""
    rng = np.random.default_rng(1)
    files = [made_trace(folder, f"t{k}", rng, 90 * k, vms=1) for k in range(2)]
    for file in files:
        os.utime(file, ns=(OLD, OLD))
    return files


def change(file: Path) -> None:
    """Change a digit; size and time of the content stay."""
    content = file.read_bytes()
    at = content.index(b"2048")
    file.write_bytes(content[:at] + b"4096" + content[at + 4 :])
    os.utime(file, ns=(OLD, OLD))


def test_a_touched_file_is_not_computed_again(tmp_path: Path) -> None:
    files = old_traces(tmp_path)
    plan = plan_of(files, 4, tmp_path / "pieces")
    with ThreadPoolExecutor(2) as executor:
        run_by(plan, executor, Reporter())
    made = {path: path.stat().st_mtime_ns for path in tmp_path.glob("pieces/*/*.piece")}
    os.utime(files[1])
    moved = files[0].rename(tmp_path / "moved")
    moved.rename(files[0])
    assert missing_pieces(replace(plan)) == []
    assert Contents(plan).is_current(plan.path(0, 4))
    assert "already" in run("mrc", *files, "--shard", "0/1") + run("mrc", *files, "--shard", "0/1")
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_a_changed_file_of_the_same_size_and_time_is(tmp_path: Path) -> None:
    files = old_traces(tmp_path)
    plan = plan_of(files, 4, tmp_path / "pieces")
    with ThreadPoolExecutor(2) as executor:
        before = run_by(plan, executor, Reporter()).finished()[ALL]
    change(files[1])
    # Those of the first file stay.
    assert [task.begin for task in missing_pieces(plan)] == [2, 3]
    assert not Contents(plan).is_current(plan.path(0, 4))
    with ThreadPoolExecutor(2) as executor:
        after = run_by(plan, executor, Reporter()).finished()[ALL]
    whole = Trace.join([Trace.open(file) for file in files]).blocks("all")
    assert after.accesses == before.accesses
    expect_equal(replace(after), replace(hit_ratio_curve(whole), reads=None, read_hits=None))


def test_pieces_of_different_contents_are_not_merged(tmp_path: Path) -> None:
    files = old_traces(tmp_path)
    plan = plan_of(files, 4, tmp_path / "pieces")
    in_pieces(plan, random.Random(1))
    change(files[0])
    old = plan.path(0, 1).read_bytes()
    in_pieces(plan, random.Random(1))
    plan.path(0, 1).write_bytes(old)
    with pytest.raises(ConfigError, match="file 1 of the curve changed between these pieces"):
        merge_files([tmp_path / "pieces"], Reporter())


def test_a_damaged_header_is_computed_again(tmp_path: Path) -> None:
    plan = plan_of(old_traces(tmp_path), 1, tmp_path / "pieces")
    in_pieces(plan, random.Random(1))
    path = plan.path(0, 1)
    content = path.read_bytes()
    path.write_bytes(content[:80] + bytes([content[80] ^ 1]) + content[81:])
    in_pieces(plan, random.Random(1))
    assert CurvePiece.read(path).contents.keys() == {0, 1}
