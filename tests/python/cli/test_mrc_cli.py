"""`mcsim mrc` and `mcsim size`: what is printed, drawn, written and refused.

Trusts: a loop over four blocks and one over two, with hits counted by hand;
matplotlib's own record of what it plots.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pyarrow as pa
import pytest
from commands import cells, lines, python
from layout import check_layout
from matplotlib import image
from pyarrow import csv
from small import TINY

from mcsim.base.errors import ConfigError
from mcsim.figures import locality as pictures
from mcsim.figures.style import styled
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import estimate, estimator_names
from mcsim.locality.measure import parse_estimators
from mcsim.traces.trace import Trace

MINUTE = 60 * 10**9


def loops() -> Trace:
    """VM a loops five times over four blocks, VM b ten times over two; a writes at the end."""
    rows = [(2 * i, 0, 0, i % 4) for i in range(20)] + [(2 * i + 1, 1, 0, i % 2) for i in range(20)]
    rows = [*sorted(rows), (40, 0, 1, 7)]
    time, vm, op, block = np.array(rows).T
    return Trace.from_arrays(
        time * MINUTE, block * 4096, 4096, vm=vm, op=op, vms=("a", "b"), source="loops"
    )


@pytest.fixture
def folder(folder: Path) -> Path:
    """A working directory with a trace of two VMs."""
    loops().save(folder / "loops.csv")
    return folder


@pytest.fixture
def run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    return partial(lines, capsys)


@pytest.fixture
def printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    return partial(commands.printed, capsys)


def test_one_curve(run: Any, folder: Path) -> None:
    arguments = ("mrc", "loops.csv", "--sizes", "1,2,5,24KiB,100%")
    code, out, err = run(*arguments, "-o", "results")
    assert code == 0
    assert "estimate exact" in err
    assert out[0].startswith("loops: 2 VMs, reads, 40 accesses to 6 blocks of 4KiB (24 KiB); exact")
    assert out[1].split() == ["size", "blocks", "hit", "%"]
    # a and b take turns: b's blocks come back after 3 others, a's after 5.
    ratios = [line.split()[2:] for line in out[2:6]]
    assert ratios == [["1", "0.00"], ["2", "0.00"], ["5", "45.00"], ["6", "85.00"]]
    names = [f"results/loops-mrc.{ending}" for ending in ("png", "svg", "csv", "arrow")]
    assert out[6] == "requests and bytes: the same"
    assert out[7:] == names
    with pa.OSFile("results/loops-mrc.arrow", "rb") as file:
        curve = HitRatioCurve.from_arrow(pa.ipc.open_file(file).read_all())
    assert curve.capacities.tolist() == [0, 4, 6]
    assert curve.hits.tolist() == [0, 18, 34]
    assert curve.block_bytes == 4096
    assert csv.read_csv("results/loops-mrc.csv")["ratio"].to_pylist()[-1] == 0.85
    assert image.imread("results/loops-mrc.png").std() > 0
    shutil.rmtree("results")
    # Without -o it prints the same, and writes nothing.
    assert run(*arguments)[1] == out[:7]
    assert not Path("results").exists()


def test_what_is_made_of_a_generated_trace_says_so(run: Any, printed: Any) -> None:
    profile = TINY
    assert run("trace", "synth", profile, "made.arrow")[0] == 0
    for command, *options in (["mrc"], ["size", "--target-hit-ratio", "0.01"]):
        out = printed(command, "made.arrow", *options)
        assert any(line.startswith("made (synthetic): ") for line in out[:2])


def test_by_vm(printed: Any) -> None:
    out = printed("mrc", "loops.csv", "--per-vm", "--sizes", "2,4,6", "-o", "results")
    assert cells(out, "a")[1:] == ["20", "4", "0.00", "80.00", "80.00"]
    assert cells(out, "b")[1:] == ["20", "2", "90.00", "90.00", "90.00"]
    assert cells(out, "all,")[-3:] == ["0.00", "45.00", "85.00"]
    table = csv.read_csv("results/loops-mrc-per-vm.csv")
    assert set(table["curve"].to_pylist()) == {"a", "b", "all, sharing one cache"}
    assert Path("results/loops-mrc-per-vm.png").is_file()


def test_by_interval(printed: Any) -> None:
    arguments = ("loops.csv", "--interval", "20min", "--ops", "all", "--sizes", "6")
    out = printed("mrc", *arguments, "-o", "results")
    # Every interval is cold anew: 6 of 20 accesses are first ones.
    assert cells(out, "0min")[1:] == ["20", "6", "70.00"]
    assert cells(out, "20min")[1:] == ["20", "6", "70.00"]
    assert cells(out, "40min")[1:] == ["1", "1", "0.00"]
    assert Path("results/loops-all-mrc-intervals.png").is_file()


def test_adjacent_empty_intervals_are_one(printed: Any) -> None:
    Path("gap.csv").write_text(
        "time_s,vm,op,offset,length\n0,a,r,0,4096\n36000000,a,r,4096,4096\n36000001,a,r,0,4096\n"
    )
    out = printed("mrc", "gap.csv", "--interval", "1h", "--sizes", "2", "-o", "results")
    rows = [line.split() for line in out if re.match(r"\d+h ", line)]
    assert rows == [
        ["0h", "1", "1", "0.00"],
        ["1h", "0", "0", "-"],
        ["10000h", "2", "2", "0.00"],
    ]
    curves = csv.read_csv("results/gap-mrc-intervals.csv")["curve"].to_pylist()
    assert set(curves) == {"0h", "1h", "10000h"}


def test_hits_of_requests_and_bytes(printed: Any) -> None:
    """The second request hits one of its two blocks, the third a quarter of a block."""
    Path("two.csv").write_text(
        "time_s,vm,op,offset,length\n0,a,r,0,4096\n1,a,r,0,8192\n2,a,r,4096,1024\n"
    )
    out = printed("mrc", "two.csv", "--sizes", "1,2")
    assert out[-1].split() == ["8", "KiB", "2", "50.00", "33.33", "38.46"]
    rows = json.loads("".join(printed("mrc", "two.csv", "--json")))["rows"]
    last = rows[-1]
    assert (last["ratio"], last["request_hits"], last["byte_hits"]) == (0.5, 1, 5120)
    assert last["request_hit_ratio"] == pytest.approx(1 / 3)
    assert last["byte_hit_ratio"] == pytest.approx(5120 / 13312)


def test_policies_are_compared_by_requests_or_bytes(printed: Any) -> None:
    Path("two.csv").write_text(
        "time_s,vm,op,offset,length\n0,a,r,0,4096\n1,a,r,0,8192\n2,a,r,4096,1024\n"
    )
    asked = ("compare", "two.csv", "--policies", "lru,fifo", "--sizes", "2")
    for by, ratio in ((), "50.00"), (("--by", "requests"), "33.33"), (("--by", "bytes"), "38.46"):
        assert cells(printed(*asked, *by), "lru")[1] == ratio
    row = json.loads("".join(printed(*asked, "--json")))["rows"][0]
    ratios = [row[name] for name in ("hit_ratio", "request_hit_ratio", "byte_hit_ratio")]
    assert ratios == pytest.approx([0.5, 1 / 3, 5120 / 13312])


def test_a_warm_up_is_replayed_and_not_counted(run: Any, printed: Any) -> None:
    """VM b begins anew after its first ten accesses, VM a after 10 of 20."""
    asked = ("mrc", "loops.csv", "--sizes", "2,6", "--warm-up", "20min")
    out = printed(*asked, "-o", "results")
    assert "20 accesses after a warm-up of 20 to 6 blocks" in out[0]
    assert [line.split()[2:] for line in out[2:4]] == [["2", "0.00"], ["6", "100.00"]]
    assert Path("results/loops-after-20min-mrc.csv").is_file()
    row = json.loads("".join(printed(*asked, "--json")))["rows"][-1]
    assert (row["hits"], row["ratio"]) == (20, 1)
    out = printed("mrc", "loops.csv", "--sizes", "4,6", "--warm-up", "loops.csv", "--per-vm")
    assert cells(out, "a")[1:] == ["20", "4", "100.00", "100.00"]
    out = printed("compare", "loops.csv", *asked[2:], "--policies", "fifo,lru")
    assert cells(out, "fifo")[1:3] == ["0.00", "100.00"]
    for more, message in (
        (["--interval", "20min"], "--warm-up: not with --interval"),
        (["--policies", "lru", "--mini", "0.5"], "--warm-up: not with --mini"),
    ):
        code, _, err = run(*asked, *more)
        assert (code, message in err) == (2, True)
    for warm_up, message in (
        ("100h", "warm_up: the trace ends before 100h are over"),
        ("nowhere.csv", "nowhere.csv"),
        ("5 references", "the trace has a clock"),
    ):
        code, _, err = run("mrc", "loops.csv", "--warm-up", warm_up)
        assert (code, message in err) == (2, True), err


@pytest.mark.parametrize("warm_up", ["3", "3 requests", "90%", "1x", "-5h", "1,000"])
@pytest.mark.parametrize("command", ["mrc", "distances", "compare"])
def test_a_wrong_length_of_a_warm_up_is_no_file(command: str, warm_up: str, run: Any) -> None:
    code, _, err = run(command, "loops.csv", "--warm-up", warm_up)
    expected = "--warm-up: expected a length such as 1h, or '50000 references' without a clock, or"
    assert code == 2
    assert f"{expected} a trace; got {warm_up!r}" in err


def test_a_warm_up_may_be_a_file_with_the_name_of_a_length(folder: Path, printed: Any) -> None:
    shutil.copy("loops.csv", "3")
    assert "after a warm-up of 40" in printed("mrc", "loops.csv", "--warm-up", "3")[0]


@pytest.mark.parametrize(
    "more", [(), ("--per-vm",), ("--interval", "20min"), ("--compare", "aet,shards")]
)
def test_programs_get_the_requested_sizes(more: tuple[str, ...], printed: Any) -> None:
    asked = ("mrc", "loops.csv", "--sizes", "5,2,100%", *more)
    rows = json.loads("".join(printed(*asked, "--json")))["rows"]
    curves = max(1, len({row.get("curve") for row in rows}))
    assert [row["capacity"] for row in rows] == [2, 5, 6] * curves
    table = csv.read_csv(pa.BufferReader("\n".join(printed(*asked, "--csv")).encode()))
    assert table["capacity"].to_pylist() == [2, 5, 6] * curves
    assert table["hits"].to_pylist() == pytest.approx([row["hits"] for row in rows])


def test_programs_get_the_notes_of_estimators(folder: Path, printed: Any) -> None:
    rows = "0,read,0\n1,read,4096\n2,discard,0\n3,read,0\n4,read,4096\n"
    (folder / "gone.csv").write_text("time_s,op,offset,length\n" + rows.replace("\n", ",4096\n"))
    ignored = "1 discarded blocks ignored"
    assert ignored in printed("mrc", "gone.csv", "--estimator", "aet")
    for command in ("mrc", "distances"):
        asked = (command, "gone.csv", "--estimator", "aet")
        rows = json.loads("".join(printed(*asked, "--json")))["rows"]
        assert {row["note"] for row in rows} == {ignored}
        assert ignored in printed(*asked, "--csv")[1]
    rows = json.loads("".join(printed("mrc", "gone.csv", "--compare", "aet", "--json")))["rows"]
    assert {(row["curve"], row["note"]) for row in rows} == {("exact", ""), ("aet", ignored)}


def test_hits_of_prefix_hashes_are_of_blocks(folder: Path, printed: Any) -> None:
    (folder / "p.jsonl").write_text(
        '{"timestamp":0,"hash_ids":[1,2,3]}\n{"timestamp":1,"hash_ids":[9,2,3]}\n'
    )
    note = "hits are of blocks, not of prefixes"
    for command, *more in (["mrc"], ["compare", "--policies", "lru"], ["distances"], ["mix"]):
        assert any(note in line for line in printed(command, "p.jsonl", *more)), command
    assert any("not of prefixes" in line for line in printed("trace", "info", "p.jsonl"))
    named = ("time=timestamp", "time_unit=ms", "key=hash_ids")
    fields = [word for option in named for word in ("--option", option)]
    assert any(note in line for line in printed("mrc", "p.jsonl", "--format", "jsonl", *fields))
    assert any(note in line for line in printed("describe", "mooncake"))
    assert not any(note in line for line in printed("mrc", "loops.csv"))


def test_distances(run: Any, printed: Any) -> None:
    """Blocks of a come back after 5 others, those of b after 3."""
    out = printed("distances", "loops.csv", "-o", "results")
    assert cells(out, "2–3")[1:6] == ["18", "45.00", "16", "KiB", "45.00"]
    assert cells(out, "4–7")[1:6] == ["16", "40.00", "32", "KiB", "85.00"]
    assert cells(out, "first")[2:4] == ["6", "15.00"]
    every = pa.ipc.open_file("results/loops-distances.arrow").read_all()
    assert every["distance"].to_pylist() == [3, 5]
    assert every["accesses"].to_pylist() == [18, 16]
    assert Path("results/loops-distances.svg").is_file()
    rows = json.loads("".join(printed("distances", "loops.csv", "--warm-up", "20min", "--json")))
    counts = {row["from"]: row["accesses"] for row in rows["rows"]}
    assert counts == {0: 0, 1: 0, 2: 10, 4: 10, -1: 0}
    sampled = printed("distances", "loops.csv", "--estimator", "shards-rate(rate=1)")
    assert cells(sampled, "2–3")[1] == "18"
    Path("objects.csv").write_text(OBJECTS)
    assert "2 objects" in "".join(printed("distances", "objects.csv"))
    assert run("distances", "nowhere.csv")[0] == 2


def test_what_policies_gain_on_another(run: Any, printed: Any) -> None:
    asked = ("compare", "loops.csv", "--vms", "b", "--sizes", "1,2", "--against", "lru")
    out = printed(*asked, "--policies", "mru,fifo", "-o", "results")
    assert out[0] == "No difference."
    assert cells(out, "lru")[1:] == ["0.00", "90.00"]
    assert cells(out, "mru")[1:] == ["+0.00", "+0.00"]
    assert Path("results/loops-b-policies-gains.png").is_file()
    out = printed("compare", "loops.csv", "--sizes", "3,4", "--against", "lru", "--policies", "mru")
    rows = json.loads(
        "".join(
            printed(
                *("compare", "loops.csv", "--sizes", "3,4", "--against", "lru"),
                *("--policies", "lru,mru", "--by", "requests", "--json"),
            )
        )
    )["rows"]
    ratios = {(row["policy"], row["capacity"]): row["request_hit_ratio"] for row in rows}
    for row in rows:
        gain = ratios[row["policy"], row["capacity"]] - ratios["lru", row["capacity"]]
        assert row["gain"] == pytest.approx(gain)
    assert ratios["mru", 3] > ratios["lru", 3]
    assert f"largest gain: `mru`, {100 * (ratios['mru', 3] - ratios['lru', 3]):+.2f}" in out[0]
    assert out[0].endswith("; `mru` hits more than `lru` at every size.")
    code, _, err = run(*asked, "--policies", "fifo", "--against", "nope")
    assert (code, "--against: unknown eviction policy 'nope'" in err) == (2, True)


OBJECTS = "time_s,key,size\n1,5,110\n2,4,110\n3,6,110\n4,4,111\n5,7,112\n6,4,111\n"


def test_object_traces_have_sizes_in_bytes_where_objects_do(run: Any, printed: Any) -> None:
    Path("objects.csv").write_text(OBJECTS)
    out = printed("mrc", "objects.csv", "--sizes", "1,50%,4")
    assert "6 accesses to 4 objects" in out[0]
    assert cells(out, "4")[-2:] == ["33.33", "33.43"]
    out = printed("mrc", "objects.csv", "--sizes", "1GiB")
    assert "1,073,741,824   33.33 33.43" in "".join(out)
    code, out, message = run("whatif", "objects.csv", "--size", "1GiB", "--to", "+10%")
    assert code == 2
    assert "of objects in an object trace, or shares (10%)" in message + "".join(out)
    assert "2 objects" in "".join(printed("size", "objects.csv", "--target-hit-ratio", "30%"))
    code, out, message = run("size", "objects.csv", "--target-latency", "1ms")
    assert (code, "an object trace" in message + "".join(out)) == (2, True)
    code, out, message = run("tune", "objects.csv", "--size", "16MiB")
    assert (code, "no size of blocks to tune" in message + "".join(out)) == (2, True)


def test_files_say_of_which_references_they_are(run: Any) -> None:
    for arguments in ([], ["--ops", "all"], ["--block-bytes", "8KiB"], ["--vms", "a"]):
        assert run("mrc", "loops.csv", *arguments, "-o", "results")[0] == 0
    names = {path.stem for path in Path("results").glob("*.csv")}
    assert names == {"loops-mrc", "loops-all-mrc", "loops-8KiB-mrc", "loops-a-mrc"}
    ops = {name: csv.read_csv(f"results/{name}.csv")["ops"].to_pylist()[0] for name in names}
    assert ops["loops-mrc"] == "reads"
    assert ops["loops-all-mrc"] == "all"
    assert csv.read_csv("results/loops-8KiB-mrc.csv")["block_bytes"].to_pylist()[0] == 8192
    assert run("mrc", "loops.csv", "--vms", "c*")[0] == 2


def test_comparison(run: Any) -> None:
    names = ",".join(estimator_names())
    code, out, _ = run("mrc", "loops.csv", "--compare", names, "-o", "results")
    assert code == 0
    for name in estimator_names():
        assert 0 <= float(cells(out, name)[1].replace("-", "0")) <= 1
    assert Path("results/loops-mrc-compare.svg").is_file()


def test_several_traces_share_a_cache_by_time(printed: Any, folder: Path) -> None:
    trace = loops()
    for vm in trace.vms:
        trace.slice(vms=[vm]).save(folder / f"{vm}.arrow")
    out = printed("mrc", "a.arrow", "b.arrow", "--sizes", "5,6")
    assert out[0].startswith("a, b: 2 VMs, reads, 40 accesses to 6 blocks")
    assert [line.split()[-1] for line in out[2:4]] == ["45.00", "85.00"]


def test_each_trace_has_a_curve_of_its_own(run: Any, folder: Path) -> None:
    trace = loops()
    for vm in trace.vms:
        trace.slice(vms=[vm]).save(folder / f"{vm}.arrow")
    writes = "time_s,op,offset,length\n0,w,0,4096\n"
    (folder / "writes.csv").write_text(writes)
    arguments = ("mrc", "a.arrow", "b.arrow", "loops.csv", "writes.csv", "--each")
    code, out, err = run(*arguments, "--sizes", "50%,log(2,4,2),100%", "-o", "results")
    assert code == 0
    assert "left out: writes.csv: there are no reads" in err
    assert out[0].endswith("reads in blocks of 4KiB, each trace alone; exact")
    assert cells(out, "trace")[3:] == ["50%", "2", "4", "100%"]
    # 50 % are 2 of 4 blocks, 1 of 2, and 3 of 6.
    assert cells(out, "a") == ["a", "20", "4", "0.00", "0.00", "80.00", "80.00"]
    assert cells(out, "b") == ["b", "20", "2", "0.00", "90.00", "90.00", "90.00"]
    assert cells(out, "loops") == ["loops", "40", "6", "0.00", "0.00", "45.00", "85.00"]
    drawn = csv.read_csv("results/a+b+loops-and-1-more-mrc-each.csv")
    assert set(drawn["curve"].to_pylist()) == {"a", "b", "loops"}
    out = run(*arguments, "--sizes", "50%,100%", "--json")[1]
    rows = json.loads("\n".join(out))["rows"]
    assert [(row["curve"], row["capacity"]) for row in rows] == [
        *(("a", 2), ("a", 4), ("b", 1), ("b", 2)),
        *(("loops", 3), ("loops", 6)),
    ]
    (folder / "keys.csv").write_text("key\n1\n")
    assert run(*arguments[:2], "keys.csv", "--each")[2].endswith(
        "mcsim: --each: keys has objects, and others have blocks\n"
    )


def test_the_smallest_size_for_a_hit_ratio(printed: Any) -> None:
    out = printed("size", "loops.csv", "--target-hit-ratio", "40%")
    assert out[0] == "a hit ratio of 0.4: 16 KiB (4 blocks)"
    target = next(line for line in out if line.rstrip().endswith("the target"))
    # 0.45 of 25 us and 0.55 of 6.5 ms.
    assert target.split()[:6] == ["16", "KiB", "4", "45.00", "3.59", "ms"]


def test_stages_as_json(run: Any) -> None:
    """The trace is written to the cache the first time alone."""
    for command in (["mrc"], ["compare", "--sizes", "2 blocks"]):
        (name, *options) = command
        Path("loops.csv").write_text(Path("loops.csv").read_text() + "\n")
        for stages in ({"parse", "store", "intern"}, {"parse", "intern"}):
            _, printed, _ = run(name, "loops.csv", *options, "--json")
            seconds = json.loads("\n".join(printed))["stages"]
            assert stages <= seconds.keys()
            assert ("store" in seconds) == ("store" in stages)
            assert all(second >= 0 for second in seconds.values())


def test_the_smallest_size_for_a_latency_as_json(printed: Any) -> None:
    out = printed("size", "loops.csv", "--target-latency", "1ms", "--tier", "dram", "--json")
    said = json.loads("\n".join(out))
    assert said["blocks"] == 6
    assert said["target_hit_ratio"] == pytest.approx((6.5e6 - 1e6) / (6.5e6 - 30))
    assert said["best_latency_ns"] == pytest.approx(0.85 * 30 + 0.15 * 6.5e6)
    assert said["knees"] == [
        {"blocks": 6, "hit_ratio": 0.85, "latency_ns": said["best_latency_ns"]}
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            ["--target-hit-ratio", "0.9"],
            "no cache reaches a hit ratio of 0.9: the best is hit ratio 85.00 %, at 6 blocks",
        ),
        (
            ["--target-latency", "200us"],
            "no cache reaches a mean latency of 200us: the best is 996 us (hit ratio 85.00 %)",
        ),
        (
            ["--target-latency", "20us"],
            "no cache reaches a mean latency of 20us: flash itself takes 25.0 us",
        ),
    ],
)
def test_what_cannot_be_reached_is_said(run: Any, target: list[str], message: str) -> None:
    code, out, err = run("size", "loops.csv", *target)
    assert code == 2
    assert message in err.splitlines()[-1]
    assert any("all there is to hit" in line or "knee" in line for line in out)


def test_writes_wait_as_their_mode_says(printed: Any) -> None:
    """One of 41 accesses writes, at the end, to a block of its own; four blocks hit 18 reads."""

    def size(*arguments: str) -> Any:
        target = ("--target-latency", "3.6ms", "--ops", "all", "--json")
        return json.loads("\n".join(printed("size", "loops.csv", *target, *arguments)))

    through, back, around = (
        size("--writes", mode) if mode else size() for mode in (None, "back", "around")
    )
    assert (through["writes"], back["writes"], around["writes"]) == ("through", "back", "around")
    waits = (34 * 25e3 + 6 * 6.5e6 + 6.5e6) / 41
    assert through["best_latency_ns"] == around["best_latency_ns"] == pytest.approx(waits)
    assert back["best_latency_ns"] == pytest.approx((34 * 25e3 + 6 * 6.5e6 + 200e3) / 41)
    assert (18 * 25e3 + 22 * 6.5e6 + 6.5e6) / 41 > 3.6e6
    assert (18 * 25e3 + 22 * 6.5e6 + 200e3) / 41 < 3.6e6
    assert (through["blocks"], back["blocks"], around["blocks"]) == (6, 4, 6)


def test_hits_of_writes_are_no_hits_of_reads_by_estimate(run: Any, printed: Any) -> None:
    code, out, _ = run(
        "size", "loops.csv", "--target-hit-ratio", "40%", "--ops", "all", "--estimator", "aet"
    )
    assert code == 0
    assert all("ms" not in line and "us" not in line.split() for line in out[3:])


def test_a_backend_fast_enough_needs_no_cache(printed: Any) -> None:
    out = printed("size", "loops.csv", "--target-latency", "10ms")
    assert out[0] == "a mean latency of 10ms: 0 B (0 blocks)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mrc", "nothing.csv"], "nothing.csv: no such file"),
        (["mrc", "loops.csv", "--estimator", "exat"], "unknown estimator 'exat' (did you mean 'ex"),
        (["mrc", "loops.csv", "--estimator", "exact(rate=1)"], "exact: unknown parameter 'rate'"),
        (["mrc", "loops.csv", "--estimator", "exact(rate)"], "exact: expected PARAM=VALUE, got"),
        (["mrc", "loops.csv", "--compare", "exact,nope"], "unknown estimator 'nope'"),
        (["mrc", "loops.csv", "--compare", ","], "--compare: expected names of estimators"),
        (["mrc", "loops.csv", "--block-bytes", "4 kilo"], "--block-bytes: expected a size"),
        (["mrc", "loops.csv", "--sizes", "3KiB"], "--sizes: '3KiB' is less than a block of 4096"),
        (
            ["mrc", "loops.csv", "--sizes", "120%"],
            "1GiB or 10%, got '120%'",
        ),
        (["mrc", "loops.csv", "--interval", "0h"], "--interval: must be positive"),
        (["mrc", "loops.csv", "--interval", "5"], "--interval: expected a length of time"),
        (["mrc", "loops.csv", "--interval", "5 references"], "has a clock: give a length such as"),
        (["mrc", "loops.csv", "--interval", "1h", "--per-vm"], "--per-vm and --interval: one at"),
        (["mrc", "empty.csv"], "empty.csv: there are no reads (try ops all)"),
        (
            ["mrc", "loops.csv", "keys.csv"],
            "loops.csv has a clock and keys.csv has none: they do not merge",
        ),
        (["mrc", "keys.csv", "--interval", "1h"], "has no clock: give a length in references"),
        (["size", "loops.csv"], "give one of --target-hit-ratio and --target-latency"),
        (
            ["size", "loops.csv", "--target-hit-ratio", "80"],
            "expected a share such as 10%, 1/16 or 0.1, got '80'",
        ),
        (["size", "loops.csv", "--target-latency", "2"], "--target-latency: expected a length of"),
        (
            ["size", "loops.csv", "--target-hit-ratio", "0.8", "--tier", "flsh"],
            "--tier: unknown device 'flsh' (did you mean 'flash'?); one of dram, flash, hdd",
        ),
        (
            ["size", "loops.csv", "--target-latency", "2ms", "--writes", "back"],
            "--writes back: there are none with --ops reads; give --ops all",
        ),
        (
            ["size", "loops.csv", "--target-latency=2ms", "--ops=all", "--estimator=aet"],
            "--target-latency: aet does not tell hits of reads from those of writes; give --estim",
        ),
        (
            ["size", "loops.csv", "--target-hit-ratio", "0.8", "--backend", "dram"],
            "--tier: flash is not faster than the backend dram",
        ),
    ],
)
def test_mistakes_end_in_one_line_and_code_2(
    run: Any, folder: Path, arguments: list[str], message: str
) -> None:
    (folder / "empty.csv").write_text("time_ns,vm,op,offset,length\n1,a,write,0,4096\n")
    (folder / "keys.csv").write_text("offset\n0\n4096\n0\n")
    code, out, err = run(*arguments)
    assert (code, out) == (2, [])
    last = err.splitlines()[-1]
    assert last.startswith("mcsim: ")
    assert message in last


def test_ctrl_c_ends_with_one_line(folder: Path) -> None:
    # The process interrupts itself where the work is: in the midst of the references.
    code = """
import os, signal, sys
import mcsim.locality.measure
from mcsim.cli.main import main
add = mcsim.locality.measure._Total.add
def interrupted(self, count):
    mcsim.locality.measure._Total.add = add  # once: another would interrupt what the first set off
    os.kill(os.getpid(), signal.SIGINT)
    add(self, count)
mcsim.locality.measure._Total.add = interrupted
main(sys.argv[1:])
"""
    for mode in ([], ["--per-vm"]):
        done = python("-c", code, "mrc", "loops.csv", *mode)
        assert done.returncode == 128 + signal.SIGINT
        assert done.stderr.splitlines()[-1] == "mcsim: interrupted; what had finished is kept"
        assert "Traceback" not in done.stderr
        assert not Path("results").exists()


def test_a_real_volume(printed: Any, trace_dir: Path) -> None:
    from mcsim.traces.find import TraceFinder

    path = TraceFinder([trace_dir]).find("web_3")
    assert path is not None
    out = printed("mrc", path, "--ops", "all", "--sizes", "100%")
    # All but the first accesses: 331,109 to 154,699 blocks. A request hits if all blocks were seen.
    seen: set[int] = set()
    hits, sizes = [], []
    table = Trace.open(path).to_arrow()
    offsets, lengths = (table[name].to_pylist() for name in ("offset", "length"))
    for offset, length in zip(offsets, lengths, strict=True):
        blocks = range(offset // 4096, (offset + length - 1) // 4096 + 1)
        ends = [min(offset + length, (b + 1) * 4096) - max(offset, b * 4096) for b in blocks]
        sizes.append((length, sum(n for b, n in zip(blocks, ends, strict=True) if b in seen)))
        hits.append(seen.issuperset(blocks))
        seen.update(blocks)
    total, hit = (sum(of) for of in zip(*sizes, strict=True))
    ratios = [1 - 154_699 / 331_109, sum(hits) / len(hits), hit / total]
    assert out[3].split()[2:] == ["154,699", *(f"{100 * ratio:.2f}" for ratio in ratios)]


def test_lists_of_estimators_keep_their_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcsim.locality.measure.estimator_names", lambda: ["a", "b", "c"])
    monkeypatch.setattr("mcsim.locality.measure.EstimatorSpec.make", lambda *_, **__: None)
    specs = parse_estimators("a,b(rate=0.1,kind=x),c,a(size=3)")
    assert [str(spec) for spec in specs] == ["a", "b(rate=0.1,kind=x)", "c", "a(size=3)"]
    with pytest.raises(ConfigError, match="unknown estimator 'rate=1'"):
        parse_estimators("rate=1,a")
    with pytest.raises(ConfigError, match=r"now written in parentheses: 'b\(rate=0.1\)'"):
        parse_estimators("a,b:rate=0.1,kind=x")
    with pytest.raises(ConfigError, match=r"'b\(rate=0.1': expected NAME\(PARAM=VALUE,...\)"):
        parse_estimators("b(rate=0.1")


MINE = """
import mcsim

class Oldest(mcsim.PriorityPolicy):
    def priority(self, accesses, last, inserted, now):
        return inserted

class Other:
    pass
"""


def test_policies_may_be_classes_of_the_working_directory(run: Any, folder: Path) -> None:
    (folder / "mine.py").write_text(MINE)
    asked = ("compare", "loops.csv", "--vms", "b", "--sizes", "2", "--json", "--policies")
    code, out, err = run(*asked, "fifo,mine:Oldest", "--allow-code")
    assert code == 0, err
    fifo, oldest = json.loads("\n".join(out))["rows"]
    assert oldest["hits"] == fifo["hits"] > 0
    for policies, message in (
        (("mine:Oldest",), "if you trust it, say --allow-code"),
        (("mine:Other", "--allow-code"), "mine:Other does not derive from mcsim.Policy"),
        (("LRU",), "unknown eviction policy 'LRU' (did you mean 'lru'?)"),
    ):
        code, _, err = run(*asked, *policies)
        assert code == 2
        assert message in err


def test_vms_may_be_left_out(run: Any) -> None:
    for vms, blocks in (("!b", 4), ("!a*", 2), ("*,!b", 4)):
        _, out, err = run("mrc", "loops.csv", "--vms", vms)
        assert f"20 accesses to {blocks} blocks" in "".join(out) + err
    code, _, err = run("mrc", "loops.csv", "--vms", "a,!*")
    assert code == 2
    assert "--vms: no VM is left of ['a', '!*']" in err


def curves() -> tuple[HitRatioCurve, HitRatioCurve]:
    exact = estimate(list(range(100)) * 5, block_bytes=4096)
    rough = HitRatioCurve(
        np.array([0, 50, 120]),
        np.array([0, 100, 390.0]),
        500,
        distinct=110,
        low=np.array([0, 80, 380.0]),
        high=np.array([0, 120, 400.0]),
        resolved_from=60,
        estimator="rough",
        block_bytes=4096,
    )
    return exact, rough


def test_the_picture_of_a_comparison_shows_how_far_estimates_are() -> None:
    exact, rough = curves()
    sheet = pictures.comparison([("exact", exact), ("rough", rough)], log=False)
    above, below = sheet.charts
    assert [one.look.label for one in above.series] == ["exact", "rough", "rough"]
    assert [one.is_pale for one in above.series] == [False, False, True]
    apart = below.series[0]
    assert apart.x is not None
    at = dict(zip(apart.x.tolist(), apart.y.tolist(), strict=True))
    # In KiB and points, where it is resolved: 20 % for 0 %, 20 % for 80 %, 78 % for 80 %.
    assert at[60 * 4] == pytest.approx(20)
    assert at[100 * 4] == pytest.approx(-60)
    assert at[120 * 4] == pytest.approx(-2)
    assert np.isnan(at[50 * 4])
    assert above.x_label == below.x_label == "Capacity (KiB)"
    assert sheet.notes[0] == "Shaded: 95 % confidence."
    assert sheet.notes[1].startswith("Pale")
    with styled():
        check_layout(sheet.finish(), 7)


def test_the_picture_of_curves_holds_all_of_them() -> None:
    exact, rough = curves()
    sheet = pictures.curves([("vm", rough), ("all", exact)], log=True, together="all")
    (chart,) = sheet.charts
    assert chart.x_label == "Capacity (KiB)"
    last = chart.series[-1]
    assert (last.look.label, last.look.color) == ("all", "#000000")
    assert last.y[-1] == pytest.approx(80)
    assert last.x is not None
    assert last.x[-1] >= 120 * 4


def test_the_picture_over_time_leaves_out_what_is_not_known() -> None:
    exact, rough = curves()
    empty = estimate([], block_bytes=4096)
    named = [("0h", exact), ("1h", empty), ("2h", rough)]
    sheet = pictures.over_intervals(named, [0, 1, 2, 3], "hours")
    ratio = np.array([one.y for one in sheet.charts[0].series])
    with styled():
        check_layout(sheet.finish(), 7)
    assert ratio[-1, 0] == pytest.approx(80)
    assert np.isnan(ratio[:, 1]).all()
    assert np.isnan(ratio[0, 2])
    assert ratio[-1, 2] == pytest.approx(78)


def test_units_are_those_people_would_choose() -> None:
    exact, _ = curves()
    assert pictures.unit_for(exact, 100) == "KiB"
    assert pictures.unit_for(exact, 10**6) == "MiB"
    assert pictures.unit_for(exact, 10**7) == "GiB"
    assert pictures.unit_for(estimate([1]), 10**7) == "blocks"
