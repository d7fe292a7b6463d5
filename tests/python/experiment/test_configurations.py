"""Trusts: that one cache hits the same wherever it is and however it writes, and that writes to
the backend become fewer the longer they may wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from small import EXPERIMENTS, TINY

from mcsim.experiment.runner import run
from mcsim.locality.estimators import reuse_distances
from mcsim.results.results import Results
from mcsim.traces.synth import synth_trace

Sums = dict[str, int]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Results]:
    """Run an experiment of the repository once."""
    out = tmp_path_factory.mktemp("results")
    made: dict[str, Results] = {}

    def of(name: str) -> Results:
        if name not in made:
            made[name] = run(EXPERIMENTS / f"{name}.yaml", out=out, figures=False)
        return made[name]

    return of


def sums(of: Results, table: str, column: str) -> Sums:
    """Values of a column by system."""
    rows = of.table(table).group_by("system").aggregate([(column, "sum")]).to_pydict()
    return dict(zip(rows["system"], rows[f"{column}_sum"], strict=True))


def test_a_shared_cache_hits_the_same_in_the_array(results: Callable[[str], Results]) -> None:
    here = sums(results("placement"), "metrics", "hits")
    there = sums(results("placement-array"), "metrics", "hits")
    assert there["in the array"] == here["in the hypervisor"] > 0
    assert len(set(here.values())) > 2


def test_mercury_waits_for_every_write(results: Callable[[str], Results]) -> None:
    hits = sums(results("mercury"), "metrics", "hits")
    assert hits["mercury"] == hits["written back"] > 0
    written = sums(results("mercury"), "vms", "backend_writes")
    asked = sums(results("mercury"), "vms", "writes")
    assert written["mercury"] == written["divided"] == written["written around"] == asked["mercury"]
    assert written["written back"] < asked["written back"]


@pytest.mark.parametrize("design", ["naive", "lookaside", "unified"])
def test_writes_that_may_wait_longer_are_fewer(
    design: str, results: Callable[[str], Results]
) -> None:
    written = sums(results("holland"), "vms", "backend_writes")
    policies = ["through", "through unwaited", "periodic", "back"]
    by_policy = [written[f"{design} {policy}"] for policy in policies]
    assert by_policy == sorted(by_policy, reverse=True)
    assert by_policy[-1] < by_policy[0]


@pytest.mark.parametrize("design", ["naive", "lookaside"])
def test_memory_that_is_written_through_leaves_what_is_dirty_to_flash(
    design: str, results: Callable[[str], Results]
) -> None:
    written = sums(results("holland"), "vms", "backend_writes")
    backs = sums(results("holland"), "vms", "write_backs")
    mixed = f"{design} through over back"
    assert 0 < backs[mixed] == written[mixed] < written[f"{design} through"]
    # Writes of each device: both receive all writes.
    writes = sums(results("holland"), "vms", "writes")
    waited = sums(results("holland"), "vms", "writes_served")
    assert waited[mixed] == 0 < waited[f"{design} through"] == writes[mixed]


def test_what_memory_elsewhere_adds(results: Callable[[str], Results]) -> None:
    hits = sums(results("remoca"), "metrics", "hits")
    # The same chain as memory over flash; copies in both are space that is lost.
    assert hits["remoca"] == sums(results("holland"), "metrics", "hits")["unified through"]
    assert hits["remoca"] > hits["lost for an hour"] > hits["on demand"]


def test_hosts_see_what_guests_miss_or_evict(results: Callable[[str], Results]) -> None:
    """Two LRU caches, one above the other, by reuse distances; or one as large as both."""
    counts = results("guests").to_pandas("metrics").groupby(["system", "vm", "tier"])["hits"].sum()
    guest, host = 500, 1000  # blocks of each of three VMs
    for part in synth_trace(TINY).blocks("reads").by_vm():
        distances = reuse_distances(part.ids)
        hit = (distances >= 0) & (distances < guest)
        below = reuse_distances(part.ids[~hit])
        reads = counts["host caches reads", part.label]
        assert reads[0] == hit.sum()
        assert reads[1] == ((below >= 0) & (below < host)).sum()
        evictions = counts["host caches evictions", part.label]
        assert evictions[0] == hit.sum()
        assert evictions.sum() == ((distances >= 0) & (distances < guest + host)).sum()


def test_guests_that_shrink_hit_less_of_their_own(results: Callable[[str], Results]) -> None:
    held = results("guests").to_pandas("metrics").query("system == 'mixed-caching'")
    by_interval = held.groupby(["tier", "interval"])["occupancy"].sum()
    assert by_interval[0].max() > 1000
    assert by_interval[0].iloc[-1] <= 150  # a tenth
    hits = held.groupby("tier")["hits"].sum()
    copies = results("guests").to_pandas("metrics").query("system == 'host has copies'")
    whole = copies.groupby("tier")["hits"].sum()
    assert hits[0] < whole[0]
    assert hits[1] > whole[1]


def test_a_rate_keeps_extents_where_they_are(results: Callable[[str], Results]) -> None:
    moved = sums(results("tiering"), "metrics", "fills")
    assert 0 < moved["edt 4 blocks a second"] < moved["edt"]
