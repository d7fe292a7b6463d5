# Trusts: verdicts computed by hand from the documentation of the module.
from __future__ import annotations

from pathlib import Path

import pytest
from complaints import complaint

from mcsim.base.errors import ConfigError
from mcsim.reproduce.catalogue import DOCUMENTS, Check, Found, document_of, figures_of
from mcsim.reproduce.context import Context
from mcsim.reproduce.published import Published, read_document, read_notes, read_published
from mcsim.reproduce.verdicts import Row, Verdict, counts, judged

HOLDS = Check("it rises", True, "1 < 2")
FAILS = Check("it falls", False, "1 < 2")
UNKNOWN = Check("it is read", None, "the trace is private")


def published(value: float | str, kind: str, **more: object) -> Published:
    return Published.model_validate(
        {"figure": "fig1", "item": "hits", "value": value, "unit": "%", "kind": kind, **more}
    )


def verdict(
    value: float | str, kind: str, measured: float | str, *checks: Check, **more: object
) -> Row:
    found = Found(values={"hits": measured}, checks=checks)
    return judged(found, [published(value, kind, **more)])[0]


@pytest.mark.parametrize(
    ("value", "kind", "measured", "expected"),
    [
        (42, "exact", 42.4, "equal"),
        (50, "about", 45, "equal"),
        (50, "exact", 55, "equal"),
        (50, "about", 44.9, "same direction, 0.9 times as large"),
        (33.3, "exact", 37, "same direction, 1.1 times as large"),
        (-72, "about", -70, "equal"),
        # The rows that were all "shape holds".
        (1029, "about", 26.5, "same direction, 0.026 times as large"),
        (146, "about", 348, "same direction, 2.4 times as large"),
        (0.1, "exact", 1, "same direction, 10 times as large"),
        (41, "about", 94_300, "same direction, 2,300 times as large"),
        # Signs are directions; no effect is not the same one.
        (-25, "exact", -60, "same direction, 2.4 times as large"),
        (89, "about", -13.3, "opposite, 0.15 times as large"),
        (-25, "exact", 5, "opposite, 0.2 times as large"),
        (31, "about", 0, "opposite, 0 times as large"),
        ("<= 5", "bound", 5, "within the bound, 1 times the bound"),
        ("<= 5", "bound", 6, "outside the bound, 1.2 times the bound"),
        (">= 17", "bound", 493, "within the bound, 29 times the bound"),
        (">= 72", "bound", 36, "outside the bound, 0.5 times the bound"),
        ("<= 0", "bound", -3, "within the bound"),
        ("10 to 50", "exact", "10 to 50", "equal"),
        ("10 to 50", "exact", "10 to 60", "does not hold"),
        ("1,020, 1,630", "exact", 1020, "does not hold"),
    ],
)
def test_a_number_is_judged_by_itself(
    value: float | str, kind: str, measured: float | str, expected: str
) -> None:
    for checks in ((HOLDS,), (FAILS,), ()):
        assert verdict(value, kind, measured, *checks).described == expected


@pytest.mark.parametrize(("measured", "expected"), [(0.9, "equal"), (-1.1, "does not hold")])
def test_a_published_zero_has_an_absolute_tolerance(measured: float, expected: str) -> None:
    row = verdict(0, "about", measured, within=1)
    assert (row.described, row.ratio) == (expected, None)


def test_the_ratio_is_a_number_of_the_row() -> None:
    assert verdict(50, "about", 45).ratio == 0.9
    assert verdict("<= 8", "bound", 2).ratio == 0.25
    assert verdict("back", "exact", "back").ratio is None


@pytest.mark.parametrize("measured", [float("nan"), "no interval is feasible"])
def test_what_is_not_measured_cannot_be_checked(measured: float | str) -> None:
    row = verdict(42, "exact", measured, HOLDS, unmeasured="no model uses power")
    why = measured if isinstance(measured, str) else "no model uses power"
    assert (row.measured, row.why) == ("", why)
    assert row.described == f"cannot be checked because {why}"
    (missing,) = judged(Found(), [published(42, "exact", unmeasured="no model uses power")])
    assert missing.described == "cannot be checked because no model uses power"


def test_claims_come_after_numbers_with_what_they_rest_on() -> None:
    found = Found(values={"hits": 42}, checks=[HOLDS, FAILS, UNKNOWN])
    assert judged(found, [published(42, "exact")]) == [
        Row("hits", "42 %", "42 %", Verdict.EQUAL, 1.0),
        Row("it rises", "", "1 < 2", Verdict.HOLDS),
        Row("it falls", "", "1 < 2", Verdict.FAILS),
        Row("it is read", "", "", Verdict.UNCHECKED, why="the trace is private"),
    ]


def test_rows_by_construction_say_how_unless_traces_are_recorded() -> None:
    check = Check("it rises", True, "1 < 2", "the curve does")
    number = published(42, "exact", construction="the curve goes through it")
    rows = judged(Found(values={"hits": 42}, checks=[check]), [number])
    assert [row.described for row in rows] == [
        "equal; by construction: the curve goes through it",
        "holds; by construction: the curve does",
    ]
    recorded = judged(Found(values={"hits": 42}, checks=[check], recorded=True), [number])
    assert [row.by_construction for row in recorded] == [False, False]


def test_rows_are_counted_by_class_and_construction() -> None:
    found = Found(values={"hits": 42}, checks=[HOLDS, FAILS, UNKNOWN])
    rows = judged(found, [published(42, "exact", construction="so"), published(30, "about")])
    assert counts(rows) == (
        "1 equal (1 by construction), 1 same direction, 1 holds, 1 does not hold, "
        "1 cannot be checked"
    )
    assert [row.verdict.is_failure for row in rows] == [False, False, False, True, False]


def test_variants_of_a_system_have_a_row_each() -> None:
    found = Found(values={"hits": {"as printed": -20.0, "as coded": 44.0}})
    rows = judged(found, [published(42, "exact")])
    assert [(row.item, row.described) for row in rows] == [
        ("hits: as printed", "opposite, 0.48 times as large"),
        ("hits: as coded", "equal"),
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_have_a_bibliography(document: str) -> None:
    about = document_of(document)
    assert about.authors
    assert about.link.startswith("http")
    assert about.citation.startswith(about.authors[0])
    assert about.citation.endswith(str(about.year))


@pytest.mark.parametrize(
    ("text", "said"),
    [("title: a", "missing key 'authors'"), ("[", "not YAML: ")],
)
def test_a_mistake_in_a_bibliography_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "document.yaml").write_text(text, encoding="utf-8")
    told = complaint(read_document, tmp_path)
    assert told.startswith(f"{tmp_path / 'document.yaml'}: ")
    assert said in told


@pytest.mark.parametrize("document", DOCUMENTS)
def test_published_numbers_are_complete(document: str) -> None:
    names = {figure.name for figure in figures_of(document)}
    for entry in read_published(Context().folder(document)):
        assert f"{document}/{entry.figure}" in names
        assert entry.value != 0 or entry.within > 0, entry.item
        assert not (entry.construction and entry.unmeasured), entry.item


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {figure: a, item: b, value: 5, kind: bound}", ":1: value: of a bound expected such as"),
        (
            "- {figure: a, item: b, value: 5, kind: about, within: 1}",
            ":1: within: only a p",
        ),
        (
            "- {figure: a, item: b, value: 5, kind: about, vale: 1}",
            "unknown key 'vale' (did you mean 'val",
        ),
        ("\n- {figure: a, value: 5, kind: about}", ":2: missing key 'item'"),
        ("- {figure: a, item: b, value: 5, kind: sign}", ":1: kind: Input should be 'exact', "),
        ("a: b", ":1: expected a list of maps"),
        ("- [", ": not YAML: "),
    ],
)
def test_a_mistake_in_published_numbers_is_said_with_its_line(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    told = complaint(read_published, tmp_path)
    assert told.startswith(f"{tmp_path / 'published.yaml'}")
    assert said in told


def test_a_document_may_have_no_notes(tmp_path: Path) -> None:
    assert read_notes(tmp_path) == []
    with pytest.raises(ConfigError, match="No such file"):
        read_published(tmp_path)
