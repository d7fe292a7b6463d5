"""Files of blktrace, one for each processor, are equal to the text of blkparse.

Trusts: struct blk_io_trace of version 7; the text in tests/data/cases.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from commands import call

import mcsim as mc

TEXT = Path(__file__).parents[2] / "data" / "cases" / "blkparse.txt"

_EVENTS = {"Q": 1, "G": 4, "D": 7, "C": 8, "P": 9, "I": 12}
_MESSAGE = (1 << 10) << 16 | 2
# Categories by letters of RWBS; FWFSM is a flush, a write, forced, synchronous, with metadata.
_CATEGORIES = {"R": 1, "W": 2, "F": 4, "S": 8, "A": 1 << 11, "M": 1 << 12, "D": 1 << 13, "N": 0}


def _event(line: str) -> tuple[int, bytes]:
    """Return the processor of a line of blkparse, and its event with four bytes of data."""
    words = line.split()
    cpu, time, event, rwbs = int(words[1]), words[3].replace(".", ""), words[5], words[6]
    sector, sectors = (int(words[7]), int(words[9])) if words[8:9] == ["+"] else (0, 0)
    categories = 0
    for letter in rwbs:
        categories |= _CATEGORIES[letter]
    action = _MESSAGE if event == "m" else categories << 16 | _EVENTS[event]
    fields = (0x65617407, int(words[2]), int(time), sector, sectors * 512, action)
    return cpu, struct.pack("<IIQQIIIIIHH", *fields, int(words[4]), 8 << 20, cpu, 0, 4) + b"data"


def _write_files(folder: Path) -> None:
    """Write a file for each processor, in which neighbours are out of order."""
    files: dict[int, list[bytes]] = {}
    for line in TEXT.read_text().splitlines():
        if line.startswith("  8,0"):
            cpu, event = _event(line)
            files.setdefault(cpu, []).append(event)
    folder.mkdir()
    for cpu, events in files.items():
        events[0], events[1] = events[1], events[0]
        (folder / f"sda.blktrace.{cpu}").write_bytes(b"".join(events))


def _rows(trace: mc.Trace) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = trace.to_arrow().to_pydict()
    return rows


@pytest.mark.parametrize("event", ["Q", "D", "C"])
def test_files_of_processors_are_one_device(event: str, tmp_path: Path) -> None:
    _write_files(tmp_path / "run")
    options = {"event": event}
    cache = tmp_path / "cache"
    text = mc.Trace.open(TEXT, options=options, cache_dir=cache)
    for name in (tmp_path / "run", str(tmp_path / "run" / "sda.blktrace.*")):
        trace = mc.Trace.open(name, options=options, cache_dir=cache)
        assert trace.vms == text.vms == ("8,0",)
        assert _rows(trace) == _rows(text)
        assert trace.metadata.rows.flushes == text.metadata.rows.flushes
        assert trace.metadata.counts.discards == text.metadata.counts.discards


def test_records_of_a_stated_struct_in_the_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "requests.bin"
    path.write_bytes(b"".join(struct.pack("<IQI2x", i, i % 3, 100) for i in range(9)))
    options = ("record=<IQI2x", "key=2", "length=3", "time=1", "time_unit=s")
    words = [word for option in options for word in ("--option", option)]
    code, out, err = call(
        capsys, "trace", "info", path, "--format", "binary", *words, "--json", "--quiet"
    )
    assert (code, err) == (0, "")
    (vm,) = json.loads(out)["vms"]
    assert (vm["requests"], vm["unique_blocks"]) == (9, 3)
