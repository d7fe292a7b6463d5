"""Rates over the time from the first counted request to the last.

Trusts: times, counts and quotients by hand; sums over the requests of the trace, one by one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import rendered

import mcsim as mc
from mcsim.results.counted_time import CountedTime
from mcsim.results.demands import demands
from mcsim.results.models import devices, reads_behind_writes
from mcsim.results.results import Results

S = 10**9
READ_NS, WRITE_NS, DISK_NS = 2_000_000, 3_000_000, 5_000_000
OF_INTERVALS = ("peak_utilization", "saturated_intervals", "peak_asked", "overloaded_intervals")


def ran(
    folder: Path, times: Any, interval: str, *, vm: Any = None, op: Any = 0, **more: Any
) -> Results:
    """Replay requests at these times, each of a block that was not read before."""
    times = np.asarray(times, dtype=np.int64)
    vm = np.zeros(len(times), np.uint16) if vm is None else np.asarray(vm, np.uint16)
    trace = mc.Trace.from_arrays(
        times,
        4096 * np.arange(len(times)),
        4096,
        op=np.full(len(times), op, np.uint8),
        vm=vm,
        vms=["a", "b", "c"][: int(vm.max()) + 1],
    )
    path = folder / f"times-{trace.digest[:8]}.arrow"
    if not path.exists():
        trace.save(path)
    flash = {"read": f"{READ_NS}ns", "write": f"{WRITE_NS}ns", "pe_cycles": 3000}
    spec = {
        "name": "rates",
        "ops": "all",
        "interval": interval,
        "workload": {"vms": [{"name": name, "trace": str(path)} for name in trace.vms]},
        "tiers": [{"device": "flash", "capacity": 64, "iops": 100, "watts": 5} | flash],
        "backend": {"device": "hdd", "read": f"{DISK_NS}ns", "write": f"{DISK_NS}ns"}
        | {"watts": 9, "idle_watts": 4},
        "systems": ["lru"],
    }
    return mc.run(spec | more, out=folder, figures=False)


def rates(results: Results) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name not in OF_INTERVALS}
        for row in devices(results).to_pylist()
    ]


TIMES = np.sort(np.random.default_rng(5).integers(0, 20 * S, 300))
BURSTS = np.concatenate([np.arange(50) * 10**7, 3600 * 7 * S + np.arange(50) * 10**7])


@pytest.mark.parametrize(
    ("times", "warm_up", "intervals"),
    [
        (TIMES, None, ("1s", "7s", "19s", "1min", "1h", "1d")),
        (BURSTS, None, ("10s", "1h", "3h", "7h", "1d")),
        (TIMES, "6s", ("1s", "2s", "3s", "6s")),
        (BURSTS, "6h", ("1min", "1h", "2h", "6h")),
    ],
)
def test_rates_do_not_depend_on_the_interval(
    tmp_path: Path, times: Any, warm_up: str | None, intervals: tuple[str, ...]
) -> None:
    more = {"warm_up": warm_up} if warm_up else {}
    vm = np.arange(len(times)) % 3
    counted = times - times[0]
    if warm_up:
        counted = counted[counted >= {"6s": 6 * S, "6h": 6 * 3600 * S}[warm_up]]
    duration = int(counted[-1] - counted[0])
    each = [rates(ran(tmp_path, times, interval, vm=vm, **more)) for interval in intervals]
    for flash, hdd in each:
        # Every access is a miss that is written into the tier.
        n = len(counted)
        assert (flash["writes"], hdd["reads"]) == (n, n)
        per_day = n * 4096 * 86_400 * S / duration
        assert flash["written_bytes_per_day"] == pytest.approx(per_day, rel=1e-12)
        assert flash["drive_writes_per_day"] == pytest.approx(per_day / (64 * 4096), rel=1e-12)
        years = 3000 * 64 * 4096 / per_day / 365.25
        assert flash["lifetime_years"] == pytest.approx(years, rel=1e-12)
        busy = n * DISK_NS / duration
        assert hdd["utilization"] == pytest.approx(busy, rel=1e-12)
        assert flash["asked"] == pytest.approx(n / 100 * S / duration, rel=1e-12)
        work, rest = min(busy, 1) * duration / S, max(0, 1 - busy) * duration / S
        assert hdd["energy_joules"] == pytest.approx(work * 9 + rest * 4)
        assert hdd["queueing_ns"] == pytest.approx(busy / (1 - busy) / 2 * DISK_NS)  # M/D/1
    assert all(of == each[0] for of in each)


def test_a_short_trace_saturates_its_disk_at_any_interval(tmp_path: Path) -> None:
    """300 reads of 5 ms each in a second."""
    times = np.linspace(0, S, 300).astype(np.int64)
    for interval in ("100ms", "1s", "1h", "1d"):
        results = ran(tmp_path, times, interval)
        _, hdd = devices(results).to_pylist()
        assert hdd["utilization"] == 1.5
        assert hdd["queueing_ns"] is None
        assert hdd["energy_joules"] == 9
        assert hdd["saturated_intervals"] == len(set(results.table("vms")["interval"].to_pylist()))
        assert hdd["peak_utilization"] >= hdd["utilization"]


def test_intervals_end_with_the_trace() -> None:
    counts = np.array([10, 20, 6])
    # From 4 to 26: 6, 10 and 6 long.
    assert CountedTime(4, 26).rates(counts, 0, 10).tolist() == [10 / 6, 2, 1]
    # Ends of 4 and 3 are less than half: they join the neighbour.
    assert CountedTime(6, 23).rates(counts, 0, 10).tolist() == [36 / 17] * 3
    assert CountedTime(0, 23).rates(counts, 0, 10).tolist() == [1, 2, 2]
    # After a warm-up of 5 intervals, the next two are empty before the first request.
    late = CountedTime(72, 90).rates(np.array([0, 0, 16, 10]), 5, 10)
    assert late.tolist() == [2, 2, 2, 1]
    assert CountedTime(2, 4).rates(np.array([5]), 0, 10).tolist() == [2.5]
    assert CountedTime(8, 12).rates(np.array([3, 5]), 0, 10).tolist() == [2, 2]


def test_requests_of_one_time_have_no_rate() -> None:
    for times, rate in (([5, 5], None), ([0, 4 * S], 0.5)):
        info = mc.Trace.from_arrays(times, [0, 4096], 4096).info().total
        assert (None if np.isnan(info.rate) else info.rate) == rate


@pytest.mark.parametrize("interval", ["1s", "13s", "19s", "1h"])
def test_no_interval_is_above_the_peak_nor_all_below_the_mean(
    tmp_path: Path, interval: str
) -> None:
    results = ran(tmp_path, TIMES, interval)
    (flash, _), asked = devices(results).to_pylist(), demands(results)
    assert flash["peak_asked"] == max(asked["asked"].to_pylist()) >= flash["asked"]
    assert sum(asked["operations"].to_pylist()) == len(TIMES)


@pytest.mark.parametrize(
    ("times", "interval", "reason"),
    [
        ([5, 5, 5], "1s", "all counted requests have one time"),
        ([0, 0, 4 * S], "1s", "all counted requests have one time"),
        (None, "2 references", "the trace has no clock"),
    ],
)
def test_without_time_there_are_no_rates(
    tmp_path: Path, times: Any, interval: str, reason: str
) -> None:
    if times is None:
        (tmp_path / "keys.txt").write_text("1\n2\n3\n4\n", encoding="utf-8")
        workload = {
            "vms": [
                {
                    "name": "a",
                    "trace": str(tmp_path / "keys.txt"),
                    "format": "keys",
                    "options": {"unit_bytes": 4096},
                }
            ]
        }
        results = ran(tmp_path, [0], interval, workload=workload)
    else:
        warm_up = {"warm_up": "1s"} if times[-1] > S else {}
        results = ran(tmp_path, times, interval, **warm_up)
    for row in devices(results).to_pylist():
        for name in ("written_bytes_per_day", "lifetime_years", "drive_writes_per_day"):
            assert row[name] is None
        for name in ("utilization", "queueing_ns", "energy_joules", "asked", *OF_INTERVALS):
            assert row[name] is None
    assert demands(results)["asked"].null_count == len(demands(results))
    shown = rendered(results.devices())
    assert f"no rates by time: {reason}" in " ".join(shown.split())
    assert "GB/day" not in shown
    with pytest.raises(mc.ConfigError, match="reads cannot queue"):
        reads_behind_writes(results)
