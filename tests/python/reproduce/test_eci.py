# Trusts: distances counted by hand, the laws of the slides, a naive LRU, and rows made up by hand.
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from mcsim.reproduce.documents.eci.examples import (
    find_devices,
    find_distances,
    find_useful,
    request_distances,
)
from mcsim.reproduce.documents.eci.measured import measure
from plotted import unmeasured, unplotted
from small import EXPERIMENTS, small_experiment

from mcsim.config.profile import read_profile
from mcsim.experiment.runner import run
from mcsim.reproduce.context import Context
from mcsim.reproduce.reproduction import Reproduction, reproduce


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce("eci", quick=True, trace_dirs=[], out=tmp_path_factory.mktemp("eci"))


def test_the_example_of_all_distances_has_the_printed_histogram() -> None:
    found = find_distances(Context())
    assert found.values == {"distance 0": 2, "distance 2": 2, "distance 3": 1, "distance 7": 1}
    assert found.checks[0].holds


def test_the_example_of_useful_distances() -> None:
    distances, reads = request_distances("W1 W2 R1 R3 R5 R6 R2")
    # R1 after W2; R2 after 1, 3, 5 and 6.
    assert distances.tolist() == [-1, -1, 1, -1, -1, -1, 4]
    assert reads.tolist() == [False, False] + 5 * [True]
    found = find_useful(Context())
    assert found.values == {"useful distance": 4, "blocks": 5}
    assert found.checks[0].holds


def test_drives_are_those_of_the_slides() -> None:
    values = find_devices(Context()).values
    assert values["hdd operations"] == pytest.approx(140)
    assert values["ssd operations"] == 50_000
    assert (values["hdd price"], values["ssd price"]) == (0.06, 0.1)
    assert (values["hdd rate"], values["ssd rate"]) == (180, 550)
    assert (values["hdd power"], values["ssd power"]) == ("9 and 8", "3 and 0.06")


def test_vms_that_write_most_rewrite_three_times_as_far_back_as_they_read() -> None:
    profile = read_profile(EXPERIMENTS / "workloads" / "eci16.yaml")
    assert len(profile.vms) == 16
    heavy = 0
    for vm in profile.vms.values():
        reads = sum(p.request_count * p.read_share for p in vm.phases)
        if reads > 0.45 * sum(p.request_count for p in vm.phases):
            continue
        heavy += 1
        files, saves = vm.components["files"].stack, vm.components["saves"].stack
        assert files is not None
        assert saves is not None
        assert saves.curve[-1][0] >= 3 * files.curve[-1][0]
    assert heavy == 10


def test_requests_are_those_of_a_week_for_as_long_as_it_lasts() -> None:
    vms = read_profile(EXPERIMENTS / "workloads" / "eci16.yaml").vms
    for vm in vms.values():
        assert sum(p.duration for p in vm.phases) == 1700 * 60 * 10**9
    for file in ("web", "prn"):
        for name, week in read_profile(EXPERIMENTS / "workloads" / f"{file}.yaml").vms.items():
            if name in vms:
                assert week.requests is not None
                assert vms[name].requests == round(week.requests * 1700 / (7 * 24 * 60))


def test_a_system_is_measured_by_what_it_gave_and_served(tmp_path: Path) -> None:
    spec = small_experiment(
        "static",
        {"name": "centaur", "interval": "10min", "baseline": "eci"},
        tiers={"sata-ssd": 2000},
        name="two",
        ops="all",
        interval="10min",
        warm_up="10min",
        backend="sata-hdd",
        opt=False,
    )
    results = run(spec, out=tmp_path, figures=False)
    measured = measure(results)
    static, centaur = measured["static"], measured["centaur"]
    assert static.blocks.shape == (23, 3)
    assert set(static.in_all.tolist()) == {2000}
    assert centaur.infeasible
    served = results.measured("metrics").filter(
        np.asarray(results.measured("metrics")["system"]) == "static"
    )
    reads = sum(served["reads_served"].to_pylist())
    table = results.measured("vms")
    table = table.filter(np.asarray(table["system"]) == "static")
    all_reads = sum(table["accesses"].to_pylist()) - sum(table["writes"].to_pylist())
    assert static.read_hits == pytest.approx(reads / all_reads)
    expected = (reads * 20e3 + (all_reads - reads) * 1e9 / 140) / all_reads
    # All but what they wait for others, which is less than a write takes.
    assert expected < static.read_ns[None] < expected + 100e3
    assert static.per_block() == pytest.approx(1e9 / static.read_ns[None] / 2000)


def test_nothing_contradicts_the_slides_in_a_sample(quick: Reproduction) -> None:
    assert quick.failures == []
    assert unmeasured(quick) == []
    by_name = {outcome.figure.name: outcome for outcome in quick.outcomes}
    limited = by_name["eci/limited"].finding.found
    assert limited.values["centaur marks"] == "1,020, 1,630"
    assert limited.values["eci mark"] == 1520
    bars = by_name["eci/bars"].finding.found.values
    saved, gained = float(bars["writes saved"]), float(bars["lifetime gained"])
    assert 1 + gained / 100 == pytest.approx(1 / (1 - saved / 100))


def test_tables_and_figures_are_beside_each_other(quick: Reproduction) -> None:
    for outcome in quick.outcomes:
        for path in outcome.finding.drawn:
            assert path.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml"}[path.suffix])
        drawn = {path.name for path in outcome.finding.drawn}
        stems = {name.rpartition(".")[0] for name in drawn}
        assert drawn == {f"{stem}.{ending}" for stem in stems for ending in ("png", "svg")}
        for plot in outcome.finding.found.plots:
            title = re.sub("[^a-z0-9]+", "-", plot.title.lower()).strip("-")
            assert any(stem.startswith(title) for stem in stems), plot.title
    limited = next(o for o in quick.outcomes if o.figure.name == "eci/limited")
    allocation = pq.read_table(limited.finding.drawn[0].parent / "allocation.parquet")
    assert allocation.num_rows == 2 * 169 * 16


def test_recorded_volumes_take_the_place_of_the_stand_in(tmp_path: Path) -> None:
    # A read a minute of a block of its own, 16 of them again and again; src2_0 only writes.
    vms = read_profile(EXPERIMENTS / "workloads" / "eci16.yaml").vms
    for vm in vms:
        host, disk = vm.rsplit("_", 1)
        operation = "Write" if vm == "src2_0" else "Read"
        lines = [
            f"{128166372000000000 + 600_000_000 * minute},{host},{disk},{operation},"
            f"{4096 * (minute % 16)},4096,1000"
            for minute in range(60)
        ]
        (tmp_path / f"{vm}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = reproduce("eci/bars", trace_dirs=[tmp_path], out=tmp_path / "out")
    (outcome,) = found.outcomes
    assert outcome.finding.found.recorded
    assert outcome.ran.startswith("recorded: eci-limited-")
    bars = {row["vm"]: row for row in found.tables["eci/bars/bars"].to_pylist()}
    assert bars["usr_0"]["writes"] > 0
    assert np.isnan(bars["src2_0"]["performance"])


def test_what_is_a_series_is_plotted(quick: Reproduction) -> None:
    assert unplotted(quick) == {"eci/useful", "eci/devices"}
