# Trusts: the same replayed again.
from __future__ import annotations

import functools
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from small import small_experiment, small_workload

from mcsim.experiment import prepared
from mcsim.experiment.alone import Alone
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import run
from mcsim.references.interned import remembered
from mcsim.traces.cache import INTERNED, entries

VIEW = {"block_bytes": 4096, "ops": "all", "line_blocks": 1}
ROWS = [{"vm": "a", "misses": 2**60, "mean_latency_ns": 0.1}, {"vm": "ä", "misses": None}]


def files(folder: Path) -> list[Path]:
    return sorted((folder / INTERNED).glob("*.replayed"))


class Replay:
    """Counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> list[dict[str, Any]]:
        self.calls += 1
        return ROWS


def asked(folder: Path, replay: Replay, seed: int = 1, **cause: Any) -> list[dict[str, Any]]:
    workload = small_workload(seed)
    return remembered(workload, VIEW, cause, replay, folder=folder, at_least=0)


def test_the_first_replays_and_the_next_read(tmp_path: Path) -> None:
    replay = Replay()
    assert [asked(tmp_path, replay, of=1) for _ in range(3)] == [ROWS] * 3
    assert replay.calls == 1
    for seed, of in ((2, 1), (1, 2)):
        assert asked(tmp_path, replay, seed, of=of) == ROWS
    assert replay.calls == 3
    assert len(files(tmp_path)) == 3


def test_another_build_replays_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Replay()
    asked(tmp_path, replay)
    built = tmp_path / "_core.so"
    built.write_text("another")
    monkeypatch.setattr("mcsim._core.__file__", str(built))
    asked(tmp_path, replay)
    assert replay.calls == 2


def test_few_accesses_leave_no_file(tmp_path: Path) -> None:
    replay = Replay()
    assert remembered(small_workload(), VIEW, {}, replay, folder=tmp_path) == ROWS
    assert not files(tmp_path)


def test_damage_is_told_of_and_replayed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    replay = Replay()
    asked(tmp_path, replay)
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole.replace(b"0.1", b"0.2"), b"", b"[]", b'{"rows": 1}'):
        file.write_bytes(damaged)
        assert [entry.fault() is None for entry in entries(tmp_path)] == [False]
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert asked(tmp_path, replay) == ROWS
        (record,) = caplog.records
        assert record.getMessage().startswith(f"{file}: damaged")
        assert file.read_bytes() == whole
    (entry,) = entries(tmp_path)
    assert (entry.kind.name, entry.describe(), entry.fault()) == (
        "replayed",
        "replayed, 2 rows",
        None,
    )


def test_folder_that_cannot_be_written_replays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    replay = Replay()
    with caplog.at_level(logging.WARNING):
        assert asked(tmp_path / "file" / "folder", replay) == ROWS
    assert "what was replayed is in memory" in caplog.text


TIERS = {"dram": 60, "flash": 200}
EXPERIMENTS: list[dict[str, Any]] = [
    small_experiment("lru", "static", "multicache", tiers=TIERS, opt=True),
    small_experiment("lru", "static", tiers=TIERS, opt=True, backend={"device": "sata-ssd"}),
    small_experiment("lru", "static", tiers={"dram": 50, "flash": 200}, opt=True),
    small_experiment("lru", "static", tiers=TIERS, opt=True, ops="all"),
    small_experiment("lru", "static", tiers=TIERS, opt=True, ops="all", writes="around"),
    small_experiment({"name": "hierarchy", "policy": "sieve / lru"}, tiers=TIERS, interval="2h"),
]


def test_runs_find_what_runs_like_them_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Experiments that differ in anything that matters have files of their own."""
    cache = tmp_path / "cache"
    kept = functools.partial(remembered, folder=cache, at_least=0)

    def tables(which: int, out: str) -> list[list[dict[str, Any]]]:
        folder = run(EXPERIMENTS[which], out=tmp_path / out / str(which), figures=False).path
        return [
            pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("alone", "bounds")
        ]

    numbers = range(len(EXPERIMENTS))
    plain = [tables(which, "plain") for which in numbers]
    assert all(of_run[0] for of_run in plain)
    monkeypatch.setattr(prepared, "remembered", kept)
    assert [tables(which, "first") for which in numbers] == plain
    made = len(files(cache))
    assert made > 8
    monkeypatch.setattr("mcsim.experiment.alone.Alone.table", None)
    monkeypatch.setattr(prepared, "opt_hits", None)
    assert [tables(which, "again") for which in numbers] == plain
    assert len(files(cache)) == made


def test_code_of_users_has_no_cause() -> None:
    """It may change between two runs."""
    experiment = Experiment.load(EXPERIMENTS[0])
    path = Alone.of(experiment.spec, experiment.source, experiment.code, 1)
    assert path is not None
    assert path.cause is not None
    assert replace(path, code=replace(path.code, given={"m:Mine": object})).cause is None
    own = path.spec.systems[0].model_copy(update={"params": {"policy": "m:Mine / lru"}})
    for more in ({"systems": [own]}, {"plugins": ["mine.so"]}):
        assert replace(path, spec=path.spec.model_copy(update=more)).cause is None
