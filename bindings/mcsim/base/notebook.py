"""Progress in a notebook: one line below the cell that runs, which changes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcsim.base.progress import Reporter, Stage

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
