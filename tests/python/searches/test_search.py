# Trusts: the whole grid, replayed; `mcsim.run`; brute force over its rows.
"""A search finds the best of a grid with few replays, and agrees with runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from complaints import complaint
from numpy.typing import NDArray
from small import small_experiment

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.prepared import Prepared
from mcsim.references.opened import open_workload
from mcsim.results import models, tables
from mcsim.searches.asked import policies_of
from mcsim.searches.guides import Stack, rate_for
from mcsim.searches.replays import Replays
from mcsim.searches.search_state import Found
from mcsim.searches.space import Point
from mcsim.traces.trace import Trace

SIZES = "log(50, 1600, 8) / log(200, 6400, 8)"


def mixed(accesses: int = 60_000) -> NDArray[np.int64]:
    """Zipf, a loop and scans: curves with knees, and a difference between LRU and ARC."""
    rng = np.random.default_rng(7)
    zipf = rng.zipf(1.2, accesses) % 3000
    loop = 10_000 + np.arange(accesses) % 2500
    scan = 20_000 + np.arange(accesses)
    return np.asarray(np.choose(rng.choice(3, accesses, p=[0.6, 0.3, 0.1]), [zipf, loop, scan]))


@pytest.fixture
def as_if_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search as in long traces, where miniatures are quicker than all replays in full."""
    monkeypatch.setattr("mcsim.searches.search_state._EACH_REPLAY", 0)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An experiment without a clock, of reads alone."""
    file = tmp_path_factory.mktemp("traces") / "mixed.txt"
    file.write_text("\n".join(map(str, mixed())))
    return small_experiment(
        "lru",
        "hierarchy",
        tiers={"dram": 200, "flash": 1500},
        name="mixed",
        ops="all",
        interval="10_000 references",
        workload={"vms": [{"name": "mixed", "trace": str(file), "format": "keys"}]},
        backend="hdd",
    )


@pytest.fixture(scope="module")
def clocked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An experiment with a clock and writes that are written back."""
    keys = mixed(20_000)
    trace = Trace.from_arrays(
        np.arange(len(keys)) * 10**9,
        keys.astype(np.uint64) * 4096,
        4096,
        op=np.random.default_rng(8).random(len(keys)) < 0.3,
    )
    file = tmp_path_factory.mktemp("clocked") / "mixed.csv"
    trace.save(file)
    return small_experiment(
        {"name": "hierarchy", "writes": "back", "chain": "victim"},
        tiers={"dram": 200, "flash": 1500},
        name="clocked",
        ops="all",
        interval="30min",
        workload={"vms": [{"name": "mixed", "trace": str(file)}]},
        backend="hdd",
    )


def replays_of(spec: dict[str, Any]) -> Replays:
    experiment = Experiment.load(spec)
    workload = open_workload(experiment.spec, experiment.source, [], Reporter())
    (system,) = (s for s in experiment.spec.systems if s.name == "hierarchy")
    return Replays(experiment, system, Prepared(workload, Reporter()))


def best_of(grid: Found, sign: int, name: str, kept: Callable[[Any], bool]) -> float:
    """The best of a column, by brute force."""
    return float(min(sign * row[name] for row in grid if kept(row)) * sign)


@pytest.mark.parametrize("warm_up", [None, "20_000 references"])
def test_the_stack_says_what_replays_of_lru_do(spec: dict[str, Any], warm_up: str | None) -> None:
    replays = replays_of(spec | ({"warm_up": warm_up} if warm_up else {}))
    stack = Stack(replays)
    assert stack.is_exact
    for blocks in [(1, 1), (50, 300), (3000, 200), (2000, 100_000), (100_000, 1)]:
        point = Point(blocks, "lru / lru")
        assert stack.outcome(point) == replays.outcome(point), blocks


def test_vms_share_a_stack() -> None:
    replays = replays_of(
        small_experiment(
            {"name": "hierarchy", "writes": "back"},
            tiers={"dram": 500, "flash": 2000},
            interval="10min",
            warm_up="1h",
        )
    )
    stack = Stack(replays)
    assert stack.is_exact
    for blocks in [(30, 10), (500, 2000), (9000, 9000)]:
        point = Point(blocks, "lru / lru")
        assert stack.outcome(point) == replays.outcome(point), blocks


def test_the_stack_is_not_asked_of_what_it_does_not_know(
    spec: dict[str, Any], clocked: dict[str, Any]
) -> None:
    assert not Stack(replays_of(clocked)).is_exact
    for other in ({"chain": "inclusive"}, {"admission": "nth(n=2)"}, {"groups": {"mixed": 1}}):
        systems = [{"name": "hierarchy"} | other]
        assert not Stack(replays_of(spec | {"systems": systems})).is_exact, other
    backend = {"device": "hdd", "vms": {"mixed": "3ms"}}
    assert not Stack(replays_of(spec | {"backend": backend})).is_exact
    timed = clocked | {"ops": "reads", "systems": [{"name": "hierarchy"}]}
    assert Stack(replays_of(timed)).is_exact
    tiers = [timed["tiers"][0], timed["tiers"][1] | {"delayed_hits": True}]
    assert not Stack(replays_of(timed | {"tiers": tiers})).is_exact


@pytest.mark.parametrize("policy", ["arc / lru", "lru / s3-fifo", "2q(kin=0.1,kout=0.3) / lru"])
@pytest.mark.parametrize("warm_up", [None, "1h"])
def test_a_replay_says_what_a_run_says(
    clocked: dict[str, Any], policy: str, warm_up: str | None, tmp_path: Path
) -> None:
    given = clocked | ({"warm_up": warm_up} if warm_up else {})
    found = mc.search(
        given, sizes="300 / 1200", policies=policy, limits={"dollars": 9}, exhaustive=True
    )
    run = mc.run(given, overrides=found.overrides, out=tmp_path, figures=False)
    (system,) = tables.systems(run).to_pylist()
    flash = models.devices(run).to_pylist()[1]
    best = found.best
    assert (best.policy, best.blocks_0, best.blocks_1) == (policy, 300, 1200)
    assert best.hit_ratio == system["hit_ratio"]
    assert best.latency_ns == system["mean_latency_ns"]
    assert best.dollars == pytest.approx(system["cost_dollars"])
    assert best.per_dollar == pytest.approx(system["performance_per_cost"])
    assert best.worn_blocks == system["device_writes"][1] > 0
    assert best.years == pytest.approx(flash["lifetime_years"])


def test_miniatures_are_much_like_the_whole(spec: dict[str, Any]) -> None:
    replays = replays_of(spec)
    for point in (Point((400, 1600), "arc / arc"), Point((800, 4000), "lru / 2q")):
        whole = replays.outcome(point)
        small = [replays.outcome(point, replays.sampled(0.1, seed)) for seed in range(1, 9)]
        latency = np.mean([each.latency_ns for each in small])
        written = np.mean([each.device_writes for each in small], axis=0)
        assert latency == pytest.approx(whole.latency_ns, rel=0.05)
        assert written == pytest.approx(whole.device_writes, rel=0.05)
        assert replays.outcome(point, replays.sampled(1.0, 1)) == whole


@pytest.fixture(scope="module")
def grids(spec: dict[str, Any]) -> dict[str, Found]:
    """The whole grid, by policy."""
    return {
        policy: mc.search(
            spec, sizes=SIZES, policies=policy, objective="per-dollar", exhaustive=True
        )
        for policy in ("lru", "arc")
    }


@pytest.mark.usefixtures("as_if_long")
@pytest.mark.parametrize("policy", ["lru", "arc"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_a_search_is_near_the_best_of_the_grid(
    spec: dict[str, Any], grids: dict[str, Found], policy: str, share: float
) -> None:
    grid = grids[policy]
    dollars = share * float(grid.dollars.max())
    best = best_of(grid, 1, "latency_ns", lambda row: bool(row.dollars <= dollars))
    asked: dict[str, Any] = {"sizes": SIZES, "policies": policy, "limits": {"dollars": dollars}}
    found = mc.search(spec, **asked, refine=False)
    assert found.grid == int((grid.dollars <= dollars).sum())
    assert found.replay_count <= found.grid / 5
    assert found.best.latency_ns <= 1.01 * best
    assert found.best.dollars <= dollars
    if policy == "lru":
        # All is known beforehand.
        assert (found.replay_count, found.replayed) == (1, 0)
        assert found.best.latency_ns == best
    between = mc.search(spec, **asked)
    assert between.best.latency_ns <= 1.01 * best
    assert len(between) > len(found)


def test_of_a_short_trace_all_is_replayed(spec: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"sizes": "log(50, 1600, 4) / log(200, 6400, 4)", "policies": "arc"}
    grid = mc.search(spec, **asked, exhaustive=True)
    found = mc.search(spec, **asked, refine=False)
    assert (found.replay_count, found.replayed) == (found.grid, 0)
    assert found.best.latency_ns == grid.best.latency_ns
    assert mc.search(spec, **asked, refine=False, most=2).replay_count <= 2
    assert mc.search(spec, **asked | {"policies": "lru"}, refine=False).replay_count == 1


def test_what_is_expected_of_lru_is_so(spec: dict[str, Any], grids: dict[str, Found]) -> None:
    limits = {"dollars": 99}
    found = mc.search(spec, sizes=SIZES, policies="lru", limits=limits, refine=False)
    measured = {(row.blocks_0, row.blocks_1): row for row in grids["lru"]}
    assert len(found) == len(measured) == 64
    for row in found:
        known = measured[row.blocks_0, row.blocks_1]
        for name in ("latency_ns", "hit_ratio", "per_dollar", "worn_blocks", "dollars"):
            assert row[name] == known[name], name


@pytest.mark.usefixtures("as_if_long")
def test_several_policies_are_compared_fairly(spec: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        "sizes": "log(100, 800, 4) / log(400, 3200, 4)",
        "policies": ["lru", "arc"],
    }
    asked["limits"] = {"dollars": 0.04}
    grid = mc.search(spec, **asked, exhaustive=True)
    found = mc.search(spec, **asked, refine=False)
    assert {row.policy for row in grid} == {
        f"{a} / {b}" for a in ("lru", "arc") for b in ("lru", "arc")
    }
    assert found.best.latency_ns <= 1.01 * grid.best.latency_ns
    assert found.replay_count <= found.grid / 5


@pytest.mark.usefixtures("as_if_long")
def test_the_cheapest_that_is_fast_enough(spec: dict[str, Any], grids: dict[str, Found]) -> None:
    for policy, grid in grids.items():
        limit = float(round(np.median(grid.latency_ns)))
        best = best_of(grid, 1, "dollars", lambda row, limit=limit: bool(row.latency_ns <= limit))
        found = mc.search(
            spec,
            sizes=SIZES,
            policies=policy,
            objective="dollars",
            limits={"latency": f"{round(limit)}ns"},
            refine=False,
        )
        assert found.best.kept
        assert found.best.latency_ns <= limit
        assert found.best.dollars <= 1.01 * best
        assert found.replay_count <= found.grid / 5


@pytest.mark.usefixtures("as_if_long")
def test_wear_is_a_limit(clocked: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"sizes": "log(50, 800, 6) / log(200, 3200, 6)", "policies": "lru"}
    grid = mc.search(clocked, **asked, objective="per-dollar", exhaustive=True)
    for name, of, sign in (("years", "years", -1), ("device_writes", "worn_blocks", 1)):
        limit = float(round(np.quantile(grid[of], 0.4), 6 if name == "years" else 0))
        best = best_of(
            grid,
            1,
            "latency_ns",
            lambda row, of=of, sign=sign, limit=limit: bool(sign * row[of] <= sign * limit),
        )
        found = mc.search(clocked, **asked, limits={name: limit}, refine=False)
        assert found.best.kept
        assert sign * found.best[of] <= sign * limit
        assert found.best.latency_ns <= 1.01 * best, name
        assert found.replay_count <= max(1, found.grid // 5)


def test_money_is_that_of_the_experiments_own_tiers_if_not_said(spec: dict[str, Any]) -> None:
    found = mc.search(spec)
    own = (200 * 10 + 1500 * 2) * 4096 / 1e9
    assert found.limits == {"dollars": pytest.approx(own)}
    replays = replays_of(spec)
    given = replays.outcome(Point((200, 1500), "lru / lru"))
    assert found.best.latency_ns <= given.latency_ns
    # All of it can be spent where the sizes of the grid leave some.
    assert found.best.dollars == pytest.approx(own, rel=0.001)
    assert mc.search(spec, objective="per-dollar").limits == {}


def test_a_search_is_the_same_again_on_any_threads(spec: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"sizes": "log(100, 800, 4) / log(400, 3200, 4)", "policies": "arc"}
    first, second = (mc.search(spec, **asked, threads=threads) for threads in (1, 2))
    np.testing.assert_equal(first.columns(), second.columns())


def test_a_file_says_what_is_searched_and_options_say_otherwise(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    text = json.dumps(spec | {"search": {"sizes": "100,200 / 500,1000", "policies": ["arc"]}})
    (tmp_path / "mixed.yaml").write_text(text)
    found = mc.search(tmp_path / "mixed.yaml", exhaustive=True)
    assert {(row.policy, row.blocks_0) for row in found} == {("arc / arc", 100)} | {
        ("arc / arc", 200)
    }
    found = mc.search(tmp_path / "mixed.yaml", policies="lru / arc", exhaustive=True)
    assert {row.policy for row in found} == {"lru / arc"}
    assert complaint(mc.run, tmp_path / "mixed.yaml") == (
        f"{tmp_path / 'mixed.yaml'}:1: search: of a search: `mcsim search` takes it (in Python: "
        "mcsim.search)"
    )


def test_rates_of_small_workloads_are_higher() -> None:
    point = [Point((1000, 5000), "arc / arc")]
    assert rate_for(0.02, point, 10**6) == 0.02
    assert rate_for(0.02, point, 50_000) == 0.04
    assert rate_for(0.02, [Point((100, 5000), "arc / arc")], 10**6) == 0.08
    assert rate_for(0.02, point, 500) == 0.2
    assert rate_for(0.5, point, 500) == 0.5


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"sizes": "5 / 6 / 7"},
            "sizes: expected those of 2 tiers, with ' / ' between them, got 3",
        ),
        ({"sizes": "5 / lots"}, "sizes: of tier 1: expected a size such as"),
        ({"policies": "arc / lru / lru"}, "policies: 'arc / lru / lru': expected those of 2 tiers"),
        ({"policies": "arcc"}, "arcc"),
        ({"objective": "speed"}, "search.objective: expected one of 'latency', 'hit-ratio'"),
        ({"limits": {"money": 3}}, "search.limits: unknown key 'money'"),
        (
            {"limits": {"dollars": 1e-9}},
            "the smallest tiers cost 0.002556 dollars, more than 1e-09",
        ),
        (
            {"limits": {"years": 5}},
            "limits: years: the workload has no clock; device_writes can be",
        ),
        ({"objective": "dollars"}, "limits: the cheapest of what\\? give one, such as latency"),
        ({"rate": 1.5}, "rate: expected a share such as .*, got 1.5"),
        ({"sizes": "log(1, 10000, 200) / log(1, 10000, 200)"}, "expected 1 to 20,000 points, got "),
    ],
)
def test_what_cannot_be_searched(spec: dict[str, Any], asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mc.search(spec, **{"policies": "lru"} | asked)


def test_two_tiers_that_wear_or_not(spec: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"tiers: a search is over two tiers, there are 1"):
        mc.search(spec | {"tiers": spec["tiers"][:1]})
    dram = [{"device": "dram", "capacity": 100}] * 2
    with pytest.raises(ConfigError, match=r"device-writes: no tier wears \(has pe_cycles\)"):
        mc.search(spec | {"tiers": dram}, limits={"device_writes": 100})


def test_nothing_keeps_the_limits(spec: dict[str, Any], tmp_path: Path) -> None:
    found = mc.search(spec, limits={"latency": "1ns"}, sizes="50,100 / 200,400", policies="arc")
    assert found.best is None
    assert found.overrides == []
    assert found.replay_count >= 1


# --- The command ---------------------------------------------------------------------------------


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.call(capsys, "search", *arguments)


def test_the_command_says_what_was_found(
    spec: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, table = tmp_path / "mixed.yaml", tmp_path / "found.csv"
    file.write_text(json.dumps(spec))
    asked = ["--sizes", SIZES, "--policies", "lru", "--limit", "dollars=0.05", "--no-refine", "-q"]
    code, said, _ = call(capsys, file, *asked, "-o", table)
    assert code == 0
    found = mc.search(spec, sizes=SIZES, policies="lru", limits={"dollars": 0.05}, refine=False)
    assert said.startswith(f"{found.answer}\n{file}: the lowest latency; dollars 0.05 at most\n")
    assert f"{len(found)} hierarchies compared, 1 replayed in full, " in said
    assert f"--set tiers.0.capacity={found.best.blocks_0} " in said
    assert said.rstrip().endswith("--set 'systems.1.policy=lru / lru'")
    assert len(table.read_text().splitlines()) == 1 + len(found)
    assert call(capsys, file, *asked, "--csv")[1] == table.read_text()
    code, said, _ = call(capsys, file, *asked, "--json")
    told = json.loads(said)
    assert told["best"]["latency_ns"] == found.best.latency_ns
    assert told["best"]["years"] is None
    assert (told["grid"], told["compared"]) == (found.grid, len(found))
    assert told["simulated"] == len(told["rows"]) == 1


def test_the_command_ends_with_2_if_nothing_keeps_the_limits(
    spec: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text(json.dumps(spec))
    code, said, error = call(
        capsys, file, "--limit", "latency=1us", "--sizes", "50,100 / 200,400", "-q"
    )
    assert code == 2
    (row,) = [line for line in said.splitlines() if line.startswith("lru / lru")]
    assert row.split()[-1] == "no"  # not within the limits
    assert error == (
        f"mcsim: {file}: none of the 1 replayed hierarchies keeps the limits; "
        "latency 1.00 us at most; other --sizes or --limit may\n"
    )
    code, _, error = call(capsys, file, "--limit", "latency")
    assert (code, error) == (
        2,
        "mcsim: --limit latency: expected NAME=VALUE, such as dollars=12\n",
    )


# --- Recorded traces -----------------------------------------------------------------------------


@pytest.mark.usefixtures("as_if_long")
@pytest.mark.parametrize("policy", ["lru", "arc"])
@pytest.mark.parametrize("name", ["2_pools", "sprite", "multi2"])
def test_recorded_traces(trace_dir: Path, name: str, policy: str) -> None:
    spec = small_experiment(
        "hierarchy",
        tiers={"dram": "1%", "flash": "5%"},
        name=name,
        ops="all",
        interval="1_000_000 references",
        workload={"vms": [{"name": name, "format": "keys"}]},
        backend="hdd",
    )
    asked: dict[str, Any] = {"sizes": "log(0.5%, 30%, 9) / log(1%, 100%, 9)", "policies": policy}
    grid = mc.search(spec, **asked, objective="per-dollar", exhaustive=True)
    for share in (0.1, 0.3):
        dollars = share * float(grid.dollars.max())
        best = best_of(
            grid, 1, "latency_ns", lambda row, dollars=dollars: bool(row.dollars <= dollars)
        )
        found = mc.search(spec, **asked, limits={"dollars": dollars}, refine=False)
        assert found.replay_count <= found.grid / 5
        assert found.best.latency_ns <= 1.01 * best
    assert math.isfinite(found.replayed)


def test_a_policy_that_is_no_text_is_named() -> None:
    with pytest.raises(ConfigError, match=r"policies: .*udcff"):
        policies_of(["\udcff"], "lru", 2)
