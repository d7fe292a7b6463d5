"""A process that has imported mcsim and forks one for every line it reads: quick, and killable.

Lines are JSON: what is to be done, of `Work` in `processes.py`, or the id of a process to wait for.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mcsim.base.claims
import mcsim.base.faults
import mcsim.cli.main
import mcsim.cli.sweep
import mcsim.experiment.runner
import mcsim.results.writer
import mcsim.sweeps.sweep
import mcsim.sweeps.task
from mcsim.references.blocks import vms_of
from mcsim.references.interned import interned
from mcsim.references.workload import Workload

_NEW_MOUNTS, _NEW_NAMES, _NEW_PROCESSES = 0x00020000, 0x04000000, 0x20000000
_PRIVATE = 0x4000 | 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def on_another_host(name: str) -> None:
    """Go on as the second process of a machine with its own name, process ids and mounts."""
    checked(libc.unshare(_NEW_MOUNTS | _NEW_NAMES | _NEW_PROCESSES))
    for _ in range(2):  # the first has the rights of an init: signals of its own do nothing
        if (child := os.fork()) != 0:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os._exit(code if code >= 0 else 128 - code)
    checked(libc.mount(b"none", b"/", None, _PRIVATE, None))
    checked(libc.mount(b"proc", b"/proc", b"proc", 0, None))
    socket.sethostname(name)
    mcsim.base.claims._place.cache_clear()


def with_a_folder(work: dict[str, Any]) -> None:
    """Mount `folder`: a memory of some bytes, or the folder itself, read-only."""
    folder = os.fsencode(work["folder"])
    checked(libc.unshare(_NEW_MOUNTS))
    checked(libc.mount(b"none", b"/", None, _PRIVATE, None))
    if work.get("bytes"):
        size = f"size={work['bytes']}".encode()
        checked(libc.mount(b"tmpfs", folder, b"tmpfs", 0, size))
    else:
        checked(libc.mount(folder, folder, None, 0x1000, None))
        checked(libc.mount(folder, folder, None, 0x1000 | 0x20 | 0x1, None))


def set_clock(seconds: float) -> None:
    """Shift the clock by some seconds."""
    told, told_ns = time.time, time.time_ns
    time.time = lambda: told() + seconds
    time.time_ns = lambda: told_ns() + int(seconds * 1e9)


def at_point(point: str, times: int, what: Callable[[], object]) -> None:
    left = times

    def hook(reached: str) -> None:
        nonlocal left
        if reached == point:
            left -= 1
            if left == 0:
                what()

    mcsim.base.faults.hook = hook


def fail(work: dict[str, Any]) -> None:
    kind, nth, folder, number = work["fail"]
    libc.mcsim_fail(kind.encode(), ctypes.c_long(nth), folder.encode(), number)


def prepare(work: dict[str, Any]) -> None:
    """Inject the faults."""
    mcsim.results.writer.KEPT_AFTER_SECONDS = 0.0
    mcsim.base.claims.LEASE_SECONDS = work.get("lease", mcsim.base.claims.LEASE_SECONDS)
    mcsim.base.claims.RENEWED_SECONDS = work.get("renewed", mcsim.base.claims.RENEWED_SECONDS)
    if "kept_within" in work:
        mcsim.sweeps.task._KEPT_WITHIN = work["kept_within"]
    if "clock" in work:
        set_clock(60 * work["clock"])
    if "host" in work:
        on_another_host(work["host"])
    if "folder" in work:
        with_a_folder(work)
    if "die_at" in work:
        at_point(*work["die_at"], lambda: os.kill(os.getpid(), signal.SIGKILL))
    if "stop_at" in work:
        at_point(*work["stop_at"], lambda: os.kill(os.getpid(), signal.SIGSTOP))
    if "remove_at" in work:
        import shutil

        at_point(*work["remove_at"], lambda: shutil.rmtree(work["removed"], ignore_errors=True))
    if "fail" in work:
        fail(work)


def command(work: dict[str, Any]) -> None:
    """Run commands of mcsim, one after the other while they succeed."""
    mcsim.cli.main.main(work["arguments"])


def read_trace(work: dict[str, Any]) -> None:
    """Open a trace through the cache."""
    trace = mcsim.Trace.open(work["trace"], cache_dir=work["cache"])
    sys.stdout.write(trace.metadata.digest)


def intern_trace(work: dict[str, Any]) -> None:
    """Intern a workload, which is kept as a file if that can be."""
    random = np.random.default_rng(1)
    rows = 50_000
    blocks = random.integers(0, 3_000, rows)
    trace = mcsim.Trace.from_arrays(np.arange(rows), 4096 * blocks, 4096, source="made up")
    workload = Workload(vms_of([trace]), synthetic=True)
    view = {"block_bytes": 4096, "ops": "all", "line_blocks": 1}
    found = interned(workload, view, folder=Path(work["cache"]), at_least=0)
    sys.stdout.write(hashlib.sha256(found.ids.tobytes()).hexdigest())


def fill_up(work: dict[str, Any]) -> None:
    """Run a command where there is little room, and again when there is more."""
    folder = Path(work["folder"])
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(work["bytes"] - work["room"]))
    codes = []
    for _ in range(2):
        try:
            mcsim.cli.main.main(work["arguments"])
            codes.append(0)
        except SystemExit as ended:
            codes.append(ended.code)
        sys.stdout.write(json.dumps([codes[-1], sorted(p.name for p in folder.rglob("*"))]) + "\n")
        ballast.unlink(missing_ok=True)
    import shutil

    shutil.copytree(folder / "out", work["copy"])


def do(work: dict[str, Any]) -> int:
    try:
        prepare(work)
        {f.__name__: f for f in (command, read_trace, intern_trace, fill_up)}[work["do"]](work)
    except SystemExit as ended:
        return int(ended.code or 0)
    except mcsim.McsimError as error:
        sys.stderr.write(f"mcsim: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:  # before any command had begun
        return 130
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def fork_work(work: dict[str, Any]) -> int:
    child = os.fork()
    if child != 0:
        return child
    output = os.open(work["output"], os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # A hanging process ends with the exit code -SIGALRM.
    signal.alarm(300)
    code = do(work)
    calls = libc.mcsim_calls() if "fail" in work else 0
    libc.mcsim_fail(b"", ctypes.c_long(0), b"", 0)  # the lines below must succeed
    sys.stdout.flush()
    sys.stderr.flush()
    if "calls" in work:
        Path(work["calls"]).write_text(str(calls))
    os._exit(code)


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, int):
            answer = os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1])
        else:
            answer = fork_work(asked)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
