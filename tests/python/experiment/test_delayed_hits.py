"""Reads of blocks that another read is still fetching.

Trusts: `naive_delays.DelayedChain`, request by request; closed forms of constant gaps; a dictionary
of fetches beside runs without delayed hits, whose blocks are in the same places.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from complaints import complaint
from hosts import add_vm, ran, tiered
from naive_delays import DelayedChain
from naive_replay import Counts, Workload, differences, random_workload, serve
from naive_systems import proportional
from small import small_experiment

from mcsim._core import engine, locality
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import run
from mcsim.results import models
from mcsim.results.results import Results
from mcsim.results.tables import comparison
from mcsim.results.totals import totals
from mcsim.results.views import overview

COLUMNS = ["delayed_hits", "delayed_ns", "delayed_requests", "request_delay_ns"]


def by_request(accesses: engine.Accesses, system: engine.System) -> engine.RunResult:
    """Run a system; every request is an interval."""
    cuts = np.arange(accesses.request_count + 1)
    return engine.run(accesses, system, locality.Characterised(), cuts)


def replayed(workload: Workload, twin: DelayedChain) -> Counts:
    """Return the counts of a twin; every request is an interval."""
    departures = dict(workload.departures)
    for i, request in enumerate(workload.requests):
        twin.counts.interval = i
        for vm in [vm for vm, time in departures.items() if time <= request.time]:
            twin.release(vm)
            del departures[vm]
        serve(twin, request)
        if i == len(workload.requests) - 1:
            for vm in departures:
                twin.release(vm)
        for vm in range(workload.vms):
            held, granted, dirty = twin.levels(vm)
            for tier, (blocks, target) in enumerate(zip(held, granted, strict=True)):
                twin.counts.add("occupancy", vm, tier, blocks)
                twin.counts.add("target", vm, tier, target)
            twin.counts.add_vm("dirty", vm, dirty)
    return twin.counts


def drawn(seed: int, workload: Workload) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw sizes, latencies and options of a machine: as its arguments and as those of a twin."""
    draw = np.random.default_rng(seed)
    tiers = int(draw.integers(1, 4))
    capacities = draw.integers(0, 60, tiers).tolist()
    delays = (draw.random(tiers) < 0.7).tolist()
    delays[int(draw.integers(tiers))] = True
    first_ns, slower = int(draw.integers(0, 40)), int(draw.integers(1, 4))
    disk_ns = int(draw.choice([0, 30, 400, 10**6]))
    backend_ns = [int(draw.choice([disk_ns, 90])) for _ in range(workload.vms)]
    own = {f"vm{v}": float(ns) for v, ns in enumerate(backend_ns) if ns != disk_ns}
    machine = {"read_ns": first_ns, "slower": slower, "disk_ns": disk_ns}
    twin = {"tier_ns": [first_ns * slower**k for k in range(tiers)], "backend_ns": backend_ns}
    return (
        {"capacities": capacities, "vm_backend_ns": own, "delayed_hits": delays, **machine},
        {"delays": delays, **twin},
    )


@pytest.mark.parametrize("mode", ["through", "back", "around"])
@pytest.mark.parametrize("seed", range(12))
def test_every_request_is_the_twins(seed: int, mode: str) -> None:
    workload = random_workload(seed, length=4_000, footprint=60, most_blocks=4, count=700)
    machine, of_twin = drawn(seed, workload)
    capacities = machine.pop("capacities")
    vms = workload.vms
    if seed % 2:
        name, part_of = "hierarchy", [v % 2 for v in range(vms)]
        params: dict[str, Any] = {"groups": {f"vm{v}": float(g) for v, g in enumerate(part_of)}}
        weights = [float(part_of.count(part)) for part in sorted(set(part_of))]
        targets = [proportional(blocks, weights) for blocks in capacities]
    else:
        name, params, part_of = "lru", {}, [0] * vms
        targets = [[blocks] for blocks in capacities]
    twin = DelayedChain(part_of, targets, [mode] * vms, **of_twin)
    system = engine.System(name, {**params, "writes": mode}, tiered(*capacities, **machine))
    result = by_request(workload.accesses(), system)
    assert not differences(workload, replayed(workload, twin), result)


WITHOUT = {
    *("dm-cache", "dm-writecache", "bcache", "open-cas", "zfs-arc"),
    *("dss", "hystor", "vfrm", "edt"),
}


@pytest.mark.parametrize("name", [entry["name"] for entry in engine.describe_systems()])
def test_a_system_delays_hits_or_refuses_to(name: str) -> None:
    workload = random_workload(3, length=4_000, footprint=60, most_blocks=4, count=700)
    capacities = [30_000, 40_000] if name in ("bcache", "open-cas", "zfs-arc") else [30, 40]
    machine = tiered(*capacities, read_ns=1, disk_ns=300, delayed_hits=[True, True])
    if name in WITHOUT:
        refused = complaint(engine.System, name, {}, machine)
        assert refused == f"delayed_hits: {name} has no rule for them: its tiers must do without"
        return
    system = engine.System(name, {}, machine)
    result = ran(workload.accesses(classes=True), system, 1 << 40)
    assert result.vms["delayed_hits"].sum() > 0


def test_drawn_settings_delay_hits() -> None:
    delayed = 0
    for seed in range(12):
        workload = random_workload(seed, length=4_000, footprint=60, most_blocks=4, count=700)
        machine, _ = drawn(seed, workload)
        system = engine.System("lru", {}, tiered(*machine.pop("capacities"), **machine))
        delayed += int(ran(workload.accesses(), system, 1 << 40).vms["delayed_hits"].sum() > 0)
    assert delayed >= 8


def reads_of(times: list[int], blocks: list[int], writes: list[int] | int = 0) -> engine.Accesses:
    builder = engine.AccessBuilder(ops="all")
    add_vm(builder, "vm0", times, writes, blocks)
    return builder.finish()


@pytest.mark.parametrize("gap", [1, 3, 10, 99, 100, 101])
def test_constant_gaps(gap: int) -> None:
    fetch, count = 100, 150
    times = [i * gap for i in range(count)]
    machine = tiered(4, read_ns=1, disk_ns=fetch, delayed_hits=[True])
    system = engine.System("lru", {}, machine)
    counts = {k: int(v.sum()) for k, v in ran(reads_of(times, [7] * count), system, 99).vms.items()}
    delayed = min(math.ceil(fetch / gap), count) - 1
    assert counts["misses"] == counts["backend_reads"] == 1
    assert counts["delayed_hits"] == counts["delayed_requests"] == delayed
    waited = delayed * fetch - gap * delayed * (delayed + 1) // 2
    assert counts["delayed_ns"] == counts["request_delay_ns"] == waited


class TestRules:
    ONE: ClassVar[dict[str, Any]] = {"read_ns": 1, "disk_ns": 100, "delayed_hits": [True]}

    def waits(self, times: list[int], blocks: list[int], *capacities: int, **of: Any) -> list[int]:
        """Return the wait of each request for a fetch; -1 if it is a miss."""
        writes, params = of.pop("writes", 0), of.pop("params", {})
        system = engine.System("lru", params, tiered(*capacities, **{**self.ONE, **of}))
        counts = by_request(reads_of(times, blocks, writes), system).vms
        return np.where(counts["misses"], -1, counts["delayed_ns"])[:, 0].tolist()

    def test_a_read_waits_until_the_fetch_ends(self) -> None:
        assert self.waits([0, 60, 99, 100], [1, 1, 1, 1], 2) == [-1, 40, 1, 0]

    def test_an_evicted_block_is_fetched_again(self) -> None:
        assert self.waits([0, 10, 20, 110, 120], [1, 2, 1, 1, 1], 1) == [-1, -1, -1, 10, 0]

    def test_a_write_replaces_the_data(self) -> None:
        def of(mode: str) -> list[int]:
            writes = [0, 1, 0, 0]
            return self.waits([0, 10, 20, 30], [1] * 4, 2, writes=writes, params={"writes": mode})

        assert of("through") == of("back") == [-1, 0, 0, 0]
        assert of("around") == [-1, -1, -1, 90]

    def test_a_demoted_block_is_still_on_its_way(self) -> None:
        both: dict[str, Any] = {"slower": 10, "delayed_hits": [True, True]}
        assert self.waits([0, 10, 20], [1, 2, 1], 1, 1, **both) == [-1, -1, 80]
        first: dict[str, Any] = {"slower": 10, "delayed_hits": [True, False]}
        assert self.waits([0, 10, 20], [1, 2, 1], 1, 1, **first) == [-1, -1, 0]

    def test_a_promotion_takes_the_time_of_the_slower_tier(self) -> None:
        of: dict[str, Any] = {"slower": 10, "delayed_hits": [True, True]}
        times, blocks = [0, 200, 400, 403, 410], [1, 2, 1, 1, 1]
        assert self.waits(times, blocks, 1, 1, **of) == [-1, -1, 0, 7, 0]
        # The tier that the block comes from has the data.
        assert self.waits([0, 200, 400, 403, 405], [1, 2, 1, 2, 1], 1, 1, **of)[2:] == [0, 0, 0]

    def test_backends_of_vms(self) -> None:
        of = {"vm_backend_ns": {"vm0": 30.0}}
        assert self.waits([0, 20, 30], [1, 1, 1], 1, **of) == [-1, 10, 0]

    def test_no_fetch_without_time(self) -> None:
        assert self.waits([0, 0, 1], [1, 1, 1], 1, disk_ns=0)[2] == 0


PATHS: list[dict[str, Any]] = [
    {"policy": policy, "admission": admission, "writes": writes}
    for policy, admission in [
        ("arc", "none"), ("s3-fifo", "none"), ("lru", "nth(n=2)"), ("sieve", "none"),
        ("2q", "none"), ("lru", "staged(n=2)"),
    ]
    for writes in ("through", "back")
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_any_policy_of_one_tier(path: dict[str, Any]) -> None:
    """Single blocks at different times: the run without delays has hits and fills by request."""
    draw, count, disk_ns = np.random.default_rng(5), 3_000, 150
    times = np.cumsum(draw.integers(1, 12, count)).tolist()
    blocks = (90 * draw.random(count) ** 2).astype(int).tolist()
    writes = (draw.random(count) < 0.2).astype(int).tolist()
    accesses = reads_of(times, blocks, writes)
    plain, delayed = (
        by_request(accesses, engine.System("hierarchy", path, machine))
        for machine in (
            tiered(25, read_ns=3, disk_ns=disk_ns, delayed_hits=delays) for delays in ([], [True])
        )
    )
    was_hit = plain.tiers["hits"][:, 0, 0] > 0
    was_fill = plain.tiers["fills"][:, 0, 0] > 0
    ends: dict[int, int] = {}
    expected = np.zeros(count, int)
    for i, (time, block, is_write) in enumerate(zip(times, blocks, writes, strict=True)):
        if is_write:
            ends.pop(block, None)
        elif was_hit[i]:
            expected[i] = max(0, ends.get(block, 0) - time)
        elif was_fill[i]:
            ends[block] = time + disk_ns
    assert np.count_nonzero(expected) > 50
    assert (delayed.vms["delayed_ns"][:, 0] == expected).all()
    assert (delayed.vms["delayed_hits"][:, 0] == (expected > 0)).all()


@pytest.mark.parametrize("chain", ["exclusive", "victim", "inclusive", "independent"])
@pytest.mark.parametrize("policy", ["lru", "arc"])
def test_blocks_are_where_they_are_without_delays(chain: str, policy: str) -> None:
    workload = random_workload(8, length=4_000, footprint=60, most_blocks=4, count=1_500)
    accesses = workload.accesses()
    params = {"policy": policy, "chain": chain, "writes": "back"}
    plain, delayed = (
        by_request(accesses, engine.System("hierarchy", params, machine))
        for machine in (
            tiered(10, 30, read_ns=5, slower=4, disk_ns=300, delayed_hits=delays)
            for delays in ([], [True, True])
        )
    )
    of_reads = {"hits", "reads_served", "read_requests"}
    for name in plain.tiers.keys() - of_reads:
        assert (plain.tiers[name] == delayed.tiers[name]).all(), name
    for name in plain.vms.keys() - {*COLUMNS, "request_hits", "read_requests", "byte_hits"}:
        assert (plain.vms[name] == delayed.vms[name]).all(), name
    for name in ("hits", "reads_served"):
        left = plain.tiers[name].sum(axis=2) - delayed.tiers[name].sum(axis=2)
        assert (left == delayed.vms["delayed_hits"]).all()
    assert delayed.vms["delayed_hits"].sum() > 50


def spec_of(*, delays: bool = True, **more: Any) -> dict[str, Any]:
    spec = small_experiment(
        "lru",
        {"name": "hierarchy", "label": "arc", "policy": "arc"},
        tiers={"flash": 1500},
        name="delays",
        ops="all",
        interval="20min",
    )
    spec["tiers"][0]["delayed_hits"] = delays
    spec["backend"] = {"device": "hdd", "read": "20s"}
    return spec | more


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(spec_of(), out=tmp_path_factory.mktemp("results"), figures=False)


class TestExperiments:
    def test_columns_sum_to_accesses(self, results: Results) -> None:
        tiers, vms = results.to_pandas("metrics"), results.to_pandas("vms")
        assert vms["delayed_hits"].sum() > 50
        every = tiers["hits"].sum() + vms["misses"].sum() + vms["delayed_hits"].sum()
        assert every == vms["accesses"].sum()

    def test_tables_have_the_time_waited(self, results: Results) -> None:
        flash = results.spec.tiers[0]
        for of, row in zip(
            totals(results), comparison(results, by_vm=False).to_pylist(), strict=True
        ):
            waited = of.reads_served.sum(axis=0) @ [flash.read, 20 * 10**9]
            waited += of.writes_served.sum(axis=0) @ [flash.write, results.spec.backend.write]
            waited += of.delayed_ns.sum()
            assert row["mean_latency_ns"] == pytest.approx(waited / row["accesses"], rel=1e-12)
            assert row["delayed_ratio"] == of.delayed_hits.sum() / of.accesses.sum()
            assert row["delayed_wait_ns"] == of.delayed_ns.sum() / of.delayed_hits.sum()
            assert row["hits"] == of.hits.sum()
        assert "| delayed % | delay |" in " ".join(overview(results).to_markdown().split())

    def test_requests_wait_for_fetches(self, results: Results) -> None:
        rows = models.requests(results, by_vm=False).to_pylist()
        for of, row in zip(totals(results), rows, strict=True):
            waited = of.read_requests.sum(axis=0) @ [results.spec.tiers[0].read, 20 * 10**9]
            waited += of.write_requests.sum(axis=0) @ [
                results.spec.tiers[0].write, results.spec.backend.write
            ]  # fmt: skip
            waited += of.request_delay_ns.sum()
            assert row["requests"] == of.requests.sum()
            assert row["mean_ns"] == pytest.approx(waited / row["requests"], rel=1e-12)
            reads = of.read_requests.sum() + of.delayed_requests.sum()
            assert row["read_hit_ratio"] == pytest.approx(of.read_requests[:, 0].sum() / reads)

    def test_without_them_there_are_no_columns(self, tmp_path: Path) -> None:
        plain = run(spec_of(delays=False), out=tmp_path, figures=False)
        assert not set(COLUMNS) & set(plain.table("vms").column_names)
        assert "delayed %" not in overview(plain).to_markdown()

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (
                {"systems": ["dm-cache"]},
                "delayed_hits: dm-cache has no rule for them: its tiers must do without",
            ),
            ({"interval": "100 references"}, "a workload without a clock has none"),
            (
                {"hosts": {"names": ["a", "b"], "link": {"latency": "1us", "rate": 1}}},
                "no delayed hits with several hosts",
            ),
        ],
    )
    def test_what_cannot_be_delayed_is_refused(self, more: dict[str, Any], message: str) -> None:
        assert message in complaint(lambda: Experiment.load(spec_of(**more)))
