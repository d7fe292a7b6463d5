"""Objects of the compiled core in wrong orders, after errors and on several threads.

Trusts: the result of one thread; sums by hand; the exit code of a process.
"""

from __future__ import annotations

import inspect
import os
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import python
from numpy.typing import NDArray

from mcsim import _core
from mcsim._core import engine, locality, synthetic, trace
from mcsim.base.errors import ConfigError

Columns = tuple[NDArray[Any], ...]
MODULES = (engine, locality, _core.optimizers, _core.policies, synthetic, trace)
BLOCK = 4096


def columns(times: list[int] | NDArray[np.int64], blocks: NDArray[Any] | None = None) -> Columns:
    time = np.asarray(times, np.int64)
    count = len(time)
    block = np.arange(count) if blocks is None else blocks
    return (
        time,
        np.zeros(count, np.uint16),
        np.zeros(count, np.uint8),
        block.astype(np.uint64) * np.uint64(BLOCK),
        np.full(count, BLOCK, np.uint32),
    )


def builder_of_one_vm() -> engine.AccessBuilder:
    builder = engine.AccessBuilder()
    builder.begin_vm("a")
    return builder


def test_a_builder_returns_its_first_error_from_then_on() -> None:
    builder = builder_of_one_vm()
    with pytest.raises(ConfigError, match="request 2 is 1 ns earlier") as refused:
        builder.add(*columns([0, 1, 0]))
    for call in (
        lambda: builder.add(*columns([5, 6])),
        lambda: builder.begin_vm("b"),
        builder.finish,
        builder.finish,
    ):
        with pytest.raises(ConfigError) as again:
            call()
        assert str(again.value) == str(refused.value)


def test_a_builder_finishes_once() -> None:
    builder = builder_of_one_vm()
    builder.add(*columns([0, 1]))
    assert builder.finish().access_count == 2
    for call in (builder.finish, lambda: builder.add(*columns([2])), lambda: builder.begin_vm("b")):
        with pytest.raises(ConfigError, match="finished"):
            call()


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([2**32 - 1, 2], "they have 4294967297 blocks, and there are 1 keys"),
        ([2**31, 2**31, 1], "they have 4294967297 blocks, and there are 1 keys"),
        ([0, 1], "request 0 has no blocks"),
        ([1, 0], "request 1 has no blocks"),
        ([], "they have 0 blocks, and there are 1 keys"),
    ],
)
def test_requests_of_an_estimator_have_all_of_its_keys(blocks: list[int], error: str) -> None:
    estimator = locality.Estimator("exact")
    counts = np.array(blocks, np.uint32)
    shapes = (BLOCK, counts, np.zeros_like(counts), np.zeros_like(counts))
    with pytest.raises(ConfigError, match=error):
        estimator.process(np.array([7], np.uint64), requests=shapes)


def test_a_callback_cannot_call_the_object_that_is_at_work() -> None:
    estimator = locality.Estimator("exact")
    seen: list[str] = []

    def call(done: int) -> None:
        with pytest.raises(ConfigError, match="while it was at work") as refused:
            estimator.curve()
        seen.append(str(refused.value))

    estimator.process(np.arange(10, dtype=np.uint64), progress=call)
    assert seen
    assert estimator.references == 10


def test_a_pipe_has_one_reader() -> None:
    ends = os.pipe()
    os.write(ends[1], b"time_s,offset,length\n1,0,4096\n")
    os.close(ends[1])
    pipe = trace.Pipe(ends[0], "piped")
    assert pipe.detect_format().name == "csv"
    reader = pipe.read("csv", {}, skip_bad_lines=False)
    for call in (pipe.detect_format, lambda: pipe.read("csv", {}, skip_bad_lines=False)):
        with pytest.raises(ConfigError, match="piped: this pipe has a reader already"):
            call()
    first = reader.next()
    assert first is not None
    assert first[3].tolist() == [0]


def test_a_reader_returns_its_first_error_from_then_on(folder: Path) -> None:
    path = folder / "a.csv"
    path.write_text("time_s,offset,length\n1,0,4096\nx,0,4096\n3,0,4096\n")
    reader = trace.Reader(os.fsencode(path), "csv", {}, skip_bad_lines=False, keep_unsorted=False)
    messages = set()
    for _ in range(3):
        with pytest.raises(ValueError, match=r"a\.csv:3") as refused:
            reader.next()
        messages.add(str(refused.value))
    assert len(messages) == 1


def table_rows() -> trace.TableRows:
    mapping = {"time_unit": "ns"}
    return trace.TableRows(
        "t", ["time", "offset", "vm"], mapping, "t", skip_bad_rows=False, keep_unsorted=False
    )


TIME, OFFSET = np.array([1, 2]), np.array([0, 4096])
TEXTS, BYTES = np.array([0, 1, 2]), np.frombuffer(b"ab", np.uint8)
NONE = np.empty(0, np.uint8)


@pytest.mark.parametrize(
    "given",
    [
        [],
        [(TIME, None, None)],
        [None, None, None],
        [(TIME, None, None), (OFFSET[:1], None, None), (TEXTS, BYTES, None)],
        [(TIME, None, None), (OFFSET, None, NONE[:0]), (TEXTS[:2], BYTES, None)],
        [(TIME, None, np.ones(1, np.uint8)), (OFFSET, None, None), (TEXTS, BYTES, None)],
        [(TIME, None, None), (OFFSET, None, None), (TEXTS + 1, BYTES, None)],
        [(TIME, None, None), (OFFSET, None, None), (TEXTS - 1, BYTES, None)],
        [(TIME, None, None), (OFFSET, None, None), (TEXTS[::-1].copy(), BYTES, None)],
        [(TIME, None, None), (OFFSET, None, None), (np.array([0, 2**62, 2**62]), BYTES, None)],
        [(TIME, None, None), (OFFSET, None, None), (NONE.astype(np.int64), NONE, None)],
    ],
)
def test_columns_of_a_table_have_a_value_for_each_row(given: list[Any]) -> None:
    sound = [(TIME, None, None), (OFFSET, None, None), (TEXTS, BYTES, None)]
    assert table_rows().add(sound, 2)[3].tolist() == [0, 4096]
    with pytest.raises(ConfigError, match=r"t: (expected 3 columns|column .* is damaged)"):
        table_rows().add(given, 2)


@pytest.mark.parametrize("column", [3, 4, 1 << 40, 2**64 - 1])
def test_a_table_uses_no_column_that_it_does_not_have(column: int) -> None:
    rows = table_rows()
    assert [rows.uses(given) for given in range(3)] == [True, True, True]
    assert not rows.uses(column)


@pytest.mark.parametrize(("unique", "line"), [(6, 0), (6, 4), (6, 2**32 - 1), (7, 2)])
def test_blocks_are_whole_lines(unique: int, line: int) -> None:
    blocks = np.arange(unique, dtype=np.uint32)
    cache: list[Any] = [("lru", {}, 4)]
    for call in (_core.policies.simulate, _core.policies.memory_needed):
        call(blocks, unique, cache, line_blocks=1)
        with pytest.raises(ConfigError, match=f"{unique} blocks are not whole lines of {line}$"):
            call(blocks, unique, cache, line_blocks=line)


@pytest.mark.parametrize("blocks", [-1, -(2**63)])
def test_a_tier_has_at_least_no_blocks(blocks: int) -> None:
    device = engine.Device("flash", 1.0, 1.0, 1.0)
    engine.Machine([(device, 0)], device)
    with pytest.raises(ConfigError, match=f"flash: expected at least 0 blocks, got {blocks}$"):
        engine.Machine([(device, 4), (device, blocks)], device)


REWRITTEN = """
import sys
import numpy as np
from mcsim._core import engine

def accesses(count, path=None):
    builder = engine.AccessBuilder(path=path)
    builder.begin_vm("a")
    time, zeros = np.arange(count), np.zeros(count, np.uint16)
    offset = (time % 1000).astype(np.uint64) * np.uint64(4096)
    builder.add(time, zeros, zeros.astype(np.uint8), offset, np.full(count, 4096, np.uint32))
    return builder.finish()

path, way = sys.argv[1:]
engine.write_accesses(accesses(100_000), path)
mapped = engine.open_accesses(path)
if way == "written":
    engine.write_accesses(accesses(10), path)
else:
    accesses(10, path)
print(len(mapped.ids), int(mapped.ids.sum()), int(engine.open_accesses(path).ids.sum()))
"""


@pytest.mark.parametrize("way", ["written", "built"])
def test_a_mapped_trace_outlives_a_shorter_one_of_its_name(folder: Path, way: str) -> None:
    done = python("-c", REWRITTEN, folder / "a.trace", way)
    assert done.returncode == 0, done.stderr
    # The ids are 0 to 999 a hundred times, and 0 to 9 once.
    assert done.stdout.split() == ["100000", str(100 * 499_500), "45"]


def in_threads(call: Callable[[int], object], threads: int = 4) -> list[BaseException]:
    """Call with each number on a thread of its own; return the exceptions."""
    errors: list[BaseException] = []
    begin = threading.Barrier(threads)

    def run(number: int) -> None:
        begin.wait()
        try:
            call(number)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return errors


def test_threads_share_a_summary() -> None:
    rng = np.random.default_rng(1)
    pieces = [columns(np.arange(60_000), rng.integers(0, 2**20, 60_000)) for _ in range(24)]
    shared, alone = trace.Summary(BLOCK), trace.Summary(BLOCK)
    for piece in pieces:
        alone.add(*piece)

    def add(number: int) -> None:
        for piece in pieces[number::4]:
            shared.add(*piece)
            shared.total()
            shared.vms()

    assert in_threads(add) == []
    for name in ("requests", "blocks", "unique_blocks", "top_1_percent_accesses", "once_blocks"):
        assert getattr(shared.total(), name) == getattr(alone.total(), name)


@pytest.mark.parametrize("name", ["exact", "shards", "parda", "mimir", "aet", "counter-stacks"])
def test_threads_share_an_estimator(name: str) -> None:
    keys = np.random.default_rng(2).integers(0, 2_000, 20_000).astype(np.uint64)
    estimator = locality.Estimator(name)

    def process(number: int) -> None:
        for k in range(10):
            estimator.process(keys if k % 2 else keys.astype(np.uint32))
            estimator.curve()
            assert estimator.bytes > 0

    assert in_threads(process) == []
    assert estimator.references == 4 * 10 * len(keys)
    assert estimator.curve().accesses == estimator.references


def test_threads_share_a_builder() -> None:
    builder = builder_of_one_vm()

    def add(number: int) -> None:
        for _ in range(50):
            builder.add(*columns(np.zeros(400), np.arange(400) + 400 * number))

    assert in_threads(add) == []
    finished: list[engine.Accesses] = []
    errors = in_threads(lambda number: finished.append(builder.finish()))
    assert len(errors) == 3
    (accesses,) = finished
    assert accesses.access_count == 4 * 50 * 400
    assert accesses.vms[0].unique_blocks == 1600


def test_threads_share_a_reader(folder: Path) -> None:
    path = folder / "a.csv"
    rows = "".join(f"{k},vm{k % 50},{4096 * k},4096\n" for k in range(30_000))
    path.write_text("time_s,vm,offset,length\n" + rows)
    reader = trace.Reader(os.fsencode(path), "csv", {}, skip_bad_lines=False, keep_unsorted=False)
    counts: list[int] = []

    def read(number: int) -> None:
        while True:
            assert len(reader.vms) in (0, 50)
            assert reader.rows.skipped == 0
            chunk = reader.next()
            if chunk is None:
                return
            counts.append(len(chunk[0]))

    assert in_threads(read) == []
    assert sum(counts) == 30_000


def test_threads_share_a_sketch() -> None:
    one, other, alone = (locality.HyperLogLog() for _ in range(3))
    keys = np.arange(40_000, dtype=np.uint64)
    alone.add(keys)

    def add(number: int) -> None:
        for _ in range(20):
            (one if number % 2 else other).add(keys[number::4])
            one.merge(other)
            other.merge(one)
            assert one.estimate() > 0

    assert in_threads(add) == []
    assert one.estimate() == alone.estimate()


def test_threads_share_a_system() -> None:
    builder = builder_of_one_vm()
    blocks = np.random.default_rng(3).integers(0, 500, 200_000)
    builder.add(*columns(np.arange(200_000), blocks))
    accesses = builder.finish()
    device = engine.Device("any", 1.0, 1.0, 1.0)
    system = engine.System("lru", {}, engine.Machine([(device, 50)], device))
    measured = locality.characterise(accesses, system.meters)
    cuts = engine.aligned_cuts(accesses, 1 << 62)
    log = engine.BackendLog()
    alone = engine.run(accesses, system, measured, cuts).tiers["hits"].sum()
    taken: list[int] = []

    def run(number: int) -> None:
        for _ in range(5):
            result = engine.run(accesses, system, measured, cuts, log=log)
            assert result.tiers["hits"].sum() == alone
            taken.append(len(log.take()[0]))

    assert in_threads(run) == []
    assert sum(taken) == 4 * 5 * (200_000 - alone)


def test_classes_state_their_thread_contract() -> None:
    classes = [of for module in MODULES for _, of in inspect.getmembers(module, inspect.isclass)]
    assert len(classes) > 30
    silent = [of.__name__ for of in classes if "thread" not in (of.__doc__ or "")]
    assert silent == []


LIMITED = """
import os, resource
import numpy as np
from mcsim._core import locality, policies
from mcsim.base.errors import HostError

blocks, unique = policies.number(np.arange(100_000, dtype=np.uint64) % 5_000)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
if os.getuid() == 0:  # root has no limit
    os.setresuid(54321, 54321, 54321)
caches = [(policy, {}, 100) for policy in ("lru", "fifo", "clock")]
for _ in range(3):
    try:
        policies.simulate(blocks, unique, caches, threads=4)
        print("simulated")
    except HostError as error:
        print(error)
print(policies.simulate(blocks, unique, caches, threads=1)["hits"].tolist())
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_NPROC"), reason="no limit of processes here")
def test_a_refused_thread_is_a_limit_of_the_host() -> None:
    ended = python("-c", LIMITED)
    *tries, hits = ended.stdout.splitlines()
    assert ended.returncode == 0, ended.stderr
    # oneTBB starts a thread at most once, so later calls may use one thread.
    assert len(tries) == 3
    assert "a thread cannot be started" in tries[0]
    assert "ulimit -u" in tries[0]
    assert set(tries[1:]) <= {tries[0], "simulated"}
    assert hits == "[0, 0, 0]"  # a loop over 5,000 blocks
