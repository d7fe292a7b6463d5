# Trusts: LRU curves measured apart from any cache; a sequence worked by hand; the file system;
# and that what must not matter (threads, interruptions, places) changes no byte.
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from commands import environment
from complaints import complaint
from ruamel.yaml import YAML
from small import TINY, small_experiment, tiers_of

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter, Stage
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import run
from mcsim.references.opened import open_workload
from mcsim.results import models, tables
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS
from mcsim.traces.synth import synth_trace

yaml = YAML()


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MCSIM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def tiny(**changes: Any) -> dict[str, Any]:
    given = small_experiment(
        "lru",
        {"name": "lru", "label": "lru-legacy", "legacy": True},
        "static",
        {"name": "multicache", "grid": 20},
        {"name": "multicache", "label": "multicache-legacy", "legacy": True, "grid": 20},
        "single-tier",
        tiers={"dram": 400, "flash": 1600},
        interval="30min",
    )
    return given | changes


def write_keys(folder: Path, name: str, keys: list[int]) -> Path:
    path = folder / f"{name}.lirs"
    path.write_text("".join(f"{key}\n" for key in keys), encoding="utf-8")
    return path


def write_msr(folder: Path, name: str, start: int, blocks: list[int]) -> Path:
    """A volume with one read of one block every second from `start` (filetime) on."""
    host, _, disk = name.rpartition("_")
    lines = [
        f"{start + 10**7 * i},{host},{disk},Read,{4096 * b},4096,100\n"
        for i, b in enumerate(blocks)
    ]
    path = folder / f"{name}.csv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def run_in(folder: Path, spec: Any, **more: Any) -> Results:
    """Run what may have traces and code in a folder, where results go, too."""
    given = {"trace_dirs": [folder], "figures": False, "allow_code": True}
    return run(spec, out=folder / "results", **given | more)


def total(results: Results, table: str, system: str, column: str) -> int:
    return int(results.to_polars(table).filter(system=system)[column].sum())


def parquet_bytes(results: Results) -> dict[str, bytes]:
    return {name: (results.path / f"{name}.parquet").read_bytes() for name in SCHEMAS}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(tiny(), out=tmp_path_factory.mktemp("results"), threads=1, figures=False)


def test_every_access_is_a_hit_or_a_miss_in_every_interval(results: Results) -> None:
    hits = (
        results.metrics()
        .to_arrow()
        .group_by(["system", "interval", "vm"])
        .aggregate([("hits", "sum")])
    )
    joined = results.vms().to_arrow().join(hits, ["system", "interval", "vm"])
    assert joined.num_rows == results.vms().to_arrow().num_rows > 100
    missing = pc.subtract(joined["accesses"], joined["misses"])
    assert missing.equals(joined["hits_sum"])


def test_the_accesses_are_those_of_the_workload(results: Results) -> None:
    trace = mcsim.Trace.open(next(Path(os.environ["MCSIM_CACHE_DIR"]).rglob("*.arrow")))
    assert total(results, "vms", "lru", "accesses") == trace.metadata.counts.read_blocks
    assert results.synthetic
    assert [entry["vm"] for entry in results.environment["traces"]] == list(trace.vms)


def test_static_hits_what_each_vms_own_curve_says(results: Results) -> None:
    for vm in ("friendly", "cyclic", "scanner"):
        rows = results.to_polars("metrics").filter(system="static", vm=vm)
        space = np.cumsum(rows["target"].to_numpy().reshape(-1, 2)[0])
        hits = np.cumsum(rows["hits"].to_numpy().reshape(-1, 2).sum(axis=0))
        curve = results.to_polars("curves").filter(vm=vm)
        capacity, stored = curve["capacity"].to_numpy(), curve["hits"].to_numpy()
        # The stored capacities on either side of the VM's space.
        below = np.searchsorted(capacity, space, side="right") - 1
        above = np.minimum(below + 1, len(capacity) - 1)
        assert np.all(stored[below] <= hits)
        assert np.all(hits <= stored[above])


def test_one_vm_alone_is_one_lru_stack(tmp_path: Path) -> None:
    keys = [int(x) for x in np.random.default_rng(3).zipf(1.3, 5000) % 500]
    write_keys(tmp_path, "only", keys)
    results = run_in(
        tmp_path,
        tiny(
            interval="1000 references",
            ops="all",
            workload={"vms": [{"name": "only", "format": "keys"}]},
            tiers=tiers_of(dram=20, flash=80),
            systems=["lru", "static"],
        ),
    )
    distances = mcsim.reuse_distances(keys)
    fast = int(((distances >= 0) & (distances < 20)).sum())
    slow = int(((distances >= 20) & (distances < 100)).sum())
    for row in tables.comparison(results).filter(pc.is_null(pc.field("vm"))).to_pylist():
        assert row["tier_hits"] == [fast, slow]


def test_the_four_accesses_of_spec_e4(tmp_path: Path) -> None:
    write_keys(tmp_path, "ab", [1, 2, 1, 2])
    spec = tiny(
        interval="10 references",
        ops="all",
        workload={"vms": [{"name": "ab", "format": "keys", "options": {"unit_bytes": 4096}}]},
        tiers=tiers_of(dram=1, flash=1),
        systems=["lru"],
    )
    results = run_in(tmp_path, spec)
    (row,) = tables.systems(results).to_pylist()
    assert row["device_writes"] == [4, 3]
    assert row["hit_ratio"] == 0.5
    assert row["mean_latency_ns"] == (2 * 6_500_000 + 2 * 25_000) / 4


def test_threads_and_repetition_change_no_byte(results: Results, tmp_path: Path) -> None:
    again = run(tiny(), out=tmp_path, threads=4, figures=False)
    assert again.run_id == results.run_id
    assert parquet_bytes(again) == parquet_bytes(results)
    forced = run(tiny(), out=tmp_path, threads=2, force=True, figures=False)
    assert parquet_bytes(forced) == parquet_bytes(results)


class Recorder(Reporter):
    """Records the stages, and may interrupt one."""

    def __init__(self, breaks: str = "") -> None:
        super().__init__()
        self.titles: list[str] = []
        self._breaks = breaks

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "", about: str = ""
    ) -> Iterator[Stage]:
        self.titles.append(f"{name} {about}".strip())
        if self.titles[-1] == self._breaks:
            raise KeyboardInterrupt
        with super().stage(name, total, unit, about) as stage:
            yield stage


def test_the_warm_up_is_replayed_and_not_counted(results: Results, tmp_path: Path) -> None:
    spec = tiny(warm_up=str(results.spec.interval))
    warm = run(spec, out=tmp_path, threads=1, figures=False)
    assert warm.table("metrics").equals(results.table("metrics"))
    for name in ("metrics", "vms"):
        frame = warm.to_pandas(name)
        assert frame.equals(warm.to_arrow(name).to_pandas())
        assert (frame["warm_up"] == (frame["interval"] < 1)).all()
        assert not results.to_pandas(name)["warm_up"].any()
    vms = results.table("vms")
    after_first = vms.filter(pc.greater(vms["interval"], 0))
    assert warm.measured("vms").equals(after_first)
    for of, all_of in zip(tables.totals(warm), tables.totals(results), strict=True):
        assert 0 < of.accesses.sum() < all_of.accesses.sum()
    with pytest.raises(ConfigError, match="warm_up: the workload ends before"):
        run(tiny(warm_up="1000h"), out=tmp_path, figures=False)
    with pytest.raises(ConfigError, match="expected a multiple of the interval"):
        run(tiny(warm_up="1s"), out=tmp_path, figures=False)


WARM_TABLES = ("metrics", "vms", "decisions")


def counted(results: Results, name: str) -> Any:
    """A table with intervals and requests counted from the first that is not warm-up."""
    frame = results.to_polars(name)
    skipped = results.spec.warm_up_intervals
    frame = frame.filter(polars.col("interval") >= skipped)
    frame = frame.with_columns(interval=polars.col("interval") - skipped)
    for column in {"begin_ns", "request"} & set(frame.columns):
        frame = frame.with_columns(polars.col(column) - polars.col(column).min())
    return frame


def warmed(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """An experiment of every kind of system on two VMs."""
    (tmp_path / "my_allocators.py").write_text(
        textwrap.dedent("""\
            class Swap:
                data_path = {"policy": "arc", "writes": "back"}

                def allocate(self, seen):
                    return seen.current[:, ::-1]
            """)
    )
    return (
        tiny(
            name="warm",
            interval="10s",
            ops="all",
            tiers=tiers_of(dram=12, flash=30),
            systems=[
                "lru",
                {"name": "lru", "label": "lru-legacy", "legacy": True},
                {"name": "hierarchy", "policy": "arc / lirs", "writes": "back"},
                "hindsight",
                {"name": "multicache", "grid": 10},
                {"name": "multicache", "label": "multicache-legacy", "legacy": True, "grid": 10},
                {"name": "my_allocators:Swap"},
            ],
        )
        | changes
    )


def test_a_trace_that_warms_up_is_one_that_came_before(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    start = 128166372000000000
    before = {vm: rng.integers(0, 60, 47).tolist() for vm in ("w_0", "w_1")}
    after = {vm: rng.integers(0, 60, 85).tolist() for vm in ("w_0", "w_1")}
    for vm in before:
        disk = vm.removeprefix("w_")
        write_msr(tmp_path, f"before_{disk}", start + 777, before[vm])
        write_msr(tmp_path, vm, start + 5 * 10**12, after[vm])
        # The warm-up lasts 46 s, so it begins five intervals earlier.
        later = write_msr(tmp_path, f"both_{disk}", start + 5 * 10**12, after[vm]).read_text()
        path = write_msr(tmp_path, f"both_{disk}", start + 5 * 10**12 - 50 * 10**7, before[vm])
        path.write_text(path.read_text() + later)
    vms = ["w_0", "w_1"]

    def counts(**changes: Any) -> Results:
        spec = tmp_path / "spec.yaml"
        yaml.dump(warmed(tmp_path, **changes), spec)
        return run_in(tmp_path, spec)

    named = [{"name": vm, "trace": vm.replace("w", "before")} for vm in vms]
    warm = counts(workload={"vms": vms}, warm_up={"vms": named})
    both = [{"name": vm, "trace": vm.replace("w", "both")} for vm in vms]
    joined = counts(workload={"vms": both}, warm_up="50s")
    for name in WARM_TABLES:
        assert counted(warm, name).equals(counted(joined, name)), name
    assert warm.to_polars("vms")["begin_ns"].min() == 0
    assert (
        warm.environment["first_access_ns"]
        == (counts(workload={"vms": vms}).environment["first_access_ns"])
    )
    assert [entry["accesses"] for entry in warm.environment["traces"]] == [85, 85]
    for entry in warm.environment["traces"]:
        assert entry["unique_blocks"] == len(set(after[entry["vm"]]))
    total = pc.field("vm") == "w_0"
    curve = warm.curves().to_arrow().filter(total)
    assert pc.max(curve["accesses"]).as_py() == 85
    hits = sum(block in before["w_0"] + after["w_0"][:i] for i, block in enumerate(after["w_0"]))
    assert pc.max(curve["hits"]).as_py() == hits
    assert warm.run_id != joined.run_id

    # One VM alone may be warmed up, and by a part of its trace.
    window = {"start": "7s", "end": "27s"}
    one = counts(workload={"vms": vms}, warm_up={"vms": named[:1], "window": window})
    first = one.to_polars("vms").filter(system="lru", interval=0)
    assert first["accesses"].to_list() == [10, 10]
    assert one.to_polars("metrics").filter(system="lru", interval=8)["occupancy"].sum() == 42


def test_a_warm_up_that_cannot_be_is_refused_with_its_line(tmp_path: Path) -> None:
    write_msr(tmp_path, "w_0", 128166372000000000, [1, 2, 3])
    write_keys(tmp_path, "keys", [1, 2])

    def mistake(warm_up: str) -> str:
        spec = tmp_path / "spec.yaml"
        spec.write_text(
            "name: x\nworkload: {vms: [w_0]}\ntiers: [{device: dram, capacity: 2}]\n"
            f"systems: [lru]\nwarm_up: {warm_up}\n"
        )
        return complaint(
            run, spec, out=tmp_path / "results", trace_dirs=[tmp_path], figures=False
        ).removeprefix(f"{spec}:")

    assert mistake("{vms: [w_1]}").startswith(
        "5: warm_up.vms[0]: the workload has no VM 'w_1' (did you mean 'w_0'?)"
    )
    assert mistake("{vms: [{name: w_0, trace: w_9}]}").startswith(
        f"5: warm_up.vms[0]: no trace 'w_9' in {tmp_path}, and no profile"
    )
    assert "5: warm_up: unknown key 'length'" in mistake("{length: 2h, vms: [w_0]}")
    near = "unknown key 'cachedump' (did you mean 'cache_dump'?)"
    assert mistake("{cachedump: a.xml}") == f"5: warm_up: {near}"
    assert mistake("{path: a.xml}").endswith("vms, state, cache_dump)")
    assert mistake("{}") == "5: warm_up: neither VMs nor a profile"
    assert mistake("soon").startswith("5: warm_up: ")
    assert "5: warm_up.vms[1]: a second VM 'w_0'" in mistake("{vms: [w_0, w_0]}")
    assert "it has no clock" in mistake("{vms: [{name: w_0, trace: keys, format: keys}]}")
    assert mistake("{vms: [w_0], window: {start: 5s, end: 2s}}").startswith(
        "5: warm_up.window.end: expected more than '5s', got '2s'"
    )
    assert "no request of it is left" in mistake("{vms: [w_0], window: {start: 5s}}")
    assert "it is synthetic, and the workload is recorded" in mistake(f"{{profile: {TINY}}}")


def test_what_departs_is_freed_for_those_who_stay(tmp_path: Path) -> None:
    # Two loops over 20 blocks, of which each VM's half of the space holds 10.
    for vm in range(2):
        write_msr(tmp_path, f"w_{vm}", 128166372000000000, [i % 20 for i in range(120)])
    (tmp_path / "my_parts.py").write_text(
        textwrap.dedent("""\
            class Halves:
                data_path = {"policy": "lru()"}
                resize_mode = "eager"

                def allocate(self, seen):
                    here = ~seen.departed
                    assert (seen.current[:, seen.departed] == 0).all()
                    assert (seen.accesses[seen.departed] == 0).all()
                    return seen.capacities[:, None] // here.sum() * here
            """)
    )
    spec = tmp_path / "spec.yaml"
    systems: list[Any] = ["lru", {"name": "lru", "label": "old", "legacy": True}, "static"]
    systems += [{"name": "multicache", "idle": "keep"}, "my_parts:Halves"]
    workload = {"vms": ["w_0", {"name": "w_1", "departs": "40s"}]}
    tiers = tiers_of(dram=20, flash=1)
    yaml.dump(tiny(interval="20s", workload=workload, systems=systems, tiers=tiers), spec)
    results = run_in(tmp_path, spec)
    counts = results.to_polars("metrics").filter(tier=0)

    def of(system: str, vm: str, column: str) -> list[int]:
        return counts.filter(system=system, vm=vm)[column].to_list()

    for system in ("lru", "old", "static", "multicache", "my_parts:Halves"):
        assert of(system, "w_1", "invalidations")[2] > 0, system
        assert of(system, "w_1", "occupancy")[2:] == [0] * 4, system
    # The space of a static part is not given to another; of all others it is.
    assert of("static", "w_0", "occupancy")[-1] == 10
    for system in ("lru", "multicache", "my_parts:Halves"):
        assert of(system, "w_0", "occupancy")[-1] == 20, system
        assert of(system, "w_0", "hits")[-1] >= 19, system
    assert of("static", "w_0", "hits")[-1] < 2

    # After the workload's end, or with it, nothing departs.
    stays = {"vms": ["w_0", {"name": "w_1", "departs": "200s"}]}
    spec_of_stay = tiny(interval="20s", workload=stays, systems=["lru"], tiers=tiers_of(dram=20))
    stayed = run_in(tmp_path, spec_of_stay)
    assert total(stayed, "metrics", "lru", "invalidations") == 0


def test_a_departure_writes_back_even_when_it_ends_the_run(tmp_path: Path) -> None:
    path = write_msr(tmp_path, "w_0", 128166372000000000, list(range(60)))
    path.write_text(path.read_text().replace("Read", "Write"))
    spec = tiny(
        interval="10s",
        ops="all",
        workload={"vms": [{"name": "w_0", "departs": "30s"}]},
        systems=[{"name": "hierarchy", "policy": "arc", "writes": "back"}],
    )
    results = run_in(tmp_path, spec)
    assert results.to_polars("vms")["write_backs"].to_list() == [0, 0, 30]
    assert results.to_polars("metrics").filter(tier=0)["invalidations"].to_list() == [0, 0, 30]


def test_vms_come_and_go_within_the_window(tmp_path: Path) -> None:
    # A request a second each, all to blocks of their own.
    for vm in range(3):
        write_msr(tmp_path, f"w_{vm}", 128166372000000000, list(range(60)))
    vms = ["w_0", {"name": "w_1", "arrives": "20s"}, {"name": "w_2", "departs": "30s"}]
    spec = tiny(
        interval="10s",
        workload={"vms": vms, "window": {"start": "10s", "end": "50s"}},
        systems=["lru"],
    )
    results = run_in(tmp_path, spec)
    counts = results.to_polars("vms").group_by("vm", maintain_order=True).agg("accesses")
    assert dict(counts.iter_rows()) == {
        "w_0": [10, 10, 10, 10],
        "w_1": [0, 10, 10, 10],
        "w_2": [10, 10, 0, 0],
    }
    with pytest.raises(ConfigError, match="departs: expected more than '20s', got '10s'"):
        run(tiny(workload={"vms": [{"name": "w_0", "arrives": "20s", "departs": "10s"}]}))
    with pytest.raises(ConfigError, match="end: expected a length of time, as in `interval`"):
        run(tiny(workload={"vms": ["w_0"], "window": {"end": "10 references"}}))


def test_a_vm_is_there_from_the_start_unless_it_arrives(tmp_path: Path) -> None:
    class Watches:
        seen: ClassVar[list[list[bool]]] = []

        def allocate(self, seen: mcsim.Observation) -> None:
            self.seen.append(seen.arrived.tolist())

    start = 128166372000000000
    for vm, begins in enumerate((0, 0, 35, 35)):
        write_msr(tmp_path, f"w_{vm}", start + 10**7 * begins, list(range(60 - begins)))
    vms = ["w_0", {"name": "w_1", "arrives": "20s"}, "w_2", {"name": "w_3", "arrives": "25s"}]
    spec = tiny(interval="10s", workload={"vms": vms}, systems=[{"name": Watches}])
    run_in(tmp_path, spec)
    late = [True, True, True, False]
    assert Watches.seen == [[True, False, True, False], late, *[[True] * 4] * 3]
    # A VM with a warm-up is present from the start.
    Watches.seen.clear()
    warm_up = {"vms": [{"name": "w_1", "trace": "w_2.csv"}]}
    run_in(tmp_path, spec | {"warm_up": warm_up, "name": "warmed-up"})
    assert Watches.seen[-6:] == [late] * 3 + [[True] * 4] * 3


def test_what_was_finished_is_not_run_again(results: Results) -> None:
    recorder = Recorder()
    again = run(tiny(), out=results.path.parent, figures=False, reporter=recorder)
    assert again.path == results.path
    assert [title.split()[0] for title in recorder.titles] == ["parse"]


def test_an_interrupted_run_goes_on_where_it_stopped(results: Results, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tiny(), out=tmp_path, threads=1, figures=False, reporter=Recorder("replay static"))
    (partial,) = tmp_path.iterdir()
    assert partial.name == f"{results.run_id}.partial"

    recorder = Recorder()
    resumed = run(tiny(), out=tmp_path, threads=1, figures=False, reporter=recorder)
    replayed = [title for title in recorder.titles if title.startswith("replay")]
    # The system with its own view is first.
    assert replayed == ["replay static", "replay multicache", "replay single-tier"]
    assert parquet_bytes(resumed) == parquet_bytes(results)
    assert [path.name for path in tmp_path.iterdir()] == [results.run_id]


def test_an_interrupt_before_any_system_finished_leaves_nothing(tmp_path: Path) -> None:
    first = "replay multicache-legacy"
    with pytest.raises(KeyboardInterrupt):
        run(tiny(), out=tmp_path, threads=1, figures=False, reporter=Recorder(first))
    assert list(tmp_path.iterdir()) == []


SLOW_ALLOCATOR = """
import time
from pathlib import Path

def hold_on():
    while True:
        try:
            time.sleep(.001)
        except Exception:
            pass

class Slow:
    def allocate(self, seen):
        Path(__file__).with_name("ready").touch()
        work()
"""


def stopped(folder: Path, arguments: list[str], sent: signal.Signals) -> tuple[int, str]:
    """Send a signal while an allocator runs; return the exit code and messages."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (folder / "ready").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(sent)
        _, told = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, told


@pytest.mark.parametrize(
    ("sent", "code", "what"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
    ids=["ctrl-c", "preempted"],
)
@pytest.mark.parametrize(
    "work",
    [
        "time.sleep(0.01)",
        "time.sleep(1000)",
        "sum(1 for _ in iter(int, 1))",
        "hold_on()",
    ],
    ids=["steps", "sleeps", "computes", "holds-on"],
)
def test_signals_stop_at_once_with_their_exit_codes(
    tmp_path: Path, work: str, sent: signal.Signals, code: int, what: str
) -> None:
    text = SLOW_ALLOCATOR.replace("work()", work)
    (tmp_path / "slow.py").write_text(text, encoding="utf-8")
    (tmp_path / "slow.yaml").write_text(
        textwrap.dedent(f"""\
            name: slow
            interval: 1s
            workload: {{profile: {TINY}}}
            tiers: [{{device: dram, capacity: 10}}]
            systems: [slow:Slow]
            """),
        encoding="utf-8",
    )
    command = ["-m", "mcsim", "run", "slow.yaml", "--no-figures", "--allow-code"]
    returned, stderr = stopped(tmp_path, command, sent)
    assert returned == code
    assert stderr.splitlines()[-1] == f"mcsim: {what}; what had finished is kept"
    assert "Traceback" not in stderr
    assert list((tmp_path / "results").iterdir()) == []


@pytest.mark.parametrize("work", ["time.sleep(1000)", "hold_on()"], ids=["sleeps", "holds-on"])
@pytest.mark.parametrize("part", ["allocator", "optimizer"])
def test_ctrl_c_ends_a_script_of_ones_own(tmp_path: Path, work: str, part: str) -> None:
    text = SLOW_ALLOCATOR.replace("work()", work)
    system = '{"name": Slow}'
    if part == "optimizer":
        text = text.replace("def allocate", "def optimize")
        system = '{"name": "multicache", "optimizer": {"name": Slow}}'
    (tmp_path / "slow.py").write_text(text, encoding="utf-8")
    (tmp_path / "script.py").write_text(
        textwrap.dedent(f"""\
            import mcsim
            from slow import Slow

            mcsim.run(
                {{
                    "name": "slow",
                    "interval": "1s",
                    "workload": {{"profile": {str(TINY)!r}}},
                    "tiers": [{{"device": "dram", "capacity": 10}}],
                    "systems": [{system}],
                }},
                figures=False,
            )
            """),
        encoding="utf-8",
    )
    returned, stderr = stopped(tmp_path, ["script.py"], signal.SIGINT)
    assert returned == -signal.SIGINT
    assert stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert 'slow.py", line' in stderr  # where it was


ALLOCATORS = """
import numpy as np

class EqualShares:
    def __init__(self, tiers=2, vms=3):
        self.shape = (tiers, vms)

    def allocate(self, seen):
        vms = self.shape[1]
        return np.array([[400 // vms] * vms, [1600 // vms] * vms])

class AllToTheFirst:
    def optimize(self, problem):
        blocks = np.zeros((problem.tiers, problem.vms), dtype=np.int64)
        blocks[:, 0] = problem.capacities
        return blocks
"""


def test_allocators_and_optimizers_may_be_python(tmp_path: Path) -> None:
    (tmp_path / "mine_for_test_run.py").write_text(ALLOCATORS, encoding="utf-8")
    experiment = tmp_path / "mine.yaml"
    experiment.write_text(
        textwrap.dedent(f"""\
            name: mine
            interval: 30min
            workload: {{profile: {TINY}}}
            tiers:
              - {{device: dram, capacity: 400}}
              - {{device: flash, capacity: 1600}}
            systems:
              - {{name: "mine_for_test_run:EqualShares", label: mine, vms: 3}}
              - {{name: multicache, optimizer: "mine_for_test_run:AllToTheFirst"}}
            """),
        encoding="utf-8",
    )
    results = run_in(tmp_path, experiment)
    metrics = results.to_polars("metrics")
    last = metrics.filter(interval=metrics["interval"].max())
    assert last.filter(system="mine")["target"].to_list() == [133, 533] * 3
    assert last.filter(system="multicache")["target"].to_list() == [400, 1600, 0, 0, 0, 0]
    changed = ALLOCATORS.replace("// vms", "// 4")
    (tmp_path / "mine_for_test_run.py").write_text(changed, encoding="utf-8")
    assert run_in(tmp_path, experiment).run_id != results.run_id


def test_recorded_traces_are_used_if_all_are_there(tmp_path: Path) -> None:
    spec = tiny(
        interval="1min",
        workload={"profile": str(TINY), "vms": ["web_0", "web_1"]},
        systems=["lru"],
    )
    filetime = 128166372003061629
    write_msr(tmp_path, "web_0", filetime, [1, 2, 1, 2])
    with pytest.raises(ConfigError, match="the profile has no VM 'web_0'"):
        run_in(tmp_path, spec)

    write_msr(tmp_path, "web_1", filetime + 10**7 * 3600, [7] * 90)
    recorder = Recorder()
    results = run_in(tmp_path, spec, reporter=recorder)
    assert not results.synthetic
    assert results.title == "tiny"
    assert recorder.titles[:2] == ["parse web_0", "parse web_1"]
    # An hour lies between the two; aligned, both begin in the first minute.
    assert pc.sum(results.vms().to_arrow()["intervals"]).as_py() == 2 * 62
    aligned = run_in(tmp_path, spec, overrides=["workload.align=start"])
    assert aligned.vms().to_arrow()["accesses"].to_pylist() == [4, 60, 0, 30]


def test_where_a_trace_is_missing_the_profile_stands_in_and_says_so(tmp_path: Path) -> None:
    vms = [{"name": "friendly"}, {"name": "scanner"}]
    spec = tiny(workload={"profile": str(TINY), "vms": vms}, systems=["lru"])
    results = run_in(tmp_path, spec)
    assert results.synthetic
    assert results.environment["missing"] == ["friendly", "scanner"]
    assert set(results.vms().to_arrow()["vm"].to_pylist()) == {"friendly", "scanner"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"workload": {"vms": ["nowhere"]}}, "no trace 'nowhere' in "),
        ({"workload": {"vms": [{"name": "x", "trace": "msr_a", "vm": "y"}]}}, "no VM 'y' in"),
        ({"workload": {"vms": ["keys_a"]}}, "it has no clock: give the experiment's interval as"),
        ({"workload": {"profile": "none.yaml"}}, "workload.profile: no file 'none.yaml'"),
        ({"workload": {"profile": "."}}, "workload.profile: '.' is a folder, expected a file"),
        ({"workload": {"profile": "a\0b"}}, "workload.profile: no file can have the name 'a"),
        ({"interval": "9 references"}, "it has a clock, and the experiment's interval counts ref"),
    ],
)
def test_what_cannot_be_run_is_refused(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    write_keys(tmp_path, "keys_a", [1, 2, 3])
    write_msr(tmp_path, "msr_a", 128166372003061629, [1])
    spec = tiny(systems=["lru"]) | changes
    assert expected in complaint(
        run, spec, trace_dirs=[tmp_path], out=tmp_path / "results", figures=False
    )
    assert not (tmp_path / "results").exists()


def test_a_workload_without_reads_is_refused(tmp_path: Path) -> None:
    path = write_msr(tmp_path, "w_0", 128166372003061629, [1, 2, 3])
    path.write_text(path.read_text().replace("Read", "Write"), encoding="utf-8")
    spec = tiny(workload={"vms": ["w_0"]}, systems=["lru"])
    with pytest.raises(ConfigError, match=r"no request of the workload is left .*ops: reads"):
        run_in(tmp_path, spec)
    assert list((tmp_path / "results").iterdir()) == []


def test_the_run_id_names_the_cause_and_nothing_else(tmp_path: Path) -> None:
    def run_id(trace_dir: Path, **changes: Any) -> str:
        spec = tiny(interval="10 references", workload={"vms": ["k"]}, systems=["lru"]) | changes
        return run_in(trace_dir, spec).run_id

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    path = write_keys(here, "k", [1, 2, 3])
    shutil.copy(path, there)
    first = run_id(here)
    assert first.startswith("tiny-")
    assert run_id(there) == first
    assert run_id(here, description="words") == first
    assert run_id(here, interval="1e1 references") == first
    assert run_id(here, seed=2) != first
    assert run_id(here, systems=["static"]) != first
    write_keys(here, "k", [1, 2, 4])
    assert run_id(here) != first


def test_the_run_id_tells_the_vms_of_one_file_apart(tmp_path: Path) -> None:
    start = 128166372003061629
    lines = [write_msr(tmp_path, f"web_{i}", start, [1, 2 + i]).read_text() for i in (0, 1)]
    (tmp_path / "web.csv").write_text("".join(lines), encoding="utf-8")
    ids = set()
    for vm in ("web_0", "web_1"):
        chosen = {"name": "x", "trace": "web.csv", "vm": vm}
        spec = tiny(workload={"vms": [chosen]}, systems=["lru"])
        ids.add(run_in(tmp_path, spec).run_id)
    assert len(ids) == 2


def references_in(file: Path) -> int:
    """Count the references of a trace of ARC (first block, blocks, …) or LIRS (one key a line)."""
    with pa.input_stream(file) as stream:
        lines = stream.read().decode().splitlines()
    if ".lis" in file.name:
        return sum(int(line.split()[1]) for line in lines)
    return sum(1 for line in lines if line.strip() and not line.startswith("*"))


def test_the_real_mixes_run(trace_dir: Path, tmp_path: Path) -> None:
    experiment = TINY.parents[1] / "arc-mix.yaml"
    results = run(
        experiment,
        overrides=["systems=[lru, static]"],
        trace_dirs=[trace_dir],
        out=tmp_path,
        figures=False,
    )
    accesses = {e["vm"]: e["accesses"] for e in results.environment["traces"]}
    names = ["OLTP", "P3", "sprite", "multi2", "2_pools", "cs", "gli"]
    files = {name: next(trace_dir.rglob(f"{name}.*.zst")) for name in names}
    assert accesses == {name: references_in(file) for name, file in files.items()}


def experiments() -> list[str]:
    """Return the experiments of one run that are shipped."""
    folder = TINY.parents[1]
    files = [*folder.glob("*.yaml"), *folder.glob("reproduce/*/*.yaml")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    runs = [f for f, text in texts.items() if "\nsystems:" in text and "\nsweep:" not in text]
    # Their profiles take over a second to generate.
    large = {"limited", "unlimited", "server", "split", "terminal", "turns"}
    return sorted(str(f.relative_to(folder)) for f in runs if f.stem not in large)


@pytest.mark.parametrize("name", experiments())
def test_every_experiment_opens_with_the_recorded_traces(name: str, trace_dir: Path) -> None:
    experiment = Experiment.load(TINY.parents[1] / name)
    workload = open_workload(experiment.spec, experiment.source, [trace_dir], Reporter())
    assert {vm.trace.kind for vm in workload.vms} == {"blocks"}


def test_all_systems_share_one_clock(results: Results) -> None:
    half_hour = 1800 * 10**9
    by_system = (
        results.vms()
        .to_arrow()
        .group_by("system")
        .aggregate([("begin_ns", "min"), ("begin_ns", "max"), ("interval", "max")])
    )
    for row in by_system.to_pylist():
        assert row["begin_ns_min"] == 0
        assert row["begin_ns_max"] == row["interval_max"] * half_hour
    windows = results.reuse_intensity().to_arrow()["window_end_ns"].to_numpy()
    assert windows.min() > 0
    # The end of the trace closes the last window.
    assert np.all(windows[windows < windows.max()] % (60 * 10**9) == 0)


def test_a_vm_may_have_storage_of_its_own(tmp_path: Path, results: Results) -> None:
    backend = {"device": "hdd", "vms": {"friendly": "1ms"}}
    spec = tiny(systems=["lru"], backend=backend)
    own = run(spec, out=tmp_path, threads=1, figures=False)
    of = {row["vm"]: row for row in tables.comparison(own).to_pylist()}
    before = {
        row["vm"]: row for row in tables.comparison(results).to_pylist() if row["system"] == "lru"
    }
    friendly = of["friendly"]
    hits = friendly["tier_hits"]
    waited = 30 * hits[0] + 25e3 * hits[1] + 1e6 * (friendly["accesses"] - friendly["hits"])
    assert friendly["mean_latency_ns"] == pytest.approx(waited / friendly["accesses"])
    others = set(of) - {"friendly", None}
    assert all(of[vm]["mean_latency_ns"] == before[vm]["mean_latency_ns"] for vm in others)
    all_vms = sum(of[vm]["mean_latency_ns"] * of[vm]["accesses"] for vm in (*others, "friendly"))
    assert of[None]["mean_latency_ns"] == pytest.approx(all_vms / of[None]["accesses"])
    requests = {row["vm"]: row for row in models.requests(own).to_pylist()}
    assert requests["friendly"]["p99_ns"] == 1_000_000
    assert requests[None]["p99_ns"] == 6_500_000


def test_storage_of_a_vm_that_there_is_not_is_refused(tmp_path: Path) -> None:
    spec = tiny(backend={"device": "hdd", "vms": {"frendly": "1ms"}})
    with pytest.raises(ConfigError, match=r"no VM 'frendly' \(did you mean 'friendly'\?\)"):
        run(spec, out=tmp_path, figures=False)


def test_capacities_may_be_shares_of_the_workload(tmp_path: Path) -> None:
    """Trusts: the same experiment with the shares written as blocks."""
    given: dict[str, Any] = small_experiment(
        "lru",
        "multicache",
        tiers={"dram": 0.01, "flash": " 12.5% "},
        name="shares",
        interval="30min",
    )
    of_shares = run(given, out=tmp_path / "shares", figures=False)
    vms = of_shares.environment["traces"]
    unique = sum(vm["unique_blocks"] for vm in vms)
    blocks = [max(1, round(0.01 * unique)), round(0.125 * unique)]
    assert [tier.capacity for tier in of_shares.spec.tiers] == blocks
    written = [
        {**tier, "capacity": size} for tier, size in zip(given["tiers"], blocks, strict=True)
    ]
    of_blocks = run(given | {"tiers": written}, out=tmp_path / "blocks", figures=False)
    assert of_blocks.run_id == of_shares.run_id
    assert of_blocks.metrics().to_arrow().equals(of_shares.metrics().to_arrow())
    # Shares are of the replayed blocks: with writes there are more.
    everything = run(given, overrides=["ops=all"], out=tmp_path / "all", figures=False)
    assert everything.spec.tiers[1].capacity > blocks[1]


def test_writes_alone_may_be_replayed(tmp_path: Path) -> None:
    """Trusts: `Trace.blocks` and `simulate`."""
    given = small_experiment("lru", tiers={"dram": 50}, ops="writes")
    results = run(given, out=tmp_path, figures=False)
    writes = synth_trace(TINY).blocks("writes")
    (alone,) = mcsim.simulate(writes, "lru", [50])
    assert total(results, "vms", "lru", "accesses") == len(writes) > 0
    assert total(results, "metrics", "lru", "hits") == alone.hits
    assert alone.hits > 0


@pytest.mark.parametrize("share", ["101%", "-1%", "much%", "%", "17/16"])
def test_shares_that_are_none_are_refused_with_their_line(tmp_path: Path, share: str) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(
        f"name: shares\nworkload: {{profile: {TINY}}}\n"
        f"tiers:\n  - device: dram\n    capacity: {share!r}\nsystems: [lru]\n",
        encoding="utf-8",
    )
    assert complaint(run, path, out=tmp_path / "results") == (
        f"{path}:5: tiers[0].capacity: expected a size such as 250000 (blocks), 1GiB or 10%, got "
        f"{share!r}"
    )


def test_figures_are_drawn_by_name(tmp_path: Path) -> None:
    given = small_experiment(
        "lru", tiers={"dram": 100}, name="named", interval="30min", figures=["curves"]
    )
    results = run(given, out=tmp_path)
    files = sorted(file.name for file in (results.path / "figures").iterdir())
    assert files == ["curves.png"]
    with pytest.raises(ConfigError, match=r"unknown figure 'curve7' \(did you mean 'curves?'\?\)"):
        run(given | {"figures": ["curve7"]}, out=tmp_path)


def test_a_timer_that_never_rings_is_told(tmp_path: Path) -> None:
    systems = [
        {"name": "s-cave", "period": "10d"},
        {"name": "s-cave", "label": "often", "period": "10min"},
        {"name": "multicache", "label": "drifting", "legacy": True, "rd_interval": "10d"},
        "hindsight",
    ]
    results = mcsim.run(tiny(systems=systems), out=tmp_path, figures=False)
    log = (results.path / "log.txt").read_text(encoding="utf-8")
    told = [line for line in log.splitlines() if "the trace ends before" in line]
    assert len(told) == 1
    assert "s-cave: nothing is decided each 10d (sizes): the trace ends before, after " in told[0]


_GOES_BY = "eci-cache: it goes by what writes do, and none is replayed: `ops: all`, of traces with"
_AREA = "hystor: write_area: space that stays empty, for no write is replayed: `ops: all`"
ECI = {"name": "eci-cache", "interval": "1h"}
HYSTOR = {"name": "hystor", "extent": 16}


@pytest.mark.parametrize(
    ("system", "ops", "says", "told"),
    [
        (ECI, "reads", _GOES_BY, True),
        (ECI, "all", _GOES_BY, False),
        (HYSTOR | {"write_area": 0.2}, "reads", _AREA, True),
        (HYSTOR | {"write_area": 0.2}, "all", _AREA, False),
        (HYSTOR | {"write_area": 0}, "reads", _AREA, False),
    ],
)
def test_what_is_for_writes_says_so_where_none_is_replayed(
    tmp_path: Path, system: dict[str, Any], ops: str, says: str, told: bool
) -> None:
    results = mcsim.run(tiny(systems=["lru", system], ops=ops), out=tmp_path, figures=False)
    assert (says in (results.path / "log.txt").read_text(encoding="utf-8")) == told


@pytest.mark.parametrize("name", ["metrics.parquet", "DONE"])
def test_a_finished_run_that_is_damaged_is_told_once_and_run_again(
    tmp_path: Path, name: str
) -> None:
    first = run(tiny(), out=tmp_path, figures=False)
    whole = parquet_bytes(first)
    file = first.path / name
    file.write_bytes(file.read_bytes()[:50])
    recorder = Recorder()
    again = run(tiny(), out=tmp_path, figures=False, reporter=recorder)
    assert again.path == first.path
    assert parquet_bytes(again) == whole
    again.check()
    assert any(title.startswith("replay") for title in recorder.titles)
    log = (again.path / "log.txt").read_text()
    assert log.count(f"{file}: damaged") == 1
    assert log.count("the experiment is run again") == 1
    assert [path.name for path in tmp_path.iterdir()] == [again.run_id]


def test_a_sample_has_its_share_of_the_blocks_and_hits_as_much_in_as_much_less(
    tmp_path: Path,
) -> None:
    given = tiny(systems=["lru"], seed=3)
    whole = run(given, out=tmp_path, figures=False)
    workload = given["workload"] | {"sample": "1/4"}
    tiers = [tier | {"capacity": tier["capacity"] // 4} for tier in given["tiers"]]
    sampled = run(given | {"workload": workload, "tiers": tiers}, out=tmp_path, figures=False)
    assert sampled.run_id != whole.run_id
    assert sampled.spec.workload.sample == 0.25
    for vm, part in zip(whole.environment["traces"], sampled.environment["traces"], strict=True):
        assert part["unique_blocks"] == pytest.approx(vm["unique_blocks"] / 4, rel=0.15)
        assert part["digest"] == vm["digest"]
    (of_all,) = tables.comparison(whole, by_vm=False).to_pylist()
    (of_part,) = tables.comparison(sampled, by_vm=False).to_pylist()
    assert of_part["hit_ratio"] == pytest.approx(of_all["hit_ratio"], abs=0.06)
    # Another seed, other blocks.
    other = run(given | {"workload": workload, "seed": 4}, out=tmp_path, figures=False)
    uniques = [[vm["unique_blocks"] for vm in r.environment["traces"]] for r in (sampled, other)]
    assert uniques[0] != uniques[1]


@pytest.mark.parametrize("share", [0, "3/2", True, "x"])
def test_a_sample_is_a_share(share: object, tmp_path: Path) -> None:
    workload = {"profile": str(TINY), "sample": share}
    with pytest.raises(ConfigError, match=r"workload\.sample: expected (a share such|more than)"):
        run(tiny(workload=workload), out=tmp_path)
