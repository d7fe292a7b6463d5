# Trusts: Mattson's stack as a Python list; LRU as an OrderedDict; libCacheSim's LRU.
from __future__ import annotations

import doctest
import gc
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hosts import add_vm
from hypothesis import given
from hypothesis import strategies as st
from libraries import libcachesim_hits
from naive_lru import lru_hits
from numpy.typing import NDArray

import mcsim.locality.estimators
from mcsim._core import engine
from mcsim._core import locality as core
from mcsim.base.errors import ConfigError
from mcsim.locality.estimators import hit_ratio_curve, reuse_distances
from mcsim.locality.hit_units import COLD

streams = st.integers(1, 30).flatmap(
    lambda blocks: st.lists(st.integers(0, blocks), min_size=1, max_size=200)
)


def naive_distances(ids: list[int]) -> list[int]:
    stack: list[int] = []
    distances = []
    for block in ids:
        distances.append(stack.index(block) if block in stack else COLD)
        if block in stack:
            stack.remove(block)
        stack.insert(0, block)
    return distances


@given(streams)
def test_distances_are_depths_in_the_stack(ids: list[int]) -> None:
    assert reuse_distances(ids).tolist() == naive_distances(ids)


@given(streams, st.integers(0, 35))
def test_lru_hits_the_distances_below_its_size(ids: list[int], capacity: int) -> None:
    curve = hit_ratio_curve(ids, capacities=[capacity])
    assert curve.hits.tolist() == [lru_hits(ids, capacity)]
    assert curve.at(capacity) == curve.hits[0] / len(ids)


@given(streams)
def test_the_default_table_holds_every_step(ids: list[int]) -> None:
    curve = hit_ratio_curve(ids)
    steps = [lru_hits(ids, capacity) for capacity in range(40)]
    changes = [0] + [c for c in range(1, 40) if steps[c] != steps[c - 1]]
    assert curve.capacities.tolist() == changes
    assert curve.hits.tolist() == [steps[c] for c in changes]


@given(streams)
def test_histogram_counts_the_distances(ids: list[int]) -> None:
    distance, count, cold = core.reuse_histogram(np.array(ids, np.uint64))
    naive = naive_distances(ids)
    assert distance.tolist() == sorted(set(naive) - {COLD})
    assert count.tolist() == [naive.count(d) for d in distance.tolist()]
    assert cold == naive.count(COLD)


@given(streams, streams)
def test_merged_curves_add_their_hits(left: list[int], right: list[int]) -> None:
    one = core.hit_curve(np.array(left, np.uint32))
    two = core.hit_curve(np.array(right, np.uint32))
    capacities = np.arange(40)
    both = one.merge(two)
    assert both.hits(capacities).tolist() == (one.hits(capacities) + two.hits(capacities)).tolist()
    assert both.accesses == len(left) + len(right)


@pytest.mark.parametrize("dtype", ["u8", "u4", "u2", "u1", "i8", "i4", "i2", "i1", ">u8", ">i4"])
def test_every_integer_type_is_taken(dtype: str) -> None:
    ids = np.array([3, 2, 1, 4, 1, 2, 3], dtype)
    assert reuse_distances(ids).tolist() == [-1, -1, -1, -1, 1, 2, 3]


def test_strided_and_wide_ids_keep_their_value() -> None:
    assert reuse_distances(np.array([7, 0, 8, 0, 7, 0])[::2]).tolist() == [-1, -1, 1]
    wide = np.array([2**63, 0, 2**63], np.uint64)
    assert reuse_distances(wide).tolist() == [-1, -1, 1]


def test_an_empty_stream_has_an_empty_curve() -> None:
    assert reuse_distances([]).tolist() == []
    curve = hit_ratio_curve([])
    assert (curve.accesses, curve.at(5), curve.capacities.tolist()) == (0, 0.0, [0])


@pytest.mark.parametrize(
    ("ids", "error", "text"),
    [
        ([1.0, 2.0], TypeError, "ids: expected integers, got float64"),
        ([True], TypeError, "ids: expected integers, got bool"),
        (["a"], TypeError, "ids: expected integers, got <U1"),
        ([4, -2], ConfigError, r"ids\[1\]: must not be negative, got -2"),
        ([[1, 2]], ConfigError, r"ids: expected one dimension, got an array of shape \(1, 2\)"),
        ([[1], [2, 3]], ConfigError, "ids: expected one dimension, got rows of different lengths"),
        (
            "x.csv",
            ConfigError,
            r"ids: expected numbers, got 'x.csv': mcsim.Trace.open\(...\) opens",
        ),
        (Path("x"), ConfigError, r"ids: expected numbers, got 'x': mcsim.Trace.open\(...\) opens"),
    ],
)
def test_other_ids_are_refused(ids: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        reuse_distances(ids)
    with pytest.raises(error, match=text):
        hit_ratio_curve(ids)


def test_the_core_converts_nothing() -> None:
    with pytest.raises(TypeError):
        core.reuse_distances(np.array([1.0, 2.0]))
    with pytest.raises(TypeError):
        core.reuse_distances(np.array([1, 2], np.int64))  # type: ignore[arg-type]


def test_other_capacities_are_refused() -> None:
    with pytest.raises(TypeError, match="capacities: expected integers, got float64"):
        hit_ratio_curve([1], capacities=[0.5])
    with pytest.raises(ConfigError, match=r"capacities\[0\]: must not be negative, got -1"):
        hit_ratio_curve([1]).at(-1)
    with pytest.raises(ConfigError, match=r"capacities: at most 2\*\*63 - 1"):
        hit_ratio_curve([1], capacities=np.array([2**63], np.uint64))


def test_the_table_goes_to_every_frame() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    curve = hit_ratio_curve([1, 2, 1, 2, 1], capacities=[1, 2])
    expected = {"capacity": [1, 2], "hits": [0, 3], "ratio": [0.0, 0.6]}
    assert curve.to_arrow().to_pydict() == expected
    assert curve.to_pandas().to_dict("list") == expected
    assert curve.to_polars().to_dict(as_series=False) == expected


def test_arrays_are_read_only_and_outlive_their_curve() -> None:
    distances = core.hit_curve(np.array([1, 2, 1, 1], np.uint64)).distances
    assert distances.tolist() == [0, 1]
    for array in (distances, reuse_distances([1, 1])):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_the_gil_is_released() -> None:
    ids = np.random.default_rng(1).integers(0, 200_000, 1_000_000).astype(np.uint64)
    stamps: list[float] = []
    done = threading.Event()

    def stamp() -> None:
        while not done.wait(0.001):
            stamps.append(time.perf_counter())

    watcher = threading.Thread(target=stamp)
    watcher.start()
    start = time.perf_counter()
    core.hit_curve(ids)
    quarter = (time.perf_counter() - start) / 4
    done.set()
    watcher.join()
    assert any(start + quarter < at < start + 3 * quarter for at in stamps)


def zipf(rng: np.random.Generator, blocks: int, accesses: int) -> NDArray[np.int64]:
    weight = 1.0 / np.arange(1, blocks + 1)
    return rng.choice(blocks, accesses, p=weight / weight.sum())


@pytest.mark.parametrize("shape", ["random", "zipf"])
def test_libcachesim_misses_as_often(shape: str) -> None:
    rng = np.random.default_rng(7)
    ids = rng.integers(0, 1000, 20_000) if shape == "random" else zipf(rng, 3000, 20_000)
    capacities = [1, 10, 100, 500, 1000, 2500]
    hits = [libcachesim_hits(ids.tolist(), capacity) for capacity in capacities]
    assert hit_ratio_curve(ids, capacities).hits.tolist() == hits


def test_a_meter_spec_is_checked_and_printed() -> None:
    spec = core.MeterSpec("curve", {"scope": "cumulative"}, interval=60 * 10**9)
    assert spec.to_dict() == {
        "meter": "curve",
        "interval": 60 * 10**9,
        "drifting": False,
        "ops": "all",
        "between": "all",
        "scope": "cumulative",
        "window": 0,
        "distance_limit": 0,
        "foresight": "none",
    }
    assert (spec.meter, spec.interval, spec.drifting) == ("curve", 60 * 10**9, False)
    assert spec == core.MeterSpec(spec.meter, spec.params, interval=spec.interval)
    assert spec != core.MeterSpec("curve", spec.params)
    assert spec != core.MeterSpec("curve", interval=60 * 10**9)
    assert spec != core.MeterSpec("curve", spec.params, interval=60 * 10**9, drifting=True)
    assert "meter='curve'" in repr(spec)
    assert "scope='cumulative'" in repr(spec)


@pytest.mark.parametrize(
    ("meter", "params", "message"),
    [
        ("curves", {}, "no meter 'curves'; there are curve, load, distinct, intensity, classes"),
        ("curve", {"scope": "hour"}, r"scope: unknown choice 'hour' \(one of interval, cum"),
        ("load", {"windows": 3}, "unknown parameter 'windows' \\(did you mean 'window'"),
        ("distinct", {"reuses": -1}, r"reuses: -1 is outside \[0, inf\]"),
    ],
)
def test_no_meter_is_made_of_mistakes(meter: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        core.MeterSpec(meter, params)


def test_hyperloglog_estimates_within_its_error() -> None:
    sketch = core.HyperLogLog(error=0.02)
    sketch.add(np.arange(100_000, dtype=np.uint64))
    assert abs(sketch.estimate() / 100_000 - 1) < 4 * sketch.standard_error
    other = core.HyperLogLog(error=0.02)
    other.add(np.arange(50_000, 150_000, dtype=np.uint64))
    sketch.merge(other)
    assert abs(sketch.estimate() / 150_000 - 1) < 4 * sketch.standard_error
    with pytest.raises(ConfigError, match="cannot reach a standard error of 1e-05"):
        core.HyperLogLog(error=1e-5)


def test_the_examples_hold() -> None:
    known = {"mc": mcsim, "np": np}
    assert doctest.testmod(mcsim.locality.estimators, extraglobs=known).failed == 0


def two_vms() -> engine.Accesses:
    """Two hours: VM a loops over 4 blocks, VM b reads one block and then is silent."""
    builder = engine.AccessBuilder(block_bytes=4096)
    hour = 3600 * 10**9
    for name, times, blocks in (
        ("a", [0, 1, 2, 3, 4, 5, hour, hour + 1], [0, 1, 2, 3, 0, 1, 0, 0]),
        ("b", [2, 3], [9, 9]),
    ):
        add_vm(builder, name, times, 0, blocks)
    return builder.finish()


def test_meters_are_tables_by_period_and_vm() -> None:
    load, distinct, intensity, classes = specs = [
        core.MeterSpec(name) for name in ("load", "distinct", "intensity", "classes")
    ]
    found = core.characterise(two_vms(), specs)
    assert found.specs == specs
    assert found.cuts(load).tolist() == [0, 8, 10]
    tables = {name: column.tolist() for name, column in found.tables(load).items()}
    counts = [[6, 2], [2, 0]]
    read = ("requests", "read_requests", "accesses", "reads")
    nothing = [[0, 0], [0, 0]]
    assert tables == dict.fromkeys(read, counts) | {"write_requests": nothing, "writes": nothing}
    assert found.tables(distinct)["distinct"].tolist() == [[4, 1], [1, 0]]
    # The last of the hour's 60 windows is empty; the trace ends in the next hour's first.
    assert found.tables(intensity)["intensity"].tolist() == [[0.0, 0.0], [0.5, 0.0]]
    assert found.tables(intensity)["window_unique"].tolist() == [[0, 0], [1, 0]]
    kinds = {name: column.tolist() for name, column in found.tables(classes).items()}
    assert kinds == {
        "cold_reads": [[4, 1], [1, 0]],
        "cold_writes": nothing,
        "rar": [[2, 1], [1, 0]],
        "raw": nothing,
        "war": nothing,
        "waw": nothing,
    }


def test_windows_are_those_that_are_not_empty() -> None:
    spec = core.MeterSpec("intensity")
    windows = core.characterise(two_vms(), [spec]).windows(spec)
    minute, end = 60 * 10**9, 3600 * 10**9 + 1
    assert windows["end"].tolist() == [minute, minute, end]
    assert windows["vm"].tolist() == [0, 1, 0]
    assert windows["intensity"].tolist() == [1 - 4 / 6, 0.5, 0.5]
    assert windows["accesses"].tolist() == [6, 2, 2]


def test_curves_are_read_at_the_end_of_a_period() -> None:
    curve, load = core.MeterSpec("curve"), core.MeterSpec("load")
    found = core.characterise(two_vms(), [curve, load])
    assert found.tables(curve) == {}
    assert found.curve(curve, 0, 0).hits([3, 4]).tolist() == [0, 2]
    assert found.curve(curve, 1, 0).hits(1) == 1
    with pytest.raises(IndexError, match="period 2: there are 2 of them"):
        found.curve(curve, 2, 0)
    with pytest.raises(IndexError, match="vm -1: there are 2 of them"):
        found.curve(curve, 0, -1)
    with pytest.raises(ConfigError, match="a meter 'load' has no curves"):
        found.curve(load, 0, 0)
    with pytest.raises(ConfigError, match="a meter 'curve' has no windows"):
        found.windows(curve)
    with pytest.raises(ConfigError, match="this meter was not requested"):
        found.cuts(core.MeterSpec("classes"))


def test_a_curve_outlives_what_was_measured() -> None:
    spec = core.MeterSpec("curve")
    curve = core.characterise(two_vms(), [spec]).curve(spec, 0, 0)
    gc.collect()
    assert curve.distances.tolist() == [3]


def test_whole_curves_are_one_per_vm() -> None:
    found = core.characterise(two_vms(), [])
    assert found.specs == []
    a, b = found.whole_curves
    assert a == core.hit_curve(np.array([0, 1, 2, 3, 0, 1, 0, 0], np.uint64))
    assert b == core.hit_curve(np.array([9, 9], np.uint64))


def test_mistakes_in_a_meter_spec_are_named() -> None:
    with pytest.raises(ConfigError, match="interval: must be positive, got 0ns"):
        core.characterise(two_vms(), [core.MeterSpec("load", interval=0)])
    with pytest.raises(ConfigError, match="meter 'curve': window: expected a whole number of per"):
        core.characterise(two_vms(), [core.MeterSpec("curve", {"window": 7})])


def test_meters_are_described() -> None:
    described = {entry["name"]: entry for entry in core.describe_meters()}
    names = ["curve", "load", "distinct", "intensity", "classes", "responses", "host"]
    assert list(described) == names
    del described["host"]  # which is no meter of the trace
    for name, entry in described.items():
        params = core.MeterSpec(name).params
        assert {param["name"]: param["default"] for param in entry["params"]} == params
        assert entry["summary"].endswith(".")
