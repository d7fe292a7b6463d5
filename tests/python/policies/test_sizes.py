# Trusts: the naive twins, here and in naive_objects.py, which keep lists of keys and sizes.
"""Caches in bytes: every policy with a rule for sizes, against a twin written from its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.naive_drawing_objects import Cacheus, Hyperbolic, LeCar
from tests.python.naive_objects import Arc, FoyerS3Fifo, Lirs, LruK, QdLpFifo, Twin, WTinyLfu
from tests.python.naive_sampling_objects import Lhd, SampledLfu, SampledLru

import mcsim as mc
from mcsim._core import policies as core
from mcsim.base.errors import ConfigError

UNLIMITED = 1 << 60


class Lru(Twin):
    def hit(self, key: int) -> None:
        self.sizes[key] = self.sizes.pop(key)


class Clock(Twin):
    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.marked: set[int] = set()

    def hit(self, key: int) -> None:
        self.marked.add(key)

    def remove(self, key: int) -> None:
        super().remove(key)
        self.marked.discard(key)

    def evict(self) -> None:
        while (oldest := next(iter(self.sizes))) in self.marked:
            self.marked.discard(oldest)
            self.sizes[oldest] = self.sizes.pop(oldest)
        self.remove(oldest)


class Sieve(Clock):
    """Objects stay where they are; `hand` is the key at which the next search begins."""

    hand: int | None = None

    def after(self, key: int) -> int | None:
        order = list(self.sizes)
        at = order.index(key) + 1
        return order[at] if at < len(order) else None

    def remove(self, key: int) -> None:
        if key == self.hand:
            self.hand = self.after(key)
        super().remove(key)

    def evict(self) -> None:
        at = self.hand if self.hand is not None else next(iter(self.sizes))
        while at in self.marked:
            self.marked.discard(at)
            following = self.after(at)
            at = next(iter(self.sizes)) if following is None else following
        self.hand = at
        self.remove(at)


class Ranked(Twin):
    """Evicts the object with the least value, the least recently used one of several."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.count: dict[int, int] = {}
        self.rank: dict[int, tuple[float, int]] = {}
        self.age: float = 0

    def value(self, key: int) -> float:
        return self.count[key]

    def hit(self, key: int) -> None:
        self.count[key] += 1
        self.rank[key] = (self.value(key), self.now)

    def entered(self, key: int) -> None:
        self.count[key] = 0
        self.hit(key)

    def evict(self) -> None:
        victim = min(self.sizes, key=lambda key: self.rank[key])
        self.age = self.rank[victim][0]
        self.remove(victim)


class LfuDa(Ranked):
    def value(self, key: int) -> float:
        return self.age + self.count[key]


class Gdsf(Ranked):
    def value(self, key: int) -> float:
        return self.age + self.count[key] * 1.0 / self.sizes[key]


class Segments(Twin):
    """Lists by name, the newest last; `ghosts` has keys and the sizes that they had."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.new: list[int] = []
        self.main: list[int] = []
        self.ghosts: dict[int, int] = {}

    def bytes_of(self, keys: list[int]) -> int:
        return sum(self.sizes[key] for key in keys)

    def remove(self, key: int) -> None:
        super().remove(key)
        (self.new if key in self.new else self.main).remove(key)

    def remember(self, key: int, most: int) -> None:
        size = self.sizes[key]
        self.remove(key)
        if size > most:
            return
        while sum(self.ghosts.values()) + size > most:
            del self.ghosts[next(iter(self.ghosts))]
        self.ghosts[key] = size


class Slru(Segments):
    def hit(self, key: int) -> None:
        (self.new if key in self.new else self.main).remove(key)
        self.main.append(key)
        while self.bytes_of(self.main) > max(1, int(0.8 * self.capacity)):
            self.new.append(self.main.pop(0))

    def entered(self, key: int) -> None:
        self.new.append(key)

    def evict(self) -> None:
        self.remove((self.new or self.main)[0])


class TwoQ(Segments):
    def hit(self, key: int) -> None:
        if key in self.main:
            self.main.remove(key)
            self.main.append(key)

    def miss(self, key: int, size: int) -> None:
        known = self.ghosts.pop(key, None) is not None
        self.room_for(size)
        self.sizes[key] = size
        (self.main if known else self.new).append(key)

    def evict(self) -> None:
        if self.bytes_of(self.new) <= max(1, int(0.25 * self.capacity)) and self.main:
            self.remove(self.main[0])
        else:
            self.remember(self.new[0], max(1, int(0.5 * self.capacity)))


class S3Fifo(Segments):
    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.uses: dict[int, int] = {}
        self.small = max(1, int(0.1 * capacity))

    def hit(self, key: int) -> None:
        self.uses[key] = min(3, self.uses[key] + 1)

    def miss(self, key: int, size: int) -> None:
        known = self.ghosts.pop(key, None) is not None
        self.room_for(size)
        self.sizes[key] = size
        self.uses[key] = 0
        (self.main if known else self.new).append(key)

    def evict(self) -> None:
        if self.bytes_of(self.new) < self.small and self.main:
            self.evict_main()
            return
        while self.new:
            if self.uses[self.new[0]] < 2:
                self.remember(self.new[0], self.capacity - self.small)
                return
            self.uses[self.new[0]] = 0
            self.main.append(self.new.pop(0))
            if self.bytes_of(self.main) > self.capacity - self.small:
                self.evict_main()

    def evict_main(self) -> None:
        while self.uses[self.main[0]] > 0:
            self.uses[self.main[0]] -= 1
            self.main.append(self.main.pop(0))
        self.remove(self.main[0])


TWINS: dict[str, Callable[[int], Twin]] = {
    "lru": Lru,
    "fifo": Twin,
    "clock": Clock,
    "sieve": Sieve,
    "lfu": Ranked,
    "lfu-da": LfuDa,
    "gdsf": Gdsf,
    "slru": Slru,
    "2q": TwoQ,
    "s3-fifo": S3Fifo,
    "s3-fifo of foyer": FoyerS3Fifo,
    "arc": Arc,
    "lru-k": LruK,
    "hyperbolic": Hyperbolic,
    "w-tinylfu": WTinyLfu,
    "lirs": Lirs,
    "lecar": LeCar,
    "cacheus": Cacheus,
    "qd-lp-fifo": QdLpFifo,
    "sampled-lru": SampledLru,
    "sampled-lfu": SampledLfu,
    "lhd": Lhd,
}

# Parameters of the twins: few draws, a sketch without collisions, and a share of more blocks.
PARAMS: dict[str, dict[str, Any]] = {
    "hyperbolic": {"sample": 5},
    "s3-fifo of foyer": {"variant": "foyer"},
    "w-tinylfu": {"counters": 1000},
    "lirs": {"hirs": 0.05},
    "sampled-lru": {"rate": 1},
    "sampled-lfu": {"rate": 1},
    "lhd": {"ages": 32, "period": 40},
}


def stream(seed: int, *, changes: bool) -> tuple[list[int], list[int]]:
    """Draw keys and sizes; some objects change their sizes on the way."""
    draw = np.random.default_rng(seed)
    count, keys = int(draw.integers(50, 600)), int(draw.integers(3, 60))
    chosen = (draw.zipf(1.3, count) % keys).tolist()
    largest = int(draw.choice([1, 3, 40, 4000]))
    sizes = draw.integers(1, largest + 1, keys).tolist()
    of_each = []
    for key in chosen:
        if changes and draw.random() < 0.1:
            sizes[key] = int(draw.integers(1, largest + 1))
        of_each.append(sizes[key])
    return chosen, of_each


def hits_of(policy: str, keys: list[int], sizes: list[int], capacity: int, **params: Any) -> int:
    blocks, unique = core.number(np.array(keys, np.uint64))
    found = core.simulate(
        blocks,
        unique,
        [(policy.split()[0], PARAMS.get(policy, {}) | params, capacity)],
        weights=np.array(sizes, np.uint32),
    )
    return int(found["hits"][0])


@pytest.mark.parametrize("changes", [False, True], ids=["fixed", "changing"])
@pytest.mark.parametrize("policy", TWINS)
def test_each_policy_hits_as_its_twin(policy: str, changes: bool) -> None:
    hits = 0
    for seed in range(150):
        keys, sizes = stream(seed, changes=changes)
        total = sum(dict(zip(keys, sizes, strict=True)).values())
        for capacity in {max(1, total // 9), max(1, total // 3), total}:
            twin = TWINS[policy](capacity)
            expected = sum(map(twin.access, keys, sizes))
            assert hits_of(policy, keys, sizes, capacity) == expected, (seed, capacity)
            hits += expected
    assert hits > 10_000


@pytest.mark.parametrize("policy", TWINS)
def test_equal_sizes_are_blocks(policy: str) -> None:
    params = PARAMS.get(policy, {})
    for seed in range(20):
        draw = np.random.default_rng(seed)
        keys = (draw.zipf(1.2, 3000) % 600).tolist()
        blocks, unique = core.number(np.array(keys, np.uint64))
        for capacity in (100, 200):
            found = core.simulate(blocks, unique, [(policy.split()[0], params, capacity)])
            # Quotients by a power of two are exact.
            size = 1 if policy == "lhd" else 8  # its bonus of explorers does not depend on sizes
            weighed = hits_of(policy, keys, [size] * len(keys), size * capacity)
            assert weighed == int(found["hits"][0]) > 0, (seed, capacity)


@pytest.mark.parametrize("policy", TWINS)
def test_a_warm_up_fills_the_cache_and_is_not_counted(policy: str) -> None:
    for seed in range(10):
        keys, sizes = stream(seed, changes=True)
        twin = TWINS[policy](capacity := max(1, sum(sizes) // 20))
        hits = list(map(twin.access, keys, sizes))
        blocks, unique = core.number(np.array(keys, np.uint64))
        weights = np.array(sizes, np.uint32)
        found = core.simulate(
            blocks,
            unique,
            [(policy.split()[0], PARAMS.get(policy, {}), capacity)],
            weights=weights,
            warm_up=len(keys) // 3,
        )
        assert int(found["hits"][0]) == sum(hits[len(keys) // 3 :]), seed


def test_gdsf_by_size_as_cost_is_lfu_da() -> None:
    for seed in range(20):
        keys, sizes = stream(seed, changes=False)
        capacity = max(1, sum(sizes) // 20)
        assert hits_of("gdsf", keys, sizes, capacity, cost="size") == hits_of(
            "lfu-da", keys, sizes, capacity
        )


def test_random_never_holds_more_than_its_capacity() -> None:
    # One object fits at a time, so that only a repeated key can hit.
    assert hits_of("random", [1, 1, 2, 2, 1, 3, 3, 3], [60] * 8, 100) == 4


def objects(sizes: list[int]) -> mc.Trace:
    keys = np.array([1, 2, 1, 3, 1, 2], np.uint64)
    return mc.Trace.from_arrays(np.arange(6), keys, np.array(sizes), kind="objects")


def test_capacities_in_bytes_weigh_objects() -> None:
    trace = objects([100, 50, 100, 300, 100, 50])
    rows = mc.simulate(trace, ["lru", "sieve"], ["150B", "100%", "1KiB"])
    assert rows.capacity.tolist() == [150, 450, 1024] * 2
    assert rows.hits.tolist() == [3, 3, 3, 3, 3, 3]
    assert rows.evictions.tolist() == [0] * 6
    (row,) = mc.simulate(trace, "lru", ["149B"])
    assert (row.hits, row.byte_hit_ratio) == (1, 100 / 700)
    rows = mc.simulate(trace, "all", ["150B"])
    names = {name.split()[0] for name in TWINS}
    assert names | {"random", "belady-size", "pfoo"} == set(rows.policy.tolist())
    # Without a size in bytes, objects count.
    assert mc.simulate(trace, "lru", ["100%"]).capacity.tolist() == [3]


def test_miniatures_take_bytes_and_have_no_band() -> None:
    draw = np.random.default_rng(3)
    keys = draw.zipf(1.2, 60_000) % 8000
    sizes = draw.integers(1, 3000, 8000)[keys]
    trace = mc.Trace.from_arrays(np.arange(len(keys)), keys, sizes, kind="objects")
    policies = ["lru", "sieve", "gdsf", "belady-size"]
    whole = mc.simulate(mc.in_bytes(trace), policies, ["20%", "50%"])
    small = mc.miniature(mc.in_bytes(trace), policies, ["20%", "50%"], rate=0.1)
    assert small.capacity.tolist() == whole.capacity.tolist()
    assert set(small.rate.tolist()) == {0.1}
    assert set(small.no_band.tolist()) == {"not verified for objects of different sizes"}
    assert np.isnan(small.low).all()
    assert abs(small.hit_ratio - whole.hit_ratio).max() < 0.05
    # Less than 100 objects of the mean size are too few.
    (tiny,) = mc.miniature(trace, "lru", ["100KiB"], rate=0.1)
    assert (tiny.rate, tiny.correction) == (1, "exact")


def test_mistakes_in_sizes() -> None:
    trace = objects([100, 50, 100, 300, 100, 50])
    with pytest.raises(ConfigError, match=r"sizes: 5: other sizes are in bytes: state its unit"):
        mc.simulate(trace, "lru", [5, "1KiB"])
    with pytest.raises(ConfigError, match=r"mru: it has no rule for objects .* these have: lru, "):
        mc.simulate(trace, "mru", ["1KiB"])
    with pytest.raises(ConfigError, match=r"1 of 6 references .* without a size, first number 3:"):
        mc.simulate(objects([100, 50, 100, 0, 100, 50]), "lru", ["1KiB"])
    with pytest.raises(ConfigError, match=r"weights\[1\]: expected the bytes of an object"):
        hits_of("lru", [1, 2], [5, 0], 10)


def test_the_table_of_compare_is_in_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mcsim.cli.main import main

    file = tmp_path / "cdn.csv"
    lines = "".join(f"{i},{i % 3},{1000 * (1 + i % 3)}\n" for i in range(30))
    file.write_text("time_s,key,size\n" + lines)
    options = ["--option", "time_unit=s", "-q"]
    main(["compare", str(file), *options, "--sizes", "3KB,100%"])
    told = capsys.readouterr().out
    assert "30 accesses to 3 objects (5.859 KiB)" in told
    assert "3,000 bytes 6,000 bytes" in told
    assert told.count("\ngdsf ") == 1
    assert "\nmru " not in told
    main(["compare", str(file), *options, "--sizes", "3KB", "--by", "bytes", "--table-format=json"])
    assert '"capacity": 3000' in capsys.readouterr().out
