# Trusts: arithmetic by hand, written next to each number, and a single-server queue simulated
# customer by customer.
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pytest
from commands import rendered
from small import small_experiment

from mcsim.base.errors import ConfigError
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import run
from mcsim.results import demands, models
from mcsim.results.models import lifetime_years
from mcsim.results.results import Results

MS = 10**6
DEVICE = {"read": "1ms", "write": "2ms", "price": 1}
SPEC: dict[str, Any] = {
    "name": "models",
    "block_bytes": "4KiB",
    "interval": "10s",
    "workload": {"vms": ["a", "b"]},
    "tiers": [{"device": "flash", "capacity": 1000, "pe_cycles": 3000} | DEVICE],
    "backend": {"device": "hdd", "read": "10ms", "write": "10ms", "price": 0.1},
    "systems": ["hierarchy"],
}


def results_of(tmp_path: Path, interval: str = "10s", **more: Any) -> Results:
    """Two intervals of two VMs: a reads and writes, b does nothing in the second."""
    metrics = [
        made_up.of_tier("hierarchy", 0, "a", 0, 600, fills=400, read_requests=100),
        made_up.of_tier("hierarchy", 0, "b", 0, 400, updates=600, write_requests=40),
        made_up.of_tier("hierarchy", 1, "a", 0, 0, fills=0, copied_out=1000),
        made_up.of_tier("hierarchy", 1, "b", 0, 0),
    ]
    vms = [
        made_up.of_vm("hierarchy", 0, "a", 0, 1000, 400) | {"read_requests": 60},
        made_up.of_vm("hierarchy", 0, "b", 0, 400, 0) | {"backend_writes": 100},
        made_up.of_vm("hierarchy", 1, "a", 1, 2000, 2000) | {"read_requests": 0},
        made_up.of_vm("hierarchy", 1, "b", 1, 0, 0),
    ]
    metrics[1]["read_requests"] = 0
    spec = SPEC | {"interval": interval} | more
    ends = {"10s": 20 * 10**9, "1s": 2 * 10**9}.get(interval, 2000)
    recorded = {"synthetic": True, "counted_ns": [0, ends]}
    return made_up.written(tmp_path, "models-0", spec, metrics, vms, environment=recorded)


def test_requests_wait_for_their_slowest_block(tmp_path: Path) -> None:
    a, b, all_vms = models.requests(results_of(tmp_path)).to_pylist()
    # 100 reads at 1 ms and 60 at 10 ms.
    assert a["requests"] == 160
    assert a["read_hit_ratio"] == pytest.approx(100 / 160)
    assert a["mean_ns"] == pytest.approx((100 * 1 + 60 * 10) / 160 * MS)
    assert (a["p50_ns"], a["p95_ns"]) == (1 * MS, 10 * MS)
    # 40 writes at 2 ms, taken by the tier.
    assert (b["p50_ns"], b["p99_ns"], b["read_hit_ratio"]) == (2 * MS, 2 * MS, None)
    assert b["served_by_cache"] == 1
    assert all_vms["requests"] == 200
    assert all_vms["served_by_cache"] == pytest.approx(140 / 200)
    # In order: 100 at 1 ms, 40 at 2 ms, 60 at 10 ms.
    assert [all_vms[f"p{q}_ns"] for q in (50, 95, 99)] == [1 * MS, 10 * MS, 10 * MS]


def test_devices_are_loaded_and_worn(tmp_path: Path) -> None:
    flash, hdd = models.devices(results_of(tmp_path)).to_pylist()
    assert (flash["tier"], flash["reads"], flash["writes"]) == (0, 1000 + 1000, 1000)
    # 1000 blocks of 4 KiB in 20 s: 4320 times this number in a day.
    assert flash["written_bytes_per_day"] == pytest.approx(1000 * 4096 * 4320)
    assert flash["lifetime_years"] == pytest.approx(3000 / 4320 / 365.25)
    assert flash["drive_writes_per_day"] == pytest.approx(4320)
    # 1000 x 1 ms + 1000 x 2 ms in 10 s, and 1000 x 1 ms.
    assert flash["peak_utilization"] == pytest.approx(0.3)
    assert flash["utilization"] == pytest.approx(0.2)
    # 100 reads of 1 ms and 50 writes of 2 ms a second: 20 % busy, as above.
    assert flash["queueing_ns"] == pytest.approx((100 * 1 + 50 * 4) / 1000 / (2 * 0.8) * MS)
    assert (hdd["tier"], hdd["reads"], hdd["writes"]) == (None, 2400, 100)
    assert hdd["lifetime_years"] is None
    # 500 x 10 ms is half of the first interval; 2000 x 10 ms is twice the second.
    assert hdd["peak_utilization"] == pytest.approx(2)
    assert hdd["saturated_intervals"] == 1
    assert hdd["utilization"] == pytest.approx(1.25)
    assert hdd["queueing_ns"] is None  # more work than time


def test_a_drive_wears_as_a_whole(tmp_path: Path) -> None:
    tier = SPEC["tiers"][0] | {"drive": f"{10 * 1000 * 4096}B"}  # ten times the tier
    flash, hdd = models.devices(results_of(tmp_path, tiers=[tier])).to_pylist()
    assert flash["lifetime_years"] == pytest.approx(10 * 3000 / 4320 / 365.25)
    assert flash["drive_writes_per_day"] == pytest.approx(432)
    assert hdd["drive_writes_per_day"] is None


LIMITED = SPEC["backend"] | {"iops": 140, "bandwidth": "1MB/s"}


def test_demand_is_of_what_a_device_can_do(tmp_path: Path) -> None:
    results = results_of(tmp_path, backend=LIMITED)
    # Blocks of 4 KiB at 10^6 bytes/s: 244.1 a second, more than its 140 operations.
    first, second = 500 / 140 / 10, 2000 / 140 / 10
    found = demands.demands(results)
    assert found.schema.equals(demands.DEMANDS)
    assert found.to_pylist() == [
        {
            "system": "hierarchy",
            "device": "hdd",
            "tier": None,
            "interval": interval,
            "operations": operations,
            "bytes": operations * 4096,
            "asked": pytest.approx(asked),
        }
        for interval, operations, asked in ((0, 500, first), (1, 2000, second))
    ]
    flash, hdd = models.devices(results).to_pylist()
    assert flash["asked"] is flash["overloaded_intervals"] is None
    assert hdd["asked"] == pytest.approx((first + second) / 2)
    assert (hdd["peak_asked"], hdd["overloaded_intervals"]) == (pytest.approx(second), 1)
    assert demands.overloads(results) == [
        "hierarchy: hdd is asked for more than it can do in 1 of 2 intervals, in interval 1 for "
        "1.43 times as much"
    ]
    shown = " ".join(rendered(results.devices()).split())
    assert "asked for more than it can do in 1 of 2 intervals" in shown


def test_devices_of_one_name_are_told_apart(tmp_path: Path) -> None:
    results = results_of(tmp_path, backend=LIMITED | {"device": "flash"})
    shown = " ".join(rendered(results.devices()).split())
    assert "hierarchy flash (1) " in shown
    assert "flash (2) is asked for more than it can do" in shown
    assert models.devices(results)["device"].to_pylist() == ["flash", "flash"]


def test_bytes_are_asked_for_where_operations_are_few_enough(tmp_path: Path) -> None:
    tiers = [SPEC["tiers"][0] | {"iops": 1e6, "bandwidth": "409600B/s"}]
    flash, _ = models.devices(results_of(tmp_path, tiers=tiers)).to_pylist()
    # 2000 blocks in 10 s and 1000, where 100 a second can be.
    assert flash["peak_asked"] == pytest.approx(2)
    assert flash["asked"] == pytest.approx(1.5)
    assert flash["overloaded_intervals"] == 1  # the other is just full


def test_energy_is_power_at_work_and_at_rest(tmp_path: Path) -> None:
    tiers = [SPEC["tiers"][0] | {"watts": 3, "idle_watts": 1}]
    flash, hdd = models.devices(results_of(tmp_path, tiers=tiers)).to_pylist()
    # 3 s of 10 at work and 1 s of 10, as above.
    assert flash["energy_joules"] == pytest.approx(4 * 3 + 16 * 1)
    assert hdd["energy_joules"] is None
    backend = SPEC["backend"] | {"watts": 9}
    results = results_of(tmp_path / "always", tiers=tiers, backend=backend)
    _, hdd = models.devices(results).to_pylist()
    assert hdd["energy_joules"] == pytest.approx(20 * 9)
    assert "kJ" in rendered(results.devices())


def test_a_device_with_more_work_than_time_takes_no_more_than_its_power(tmp_path: Path) -> None:
    backend = SPEC["backend"] | {"watts": 9, "idle_watts": 8}
    _, hdd = models.devices(results_of(tmp_path, backend=backend)).to_pylist()
    # 2500 x 10 ms in 20 s.
    assert hdd["energy_joules"] == pytest.approx(20 * 9)


def test_without_a_clock_there_is_no_energy(tmp_path: Path) -> None:
    results = results_of(tmp_path, "1000 references", backend=SPEC["backend"] | {"watts": 9})
    assert models.devices(results)["energy_joules"].null_count == 2


def test_nothing_is_said_of_devices_that_say_nothing(tmp_path: Path) -> None:
    results = results_of(tmp_path)
    assert models.devices(results).schema.equals(models.DEVICES)
    assert len(demands.demands(results)) == 0
    assert demands.overloads(results) == []


def test_without_a_clock_there_is_no_demand(tmp_path: Path) -> None:
    results = results_of(tmp_path, "1000 references", backend=LIMITED)
    assert demands.demands(results)["asked"].null_count == 2
    assert models.devices(results)["asked"].null_count == 2
    assert demands.overloads(results) == []


def test_without_a_clock_there_is_no_load(tmp_path: Path) -> None:
    for row in models.devices(results_of(tmp_path, "1000 references")).to_pylist():
        assert row["utilization"] is row["written_bytes_per_day"] is row["queueing_ns"] is None


def test_columns_that_say_nothing_are_not_shown(tmp_path: Path) -> None:
    def shown(interval: str) -> str:
        results = results_of(tmp_path / interval[:2], interval)
        return " ".join(rendered(results.devices()).split())

    of_time, of_references = shown("10s"), shown("1000 references")
    assert "reads writes GB/day years DWPD busy % peak % saturated queueing" in of_time
    assert of_time.endswith(
        "reads and writes in blocks; queueing: mean wait at the mean load DWPD: drive writes per "
        "day saturated: intervals with more work than time"
    )
    assert "device reads writes" in of_references
    for name in ("GB/day", "DWPD", "busy", "saturated", "queueing:", "–"):
        assert name not in of_references
    assert of_references.endswith("in blocks no rates by time: the trace has no clock")


def test_reads_queue_behind_what_else_a_tier_does(tmp_path: Path) -> None:
    a, b, everybody = models.reads_behind_writes(results_of(tmp_path)).to_pylist()
    wait = (100 * 1 + 100 * 4) / 1000 / (2 * 0.7)  # ms, as above: of the first interval
    # a reads 600 blocks of flash and 400 of the disk, where none queues; later 2000 of the disk.
    assert a["reads"] == 600 + 400 + 2000
    assert a["queueing_ns"] == pytest.approx(600 * wait / 3000 * MS)
    assert a["mean_ns"] == pytest.approx((600 * (wait + 1) + 2400 * 10) / 3000 * MS)
    assert (b["reads"], b["mean_ns"]) == (400, pytest.approx((wait + 1) * MS))
    assert everybody["queueing_ns"] == pytest.approx(1000 * wait / 3400 * MS)
    assert everybody["left_out"] == 0
    (total,) = models.reads_behind_writes(results_of(tmp_path / "again"), by_vm=False).to_pylist()
    assert total == everybody


def test_reads_of_saturated_intervals_are_left_out_and_counted(tmp_path: Path) -> None:
    # In 1 s, 1000 reads of 1 ms and 1000 writes of 2 ms are more than can be done; 1000 blocks
    # that are read to be moved just fill the next one.
    rows = models.reads_behind_writes(results_of(tmp_path, "1s")).to_pylist()
    assert [(row["reads"], row["left_out"]) for row in rows] == [(0, 3000), (0, 400), (0, 3400)]
    assert all(row["mean_ns"] is row["queueing_ns"] is None for row in rows)


def test_without_a_clock_reads_do_not_queue(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="models: reads cannot queue in a run whose intervals"):
        models.reads_behind_writes(results_of(tmp_path, "1000 references"))


def test_operations_queue_as_customers_do() -> None:
    random = np.random.default_rng(1)
    rate, read_ns, write_ns = 300.0, 1e6, 4e6
    arrivals = np.cumsum(random.exponential(1e9 / rate, 400_000))
    service = np.where(random.random(len(arrivals)) < 0.7, read_ns, write_ns)
    waited = np.empty(len(arrivals))
    free = 0.0
    for i, (arrival, time) in enumerate(zip(arrivals, service, strict=True)):
        waited[i] = max(0.0, free - arrival)
        free = arrival + waited[i] + time
    expected = models.queueing_ns(0.7 * rate, 0.3 * rate, read_ns, write_ns)
    assert waited.mean() == pytest.approx(expected, rel=0.02)


def test_a_device_that_is_not_written_lasts() -> None:
    assert lifetime_years(1e12, 3000, 0) == math.inf
    worn = lifetime_years(1e12, 3000, 1e12)
    assert lifetime_years(1e12, 3000, 1e12, amplification=2) == pytest.approx(worn / 2)


def test_data_paths_are_chosen_in_the_experiment(tmp_path: Path) -> None:
    spec = small_experiment(
        "lru",
        {"name": "hierarchy", "label": "same", "policy": "lru()"},
        {"name": "hierarchy", "label": "back", "policy": "arc / s3-fifo", "writes": "back"},
        {"name": "hierarchy", "label": "spare", "admission": "none / nth(n=2)"},
        {"name": "static", "label": "around", "policy": "sieve", "writes": "around"},
        {"name": "multicache", "label": "lirs", "policy": "lirs", "chain": "victim"},
        tiers={"dram": 300, "flash": 1000},
        name="paths",
        ops="all",
        interval="1h",
    )
    results = run(spec, out=tmp_path, threads=2, figures=False)
    metrics, vms = results.to_polars("metrics"), results.to_polars("vms")

    def total(table: Any, system: str, column: str) -> int:
        return int(table.filter(table["system"] == system)[column].sum())

    for column in metrics.columns[4:]:
        assert total(metrics, "lru", column) == total(metrics, "same", column), column
    for column in vms.columns[4:]:
        assert total(vms, "lru", column) == total(vms, "same", column), column
    writes = total(vms, "lru", "writes")
    assert 0 < writes == total(vms, "lru", "backend_writes")
    assert total(vms, "back", "backend_writes") < writes
    assert total(vms, "around", "backend_writes") == writes
    assert total(metrics, "around", "updates") == 0
    assert total(metrics, "spare", "demotions") < total(metrics, "lru", "demotions")
    by_system = {
        row["system"]: row for row in models.requests(results).to_pylist() if row["vm"] is None
    }
    assert by_system["back"]["mean_ns"] < by_system["lru"]["mean_ns"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policy": "sive"}, r"systems\[0\]: hierarchy: unknown eviction policy 'sive' \(did you"),
        ({"policy": "lru / arc"}, "policy: 2 entries for 1 tier$"),
        ({"admission": "nth(n=0)"}, r"nth: n: 0 is outside \[1, 255\]"),
        ({"writes": "back, a=often"}, "writes: unknown choice 'often'"),
        (
            {"policy": "talus(policy=opt)"},
            "opt needs the future of the trace: it cannot be wrapped",
        ),
    ],
)
def test_data_paths_that_cannot_be_are_refused_before_the_run(
    given: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Experiment.load(SPEC | {"systems": [{"name": "hierarchy", **given}]})
