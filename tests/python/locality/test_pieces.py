# Trusts: the exact curve of the whole stream.
from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mcsim._core import engine
from mcsim.base.errors import ConfigError, TraceError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import hit_ratio_curve
from mcsim.locality.pieces import hit_ratio_curve_apart
from mcsim.traces.blocks import Blocks
from mcsim.traces.trace import Trace


def assert_same(found: HitRatioCurve, expected: HitRatioCurve) -> None:
    assert found.accesses == expected.accesses
    np.testing.assert_array_equal(found.capacities, expected.capacities)
    np.testing.assert_array_equal(found.hits, expected.hits)


@pytest.fixture
def interned_file(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    offsets = 4096 * (4_000 * random.random(60_000) ** 3).astype(np.uint64)
    trace = Trace.from_arrays(np.arange(60_000), offsets, 9_000)
    file = tmp_path / "trace.accesses"
    engine.write_accesses(Blocks.of(trace).accesses, str(file))
    return file


def whole(file: Path, limit: int = 0) -> HitRatioCurve:
    """The curve of one process, whose steps beyond a limit are forgotten."""
    curve = hit_ratio_curve(engine.open_accesses(str(file)).ids)
    return curve.resampled(curve.capacities[curve.capacities <= limit]) if limit else curve


@pytest.mark.parametrize(("pieces", "limit"), [(1, 0), (2, 0), (2, 50), (5, 0), (7, 1_000)])
def test_processes_that_take_pieces_of_a_file_give_the_whole(
    interned_file: Path, pieces: int, limit: int
) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        found = hit_ratio_curve_apart(interned_file, processes, pieces, limit=limit)
        again = hit_ratio_curve_apart(interned_file, processes, pieces, limit=limit, checked=True)
    assert_same(found, whole(interned_file, limit))
    assert_same(again, found)
    assert found.distinct == (None if limit else whole(interned_file).distinct)


def test_more_pieces_than_accesses(tmp_path: Path) -> None:
    trace = Trace.from_arrays(np.arange(3), [0, 4096, 0], 4096)
    engine.write_accesses(Blocks.of(trace).accesses, str(tmp_path / "three"))
    with ThreadPoolExecutor(2) as threads:
        found = hit_ratio_curve_apart(tmp_path / "three", threads, 40)
    assert (found.capacities.tolist(), found.hits.tolist()) == ([0, 2], [0.0, 1.0])


def test_dask_workers_that_take_halves_of_a_file_give_the_whole(interned_file: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = hit_ratio_curve_apart(interned_file, client.get_executor())
    assert_same(found, whole(interned_file))


def test_pieces_of_what_is_no_file_of_ours_are_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(ConfigError, match="pieces: expected at least 1, got 0"):
            hit_ratio_curve_apart(tmp_path / "none", threads, 0)
        with pytest.raises(ConfigError, match="none: cannot be read: No such file"):
            hit_ratio_curve_apart(tmp_path / "none", threads)
        (tmp_path / "other").write_text("no trace at all, and of some length")
        with pytest.raises(TraceError, match="other: no interned trace of this version"):
            hit_ratio_curve_apart(tmp_path / "other", threads)


def test_limits_and_pieces_that_cannot_be_are_refused(interned_file: Path) -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(ConfigError, match="limit: must be 0"):
        hit_ratio_curve_apart(interned_file, threads, limit=-1)
