"""Allocators in Python that place extents or have request classes.

Trusts: a naive twin of `hystor`, move by move; counts taken from the requests one
by one; `dss` with the same classes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from complaints import complaint
from hosts import add_vm, ran, tiered
from numpy.typing import NDArray
from small import small_experiment

import mcsim
from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.experiment.allocator import Decision, Observation, answering

EXTENT = 4
EPOCH = 100


machine = partial(tiered, read_ns=1e3, write_ns=2e3)


def drawn(seed: int, *, line_blocks: int = EXTENT) -> engine.Accesses:
    """Requests of one to six blocks in 40 extents, most in few, which are others later on."""
    rng = np.random.default_rng(seed)
    builder = engine.AccessBuilder(ops="all", line_blocks=line_blocks)
    for v in range(3):
        time = np.sort(rng.choice(1500, size=1400, replace=False))
        departs = 900 if v == 1 and seed % 2 else None
        time = time[time < (departs or 1500)]
        hot = np.where(time < 700, 0, 20) + rng.integers(0, 5, len(time))
        extent = np.where(rng.random(len(time)) < 0.3, rng.integers(0, 40, len(time)), hot)
        writes = rng.random(len(time)) < 0.25
        blocks = extent * EXTENT + rng.integers(0, EXTENT, len(time))
        add_vm(builder, f"vm{v}", time, writes, blocks, rng.integers(1, 7, len(time)))
        if departs is not None:
            builder.depart(departs)
    return builder.finish()


def run(trace: engine.Accesses, system: engine.System) -> engine.RunResult:
    return ran(trace, system, EPOCH)


def asked(allocator: Any, on: engine.Machine) -> engine.System:
    return engine.System.from_python(answering(allocator, "mine"), on, interval=EPOCH)


def is_same(ours: engine.RunResult, theirs: engine.RunResult) -> bool:
    return all(
        (mine[name] == values).all()
        for mine, other in ((ours.tiers, theirs.tiers), (ours.vms, theirs.vms))
        for name, values in other.items()
    )


class HystorTwin:
    """Requests of N sectors count 2^max(0, 7 - floor(log2 N)); all is halved when one is full.

    The extents with the highest scores are wanted in the fastest tier, as far as they fit, and so
    on. The highest scores move first. In a full tier, the lowest score that is wanted in another
    place leaves for the backend.
    """

    timers: ClassVar = {"epoch": EPOCH}

    def __init__(self, saturation: float = 65535.0, **area: float) -> None:
        sizes = [2**k * 512 - 1 for k in range(1, 8)]
        self.host = {"name": "placed", "extent": EXTENT, "sizes": sizes, **area}
        self.saturation = saturation
        self.scores: NDArray[np.float64] | float = 0.0
        self.moves: list[int] = []

    def allocate(self, seen: Observation) -> Decision:
        assert seen.extents is not None
        requests = seen.extents.reads + seen.extents.writes
        scores = self.scores + np.array([2.0 ** (7 - k) for k in range(8)]) @ requests
        scores[seen.departed[seen.extents.vm]] = 0
        placed = self.placed(seen, scores)
        self.moves.append(int((placed != seen.extents.tier).sum()))
        while scores.max() >= self.saturation:
            scores = scores / 2
        self.scores = scores
        return Decision(placements=placed)

    def placed(self, seen: Observation, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        assert seen.extents is not None
        was, rooms = seen.extents.tier.tolist(), seen.extents.rooms.tolist()
        everywhere, backend = range(len(was)), len(rooms)
        wanted = [backend] * len(was)
        order = sorted(everywhere, key=lambda e: (-scores[e], was[e], e))
        places = [tier for tier, room in enumerate(rooms) for _ in range(room)]
        for extent, tier in zip(order, places, strict=False):
            wanted[extent] = tier if scores[extent] > 0 else backend
        at = list(was)
        for extent in sorted(everywhere, key=lambda e: (-scores[e], e)):
            to = wanted[extent]
            if to in (was[extent], backend):
                continue
            if at.count(to) == rooms[to]:
                others = [e for e in everywhere if at[e] == to == was[e] != wanted[e]]
                if not others:
                    continue
                at[min(others, key=lambda e: (scores[e], -e))] = backend
            at[extent] = to
        return np.array(at)


@pytest.mark.parametrize("capacities", [(28,), (31, 50), (3, 40)])
@pytest.mark.parametrize("params", [{"saturation": 4000.0}, {"write_area": 0.4, "high_water": 0.5}])
def test_every_move_is_the_twins(params: dict[str, float], capacities: tuple[int, ...]) -> None:
    for seed in range(4):
        trace, on = drawn(seed), machine(*capacities)
        system = engine.System("hystor", {"extent": EXTENT, "epoch": EPOCH, **params}, on)
        theirs, allocator = run(trace, system), HystorTwin(**params)
        ours = run(trace, asked(allocator, on))
        assert len(ours.decisions) == len(theirs.decisions) > 10
        for mine, other in zip(ours.decisions, theirs.decisions, strict=True):
            assert mine["request"] == other["request"]
            assert mine["placements"].tolist() == other["placements"].tolist()
            assert mine["targets"].tolist() == other["targets"].tolist()
        assert is_same(ours, theirs)
        assert [len(d["placements"]) for d in ours.decisions] == allocator.moves
        assert sum(allocator.moves) > 10


class Watcher:
    """Keeps what it sees, and at every third ring of the slow timer moves all extents by one."""

    timers: ClassVar = {"slow": {"every": 120, "at_start": True}, "fast": 50}
    host: ClassVar = {"name": "placed", "extent": EXTENT, "sizes": ["4KiB", 12288]}

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def allocate(self, seen: Observation) -> Decision | None:
        self.seen.append(seen)
        assert seen.extents is not None
        if seen.timer == "fast" or seen.interval % 3:
            return None
        return Decision(placements=self.wanted(seen))

    @staticmethod
    def wanted(seen: Observation) -> NDArray[np.int64]:
        assert seen.extents is not None
        tiers = np.full(len(seen.extents.tier), 2)
        here = np.flatnonzero(~seen.departed[seen.extents.vm])
        tiers[here[seen.interval : seen.interval + 5]] = 0
        tiers[here[seen.interval + 9 : seen.interval + 12]] = 1
        return tiers


@pytest.mark.parametrize("seed", [1, 2])
def test_everything_seen_is_as_counted_from_the_requests(seed: int) -> None:
    trace, watcher = drawn(seed), Watcher()
    result = run(trace, asked(watcher, machine(22, 40)))
    begin, requests = trace.request_time[0], trace.request_count
    extents = trace.id_count // EXTENT
    vm = np.concatenate(
        [np.full(of.unique_blocks // EXTENT, v) for v, of in enumerate(trace.vms)]
    ).tolist()
    last = {"slow": 0, "fast": 0}
    lives = [2] * extents
    assert len(watcher.seen) > 30
    for seen in watcher.seen:
        assert seen.extents is not None
        counts = {name: np.zeros((3, extents), np.int64) for name in ("reads", "writes")}
        blocks = {name: np.zeros(extents, np.int64) for name in ("blocks_read", "blocks_written")}
        for r in range(requests):
            if not last[seen.timer] <= trace.request_time[r] - begin < seen.now:
                continue
            ids = trace.ids[int(trace.request_begin[r]) : int(trace.request_begin[r + 1])]
            size = 0 if len(ids) == 1 else 1 if len(ids) <= 3 else 2
            writes = bool(trace.request_op[r])
            for extent in np.unique(ids // EXTENT):
                if not seen.departed[vm[extent]]:
                    counts["writes" if writes else "reads"][size, extent] += 1
                    of_op = blocks["blocks_written" if writes else "blocks_read"]
                    of_op[extent] += (ids // EXTENT == extent).sum()
        last[seen.timer] = seen.now
        lives = [2 if seen.departed[v] else tier for v, tier in zip(vm, lives, strict=True)]
        for name, expected in (counts | blocks).items():
            assert getattr(seen.extents, name).tolist() == expected.tolist(), (seen.now, name)
        assert (seen.extents.blocks, seen.extents.rooms.tolist()) == (EXTENT, [5, 10])
        assert seen.extents.vm.tolist() == vm
        assert seen.extents.tier.tolist() == lives
        if seen.timer == "slow" and seen.interval % 3 == 0:
            lives = watcher.wanted(seen).tolist()
    assert result.tiers["hits"].sum(axis=(0, 1)).all()
    assert bool(watcher.seen[-1].departed.any()) == bool(seed % 2)


def test_a_system_that_runs_twice_sees_the_same() -> None:
    trace, twin = drawn(2), HystorTwin(4000.0)
    system = asked(twin, machine(28))
    first = run(trace, system)
    twin.scores = 0.0
    assert is_same(run(trace, system), first)


class Answers:
    """Returns the decision of a function."""

    host: ClassVar[Any] = {"name": "placed", "extent": EXTENT}

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def allocate(self, seen: Observation) -> Any:
        return self.answer(seen) if callable(self.answer) else self.answer


def answered(answer: Any, seed: int = 1, **said: Any) -> engine.RunResult:
    allocator = type("Mine", (Answers,), said)(answer)
    line_blocks = 1 if said.get("host", "placed") is None else EXTENT
    return run(drawn(seed, line_blocks=line_blocks), asked(allocator, machine(12, 22)))


def everywhere(*tiers: float) -> Any:
    """Place the first extents there, and the rest in the backend."""
    return lambda seen: Decision(placements=[*tiers, *[2] * (len(seen.extents.tier) - len(tiers))])


def test_what_stays_where_it_is_does_not_move() -> None:
    nothing = answered(None)
    assert nothing.decisions == []
    for answer in (Decision(), everywhere(), everywhere(2, 2.0)):
        result = answered(answer)
        assert {len(decision["placements"]) for decision in result.decisions} == {0}
        assert is_same(result, nothing)
    moved = answered(everywhere(0, 0, 1, 2, 0))
    rows = [decision["placements"].tolist() for decision in moved.decisions]
    assert rows[0] == [[0, 0], [1, 0], [2, 1], [4, 0]]
    assert all(row == [] for row in rows[1:])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (everywhere(0, 3), "for each of 123 extents, got 3 for extent 1"),
        (everywhere(-1), "for each of 123 extents, got -1 for extent 0"),
        (everywhere(0, float("nan")), "for each of 123 extents, got nan for extent 1"),
        (everywhere(0.5), "for each of 123 extents, got 0.5 for extent 0"),
        (everywhere(float("inf")), "for each of 123 extents, got inf for extent 0"),
        (Decision(placements=[0, 1]), "of 123 extents, got an array of shape (2,)"),
        (Decision(placements=[[0], [1, 2]]), "of 123 extents, got rows of different lengths"),
        (Decision(placements="all"), "of 123 extents, got 'all'"),  # type: ignore[arg-type]
        (Decision(placements={3: 0}), "of 123 extents, got {3: 0}"),  # type: ignore[arg-type]
        (Decision(placements=[True] * 123), "of 123 extents, got [True, True"),
        (Decision(placements=np.zeros((60, 2), int)), "got an array of shape (60, 2)"),
        (everywhere(1, 1, 0, 0, 0, 0), "4 extents in tier 0, which has room for 3"),
        (everywhere(*[1] * 6), "6 extents in tier 1, which has room for 5"),
    ],
)
def test_wrong_placements_are_named(answer: Any, message: str) -> None:
    said = complaint(answered, answer)
    assert said.startswith("mine: allocate() of interval 0: placements: ")
    assert message in said


def test_extents_of_who_is_gone_stay_in_the_backend() -> None:
    def answer(seen: Observation) -> Decision | None:
        assert seen.extents is not None
        if not seen.departed.any():
            return None
        tiers = np.full(len(seen.extents.tier), 2)
        tiers[np.flatnonzero(seen.extents.vm == 1)[0]] = 1
        return Decision(placements=tiers)

    wanted = (
        "mine: allocate() of interval 8: placements: extent 41 is of vm1, which is gone: it stays "
        "in the backend, which is 2, not in tier 1"
    )
    assert complaint(answered, answer) == wanted


CLASSED: dict[str, Any] = {"host": "classed"}


@pytest.mark.parametrize(
    ("answer", "said", "message"),
    [
        ([[1] * 3] * 2, {}, "targets decided, and of a placed host decisions change placements"),
        (
            Decision(admits=[True] * 3),
            {},
            "admits decided, and of a placed host decisions change placements",
        ),
        (
            Decision(write_modes=["back"] * 3),
            CLASSED,
            "write_modes decided, and of a classed host decisions change nothing",
        ),
        (
            Decision(placements=[0]),
            CLASSED,
            "placements decided, and of a classed host decisions change nothing",
        ),
        (
            Decision(placements=[0]),
            {"host": None},
            'placements: the host caches blocks; `host = "placed"` places extents',
        ),
        (
            Decision(placements=[0]),
            {"actions": []},
            "placements decided, and `actions` has nothing",
        ),
    ],
)
def test_what_the_host_cannot_is_refused(answer: Any, said: dict[str, Any], message: str) -> None:
    assert complaint(answered, answer, **said) == f"mine: allocate() of interval 0: {message}"


EXPECTED = (
    'mine.host: expected "placed" or "classed", or a mapping such as '
    '{"name": "placed", "extent": 64}, got '
)
SIZES = (
    'mine.host: sizes: expected sizes in bytes, the least first, such as ["4KiB", "16KiB"], got '
)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"host": "fast"}, f"{EXPECTED}'fast'"),
        ({"host": {"extent": 64}}, f"{EXPECTED}{{'extent': 64}}"),
        ({"host": 7}, f"{EXPECTED}7"),
        ({"host": {"name": "placed", "extents": 4}}, "Mine.host: unknown parameter 'extents' "),
        ({"host": {"name": "placed", "extent": 0}}, "Mine.host: extent: 0 is outside [1, 262144]"),
        (
            {"host": {"name": "placed", "write_area": 2}},
            "Mine.host: write_area: 2 is outside [0, 1]",
        ),
        ({"host": {"name": "placed", "extent": [4]}}, "mine.host: extent: expected a number, text"),
        ({"host": {"name": "placed", "sizes": ["16KiB", "4KiB"]}}, f"{SIZES}['16KiB', '4KiB']"),
        ({"host": {"name": "placed", "sizes": "4KiB"}}, f"{SIZES}'4KiB'"),
        ({"host": {"name": "placed", "sizes": 4}}, f"{SIZES}4"),
        ({"host": {"name": "classed", "extent": 4}}, "Mine.host: unknown parameter 'extent'"),
        ({"host": {"name": "classed", "by": "age"}}, "Mine.host: by: unknown choice 'age'"),
        (
            {"data_path": {"policy": "arc"}},
            "mine: data_path is of tiers that are divided, and the host is placed",
        ),
        (
            {"resize_mode": "eager"},
            "mine: resize_mode is of tiers that are divided, and the host is placed",
        ),
        (
            {"actions": ["targets"]},
            "Mine.actions: decisions change targets; the host can change placements",
        ),
        (
            {"actions": ["placements"], **CLASSED},
            "Mine.actions: decisions change placements; the host can change nothing",
        ),
    ],
)
def test_what_is_said_wrong_of_the_host_is_named(said: dict[str, Any], message: str) -> None:
    assert complaint(answered, None, **said).startswith(message)


def test_extents_that_no_tier_has_room_for_are_refused() -> None:
    area = {"name": "placed", "extent": EXTENT, "write_area": 0.9}
    for on, host in ((machine(3, 3), Answers.host), (machine(20), area)):
        allocator = type("Mine", (Answers,), {"host": host})(None)
        assert (
            complaint(run, drawn(1), asked(allocator, on))
            == "extent: 4 blocks do not fit into any tier"
        )


def test_several_hosts_are_divided() -> None:
    on = machine(12)
    fleet = engine.Fleet(["a", "b"], {}, blocks_per_second=1e6)
    several = engine.Machine(
        [(engine.Device("any", 1, 1, 1), 12)], engine.Device("b", 2, 2, 1), {}, fleet
    )
    asked(Answers(None), on)
    assert (
        complaint(asked, Answers(None), several)
        == "Answers.host: several hosts are divided, and this is placed"
    )


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"small": 8192, "large": 16384, "always": 1},
        {"classes": {"vm0": 3, "vm2": 0}, "always": 1},
    ],
)
def test_a_classed_host_is_that_of_dss(params: dict[str, Any]) -> None:
    class Watches:
        host: ClassVar = {"name": "classed", **params}

        def __init__(self) -> None:
            self.hits = 0

        def allocate(self, seen: Observation) -> Decision:
            assert seen.extents is None
            self.hits += int(seen.hits.sum())
            return Decision(infeasible="nothing can be")

    trace, watches = drawn(3, line_blocks=1), Watches()
    ours = run(trace, asked(watches, machine(20, 60)))
    assert is_same(ours, run(trace, engine.System("dss", params, machine(20, 60))))
    assert 0 < watches.hits <= ours.tiers["hits"].sum()
    assert {decision["infeasible"] for decision in ours.decisions} == {"nothing can be"}


def test_an_experiment_sees_the_trace_by_extents(tmp_path: Path) -> None:
    """Trusts: hystor in the same run."""

    class Mine(HystorTwin):
        timers: ClassVar = {"epoch": "10min"}

        def __init__(self) -> None:
            super().__init__()
            self.host["extent"] = 16

    class Columns:
        host: ClassVar = {"name": "classed", "by": "column"}

        def allocate(self, seen: Observation) -> None:
            pass

    spec: dict[str, Any] = small_experiment(
        {"name": "hystor", "extent": 16, "epoch": "10min"},
        {"name": Mine, "label": "mine"},
        tiers={"dram": 400},
        interval="10min",
    )
    results = mcsim.run(spec, out=tmp_path, figures=False)
    for name in ("metrics", "vms"):
        table = results.table(name)
        ours, theirs = (
            table.filter([system == title for system in table["system"].to_pylist()])
            .drop_columns(["system"])
            .to_pylist()
            for title in ("mine", "hystor")
        )
        assert ours == theirs
    assert len(results.decisions()) > 10
    with pytest.raises(ConfigError, match="it asks for classes of requests"):
        mcsim.run(spec | {"systems": [{"name": Columns}]}, out=tmp_path, figures=False)
