"""Work that is done after a command has answered, in a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

_NICE = 10
_later: list[Callable[[], object]] = []
_is_command = False


def begin_command() -> None:
    """Collect work of `do_later` for `begin_later_work`, from now on."""
    global _is_command
    _is_command = True


def do_later(work: Callable[[], object]) -> None:
    """Do work once the command has answered; without a command, never.

    Its errors are dropped, as those of a process that is killed are.
    """
    if _is_command:
        _later.append(work)


def begin_later_work() -> None:
    """Start the work that was put off, in a forked process that nothing waits for."""
    if not _later:
        return
    with suppress(OSError, ValueError):  # the output has no reader, or no process may start
        sys.stdout.flush()
        if os.fork() == 0:
            _work()
    _later.clear()


def _work() -> None:
    from mcsim.base.claims import leave_all

    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.nice(_NICE)
        for work in _later:
            work()
    finally:
        leave_all()
        os._exit(0)
