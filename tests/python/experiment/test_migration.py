"""Trusts: the waits of accesses summed by hand from the counts of a run; the claim of CloudCache's
authors that a VM waits less if its cache comes after it; laws; and the words of messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from complaints import complaint
from hosts import add_vm, ran
from ruamel.yaml import YAML
from small import EXPERIMENTS

import mcsim
from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.experiment.allocator import answering
from mcsim.experiment.runner import run
from mcsim.results import models
from mcsim.results.results import Results
from mcsim.results.tables import comparison, systems
from mcsim.results.totals import totals
from mcsim.results.yardsticks import slowdowns

OF_HOSTS = {
    "metrics": {"transfers", "remote_reads", "remote_requests"},
    "vms": {"host", "sent", "transferred", "on_demand", "left_behind", "on_the_way"},
}
FILE = EXPERIMENTS / "migration.yaml"
FLASH_READ_NS, FLASH_WRITE_NS, DISK_NS, LINK_NS = 25_000, 200_000, 6_500_000, 100_000


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(FILE, out=tmp_path_factory.mktemp("results"), figures=False)


@pytest.fixture(scope="module")
def counts(results: Results) -> pd.DataFrame:
    """Counts by system, interval and VM; the experiment has one tier."""
    keys = ["system", "interval", "vm"]
    return results.to_pandas("metrics").merge(
        results.to_pandas("vms"), on=keys, suffixes=("", "_backend")
    )


def waited(rows: pd.DataFrame) -> float:
    """Mean latency of an access."""
    total = rows["reads_served"] * FLASH_READ_NS + rows["writes_served"] * FLASH_WRITE_NS
    total += (rows["reads_served_backend"] + rows["writes_served_backend"]) * DISK_NS
    total += rows["remote_reads"] * LINK_NS
    return float(total.sum() / rows["accesses"].sum())


def test_a_vm_waits_less_if_its_cache_comes_after_it(
    results: Results, counts: pd.DataFrame
) -> None:
    moves = counts[(counts["sent"] > 0)]
    assert set(moves["vm"]) == {"stays"}
    (interval,) = set(moves["interval"])
    then = counts[(counts["vm"] == "stays") & (counts["interval"] == interval)]
    waits = {str(system): waited(rows) for system, rows in then.groupby("system")}
    assert waits["moved"] < waits["moved slowly"] < waits["moved cold"]
    assert waits["all on demand"] < waits["moved"]
    # Before the move all systems are equal; afterwards no VM has less space.
    before = counts[counts["interval"] < interval - 1]
    hits = before.groupby("system")["hits"].sum()
    assert hits.nunique() == 1
    infeasible = results.decisions().to_pandas().query("infeasible != ''")
    assert set(infeasible["system"]) == {"scaled"}
    assert infeasible["infeasible"].str.startswith("the working sets of the VMs of full are").all()


def test_all_that_was_sent_came_once_or_stayed_behind(counts: pd.DataFrame) -> None:
    sums = counts.groupby("system")[
        ["sent", "transferred", "on_demand", "left_behind", "transfers", "remote_reads"]
    ].sum()
    ended = sums["transferred"] + sums["on_demand"] + sums["left_behind"]
    assert (ended == sums["sent"]).all()
    assert (sums["transfers"] == sums["transferred"] + sums["on_demand"]).all()
    assert (sums["remote_reads"] == sums["on_demand"]).all()
    assert (sums.loc[["moved", "moved slowly", "all on demand"], "on_demand"] > 0).all()
    assert (sums.loc[["scaled", "moved cold"], "sent"] == 0).all()


def test_tables_charge_the_link(results: Results, counts: pd.DataFrame) -> None:
    table = comparison(results).to_pandas()
    requests = models.requests(results).to_pandas()
    for (system, vm), rows in counts.groupby(["system", "vm"]):
        (own,) = table[(table["system"] == system) & (table["vm"] == vm)]["mean_latency_ns"]
        assert own == pytest.approx(waited(rows), rel=1e-12)
        # Requests of this workload have one block.
        (mean,) = requests[(requests["system"] == system) & (requests["vm"] == vm)]["mean_ns"]
        assert mean == pytest.approx(own, rel=1e-12)
    # Granted blocks of the 5,000 on each of two hosts.
    (tier,) = results.spec.tiers
    assert tier.price is not None
    granted = counts.groupby(["system", "interval"])["target"].sum().groupby("system").mean()
    assert granted.between(1, 2 * 5_000).all()
    costs = systems(results).to_pandas().set_index("system")["cost_dollars"]
    for system, blocks in granted.items():
        assert costs[system] == pytest.approx(blocks * 4096 / 1e9 * tier.price)
    devices = models.devices(results).to_pandas()
    assert devices["utilization"].isna().all()
    for of in totals(results):
        with_link = slowdowns(results, of)
        assert with_link is not None
    with pytest.raises(ConfigError, match="reads queue on one host, and this run has several"):
        models.reads_behind_writes(results)


def test_a_host_may_have_nobody_on_it_at_first(tmp_path: Path) -> None:
    """The VM that moves is alone on its new host; the others share its space."""
    given = YAML(typ="safe").load(FILE)
    del given["hosts"]["vms"]
    given["systems"] = [system for system in given["systems"] if system["label"] == "moved"]
    given["workload"]["profile"] = str(FILE.parent / given["workload"]["profile"])
    vms = run(given, out=tmp_path, figures=False).to_pandas("vms")
    hosts = vms.groupby("interval")["host"].agg(set)
    assert hosts.iloc[0] == {"full"}
    assert hosts.iloc[-1] == {"full", "spare"}


def test_one_host_has_no_columns_of_several(tmp_path: Path, results: Results) -> None:
    tiny = run(FILE.with_name("tiny.yaml"), out=tmp_path, figures=False)
    for name, columns in OF_HOSTS.items():
        assert not columns & set(tiny.table(name).column_names)
        assert columns <= set(results.table(name).column_names)
    hosts = results.vms().to_pandas().query("system == 'moved' and vm == 'stays'")["host"]
    assert list(dict.fromkeys(hosts)) == ["full", "spare"]


HOSTS = """name: two
ops: all
interval: 10min
workload: {profile: PROFILE}
tiers: [{device: flash, capacity: 500}]
hosts:
  names: [left, right]
  vms: {friendly: right}
  link:
    latency: 50us
    rate: 1000
systems:
  - cloudcache
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[left, right]", "[left, left]", "two.yaml:7: hosts.names[1]: a second host 'left'"),
        ("[left, right]", "[left]", "two.yaml:7: hosts.names: "),
        (": right}", ": rigt}", "two.yaml:8: hosts.vms.friendly: no host 'rigt' (did you mean"),
        ("{friendly", "{frendly", "two.yaml:8: hosts.vms.frendly: no VM 'frendly' (did you mean"),
        ("rate: 1000", "rate: 0", "two.yaml:11: hosts.link.rate: "),
        ("    rate: 1000\n", "", "missing key 'rate'"),
        ("10min", "900 references", "two.yaml:11: hosts.link.rate: blocks a second of what"),
        (
            "- cloudcache",
            "- lru",
            "two.yaml:13: systems[0]: lru: this system divides one host",
        ),
        (
            "- cloudcache",
            "- {name: cloudcache, resize_mode: lazy}",
            "two.yaml:13: systems[0]: cloudcache: resize_mode: must be eager with several hosts",
        ),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in HOSTS
    file = tmp_path / "two.yaml"
    profile = FILE.with_name("workloads") / "tiny.yaml"
    file.write_text(HOSTS.replace(old, new).replace("PROFILE", str(profile)))
    assert message in complaint(run, file, out=tmp_path, figures=False)


INTERVAL = 100
MACHINE = engine.Machine(
    [(engine.Device("flash", 100.0, 100.0, 1.0), 10)],
    engine.Device("disk", 5e6, 5e6, 0.1),
    fleet=engine.Fleet(["left", "right"], {"b": 1}, latency_ns=1e3, blocks_per_second=1e8),
)


def loops() -> engine.Accesses:
    """Two VMs write four blocks each, one after the other."""
    builder = engine.AccessBuilder(ops="all")
    for vm in ("a", "b"):
        time = np.arange(10 * INTERVAL)
        add_vm(builder, vm, time, time < INTERVAL, time % 4)
    return builder.finish()


class Moves:
    """Decides the same at the end of the third interval."""

    resize_mode = "eager"
    data_path: ClassVar = {"writes": "back"}

    def __init__(self, decision: Any) -> None:
        self.decision = decision
        self.seen: list[mcsim.Observation] = []

    def allocate(self, seen: mcsim.Observation) -> Any:
        self.seen.append(seen)
        return self.decision if seen.interval == 2 else None


def replayed(allocator: Any) -> engine.RunResult:
    accesses = loops()
    system = engine.System.from_python(answering(allocator, "mine"), MACHINE, interval=INTERVAL)
    return ran(accesses, system, INTERVAL)


def test_an_allocator_sees_hosts_and_moves_vms() -> None:
    moves = Moves(
        mcsim.Decision([[5, 5]], migrations=[mcsim.Migration("a", "right", rate=1e7)]),
    )
    result = replayed(moves)
    assert moves.seen[0].hosts == ("left", "right")
    assert [seen.host.tolist() for seen in moves.seen[2:4]] == [[0, 1], [1, 1]]
    assert [seen.on_the_way.tolist() for seen in moves.seen[2:4]] == [[0, 0], [0, 0]]
    # A loop reads the dirty blocks before they arrive: all but one are fetched on demand.
    assert result.vms["sent"][3].tolist() == [4, 0]
    assert result.vms["on_demand"][3].tolist() == [4, 0]
    assert result.vms["misses"][3].tolist() == [0, 0]
    before, after = (moves.seen[i].latency_ns[0] for i in (2, 3))
    assert before == 100.0
    assert after == pytest.approx(100 + 4 * 1e3 / 100)
    assert result.decisions[0]["migrations"] == [(0, 1, True, 1e7, "dirty")]


def test_an_allocator_moves_a_vm_without_its_cache() -> None:
    cold = mcsim.Migration("a", "right", keep=False)
    result = replayed(Moves(mcsim.Decision([[5, 5]], migrations=[cold])))
    assert result.vms["sent"].sum() == 0
    assert result.vms["write_backs"][3].tolist() == [4, 0]
    assert result.vms["misses"][3].tolist() == [4, 0]


def moving(*args: Any, targets: Any = ((5, 5),), **given: Any) -> mcsim.Decision:
    return mcsim.Decision(targets, migrations=[mcsim.Migration(*args, **given)])


def listing(migrations: Any) -> mcsim.Decision:
    return mcsim.Decision(migrations=migrations)


@pytest.mark.parametrize(
    ("decide", "message"),
    [
        (lambda: moving("c", "right"), "mine: allocate() of interval 2: migrations: no VM 'c'"),
        (lambda: moving("a", "rigt"), "migrations: no host 'rigt' (did you mean 'right'?)"),
        (lambda: moving("a", "right", rate="x"), "a: expected a rate in blocks a second, got 'x'"),
        (lambda: moving("a", "right", rate=-1), "a: expected a rate in blocks a second, got -1"),
        (lambda: moving("a", "left"), "migrations: a is on host left already"),
        (
            lambda: moving("a", "right", rate=1e9),
            "a: 1000000000 blocks per second exceed the 100000000 of the link",
        ),
        (
            lambda: moving("a", "right", on_demand="x"),
            "interval 2: migrations: a: on_demand: unknown choice 'x' (one of dirty, all)",
        ),
        (
            lambda: moving("a", "right", targets=[[6, 5]]),
            "interval 2: 11 blocks of tier 0 on right",
        ),
        (
            lambda: moving("a", "right", targets=None),
            "host right: targets: tier 0 grants 20",
        ),
        (
            lambda: mcsim.Decision([[11, 5]]),
            "interval 2: 11 blocks of tier 0 on left, which has 10",
        ),
        (lambda: listing(["a"]), "migrations: expected mcsim.Migration, got 'a'"),
        (lambda: listing("a"), "migrations: expected a list of mcsim.Migration, got 'a'"),
    ],
)
def test_wrong_moves_are_named(decide: Callable[[], mcsim.Decision], message: str) -> None:
    assert message in complaint(replayed, Moves(decide()))


def test_an_allocator_that_would_take_the_space_of_another_host_is_refused() -> None:
    lazy = type("Lazy", (Moves,), {"resize_mode": "lazy"})(None)
    with pytest.raises(ConfigError, match="resize_mode: must be eager with several hosts"):
        replayed(lazy)
