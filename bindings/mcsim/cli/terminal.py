"""Where commands print tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["terminal"]


def terminal(stderr: bool = False) -> Console:
    """Return what is printed to; 100 columns wide where there is no terminal."""
    from rich.console import Console

    console = Console(stderr=stderr)
    if not console.is_terminal:
        console.width = 100
    return console
