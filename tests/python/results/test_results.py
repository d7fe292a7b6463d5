# Trusts: the file system's rename and lock, and the layout stated in mcsim/results.py.
from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from mcsim.base.errors import ConfigError
from mcsim.config import ExperimentSpec
from mcsim.results.draft import Draft, SystemTables
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS

RUN_ID = "pair-0123456789ab"
SPEC = ExperimentSpec.model_validate(
    {
        "name": "pair",
        "workload": {"vms": ["a"]},
        "tiers": [{"device": "dram", "capacity_blocks": 5}],
        "systems": ["lru"],
    }
)


def one_row(name: str) -> pa.Table:
    zero = {pa.string(): "x", pa.float64(): 0.5}
    return pa.table({f.name: [zero.get(f.type, 7)] for f in SCHEMAS[name]}, schema=SCHEMAS[name])


def a_system() -> SystemTables:
    return SystemTables(
        one_row("metrics"), one_row("vms"), one_row("decisions"), {"replay_seconds": 1.0}
    )


def write_all(draft: Draft) -> Results:
    if draft.part(0) is None:
        draft.save_part(0, a_system())
    for name in SCHEMAS:
        draft.write_table(name, one_row(name))
    draft.write_spec(SPEC)
    draft.write_json("environment", {"synthetic": True})
    draft.write_json("timings", {"stages": {"parse": 1.0}, "systems": {}})
    return draft.finish()


def test_a_finished_run_reads_back(tmp_path: Path) -> None:
    results = write_all(Draft.begin(tmp_path, RUN_ID, "build"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [RUN_ID]
    assert sorted(p.name for p in results.path.iterdir()) == sorted(
        ["DONE", "spec.yaml", "environment.json", "timings.json"]
        + [f"{name}.parquet" for name in SCHEMAS]
    )
    opened = Results.open(tmp_path / RUN_ID)
    assert opened.run_id == RUN_ID
    assert opened.spec == SPEC
    assert opened.synthetic
    assert opened.title == "pair (synthetic workload)"
    for name, schema in SCHEMAS.items():
        assert opened.table(name).schema == schema
        assert opened.to_pandas(name).shape == (1, len(schema))
        assert opened.to_polars(name).shape == (1, len(schema))


def test_what_is_written_twice_is_the_same_bytes(tmp_path: Path) -> None:
    first = write_all(Draft.begin(tmp_path / "1", RUN_ID, "build"))
    second = write_all(Draft.begin(tmp_path / "2", RUN_ID, "build"))
    for name in SCHEMAS:
        file = f"{name}.parquet"
        assert (first.path / file).read_bytes() == (second.path / file).read_bytes()


def test_what_is_not_finished_does_not_open(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such run"):
        Results.open(tmp_path / "none")
    draft = Draft.begin(tmp_path, RUN_ID, "build")
    with pytest.raises(ConfigError, match="not a finished run"):
        Results.open(draft.folder)
    draft.abandon()


def test_abandoning_leaves_finished_systems_and_nothing_else(tmp_path: Path) -> None:
    draft = Draft.begin(tmp_path, RUN_ID, "build")
    draft.abandon()
    assert list(tmp_path.iterdir()) == []

    draft = Draft.begin(tmp_path, RUN_ID, "build")
    draft.save_part(2, a_system())
    draft.abandon()
    resumed = Draft.begin(tmp_path, RUN_ID, "build")
    assert resumed.part(0) is None
    assert resumed.part(2) == a_system()
    resumed.abandon()


def test_another_build_starts_over(tmp_path: Path) -> None:
    draft = Draft.begin(tmp_path, RUN_ID, "build")
    draft.save_part(0, a_system())
    draft.abandon()
    fresh = Draft.begin(tmp_path, RUN_ID, "another build")
    assert fresh.part(0) is None
    fresh.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_is_taken_over_and_a_live_one_is_not(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
import pyarrow as pa
from mcsim.results.draft import Draft, SystemTables
from mcsim.results.schemas import SCHEMAS
draft = Draft.begin(Path({str(tmp_path)!r}), {RUN_ID!r}, "build")
empty = [SCHEMAS[name].empty_table() for name in ("metrics", "vms", "decisions")]
draft.save_part(0, SystemTables(*empty, {{}}))
print("ready", flush=True)
time.sleep(60)
"""
    other = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        beside = Draft.begin(tmp_path, RUN_ID, "build")
        assert beside.part(0) is None
        beside.abandon()
    finally:
        other.send_signal(signal.SIGKILL)
        other.wait()
        other.stdout.close()
    resumed = Draft.begin(tmp_path, RUN_ID, "build")
    assert resumed.part(0) is not None
    write_all(resumed)
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]


def test_a_forced_run_replaces_the_old_one(tmp_path: Path) -> None:
    old = write_all(Draft.begin(tmp_path, RUN_ID, "build"))
    (old.path / "marker").touch()
    write_all(Draft.begin(tmp_path, RUN_ID, "build"))
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]
    assert not (old.path / "marker").exists()


def test_the_time_of_figures_is_added_to_a_finished_run(tmp_path: Path) -> None:
    results = write_all(Draft.begin(tmp_path, RUN_ID, "build"))
    results.record_seconds("figures", 2.5)
    assert results.timings["stages"] == {"parse": 1.0, "figures": 2.5}
    assert not [p for p in results.path.iterdir() if str(os.getpid()) in p.name]
