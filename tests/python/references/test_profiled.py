# Trusts: the same measured in memory.
from __future__ import annotations

import functools
import logging
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small import EXPERIMENTS, small_experiment, small_workload

from mcsim._core import engine, locality
from mcsim.experiment import prepared
from mcsim.experiment.runner import run
from mcsim.references.interned import is_profile_kept, profiled
from mcsim.references.workload import Workload
from mcsim.traces.cache import INTERNED, entries

VIEW = {"block_bytes": 4096, "ops": "all", "line_blocks": 1}
HOUR_NS = 3600 * 10**9
CURVE = locality.MeterSpec("curve", interval=HOUR_NS)
METERS = [
    CURVE,
    locality.MeterSpec("curve", {"scope": "cumulative"}, interval=HOUR_NS),
    locality.MeterSpec("curve", {"ops": "reads", "between": "reads"}, interval=HOUR_NS // 4),
    locality.MeterSpec("curve", {"foresight": "whole"}, interval=HOUR_NS),
    locality.MeterSpec("load", interval=HOUR_NS),
    locality.MeterSpec("load", {"window": 3 * HOUR_NS}, interval=HOUR_NS),
    locality.MeterSpec("classes", {"scope": "warm"}, interval=HOUR_NS),
    locality.MeterSpec("distinct", {"window": 2 * HOUR_NS}, interval=HOUR_NS),
    locality.MeterSpec("intensity", {"window": HOUR_NS // 6}, interval=HOUR_NS),
    locality.MeterSpec("classes", interval=HOUR_NS, drifting=True),
]


def files(folder: Path) -> list[Path]:
    """Return all that is kept of what was measured."""
    return sorted((folder / INTERNED).glob("*.profile"))


@functools.cache
def workload(seed: int = 1) -> Workload:
    return small_workload(seed, length_ns=8 * HOUR_NS)


@functools.cache
def accesses(seed: int = 1) -> engine.Accesses:
    return workload(seed).intern(VIEW)


def profile(
    folder: Path, meters: list[locality.MeterSpec], seed: int = 1
) -> locality.Characterised:
    return profiled(workload(seed), VIEW, accesses(seed), meters, folder=folder, at_least=0)


def assert_same(
    found: locality.Characterised,
    expected: locality.Characterised,
    meters: list[locality.MeterSpec],
) -> None:
    for one, other in zip(found.whole_curves, expected.whole_curves, strict=True):
        np.testing.assert_array_equal(one.distances, other.distances)
        np.testing.assert_array_equal(one.cumulative, other.cumulative)
        assert one.accesses == other.accesses
    assert found.specs == expected.specs == meters
    for meter in meters:
        np.testing.assert_array_equal(found.cuts(meter), expected.cuts(meter))
        if meter.meter == "curve":
            for period in range(len(found.cuts(meter)) - 1):
                for vm in range(3):
                    curves = [of.curve(meter, period, vm) for of in (found, expected)]
                    np.testing.assert_array_equal(curves[0].distances, curves[1].distances)
                    np.testing.assert_array_equal(curves[0].cumulative, curves[1].cumulative)
        else:
            np.testing.assert_equal(found.tables(meter), expected.tables(meter))
        if meter.meter == "intensity":
            np.testing.assert_equal(found.windows(meter), expected.windows(meter))


def test_first_makes_files_that_the_next_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = locality.characterise(accesses(), METERS)
    assert not is_profile_kept(workload(), VIEW, tmp_path)
    assert_same(profile(tmp_path, METERS), expected, METERS)
    assert is_profile_kept(workload(), VIEW, tmp_path)
    # Two meters differ in how they are looked at; of one the whole curves are all it takes.
    assert len(files(tmp_path)) == len(METERS) - 2 + 1
    # Stored measurements are not repeated: no pass over the trace reports progress.
    told: list[int] = []
    monkeypatch.setattr(locality, "write_profile", None)
    found = profiled(workload(), VIEW, accesses(), METERS, told.append, folder=tmp_path, at_least=0)
    assert_same(found, expected, METERS)
    assert not told


def test_runs_with_other_meters_find_what_they_have_in_common(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile(tmp_path, METERS[:3])
    asked: list[list[locality.Characterised]] = []
    characterise = locality.characterise

    def watched(*given: Any, known: list[locality.Characterised]) -> locality.Characterised:
        asked.append(known)
        return characterise(*given, known=known)

    monkeypatch.setattr(locality, "characterise", watched)
    before = len(files(tmp_path))
    others = [METERS[6], METERS[0], METERS[4]]
    assert_same(profile(tmp_path, others), characterise(accesses(), others), others)
    assert len(asked[0]) == 2, "the whole curves, and one of the meters"
    assert len(files(tmp_path)) == before + 2


def test_other_requests_and_views_have_files_of_their_own(tmp_path: Path) -> None:
    profile(tmp_path, [CURVE])
    profile(tmp_path, [CURVE], seed=2)
    view = VIEW | {"ops": "reads"}
    reads = workload().intern(view)
    found = profiled(workload(), view, reads, [CURVE], folder=tmp_path, at_least=0)
    assert_same(found, locality.characterise(reads, [CURVE]), [CURVE])
    assert len(files(tmp_path)) == 6


def test_few_accesses_are_not_worth_files(tmp_path: Path) -> None:
    found = profiled(workload(), VIEW, accesses(), [CURVE], folder=tmp_path)
    assert_same(found, locality.characterise(accesses(), [CURVE]), [CURVE])
    assert not files(tmp_path)


def test_damaged_file_is_told_of_once_and_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = profile(tmp_path, METERS)
    for file in files(tmp_path):
        whole = file.read_bytes()
        for damaged in (whole[:-1], whole[:-9] + b"\x77" + whole[-8:], b"", b"something else"):
            file.unlink()
            file.write_bytes(damaged)
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                assert_same(profile(tmp_path, METERS), expected, METERS)
            assert [record.getMessage() for record in caplog.records] == [
                f"{file}: not a profile of this version of mcsim "
                f"({caplog.text.partition('mcsim (')[2].partition(')')[0]}); "
                "remove it and mcsim will rebuild it"
            ]
            assert file.read_bytes() == whole


def test_folder_that_cannot_be_written_leaves_it_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        found = profile(tmp_path / "file" / "folder", [CURVE])
    assert_same(found, locality.characterise(accesses(), [CURVE]), [CURVE])
    assert "what was measured is in memory" in caplog.text


def make(folder: Path) -> list[bytes]:
    profile(folder, METERS)
    return [path.read_bytes() for path in files(folder)]


def test_processes_that_make_it_at_a_time_make_the_same(tmp_path: Path) -> None:
    # Its processes end normally, and remove their in-use marks.
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        made = list(pool.map(make, [tmp_path] * 6))
    assert all(one == made[0] for one in made)
    assert {path.suffix for path in (tmp_path / INTERNED).iterdir()} == {".profile"}


def test_cache_lists_verifies_and_limits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile(tmp_path, [METERS[0]])
    found = {entry.describe(): entry for entry in entries(tmp_path)}
    assert set(found) == {"curves of 3 VMs", "distances, period by period, of 3 VMs"}
    entry = found["curves of 3 VMs"]
    assert entry.kind.name == "profile"
    assert entry.fault() is None
    whole = entry.path.read_bytes()
    entry.path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert entry.fault() == (
        f"{entry.path}: not a profile of this version of mcsim (a checksum does not match); "
        "remove it and mcsim will rebuild it"
    )
    assert entry.describe() == "damaged"
    for path in files(tmp_path):
        os.utime(path, (10**9, 10**9))
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", "1")
    profile(tmp_path, [METERS[4]], seed=2)
    assert len(files(tmp_path)) == 2, "those of this process"


def tables(experiment: Path | dict[str, Any], out: Path, traces: Path) -> dict[str, bytes]:
    folder = run(experiment, out=out, trace_dirs=[traces], figures=False).path
    names = ("metrics", "vms", "curves", "reuse_intensity", "bounds")
    return {name: (folder / f"{name}.parquet").read_bytes() for name in names}


def warmed(folder: Path) -> dict[str, Any]:
    """Return an experiment with a warm-up of other requests, with writes."""
    random = np.random.default_rng(3)
    vms, before = [], []
    for name in ("w_0", "w_1", "before_0", "before_1"):
        at = 128166372 * 10**9 + np.sort(random.integers(0, 6 * 36 * 10**9, 3_000))
        blocks = random.zipf(1.3, len(at)) % 1_000
        ops = random.choice(["Read", "Write"], len(at))
        lines = [
            f"{time},{name[:-2]},{name[-1]},{op},{4096 * block},8192,9"
            for time, op, block in zip(at, ops, blocks, strict=True)
        ]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        if name.startswith("w"):
            vms.append(name)
            before.append({"name": name, "trace": name.replace("w", "before")})
    return small_experiment(
        "multicache",
        "eci-cache",
        "cloudcache",
        "hindsight",
        tiers={"dram": 100, "flash": 300},
        name="warmed",
        ops="all",
        interval="1h",
        workload={"vms": vms},
        warm_up={"vms": before},
        backend="hdd",
    )


def many_meters(folder: Path) -> Path:
    """Write an experiment on sixteen VMs with systems that read all meters."""
    systems = "vcacheshare, centaur, eci-cache, ri-shares, cloudcache, baa, clairvoyant"
    file = folder / "many-meters.yaml"
    file.write_text(f"extends: {EXPERIMENTS / 'all-systems.yaml'}\nsystems: [{systems}]\n")
    return file


@pytest.mark.parametrize("name", ["tiny", "holland", "many meters", "warmed"])
def test_results_are_the_same_with_and_without(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment: Path | dict[str, Any] = EXPERIMENTS / f"{name}.yaml"
    if name == "warmed":
        experiment = warmed(tmp_path)
    elif name == "many meters":
        experiment = many_meters(tmp_path)
    without = tables(experiment, tmp_path / "without", tmp_path)
    keep = functools.partial(profiled, folder=tmp_path / "cache", at_least=0)
    monkeypatch.setattr(prepared, "profiled", keep)
    assert tables(experiment, tmp_path / "making", tmp_path) == without
    made = {path: path.stat().st_mtime_ns for path in files(tmp_path / "cache")}
    assert made
    monkeypatch.setattr(locality, "write_profile", None)
    assert tables(experiment, tmp_path / "finding", tmp_path) == without
    assert {path: path.stat().st_mtime_ns for path in files(tmp_path / "cache")} == made
