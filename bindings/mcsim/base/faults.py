"""Where work on files can be cut short: points at which tests end the process, or worse."""

from __future__ import annotations

from collections.abc import Callable

hook: Callable[[str], object] | None = None
"""Set by tests alone."""


def reached(point: str) -> None:
    """Notify tests that the process has reached a point."""
    if hook is not None:
        hook(point)
