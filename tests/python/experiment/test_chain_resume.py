"""Runs on chains that are interrupted or killed, and resumed.

Trusts: the same run without an interruption.
"""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import python

import mcsim as mc
from mcsim.base.progress import Reporter, Stage
from mcsim.experiment.runner import run
from mcsim.results.schemas import SCHEMAS

EXPERIMENT = """
name: chains
block_bytes: 64KiB
interval: 20s
workload:
  chains: {file: kv.jsonl, block_tokens: 64}
devices:
  gpu: {read: 1us, write: 1us}
  prefill: {read: 1ms, write: 1ms}
tiers: [{device: gpu, capacity: 100}]
backend: prefill
systems: [lru, static, multicache]
"""

INTERRUPTED = """
import os, sys
import mcsim.base.faults
import mcsim.results.writer
from mcsim.cli.main import main

mcsim.results.writer.KEPT_AFTER_SECONDS = 0.0
left = 2

def stop(point):
    global left
    left -= point == "part saved"
    if point == "part saved" and left == 0:
        os.kill(os.getpid(), int(sys.argv[1]))

mcsim.base.faults.hook = stop
main(["run", "kv.yaml", "--results", sys.argv[2], "--no-figures", "--threads", "1", "-q"])
"""
"""Runs the experiment, and sends itself a signal when the second system is saved."""


class Recorder(Reporter):
    """Records the replays, and interrupts one."""

    def __init__(self, interrupted: str = "") -> None:
        super().__init__()
        self.replays: list[str] = []
        self._interrupted = interrupted

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "", about: str = ""
    ) -> Iterator[Stage]:
        if name == "replay":
            self.replays.append(about)
            if about == self._interrupted:
                raise KeyboardInterrupt
        with super().stage(name, total, unit, about) as stage:
            yield stage


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment on a file of two tenants."""
    folder, draw = tmp_path_factory.mktemp("chains"), random.Random(1)
    last: dict[tuple[str, int], list[int]] = {}
    with (folder / "kv.jsonl").open("w") as file:
        for i in range(600):
            key = draw.choice("ab"), draw.randrange(9)
            prompt = last.get(key, [])
            prompt = [*prompt[: draw.randrange(len(prompt) + 1)], 10 * i, 10 * i + 1]
            last[key] = prompt
            line = {"timestamp": 100 * i, "input_length": 64 * len(prompt) - 3, "hash_ids": prompt}
            file.write(json.dumps({**line, "tenant": key[0]}) + "\n")
    (folder / "kv.yaml").write_text(EXPERIMENT)
    return folder / "kv.yaml"


@pytest.fixture(scope="module")
def whole(experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> mc.Results:
    """The run without an interruption."""
    results = run(experiment, out=tmp_path_factory.mktemp("whole"), threads=1, figures=False)
    assert results.prefix_hits().hits.sum() > 0
    return results


def tables_of(results: mc.Results) -> dict[str, bytes]:
    return {name: (results.path / f"{name}.parquet").read_bytes() for name in SCHEMAS}


def assert_alike(results: mc.Results, whole: mc.Results) -> None:
    assert tables_of(results) == tables_of(whole)
    assert results.prefix_hits().to_arrow().equals(whole.prefix_hits().to_arrow())
    assert [path.name for path in results.path.parent.iterdir()] == [whole.run_id]


@pytest.mark.parametrize("after", [1, 2])
def test_an_interrupted_run_resumes_at_the_next_system(
    experiment: Path, whole: mc.Results, tmp_path: Path, after: int
) -> None:
    full = Recorder()
    run(experiment, out=tmp_path / "other", threads=1, figures=False, reporter=full)
    assert sorted(full.replays) == ["lru", "multicache", "static"]
    stopped = Recorder(full.replays[after])
    with pytest.raises(KeyboardInterrupt):
        run(experiment, out=tmp_path / "out", threads=1, figures=False, reporter=stopped)
    (partial,) = (tmp_path / "out").iterdir()
    assert partial.name == f"{whole.run_id}.partial"
    again = Recorder()
    resumed = run(experiment, out=tmp_path / "out", threads=1, figures=False, reporter=again)
    assert again.replays == full.replays[after:]
    assert_alike(resumed, whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_command_resumes(
    experiment: Path, whole: mc.Results, tmp_path: Path, number: signal.Signals
) -> None:
    stopped = python("-c", INTERRUPTED, int(number), tmp_path, cwd=experiment.parent)
    expected = -number if number == signal.SIGKILL else 128 + number
    assert stopped.returncode == expected, stopped.stderr
    (partial,) = tmp_path.iterdir()
    assert partial.name == f"{whole.run_id}.partial"
    recorder = Recorder()
    resumed = run(experiment, out=tmp_path, threads=1, figures=False, reporter=recorder)
    assert len(recorder.replays) < 3
    assert_alike(resumed, whole)


def test_a_changed_file_is_another_run(experiment: Path, whole: mc.Results, tmp_path: Path) -> None:
    lines = (experiment.parent / "kv.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "kv.jsonl").write_text("".join(lines[:-1]))
    (tmp_path / "kv.yaml").write_text(EXPERIMENT)
    other = run(tmp_path / "kv.yaml", out=tmp_path / "out", threads=1, figures=False)
    assert other.run_id != whole.run_id
