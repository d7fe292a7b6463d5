"""No system is without a twin: which one it has, and the test that holds it to that.

Trusts: the list of systems; the source of the tests, parsed.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mcsim._core import engine

TESTS = Path(__file__).parents[1] / "python"

# Of every system: the file and the name of its rule in plain Python, and the test, of the file
# beside this one, that compares the two decision by decision or request by request.
TWINS = {
    "lru": ("naive_hosts.py", "Chain", "test_shared_systems.py", "test_one_stack_for_all"),
    "single-tier": ("naive_hosts.py", "Chain", "test_shared_systems.py", "test_one_stack_for_all"),
    "hierarchy": ("naive_hosts.py", "Chain", "test_shared_systems.py", "test_parts_of_groups"),
    "static": ("naive_hosts.py", "Chain", "test_shared_systems.py", "test_parts_of_ones_own"),
    "multicache": (
        "naive_multicache.py", "MultiCacheTwin", "test_curve_systems.py", "test_multicache"
    ),
    "multicache-joint": (
        "naive_multicache.py", "JointTwin", "test_curve_systems.py",
        "test_multicache_of_all_tiers_at_once",
    ),
    **{
        system: ("naive_systems.py", twin, "test_systems.py", "test_every_decision_is_the_twins")
        for system, twin in {
            "vcacheshare": "VCacheShareTwin",
            "ri-shares": "RiSharesTwin",
            "centaur": "CentaurTwin",
            "eci-cache": "EciTwin",
            "slo": "SloTwin",
            "maxperf": "MaxperfTwin",
            "exclusive": "ExclusiveTwin",
        }.items()
    },
    **{
        system: (
            "naive_dividing.py", twin, "test_dividing_systems.py", "test_decides_as_the_twin_does"
        )
        for system, twin in {
            "s-cave": "SCave",
            "cloudcache": "CloudCache",
            "thin": "Thin",
            "karma": "Karma",
            "cachecow": "CacheCow",
        }.items()
    },
    "baa": (
        "experiment/test_tables.py", "most_throughput", "test_tables.py",
        "test_bottleneck_aware_allocation_is_the_program_of_all_clients",
    ),
    "dss": (
        "naive_hosts.py", "Classes", "test_shared_systems.py",
        "test_classes_decide_who_comes_in_and_who_leaves",
    ),
    "mixed-caching": (
        "naive_dividing.py", "MixedCaching", "test_dividing_systems.py",
        "test_guests_shrink_as_the_twin_has_them",
    ),
    "remoca": (
        "naive_hosts.py", "Remoca", "test_shared_systems.py",
        "test_memory_of_other_hosts_until_they_fail",
    ),
    "hystor": (
        "naive_placing.py", "Hystor", "test_placing_systems.py",
        "test_extents_are_where_the_rule_has_them",
    ),
    "vfrm": (
        "naive_placing.py", "Vfrm", "test_placing_systems.py",
        "test_extents_are_where_the_rule_has_them",
    ),
    "edt": (
        "naive_placing.py", "Edt", "test_placing_systems.py",
        "test_extents_are_where_the_rule_of_edt_has_them",
    ),
    "dm-cache": (
        "naive_smq.py", "NaiveSmq", "test_dm_cache.py",
        "test_drawn_requests_hit_as_in_the_twin",
    ),
    "dm-writecache": (
        "naive_writecache.py", "NaiveWritecache", "test_dm_writecache.py",
        "test_drawn_requests_hit_as_in_the_twin",
    ),
    "bcache": (
        "naive_bcache.py", "NaiveBcache", "test_bcache.py",
        "test_drawn_requests_hit_as_in_the_twin",
    ),
    "open-cas": (
        "naive_opencas.py", "NaiveOpenCas", "test_open_cas.py",
        "test_drawn_requests_hit_as_in_the_twin",
    ),
    "zfs-arc": (
        "naive_zfs_arc.py", "NaiveZfsArc", "test_zfs_arc.py",
        "test_drawn_requests_hit_as_in_the_twin",
    ),
    "steady": ("naive_curves.py", "SteadyTwin", "test_curve_systems.py", "test_steady"),
    "hindsight": ("naive_curves.py", "Stacks", "test_curve_systems.py", "test_hindsight"),
    "clairvoyant": ("naive_curves.py", "Stacks", "test_curve_systems.py", "test_clairvoyant"),
}  # fmt: skip


def test_every_system_has_a_twin() -> None:
    assert set(TWINS) == {system["name"] for system in engine.describe_systems()}


def defined(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef, ast.ClassDef
    return {node.name for node in tree.body if isinstance(node, kinds)}


@pytest.mark.parametrize("system", TWINS)
def test_the_twin_is_there_and_so_is_its_test(system: str) -> None:
    file, twin, test_file, test = TWINS[system]
    beside = TESTS / "experiment" / test_file
    assert twin in defined(TESTS / file)
    assert test in defined(beside)
    text = beside.read_text(encoding="utf-8")
    assert f'"{system}"' in text
    assert twin in text
