# Trusts: verdicts worked out by hand from what the module says of them.
from __future__ import annotations

from pathlib import Path

import pytest
from complaints import complaint

from mcsim.base.errors import ConfigError
from mcsim.reproduce.figure import Check, Found
from mcsim.reproduce.published import Published, read_notes, read_published
from mcsim.reproduce.verdicts import Row, Verdict, judged, summary

HOLDS = Check("it rises", True, "1 < 2")
FAILS = Check("it falls", False, "1 < 2")
UNKNOWN = Check("it is read", None, "the trace is private")


def published(value: float | str, kind: str) -> Published:
    return Published.model_validate(
        {"figure": "fig1", "item": "hits", "value": value, "unit": "%", "kind": kind}
    )


def verdict(value: float | str, kind: str, measured: float | str, *checks: Check) -> Row:
    found = Found(values={"hits": measured}, checks=checks)
    return judged(found, [published(value, kind)])[0]


@pytest.mark.parametrize(
    ("value", "kind", "measured", "expected"),
    [
        (42, "exact", 42.4, Verdict.EQUAL),
        (42, "exact", 42.6, Verdict.HOLDS),
        (33.3, "exact", 33.34, Verdict.EQUAL),
        (33.3, "exact", 33.37, Verdict.HOLDS),
        (50, "about", 45, Verdict.EQUAL),
        (50, "about", 44.9, Verdict.HOLDS),
        (-72, "about", -70, Verdict.EQUAL),
        ("<= 5", "bound", 5, Verdict.HOLDS),
        ("<= 5", "bound", 5.01, Verdict.FAILS),
        (">= 72", "bound", 80, Verdict.HOLDS),
        (">= 72", "bound", 71, Verdict.FAILS),
        (31, "sign", 0.1, Verdict.HOLDS),
        (31, "sign", -0.1, Verdict.FAILS),
        (-25, "sign", -60, Verdict.HOLDS),
        (31, "sign", 0, Verdict.FAILS),
        ("10 to 50", "exact", "10 to 50", Verdict.EQUAL),
        ("10 to 50", "exact", "10 to 60", Verdict.FAILS),
    ],
)
def test_a_number_is_judged_by_its_kind(
    value: float | str, kind: str, measured: float | str, expected: Verdict
) -> None:
    assert verdict(value, kind, measured, HOLDS).verdict is expected


def test_a_number_that_differs_is_as_good_as_the_shape() -> None:
    assert verdict(42, "about", 10, HOLDS).verdict is Verdict.HOLDS
    assert verdict(42, "about", 10, HOLDS, FAILS).verdict is Verdict.FAILS
    assert verdict(42, "about", 10, HOLDS, UNKNOWN).verdict is Verdict.HOLDS
    unknown = verdict(42, "about", 10, UNKNOWN)
    assert (unknown.verdict, unknown.why) == (Verdict.UNCHECKED, "the trace is private")
    nothing = verdict(42, "about", 10)
    assert nothing.why == "another number, and nothing is claimed of the shape"


@pytest.mark.parametrize("measured", [float("nan"), "no interval is feasible"])
def test_what_is_not_measured_cannot_be_checked(measured: float | str) -> None:
    row = verdict(42, "exact", measured, HOLDS)
    assert row.verdict is Verdict.UNCHECKED
    assert row.why == (measured if isinstance(measured, str) else "nothing here measures it")
    (missing,) = judged(Found(), [published(42, "exact")])
    assert (missing.verdict, missing.why) == (Verdict.UNCHECKED, "nothing here measures it")


def test_claims_come_after_numbers_with_what_they_rest_on() -> None:
    rows = judged(Found(values={"hits": 42}, checks=[HOLDS, UNKNOWN]), [published(42, "exact")])
    assert rows == [
        Row("hits", "42 %", "42 %", Verdict.EQUAL),
        Row("it rises", "", "1 < 2", Verdict.HOLDS),
        Row("it is read", "", "", Verdict.UNCHECKED, "the trace is private"),
    ]


def test_a_figure_fails_if_anything_of_it_does() -> None:
    def of(*checks: Check, value: float = 42) -> Verdict:
        found = Found(values={"hits": value}, checks=checks)
        return summary(judged(found, [published(42, "exact")]))

    assert of(HOLDS) is Verdict.EQUAL
    assert of(HOLDS, value=10) is Verdict.HOLDS
    assert of(HOLDS, FAILS) is Verdict.FAILS
    assert of(UNKNOWN, value=10) is Verdict.UNCHECKED
    assert summary(judged(Found(checks=[HOLDS]), [])) is Verdict.HOLDS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {figure: a, item: b, value: 5, kind: bound}", ":1: value: of a bound expected such as"),
        ("- {figure: a, item: b, value: x, kind: sign}", ":1: value: of a sign expected a number"),
        (
            "- {figure: a, item: b, value: 5, kind: about, vale: 1}",
            "unknown key 'vale' (did you mean 'val",
        ),
        ("\n- {figure: a, value: 5, kind: about}", ":2: missing key 'item'"),
        ("- {figure: a, item: b, value: 5, kind: so}", ":1: kind: Input should be 'exact', "),
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
