"""Miss streams: what reaches the backend, block by block.

Trusts: `naive_misses`, one cache in plain Python; the counters of runs, for other hierarchies.
"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive_misses import DISCARD, NaiveCache, naive_misses, random_trace, sent_by
from small import EXPERIMENTS, tiers_of

import mcsim
from mcsim.exchange.miss_rows import MissRows
from mcsim.traces.trace import Trace

MODES = ("through", "around", "back")


def experiment(trace: Trace, folder: Path, system: dict[str, Any], **tiers: int) -> dict[str, Any]:
    return {
        "name": "misses",
        "ops": "all",
        "interval": "10us",
        "workload": {"vms": [{"trace": str(trace.save(folder / "t.arrow")), "vms": "all"}]},
        "tiers": tiers_of(**tiers),
        "systems": [system],
    }


@pytest.mark.parametrize("policy", ["lru", "fifo"])
@pytest.mark.parametrize("mode", MODES)
def test_one_cache_is_the_naive_cache(policy: str, mode: str) -> None:
    for seed in range(4):
        trace = random_trace(seed)
        shared = NaiveCache((7, 30, 90, 500)[seed], policy, mode)
        found = mcsim.misses(trace, shared.capacity, policy=policy, writes=mode)
        assert sent_by(found) == naive_misses(trace, dict.fromkeys(trace.vms, shared))
        reads = mcsim.misses(trace, shared.capacity, policy=policy, writes=mode, ops="reads")
        shared = NaiveCache(shared.capacity, policy, mode)
        assert sent_by(reads) == naive_misses(trace, dict.fromkeys(trace.vms, shared), reads=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_divided_cache_is_naive_caches(mode: str, tmp_path: Path) -> None:
    trace = random_trace(9)
    for policy in ("lru", "fifo"):
        system = {"name": "static", "policy": policy, "writes": mode}
        found = mcsim.misses(experiment(trace, tmp_path, system, dram=60))
        caches = {vm: NaiveCache(20, policy, mode) for vm in trace.vms}
        assert sent_by(found) == naive_misses(trace, caches)


def test_neighbouring_blocks_of_a_request_are_one_row() -> None:
    trace = Trace.from_arrays([5, 6, 9], [0, 4096, 0], [12288, 4096, 20480], op=[0, 0, 1])
    rows = mcsim.misses(trace, 2, writes="around").to_pandas()
    assert rows[["time", "op", "offset", "length"]].to_numpy().tolist() == [
        [5, 0, 0, 12288],
        [9, 1, 0, 20480],
    ]
    # Each block that is read pushes a dirty one out, which comes between them.
    trace = Trace.from_arrays([1, 2, 3], [40960, 81920, 0], [4096, 4096, 8192], op=[1, 1, 0])
    rows = mcsim.misses(trace, 2, writes="back").to_pandas()
    assert rows[["time", "op", "offset", "length"]].to_numpy().tolist() == [
        [3, 0, 0, 4096],
        [3, 1, 40960, 4096],
        [3, 0, 4096, 4096],
        [3, 1, 81920, 4096],
    ]


def test_blocks_of_other_sizes_and_the_last_of_64_bits() -> None:
    end = 2**64
    offsets = np.array([100, end - 10], np.uint64)
    trace = Trace.from_arrays([0, 1], offsets, [9000, 9])
    rows = mcsim.misses(trace, 10, block_bytes=3000).to_pandas()
    last = (end - 10) // 3000 * 3000
    assert rows.offset.tolist() == [0, last]
    assert rows.length.tolist() == [12000, min(3000, end - 1 - last)]


def test_long_runs_are_rows_that_fit_32_bits() -> None:
    trace = Trace.from_arrays([0], [1], [2**32 - 1])
    rows = mcsim.misses(trace, 10, block_bytes="1GiB").to_pandas()
    assert rows.offset.tolist() == [0, 3 << 30]
    assert rows.length.tolist() == [3 << 30, 1 << 30]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("lru", "lru"),
        ("lru", "arc"),
        ("fifo", "s3-fifo"),
        ("arc", "2q"),
        ("2q", "lru"),
        ("s3-fifo", "fifo"),
    ],
)
@pytest.mark.parametrize("name", ["hierarchy", "static"])
@pytest.mark.parametrize(
    "writes", ["reads", "around / around", "around / back", "around / through"]
)
def test_the_second_tier_of_an_independent_chain(
    first: str, second: str, name: str, writes: str, tmp_path: Path
) -> None:
    """Where the first tier keeps no write from the second, that has the hits of its stream."""
    trace = random_trace(3)
    modes = ["through", "through"] if writes == "reads" else writes.split(" / ")
    ops = {"ops": "reads" if writes == "reads" else "all"}
    both = {"name": name, "chain": "independent", "policy": f"{first} / {second}"}
    chain = mcsim.run(
        experiment(trace, tmp_path, both | {"writes": " / ".join(modes)}, dram=30, flash=90) | ops,
        out=tmp_path / "both",
        figures=False,
    )
    alone = {"name": name, "policy": first, "writes": modes[0]}
    stream = mcsim.misses(experiment(trace, tmp_path, alone, dram=30) | ops)
    below = {"name": name, "policy": second, "writes": modes[1]}
    replayed = mcsim.run(
        experiment(stream, tmp_path, below, flash=90) | ops,
        out=tmp_path / "below",
        figures=False,
    )
    wanted = hits(chain, 1)
    assert wanted == hits(replayed, 0)
    assert sum(wanted.values()) > 100


def hits(results: mcsim.Results, tier: int) -> dict[tuple[str, str], int]:
    """Hits of reads and of writes, by VM."""
    rows = results.metrics().to_arrow().to_pylist()
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        if row["tier"] != tier:
            continue
        for op, count in (("read", row["hits"] - row["write_hits"]), ("write", row["write_hits"])):
            found[row["vm"], op] = found.get((row["vm"], op), 0) + count
    return found


def counted(results: mcsim.Results) -> dict[tuple[str, str, int], int]:
    """Return the accesses of runs to the backend, by system, VM and operation."""
    found: dict[tuple[str, str, int], int] = {}
    for row in results.to_arrow("vms").to_pylist():
        if row["interval"] < results.spec.warm_up_intervals:
            continue
        for op, column in enumerate(("backend_reads", "backend_writes")):
            key = row["system"], row["vm"], op
            found[key] = found.get(key, 0) + row[column]
    return {key: count for key, count in found.items() if count}


def blocks_of(stream: Trace, system: str) -> dict[tuple[str, str, int], int]:
    """Blocks of a stream, by the system that it is of, VM and operation."""
    found: dict[tuple[str, str, int], int] = {}
    for _, vm, op, _ in sent_by(stream):
        if op != DISCARD:
            found[system, vm, op] = found.get((system, vm, op), 0) + 1
    return found


def check_counts(given: Any, folder: Path, *overrides: str) -> None:
    results = mcsim.run(given, overrides=overrides, out=folder, figures=False)
    for system in results.spec.systems:
        title = system.title
        stream = mcsim.misses(given, system=title, overrides=overrides)
        wanted = {key: count for key, count in counted(results).items() if key[0] == title}
        assert blocks_of(stream, title) == wanted, title


def test_every_system_sends_what_its_run_counts(tmp_path: Path) -> None:
    short = ("workload.window.end=90min", "interval=15min")
    check_counts(EXPERIMENTS / "all-systems.yaml", tmp_path, *short)


def test_hosts_send_what_their_run_counts(tmp_path: Path) -> None:
    check_counts(EXPERIMENTS / "migration.yaml", tmp_path, "workload.window.end=2h")


@pytest.mark.parametrize("chain", ["exclusive", "victim", "inclusive", "independent"])
def test_every_chain_sends_what_its_run_counts(chain: str, tmp_path: Path) -> None:
    trace = random_trace(5)
    given = experiment(trace, tmp_path, {}, dram=20, flash=60)
    given["warm_up"] = "10us"
    modes = [*MODES, "a=back, b=around, c=through"]
    modes += [] if chain == "exclusive" else ["through / back"]
    given["systems"] = [
        {"name": name, "label": f"{name} {policy} {mode}", "chain": chain, "policy": policy,
         "writes": mode, "flush_every": "3700ns", "dirty_limit": 0.2}
        for name in ("hierarchy", "static")
        for policy in ("lru", "arc")
        for mode in modes
    ]  # fmt: skip
    check_counts(given, tmp_path)


def test_the_loops_for_lru_send_what_the_walk_sends(tmp_path: Path) -> None:
    """`update_around` is served by the walk of all chains; it changes nothing of other modes."""
    trace = random_trace(6)
    for mode in ("through", "back"):
        system = {"name": "static", "writes": mode}
        loops, walk = (
            mcsim.misses(experiment(trace, tmp_path, system | more, dram=30, flash=60))
            for more in ({}, {"update_around": True})
        )
        assert sent_by(loops) == sent_by(walk)


def test_objects_keep_keys_and_sizes(tmp_path: Path) -> None:
    lines = ["time_s,key,size,op"]
    lines += ["0,x,10,read", "1,y,20,write", "2,x,11,read", "3,y,30,write", "4,z,5,read"]
    lines += ["5,u,6,read", "6,v,7,read"]
    (tmp_path / "o.csv").write_text("\n".join(lines))
    stream = mcsim.misses(Trace.open(tmp_path / "o.csv"), 2, writes="back")
    assert stream.kind == "objects"
    rows = stream.to_pandas()
    found = zip(rows.time, rows.op, rows.key, rows["size"], strict=True)
    second = 10**9
    assert list(found) == [
        (0, 0, "x", 10),
        (4 * second, 0, "z", 5),
        (5 * second, 0, "u", 6),
        (5 * second, 1, "y", 30),
        (6 * second, 0, "v", 7),
    ]
    stream.save(tmp_path / "m.arrow")
    assert Trace.open(tmp_path / "m.arrow").to_arrow().equals(stream.to_arrow())


def test_text_keys_of_several_traces_are_numbered_together(tmp_path: Path) -> None:
    for vm, keys in (("one", "abcd"), ("two", "dcxa")):
        rows = [f"{time},{vm},{key}" for time, key in enumerate(keys)]
        (tmp_path / f"{vm}.csv").write_text("\n".join(["time_s,vm,key", *rows]))
    given = experiment(random_trace(1), tmp_path, {"name": "lru"}, dram=2) | {"interval": "1s"}
    given["workload"] = {
        "vms": [{"trace": str(tmp_path / f"{vm}.csv"), "name": vm} for vm in ("one", "two")]
    }
    rows = mcsim.misses(given).to_pandas()
    by_vm = {vm: "".join(rows[rows.vm == vm].key) for vm in ("one", "two")}
    assert by_vm == {"one": "abcd", "two": "dcxa"}


def test_marks_and_metadata() -> None:
    stream = mcsim.misses(
        EXPERIMENTS / "tiny.yaml", system="multicache", overrides=["workload.window.end=1h"]
    )
    assert stream.metadata.synthetic
    assert stream.metadata.source == "misses of multicache, tiny"
    assert stream.vms == ("friendly", "cyclic", "scanner")
    again = mcsim.misses(
        EXPERIMENTS / "tiny.yaml", system="multicache", overrides=["workload.window.end=1h"]
    )
    assert again.digest == stream.digest


def test_byte_offsets_of_the_authors_code_stay(tmp_path: Path) -> None:
    trace = Trace.from_arrays([0, 10, 20], [512, 513, 8192], [8192, 4096, 1], source="x")
    given = experiment(trace, tmp_path, {"name": "multicache", "block_key": "byte-offset"}, dram=1)
    rows = mcsim.misses(given).to_pandas()
    assert rows.offset.tolist()[0] == 512


def test_refusals(tmp_path: Path) -> None:
    trace = random_trace(1)
    with pytest.raises(mcsim.ConfigError, match=r"^size: a trace needs a cache size"):
        mcsim.misses(trace)
    with pytest.raises(mcsim.ConfigError, match=r"^size: an experiment has its own tiers"):
        mcsim.misses(EXPERIMENTS / "tiny.yaml", 5)
    with pytest.raises(mcsim.ConfigError, match=r"^source: expected traces or an experiment"):
        mcsim.misses([])
    with pytest.raises(mcsim.ConfigError, match=r"unknown eviction policy 'lruu'.*did you mean"):
        mcsim.misses(trace, 5, policy="lruu")
    with pytest.raises(mcsim.ConfigError, match="system: name one of lru, static, multicache"):
        mcsim.misses(EXPERIMENTS / "tiny.yaml")
    with pytest.raises(mcsim.ConfigError, match=r"no 'statics' \(did you mean 'static'\?\)"):
        mcsim.misses(EXPERIMENTS / "tiny.yaml", system="statics")
    with pytest.raises(mcsim.ConfigError, match=r"workload.sample.*no miss stream"):
        mcsim.misses(EXPERIMENTS / "tiny.yaml", system="lru", overrides=["workload.sample=0.5"])


def test_a_full_disk_and_ctrl_c_leave_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = random_trace(1, count=20_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(mcsim.HostError, match=r"misses.arrow: cannot be written: "):
            mcsim.misses(trace, 50)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((folder / "cache").iterdir()) == []

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MissRows, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mcsim.misses(trace, 50)
    assert list((folder / "cache").iterdir()) == []


def test_a_real_trace(trace_dir: Path, tmp_path: Path) -> None:
    """Reads of a recorded trace in two caches, one after the other, and as a chain."""
    given: dict[str, Any] = {
        "name": "real",
        "interval": "1h",
        "workload": {"vms": ["web_3"]},
        "tiers": tiers_of(dram=500, flash=2_000),
        "systems": [{"name": "hierarchy", "chain": "independent"}],
    }
    chain = mcsim.run(given, out=tmp_path, figures=False)
    first = given | {"tiers": given["tiers"][:1], "systems": ["lru"]}
    found = mcsim.simulate(mcsim.misses(first), "lru", [2_000])
    assert found.hits.tolist() == [sum(hits(chain, 1).values())]
