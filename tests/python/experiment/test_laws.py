"""Invariants of all systems, under all chains, modes, policies and resize modes.

Trusts: what a run checks at the end of every interval, and the same sums done again of what it
gives back; laws of the interface, for which two runs are compared, count by count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from hosts import add_vm

import mcsim
from mcsim._core import engine, locality
from mcsim.base.errors import ConfigError
from mcsim.experiment.allocator import answering

INTERVAL = 150
LENGTH = 1_000
VMS = ("a", "b", "c")
CHAINS = ("exclusive", "victim", "inclusive", "independent")
WRITES = ("through", "back", "around", "through, a=back, b=around")
POLICIES = ("arc", "sieve", "lirs")
RESIZES = ("lazy", "eager", "strict-own")
SYSTEMS = {system["name"]: system["params"] for system in engine.describe_systems()}
# Parameters with which each system makes decisions on the small trace.
TOLD: dict[str, dict[str, Any]] = {
    "remoca": {"fails_at": 300, "returns_at": 600},
    "slo": {"latency_ms": {"a": 4.0}, "correction": 0.5},
    "centaur": {"latency_ms": {"a": 4.0, "b": 2.0}},
    "maxperf": {"latency_ms": {"b": 4.0}},
    "cachecow": {"latency_ms": {"a": 4.0, "b": 2.0}},
    "vcacheshare": {"ri_window": 50, "window": 2 * INTERVAL},
    "multicache": {"ri_window": 50, "grid": 20},
    "baa": {"fast_iops": 1e4, "slow_iops": 100.0},
    "hystor": {"extent": 16384},
    "vfrm": {"extent": 16384},
    "edt": {"extent": 16384},
    "bcache": {"bucket_kib": 4},
    "open-cas": {"metadata": False},
    "zfs-arc": {"record_kib": 4, "overflow_kib": 16},
}
# All space on one device.
ONE_TIER = {"single-tier", "dm-cache", "dm-writecache", "bcache", "open-cas", "zfs-arc"}
# Hypervisor exclusive caching has the VMs' memory and its own.
REFUSED = {("exclusive", 3), ("mixed-caching", 1), ("mixed-caching", 3)}


def accesses(seed: int) -> engine.Accesses:
    """Requests of one to three blocks, reads and writes; a VM departs and one comes late."""
    draw = np.random.default_rng(seed)
    builder = engine.AccessBuilder(ops="all", responses=True, classes=True)
    for v, name in enumerate(VMS):
        first, last = ((0, LENGTH), (0, 700), (300, LENGTH))[v]
        time = np.sort(draw.integers(first, last, 450))
        blocks = 60 * draw.random(len(time)) ** (1, 2, 3)[v]
        add_vm(
            builder,
            name,
            time,
            draw.random(len(time)) < (0.2, 0.7, 0.4)[v],
            blocks,
            draw.integers(1, 4, len(time)),
            response=draw.integers(-1, 40, len(time)).astype(np.int64),
            classes=draw.integers(0, 4, len(time)).astype(np.uint8),
        )
        if v == 1:
            builder.depart(750)
    return builder.finish()


def machine(*capacities: int, hosts: bool = False) -> engine.Machine:
    devices = [engine.Device(f"tier {k}", 1e3 * 100**k, 2e3 * 100**k, 1.0) for k in range(3)]
    fleet = engine.Fleet(["left", "right"], {"b": 1, "c": 1}, latency_ns=1e3, blocks_per_second=1e8)
    return engine.Machine(
        list(zip(devices, capacities, strict=False)),
        engine.Device("disk", 1e7, 1.2e7, 0.1),
        {"c": 2e7},
        **({"fleet": fleet} if hosts else {}),
    )


def ways(name: str, tiers: int) -> Iterator[dict[str, Any]]:
    """All data path parameters that a system accepts."""
    policies = ("lru", " / ".join(POLICIES[:tiers]))
    known = {param["name"] for param in SYSTEMS[name]}
    periods = {"interval", "period", "epoch"} & known
    told = TOLD.get(name, {}) | dict.fromkeys(periods, INTERVAL)
    said = {"chain": CHAINS, "writes": WRITES, "policy": policies, "resize_mode": RESIZES}
    choices = {key: values for key, values in said.items() if key in known}
    # A choice has its own values, as `writes` of dm-cache.
    own = {param["name"]: param["choices"] for param in SYSTEMS[name]}
    choices = {key: own[key] or values for key, values in choices.items()}
    for way in product(*choices.values()):
        yield told | dict(zip(choices, way, strict=True))


class Runs:
    """Runs of one trace, whose meters are shared."""

    def __init__(self, trace: engine.Accesses, on: engine.Machine) -> None:
        self.trace = trace
        self.on = on
        self.cuts = engine.aligned_cuts(trace, INTERVAL)
        self._measured: dict[str, Any] = {}

    def of(self, name: str, params: dict[str, Any]) -> engine.RunResult:
        system = engine.System(name, params, self.on, interval=INTERVAL, vms=VMS)
        # Latencies are predicted by other curves where VMs write around.
        writes = params.get("writes", "")
        if writes not in self._measured:
            self._measured[writes] = locality.characterise(self.trace, system.meters)
        return engine.run(self.trace, system, self._measured[writes], self.cuts)

    def answered(self, allocator: Any) -> engine.RunResult:
        asked = answering(allocator, "mine")
        system = engine.System.from_python(asked, self.on, interval=INTERVAL)
        measured = locality.characterise(self.trace, system.meters)
        return engine.run(self.trace, system, measured, self.cuts)


def check_sums(result: engine.RunResult, trace: engine.Accesses, capacities: Sequence[int]) -> None:
    """All counts add up, in every interval and between intervals."""
    of, tiers = result.vms, result.tiers
    assert of["accesses"].sum(axis=0).tolist() == [vm.accesses for vm in trace.vms]
    served = tiers["hits"].sum(axis=2) + of["misses"] + of["staged_hits"]
    assert (served == of["accesses"]).all()
    assert (tiers["occupancy"].sum(axis=1) <= capacities).all()
    came = tiers["fills"] + tiers["promotions"] + tiers["demotions"]
    left = sum(tiers[key] for key in ("moved_up", "moved_down", "evictions", "invalidations"))
    assert (np.diff(tiers["occupancy"], axis=0, prepend=0) == came - left).all()
    dirtied = of["dirtied"] - of["write_backs"]
    assert (np.diff(of["dirty"], axis=0, prepend=0) == dirtied).all()
    ended = of["transferred"] + of["on_demand"] + of["left_behind"]
    assert (np.diff(of["on_the_way"], axis=0, prepend=0) == of["sent"] - ended).all()
    # A block may enter several tiers at once.
    assert (tiers["transfers"].sum(axis=2) >= of["transferred"] + of["on_demand"]).all()
    assert (tiers["remote_reads"].sum(axis=2) == of["on_demand"]).all()
    for counts in (*of.values(), *tiers.values()):
        assert (counts >= 0).all()


def same(one: engine.RunResult, other: engine.RunResult) -> bool:
    """Whether two runs counted the same, whatever they decided."""
    return all(
        np.array_equal(ours[key], theirs[key])
        for ours, theirs in ((one.tiers, other.tiers), (one.vms, other.vms))
        for key in ours | theirs
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_sums_of_every_system_hold_in_every_chain_and_mode(name: str) -> None:
    for seed, capacities in enumerate([(30,), (12, 40), (5, 12, 40)]):
        if name == "bcache":  # 513 buckets are the least
            capacities = tuple(20 * blocks for blocks in capacities)
        runs = Runs(accesses(seed), machine(*capacities))
        for way in ways(name, len(capacities)):
            if (name, len(capacities)) in REFUSED:
                with pytest.raises(ConfigError):
                    runs.of(name, way)
                break
            result = runs.of(name, way)
            check_sums(result, runs.trace, [sum(capacities)] if name in ONE_TIER else capacities)
            if name == "remoca":
                held = result.tiers["occupancy"][:, :, -1].sum(axis=1)
                failed = slice(300 // INTERVAL, 600 // INTERVAL)
                assert (held[failed] == 0).all()
                assert held[failed.start - 1] > 0 < held[-1]


class Nothing:
    """Returns an empty decision, with or without meters."""

    PROBE: ClassVar = {"meter": "host"}

    def __init__(
        self, data_path: dict[str, Any], resize_mode: str, *meters: dict[str, Any]
    ) -> None:
        self.timers = {"often": INTERVAL // 3}
        self.meters = {f"meter {i}": meter for i, meter in enumerate(meters)}
        self.data_path = data_path
        self.resize_mode = resize_mode
        self.asked = 0

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision | None:
        self.asked += 1
        return None


@pytest.mark.parametrize("hosts", [False, True])
def test_who_answers_nothing_changes_nothing_whatever_it_looks_at(hosts: bool) -> None:
    capacities = (12, 40)
    runs = Runs(accesses(3), machine(*capacities, hosts=hosts))
    for way in ways("hierarchy", len(capacities)):
        for resize in RESIZES[1:2] if hosts else RESIZES:
            plain = runs.answered(Nothing(way, resize))
            check_sums(
                plain, runs.trace, [2 * blocks if hosts else blocks for blocks in capacities]
            )
            of_trace = {"meter": "distinct", "window": INTERVAL}
            for meters in ([Nothing.PROBE], [Nothing.PROBE, of_trace, {"meter": "curve"}]):
                looks = Nothing(way, resize, *meters)
                assert same(runs.answered(looks), plain), (way, resize, meters)
                assert looks.asked > 10
            # The same host without an allocator; resized lazily, VMs use free space of others.
            if not hosts and resize != "lazy":
                assert same(runs.of("static", way), plain), (way, resize)


class Anything:
    """Decides whatever can be decided, drawn at random."""

    def __init__(self, seed: int, data_path: dict[str, Any], resize_mode: str = "eager") -> None:
        self.draw = np.random.default_rng(seed)
        self.timers = {"often": INTERVAL // 2}
        self.data_path = data_path
        self.resize_mode = resize_mode
        self.decided = {"moved": 0, "by tier": 0, "by VM": 0, "admits": 0}

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision | None:
        if self.draw.random() < 0.2:
            return None
        host = seen.host.copy()
        migrations = []
        for v in np.flatnonzero(~seen.departed) if seen.hosts else ():
            if self.draw.random() < 0.3:
                host[v] = 1 - host[v]
                how: dict[str, Any] = {
                    "keep": bool(self.draw.random() < 0.8),
                    "rate": float(self.draw.choice([1e6, 1e7, 1e8])),
                    "on_demand": str(self.draw.choice(["dirty", "all"])),
                }
                migrations.append(mcsim.Migration(seen.vms[v], seen.hosts[host[v]], **how))
        moves = bool(migrations)
        targets = self.targets(seen, host) if moves or self.draw.random() < 0.7 else None
        admits = self.draw.random(len(host)) < 0.7 if self.draw.random() < 0.4 else None
        modes = self.modes(seen) if self.draw.random() < 0.6 else None
        self.decided["moved"] += moves
        self.decided["admits"] += admits is not None
        return mcsim.Decision(
            targets, modes, admits=admits, migrations=migrations if seen.hosts else None
        )

    def targets(self, seen: mcsim.Observation, host: Any) -> Any:
        """Random parts of each host's tiers; some space may stay free."""
        parts = self.draw.random((len(seen.capacities), len(host)))
        for h in set(host.tolist()):
            parts[:, host == h] /= parts[:, host == h].sum(axis=1, keepdims=True)
        parts *= self.draw.choice([0.6, 1.0], size=(len(seen.capacities), 1))
        return (parts * seen.capacities[:, None]).astype(int)

    def modes(self, seen: mcsim.Observation) -> Any:
        of_vm = self.draw.choice(["around", "through", "back"], size=len(seen.vms))
        chain = self.data_path["chain"]
        if chain == "exclusive" or self.draw.random() < 0.3:
            self.decided["by VM"] += 1
            return of_vm.tolist()
        self.decided["by tier"] += 1
        drawn = self.draw.integers(3, size=(len(seen.capacities), len(seen.vms)))
        # In an inclusive chain, slower tiers have all blocks of faster ones.
        if chain == "inclusive":
            drawn.sort(axis=0)
        return np.array(["around", "through", "back"])[drawn]


@pytest.mark.parametrize("hosts", [False, True])
@pytest.mark.parametrize("chain", CHAINS)
def test_the_sums_hold_whatever_is_decided(chain: str, hosts: bool) -> None:
    capacities = (5, 12, 40)
    decided: dict[str, int] = {}
    for seed in range(4):
        runs = Runs(accesses(seed), machine(*capacities, hosts=hosts))
        for i, way in enumerate(ways("hierarchy", len(capacities))):
            if way["chain"] != chain:
                continue
            for resize in RESIZES[1:2] if hosts else RESIZES:
                draws = Anything(100 * seed + i, way, resize)
                result = runs.answered(draws)
                there = [2 * blocks if hosts else blocks for blocks in capacities]
                check_sums(result, runs.trace, there)
                for what, times in draws.decided.items():
                    decided[what] = decided.get(what, 0) + times
    assert (decided["moved"] > 0) == hosts
    assert (decided["by tier"] > 0) == (chain != "exclusive")
    assert decided["by VM"] > 0 < decided["admits"]


@pytest.mark.parametrize("reuses", [0, 1])
def test_the_sums_hold_where_vms_move_because_there_is_too_little(reuses: int) -> None:
    moved = 0
    for seed in range(3):
        runs = Runs(accesses(seed), machine(6, 12, hosts=True))
        for way in ways("cloudcache", 2):
            if way["resize_mode"] == "eager":
                result = runs.of("cloudcache", way | {"reuses": reuses, "overload": "migrate"})
                check_sums(result, runs.trace, (12, 24))
                moved += int((np.diff(result.vms["host"], axis=0) != 0).sum())
    assert moved > 0


class Refused(Nothing):
    """Decides once: several valid changes and an invalid one."""

    def __init__(self, data_path: dict[str, Any], decision: mcsim.Decision) -> None:
        super().__init__(data_path, "eager")
        self.decision = decision
        self.refused = False

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision | None:
        self.asked += 1
        if self.refused or seen.now < 2 * INTERVAL:
            return None
        self.refused = True
        return self.decision


@pytest.mark.parametrize(
    ("chain", "hosts", "decision", "message"),
    [
        (
            "inclusive",
            False,
            mcsim.Decision(
                [[1, 1, 1], [2, 2, 2]],
                [["back", "back", "back"], ["back", "back", "around"]],
                admits=[False, True, True],
            ),
            "it cannot be written around below one that is written back",
        ),
        (
            "exclusive",
            False,
            mcsim.Decision([[1, 1, 1], [2, 2, 2]], [["through"] * 3, ["back"] * 3]),
            "a decision changes write_modes_by_tier; its system declares that it decides targets",
        ),
        (
            "victim",
            True,
            mcsim.Decision(
                [[1, 1, 1], [2, 2, 2]],
                ["around"] * 3,
                admits=[False] * 3,
                migrations=[mcsim.Migration("a", "right"), mcsim.Migration("b", "right")],
            ),
            "b is on host right already",
        ),
        (
            "independent",
            True,
            mcsim.Decision(
                [[1, 1, 13], [2, 2, 2]],
                migrations=[mcsim.Migration("b", "left"), mcsim.Migration("a", "right")],
            ),
            "blocks of tier 0 on right, which has 12",
        ),
    ],
)
def test_what_is_refused_is_refused_as_a_whole(
    chain: str, hosts: bool, decision: mcsim.Decision, message: str
) -> None:
    """Nothing of it is there when the same system runs again."""
    runs = Runs(accesses(4), machine(12, 40, hosts=hosts))
    way = {"chain": chain, "writes": "back"}
    asks = Refused(way, decision)
    system = engine.System.from_python(answering(asks, "mine"), runs.on)
    measured = locality.characterise(runs.trace, system.meters)
    with pytest.raises(ConfigError, match=message):
        engine.run(runs.trace, system, measured, runs.cuts)
    after = engine.run(runs.trace, system, measured, runs.cuts)
    assert after.decisions == []
    assert same(after, runs.answered(Nothing(way, "eager")))
