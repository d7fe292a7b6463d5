"""A sequence of empty intervals is one row, and readers count all of its intervals.

The oracle is a count by hand, and the same run stored with a row for every interval.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pytest

import mcsim
from mcsim import figures
from mcsim.results.demands import demands
from mcsim.results.differences import difference
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS, with_every_interval
from mcsim.results.series import clock_of, series_of
from mcsim.results.writer import RunWriter

HOUR = made_up.HOUR
READ_AT = (0, 0.5, 1.2, 9.1, 20.5)  # hours: 2 to 8 and 10 to 19 are empty


class Undecided:
    """Grants the same every hour, and cannot meet its promises."""

    def __init__(self) -> None:
        self.calls = 0

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision:
        self.calls += 1
        half = np.full(seen.current.shape, 2)
        return mcsim.Decision(half, infeasible="more is wanted")


class Restless(Undecided):
    """Grants less once, in the middle of empty hours."""

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision:
        super().allocate(seen)
        blocks = 1 if self.calls >= 5 else 2
        return mcsim.Decision(np.full(seen.current.shape, blocks))


def ran(folder: Path, **more: Any) -> Results:
    time = (np.array(READ_AT) * HOUR).astype(np.int64)
    trace = mcsim.Trace.from_arrays(time, np.array([0, 1, 0, 2, 0]) * 4096, 4096)
    trace.save(folder / "sparse.arrow")
    spec = {
        "name": "sparse",
        "interval": "1h",
        "workload": {"vms": [{"trace": str(folder / "sparse.arrow"), "name": "a"}]},
        "tiers": [{"device": "nvme-flash", "capacity": 4, "iops": 1000}],
        "systems": [
            "lru",
            "steady",
            {"name": Undecided, "label": "undecided"},
            {"name": Restless, "label": "restless"},
        ],
    }
    return mcsim.run(spec | more, out=folder, figures=False)


@pytest.fixture(scope="module", params=[{}, {"warm_up": "5h"}])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    return ran(tmp_path_factory.mktemp("sparse"), **request.param)


@pytest.fixture
def earlier(results: Results, tmp_path: Path) -> Results:
    """The same run, as it was stored with a row for every interval."""
    draft = RunWriter(tmp_path / results.run_id, "build")
    for name in SCHEMAS:
        draft.write_table(name, with_every_interval(results.table(name), HOUR))
    draft.write_spec(results.spec)
    draft.write_json("environment", results.environment)
    draft.write_json("timings", results.timings)
    return draft.finish()


def rows_of(results: Results, name: str, system: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = [row for row in results.table(name).to_pylist() if row["system"] == system]
    return [tuple(row[column] for column in columns) for row in rows]


def test_a_sequence_is_one_row(results: Results) -> None:
    in_warm_up = [(2, 3), (5, 4)] if results.spec.warm_up_intervals else [(2, 7)]
    expected = [(0, 1), (1, 1), *in_warm_up, (9, 1), (10, 10), (20, 1)]
    for name in ("metrics", "vms"):
        assert rows_of(results, name, "lru", "interval", "intervals") == expected
    begins = rows_of(results, "vms", "lru", "begin_ns")
    assert begins == [(interval * HOUR,) for interval, _ in expected]
    accesses = rows_of(results, "vms", "lru", "accesses")
    assert sum(accesses, ()) == (2, 1, *(0 for _ in in_warm_up), 1, 0, 1)


def test_a_change_within_begins_a_row(results: Results) -> None:
    rows = rows_of(results, "metrics", "restless", "interval", "intervals", "target")
    before = [row for row in rows if 2 <= row[0] < 9]
    # The fifth decision acts in hour 5, which has a row of its own.
    assert before == [(2, 3, 2), (5, 1, 1), (6, 3, 1)]


def test_equal_decisions_are_one_row(results: Results) -> None:
    decided = rows_of(results, "decisions", "undecided", "interval", "request", "times")
    assert decided == [(1, 2, 1), (9, 3, 8), (20, 4, 11)]


def test_every_interval_has_a_row_again(earlier: Results) -> None:
    vms = earlier.table("vms").to_pylist()
    assert [row["interval"] for row in vms] == 4 * [*range(21)]
    assert [row["begin_ns"] for row in vms] == 4 * [hour * HOUR for hour in range(21)]
    assert [row["accesses"] for row in vms[:21]] == [2, 1, *7 * [0], 1, *10 * [0], 1]
    assert not {"intervals", "times"} & {*vms[0], *earlier.table("decisions").column_names}


def test_tables_count_every_interval(results: Results, earlier: Results) -> None:
    for name in ("comparison", "yardsticks", "requests", "devices", "misses", "systems"):
        ours, theirs = (
            [{k: v for k, v in row.items() if "second" not in k} for row in rows]
            for rows in (getattr(of, name)().to_arrow().to_pylist() for of in (results, earlier))
        )
        assert ours == theirs, name
    assert demands(results).equals(demands(earlier))
    assert set(difference(results, earlier).tables.values()) <= {"equal bytes", "equal values"}
    (refused,) = (
        row["infeasible"]
        for row in results.yardsticks().to_arrow().to_pylist()
        if row["system"] == "undecided"
    )
    assert refused == sum(
        bool(row["infeasible"])
        for row in earlier.measured("decisions").to_pylist()
        if row["system"] == "undecided"
    )


def test_figures_draw_every_interval(results: Results, earlier: Results) -> None:
    hours = 21 - results.spec.warm_up_intervals
    assert clock_of(results).edges.tolist() == [*range(hours + 1)]
    for system in results.spec.systems:
        assert len(series_of(results, system).accesses) == hours
    for name in ("hit-ratio-over-time", "occupancy", "targets", "tier-shares"):
        ours, theirs = (figures.find(name).sheet([of]).charts for of in (results, earlier))
        for a, b in zip(ours, theirs, strict=True):
            assert a.caption == b.caption
            assert np.array_equal(a.x, b.x)
            for one, other in zip(a.series, b.series, strict=True):
                assert np.array_equal(one.y, other.y, equal_nan=True)


def test_runs_without_gaps_have_no_such_columns(tmp_path: Path) -> None:
    trace = mcsim.Trace.from_arrays(np.arange(5) * HOUR, np.zeros(5, int), 4096)
    trace.save(tmp_path / "dense.arrow")
    of_dense = {"vms": [{"trace": str(tmp_path / "dense.arrow"), "name": "a"}]}
    dense = ran(tmp_path, workload=of_dense)
    for name in ("metrics", "vms", "decisions"):
        assert not {"intervals", "times"} & set(dense.table(name).column_names)
