"""`mcsim trace info | convert | slice`: what is printed, written, and refused.

Trusts: a trace of five requests, written and counted by hand.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import code_of, environment

from mcsim.traces.trace import Trace

HOUR = 3600 * 10**9
ROWS = f"""time_ns,vm,op,offset,length
0,web_0,read,0,8192
{HOUR},web_0,write,4096,4096
{HOUR},web_1,read,0,4096
{2 * HOUR},web_0,read,0,4096
{10 * HOUR},web_0,read,40960,0
"""


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "web.csv"
    path.write_text(ROWS)
    return path


def run(*arguments: object) -> int:
    return code_of("trace", *arguments)


def test_info_shows_every_vm_and_the_total(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", file) == 0
    out = capsys.readouterr().out
    first = out.partition("access pattern:")[0]
    rows = {line.split()[0]: line.split() for line in first.splitlines()[1:]}
    # requests, reads, accesses, of reads, unique, unique of reads, footprint
    assert rows["web_0"][1:9] == ["4", "3", "4", "3", "2", "2", "8", "KiB"]
    assert rows["web_1"][1:9] == ["1", "1", "1", "1", "1", "1", "4", "KiB"]
    assert rows["total"][1:9] == ["5", "4", "5", "4", "3", "3", "12", "KiB"]
    assert rows["total"][9:11] == ["10", "h"]
    assert "format csv, times by clock" in out


def test_high_rates_have_no_exponent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "fast.csv"
    rows = "".join(f"{time * 374000},0,4096\n" for time in range(5))
    path.write_text(f"time_ns,offset,length\n{rows}")
    assert run("info", path) == 0
    assert "3,342/s" in capsys.readouterr().out


def test_info_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", file, "--json", "--block-bytes", "8KiB") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["total"]["unique_blocks"] == 2
    assert said["total"]["block_bytes"] == 8192
    assert [vm["name"] for vm in said["vms"]] == ["web_0", "web_1"]
    assert said["counts"]["requests"] == 5


def test_info_reports_skipped_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(ROWS + "oops\n")
    assert run("info", file, "--on-bad-line", "skip") == 0
    out = capsys.readouterr().out
    assert "\n1 row skipped (17 %)\n" in out
    assert f"{file}:7: expected a time in column 1 (time_ns), got 'oops'" in out


def test_convert(file: Path, tmp_path: Path) -> None:
    assert run("convert", file, tmp_path / "t.csv") == 0
    assert (tmp_path / "t.csv").read_text().splitlines()[:3] == [
        "time_ns,vm,op,offset,length,response_ns",
        "0,web_0,read,0,8192,-1",
        f"{HOUR},web_0,write,4096,4096,-1",
    ]


def test_convert_names_what_is_lost(file: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "mcsim", "trace", "convert", str(file)]
    given = ["--out-format", "oracle-general", "--block-bytes", "4KiB"]
    for more in (["t.oracleGeneral"], ["t.bin", *given]):
        done = subprocess.run(
            [*command, *more], capture_output=True, text=True, env=environment(), check=True
        )
        assert done.stdout == f"5 requests to {more[0]}\n"
        assert re.findall(r": oracle-general: (\w+)", done.stderr) == ["one", "writes", "the"]
    assert len((folder / "t.bin").read_bytes()) == 5 * 24  # one request has no block


def test_info_shows_what_is_stressed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", file) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.startswith("web_0")]
    # once, accesses once, top 1 %, top 10 %, Zipf, sequential, writes, bytes, half, last tenth
    assert rows[1] == [
        "web_0", "0.00", "0.00", "50.00", "50.00", "0", "0.00", "25.00", "25.00", "100.00", "0.00",
    ]  # fmt: skip
    assert all(len(line) <= 100 for line in out.partition("access pattern:")[2].splitlines())


def test_slice(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "part.arrow"
    arguments = ("--start", "30min", "--end", "10h", "--vms", "web_0", "--ops", "reads")
    assert run("slice", file, out, *arguments) == 0
    assert "1 of 5 requests" in capsys.readouterr().out
    (batch,) = Trace.open(out).batches()
    assert batch.time.tolist() == [2 * HOUR]


def test_slice_by_references(file: Path, tmp_path: Path) -> None:
    file.write_text("offset\n0\n4096\n0\n")
    out = tmp_path / "part.arrow"
    assert run("slice", file, out, "--start", "1 reference", "--end", "2 references") == 0
    (batch,) = Trace.open(out).batches()
    assert batch.offset.tolist() == [4096]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "nothing.csv"), "nothing.csv: no such file"),
        (("info", "web.csv", "--option", "offset"), "--option: expected NAME=VALUE, got 'offset'"),
        (("info", "web.csv", "--block-bytes", "4 kilo"), "--block-bytes: expected a size"),
        (("slice", "web.csv", "o.arrow", "--start", "5"), "--start: expected a length of time"),
        (("slice", "web.csv", "o.arrow", "--vms", "web_7"), "no VM 'web_7'"),
        (("convert", "web.csv", "web.csv"), "web.csv: an input of this command; name another"),
        (("slice", "web.csv", "./web.csv"), "web.csv: an input of this command"),
        (
            ("slice", "web.csv", "o.arrow", "--start", "2h", "--end", "1h"),
            "web.csv: no request is left (--start 2h, --end 1h, --ops all)",
        ),
        (("info", "web_9"), "web_9: no such file (give --trace-dir, or set MCSIM_TRACE_DIR)"),
        (("convert", "web.csv", "o.txt"), "o.txt: expected a name that ends in .arrow"),
        (
            ("convert", "web.csv", "o.bin", "--out-format", "lsc"),
            "--out-format: unknown choice 'lsc'",
        ),
        (("convert", "web.csv", "o.lcs", "--block-bytes", "0"), "--block-bytes: expected 1 byte"),
        (
            ("convert", "web.csv", "o.csv", "--block-bytes", "4KiB"),
            "--block-bytes: only oracle-general and lcs have blocks as objects",
        ),
    ],
)
def test_mistakes_end_in_one_line_and_code_2(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert run(*arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("mcsim: ")
    assert message in last


def test_traces_are_found_by_name(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    below = tmp_path / "traces" / "msr"
    below.mkdir(parents=True)
    file.rename(below / "fleet.csv")
    assert run("info", "fleet") == 2
    assert (
        "fleet: no such file (give --trace-dir, or set MCSIM_TRACE_DIR)" in capsys.readouterr().err
    )
    assert run("info", "fleet", "--trace-dir", tmp_path / "traces") == 0
    monkeypatch.setenv("MCSIM_TRACE_DIR", str(tmp_path / "traces"))
    assert run("info", "fleet") == 0
    assert capsys.readouterr().out.count("fleet.csv: blocks, format csv") == 2


def test_a_mapping_is_kept_and_used_again(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("7;x;0;4\n9;y;8;4\n")
    given = {"header": "false", "delimiter": ";", "time": "1", "time_unit": "ms", "vm": "2"}
    given |= {"offset": "3", "offset_unit": "sectors"}
    options = [word for k, v in given.items() for word in ("--option", f"{k}={v}")]
    mapping = tmp_path / "mine.yaml"
    assert run("info", file, "--format", "csv", *options, "--save", mapping) == 0
    first = capsys.readouterr().out
    assert run("info", file, "--mapping", mapping) == 0
    assert capsys.readouterr().out == first
    again = Trace.open(file, mapping=mapping)
    (batch,) = again.batches()
    assert (again.vms, batch.offset.tolist()) == (("x", "y"), [0, 4096])
    (batch,) = Trace.open(file, mapping=mapping, options={"time_unit": "s"}).batches()
    assert batch.time.tolist() == [7 * 10**9, 9 * 10**9]
    file.write_text("7,x,0,4\n")
    assert run("info", file, "--mapping", mapping) == 2
    assert f"it is read by the mapping {mapping}" in capsys.readouterr().err
    mapping.write_text("offset: [1]\n")
    assert run("info", file, "--mapping", mapping) == 2
    assert "mine.yaml:1: offset: expected a value, got [1]" in capsys.readouterr().err


def test_a_proposal_names_the_columns_that_it_does_not_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("ts,dev,lba,nsec,dir\n0.0,1,8,8,R\n0.5,1,16,8,W\n")
    assert run("map", file) == 0
    assert "columns not used: nsec\n" in capsys.readouterr().out
    assert "not used, though of numbers: nsec" in caplog.text
    file.write_text("time,vm,offset,length,op\n0.0,1,4096,4096,R\n0.5,1,8192,4096,W\n")
    assert run("map", file) == 0
    assert "columns not used" not in capsys.readouterr().out
