"""The page of a reproduction: figure after figure, published beside measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mcsim.base.result_table import ResultTable
from mcsim.figures.declared import Plot, charts_of
from mcsim.report.page import Block, Facts, Page, Prose, Section, render
from mcsim.report.tables import Cell, Table, number_cell, page_table

if TYPE_CHECKING:
    import pyarrow as pa


class Judged(Protocol):
    """A published number or a claim, with the measurement and the verdict in words."""

    @property
    def item(self) -> str: ...  # noqa: D102
    @property
    def published(self) -> str: ...  # noqa: D102
    @property
    def measured(self) -> str: ...  # noqa: D102
    @property
    def described(self) -> str: ...  # noqa: D102
    @property
    def ratio(self) -> float | None: ...  # noqa: D102


@dataclass(frozen=True)
class Reproduced:
    """One figure of a document, as a page shows it.

    Attributes
    ----------
    name : str
        Such as ``"multicache/fig14"``; what stands before the stroke is the document.
    title : str
        What it shows.
    verdict : str
        The number of rows by verdict.
    rows : sequence of Judged
        Published beside measured, then claims about shape.
    ran : str
        What was run: recorded or synthetic, and which.
    notes : sequence of (str, str)
        About what, and what to mind.
    tables : mapping of str to pa.Table
        What the figure shows, as data, by title.
    plots : sequence of Plot
        How the tables are plotted.
    """

    name: str
    title: str
    verdict: str
    rows: Sequence[Judged]
    ran: str = ""
    notes: Sequence[tuple[str, str]] = ()
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    plots: Sequence[Plot] = ()


def reproduction_page(
    figures: Sequence[Reproduced],
    *,
    lead: str = "What documents print, beside what comes out here.",
    facts: Sequence[tuple[str, str]] = (),
    documents: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Make the page of a reproduction; the same figures give the same.

    Parameters
    ----------
    figures : sequence of Reproduced
        In the order of the catalogue.
    lead : str
        What stands above.
    facts : sequence of (str, str)
        Names with what is known of them, such as the command and the version.
    documents : mapping of str to sequence of str, optional
        Paragraphs at the beginning of each document's section.
    """
    about = [Facts(facts)] if facts else []
    sections = [Section("Overview", [*about, _overview(figures)])]
    document = ""
    for figure in figures:
        own, _, _ = figure.name.partition("/")
        if own != document:
            document = own
            lead_in = (documents or {}).get(document, ())
            sections.append(Section(document, [Prose(says) for says in lead_in]))
        sections.append(Section(f"{figure.name}: {figure.title}", _blocks(figure), level=3))
    return render(Page("What was reproduced", lead, sections))


def _overview(figures: Sequence[Reproduced]) -> Table:
    rows = [[Cell(f.name), Cell(f.title), Cell(f.verdict), Cell(f.ran)] for f in figures]
    return Table(["figure", "shows", "verdict", "run"], rows)


def _blocks(figure: Reproduced) -> list[Block]:
    blocks: list[Block] = [Facts([("Verdict", figure.verdict), ("Run", figure.ran or "–")])]
    if figure.rows:
        heads = ["item", "published", "measured", "ratio", "verdict"]
        blocks.append(Table(heads, [list(_cells(row)) for row in figure.rows]))
    blocks += [Prose(f"{about}: {note}") for about, note in figure.notes]
    charts = charts_of(figure.plots, figure.tables)
    blocks += charts
    return blocks + [
        page_table(ResultTable(t, title=name), most=200) for name, t in figure.tables.items()
    ]


def _cells(row: Judged) -> Iterator[Cell]:
    yield from (Cell(row.item), Cell(row.published or "–"), Cell(row.measured or "–"))
    yield number_cell(row.ratio, "{:.3g}".format)
    yield Cell(row.described)
