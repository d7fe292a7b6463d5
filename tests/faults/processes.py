"""Processes at work on runs, what befalls them, and what they leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mcsim.results import unsound_files

ROOT = Path(__file__).parents[2]
TINY = ROOT / "experiments" / "tiny.yaml"

LONG = os.environ.get("MCSIM_FAULTS") == "long"
"""`./mcsim faults` sets it; `./mcsim test --slow` runs a short form."""

OF_THE_HOST = {"environment.json", "timings.json", "log.txt", "DONE"}
"""Files that may differ between equal runs: host, times, and their digests."""


@dataclass
class Process:
    """One under way."""

    fork_server: ForkServer
    pid: int
    output: Path
    calls_file: Path

    def wait(self) -> int:
        """Return its exit code, or the negative number of the signal that ended it."""
        return int(self.fork_server.ask(self.pid))

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.pid, number)

    @property
    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    @property
    def calls(self) -> int:
        """How many calls there were of the kind of which one was to fail."""
        return int(self.calls_file.read_text())


class ForkServer:
    """Where processes come from, each of which has mcsim imported; see fork_server.py."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder = folder
        self._library = library
        self._count = 0

    @cached_property
    def _process(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fork_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={
                **os.environ,
                "LD_PRELOAD": str(self._library),
                "MCSIM_CACHE_DIR": str(self.folder / "cache"),
            },
        )

    def ask(self, question: Any) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def start(self, do: str, **work: Any) -> Process:
        """Start a process; what it does and what befalls it is in fork_server.py."""
        self._count += 1
        output = self.folder / f"output-{self._count}"
        calls = self.folder / f"calls-{self._count}"
        asked = {"do": do, "output": str(output), "calls": str(calls), **work}
        return Process(self, int(self.ask(asked)), output, calls)

    def run(self, out: Path, *options: str, experiment: Path = TINY, **work: Any) -> Process:
        """Start a run, of the tiny experiment unless another one is given."""
        file = str(experiment)
        arguments = ["run", file, "--results", str(out), "--no-figures", "--quiet", *options]
        return self.start("command", arguments=arguments, **work)

    def close(self) -> None:
        if "_process" in vars(self):
            self._process.communicate()


def until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def is_stopped(process: int) -> bool:
    """Return whether a signal suspended a process, which then renews no lease."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def final_runs(out: Path) -> list[Path]:
    """The folders that have the name of a finished run."""
    if not out.is_dir():
        return []
    names = ("tiny-", "chains-")
    return [path for path in out.iterdir() if path.name.startswith(names) and not path.suffix]


def assert_whole(out: Path) -> None:
    """Check that all finished runs are complete."""
    for path in final_runs(out):
        assert unsound_files(path) == []


def contents(run: Path) -> Mapping[str, bytes]:
    """Files that are equal on every host, with the traces of environment.json."""
    found = {p.name: p.read_bytes() for p in run.iterdir() if p.name not in OF_THE_HOST}
    environment = json.loads((run / "environment.json").read_bytes())
    del environment["started"], environment["host"], environment["commit"]
    return found | {"environment": json.dumps(environment).encode()}
