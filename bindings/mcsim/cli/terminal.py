"""Where commands print tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from mcsim.tables.formatted_table import FormattedTable
    from mcsim.tables.result_table import ResultTable

Line: TypeAlias = "str | FormattedTable | ResultTable"

Form = Literal["text", "json", "csv", "markdown", "latex"]
"""How a result is printed."""

_LONG_WORD = re.compile(r"\S{400,}")
_LONG_LINE = 4_000
_MANY_ROWS = 1_000


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


def print_lines(*lines: Line, listing: bool = False) -> None:
    """Print lines, and tables as wide as they need to be; in a listing, a line for each row."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = 200
    for line in lines:
        if isinstance(line, str):
            click.echo(line)
            continue
        table = _formatted(line)
        if listing:
            click.echo(table.to_text())
            continue
        # Rich would wrap title and notes to the width of the columns.
        if table.title:
            click.echo(table.title)
        if len(table.rows) > _MANY_ROWS:
            for text in table.plain_lines():
                click.echo(text)
        else:
            console.print(table.to_rich())
        for note in table.notes:
            click.echo(note)


def print_result(
    form: Form,
    *lines: Line,
    data: Callable[[], pa.Table] | None = None,
    whole: Callable[[], Any] | None = None,
    listing: bool = False,
) -> None:
    """Print a result for people, or for programs.

    Parameters
    ----------
    form : {'text', 'json', 'csv', 'markdown', 'latex'}
    *lines : str, ResultTable or FormattedTable
        Output for people. In LaTeX, text is a comment.
    data : callable, optional
        Returns the table for CSV. If absent, it is the first result table of `lines`.
    whole : callable, optional
        Returns the object for JSON. If absent, JSON has the rows of `data`.
    listing : bool
        Whether a terminal shows each row of tables in one line, however long.
    """
    if form in ("csv", "json"):
        _load_arrow_without_pandas()
    if data is None:
        data = next(line.to_arrow for line in lines if hasattr(line, "to_arrow"))
    if form == "csv":
        from mcsim.tables.csv import csv_of, without_lists

        click.echo(csv_of(without_lists(data())), nl=False)
    elif form == "json":
        print_json(data().to_pylist() if whole is None else whole())
    elif form == "text":
        print_lines(*lines, listing=listing)
    else:
        texts = (_document(line, form) for line in lines)
        click.echo("\n\n".join(text for text in texts if text))


def _load_arrow_without_pandas() -> None:
    """Load Arrow without pandas.

    Arrow imports pandas when it makes its first array, in 0.15 s. Calls that need pandas import it
    later.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class _WithoutPandas(MetaPathFinder):
    """Finds every module but pandas where the others find it."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def _document(line: Line, form: Form) -> str:
    if isinstance(line, str):
        if form == "latex" and not line:
            return ""
        return line if form == "markdown" else "\n".join(f"% {one}" for one in line.split("\n"))
    table = _formatted(line)
    return table.to_markdown() if form == "markdown" else table.to_latex()


def _formatted(table: FormattedTable | ResultTable) -> FormattedTable:
    from mcsim.tables.formatted_table import FormattedTable

    return table if isinstance(table, FormattedTable) else table.formatted()


def print_json(value: Any) -> None:
    """Print a value as indented JSON, times as ISO 8601 has them."""
    import json

    click.echo(json.dumps(_finite(value), indent=2, default=lambda other: other.isoformat()))


def _finite(value: Any) -> Any:
    """Return a value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
