"""Trusts: the compiled registry; the C++ tests, for what they expect."""

from __future__ import annotations

import importlib
import json
import re
from types import ModuleType
from typing import Any

import pytest
from small import ROOT

import mcsim as mc

BENCH = ROOT / "tests" / "bench"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module("policies_table")


def test_the_table_is_that_of_the_registry(table: ModuleType) -> None:
    readme = table.README.read_text()
    measured = json.loads(table.MEASURED.read_text())
    assert table.written(readme, measured) == readme, (
        "a policy or parameter is new: run `python tests/bench/policies_table.py`, which writes it"
    )
    rows = re.findall(r"^\| `([\w-]+)` \| .* \|$", readme.partition(table.BEGIN)[2], re.MULTILINE)
    assert rows[: len(mc.policy_names())] == mc.policy_names()


def test_printed_hits_and_programs_are_those_that_are_tested(table: ModuleType) -> None:
    def tested(file: str) -> set[str]:
        source = (ROOT / "tests" / "policies" / "eviction" / file).read_text()
        return set(re.findall(r'"([\w-]+)"', source)) & set(mc.policy_names())

    assert set(table.PROGRAMS) == tested("authors_counts_test.cpp")
    # There are recorded traces for some of the programs, too.
    assert set(table.PRINTED) <= tested("published_hits_test.cpp")
    assert tested("published_hits_test.cpp") <= set(table.PRINTED) | set(table.PROGRAMS)


def test_every_policy_but_wrappers_has_a_twin(table: ModuleType) -> None:
    twins = (ROOT / "tests" / "support" / "naive_twins.cpp").read_text()
    for name in mc.policy_names():
        assert f'"{name}"' in twins, f"{name}: make its twin by name in naive_twins.cpp"
        assert table.oracles(name, mc.wrapper_names()).startswith("twin")
    for name in mc.wrapper_names():
        assert table.oracles(name, mc.wrapper_names()) == table.LAWS[name]


def test_figures_are_those_of_the_reports(table: ModuleType) -> None:
    def run(name: str, rate: float, **counters: float) -> dict[str, Any]:
        entry = {"run_name": f"policies/{name}", "run_type": "iteration"}
        return entry | {"items_per_second": rate} | counters

    bench = {
        "context": {"date": "2026-01-02", "num_cpus": 2, "caches": [], "load_avg": [0.5]},
        "benchmarks": [
            run("lru", 50e6, state=12.04),
            run("lru", 60e6, state=12.04),
            run("arc/integer", 40e6, state=26),
            run("eight_sizes_of_lru/1", 90e6),
            run("lru", 70e6, state=1) | {"run_type": "aggregate"},
        ],
    }
    ratios = [("lru", 12.34), ("lru(as=other)", 2.0), ("none", 1.0)]
    peers = {"policies": [{"policy": name, "ratio": ratio} for name, ratio in ratios]}
    measured = table.measured_by(bench, peers)
    assert measured["policies"] == {"lru": {"state": 12.0, "rate": 60e6, "ratio": 12.3}}
    text = table.written(f"before\n{table.BEGIN}as it was\n{table.END}after\n", measured)
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "as it was" not in text
    assert "| `lru` |  | 12 | 60 | 12 | twin; libCacheSim; " in text
