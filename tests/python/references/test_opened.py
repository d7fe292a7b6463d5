# Trusts: that an entry for several VMs is what an entry for each of them is.
"""Several VMs of a file in one line of an experiment."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from small import ROOT, TINY

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.experiment.experiment import Experiment
from mcsim.references.opened import open_workload
from mcsim.references.workload import Workload
from mcsim.traces.find import TraceFinder

SECOND = 10**9
EXPERIMENT = """
name: fleet
interval: 10s
workload:
  vms:
{entries}
tiers: [{{device: dram, capacity: 20}}]
systems: [lru, static]
"""


def fleet(names: list[str], requests: int = 400, seed: int = 3) -> mc.Trace:
    random = np.random.default_rng(seed)
    vm = np.concatenate([np.arange(len(names)), random.integers(0, len(names), requests)])
    n = len(vm)
    return mc.Trace.from_arrays(
        np.arange(n) * SECOND // 10,
        random.integers(0, 50, n) * 4096,
        4096,
        vm=vm,
        op=random.integers(0, 2, n),
        vms=names,
    )


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    fleet(["web_0", "web_1", "mail", "db.1"]).save("fleet.arrow")
    return folder


def experiment(*entries: str, **more: str) -> Experiment:
    text = EXPERIMENT.format(entries="\n".join(f"    - {entry}" for entry in entries))
    for old, new in more.items():
        text = text.replace(old, new)
    Path("x.yaml").write_text(text)
    return Experiment.load("x.yaml", [])


def opened(*entries: str, **more: str) -> Workload:
    made = experiment(*entries, **more)
    return open_workload(made.spec, made.source, [], Reporter())


def names(*entries: str) -> list[str]:
    return [vm.name for vm in opened(*entries).vms]


def test_all_patterns_lists_and_new_names() -> None:
    of = "trace: fleet.arrow"
    assert names(f"{{{of}, vms: all}}") == ["web_0", "web_1", "mail", "db.1"]
    assert names(f'{{{of}, vms: "web_*"}}') == ["web_0", "web_1"]
    assert names(f'{{{of}, vms: [mail, "web_[1-9]"]}}') == ["mail", "web_1"]
    assert names(f"{{{of}, vms: {{mail: post, db.1: data}}}}") == ["post", "data"]
    assert names(f'{{{of}, vms: all, name: "a-{{vm}}"}}')[2:] == ["a-mail", "a-db.1"]
    # With VMs that have an entry each, and twice under other names.
    assert names(
        f'{{{of}, vms: "web_*"}}', f"{{{of}, name: mail}}", f'{{{of}, vms: mail, name: "{{vm}}-2"}}'
    ) == ["web_0", "web_1", "mail", "mail-2"]


def counted(*entries: str) -> Any:
    experiment(*entries)
    return mc.run("x.yaml", figures=False).metrics().to_arrow().drop_columns(["system"]).to_pydict()


def test_results_are_those_of_one_entry_each() -> None:
    one = "{trace: fleet.arrow, vms: all, departs: 35s}"
    each = [
        f"{{trace: fleet.arrow, name: {name}, departs: 35s}}"
        for name in ("web_0", "web_1", "mail", "db.1")
    ]
    assert counted(one) == counted(*each)


@pytest.mark.parametrize("count", [8, 9, 1000])
def test_many_vms_are_interned_as_few(count: int) -> None:
    trace = fleet([f"vm{k}" for k in range(count)], requests=3000)
    trace.save("many.arrow")
    workload = opened("{trace: many.arrow, vms: all}", **{"10s": "60s"})
    accesses = workload.intern({"ops": "all"})
    (batch,) = trace.batches()
    assert accesses.request_vm.tolist() == batch.vm.tolist()
    assert accesses.request_time.tolist() == batch.time.tolist()
    assert [vm.requests for vm in accesses.vms] == np.bincount(batch.vm).tolist()
    places = list(zip(batch.vm.tolist(), batch.offset.tolist(), strict=True))
    assert len(set(places)) == accesses.id_count
    assert len(set(zip(places, accesses.ids.tolist(), strict=True))) == accesses.id_count


def test_a_profile_stands_in_for_several() -> None:
    root = ROOT
    profile = f"workload:\n  profile: {root}/experiments/workloads/tiny.yaml"
    workload = opened('{trace: none, vms: "*c*", name: "x-{vm}"}', **{"workload:": profile})
    assert workload.synthetic
    assert [vm.name for vm in workload.vms] == ["x-cyclic", "x-scanner"]


def test_a_seed_makes_another_synthetic_workload() -> None:
    profile = TINY

    def offsets(more: str) -> list[int]:
        workload = opened(
            "{trace: none, vms: all}", **{"workload:": f"workload:\n  profile: {profile}{more}"}
        )
        return [offset for batch in workload.vms[0].trace.batches() for offset in batch.offset]

    assert offsets("") == offsets("\n  seed: 1")
    assert offsets("") != offsets("\n  seed: 5")


def test_a_seed_of_no_synthetic_workload_is_refused_or_said_to_be_unused() -> None:
    with pytest.raises(ConfigError, match="missing key 'profile': the seed of which synthetic"):
        opened("{trace: fleet.arrow, vms: all}", **{"workload:": "workload:\n  seed: 5"})
    told = io.StringIO()
    profile = TINY
    seeded = f"workload:\n  profile: {profile}\n  seed: 5"
    made = experiment("{trace: fleet.arrow, vms: all}", **{"workload:": seeded})
    open_workload(made.spec, made.source, [], Reporter(Console(file=told, width=200)))
    assert "workload.seed is of what stands in for traces, which were all found" in told.getvalue()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["{vms: all}"], r"vms\[0\]: missing key 'trace': the vms of which file\?"),
        (["{trace: fleet.arrow}"], r"x.yaml:6: workload.vms\[0\]: missing key 'name'"),
        (["{trace: f, vm: a, vms: b}"], "vm is one and vms are several: give one of them"),
        (["{trace: f, vms: all, name: a}"], "of several vms expected a pattern such as 'host1-"),
        (["{trace: f, vms: 3}"], r"vms\[0\].vms: expected all, a name, a pattern such as web_\*"),
        (["{trace: f, vms: []}"], "expected all, a name, a pattern"),
        (
            ['{trace: fleet.arrow, vms: "db_*"}'],
            r"x.yaml:6: workload.vms\[0\].vms: no VM 'db_\*'.* in 'fleet.arrow'; it holds web_0",
        ),
        (
            ["{trace: fleet.arrow, vms: all}", "{trace: fleet.arrow, name: mail}"],
            r"x.yaml:7: workload.vms\[1\]: a second VM 'mail'; rename it",
        ),
    ],
)
def test_mistakes(entries: list[str], message: str) -> None:
    with pytest.raises(mc.ConfigError, match=message):
        opened(*entries)


def test_logs_and_yaml_are_no_traces(folder: Path) -> None:
    below = folder / "traces" / "deep"
    below.mkdir(parents=True)
    for name in ("w10.csv", "w10.log", "w10.yaml", "w10.png"):
        (below / name).write_text("offset\n0\n")
    assert TraceFinder([folder / "traces"]).find("w10") == below / "w10.csv"
    (below / "w10.csv.gz").touch()
    with pytest.raises(mc.ConfigError, match=r"'w10' could be any of .*w10.csv, .*w10.csv.gz$"):
        TraceFinder([folder / "traces"]).find("w10")


@pytest.mark.parametrize("name", ["fleet", "deep/w10.csv"])
def test_extensions_may_be_left_out_beside_the_experiment(folder: Path, name: str) -> None:
    (folder / "deep").mkdir()
    fleet(["web_0", "web_1"]).save(folder / "deep" / "w10.csv.zst")
    names = [vm.name for vm in opened(f"{{trace: {name}, vms: 'web_*'}}").vms]
    assert names == ["web_0", "web_1"]
