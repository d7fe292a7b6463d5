# Trusts: limits of the operating system, lowered for processes with small inputs.
"""Limits of the host end commands with exit code 3 and the limit named."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import call, environment, python
from small import EXPERIMENTS

import mcsim
from mcsim.base.errors import ConfigError, HostError, MissingOutputError
from mcsim.base.limits import limit_error

COMMANDS = {
    "run": ["run", "tiny.yaml"],
    "sweep": ["sweep", "sweep.yaml", "--threads", "1"],
    "search": ["search", "tiny.yaml", "--most", "1"],
    "mrc": ["mrc", "keys.txt"],
    "compare": ["compare", "keys.txt", "--policies", "lru,arc", "--sizes", "10%"],
    "size": ["size", "keys.txt", "--target-hit-ratio", "0.5"],
    "info": ["trace", "info", "keys.txt"],
}


@pytest.fixture
def inputs(folder: Path) -> Path:
    (folder / "keys.txt").write_text("".join(f"{n % 97}\n" for n in range(1000)), encoding="ascii")
    text = (EXPERIMENTS / "tiny.yaml").read_text("utf-8")
    profile = EXPERIMENTS / "workloads" / "tiny.yaml"
    text = text.replace("workloads/tiny.yaml", str(profile))
    (folder / "tiny.yaml").write_text(text, encoding="utf-8")
    (folder / "sweep.yaml").write_text(
        "extends: tiny.yaml\nsweep: {seed: 2 seeds}\n", encoding="utf-8"
    )
    return folder


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
@pytest.mark.parametrize("command", COMMANDS)
def test_faults_of_the_host_are_no_mistakes_of_the_user(
    inputs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    number: int,
) -> None:
    """The first file that the command opens by Python cannot be opened."""
    real = Path.open

    def fail(path: Path, *arguments: object, **more: object) -> object:
        if path.suffix in (".yaml", ".txt"):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", fail)
    code, _, said = call(capsys, *COMMANDS[command])
    assert code == 3, said
    assert os.strerror(number) in said
    assert said.splitlines()[-1].startswith("mcsim: ")
    if number == errno.EMFILE:
        assert "`ulimit -n`" in said


def limited(
    command: list[str], kind: int, limit: int, **more: str
) -> subprocess.CompletedProcess[str]:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(kind, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "mcsim", *command],
        env=environment(**more),
        preexec_fn=lower,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("files", [6, 8])
@pytest.mark.parametrize("command", ["run", "search", "mrc"])
def test_few_open_files(inputs: Path, command: str, files: int) -> None:
    done = limited(COMMANDS[command], resource.RLIMIT_NOFILE, files)
    if done.returncode == 0 and command != "run":
        return  # it needs fewer
    assert done.returncode == 3, done.stderr
    assert "Too many open files" in done.stderr
    assert "raise the limit of open files, `ulimit -n`" in done.stderr


@pytest.mark.parametrize("mebibytes", [60, 400, 1023])
def test_little_address_space(inputs: Path, mebibytes: int) -> None:
    done = limited(COMMANDS["mrc"], resource.RLIMIT_AS, mebibytes << 20)
    assert done.returncode == 3
    assert done.stderr == (
        f"mcsim: the limit of memory, `ulimit -v`, is {mebibytes << 10:,} KiB; mcsim needs "
        "1,048,576 KiB or more\n"
    )


FEW_THREADS = """
import sys, threading

left = int(sys.argv.pop(1))
for name in ("_start_new_thread", "_start_joinable_thread"):
    def start(*arguments, real=getattr(threading, name, None), **more):
        global left
        left -= 1
        if left < 0:
            raise RuntimeError("can't start new thread")
        return real(*arguments, **more)
    setattr(threading, name, start)
from mcsim.cli.main import main
main()
"""


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize("command", ["run", "sweep", "mrc"])
def test_few_threads(inputs: Path, command: str, threads: int) -> None:
    done = python("-c", FEW_THREADS, threads, *COMMANDS[command])
    assert done.returncode in ((3,) if threads == 0 and command != "mrc" else (0, 3))
    if done.returncode == 3:
        assert "the system starts no more threads: raise the limits of threads" in done.stderr
    assert "Traceback" not in done.stderr


def error_with_files(more: int, work: Callable[[], object]) -> Exception | None:
    """Work while this number of files more can be open; return the exception."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + more, before[1]))
    try:
        work()
    except Exception as error:
        return error
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    return None


CALLS: dict[str, Callable[[Path], object]] = {
    "csv": lambda folder: mcsim.Trace.open(folder / "a.csv"),
    "parquet": lambda folder: mcsim.Trace.open(folder / "a.parquet"),
    "arrow": lambda folder: mcsim.Trace.open(folder / "a.arrow"),
    "run": lambda folder: mcsim.run(folder / "tiny.yaml", figures=False, out=folder / "new"),
    "results": lambda folder: mcsim.Results.open(folder / "finished"),
}


@pytest.mark.parametrize("call", CALLS)
def test_few_open_files_are_a_limit_of_the_host_in_python(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    trace = mcsim.Trace.from_arrays([0, 1], [0, 4096], 4096, source="two")
    trace.save(inputs / "a.arrow")
    pq.write_table(pa.table({"time_ns": [0, 1], "offset": [0, 4096]}), inputs / "a.parquet")
    (inputs / "a.csv").write_text("time_ns,offset\n0,0\n1,4096\n", encoding="ascii")
    if call == "results":
        finished = mcsim.run(inputs / "tiny.yaml", figures=False, out=inputs / "old")
        (inputs / "finished").symlink_to(finished.path)
    CALLS[call](inputs)  # imports modules
    for more in range(6):
        for folder in (inputs / "cache", inputs / "new"):
            shutil.rmtree(folder, ignore_errors=True)
        monkeypatch.setenv("MCSIM_CACHE_DIR", str(inputs / "cache"))
        error = error_with_files(more, partial(CALLS[call], inputs))
        assert error is None or isinstance(error, HostError), repr(error)
        assert error is None or "`ulimit -n`" in str(error)
        assert error is not None or more > 0


def raised_from(cause: BaseException, error: Exception) -> Callable[[], None]:
    def work() -> None:
        try:
            raise cause
        except BaseException:
            raise error from None

    return work


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (OSError(errno.EMFILE, "Too many"), "x; raise the limit of open files, `ulimit -n`"),
        (BlockingIOError(errno.EAGAIN, "no fork"), "x; raise the limit of processes"),
        (MemoryError(), "x"),
        (RuntimeError("can't start new thread"), "the system starts no more threads"),
        (ImportError("liba.so: failed to map segment from shared object"), "x"),
        (OSError(errno.ENOENT, "missing"), None),
        (RuntimeError("another"), None),
        (MissingOutputError("a figure"), None),
    ],
)
def test_the_cause_is_found(cause: BaseException, expected: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        raised_from(cause, ConfigError("x"))()
    found = limit_error(caught.value)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert str(found).startswith(expected)
        assert found.exit_code == HostError.exit_code
