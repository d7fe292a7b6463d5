"""Trusts: nothing. docs/traces.md has what each written format holds, as messages have it.

`python tests/lint/test_written_formats.py` prints the table.
"""

from __future__ import annotations

from pathlib import Path

from mcsim.exchange.written import ASPECTS, FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "traces.md"


def table() -> str:
    """Return the table of formats that lack something."""
    lacking = [of for of in FORMATS if of.lacks]
    lines = [
        "| what a trace has | " + " | ".join(f"`{of.name}`" for of in lacking) + " |",
        "|---|" + "---|" * len(lacking),
    ]
    for name, text in ASPECTS.items():
        cells = [of.lacks.get(name, "kept") for of in lacking]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_page_has_the_table() -> None:
    assert table() in PAGE.read_text("utf-8"), f"python {__file__} prints the table"


if __name__ == "__main__":
    print(table())
