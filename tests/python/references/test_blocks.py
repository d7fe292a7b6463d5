# Trusts: a loop over requests, written out here, and what the same references give as arrays.
"""Traces as references: which blocks, under which names, and all that takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import cells

import mcsim as mc
from mcsim.locality import measure as measuring
from mcsim.references.blocks import Blocks

MINUTE = 60 * 10**9
KIB = 1024


def random_trace(n: int = 300, source: str = "fleet.csv", **more: Any) -> mc.Trace:
    random = np.random.default_rng(5)
    columns: dict[str, Any] = {
        "time": np.sort(random.integers(0, 100, n)) * MINUTE,
        "offset": random.integers(0, 50 * 4096, n),
        "length": random.integers(0, 40_000, n),
        "vm": random.integers(0, 3, n),
        "op": random.integers(0, 2, n),
        "vms": ("web_0", "web_1", "mail"),
    }
    return mc.Trace.from_arrays(**(columns | more), source=source)


@pytest.fixture(scope="module")
def trace() -> mc.Trace:
    return random_trace()


def expanded(
    trace: mc.Trace, ops: str = "reads", block_bytes: int = 4096, vms: tuple[str, ...] = ()
) -> list[tuple[tuple[str, int], int, int]]:
    """Block, operation and time of every reference, by looking at one request at a time."""
    references = []
    kept = {"reads": (0,), "writes": (1,), "all": (0, 1)}[ops]
    rows = sorted(
        (
            row
            for batch in trace.batches()
            for row in zip(*(c.tolist() for c in batch), strict=True)
        ),
        key=lambda row: row[:2],  # by time, then VM, then as they stand
    )
    for time, vm, op, offset, length, _ in rows:
        name = trace.vms[vm]
        if op not in kept or length == 0 or (vms and name not in vms):
            continue
        for block in range(offset // block_bytes, (offset + length - 1) // block_bytes + 1):
            references.append(((name, block), op, time))
    return references


def numbered(keys: list[Any]) -> list[int]:
    first: dict[Any, int] = {}
    return [first.setdefault(key, len(first)) for key in keys]


@pytest.mark.parametrize("ops", ["reads", "writes", "all"])
@pytest.mark.parametrize("block_bytes", [4096, 512, "16KiB"])
@pytest.mark.parametrize("vms", [None, "mail", "web_*", ["mail", "web_1"]])
def test_blocks_are_those_of_every_request(
    trace: mc.Trace, ops: Any, block_bytes: int | str, vms: Any
) -> None:
    blocks = trace.blocks(ops, block_bytes, vms)
    names = {"mail": ("mail",), "web_*": ("web_0", "web_1")}.get(str(vms), tuple(vms or ()))
    size = 16 * KIB if block_bytes == "16KiB" else int(block_bytes)
    expected = expanded(trace, ops, size, names)
    keys, operations, times = map(list, zip(*expected, strict=True))
    assert numbered(blocks.ids.tolist()) == numbered(keys)
    assert blocks.ops.tolist() == operations
    assert blocks.times is not None
    assert blocks.times.tolist() == times
    assert [blocks.vms[vm] for vm in blocks.vm] == [name for name, _ in keys]
    assert blocks.unique == len(set(keys)) > blocks.ids.max()
    assert len(blocks) == len(keys)
    assert blocks.block_bytes == size
    assert np.asarray(blocks).tolist() == blocks.ids.tolist()


def joined(blocks: Blocks) -> list[list[int]]:
    columns = ((piece.keys, piece.times, piece.ops) for piece in blocks.pieces())
    return [np.concatenate(parts).tolist() for parts in zip(*columns, strict=True)]


def test_parts_have_the_references_of_their_requests(
    trace: mc.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcsim.references.pieces.PIECE", 7)
    blocks = trace.blocks("all")
    columns = (blocks.ids, blocks.times, blocks.ops)
    assert joined(blocks) == [column.tolist() for column in columns if column is not None]
    assert [part.label for part in blocks.by_vm()] == list(trace.vms)
    for v, part in enumerate(blocks.by_vm()):
        of_vm = blocks.vm == v
        assert joined(part) == [c[of_vm].tolist() for c in columns if c is not None]
        assert len(part) == of_vm.sum()
        assert part.ids.tolist() == numbered(blocks.ids[of_vm].tolist())
        assert part.unique == len(np.unique(blocks.ids[of_vm]))
        hours = [hour for hour in part.by_interval("1h") if len(hour)]
        assert [b for hour in hours for b in joined(hour)[0]] == joined(part)[0]
    parts = blocks.by_interval("1h")
    assert [part.label for part in parts] == ["0", str(60 * MINUTE)]
    assert [block for part in parts for block in joined(part)[0]] == blocks.ids.tolist()


def test_a_trace_stands_for_its_reads(trace: mc.Trace) -> None:
    blocks = trace.blocks()
    keys = numbered([key for key, _, _ in expanded(trace)])
    assert mc.hit_ratio_curve(trace).hits.tolist() == mc.hit_ratio_curve(keys).hits.tolist()
    assert mc.hit_ratio_curve(trace).block_bytes == 4096
    assert mc.reuse_distances(trace).tolist() == mc.reuse_distances(keys).tolist()
    for references in (trace, [trace], blocks):
        assert (
            mc.estimate(references, "aet").hits.tolist()
            == mc.estimate(keys, "aet", times=blocks.times).hits.tolist()
        )
        assert mc.simulate(references, ["lru", "arc"], [5, "10%"]).hits.tolist() == (
            mc.simulate(keys, ["lru", "arc"], [5, "10%"]).hits.tolist()
        )
        assert mc.simulate(references, "lru", ["16KiB"]).capacity.tolist() == [4]
        assert mc.miniature(references, "lru", [5], rate=0.5).hit_ratio == pytest.approx(
            mc.miniature(keys, "lru", [5], rate=0.5).hit_ratio
        )
        assert mc.memory_needed(references, "fifo", [5]).bytes[0] > 0


def test_reads_and_writes_are_told_apart(trace: mc.Trace) -> None:
    blocks = trace.blocks("all")
    curve = mc.hit_ratio_curve(blocks)
    assert curve.reads == (blocks.ops == 0).sum()
    of_array = mc.estimate(blocks.ids, ops=blocks.ops)
    assert curve.of_reads().hits.tolist() == of_array.of_reads().hits.tolist()
    (row,) = mc.simulate(blocks, "lru", [10])
    assert row.writes == (blocks.ops == 1).sum()


def test_curves_by_vm_and_by_interval(trace: mc.Trace) -> None:
    by_vm = mc.hit_ratio_curves(trace, per="vm")
    assert list(by_vm) == list(trace.vms)
    for name, curve in by_vm.items():
        alone = mc.hit_ratio_curve(trace.blocks(vms=name))
        assert curve.hits.tolist() == alone.hits.tolist()
        assert curve.accesses == alone.accesses
    by_hour = mc.hit_ratio_curves(trace, per="1h", estimator="aet")
    assert list(by_hour) == [0, 60 * MINUTE]
    late = mc.estimate(trace.slice(start=60 * MINUTE), "aet")
    assert by_hour[60 * MINUTE].accesses == late.accesses


def test_empty_intervals_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = mc.Trace.from_arrays([0, 10**12, 10**12 + 1], [0, 4096, 0], 4096)
    made = []
    make = measuring.EstimatorSpec.make

    def counted(self: measuring.EstimatorSpec, **more: Any) -> Any:
        made.append(self)
        return make(self, **more)

    monkeypatch.setattr(measuring.EstimatorSpec, "make", counted)
    curves = mc.hit_ratio_curves(trace, per="1s")
    assert len(made) == 3
    assert {begin: curve.accesses for begin, curve in curves.items()} == {
        0: 1, 10**9: 0, 10**12: 2
    }  # fmt: skip


def test_intervals_are_found_from_their_requests() -> None:
    """10^9 intervals: those with requests, and one for each sequence of empty intervals."""
    times = [-(10**18), -(10**18) + 5 * 10**9, -(10**18) + 6 * 10**9, 10**9, 10**9 + 1]
    trace = mc.Trace.from_arrays(times, 0, 4096, vm=[0, 0, 0, 0, 1], vms=["a", "b"])
    blocks = trace.blocks()
    last = (10**18 + 10**9) // 10**9
    found = {0: 1, 1: 0, 5: 1, 6: 1, 7: 0, last: 2}
    assert {int(part.label) // 10**9: len(part) for part in blocks.by_interval("1s")} == found
    of_a, of_b = blocks.by_vm()
    assert {int(part.label) // 10**9: len(part) for part in of_a.by_interval("1s")} == found | {
        last: 1
    }
    assert {int(part.label) // 10**9: len(part) for part in of_b.by_interval("1s")} == {
        0: 0, last: 1
    }  # fmt: skip
    assert [len(part) for part in of_a.by_interval("20000d")] == [4]


def test_curves_are_one_table(trace: mc.Trace) -> None:
    by_vm = mc.hit_ratio_curves(trace)
    frame = by_vm.to_polars()
    requests = ["request_hits", "request_hit_ratio", "byte_hits", "byte_hit_ratio"]
    assert frame.columns == ["vm", "capacity", "hits", "ratio", *requests]
    for name, curve in by_vm.items():
        assert frame.filter(vm=name).drop("vm").equals(curve.to_polars())
    by_hour = mc.hit_ratio_curves(trace, per="1h", estimator="aet").to_arrow()
    assert by_hour["begin"].unique().to_pylist() == [0, 60 * MINUTE]
    nothing = mc.HitRatioCurves({}, "vm")
    assert nothing.to_arrow().column_names == ["vm", "capacity"]


def test_lines_of_a_trace(trace: mc.Trace) -> None:
    keys = [vm_block for vm_block, _, _ in expanded(trace)]
    places = [["web_0", "web_1", "mail"].index(name) * 2**20 + block for name, block in keys]
    expected = mc.simulate_lines(places, "lru", [16], line=4)
    for references in (trace, trace.blocks(line=4)):
        found = mc.simulate_lines(references, "lru", [16], line=4)
        assert found[["hits", "partial_misses"]].tolist() == (
            expected[["hits", "partial_misses"]].tolist()
        )
    own = mc.simulate_lines(trace.blocks(line=4), "lru", [16])
    assert own.hits.tolist() == expected.hits.tolist()
    with pytest.raises(mc.ConfigError, match="line: these blocks were made with lines of 1"):
        mc.simulate_lines(trace.blocks(), "lru", [16], line=4)


def test_tune_takes_all_of_them(trace: mc.Trace) -> None:
    asked: dict[str, Any] = {"block_bytes": ["4KiB", "16KiB"], "writes": ["back"]}
    rows = mc.tune(trace, "64KiB", **asked)
    assert mc.tune(trace.blocks("all", 512), "64KiB", **asked).tolist() == rows.tolist()
    reads = mc.tune(trace.slice(ops="reads"), "64KiB", **asked)
    assert mc.tune(trace.blocks(), "64KiB", **asked).tolist() == reads.tolist()
    alone = mc.tune(trace.slice(vms=["mail"]), "64KiB", **asked)
    assert mc.tune(trace.blocks("all", vms="mail"), "64KiB", **asked).tolist() == alone.tolist()
    # Numbers of an array are places: four neighbours are one block of 16 KiB.
    large, small = mc.tune([0, 1, 2, 3], "32KiB", block_bytes=["4KiB", "16KiB"], writes=["back"])
    assert [(row.block, row.hit_ratio) for row in (large, small)] == [
        (16 * KIB, 0.75),
        (4 * KIB, 0),
    ]
    with pytest.raises(mc.ConfigError, match="these blocks are a part of others"):
        mc.tune(trace.blocks().by_vm()[0], "64KiB")
    with pytest.raises(mc.ConfigError, match="ends beyond 2\\^64"):
        mc.tune([2**60], "64KiB")


def test_several_traces_merge_by_time(trace: mc.Trace) -> None:
    other = random_trace(source="other.csv", vms=("web_0", "db_0", "db_1"))
    blocks = Blocks.of([trace, other], "all", vms=["web_0", "db_*"])
    assert blocks.vms == ("web_0", "db_0", "db_1")
    assert blocks.times is not None
    assert (np.diff(blocks.times) >= 0).all()
    counted = len(trace.blocks("all", vms="web_0")) + len(other.blocks("all"))
    assert len(blocks) == counted
    assert mc.hit_ratio_curve([trace, other]).accesses == len(Blocks.of([trace, other]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ops": "read"}, r"ops: unknown choice 'read' \(one of reads, all, writes\)"),
        ({"vms": "web_7"}, r"no VM 'web_7' \(did you mean 'web_"),
        ({"vms": ["web_0", "db*"]}, r"no VM 'db\*'"),
        ({"block_bytes": 0}, "block_bytes: expected 1 byte to 4 GiB less one, got 0"),
        ({"block_bytes": "1TiB"}, "block_bytes: expected 1 byte to 4 GiB less one, got '1TiB'"),
        ({"block_bytes": "4 kilo"}, "block_bytes: expected a size such as 4KiB"),
        ({"line": 0}, "line: at least 1, got 0"),
    ],
)
def test_what_cannot_be(trace: mc.Trace, arguments: Any, message: str) -> None:
    with pytest.raises(mc.ConfigError, match=message):
        trace.blocks(**arguments)


def test_other_mistakes(trace: mc.Trace) -> None:
    writes = trace.slice(ops="writes")
    with pytest.raises(mc.ConfigError, match=r"fleet.csv: there are no reads \(try ops all\)"):
        mc.hit_ratio_curve(writes)
    with pytest.raises(mc.ConfigError, match="ops: the blocks of a trace have theirs"):
        mc.simulate(trace, "lru", [1], ops=[0])
    with pytest.raises(mc.ConfigError, match="block_bytes: the blocks of a trace have theirs"):
        mc.estimate(trace, block_bytes=512)
    with pytest.raises(mc.ConfigError, match="an array knows no VMs and no times"):
        mc.hit_ratio_curves([1, 2])
    with pytest.raises(mc.ConfigError, match="interval: the trace has a clock: give a length such"):
        mc.hit_ratio_curves(trace, per="5 references")
    with pytest.raises(mc.ConfigError, match="interval: expected a length such as 1h"):
        mc.hit_ratio_curves(trace, per="vms")
    mixed = [trace, mc.Trace.from_arrays([0], [0], [1], time_base="index")]
    with pytest.raises(mc.ConfigError, match=r"fleet\.csv has a clock and arrays has none"):
        mc.hit_ratio_curve(mixed)


def test_a_file_gives_what_the_command_gives(
    trace: mc.Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mcsim.cli.main import main

    file = trace.save(tmp_path / "fleet.csv")
    main(["mrc", str(file), "--sizes", "20"])
    *_, said, _, _ = cells(capsys.readouterr().out.splitlines(), "80")
    assert said == f"{100 * mc.hit_ratio_curve(mc.Trace.open(file)).at(20):.2f}"
