"""Trusts: naive replays of prefixes (`naive_prefixes`), and brute force over divisions.

The bound is that of `prefix_replay`, which other tests compare with all contents of small caches.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive_prefixes import replay, replay_parts, replay_tiers

import mcsim as mc
from mcsim import optimizers
from mcsim.experiment.chain_checks import REFUSED

BLOCK = 4
TENANTS = ("a", "b", "c")
CAPACITY = 24
INTERVAL_S = 10.0


class Requests:
    """Random prompts of three tenants, with blocks that no other tenant has."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.chains: list[list[int]] = []
        self.tokens: list[int] = []
        self.tenants: list[int] = []
        self.times: list[float] = []
        last: dict[tuple[int, int], list[int]] = {}
        ids = iter(range(1, 1_000_000))
        first = [[next(ids) for _ in range(k + 1)] for k in range(3)]
        now = 0.0
        for _ in range(240):
            now += draw.random() / 3
            tenant = draw.choices(range(3), [3, 2, 1 + (now > 2 * INTERVAL_S) * 4])[0]
            key = tenant, draw.randrange(2 + 3 * tenant)
            base = last.get(key, first[tenant])
            chain = (base if len(base) < 12 else first[tenant]) + [
                next(ids) for _ in range(draw.randrange(1, 4))
            ]
            last[key] = chain
            self.chains.append(chain)
            self.tokens.append(len(chain) * BLOCK - draw.randrange(BLOCK))
            self.tenants.append(tenant)
            self.times.append(now)

    def write(self, path: Path) -> Path:
        rows = zip(self.chains, self.tokens, self.tenants, self.times, strict=True)
        lines = [
            {"ids": chain, "n": tokens, "tenant": TENANTS[tenant], "s": time}
            for chain, tokens, tenant, time in rows
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    @property
    def intervals(self) -> list[int]:
        """The interval of each request."""
        return [int((time - self.times[0]) // INTERVAL_S) for time in self.times]

    def of(self, tenant: int, interval: int) -> list[list[int]]:
        both = zip(self.chains, self.tenants, self.intervals, strict=True)
        return [chain for chain, of, at in both if (of, at) == (tenant, interval)]


def experiment(file: Path, systems: Sequence[Any], **more: Any) -> dict[str, Any]:
    fields = {"ids": "ids", "tokens": "n", "time": "s"}
    return {
        "name": "chains",
        "block_bytes": 1024,
        "interval": f"{INTERVAL_S:.0f}s",
        "workload": {"chains": {"file": str(file), "block_tokens": BLOCK, "fields": fields}},
        "devices": {"hbm": {"read": "1us", "write": "1us"}, "gpu": {"read": "1ms", "write": "1ms"}},
        "tiers": [{"device": "hbm", "capacity": CAPACITY}],
        "backend": "gpu",
        "systems": list(systems),
    } | more


def eager(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "resize_mode": "eager", **more}


DIVIDING = [
    {"name": "static"},
    eager("multicache", optimizer="exact"),
    eager("multicache-joint", grid=CAPACITY),
    eager("centaur", interval=f"{INTERVAL_S:.0f}s", optimizer="exact"),
]


def counts_of(results: mc.Results, system: str, name: str) -> list[list[int]]:
    """Return a count of the tables by VM or tier, by interval and tenant."""
    table = results.metrics() if name in ("hits", "target") else results.vms()
    rows = table[table.system == system]
    return [
        [int(rows[(rows.interval == at) & (rows.vm == vm)][name].sum()) for vm in TENANTS]
        for at in range(int(rows.interval.max()) + 1)
    ]


def naive_tokens(requests: Requests, hits: Sequence[int]) -> list[int]:
    return [min(n * BLOCK, tokens) for n, tokens in zip(hits, requests.tokens, strict=True)]


def summed(requests: Requests, values: Sequence[int]) -> list[list[int]]:
    sums = [[0] * len(TENANTS) for _ in range(requests.intervals[-1] + 1)]
    for at, tenant, value in zip(requests.intervals, requests.tenants, values, strict=True):
        sums[at][tenant] += value
    return sums


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_parts_hit_as_naive_replays_of_the_same_parts(tmp_path: Path, seed: int) -> None:
    requests = Requests(seed)
    file = requests.write(tmp_path / "chains.jsonl")
    results = mc.run(experiment(file, DIVIDING), out=tmp_path / "out")
    for system in (spec["name"] for spec in DIVIDING):
        targets = counts_of(results, system, "target")
        assert targets[0] == [CAPACITY // 3] * 3
        hits = replay_parts(
            requests.chains, requests.tenants, [targets[at] for at in requests.intervals]
        )
        assert counts_of(results, system, "hits") == summed(requests, hits), system
        token_bytes = 1024 // BLOCK
        tokens = np.array(summed(requests, naive_tokens(requests, hits)))
        assert (np.array(counts_of(results, system, "byte_hits")) == tokens * token_bytes).all()
        rows = results.prefix_hits()
        rows = rows[rows.system == system]
        assert rows[rows.vm == "b"].token_hits.tolist() == [tokens[:, 1].sum()]
        assert rows[rows.vm == "b"].hits.sum() == np.array(summed(requests, hits))[:, 1].sum()
        saved = np.array(summed(requests, hits)).sum() * (1e-3 - 1e-6)
        assert rows.saved_seconds[-1] == pytest.approx(saved)
        assert rows.tokens[-1] == sum(requests.tokens)


def naive_curves(requests: Requests, interval: int) -> list[list[float]]:
    """Return the hit ratio of each tenant at each capacity, in a cache that starts empty."""
    curves = []
    for tenant in range(len(TENANTS)):
        chains = requests.of(tenant, interval)
        blocks = sum(map(len, chains))
        tokens = [len(chain) * BLOCK for chain in chains]
        curves.append(
            [
                replay(chains, tokens, BLOCK, size).blocks / max(1, blocks)
                for size in range(CAPACITY + 1)
            ]
        )
    return curves


def best_sum(curves: Sequence[Sequence[float]]) -> float:
    """Return the greatest sum over all divisions, by brute force."""
    a, b, c = curves
    return max(
        a[x] + b[y] + c[CAPACITY - x - y]
        for x in range(CAPACITY + 1)
        for y in range(CAPACITY + 1 - x)
    )


@pytest.mark.parametrize("system", ["multicache", "multicache-joint", "centaur"])
def test_divisions_are_the_best_on_naive_curves(tmp_path: Path, system: str) -> None:
    requests = Requests(4)
    file = requests.write(tmp_path / "chains.jsonl")
    results = mc.run(experiment(file, DIVIDING), out=tmp_path / "out")
    targets = counts_of(results, system, "target")
    assert len({tuple(parts) for parts in targets}) > 2
    for interval in range(requests.intervals[-1]):
        curves = naive_curves(requests, interval)
        parts = targets[interval + 1]
        assert sum(parts) <= CAPACITY
        value = sum(curve[part] for curve, part in zip(curves, parts, strict=True))
        assert value == pytest.approx(best_sum(curves)), (interval, parts)


@pytest.mark.parametrize("optimizer", [entry["name"] for entry in optimizers.describe()])
def test_every_optimizer_divides_naive_curves_within_its_bound(
    tmp_path: Path, optimizer: str
) -> None:
    requests = Requests(5)
    file = requests.write(tmp_path / "chains.jsonl")
    system = eager("centaur", interval=f"{INTERVAL_S:.0f}s", optimizer=optimizer)
    results = mc.run(experiment(file, [system]), out=tmp_path / "out")
    targets = counts_of(results, "centaur", "target")
    decisions = results.decisions()
    assert len(decisions) >= 3
    assert (decisions.objective <= decisions.upper_bound + 1e-6).all()
    for interval in range(requests.intervals[-1]):
        curves = naive_curves(requests, interval)
        parts = targets[interval + 1]
        assert sum(parts) <= CAPACITY
        value = sum(curve[part] for curve, part in zip(curves, parts, strict=True))
        assert value <= best_sum(curves) + 1e-9


def test_one_cache_of_all_tenants_hits_as_naive_replays(tmp_path: Path) -> None:
    requests = Requests(6)
    file = requests.write(tmp_path / "chains.jsonl")
    tiers = [{"device": "hbm", "capacity": 7}, {"device": "hbm", "capacity": 20}]
    results = mc.run(experiment(file, ["lru", "single-tier"], tiers=tiers), out=tmp_path / "out")
    metrics = results.metrics()
    of_lru = metrics[metrics.system == "lru"]
    by_tier = [int(of_lru[of_lru.tier == tier].hits.sum()) for tier in (0, 1)]
    assert by_tier == replay_tiers(requests.chains, [7, 20])
    whole = replay(requests.chains, requests.tokens, BLOCK, 27)
    rows = results.prefix_hits()
    for system in ("lru", "single-tier"):
        last = rows[(rows.system == system) & (rows.vm == None)]  # noqa: E711
        assert (last.hits.sum(), last.token_hits.sum()) == (whole.blocks, whole.tokens)


def test_parts_of_tiers_hit_as_naive_replays(tmp_path: Path) -> None:
    requests = Requests(13)
    file = requests.write(tmp_path / "chains.jsonl")
    tiers = [{"device": "hbm", "capacity": 9}, {"device": "hbm", "capacity": 24}]
    results = mc.run(experiment(file, ["static"], tiers=tiers), out=tmp_path / "out")
    metrics = results.metrics()
    for number, vm in enumerate(TENANTS):
        chains = [
            c for c, of in zip(requests.chains, requests.tenants, strict=True) if of == number
        ]
        own = metrics[metrics.vm == vm]
        by_tier = [int(own[own.tier == tier].hits.sum()) for tier in (0, 1)]
        assert by_tier == replay_tiers(chains, [3, 8])


def test_the_bound_is_that_of_prefix_replays(tmp_path: Path) -> None:
    requests = Requests(7)
    file = requests.write(tmp_path / "chains.jsonl")
    results = mc.run(experiment(file, ["lru", *DIVIDING, "clairvoyant"]), out=tmp_path / "out")
    starts = [0, *accumulate(map(len, requests.chains))]
    flat = [block for chain in requests.chains for block in chain]
    trace = mc.ChainTrace.from_arrays(starts, flat, block_tokens=BLOCK, tokens=requests.tokens)
    (bound,) = mc.prefix_replay(trace, "bound", CAPACITY).hits.tolist()
    assert set(results.bounds().opt_hits.tolist()) == {bound}
    rows = results.prefix_hits()
    assert all(rows[rows.vm == None].hits <= bound)  # noqa: E711


def test_curves_of_tenants_are_those_of_prefixes(tmp_path: Path) -> None:
    requests = Requests(8)
    file = requests.write(tmp_path / "chains.jsonl")
    results = mc.run(experiment(file, ["static"]), out=tmp_path / "out")
    curves = results.curves()
    chains = [c for c, of in zip(requests.chains, requests.tenants, strict=True) if of == 2]
    tokens = [len(chain) * BLOCK for chain in chains]
    rows = curves[curves.vm == "c"]
    assert len(rows) > 5
    for capacity, hits in zip(rows.capacity.tolist(), rows.hits.tolist(), strict=True):
        assert hits == replay(chains, tokens, BLOCK, capacity).blocks


def test_a_warm_up_is_not_counted(tmp_path: Path) -> None:
    requests = Requests(9)
    file = requests.write(tmp_path / "chains.jsonl")
    given = experiment(file, ["static"], warm_up=f"{INTERVAL_S:.0f}s")
    results = mc.run(given, out=tmp_path / "out")
    hits = replay_parts(requests.chains, requests.tenants, [[CAPACITY // 3] * 3] * 240)
    counted = np.array(summed(requests, hits))[1:]
    rows = results.prefix_hits()
    assert rows.hits[-1] == counted.sum()
    assert results.bounds().opt_hits[0] >= rows.hits[-1]


def test_systems_either_run_or_are_refused_with_a_reason(tmp_path: Path) -> None:
    file = Requests(10).write(tmp_path / "chains.jsonl")
    runs = []
    for name in mc.system_names():
        given = experiment(file, [name])
        if name in REFUSED:
            with pytest.raises(mc.ConfigError) as refused:
                mc.run(given, out=tmp_path / "out")
            assert f"{name} does not run on chains: {REFUSED[name]}" in str(refused.value)
        else:
            assert mc.run(given, out=tmp_path / "out").prefix_hits().hits.sum() > 0
            runs.append(name)
    assert not set(REFUSED) - set(mc.system_names())
    assert {"lru", "static", "multicache", "centaur"} <= set(runs)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"ops": "all"}, "ops: not of a workload of `chains`"),
        ({"writes": "back"}, "writes: not of a workload of `chains`"),
        ({"slowdowns": True}, "slowdowns: not of a workload of `chains`"),
        ({"block_bytes": 1022}, "block_bytes: expected a multiple of the 4 tokens of a block"),
        ({"interval": "50 references"}, "chains have a clock"),
        (
            {"systems": [{"name": "static", "policy": "arc"}]},
            "policy: expected lru on chains: prefix hits are exact for LRU",
        ),
        ({"systems": [{"name": "static", "writes": "back"}]}, "a KV cache has no writes"),
        (
            {"systems": [{"name": "static", "prefetch": "readahead"}]},
            "prefetch: expected none on chains",
        ),
        (
            {"tiers": [{"device": "hbm", "capacity": 9, "delayed_hits": True}]},
            "tiers[0].delayed_hits: not on chains",
        ),
        ({"systems": ["own:Own"]}, "classes of Python do not run on chains"),
        ({"workload": {"chains": {}}}, "expected either a file or tenants"),
        ({"workload": {"chains": {"file": "absent.jsonl"}}}, "no file 'absent.jsonl'"),
    ],
)
def test_keys_that_chains_do_not_have_are_refused(
    tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    file = Requests(11).write(tmp_path / "chains.jsonl")
    with pytest.raises(mc.ConfigError) as error:
        mc.run(experiment(file, ["lru"]) | more, out=tmp_path / "out")
    assert message in str(error.value)


def test_what_needs_blocks_refuses_chains(tmp_path: Path) -> None:
    file = Requests(14).write(tmp_path / "chains.jsonl")
    given = experiment(file, ["lru"])
    with pytest.raises(mc.ConfigError, match="--save-state does not run on chains"):
        mc.run(given, out=tmp_path / "out", save_state=tmp_path / "states")
    with pytest.raises(mc.ConfigError, match="a miss stream does not run on chains"):
        mc.misses(given)
    tiers = [{"device": "hbm", "capacity": 7}, {"device": "hbm", "capacity": 20}]
    with pytest.raises(mc.ConfigError, match="a search does not run on chains"):
        mc.search(given | {"tiers": tiers, "search": {"sizes": ["10%"]}})
    with pytest.raises(mc.ConfigError, match="a search does not run on chains"):
        mc.search_settings(given)


def test_a_sweep_has_the_hits_of_runs(tmp_path: Path) -> None:
    file = Requests(15).write(tmp_path / "chains.jsonl")
    given = experiment(file, ["lru", eager("multicache", optimizer="exact")])
    swept = mc.sweep(given | {"sweep": {"tiers.0.capacity": [9, 18]}}, out=tmp_path / "sweeps")
    table = swept.to_pandas()
    for capacity in (9, 18):
        tiers = [{"device": "hbm", "capacity": capacity}]
        rows = mc.run(given | {"tiers": tiers}, out=tmp_path / "out").prefix_hits()
        cell = table[(table["tiers.0.capacity"] == capacity) & table.vm.isna()]
        for system in ("lru", "multicache"):
            (hits,) = cell[cell.system == system].hits
            assert hits == rows[(rows.system == system) & (rows.vm == None)].hits[0]  # noqa: E711


def test_generated_chains_follow_their_keys(tmp_path: Path) -> None:
    tenants = {
        "a": {"requests": 30, "sessions": 3, "instructions": 5, "turn": [2, 4], "longest": 20},
        "b": {"requests": 20, "sessions": 9, "turn": [1, 1], "longest": 3, "start": "30s"},
    }
    chains = {"tenants": tenants, "block_tokens": 16, "duration": "60s"}
    given = experiment(tmp_path, ["lru"]) | {"workload": {"chains": chains}}
    results = mc.run(given, out=tmp_path / "out")
    assert results.synthetic
    described = {trace["vm"]: trace for trace in results.environment["traces"]}
    assert described["a"]["requests"] == 30
    assert described["b"]["requests"] == 20
    vms = results.vms()
    early = vms[(vms.vm == "b") & (vms.interval < 3)]
    assert early.accesses.sum() == 0
    again = mc.run(given, out=tmp_path / "again", force=True)
    assert again.to_arrow("vms").equals(results.to_arrow("vms"))
    assert mc.run(given | {"seed": 2}, out=tmp_path / "out").run_id != results.run_id


def test_the_page_has_the_prefix_hits(tmp_path: Path) -> None:
    file = Requests(12).write(tmp_path / "chains.jsonl")
    results = mc.run(experiment(file, ["lru", "static"]), out=tmp_path / "out")
    page = mc.report(results)
    for text in ("prefix hits", "token hit %", "hit tokens", "saved"):
        assert text in page
