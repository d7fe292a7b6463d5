# Trusts: a stand-in for the notebook's display, which keeps what it is shown.
"""Progress in a notebook: one line that changes, not too often, and is right at the end."""

from __future__ import annotations

from typing import Any

import pytest

from mcsim.base.progress import NotebookReporter, notebook_reporter


class Line:
    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, line: str) -> Line:
        self.shown.append(line)
        return self

    def update(self, data: dict[str, str], **_: Any) -> None:
        self.shown.append(data["text/plain"])


def test_a_line_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    line = Line()
    with NotebookReporter(line).stage("cells", 40, "cells") as stage:
        stage.begun = now[0]
        for done in range(1, 41):
            now[0] += 0.1
            stage.update(done)
    assert line.shown[0] == "cells: 1 of 40 cells, 4 s left"
    assert line.shown[-1] == "cells: 40 of 40 cells, 4.0 s"
    assert len(line.shown) <= 18


def test_elsewhere_there_is_none() -> None:
    assert notebook_reporter() is None
