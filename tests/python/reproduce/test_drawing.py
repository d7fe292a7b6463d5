# Trusts: the files themselves, read as PDF and SVG; figures made up here, counted as they are asked
# for.
"""Formats and styles of figures, and when a change recomputes findings."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from paper import check_paper, shown_in

import mcsim
from mcsim.cli.main import main
from mcsim.figures.declared import Plot
from mcsim.reproduce import catalogue
from mcsim.reproduce.catalogue import Figure, Found
from mcsim.reproduce.context import Context
from mcsim.reproduce.documents.multicache import figures as multicache
from mcsim.reproduce.reproduction import Reproduction

LINES = pa.table({"l": ["a"] * 3, "x": [1, 2, 3], "y": [1.0, 4.0, 9.0]})
HITS = Plot("Hits over size", "They grow.", "lines", "x", "y", "Size", "Hits", by=["l"])


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the catalogue up: a figure that draws, and a table that does not."""
    asked: list[str] = []

    def figure(context: Context) -> Found:
        asked.append("fig1")
        return Found(tables={"lines": LINES}, plots=[HITS])

    def table(context: Context) -> Found:
        asked.append("table1")
        return Found()

    made = [
        Figure("multicache/fig1", "F", 1, 1, "synthetic", figure),
        Figure("multicache/table1", "T", 1, 1, "nothing", table),
    ]
    monkeypatch.setattr(multicache, "FIGURES", made)
    monkeypatch.setattr(catalogue, "DOCUMENTS", ("multicache",))
    return asked


def names(made: Reproduction) -> list[str]:
    return [path.name for outcome in made.outcomes for path in outcome.finding.drawn]


def test_formats_that_were_not_drawn_are_found_again(found: list[str], tmp_path: Path) -> None:
    png, svg, pdf = (f"hits-over-size.{ending}" for ending in ("png", "svg", "pdf"))
    assert names(mcsim.reproduce(out=tmp_path)) == [png, svg]
    assert names(mcsim.reproduce(out=tmp_path, formats=["svg"])) == [svg]
    assert names(mcsim.reproduce(out=tmp_path, formats=["png"], style="screen")) == [png]
    assert found == ["fig1", "table1"]
    assert names(mcsim.reproduce(out=tmp_path, formats=["pdf", "png"])) == [pdf, png]
    # A table has no format.
    assert found == ["fig1", "table1", "fig1"]
    assert names(mcsim.reproduce(out=tmp_path)) == [pdf, png]
    assert found == ["fig1", "table1", "fig1"]
    assert names(mcsim.reproduce(out=tmp_path, style="paper")) == [png, svg]
    assert found == ["fig1", "table1", "fig1", "fig1"]
    # As they are drawn already.
    assert names(mcsim.reproduce(out=tmp_path)) == [png, svg]
    assert found == ["fig1", "table1", "fig1", "fig1"]


def test_findings_are_drawn_for_papers(found: list[str], tmp_path: Path) -> None:
    command = ["reproduce", "--results", str(tmp_path), "-q", "--figure-format"]
    main([*command, "svg"])
    folder = tmp_path / "reproduce" / "multicache" / "fig1"
    assert "Hits over size (synthetic workload)" in shown_in(folder / "hits-over-size.svg")
    main([*command, "pdf,svg", "--style", "paper"])
    pdf, svg = (folder / f"hits-over-size.{ending}" for ending in ("pdf", "svg"))
    check_paper(pdf, svg, ["Hits over size", "mcsim"], synthetic=True)
    assert not (folder / "hits-over-size.png").exists()


@pytest.mark.slow
def test_every_figure_of_a_document_is_drawn_for_papers(tmp_path: Path) -> None:
    made = mcsim.reproduce(
        "thesis", quick=True, out=tmp_path, formats=["pdf", "svg"], style="paper"
    )
    drawn = [path for outcome in made.outcomes for path in outcome.finding.drawn]
    pdfs = [path for path in drawn if path.suffix == ".pdf"]
    assert len(pdfs) >= 12
    assert sorted(drawn) == sorted([*pdfs, *(path.with_suffix(".svg") for path in pdfs)])
    for pdf in pdfs:
        check_paper(pdf, pdf.with_suffix(".svg"), ["mcsim", "run"], synthetic=True)
