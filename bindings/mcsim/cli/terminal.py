"""Where commands print tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["for_terminal", "print_columns", "print_json", "terminal"]

_LONG_WORD = re.compile(r"\S{400,}")
_LONG_LINE = 4_000


def terminal(stderr: bool = False) -> Console:
    """Return what is printed to; 100 columns wide where there is no terminal."""
    from rich.console import Console

    console = Console(stderr=stderr)
    if not console.is_terminal:
        console.width = 100
    return console


def for_terminal(message: str) -> str:
    """Return a message with control characters escaped, and long arguments in it shortened.

    Examples
    --------
    >>> from mcsim.cli.terminal import for_terminal
    >>> len(for_terminal("no such file " + "a" * 100_000)) < 200
    True
    """
    from mcsim.base.inputs import printable

    lines = message.split("\n")
    lines = [_LONG_WORD.sub(lambda found: _shortened(found[0], 60), line) for line in lines]
    return "\n".join(
        printable(line if len(line) <= _LONG_LINE else _shortened(line, 1_000)) for line in lines
    )


def _shortened(text: str, ends: int) -> str:
    return f"{text[:ends]}… ({len(text) - 2 * ends:,} more letters) …{text[-ends:]}"


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
