"""Hits of requests, blocks and bytes, and discards, on LRU caches of every size as lists.

A list by recency serves each access and each discard.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import mcsim as mc
from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.locality.hit_units import HitUnit
from mcsim.locality.measure import hit_ratio_curves
from mcsim.locality.partial import analyse
from mcsim.locality.sharing import sharing
from mcsim.references.blocks import Blocks
from mcsim.references.pieces import Discards

SIZE = 512
UNITS: tuple[HitUnit, ...] = ("blocks", "requests", "bytes")
HOUR = 3600 * 10**9


class Row(NamedTuple):
    """A request, or a discard (operation 2)."""

    time: int
    vm: int
    op: int
    offset: int
    length: int

    @property
    def blocks(self) -> list[int]:
        return list(range(self.offset // SIZE, (self.offset + self.length - 1) // SIZE + 1))

    @property
    def discarded(self) -> list[int]:
        """Blocks that lie in the range as a whole."""
        return list(range(-(-self.offset // SIZE), (self.offset + self.length) // SIZE))

    def bytes_in(self, block: int) -> int:
        end = self.offset + self.length
        return min(end, (block + 1) * SIZE) - max(self.offset, block * SIZE)


def rows_drawn(seed: int, *, discards: bool = True, whole: bool = False) -> list[Row]:
    random = np.random.default_rng(seed)
    rows = []
    for i in range(250):
        op = int(random.choice([0, 0, 0, 1, 2 if discards else 0]))
        if whole:
            offset, length = SIZE * int(random.integers(0, 30)), SIZE
        else:
            offset, length = int(random.integers(0, 30 * SIZE)), int(random.integers(1, 5 * SIZE))
        rows.append(Row(i * HOUR // 10, int(random.integers(0, 2)), op, offset, length))
    return rows


def blocks_of(rows: Sequence[Row], ops: str = "all") -> Blocks:
    requests = [row for row in rows if row.op != 2]
    columns = [np.array(column) for column in zip(*requests, strict=True)]
    plain = mc.Trace.from_arrays(
        columns[0], columns[3], columns[4], op=columns[2], vm=columns[1], vms=["a", "b"], source="x"
    ).blocks(ops, block_bytes=SIZE)
    builder = engine.AccessBuilder(block_bytes=SIZE, ops=ops, bytes=True)
    kinds = (np.int64, np.uint16, np.uint8, np.uint64, np.uint32)
    for vm, name in enumerate(("a", "b")):
        builder.begin_vm(name)
        own = [row for row in rows if row.vm == vm]
        time, _, op, offset, length = (
            np.array(column, kind)
            for column, kind in zip(zip(*own, strict=True), kinds, strict=True)
        )
        builder.add(time, np.zeros(len(own), np.uint16), op, offset, length)
    accesses = builder.finish()
    return replace(
        plain,
        accesses=accesses,
        requests=slice(0, accesses.request_count),
        discards=Discards.of(accesses),
    )


def naive_hits(
    rows: Sequence[Row], capacity: int, counted: Set[Row] | None = None
) -> dict[HitUnit, tuple[int, int]]:
    """Return hits and all, of each unit, of `counted` or of all rows."""
    cache: list[tuple[int, int]] = []
    counts: dict[HitUnit, list[int]] = {unit: [0, 0] for unit in UNITS}
    for row in rows:
        weight = int(counted is None or row in counted)
        if row.op == 2:
            for block in row.discarded:
                if (row.vm, block) in cache:
                    cache.remove((row.vm, block))
            continue
        all_hit = True
        for block in row.blocks:
            key = (row.vm, block)
            hit = key in cache
            all_hit &= hit
            for unit, more in (("blocks", weight), ("bytes", weight * row.bytes_in(block))):
                counts[unit][0] += more * hit
                counts[unit][1] += more
            if hit:
                cache.remove(key)
            cache.insert(0, key)
            del cache[capacity:]
        counts["requests"][0] += weight * all_hit
        counts["requests"][1] += weight
    return {unit: (hits, total) for unit, (hits, total) in counts.items()}


def assert_as_naive(
    curve: mc.HitRatioCurve, rows: Sequence[Row], counted: Set[Row] | None = None
) -> None:
    for capacity in range(1, 70):
        for unit, (hits, total) in naive_hits(rows, capacity, counted).items():
            of = curve.of(unit)
            assert of.accesses == total
            assert of.at(capacity) == hits / total, (unit, capacity)


@pytest.mark.parametrize("ops", ["all", "reads"])
@pytest.mark.parametrize("discards", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_exact_curves_are_those_of_caches_of_every_size(
    seed: int, discards: bool, ops: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_drawn(seed, discards=discards)
    kept = [row for row in rows if ops == "all" or row.op != 1]
    blocks = blocks_of(rows, ops)
    whole = mc.hit_ratio_curve(blocks)
    assert_as_naive(whole, kept)
    monkeypatch.setattr("mcsim.references.pieces.PIECE", 7)
    pieces = mc.hit_ratio_curve(blocks)
    for unit in UNITS:
        assert pieces.of(unit).hits.tolist() == whole.of(unit).hits.tolist()
    reused = mc.reuse_distances(blocks)
    hits = [int(((reused >= 0) & (reused < c)).sum()) for c in whole.capacities]
    assert hits == whole.hits.tolist()


def test_curves_of_vms_and_intervals_have_their_own_discards() -> None:
    rows = rows_drawn(5)
    blocks = blocks_of(rows)
    for vm, curve in enumerate(hit_ratio_curves(blocks, "vm").values()):
        assert_as_naive(curve, [row for row in rows if row.vm == vm])
    for begin, curve in hit_ratio_curves(blocks, "5h").items():
        assert isinstance(begin, int)
        assert_as_naive(curve, [row for row in rows if begin <= row.time < begin + 5 * HOUR])


@pytest.mark.parametrize("ops", ["all", "reads"])
@pytest.mark.parametrize("first", [1, 20, 120])
def test_what_warms_up_is_not_counted(
    first: int, ops: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row for row in rows_drawn(6) if ops == "all" or row.op != 1]
    counted = set([row for row in rows if row.op != 2][first:])
    blocks = replace(blocks_of(rows, ops), first_counted=first)
    for piece in (1 << 20, 7):
        monkeypatch.setattr("mcsim.references.pieces.PIECE", piece)
        curve = mc.hit_ratio_curve(blocks)
        assert_as_naive(curve, rows, counted)
    for vm, of_vm in enumerate(hit_ratio_curves(blocks, "vm").values()):
        assert_as_naive(of_vm, [row for row in rows if row.vm == vm], counted)
    whole_sample = mc.estimate(blocks, "shards-rate", rate=1, correction="none")
    assert whole_sample.hits.tolist() == curve.hits.tolist()
    caches = mc.simulate(blocks, "lru", [5, 20])
    for row in caches:
        naive = naive_hits(rows, row.capacity, counted)
        assert (row.hits, row.accesses) == naive["blocks"]
        assert row.request_hit_ratio == naive["requests"][0] / naive["requests"][1]
        assert row.byte_hit_ratio == naive["bytes"][0] / naive["bytes"][1]


def test_hits_of_reads_after_a_warm_up() -> None:
    rows = rows_drawn(7, discards=False)
    blocks = replace(blocks_of(rows), first_counted=90)
    reads = mc.hit_ratio_curve(blocks).of_reads()
    counted = {row for row in rows[90:] if row.op == 0}
    for capacity in (1, 4, 9, 30):
        hits, total = naive_hits(rows, capacity, counted)["blocks"]
        assert (reads.at(capacity), reads.accesses) == (hits / total, total)


def test_an_estimate_after_a_warm_up_is_near_the_exact_curve() -> None:
    keys = np.random.default_rng(1).zipf(1.3, 60_000) % 5_000
    trace = mc.Trace.from_arrays(np.arange(60_000), keys * 4096, 4096, time_base="index")
    blocks = trace.blocks(warm_up="30000 references")
    assert (len(blocks), blocks.warm_up) == (60_000, 30_000)
    exact = mc.hit_ratio_curve(blocks)
    for name in ("shards", "aet", "mimir", "statstack"):
        estimate = mc.estimate(blocks, name)
        assert estimate.accesses == 30_000
        assert (np.diff(estimate.hits) >= 0).all()
        assert estimate.mae(exact) < 0.02
        if estimate.low is not None and estimate.high is not None:
            assert (estimate.low <= estimate.hits).all()
            assert (estimate.hits <= estimate.high).all()


def test_another_trace_warms_up() -> None:
    before = mc.Trace.from_arrays([50, 60, 90], [0, 4096, 8192], 4096, op=[0, 0, 1], source="old")
    trace = mc.Trace.from_arrays([10, 20, 30], [4096, 4096, 0], 4096, op=[1, 0, 0], source="new")
    curve = mc.hit_ratio_curve(trace.blocks(warm_up=before))
    assert curve.accesses == 2
    assert [curve.at(size) for size in (1, 2)] == [0.5, 1.0]
    named = mc.Trace.from_arrays([0, 1], [0, 0], 4096, vm=[0, 1], vms=["web", "mail"])
    with pytest.raises(ConfigError, match="warm_up: 'web' is no VM of the trace"):
        trace.blocks(warm_up=named)
    with pytest.raises(ConfigError, match=r"warm_up: no request of it is left \(ops: reads\)"):
        trace.blocks(warm_up=before.slice(ops="writes"))


@pytest.mark.parametrize(
    ("length", "message"),
    [
        ("1s", "warm_up: the trace ends before 1s are over"),
        ("5 references", "warm_up: the trace has a clock: give a length such as 1h"),
        ("soon", "warm_up: .*'soon'"),
    ],
)
def test_a_warm_up_that_cannot_be_is_refused(length: str, message: str) -> None:
    trace = mc.Trace.from_arrays([10, 20, 30], [4096, 4096, 0], 4096)
    with pytest.raises(ConfigError, match=message):
        trace.blocks(warm_up=length)


def test_who_cannot_leave_a_warm_up_out_says_so() -> None:
    trace = mc.Trace.from_arrays([10, 20, 30, 40], [4096, 4096, 0, 0], 4096)
    blocks = trace.blocks(warm_up="15ns")
    for use in (
        lambda: mc.miniature(blocks, "lru", [1]),
        lambda: mc.tune(blocks, 4096),
        lambda: sharing(blocks, "time"),
        lambda: sharing([blocks], "rates"),
        lambda: hit_ratio_curves(blocks, "20ns"),
    ):
        with pytest.raises(ConfigError, match="these blocks have a warm-up"):
            use()
    with pytest.raises(ConfigError, match="warm_up: these blocks have theirs"):
        mc.simulate(blocks, "lru", [1], warm_up=1)


def test_equal_requests_of_a_block_have_one_curve_on_all_threads() -> None:
    rows = rows_drawn(1, discards=False, whole=True)
    blocks = blocks_of(rows)
    assert blocks.bytes_per_reference == SIZE
    assert_as_naive(mc.estimate(blocks, threads=2), rows)


def test_estimators_that_ignore_discards_count_them() -> None:
    blocks = blocks_of(rows_drawn(2))
    count = int((blocks.discards.request < blocks.accesses.request_count).sum())
    assert count
    assert f"{count} discarded blocks ignored" in mc.estimate(blocks, "aet").note
    assert "ignored" not in mc.estimate(blocks, "shards-rate", rate=1).note
    curve = mc.estimate(blocks, "shards-rate", rate=1, correction="none")
    assert curve.hits.tolist() == mc.hit_ratio_curve(blocks).hits.tolist()


def test_units_survive_arrow_and_are_added() -> None:
    curve = mc.hit_ratio_curve(blocks_of(rows_drawn(3)))
    again = mc.HitRatioCurve.from_arrow(curve.to_arrow())
    twice = curve.merge(curve)
    for unit in UNITS:
        assert again.of(unit).at(9) == curve.of(unit).at(9) == twice.of(unit).at(9)
        assert twice.of(unit).accesses == 2 * curve.of(unit).accesses
    table = curve.to_arrow()
    assert table["request_hit_ratio"].to_pylist() == curve.of("requests").ratios.tolist()
    assert table["byte_hit_ratio"].to_pylist() == curve.of("bytes").ratios.tolist()


def test_curves_without_requests_refuse_their_hits() -> None:
    with pytest.raises(ConfigError, match="the curve by 'exact' does not count hits of requests"):
        mc.hit_ratio_curve([1, 2, 1]).of("requests")
    with pytest.raises(ConfigError, match="the curve by 'aet' does not count hits of bytes"):
        mc.estimate(blocks_of(rows_drawn(3)), "aet").of("bytes")


def test_objects_of_unequal_sizes() -> None:
    """From the field: 2 of 6 references hit, and 222 of 664 bytes."""
    keys, sizes = [5, 4, 6, 4, 7, 4], [110, 110, 110, 111, 112, 111]
    plain = mc.Trace.from_arrays(range(6), keys, sizes, source="objects").blocks(block_bytes=SIZE)
    builder = engine.AccessBuilder(block_bytes=SIZE, key="object", bytes=True)
    builder.begin_vm("objects")
    zeros = np.zeros(6, np.uint16)
    columns = (np.array(keys, np.uint64), np.array(sizes, np.uint32))
    builder.add(np.arange(6), zeros, zeros.astype(np.uint8), *columns)
    curve = mc.hit_ratio_curve(replace(plain, accesses=builder.finish()))
    assert [(curve.of(unit).hits[-1], curve.of(unit).accesses) for unit in UNITS] == [
        (2, 6),
        (2, 6),
        (222, 664),
    ]


def test_estimators_obey_discards_or_have_no_band() -> None:
    for seed in range(4):
        rows = rows_drawn(seed)
        blocks = blocks_of(rows)
        ignored = int((blocks.discards.request < blocks.accesses.request_count).sum())
        for name in mc.estimator_names():
            params: dict[str, float] = {"rate": 1.0} if name == "shards-rate" else {}
            if name == "urd":  # counts hits of reads alone
                continue
            curve = mc.estimate(blocks, name, **params)
            if name in ("exact", "parda", "shards-rate"):
                assert "ignored" not in curve.note
                for size in range(1, 60, 4):
                    hits, accesses = naive_hits(rows, size)["blocks"]
                    found = round(curve.at(size, unresolved=True) * curve.accesses)
                    assert (found, curve.accesses) == (hits, accesses), (name, size)
            else:
                assert f"{ignored} discarded blocks ignored" in curve.note, name
                assert curve.low is None
                assert curve.high is None


def test_pieces_of_a_stream_with_discards_are_refused() -> None:
    blocks = blocks_of(rows_drawn(1))
    with pytest.raises(ConfigError, match="blocks are discarded, and pieces cannot be merged"):
        analyse(blocks)
    assert analyse(blocks.ids).accesses == len(blocks)


def test_requests_that_touch_no_block_neither_hit_nor_miss() -> None:
    # Two reads of one block and one of another; two empty requests among them.
    trace = mc.Trace.from_arrays(
        [0, 1, 1, 2, 3], [4096, 4096, 0, 8192, 4096], [4096, 4096, 0, 4096, 0], source="empty"
    )
    for blocks in (trace.blocks(), *trace.blocks().by_vm()):
        curve = mc.hit_ratio_curve(blocks)
        assert curve.requests == 3
        assert curve.of("requests").at(2) == 1 / 3
        (row,) = mc.simulate(blocks, "lru", [2])
        assert row.request_hit_ratio == 1 / 3
    warm = mc.hit_ratio_curve(trace.blocks(warm_up="1ns"))
    assert (warm.requests, warm.of("requests").at(2)) == (2, 1 / 2)


@pytest.mark.parametrize("seed", range(5))
def test_empty_requests_change_no_ratio(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 200
    length = 4096 * random.integers(0, 4, n)
    offset = 4096 * random.integers(0, 30, n)
    whole, some = (
        mc.Trace.from_arrays(np.arange(n)[kept], offset[kept], length[kept], source="x")
        for kept in (length >= 0, length > 0)
    )
    curves = [mc.hit_ratio_curve(trace) for trace in (whole, some)]
    for unit in UNITS:
        at = [curve.of(unit).at([1, 5, 20, 40]).tolist() for curve in curves]
        assert at[0] == at[1]


@pytest.mark.parametrize(
    ("name", "params"),
    [("counter-stacks", {"batch": 100}), ("shards", {"max_blocks": 64}), ("mimir", {"buckets": 4})],
)
def test_sizes_below_the_resolution_have_no_ratio(name: str, params: dict[str, int]) -> None:
    keys = np.random.default_rng(3).integers(0, 400, 4_000)
    curve = mc.estimate(keys, name, **params)
    below, above = int(curve.resolved_from) - 1, int(np.ceil(curve.resolved_from))
    assert below > 1
    assert np.isnan(curve.at(below))
    assert np.isnan(curve.at([0, below, above])).tolist() == [False, True, False]
    assert curve.at(0) == 0
    assert curve.at(below, unresolved=True) >= 0
    assert curve.at(above) == curve.at(above, unresolved=True)
