"""Small tables as HTML: what objects show of themselves in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["table_in_html"]

_MOST_ROWS = 30


def table_in_html(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without styles or scripts; of many rows the first.

    Examples
    --------
    >>> from mcsim.base.html import table_in_html
    >>> table_in_html("a & b", ["VM"], [["<web>"]])
    '<p>a &amp; b</p><table><tr><th>VM</th></tr><tr><td>&lt;web&gt;</td></tr></table>'
    """
    every = list(rows)
    lines = [_row("th", heads), *(_row("td", row) for row in every[:_MOST_ROWS])]
    left = f"<p>and {len(every) - _MOST_ROWS:,} more</p>" if len(every) > _MOST_ROWS else ""
    return f"<p>{escape(title)}</p><table>{''.join(lines)}</table>{left}"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
