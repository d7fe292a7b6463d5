"""Boot Linux as a process (user-mode-linux) and run a job of guest.py in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from guest import REPORT, SECOND

MEMORY_FOLDER = Path("/dev/shm")
MEMORY_BYTES = 1 << 30
BOOT_SECONDS = 45  # includes the devices and the wait for the first request
ALL_SECONDS = 300
LATE_NS = 5_000_000
RETRIED_SECONDS = 60  # a late run is repeated once if its limit is at most this
PACKAGES = {
    "linux.uml": "user-mode-linux",
    "dmsetup": "dmsetup",
    "make-bcache": "bcache-tools",
}
GUEST_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"

start = time.monotonic()


def reason_against(*programs: str) -> str | None:
    """Return why no kernel can boot on this machine."""
    for program in programs:
        if shutil.which(program, path=GUEST_PATH) is None:
            return f"{program} is missing: apt-get install {PACKAGES[program]}"
    if not MEMORY_FOLDER.is_dir():
        return f"{MEMORY_FOLDER} is missing: it holds the memory of the kernel"
    state = os.statvfs(MEMORY_FOLDER)
    if state.f_flag & os.ST_NOEXEC:
        return f"{MEMORY_FOLDER} does not allow execution"
    if state.f_bavail * state.f_frsize < MEMORY_BYTES:
        return f"{MEMORY_FOLDER} has less than 1 GiB free"
    return None


def console_of(job: Path, seconds: float) -> str:
    """Boot with a job, and return the console after the kernel has powered off."""
    with subprocess.Popen(
        [
            "linux.uml", "mem=512M", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
            "con=null", "con0=null,fd:1", "console=tty0", f"uml_dir={job.parent}",
            f"init={Path(sys.executable).resolve()}", f"PATH={GUEST_PATH}",
            "--", "-I", "-S", Path(__file__).with_name("guest.py"), job,
        ],
        env={"PATH": GUEST_PATH, "TMPDIR": str(MEMORY_FOLDER), "HOME": str(job.parent)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as kernel:  # fmt: skip
        # Where it is permitted, other processes do not delay the kernel. Its children inherit this.
        with contextlib.suppress(OSError):
            os.sched_setscheduler(kernel.pid, os.SCHED_FIFO, os.sched_param(1))
        try:
            console, _ = kernel.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(kernel.pid, signal.SIGKILL)
            console, _ = kernel.communicate()
    return console.decode(errors="replace")


def outcome(job: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what guest.py reports of a job, or skip the test with the reason."""
    programs = ["linux.uml", "dmsetup"] + ["make-bcache"] * (job["system"] == "bcache")
    if reason := reason_against(*programs):
        pytest.skip(reason)
    file = folder / "job.json"
    file.write_text(json.dumps(job))
    seconds = BOOT_SECONDS + job["requests"][-1][0] / SECOND
    for _ in range(2 if seconds <= RETRIED_SECONDS else 1):
        if time.monotonic() - start + seconds > ALL_SECONDS:
            pytest.skip(f"the {ALL_SECONDS} s of all runs are over")
        console = console_of(file, seconds)
        found = [line for line in console.splitlines() if line.startswith(REPORT)]
        if not found:
            pytest.skip(f"the boot failed or took over {seconds:.0f} s: {console[-300:]!r}")
        result: dict[str, Any] = json.loads(found[-1].removeprefix(REPORT))
        if "error" in result:
            pytest.skip(f"Linux {result['version']}: {result['error']}")
        if result["late"] <= LATE_NS:
            return result
    pytest.skip(
        f"a request or the creation was {result['late'] / 1e6:.1f} ms late: the machine is busy"
    )
