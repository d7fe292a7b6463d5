# Trusts: NumPy's stable sort of all requests at once; counts by hand of files with a few lines.
"""Files of one VM are one VM: in Python, in the shell and in experiments."""

from __future__ import annotations

import json
import logging
import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import python
from small import ROOT

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.experiment.experiment import Experiment
from mcsim.locality.sharing import sharing
from mcsim.references.blocks import Blocks
from mcsim.references.opened import open_workload
from mcsim.references.workload import Workload

SECOND = 10**9
HEAD = "time_s,vm,op,offset,length\n"
CASES = ROOT / "tests" / "data" / "cases"
HOURS = ["2016022219-LUN4.csv", "2016022220-LUN4.csv"]
# 2016-02-22 19:00 in seconds.
DATE = 1456167600
EXPERIMENT = """
name: hours
interval: 1h
workload:
  vms:
{entries}
tiers: [{{device: dram, capacity: 20}}]
systems: [lru]
"""


@pytest.fixture(autouse=True)
def hours(folder: Path) -> Path:
    """Two files of one VM, cut by time, in the working directory."""
    for name in HOURS:
        shutil.copy(CASES / "hourly" / name, name)
    return folder


def arrays(seed: int, names: Sequence[str], n: int = 500, first: int = 0, **more: Any) -> mc.Trace:
    random = np.random.default_rng(seed)
    return mc.Trace.from_arrays(
        np.sort(random.integers(first, first + 100, n)),  # many at the same time
        random.integers(0, 50, n) * 4096,
        4096,
        vm=random.integers(0, len(names), n),
        op=random.integers(0, 2, n),
        vms=names,
        source=f"{seed}.csv",
        **more,
    )


def rows(trace: mc.Trace) -> list[tuple[Any, ...]]:
    return [
        (time, trace.vms[vm], *rest)
        for batch in trace.batches()
        for time, vm, *rest in zip(*(column.tolist() for column in batch), strict=True)
    ]


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    caplog.clear()
    return said


@pytest.mark.parametrize("rows_of_a_batch", [3, 64, 1 << 20])
@pytest.mark.parametrize("first", [0, 50, 99, 200], ids=lambda first: f"first{first}")
def test_requests_are_merged_by_time(
    monkeypatch: pytest.MonkeyPatch, first: int, rows_of_a_batch: int
) -> None:
    monkeypatch.setattr("mcsim.traces.joined.BATCH_REQUESTS", rows_of_a_batch)
    traces = [
        arrays(1, ["a", "b"]),
        arrays(2, ["b"], first=first),
        arrays(3, ["c", "b", "a"], n=40, first=first),
        arrays(4, ["a"], n=0),
    ]
    traces.sort(key=lambda trace: trace.metadata.counts.first_time)
    joined = mc.Trace.join(traces)
    expected = sorted((row for trace in traces for row in rows(trace)), key=lambda row: row[0])
    assert rows(joined) == expected
    assert sorted(joined.vms) == ["a", "b", "c"]
    for number, name in enumerate(joined.vms):
        of_vm = [time for batch in joined.batches_with(number) for time in batch.time.tolist()]
        assert of_vm == [time for time, vm, *_ in expected if vm == name]
    counts = joined.metadata.counts
    assert (counts.requests, counts.reads) == (1040, sum(row[2] == 0 for row in expected))
    assert (counts.first_time, counts.last_time) == (expected[0][0], expected[-1][0])


def test_files_in_succession_are_not_copied() -> None:
    traces = [arrays(seed, ["a"], first=first) for seed, first in ((1, 0), (2, 99), (3, 500))]
    joined = mc.Trace.join(traces)
    for batch, trace in zip(joined.batches(), traces, strict=True):
        (own,) = trace.batches()
        assert all(map(np.shares_memory, batch, own))


@pytest.mark.parametrize("count", [2, 12])
def test_vms_of_several_files_have_their_blocks_once(count: int) -> None:
    names = [f"vm{k}" for k in range(count)]
    parts = [arrays(1, names), arrays(2, names[1:], first=30), arrays(3, names, first=100)]
    blocks = mc.Trace.join(parts).blocks("all")
    pairs = {(vm, offset) for part in parts for _, vm, _, offset, *_ in rows(part)}
    assert blocks.unique == len(pairs)
    assert len(blocks) == 1500
    several = Blocks.of(parts, "all")
    assert several.unique == blocks.unique
    assert np.array_equal(several.times, blocks.times)
    assert sharing(parts, "rates").vms == tuple(names)
    stored = mc.Trace.join(parts).save("joined.arrow")
    assert rows(mc.Trace.open(stored)) == rows(mc.Trace.join(parts))
    again = pickle.loads(pickle.dumps(mc.Trace.join(parts)))
    assert rows(again) == rows(mc.Trace.join(parts))


def test_a_joined_trace_is_sliced_and_joined_further() -> None:
    parts = [arrays(1, ["a", "b"]), arrays(2, ["b"], first=50), arrays(3, ["c"], first=50)]
    joined = mc.Trace.join(parts)
    assert mc.Trace.join([mc.Trace.join(parts[:2]), parts[2]]).digest == joined.digest
    assert mc.Trace.join([joined.slice(end=40), joined.slice(start=40)]).info() == joined.info()
    only = joined.slice(vms="b", ops="writes")
    assert rows(only) == [row for row in rows(joined) if row[1] == "b" and row[2] == 1]


def test_the_identity_of_a_join_is_that_of_its_traces() -> None:
    one, other = (mc.Trace.open(name) for name in HOURS)
    joined = mc.Trace.join([one, other])
    assert joined.digest == mc.Trace.join([other, one]).digest == mc.Trace.open(HOURS).digest
    assert joined.digest not in (one.digest, other.digest)
    assert mc.Trace.join([one]) is one


def test_without_a_clock_files_of_a_vm_follow_each_other() -> None:
    for name, keys in (("b.keys", "5\n7\n5\n"), ("a.keys", "9\n7\n")):
        Path(name).write_text(keys)
    joined = mc.Trace.open(["b.keys", "a.keys"], format="keys", vm_name="x")
    assert [row[0] for row in rows(joined)] == [0, 1, 2, 3, 4]
    assert joined.blocks().ids.tolist() == [0, 1, 0, 2, 1]
    # VMs of their own are side by side, as without a join.
    apart = mc.Trace.open(["b.keys", "a.keys"], format="keys")
    assert [(row[0], row[1]) for row in rows(apart)] == [
        (0, "b"),
        (0, "a"),
        (1, "b"),
        (1, "a"),
        (2, "b"),
    ]


def test_what_does_not_join() -> None:
    one, other = (mc.Trace.open(name) for name in HOURS)
    with pytest.raises(ConfigError, match=r"^2016022219-LUN4.csv: the same trace is given twice"):
        mc.Trace.join([one, other, one])
    shutil.copy(HOURS[0], "copy.csv")
    with pytest.raises(ConfigError, match=r"2016022219-LUN4.csv and copy.csv have the same conte"):
        mc.Trace.open("*.csv")
    index = arrays(1, ["a"], time_base="index")
    with pytest.raises(ConfigError, match=r"2016\S+ has a clock and 1.csv has none: they do not"):
        mc.Trace.join([index, one])
    classed = arrays(2, ["lun4"], classes=3)
    with pytest.raises(ConfigError, match=r"2.csv has classes of requests and 2016.* has none"):
        mc.Trace.join([one, classed]).blocks()
    for wrong in ([], one, [one, 3], "a"):
        with pytest.raises(ConfigError, match="traces: expected"):
            mc.Trace.join(wrong)  # type: ignore[arg-type]


def test_overlaps_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    mc.Trace.open("*.csv")
    mc.Trace.join([arrays(1, ["a"]), arrays(2, ["b"])])
    assert not warnings_in(caplog)
    for name, seconds in (("one", (0, 90)), ("other", (60, 100)), ("third", (80, 120))):
        lines = [f"{DATE + second},lun5,R,{second},4096\n" for second in seconds]
        Path(f"{name}.csv").write_text(HEAD + "".join(lines))
    mc.Trace.open(["one.csv", "other.csv", "third.csv"])
    (warning,) = warnings_in(caplog)
    assert warning == (
        "lun5: one.csv and other.csv overlap from 2016-02-22 19:01:00 to 2016-02-22 19:01:30, and "
        "are merged by time (1 more pairs overlap)"
    )


def test_files_without_vms_are_one_vm_by_name() -> None:
    for name, time in (("h1.csv", 0), ("h2.csv", 3600)):
        Path(name).write_text(f"time_s,op,offset,length\n{time},R,0,8192\n{time},R,8192,4096\n")
    assert mc.Trace.open("h*.csv").vms == ("h1", "h2")
    assert mc.Trace.open("h*.csv").blocks().unique == 6
    joined = mc.Trace.open("h*.csv", vm_name="db")
    assert joined.vms == ("db",)
    assert mc.hit_ratio_curve(joined).at(3) == 0.5
    assert mc.Trace.open("h1.csv", vm_name="db").digest != mc.Trace.open("h1.csv").digest
    # The name in the content may be that of the file.
    Path("db.csv").write_text(HEAD + "0,db,R,0,4096\n")
    mc.Trace.open("db.csv").save("db.arrow")
    for named in (HOURS, "db.csv", "db.arrow"):
        with pytest.raises(ConfigError, match=r"vm_name: .*: its format names VMs \('(lun4|db)'\)"):
            mc.Trace.open(named, vm_name="x")
    with pytest.raises(ConfigError, match="the name of a VM must be text"):
        mc.Trace.open("h1.csv", vm_name="")


def test_lists_folders_and_patterns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = mc.Trace.open(HOURS).digest
    for name in ("log.log", "notes.md", ".hidden.csv"):
        Path(name).write_text("no trace")
    below = folder / "deep" / "hours"
    below.mkdir(parents=True)
    for name in HOURS:
        (below / name).write_bytes(Path(name).read_bytes())
    assert mc.Trace.open("2016*").digest == digest
    assert mc.Trace.open(below).digest == mc.Trace.open("deep").digest == digest
    assert mc.Trace.open(f"{below}/2016022[12]*-LUN4.csv").digest == digest
    monkeypatch.setenv("MCSIM_TRACE_DIR", str(folder / "deep"))
    Path("empty").mkdir()
    monkeypatch.chdir("empty")
    for found in ("2016*-LUN4.csv", "hours/2016*", "hours", HOURS, [n[:-4] for n in HOURS]):
        assert mc.Trace.open(found).digest == digest
    with pytest.raises(ConfigError, match=r"^2017\*: no such file.*\(nearest names: 2016022"):
        mc.Trace.open("2017*")
    with pytest.raises(ConfigError, match=r"LUN4: no such file.*did you mean '2016022219-LUN4'"):
        mc.Trace.open("201602219-LUN4")
    with pytest.raises(ConfigError, match=r"^\.: no trace in this folder"):
        mc.Trace.open(".")
    for wrong in ([], 3):
        with pytest.raises(ConfigError, match="path: expected"):
            mc.Trace.open(wrong)  # type: ignore[arg-type]


def test_numbers_in_names_are_in_order() -> None:
    for number in (1, 2, 10):
        Path(f"part{number}.keys").write_text(f"{number}\n")
    joined = mc.Trace.open("part*", format="keys", vm_name="x")
    assert [row[3] for row in rows(joined)] == [1, 2, 10]


@pytest.mark.parametrize("args", [HOURS, HOURS[::-1], ["2016*"], ["."]], ids=str)
def test_the_shell_joins(folder: Path, args: list[str]) -> None:
    ran = python("-m", "mcsim", "mrc", "--json", *args, cwd=folder, timeout=120)
    assert "lun4: 2 files joined, 0 s to 3,601 s" in ran.stderr
    assert json.loads(ran.stdout)["rows"][-1]["ratio"] == 0.5


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "--policies", "lru", "--sizes", "3"],
        ["size", "--target-hit-ratio", "50%"],
        ["tune", "--size", "64KiB", "--policies", "lru"],
        ["trace", "info"],
    ],
    ids=lambda command: command[0],
)
def test_all_commands_of_traces_join(folder: Path, command: list[str]) -> None:
    ran = python("-m", "mcsim", *command, "2016*", cwd=folder, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "lun4: 2 files joined" in ran.stderr
    assert "50" in ran.stdout or "lun4" in ran.stdout


def test_the_shell_names_a_vm(folder: Path) -> None:
    refused = python("-m", "mcsim", "mrc", "--vm-name", "x", *HOURS, cwd=folder, timeout=120)
    assert "--vm-name: 2016022219-LUN4.csv: its format names VMs ('lun4')" in refused.stderr
    for name, time in (("h1.csv", 0), ("h2.csv", 3600)):
        Path(name).write_text(f"time_s,op,offset,length\n{time},R,0,8192\n{time},R,8192,4096\n")
    for args in (["h1.csv", "h2.csv"], ["h?.csv"]):
        ran = python(
            "-m", "mcsim", "mrc", "--json", "--vm-name", "x", *args, cwd=folder, timeout=120
        )
        assert json.loads(ran.stdout)["rows"][-1]["ratio"] == 0.5


def opened(*entries: str) -> Workload:
    text = EXPERIMENT.format(entries="\n".join(f"    - {entry}" for entry in entries))
    Path("x.yaml").write_text(text)
    made = Experiment.load("x.yaml", [])
    return open_workload(made.spec, made.source, [], Reporter())


@pytest.mark.parametrize(
    "entries",
    [
        ["{trace: '2016*-LUN4.csv', vms: all}"],
        ["{trace: [2016022220-LUN4, 2016022219-LUN4], name: a, vm: lun4}"],
        ["{trace: '2016*', name: lun4}"],
        ["{trace: 2016022219-LUN4, vms: all}", "{trace: 2016022220-LUN4, vms: all}"],
        ["{trace: 'h?.csv', name: db}"],
        ["{trace: 'h?.csv', name: a, vm: db}"],
    ],
    ids=range(6),
)
def test_experiments_join(entries: list[str]) -> None:
    for name, time in (("h1.csv", 0), ("h2.csv", 3600)):
        Path(name).write_text(f"time_s,op,offset,length\n{time},R,0,8192\n{time},R,8192,4096\n")
    workload = opened(*entries)
    assert len(workload.vms) == 1
    accesses = workload.intern({"ops": "all"})
    assert (accesses.access_count, accesses.id_count) == (6, 3)
    metrics = mc.run("x.yaml", figures=False).metrics().to_arrow().to_pylist()
    assert sum(row["hits"] for row in metrics if row["vm"] == workload.vms[0].name) == 3


def test_some_vms_of_entries_join() -> None:
    fleet = [arrays(1, ["a", "b"], n=50), arrays(2, ["b", "c"], n=50, first=200)]
    for trace, name in zip(fleet, ("f1.arrow", "f2.arrow"), strict=True):
        trace.save(name)
    workload = opened("{trace: f1.arrow, vms: all}", "{trace: f2.arrow, vms: {c: a, b: c}}")
    assert [vm.name for vm in workload.vms] == ["a", "b", "c"]
    times = [[time for part in vm.times("all") for time in part.tolist()] for vm in workload.vms]
    own = {
        (part, vm): [row[0] for row in rows(trace) if row[1] == vm]
        for part, trace in enumerate(fleet)
        for vm in trace.vms
    }
    assert times == [own[0, "a"] + own[1, "c"], own[0, "b"], own[1, "b"]]
    with pytest.raises(ConfigError, match=r"vms\[1\]: VM 'b' has another arrival or departure"):
        opened("{trace: f1.arrow, vms: all}", "{trace: f2.arrow, vms: b, departs: 1h}")


def test_an_experiment_without_a_file_of_a_pattern() -> None:
    with pytest.raises(ConfigError, match=r"x.yaml:6: workload.vms\[0\]: no trace '2017\*'"):
        opened("{trace: '2017*', vms: all}")
    with pytest.raises(ConfigError, match=r"x.yaml:6: workload.vms\[0\]: \S+ the same trace is"):
        opened(f"{{trace: [{HOURS[0]}, {HOURS[0]}], vms: all}}")
