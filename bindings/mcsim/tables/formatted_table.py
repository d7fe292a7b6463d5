"""Tables for people: cells as text, written for a terminal, HTML, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.table import Table

RowStyle = Literal["", "best", "yardstick", "total"]

_LEAST_WIDTH = 8
"""Width of columns in the terminal, at least; longer headings have several lines."""

_RICH = {"": None, "best": "bold", "yardstick": "bright_black", "total": "bold"}
_CSS = {"best": "font-weight:bold", "yardstick": "color:#777", "total": "font-weight:bold"}
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "∞": r"$\infty$",
}


class Strong(str):
    """Text of a cell in bold."""

    __slots__ = ()


@dataclass(frozen=True)
class FormattedTable:
    """A table as text.

    Attributes
    ----------
    headings : sequence of str
    rows : sequence of sequence of str
    numeric : sequence of bool
        Whether each column has numbers, which are aligned to the right.
    title : str
    notes : sequence of str
        Lines below the table.
    styles : sequence of {'', 'best', 'yardstick', 'total'}
        Style of each row; all plain if absent.
    values : sequence of sequence of float or None
        Sort keys of numeric cells; empty if unknown.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    title: str = ""
    notes: Sequence[str] = ()
    styles: Sequence[RowStyle] = ()
    values: Sequence[Sequence[float | None]] = ()

    def style_of(self, row: int) -> RowStyle:
        """Return the style of a row."""
        return self.styles[row] if self.styles else ""

    def plain_lines(self) -> Iterator[str]:
        """Yield the lines of `to_rich`, as wide as needed; for tables of many rows.

        Rich takes a millisecond for a row.
        """
        from rich.cells import cell_len

        headings = [self._heading(index).split("\n") for index in range(len(self.headings))]
        height = max(map(len, headings), default=0)
        cells = [[*[""] * (height - len(lines)), *lines] for lines in headings]
        lines = [*zip(*cells, strict=True), *self.rows]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            padded = [
                " " * (width - cell_len(cell)) + cell
                if right
                else cell + " " * (width - cell_len(cell))
                for cell, width, right in zip(line, widths, self.numeric, strict=True)
            ]
            yield " ".join(padded)

    def _heading(self, index: int) -> str:
        """Return a heading, in several lines if it is longer than its column is wide."""
        heading = self.headings[index]
        if "\n" in heading:
            return heading
        width = max([_LEAST_WIDTH, *(len(row[index]) for row in self.rows)])
        return fill(heading, width, break_long_words=False, break_on_hyphens=False)

    def to_rich(self) -> Table:
        """Return the table for the terminal, without title and notes."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        for index in range(len(self.headings)):
            right = self.numeric[index]
            table.add_column(
                Text(self._heading(index)),
                justify="right" if right else "left",
                overflow="fold",
                no_wrap=right,
                vertical="bottom",
            )
        for index, row in enumerate(self.rows):
            cells = [Text(cell, "bold" if isinstance(cell, Strong) else "") for cell in row]
            table.add_row(*cells, style=_RICH[self.style_of(index)])
        return table

    def to_text(self) -> str:
        """Return the table in columns of equal width."""
        lines = [self.headings, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [self.title] if self.title else []
        for line in lines:
            cells = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(line, widths, self.numeric, strict=True)
            ]
            text.append("  ".join(cells).rstrip())
        return "\n".join([*text, *self.notes])

    def to_html(self) -> str:
        """Return HTML without scripts, for notebooks."""
        head = "".join(f"<th>{escape(heading)}</th>" for heading in self.headings)
        lines = [f"<tr>{head}</tr>"]
        for index, row in enumerate(self.rows):
            style = _CSS.get(self.style_of(index))
            attribute = f' style="{style}"' if style else ""
            cells = "".join(
                f'<td style="text-align:right">{escape(cell)}</td>'
                if right
                else f"<td>{escape(cell)}</td>"
                for cell, right in zip(row, self.numeric, strict=True)
            )
            lines.append(f"<tr{attribute}>{cells}</tr>")
        below = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        title = f"<p>{escape(self.title)}</p>" if self.title else ""
        return f"{title}<table>{''.join(lines)}</table>{below}"

    def to_markdown(self) -> str:
        """Return a pipe table; the best row is bold, yardsticks are italic."""
        align = ["---:" if right else "---" for right in self.numeric]
        lines = [[heading.replace("\n", " ") for heading in self.headings], align]
        for index, row in enumerate(self.rows):
            style = self.style_of(index)
            cells = [_in_markdown(cell, strong=style in ("best", "total")) for cell in row]
            if style == "yardstick":
                cells = [f"*{cell}*" if cell else cell for cell in cells]
            lines.append(cells)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def to_latex(self) -> str:
        """Return a `tabular` for the package booktabs: the best row bold, yardsticks italic."""
        spec = "".join("r" if right else "l" for right in self.numeric)
        body = []
        for index, row in enumerate(self.rows):
            cells = [_in_latex(cell) for cell in row]
            font = {"best": "textbf", "yardstick": "textit"}.get(self.style_of(index))
            if font is not None:
                cells = [rf"\{font}{{{cell}}}" for cell in cells]
            body.append(" & ".join(cells) + r" \\")
        head = " & ".join(map(_in_latex, self.headings)) + r" \\"
        lines = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", head, r"\midrule", *body]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _in_markdown(cell: str, *, strong: bool) -> str:
    text = cell.replace("|", r"\|")
    return f"**{text}**" if text and (strong or isinstance(cell, Strong)) else text


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
