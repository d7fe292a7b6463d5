"""Trusts: caches of a few lines of Python; libCacheSim, another implementation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import libcachesim_hits
from naive_lru import lru_hits

import mcsim as mc
from mcsim._core import policies as core
from mcsim.base.errors import ConfigError, OutOfMemoryError
from mcsim.cli.main import cli
from mcsim.policies.specs import parse_policies


def skewed(length: int, seed: int = 1) -> np.ndarray:
    """Return blocks of which the low ones come more often, with a loop between."""
    rng = np.random.default_rng(seed)
    keys = (3000 * rng.random(length) ** 3).astype(np.int64)
    keys[::5] = 10_000 + np.arange(len(keys[::5])) % 700
    return keys * 4096 + 17  # far from dense


def test_a_row_for_every_policy_and_size() -> None:
    keys = skewed(20_000)
    rows = mc.simulate(keys, ["lru", "opt"], [10, 100, 1000], threads=2)
    assert rows.policy.tolist() == ["lru"] * 3 + ["opt"] * 3
    assert rows.capacity.tolist() == [10, 100, 1000] * 2
    assert rows.hits[:3].tolist() == [lru_hits(keys, c) for c in (10, 100, 1000)]
    assert (rows.hits + rows.misses == len(keys)).all()
    assert (rows.misses - rows.evictions == rows.capacity).all()
    assert (rows.hits[3:] >= rows.hits[:3]).all()


def test_threads_change_nothing() -> None:
    keys = skewed(20_000)
    counted = ["policy", "capacity", "hits", "evictions", "bytes"]
    one = mc.simulate(keys, "all", [50, 500], threads=1)
    two = mc.simulate(keys, "all", [50, 500], threads=2)
    assert one[counted].tolist() == two[counted].tolist()


def test_writes_are_counted_apart() -> None:
    keys = [1, 1, 2, 2, 1]
    rows = mc.simulate(keys, ["lru"], [2], ops=[0, 1, 1, 0, 1])
    assert rows[["hits", "writes", "write_hits"]].tolist() == [(3, 3, 2)]
    with pytest.raises(ConfigError, match="ops: 2 of them for 5 accesses"):
        mc.simulate(keys, ["lru"], [2], ops=[0, 1])


def test_progress_is_told() -> None:
    told: list[int] = []
    mc.simulate(
        np.zeros(2_500_000, np.uint64), ["lru", "fifo"], [1], threads=1, progress=told.append
    )
    assert told[-1] == 5_000_000
    assert told == sorted(told)

    def stop(done: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        mc.simulate(np.zeros(2_500_000, np.uint64), ["lru"], [1], progress=stop)


def test_specs() -> None:
    specs = parse_policies("arc(step=integer),s3-fifo(small=0.2,promote_at=1),lru")
    assert [str(spec) for spec in specs] == [
        "arc(step=integer)",
        "s3-fifo(small=0.2,promote_at=1)",
        "lru",
    ]
    assert specs[1].declared() == {"small": 0.2, "promote_at": 1}
    assert [spec.name for spec in parse_policies("all")] == mc.policy_names()


def test_sizes() -> None:
    rows = mc.simulate(range(1000), "lru", [5, "7", "1%", "0.001%"])
    assert rows.capacity.tolist() == [5, 7, 10, 1]


def test_a_grid_of_sizes() -> None:
    rows = mc.simulate(range(1000), "lru", ["log(1%, 100%, 3)", 7])
    assert rows.capacity.tolist() == [10, 100, 1000, 7]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=300),
    st.lists(st.integers(1, 40), min_size=1, max_size=12),
    st.sampled_from(["lru", "mru"]),
)
def test_one_pass_is_many_replays(
    accesses: list[tuple[int, bool]], sizes: list[int], policy: str
) -> None:
    keys, ops = [key for key, _ in accesses], [op for _, op in accesses]
    counted = ["hits", "misses", "writes", "write_hits", "evictions"]
    one = mc.simulate(keys, policy, sizes, ops=ops)
    each = mc.simulate(keys, policy, sizes, ops=ops, one_pass=False)
    assert one[counted].tolist() == each[counted].tolist()


def test_sizes_of_one_pass_share_its_memory_and_time() -> None:
    rows = mc.simulate(skewed(20_000), ["lru", "fifo"], [10, 100, 1000])
    assert len(set(rows.bytes[:3].tolist())) == 1
    assert len(set(rows.seconds[:3].tolist())) == 1
    assert len(set(rows.bytes[3:].tolist())) == 3


def test_memory_is_told_beforehand_and_bounded() -> None:
    keys = skewed(20_000)
    needed = mc.memory_needed(keys, ["fifo", "lirs"], [10, 1000])
    rows = mc.simulate(keys, ["fifo", "lirs"], [10, 1000])
    assert needed.bytes.tolist() == rows.bytes.tolist()
    most = int(needed.bytes.max())
    bounded = mc.simulate(keys, ["fifo", "lirs"], [10, 1000], memory=most)
    assert bounded.hits.tolist() == rows.hits.tolist()
    with pytest.raises(OutOfMemoryError, match=r"lirs: a cache of 1000 blocks needs \d+ bytes"):
        mc.simulate(keys, ["fifo", "lirs"], [10, 1000], memory=most - 1)
    with pytest.raises(MemoryError, match="not even one block would fit"):
        mc.simulate(keys, "fifo", [10], memory="1KiB")


@pytest.mark.parametrize(
    ("policies", "sizes", "message"),
    [
        (["lruu"], [1], r"unknown eviction policy 'lruu' \(did you mean 'lru'\?\)"),
        (["slru(protected_share=3)"], [1], r"slru: protected_share: 3 is outside \[0, 1\]"),
        (["arc:step"], [1], r"parameters are now written in parentheses: 'arc\(step\)'"),
        (["lru"], [0], "sizes: at least 1 block, got 0"),
        (["lru"], ["200%"], "sizes: expected a size such as .*, got '200%'"),
        (["lru"], ["1GiB"], "sizes: '1GiB': these blocks have no size in bytes"),
    ],
)
def test_mistakes(policies: list[str], sizes: list[int | str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mc.simulate([1, 2, 3], policies, sizes)


@pytest.mark.parametrize(
    ("policy", "theirs"),
    [
        ("lru", "LRU"),
        ("fifo", "FIFO"),
        ("clock", "Clock"),
        ("sieve", "Sieve"),
        ("lfu", "LFU"),
        ("2q", "TwoQ"),
        ("arc", "ARC"),
        ("s3-fifo(variant=libcachesim)", "S3FIFO"),
        ("clock2q-plus", "Clock2QPlus"),
    ],
)
def test_libcachesim_hits_as_often(policy: str, theirs: str) -> None:
    keys = skewed(30_000)
    for capacity in (20, 150, 1000):
        hits = libcachesim_hits(keys.tolist(), capacity, theirs)
        (row,) = mc.simulate(keys, [policy], [capacity])
        assert row.hits == hits, f"{policy}, {capacity} blocks"


@pytest.mark.parametrize(
    ("policy", "theirs", "sizes"),
    [
        ("2q", "TwoQ", range(4, 201)),
        ("arc", "ARC", range(1, 201)),
        # Below 20 blocks, libCacheSim admits no block; below 10, it refuses the size.
        ("s3-fifo(variant=libcachesim)", "S3FIFO", range(20, 201)),
        ("clock2q-plus", "Clock2QPlus", range(20, 201)),
        # At other sizes, a hit in libCacheSim may evict.
        ("s4lru(fill=true)", "SLRU", range(4, 201, 4)),
    ],
)
def test_libcachesim_hits_as_often_at_every_size(policy: str, theirs: str, sizes: range) -> None:
    keys = skewed(3000)
    for row in mc.simulate(keys, [policy], list(sizes)):
        hits = libcachesim_hits(keys.tolist(), row.capacity, theirs)
        assert row.hits == hits, f"{policy}, {row.capacity} blocks"


def test_compare_tabulates_and_draws(tmp_path: Path) -> None:
    trace = tmp_path / "blocks.txt"
    trace.write_text("\n".join(str(key) for key in skewed(5000).tolist()))
    result = CliRunner().invoke(
        cli,
        [
            *("compare", str(trace), "--policies", "lru,arc,opt"),
            *("--sizes", "1%,10%", "-o", str(tmp_path / "out")),
        ],
        catch_exceptions=False,
    )
    assert result.exit_code == 0, result.output
    unique = len(set(skewed(5000).tolist()))
    (row,) = mc.simulate(skewed(5000), ["arc"], [round(unique / 10)])
    assert f" {100 * row.hit_ratio:.2f} " in result.output
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["blocks-policies.csv", "blocks-policies.png", "blocks-policies.svg"]
    table = (tmp_path / "out" / "blocks-policies.csv").read_text().splitlines()
    assert len(table) == 1 + 3 * 2
    assert table[0].startswith('"policy","capacity","accesses","hits"')


def test_wrapped_policies_are_written_in_parentheses() -> None:
    specs = parse_policies(
        "lru,talus(policy=2q(kin=0.1,kout=0.3),epoch=500),switching(candidates=lru+arc(step=real))"
    )
    assert [str(spec) for spec in specs] == [
        "lru",
        "talus(policy=2q(kin=0.1,kout=0.3),epoch=500)",
        "switching(candidates=lru+arc(step=real))",
    ]
    assert specs[1].declared() == {"policy": "2q(kin=0.1,kout=0.3)", "epoch": 500}
    assert not set(mc.wrapper_names()) & set(mc.policy_names())
    with pytest.raises(
        ConfigError, match="slide: opt needs the future of the trace: it cannot be wrapped"
    ):
        mc.simulate([1, 2, 3], "slide(policy=opt)", [1])


def test_wrappers_on_a_loop() -> None:
    keys = np.tile(np.arange(2000), 60)
    policies = ["lru", "talus(epoch=4000)", "slide(policy=lru,epoch=4000)"]
    rows = mc.simulate([*keys], [*policies, "switching(candidates=lru+mru,epoch=4000)"], [1000])
    assert rows.hits[0] == 0
    # After an epoch to see the loop and one to fill the shard, less the margin.
    assert (rows.hit_ratio[1:3] > 0.475 * 56 / 60).all()
    assert (rows.hit_ratio[1:3] < 0.5).all()
    # MRU hits all blocks of a loop that fit, but one.
    assert rows.hit_ratio[3] > 0.45


def test_what_warms_up_is_not_counted() -> None:
    trace = skewed(5_000)
    ops = np.arange(len(trace)) % 3 == 0
    names = ["lru", "arc", "opt", "random", "talus(epoch=700)"]
    for warm_up in (0, 1, 1234, len(trace), 10**9):
        rows = mc.simulate(trace, names, [10, 100], ops=ops, warm_up=warm_up)
        counted = len(trace[warm_up:])
        assert (rows.accesses == counted).all()
        assert (rows.writes == ops[warm_up:].sum()).all()
        distances = mc.reuse_distances(trace)[warm_up:]
        for row in rows[rows.policy == "lru"]:
            assert row.hits == ((distances >= 0) & (distances < row.capacity)).sum()
    whole = mc.simulate(trace, "arc", [100])
    parts = mc.simulate(trace[:1234], "arc", [100]), mc.simulate(trace, "arc", [100], warm_up=1234)
    assert whole.hits == parts[0].hits + parts[1].hits
    assert whole.evictions == parts[0].evictions + parts[1].evictions
    with pytest.raises(ConfigError, match="warm_up: at least 0, got -1"):
        mc.simulate(trace, warm_up=-1)


def test_lecar_breaks_ties_by_the_numbers_it_was_given() -> None:
    (help_of_ties,) = (
        param["help"]
        for entry in core.describe()
        for param in entry["params"]
        if entry["name"] == "lecar" and param["name"] == "ties"
    )
    assert help_of_ties.endswith("the first to be accessed (number)")
    keys = (3000 * np.random.default_rng(1).random(20_000) ** 2).astype(np.int64)
    # Blocks are numbered as they come, whatever the trace calls them.
    rows = [mc.simulate(named, "lecar(ties=number)", [300]) for named in (keys, 3000 - keys)]
    assert rows[0].hits == rows[1].hits


def test_one_size_is_asked_for_as_a_list() -> None:
    with pytest.raises(ConfigError, match=r"sizes: expected a list, such as \[16\], got 16"):
        mc.simulate([1, 2], "lru", 16)  # type: ignore[arg-type]
