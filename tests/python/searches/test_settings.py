"""A search finds the best setting of deployed caches, and agrees with runs.

Trusts: `mcsim.run` of each setting; the installers' defaults in `describe`.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call, printed

import mcsim as mc
from mcsim import ConfigError
from mcsim._core import engine
from mcsim.base.deployed import RULES, SETTINGS

SECOND = 1_000_000_000
COUNT = 6_000


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return reads and writes with neighbours in larger blocks, and two deployed caches."""
    draw = np.random.default_rng(4)
    offsets = 4096 * (900 * draw.random(COUNT) ** 2).astype(np.int64)
    trace = mc.Trace.from_arrays(
        np.arange(COUNT) * (SECOND // 50), offsets, 4096,
        op=(draw.random(COUNT) < 0.4).astype(np.uint8), source="drawn",
    )  # fmt: skip
    file = tmp_path_factory.mktemp("traces") / "drawn.arrow"
    trace.save(file)
    return {
        "name": "settings",
        "ops": "all",
        "interval": "20s",
        "workload": {"vms": [{"name": "drawn", "trace": str(file)}]},
        "tiers": [{"device": "flash", "capacity": "600KiB"}],
        "backend": "hdd",
        "systems": [
            "lru",
            {"name": "dm-cache", "label": "lvmcache"},
            {"name": "dm-cache", "block_kib": 64, "label": "other"},
            "dm-writecache",
            "hindsight",
        ],
    }


def latency_of(spec: dict[str, Any], out: Path, system: dict[str, Any]) -> float:
    results = mc.run(spec | {"systems": [system]}, out=out)
    return float(results.overview().mean_latency_ns[0])


def test_the_best_settings_are_those_of_the_grid(spec: dict[str, Any], tmp_path: Path) -> None:
    found = mc.search_settings(spec)
    assert found.experiment == "settings"
    sizes = [{"block_kib": 2**power} for power in range(5, 10)]  # 1 MiB does not fit
    for name, label, axes in (
        ("dm-cache", "lvmcache", [sizes, SETTINGS["dm-cache"][1]]),
        ("dm-writecache", "dm-writecache", SETTINGS["dm-writecache"]),
    ):
        rows = found[found.system == label]
        grid = {}
        for chosen in product(*axes):
            values = {key: of for setting in chosen for key, of in setting.items()}
            grid[tuple(values.items())] = latency_of(spec, tmp_path, {"name": name} | values)
        assert rows.latency_ns.min() == rows[0].latency_ns == pytest.approx(min(grid.values()))
        assert len(rows) <= len(grid)
        assert set(rows.latency_ns.round(3)) <= {round(of, 3) for of in grid.values()}
    overridden = mc.run(spec, overrides=found.overrides, out=tmp_path).overview()
    for label, place in (("lvmcache", 1), ("dm-writecache", 3)):
        best = found[found.system == label][0]
        (row,) = (row for row in overridden if row.system == label)
        assert row.mean_latency_ns == pytest.approx(best.latency_ns)
        assert any(of.startswith(f"systems.{place}.") for of in found.overrides)


def test_the_answer_has_both_settings_and_the_bound(spec: dict[str, Any]) -> None:
    found = mc.search_settings(spec)
    rows = found[found.system == "lvmcache"]
    best, installed = rows[0], rows[rows.setting == "as installed"][0]
    assert (
        f"`lvmcache` as installed saves {100 * installed.saved:.1f} % "
        f"({100 * best.saved:.1f} % with {best.setting})" in found.answer
    )
    assert "the best of the other systems, `lru`, saves" in found.answer
    assert "the best fixed division (`hindsight`)" in found.answer
    assert "other" not in found.system


def test_a_parameter_of_the_experiment_is_where_the_search_starts(spec: dict[str, Any]) -> None:
    system = {"name": "dm-cache", "policy": "cleaner", "writes": "back"}
    found = mc.search_settings(spec | {"systems": [system]})
    assert found.hit_ratio.tolist() == [0.0] * len(found)
    assert found.overrides == []
    assert "saves 0.0 %." in found.answer


@pytest.mark.parametrize("name", SETTINGS)
def test_the_first_alternatives_are_the_defaults(name: str) -> None:
    assert name in RULES
    (entry,) = (one for one in engine.describe_systems() if one["name"] == name)
    defaults = {param["name"]: str(param["default"]) for param in entry["params"]}
    for first, *others in SETTINGS[name]:
        assert {key: str(value) for key, value in first.items()}.items() <= defaults.items()
        assert all(first.keys() == other.keys() for other in others)


def test_the_command_prints_the_answer_and_a_run(
    spec: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    file = tmp_path / "settings.yaml"
    file.write_text(json.dumps(spec))
    lines = printed(capsys, "search", str(file), "--settings", "-o", str(tmp_path / "found.csv"))
    found = mc.search_settings(spec)
    assert lines[0] == found.answer
    assert lines[-1].startswith(f"mcsim run {file} --set {found.overrides[0]}")
    assert len((tmp_path / "found.csv").read_text().splitlines()) == len(found) + 1
    code, _, said = call(capsys, "search", str(file), "--settings", "--most", "3")
    assert (code, "--most: not with --settings" in said) == (2, True)
    with pytest.raises(ConfigError, match="no deployed cache"):
        mc.search_settings(spec | {"systems": ["lru"]})
