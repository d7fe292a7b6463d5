"""Trusts: the Multi-Cache authors' baseline and clean LRU as measured independently,
and a four-access example worked by hand."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hosts import add_vm

from mcsim._core import engine, locality
from mcsim.base import errors

MACHINE_COSTS = {"read_ns": 30.0, "write_ns": 30.0, "dollars_per_gb": 10.0}


def machine(*capacities: int) -> engine.Machine:
    device = engine.Device("any", **MACHINE_COSTS)
    return engine.Machine([(device, blocks) for blocks in capacities], device)


def interned(
    blocks: list[int] | np.ndarray, vm: np.ndarray | None = None, **view: Any
) -> engine.Accesses:
    blocks = np.asarray(blocks, dtype=np.uint64)
    owner = np.zeros(len(blocks), np.uint16) if vm is None else vm
    builder = engine.AccessBuilder(**view)
    for v in range(int(owner.max(initial=0)) + 1):
        mine = owner == v
        add_vm(builder, f"vm{v}", np.flatnonzero(mine), 0, blocks[mine])
    return builder.finish()


def run(accesses: engine.Accesses, system: engine.System, **kwargs: Any) -> engine.RunResult:
    measured = locality.characterise(accesses, system.meters)
    cuts = engine.aligned_cuts(accesses, kwargs.pop("interval", 1 << 62))
    return engine.run(accesses, system, measured, cuts, **kwargs)


def test_four_accesses() -> None:
    result = run(interned([1, 2, 1, 2]), engine.System("lru", {}, machine(1, 1)))
    assert result.tiers["hits"].tolist() == [[[0, 2]]]
    writes = sum(result.tiers[name] for name in ("fills", "promotions", "demotions"))
    assert writes.tolist() == [[[4, 3]]]


@pytest.mark.parametrize(
    ("name", "first", "second", "legacy", "percent"),
    [
        ("OLTP.lis", 500, 5000, False, (54.783, 23.445, 31.337)),
        ("OLTP.lis", 500, 5000, True, (47.817, 8.680, 39.138)),
        ("OLTP.lis", 1000, 10000, False, (61.739, 32.831, 28.908)),
        ("OLTP.lis", 1000, 10000, True, (54.159, 17.626, 36.533)),
        ("P3.lis", 20000, 200000, False, (61.691, 2.280, 59.412)),
        ("P3.lis", 20000, 200000, True, (58.293, 0.180, 58.113)),
        ("sprite.txt", 100, 1000, False, (91.171, 21.580, 69.591)),
        ("sprite.txt", 100, 1000, True, (77.314, 7.777, 69.537)),
    ],
)
def test_global_lru_on_published_traces(
    real_trace: Any,
    name: str,
    first: int,
    second: int,
    legacy: bool,
    percent: tuple[float, float, float],
) -> None:
    accesses = real_trace(name).accesses
    system = engine.System("lru", {"legacy": legacy}, machine(first, second))
    hits = run(accesses, system).tiers["hits"].sum(axis=(0, 1))
    measured = 100 * np.array([hits.sum(), *hits]) / accesses.access_count
    np.testing.assert_allclose(measured, percent, atol=6e-4)


class Everything:
    """Gives the first VM everything."""

    def allocate(self, seen: Any) -> np.ndarray:
        blocks = np.zeros_like(seen.current)
        blocks[:, 0] = seen.capacities
        return blocks


def test_an_allocator_in_python_decides() -> None:
    rng = np.random.default_rng(1)
    accesses = interned(rng.integers(0, 50, 4000), rng.integers(0, 2, 4000).astype(np.uint16))
    system = engine.System.from_python(Everything(), machine(5, 10), interval=1000)
    result = run(accesses, system, interval=1000)
    assert result.tiers["target"][-1].tolist() == [[5, 10], [0, 0]]
    assert len(result.decisions) == 3


class TooMuch:
    def allocate(self, seen: Any) -> np.ndarray:
        return seen.current + 1


def test_a_wrong_allocator_is_named() -> None:
    accesses = interned(np.arange(4000) % 7)
    system = engine.System.from_python(TooMuch(), machine(5), interval=1000)
    with pytest.raises(errors.ConfigError, match=r"TooMuch: allocate\(\) gave 6 blocks of tier 0"):
        run(accesses, system)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (2.0**61, r"allocate\(\) gave 9.223372036854776e\+18 blocks of tier 0, which has 5"),
        (2.0**63, r"allocate\(\) gave 9.223372036854776e\+18 blocks; whole numbers from 0 on only"),
        (float("nan"), r"allocate\(\) gave nan blocks; whole numbers from 0 on only"),
        (float("inf"), r"allocate\(\) gave inf blocks; whole numbers from 0 on only"),
    ],
)
def test_an_allocator_that_gives_more_blocks_than_can_be_counted(
    blocks: float, message: str
) -> None:
    class Overflows:
        def allocate(self, seen: Any) -> np.ndarray:
            return np.full(seen.current.shape, blocks)

    accesses = interned(np.arange(4000) % 7, (np.arange(4000) % 4).astype(np.uint16))
    system = engine.System.from_python(Overflows(), machine(5), interval=1000)
    with pytest.raises(errors.ConfigError, match=message):
        run(accesses, system)


def test_progress_counts_and_can_stop_a_run() -> None:
    accesses = interned(np.arange(3_000_000) % 1000)
    seen: list[int] = []
    run(accesses, engine.System("lru", {}, machine(10)), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 3_000_000

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(accesses, engine.System("lru", {}, machine(10)), progress=stop)


def test_a_run_starts_from_the_state_of_another(tmp_path: Path) -> None:
    path = str(tmp_path / "state")
    first, second = (interned([1, 2, 3], addresses=True), interned([1, 4, 1], addresses=True))
    run(first, engine.System("lru", {}, machine(1, 2)), state_to=path, state_setup="a")
    result = run(second, engine.System("lru", {}, machine(1, 2)), state_from=path, state_setup="a")
    assert result.tiers["hits"].tolist() == [[[0, 2]]]
    with pytest.raises(errors.ConfigError, match="the state is one of a, not of b"):
        run(second, engine.System("lru", {}, machine(1, 2)), state_from=path, state_setup="b")


def test_a_policy_without_a_state_is_refused_before_the_replay(tmp_path: Path) -> None:
    done: list[int] = []
    system = engine.System("static", {"policy": "opt"}, machine(1))
    with pytest.raises(errors.ConfigError, match="opt uses the future"):
        run(
            interned([1, 2], addresses=True),
            system,
            progress=done.append,
            state_to=str(tmp_path / "state"),
        )
    assert done == []


def test_replay_leaves_other_threads_running() -> None:
    accesses = interned(np.arange(4_000_000) % 100_000)
    done = threading.Event()
    counted = 0

    def replay() -> None:
        run(accesses, engine.System("lru", {}, machine(1000, 50_000)))
        done.set()

    thread = threading.Thread(target=replay)
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 1000


def test_columns_view_the_trace_and_keep_it_alive() -> None:
    ids = interned([5, 6, 5]).ids
    assert ids.tolist() == [0, 1, 0]
    assert not ids.flags.writeable


def test_columns_of_the_wrong_kind_are_refused() -> None:
    builder = engine.AccessBuilder()
    builder.begin_vm("a")
    good = np.zeros(2, np.int64), np.zeros(2, np.uint16), np.zeros(2, np.uint8)
    with pytest.raises(TypeError):
        builder.add(*good, np.zeros(2, np.float64), np.zeros(2, np.uint32))  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigError, match="columns of 2 and 3 rows"):
        builder.add(*good, np.zeros(3, np.uint64), np.zeros(2, np.uint32))
