"""Traces that come through pipes.

Trusts: the pipes of the kernel, and the same bytes read from a file.
"""

from __future__ import annotations

import errno
import gzip
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from commands import call, code_of, environment, files_of_at_most, printed
from piped import stdin_is, stdin_of, write_all

import mcsim
from mcsim.base.errors import ConfigError, HostError, TraceError
from mcsim.traces.open import Parse
from mcsim.traces.pipes import open_pipe

HEADER = "time_s,offset,length\n"
CONTENT = (HEADER + "".join(f"{i},{i * i % 97 * 4096},4096\n" for i in range(5_000))).encode()


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def curve_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    return printed(capsys, "mrc", *arguments, "--csv")


@pytest.fixture
def expected(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    (folder / "file.csv").write_bytes(CONTENT)
    return curve_of(capsys, "file.csv")


@pytest.fixture
def cache(folder: Path) -> Path:
    return folder / "cache"


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("[!.]*"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gz", "zst"])
def test_a_pipe_has_the_curve_of_its_file(
    expected: list[str], capsys: pytest.CaptureFixture[str], pack: Callable[[bytes], bytes]
) -> None:
    with stdin_of(pack(CONTENT)):
        assert curve_of(capsys, "-") == expected


def test_a_fifo_and_a_descriptor_have_the_curve_of_their_file(
    expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("fifo")
    threading.Thread(target=Path("fifo").write_bytes, args=(CONTENT,)).start()
    assert curve_of(capsys, "fifo") == expected
    reading, writing = os.pipe()
    write_all(writing, CONTENT)
    assert curve_of(capsys, f"/dev/fd/{reading}") == expected
    os.close(reading)


def test_a_fifo_without_a_writer_is_an_error(folder: Path) -> None:
    os.mkfifo("fifo")
    with pytest.raises(HostError, match=r"^fifo: cannot be read: no program writes to this pipe$"):
        mcsim.Trace.open("fifo")


def test_a_socket_is_read_like_a_pipe(
    expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = socket.socketpair()
    write_all(ours.detach(), CONTENT)
    with stdin_is(theirs.detach()):
        assert curve_of(capsys, "-") == expected


def test_a_file_as_standard_input_is_opened_in_place(
    expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with stdin_is(os.open("file.csv", os.O_RDONLY)):
        assert curve_of(capsys, "-") == expected


def test_the_store_of_a_pipe_is_found_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stdin_of(CONTENT):
        first = mcsim.Trace.open("-")
    assert [re.sub("-.*", "", name) for name in kept(cache)] == ["stdin"]
    monkeypatch.setattr(Parse, "_parse", None)
    with stdin_of(CONTENT):
        again = mcsim.Trace.open("-")
    assert first.digest == again.digest
    assert again.vms == ("stdin",)


def test_options_of_reading_apply(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with stdin_of(b"3\n1\n2\n"):
        line, *rows = printed(capsys, "trace", "info", "-", "--format", "keys", "--vm-name", "db")
    assert line.startswith("stdin: objects, format keys")
    assert [row.split()[0] for row in rows].count("db") == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "info", "-"],
        ["trace", "map", "-"],
        ["trace", "convert", "-", "out.arrow"],
        ["trace", "slice", "-", "out.csv", "--end", "1000s"],
        ["compare", "-", "--policies", "lru,fifo"],
        ["size", "-", "--target-hit-ratio", "50%"],
        ["tune", "-", "--size", "100KiB", "--policies", "lru"],
        ["mix", "-", "other.csv"],
        ["whatif", "-", "other.csv", "--size", "50%"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_commands_read_pipes(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    Path("other.csv").write_text(HEADER + "1,4096,4096\n2,8192,4096\n3,4096,4096\n")
    with stdin_of(CONTENT):
        printed(capsys, *arguments)


def test_a_parquet_file_comes_through_a_pipe(
    folder: Path, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, "trace", "convert", "file.csv", "file.parquet")
    with stdin_of(Path("file.parquet").read_bytes()):
        assert curve_of(capsys, "-") == expected
    printed(capsys, "trace", "convert", "file.csv", "file.arrow")
    with (
        stdin_of(Path("file.arrow").read_bytes()),
        pytest.raises(ConfigError, match=r"^stdin: a store of mcsim's is not read through a pipe"),
    ):
        mcsim.Trace.open("-")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "stdin: nothing came through this pipe"),
        (CONTENT[:-7], "stdin:5001: "),
        (zstd(CONTENT)[:-9], "stdin: the zstd data is damaged or cut short"),
        (b"what is this\n", "stdin: no known trace format"),
    ],
    ids=["empty", "line", "zstd", "unknown"],
)
def test_bad_bytes_are_errors_that_name_the_pipe(cache: Path, content: bytes, message: str) -> None:
    with stdin_of(content), pytest.raises(TraceError) as caught:
        mcsim.Trace.open("-")
    assert str(caught.value).startswith(message)
    assert str(cache) not in str(caught.value)
    assert kept(cache) == []


def test_skipped_rows_name_the_pipe(cache: Path) -> None:
    with stdin_of(CONTENT[:-7]):
        trace = mcsim.Trace.open("-", on_bad_line="skip")
    assert trace.metadata.complaints[0].startswith("stdin:5001: ")


def test_a_pipe_is_read_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with stdin_of(CONTENT):
        code, _, err = call(capsys, "mrc", "-", "-")
    assert (code, err.splitlines()[-1]) == (2, "mcsim: stdin: given twice, and a pipe is read once")


def test_a_terminal_and_a_device_are_refused(folder: Path) -> None:
    ours, theirs = pty.openpty()
    with stdin_is(theirs), pytest.raises(ConfigError, match="stdin: a terminal; pipe a trace into"):
        mcsim.Trace.open("-")
    os.close(ours)
    with pytest.raises(ConfigError, match="/dev/zero: a device; expected a file or a pipe"):
        mcsim.Trace.open("/dev/zero")


def test_a_closed_standard_input_is_refused(folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m mcsim mrc - <&-', sys.executable],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "mcsim: stdin: standard input is closed; pipe a trace into this command\n"
    )


def test_a_full_disk_names_the_folder_of_the_spooled_file(cache: Path) -> None:
    with stdin_of(CONTENT), files_of_at_most(10_000), pytest.raises(HostError) as caught:
        mcsim.Trace.open("-")
    assert str(caught.value).startswith(f"{cache}: cannot be written: File too large; ")
    assert kept(cache) == []


def test_the_copy_of_a_pipe_has_a_limit(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCSIM_SPOOL_LIMIT", f"{len(CONTENT) - 1}B")
    with stdin_of(CONTENT):
        assert code_of("mrc", "-") == 3
    assert f"stdin: more than {len(CONTENT) - 1:,} bytes came" in capsys.readouterr().err
    assert kept(cache) == []
    monkeypatch.setenv("MCSIM_SPOOL_LIMIT", f"{len(CONTENT)}B")
    with stdin_of(CONTENT):
        assert code_of("mrc", "-") == 0
    monkeypatch.setenv("MCSIM_SPOOL_LIMIT", "much")
    with stdin_of(CONTENT), pytest.raises(ConfigError, match="MCSIM_SPOOL_LIMIT"):
        mcsim.Trace.open("-")


def test_a_file_that_does_not_open_is_not_opened_for_writing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalled = folder / "stalled.csv"
    stalled.write_bytes(CONTENT)
    over = threading.Event()
    flags_seen: list[int] = []

    def slow(path: Path, flags: int) -> int:
        flags_seen.append(flags)
        over.wait(5)
        raise OSError(errno.EIO, "late")

    monkeypatch.setattr("mcsim.traces.pipes._WRITER_SECONDS", 0.05)
    monkeypatch.setattr("mcsim.traces.pipes.os.open", slow)
    with pytest.raises(HostError, match=r"stalled.csv: cannot be read: it cannot be opened within"):
        open_pipe(stalled)
    over.set()
    assert flags_seen == [os.O_RDONLY | os.O_CLOEXEC]


def test_ctrl_c_removes_what_was_spooled(cache: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mcsim", "mrc", "-"],
        env=environment(),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(HEADER)
    process.stdin.flush()
    while not list(cache.rglob("stdin")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert not list(cache.rglob("stdin"))


def test_an_output_is_not_its_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file.csv").write_bytes(CONTENT)
    with stdin_is(os.open("file.csv", os.O_RDONLY)):
        assert code_of("trace", "convert", "-", "file.csv") == 2
    assert "a standard stream of this command" in capsys.readouterr().err
    assert Path("file.csv").read_bytes() == CONTENT
