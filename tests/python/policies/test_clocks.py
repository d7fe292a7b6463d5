"""Trusts: a constant number of accesses per second, whose times are those of a trace with them."""

from __future__ import annotations

import numpy as np
import pytest

import mcsim as mc
from mcsim.base.errors import ConfigError

WITH_CLOCK = ("sampled-lru", "sampled-lfu", "lru2q", "midpoint")
RATE = 8
"""Accesses per second: with so few, every policy differs from its default."""


def some_trace(time_base: str = "clock") -> mc.Trace:
    """Return reads of blocks of which the low ones come more often, at a constant rate."""
    draws = np.random.default_rng(4).random(20_000)
    keys = (2000 * draws**3).astype(np.int64)
    keys[::3] = 5000 + np.arange(len(keys[::3])) % 1000
    times = (np.arange(len(keys), dtype=np.int64) + 1) * 1_000_000_000 // RATE
    if time_base == "index":
        times = np.arange(len(keys), dtype=np.int64)
    return mc.Trace.from_arrays(times, keys * 4096, 4096, time_base=time_base)


@pytest.mark.parametrize("policy", WITH_CLOCK)
def test_a_rate_of_zero_takes_the_times_of_the_trace(policy: str) -> None:
    policies = [f"{policy}(rate=0)", f"{policy}(rate={RATE})", policy]
    rows = mc.simulate(some_trace(), policies, [600])
    assert rows.hits[0] == rows.hits[1]
    assert rows.hits[0] != rows.hits[2]


@pytest.mark.parametrize("policy", WITH_CLOCK)
def test_samples_have_the_times_of_their_accesses(policy: str) -> None:
    rows = mc.miniature(some_trace(), f"{policy}(rate=0)", [600], rate=0.5, seeds=1)
    assert 0 < rows.hit_ratio[0] < 1


def test_without_times_the_rate_must_be_stated() -> None:
    message = r"lru2q: it reads the time, which the trace does not have"
    for references in (some_trace("index"), [1, 2, 1]):
        with pytest.raises(ConfigError, match=message):
            mc.simulate(references, "lru2q(rate=0)", [2])
        assert mc.simulate(references, "lru2q", [2]).accesses[0] > 0


def test_wrappers_refuse_it() -> None:
    with pytest.raises(ConfigError, match="midpoint reads the time of accesses"):
        mc.simulate(some_trace(), "shards(n=2,policy=midpoint(rate=0))", [100])
