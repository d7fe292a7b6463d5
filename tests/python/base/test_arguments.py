"""Odd values as arguments of public functions.

Trusts: what the docstrings promise, a ConfigError or TypeError that names the argument.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcsim as mc
from mcsim.base.arguments import shortened

IDS = [1, 2, 1, 3]
VALUES = [[0, 1, 2], [0, 2, 3]]
HUGE = 10**400


def trace() -> mc.Trace:
    return mc.Trace.from_arrays([0, 1], [0, 4096], [4096, 4096], source="two")


def curve() -> mc.HitRatioCurve:
    return mc.hit_ratio_curve(IDS)


CALLS: list[tuple[Callable[..., Any], str, list[Any]]] = [
    (lambda **odd: mc.estimate(IDS, **odd), "seed", [None, "x", -1, 2**64, HUGE, 1.5]),
    (lambda **odd: mc.estimate(IDS, **odd), "threads", ["x", 0, HUGE, 1.5, True]),
    (lambda **odd: mc.estimate(IDS, **odd), "block_bytes", ["x", 0, 2**32, HUGE]),
    (lambda **odd: mc.estimate(IDS, **odd), "estimator", [None, 1, [], "\ud800"]),
    (lambda **odd: mc.estimate(IDS, "shards", **odd), "rate", [None, [], HUGE, "\ud800"]),
    (lambda **odd: mc.estimate(IDS, **odd), "ops", ["x", [[1], [2, 3]]]),
    (
        lambda **odd: mc.estimate(IDS, **odd),
        "times",
        ["x", [[1], [2, 3]], np.full(4, 2**64 - 1, "u8")],
    ),
    (
        lambda **odd: mc.simulate(IDS, "lru", **odd),
        "sizes",
        [5, None, np.array(3), range(10**30), ["9" * 9999], [HUGE], ["\ud800"], [None]],
    ),
    (lambda **odd: mc.simulate(IDS, "lru", [2], **odd), "seed", [None, "x", -1, 2**64, HUGE]),
    (lambda **odd: mc.simulate(IDS, "lru", [2], **odd), "warm_up", [None, "x", -1, HUGE]),
    (lambda **odd: mc.simulate(IDS, "lru", [2], **odd), "memory", ["x", -1, HUGE, []]),
    (lambda **odd: mc.simulate_lines(IDS, "lru", [2], **odd), "line", [None, "x", 0, HUGE]),
    (lambda **odd: mc.miniature(IDS, "lru", [2], **odd), "rate", [None, "x", 0, HUGE, np.nan]),
    (lambda **odd: mc.miniature(IDS, "lru", [2], **odd), "seeds", [None, "x", [None], [-1], HUGE]),
    (lambda **odd: mc.miniature(IDS, "lru", [2], **odd), "min_blocks", [None, "x", -1, HUGE]),
    (lambda **odd: mc.miniature(IDS, "lru", [2], **odd), "correction", [None, [], 1]),
    (lambda **odd: mc.tune(trace(), "64KiB", **odd), "rate", [None, "x", -1, HUGE]),
    (lambda **odd: mc.tune(trace(), "64KiB", **odd), "policies", [None, 1, [1]]),
    (lambda **odd: mc.tune(trace(), "64KiB", **odd), "block_bytes", [None, 1, "4KiB", []]),
    (lambda **odd: mc.tune(trace(), "64KiB", **odd), "writes", [None, 1, [1], [[]]]),
    (lambda **odd: mc.tune(trace(), "64KiB", **odd), "tier", [None, 1, []]),
    (lambda **odd: mc.tune(trace(), "64KiB", **odd), "objective", [None, 1, []]),
    (lambda **odd: mc.optimize(VALUES, 2, **odd), "sizes", [[], [[0, 1, 2]], [HUGE], [0, 1]]),
    (lambda **odd: mc.optimize(VALUES, 2, **odd), "lowest", [[1.5, 0], [np.inf, 0], [HUGE, 0]]),
    (lambda **odd: mc.optimize(VALUES, 2, **odd), "highest", [[1.5, 0], [np.inf, 0], [HUGE, 0]]),
    (lambda **odd: mc.optimize(VALUES, 2, **odd), "seed", [None, "x", -1, 2**64]),
    (lambda values: mc.optimize(values, 2), "values", [np.empty((0, 0)), np.empty((2, 0)), [HUGE]]),
    (lambda **odd: mc.mix({"a": IDS}, [2], order="rates", **odd), "units", [None, "x", 0, HUGE]),
    (
        lambda **odd: mc.what_if({"a": IDS}, 2, order="rates", **odd),
        "to",
        ["+1.2.3%", "+" + "9" * 400 + "%"],
    ),
    (lambda **odd: mc.what_if({"a": IDS}, 2, order="rates", **odd), "leaving", [1, [1], [[]]]),
    (lambda **odd: mc.what_if({"a": IDS}, 2, **odd), "order", [None, 1, [], "times"]),
    (lambda **odd: curve().knees(**odd), "count", [None, "x", -1, HUGE]),
    (lambda **odd: curve().knees(**odd), "tolerance", [None, "x", -1, np.nan]),
    (lambda **odd: curve().capacity_for(**odd), "ratio", [None, "x", -1, np.nan, []]),
    (lambda **odd: curve().mae(**odd), "other", [None, 1, IDS]),
    (lambda **odd: curve().merge(**odd), "others", [None, 1, IDS]),
    (lambda **odd: mc.HitRatioCurve.from_arrow(**odd), "table", [None, 1]),
    (
        lambda **odd: mc.HitRatioCurve([1], accesses=2, **odd),
        "hits",
        [["x"], [None], [np.nan], "x"],
    ),
    (lambda **odd: mc.HitRatioCurve([1], [1], **odd), "accesses", ["x", None, -1, np.nan]),
    (
        lambda **odd: mc.ResultTable(**odd),
        "columns",
        [None, "x", {"a": [[1], [2, 3]]}, {}, {"a": [1], "b": [1, 2]}, {"a": 1}],
    ),
    (
        lambda **odd: mc.Trace.from_arrays([0], [0], **odd),
        "length",
        [[[1], [2, 3]], "x", [None], [HUGE]],
    ),
    (
        lambda **odd: mc.Trace.from_arrays([0], [0], [1], **odd),
        "vms",
        [None, 1, "vm", [1], ["\ud800"]],
    ),
    (lambda **odd: mc.Trace.from_arrays([0], [0], [1], **odd), "time_base", [None, 1, "sundial"]),
    (lambda **odd: mc.Trace.from_arrays([0], [0], [1], **odd), "source", [None, 1, "\ud800"]),
    (
        lambda **odd: mc.Trace.from_arrow(trace().to_arrow(), **odd),
        "on_bad_line",
        [None, 1, "ignore"],
    ),
    (
        lambda **odd: mc.Trace.from_arrow(trace().to_arrow(), **odd),
        "on_unsorted",
        [None, 1, "ignore"],
    ),
    (lambda **odd: mc.Trace.from_pandas(**odd), "frame", [None, 1, "x"]),
    (lambda **odd: mc.Trace.from_polars(**odd), "frame", [None, 1, "x"]),
    (lambda **odd: mc.Trace.open(**odd), "path", [None, 1, "a\0b", "\ud800"]),
    (lambda **odd: mc.Trace.open("x", **odd), "format", [1, [], "\ud800"]),
    (lambda **odd: mc.Trace.open("x", **odd), "options", [1, "x", {"time": HUGE}]),
    (lambda **odd: mc.Trace.open("x", **odd), "on_bad_line", [None, 1, []]),
    (lambda **odd: trace().slice(**odd), "start", ["x", 1.5, np.nan, HUGE]),
    (lambda **odd: trace().info(**odd), "block_bytes", [None, "x", 1.5, 2**64]),
    (lambda **odd: trace().blocks(**odd), "line", [None, "x", 0, 2**64]),
    (lambda **odd: trace().blocks(**odd), "vms", [1, [1], [[]]]),
    (lambda **odd: trace().save(**odd), "path", [None, 1, "a\0b.csv", "\ud800.csv"]),
    (lambda **odd: mc.Blocks.of(**odd), "traces", [None, 1, [], [1]]),
    (lambda **odd: mc.load_policies(**odd), "library", [None, 1, "a\0b", "\ud800"]),
    (lambda **odd: mc.run({}, **odd), "out", [None, 1, "a\0b", "\ud800"]),
    (lambda **odd: mc.reproduce("none", **odd), "out", [None, 1, "a\0b"]),
    (lambda **odd: mc.Results.open(**odd), "path", [None, 1, "a\0b", "\ud800"]),
    (lambda **odd: mc.Sweep.open(**odd), "path", [None, 1, "a\0b", "\ud800"]),
    (lambda **odd: mc.report("none", **odd), "html", [1, "a\0b", "\ud800"]),
]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        pytest.param(call, name, value, id=f"{number}-{name}-{at}")
        for number, (call, name, values) in enumerate(CALLS)
        for at, value in enumerate(values)
    ],
)
def test_odd_values_are_refused_in_words(
    call: Callable[..., Any], name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((mc.ConfigError, TypeError)) as caught:
        call(**{name: value})
    message = str(caught.value)
    if isinstance(caught.value, TypeError):
        assert message.startswith(f"{name}: ")
    assert "incompatible function arguments" not in message
    assert len(message) < 2000
    message.encode()


def test_folders_of_traces_are_a_list(tmp_path: Path) -> None:
    with pytest.raises(mc.ConfigError, match="trace_dirs: expected a list of folders, got '/tmp'"):
        mc.run({"name": "x", "workload": {}, "systems": ["lru"]}, trace_dirs="/tmp", out=tmp_path)


def test_sizes_may_be_integers_of_numpy() -> None:
    rows = mc.simulate(IDS, "lru", np.array([1, 2]))
    assert rows.capacity.tolist() == [1, 2]


def test_masked_elements_and_lengths_of_time_are_no_ids() -> None:
    with pytest.raises(mc.ConfigError, match="ids: an element is masked"):
        mc.hit_ratio_curve(np.ma.array(IDS, mask=[0, 0, 1, 0]))
    with pytest.raises(TypeError, match="ids: expected integers, got timedelta64"):
        mc.hit_ratio_curve(np.array(IDS, "m8[ms]"))


def test_times_that_do_not_fit_are_refused() -> None:
    for odd in (["NaT"] * 4, ["3000-01-01"] * 4):
        with pytest.raises(mc.ConfigError, match=r"times\[0\]: "):
            mc.estimate(IDS, "exact", times=np.array(odd, "M8[D]"))
    with pytest.raises(mc.ConfigError, match="more than 63 bits hold"):
        mc.estimate(IDS, "exact", times=[-(2**63), 0, 1, 2**63 - 1])


def test_values_in_messages_are_short() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shortened(Odd()) == "<Odd>"
    assert shortened(10**10_000).startswith("0x")
    assert len(shortened(10**10_000)) == 60
