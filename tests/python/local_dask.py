"""A Dask scheduler with two workers, on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def until(there: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Dask:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        where = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(where))
        until(where.exists)
        more = ("--scheduler-file", str(where), "--no-nanny", "--nthreads", "1")
        self.workers = [
            self._start("worker", *more, "--local-directory", str(folder / f"worker{index}"))
            for index in range(2)
        ]
        self.address = json.loads(where.read_text())["address"]

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=quiet, stderr=quiet)

    def wait(self) -> None:
        """Wait for both workers."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
