# Trusts: arithmetic by hand, written next to each number, and the paper's worked example.
from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import made_up
import pytest
from commands import rendered
from rich.console import Console
from small import small_experiment

import mcsim
from mcsim.results import tables
from mcsim.results.results import Results
from mcsim.results.views import MOST_VMS, hits_by_vm

FAST = {"read": "10ns", "write": "10ns", "price": 10}
SPEC = {
    "name": "pair",
    "workload": {"vms": ["a", "b"]},
    "devices": {"fast": FAST},
    "tiers": [
        {"device": "fast", "capacity": 1000} | FAST,
        {"device": "flash", "capacity": 4000} | {"read": "100ns", "write": "1us", "price": 2},
    ],
    "backend": {"device": "hdd", "read": "1us", "write": "1us", "price": 0.1},
    "systems": [
        "lru",
        {"name": "lru", "label": "old", "legacy": True},
        "multicache",
        "single-tier",
    ],
}


def results_of(
    tmp_path: Path, hits: dict[str, Sequence[Sequence[int]]], accesses: Sequence[int]
) -> Results:
    """Results with given hits [vm][tier] per system, spread over two intervals."""
    metrics, vms = [], []
    for system, by_vm in hits.items():
        for interval in (0, 1):
            for vm, (of_vm, total) in enumerate(zip(by_vm, accesses, strict=True)):
                # All but one access fall in the first interval.
                share = [h if interval == 0 else 0 for h in of_vm]
                mine = total - 1 if interval == 0 else 1
                if total == 0:
                    mine = 0
                name = "ab"[vm]
                vms.append(made_up.of_vm(system, interval, name, interval, mine, mine - sum(share)))
                writes = {"fills": 4, "promotions": 3, "demotions": 2, "updates": 1}
                for tier, count in enumerate(share):
                    # VMs of a stack share all; in the second interval Multi-Cache leaves half.
                    space = (1000, 4000)[tier] if system != "single-tier" else 5000
                    if system == "multicache":
                        space = space // 2 // (1 + interval)
                    writes["target"] = space
                    metrics.append(made_up.of_tier(system, interval, name, tier, count, **writes))
    return made_up.written(tmp_path, "pair-0", SPEC, metrics, vms)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    # The total of multicache is the paper's worked example: 10,000 accesses with 5,000
    # hits and 5,000 with 5.
    return results_of(
        tmp_path,
        {
            "lru": [[2000, 500], [0, 10]],
            "old": [[1000, 250], [0, 0]],
            "multicache": [[3000, 2000], [5, 0]],
            "single-tier": [[2500], [10]],
        },
        accesses=[10_000, 5000],
    )


def row_of(results: Results, system: str, vm: str | None) -> dict[str, object]:
    rows = tables.comparison(results).to_pylist()
    return next(row for row in rows if row["system"] == system and row["vm"] == vm)


def test_totals_weigh_by_accesses(results: Results) -> None:
    total = row_of(results, "multicache", None)
    assert (total["accesses"], total["hits"]) == (15_000, 5005)
    assert total["hit_ratio"] == pytest.approx(0.3337, abs=5e-5)
    assert total["tier_hits"] == [3005, 2000]


def test_latency_charges_the_device_that_had_the_block(results: Results) -> None:
    # (3000·10 + 2000·100 + 5000·1000) / 10000
    assert row_of(results, "multicache", "a")["mean_latency_ns"] == 523.0
    # One tier: the fastest device holds everything. (2500·10 + 7500·1000) / 10000
    assert row_of(results, "single-tier", "a")["mean_latency_ns"] == 752.5


def test_gains_are_against_global_lru_clean_and_legacy(results: Results) -> None:
    a = row_of(results, "multicache", "a")
    assert a["gain"] == pytest.approx(1.0)  # 0.50 against 0.25
    assert a["gain_absolute"] == pytest.approx(0.25)
    assert a["gain_over_legacy"] == pytest.approx(3.0)  # 0.50 against 0.125
    assert a["gain_absolute_over_legacy"] == pytest.approx(0.375)
    # lru: (2000·10 + 500·100 + 7500·1000) / 10000 = 757
    assert a["latency_gain"] == pytest.approx((757 - 523) / 757)
    assert row_of(results, "lru", "a")["gain"] == 0
    # Nothing can be relative to a system that never hits.
    assert row_of(results, "multicache", "b")["gain_over_legacy"] is None


def test_cost_and_device_writes(results: Results) -> None:
    rows = {row["system"]: row for row in tables.systems(results).to_pylist()}
    # fills 5 + promotions 3 + demotions 2, for two VMs in two intervals.
    assert rows["lru"]["device_writes"] == [40, 40]
    # 4096 B · (1000 blocks at 10 $/GB + 4000 at 2 $/GB); single-tier: 5000 at 10 $/GB.
    assert rows["lru"]["cost_dollars"] == pytest.approx(4096 * (10_000 + 8000) / 1e9)
    assert rows["single-tier"]["cost_dollars"] == pytest.approx(4096 * 50_000 / 1e9)
    # Mean of granted space: all in one interval, half in the other.
    assert rows["multicache"]["cost_dollars"] == pytest.approx(0.75 * rows["lru"]["cost_dollars"])
    latency_s = rows["lru"]["mean_latency_ns"] / 1e9
    assert rows["lru"]["performance_per_cost"] == pytest.approx(
        1 / latency_s / rows["lru"]["cost_dollars"]
    )
    assert rows["lru"]["accesses_per_second"] == 30_000


def test_tables_fit_a_terminal_and_say_synthetic(results: Results) -> None:
    for table in (results.overview(), results.comparison(), results.systems()):
        assert "synthetic workload" in rendered(table).splitlines()[0]
        out = io.StringIO()
        Console(width=200, file=out).print(table.formatted().to_rich())
        assert max(len(line.rstrip()) for line in out.getvalue().splitlines()) <= 100
    assert "33.37" in rendered(results.comparison())
    assert "+30.9" in rendered(results.comparison())  # 523 against 757


def test_what_was_not_run_has_no_columns(tmp_path: Path) -> None:
    vms = [made_up.of_vm("static", 0, "a", 0, 10, 4)]
    metrics = [made_up.of_tier("static", 0, "a", tier, 3) for tier in (0, 1)]
    spec = SPEC | {"workload": {"vms": ["a"]}, "systems": ["static"]}
    took = {"replay_seconds": 0.5, "decide_seconds": 0.0, "accesses": 10}
    results = made_up.written(tmp_path, "alone-0", spec, metrics, vms, took=took)
    text = rendered(results.comparison()) + rendered(results.systems())
    for absent in ("gain", "saved", "Global LRU", "legacy", "points"):
        assert absent not in text


def test_many_vms_are_shown_together(tmp_path: Path) -> None:
    many = MOST_VMS + 1
    names = [f"vm{v}" for v in range(many)]
    vms = [made_up.of_vm("lru", 0, name, 0, 10, 4) for name in names]
    metrics = [made_up.of_tier("lru", 0, name, tier, 3) for name in names for tier in (0, 1)]
    spec = SPEC | {"workload": {"vms": names}, "systems": ["lru"]}
    results = made_up.written(tmp_path, "many-0", spec, metrics, vms)
    text = rendered(results.comparison())
    assert "vm7" not in text
    assert f"{10 * many}" in text
    assert "VMs one by one: in vms.parquet and metrics.parquet, or to_pandas()" in text
    assert len(set(results.comparison().to_pandas()["vm"].dropna())) == many


def test_a_vm_without_accesses_has_no_latency(tmp_path: Path) -> None:
    systems = {name: [[1, 1], [0, 0]] for name in ("lru", "old", "multicache")}
    results = results_of(tmp_path, {**systems, "single-tier": [[2], [0]]}, accesses=[10, 0])
    row = row_of(results, "lru", "b")
    assert (row["hit_ratio"], row["mean_latency_ns"], row["gain"]) == (0.0, None, None)
    assert "–" in rendered(results.comparison())


def test_hits_by_vm_are_shown_for_few_vms(tmp_path: Path) -> None:
    """Means by hand, of VMs alike."""
    hits = {title: [[10, 0], [15, 15]] for title in ("lru", "old", "multicache", "single-tier")}
    found = hits_by_vm(results_of(tmp_path, hits, [100, 300]))
    assert found is not None
    shown = found.formatted()
    assert shown.headings == ["system", "a", "b", "mean"]
    assert {tuple(row[1:]) for row in shown.rows} == {("10.00", "10.00", "10.00")}


@pytest.mark.parametrize(("vms", "is_shown"), [(1, False), (2, True), (6, True), (7, False)])
def test_hits_by_vm_are_shown_for_two_to_six(vms: int, is_shown: bool, tmp_path: Path) -> None:
    names = [f"vm_{k}" for k in range(vms)]
    at = list(range(4 * vms))
    trace = mcsim.Trace.from_arrays(
        [10**9 * i for i in at], [4096 * (i // vms % 2) for i in at], 4096,
        vm=[i % vms for i in at], vms=names,
    )  # fmt: skip
    trace.save(tmp_path / "trace.arrow")
    given = small_experiment(
        "lru",
        tiers={"dram": 2 * vms},
        workload={"vms": [{"trace": str(tmp_path / "trace.arrow"), "vms": "all"}]},
    )
    found = hits_by_vm(mcsim.run(given, out=tmp_path / "results", figures=False))
    assert (found is not None) == is_shown
    if found is not None:
        assert found.formatted().rows[0] == ["lru", *["50.00"] * vms, "50.00"]


def test_years_of_drives_are_in_the_first_table(tmp_path: Path) -> None:
    drive = {"device": "flash", "capacity": 300, "drive": "1GB"}
    given = small_experiment("lru", "static", tiers={}) | {"tiers": [drive]}
    results = mcsim.run(given, out=tmp_path, figures=False)
    overview, devices = results.overview(), results.devices()
    rows = devices[devices.device == "flash"]
    years = dict(zip(rows.system.tolist(), rows.lifetime_years.tolist(), strict=True))
    assert (
        dict(zip(overview.system.tolist(), overview.lifetime_years.tolist(), strict=True)) == years
    )
    assert "years" in overview.formatted().headings
    without = small_experiment("lru", tiers={"flash": 300})
    again = mcsim.run(without, out=tmp_path, figures=False)
    assert "years" not in again.overview().formatted().headings
