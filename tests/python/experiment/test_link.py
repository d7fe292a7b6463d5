"""Trusts: sums of what a device and a link take; the same experiment with these written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from complaints import complaint
from small import EXPERIMENTS

import mcsim
from mcsim.results.models import devices, requests
from mcsim.results.results import Results
from mcsim.results.tables import comparison
from mcsim.results.yardsticks import yardsticks

LINK = {"latency": "100us", "bandwidth": "409.6MB/s"}  # 10 us for a block of 4 KiB
ELSEWHERE_NS = 110_000


def experiment(last: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "link",
        "ops": "all",
        "interval": "30min",
        "workload": {"profile": str(EXPERIMENTS / "workloads" / "tiny.yaml")},
        "tiers": [
            {"device": "dram", "capacity": 300},
            {"capacity": 1000} | last,
        ],
        # Those that decide go by what tiers take.
        "systems": ["lru", "centaur", {"name": "maxperf", "latency_ms": {"friendly": 3}}],
    } | more


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("over")
    return mcsim.run(
        experiment({"device": "flash", "over": "link"}, link=LINK), out=out, figures=False
    )


@pytest.fixture(scope="module")
def written_out(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("written")
    times = {"read": f"{25_000 + ELSEWHERE_NS}ns", "write": f"{200_000 + ELSEWHERE_NS}ns"}
    return mcsim.run(experiment({"device": "flash"} | times), out=out, figures=False)


def test_a_block_over_the_link_takes_as_long_as_both(over: Results, written_out: Results) -> None:
    for name in ("metrics", "vms", "decisions"):
        assert over.table(name).equals(written_out.table(name))
    for table in (comparison, requests):
        assert table(over).equals(table(written_out))
    columns = ["fairness", "worst_slowdown"]
    assert yardsticks(over).select(columns).equals(yardsticks(written_out).select(columns))


def test_what_is_waited_for_is_the_sum_by_where_it_was(over: Results) -> None:
    vms, tiers = over.to_pandas("vms"), over.to_pandas("metrics")
    of_lru = {"vms": vms[vms["system"] == "lru"], "tiers": tiers[tiers["system"] == "lru"]}
    reads = of_lru["tiers"].groupby("tier")["reads_served"].sum()
    backend = of_lru["vms"][["reads_served", "writes_served"]].sum().sum()
    waited = reads[0] * 30 + reads[1] * (25_000 + ELSEWHERE_NS) + backend * 6_500_000
    (mean,) = (
        row["mean_latency_ns"]
        for row in comparison(over, by_vm=False).to_pylist()
        if row["system"] == "lru"
    )
    assert reads[1] > 0
    assert mean == waited / of_lru["vms"]["accesses"].sum()


def test_the_link_keeps_no_device_at_work(over: Results, written_out: Results) -> None:
    def busy(results: Results) -> list[float]:
        rows = devices(results).to_pylist()
        return [row["utilization"] for row in rows if row["device"] == "flash"]

    reads, writes = (
        sum(row[name] for row in devices(over).to_pylist() if row["device"] == "flash")
        for name in ("reads", "writes")
    )
    assert all(0 < here < there for here, there in zip(busy(over), busy(written_out), strict=True))
    first_ns, last_ns = over.environment["counted_ns"]
    worked_ns = sum(busy(over)) * (last_ns - first_ns)
    assert worked_ns == pytest.approx(reads * 25_000 + writes * 200_000)


def test_the_spec_of_a_run_is_the_same_run(over: Results, tmp_path: Path) -> None:
    assert over.spec.tiers[1].over == ELSEWHERE_NS
    assert over.spec.tiers[1].read == 25_000
    again = mcsim.run(over.spec, out=tmp_path, figures=False)
    assert again.run_id == over.run_id


def test_tiers_are_over_the_link_of_hosts_if_there_is_no_other(tmp_path: Path) -> None:
    hosts = {"names": ["one", "two"], "link": {"latency": "100us", "rate": 100_000}}
    given = experiment({"device": "flash", "over": "link"}, hosts=hosts, systems=["cloudcache"])
    results = mcsim.run(given, out=tmp_path, figures=False)
    assert results.spec.tiers[1].over == ELSEWHERE_NS


@pytest.mark.parametrize(
    ("last", "link", "said"),
    [
        ("over: link", "", "7: tiers[1].over: there is no `link`: give it, such as {latency: "),
        ("over: network", "", "7: tiers[1].over: expected link or a length of time, got 'network'"),
        ("over: 5", "", "7: tiers[1].over: expected link or a length of time, got 5"),
        (
            "read: 1ms",
            "link: {latency: 1ms}",
            "8: link: no tier is reached over it: say `over: link` of one that is elsewhere",
        ),
        ("over: link", "link: {bandwidth: 1GB/s}", "8: link: missing key 'latency'"),
        ("over: link", "link: {latency: 1ms, bandwidth: 5}", "8: link.bandwidth: expected bytes"),
    ],
)
def test_a_link_that_is_none_is_told_with_its_line(
    last: str, link: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"name: mine\nops: all\nworkload: {{profile: {EXPERIMENTS}/workloads/tiny.yaml}}\n"
        "tiers:\n  - device: dram\n    capacity: 300\n"
        f"  - {{device: flash, capacity: 1000, {last}}}\n{link}\nsystems: [lru]\n"
    )
    assert f"mine.yaml:{said}" in complaint(mcsim.run, path, out=tmp_path / "out", figures=False)


@pytest.mark.parametrize(
    ("name", "tier", "read", "write"),
    [("remoca", 1, 100_030, 100_030), ("placement-array", 0, 125_000, 300_000)],
)
def test_memory_elsewhere_and_the_array_are_over_a_link(
    name: str, tier: int, read: int, write: int, tmp_path: Path
) -> None:
    results = mcsim.run(EXPERIMENTS / f"{name}.yaml", out=tmp_path, figures=False)
    assert results.spec.tiers[tier].waits == (read, write)
