# Trusts: a run to which nothing happened.
"""Runs on chains that are killed or interrupted, and resumed."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from processes import LONG, ForkServer, assert_whole, contents, final_runs

pytestmark = pytest.mark.slow

EXPERIMENT = """
name: chains
block_bytes: 64KiB
interval: 20s
workload:
  chains: {file: kv.jsonl, block_tokens: 64}
devices:
  gpu: {read: 1us, write: 1us}
  prefill: {read: 1ms, write: 1ms}
tiers: [{device: gpu, capacity: 300}]
backend: prefill
systems: [lru, static, multicache, clairvoyant]
"""


@pytest.fixture(scope="session")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment on a file of two tenants."""
    folder, draw = tmp_path_factory.mktemp("chains"), random.Random(1)
    last: dict[tuple[str, int], list[int]] = {}
    with (folder / "kv.jsonl").open("w") as file:
        for i in range(2_000):
            key = draw.choice("ab"), draw.randrange(20)
            prompt = last.get(key, [])
            prompt = [*prompt[: draw.randrange(len(prompt) + 1)], 10 * i, 10 * i + 1]
            last[key] = prompt
            line = {"timestamp": 100 * i, "input_length": 64 * len(prompt), "hash_ids": prompt}
            file.write(json.dumps({**line, "tenant": key[0]}) + "\n")
    (folder / "chains.yaml").write_text(EXPERIMENT)
    return folder / "chains.yaml"


@pytest.fixture(scope="session")
def undisturbed(
    fork_server: ForkServer, experiment: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, bytes]:
    """Files of a run without faults."""
    out = tmp_path_factory.mktemp("undisturbed-chains")
    process = fork_server.run(out, experiment=experiment)
    assert process.wait() == 0, process.said
    (run,) = final_runs(out)
    return contents(run)


def assert_resumed(
    fork_server: ForkServer, experiment: Path, undisturbed: Mapping[str, bytes], out: Path
) -> None:
    """Check that one more run finishes with the tables of a run without faults."""
    assert_whole(out)
    again = fork_server.run(out, experiment=experiment)
    assert again.wait() == 0, again.said
    (run,) = out.iterdir()
    assert contents(run) == undisturbed
    assert_whole(out)


@pytest.mark.parametrize("point", ["part saved", "results flushed", "folder in place"])
@pytest.mark.parametrize("times", [1, 2])
def test_killed_at_a_point(
    fork_server: ForkServer,
    experiment: Path,
    undisturbed: Mapping[str, bytes],
    tmp_path: Path,
    point: str,
    times: int,
) -> None:
    killed = fork_server.run(tmp_path, experiment=experiment, die_at=[point, times])
    assert killed.wait() == -signal.SIGKILL or times > 1
    assert_resumed(fork_server, experiment, undisturbed, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_stopped_at_random_moments(
    fork_server: ForkServer,
    experiment: Path,
    undisturbed: Mapping[str, bytes],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    chance = random.Random(number)
    begun = time.monotonic()
    assert fork_server.run(tmp_path / "whole", experiment=experiment).wait() == 0
    whole = time.monotonic() - begun
    out = tmp_path / "out"
    for _ in range(20 if LONG else 4):
        process = fork_server.run(out, experiment=experiment)
        time.sleep(chance.uniform(0.1, 0.9) * whole)
        process.kill(number)
        assert process.wait() in (0, 128 + number, -number), process.said
        assert_whole(out)
    assert_resumed(fork_server, experiment, undisturbed, out)
