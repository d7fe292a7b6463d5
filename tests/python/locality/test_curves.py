# Trusts: Mattson's stack as a Python list; libCacheSim's LRU; matplotlib's own record of
# what it plots.
from __future__ import annotations

import threading
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import libcachesim_hits
from matplotlib.colors import same_color
from numpy.typing import NDArray

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import Estimator, estimate, estimator_names

mpl.use("Agg")

streams = st.integers(0, 30).flatmap(lambda most: st.lists(st.integers(0, most), max_size=200))
untimed = settings(deadline=None)  # it does not depend on the load of the machine
every_estimator = pytest.mark.parametrize("name", estimator_names())

# Settings at which an estimator counts instead of estimating.
COUNTING: dict[str, dict[str, Any]] = {
    "exact": {},
    "counter-stacks": {"batch": 1, "pruning": 0, "counter": "exact"},
    "parda": {"chunks": 3},
    "shards-rate": {"rate": 1},
}


def naive_hits(ids: list[int], capacities: range) -> list[int]:
    """Mattson's stack: LRU hits at each capacity."""
    stack: list[int] = []
    depths = []
    for block in ids:
        if block in stack:
            depths.append(stack.index(block))
            stack.remove(block)
        stack.insert(0, block)
    return [sum(depth < capacity for depth in depths) for capacity in capacities]


def curve_of(capacities: list[int], hits: list[float], accesses: int, **more: Any) -> HitRatioCurve:
    return HitRatioCurve(np.array(capacities), np.array(hits, float), accesses, **more)


def clocked(ids: list[int]) -> dict[str, NDArray[Any]]:
    """A time and an operation for every access."""
    n = len(ids)
    return {"times": np.arange(n) * 10**6, "ops": np.zeros(n, np.uint8)}


@every_estimator
@untimed
@given(ids=streams)
def test_every_curve_is_one(name: str, ids: list[int]) -> None:
    curve = estimate(ids, name, threads=2, **clocked(ids))
    assert curve.accesses == len(ids)
    assert (curve.capacities[0], curve.hits[0], curve.at(0)) == (0, 0.0, 0.0)
    assert (np.diff(curve.ratios) >= 0).all()
    assert 0 <= curve.best_ratio <= 1
    band = curve.band_at(curve.capacities)
    if band is not None:
        assert (band[0] <= curve.ratios + 1e-12).all()
        assert (curve.ratios <= band[1] + 1e-12).all()
    assert curve.distinct is not None
    assert curve.distinct >= 0
    assert curve.estimator == name


@every_estimator
@untimed
@given(ids=streams, cut=st.integers(0, 200))
def test_pieces_change_nothing(name: str, ids: list[int], cut: int) -> None:
    whole = estimate(ids, name, threads=1, **clocked(ids))
    stream = Estimator(name, threads=1)
    columns = clocked(ids)
    for piece in (slice(0, cut), slice(cut, None)):
        stream.process(ids[piece], columns["times"][piece], columns["ops"][piece])
    assert stream.references == len(ids)
    assert stream.bytes > 0
    assert (
        stream.curve()
        .to_arrow()
        .equals(
            whole.resampled(whole.capacities)
            .to_arrow()
            .select(stream.curve().to_arrow().column_names)
        )
    )


@pytest.mark.parametrize("name", [name for name in COUNTING if name in estimator_names()])
@untimed
@given(ids=streams)
def test_counting_is_mattsons(name: str, ids: list[int]) -> None:
    curve = estimate(ids, name, **COUNTING[name], **clocked(ids))
    assert (curve.at(range(35)) * len(ids)).round(6).tolist() == naive_hits(ids, range(35))


@untimed
@given(ids=streams, wanted=st.floats(0, 1))
def test_capacity_for_is_the_inverse_of_at(ids: list[int], wanted: float) -> None:
    curve = estimate(ids)
    found = curve.capacity_for(wanted)
    if found is None:
        assert curve.best_ratio < wanted
    else:
        assert curve.at(found) >= wanted
        assert found == 0 or curve.at(found - 1) < wanted


@untimed
@given(ids=streams)
def test_the_hull_is_concave_and_above(ids: list[int]) -> None:
    curve = estimate(ids)
    capacities, ratios = curve.hull()
    assert (capacities[0], ratios[0]) == (0, 0.0)
    assert (capacities[-1], ratios[-1]) == (curve.saturation, curve.best_ratio)
    assert (np.diff(np.diff(ratios) / np.diff(capacities)) <= 1e-12).all()
    everywhere = np.arange(35)
    assert (np.interp(everywhere, capacities, ratios) >= curve.at(everywhere) - 1e-12).all()
    assert {knee.capacity for knee in curve.knees()} <= set(capacities.tolist())


@untimed
@given(left=streams, right=streams)
def test_merged_curves_are_caches_of_their_own(left: list[int], right: list[int]) -> None:
    both = estimate(left).merge(estimate(right))
    sums = np.add(naive_hits(left, range(35)), naive_hits(right, range(35)))
    accesses = len(left) + len(right)
    assert both.accesses == accesses
    assert np.allclose(both.at(range(35)), sums / max(accesses, 1))
    assert both.distinct == len(set(left)) + len(set(right))


@untimed
@given(ids=streams, seed=st.integers(0, 2**32 - 1))
def test_reads_hit_with_writes_in_the_cache(ids: list[int], seed: int) -> None:
    ops = np.random.default_rng(seed).integers(0, 2, len(ids))
    curve = estimate(ids, ops=ops)
    capacities = range(35)
    prefixes = [naive_hits(ids[: n + 1], capacities) for n in range(len(ids))]
    steps = np.diff(np.array([[0] * 35, *prefixes]), axis=0)
    read_hits = steps[ops == 0].sum(axis=0)
    reads = int((ops == 0).sum())
    assert np.allclose(curve.of_reads().at(capacities), read_hits / max(reads, 1))
    assert np.allclose(curve.of_reads("all").at(capacities), read_hits / max(len(ids), 1))
    assert curve.of_reads().accesses == reads


def test_a_loop_bends_where_it_fits() -> None:
    curve = estimate(list(range(100)) * 10)
    (knee,) = curve.knees()
    assert (knee.capacity, knee.ratio) == (100, 0.9)
    assert curve.knees()[0].turn == pytest.approx(45)
    assert estimate([1, 2, 3]).knees() == []


def test_mae_is_over_hundredths_of_the_footprint() -> None:
    exact = estimate(list(range(200)) * 2)
    nothing = curve_of([0], [0], 400)
    assert exact.hundredths().tolist() == list(range(2, 201, 2))
    assert nothing.mae(exact) == pytest.approx(0.5 / 100)
    assert nothing.mae(exact, sizes=[199, 200]) == 0.25
    assert exact.mae(exact) == 0
    assert estimate([]).mae(estimate([])) == 0


def test_a_resampled_curve_never_promises_more() -> None:
    curve = estimate([1, 2, 3, 1, 2, 3, 3])
    few = curve.resampled([0, 2, 5])
    assert few.capacities.tolist() == [0, 2, 5]
    assert few.at([2, 3, 4, 5]).tolist() == [1 / 7, 1 / 7, 1 / 7, 4 / 7]
    assert few.miss_ratios.tolist() == pytest.approx([1.0, 6 / 7, 3 / 7])


def test_sizes_are_blocks_bytes_or_shares() -> None:
    curve = estimate([1, 2, 3, 4, 1, 2, 3, 4, 4], block_bytes=4096)
    assert curve.at("16KiB") == curve.at("100%") == curve.at(4) == 5 / 9
    assert curve.at([0.25, "1/4", "4KiB", 1]).tolist() == [curve.at(1)] * 4
    with pytest.raises(ConfigError, match=r"capacities: 1\.0: write 1 for one block or 100%"):
        curve.at(1.0)
    with pytest.raises(ConfigError, match="capacities: '1GiB': these blocks have no size in bytes"):
        estimate([1, 1]).at("1GiB")


def banded() -> HitRatioCurve:
    return curve_of(
        [0, 10, 20, 40],
        [0, 20, 50, 80],
        100,
        distinct=50.5,
        low=np.array([0, 10, 40, 75.0]),
        high=np.array([0, 30, 60, 85.0]),
        resolved_from=15.0,
        estimator="sketch(rate=0.1)",
        note="drawn by hand",
        block_bytes=4096,
    )


def test_the_band_says_how_small_and_how_large_a_cache_may_be() -> None:
    curve = banded()
    assert curve.capacity_for(0.5) == 20
    assert curve.capacity_range_for(0.5) == (20, 40)
    assert curve.capacity_range_for(0.8) == (40, None)
    assert estimate([1, 1]).capacity_range_for(0.5) is None
    band = curve.band_at([10, 39])
    assert band is not None
    assert [side.tolist() for side in band] == [[0.1, 0.4], [0.3, 0.6]]
    assert estimate([1, 1]).band_at([1]) is None
    assert curve.is_resolved([10, 15, 20]).tolist() == [False, True, True]


@pytest.mark.parametrize(
    "curve", [banded(), estimate([1, 1, 2, 1], ops=[0, 1, 0, 0]), estimate([])]
)
def test_arrow_keeps_everything(curve: HitRatioCurve) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, curve.to_arrow().schema) as file:
        file.write_table(curve.to_arrow())
    again = HitRatioCurve.from_arrow(pa.ipc.open_file(sink.getvalue()).read_all())
    for name in HitRatioCurve.__dataclass_fields__:
        assert np.array_equal(getattr(again, name), getattr(curve, name)), name
    with pytest.raises(ConfigError, match="is no hit-ratio curve"):
        HitRatioCurve.from_arrow(pa.table({"capacity": [1]}))


def test_frames_have_the_band() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    names = ["capacity", "hits", "ratio", "low", "high"]
    assert list(banded().to_pandas().columns) == names
    assert banded().to_polars().columns == names


def test_columns_of_every_library_are_taken() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    ids = [5, 6, 5, 6]
    for column in (
        np.array(ids, np.uint32),
        pandas.Series(ids),
        polars.Series(ids),
        pa.array(ids),
        pa.chunked_array([ids[:2], ids[2:]]),
        tuple(ids),
    ):
        assert estimate(column).at(2) == 0.5
    times = pandas.to_datetime(pandas.Series([0, 1, 2, 3]), unit="s")
    assert estimate(ids, times=times, ops=polars.Series([False] * 4)).at(2) == 0.5


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"estimator": "exakt"}, ConfigError, r"unknown estimator 'exakt' \(did you mean 'exact'"),
        ({"rate": 0.1}, ConfigError, "exact: .*'rate'"),
        ({"times": [2, 1]}, ConfigError, r"times\[1\]: 1 is before 2"),
        ({"times": [0.5, 1]}, TypeError, r"times: expected integers \(ns\), got float64"),
        ({"times": [1]}, ConfigError, "times: 1 of them for 2 keys"),
        ({"ops": [0, 2]}, ConfigError, r"ops\[1\]: expected 0 \(read\) or 1 \(write\), got 2"),
        ({"ops": [0, 1, 1]}, ConfigError, "ops: 3 of them for 2 keys"),
        ({"threads": 0}, ConfigError, "threads: at least 1, got 0"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        estimate([7, 8], **arguments)


def test_curves_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="capacities: must be strictly increasing"):
        curve_of([2, 1], [0, 0], 1)
    with pytest.raises(ConfigError, match="a larger LRU cache never hits less"):
        curve_of([1, 2], [1, 0], 1)
    with pytest.raises(ConfigError, match="hits: expected one for each of 2 capacities"):
        curve_of([1, 2], [1], 1)
    with pytest.raises(ConfigError, match=r"ratio: expected a share such as .*, got 1\.5"):
        banded().capacity_for(1.5)
    with pytest.raises(ConfigError, match="does not tell reads from writes"):
        banded().of_reads()
    with pytest.raises(ConfigError, match="denominator: unknown choice 'read'"):
        banded().of_reads("read")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="curves of different block sizes do not add: 4096, None"):
        banded().merge(curve_of([1], [1], 1))
    with pytest.raises(ConfigError, match="MiB needs block_bytes"):
        estimate([1]).plot(unit="MiB")


def test_arrays_cannot_be_changed() -> None:
    given_hits = np.array([0.0, 1.0])
    curve = HitRatioCurve(np.array([0, 1]), given_hits, 2)
    given_hits[1] = 0.5
    assert curve.at(1) == 0.5
    with pytest.raises(ValueError, match="read-only"):
        curve.hits[0] = 5


def test_progress_comes_by_pieces_and_may_stop_the_work() -> None:
    ids = np.zeros(3_000_000, np.uint64)
    seen: list[int] = []
    estimate(ids, progress=seen.append)
    assert seen[-1] == len(ids)
    assert len(seen) > 1
    assert (np.diff(seen) > 0).all()

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    stream = Estimator("exact")
    with pytest.raises(KeyboardInterrupt):
        stream.process(ids.astype(np.uint32), progress=stop)
    assert stream.references == seen[0]


def test_other_threads_run_meanwhile() -> None:
    ids = np.random.default_rng(1).integers(0, 100_000, 2**20).astype(np.uint64)
    turns = []
    done = threading.Event()

    def turn() -> None:
        while not done.wait(0.001):
            turns.append(1)

    watcher = threading.Thread(target=turn)
    watcher.start()
    # One piece: no progress callback hands over the interpreter within it. One thread, for
    # several would first wait for more accesses.
    Estimator("exact", threads=1).process(ids)
    done.set()
    watcher.join()
    assert turns


def test_a_plot_shows_percent_steps_and_the_band() -> None:
    from matplotlib import pyplot

    ax = banded().plot(unit="KiB", color="#0072B2", label="mine")
    try:
        resolved, pale = ax.get_lines()
        assert resolved.get_label() == "mine"
        assert resolved.get_xdata().tolist() == [60, 80, 160]
        assert resolved.get_ydata().tolist() == [20, 50, 80]
        assert pale.get_xdata().tolist() == [0, 40, 60]
        assert (resolved.get_alpha(), pale.get_alpha()) == (None, 0.35)
        assert same_color(pale.get_color(), "#0072B2")
        assert len(ax.collections) == 1
        assert ax.get_xlabel() == "Capacity (KiB)"
        axes = banded().plot(ax, band=False, log=True, end=100)
        assert axes is ax
        assert ax.get_xscale() == "log"
        assert len(ax.collections) == 1
    finally:
        pyplot.close(ax.figure)


def test_a_thinned_curve_looks_the_same() -> None:
    random = np.random.default_rng(3)
    curve = estimate(random.zipf(1.2, 50_000) % 2**40)
    assert curve.capacities.size > 3000
    for log in (False, True):
        few = curve.thinned(log=log)
        assert few.capacities.size <= 1004
        assert few.best_ratio == curve.best_ratio
        capacity = few.capacities[few.capacities > 0]
        assert np.array_equal(few.at(capacity), curve.at(capacity))


@pytest.mark.parametrize("shape", ["uniform", "zipf"])
def test_libcachesim_hits_as_often(shape: str) -> None:
    random = np.random.default_rng(11)
    ids = random.integers(0, 800, 15_000) if shape == "uniform" else random.zipf(1.3, 15_000)
    ids = ids.astype(np.int64) % 2**40
    curve = mcsim.hit_ratio_curve(ids)
    for capacity in (1, 7, 50, 300, 799, 5000):
        hits = libcachesim_hits(ids.tolist(), capacity)
        assert round(curve.at(capacity) * len(ids)) == hits
