"""Latencies predicted by curves, of reads and writes.

Trusts: replays of the same requests; what each device serves, counted by hand.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small import TINY, small_experiment

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.config.devices import CATALOGUE
from mcsim.config.latency import ServiceTimes, WriteMode, served_by_lru
from mcsim.locality.latency import CacheLatency, curve_under
from mcsim.results.tables import comparison
from mcsim.traces.synth import synth_trace

FLASH, DISK = CATALOGUE["flash"], CATALOGUE["hdd"]
MODES: tuple[WriteMode, ...] = ("through", "back", "around")

# R0 W1 R1 W0 R0 R1: of 4 reads one block hits two, two blocks hit three; if writes drop their
# blocks, one block hits none, and two hit the last read alone.
FEW = mc.Trace.from_arrays(
    [0, 1, 2, 3, 4, 5], [0, 4096, 4096, 0, 0, 4096], 4096, op=[0, 1, 0, 1, 0, 0], source="few"
)


@cache
def tiny() -> mc.Trace:
    """A tenth of what its VM `friendly` does is written, two fifths of `scanner`'s."""
    return synth_trace(TINY)


@cache
def replayed(writes: str, blocks: int, out: Path) -> mc.Results:
    spec = small_experiment(
        {"name": "hierarchy", "writes": writes}, tiers={"flash": blocks}, ops="all", interval="1h"
    )
    return mc.run(spec, figures=False, out=out)


def mean_ns(results: mc.Results) -> float:
    (row,) = comparison(results, by_vm=False).to_pylist()
    return float(row["mean_latency_ns"])


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("latency")


@pytest.mark.parametrize("blocks", [100, 1500, 4000, 20_000])
@pytest.mark.parametrize("writes", MODES)
def test_predictions_are_what_a_replay_waits(writes: WriteMode, blocks: int, out: Path) -> None:
    curve = curve_under(tiny().blocks("all"), writes)
    predicted = CacheLatency(FLASH, DISK, writes).mean_ns(curve, blocks)
    assert predicted == pytest.approx(mean_ns(replayed(writes, blocks, out)), rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_writes_around_and_discards_leave_what_a_list_keeps(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 300
    vm, op = random.integers(0, 2, n), random.choice([0, 0, 1, 2], n)
    first, count = random.integers(0, 20, n), random.integers(1, 4, n)
    columns = {"op": op, "vm": vm, "vms": ["a", "b"], "source": "few"}
    trace = mc.Trace.from_arrays(np.arange(n), 4096 * first, 4096 * count, **columns)
    curve = curve_under(trace.blocks("all"), "around")
    for size in (1, 2, 5, 12, 40):
        held: list[tuple[int, int]] = []  # the last read in front
        hits = 0
        for who, what, begin, blocks in zip(vm, op, first, count, strict=True):
            for block in ((int(who), int(key)) for key in range(begin, begin + blocks)):
                hits += what == 0 and block in held
                held = [other for other in held if other != block]
                if what == 0:
                    held = [block, *held][:size]
        assert curve.at(size) * curve.accesses == pytest.approx(hits)
        assert curve.accesses == count[op < 2].sum()


@pytest.mark.parametrize("writes", MODES)
def test_tune_and_run_wait_alike(writes: WriteMode, out: Path) -> None:
    rows = mc.tune(tiny(), 1500, block_bytes=["4KiB"], writes=[writes])
    # Requests are cut into their blocks, so that a mean of pieces is one of accesses.
    assert rows[0].latency_ns == pytest.approx(mean_ns(replayed(writes, 1500, out)), rel=1e-6)


def test_a_few_accesses_by_hand() -> None:
    (hit, disk), write = (25e3, 6.5e6), {"through": 6.5e6, "back": 200e3, "around": 6.5e6}
    hits = {"through": [0, 2, 3], "back": [0, 2, 3], "around": [0, 0, 1]}
    for mode in MODES:
        curve = curve_under(FEW.blocks("all"), mode)
        model = CacheLatency(FLASH, DISK, mode)
        for blocks, read_hits in enumerate(hits[mode]):
            taken = disk if blocks == 0 else write[mode]
            wanted = (read_hits * hit + (4 - read_hits) * disk + 2 * taken) / 6
            assert model.mean_ns(curve, blocks) == pytest.approx(wanted), (mode, blocks)


@pytest.mark.parametrize("writes", MODES)
def test_the_smallest_cache_is_the_smallest(writes: WriteMode) -> None:
    curve = curve_under(FEW.blocks("all"), writes)
    model = CacheLatency(FLASH, DISK, writes)
    for ns in (7e6, 6.5e6, 5e6, 4.4e6, 4e6, 3.3e6, 2.2e6, 1.6e6, 1e3):
        enough = [blocks for blocks in range(9) if model.mean_ns(curve, blocks) <= ns]
        assert model.capacity_for(curve, ns) == (enough[0] if enough else None), ns


def test_times_are_exact_beyond_64_bits() -> None:
    times = ServiceTimes.of([(3, 5), (10**12, 1)])
    assert times.waited_ns([2, 10**8], [1, 7]) == 6 + 10**20 + 5 + 7
    reads, writes = served_by_lru([3, 5], 9, 4, "back")
    assert (reads.tolist(), writes.tolist()) == ([3, 2, 4], [4, 0, 0])
    _, writes = served_by_lru([0, 0], 9, 4, "back", space=False)
    assert writes.tolist() == [0, 0, 4]


def test_what_cannot_be_is_refused() -> None:
    wrong: Any = "sideways"
    with pytest.raises(ConfigError, match="writes: "):
        CacheLatency(FLASH, DISK, wrong)
    with pytest.raises(ConfigError, match="hdd is not faster than the backend flash"):
        CacheLatency(DISK, FLASH)
    with pytest.raises(ConfigError, match="an array has no operations"):
        curve_under([1, 2, 3])
