"""Replay requests through caches of the kernel that runs this program as its first process.

Arguments: a JSON file with the job. Lines of the console that start with REPORT have the results.
"""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

REPORT = "mcsim-outside: "
SECOND = 1_000_000_000
SECTOR = 512
LONGEST_CREATION = 70_000_000
"""Time in ns that the creation of a cache may take; more counts as late."""
libc = ctypes.CDLL(None, use_errno=True)


def checked(code: int, what: str) -> None:
    if code < 0:
        raise OSError(ctypes.get_errno(), what)


def mount(kind: str, folder: str) -> None:
    name = kind.encode()
    checked(libc.mount(name, folder.encode(), name, 0, None), f"mount {folder}")


def load_module(name: str, *, parameters: str = "") -> None:
    """Load a module of this kernel after the modules on which it depends."""
    tree = Path("/usr/lib/uml/modules") / os.uname().release
    for line in (tree / "modules.dep").read_text().splitlines():
        path, _, needed = line.partition(":")
        if Path(path).name != f"{name}.ko":
            continue
        for each in [*reversed(needed.split()), path]:
            own = parameters if each == path else ""
            with (tree / each).open("rb") as opened:
                code = libc.syscall(313, opened.fileno(), own.encode(), 0)
                if code < 0 and ctypes.get_errno() != 17:  # EEXIST: already loaded
                    checked(code, f"module {each}")
        return
    raise OSError(f"the kernel has no module {name}")


def command(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout


def write_file(path: str, text: str) -> None:
    with open(path, "w") as opened:  # noqa: PTH123
        opened.write(text)


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def sleep_until(moment: int) -> None:
    while (left := moment - now()) > 0:
        time.sleep(left / SECOND)


def next_second(offset: int, *, after: int, period: int = SECOND) -> int:
    """Return the first multiple of a period, plus the offset, at or after a time."""
    return -(-(after - offset) // period) * period + offset


def replay(device: str, requests: list[list[int]], begin: int) -> int:
    """Send each request at its time, one in flight. Return how late the latest one was sent, in ns.

    Requests: time since the first one in ns, offset, length, and 1 for writes.
    """
    disk = os.open(device, os.O_RDWR | os.O_DIRECT)
    longest = max(length for _, _, length, _ in requests)
    with mmap.mmap(-1, longest) as buffer:
        views = {length: memoryview(buffer)[:length] for _, _, length, _ in requests}
        gc.disable()
        late = 0
        for at, offset, length, is_write in requests:
            moment = begin + at
            sleep_until(moment)
            late = max(late, now() - moment)
            transfer = os.pwritev if is_write else os.preadv
            if transfer(disk, [views[length]], offset) != length:
                raise OSError(f"short transfer at {offset}")
        for view in views.values():
            view.release()
    os.close(disk)
    return late


def create_mapped(name: str, table: str) -> None:
    """Create a device of the device mapper, without udev."""
    command("dmsetup", "--noudevsync", "create", name, "--table", table)


def path_of(name: str) -> str:
    minor = command("dmsetup", "info", "-c", "--noheadings", "-o", "minor", name)
    return f"/dev/dm-{minor.strip()}"


def make_linear(name: str, disk: str, sectors: int) -> str:
    table = f"0 {sectors} linear {disk} 0"
    create_mapped(name, table)
    return path_of(name)


def run_dm_cache(job: dict[str, Any]) -> dict[str, Any]:
    """Return the time of creation, that of the first request, and `dmsetup status`."""
    load_module("dm-cache-smq")
    ssd = make_linear("ssd", "/dev/ram1", job["cache_bytes"] // SECTOR)
    sectors = job["block_bytes"] // SECTOR
    table = (
        f"0 {job['origin_bytes'] // SECTOR} cache /dev/ram2 {ssd} /dev/ram0 {sectors} "
        f"1 {job['mode']} {job['policy']} 2 migration_threshold {job['migration_threshold']}"
    )
    # After odd seconds, the waker starts at the same tick for 80 ms (at 100 ticks a second).
    sleep_until(next_second(SECOND + 5_000_000, after=now(), period=2 * SECOND))
    created = now()
    create_mapped("cached", table)
    creation = now() - created
    disk = path_of("cached")
    begin = next_second(3_000_000, after=now() + SECOND // 10)
    late = replay(disk, job["requests"], begin)
    status = command("dmsetup", "status", "cached")
    late = max(late, creation - LONGEST_CREATION)
    return {"created": created, "first": begin, "late": late, "status": status}


def run_dm_writecache(job: dict[str, Any]) -> dict[str, Any]:
    """Return the time of the first request and `dmsetup status`."""
    load_module("dm-writecache")
    ssd = make_linear("ssd", "/dev/ram1", job["cache_bytes"] // SECTOR)
    options = [f"{name} {value}" for name, value in job["options"].items()]
    create_mapped(
        "cached",
        f"0 {job['origin_bytes'] // SECTOR} writecache s /dev/ram0 {ssd} {job['block_bytes']} "
        + " ".join([str(2 * len(options)), *options]),
    )
    created = now()
    begin = next_second(3_000_000, after=now() + SECOND // 10)
    late = replay(path_of("cached"), job["requests"], begin)
    time.sleep(0.05)  # for the write-back that the last request started
    status = command("dmsetup", "status", "cached")
    return {"created": created, "first": begin, "late": late, "status": status}


def reads_of(disk: str) -> int:
    return int(Path(f"/sys/block/{disk}/stat").read_text().split()[0])


def run_bcache(job: dict[str, Any]) -> dict[str, Any]:
    """Return the time of the first request and the reads of the backing device."""
    load_module("bcache")
    ssd = make_linear("ssd", "/dev/ram1", job["cache_bytes"] // SECTOR)
    origin = make_linear("origin", "/dev/ram0", job["origin_bytes"] // SECTOR)
    bucket = str(job["bucket_bytes"])
    command("make-bcache", "-C", ssd, "-b", bucket, "-w", "512", "-B", origin)
    for disk in (ssd, origin):
        Path("/sys/fs/bcache/register").write_text(disk)
    device = Path("/sys/block/bcache0/bcache")
    (device / "sequential_cutoff").write_text(str(job["sequential_cutoff"]))
    (device / "cache_mode").write_text(job["mode"])
    for kind in ("read", "write"):
        (device / f"cache/congested_{kind}_threshold_us").write_text("0")
    begin = next_second(3_000_000, after=now() + 2 * SECOND)
    sleep_until(begin - SECOND // 10)
    before = reads_of(Path(origin).name)
    late = replay("/dev/bcache0", job["requests"], begin)
    return {"first": begin, "late": late, "backing_reads": reads_of(Path(origin).name) - before}


def main() -> None:
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    try:
        job = json.loads(Path(sys.argv[1]).read_text())
        size = max(job["origin_bytes"], job["cache_bytes"]) // 1024
        load_module("brd", parameters=f"rd_nr=3 rd_size={size} max_part=0")
        load_module("dm-mod")
        runs = {
            "dm-cache": run_dm_cache,
            "dm-writecache": run_dm_writecache,
            "bcache": run_bcache,
        }
        result = runs[job["system"]](job)
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(REPORT + json.dumps({"version": os.uname().release, **result}), flush=True)
    Path("/proc/sysrq-trigger").write_text("o")
    time.sleep(10)


if __name__ == "__main__":
    main()
