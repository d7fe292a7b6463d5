# Trusts: a sweep to which nothing happened.
"""Sweeps on two processes that are killed, and gone on with."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from processes import LONG, ROOT, ForkServer, Process, is_stopped, until

pytestmark = pytest.mark.slow

GRID = f"""
name: grid
interval: 30min
workload: {{profile: {ROOT}/experiments/workloads/tiny.yaml}}
tiers:
  - {{device: dram, capacity: 500}}
  - {{device: flash, capacity: 2000}}
backend: hdd
systems: [lru]
sweep:
  tiers.0.capacity: [100, 200, 300, 400, 500, 600]
  systems: [lru, static, {{name: hierarchy, policy: arc / arc}}]
"""


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("grid") / "grid.yaml"
    file.write_text(GRID)
    return file


def start(fork_server: ForkServer, grid: Path, out: Path, *options: str, **work: object) -> Process:
    arguments = ["sweep", "run", str(grid), "--results", str(out), "--threads", "1", "-q", *options]
    return fork_server.start("command", arguments=arguments, **work)


def tables(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("sweeps/*/*")}


@pytest.fixture(scope="session")
def undisturbed(
    fork_server: ForkServer, grid: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("undisturbed-sweep")
    process = start(fork_server, grid, out)
    assert process.wait() == 0, process.said
    assert {"plan.parquet", "table.parquet", "table.csv"} <= tables(out).keys()
    return tables(out)


@pytest.mark.parametrize("seed", range(10 if LONG else 2))
def test_a_sweep_on_two_processes_killed_at_random_moments(
    fork_server: ForkServer, undisturbed: dict[str, bytes], grid: Path, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(10 if LONG else 3):
        pair = [start(fork_server, grid, tmp_path, kept_within=0.05) for _ in range(2)]
        for process in pair:
            time.sleep(chance.uniform(0, 0.5))
            process.kill()
        assert {process.wait() for process in pair} <= {0, -signal.SIGKILL}
    last = start(fork_server, grid, tmp_path)
    assert last.wait() == 0, last.said
    assert tables(tmp_path) == undisturbed


@pytest.mark.parametrize("point", ["claim made", "folder made", "folder in place"])
def test_a_sweep_killed_at_every_point_and_another_beside_it(
    fork_server: ForkServer, undisturbed: dict[str, bytes], grid: Path, tmp_path: Path, point: str
) -> None:
    # The first process writes a pack for each cell, and is suspended alone at the third.
    suspended = start(fork_server, grid, tmp_path, kept_within=0.0, stop_at=[point, 3])
    until(lambda: is_stopped(suspended.pid))
    beside = start(fork_server, grid, tmp_path)
    time.sleep(0.2)
    suspended.kill()
    assert suspended.wait() == -signal.SIGKILL
    assert beside.wait() == 0, beside.said
    assert tables(tmp_path) == undisturbed


def test_a_sweep_in_shards_of_which_one_is_preempted(
    fork_server: ForkServer, undisturbed: dict[str, bytes], grid: Path, tmp_path: Path
) -> None:
    shards = [start(fork_server, grid, tmp_path, "--shard", f"{n}/3") for n in range(3)]
    time.sleep(0.3)
    shards[1].kill(signal.SIGTERM)
    codes = [process.wait() for process in shards]
    assert (codes[0], codes[2]) == (0, 0)
    assert codes[1] in (0, 143, -signal.SIGTERM), shards[1].said
    last = start(fork_server, grid, tmp_path)
    assert last.wait() == 0, last.said
    assert tables(tmp_path) == undisturbed


@pytest.mark.parametrize("how", ["empty", "cut", "changed"])
def test_what_is_damaged_of_a_sweep_is_told_and_made_again(
    fork_server: ForkServer, undisturbed: dict[str, bytes], grid: Path, tmp_path: Path, how: str
) -> None:
    assert start(fork_server, grid, tmp_path, kept_within=0.0).wait() == 0
    pack = sorted((tmp_path / "packs").iterdir())[1]
    file = pack / "summary.parquet"
    content = file.read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    file.write_bytes({"empty": b"", "cut": content[:middle], "changed": changed}[how])
    again = start(fork_server, grid, tmp_path)
    assert again.wait() == 0, again.said
    assert again.said.count(f"{pack}: damaged (") == 1
    assert tables(tmp_path) == undisturbed
    third = start(fork_server, grid, tmp_path)
    assert third.wait() == 0
    assert ": damaged (" not in third.said


def test_a_plan_that_is_damaged_is_named(
    fork_server: ForkServer, undisturbed: dict[str, bytes], grid: Path, tmp_path: Path
) -> None:
    assert start(fork_server, grid, tmp_path).wait() == 0
    (plan,) = tmp_path.glob("sweeps/*/plan.parquet")
    plan.write_bytes(plan.read_bytes()[:100])
    asked = fork_server.start("command", arguments=["sweep", "status", "--results", str(tmp_path)])
    assert asked.wait() == 2
    assert f"mcsim: {plan}: cannot be read (" in asked.said
    assert asked.said.endswith("): run the sweep again\n")
    assert start(fork_server, grid, tmp_path).wait() == 0
    assert tables(tmp_path) == undisturbed
