# Trusts: the schemas of the tables, for the names of their columns.
from __future__ import annotations

import re

import pytest
from small import ROOT

from mcsim.results import schemas


@pytest.mark.parametrize("name", ["metrics", "vms"])
def test_the_page_of_counters_defines_every_column(name: str) -> None:
    page = (ROOT / "docs" / "counters.md").read_text()
    cells = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    defined = {column for cell in cells for column in re.findall(r"`(\w+)`", cell)}
    columns = {*schemas.SCHEMAS[name].names, *schemas.OPTIONAL_COLUMNS[name].names}
    assert columns - {"system", "interval", "vm", "tier"} <= defined
