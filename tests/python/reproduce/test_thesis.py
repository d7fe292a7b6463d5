# Trusts: a naive LRU of blocks, arithmetic by hand, and the comments of the profiles.
from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from plotted import unmeasured, unplotted
from small import EXPERIMENTS

from mcsim.config.profile import SyntheticVmSpec, read_profile
from mcsim.experiment.experiment import Experiment
from mcsim.reproduce.documents.thesis.array import requests_that_hit
from mcsim.reproduce.documents.thesis.figures import full_from, turns_of
from mcsim.reproduce.reproduction import Reproduction, reproduce
from mcsim.traces.synth import synth_trace
from mcsim.traces.trace import Trace

MINUTE = 60 * 10**9


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce("thesis", quick=True, trace_dirs=[], out=tmp_path_factory.mktemp("thesis"))


def naive_hits(trace: Trace, block_bytes: int, capacity: int) -> list[bool]:
    held: OrderedDict[int, None] = OrderedDict()
    hits = []
    requests = trace.to_arrow().to_pylist()
    for request in requests:
        first = request["offset"] // block_bytes
        last = (request["offset"] + request["length"] - 1) // block_bytes
        found = []
        for block in range(first, last + 1):
            found.append(block in held)
            held.pop(block, None)
            held[block] = None
            if len(held) > capacity:
                held.popitem(last=False)
        hits.append(all(found))
    return hits


@pytest.mark.parametrize("block_bytes", [4096, 16384])
def test_requests_hit_as_in_an_lru_cache_of_blocks(block_bytes: int) -> None:
    random = np.random.default_rng(5)
    n = 2000
    offsets = random.zipf(1.3, n) % 300 * 4096 + random.choice([0, 512], n)
    lengths = random.choice([4096, 8192, 20_000], n)
    trace = Trace.from_arrays(np.arange(n), offsets, lengths, op=random.integers(0, 2, n))
    hits = requests_that_hit(trace, block_bytes, 64 * 4096)
    assert hits.tolist() == naive_hits(trace, block_bytes, 64 * 4096 // block_bytes)
    assert 0.1 < hits.mean() < 0.9


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ([1, 1, 1, 1], 1),
        ([0.5, 0.96, 1, 1], 2),
        ([1, 0.94, 1, 1], 3),  # full at once, but not permanently
        ([0.5, 0.6, 0.7, 0.95], 4),
        ([1, 1, 1, 0.9], None),
    ],
)
def test_a_part_is_full_when_it_stays_so(used: list[float], expected: int | None) -> None:
    assert full_from(np.array([0.0, *used, 0.0]), (1, 5)) == expected


@pytest.mark.parametrize(
    ("light", "heavy", "order", "turns", "later"),
    [
        ({"requests": 10}, {"requests": 500}, "HLHL", [(0, 20), (40, 60)], [(20, 40)]),
        # Phases in which a client thinks least.
        ({"think": "50ms"}, {"think": "2ms"}, "HLLH", [(0, 20), (60, 80)], [(40, 60)]),
    ],
)
def test_turns_are_the_phases_with_most_requests(
    light: dict[str, Any], heavy: dict[str, Any], order: str, turns: Any, later: Any
) -> None:
    of = {"L": light, "H": heavy}
    phases = [{"duration": "20min", "reads": "a"} | of[phase] for phase in order]
    vm = SyntheticVmSpec.model_validate({"components": {"a": {"scan": {}}}, "phases": phases})
    assert turns_of(vm) == turns
    assert turns_of(vm, after=20) == later


def test_the_heavy_turn_goes_round() -> None:
    vms = read_profile(EXPERIMENTS / "workloads" / "thin3.yaml").vms
    turns = {name: turns_of(vm, after=20) for name, vm in vms.items()}
    assert turns == {"file": [(0, 20), (60, 80)], "web": [(20, 40)], "database": [(40, 60)]}
    part = 196_608 // 3
    for vm in vms.values():
        more, own = (vm.components[name].zipf for name in ("more", "own"))
        assert more is not None
        assert own is not None
        assert (more.blocks + own.blocks) / part == pytest.approx(1.6, abs=1e-4)
        assert own.blocks / part == pytest.approx(0.3, abs=1e-4)
        assert sum(phase.duration for phase in vm.phases) == 100 * MINUTE


def test_clients_wait_for_the_machine_of_the_experiment_in_fixed_parts() -> None:
    spec = Experiment.load(EXPERIMENTS / "reproduce/thesis/turns.yaml").spec
    (flash,), disk = spec.tiers, spec.backend
    vms = read_profile(EXPERIMENTS / "workloads" / "thin3.yaml").vms
    for vm in vms.values():
        assert vm.client is not None
        assert vm.client.cache_blocks * len(vms) == flash.capacity
        waits = (vm.client.hit, vm.client.miss, vm.client.write)
        assert waits == (flash.read, disk.read, disk.write)
        assert {phase.think for phase in vm.phases} == {2 * 10**6, 50 * 10**6}


def test_who_asks_for_a_quarter_of_a_heavy_turn_is_busy() -> None:
    systems = Experiment.load(EXPERIMENTS / "reproduce/thesis/turns.yaml").spec.systems
    share = systems[1].params["busy_requests"]
    path = EXPERIMENTS / "workloads" / "thin3.yaml"
    requests = synth_trace(path).to_arrow()
    for name, vm in read_profile(path).vms.items():
        minutes = requests["time"].to_numpy()[requests["vm"].to_numpy() == name] // MINUTE
        rate = np.bincount(minutes, minlength=100)
        heavy = np.zeros(100, dtype=bool)
        for begin, end in turns_of(vm, after=20):
            heavy[begin + 20 : end + 20] = True
        threshold = share * np.sort(rate)[-12:].mean()
        assert 0.2 < threshold / rate[heavy].mean() < 0.3
        assert rate[20:][~heavy[20:]].max() < threshold / 1.5


def test_every_server_has_every_file_in_a_turn_of_its_own() -> None:
    vms = read_profile(EXPERIMENTS / "workloads" / "files8.yaml").vms
    begins = sorted(begin for vm in vms.values() for begin, _ in turns_of(vm))
    assert begins == list(range(0, 360, 15))
    capacity = Experiment.load(EXPERIMENTS / "reproduce/thesis/files.yaml").spec.tiers[0]
    largest = vms["file"].components["of1024"].zipf
    assert largest is not None
    assert largest.blocks / (capacity.capacity / 3) == pytest.approx(1.64, abs=0.01)


def test_claims_hold_in_a_sample_except_those_with_a_note(quick: Reproduction) -> None:
    failing = [line.split(": ")[:2] for line in quick.failures]
    reads = "reads of 4 KiB take as long, within 5 %, with either size of blocks"
    order = "the database server gains most, then the file server, then the web server"
    assert failing == [["thesis/fig7", reads], ["thesis/fig8", reads], ["thesis/fig11", order]]
    notes = {(o.figure.name, note.about) for o in quick.outcomes for note in o.notes}
    assert {tuple(each) for each in failing} <= notes
    assert unmeasured(quick) == []


def test_a_constant_that_is_added_is_by_construction(quick: Reproduction) -> None:
    outcome = next(o for o in quick.outcomes if o.figure.name == "thesis/fig8")
    row = next(row for row in outcome.rows if "everywhere" in row.item)
    assert row.described == "holds; by construction: a constant of 1 ms is added to each read"


def test_in_a_sample_all_response_times_fall(quick: Reproduction) -> None:
    response = next(o for o in quick.outcomes if o.figure.name == "thesis/fig11")
    assert set(response.finding.found.values) == {"file", "web", "database"}
    assert all(float(change) < 0 for change in response.finding.found.values.values())
    for outcome in quick.outcomes:
        assert bool(outcome.finding.drawn) == bool(outcome.finding.found.plots)


@pytest.mark.parametrize("name", ["eci/limited", "eci/unlimited", "thesis/files", "thesis/turns"])
def test_experiments_are_ordinary_ones(name: str) -> None:
    spec = Experiment.load(EXPERIMENTS / "reproduce" / f"{name}.yaml").spec
    assert spec.name == name.replace("/", "-")


def test_what_is_a_series_is_plotted(quick: Reproduction) -> None:
    assert unplotted(quick) == set()
