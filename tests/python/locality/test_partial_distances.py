# Trusts: the exact curve of the whole stream; Mattson's stack as a Python list.
from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcsim.base.errors import ConfigError, TraceError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import estimate, hit_ratio_curve
from mcsim.locality.partial import PartialDistances, analyse, merge

untimed = settings(deadline=None)  # it does not depend on the load of the machine
streams = st.integers(0, 30).flatmap(lambda most: st.lists(st.integers(0, most), max_size=200))


def assert_same(found: HitRatioCurve, expected: HitRatioCurve) -> None:
    assert found.accesses == expected.accesses
    np.testing.assert_array_equal(found.capacities, expected.capacities)
    np.testing.assert_array_equal(found.hits, expected.hits)


def below(limit: int, ids: list[int]) -> HitRatioCurve:
    """The exact curve without the steps beyond a limit."""
    whole = hit_ratio_curve(ids)
    return whole.resampled(whole.capacities[whole.capacities <= limit]) if limit else whole


@untimed
@given(streams, st.lists(st.integers(0, 200), max_size=6), st.integers(0, 12))
def test_any_cuts_give_the_whole(ids: list[int], cuts: list[int], limit: int) -> None:
    ends = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    pieces = [
        analyse(np.array(ids[begin:end], np.uint64), limit=limit) for begin, end in pairwise(ends)
    ]
    from_left = reduce(merge, pieces)
    from_right = reduce(lambda right, left: merge(left, right), reversed(pieces))
    assert from_left == from_right == analyse(ids, limit=limit)
    assert (from_left.accesses, from_left.limit) == (len(ids), limit)
    assert_same(from_left.curve(), below(limit, ids))


def test_a_curve_says_what_is_known() -> None:
    ids = [1, 2, 3, 1, 2, 3]
    exact = analyse(ids).curve(block_bytes=4096)
    assert (exact.estimator, exact.distinct, exact.block_bytes) == ("parda", 3.0, 4096)
    bounded = analyse(ids, limit=2).curve()
    assert (bounded.estimator, bounded.distinct) == ("parda(limit=2)", None)
    assert_same(bounded, estimate(ids, "parda", limit=2))
    assert bounded.best_ratio == 0, "all distances are 2"


def test_copies_are_equal() -> None:
    partial = analyse([5, 6, 5], limit=7)
    ways: list[Callable[[PartialDistances], PartialDistances]] = [
        copy.copy,
        copy.deepcopy,
        lambda p: pickle.loads(pickle.dumps(p)),
        lambda p: PartialDistances.from_bytes(p.to_bytes()),
    ]
    for way in ways:
        assert way(partial) == partial
    assert partial != analyse([5, 6, 5])
    assert partial != "another thing"
    assert repr(partial) == "<PartialDistances of 3 accesses, distances below 7>"
    with pytest.raises(TypeError, match="unhashable"):
        hash(partial)


def test_narrow_keys_are_the_same_keys() -> None:
    ids = np.array([7, 8, 7], np.uint32)
    assert analyse(ids) == analyse(ids.astype(np.int64)) == analyse([7, 8, 7])


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigError, match="limit: must be 0"):
        analyse([1], limit=-1)
    with pytest.raises(ConfigError, match="limit 5 cannot be merged with those of limit 0"):
        merge(analyse([1], limit=5), analyse([1]))
    with pytest.raises(TraceError, match="not partial distances"):
        PartialDistances.from_bytes(b"time,vm,op,offset")
    damaged = bytearray(analyse([1, 2, 1]).to_bytes())
    damaged[-20] ^= 1
    with pytest.raises(TraceError, match="damaged"):
        PartialDistances.from_bytes(bytes(damaged))


def test_processes_of_their_own_give_the_same_bits() -> None:
    random = np.random.default_rng(4)
    ids = (random.random(40_000) ** 3 * 9000).astype(np.uint64)
    pieces = np.array_split(ids, [1, 5000, 5000, 17_000, 39_000])
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as processes:
        partials = list(processes.map(analyse, pieces))
        while len(partials) > 1:
            odd = partials[len(partials) // 2 * 2 :]
            partials = [*processes.map(merge, partials[:-1:2], partials[1::2]), *odd]
    assert partials[0].to_bytes() == analyse(ids).to_bytes()
    assert_same(partials[0].curve(), hit_ratio_curve(ids))
