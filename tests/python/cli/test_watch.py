"""`mcsim watch`: the curve of requests that come through a pipe.

Trusts: `mcsim mrc` on the same file with a sample that has all blocks, and `estimate` of the
references that a loop over the lines makes.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pytest
from commands import call, environment, files_of_at_most, printed
from numpy.typing import NDArray
from piped import stdin_of

import mcsim
from mcsim.locality.watch import keys_of
from mcsim.traces.batches import Batch

HEADER = "time_s,vm,op,offset,length\n"


def line(time: int, vm: int, op: str, offset: int, length: int) -> str:
    return f"{time},vm{vm},{op},{offset},{length}\n"


def requests(
    count: int, *, vms: int = 3, blocks: int = 5_000
) -> list[tuple[int, int, str, int, int]]:
    random = np.random.default_rng(1)
    skewed = (blocks * random.random(count) ** 3).astype(int)
    return [
        (i, int(random.integers(vms)), "rw"[int(random.random() < 0.2)], int(at) * 4096 + 512, 4096)
        for i, at in enumerate(skewed)
    ]


def content(rows: list[tuple[int, int, str, int, int]]) -> bytes:
    return (HEADER + "".join(line(*row) for row in rows)).encode()


def curve_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads("\n".join(printed(capsys, *arguments, "--json")))[
        "rows"
    ]
    return rows


def hits(rows: list[dict[str, Any]]) -> list[tuple[int, float]]:
    return [(row["capacity"], row["hits"]) for row in rows]


@dataclass
class Watching:
    """A command that runs, with its pipe and the terminal on which it shows the curve."""

    process: subprocess.Popen[bytes]
    pipe: BinaryIO
    terminal: int

    def wait_for(self, text: bytes) -> None:
        """Wait until the terminal shows a text."""
        shown = b""
        while text not in shown:
            shown += os.read(self.terminal, 4096)

    def interrupt(self) -> tuple[int, bytes]:
        """Press Ctrl-C; return the exit code and what is printed."""
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> tuple[int, bytes]:
        """Close the pipe; return the exit code and what is printed."""
        self.pipe.close()
        assert self.process.stdout is not None
        return self.process.wait(60), self.process.stdout.read()


@contextmanager
def watching(*arguments: str) -> Iterator[Watching]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mcsim", "watch", "-", "--refresh", "100ms", *arguments],
        env=environment(TERM="xterm"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        bufsize=0,
    ) as process:
        os.close(theirs)
        assert process.stdin is not None
        try:
            yield Watching(process, cast(BinaryIO, process.stdin), ours)
        finally:
            process.kill()
    os.close(ours)


@pytest.mark.parametrize("arguments", [[], ["--ops", "all"], ["--vms", "vm1,vm2"]])
def test_a_sample_of_all_blocks_has_the_hits_of_mrc(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    Path("file.csv").write_bytes(content(requests(20_000)))
    all_blocks = [*arguments, "--estimator", "shards(max_blocks=100000,correction=none)"]
    of_mrc = hits(curve_of(capsys, "mrc", "file.csv", *all_blocks))
    assert hits(curve_of(capsys, "watch", "file.csv", *all_blocks)) == of_mrc
    with stdin_of(Path("file.csv").read_bytes()):
        assert hits(curve_of(capsys, "watch", "-", *all_blocks)) == of_mrc


@pytest.mark.parametrize("name", ["shards(max_blocks=256)", "shards-rate(rate=0.1)"])
def test_a_sample_is_that_of_the_estimator(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rows = requests(20_000)
    seen: dict[int, int] = {}
    keys = []
    for _, vm, op, offset, _ in rows:
        number = seen.setdefault(vm, len(seen))
        keys += [(number << 48) + offset // 4096 + block for block in range(2)] * (op == "r")
    estimator, _, parameter = name.rstrip(")").partition("(")
    parameters = dict([parameter.split("=")])
    expected = mcsim.estimate(keys, estimator, seed=7, **parameters)  # type: ignore[arg-type]
    with stdin_of(content(rows)):
        found = curve_of(capsys, "watch", "-", "--estimator", name, "--seed", "7")
    assert hits(found) == hits(expected.thinned(log=True).to_arrow().to_pylist())


def split(offset: int, length: int, block: int) -> list[int]:
    return list(range(offset // block, (offset + length - 1) // block + 1)) if length else []


@pytest.mark.parametrize("block", [1, 512, 4096])
def test_requests_are_split_into_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcsim.locality.watch._PIECE", 1000)
    random = np.random.default_rng(2)
    offset = random.integers(0, 2**40, 300).astype(np.uint64)
    length = (random.integers(0, 3, 300) * random.integers(0, 9_000, 300)).astype(np.uint32)
    zeros: NDArray[Any] = np.zeros(300, np.int64)
    batch = Batch(zeros, zeros.astype(np.uint16), zeros.astype(np.uint8), offset, length, zeros)
    expected = [
        key
        for at, size in zip(offset.tolist(), length.tolist(), strict=True)
        for key in split(at, size, block)
    ]
    found = list(keys_of(batch, "blocks", block))
    assert np.concatenate(found).tolist() == expected
    assert max(map(len, found)) <= max(1000, 300)


def test_discards_and_skipped_rows_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = HEADER + line(1, 1, "r", 0, 4096) + line(2, 1, "d", 0, 4096) + line(3, 1, "r", 0, 4096)
    with stdin_of(rows.encode() + b"oops\n"):
        out = printed(capsys, "watch", "-", "--on-bad-line", "skip", "--format", "csv")
    assert out[-1] == "1 rows skipped"
    assert any("1 discards ignored" in text for text in out)
    assert "2 accesses to 1 blocks" in out[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--estimator", "exact"], "--estimator: exact: needs all blocks in memory; expected"),
        (["--refresh", "0s"], "--refresh: must be positive"),
        (["--vms", "nobody"], "--vms: no VM 'nobody'"),
        (["--vm-name", "one"], "--vm-name: stdin: its format names VMs"),
        (["--format", "msr"], "stdin:1: "),
        (["--ops", "writes"], "stdin: no writes came, of 1 requests"),
    ],
)
def test_mistakes_are_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with stdin_of((HEADER + line(1, 1, "r", 0, 4096)).encode()):
        code, out, err = call(capsys, "watch", "-", *arguments)
    assert (code, out) == (2, "")
    assert f"mcsim: {message}" in err


def test_an_empty_pipe_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with stdin_of(b""):
        code, _, err = call(capsys, "watch", "-")
    assert (code, err) == (2, "mcsim: stdin: the file is empty\n")


def test_a_closed_standard_input_is_an_error(folder: Path) -> None:
    command = ["sh", "-c", '"$0" -m mcsim watch - <&-', sys.executable]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr


def test_what_came_before_a_bad_line_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that closes in the middle of a line, or of a compressed frame."""
    with stdin_of(content(requests(1_000))[:-6]):
        code, out, err = call(capsys, "watch", "-", "--json")
    assert code == 2
    assert json.loads(out)["rows"]
    assert err.startswith("mcsim: stdin:1001: ")


def test_a_pipe_without_end_is_counted_as_it_comes(folder: Path) -> None:
    """A line counts before the next one, and Ctrl-C is the normal end."""
    rows = [line(i, 1, "r", i % 3 * 4096, 4096) for i in range(9)]
    with watching("--json") as command:
        command.pipe.write((HEADER + "".join(rows[:8])).encode())
        command.wait_for(b"stdin: 8 requests")
        command.pipe.write(rows[8].encode())
        command.wait_for(b"stdin: 9 requests")
        code, out = command.interrupt()
    assert code == 0
    assert json.loads(out)["rows"][-1]["hits"] == 6


def test_binary_records_without_end_are_counted_as_they_come(folder: Path) -> None:
    records = (np.arange(9_000) % 1_000 + 2**50).astype(">u8").tobytes()
    with watching("--json") as command:
        command.pipe.write(records[:-8])
        command.wait_for(b"stdin: 8,999 requests")
        command.pipe.write(records[-8:])
        command.wait_for(b"stdin: 9,000 requests")
        code, out = command.interrupt()
    assert code == 0
    assert json.loads(out)["rows"][-1]["hits"] == 8_000


def test_ctrl_c_before_any_request_is_an_error(folder: Path) -> None:
    with watching() as command:
        command.wait_for(b"stdin: 0 requests")
        assert command.interrupt() == (2, b"")


def test_a_terminal_shows_the_curve_so_far(folder: Path) -> None:
    with watching() as command:
        command.pipe.write(content(requests(1_000)))
        command.wait_for(b"twice as large")
        code, out = command.end()
    assert code == 0
    assert out.startswith(b"stdin: 3 VMs, reads, ")


def test_a_reader_that_closes_our_output_is_no_error(folder: Path) -> None:
    Path("file.csv").write_bytes(content(requests(5_000)))
    command = '"$0" -m mcsim watch - --csv < file.csv | head -1'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith('"capacity",')


def test_figures_and_tables_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with stdin_of(content(requests(1_000))):
        printed(capsys, "watch", "-", "-o", "out", "--figure-format", "svg")
    written = sorted(path.name for path in Path("out").iterdir())
    assert written == ["stdin-watch.arrow", "stdin-watch.csv", "stdin-watch.svg"]


def test_a_full_disk_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with stdin_of(content(requests(5_000))), files_of_at_most(1_000):
        code, _, err = call(capsys, "watch", "-", "-o", "out", "--figure-format", "svg")
    assert code in (3, 4)
    assert "File too large" in err


def test_a_table_is_read_by_mrc(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file.csv").write_bytes(content(requests(10)))
    printed(capsys, "trace", "convert", "file.csv", "file.parquet")
    code, _, err = call(capsys, "watch", "file.parquet")
    assert (code, err) == (
        2,
        "mcsim: file.parquet: a table; mcsim mrc --estimator shards reads it\n",
    )


_PEAK = """
import os, resource, sys
import numpy as np
from pathlib import Path
from mcsim.locality.measure import parse_estimator
from mcsim.locality.watch import Feed, Watched, watch
from mcsim.traces.open import Reading
reading, writing = os.pipe()
count = int(sys.argv[1])
if os.fork() == 0:
    os.close(reading)
    for begin in range(0, count, 100_000):
        keys = np.random.default_rng(begin).integers(0, 2**40, 100_000, np.uint64)
        view = memoryview(keys.tobytes())
        while view:
            view = view[os.write(writing, view):]
    os._exit(0)
os.close(writing)
watched = Watched(parse_estimator("shards"), 1, "all", 4096)
watch(Feed(Path(f"/dev/fd/{reading}"), Reading("keys-u64-le").checked()), watched)
assert watched.came == count
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_stream(folder: Path) -> None:
    def peak(count: int) -> int:
        done = subprocess.run(
            [sys.executable, "-c", _PEAK, str(count)],
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout)

    assert abs(peak(10_000_000) - peak(1_000_000)) < 8 * 1024


def test_discards_take_the_band_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    rows = requests(20_000)
    file.write_bytes(content(rows))
    asked = ("watch", file, "--estimator", "shards(max_blocks=256)")
    assert "low" in curve_of(capsys, *asked)[0]
    file.write_bytes(content([*rows, (30_000, 0, "d", 0, 4096)]))
    row = curve_of(capsys, *asked)[0]
    assert "low" not in row
    assert "1 discards ignored" in row["note"]
    assert any("1 discards ignored" in text for text in printed(capsys, *asked))
