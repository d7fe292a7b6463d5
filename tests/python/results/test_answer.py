"""Trusts: arithmetic by hand, from hits, latencies and curves that each test makes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import made_up
import pyarrow as pa
import pytest

from mcsim.config import ExperimentSpec
from mcsim.results.answer import rank
from mcsim.results.results import Results

DRAM_NS, FLASH_NS, DISK_NS = 30, 25_000, 6_500_000
LEGACY = {"name": "lru", "label": "old", "legacy": True}
BACK = {"name": "hierarchy", "label": "mine", "writes": "back"}
ACCESSES = 1000


def made(
    folder: Path,
    hits: Sequence[tuple[Any, Mapping[str, tuple[int, int]]]],
    alone: Mapping[str, tuple[int, int]] | None = None,
    ops: str = "reads",
) -> Results:
    """Write a run of systems with hits by VM and tier; `alone` has the hits of each VM alone."""
    vms = list(hits[0][1])
    spec = made_up.spec_of(vms, (10, 20), [system for system, _ in hits], "1h")
    spec = ExperimentSpec.model_validate(spec.expanded() | {"ops": ops})
    metrics, rows = [], []
    for system, (_, by_vm) in zip(spec.systems, hits, strict=True):
        for vm, of_tiers in by_vm.items():
            rows.append(made_up.of_vm(system.title, 0, vm, 0, ACCESSES, ACCESSES - sum(of_tiers)))
            metrics += [made_up.of_tier(system.title, 0, vm, t, of_tiers[t]) for t in (0, 1)]
    replayed = [
        {"system": system.title, "vm": vm, "accesses": ACCESSES}
        | {"misses": ACCESSES - sum(of_tiers), "mean_latency_ns": 1e6 * mean_ms(of_tiers)}
        for system in spec.systems
        for vm, of_tiers in (alone or {}).items()
    ]
    tables = {"alone": made_up.table("alone", replayed)} if replayed else {}
    return made_up.written(folder, "made-0", spec, metrics, rows, **tables)


def mean_ms(*of_tiers: tuple[int, int]) -> float:
    """Return the mean latency of VMs with these hits."""
    waits = [d * DRAM_NS + f * FLASH_NS + (ACCESSES - d - f) * DISK_NS for d, f in of_tiers]
    return sum(waits) / len(waits) / ACCESSES / 1e6


def test_the_best_is_compared_with_global_lru(tmp_path: Path) -> None:
    run = made(
        tmp_path,
        [
            ("static", {"a": (300, 300), "b": (0, 100)}),
            ("lru", {"a": (100, 400), "b": (0, 0)}),
            ("multicache", {"a": (300, 500), "b": (0, 200)}),
        ],
    )
    best, base = mean_ms((300, 500), (0, 200)), mean_ms((100, 400), (0, 0))
    assert run.answer == (
        f"`multicache` is best: mean latency {best:.2f} ms, hit ratio 50.0 %, "
        f"latency {100 * (1 - best / base):.3g} % below Global LRU."
    )
    assert rank(run) == ["multicache", "static", "lru"]
    shown = run.overview().formatted()
    assert [row[0] for row in shown.rows] == rank(run)
    assert list(shown.styles) == ["best", "", ""]
    assert run.overview().answer == run.comparison().answer == run.answer


def test_latency_and_not_the_hit_ratio_decides(tmp_path: Path) -> None:
    # One hit more, but all of them in flash.
    slow, fast = (0, 401), (400, 0)
    assert mean_ms(slow) > mean_ms(fast)
    run = made(tmp_path, [("lru", {"a": slow}), ("static", {"a": fast})])
    assert run.answer.startswith("`static` is best: ")
    assert run.answer.endswith(" below Global LRU.")


@pytest.mark.parametrize(
    ("systems", "ending"),
    [
        # Without Global LRU the baseline is the first system.
        (["static", "multicache"], " % below `static`."),
        # Legacy LRU is no baseline where there is another.
        ([LEGACY, "multicache"], " % below Global LRU (`old`)."),
        ([LEGACY, "lru", "multicache"], " % below Global LRU."),
        # Yardsticks are no baseline.
        (["clairvoyant", "static", "multicache"], " % below `static`."),
    ],
)
def test_baselines(systems: list[Any], ending: str, tmp_path: Path) -> None:
    rising = [(s, {"a": (100 * (i + 1), 0)}) for i, s in enumerate(systems)]
    assert made(tmp_path, rising).answer.endswith(ending)


def test_a_baseline_that_wins_is_compared_with_the_next(tmp_path: Path) -> None:
    run = made(tmp_path, [("lru", {"a": (500, 0)}), ("static", {"a": (250, 0)})])
    saved = 100 * (1 - mean_ms((500, 0)) / mean_ms((250, 0)))
    assert run.answer.startswith("`lru` is best: ")
    assert run.answer.endswith(f"latency {saved:.3g} % below the next, `static`.")


def test_ties_are_named(tmp_path: Path) -> None:
    same = {"a": (300, 100)}
    two = made(tmp_path / "two", [("lru", same), ("static", same)])
    assert two.answer == (
        f"`lru` is best, equal to `static`: mean latency {mean_ms((300, 100)):.2f} ms, "
        "hit ratio 40.0 %."
    )
    # Equal to the baseline: the third is that which it is compared with.
    three = made(tmp_path / "three", [("lru", same), ("static", same), ("karma", {"a": (0, 0)})])
    assert "equal to `static`" in three.answer
    assert three.answer.endswith(" below the next, `karma`.")


def test_one_system_is_not_ranked(tmp_path: Path) -> None:
    run = made(tmp_path, [("static", {"a": (300, 100)})])
    assert run.answer == f"`static`: mean latency {mean_ms((300, 100)):.2f} ms, hit ratio 40.0 %."
    assert set(run.overview().formatted().styles) == {""}


def test_a_yardstick_is_never_best(tmp_path: Path) -> None:
    run = made(
        tmp_path,
        [
            ("hindsight", {"a": (800, 0)}),
            ("lru", {"a": (300, 0)}),
            ("static", {"a": (400, 0)}),
        ],
    )
    assert run.answer.startswith("`static` is best: ")
    assert run.answer.endswith(" below Global LRU, 50 % of the hits of the best fixed division.")
    assert rank(run) == ["static", "lru", "hindsight"]
    assert list(run.overview().formatted().styles) == ["best", "", "yardstick"]
    alone = made(tmp_path / "alone", [("lru", {"a": (300, 0)}), ("hindsight", {"a": (800, 0)})])
    assert alone.answer.startswith("`lru`: mean latency ")


def test_the_worst_vm_is_that_which_loses_most_by_company(tmp_path: Path) -> None:
    hits = {"a": (300, 300), "b": (100, 100)}
    alone = {"a": (400, 300), "b": (100, 500)}
    run = made(tmp_path, [("lru", hits), ("static", {"a": (0, 0), "b": (0, 0)})], alone)
    factors = {vm: mean_ms(hits[vm]) / mean_ms(alone[vm]) for vm in hits}
    assert max(factors, key=lambda vm: factors[vm]) == "b"
    assert run.answer.endswith(
        f" Worst VM: b, {factors['b']:.3g} times the latency it has alone with all tiers."
    )
    better = made(tmp_path / "better", [("static", {"a": (500, 300), "b": (300, 400)})], alone)
    assert "No VM is slower than alone with all tiers; closest: " in better.answer
    one = made(tmp_path / "one", [("lru", {"a": (300, 300)})], {"a": (400, 300)})
    assert "VM" not in one.answer


def test_write_modes_that_differ_are_named(tmp_path: Path) -> None:
    hits = {"a": (300, 100)}
    run = made(tmp_path / "two", [("lru", hits), (BACK, {"a": (400, 100)})], ops="all")
    assert run.answer.endswith(" Write modes differ (back: mine; through: lru).")
    reads = made(tmp_path / "reads", [("lru", hits), (BACK, {"a": (400, 100)})])
    same = made(tmp_path / "same", [("lru", hits), ("static", {"a": (400, 100)})], ops="all")
    for other in (reads, same):
        assert "modes" not in other.answer


def test_a_notebook_shows_the_answer_first(tmp_path: Path) -> None:
    run = made(tmp_path, [("lru", {"a": (500, 0)}), ("static", {"a": (250, 0)})])
    assert run._repr_html_().startswith(f"<p><b>{run.answer}</b></p>")
    assert repr(run.overview()).splitlines()[0] == run.answer
    assert isinstance(run.overview().to_arrow(), pa.Table)
