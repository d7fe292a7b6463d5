"""Trusts: arithmetic; the data sheets that the catalogue names."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from small import small_experiment

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.config.device_choice import device_given, devices_given
from mcsim.config.devices import CATALOGUE
from mcsim.experiment.experiment import Experiment
from mcsim.results import tables

OWN = {"read": "80us", "write": "20us", "price": 0.2}


def test_a_device_is_written_alike_on_the_command_line_and_in_yaml() -> None:
    told = devices_given("--device", ["mine=read:80us,write:20us,price:0.2,drive:960GB"])
    assert told == devices_given("devices", {"mine": OWN | {"drive": "960GB"}})
    device = device_given("--tier", "mine", told)
    assert (device.read_ns.middle, device.write_ns.middle) == (80e3, 20e3)
    assert device.dollars_per_gb.middle == 0.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine", "--device: expected NAME=read:80us,write:20us,price:0.2, got 'mine'"),
        ("mine=read", "--device: expected NAME=read:80us,write:20us,price:0.2, got 'mine=read'"),
        ("mine=read:80us", "--device: devices.mine: missing key 'write'"),
        ("mine=read:80us,write:1us,prize:2", "'prize' (did you mean 'price'?)"),
        ("mine=read:80,write:1us", "devices.mine.read: expected a length of time"),
        ("mine=read:1us,write:1us,drive:960", "drive: expected bytes such as 960GB"),
    ],
)
def test_wrong_devices_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        devices_given("--device", [text])
    assert message in str(caught.value)


def test_a_latency_is_a_device() -> None:
    device = device_given("--backend", "4ms")
    assert (device.read_ns.middle, device.write_ns.middle) == (4e6, 4e6)
    assert math.isnan(device.dollars_per_gb.middle)
    spec = Experiment.load(small_experiment("lru", tiers={"dram": 5}, backend="4ms")).spec
    assert spec.backend.waits == (4_000_000, 4_000_000)


def test_an_unknown_device_lists_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="unknown device 'nvm'") as caught:
        device_given("--tier", "nvm", devices_given("devices", {"mine": OWN}))
    for name in ("mine", *CATALOGUE, "a latency such as 4ms"):
        assert name in str(caught.value)


def test_flash_drives_name_their_data_sheets() -> None:
    sata, nvme = CATALOGUE["sata-flash"], CATALOGUE["nvme-flash"]
    assert "S4500" in sata.reference
    assert (sata.read_ns.middle, sata.write_ns.middle) == (110e3, 52e3)
    assert "P4500" in nvme.reference
    assert (nvme.read_ns.low, nvme.read_ns.high, nvme.write_ns.middle) == (85e3, 115e3, 20e3)
    assert nvme.pe_cycles == 1.38e15 / 1e12  # rated bytes written, capacity


def machine(**tier: Any) -> dict[str, Any]:
    own = {"device": "mine", "capacity": 50} | tier
    return small_experiment("lru", tiers={}, devices={"mine": OWN}) | {"tiers": [own]}


def test_a_drive_is_paid_as_a_whole(tmp_path: Path) -> None:
    (row,) = tables.systems(mc.run(machine(drive="1GB"), out=tmp_path, figures=False)).to_pylist()
    assert row["cost_dollars"] == pytest.approx(0.2)
    (row,) = tables.systems(mc.run(machine(), out=tmp_path, figures=False)).to_pylist()
    assert row["cost_dollars"] == pytest.approx(0.2 * 50 * 4096 / 1e9)


def test_without_a_price_nothing_has_a_cost(tmp_path: Path) -> None:
    free = machine() | {"devices": {"mine": {"read": "80us", "write": "20us"}}}
    results = mc.run(free, out=tmp_path, figures=False)
    (row,) = tables.systems(results).to_pylist()
    assert row["cost_dollars"] is row["performance_per_cost"] is None
    two = [{"device": "dram", "capacity": 5}, *free["tiers"]]
    with pytest.raises(ConfigError, match="mine has no price: give limits and an objective"):
        mc.search(free | {"tiers": two, "systems": ["hierarchy"]})


@pytest.mark.parametrize(
    ("devices", "where"),
    [
        ({"tiers": [{"device": "50us", "capacity": 10}]}, "tiers[0]"),
        ({"tiers": [{"device": "flash", "capacity": 10}], "backend": "4ms"}, "backend"),
    ],
)
def test_extents_are_placed_by_price_only_with_a_price(
    devices: dict[str, object], where: str
) -> None:
    spec = {"name": "x", "workload": {"vms": ["a"]}, **devices}
    with pytest.raises(
        ConfigError, match=re.escape(f"{where}: ") + ".* has no price, by which edt"
    ):
        Experiment.load(spec | {"systems": ["lru", "edt"]})
    assert Experiment.load(spec | {"systems": ["lru"]}).spec.systems[0].name == "lru"
