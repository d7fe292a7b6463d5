"""`mcsim trace misses`: what is written, printed, and refused.

Trusts: a trace of five requests written by hand, and `Trace`, which reads what is written.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import call, printed
from small import EXPERIMENTS, TINY

from mcsim.traces.trace import Trace

ROWS = """time_ns,vm,op,offset,length
0,web_0,read,0,8192
10,web_0,write,4096,4096
20,web_1,read,0,4096
30,web_0,read,0,4096
40,web_0,read,40960,4096
"""
TWO = ["--set", "workload.window.end=1h"]


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "web.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def tiny(folder: Path) -> Path:
    (folder / "workloads").mkdir()
    shutil.copy(TINY, folder / "workloads")
    return Path(shutil.copy(EXPERIMENTS / "tiny.yaml", folder))


def test_a_trace_through_one_cache(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, "trace", "misses", file, "out.csv", "--size", "12KiB")
    assert said == ["3 reads, 1 writes to out.csv"]
    assert Path("out.csv").read_text().splitlines() == [
        "time_ns,vm,op,offset,length,response_ns",
        "0,web_0,read,0,8192,-1",
        "10,web_0,write,4096,4096,-1",
        "20,web_1,read,0,4096,-1",
        "40,web_0,read,40960,4096,-1",
    ]
    more = ("--policy", "fifo", "--writes", "back", "--size", "2")
    said = printed(capsys, "trace", "misses", file, "out.csv", *more)
    assert said == ["4 reads, 1 writes to out.csv"]


RECORDS = {"lcs": (8192, 28), "oracleGeneral": (0, 24)}  # bytes of the header and of a record


@pytest.mark.parametrize("block", [512, 4096, 65536])
@pytest.mark.parametrize("ending", RECORDS)
def test_objects_are_the_blocks_of_the_cache(
    folder: Path, block: int, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """50 requests of a block each, all to different ones: each misses."""
    rows = [f"{i},read,{i * block},{block}" for i in range(50)]
    (folder / "t.csv").write_text("\n".join(["time_s,op,offset,length", *rows]) + "\n")
    head, record = RECORDS[ending]

    def records(name: str) -> int:
        return (Path(name).stat().st_size - head) // record

    size = ("--block-bytes", block)
    printed(capsys, "trace", "misses", "t.csv", f"m.{ending}", "--size", 5, *size)
    assert records(f"m.{ending}") == 50
    printed(capsys, "trace", "slice", "t.csv", f"s.{ending}", "--end", "20s", *size)
    assert records(f"s.{ending}") == 20
    printed(capsys, "trace", "convert", "t.csv", f"c.{ending}", *size)
    assert records(f"c.{ending}") == 50
    # A stored miss stream has the size of its blocks.
    printed(capsys, "trace", "misses", "t.csv", "m.arrow", "--size", 5, *size)
    printed(capsys, "trace", "slice", "m.arrow", f"t.{ending}", "--end", "20s")
    assert records(f"t.{ending}") == 20
    (folder / "e.yaml").write_text(
        f"name: e\nblock_bytes: {block}\nworkload: {{vms: [{{name: v, trace: t.csv}}]}}\n"
        "tiers: [{device: dram, capacity: 5}]\nbackend: hdd\ninterval: 1h\nsystems: [{name: lru}]\n"
    )
    printed(capsys, "trace", "misses", "e.yaml", f"e.{ending}")
    assert records(f"e.{ending}") == 50


@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv.zst"])
def test_every_form_opens_again(
    file: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, "trace", "misses", file, f"out.{ending}", "--size", "10%")
    assert Trace.open(f"out.{ending}").request_count == 5


def test_a_system_of_an_experiment(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("trace", "misses", tiny, "out.arrow", *TWO)
    said = printed(capsys, *arguments, "--system", "static")
    stream = Trace.open("out.arrow")
    assert said == [f"{stream.request_count:,} reads, 0 writes to out.arrow"]
    assert stream.metadata.synthetic
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert "system: name one of lru, static, multicache, multicache-joint" in err
    code, _, err = call(capsys, *arguments, "--system", "statik")
    assert code == 2
    assert "system: no 'statik' (did you mean 'static'?)" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["web.csv", "o.csv"], "web.csv: a trace needs --size"),
        (["tiny.yaml", "o.csv", "--size", "5"], "tiny.yaml: --size is for traces"),
        (["tiny.yaml", "o.csv", "--policy", "lru"], "--policy: only for traces"),
        (["web.csv", "o.csv", "--size", "5", "--system", "lru"], "--system: only for experiments"),
        (["web.csv", "o.txt", "--size", "5"], "o.txt: expected a name that ends in .arrow"),
        (["web.csv", "o.csv", "--size", "0"], "size: "),
        (["web.csv", "web.csv", "--size", "5"], "web.csv: an input of this command"),
        (["tiny.yaml", "tiny.yaml"], "tiny.yaml: expected a name that ends in .arrow"),
        (["none.csv", "o.csv", "--size", "5"], "none.csv"),
    ],
)
def test_refusals(
    arguments: list[str], message: str, file: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(capsys, "trace", "misses", *arguments)
    assert code == 2
    assert message in err
    assert not Path("o.csv").exists()
    assert file.read_text() == ROWS


def test_no_misses_are_no_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--size", "5", "--ops", "writes", "--writes", "back")
    code, _, err = call(capsys, "trace", "misses", file, "o.csv", *arguments)
    assert code == 2
    assert "no request reaches the backend: o.csv is not written" in err
    assert not Path("o.csv").exists()
