"""Processes of an arena: limits of time and memory, and an end that costs one candidate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait

from mcsim.base.errors import HostError
from mcsim.contests.worker import Reply, Setup, Task

_PROGRAM = "import sys; from mcsim.contests.worker import main; main(int(sys.argv[1]))"

_START_S = 120.0
"""Limit for the start of a process."""


@dataclass(eq=False)
class _Process:
    """A process, the task that it has, and when this task must be done."""

    connection: Connection
    process: subprocess.Popen[bytes]
    code: str = ""
    task: Task | None = None
    deadline: float = 0.0
    is_ready: bool = False

    @classmethod
    def started(cls, setup: Setup) -> _Process:
        ours, theirs = Pipe()
        with theirs:
            number = theirs.fileno()
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(number)],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        ours.send(setup)
        return cls(ours, process)

    def end(self) -> int:
        """Kill it and its group; return its exit code, negative if a signal ended it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        self.connection.close()
        return code


@dataclass
class Processes:
    """Processes for tasks; a process whose candidate failed is replaced.

    A process that ran code of a candidate runs no other code.

    Attributes
    ----------
    seconds : float
        Limit for a task.
    """

    most: int
    setup: Setup
    seconds: float
    _running: list[_Process] = field(default_factory=list)
    _idle: list[_Process] = field(default_factory=list)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_error: object) -> None:
        for process in [*self._running, *self._idle]:
            process.end()

    def replies(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Reply]]:
        """Run tasks; yield each with its reply as it ends, in any order."""
        waiting = deque(tasks)
        while waiting or self._running:
            while waiting and len(self._running) < self.most:
                self._begin(waiting.popleft())
            first = min(process.deadline for process in self._running)
            ready = wait([p.connection for p in self._running], max(0.0, first - time.monotonic()))
            now = time.monotonic()
            for process in list(self._running):
                task = process.task
                assert task is not None
                if process.connection in ready:
                    reply = self._received(process, task)
                elif now >= process.deadline:
                    reply = self._late(process)
                else:
                    reply = None
                if reply is not None:
                    yield task, reply

    def _begin(self, task: Task) -> None:
        code = task.candidate.code
        fitting = [process for process in self._idle if process.code in ("", code)]
        if fitting:
            process = max(fitting, key=lambda process: process.code == code)
            self._idle.remove(process)
            process.deadline = time.monotonic() + self.seconds
            process.connection.send(task)
        else:
            for other in self._idle[: max(0, len(self._idle) + len(self._running) + 1 - self.most)]:
                self._idle.remove(other)
                other.end()
            process = _Process.started(self.setup)
            process.deadline = time.monotonic() + _START_S
        process.code, process.task = code, task
        self._running.append(process)

    def _received(self, process: _Process, task: Task) -> Reply | None:
        """Receive a reply, or the message that a process is ready; it then gets its first task."""
        try:
            reply = process.connection.recv()
            if not process.is_ready:
                process.is_ready = True
                process.deadline = time.monotonic() + self.seconds
                process.connection.send(task)
                return None
        except (EOFError, OSError):
            return self._ended(process)
        self._running.remove(process)
        if reply.failure:
            process.end()
        else:
            process.task = None
            self._idle.append(process)
        found: Reply = reply
        return found

    def _ended(self, process: _Process) -> Reply:
        self._running.remove(process)
        code = process.end()
        if not process.is_ready:
            raise HostError(f"a process for candidates did not start: exit code {code}")
        if code < 0:
            return Reply(failure=f"its process was ended by {signal.Signals(-code).name}")
        return Reply(failure=f"its process ended with exit code {code}")

    def _late(self, process: _Process) -> Reply:
        self._running.remove(process)
        process.end()
        if not process.is_ready:
            raise HostError(f"a process for candidates did not start within {_START_S:.0f} s")
        return Reply(failure=f"it was not done after {self.seconds:g} s")
