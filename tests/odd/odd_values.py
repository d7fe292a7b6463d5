"""Puts odd values into every option, schema path and profile key, and judges what commands do.

    ./mcsim odd-values [--only WORD] [--seconds N] [--seed N] [--jobs N]

A command must end within five seconds: with exit code 0 if the value is legal, else with 2 and a
message that names the option or the file. Commands run one after the other in one process (of
several with --jobs), which is replaced if it hangs or crashes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from odd_cases import SET_UP, Case, all_cases, write_inputs

LIMIT_S = 5.0
_STARTING_S = 60.0
_MOST_MEMORY = 6 << 30


@dataclass(frozen=True)
class Fault:
    """Fault of a command."""

    case: Case
    what: str
    said: str


def _work(connection: Connection, folder: str) -> None:
    """Run the commands that come in, until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    os.environ |= {"MCSIM_CACHE_DIR": "cache", "COLUMNS": "200"}
    os.environ.pop("MCSIM_TRACE_DIR", None)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    from mcsim.cli.main import main

    for arguments in SET_UP:
        main(arguments)
    inputs = set(Path().iterdir())
    connection.send("ready")
    while (case := connection.recv()) is not None:
        begin = time.monotonic()
        kept = {name: Path(name).read_bytes() for name in case.files}
        for name in case.files:
            Path(name).write_text(case.text_of(name), encoding="utf-8")
        said = io.StringIO()
        code: Any = 0
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                main(list(case.arguments))
        except SystemExit as stop:
            code = stop.code or 0
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"
        for name, content in kept.items():
            Path(name).write_bytes(content)
        for made in set(Path().iterdir()) - inputs:  # a later case may name it as an input
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        connection.send((code, said.getvalue(), time.monotonic() - begin))


class Worker:
    """The process that runs commands, and is replaced when one hangs or crashes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: Any = None

    def _start(self) -> None:
        write_inputs(self._folder)  # a killed command may have changed them
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, str(self._folder)), daemon=True)
        self._process.start()
        theirs.close()
        assert self._connection.poll(_STARTING_S), "the process that runs commands does not start"
        self._connection.recv()

    def run(self, case: Case) -> Fault | None:
        """Run one command; what it does wrong, if anything."""
        if self._process is None:
            self._start()
        self._connection.send(case)
        try:
            if not self._connection.poll(LIMIT_S + 1):
                self.stop()
                return Fault(case, "takes more than five seconds", "")
            code, said, seconds = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            return Fault(case, f"crashes, exit code {code}", "")
        what = _judged(case, code, said, seconds)
        return None if what is None else Fault(case, what, said)

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _judged(case: Case, code: Any, said: str, seconds: float) -> str | None:
    # The machine's memory, or --memory, may be all that limits a value.
    of_memory = "not enough memory" in said or "that there may be" in said
    if code not in (0, 2) and not (code == 3 and of_memory):
        return f"ends with {code}"
    if "Traceback" in said:
        return "shows a traceback"
    if seconds > LIMIT_S:
        return f"takes {seconds:.1f} s"
    blank = isinstance(case.value, str) and not case.value.strip()
    if code == 2 and not blank and not any(name in said for name in case.blamed):
        return "does not name what is wrong"
    if len(said) > 5_000:
        return f"says {len(said):,} letters"
    return None


def judged(
    cases: Sequence[Case], seconds: float | None = None, jobs: int = 1
) -> Iterator[tuple[Case, Fault | None]]:
    """Run commands, and yield each with what it does wrong, in the order in which they end.

    Parameters
    ----------
    cases : sequence of Case
        The commands.
    seconds : float, optional
        After which no other is begun.
    jobs : int
        Processes, which have a folder of their own each.
    """
    ended: SimpleQueue[tuple[Case, Fault | None] | None] = SimpleQueue()
    deadline = None if seconds is None else time.monotonic() + seconds

    def run(own: Iterable[Case]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            # Outputs to `../..` remain inside.
            inside = Path(folder) / "a" / "b" / "c"
            inside.mkdir(parents=True)
            worker = Worker(inside)
            try:
                for case in own:
                    if deadline is not None and time.monotonic() > deadline:
                        break
                    ended.put((case, worker.run(case)))
            finally:
                worker.stop()
                ended.put(None)

    threads = [Thread(target=run, args=(cases[job::jobs],)) for job in range(jobs)]
    for thread in threads:
        thread.start()
    left = jobs
    while left:
        if (one := ended.get()) is None:
            left -= 1
        else:
            yield one
    for thread in threads:
        thread.join()


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="./mcsim odd-values", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--only", default="", metavar="WORD", help="places with this in their names"
    )
    parser.add_argument("--seconds", type=float, help="time after which it ends; all if not given")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--seed", type=int, help="draw the order of cases from this seed")
    arguments = parser.parse_args()
    cases = [case for case in all_cases() if arguments.only in case.place]
    if arguments.seed is not None:
        random.Random(arguments.seed).shuffle(cases)
    places = {case.place for case in cases}
    print(f"{len(cases):,} cases in {len(places):,} places", flush=True)
    counts: Counter[str] = Counter()
    for number, (case, fault) in enumerate(judged(cases, arguments.seconds, arguments.jobs), 1):
        counts["clean" if fault is None else "faulty"] += 1
        if fault is not None:
            last = fault.said.strip().rpartition("\n")[2][-300:]
            shown = f"{case}: {fault.what}: {last}"
            print(shown.encode("utf-8", "backslashreplace").decode(), flush=True)
        if number % 2_000 == 0:
            print(
                f"{number:,} of {len(cases):,}: {counts['faulty']:,} faults",
                file=sys.stderr,
                flush=True,
            )
    print(f"{counts.total():,} run: {counts['clean']:,} clean, {counts['faulty']:,} faults")
    return 1 if counts["faulty"] else 0


if __name__ == "__main__":
    sys.exit(main())
