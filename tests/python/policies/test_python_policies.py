# Trusts: the built-in policies, of which the same are written in Python.
"""Eviction policies written in Python."""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML
from small import ROOT, small_experiment

import mcsim as mc
from mcsim.base.errors import ConfigError

COUNTED = ["capacity", "accesses", "hits", "writes", "write_hits", "evictions"]


def trace(length: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(3)
    keys = (2000 * rng.random(length) ** 3).astype(np.int64)
    keys[::7] = 10_000 + np.arange(len(keys[::7])) % 300
    return keys


def _example() -> Any:
    spec = importlib.util.spec_from_file_location(
        "python_policies_example", ROOT / "examples" / "python_policies.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLE = _example()
Lru, Fifo, Lfu, Clock = EXAMPLE.Lru, EXAMPLE.Fifo, EXAMPLE.Lfu, EXAMPLE.Clock


class Ordered(mc.Policy):
    """LRU and FIFO, one access at a time."""

    def __init__(self, recency: bool = True) -> None:
        self.recency = recency

    def start(self, capacity: int, seed: int) -> None:
        self.order: OrderedDict[int, None] = OrderedDict()

    def accessed(self, slots: Any, blocks: Any, hits: Any) -> None:
        for slot, hit in zip(slots.tolist(), hits.tolist(), strict=True):
            self.order[slot] = None
            if self.recency or not hit:
                self.order.move_to_end(slot)

    def victims(self, count: int) -> int:
        return self.order.popitem(last=False)[0]


class Counting(mc.Policy):
    """LFU: of equals the least recently used."""

    def start(self, capacity: int, seed: int) -> None:
        self.count = np.zeros(capacity, np.int64)
        self.last = np.zeros(capacity, np.int64)
        self.now = 0

    def accessed(self, slots: Any, blocks: Any, hits: Any) -> None:
        for slot, hit in zip(slots.tolist(), hits.tolist(), strict=True):
            self.now += 1
            self.count[slot] = self.count[slot] + 1 if hit else 1
            self.last[slot] = self.now

    def victims(self, count: int) -> np.ndarray:
        return np.lexsort((self.last, self.count))[:1]


class Mru(mc.PriorityPolicy):
    rising = False

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return -last


@pytest.mark.parametrize(
    ("policy", "same"),
    [
        (Ordered, "lru"),
        (functools.partial(Ordered, recency=False), "fifo"),
        (Counting, "lfu"),
        (Lru, "lru"),
        (Fifo, "fifo"),
        (Lfu, "lfu"),
        (Mru, "mru"),
    ],
)
def test_hits_as_the_built_in_one(policy: Any, same: str) -> None:
    keys = trace(8000)
    sizes = [1, 2, 30, 300, 5000]
    ops = np.arange(len(keys)) % 3 == 0
    ours = mc.simulate(keys, policy, sizes, ops=ops, threads=2)
    theirs = mc.simulate(keys, same, sizes, ops=ops)
    assert ours[COUNTED].tolist() == theirs[COUNTED].tolist()


def test_names_classes_objects_and_functions_together() -> None:
    named = Ordered(recency=False)
    named.name = "my-fifo"
    rows = mc.simulate(trace(2000), [Lru, "lru,fifo", named, lambda: Ordered()], [10, 50])
    assert rows.policy.tolist()[::2] == ["Lru", "lru", "fifo", "my-fifo", "Ordered"]
    assert rows.hits[0:2].tolist() == rows.hits[2:4].tolist()
    assert rows.hits[4:6].tolist() == rows.hits[6:8].tolist()
    assert not hasattr(named, "order"), "each cache has a copy"


def test_clock_is_exact_one_victim_at_a_time_and_close_many() -> None:
    keys = trace()
    exact = mc.simulate(keys, "clock", [10, 100, 1000])
    one = mc.simulate(keys, Clock(1), [10, 100, 1000])
    many = mc.simulate(keys, Clock(10), [10, 100, 1000])
    assert one.hits.tolist() == exact.hits.tolist()
    assert np.allclose(many.hits[1:], exact.hits[1:], rtol=0.03)


def test_the_seed_and_blocks_are_told() -> None:
    seen: list[Any] = []

    class Curious(Ordered):
        def start(self, capacity: int, seed: int) -> None:
            super().start(capacity, seed)
            seen.append((capacity, seed))

        def accessed(self, slots: Any, blocks: Any, hits: Any) -> None:
            super().accessed(slots, blocks, hits)
            assert (slots.dtype, blocks.dtype, hits.dtype) == (np.int64, np.int64, np.bool_)
            seen.append((slots.tolist(), blocks.tolist(), hits.tolist()))

    mc.simulate([70, 80, 70, 90, 80], Curious, [2], seed=9)
    assert seen == [
        (2, 9),
        ([0, 1, 0], [0, 1, 0], [False, False, True]),
        ([1], [2], [False]),
    ]


class Broken(mc.PriorityPolicy):
    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        raise RuntimeError("on purpose")


@pytest.mark.parametrize("threads", [1, 2])
def test_exceptions_come_out_with_their_traceback(threads: int) -> None:
    with pytest.raises(RuntimeError, match="on purpose") as caught:
        mc.simulate(trace(), ["lru", Broken, Lru, Broken], [10, 20], threads=threads)
    functions = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert functions[-1] == "priority"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (2**70, f"Wrong.victims: expected slots, whole numbers, got {2**70}"),
        (99, r"Wrong.victims: returned slot 99 as a victim; the cache has slots 0 to 9"),
        ([], r"Wrong.victims: returned 0 victims; expected 1"),
        ([1, 2], r"Wrong.victims: returned 2 victims; expected 1"),
        ([0.5], r"Wrong.victims: expected slots, whole numbers, got \[0.5\]"),
        (None, r"Wrong.victims: expected slots, whole numbers, got None"),
        ([[1]], r"Wrong.victims: expected slots, whole numbers, got \[\[1\]\]"),
    ],
)
def test_wrong_victims(answer: Any, message: str) -> None:
    class Wrong(Ordered):
        def victims(self, count: int) -> Any:
            return answer

    with pytest.raises(ConfigError, match=message):
        mc.simulate(trace(), [Wrong], [10])


def test_a_victim_twice() -> None:
    class Wrong(Ordered):
        ahead = 3

        def victims(self, count: int) -> Any:
            return [count, count]

    with pytest.raises(ConfigError, match=r"Wrong.victims: returned slot 3 as a victim twice"):
        mc.simulate(trace(), [Wrong], [10])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones(3), r"Wrong.priority: expected an array of shape \(\d+,\), got \(3,\)"),
        ("first", "Wrong.priority: expected numbers, got 'first'"),
        (None, "Wrong.priority: expected numbers, got None"),
        (float("nan"), "Wrong.priority: is not a number for accesses=1, last=0, inserted=0, now=0"),
    ],
)
def test_wrong_priorities(answer: Any, message: str) -> None:
    class Wrong(mc.PriorityPolicy):
        def priority(self, *known: Any) -> Any:
            return answer

    with pytest.raises(ConfigError, match=message):
        mc.simulate(trace(), [Wrong], [10])


def test_a_number_is_the_priority_of_all() -> None:
    class Constant(mc.PriorityPolicy):
        def priority(self, *known: Any) -> float:
            return 0.0

    ours = mc.simulate(trace(), [Constant, "lru"], [100])
    assert ours.hits[0] == ours.hits[1], "of equals the least recently used leaves"


def test_one_that_does_not_rise_must_say_so() -> None:
    class Falling(Mru):
        rising = True

    with pytest.raises(ConfigError, match=r"Falling.priority: fell from -\d+ to -\d+ with access"):
        mc.simulate(trace(), [Falling], [100])


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"ahead": 0}, "Odd.ahead: expected a whole number from 1 on, got 0"),
        ({"ahead": True}, "Odd.ahead: expected a whole number from 1 on, got True"),
        ({"ahead": 2**70}, f"Odd.ahead: expected a whole number from 1 on, got {2**70}"),
        ({"ahead": "two"}, "Odd.ahead: expected a whole number from 1 on, got 'two'"),
    ],
)
def test_wrong_attributes(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mc.simulate(trace(), [type("Odd", (Ordered,), attributes)], [10])


def test_wrong_refresh() -> None:
    with pytest.raises(ConfigError, match=r"Odd.refresh: expected a whole number from 1 on, got 0"):
        mc.simulate(trace(), [type("Odd", (Lru,), {"refresh": 0})], [10])


@pytest.mark.parametrize("given", [3, object, lambda: "lru"])
def test_what_is_no_policy(given: Any) -> None:
    with pytest.raises(ConfigError, match="policies: expected a name, or a class or object"):
        mc.simulate(trace(), [given], [10])


def test_miniatures_and_memory() -> None:
    keys = trace(30_000)
    python, built_in = (
        mc.miniature(keys, policy, [500], rate=0.5, seeds=2) for policy in (Lfu, "lfu")
    )
    assert python.hit_ratio.tolist() == built_in.hit_ratio.tolist()
    (needed,) = mc.memory_needed(keys, Lfu, [500]).bytes
    assert needed > 500 * 32


def test_a_class_may_have_a_built_in_policy_s_name() -> None:
    misnamed = type("lru", (Fifo,), {})
    rows = mc.simulate(trace(3000), misnamed, list(range(10, 200, 10)))
    assert (
        rows.hits.tolist() == mc.simulate(trace(3000), "fifo", rows.capacity.tolist()).hits.tolist()
    )


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    EXAMPLE.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    ratios = {row[0]: row[1] for row in rows}
    assert all(ratios[name] == ratios[name.lower()] for name in ("Lru", "Fifo", "Lfu"))


def test_values_that_age() -> None:
    class Hyperbolic(mc.PriorityPolicy):
        refresh = 1

        def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
            return accesses / (now + 1 - inserted)

    keys = trace(4000).tolist()
    capacity = 60
    held: dict[int, list[int]] = {}  # accesses, last, inserted
    hits = 0
    for now, key in enumerate(keys):
        if key in held:
            hits += 1
            held[key] = [held[key][0] + 1, now, held[key][2]]
            continue
        if len(held) == capacity:
            del held[min(held, key=lambda k: (held[k][0] / (now + 1 - held[k][2]), held[k][1]))]
        held[key] = [1, now, now]
    assert mc.simulate(keys, Hyperbolic, [capacity]).hits.tolist() == [hits]
    Hyperbolic.refresh = 5
    (now_and_then,) = mc.simulate(keys, Hyperbolic, [capacity]).hits
    assert now_and_then == pytest.approx(hits, rel=0.02)


def test_progress_may_stop_it() -> None:
    def stop(done: int) -> None:
        raise InterruptedError

    keys = np.arange(2_000_000, dtype=np.uint64) % 100
    for threads in (1, 2):
        with pytest.raises(InterruptedError):
            mc.simulate(keys, [Lru, "lru", Fifo], [10, 200], threads=threads, progress=stop)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_it(threads: int) -> None:
    script = """
import sys
import numpy as np
import mcsim as mc

class Slow(mc.Policy):
    def accessed(self, slots, blocks, hits):
        pass
    def victims(self, count):
        print("at work", flush=True)
        for _ in range(2_000_000):
            pass
        return 0

try:
    mc.simulate(np.arange(1000), [Slow] * 2, [10], threads=int(sys.argv[1]))
except KeyboardInterrupt:
    print("stopped")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(threads)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("at work")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "stopped"


def test_other_threads_of_python_go_on() -> None:
    counted = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1

    other = threading.Thread(target=count)
    other.start()
    before = counted
    mc.simulate(trace(200_000), [Ordered], [10])
    after = counted
    stop.set()
    other.join()
    assert after > before


IN_TIERS = textwrap.dedent("""\
    import mcsim
    from collections import OrderedDict


    class Last(mcsim.PriorityPolicy):
        def priority(self, accesses, last, inserted, now):
            return last


    class Deaf(mcsim.Policy):
        def start(self, capacity, seed):
            self.order = OrderedDict()

        def accessed(self, slots, blocks, hits):
            for slot in slots.tolist():
                self.order[slot] = None
                self.order.move_to_end(slot)

        def victims(self, count):
            return self.order.popitem(last=False)[0]


    class Ordered(Deaf):
        def removed(self, slots):
            for slot in slots.tolist():
                del self.order[slot]

        def resized(self, capacity):
            assert len(self.order) >= 0


    class Broken(Ordered):
        def victims(self, count):
            raise ZeroDivisionError("in a tier")


    class Halves:
        data_path = {"policy": "my_tiers:Ordered"}
        resize_mode = "eager"

        def allocate(self, seen):
            return seen.current[:, ::-1]


    class NoPolicy:
        pass
    """)


def in_tiers(tmp_path: Path, *systems: Any, **changes: Any) -> Any:
    (tmp_path / "my_tiers.py").write_text(IN_TIERS)
    spec = small_experiment(
        *systems, tiers={"dram": 40, "flash": 160}, name="tiers", interval="30min", ops="all"
    )
    path = tmp_path / "spec.yaml"
    YAML().dump(spec | changes, path)
    return mc.run(path, out=tmp_path / "results", figures=False, threads=2, allow_code=True)


def of_system(results: Any, system: str) -> Any:
    return results.to_polars("metrics").filter(system=system).drop("system")


def test_in_tiers_they_are_the_policies_that_they_imitate(tmp_path: Path) -> None:
    def lru(policy: str, **params: str) -> dict[str, str]:
        return {"name": "hierarchy", "label": policy + str(params), "policy": policy} | params

    for params in ({}, {"chain": "inclusive", "writes": "back"}):
        policies = [
            "lru()",
            "my_tiers:Last",
            "my_tiers:Ordered",
            "lru / my_tiers:Ordered",
            "my_tiers:Last / lru",
            "talus(policy=my_tiers:Ordered)",
            "switching(candidates=my_tiers:Last+my_tiers:Ordered,epoch=500)",
        ]
        results = in_tiers(tmp_path, *(lru(policy, **params) for policy in policies))
        theirs = of_system(results, "lru()" + str(params))
        assert theirs["hits"].sum() > 1000
        for policy in policies[1:]:
            assert of_system(results, policy + str(params)).equals(theirs), policy
    divided = in_tiers(
        tmp_path,
        {"name": "multicache", "label": "built in", "policy": "lru()", "grid": 20},
        {"name": "multicache", "label": "in Python", "policy": "my_tiers:Ordered", "grid": 20},
        "my_tiers:Halves",
    )
    assert of_system(divided, "in Python").equals(of_system(divided, "built in"))
    assert of_system(divided, "my_tiers:Halves")["hits"].sum() > 0
    assert "my_tiers:Ordered" in divided.environment["code"]


def test_in_tiers_their_mistakes_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"raised ZeroDivisionError: in a tier \(.*py:34\)$"):
        in_tiers(tmp_path, {"name": "hierarchy", "policy": "my_tiers:Broken / lru"})
    with pytest.raises(ConfigError, match=r"Deaf: here blocks leave that it did not choose.*remo"):
        in_tiers(tmp_path, {"name": "hierarchy", "policy": "lru / my_tiers:Deaf"})
    # In the fastest of exclusive tiers no block leaves in that way.
    in_tiers(tmp_path, {"name": "hierarchy", "policy": "my_tiers:Deaf / lru"})
    refused = r"spec.yaml:\d+: systems\[0\]: my_tiers:NoPolicy does not derive from mcsim.Policy"
    with pytest.raises(ConfigError, match=refused):
        in_tiers(tmp_path, {"name": "hierarchy", "policy": "my_tiers:NoPolicy"})
    with pytest.raises(ConfigError, match=r"no class 'Orderd' in my_tiers \(did you mean 'Ordered"):
        in_tiers(tmp_path, {"name": "hierarchy", "policy": "my_tiers:Orderd"})
    assert not [name for name in mc.policy_names() if ":" in name]
