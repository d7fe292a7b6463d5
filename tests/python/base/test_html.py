# Trusts: the standard library's HTML parser.
from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import made_up
import numpy as np
import pytest

import mcsim as mc
from mcsim.locality.measure import HitRatioCurves

VILLAIN = "<script>alert(1)</script>"


class Texts(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(html: str) -> list[str]:
    parsed = Texts(html)
    assert parsed.tags <= {"p", "b", "table", "tr", "th", "td"}
    return parsed.texts


def test_a_run_shows_itself_in_a_notebook(tmp_path: Path) -> None:
    run = made_up.run(
        tmp_path, vms=[VILLAIN], systems=["lru", {"name": "static", "label": VILLAIN}]
    )
    texts = shown(run._repr_html_())
    assert texts[0] == run.answer
    assert texts[1].startswith("tiny (synthetic workload): reads")
    assert texts[2:4] == ["system", "hit %"]
    assert {"lru", VILLAIN} <= set(texts)


def test_curves_show_themselves_in_a_notebook() -> None:
    curve = mc.HitRatioCurve(np.array([10, 100]), np.array([70, 80]), accesses=100)
    texts = shown(curve._repr_html_())
    assert texts[:3] == ["Hit ratio of 100 accesses, by exact", "blocks", "hit ratio"]
    assert texts[-2:] == ["100", "80.00 %"]
    assert texts[3:5] == ["1", "0.00 %"]
    many = HitRatioCurves({VILLAIN: curve}, "vm")
    assert shown(many._repr_html_())[-4:] == [VILLAIN, "100", "80.00 %", "100"]
    empty = mc.HitRatioCurve(np.array([], int), np.array([]), accesses=0)
    assert shown(empty._repr_html_())[-2:] == ["blocks", "hit ratio"]


@pytest.mark.parametrize(("rows", "last"), [(40, "39"), (41, "… and 1 more row")])
def test_of_many_rows_the_first_are_shown(rows: int, last: str) -> None:
    table = mc.ResultTable({"capacity": np.arange(rows)})
    assert shown(table._repr_html_())[-1] == last
