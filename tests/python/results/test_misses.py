"""Misses of a run by cause.

Trusts: a list kept by recency, of all VMs and of each alone, and the last use of each block.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import rendered
from small import small_experiment

import mcsim as mc
from mcsim.results.misses import MISSES, miss_classes
from mcsim.results.results import Results
from mcsim.results.totals import totals

NAMES = "abc"
CAUSES = ("compulsory", "invalidated", "capacity", "interference")
READ, WRITE, DISCARD = 0, 1, 2
Access = tuple[int, int, int]  # operation, VM, block


def missed(accesses: list[Access], size: int, mode: str) -> list[bool]:
    """Return which accesses, of all that are no discards, one LRU cache misses."""
    held: list[tuple[int, int]] = []
    misses = []
    for op, *block in accesses:
        hit = tuple(block) in held
        if hit:
            held.remove(tuple(block))
        if op != DISCARD:
            misses.append(not hit or (op == WRITE and mode == "around"))
        if op == DISCARD or (op == WRITE and mode == "around"):
            continue
        held.insert(0, tuple(block))
        del held[size:]
    return misses


def certain(accesses: list[Access], mode: str) -> list[str]:
    """Return the cause of each access that no cache can hit, and an empty text for others."""
    causes, last = [], {}
    for op, vm, block in accesses:
        before = last.get((vm, block))
        last[vm, block] = op
        if op == DISCARD:
            # A discard of what was never used is none.
            if before is None:
                del last[vm, block]
            continue
        around = mode == "around" and WRITE in (op, before)
        gone = before == DISCARD or around
        causes.append("compulsory" if before is None else "invalidated" if gone else "")
    return causes


def expected_of(accesses: list[Access], size: int, mode: str, first: int) -> dict[Any, Any]:
    """Return the causes of misses in one shared LRU cache by VM, from the access `first` on."""
    of_vm = [vm for op, vm, _ in accesses if op != DISCARD]
    shared = missed(accesses, size, mode)
    rows: dict[Any, Any] = {}
    for vm, name in enumerate(NAMES):
        own = [access for access in accesses if access[1] == vm]
        begin = of_vm[:first].count(vm)
        causes = certain(own, mode)[begin:]
        alone = sum(missed(own, size, mode)[begin:])
        misses = sum(
            miss for miss, of in zip(shared[first:], of_vm[first:], strict=True) if of == vm
        )
        counts = [causes.count("compulsory"), causes.count("invalidated")]
        counts += [alone - sum(counts), misses - alone]
        rows[name] = dict(zip(CAUSES, counts, strict=True)) | {"accesses": len(causes)}
    rows[None] = {key: sum(row[key] for row in rows.values()) for key in (*CAUSES, "accesses")}
    return rows


def drawn(with_discards: bool, seed: int = 3) -> list[Access]:
    random = np.random.default_rng(seed)
    vms = random.integers(0, 3, 900)
    ops = random.choice(3, 900, p=(0.6, 0.3, 0.1) if with_discards else (0.65, 0.35, 0))
    return list(
        zip(ops.tolist(), vms.tolist(), random.geometric(0.05 * (1 + vms)).tolist(), strict=True)
    )


def traced(accesses: list[Access], folder: Path) -> str:
    op, vm, block = np.array(accesses).T
    path = folder / "mixed.arrow"
    times = np.arange(len(accesses)) * 10**9
    mc.Trace.from_arrays(
        times, block * 4096, 4096, op=op, vm=vm, vms=list(NAMES), source="mixed"
    ).save(path)
    return str(path)


def ran(
    accesses: list[Access], folder: Path, *systems: Any, names: str = NAMES, **more: Any
) -> Results:
    path = traced(accesses, folder)
    experiment = small_experiment(
        *systems,
        tiers=more.pop("tiers", {"dram": 8, "flash": 12}),
        workload={"vms": [{"name": name, "trace": path} for name in names]},
        ops="all",
        interval="1min",
    )
    return mc.run(experiment | more, out=folder, figures=False)


def rows_of(results: Results) -> dict[tuple[str, Any], dict[str, Any]]:
    found = miss_classes(results)
    assert found.schema.equals(MISSES)
    return {(row.pop("system"), row.pop("vm")): row for row in found.to_pylist()}


@pytest.mark.parametrize("tiers", [{"dram": 20}, {"dram": 8, "flash": 12}])
@pytest.mark.parametrize("warm_up", [0, 300])
@pytest.mark.parametrize("with_discards", [False, True])
@pytest.mark.parametrize("mode", ["through", "back", "around"])
def test_causes_are_those_of_a_list_kept_by_recency(
    tmp_path: Path, mode: str, with_discards: bool, warm_up: int, tiers: dict[str, int]
) -> None:
    accesses = drawn(with_discards)
    more = {"warm_up": f"{warm_up}s"} if warm_up else {}
    results = ran(accesses, tmp_path, {"name": "hierarchy", "writes": mode}, tiers=tiers, **more)
    # A discard is no request of its own: times are those of the accesses.
    first = sum(op != DISCARD for op, *_ in accesses[:warm_up])
    expected = expected_of(accesses, 20, mode, first)
    assert rows_of(results) == {("hierarchy", vm): row for vm, row in expected.items()}


def test_the_causes_of_every_system_add_up_to_its_misses(tmp_path: Path) -> None:
    systems: list[Any] = [
        "lru",
        "single-tier",
        "static",
        "multicache",
        "hindsight",
        {"name": "hierarchy", "label": "arc", "policy": "arc", "chain": "inclusive"},
        {"name": "hierarchy", "label": "nth", "admission": "nth(n=2)", "writes": "back"},
        {"name": "hierarchy", "label": "some", "writes": "through, b=around"},
        {"name": "static", "label": "kept", "writes": "around", "update_around": True},
        {"name": "hierarchy", "label": "copies", "chain": "independent", "writes": "back / around"},
    ]
    results = ran(drawn(True), tmp_path, *systems, warm_up="2min")
    rows = rows_of(results)
    assert {system for system, _ in rows} == {of.system.title for of in totals(results)}
    for of in totals(results):
        for name, misses in zip((*of.vms, None), (*of.misses, of.misses.sum()), strict=True):
            row = rows[of.system.title, name]
            assert sum(row[cause] for cause in CAUSES) == misses
            assert min(row["compulsory"], row["invalidated"], row["capacity"]) >= 0


@pytest.mark.parametrize("writes", ["around", "through"])
def test_a_vm_that_is_alone_has_no_interference(tmp_path: Path, writes: str) -> None:
    """Reads and writes, or discards, of one block in turn: all but the first are invalidations."""
    other = WRITE if writes == "around" else DISCARD
    accesses = [(READ if i % 2 == 0 else other, 0, 5) for i in range(200)]
    results = ran(accesses, tmp_path, {"name": "hierarchy", "writes": writes}, "static", names="a")
    count = 200 if writes == "around" else 100
    expected = {"compulsory": 1, "invalidated": count - 1, "capacity": 0, "interference": 0}
    rows = rows_of(results)
    assert rows["hierarchy", "a"] == expected | {"accesses": count}
    assert rows["hierarchy", None] == rows["hierarchy", "a"]
    assert rows["static", "a"]["interference"] == 0
    assert "invalidated: misses at any size" in " ".join(rendered(results.misses()).split())


def test_a_division_without_others_interferes_with_nobody(tmp_path: Path) -> None:
    results = ran(drawn(True), tmp_path, "vcacheshare", "centaur", "slo", names="b")
    rows = rows_of(results)
    assert {row["interference"] for row in rows.values()} == {0}
    assert len(rows) == 6


def test_what_is_not_classified_has_no_rows_and_a_reason(tmp_path: Path) -> None:
    systems = ["lru", {"name": "edt", "extent": 4}, "eci-cache"]
    results = ran(drawn(True), tmp_path, *systems, interval="30s")
    assert {system for system, _ in rows_of(results)} == {"lru"}
    shown = " ".join(rendered(results.misses()).split())
    assert "no causes (extents or lines): edt" in shown
    assert "no causes (write modes change): eci-cache" in shown
    without = ran(drawn(True), tmp_path, "lru", slowdowns=False)
    assert miss_classes(without).num_rows == 0
    assert "no VM was replayed alone: see `slowdowns`" in rendered(without.misses())


def test_a_vm_without_counted_accesses_has_no_row(tmp_path: Path) -> None:
    accesses = [(READ, 0, i % 3) for i in range(90)] + [(READ, 1, i % 5) for i in range(90)]
    results = ran(accesses, tmp_path, "lru", names="ab", warm_up="2min")
    assert {vm for _, vm in rows_of(results)} == {"b", None}
