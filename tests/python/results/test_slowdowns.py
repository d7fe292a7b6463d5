"""Slowdown of VMs: the mean latency with others, by that of the VM alone with all tiers.

Trusts: runs of the requests of one VM under `hierarchy`, and division of printed means; LRU
lists with sums of service times.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import rendered
from made_up import HOUR

import mcsim as mc
from mcsim.results.results import Results
from mcsim.results.totals import totals
from mcsim.results.yardsticks import jain, slowdowns

NAMES = ("a", "b", "c")
MINUTE = HOUR // 60
DEVICES = {
    "dram": {"read": "10ns", "write": "20ns"},
    "flash": {"read": "100ns", "write": "300ns"},
    "hdd": {"read": "5000ns", "write": "7000ns"},
}


def requests_of(seed: int = 1, count: int = 3000) -> dict[str, Any]:
    """Draw requests of three VMs that read, write and discard; each begins at time 0."""
    random = np.random.default_rng(seed)
    vm = np.append(np.arange(3), random.integers(0, 3, count)).astype(np.uint16)
    time = np.append(np.zeros(3, np.int64), np.sort(random.integers(0, 6 * HOUR, count)))
    op = np.append(np.zeros(3), random.choice(3, count + 0, p=(0.55, 0.38, 0.07)))
    block = random.geometric(0.02 * (1 + vm)) + 500 * random.integers(0, 2, len(vm))
    blocks = np.where(op == 2, 3, random.integers(1, 3, len(vm)))
    return {"time": time, "vm": vm, "op": op.astype(np.uint8), "block": block, "blocks": blocks}


def saved(folder: Path, of: dict[str, Any], name: str = "all") -> str:
    path = folder / f"{name}.arrow"
    mc.Trace.from_arrays(
        of["time"],
        4096 * of["block"],
        4096 * of["blocks"],
        op=of["op"],
        vm=of["vm"],
        vms=list(NAMES),
    ).save(path)
    return str(path)


def ran(folder: Path, trace: str, vms: tuple[str, ...], *systems: Any, **more: Any) -> Results:
    tiers = [{"device": name, "capacity": 40} | DEVICES[name] for name in ("dram", "flash")]
    tiers[1]["capacity"] = 60
    spec = {
        "name": "slow",
        "ops": "all",
        "interval": "30min",
        "workload": {"vms": [{"name": name, "trace": trace} for name in vms]},
        "tiers": tiers,
        "backend": {"device": "hdd"} | DEVICES["hdd"],
        "systems": list(systems),
    }
    return mc.run(spec | more, out=folder, figures=False)


def means(results: Results) -> dict[str, dict[str, float]]:
    """The printed means, by system and VM."""
    found: dict[str, dict[str, float]] = {}
    for row in results.comparison().to_arrow().to_pylist():
        if row["vm"] is not None:
            found.setdefault(row["system"], {})[row["vm"]] = row["mean_latency_ns"]
    return found


def path(name: str, label: str, **params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A system, and `hierarchy` with its data path."""
    return (
        {"name": name, "label": label} | params,
        {"name": "hierarchy", "label": label} | params,
    )


AROUND = {"writes": "around"}
PATHS = [
    *(path("hierarchy", mode, writes=mode) for mode in ("through", "back", "around")),
    path("static", "kept", **AROUND, update_around=True),
    path("static", "flushed", writes="back", flush_every="7min", dirty_limit=0.2),
    path("hierarchy", "refusing", admission="none / nth(n=2)", writes="around"),
    path("hierarchy", "arc", policy="arc", chain="inclusive", writes="back"),
    path("multicache", "copies", chain="independent", writes="through / back"),
    path("vcacheshare", "vcacheshare", writes="around"),
    path("centaur", "centaur", writes="back"),
    path("eci-cache", "eci", writes="back"),
    path(
        "cloudcache", "staged", writes="back", admission="none / staged(n=2, mode=data, read_ns=40)"
    ),
]
ITSELF = ["lru", "single-tier", {"name": "edt", "extent": 4}, {"name": "hystor", "extent": 4}]


@pytest.mark.parametrize("warm_up", [None, "2h"])
def test_it_is_the_ratio_of_printed_means(tmp_path: Path, warm_up: str | None) -> None:
    more = {"warm_up": warm_up} if warm_up else {}
    trace = saved(tmp_path, requests_of())
    systems, alone_systems = zip(*PATHS, strict=True)
    results = ran(tmp_path, trace, NAMES, *systems, *ITSELF, **more)
    shared = means(results)
    alone: dict[str, dict[str, float]] = {}
    for name in NAMES:
        for title, of in means(
            ran(tmp_path, trace, (name,), *alone_systems, *ITSELF, **more)
        ).items():
            alone.setdefault(title, {}).update(of)
    rows = {row["system"]: row for row in results.yardsticks().to_arrow().to_pylist()}
    assert set(rows) == set(shared) == set(alone)
    for of in totals(results):
        title = of.system.title
        expected = {name: shared[title][name] / alone[title][name] for name in NAMES}
        assert slowdowns(results, of) == pytest.approx(expected, rel=1e-12)
        assert rows[title]["worst_slowdown"] == pytest.approx(max(expected.values()))
        assert rows[title]["fairness"] == pytest.approx(jain(list(expected.values())))


def waits_of_lru(of: dict[str, Any], vms: set[int], mode: str) -> dict[int, list[int]]:
    """Return how long each access of these VMs waits, with LRU lists of 40 and of 60 blocks.

    Victims of the first list move to the second; a discarded block leaves space in its list.
    """
    fast: list[tuple[int, int]] = []
    slow: list[tuple[int, int]] = []
    waits: dict[int, list[int]] = {vm: [] for vm in vms}
    for vm, op, begin, count in zip(
        *(of[name].tolist() for name in ("vm", "op", "block", "blocks")), strict=True
    ):
        for block in range(begin, begin + count) if vm in vms else ():
            key = (vm, block)
            read_ns = 5000
            for held, ns in ((fast, 10), (slow, 100)):
                if key in held:
                    held.remove(key)
                    read_ns = ns
            if op == 0:
                waits[vm].append(read_ns)
            elif op == 1:
                waits[vm].append(20 if mode == "back" else 7000)
            if op == 2 or (op == 1 and mode == "around"):
                continue
            fast.insert(0, key)
            slow[:0] = fast[40:]
            del fast[40:], slow[60:]
    return waits


@pytest.mark.parametrize("mode", ["through", "around", "back"])
def test_lists_kept_by_recency_say_the_same(tmp_path: Path, mode: str) -> None:
    of = requests_of(seed=8, count=1500)
    results = ran(tmp_path, saved(tmp_path, of), NAMES, {"name": "hierarchy", "writes": mode})
    shared = waits_of_lru(of, {0, 1, 2}, mode)
    expected = {
        name: np.mean(shared[vm]) / np.mean(waits_of_lru(of, {vm}, mode)[vm])
        for vm, name in enumerate(NAMES)
    }
    (counts,) = totals(results)
    assert slowdowns(results, counts) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("discards", [False, True])
def test_a_vm_that_is_alone_has_one(tmp_path: Path, discards: bool) -> None:
    of = requests_of(seed=3)
    kept = (of["vm"] == 1) & ((of["op"] < 2) | discards)
    trace = saved(tmp_path, {name: values[kept] for name, values in of.items()})
    systems, _ = zip(*PATHS, strict=True)
    results = ran(tmp_path, trace, ("b",), *systems, *ITSELF)
    for row in results.yardsticks().to_arrow().to_pylist():
        assert (row["worst_slowdown"], row["fairness"]) == (1, None), row["system"]


@pytest.mark.parametrize("given", [None, False])
def test_without_replays_the_answer_names_no_vm(tmp_path: Path, given: bool | None) -> None:
    """By default up to 64 VMs are replayed alone."""
    random = np.random.default_rng(2)
    many = 65 if given is None else 3
    vm = np.arange(1000) % many
    names = [f"vm_{i}" for i in range(many)]
    trace = mc.Trace.from_arrays(
        np.arange(1000) * MINUTE, 4096 * random.integers(0, 9, 1000), 4096, vm=vm, vms=names
    )
    trace.save(tmp_path / "many.arrow")
    systems = ("lru", "static")
    more = {} if given is None else {"slowdowns": given}
    without = ran(tmp_path, str(tmp_path / "many.arrow"), tuple(names), *systems, **more)
    assert without.yardsticks().to_arrow()["worst_slowdown"].null_count == 2
    assert len(without.alone()) == len(without.misses()) == 0
    for text in (without.answer, rendered(without.overview()), rendered(without.yardsticks())):
        assert "worst" not in text.lower()
        assert "fairness" not in text
    asked = ran(tmp_path, str(tmp_path / "many.arrow"), tuple(names), *systems, slowdowns=True)
    assert asked.yardsticks().to_arrow()["worst_slowdown"].null_count == 0
    assert len(asked.alone()) == 2 * many
    assert "worst VM" in rendered(asked.overview())


def test_what_waits_for_nothing_alone(tmp_path: Path) -> None:
    free = [{"device": "dram", "capacity": 2, "read": "0ns", "write": "0ns"}]
    trace = mc.Trace.from_arrays(
        np.arange(40) * MINUTE,
        4096 * (np.arange(40) // 2 % 2),
        4096,
        vm=np.arange(40) % 2,
        vms=["a", "b"],
    )
    trace.save(tmp_path / "two.arrow")
    results = ran(
        tmp_path, str(tmp_path / "two.arrow"), ("a", "b"), "lru", tiers=free, warm_up="30min"
    )
    (row,) = results.yardsticks().to_arrow().to_pylist()
    assert row["worst_slowdown"] == np.inf
    assert row["fairness"] is None
