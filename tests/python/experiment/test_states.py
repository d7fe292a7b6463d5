"""Runs in two halves, the second from the saved state of the first, equal one run of the whole.

Trusts: runs without states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mcsim as mc
from mcsim.base.errors import ConfigError, HostError, TraceError
from mcsim.experiment.states import state_file

HALF = 3000
INTERVALS = 6
SYSTEMS = [
    {"name": "static", "policy": "lru", "label": "lru"},
    {"name": "static", "policy": "arc", "label": "arc / behind", "writes": "back"},
    {"name": "static", "label": "nth", "admission": "nth"},
    {"name": "static", "label": "sequential", "admission": "sequential(cutoff_bytes=8192)"},
    {"name": "hierarchy", "chain": "inclusive", "writes": "back", "dirty_limit": 0.2},
    {"name": "static", "label": "flushed", "writes": "back", "flush_every": "70s"},
    "dss",
]
FIRST, SECOND = {"end": f"{HALF}s"}, {"start": f"{HALF}s"}


@pytest.fixture(scope="module", name="trace")
def make_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    count = 2 * HALF
    offsets = rng.zipf(1.3, count) % 400 + np.where(np.arange(count) < HALF, 0, 40)
    lengths, writes = rng.integers(1, 4, count), rng.random(count) < 0.3
    rows = [
        f"{i},{'ab'[i % 2]},{'RW'[write]},{offset * 4096},{length * 4096}"
        for i, (write, offset, length) in enumerate(
            zip(writes.astype(int), offsets, lengths, strict=True)
        )
    ]
    path = tmp_path_factory.mktemp("states") / "trace.csv"
    path.write_text("\n".join(["time,vm,op,offset,length", *rows]) + "\n")
    return path


def spec_of(
    trace: Path, window: Any, systems: Any, vms: str = "all", sample: Any = None, **more: Any
) -> Any:
    columns = ("time", "vm", "op", "offset", "length")
    options = {name: name for name in columns} | {"time_unit": "s"}
    vm = {"name": "{vm}", "vms": vms, "trace": str(trace), "format": "csv", "options": options}
    return {
        "name": "halves",
        "interval": "500s",
        "ops": "all",
        "workload": {"vms": [vm], "window": window, "sample": sample},
        "tiers": [{"device": "dram", "capacity": 40}, {"device": "flash", "capacity": 100}],
        "systems": systems,
    } | more


def metrics_of(results: mc.Results, name: str) -> pd.DataFrame:
    table: pd.DataFrame = results.table(name).to_pandas()
    return table


def run_halves(first: Any, second: Any, out: Path) -> tuple[mc.Results, mc.Results]:
    """Run the first half and save its states, and the second half from them."""
    states = out / "states"
    one = mc.run(first, out=out, save_state=states)
    return one, mc.run(second | {"warm_up": {"state": str(states)}}, out=out)


def expect_halves(trace: Path, out: Path, systems: Any, **more: Any) -> None:
    first, second, all_of_it = (
        spec_of(trace, window, systems, **more) for window in (FIRST, SECOND, {})
    )
    one, two = run_halves(first, second, out)
    whole = mc.run(all_of_it, out=out)
    for name in ("metrics", "vms"):
        expected = metrics_of(whole, name)
        second = metrics_of(two, name)
        second["interval"] += INTERVALS
        if "begin_ns" in second:
            second["begin_ns"] += HALF * 10**9
        for half, wanted in (
            (metrics_of(one, name), expected[expected.interval < INTERVALS]),
            (second, expected[expected.interval >= INTERVALS]),
        ):
            assert len(half) > 0
            pd.testing.assert_frame_equal(half, wanted.reset_index(drop=True))


def test_halves_of_two_vms_equal_the_whole(trace: Path, tmp_path: Path) -> None:
    expect_halves(trace, tmp_path, SYSTEMS)


def test_halves_with_delayed_hits_equal_the_whole(trace: Path, tmp_path: Path) -> None:
    tiers = [
        {"device": "dram", "capacity": 40, "delayed_hits": True},
        {"device": "flash", "capacity": 100, "delayed_hits": True},
    ]
    more = {"tiers": tiers, "backend": {"device": "hdd", "read": "90s"}}
    expect_halves(trace, tmp_path, SYSTEMS[:2], **more)
    second = spec_of(trace, SECOND, SYSTEMS[:2], warm_up={"state": str(tmp_path / "states")})
    with pytest.raises(ConfigError, match="delayed_hits"):
        mc.run(second, out=tmp_path)


def test_halves_of_sketches_equal_the_whole_for_one_vm(trace: Path, tmp_path: Path) -> None:
    expect_halves(
        trace, tmp_path, [{"name": "static", "policy": "w-tinylfu"}, *SYSTEMS[:2]], vms="a"
    )


def test_halves_of_a_sample_equal_the_whole(trace: Path, tmp_path: Path) -> None:
    expect_halves(trace, tmp_path, SYSTEMS[:1], sample="1/2", seed=7)
    second = spec_of(trace, SECOND, SYSTEMS[:1], seed=7)
    with pytest.raises(ConfigError, match=r'"sample": 0\.5'):
        mc.run(second | {"warm_up": {"state": str(tmp_path / "states")}}, out=tmp_path)


def test_text_keys_continue_in_the_same_trace_alone(tmp_path: Path) -> None:
    """Text keys are numbered in each trace."""
    keys = np.random.default_rng(5).zipf(1.3, 2 * HALF) % 300
    rows = [f"{i},k{key},100" for i, key in enumerate(keys)]

    def spec_from(name: str, rows: list[str], window: Any) -> Any:
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["time,key,length", *rows]) + "\n")
        options = {name: name for name in ("time", "key", "length")} | {"time_unit": "s"}
        vm = {"name": "a", "trace": str(path), "format": "csv", "options": options}
        return spec_of(path, window, ["lru"]) | {"workload": {"vms": [vm], "window": window}}

    first, second, whole = (spec_from("all", rows, window) for window in (FIRST, SECOND, {}))
    _, two = run_halves(first, second, tmp_path)
    hits = metrics_of(mc.run(whole, out=tmp_path), "metrics").hits
    assert metrics_of(two, "metrics").hits.tolist() == hits[len(hits) // 2 :].tolist()
    with pytest.raises(ConfigError, match='"keys"'):
        run_halves(first, spec_from("second", rows[HALF:], {}), tmp_path)


def test_an_empty_start_differs(trace: Path, tmp_path: Path) -> None:
    """The caches of the second half are full: without the state it hits less."""
    mc.run(spec_of(trace, FIRST, ["lru"]), out=tmp_path, save_state=tmp_path / "states")
    start = {"warm_up": {"state": str(tmp_path / "states")}}
    warm = mc.run(spec_of(trace, SECOND, ["lru"], **start), out=tmp_path)
    cold = mc.run(spec_of(trace, SECOND, ["lru"]), out=tmp_path)
    hits = [metrics_of(of, "metrics").query("interval == 0").hits.sum() for of in (warm, cold)]
    assert hits[0] > hits[1]
    assert warm.table("bounds").num_rows == warm.table("alone").num_rows == 0
    assert cold.table("bounds").num_rows == 1
    assert "start from a state" in (warm.path / "log.txt").read_text()


def test_the_run_id_depends_on_the_content_of_the_state(trace: Path, tmp_path: Path) -> None:
    start = {"warm_up": {"state": str(tmp_path / "states")}}
    ids = []
    for end in (HALF, HALF - 500, HALF):
        first = spec_of(trace, {"end": f"{end}s"}, ["lru"])
        mc.run(first, out=tmp_path, save_state=tmp_path / "states")
        ids.append(mc.run(spec_of(trace, SECOND, ["lru"], **start), out=tmp_path).run_id)
    assert ids[0] == ids[2] != ids[1]
    (tmp_path / "states").rename(tmp_path / "moved")
    start = {"warm_up": {"state": str(tmp_path / "moved")}}
    assert mc.run(spec_of(trace, SECOND, ["lru"], **start), out=tmp_path).run_id == ids[0]


def test_a_state_of_something_else_is_an_error(trace: Path, tmp_path: Path) -> None:
    states = tmp_path / "states"
    systems = [{"name": "static", "policy": "lru", "label": "mine"}]
    mc.run(spec_of(trace, FIRST, systems), out=tmp_path, save_state=states)

    def run_second(systems: Any = systems, **more: Any) -> None:
        start = {"warm_up": {"state": str(states)}}
        mc.run(spec_of(trace, SECOND, systems, **more, **start), out=tmp_path)

    with pytest.raises(ConfigError, match=r'"policy": "lru".*, not of .*"policy": "arc"'):
        run_second([systems[0] | {"policy": "arc"}])
    larger = [{"device": "dram", "capacity": 41}, {"device": "flash", "capacity": 100}]
    with pytest.raises(ConfigError, match=r"\[40, 100\].*, not of .*\[41, 100\]"):
        run_second(tiers=larger)
    with pytest.raises(ConfigError, match=r'"block_bytes": 4096.*, not of .*"block_bytes": 8192'):
        run_second(block_bytes="8KiB")
    with pytest.raises(ConfigError, match=r"no state of lru .*: .*lru.state: not a regular file"):
        run_second(["lru"])
    file = state_file(states, "mine")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(TraceError, match=r"mine.state: not a state .*a checksum does not match"):
        run_second()
    file.write_bytes(b"short")
    with pytest.raises(TraceError, match="it is too short"):
        run_second()


@pytest.mark.parametrize(
    ("system", "why"),
    [
        ("multicache", "it decides while it runs"),
        ("hindsight", "it knows the whole trace beforehand"),
        ("clairvoyant", "it knows the next interval beforehand"),
        ({"name": "static", "policy": "opt"}, "it knows the whole trace beforehand"),
    ],
)
def test_systems_without_a_state_are_errors(
    trace: Path, tmp_path: Path, system: Any, why: str
) -> None:
    name = system if isinstance(system, str) else system["name"]
    match = rf"systems\[1\]: the state of {name} can be neither saved nor read: {why}"
    with pytest.raises(ConfigError, match=match):
        mc.run(spec_of(trace, FIRST, ["lru", system]), out=tmp_path, save_state=tmp_path / "states")
    with pytest.raises(ConfigError, match=match):
        mc.run(
            spec_of(trace, SECOND, ["lru", system], warm_up={"state": str(tmp_path)}), out=tmp_path
        )
    assert not (tmp_path / "states").exists()


def test_other_keys_and_commands_refuse_a_state(trace: Path, tmp_path: Path) -> None:
    start: dict[str, Any] = {"warm_up": {"state": str(tmp_path)}}
    for key in ("opt", "slowdowns"):
        with pytest.raises(ConfigError, match=f"{key}: with .* caches that start empty"):
            mc.run(spec_of(trace, SECOND, ["lru"], **start, **{key: True}), out=tmp_path)
    with pytest.raises(ConfigError, match="unknown key 'window'"):
        mc.run(
            spec_of(trace, {}, ["lru"], warm_up={"state": ".", "window": {"end": "1s"}}),
            out=tmp_path,
        )
    with pytest.raises(ConfigError, match=r"save_state: .*: the run starts from it"):
        mc.run(spec_of(trace, SECOND, ["lru"], **start), out=tmp_path, save_state=tmp_path)
    with pytest.raises(ConfigError, match="warm_up: state: no file can have the name"):
        mc.run(spec_of(trace, SECOND, ["lru"], warm_up={"state": "a\0b"}), out=tmp_path)
    with pytest.raises(ConfigError, match="a miss stream cannot start from a state"):
        mc.misses(spec_of(trace, SECOND, ["lru"], **start))
    with pytest.raises(ConfigError, match="a search cannot start from a state"):
        mc.search(spec_of(trace, SECOND, ["hierarchy"], **start))


def test_runs_of_a_sweep_start_from_a_state(trace: Path, tmp_path: Path) -> None:
    first, second = (spec_of(trace, window, ["lru"]) for window in (FIRST, SECOND))
    _, warm = run_halves(first, second, tmp_path)
    start = {"warm_up": {"state": str(tmp_path / "states")}}
    grid = second | start | {"sweep": {"backend": ["hdd", "sata-ssd"]}}
    swept = mc.sweep(grid, out=tmp_path).to_arrow().to_pandas()
    assert warm.run_id in set(swept.run_id)
    assert set(swept[swept.vm.isna()].hits) == {metrics_of(warm, "metrics").hits.sum()}


def test_a_finished_run_is_replayed_to_save_its_states(trace: Path, tmp_path: Path) -> None:
    first = spec_of(trace, FIRST, ["lru"])
    before = mc.run(first, out=tmp_path)
    saved = mc.run(first, out=tmp_path, save_state=tmp_path / "states")
    assert saved.run_id == before.run_id
    assert state_file(tmp_path / "states", "lru").exists()
    long = [{"name": "lru", "label": "x" * 300}]
    mc.run(spec_of(trace, FIRST, long), out=tmp_path, save_state=tmp_path / "states")
    assert state_file(tmp_path / "states", "x" * 300).exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match="file"):
        mc.run(first, out=tmp_path, save_state=tmp_path / "file")
