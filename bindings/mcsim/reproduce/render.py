"""A reproduction for terminals, as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mcsim.figures.declared import charts_of
from mcsim.report.page import Block, Facts, Page, Prose, Section, render
from mcsim.report.tables import Cell, Table, number_cell, page_table
from mcsim.reproduce.catalogue import Figure, document_of
from mcsim.reproduce.reproduction import Outcome, Reproduction
from mcsim.reproduce.verdicts import Row, Verdict, counts
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from rich.console import RenderableType

_GREEN = (Verdict.EQUAL, Verdict.WITHIN, Verdict.HOLDS)


def render_outcome(outcome: Outcome) -> RenderableType:
    """Show a figure: published, measured, verdict, what was run, and notes."""
    from rich.table import Table
    from rich.text import Text

    title = f"{outcome.figure.name}: {outcome.figure.title}"
    table = Table(
        title=Text(title),
        box=None,
        padding=(0, 1, 0, 0),
        title_justify="left",
        caption_justify="left",
    )
    for name, least in (("", 30), ("published", 9), ("measured", 9), ("verdict", 11)):
        table.add_column(name, overflow="fold", min_width=least)
    for row in outcome.rows:
        colour = "red" if row.verdict.is_failure else "green" if row.verdict in _GREEN else ""
        verdict = Text(row.described, style=colour)
        table.add_row(Text(row.item), row.published, Text(row.measured), verdict)
    lines = [outcome.ran, *(f"{note.about}: {note.note}" for note in outcome.notes)]
    table.caption = Text("\n".join(filter(None, lines)))
    return table


def totals(reproduction: Reproduction) -> str:
    """Count figures, and their numbers and claims by verdict."""
    rows = [row for outcome in reproduction.outcomes for row in outcome.rows]
    figures = len(reproduction.outcomes)
    return f"{figures} figure{'s' * (figures != 1)}; numbers and claims: {counts(rows)}"


def listing(figures: Sequence[Figure], quick: bool) -> Iterator[str]:
    """Yield each document, then a line a figure: content, duration, and what it needs."""
    width = max((len(figure.name) for figure in figures), default=0)
    document = ""
    for figure in figures:
        if figure.document != document:
            document = figure.document
            yield from (document_of(document).citation, document_of(document).link)
        seconds = figure.estimate(quick)
        yield f"  {figure.name:<{width}} {seconds:5.0f} s  {figure.title}  [{figure.needs}]"
    whole = sum(figure.estimate(quick) for figure in figures)
    yield f"  {len(figures)} figures, at most {whole / 60:.1f} min on two cores"


def in_markdown(reproduction: Reproduction, command: str) -> str:
    """Write a reproduction as a document, with the command that makes it."""
    lines = ["# What was reproduced", "", f"Made by `{command}`; do not edit.", ""]
    lines += [f"{totals(reproduction)}.", ""]
    document = ""
    for outcome in reproduction.outcomes:
        if outcome.figure.document != document:
            document = outcome.figure.document
            about = document_of(document)
            lines += [f"## {about.title}", "", f"{about.citation}. <{about.link}>", ""]
            lines += [f"{totals(reproduction.of_document(document))}.", ""]
        lines += [f"### {outcome.figure.name}: {outcome.figure.title}", ""]
        lines += [f"Run: {outcome.ran}.", ""]
        lines += ["| | published | measured | verdict |", "|-|-|-|-|"]
        lines += [
            f"| {' | '.join(map(_cell, (row.item, row.published, row.measured, row.described)))} |"
            for row in outcome.rows
        ]
        lines += ["", *(f"- *{_cell(note.about)}*: {note.note}" for note in outcome.notes), ""]
    return "\n".join(lines).rstrip() + "\n"


def in_html(reproduction: Reproduction, command: str) -> str:
    """Write a reproduction as a page: one file that opens offline."""
    from mcsim import _core

    facts = [("mcsim", _core.__version__)]
    documents = {
        name: [
            document_of(name).citation,
            document_of(name).link,
            f"{totals(reproduction.of_document(name))}.",
        ]
        for name in reproduction.documents
    }
    lead = f"{totals(reproduction)}."
    return reproduction_page(
        reproduction.outcomes, lead=lead, facts=facts, documents=documents, command=command
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def reproduction_page(
    outcomes: Sequence[Outcome],
    *,
    lead: str = "What documents print, beside what comes out here.",
    facts: Sequence[tuple[str, str]] = (),
    documents: Mapping[str, Sequence[str]] | None = None,
    command: str = "",
) -> str:
    """Return the page of a reproduction; the same outcomes give the same page.

    Parameters
    ----------
    outcomes : sequence of Outcome
        In the order of the catalogue.
    lead : str
        Above the sections.
    facts : sequence of (str, str)
        Names with values, such as the version.
    documents : mapping of str to sequence of str, optional
        Paragraphs at the beginning of each document's section.
    command : str
        The command that makes the page.
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
    return render(Page("What was reproduced", lead, sections, command))


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
