"""Unreadable rows are an error, or are skipped and counted up to a limit.

Trusts: the rows that are written here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import code_of
from complaints import complaint

from mcsim import Trace
from mcsim.base.errors import ConfigError, TraceError


def write_rows(folder: Path, good: int, bad: int) -> Path:
    """Write good rows, and bad ones after them."""
    path = folder / "requests.csv"
    rows = [f"{i},{i * 4096},4096\n" for i in range(good)] + [f"{good},x,4096\n"] * bad
    path.write_text("time_s,offset,length\n" + "".join(rows), encoding="utf-8")
    return path


def open_(path: Path, **options: Any) -> Trace:
    return Trace.open(path, on_bad_line="skip", cache_dir=path.parent / "cache", **options)


@pytest.mark.parametrize(("good", "bad"), [(20, 10), (1_980, 20)])
def test_few_rows_are_skipped_and_counted(tmp_path: Path, good: int, bad: int) -> None:
    """Ten rows, or 1 % of all."""
    trace = open_(write_rows(tmp_path, good, bad))
    assert (trace.request_count, trace.metadata.rows.skipped) == (good, bad)


@pytest.mark.parametrize(("good", "bad", "limit"), [(20, 11, 10), (1_979, 21, 20)])
def test_more_rows_are_an_error(tmp_path: Path, good: int, bad: int, limit: int) -> None:
    said = complaint(open_, write_rows(tmp_path, good, bad), error=TraceError)
    assert f"{bad} of {good + bad:,} rows are unreadable, and at most {limit} may be" in said
    assert f"requests.csv:{good + 2}:" in said


@pytest.mark.parametrize("most", [11, "11", "1.1e1", "40%", 0.4, "2/5"], ids=repr)
def test_max_skipped_allows_a_number_or_a_share(tmp_path: Path, most: Any) -> None:
    path = write_rows(tmp_path, 20, 11)
    assert open_(path, max_skipped=most).metadata.rows.skipped == 11


@pytest.mark.parametrize("most", [0, "0", "0%", 0.0, 10, "10", "35%", 0.35], ids=repr)
def test_max_skipped_is_a_limit(tmp_path: Path, most: Any) -> None:
    said = complaint(open_, write_rows(tmp_path, 20, 11), max_skipped=most, error=TraceError)
    assert "11 of 31 rows are unreadable" in said


@pytest.mark.parametrize(
    "most", ["²", "9" * 30, "-1", -1, "1.5", "nan", "101%", "", True], ids=repr
)
def test_a_max_skipped_that_is_no_number_is_an_error(tmp_path: Path, most: Any) -> None:
    said = complaint(open_, write_rows(tmp_path, 20, 1), max_skipped=most, error=ConfigError)
    assert said.startswith("max_skipped: expected a")


def test_the_command_has_the_same_limit(tmp_path: Path) -> None:
    path = write_rows(tmp_path, 20, 11)
    info = ["trace", "info", path, "--on-bad-line", "skip"]
    assert code_of(*info) == 2
    assert code_of(*info, "--max-skipped", "11") == 0
