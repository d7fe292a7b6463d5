"""Trusts: arithmetic by hand, from hits, latencies and curves that each test makes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import made_up
import pyarrow as pa
import pytest

from mcsim.config import ExperimentSpec
from mcsim.results.answer import format_years, rank, sentences
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
    **more: pa.Table,
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
    return made_up.written(folder, "made-0", spec, metrics, rows, **tables, **more)


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
    static = mean_ms((300, 300), (0, 100))
    assert sentences(run)[0] == (
        f"`multicache` is best: mean latency {best:.2f} ms, hit ratio 50.0 %, "
        f"{100 * (1 - best / base):.1f} % below `lru`; next is `static`, "
        f"{100 * (1 - static / base):.1f} % below."
    )
    of_a, of_b = (1 - mean_ms(new) / mean_ms(old) for new, old in (A, B))
    assert of_a > of_b > 0
    assert sentences(run)[1] == (
        "Under `multicache`, against `lru`, VM a gains most: hit ratio 50.0 to 80.0 % "
        f"(+30.0 points), latency {100 * of_a:.1f} % below; no VM loses."
    )
    assert rank(run) == ["multicache", "static", "lru"]
    shown = run.overview().formatted()
    assert [row[0] for row in shown.rows] == rank(run)
    assert list(shown.styles) == ["best", "", ""]
    assert run.overview().answer == run.comparison().answer == run.answer
    # One gap has one percentage: that of the column.
    saved = [row[shown.headings.index("saved %")] for row in shown.rows]
    assert saved == [f"+{100 * (1 - best / base):.1f}", f"+{100 * (1 - static / base):.1f}", "0.0"]


A = ((300, 500), (100, 400))
B = ((0, 200), (0, 0))


def test_latency_and_not_the_hit_ratio_decides(tmp_path: Path) -> None:
    # One hit more, but all of them in flash.
    slow, fast = (0, 401), (400, 0)
    assert mean_ms(slow) > mean_ms(fast)
    run = made(tmp_path, [("lru", {"a": slow}), ("static", {"a": fast})])
    assert run.answer.startswith("`static` is best: ")
    assert run.answer.splitlines()[-2].endswith(" below `lru`.")
    assert run.answer.splitlines()[-1].startswith("OPT: not computed")


@pytest.mark.parametrize(
    ("systems", "ending"),
    [
        # Without Global LRU the baseline is the first system.
        (["static", "multicache"], " % below `static`."),
        # Legacy LRU is no baseline where there is another.
        ([LEGACY, "multicache"], " % below `old`."),
        ([LEGACY, "lru", "multicache"], " % below `lru`."),
        # Yardsticks are no baseline.
        (["clairvoyant", "static", "multicache"], " % below `static`."),
    ],
)
def test_baselines(systems: list[Any], ending: str, tmp_path: Path) -> None:
    rising = [(s, {"a": (100 * (i + 1), 0)}) for i, s in enumerate(systems)]
    assert sentences(made(tmp_path, rising))[0].endswith(ending)


def test_a_baseline_that_wins_is_compared_with_the_next(tmp_path: Path) -> None:
    run = made(tmp_path, [("lru", {"a": (500, 0)}), ("static", {"a": (250, 0)})])
    more = 100 * (mean_ms((250, 0)) / mean_ms((500, 0)) - 1)
    assert run.answer.startswith("`lru` is best: ")
    assert sentences(run)[0].endswith(f"; next is `static`, {more:.1f} % above.")
    assert f"-{more:.1f}" in run.overview().formatted().rows[1]


def test_ties_are_named(tmp_path: Path) -> None:
    same = {"a": (300, 100)}
    two = made(tmp_path / "two", [("static", same), ("lru", same)])
    assert sentences(two)[0] == (
        "`lru` and `static` are equal (less than 0.05 % of latency apart): "
        f"mean latency {mean_ms((300, 100)):.2f} ms, hit ratio 40.0 %."
    )
    assert set(two.overview().formatted().styles) == {""}
    three = made(tmp_path / "three", [("lru", same), ("static", same), ("karma", {"a": (0, 0)})])
    assert sentences(three)[0].startswith(
        "`lru` and `static` are equal (less than 0.05 % of latency apart) and best: "
    )
    assert sentences(three)[0].endswith("; next is `karma`, 66.6 % above.")
    assert mean_ms((0, 0)) / mean_ms((300, 100)) == pytest.approx(1.666, abs=5e-4)
    # A system that repeats the faults of published code comes last.
    legacy = {"name": "multicache", "label": "old", "legacy": True}
    better = {"a": (400, 100)}
    last = made(tmp_path / "last", [("lru", same), (legacy, better), ("static", better)])
    assert sentences(last)[0].startswith("`static` and `old` are equal")


def test_one_system_is_not_ranked(tmp_path: Path) -> None:
    run = made(tmp_path, [("static", {"a": (300, 100)})])
    assert sentences(run)[0] == (
        f"`static`: mean latency {mean_ms((300, 100)):.2f} ms, hit ratio 40.0 %."
    )
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
    assert run.answer.endswith(" s; the best fixed division (`hindsight`) hits 40.0 points more.")
    assert rank(run) == ["static", "lru", "hindsight"]
    assert list(run.overview().formatted().styles) == ["best", "", "yardstick"]
    alone = made(tmp_path / "alone", [("lru", {"a": (300, 0)}), ("hindsight", {"a": (800, 0)})])
    assert alone.answer.startswith("`lru`: mean latency ")


def test_a_policy_with_foresight_is_a_yardstick(tmp_path: Path) -> None:
    opt = {"name": "hierarchy", "label": "best", "policy": "lru / opt"}
    run = made(tmp_path, [("lru", {"a": (300, 0)}), (opt, {"a": (900, 0)})])
    assert run.foresight == {"best": "whole"}
    assert run.answer.startswith("`lru`: ")


def test_vms_that_no_system_changes_are_set_apart(tmp_path: Path) -> None:
    hits = [
        ("lru", {"a": (100, 0), "b": (5, 0), "c": (8, 0)}),
        ("static", {"a": (0, 0), "b": (9, 0), "c": (15, 0)}),
        ("karma", {"a": (300, 0), "b": (0, 1), "c": (6, 0)}),
        ("hindsight", {"a": (900, 0), "b": (900, 0), "c": (900, 0)}),
    ]
    run = made(tmp_path, hits)
    best, base = mean_ms((300, 0)), mean_ms((100, 0))
    with_them = mean_ms((300, 0), (0, 1), (6, 0))
    of_base = mean_ms((100, 0), (5, 0), (8, 0))
    assert sentences(run)[0] == (
        f"`karma` is best without VMs b, c: mean latency {best:.2f} ms, hit ratio 30.0 %, "
        f"{100 * (1 - best / base):.1f} % below `lru`."
    )
    assert sentences(run)[1] == (
        "VMs b, c make 66.7 % of the accesses and together hit 0.4 to 1.2 % whatever the system; "
        f"with them, `karma` has mean latency {with_them:.2f} ms, hit ratio 10.2 %, "
        f"{100 * (1 - with_them / of_base):.1f} % below `lru`."
    )
    table = run.overview()
    assert table.values("others_hit_ratio") == [0.1, 0.0, 0.3, 0.9]
    saved = table.values("others_latency_gain")
    assert saved[:3] == pytest.approx([0, 1 - mean_ms((0, 0)) / base, 1 - best / base])
    assert "others: all VMs but b, c" in table.notes
    # A VM that a system changes by more than a point, or that makes half of the accesses, stays.
    hits[0][1]["b"] = (20, 0)
    other = made(tmp_path / "other", hits)
    assert other.standings.apart == ()
    assert other.overview().values("others_hit_ratio") == [None] * 4
    half = [(name, {vm: of for vm, of in by_vm.items() if vm != "b"}) for name, by_vm in hits]
    assert made(tmp_path / "half", half).standings.apart == ()
    same = [(name, {"a": (5, 0), "b": (6, 0)}) for name in ("lru", "static")]
    assert made(tmp_path / "same", same).standings.apart == ()


def test_the_best_of_each_write_mode_is_named(tmp_path: Path) -> None:
    hits = {"a": (300, 100)}
    run = made(tmp_path / "two", [("lru", hits), (BACK, {"a": (400, 100)})], ops="all")
    base, best = mean_ms((300, 100)), mean_ms((400, 100))
    assert sentences(run)[0] == (
        f"Best per write mode, against `lru`: through: `lru` ({base:.2f} ms, 40.0 % hits, the "
        f"only one); back: `mine` ({best:.2f} ms, 50.0 % hits, {100 * (1 - best / base):.1f} % "
        "below, the only one); no system runs in two modes, so part of the gaps may be the mode's."
    )
    assert list(run.overview().formatted().styles) == ["best", "best"]
    same = {"name": "hierarchy", "label": "same", "writes": "through"}
    pair = made(
        tmp_path / "pair", [("lru", hits), (same, hits), (BACK, {"a": (400, 100)})], ops="all"
    )
    assert sentences(pair)[0].endswith(
        f"; the mode alone is worth {100 * (1 - best / base):.1f} % (`mine` instead of `same`)."
    )
    reads = made(tmp_path / "reads", [("lru", hits), (BACK, {"a": (400, 100)})])
    one = made(tmp_path / "same", [("lru", hits), ("static", {"a": (400, 100)})], ops="all")
    for other in (reads, one):
        assert "mode" not in other.answer


def test_all_that_can_be_hit_leaves_no_winner_by_hits(tmp_path: Path) -> None:
    hits = [("lru", {"a": (300, 100)}), ("static", {"a": (100, 300)})]
    opt = made_up.table("bounds", [{"system": name, "opt_hits": 400} for name in ("lru", "static")])
    run = made(tmp_path, hits, bounds=opt)
    # Hits in flash instead of DRAM are slower, by 0.13 %.
    more = mean_ms((100, 300)) / mean_ms((300, 100)) - 1
    assert 0.0005 < more < 0.005
    assert run.answer == (
        "All systems hit all there is to hit: hit ratio 40.0 %; `lru` has the lowest latency, "
        f"{mean_ms((300, 100)):.2f} ms."
    )
    equal = made(tmp_path / "equal", [hits[0], ("static", hits[0][1])], bounds=opt)
    assert equal.answer == (
        "All systems hit all there is to hit: hit ratio 40.0 %, and all have the same latency, "
        f"{mean_ms((300, 100)):.2f} ms (less than 0.05 % of latency apart)."
    )
    fewer = made(tmp_path / "fewer", [hits[0], ("static", {"a": (300, 99)})], bounds=opt)
    assert "all there is" not in fewer.answer


@pytest.mark.parametrize(
    ("years", "text"),
    [
        (2849.6, "2,850 years"),
        (99.96, "100 years"),
        (3.14159, "3.1 years"),
        (0.5, "183 days"),
        (1e-4, "0.04 days"),
    ],
)
def test_a_life_is_written_for_people(years: float, text: str) -> None:
    assert format_years(years) == text


def test_a_notebook_shows_the_answer_first(tmp_path: Path) -> None:
    run = made(tmp_path, [("lru", {"a": (500, 0)}), ("static", {"a": (250, 0)})])
    assert run._repr_html_().startswith(f"<p><b>{run.answer}</b></p>")
    assert repr(run.overview()).startswith(f"{run.answer}\n")
    assert str(run) == repr(run.overview())
    assert isinstance(run.overview().to_arrow(), pa.Table)


def test_deployed_caches_have_what_they_save_of_the_latency_of_the_backend(tmp_path: Path) -> None:
    """The first setting is that of the installer; hits are in the second tier alone."""
    large = {"name": "dm-cache", "label": "large blocks", "block_kib": 64}
    run = made(
        tmp_path,
        [
            ("dm-cache", {"a": (0, 100), "b": (0, 200)}),
            ({"name": "dm-cache", "label": "small", "phase": "1s"}, {"a": (0, 0), "b": (0, 0)}),
            (large, {"a": (0, 200), "b": (0, 200)}),
            ("bcache", {"a": (0, 300), "b": (0, 100)}),
            ("lru", {"a": (0, 300), "b": (0, 400)}),
            ("hindsight", {"a": (0, 400), "b": (0, 400)}),
        ],
    )
    saved = {
        hits: f"{100 * hits / 2000 * (1 - FLASH_NS / DISK_NS):.1f} %"
        for hits in (300, 400, 700, 800)
    }
    assert sentences(run)[1] == (
        f"Of the latency without a cache, `dm-cache` as installed saves {saved[300]} "
        f"({saved[400]} with block_kib 64); `bcache` as installed saves {saved[400]}; "
        f"the best of the other systems, `lru`, saves {saved[700]}; the best fixed division "
        f"(`hindsight`) would save {saved[800]}."
    )


def test_one_setting_of_each_deployed_cache_has_no_such_sentence(tmp_path: Path) -> None:
    hits = {"a": (0, 100), "b": (0, 200)}
    run = made(tmp_path, [("dm-cache", hits), ("bcache", hits), ("lru", hits)])
    assert not any("as installed" in sentence for sentence in sentences(run))
