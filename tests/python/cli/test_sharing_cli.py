"""`mcsim whatif` and `mcsim mix`: what is printed, drawn, written and refused.

Trusts: a loop over four blocks and a scan, with hits counted by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from commands import cells, lines
from matplotlib import image
from pyarrow import csv

from mcsim.traces.trace import Trace

SECOND = 10**9


@pytest.fixture
def folder(folder: Path) -> Path:
    """A working directory with traces: two loops over 4 blocks 25 times, a scan of 400."""
    loop, scan = np.arange(100) % 4, np.arange(400)
    for begin, name in enumerate(("loop", "twin")):
        times = (4 * np.arange(100) + begin) * SECOND
        Trace.from_arrays(times, loop * 4096, 4096, vm=[0] * 100, vms=[name], source=name).save(
            folder / f"{name}.csv"
        )
    Trace.from_arrays(
        np.arange(400) * SECOND, scan * 4096, 4096, vm=[0] * 400, vms=["scan"], source="scan"
    ).save(folder / "scan.csv")
    rows = "".join(f"{block * 4096},4096\n" for block in loop)
    (folder / "unclocked.csv").write_text("offset,length\n" + rows)
    return folder


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    return partial(lines, capsys)


@pytest.fixture
def printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    return partial(commands.printed, capsys)


def test_a_cache_as_it_is(printed: Any) -> None:
    arguments = ("whatif", "loop.csv", "scan.csv", "--size", "32KiB")
    out = printed(*arguments, "-o", "results")
    assert out[0].startswith("loop, scan: 2 VMs, reads, 500 accesses to 404 blocks of 4KiB")
    ends = out.index("misses by cause, % of the accesses:")
    hits, causes = out[:ends], out[ends:]
    first = next(i for i, line in enumerate(hits) if line.split()[0] == "loop")
    heads = " ".join(hits[1:first]).split()
    named = "VM accesses blocks shared % equal part alone % all of it alone %"
    assert sorted(heads) == sorted(named.split())
    assert cells(hits, "loop") == ["loop", "100", "4", "0.00", "96.00", "96.00"]
    assert cells(hits, "scan") == ["scan", "400", "400", "0.00", "0.00", "0.00"]
    assert ["all", "500", "404", "0.00", "19.20", "–"] in [line.split() for line in out]
    # The loop has four first accesses; all its other misses are due to the scan.
    assert cells(causes, "loop") == ["loop", "100.00", "4.00", "0.00", "96.00"]
    assert cells(causes, "scan") == ["scan", "100.00", "100.00", "0.00", "0.00"]
    assert ["all", "100.00", "80.80", "0.00", "19.20"] in [line.split() for line in causes]
    text = "\n".join(out)
    assert "32 KiB (8 blocks): no verdict, because one VM decides the total" in out
    assert "VM scan makes 80.0 % of the accesses and hits nothing even alone" in text
    assert "the others hit 0.00 % shared, and 96.00 % in equal parts alone" in text
    assert (
        "thrashed by the others, hits less than in an equal part alone: loop (0.00 % instead of "
        "96.00 %)" in text
    )
    written = [f"results/loop+scan-whatif.{ending}" for ending in ("png", "svg", "csv")]
    assert out[-3:] == written
    assert image.imread(written[0]).std() > 0
    table = csv.read_csv(written[2])
    assert table["vm"].to_pylist() == ["loop", "scan"]
    assert table["thrashed"].to_pylist() == [True, False]
    # Without -o it prints the same, and writes nothing.
    assert printed(*arguments) == out[:-3]


def test_a_size_is_judged_where_no_vm_decides(printed: Any) -> None:
    # The same loop twice: between two accesses to a block of one are three others and four.
    text = "\n".join(printed("whatif", "loop.csv", "twin.csv", "--size", 6))
    assert "24 KiB (6 blocks) is too small: it hits 0.00 %, 0 % of what any cache does" in text
    assert "half of it hits 0.00 %, twice as much 96.00 %" in text
    assert "next knee at 32 KiB (8 blocks), 1.33 times the size: 96.00 %, +96.00 points" in text
    assert "all there is to hit needs 32 KiB (8 blocks): 96.00 %, +96.00 points" in text


def test_a_vm_leaves(printed: Any) -> None:
    arguments = ("loop.csv", "scan.csv", "--size", 8, "--leaving", "scan", "-o", "results")
    out = printed("whatif", *arguments)
    assert out[0] == "the same VM hits +96.00 points after the change"
    assert cells(out, "loop")[3:] == ["0.00", "96.00", "96.00", "96.00", "+96.00"]
    assert cells(out, "scan")[3:] == ["0.00", "0.00", "–", "–", "–"]
    assert cells(out, "before")[-7:] == ["100", "4", "0.00", "–", "96.00", "–", "+96.00"]
    total = "all VMs together: +96.00 points, +0.00 of them because other VMs are counted"
    assert total in out
    assert "before: thrashed by the others" in "\n".join(out)
    assert "after: 32 KiB (8 blocks) is too large: it hits 96.00 %, 100 % of" in "\n".join(out)
    assert "after: thrashed" not in "\n".join(out)
    assert out[-1] == "results/loop+scan-whatif.csv"


def test_a_vm_that_hits_nothing_leaves_and_no_vm_gains(printed: Any) -> None:
    arguments = ("loop.csv", "scan.csv", "--size", 20, "--leaving", "scan")
    out = printed("whatif", *arguments)
    assert "the same VM hits +0.00 points after the change" in out
    together = "all VMs together: +76.80 points, +76.80 of them because other VMs are counted"
    assert together in out
    assert next(line.split() for line in out if line.startswith("all  "))[-1] == "–"
    told = json.loads("\n".join(printed("whatif", *arguments, "--json")))
    assert told["change"]["vms"] == ["loop"]
    assert told["change"]["population"] == pytest.approx(0.768)


def test_a_vm_joins_and_the_cache_grows(printed: Any) -> None:
    arguments = ("loop.csv", "scan.csv", "--size", 8, "--to", "+12", "--joining", "scan")
    out = printed("whatif", *arguments)
    assert cells(out, "loop")[3:] == ["96.00", "96.00", "96.00", "96.00", "0.00"]
    assert cells(out, "scan")[3:5] == ["–", "–"]


def test_json(printed: Any) -> None:
    arguments = ("loop.csv", "scan.csv", "--size", 8, "--to", "+150%", "--json")
    out = printed("whatif", *arguments)
    told = json.loads("\n".join(out))
    assert told["trace"] == "loop, scan"
    assert told["before"]["verdict"]["judgement"] == "decided by one VM"
    assert told["before"]["vms"][0]["thrashed"] is True
    assert told["after"]["blocks"] == 20
    assert told["after"]["hit_ratio"] == 0.192


def test_traces_without_a_clock_share_by_rates(run: Any, printed: Any) -> None:
    code, _, err = run("whatif", "unclocked.csv", "scan.csv", "--size", 8)
    assert code == 2
    assert " has none: they do not merge" in err
    out = printed("whatif", "unclocked.csv", "scan.csv", "--size", 20, "--order", "rates")
    ends = out.index("misses by cause, % of the accesses:")
    assert cells(out[:ends], "unclocked")[3] == "96.00"


def test_traces_of_different_years_are_told(run: Any, folder: Path) -> None:
    later = (10_000 + np.arange(9)) * SECOND
    Trace.from_arrays(later, 0, 4096, vm=[0] * 9, vms=["later"], source="later").save(
        folder / "later.csv"
    )
    said = "no two traces overlap in time; --order rates has them all at once"
    assert said in run("whatif", "loop.csv", "later.csv", "--size", 8)[2]
    assert said not in run("whatif", "loop.csv", "later.csv", "--size", 8, "--order", "rates")[2]
    assert said not in run("whatif", "loop.csv", "scan.csv", "--size", 8)[2]


def test_a_cache_shared_or_divided(printed: Any) -> None:
    out = printed("mix", "loop.csv", "scan.csv", "--sizes", "8,20", "--linear", "-o", "results")
    sizes = [line.split() for line in out if line.split()[1:3] == ["KiB", "8"]]
    assert sizes == [["32", "KiB", "8", "0.00", "19.20", "19.20", "80", "KiB", "+150.0"]]
    assert cells(out, "80")[3:] == ["19.20", "19.20", "19.20", "80", "KiB", "0.0"]
    assert float(cells(out, "loop")[2]) >= 50
    assert out[0] == (
        "No verdict at 2 of 2 sizes, because one VM decides the total: VM scan makes 80.0 % of "
        "the accesses and hits nothing even alone in 20 blocks; there the others hit 96.0 % "
        "shared and 96.0 % in the best parts."
    )
    written = [f"results/loop+scan-mix.{ending}" for ending in ("png", "svg", "csv")]
    assert out[-3:] == written
    assert image.imread(written[0]).std() > 0
    table = csv.read_csv(written[2])
    assert table["effective"].to_pylist() == [20, 20]
    assert table["part of loop"].to_pylist()[0] >= 4


def test_one_vm_has_nobody_to_share_with(printed: Any) -> None:
    out = printed("mix", "loop.csv", "--sizes", "2,8")
    assert out[0] == "One VM has the whole cache: there is nothing to divide."


WRONG = [
    (("whatif", "loop.csv"), "Missing option '--size'"),
    (("whatif",), "Missing argument 'TRACE...'"),
    (("mix",), "Missing argument 'TRACE...'"),
    (("whatif", "none.csv", "--size", 8), "none.csv"),
    (("whatif", "loop.csv", "--size", 0), "size: at least 1 block, got '0'"),
    (("whatif", "loop.csv", "--size", "3KiB"), "size: '3KiB' is less than a block of 4096 bytes"),
    (("whatif", "loop.csv", "--size", 8, "--to", "-8"), "to: -8 leaves nothing of 8 blocks"),
    (
        ("whatif", "loop.csv", "scan.csv", "--size", 8, "--leaving", "scam"),
        "no VM 'scam' (did you mean 'scan'?)",
    ),
    (("whatif", "loop.csv", "--size", 8, "--leaving", "loop"), "no VM is left to share the cache"),
    (("whatif", "loop.csv", "--size", 8, "--block-bytes", "x"), "--block-bytes: expected a size"),
    (("mix", "loop.csv", "--sizes", "0"), "--sizes: at least 1 block, got '0'"),
    (("mix", "loop.csv", "--sizes", "lots"), "--sizes: expected a size"),
    (("mix", "loop.csv", "--units", "0"), "0 is not in the range x>=1"),
    (("mix", "loop.csv", "--vms", "lop"), "no VM 'lop' (did you mean 'loop'?)"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be(run: Any, arguments: tuple[object, ...], message: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
