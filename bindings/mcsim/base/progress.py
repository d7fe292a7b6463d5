"""Progress of a run: stages, their rate and time left, and a log.

A `Reporter` times every stage, keeps a log of what happened, and shows a live
line per stage where there is a terminal; elsewhere it writes one line as each
stage ends.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim.base.inputs import printable
from mcsim.base.units import format_count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

_logger = logging.getLogger("mcsim")


@dataclass
class Stage:
    """A stage under way; `update` sets its progress."""

    name: str
    total: int | None
    unit: str
    done: int = 0
    begun: float = field(default_factory=time.monotonic)
    counted_as: dict[str, float] = field(default_factory=dict)
    _progress: Progress | None = None
    _task: TaskID | None = None

    def update(self, done: int) -> None:
        """Set the amount that is done; callable from any thread."""
        self.done = done
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, rate=self._rate())

    def update_of(self, done: int, total: int) -> None:
        """Set the amount that is done and the total, for work that determines its total."""
        self.expect(total)
        self.update(done)

    def expect(self, total: int) -> None:
        """Set the total."""
        if total != self.total and self._progress is not None and self._task is not None:
            self._progress.update(self._task, total=total)
        self.total = total

    def _rate(self) -> str:
        elapsed = time.monotonic() - self.begun
        return f"{format_count(self.done / elapsed)} {self.unit}/s" if elapsed > 0.2 else ""

    def summary(self) -> str:
        """How much was done and how fast."""
        if not self.done:
            return ""
        return f"{format_count(self.done)} {self.unit}, {self._rate() or 'at once'}"


class Reporter:
    """Times stages, logs them, and shows them on a console if given one.

    Attributes
    ----------
    seconds : dict
        Time per stage; a stage that comes several times adds up, but where several run at a
        time the clock runs once, so that stages sum up to the whole.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._under_way: dict[str, int] = {}
        self._since: dict[str, float] = {}
        self._console = console
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._log: Path | None = None
        self._progress: Progress | None = None

    def log_to(self, path: Path) -> None:
        """Write the log to `path` from now on, beginning with unwritten lines."""
        with self._lock:
            self._log = path
            self._write_log()

    def stop_log(self) -> None:
        """Buffer lines of the log until the next `log_to`."""
        with self._lock:
            self._log = None

    def note(self, text: str) -> None:
        """Log a line and show it."""
        self.log(text)
        if self._console is not None:
            self._console.print(
                _printable_lines(text), markup=False, highlight=False, soft_wrap=True
            )

    def log(self, text: str) -> None:
        """Log a line without showing it, also to the logger ``mcsim``."""
        text = _printable_lines(text)
        line = f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {text}\n"
        _logger.info(text)
        with self._lock:
            self._waiting.append(line)
            self._write_log()

    def _write_log(self) -> None:
        """Write the buffered lines; after an error they stay buffered, and the run continues."""
        if self._log is None:
            return
        with suppress(OSError), self._log.open("a", encoding="utf-8") as file:
            file.writelines(self._waiting)
            file.flush()
            self._waiting.clear()

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show a live display for the stages inside, on a terminal."""
        if self._progress is not None or self._console is None or not self._console.is_terminal:
            yield
            return
        with _live_progress(self._console) as progress:
            self._progress = progress
            try:
                yield
            finally:
                self._progress = None

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "", about: str = ""
    ) -> Iterator[Stage]:
        """Run a stage: time it, log its end, show it while it lasts.

        Parameters
        ----------
        name : str
            Key of its time in `seconds`.
        total : int, optional
            Total amount, in `unit`.
        unit : str
            Unit of `Stage.update`.
        about : str
            Part of the stage, such as the name of a system.
        """
        stage = Stage(name, total, unit)
        self._begin(name)
        title = f"{name} {about}".rstrip()
        finished = False
        around = _innermost.set(stage)
        try:
            with self.under_way(title, total) as stage._task:
                stage._progress = self._progress
                yield stage
            finished = True
        finally:
            _innermost.reset(around)
            self._end(name, finished)
        with self._lock:
            for other, seconds in stage.counted_as.items():
                self.seconds[name] = self.seconds.get(name, 0.0) - seconds
                self.seconds[other] = self.seconds.get(other, 0.0) + seconds
        elapsed = time.monotonic() - stage.begun
        self.note(f"{title:<34} {elapsed:8.2f} s  {stage.summary()}".rstrip())

    @contextmanager
    def under_way(self, title: str, total: int | None = None) -> Iterator[TaskID | None]:
        """Show a line while the block runs; unlike for a stage, no line is printed at its end."""
        if self._progress is None:
            yield None
            return
        task = self._progress.add_task(title, total=total, rate="")
        try:
            yield task
        finally:
            self._progress.remove_task(task)

    def quieter(self) -> Reporter:
        """Return one for parts of what is under way: it adds to a live display, and no lines."""
        inner = Reporter()
        inner._progress = self._progress
        return inner

    def _begin(self, name: str) -> None:
        with self._lock:
            if not self._under_way.get(name):
                self._since[name] = time.monotonic()
            self._under_way[name] = self._under_way.get(name, 0) + 1

    def _end(self, name: str, finished: bool) -> None:
        with self._lock:
            self._under_way[name] -= 1
            if finished and not self._under_way[name]:
                elapsed = time.monotonic() - self._since[name]
                self.seconds[name] = self.seconds.get(name, 0.0) + elapsed


_innermost: ContextVar[Stage | None] = ContextVar("stage", default=None)


def count_as(name: str, seconds: float) -> None:
    """Count seconds of the stage under way in this thread as another one; without any, do nothing.

    Parameters
    ----------
    name : str
        Key of the seconds in `Reporter.seconds`.
    seconds : float
    """
    if (stage := _innermost.get()) is not None:
        stage.counted_as[name] = stage.counted_as.get(name, 0.0) + seconds


def _printable_lines(text: str) -> str:
    """Return text with control characters and undecodable bytes escaped, such as of file names."""
    return "\n".join(map(printable, text.split("\n")))


def _live_progress(console: Console) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    return Progress(
        TextColumn("{task.description:<34}"),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]:>16}"),
        TimeElapsedColumn(),
        TimeLeft(),
        console=console,
        transient=True,
        expand=True,
    )


_SECONDS = 0.25  # between two changes of the line


def notebook_reporter() -> NotebookReporter | None:
    """Return a reporter for the notebook that this is called in, if it is one."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython import display

    show: Any = display.display
    return NotebookReporter(lambda line: show({"text/plain": line}, raw=True, display_id=True))


class NotebookReporter(Reporter):
    """Shows the stage that began last, how far it is, and the time that is left.

    Parameters
    ----------
    display : callable
        Shows a line, and returns what has a method `update` to change it.
    """

    def __init__(self, display: Any) -> None:
        super().__init__()
        self._display = display
        self._handle: Any = None
        self._shown = 0.0
        self._showing = threading.Lock()

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "", about: str = ""
    ) -> Iterator[Stage]:
        """Run a stage and show how far it is."""
        with super().stage(name, total, unit, about) as stage:
            update = stage.update

            def shown(done: int) -> None:
                update(done)
                self._show(stage, about)

            stage.update = shown  # type: ignore[method-assign]
            yield stage

    def _show(self, stage: Stage, about: str) -> None:
        last = stage.done == stage.total
        with self._showing:
            now = time.monotonic()
            if now - self._shown < _SECONDS and not last:
                return
            self._shown = now
            line = _line(stage, about, now - stage.begun)
            if self._handle is None:
                self._handle = self._display(line)
            else:
                self._handle.update({"text/plain": line}, raw=True)


def _line(stage: Stage, about: str, elapsed: float) -> str:
    what = f"{stage.name} {about}".rstrip()
    if not stage.total:
        return f"{what}: {stage.done:,} {stage.unit}"
    left = elapsed * (stage.total - stage.done) / max(stage.done, 1)
    rest = f", {left:.0f} s left" if 0 < stage.done < stage.total else f", {elapsed:.1f} s"
    return f"{what}: {stage.done:,} of {stage.total:,} {stage.unit}{rest if stage.done else ''}"
