"""Where commands print tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_columns", "print_json", "terminal"]


def terminal(stderr: bool = False) -> Console:
    """Return what is printed to; 100 columns wide where there is no terminal."""
    from rich.console import Console

    console = Console(stderr=stderr)
    if not console.is_terminal:
        console.width = 100
    return console


def print_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()
) -> None:
    """Print rows in columns as wide as they need to be, for thousands of rows and for `grep`."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for row in (headings, *rows):
        cells = zip(headings, row, widths, strict=True)
        padded = (text.rjust(w) if of in right else text.ljust(w) for of, text, w in cells)
        click.echo("  ".join(padded).rstrip())


def print_json(value: Any) -> None:
    """Print a value as indented JSON, times as ISO 8601 has them."""
    import json

    click.echo(json.dumps(value, indent=2, default=lambda other: other.isoformat()))
