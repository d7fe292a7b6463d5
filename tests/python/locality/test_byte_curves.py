# Trusts: replays of `simulate`, which test_sizes.py holds to twins, and a sum over a list.
"""Curves of LRU over its capacity in bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mcsim as mc
from mcsim._core import locality as core
from mcsim._core import policies
from mcsim.base.errors import ConfigError
from mcsim.locality.sharing import sharing

RESIZED = "an object changes its size"


def objects(seed: int, count: int = 2000, keys: int = 60, vms: int = 1) -> mc.Trace:
    """Draw a trace of objects that keep their sizes."""
    draw = np.random.default_rng(seed)
    chosen = draw.zipf(1.3, count) % keys
    sizes = draw.integers(1, 5000, keys)[chosen]
    names = [f"vm{i}" for i in range(vms)]
    vm = chosen % vms
    return mc.Trace.from_arrays(
        np.arange(count), chosen, sizes, vm=vm, vms=names, kind="objects", source="drawn"
    )


def test_distances_are_the_bytes_of_other_objects() -> None:
    for seed in range(40):
        draw = np.random.default_rng(seed)
        keys = draw.integers(0, 1 + seed, 500)
        sizes = draw.integers(1, 1 + 2 ** int(draw.integers(1, 32)), 500)  # they change
        expected = []
        stack: dict[int, int] = {}  # the last used one comes last
        for key, size in zip(keys.tolist(), sizes.tolist(), strict=True):
            others = list(stack)
            after = others[others.index(key) + 1 :] if key in stack else None
            expected.append(-1 if after is None else sum(stack[other] for other in after))
            stack.pop(key, None)
            stack[key] = size
        numbers, unique = policies.number(keys.astype(np.uint64))
        found = core.byte_distances(numbers, sizes.astype(np.uint32), unique)
        assert found.tolist() == expected, seed


@pytest.mark.parametrize("seed", range(10))
def test_one_pass_is_what_replays_hit(seed: int) -> None:
    blocks = mc.in_bytes(objects(seed))
    curve = mc.hit_ratio_curve(blocks)
    largest = int(blocks.sizes.max())
    sizes = [largest, *np.linspace(largest, blocks.distinct_bytes, 20).astype(int).tolist()]
    rows = mc.simulate(blocks, "lru", sizes)
    assert curve.resolved_from == largest
    assert curve.at(sizes).tolist() == rows.hit_ratio.tolist()
    assert curve.of("bytes").at(sizes).tolist() == rows.byte_hit_ratio.tolist()
    assert np.isnan(curve.at(largest - 1))
    # Every step is a capacity at which a replay hits more than a byte below it.
    steps = curve.capacities[curve.capacities > largest][:30]
    around = mc.simulate(
        blocks, "lru", [size for step in steps.tolist() for size in (step - 1, step)]
    )
    assert (around.hits[1::2] > around.hits[::2]).all()


def test_a_warm_up_is_not_counted() -> None:
    blocks = mc.in_bytes(objects(1).blocks(warm_up="500ns"))
    curve = mc.hit_ratio_curve(blocks)
    sizes = [6000, 50_000]
    assert curve.accesses == 1500
    assert curve.at(sizes).tolist() == mc.simulate(blocks, "lru", sizes).hit_ratio.tolist()


def test_each_vm_has_a_curve_by_itself() -> None:
    trace = objects(2, vms=3)
    curves = mc.hit_ratio_curves(mc.in_bytes(trace))
    for name, curve in curves.items():
        own = mc.simulate(mc.in_bytes(trace.blocks(vms=[str(name)])), "lru", [20_000])
        assert curve.at(20_000) == own.hit_ratio[0]


def test_vms_share_a_cache_in_bytes() -> None:
    trace = objects(3, vms=3)
    blocks = mc.in_bytes(trace)
    of = sharing(blocks)
    row = mc.simulate(blocks, "lru", [30_000])[0]
    shared = sum(curve.at(30_000) * curve.accesses for curve in of.shared.values())
    assert (round(shared), of.together.at(30_000)) == (row.hits, row.hit_ratio)
    assert of.capacity_name == "bytes"
    found = mc.mix(blocks, ["50%"])
    assert found.capacity.tolist() == [round(blocks.distinct_bytes / 2)]
    assert found.allocation.sum() == found.capacity[0]
    parts = [
        mc.simulate(mc.in_bytes(trace.blocks(vms=[name])), "lru", [int(size)]).misses[0]
        for name, size in zip(of.vms, found.allocation[0], strict=True)
    ]
    assert sum(parts) == found.parts[0]
    assert of.without(["vm1"]).together.accesses == len(of) - len(of.positions[1])


def test_shards_by_bytes_is_near_and_has_no_band() -> None:
    draw = np.random.default_rng(4)
    chosen = draw.zipf(1.1, 300_000) % 40_000
    sizes = np.minimum(draw.lognormal(8, 1, 40_000).astype(int) + 1, 100_000)[chosen]
    trace = mc.Trace.from_arrays(np.arange(len(chosen)), chosen, sizes, kind="objects")
    blocks = mc.in_bytes(trace)
    exact = mc.hit_ratio_curve(blocks)
    at = (np.linspace(0.05, 1, 20) * blocks.distinct_bytes).astype(np.int64)
    near = mc.estimate(blocks, "shards-rate", rate=0.1)
    assert near.low is None
    assert (near.accesses, near.bytes) == (exact.accesses, exact.bytes)
    assert abs(near.at(at) - exact.at(at)).mean() < 0.02
    assert abs(near.of("bytes").at(at) - exact.of("bytes").at(at)).mean() < 0.03
    whole = mc.estimate(blocks, "shards-rate", rate=1)
    assert (whole.hits == exact.hits).all()
    with pytest.raises(ConfigError, match=r"aet has no rule .*: exact, shards-rate"):
        mc.estimate(blocks, "aet")
    with pytest.raises(ConfigError, match="exact: bin_bits has no meaning"):
        mc.estimate(blocks, "exact", bin_bits=4)


def test_objects_that_change_are_not_exact_in_one_pass() -> None:
    keys, sizes = [1, 2, 1, 2], [100, 50, 200, 50]
    trace = mc.Trace.from_arrays(range(4), keys, sizes, kind="objects", source="grows")
    blocks = mc.in_bytes(trace)
    curve = mc.hit_ratio_curve(blocks)
    assert (curve.note, curve.resolved_from) == (RESIZED, 250)
    with pytest.raises(ConfigError, match=f"grows: {RESIZED}, so that one pass"):
        mc.mix(blocks, ["50%"])
    with pytest.raises(ConfigError, match="expected those to objects"):
        mc.in_bytes(mc.Trace.from_arrays([0], [0], [4096]))


def test_what_counts_objects_refuses_bytes() -> None:
    blocks = mc.in_bytes(objects(5, vms=2))
    message = "it counts objects, not their bytes: give sizes without a unit"
    with pytest.raises(ConfigError, match=f"order 'rates': {message}"):
        mc.mix([blocks], ["50%"], order="rates")
    with pytest.raises(ConfigError, match=f"simulate_lines: {message}"):
        mc.simulate_lines(blocks, "lru", [1000])
    with pytest.raises(ConfigError, match=f"advise: {message}"):
        mc.advise(blocks, "10%")


def test_what_if_counts_bytes() -> None:
    blocks = mc.in_bytes(objects(6, vms=2))
    found = mc.what_if(blocks, 30_000)
    (row,) = mc.simulate(blocks, "lru", [30_000])
    accesses = [curve.accesses for curve in sharing(blocks).alone.values()]
    ratios = [found.before.ratio_of([vm], "shared") for vm in ("vm0", "vm1")]
    assert np.average(ratios, weights=accesses) == pytest.approx(row.hit_ratio)


@pytest.fixture
def cdn(tmp_path: Path) -> str:
    file = tmp_path / "cdn.csv"
    lines = "".join(f"{i},{i % 3},{1000 * (1 + i % 3)}\n" for i in range(30))
    file.write_text("time_s,key,size\n" + lines)
    return str(file)


def test_commands_take_sizes_in_bytes(cdn: str, capsys: pytest.CaptureFixture[str]) -> None:
    from mcsim.cli.main import main

    options = [cdn, "--option", "time_unit=s", "-q"]
    main(["mrc", *options, "--sizes", "6000B,4KB"])
    told = capsys.readouterr().out
    assert "6,000 90.00" in told
    assert "replayed" not in told
    main(["mrc", *options, "--sizes", "2KB"])  # below the largest object
    assert "replayed: a size is smaller than the largest object" in capsys.readouterr().out
    main(["mrc", *options, "--each", "--sizes", "6000B"])
    assert "90.00" in capsys.readouterr().out
    main(["size", *options, "--target-hit-ratio", "50%", "--in-bytes"])
    assert "5.859 KiB (6,000 bytes)" in capsys.readouterr().out
    main(["mix", *options[:-1], "--sizes", "3KB,100%"])
    assert "bytes shared %" in capsys.readouterr().out
