# Trusts: all candidates replayed in full by `simulate`, `tune` and `run`; the printed commands.
"""Advice is within a point of the exhaustive search, and its commands print its numbers."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
import recorded
from numpy.typing import ArrayLike, NDArray

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.searches.advice_case import EQUAL
from mcsim.searches.advised_policy import leaders_of
from mcsim.searches.advised_sharing import DIVIDING
from mcsim.searches.advised_size import Target

POINT = 0.01
COUNT = 60_000
HOUR = 3600 * 10**9
Integers = NDArray[np.int64]


def trace_of(blocks: ArrayLike, *, writes: float = 0.3, **more: Any) -> mc.Trace:
    """A trace of a day, with a block a request."""
    blocks = np.asarray(blocks)
    count = len(blocks)
    op = np.random.default_rng(5).random(count) < writes
    time = np.linspace(0, 24 * HOUR, count, dtype=np.int64)
    more = {"op": op.astype(np.uint8), "time": time, "source": "made.csv"} | more
    return mc.Trace.from_arrays(offset=blocks * 4096, length=4096, **more)


def zipf(count: int = COUNT, blocks: int = 20_000, seed: int = 1) -> Integers:
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, blocks + 1)
    return rng.choice(blocks, count, p=popularity / popularity.sum())


def loop() -> Integers:
    return np.arange(COUNT) % 12_000


def scan_mix() -> Integers:
    """Popular blocks, and a long scan between them."""
    scans = np.arange(COUNT) % 2 == 0
    return np.where(scans, 100_000 + np.arange(COUNT), zipf(blocks=6_000))


def frequent() -> Integers:
    """Blocks with stable counts, and bursts of blocks accessed a few times in a row."""
    stable = np.random.default_rng(2).integers(0, 2_000, COUNT)
    bursts = 50_000 + np.arange(COUNT) // 3
    return np.where(np.arange(COUNT) % 3 == 0, stable, bursts)


def shifting() -> Integers:
    """Popular blocks that change every tenth of the trace."""
    return zipf(blocks=8_000) + 5_000 * (np.arange(COUNT) // (COUNT // 10))


def hosts() -> mc.Trace:
    """Four VMs: two with popular blocks, one loop, and one that scans."""
    vm = np.random.default_rng(3).integers(0, 4, COUNT)
    own = [zipf(blocks=4_000), zipf(blocks=3_000, seed=4), np.arange(COUNT) % 2_500]
    blocks = np.choose(vm, [*own, np.cumsum(vm == 3)])
    return trace_of(blocks, vm=vm, vms=["web", "mail", "batch", "backup"])


def phases() -> mc.Trace:
    """Two VMs that take turns to be busy, so that the best division changes."""
    turn = np.arange(COUNT) // (COUNT // 6) % 2
    quiet = np.random.default_rng(6).random(COUNT) < 0.1
    vm = turn ^ quiet
    blocks = np.where(vm == 0, np.arange(COUNT) % 3_000, zipf(blocks=9_000))
    return trace_of(blocks, vm=vm, vms=["night", "day"])


MADE: dict[str, Callable[[], mc.Trace]] = {
    "zipf": lambda: trace_of(zipf()),
    "loop": lambda: trace_of(loop()),
    "scan mix": lambda: trace_of(scan_mix()),
    "frequent": lambda: trace_of(frequent()),
    "shifting": lambda: trace_of(shifting()),
    "hosts": hosts,
    "phases": phases,
}
RECORDED = (
    "msr/web_3.csv.zst",
    "hp/hplajw_1week.csv.zst",
    "tencent/tencentBlock.ns2706.sample.csv.zst",
    "lirs/sprite.txt.zst",
)


def trace_named(name: str, folder: Path) -> mc.Trace:
    if name in MADE:
        return MADE[name]()
    trace = recorded.opened(name, folder)
    if trace is None:
        pytest.skip(f"needs {name} below MCSIM_TRACE_DIR")
    return trace


@pytest.mark.parametrize("name", [*MADE, *RECORDED])
def test_the_policy_is_within_a_point_of_all_policies(name: str, tmp_path: Path) -> None:
    blocks = trace_named(name, tmp_path).blocks("all")
    advice = mc.advise(blocks, "10%")
    size = advice.capacity
    exhaustive = {
        policy: float(mc.simulate(blocks, policy, [size]).hit_ratio[0])
        for policy in mc.policy_names()
        if policy != "opt"
    }
    assert exhaustive[advice.policy] >= max(exhaustive.values()) - POINT
    # Replayed ratios of the table are those of the exhaustive search.
    for row in advice[advice.topic == "policy"]:
        if row.rate == 1 and row.choice != "opt":
            assert row.hit_ratio == exhaustive[row.choice]


def exhaustive_systems(trace: mc.Trace, advice: Any, folder: Path) -> dict[str, float]:
    """Run all systems over the whole trace; the hit ratio of each by title."""
    file = folder / "trace.arrow"
    trace.save(file)
    writes = {"writes": advice.writes}
    systems: list[dict[str, Any]] = [
        {"name": "hierarchy", "label": policy, "policy": policy, **writes}
        for policy in mc.policy_names()
        if policy != "opt"
    ]
    for policy in dict.fromkeys([advice.policy, "lru"]):
        systems += [
            {"name": name, "label": f"{name} {policy}", "policy": policy, **writes}
            for name in DIVIDING
        ]
    results = mc.run(
        {
            "name": "exhaustive",
            "ops": "all",
            "interval": advice.experiment["interval"],
            "workload": {"vms": [{"trace": str(file), "vms": "all"}]},
            "tiers": [{"device": "flash", "capacity": advice.capacity}],
            "systems": systems,
            "opt": False,
            "slowdowns": False,
        },
        out=folder / "results",
        figures=False,
    )
    found = {}
    vms = results.to_pandas("vms").groupby("system")[["accesses", "misses"]].sum()
    for title, row in vms.iterrows():
        found[str(title)] = 1 - row["misses"] / row["accesses"]
    return found


@pytest.mark.parametrize("name", ["hosts", "phases", "hp/hplajw_1week.csv.zst"])
def test_the_division_is_within_a_point_of_all_systems(name: str, tmp_path: Path) -> None:
    trace = trace_named(name, tmp_path)
    advice = mc.advise(trace, "10%")
    found = exhaustive_systems(trace, advice, tmp_path)
    advised = found[advice.policy if advice.sharing == "share" else advice.sharing]
    assert advised >= max(found.values()) - POINT
    for row in advice[advice.topic == "sharing"]:
        if row.rate == 1 and row.choice in found:
            assert row.hit_ratio == pytest.approx(found[row.choice], abs=1e-12)


def test_a_scan_beside_others_is_divided_or_filtered() -> None:
    """LRU lets the scan evict all others, the advice does not."""
    trace = hosts()
    advice = mc.advise(trace, "10%")
    lru = float(mc.simulate(trace.blocks("all"), "lru", [advice.capacity]).hit_ratio[0])
    advised = max(row.hit_ratio for row in advice[advice.chosen] if row.topic == "sharing")
    assert advised > lru + POINT
    assert "scans: backup" in advice.lines[0].text


def test_the_write_mode_has_the_least_latency() -> None:
    trace = MADE["scan mix"]()
    advice = mc.advise(trace, "10%", tier="50us", backend="5ms")
    rows = mc.tune(
        trace,
        advice.capacity,
        policies=[advice.policy],
        block_bytes=["4KiB"],
        tier="50us",
        backend="5ms",
    )
    latency = {row.writes: row.latency_ns for row in rows}
    assert latency[advice.writes] == min(latency.values())
    others = {mode for mode in latency if mode != "back"}
    # Where a write back costs as much as one through, there is no reason for dirty blocks.
    equal = mc.advise(
        trace, "10%", tier="50us", devices={"b": {"read": "5ms", "write": "50us"}}, backend="b"
    )
    assert equal.writes in others


def test_years_follow_from_what_is_written() -> None:
    trace = MADE["zipf"]()
    advice = mc.advise(trace, 500, tier="nvme-flash", drive="1GB")
    rows = mc.tune(
        trace,
        500,
        policies=[advice.policy],
        block_bytes=["4KiB"],
        tier="nvme-flash",
        writes=[advice.writes],
    )
    # Bytes that the drive can take, over those of a day: the trace is a day long.
    days = 1e9 * 1380 / float(rows.device_writes[0])
    assert advice.years == pytest.approx(days / 365.25)
    text = advice.lines[3].text
    assert f"lasts {days / 365.25:.3g} years" in text or "over 100 years" in text
    worn = mc.advise(
        trace,
        500,
        devices={
            "mine": {"read": "80us", "write": "20us", "pe_cycles": 100, "write_amplification": 2}
        },
        tier="mine",
        drive="1GB",
    )
    assert worn.years == pytest.approx(advice.years * 100 / 1380 / 2)


def test_the_size_for_a_target_is_the_least() -> None:
    blocks = MADE["zipf"]().blocks("all")
    advice = mc.advise(blocks, "10%", target="40%")
    assert advice.size is not None
    at, below = mc.simulate(blocks, "lru", [advice.size, advice.size - 1]).hit_ratio.tolist()
    assert below < 0.4 <= at
    assert mc.advise(blocks, "10%", target=0.4).size == advice.size
    none = mc.advise(blocks, "10%", target="99%")
    assert none.size is None
    assert "no lru cache reaches a hit ratio of 99%" in none.lines[2].text


def test_the_size_for_a_latency_is_the_least() -> None:
    trace = MADE["zipf"]()
    advice = mc.advise(trace, "10%", target="3ms")
    assert advice.size is not None
    latency = [
        mc.tune(trace, size, policies="lru", block_bytes=["4KiB"], writes=[advice.writes])[0]
        for size in (advice.size, advice.size - 1)
    ]
    assert latency[0].latency_ns <= 3e6 < latency[1].latency_ns


@pytest.mark.parametrize(
    ("given", "ratio", "latency"), [("80%", 0.8, None), (0.5, 0.5, None), ("2ms", None, 2 * 10**6)]
)
def test_a_target_is_a_ratio_or_a_time(given: Any, ratio: Any, latency: Any) -> None:
    target = Target.of(given)
    assert (target.ratio, target.latency_ns) == (ratio, latency)


@pytest.mark.parametrize("given", ["fast", "120%", -1])
def test_other_targets_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="target: expected a hit ratio such as 80%, or a mean"):
        Target.of(given)


def test_leaders_are_all_that_may_be_best() -> None:
    """Without a band, an estimate may be three points off."""
    nan = math.nan
    rows = mc.ResultTable(
        {
            "policy": np.array(["lru", "fifo", "lirs", "arc", "2q"]),
            "hit_ratio": np.array([0.1, 0.5, 0.48, 0.46, 0.49]),
            "high": np.array([0.2, 0.505, nan, nan, 0.495]),
        }
    )
    names = ["lru", "fifo", "lirs", "arc", "2q"]
    assert leaders_of(names, rows, 9) == ["lru", "fifo", "lirs"]
    assert leaders_of(names, rows, 1) == ["lru", "fifo"]
    assert leaders_of(names, None, 1) == names


def test_equal_policies_are_called_equal() -> None:
    """A loop that fits is hit by all policies alike, but for one that refuses blocks at first."""
    advice = mc.advise(trace_of(np.arange(2000) % 100), 20_000)
    assert advice.policy == "lru"
    assert "are equal (within 0.1 points)" in advice.lines[1].text
    assert "1 other hits less" in advice.lines[1].text
    policies = advice[advice.topic == "policy"]
    assert np.ptp(policies[policies.choice != "larc"].hit_ratio) <= EQUAL


def test_one_vm_has_nothing_to_divide() -> None:
    advice = mc.advise(trace_of(zipf(2000)), 100)
    assert advice.lines[4].text == "vm is the only VM, so there is nothing to divide."
    assert [system["name"] for system in advice.experiment["systems"]] == ["hierarchy"]


def test_without_a_clock_there_are_no_years_and_no_systems() -> None:
    vm = np.arange(3000) % 2
    trace = trace_of(zipf(3000), vm=vm, vms=["a", "b"], time=np.arange(3000), time_base="index")
    advice = mc.advise(trace, 100, drive="1GB")
    assert advice.years is None
    assert "because the trace has no clock" in advice.lines[3].text
    assert "because the trace has no clock" in advice.lines[4].text
    assert "of lru the best fixed parts hit" in advice.lines[4].text


def test_reads_alone_have_no_write_mode() -> None:
    advice = mc.advise(trace_of(zipf(3000)), 100, ops="reads")
    assert advice.writes is None
    assert "reads alone are replayed" in advice.lines[3].text


def test_a_trace_without_the_requests_is_an_error() -> None:
    with pytest.raises(ConfigError, match="there are no reads"):
        mc.advise(trace_of(zipf(100), writes=2), 10, ops="reads")


def test_discarded_blocks_leave_the_caches() -> None:
    """Each block is read, discarded and read again: no cache hits."""
    blocks = np.repeat(np.arange(500), 3)
    op = np.tile([0, 2, 0], 500)
    advice = mc.advise(trace_of(blocks, op=op.astype(np.uint8)), 100)
    assert "lru hits 0.00 %" in advice.lines[1].text
    assert "opt, which has foresight, hits 0.00 %" in advice.lines[1].text


def test_objects_have_a_policy_and_a_size() -> None:
    keys = zipf(3000)
    trace = mc.Trace.from_arrays(np.arange(3000), keys, 0, kind="objects", time_base="index")
    advice = mc.advise(trace, 100)
    assert "objects" in advice.lines[0].text
    assert "no write modes" in advice.lines[3].text


def test_an_array_is_a_trace_of_reads() -> None:
    advice = mc.advise(zipf(3000), "10%")
    best = max(
        float(mc.simulate(zipf(3000), name, [advice.capacity]).hit_ratio[0])
        for name in mc.policy_names()
        if name != "opt"
    )
    assert advice[advice.chosen][0].hit_ratio >= best - EQUAL


def test_advice_is_plain_for_json() -> None:
    advice = mc.advise(trace_of(zipf(3000)), 100)
    plain = json.loads(json.dumps(advice.to_dict(), default=str))
    assert [line["topic"] for line in plain["lines"]] == [
        *("trace", "policy", "size", "writes", "sharing")
    ]
    assert plain["advice"]["policy"] == advice.policy
    assert list(advice.commands) == [line.topic for line in advice.lines]
    assert advice.answer.splitlines()[1] == f"policy: {advice.lines[1].text}"


# --- The command ---------------------------------------------------------------------------------

NUMBERS = re.compile(r"(?<![\w.])[\d,.]*\d (?:%|[µun]?s|ms|[KMGT]iB)(?!\w)")
"""Shares, latencies and sizes in lines."""


def derived(text: str) -> str:
    """A line without the size of the drive, which is given, and the rules for equal ones."""
    text = re.sub(r": a drive of [^:;]*? lasts", "", text)
    return re.sub(r"equal within 1 %|within 0.1 points|over 100 years", "", text)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("scan mix", ["--size", "10%"]),
        ("zipf", ["--size", "4MiB", "--target", "40%"]),
        ("zipf", ["--size", "1000", "--target", "3ms", "--tier", "sata-ssd", "--drive", "20MB"]),
        ("zipf", ["--size", "10%", "--ops", "reads", "--block-bytes", "8KiB"]),
        ("hosts", ["--size", "10%"]),
        ("hosts", ["--size", "10%", "--vms", "web,backup"]),
    ],
)
def test_commands_print_the_numbers(
    name: str,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    MADE[name]().save("made.csv.gz")
    code, out, err = commands.call(capsys, "advise", "made.csv.gz", *options, "--json")
    assert code == 0, err
    given = json.loads(out)
    for line in given["lines"]:
        printed = ""
        for command in line["commands"]:
            words = shlex.split(command)
            assert words[0] == "mcsim"
            code, out, err = commands.call(capsys, *words[1:])
            assert code == 0, (command, err)
            printed += out
        counts = re.findall(r"([\d,.]+) (?:accesses|blocks|years)", derived(line["text"]))
        for number in [*NUMBERS.findall(derived(line["text"])), *counts]:
            value = number if number[-1] != "%" else number[:-2]
            assert value in printed, (number, line["text"], printed)
        assert line["commands"] or line["topic"] in ("sharing", "writes")
    if "--drive" in options:
        assert re.search(r"lasts [\d.]+ years", given["lines"][3]["text"])


def test_files_with_vms_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The experiment finds all files, and gives the number of the line."""
    monkeypatch.chdir(tmp_path)
    trace = hosts()
    for name in trace.vms:
        trace.slice(vms=[name]).save(f"{name}.csv.gz")
    files = [f"{name}.csv.gz" for name in trace.vms]
    lines = commands.printed(capsys, "advise", *files, "--size", "10%", "-o", "there")
    assert (tmp_path / "there" / "advice.yaml").is_file()
    assert len(list((tmp_path / "there").glob("*.csv"))) == 1
    (line,) = [line for line in lines if line.startswith("sharing: ")]
    out = commands.printed(capsys, "run", "there/advice.yaml")
    for number in re.findall(r"([\d.]+) %", line.partition("; of lru")[0]):
        assert number in "\n".join(out)


def test_mistakes_are_found_before_the_trace_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in {
        ("--size", "none"): "size: ",
        ("--size", "10", "--target", "soon"): "target: expected a hit ratio such as 80%",
        ("--size", "10", "--drive", "big"): "drive: ",
        ("--size", "10", "--policies", "lruu"): "lruu",
        ("--size", "10", "--policies", "opt"): "policies: expected one of",
        ("--size", "10", "--tier", "tape"): "tape",
        ("--size", "10", "--mini", "2"): "--mini: ",
        ("--size", "10", "--interval", "often"): "interval: ",
    }.items():
        code, _, err = commands.call(capsys, "advise", "missing.csv", *words)
        assert code == 2
        assert message in err, (words, err)
