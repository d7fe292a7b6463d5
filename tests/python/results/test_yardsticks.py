# Trusts: arithmetic by hand, written next to each number.
from __future__ import annotations

from pathlib import Path
from typing import Any

import made_up
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import rendered

from mcsim.results.files import write_parquet
from mcsim.results.results import Results
from mcsim.results.seals import digest_of, listed, read_list
from mcsim.results.yardsticks import YARDSTICKS, jain, yardsticks

# Two tiers of 10 and 20 blocks that read a block in 1 and 10 ns; what has all takes 100.
DEVICE = {"write": "1ns", "price": 1}
SPEC: dict[str, Any] = {
    "name": "pair",
    "workload": {"vms": ["a", "b"]},
    "tiers": [
        {"device": "dram", "capacity": 10, "read": "1ns", **DEVICE},
        {"device": "flash", "capacity": 20, "read": "10ns", **DEVICE},
    ],
    "backend": {"device": "hdd", "read": "100ns", **DEVICE},
    "systems": ["hindsight", "multicache"],
}
# Hits by system, VM and tier, all in the first of three intervals.
HITS = {"hindsight": {"a": (40, 40), "b": (0, 10)}, "multicache": {"a": (50, 0), "b": (10, 0)}}
# Targets by interval, VM and tier.
TARGETS = {
    "hindsight": 3 * [{"a": (8, 12), "b": (2, 8)}],
    # 3 + 0 blocks go to b, then 5 + 4 to a.
    "multicache": [
        {"a": (5, 10), "b": (5, 10)},
        {"a": (2, 10), "b": (8, 10)},
        {"a": (7, 14), "b": (3, 6)},
    ],
}


def decision(system: str, interval: int, reason: str) -> dict[str, Any]:
    return {"system": system, "interval": interval, "infeasible": reason}


def results_of(tmp_path: Path, spec: dict[str, Any] = SPEC, **tables: pa.Table) -> Results:
    metrics, vms = [], []
    for system in spec["systems"]:
        for interval, targets in enumerate(TARGETS[system]):
            for vm, of_tiers in targets.items():
                hits = HITS[system][vm] if interval == 0 else (0, 0)
                accesses = 100 if interval == 0 else 0
                missed = accesses - sum(hits)
                vms.append(made_up.of_vm(system, interval, vm, interval, accesses, missed))
                for tier, target in enumerate(of_tiers):
                    metrics.append(
                        made_up.of_tier(system, interval, vm, tier, hits[tier], target=target)
                    )
    recorded = {"synthetic": False}
    return made_up.written(tmp_path, "pair-0", spec, metrics, vms, environment=recorded, **tables)


# Alone, a waits for 22.6 ns in the mean and b for 100.
ALONE = pa.table(
    {
        "system": ["hindsight", "hindsight", "multicache", "multicache"],
        "vm": 2 * ["a", "b"],
        "accesses": 4 * [100],
        "compulsory": 4 * [0],
        "invalidated": 4 * [0],
        "misses": 4 * [0],
        "mean_latency_ns": 2 * [22.6, 100.0],
    }
)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    rows = [
        decision("hindsight", 0, ""),
        decision("multicache", 1, "vm a needs 3 blocks more"),
        decision("multicache", 2, "vm a needs 2 blocks more"),
        decision("multicache", 2, ""),
    ]
    return results_of(
        tmp_path,
        alone=ALONE,
        decisions=made_up.table("decisions", rows),
        bounds=pa.table({"system": ["hindsight", "multicache"], "opt_hits": [100, 120]}),
    )


def column(results: Results, name: str) -> list[Any]:
    found = yardsticks(results)
    assert found.schema == YARDSTICKS
    assert found["system"].to_pylist() == ["hindsight", "multicache"]
    values: list[Any] = found[name].to_pylist()
    return values


def test_hits_are_a_share_of_those_of_opt(results: Results) -> None:
    assert column(results, "share_of_opt") == [90 / 100, 60 / 120]


def test_the_distance_to_hindsight_is_in_hit_ratio(results: Results) -> None:
    assert column(results, "over_hindsight") == pytest.approx([0, 60 / 200 - 90 / 200])


def test_slowdown_is_against_each_vm_alone(results: Results) -> None:
    # hindsight: a 40·1 + 40·10 + 20·100 = 2440; b 10·10 + 90·100 = 9100.
    # multicache: a 50·1 + 50·100 = 5050; b 10·1 + 90·100 = 9010.
    a, b = 2440 / 2260, 9100 / 10_000
    c, d = 5050 / 2260, 9010 / 10_000
    assert column(results, "worst_slowdown") == pytest.approx([a, c])
    fairness = [(a + b) ** 2 / (2 * (a * a + b * b)), (c + d) ** 2 / (2 * (c * c + d * d))]
    assert column(results, "fairness") == pytest.approx(fairness)


def test_jains_index_is_one_of_equals_and_1_by_n_of_a_single_one() -> None:
    assert jain([3, 3, 3, 3]) == 1
    assert jain([0, 0, 5, 0]) == 0.25


def test_churn_counts_blocks_that_are_granted_anew(results: Results) -> None:
    assert column(results, "churn") == [0, (3 + 9) / 2]


def test_decisions_that_could_not_have_what_was_asked_for_are_counted(results: Results) -> None:
    assert column(results, "infeasible") == [0, 2]


def test_controllers_take_time(results: Results) -> None:
    assert column(results, "decide_seconds") == [0.25, 0.25]


def test_the_table_fits_a_terminal(results: Results) -> None:
    text = rendered(results.yardsticks())
    assert max(map(len, text.splitlines())) <= 100
    for value in ("90.00", "50.00", "-15.00", "2.23×", "infeasible"):
        assert value in text


def test_what_is_not_known_has_no_column(tmp_path: Path) -> None:
    spec = SPEC | {"systems": ["multicache"]}
    results = results_of(tmp_path, spec)
    (row,) = yardsticks(results).to_pylist()
    for name in ("share_of_opt", "over_hindsight", "fairness", "worst_slowdown"):
        assert row[name] is None
    text = rendered(results.yardsticks())
    for absent in ("% of OPT", "hindsight", "fair", "slowdown", "infeasible"):
        assert absent not in text
    assert "moved" in text


def test_vms_alone_with_other_accesses_are_no_comparison(tmp_path: Path) -> None:
    other = ALONE.set_column(2, "accesses", pa.array(4 * [101], pa.int64()))
    results = results_of(tmp_path, alone=other)
    assert column(results, "fairness") == column(results, "worst_slowdown") == [None, None]


def test_results_of_before_are_readable(tmp_path: Path) -> None:
    """Decisions without `infeasible`, and no table of bounds."""
    rows = [decision("multicache", 1, "")]
    results = results_of(tmp_path, decisions=made_up.table("decisions", rows))
    file = results.path / "decisions.parquet"
    write_parquet(file, pq.read_table(file).drop_columns(["infeasible"]))
    sums = read_list(results.path / "DONE") | {file.name: digest_of(file)}
    (results.path / "DONE").write_text(listed(sums), encoding="utf-8")
    old = Results.open(results.path)
    assert old.decisions().to_arrow()["infeasible"].to_pylist() == [None]
    assert old.bounds().to_arrow().num_rows == 0
    assert column(old, "infeasible") == [0, 0]
