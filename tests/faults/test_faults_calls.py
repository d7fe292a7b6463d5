# Trusts: an undisturbed run; calls that fail_nth.c makes fail.
"""The n-th write, fsync, rename and so on fails, and the n-th allocation, for every n."""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from processes import LONG, ForkServer, Process, assert_whole, contents, final_runs

pytestmark = pytest.mark.slow

CALLS = [
    ("write", errno.ENOSPC),
    ("fsync", errno.EIO),
    ("rename", errno.EIO),
    ("open", errno.ENOSPC),
    ("mkdir", errno.ENOSPC),
]
KINDS = [kind for kind, _ in CALLS]


def each_fails(
    kind: str, number: int, below: Path, start: Callable[..., Process], step: int
) -> Iterator[tuple[int, int, Process]]:
    """Fail the first call, the second and so on until none fails; yield n and exit codes."""
    n = 1
    while True:
        process = start(fail=[kind, n, str(below), number])
        code = process.wait()
        yield n, code, process
        if process.calls < n:
            return
        n += step


@pytest.mark.parametrize(("kind", "number"), CALLS, ids=KINDS)
def test_a_run_whose_nth_call_fails(
    fork_server: ForkServer,
    undisturbed: Mapping[str, bytes],
    tmp_path: Path,
    kind: str,
    number: int,
) -> None:
    """The message names the file and a remedy, or the run needs no file; the next run continues."""
    failed = 0
    step = 1 if LONG else 6
    start = lambda **work: fork_server.run(tmp_path / "out", "--force", **work)  # noqa: E731
    for n, code, process in each_fails(kind, number, tmp_path, start, step):
        assert code in (0, 3), (n, process.said)
        assert_whole(tmp_path / "out")
        if code == 3:
            failed += 1
            assert str(tmp_path) in process.said, n
            assert "; see to the disk" in process.said or "; make room" in process.said, n
            assert "Traceback" not in process.said
        if code == 3 or n == 1 or process.calls < n:
            again = fork_server.run(tmp_path / "out")
            assert again.wait() == 0, again.said
            (run,) = (tmp_path / "out").iterdir()
            assert contents(run) == undisturbed
    assert failed > 0


@pytest.mark.parametrize(("kind", "number"), CALLS[:4], ids=KINDS[:4])
def test_a_trace_store_whose_nth_call_fails(
    fork_server: ForkServer, tmp_path: Path, kind: str, number: int
) -> None:
    trace = tmp_path / "trace.csv"
    rows = "".join(f"{n},vm,read,{4096 * (n % 97)},4096\n" for n in range(30_000))
    trace.write_text("time_ns,vm,op,offset,length\n" + rows)
    failed = 0
    cache = tmp_path / "cache"

    def start(**work: object) -> Process:
        for kept in cache.glob("*"):
            kept.unlink()
        return fork_server.start("read_trace", trace=str(trace), cache=str(cache), **work)

    whole = start()
    assert whole.wait() == 0, whole.said
    (store,) = cache.glob("*.arrow")
    expected = store.read_bytes()
    for n, code, process in each_fails(kind, number, cache, start, 1):
        assert code in (0, 3), (n, process.said)
        failed += code == 3
        if code == 3:
            assert f"{cache}" in process.said
        assert [file.read_bytes() for file in cache.glob("*.arrow")] in ([], [expected])
        again = fork_server.start("read_trace", trace=str(trace), cache=str(cache))
        assert again.wait() == 0, again.said
        assert again.said == whole.said
        assert store.read_bytes() == expected
        left = sorted(p.suffix for p in cache.iterdir() if not p.name.startswith(".in-use."))
        assert left in ([".arrow"], [".arrow", ".json"])
    assert failed > 0


@pytest.mark.parametrize(("kind", "number"), CALLS[:4], ids=KINDS[:4])
def test_an_interned_trace_whose_nth_call_fails(
    fork_server: ForkServer, tmp_path: Path, kind: str, number: int
) -> None:
    """The trace is then in memory, with a message; the next process writes the file."""
    cache = tmp_path / "cache"

    def start(**work: object) -> Process:
        for kept in cache.rglob("*.accesses"):
            kept.unlink()
        return fork_server.start("intern_trace", cache=str(cache), **work)

    whole = start()
    assert whole.wait() == 0, whole.said
    (file,) = cache.rglob("*.accesses")
    expected = file.read_bytes()
    failed = 0
    for n, code, process in each_fails(kind, number, cache, start, 1):
        assert code == 0, (n, process.said)
        assert process.said.endswith(whole.said)
        if process.said != whole.said:
            failed += 1
            assert process.said.startswith(f"{file}") or f"{file.parent}" in process.said
            assert "the interned trace is in memory" in process.said
        assert [kept.read_bytes() for kept in cache.rglob("*.accesses")] in ([], [expected])
        again = fork_server.start("intern_trace", cache=str(cache))
        assert again.wait() == 0
        assert again.said == whole.said
        assert [kept.read_bytes() for kept in cache.rglob("*.accesses")] == [expected]
    assert failed > 0


def test_a_run_whose_nth_allocation_fails(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    """It ends as it may: what has the name of something final is whole, and the next one works."""
    out = tmp_path / "out"
    ended: set[int] = set()
    counted = fork_server.run(out, "--force", fail=["malloc", 2**40, "", errno.ENOMEM])
    assert counted.wait() == 0, counted.said
    rounds = 400 if LONG else 12
    for n in range(1, counted.calls, counted.calls // rounds):
        process = fork_server.run(out, "--force", fail=["malloc", n, "", errno.ENOMEM])
        ended.add(process.wait())
        assert_whole(out)
        if n % 3 == 0:
            assert fork_server.run(out).wait() == 0
            assert [contents(run) for run in out.iterdir()] == [undisturbed]
    assert fork_server.run(out).wait() == 0
    assert [contents(run) for run in final_runs(out)] == [undisturbed]
    # Some libraries abort when an allocation fails. The dynamic loader exits with 127 if it cannot
    # allocate thread-local data.
    assert ended <= {0, 3, 70, 127, -signal.SIGABRT, -signal.SIGSEGV}
