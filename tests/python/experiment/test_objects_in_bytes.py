# Trusts: `simulate`, whose caches in bytes test_sizes.py holds to twins.
"""Runs of objects with sizes, in one tier whose capacity is in bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mcsim as mc
from mcsim.base.errors import ConfigError

VMS = ("a", "b", "c")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a trace of three tenants, whose objects change their sizes now and then."""
    draw = np.random.default_rng(8)
    keys = draw.zipf(1.2, 9000) % 700
    sizes = draw.integers(1, 4000, 700)
    lines = ["time_us,key,size,vm,op"]
    for at, key in enumerate(keys.tolist()):
        if draw.random() < 0.02:
            sizes[key] = draw.integers(1, 4000)
        op = "write" if draw.random() < 0.1 else "read"
        lines.append(f"{1000 * at},{key},{sizes[key]},{VMS[key % 3]},{op}")
    (tmp_path / "cdn.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def experiment(**more: Any) -> dict[str, Any]:
    return {
        "name": "tenants",
        "interval": "3s",
        "ops": "all",
        "workload": {"vms": [{"vms": "*", "trace": "cdn.csv"}]},
        "tiers": [{"device": "dram", "capacity": "100KiB"}],
        "systems": ["lru", "single-tier", "static"],
    } | more


def run(folder: Path, **more: Any) -> mc.Results:
    return mc.run(experiment(**more), out=folder / "runs", trace_dirs=[folder])


def totals(results: mc.Results) -> dict[tuple[str, str], tuple[int, float]]:
    """Return misses and byte hit ratios by system and VM, and of all."""
    rows = results.table("vms").to_pandas()
    everything = pd.concat([rows, rows.assign(vm="all")])
    sums = everything.groupby(["system", "vm"])[["misses", "bytes", "byte_hits"]].sum()
    return {key: (int(row.misses), row.byte_hits / row.bytes) for key, row in sums.iterrows()}


def test_shared_and_divided_tiers_hit_as_caches_alone(folder: Path) -> None:
    policies = ["s3-fifo", "gdsf", "sieve", "2q(kin=0.4)"]
    systems = [
        *("lru", "single-tier", "static"),
        *({"name": "hierarchy", "policy": name, "label": name} for name in policies),
        {"name": "static", "policy": "gdsf", "label": "gdsf each"},
    ]
    found = totals(run(folder, systems=systems))
    trace = mc.Trace.open(folder / "cdn.csv")
    whole = mc.in_bytes(trace.blocks(ops="all"))
    for policy in ["lru", *policies]:
        (row,) = mc.simulate(whole, policy, [102_400])
        for system in {"lru": ["lru", "single-tier"]}.get(policy, [policy]):
            misses, byte_ratio = found[system, "all"]
            assert misses == row.misses, system
            assert byte_ratio == pytest.approx(row.byte_hit_ratio), system
    for system, policy in {"static": "lru", "gdsf each": "gdsf"}.items():
        parts = [102_400 // 3 + (vm < 102_400 % 3) for vm in range(3)]
        for vm, part in zip(VMS, parts, strict=True):
            own = mc.in_bytes(trace.blocks(ops="all", vms=[vm]))
            (row,) = mc.simulate(own, policy, [part])
            assert found[system, vm][0] == row.misses, (system, vm)


def test_counts_of_the_tier_are_in_bytes(folder: Path) -> None:
    results = run(folder)
    assert results.spec.block_bytes == 1
    assert results.spec.tiers[0].capacity == 102_400
    for system in ("lru", "static"):
        metrics = results.table("metrics").to_pandas()
        last = metrics[(metrics.system == system) & (metrics.interval == metrics.interval.max())]
        assert 90_000 < last.occupancy.sum() <= 102_400 + 4000
    assert "102,400 bytes of objects" in str(results.comparison())
    page = results.path / "page.html"
    mc.report(results.path, html=page)
    assert "100 KiB" in page.read_text()


def test_shares_are_of_bytes_with_blocks_of_a_byte(folder: Path) -> None:
    trace = mc.Trace.open(folder / "cdn.csv")
    whole = mc.in_bytes(trace.blocks(ops="all")).distinct_bytes
    tier = {"device": "dram", "capacity": "10%"}
    results = run(folder, tiers=[tier], block_bytes=1)
    assert results.spec.tiers[0].capacity == round(whole / 10)
    # Without a unit, capacities count objects.
    assert run(folder, tiers=[tier]).spec.tiers[0].capacity == round(
        trace.blocks(ops="all").unique / 10
    )
    again = mc.run(results.spec.expanded(), out=folder / "runs", trace_dirs=[folder])
    assert again.path == results.path


def test_unit_sizes_are_a_run_that_counts_objects(folder: Path) -> None:
    lines = (folder / "cdn.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    (folder / "cdn.csv").write_text(
        "\n".join(
            ",".join([row[0], row[1], "1" if at else "size", *row[3:]])
            for at, row in enumerate(rows)
        )
    )
    systems = ["lru", {"name": "hierarchy", "policy": "clock", "label": "clock"}]
    objects = run(folder, tiers=[{"device": "dram", "capacity": 60}], systems=systems)
    small = [{"device": "dram", "capacity": "60B"}]
    in_bytes = run(folder, tiers=small, systems=systems, block_bytes=1)
    assert totals(objects) == totals(in_bytes)
    for name in ("vms", "metrics"):
        one, other = (results.table(name).to_pandas() for results in (objects, in_bytes))
        for column in one.columns.intersection(other.columns):
            assert one[column].equals(other[column]), column


def refused(folder: Path, message: str, **more: Any) -> None:
    with pytest.raises(ConfigError, match=message):
        run(folder, **more)


def test_what_has_no_rule_is_refused(folder: Path) -> None:
    refused(
        folder, r"centaur: no rule for capacities in bytes; hierarchy, lru", systems=["centaur"]
    )
    refused(folder, "dm-cache: no rule for capacities in bytes", systems=["dm-cache"])
    arc = {"name": "hierarchy", "policy": "car"}
    refused(folder, "policy: car has no rule for objects of different sizes", systems=[arc])
    back = {"name": "static", "writes": "back"}
    refused(folder, "writes: capacities in bytes need 'through'", systems=[back])
    filtered = {"name": "static", "admission": "nth(n=2)"}
    refused(folder, "admission: filters have no rule", systems=[filtered])
    two = [{"device": "dram", "capacity": "8KiB"}, {"device": "flash", "capacity": "1MiB"}]
    refused(folder, "take their bytes of one tier, and there are 2", tiers=two)
    refused(folder, "opt: OPT is no bound of objects with sizes", opt=True)
    text = (folder / "cdn.csv").read_text().splitlines()
    no_sizes = [",".join(line.split(",")[:2] + line.split(",")[3:]) for line in text]
    (folder / "cdn.csv").write_text("\n".join(no_sizes) + "\n")
    refused(folder, "the objects of the workload have no sizes")


def test_objects_without_a_size_are_named(folder: Path) -> None:
    lines = (folder / "cdn.csv").read_text().splitlines()
    of_vm = [row for row in lines[1:] if ",b," in row]
    changed = of_vm[40].split(",")
    lines[lines.index(of_vm[40])] = ",".join([*changed[:2], "0", *changed[3:]])
    (folder / "cdn.csv").write_text("\n".join(lines) + "\n")
    at = lines.index(",".join([*changed[:2], "0", *changed[3:]])) - 1
    refused(
        folder,
        f"VM b: 1 of {len(of_vm):,} requests are for objects without a size, first request {at:,}",
    )


def test_requests_that_are_not_replayed_have_no_object(folder: Path) -> None:
    text = (folder / "cdn.csv").read_text()
    (folder / "cdn.csv").write_text(text + "9999999,1,10,b,write\n")
    reads = mc.Trace.open(folder / "cdn.csv").blocks(ops="reads")
    (row,) = mc.simulate(mc.in_bytes(reads), "lru", [102_400])
    assert totals(run(folder, ops="reads"))["lru", "all"][0] == row.misses


def test_blocks_of_a_byte_are_objects(folder: Path) -> None:
    (folder / "cdn.csv").write_text(
        "time_us,op,offset,length\n0,read,0,4096\n5000000,read,0,4096\n"
    )
    vms = {"vms": [{"name": "a", "trace": "cdn.csv"}]}
    refused(folder, "block_bytes: blocks of 1 byte: only objects", workload=vms, block_bytes=1)


def test_deleted_objects_leave_the_tier(folder: Path) -> None:
    keys, ops = [1, 2, 1, 1, 2], [0, 0, 2, 0, 0]
    trace = mc.Trace.from_arrays(
        np.arange(5) * 10**9, keys, [10, 20, 0, 10, 20], op=ops, kind="objects", source="deleted"
    )
    trace.save(folder / "deleted.parquet")
    vms = {"vms": [{"name": "a", "trace": "deleted.parquet"}]}
    tier = [{"device": "dram", "capacity": "30B"}]
    found = totals(
        run(folder, workload=vms, tiers=tier, interval="1s", systems=["lru"], block_bytes=1)
    )
    assert found["lru", "all"][0] == 3
