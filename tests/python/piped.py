"""Standard input as a pipe that another thread writes, for commands that run in this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def write_all(descriptor: int, content: bytes) -> None:
    """Write to a pipe from a thread, and close it; a reader may close it first."""

    def write() -> None:
        left = memoryview(content)
        with suppress(BrokenPipeError):
            while left:
                left = left[os.write(descriptor, left) :]
        os.close(descriptor)

    threading.Thread(target=write, daemon=True).start()


@contextmanager
def stdin_is(descriptor: int) -> Iterator[None]:
    """Replace standard input by a descriptor, which is closed after the block."""
    before = os.dup(0)
    os.dup2(descriptor, 0)
    os.close(descriptor)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


@contextmanager
def stdin_of(content: bytes) -> Iterator[None]:
    """Pipe bytes into the block."""
    reading, writing = os.pipe()
    write_all(writing, content)
    with stdin_is(reading):
        yield
