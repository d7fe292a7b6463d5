"""Trusts: traces worked by hand; runs of the data path, and caches alone; exact replay."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from commands import lines
from layout import check_layout
from pyarrow import csv
from recorded import CLOUDPHYSICS
from small import small_experiment

import mcsim as mc
from mcsim.base.errors import ConfigError, OutOfMemoryError
from mcsim.cli.main import cli
from mcsim.figures.style import styled
from mcsim.figures.tables import objectives_by_block
from mcsim.policies.scaled import OBJECTIVES
from mcsim.policies.tuning import _Room
from mcsim.traces.trace import Trace

KIB = 1024
GRID: dict[str, Any] = {
    "policies": "lru,arc",
    "block_bytes": ["4KiB", "16KiB"],
    "sub_block_bytes": ["none", "4KiB"],
    "writes": ["through", "back"],
}
FLASH_READ, FLASH_WRITE, DISK = 25e3, 200e3, 6.5e6


def trace_of(requests: list[tuple[int, int, int]]) -> Trace:
    """Requests of an operation at offsets and lengths in KiB."""
    op, offset, length = np.array(requests).T
    return Trace.from_arrays(
        np.arange(len(op)), offset * KIB, (length * KIB).astype(np.uint32), op=op, source="made"
    )


def random_trace(length: int = 6000, seed: int = 1) -> Trace:
    random = np.random.default_rng(seed)
    offset = 4 * (4000 * random.random(length) ** 2).astype(np.int64)
    op = (random.random(length) < 0.3).astype(np.int64)
    size = 4 * random.integers(1, 5, length)
    return trace_of(list(zip(op, offset, size, strict=True)))


def only(rows: mc.ResultTable, **what: object) -> Any:
    """The one row with these values."""
    (row,) = [row for row in rows if all(row[name] == value for name, value in what.items())]
    return row


def test_lines_by_hand() -> None:
    # Lines of blocks 0-3, 4-7 and 8-11; two fit.
    (row,) = mc.simulate_lines([0, 1, 0, 5, 1, 4, 8, 4, 1, 5], "lru", [8], line=4)
    assert (row.hits, row.partial_misses, row.line_misses, row.loaded) == (4, 2, 4, 6)
    assert row.misses == 6
    assert row.evictions == 3


def test_lines_of_one_block_are_caches() -> None:
    keys = np.random.default_rng(2).integers(0, 300, 5000)
    names = ["lru", "arc", "s3-fifo", "opt"]
    ordinary = mc.simulate(keys, names, [50, 100])
    lines = mc.simulate_lines(keys, names, [50, 100], line=1)
    for name in ("policy", "capacity", "hits", "evictions"):
        np.testing.assert_array_equal(lines[name], ordinary[name])
    assert lines.partial_misses.sum() == 0


def test_partial_misses_would_be_hits_of_larger_blocks() -> None:
    keys = np.random.default_rng(3).integers(0, 2000, 20_000)
    names = ["lru", "2q", "lirs", "opt"]
    larger = mc.simulate(keys // 8, names, [30])
    lines = mc.simulate_lines(keys, names, [243], line=8)  # three blocks are no line
    assert set(lines.capacity.tolist()) == {240}
    np.testing.assert_array_equal(lines.hits + lines.partial_misses, larger.hits)


def test_impossible_lines_are_refused() -> None:
    with pytest.raises(ConfigError, match="sizes: 7 blocks are less than a line of 8"):
        mc.simulate_lines([1, 2], "lru", [7], line=8)
    with pytest.raises(ConfigError, match="line: expected a whole number, got None"):
        mc.simulate_lines([1, 2], "lru", [7])
    with pytest.raises(ConfigError, match="more than there are ids"):
        mc.simulate_lines([1, 2**62], "lru", [2**32], line=2**31)


def test_a_few_requests_by_hand() -> None:
    # Two blocks of 4 KiB fit, or one of 8 KiB. Reads block 0; writes 1; reads 1, 0; writes 4.
    trace = trace_of([(0, 0, 4), (1, 4, 4), (0, 4, 4), (0, 0, 4), (1, 16, 4), (0, 4, 4)])
    rows = mc.tune(
        trace,
        "8KiB",
        block_bytes=["4KiB", "8KiB"],
        sub_block_bytes=["none", "4KiB"],
        writes=["through", "back", "around"],
    )
    assert len(rows) == 9  # a block of 4 KiB is accessed whole, twice
    back = only(rows, block=4 * KIB, writes="back")
    # Reads of 1 and 0 hit; then block 4 pushes out 1, which is dirty.
    assert back.hit_ratio == 0.5
    assert back.backend_writes == 4 * KIB
    assert back.dirty == 4 * KIB
    assert back.backend_reads == 2 * 4 * KIB
    assert back.device_writes == 4 * 4 * KIB
    assert back.latency_ns == pytest.approx((2 * DISK + 2 * FLASH_READ + 2 * FLASH_WRITE) / 6)
    through = only(rows, block=4 * KIB, writes="through")
    assert through.backend_writes == 2 * 4 * KIB
    assert through.latency_ns == pytest.approx((4 * DISK + 2 * FLASH_READ) / 6)
    around = only(rows, block=4 * KIB, writes="around")
    # Block 1 comes in when it is read, and nothing else pushes it out.
    assert around.hit_ratio == 0.5
    assert around.device_writes == 2 * 4 * KIB
    whole = only(rows, block=8 * KIB, sub_block=8 * KIB, writes="back")
    assert whole.hit_ratio == 0.5  # 0 and 1 are one block
    assert whole.backend_reads == 2 * 8 * KIB
    lines = only(rows, block=8 * KIB, sub_block=4 * KIB, writes="back")
    assert lines.hit_ratio == 0.5
    assert lines.backend_reads == 2 * 4 * KIB
    # Block 4 evicts the line of 0 and 1, of which 1 is dirty; then 1 evicts 4.
    assert lines.backend_writes == 2 * 4 * KIB
    assert whole.backend_writes == 2 * 8 * KIB
    assert (rows.hit_ratio[:-1] >= rows.hit_ratio[1:]).all()
    assert not rows.hit_ratio_margin.any()


def test_a_point_is_the_cache_alone() -> None:
    random = np.random.default_rng(5)
    blocks = (900 * random.random(20_000) ** 2).astype(np.int64)
    trace = trace_of([(0, 4 * block, 4) for block in blocks])
    names = ["lru", "arc(step=integer)", "w-tinylfu", "opt"]
    alone = mc.simulate(blocks, names, [120])
    rows = mc.tune(trace, 120, policies=names, block_bytes=["4KiB"], writes=["through"])
    for cache in alone:
        row = only(rows, policy=cache.policy)
        assert row.hit_ratio == pytest.approx(cache.hit_ratio)
        assert row.backend_reads == cache.misses * 4 * KIB
    lines = mc.simulate_lines(blocks, names, [120], line=4)
    rows = mc.tune(
        trace,
        120,  # of the smallest size
        policies=names,
        block_bytes=["16KiB"],
        writes=["through"],
        sub_block_bytes=["4KiB"],
        threads=2,
    )
    for cache in lines:
        assert only(rows, policy=cache.policy).hit_ratio == pytest.approx(cache.hit_ratio)


@pytest.mark.parametrize("mode", ["through", "back", "around"])
@pytest.mark.parametrize("line", [1, 4])
def test_a_point_is_an_experiment(mode: str, line: int, tmp_path: Path) -> None:
    trace = random_trace(4000)
    sub_block = 4 * KIB
    trace.save(tmp_path / "made.arrow")
    spec = small_experiment(
        {"name": "hierarchy", "policy": "arc", "writes": mode, "line": line},
        tiers={"flash": 256},
        name="one",
        interval="1s",
        ops="all",
        workload={"vms": [{"name": "made", "trace": "made.arrow"}]},
    )
    results = mc.run(spec, out=tmp_path / "out", trace_dirs=[tmp_path], figures=False)
    vms, tiers = results.to_pandas("vms"), results.to_pandas("metrics")
    row = mc.tune(
        trace,
        "1MiB",
        policies="arc",
        block_bytes=[line * sub_block],
        sub_block_bytes=[sub_block],
        writes=[mode],  # type: ignore[list-item]
    )[0]
    assert row.backend_reads == sub_block * vms.backend_reads.sum()
    assert row.backend_writes == sub_block * vms.backend_writes.sum()
    to_device = tiers[["fills", "promotions", "demotions", "updates"]].to_numpy().sum()
    assert row.device_writes == sub_block * to_device
    assert row.dirty == sub_block * vms.dirty.iloc[-1]


def test_a_miniature_is_near_what_it_is_of() -> None:
    trace = random_trace(60_000)
    options = GRID | {"writes": ["through", "back", "around"]}
    exact = mc.tune(trace, "4MiB", **options)
    rows = mc.tune(trace, "4MiB", **options, rate=0.4, seeds=2)
    assert set(rows.rate) == {0.4}
    for row in exact:
        what = {name: row[name] for name in ("policy", "writes", "block", "sub_block")}
        mini = only(rows, **what)
        assert mini.hit_ratio == pytest.approx(row.hit_ratio, abs=0.03), what
        for name in ("latency_ns", "device_writes", "backend_reads", "backend_writes"):
            assert mini[name] == pytest.approx(row[name], rel=0.06), (what, name)
    # Writes through and around are exact, whatever the sample.
    for mode in ("through", "around"):
        known = exact[exact.writes == mode]
        one = only(known, policy="lru", block=4 * KIB)
        mini = only(rows, policy="lru", block=4 * KIB, writes=mode)
        assert mini.backend_writes == pytest.approx(one.backend_writes)


def test_a_miniature_of_a_public_trace(trace_dir: Path, tmp_path: Path) -> None:
    path = trace_dir / "cloudphysics" / "cloudPhysicsIO.csv.zst"
    if not path.is_file():
        pytest.skip(f"{path.name} is not there")
    trace = Trace.open(path, format="csv", options=CLOUDPHYSICS, cache_dir=tmp_path)
    options = GRID | {"block_bytes": ["4KiB", "64KiB"]}
    exact = mc.tune(trace, "128MiB", **options)
    rows = mc.tune(trace, "128MiB", **options, rate=0.1, seeds=5)
    assert set(rows.rate) == {0.1}
    for row in exact:
        what = {name: row[name] for name in ("policy", "writes", "block", "sub_block")}
        mini = only(rows, **what)
        assert mini.hit_ratio == pytest.approx(row.hit_ratio, abs=0.02), what
        assert mini.backend_writes == pytest.approx(row.backend_writes, rel=0.1), what


def test_what_caches_hold_is_told_and_kept() -> None:
    trace = random_trace(6000)
    told: list[tuple[list[Any], list[int]]] = []
    rows = mc.tune(
        trace, "1MiB", **GRID, told=lambda points, sizes: told.append((points, sizes.tolist()))
    )
    assert [points[0].layout for points, _ in told] == [
        (4 * KIB, 4 * KIB),
        (16 * KIB, 16 * KIB),
        (16 * KIB, 4 * KIB),
    ]
    by_point = {
        point.key: size for points, sizes in told for point, size in zip(points, sizes, strict=True)
    }
    assert len(by_point) == len(rows) == 12
    for row in rows:
        assert row.bytes == by_point[row.policy, row.block, row.sub_block, row.writes]
    # For whole blocks: the blocks of `simulate`, and the dirty ones.
    blocks = trace.blocks("all", 4 * KIB)
    alone = mc.memory_needed(blocks, "arc", [256]).bytes[0]
    whole = only(rows, policy="arc", block=4 * KIB, writes="through")
    back = only(rows, policy="arc", block=4 * KIB, writes="back")
    assert whole.bytes == alone
    assert back.bytes - whole.bytes == 9 * blocks.unique
    # With room for one at a time all is as it was.
    tight = mc.tune(trace, "1MiB", **GRID, threads=2, memory=int(rows.bytes.max()))
    assert tight.tolist() == rows.tolist()
    with pytest.raises(OutOfMemoryError, match="larger blocks and a lower rate need less"):
        mc.tune(trace, "1MiB", **GRID, memory=int(rows.bytes.max()) - 1)
    with pytest.raises(ConfigError, match="memory: "):
        mc.tune(trace, "1MiB", memory="much")


def test_caches_wait_for_room() -> None:
    room = _Room(10)
    held = 0
    most = 0
    lock = threading.Lock()

    def work(size: int) -> None:
        nonlocal held, most
        for _ in range(50):
            with room.taken(size):
                with lock:
                    held += size
                    most = max(most, held)
                time.sleep(0)
                with lock:
                    held -= size

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [3, 7, 4, 10]))
    assert held == 0
    assert 0 < most <= 10


def test_the_picture_has_every_cache() -> None:
    options: dict[str, Any] = {
        "policies": "lru,arc",
        "block_bytes": ["4KiB", "16KiB", "32KiB"],
        "sub_block_bytes": ["none", "4KiB"],
        "writes": ["through", "back"],
        "objective": "latency",
    }
    rows = mc.tune(random_trace(20_000), "8MiB", **options, rate=0.4, seeds=2)
    assert rows.rate[0] < 1
    sheet = objectives_by_block(rows, "latency_ns")
    names = [one.look.label for one in sheet.charts[0].series]
    kinds = ("arc", "arc, 4KiB sub-blocks", "lru", "lru, 4KiB sub-blocks")
    writes = ("back", "through")
    assert sorted(names[:-1]) == sorted(f"{of}, write {how}" for of in kinds for how in writes)
    assert names[-1] == "best by latency"
    assert sheet.notes == [
        "Estimates; shaded: 95 % confidence; no band for arc: every ghost hit changes its "
        "parameters, and a miniature has fewer ghost hits."
    ]
    columns = ["hit_ratio", "latency_ns", "device_writes", "backend_writes"]
    assert [chart.y_label for chart in sheet.charts][:2] == ["Hit ratio (%)", "Latency (ms)"]
    blocks = [4 * KIB, 16 * KIB, 32 * KIB]
    for chart, column, scale in zip(sheet.charts, columns, [0.01, 1e6, None, None], strict=True):
        assert list(chart.x) == ["4KiB", "16KiB", "32KiB"]
        *lines, best = chart.series
        shown = sorted(
            (blocks[int(x)], float(y))
            for line in lines
            for x, y in zip(chart.positions(line), line.y, strict=True)
        )
        if scale is None:
            scale = 1024 ** ["B", "KiB", "MiB", "GiB"].index(chart.y_label[:-1].split("(")[1])
        wanted = sorted((int(row.block), row[column] / scale) for row in rows)
        np.testing.assert_allclose(shown, wanted)
        assert best.y[0] == pytest.approx(rows[column][0] / scale)
    with styled():
        check_layout(sheet.finish(), 7)


def test_threads_change_nothing() -> None:
    trace = random_trace(3000)
    options: dict[str, Any] = {"policies": "lru,random", "writes": ["back"]}
    one = mc.tune(trace, "1MiB", **options, threads=1)
    assert one.tolist() == mc.tune(trace, "1MiB", **options, threads=2).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "32KiB"}, "size: 32KiB are less than one block of 64KiB"),
        (
            {"block_bytes": ["4KiB", "8KiB"], "sub_block_bytes": ["8KiB"]},
            "block_bytes: 4KiB are less than a sub-block of 8KiB; leave out the smaller",
        ),
        (
            {"block_bytes": ["8KiB"], "sub_block_bytes": ["3KiB"]},
            "block_bytes: 8KiB are no multiple of a sub-block of 3KiB",
        ),
        (
            {"block_bytes": ["8KiB", "12KiB"]},
            "block_bytes: 12KiB, the largest, are no multiple of 8KiB",
        ),
        ({"block_bytes": ["many"]}, "block_bytes: "),
        ({"writes": ["trough"]}, r"writes: 'trough' \(did you mean 'through'\?\)"),
        ({"objective": "latecy"}, r"objective: 'latecy' \(did you mean 'latency'\?\)"),
        ({"rate": 0}, "rate: expected more than nothing, got 0"),
        ({"seeds": []}, "seeds: expected at least one"),
        ({"tier": "flsh"}, r"tier: unknown device 'flsh' \(did you mean 'flash'\?\)"),
        ({"policies": "lur"}, "unknown eviction policy 'lur'"),
        ({"policies": "arc(steps=1)"}, "steps"),
        (
            {"policies": "talus(policy=opt)"},
            "opt needs the future of the trace: it cannot be wrapped",
        ),
        ({"block_bytes": []}, "block_bytes: expected at least one"),
    ],
)
def test_mistakes_are_told(options: dict[str, Any], message: str) -> None:
    given = {"size": "1MiB"} | options
    with pytest.raises(ConfigError, match=message):
        mc.tune(random_trace(10), **given)


@pytest.fixture
def run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    random_trace().save(folder / "made.arrow")

    return partial(lines, capsys, "tune", "made.arrow")


def test_command(run: Any) -> None:
    options = ["--size", "1MiB", "--block-bytes", "4KiB,16KiB", "--sub-block-bytes", "none,4KiB"]
    chosen = [*options, "--policies", "lru,arc", "--objective", "latency"]
    code, out, err = run(*chosen, "-o", "results")
    assert code == 0, err
    assert "18 caches" in err
    assert out[0].startswith("Best by latency: `")
    assert out[1] == "made: a cache of 1 MiB, flash before hdd; all requests"
    assert out[2] == "Caches of one size, the best first by latency"
    assert [line.split()[:5] for line in out[3:5]] == [
        ["read", "hit", "backend", "backend"],
        ["*", "policy", "writes", "block", "loaded"],
    ]
    assert "memory for 18 caches" in err
    by_hits = run("--size", "1MiB", "--block-bytes", "4KiB")[1]
    assert by_hits[0].startswith("Best by hit ratio: `")
    assert "  16KiB of 4KiB   lru " in err
    assert len(out) == 5 + 18 + 4
    assert out[-4].startswith("* ")
    assert "of 18" in out[-4]
    assert out[-3:] == [f"results/made-tune.{ending}" for ending in ("png", "svg", "csv")]
    table = csv.read_csv("results/made-tune.csv")
    assert table["latency_ns"].to_pylist() == sorted(table["latency_ns"].to_pylist())
    # Reads are the same, and writes need not wait for the disk.
    assert table["writes"][0].as_py() == "back"
    assert f" {100 * table['hit_ratio'][0].as_py():.2f} " in out[5]
    assert run(*chosen)[1] == out[:-3]


def test_command_in_miniature(run: Any) -> None:
    options = ["--size", "4MiB", "--block-bytes", "4KiB", "--writes", "back,through"]
    code, out, _ = run(*options, "--mini", "30%", "--seeds", "3")
    assert code == 0
    assert "in miniature, at rate 0.3" in out[1]
    assert "±" in out[5]
    assert "the best is within the error bands of 1 other" in out[-1]


def test_command_says_why_a_policy_has_no_band(run: Any) -> None:
    options = ["--size", "4MiB", "--block-bytes", "4KiB", "--writes", "back"]
    mini = ["--policies", "lru,lirs", "--mini", "30%", "--seeds", "3"]
    code, out, _ = run(*options, *mini, "-o", "results")
    assert code == 0
    of_grid = [line for line in out if " back " in line]
    rows = {line.split()[1 if line.startswith("*") else 0]: line for line in of_grid}
    assert "±" in rows["lru"]
    assert "±" not in rows["lirs"]
    note = (
        "no band for lirs: 1 % of the cache is a list of its own, which has few blocks in a "
        "miniature"
    )
    assert out[-4] == note
    table = csv.read_csv("results/made-tune.csv").to_pylist()
    (lirs,) = (row for row in table if row["policy"] == "lirs")
    assert lirs["no_band"] in note
    assert lirs["hit_ratio_margin"] is None


def test_command_says_what_is_wrong(run: Any) -> None:
    code, _, err = run("--size", "1MiB", "--memory", "2KiB")
    assert code == 3
    assert "memory: lru with blocks of 4KiB needs " in err
    assert "of the 2 KiB that there may be" in err
    code, _, err = run("--size", "16KiB")
    assert code == 2
    assert "size: 16KiB are less than one block of 32KiB" in err
    assert run("--size", "1MiB", "--mini", "0")[2].strip().endswith("more than nothing, got '0'")


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_cache_beats_the_first_row(objective: Any) -> None:
    # The requested order once determined ties.
    rows = mc.tune(random_trace(), "256KiB", writes=["through", "back"], objective=objective)
    assert rows.pareto[0]
    hits = mc.tune(random_trace(), "256KiB", block_bytes=["4KiB"], writes=["through", "back"])
    assert hits.hit_ratio[0] == hits.hit_ratio[1]
    assert hits.latency_ns[0] < hits.latency_ns[1]


def test_a_size_may_be_a_share_of_all_that_is_accessed(tmp_path: Path) -> None:
    # Eight blocks of 4 KiB, one of which is only written; in blocks of 8 KiB there are five.
    trace = trace_of([(0, 4 * k, 4) for k in (0, 1, 2, 3, 6, 7, 8)] + [(1, 40, 4), (0, 0, 4)])
    layouts: dict[str, Any] = {
        "block_bytes": ["4KiB", "8KiB"],
        "policies": "lru",
        "writes": ["through"],
    }
    in_bytes = mc.tune(trace, "16KiB", **layouts)
    for size in ("50%", "1/2", 0.5, 4):  # an integer is a number of blocks of the smallest size
        assert mc.tune(trace, size, **layouts).tolist() == in_bytes.tolist()
    numbers = mc.tune([1, 2, 3, 1, 2, 3], "100%", block_bytes=["4KiB"])
    assert set(numbers.hit_ratio.tolist()) == {0.5}
    for wrong in ("101%", "some%"):
        with pytest.raises(ConfigError, match=f"size: expected a size such as .*, got '{wrong}'"):
            mc.tune(trace, wrong)
    with pytest.raises(ConfigError, match="size: 4KiB are less than one block of 8KiB"):
        mc.tune(trace, "1%", **layouts)
    path = str(trace.save(tmp_path / "t.csv"))
    told = CliRunner().invoke(cli, ["tune", path, "--size", "50%", "--block-bytes", "4KiB"])
    assert told.exit_code == 0, told.output
    assert "a cache of 16 KiB" in told.output
