"""VMs that share a cache: what each hits, what changes would do, what parts would be worth.

Trusts: a list kept by recency, replayed at every size; the engine's own replay; all divisions of
all parts of a small cache; examples counted by hand.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recorded
from complaints import complaint
from numpy.typing import NDArray
from small import TINY, small_experiment

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.figures.tables import before_and_after
from mcsim.locality import mix as mix_module
from mcsim.locality import sharing as module
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import Estimator
from mcsim.locality.mix import best_parts, effective_size, mix_of
from mcsim.locality.sharing import Order, Sharing, sharing
from mcsim.locality.size_verdict import verdict
from mcsim.references.blocks import Blocks
from mcsim.traces.synth import synth_trace
from mcsim.traces.trace import Trace


def lru_hits(ids: list[int], owner: list[int], owners: int, size: int) -> list[int]:
    """Hits of each owner in one LRU cache: a list, the last used in front."""
    held: list[int] = []
    hits = [0] * owners
    for block, of in zip(ids, owner, strict=True):
        if block in held:
            hits[of] += 1
            held.remove(block)
        held.insert(0, block)
        del held[size:]
    return hits


def some(seed: int, vms: int = 3, count: int = 60, blocks: int = 8) -> dict[str, list[int]]:
    """A few VMs of a few references each, some to popular blocks, some in loops."""
    random = np.random.default_rng(seed)
    streams = {}
    for vm in range(vms):
        n = int(random.integers(count // 2, count))
        popular = np.minimum(random.geometric(0.3, n), blocks)
        loop = np.arange(n) % int(random.integers(2, blocks + 1))
        streams[f"vm_{vm}"] = np.where(random.random(n) < random.random(), popular, loop).tolist()
    return streams


def together_of(streams: dict[str, list[int]]) -> tuple[list[int], list[int]]:
    """References of all VMs merged by (k + 1/2) / n, and their VMs."""
    placed = sorted(
        ((k + 0.5) / len(keys), vm, 1000 * vm + key)
        for vm, keys in enumerate(streams.values())
        for k, key in enumerate(keys)
    )
    return [block for *_, block in placed], [vm for _, vm, _ in placed]


@pytest.mark.parametrize("seed", range(6))
def test_what_each_hits_is_what_a_replay_counts(seed: int) -> None:
    streams = some(seed)
    ids, owner = together_of(streams)
    found = sharing(streams, "rates")
    assert found.vm.tolist() == owner
    for size in range(1, 30):
        hits = lru_hits(ids, owner, 3, size)
        at = [curve.at(size) * curve.accesses for curve in found.shared.values()]
        assert np.rint(at).tolist() == hits
        assert round(found.together.at(size) * len(ids)) == sum(hits)
        for vm, (name, keys) in enumerate(streams.items()):
            alone = round(found.alone[name].at(size) * len(keys))
            assert [alone] == lru_hits(keys, [0] * len(keys), 1, size)
            assert hits[vm] <= alone


Event = tuple[int, int, bool]  # VM, block of the VM, whether it is discarded


def events_drawn(seed: int) -> list[Event]:
    random = np.random.default_rng(seed)
    return [
        (int(random.integers(0, 3)), int(random.integers(0, 8)), bool(random.random() < 0.25))
        for _ in range(250)
    ]


def hits_of(events: list[Event], size: int) -> list[int]:
    """Hits of each VM in one LRU cache from which blocks are discarded."""
    held: list[tuple[int, int]] = []
    hits = [0] * 3
    for vm, block, is_discard in events:
        hits[vm] += not is_discard and (vm, block) in held
        held = [other for other in held if other != (vm, block)]
        if not is_discard:
            held = [(vm, block), *held][:size]
    return hits


def trace_of(events: list[Event]) -> Trace:
    vm, block, is_discard = (np.array(column) for column in zip(*events, strict=True))
    op = np.where(is_discard, 2, 0)
    columns = {"op": op, "vm": vm, "vms": ["a", "b", "c"], "source": "few"}
    return Trace.from_arrays(np.arange(len(events)), 4096 * block, 4096, **columns)


def in_order(events: list[Event], order: Order) -> list[Event]:
    """By rates reference k of n comes at (k + 1/2) / n, a discard before it at k / n."""
    if order == "time":
        return events
    counts = [sum(vm == v and not gone for vm, _, gone in events) for v in range(3)]
    done = [0] * 3
    placed = []
    for vm, block, is_discard in events:
        place = (done[vm] + 0.5 * (not is_discard)) / counts[vm]
        placed.append((place, vm, (vm, block, is_discard)))
        done[vm] += not is_discard
    return [event for *_, event in sorted(placed, key=lambda one: one[:2])]


@pytest.mark.parametrize("order", ["time", "rates"])
@pytest.mark.parametrize("seed", range(8))
def test_discarded_blocks_leave_shared_caches_and_parts(seed: int, order: Order) -> None:
    events = events_drawn(seed)
    trace = trace_of(events)
    merged = in_order(events, order)
    found = sharing(trace, order)
    own = [[event for event in events if event[0] == vm] for vm in range(3)]
    for size in range(1, 26):
        hits = hits_of(merged, size)
        at = [curve.at(size) * curve.accesses for curve in found.shared.values()]
        assert np.rint(at).tolist() == hits
        assert round(found.together.at(size) * len(found)) == sum(hits)
        for vm, curve in enumerate(found.alone.values()):
            assert round(curve.at(size) * curve.accesses) == hits_of(own[vm], size)[vm]
    change = mcsim.what_if(trace, 9, to=11, leaving="a", joining="c", order=order)
    for side, gone, size in ((change.before, 2, 9), (change.after, 0, 11)):
        hits = hits_of(in_order([e for e in events if e[0] != gone], order), size)
        assert np.rint(side.rows.shared * side.rows.accesses).tolist() == (
            hits[:gone] + hits[gone + 1 :]
        )
    mixed = mcsim.mix(trace, [3, 9], order=order)
    for row, parts in zip(mixed, mixed.allocation, strict=True):
        assert row.accesses - row.shared == sum(hits_of(merged, row.capacity))
        alone = [
            hits_of(events, int(p))[vm] if p else 0
            for vm, events, p in zip(range(3), own, parts, strict=True)
        ]
        assert row.accesses - row.parts == sum(alone)
        best = max(
            sum(hits_of(own[vm], p)[vm] if p else 0 for vm, p in enumerate(d))
            for d in product(range(row.capacity + 1), repeat=3)
            if sum(d) == row.capacity
        )
        assert sum(alone) == best


@pytest.mark.parametrize("seed", range(4))
def test_misses_after_discards_are_a_cause(seed: int) -> None:
    events = events_drawn(seed)
    rows = mcsim.what_if(trace_of(events), 9).before.rows
    shared = hits_of(events, 9)
    for vm, row in enumerate(rows):
        own = [event for event in events if event[0] == vm]
        refs = [block for _, block, is_discard in own if not is_discard]
        first, unlimited = len(set(refs)), hits_of(own, 100)[vm]
        alone = hits_of(own, 9)[vm]
        causes = {
            "compulsory": first,
            "discarded": len(refs) - unlimited - first,
            "capacity": unlimited - alone,
            "interference": alone - shared[vm],
        }
        assert causes["discarded"] > 0
        assert [row[name] * len(refs) for name in causes] == (
            pytest.approx(list(causes.values()), abs=1e-9)
        )


def test_nothing_is_lost_when_vms_share() -> None:
    found = sharing(some(7), "rates")
    assert sum(curve.accesses for curve in found.shared.values()) == len(found)
    assert sum(curve.distinct or 0 for curve in found.shared.values()) == found.together.distinct
    sizes = np.arange(0, 40)
    hits = sum(curve.at(sizes) * curve.accesses for curve in found.shared.values())
    assert np.allclose(hits, found.together.at(sizes) * len(found))


def test_the_engine_counts_the_same_of_each_vm(tmp_path: Path) -> None:
    trace = synth_trace(TINY, cache_dir=tmp_path / "cache")
    found = sharing(trace)
    assert found.vms == trace.vms
    for size in (100, 700, 2500):
        experiment: dict[str, Any] = small_experiment(
            "lru", tiers={"dram": size}, name="one-tier", ops="reads", interval="1h", backend="hdd"
        )
        run = mcsim.run(experiment, out=tmp_path, figures=False).to_pandas("metrics")
        hits = run.groupby("vm")["hits"].sum()
        for name, curve in found.shared.items():
            assert hits[name] == round(curve.at(size) * curve.accesses)


@pytest.mark.parametrize("seed", range(4))
def test_a_change_is_what_a_replay_of_those_who_stay_counts(seed: int) -> None:
    streams = some(seed, vms=4)
    found = mcsim.what_if(streams, 9, to="+3", leaving="vm_1", joining="vm_3", order="rates")
    ids, owner = together_of(streams)
    for side, gone, size in ((found.before, 3, 9), (found.after, 1, 12)):
        stays = [i for i, vm in enumerate(owner) if vm != gone]
        hits = lru_hits([ids[i] for i in stays], [owner[i] for i in stays], 4, size)
        rows = side.rows
        assert side.size == size
        assert rows.vm.tolist() == [name for vm, name in enumerate(streams) if vm != gone]
        assert np.rint(rows.shared * rows.accesses).tolist() == [
            count for vm, count in enumerate(hits) if vm != gone
        ]
    # The same VMs before and after, by what each has hit in a replay.
    same = [0, 2]
    counted = [
        lru_hits([ids[i] for i in stays], [owner[i] for i in stays], 4, size)
        for gone, size in ((3, 9), (1, 12))
        for stays in [[i for i, vm in enumerate(owner) if vm != gone]]
    ]
    accesses = sum(owner.count(vm) for vm in same)
    before, after = (sum(hits[vm] for vm in same) / accesses for hits in counted)
    assert found.staying == ("vm_0", "vm_2")
    assert found.gain == pytest.approx(after - before)
    assert found.gain + found.population == pytest.approx(found.after.ratio - found.before.ratio)
    both = {row.vm: (row.hit_ratio_before, row.hit_ratio_after) for row in found}
    assert np.isnan(both["vm_1"][1])
    assert np.isnan(both["vm_3"][0])
    assert both["vm_0"] == (found.before.rows[0].shared, found.after.rows[0].shared)


@pytest.mark.parametrize("seed", range(4))
def test_misses_are_first_ones_those_of_little_space_and_those_of_company(seed: int) -> None:
    streams = some(seed)
    found = mcsim.what_if(streams, 9, order="rates").before
    shared = lru_hits(*together_of(streams), 3, 9)
    for row, keys, hits in zip(found.rows, streams.values(), shared, strict=True):
        (alone,) = lru_hits(keys, [0] * len(keys), 1, 9)
        first = len(set(keys))
        causes = [first, len(keys) - alone - first, alone - hits]
        assert [row[name] * len(keys) for name in ("compulsory", "capacity", "interference")] == (
            pytest.approx(causes, abs=1e-9)
        )


def test_who_is_thrashed_is_named() -> None:
    # A loop of four has all it needs in half of eight blocks; a scan pushes it out of all of them.
    streams = {"loop": [0, 1, 2, 3] * 25, "scan": list(range(400))}
    alone = mcsim.what_if(streams, 8, leaving="scan", order="rates")
    assert alone.before.thrashed == ["loop"]
    assert alone.after.thrashed == []
    assert alone.tolist()[0] == ("loop", 0.0, 0.96)
    assert alone.before.rows[0].part == 0.96
    assert alone.gain == pytest.approx(0.96)


def test_who_leaves_is_no_gain_of_those_that_stay() -> None:
    # In 16 blocks the loop keeps all four of its own, with and without the scan: it hits .96.
    streams = {"loop": [0, 1, 2, 3] * 25, "scan": list(range(100))}
    found = mcsim.what_if(streams, 16, leaving="scan", order="rates")
    assert (found.before.ratio, found.after.ratio) == (0.48, 0.96)
    assert found.gain == pytest.approx(0, abs=1e-12)
    assert found.population == pytest.approx(0.48)
    replaced = mcsim.what_if(streams, 16, leaving="scan", joining="loop", order="rates")
    assert replaced.staying == ()
    assert np.isnan(replaced.gain)


def test_equal_in_a_shared_cache_is_not_thrashed() -> None:
    streams = {"a": [0, 1] * 50, "b": [0, 1] * 50}
    found = mcsim.what_if(streams, 4, order="rates").before
    assert found.thrashed == []
    assert found.rows.shared.tolist() == found.rows.part.tolist() == [0.98, 0.98]
    assert found.parted == 0.98


@pytest.mark.parametrize(
    ("to", "size"), [(None, 20), (30, 30), ("+5", 25), ("-50%", 10), ("50%", 5), (" + 10 ", 30)]
)
def test_sizes_after_a_change(to: int | str | None, size: int) -> None:
    found = mcsim.what_if({"a": list(range(10))}, 20, to=to, order="rates")
    assert (found.before.size, found.after.size) == (20, size)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_parts_are_the_best_of_all(seed: int) -> None:
    streams = some(seed)
    curves = list(sharing(streams, "rates").alone.values())
    for size in (1, 2, 5, 9, 14, 24):
        parts = best_parts(curves, size)

        def hits(division: Any) -> int:
            each = zip(curves, division, strict=True)
            return sum(round(curve.at(int(part)) * curve.accesses) for curve, part in each)

        assert parts.sum() == size
        tried = (d for d in product(range(size + 1), repeat=3) if sum(d) == size)
        assert hits(parts) == max(hits(division) for division in tried)


@pytest.mark.parametrize("seed", range(5))
def test_the_effective_size_is_that_of_a_shared_cache_that_misses_as_rarely(seed: int) -> None:
    streams = some(seed)
    ids, owner = together_of(streams)
    found = mcsim.mix(streams, range(2, 25, 3), order="rates")
    shared = [sum(lru_hits(ids, owner, 3, size)) for size in range(40)]
    for row, parts in zip(found, found.allocation, strict=True):
        own = [lru_hits(keys, [0] * len(keys), 1, int(part)) if part else [0]
               for keys, part in zip(streams.values(), parts, strict=True)]  # fmt: skip
        hits = sum(count for (count,) in own)
        assert (row.shared, row.parts) == (len(ids) - shared[row.capacity], len(ids) - hits)
        needed = next(size for size, count in enumerate(shared) if count >= hits)
        expected = row.capacity if shared[row.capacity] == hits else needed
        assert row.effective == expected
        assert row.size_gain == expected / row.capacity - 1


def test_parts_that_are_worse_have_a_smaller_effective_size() -> None:
    # Each needs all eight blocks, but never both at a time: no fixed parts serve that.
    early, late = list(range(8)) * 10, [0] * 80
    streams = Sharing(
        ("early", "late"),
        np.array([*early, *late, *(8 + np.array(late)), *(8 + np.array(early))], np.uint32),
        np.repeat([0, 1], 160).astype(np.uint16),
    )
    found = mix_of(streams, [8])
    (row,) = found
    assert row.parts > row.shared
    assert row.size_gain < 0
    assert row.effective == effective_size(streams.together, 8, row.accesses - row.parts) < 8


@pytest.mark.parametrize("seed", range(12))
def test_parts_by_hulls_lack_no_more_than_stated(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sharing(some(seed, vms=4), "rates")
    best = mix_of(found, range(1, 30))
    assert not best.slack.any()
    monkeypatch.setattr(mix_module, "_MOST_CELLS", 0)
    by_hulls = mix_of(found, range(1, 30))
    assert by_hulls.allocation.sum(axis=1).tolist() == list(range(1, 30))
    assert (by_hulls.parts >= best.parts).all()
    assert (by_hulls.parts - by_hulls.slack <= best.parts + 1e-9).all()
    if by_hulls.slack.any():
        assert f"no parts hit over {int(np.ceil(by_hulls.slack.max()))} accesses" in by_hulls.answer


@pytest.mark.parametrize("seed", range(4))
def test_curves_alone_are_equal_in_one_pass(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of(events_drawn(seed))
    expected = sharing(trace).alone
    monkeypatch.setattr(module, "_FEW_VMS", 0)
    found = sharing(trace).alone
    assert list(found) == list(expected)
    for name, curve in found.items():
        assert curve.hits.tolist() == expected[name].hits.tolist()
        assert curve.capacities.tolist() == expected[name].capacities.tolist()
        assert (curve.accesses, curve.distinct) == (
            expected[name].accesses,
            expected[name].distinct,
        )


def test_the_more_units_the_better_the_parts(tmp_path: Path) -> None:
    found = sharing(synth_trace(TINY, cache_dir=tmp_path))
    misses = [mix_of(found, [2500], units=units).parts[0] for units in (5, 50, 2500)]
    assert misses == sorted(misses, reverse=True)
    coarse = mix_of(found, [2503], units=5)
    assert coarse.allocation.sum() == 2503


def test_one_vm_has_nothing_to_gain() -> None:
    found = mcsim.mix({"alone": [1, 2, 3] * 9}, [1, 2, 3, 8], order="rates")
    assert found.size_gain.tolist() == [0, 0, 0, 0]
    assert found.shared.tolist() == found.parts.tolist() == found.equal.tolist()


def test_an_order_by_time_is_that_of_the_trace() -> None:
    trace = Trace.from_arrays(
        [0, 1, 2, 3, 4], np.array([0, 0, 1, 0, 0]) * 4096, 4096, vm=[1, 0, 1, 1, 0], vms=["a", "b"]
    )
    by_time, by_rates = sharing(trace), sharing(trace, "rates")
    assert by_time.vm.tolist() == [1, 0, 1, 1, 0]
    # b's three references come at 1/6, 1/2 and 5/6, a's two at 1/4 and 3/4.
    assert by_rates.vm.tolist() == [1, 0, 1, 0, 1]
    assert by_time.unique == by_rates.unique == 3
    assert by_time.block_bytes == by_rates.block_bytes == 4096


def test_rates_take_traces_with_and_without_a_clock() -> None:
    clock = Trace.from_arrays([5, 9], [0, 4096], 4096, vms=["clock"])
    none = Trace.from_arrays([0, 1, 2], [0, 0, 0], 4096, vms=["none"], time_base="index")
    with pytest.raises(ConfigError, match="do not merge"):
        sharing([clock, none])
    found = sharing([clock, none], "rates")
    assert len(found.vms) == 2
    assert found.vm.tolist() == [1, 0, 1, 0, 1]
    split = [Blocks.of(one) for one in (clock, none)]
    assert sharing(split, "rates").ids.tolist() == found.ids.tolist()


WRONG: list[tuple[Any, str]] = [
    (lambda: sharing([1, 2, 3]), "an array knows no VMs; give traces or a mapping"),
    (lambda: sharing("a.csv"), "got 'a.csv': mcsim.Trace.open(...) opens a file"),  # type: ignore[arg-type]
    (lambda: sharing([1, 2, 3], "rates"), "an array knows no VMs; give traces or a mapping"),
    (lambda: sharing({"a": [1]}), "arrays of block numbers have no times; take order 'rates'"),
    (lambda: sharing({"a": [1]}, "tim"), "order: unknown choice 'tim' (one of time, rates)"),  # type: ignore[arg-type]
    (lambda: sharing({}, "rates"), "references: no VM has any"),
    (lambda: sharing({"a": []}, "rates"), "references: no VM has any"),
    (lambda: of_two(4, leaving="lop"), "no VM 'lop' (did you mean 'loop'?)"),
    (lambda: of_two(4, leaving=["loop", "scan"]), "no VM is left to share the cache"),
    (lambda: of_two(4, joining="all"), "no VM is left to share the cache"),
    (lambda: of_two(0), "size: at least 1 block, got 0"),
    (lambda: of_two("-1"), "size: expected"),
    (lambda: of_two("1GiB"), "size: '1GiB': these blocks have no size in bytes"),
    (lambda: of_two(4, to="-4"), "to: -4 leaves nothing of 4 blocks"),
    (lambda: of_two(4, to="-200%"), "to: -200% leaves nothing of 4 blocks"),
    (lambda: of_two(4, to="+x"), "to: expected a size"),
    (lambda: of_two(4, to=0), "to: at least 1 block, got 0"),
    (lambda: mcsim.mix(TWO, [], order="rates"), "sizes: expected at least one"),
    (lambda: mcsim.mix(TWO, [0], order="rates"), "sizes: at least 1 block, got 0"),
    (lambda: mcsim.mix(TWO, [4], order="rates", units=0), "units: at least 1, got 0"),
    (lambda: verdict(HitRatioCurve(np.array([1]), np.array([1]), 2), 0), "at least 1 block"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be(call: Any, message: str) -> None:
    assert message in complaint(call)


TWO = {"loop": [0, 1] * 4, "scan": list(range(8))}


def of_two(size: int | str, **change: Any) -> Any:
    return mcsim.what_if(TWO, size, order="rates", **change)


def test_vms_with_the_same_name_are_one_or_refused() -> None:
    parts = [Trace.from_arrays([t], [0], 4096, vm=[0], vms=["v"]) for t in (0, 1)]
    shared = sharing(parts, "rates")
    assert (shared.vms, shared.ids.tolist()) == (("v",), [0, 0])
    with pytest.raises(ConfigError, match="two VMs are called 'v'"):
        sharing([part.blocks() for part in parts], "rates")


CLIFF = HitRatioCurve(np.array([10, 100]), np.array([70, 80]), accesses=100)


def test_a_size_is_judged() -> None:
    assert verdict(CLIFF, 5).judgement == "too small"
    assert verdict(CLIFF, 10).judgement == "good"
    assert verdict(CLIFF, 40).judgement == "on a plateau"
    assert verdict(CLIFF, 50).judgement == "too small"
    assert verdict(CLIFF, 100).judgement == "good"
    assert verdict(CLIFF, 200).judgement == "too large"
    empty = HitRatioCurve(np.array([5]), np.array([0]), accesses=9)
    assert verdict(empty, 5).judgement == "nothing to hit"


def test_a_verdict_says_how_far_it_is() -> None:
    found = verdict(CLIFF, 40)
    assert (found.ratio, found.best, found.saturation) == (0.7, 0.8, 100)
    assert (found.halved, found.doubled, found.of_best) == (0.7, 0.7, 0.7 / 0.8)
    assert found.knee_below is not None
    assert found.knee_below.capacity == 10
    assert found.knee_above is not None
    assert found.knee_above.capacity == 100
    told = found.to_dict()
    assert told["judgement"] == "on a plateau"
    assert told["knee_above"] == {"blocks": 100, "hit_ratio": 0.8}
    assert verdict(CLIFF, 5).to_dict()["knee_below"] is None


def test_recorded_traces_hit_what_was_predicted(tmp_path: Path) -> None:
    files = ("lirs/sprite.txt.zst", "lirs/multi1.txt.zst", "lirs/2_pools.txt.zst")
    opened = [recorded.opened(file, tmp_path) for file in files]
    traces = [trace for trace in opened if trace is not None]
    if len(traces) < len(files):
        pytest.skip("recorded traces are not there: MCSIM_TRACE_DIR")
    found = mcsim.mix(traces, ["2%", "20%"], order="rates")
    of = found.sharing
    for row, parts in zip(found, found.allocation, strict=True):
        own = [of.ids[of.vm == vm] for vm in range(3)]
        misses = [misses_of(ids, int(part)) for ids, part in zip(own, parts, strict=True)]
        assert misses_of(of.ids, int(row.capacity)) == row.shared
        assert sum(misses) == row.parts
        effective = int(row.effective)
        assert misses_of(of.ids, effective) <= row.parts < misses_of(of.ids, effective - 1)


def misses_of(ids: NDArray[np.uint32], size: int) -> int:
    """Replay an LRU cache of a size, which may be 0."""
    if size == 0:
        return len(ids)
    return int(mcsim.simulate(ids, "lru", [size], one_pass=False).misses[0])


def test_of_many_vms_the_busiest_are_drawn() -> None:
    streams = {f"vm_{k}": list(range(1 + k % 50)) * 2 for k in range(60)}
    found = mcsim.what_if(streams, 100, leaving="vm_1", order="rates")
    sheet = before_and_after([("before", found.before), ("after", found.after)], log=True)
    drawn = list(sheet.charts[1].x)
    assert len(drawn) == 40
    assert "vm_49" in drawn
    assert "vm_0" not in drawn
    assert "The 40 VMs of 60 with most accesses." in sheet.notes


def test_curves_alone_use_no_more_threads_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []

    def counted(name: str, *, threads: int, block_bytes: int | None) -> Estimator:
        used.append(threads)
        return Estimator(name, threads=threads, block_bytes=block_bytes)

    monkeypatch.setattr(module, "Estimator", counted)
    monkeypatch.setattr(module, "threads_given", lambda _: 6)
    for vms, each in ((1, 6), (3, 2), (12, 1)):
        found = sharing({f"vm{i}": [1, 2, 1] for i in range(vms)}, "rates")
        assert [curve.hits.tolist() for curve in found.alone.values()] == [[0.0, 1.0]] * vms
        assert used == [each] * vms
        used.clear()


SCAN_AND_LOOP = {"loop": [1, 2, 3] * 20, "scan": range(90)}


def test_a_total_that_one_vm_decides_has_no_verdict() -> None:
    found = mcsim.what_if(SCAN_AND_LOOP, 4, to=8, order="rates")
    assert (found.before.dominant, found.after.dominant) == ("scan", "scan")
    assert found.before.verdict.judgement == "decided by one VM"
    # Between two accesses of the loop to a block there are two others of it and four of the scan.
    assert found.tolist() == [("loop", 0, 57 / 60), ("scan", 0, 0)]
    assert found.answer == (
        "VMs before and after the change hit +38.00 points. Without VM scan: +95.00 points."
    )
    assert found.before.ratio_of(["loop"], "part") == 0
    assert found.after.ratio_of(["loop"], "part") == found.before.ratio_of(["loop"], "alone")


def test_a_vm_of_half_of_the_accesses_or_with_hits_is_not_dominant() -> None:
    half = mcsim.what_if({"loop": [1, 2, 3] * 20, "scan": range(60)}, 4, order="rates")
    hits = mcsim.what_if({"loop": [1, 2, 3] * 20, "scan": [*range(88), 0, 0]}, 4, order="rates")
    alone = mcsim.what_if({"scan": range(60)}, 4, order="rates")
    for found in (half, hits, alone):
        assert found.before.dominant is None
        assert found.before.verdict.judgement != "decided by one VM"
        assert "Without" not in found.answer


def test_the_best_parts_have_no_worth_where_one_vm_decides_the_total() -> None:
    both = mcsim.mix(SCAN_AND_LOOP, [4, 8], order="rates")
    assert both.answer == (
        "No verdict at 2 of 2 sizes, because one VM decides the total: VM scan makes 60.0 % of "
        "the accesses and hits nothing even alone in 8 objects; there the others hit 95.0 % shared "
        "and 95.0 % in the best parts."
    )
    # With four blocks the scan hits nothing; with 200 it hits the half that it reads again.
    again = {"loop": [1, 2, 3] * 20, "scan": [*range(150), *range(150)]}
    some = mcsim.mix(again, [4, 200], order="rates")
    gain = 100 * (some.effective[1] / 200 - 1)
    assert some.answer == (
        f"The best fixed parts are worth {gain:+.1f} % of the cache's size, at 1 of 2 sizes. "
        "No verdict at 1 of 2 sizes, because one VM decides the total: VM scan makes 83.3 % of "
        "the accesses and hits nothing even alone in 4 objects; there the others hit 0.0 % shared "
        "and 95.0 % in the best parts."
    )
