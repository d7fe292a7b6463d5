"""Write mode, policy and chain are shown where they differ, and modes that differ are warned of.

Oracle: experiments written by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import made_up
import pyarrow as pa
import pytest
from commands import call, rendered
from small import small_experiment

import mcsim
from mcsim.cli.show import show_results
from mcsim.report.make import compared
from mcsim.report.page import Prose
from mcsim.report.run_parts import mode_note, run_tables, systems_table
from mcsim.results.data_paths import data_paths
from mcsim.results.results import Results
from mcsim.results.tables import comparison, systems
from mcsim.sweeps.page import sweep_page

FIELDS = ["writes", "policy", "chain"]


class Chosen:
    """Leaves all as it is, on a data path of its own."""

    data_path: ClassVar = {"policy": "arc", "writes": "back", "chain": "inclusive"}

    def allocate(self, seen: Any) -> None:
        return None


def run(out: Path, *chosen: Any, **more: Any) -> Results:
    given: dict[str, Any] = {"tiers": {"dram": 200, "flash": 400}, "ops": "all"}
    spec = small_experiment(*chosen, **given | more)
    return mcsim.run(spec, out=out, figures=False)


def written(tmp_path: Path, *chosen: Any, ops: str = "all", run_id: str = "pair-0") -> Results:
    """Write a run of two accesses, the second of which hits."""
    spec = made_up.spec_of(["a"], (10, 20), chosen, "1h")
    spec = type(spec).model_validate(spec.expanded() | {"ops": ops})
    metrics, vms = [], []
    for number, system in enumerate(spec.systems):
        hits = 1 + number
        vms.append(made_up.of_vm(system.title, 0, "a", 0, 10, 10 - hits))
        metrics += [made_up.of_tier(system.title, 0, "a", t, hits * (1 - t)) for t in (0, 1)]
    about = {"synthetic": False, "mcsim": "0.1.0", "build": "b", "code": {}, "traces": []}
    curve = {"vm": "a", "scope": "trace", "capacity": 10, "hits": 2, "accesses": 10}
    curves = pa.Table.from_pylist([curve])
    return made_up.written(tmp_path, run_id, spec, metrics, vms, environment=about, curves=curves)


BACK = {"name": "hierarchy", "label": "mine", "writes": "back", "policy": "lru"}
THROUGH = BACK | {"writes": "through"}
OTHER_POLICY = THROUGH | {"policy": "arc / lru"}
WARNING = "warning: write modes differ: through (lru), back (mine)"
MODES = "Best per write mode, against `lru`: through: `lru`"


def heads(results: Results) -> list[str]:
    return rendered(results.comparison()).splitlines()[1].split()


def test_a_run_knows_the_data_paths_of_all_its_systems(tmp_path: Path) -> None:
    results = run(
        tmp_path,
        *("lru", "centaur", {"name": Chosen, "label": "chosen"}, "hystor", "vcacheshare"),
        {"name": "hierarchy", "label": "ways", "writes": "through, friendly=back"},
    )
    lru = ("lru", "exclusive")
    assert data_paths(results) == {
        "lru": ("through", *lru),
        "centaur": ("back", *lru),
        "chosen": ("back", "arc", "inclusive"),
        "hystor": ("in place", None, None),
        "vcacheshare": ("around", *lru),
        "ways": ("through, friendly=back", *lru),
    }


def test_modes_that_were_decided_are_those_that_were_in_force(tmp_path: Path) -> None:
    class Decides:
        def allocate(self, seen: Any) -> Any:
            return mcsim.Decision(write_modes=["around", "through", "through"])

    results = run(tmp_path, {"name": Decides, "label": "decides"}, interval="30min")
    assert data_paths(results)["decides"].writes == "around or through"


def test_where_no_write_is_replayed_there_is_no_mode(tmp_path: Path) -> None:
    results = written(tmp_path, "lru", BACK, ops="reads")
    assert [row["writes"] for row in systems(results).to_pylist()] == [None, None]
    assert "writes" not in heads(results)
    assert mode_note(results) == []


@pytest.mark.parametrize(
    ("system", "shown"),
    [(BACK, ["writes"]), (THROUGH, []), (OTHER_POLICY, ["policy"])],
)
def test_columns_appear_where_they_differ(
    tmp_path: Path, system: dict[str, Any], shown: list[str]
) -> None:
    results = written(tmp_path, "lru", system)
    assert [head for head in heads(results) if head in FIELDS] == shown
    lines = rendered(results.comparison()).splitlines()
    assert max(map(len, lines)) <= 100
    for name in shown:
        assert system[name] in "\n".join(lines)
    table = run_tables(results)[0]
    assert [head for head in table.heads if head in FIELDS] == shown
    assert [head for head in systems_table(results).heads if head in FIELDS] == shown
    (both,) = [
        block for block in compared([results]) if getattr(block, "title", "") == "All runs, all VMs"
    ]
    assert [head for head in both.heads if head in FIELDS] == shown


def test_modes_that_differ_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, system, warned in (("a", BACK, True), ("b", OTHER_POLICY, False)):
        results = written(tmp_path / folder, "lru", system)
        show_results(results)
        assert (MODES in capsys.readouterr().out) == warned
        assert (MODES in results.answer) == warned
        _, out, _ = call(capsys, "results", "show", results.path, "--json")
        found = json.loads(out)
        assert found["warnings"] == ([WARNING] if warned else [])
        for of in ("comparison", "systems"):
            assert {(row["system"], row["writes"], row["policy"]) for row in found[of]} == {
                ("lru", "through", "lru"),
                ("mine", system["writes"], system["policy"]),
            }
        note = [Prose(f"W{WARNING[1:]}.", alert=True)] if warned else []
        assert mode_note(results) == note
        assert (f"W{WARNING[1:]}." in mcsim.report(results)) == warned


def test_a_difference_shows_the_modes_of_both_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = written(tmp_path, "static", BACK)
    b = written(tmp_path, "lru", THROUGH, BACK | {"label": "more"}, run_id="pair-1")
    code, out, _ = call(capsys, "results", "diff", a.path, b.path)
    assert code == 1
    (head,) = [line for line in out.splitlines() if line.startswith("system ")]
    assert "writes A  writes B" in head
    assert "chain" not in head
    assert "policy" not in head
    mine = [line.split() for line in out.splitlines() if line.startswith("mine")]
    assert mine == []  # it has the same numbers in both
    c = written(tmp_path, "static", "lru", THROUGH, run_id="pair-2")
    code, out, _ = call(capsys, "results", "diff", a.path, c.path)
    (mine,) = [line.split() for line in out.splitlines() if line.split()[:2] == ["mine", "a"]]
    assert mine[2:4] == ["back", "through"]
    assert "warning: write modes differ: mine (back in A, through in B)" in out
    _, out, _ = call(capsys, "results", "diff", a.path, c.path, "--json")
    assert json.loads(out)["warnings"] == [
        "warning: write modes differ: mine (back in A, through in B)"
    ]


def test_the_page_of_a_sweep_shows_them(tmp_path: Path) -> None:
    systems_axis = ["lru", {"name": "hierarchy", "writes": "back"}]
    spec = small_experiment(
        tiers={"dram": 200}, ops="all", sweep={"systems": systems_axis, "seed": [1, 2]}
    )
    sweep = mcsim.sweep(spec, out=tmp_path)
    table = sweep.to_arrow()
    modes = set(zip(table["system"].to_pylist(), table["writes"].to_pylist(), strict=True))
    assert modes == {("lru", "through"), ("hierarchy", "back")}
    page = sweep_page(sweep)
    assert "Warning: write modes differ: through (lru), back (hierarchy)." in page


def test_comparisons_have_them_whatever_the_run_recorded(tmp_path: Path) -> None:
    rows = comparison(written(tmp_path, "lru", "single-tier", "hindsight")).to_pylist()
    assert {tuple(row[name] for name in FIELDS) for row in rows} == {
        ("through", "lru", "exclusive")
    }
