"""Figures and pages show the intervals that tables show.

Oracle: counts written by hand that differ between the warm-up and the measured intervals.
"""

from __future__ import annotations

from pathlib import Path

import made_up
import numpy as np
import pyarrow as pa
import pytest

from mcsim import figures
from mcsim.figures.chart import Chart
from mcsim.figures.timeline import over_time
from mcsim.report.make import charts_of, occupancy_charts, vm_charts
from mcsim.results.results import Results
from mcsim.results.series import clock_of, series_of
from mcsim.results.tables import comparison

HOUR = made_up.HOUR
SYSTEMS = ["lru", "multicache"]
VMS = ("a", "b")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two hours of warm-up, in which nothing hits, then two in which every access does."""
    spec = made_up.spec_of(VMS, (100, 200), SYSTEMS, "1h")
    spec = type(spec).model_validate(spec.expanded() | {"warm_up": "2h"})
    metrics, vms = [], []
    for system in SYSTEMS:
        for interval in range(4):
            warm = interval < 2
            for vm in VMS:
                accesses = 98 if warm else 1
                begin = made_up.BEGIN + interval * HOUR
                vms.append(
                    made_up.of_vm(system, interval, vm, begin, accesses, accesses if warm else 0)
                )
                for tier, space in enumerate((100, 200)):
                    held = 0 if warm else space // 2
                    hits = 0 if warm or tier else 1
                    metrics.append(
                        made_up.of_tier(
                            system, interval, vm, tier, hits, occupancy=held, target=held
                        )
                    )
    half_hours = made_up.BEGIN + HOUR // 2 * np.arange(1, 9)
    curve = {"vm": "a", "scope": "trace", "capacity": 300, "hits": 4, "accesses": 394}
    return made_up.written(
        tmp_path_factory.mktemp("warm"),
        "warm-0",
        spec,
        metrics,
        vms,
        curves=pa.Table.from_pylist([curve, curve | {"vm": "b"}]),
        reuse_intensity=pa.table(
            {
                "vm": np.repeat(VMS, 8),
                "window_end_ns": np.tile(half_hours, 2),
                "reuse_intensity": np.tile([0.5] * 4 + [0.25] * 4, 2),
                "accesses": np.full(16, 10),
            }
        ),
    )


def test_tables_leave_the_warm_up_out(results: Results) -> None:
    for row in comparison(results).to_pylist():
        assert (row["hit_ratio"], row["accesses"]) == (1.0, 2 if row["vm"] else 4)


def test_series_have_the_measured_intervals(results: Results) -> None:
    series = series_of(results, results.spec.systems[0])
    assert series.accesses.tolist() == [[1, 1], [1, 1]]
    assert series.occupancy.mean(axis=0).tolist() == [[50, 100], [50, 100]]
    assert series.cumulative_hit_ratio.tolist() == [[1, 1], [1, 1]]
    clock = clock_of(results)
    assert clock.begin.tolist() == [made_up.BEGIN + 2 * HOUR, made_up.BEGIN + 3 * HOUR]
    assert clock.edges.tolist() == [0, 1, 2]
    assert clock.label == "Time after the warm-up (h)"


@pytest.mark.parametrize("name", ["tier-shares", "granted-shares"])
def test_shares_are_means_of_measured_intervals(name: str, results: Results) -> None:
    for chart in figures.find(name).sheet([results]).charts:
        assert [one.y.tolist() for one in chart.series] == 2 * [[50, 50]]


@pytest.mark.parametrize("name", ["hit-ratio-over-time", "occupancy", "targets"])
def test_figures_over_time_begin_after_the_warm_up(name: str, results: Results) -> None:
    for chart in figures.find(name).sheet([results]).charts:
        for one in chart.series:
            assert len(one.y) == 2
            assert (one.y > 0).all()


def test_reuse_intensity_begins_after_the_warm_up(results: Results) -> None:
    for chart in figures.find("reuse-intensity").sheet([results]).charts:
        assert max(chart.series[0].y) == 0.25
        assert chart.x[-1] == 2


def charts_by_title(results: Results) -> dict[str, Chart]:
    drawn = [*charts_of(results), *vm_charts(results), *occupancy_charts(results)]
    return {chart.title: chart for chart in drawn}


def test_page_charts_begin_after_the_warm_up(results: Results) -> None:
    charts = charts_by_title(results)
    over = [chart for title, chart in charts.items() if title.startswith("Hit ratio over time")]
    assert len(over) == 3
    for chart in over:
        assert len(chart.x) == 3
        assert [one.y.tolist() for one in chart.series] == [[100, 100], [100, 100]]
    held = charts["Occupancy of dram under lru"]
    kib = 50 * 4  # half of 100 blocks of 4 KiB
    assert [one.y.tolist() for one in held.series] == [[kib, kib], [kib, kib]]
    assert "a 50 %, b 50 %" in held.caption
    for vm in "ab":
        assert charts[f"Reuse intensity: {vm}"].caption.endswith("on average 0.25.")


def test_staged_hits_are_hits_over_time_too(tmp_path: Path) -> None:
    spec = made_up.spec_of(["a"], (100, 200), ["lru"], "1h")
    metrics = [made_up.of_tier("lru", 0, "a", tier, 5 * (1 - tier)) for tier in (0, 1)]
    vms = [made_up.of_vm("lru", 0, "a", 0, accesses=10, misses=2)]
    results = made_up.written(tmp_path, "staged-0", spec, metrics, vms)
    staged = results.table("vms").append_column("staged_hits", pa.array([3]))
    vars(results)["_tables"]["vms"] = staged
    assert [one.y.tolist() for one in over_time(results).series] == [[80]]
