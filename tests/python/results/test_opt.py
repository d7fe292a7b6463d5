"""Why a run has no bound of OPT, and how to get it.

Trusts: tables of made-up runs; accesses that the run of a small profile counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small import small_experiment

import mcsim
from mcsim.experiment import prepared
from mcsim.results.views import overview
from mcsim.results.yardsticks import MOST_ACCESSES, how_to_get_opt, why_no_opt, yardsticks


def run(tmp_path: Path, *systems: Any, **more: Any) -> mcsim.Results:
    spec = small_experiment(*systems, tiers={"dram": 1_000}, interval="30min", **more)
    return mcsim.run(spec, out=tmp_path, figures=False)


def notes(results: mcsim.Results) -> list[str]:
    texts = [
        str(table.formatted().to_text()) for table in (overview(results), results.yardsticks())
    ]
    return [next(line for line in text.splitlines() if line.startswith("OPT:")) for text in texts]


def test_a_bound_that_was_not_computed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="mcsim")
    known = run(tmp_path, "lru")
    assert why_no_opt(known) is None
    assert all("that knows the future" in note for note in notes(known))
    accesses = sum(known.to_arrow("vms")["accesses"].to_pylist())
    assert "not computed" not in caplog.text

    monkeypatch.setattr(prepared, "MOST_ACCESSES", accesses - 1)
    many = run(tmp_path / "many", "lru")
    text = f"OPT: not computed for {accesses:,} accesses; `--set opt=true` computes it in about 1 s"
    assert why_no_opt(many) == text
    assert notes(many) == [text, text]
    assert text in caplog.text
    assert yardsticks(many)["share_of_opt"].to_pylist() == [None]

    caplog.clear()
    refused = run(tmp_path, "lru", opt=False)
    assert why_no_opt(refused) == (
        "OPT: not computed (`opt: false`); `--set opt=true` computes it in about 1 s"
    )
    assert "not computed" not in caplog.text
    asked = run(tmp_path / "asked", "lru", opt=True)
    assert why_no_opt(asked) is None
    assert asked.to_arrow("bounds").equals(known.to_arrow("bounds"))


def test_systems_without_a_bound_are_no_reason_to_ask_for_it(tmp_path: Path) -> None:
    lines = {"name": "hierarchy", "line": 4}
    for systems in (["hystor"], [lines], ["hystor", lines]):
        results = run(tmp_path, *systems)
        assert "no bound of systems that hold blocks" in str(why_no_opt(results))
    assert why_no_opt(run(tmp_path, "hystor", "lru")) is None


@pytest.mark.parametrize(
    ("accesses", "time"),
    [(0, "1 s"), (MOST_ACCESSES, "9 s"), (900_000_000, "1 min"), (108_000_000_000, "2 h")],
)
def test_the_time_that_it_takes(accesses: int, time: str) -> None:
    assert how_to_get_opt(accesses) == f"`--set opt=true` computes it in about {time}"
