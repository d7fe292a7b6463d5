"""Caches that people run: `describe` and its page.

Trusts: nothing but that the page has a row for each name.
"""

from __future__ import annotations

import re

import pytest
from small import ROOT

import mcsim
from mcsim.base.deployed import IN_USE

PAGE = ROOT / "docs" / "how-to" / "caches-in-use.md"
KNOWN = {*mcsim.policy_names(), *mcsim.system_names(), *mcsim.format_names(), "sequential", "none"}


@pytest.mark.parametrize("name", IN_USE)
def test_describe_points_to_the_page(name: str) -> None:
    said = str(mcsim.describe(name.upper()))
    assert f"Nearest: {IN_USE[name]}" in said
    assert f"how-to/{PAGE.stem}" in said
    table = PAGE.read_text(encoding="utf-8").split("\n## ")[0].lower()
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    assert any(name.replace("-", " ") in row.replace("-", " ") for row in rows)


@pytest.mark.parametrize("name", IN_USE)
def test_what_is_nearest_has_a_name(name: str) -> None:
    used = re.findall(r"(?:system|policy|admission|format) ([a-z0-9-]+)", IN_USE[name])
    assert used or IN_USE[name].startswith("none")
    assert set(used) <= KNOWN


def test_systems_are_described_as_well() -> None:
    assert str(mcsim.describe("lvmcache")).startswith("dm-cache (system)")
    assert str(mcsim.describe("rocksdb")).startswith("rocksdb (trace format)")
