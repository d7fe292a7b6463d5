"""How many threads to use."""

from __future__ import annotations

import os

from mcsim.base.errors import ConfigError

__all__ = ["threads_given"]


def threads_given(threads: int | None) -> int:
    """Return how many threads to use: all cores if it is not said."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    if threads < 1:
        raise ConfigError(f"threads: at least 1, got {threads}")
    return threads
