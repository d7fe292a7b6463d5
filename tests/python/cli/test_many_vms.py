"""Commands about many VMs: calls and memory grow linearly with the number of VMs.

Trusts: the interpreter's count of calls, and its own record of allocations.
"""

from __future__ import annotations

import io
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed
from rich.console import Console

from mcsim.cli import terminal
from mcsim.locality import mix as mix_module
from mcsim.locality import sharing as sharing_module
from mcsim.tables.formatted_table import FormattedTable
from mcsim.traces.trace import Trace

COMMANDS = {
    "info": ("trace", "info", "{}"),
    "mrc": ("mrc", "{}", "--per-vm", "--sizes", "1,4"),
    "mix": ("mix", "{}", "--sizes", "10%,50%"),
    "mix as JSON": ("mix", "{}", "--sizes", "10%,50%", "--json"),
    "whatif": ("whatif", "{}", "--size", "10%"),
    "compare": ("compare", "{}", "--policies", "lru,fifo", "--sizes", "10%"),
}
FEW, MANY = 300, 1_200


@pytest.fixture
def traces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, Path]:
    """Traces of VMs with four reads each, and limits that many VMs exceed."""
    monkeypatch.setattr(terminal, "_MANY_ROWS", 100)
    monkeypatch.setattr(sharing_module, "_FEW_VMS", 100)
    monkeypatch.setattr(mix_module, "_MOST_CELLS", 100)
    files = {}
    for vms in (20, FEW, MANY):
        vm = np.tile(np.arange(vms), 4)
        offset = 4096 * np.repeat([0, 1, 0, 2], vms)
        names = [f"vm {number}" for number in range(vms)]
        columns = {"vm": vm, "vms": names, "source": "many"}
        trace = Trace.from_arrays(np.arange(4 * vms), offset, 4096, **columns)
        files[vms] = trace.save(folder / f"{vms}.arrow")
    return files


def calls_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> int:
    calls = 0

    def count(frame: Any, event: str, function: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        printed(capsys, *arguments)
    finally:
        sys.setprofile(None)
    return calls


def peak_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> int:
    tracemalloc.start()
    try:
        printed(capsys, *arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("command", COMMANDS)
def test_work_and_memory_grow_linearly(
    command: str, traces: dict[int, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    few, many = (
        [str(traces[vms]) if word == "{}" else word for word in COMMANDS[command]]
        for vms in (FEW, MANY)
    )
    for arguments in (few, many):  # modules are imported, and caches are filled
        printed(capsys, *arguments)
    for measure in (calls_of, peak_of):
        assert measure(capsys, *many) < 1.2 * MANY / FEW * measure(capsys, *few), measure


def test_long_tables_look_like_short_ones() -> None:
    rows = [
        ["web_0", "1,234", "5.00", ""],
        ["a longer name ✓ 数", "7", "100.00", "knee"],
        ["", "", "", "x"],
    ]
    headings = ["VM", "accesses of all reads", "hit %\nblocks", "mark"]
    table = FormattedTable(headings, rows, [False, True, True, False])
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(table.to_rich())
    printed_by_rich = console.file.getvalue().rstrip("\n").split("\n")  # type: ignore[attr-defined]
    assert list(table.plain_lines()) == printed_by_rich
