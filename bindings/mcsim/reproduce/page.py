"""The page of a reproduction: figure after figure, published beside measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mcsim.base.result_table import ResultTable
from mcsim.figures.declared import charts_of
from mcsim.report.page import Block, Facts, Page, Prose, Section, render
from mcsim.report.tables import Cell, Table, number_cell, page_table
from mcsim.reproduce.reproduction import Outcome
from mcsim.reproduce.verdicts import Row


def reproduction_page(
    outcomes: Sequence[Outcome],
    *,
    lead: str = "What documents print, beside what comes out here.",
    facts: Sequence[tuple[str, str]] = (),
    documents: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the page of a reproduction; the same outcomes give the same page.

    Parameters
    ----------
    outcomes : sequence of Outcome
        In the order of the catalogue.
    lead : str
        Above the sections.
    facts : sequence of (str, str)
        Names with values, such as the command and the version.
    documents : mapping of str to sequence of str, optional
        Paragraphs at the beginning of each document's section.
    """
    about = [Facts(facts)] if facts else []
    sections = [Section("Overview", [*about, _overview(outcomes)])]
    document = ""
    for outcome in outcomes:
        name = outcome.figure.name
        own, _, _ = name.partition("/")
        if own != document:
            document = own
            lead_in = (documents or {}).get(document, ())
            sections.append(Section(document, [Prose(says) for says in lead_in]))
        sections.append(Section(f"{name}: {outcome.figure.title}", _blocks(outcome), level=3))
    return render(Page("What was reproduced", lead, sections))


def _overview(outcomes: Sequence[Outcome]) -> Table:
    rows = [
        [Cell(text) for text in (of.figure.name, of.figure.title, of.counts, of.ran)]
        for of in outcomes
    ]
    return Table(["figure", "shows", "verdict", "run"], rows)


def _blocks(outcome: Outcome) -> list[Block]:
    blocks: list[Block] = [Facts([("Verdict", outcome.counts), ("Run", outcome.ran or "–")])]
    if outcome.rows:
        heads = ["item", "published", "measured", "ratio", "verdict"]
        blocks.append(Table(heads, [list(_cells(row)) for row in outcome.rows]))
    blocks += [Prose(f"{note.about}: {note.note}") for note in outcome.notes]
    found = outcome.finding.found
    blocks += charts_of(found.plots, found.tables)
    return blocks + [
        page_table(ResultTable(t, title=name), most=200) for name, t in found.tables.items()
    ]


def _cells(row: Row) -> Iterator[Cell]:
    yield from (Cell(row.item), Cell(row.published or "–"), Cell(row.measured or "–"))
    yield number_cell(row.ratio, "{:.3g}".format)
    yield Cell(row.described)
