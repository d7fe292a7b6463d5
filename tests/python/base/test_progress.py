# Trusts: the monotonic clock, and what rich writes to a console that is a file.
from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from mcsim.base.progress import Reporter, count_as


def test_stages_of_one_name_add_up() -> None:
    reporter = Reporter()
    for _ in range(2):
        with reporter.stage("replay"):
            time.sleep(0.02)
    assert 0.04 <= reporter.seconds["replay"] < 1


def test_stages_at_a_time_are_counted_once() -> None:
    reporter = Reporter()
    begun = time.monotonic()
    with reporter.stage("replay"), reporter.stage("intern"), reporter.stage("replay"):
        time.sleep(0.05)
    assert 0.05 <= reporter.seconds["replay"] <= time.monotonic() - begun
    assert reporter.seconds["intern"] <= reporter.seconds["replay"]


def test_seconds_of_a_stage_are_counted_as_another() -> None:
    reporter = Reporter()
    count_as("store", 1.0)
    with reporter.stage("parse"), reporter.stage("intern"):
        count_as("store", 0.25)
    assert reporter.seconds["store"] == 0.25
    assert -0.25 <= reporter.seconds["intern"] < 0
    assert reporter.seconds["parse"] >= 0


def test_a_stage_that_fails_is_not_counted() -> None:
    def store_and_fail() -> float:
        count_as("store", 0.25)
        return 1 / 0

    reporter = Reporter()
    with pytest.raises(ZeroDivisionError), reporter.stage("replay"):
        store_and_fail()
    assert reporter.seconds == {}


def test_where_there_is_no_terminal_each_stage_is_one_line() -> None:
    out = io.StringIO()
    reporter = Reporter(Console(file=out))
    with reporter.live(), reporter.stage("intern", unit="accesses", about="web") as stage:
        for done in range(0, 5001, 1000):
            stage.update_of(done, 5000)
    (line,) = out.getvalue().splitlines()
    assert line.startswith("intern web ")
    assert "5.00 k accesses" in line


def test_a_terminal_shows_the_stage_while_it_lasts() -> None:
    out = io.StringIO()
    reporter = Reporter(Console(file=out, force_terminal=True, width=100))
    with reporter.live(), reporter.stage("intern", 4000, "accesses") as stage:
        stage.update(1000)
        time.sleep(0.3)
        assert " 25%" in out.getvalue()
    assert out.getvalue().count("intern") >= 2  # the live line, then that of its end


def test_the_log_begins_with_what_came_before_it(tmp_path: Path) -> None:
    reporter = Reporter()
    reporter.log("first")
    reporter.log_to(tmp_path / "a.txt")
    reporter.log("second")
    reporter.stop_log()
    reporter.log("third")
    reporter.log_to(tmp_path / "b.txt")

    def texts(name: str) -> list[str]:
        return [line.split(" ", 1)[1] for line in (tmp_path / name).read_text().splitlines()]

    assert texts("a.txt") == ["first", "second"]
    assert texts("b.txt") == ["third"]


def test_odd_file_names_are_escaped_in_lines_and_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "mcsim")
    out = io.StringIO()
    reporter = Reporter(Console(file=out, width=100))
    reporter.log_to(tmp_path / "log.txt")
    reporter.note("read \udcff\x1b.csv\n  of two lines")
    shown = "read \\xff\\x1b.csv\n  of two lines"
    assert out.getvalue() == f"{shown}\n"
    assert caplog.messages == [shown]
    assert (tmp_path / "log.txt").read_text(encoding="utf-8").endswith(f" {shown}\n")
