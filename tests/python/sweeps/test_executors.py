# Trusts: one run in one thread; all other executors must write the same bytes.
"""The same sweep on threads, in shards, on Dask workers that die, and interrupted."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from local_dask import Dask, until
from small import small_experiment

import mcsim
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.threads import Stopped
from mcsim.cli.main import cli
from mcsim.experiment.environment import build_digest
from mcsim.sweeps import execute, task
from mcsim.sweeps.dask import _check_workers, dask_executor
from mcsim.sweeps.estimate import _Moments
from mcsim.sweeps.sweep import look

PROFILE = """
name: small
seed: 3
vms:
  one:
    components: {pages: {zipf: {blocks: 5000, alpha: 0.9}, sizes: 4KiB}}
    phases: [{duration: 2h, requests: 60000, reads: pages, writes: pages}]
  two:
    components: {pages: {loop: {blocks: 3000}, sizes: 4KiB}}
    phases: [{duration: 2h, requests: 30000, reads: pages, writes: pages}]
"""
EXPERIMENT = """
name: ways
interval: 1h
workload: {profile: small.yaml, seed: 3}
tiers:
  - {device: dram, capacity: 100}
  - {device: flash, capacity: 1000}
systems: [lru]
sweep:
  tiers.1.capacity: log(100, 10_000, 12)
  systems: [lru, {name: hierarchy, policy: arc / arc}, multicache]
  seed: 2 seeds
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ways")
    (folder / "small.yaml").write_text(PROFILE)
    (folder / "ways.yaml").write_text(EXPERIMENT)
    return folder / "ways.yaml"


@pytest.fixture(scope="module")
def expected(file: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return table_of(mcsim.sweep(file, out=tmp_path_factory.mktemp("one"), threads=1))


def table_of(made: mcsim.Sweep) -> bytes:
    assert all(made.finished())
    made.write_tables()
    return (made.path / "table.parquet").read_bytes()


def test_threads(file: Path, tmp_path: Path, expected: bytes) -> None:
    assert table_of(mcsim.sweep(file, out=tmp_path, threads=4)) == expected


def test_shards_in_any_order(file: Path, tmp_path: Path, expected: bytes) -> None:
    shards = list(range(5))
    random.Random(1).shuffle(shards)
    done = 0
    for shard in shards:
        made = mcsim.sweep(file, out=tmp_path, shard=f"{shard}/5")
        assert sum(made.finished()) > done
        done = sum(made.finished())
    assert table_of(made) == expected


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_ended_and_resumed(
    file: Path, tmp_path: Path, expected: bytes, number: signal.Signals, code: int
) -> None:
    command = [sys.executable, "-m", "mcsim", "sweep", str(file), "--threads", "1", "-q"]
    with subprocess.Popen(
        [*command, "--results", str(tmp_path)], stderr=subprocess.PIPE
    ) as process:
        until(lambda: any(tmp_path.glob("packs/*-*")) or process.poll() is not None)
        process.send_signal(number)
        begun = time.monotonic()
        process.communicate(timeout=20)
        assert time.monotonic() - begun < 5  # a second on an idle machine
    made = look(file, out=tmp_path).made
    if not all(made.finished()):
        assert process.returncode == code
        assert any(made.finished())
    assert table_of(mcsim.sweep(file, out=tmp_path)) == expected


@pytest.mark.slow
def test_dask_with_a_worker_that_is_killed(
    file: Path, tmp_path: Path, expected: bytes, dask: Dask
) -> None:
    dask.wait()

    def kill() -> None:
        until(lambda: any(tmp_path.glob("packs/*-*")))
        dask.workers[0].kill()

    with ThreadPoolExecutor(1) as threads, dask_executor(dask.address) as (executor, workers):
        assert workers == 2
        killed = threads.submit(kill)
        made = mcsim.sweep(file, out=tmp_path, executor=executor, threads=workers)
        killed.result()
    assert table_of(made) == expected


@pytest.mark.slow
def test_dask_with_a_scheduler_that_dies(
    file: Path, tmp_path: Path, dask: Dask, capfd: pytest.CaptureFixture[str]
) -> None:
    dask.wait()

    def kill() -> None:
        until(lambda: any(tmp_path.glob("packs/*-*")))
        dask.scheduler.kill()

    def sweep() -> None:
        with ThreadPoolExecutor(1) as threads, dask_executor(dask.address) as (executor, workers):
            threads.submit(kill)
            mcsim.sweep(file, out=tmp_path, executor=executor, threads=workers)

    with pytest.raises(HostError, match="the scheduler went away"):
        sweep()
    assert "Traceback" not in capfd.readouterr().err


def test_a_worker_that_dies_before_the_sweep_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("distributed")

    class Client:
        def __init__(self, found: Exception) -> None:
            self._found = found

        def run(self, work: Callable[[], Any], on_error: str) -> dict[str, Any]:
            assert on_error == "return"
            return {"tcp://a": self._found, "tcp://b": work()}

    _check_workers(Client(ConnectionRefusedError("Timed out")))
    assert "worker tcp://a does not answer: Timed out" in caplog.text
    with pytest.raises(ConfigError, match="worker tcp://a has no mcsim that can be used"):
        _check_workers(Client(ImportError("no mcsim")))


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("mcsim.sweeps.dask._SECONDS", 0.2)
    message = "tcp://127.0.0.1:9: no Dask scheduler answers there: "
    with pytest.raises(HostError, match=message), dask_executor("tcp://127.0.0.1:9"):
        pass


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("head", "missing port number"),
        ("http://head:1", "unknown address scheme"),
        ("tcp://127.0.0.1:many", "invalid literal"),
    ],
)
def test_an_address_without_its_form_is_refused_before_a_client_exists(
    monkeypatch: pytest.MonkeyPatch, address: str, why: str
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", None)
    message = f"^{address}: expected an address such as tcp://head:8786: {why}"
    with pytest.raises(ConfigError, match=message), dask_executor(address):
        pass


def test_a_host_that_has_no_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    comm = pytest.importorskip("distributed.comm")

    def unknown(_address: str) -> str:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(comm, "resolve_address", unknown)
    message = "^tcp://head:1: no such host: Name or service not known"
    with pytest.raises(HostError, match=message), dask_executor("tcp://head:1"):
        pass


class AtOnce(ThreadPoolExecutor):
    """An executor that changes what is sent, as another machine would see it."""

    def __init__(self, change: Callable[[task.Task], task.Task]) -> None:
        super().__init__(1)
        self._change = change

    def submit(self, work: Any, /, *args: Any, **_: Any) -> Future[Any]:
        return super().submit(work, self._change(*args))


def test_any_executor_will_do(file: Path, tmp_path: Path, expected: bytes) -> None:
    with AtOnce(lambda sent: sent) as executor:
        assert table_of(mcsim.sweep(file, out=tmp_path, executor=executor)) == expected


def test_a_worker_with_another_mcsim_is_refused(file: Path, tmp_path: Path) -> None:
    def older(sent: task.Task) -> task.Task:
        return replace(sent, context=replace(sent.context, version="0.0.1", build="feed"))

    with AtOnce(older) as executor, pytest.raises(ConfigError) as caught:
        mcsim.sweep(file, out=tmp_path, executor=executor)
    told = str(caught.value)
    assert f"has mcsim {mcsim.__version__}, build {build_digest()}; " in told
    assert told.endswith(
        "the sweep was planned by mcsim 0.0.1, build feed: install the same on all machines"
    )


def test_a_worker_that_sees_other_traces_is_refused(file: Path, tmp_path: Path) -> None:
    def moved(sent: task.Task) -> task.Task:
        cells = [replace(cell, run_id="ways-000000000000") for cell in sent.cells]
        return replace(sent, cells=tuple(cells))

    with AtOnce(moved) as executor, pytest.raises(ConfigError) as caught:
        mcsim.sweep(file, out=tmp_path, executor=executor)
    assert "and not ways-000000000000: the traces or the code" in str(caught.value)


def test_a_batch_that_kills_its_workers_does_not_hold_up_the_others(
    file: Path, tmp_path: Path
) -> None:
    class KilledWorker(Exception):  # noqa: N818, as Dask calls it
        pass

    def poison(sent: task.Task) -> task.Task:
        if sent.cells[0].index == 0:
            raise KilledWorker
        return sent

    class Elsewhere(AtOnce):
        def submit(self, work: Any, /, *args: Any, **_: Any) -> Future[Any]:
            return ThreadPoolExecutor.submit(self, lambda: work(self._change(*args)))

    with Elsewhere(poison) as executor, pytest.raises(HostError) as caught:
        mcsim.sweep(file, out=tmp_path, executor=executor, threads=2)
    assert str(caught.value) == (
        "cells 0-3: every worker that ran them died, out of memory perhaps: give workers more, or "
        "run them by themselves: --cells 0-3 --threads 1"
    )
    assert look(file, out=tmp_path).made.finished() == [False] * 4 + [True] * 68


def test_classes_are_not_sent(file: Path, tmp_path: Path) -> None:
    class Mine:
        def allocate(self, seen: Any) -> None:
            return None

    spec = small_experiment(
        Mine, tiers={"dram": 10}, name="own", workload={"profile": str(file.parent / "small.yaml")}
    )
    with ThreadPoolExecutor(1) as executor, pytest.raises(ConfigError, match="cannot be sent"):
        mcsim.sweep(spec, {"seed": [1, 2]}, out=tmp_path, executor=executor)
    assert all(mcsim.sweep(spec, {"seed": [1, 2]}, out=tmp_path).finished())


def test_a_cell_that_fails_is_named_and_others_are_kept(file: Path, tmp_path: Path) -> None:
    class Fails:
        def __init__(self, after: int = 0) -> None:
            self.after = after

        def allocate(self, seen: Any) -> None:
            if self.after == 2:
                raise ArithmeticError("no more")

    spec = small_experiment(
        {"name": Fails, "after": 0},
        tiers={"dram": 10},
        name="own",
        interval="30min",
        workload={"profile": str(file.parent / "small.yaml")},
    )
    axes = {"systems.0.after": [0, 1, 2, 3]}
    message = r"cell 2 \(systems\.0\.after=2\): .*raised ArithmeticError: no more"
    with pytest.raises(ConfigError, match=message):
        mcsim.sweep(spec, axes, out=tmp_path, threads=1, cells="0-2")
    assert look(spec, axes, out=tmp_path).made.finished() == [True, True, False, False]
    with pytest.raises(ConfigError, match=message):
        mcsim.sweep(spec, axes, out=tmp_path, threads=1)


def test_an_estimate_is_of_all_systems_of_a_cell(file: Path, tmp_path: Path) -> None:
    class Sleeps:
        def __init__(self, seconds: float = 0) -> None:
            self.seconds = seconds

        def allocate(self, seen: Any) -> None:
            time.sleep(self.seconds)

    def seconds(*naps: float) -> float:
        systems = [{"name": Sleeps, "label": str(nap), "seconds": nap} for nap in naps]
        spec = small_experiment(
            *systems,
            tiers={"dram": 10},
            name="naps",
            interval="30min",
            workload={"profile": str(file.parent / "small.yaml")},
        )
        status = look(spec, {"seed": [1, 2, 3]}, out=tmp_path)
        found = status.estimated()
        assert found is not None
        assert status.made.finished() == [False] * 3
        return found.seconds

    # Three decisions in two hours, three cells; a part of a replay has two of the three, or fewer.
    assert seconds(0.2) > 0.5 * 9 * 0.2
    assert seconds(0.01, 0.4) > 0.5 * 9 * 0.4


def test_what_is_stopped_of_an_estimate_does_not_stop_the_rest() -> None:
    done = []

    def work(name: str, stops: bool) -> None:
        done.append(name)
        if stops:
            raise Stopped

    moments = _Moments(lambda: None)
    futures = [moments.submit(work, "first", True), moments.submit(work, "second", False)]
    assert isinstance(futures[0].exception(), Stopped)
    with pytest.raises(Stopped), moments:
        pass
    assert done == ["first", "second"]


def test_a_cell_that_fits_no_memory_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"a cell needs about .* of memory, and there are 1 MiB"):
        mcsim.sweep(file, out=tmp_path, memory="1MiB")
    with ThreadPoolExecutor(1) as executor, pytest.raises(ConfigError, match="is of this machine"):
        mcsim.sweep(file, out=tmp_path, memory="1GiB", executor=executor)
    given = ["sweep", str(file), "--dask", "tcp://nobody:1", "--threads", "2"]
    with pytest.raises(ConfigError, match="are of this machine: not with --dask"):
        CliRunner().invoke(cli, given, catch_exceptions=False)
    with pytest.raises(ConfigError, match="memory: expected a size such as 4KiB, got 'much'"):
        mcsim.sweep(file, out=tmp_path, memory="much")


def test_batches_are_of_one_workload() -> None:
    class Planned:
        def __init__(self, prepared: object) -> None:
            self.prepared = prepared

    cells: list[Any] = [Planned("even" if index % 2 else "odd") for index in range(100)]
    found = execute.batches(cells, 2)
    assert [cell for batch in found for cell in batch] == cells[::2] + cells[1::2]
    assert {len({cell.prepared for cell in batch}) for batch in found} == {1}
    assert max(map(len, found)) == 6
