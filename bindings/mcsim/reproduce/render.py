"""What a reproduction comes to, for terminals and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mcsim.reproduce.catalogue import document_of
from mcsim.reproduce.figure import Figure
from mcsim.reproduce.reproduction import Outcome, Reproduction
from mcsim.reproduce.verdicts import Verdict, counts

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
    from mcsim.reproduce.page import reproduction_page

    facts = [("command", command), ("mcsim", _core.__version__)]
    documents = {
        name: [
            document_of(name).citation,
            document_of(name).link,
            f"{totals(reproduction.of_document(name))}.",
        ]
        for name in reproduction.documents
    }
    lead = f"{totals(reproduction)}."
    return reproduction_page(reproduction.outcomes, lead=lead, facts=facts, documents=documents)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
