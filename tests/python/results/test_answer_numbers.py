"""Each number of an answer, over experiments that are made to be hard.

Oracle: sums over the rows of the Parquet files with plain loops (`plain_run`), and a reader that
must get from the first word of each sentence to its last (`answer_reader`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answer_reader import check
from numpy.typing import NDArray
from plain_run import PlainRun
from small import EXPERIMENTS

import mcsim as mc
from mcsim.results.answer import sentences
from mcsim.results.results import Results

HOUR = 3600 * 10**9
Blocks = Callable[[np.random.Generator, int], NDArray[np.int64]]


def zipf(alpha: float = 1.3, blocks: int = 400) -> Blocks:
    return lambda random, count: np.minimum(random.zipf(alpha, count), blocks)


def scan(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    del random
    return np.arange(count)


def loop(blocks: int) -> Blocks:
    return lambda random, count: np.arange(count) % blocks


def idle(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    del random, count
    return np.zeros(1, np.int64)


VM = tuple[Blocks, int]
MIX: dict[str, VM] = {"good": (zipf(), 2000), "cycle": (loop(150), 1500), "walk": (scan, 800)}
BACKUP: dict[str, VM] = {"db": (zipf(1.1), 2000), "web.0": (loop(60), 600), "backup": (scan, 9000)}


def written(folder: Path, vms: Mapping[str, VM], writes: float, **more: Any) -> str:
    """Write a trace of VMs over six hours, each with blocks of its own."""
    random = np.random.default_rng(len(vms))
    parts = []
    for v, (blocks, count) in enumerate(vms.values()):
        block = blocks(random, count) + 100_000 * v
        times = np.sort(random.integers(0, 6 * HOUR, len(block)))
        op = (random.random(len(block)) < writes).astype(np.uint8)
        if more.get("discards"):
            op[random.random(len(block)) < 0.1] = 2
        parts.append((times, 4096 * block, op, np.full(len(block), v)))
    time, offset, op, vm = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(time, kind="stable")
    is_timed = not more.get("without_clock")
    trace = mc.Trace.from_arrays(
        time[order] if is_timed else np.arange(len(order)),
        offset[order],
        np.full(len(order), 4096),
        op=op[order],
        vm=vm[order],
        vms=list(vms),
        time_base="clock" if is_timed else "index",
    )
    path = folder / "trace.arrow"
    trace.save(path)
    return str(path)


def ran(
    folder: Path,
    systems: Sequence[Any],
    vms: Mapping[str, VM] = MIX,
    *,
    writes: float = 0.0,
    dram: int = 60,
    flash: int = 100,
    trace: Mapping[str, Any] = {},
    drive: Mapping[str, Any] = {},
    **more: Any,
) -> Results:
    path = written(folder, vms, writes, **trace)
    spec = {
        "name": "hard",
        "ops": "all" if writes else "reads",
        "interval": "1h",
        "workload": {"vms": [{"name": name, "trace": path} for name in vms]},
        "tiers": [
            {"device": "dram", "capacity": dram},
            {"device": "flash", "capacity": flash, **drive},
        ],
        "backend": {"device": "hdd", "read": "6500us", "write": "4ms"},
        "systems": list(systems),
    }
    return mc.run(spec | more, out=folder / "results", figures=False)


def modes(name: str = "hierarchy", *names: str) -> list[Any]:
    """A system in several write modes."""
    known = names or ("through", "back", "around")
    return [{"name": name, "label": f"{name} {mode}", "writes": mode} for mode in known]


SMALL_DRIVE = {"drive": "1MiB", "pe_cycles": 1}
LARGE_DRIVE = {"drive": "1TiB", "pe_cycles": 3000}
WRITE_BACK = {"name": "hierarchy", "label": "mine", "policy": "arc", "writes": "back"}
EVERY = ["lru", "static", "multicache-joint", "karma", "hindsight", "clairvoyant"]
MANY: dict[str, VM] = {f"vm{i}": (zipf(1.1 + i / 50), 60 + 5 * i) for i in range(40)}

# name: arguments of `ran`, and the kinds of sentences that must be there.
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "three VMs": ({"systems": ["lru", "static", "multicache-joint"]}, "best changes bounds"),
    "one scan makes most": (
        {"systems": ["lru", "static", "karma"], "vms": BACKUP},
        "apart changes",
    ),
    "a scan, reads and writes": (
        {"systems": [*EVERY, WRITE_BACK], "vms": BACKUP, "writes": 0.4},
        "apart changes",
    ),
    "only a scan": ({"systems": ["lru", "static"], "vms": {"walk": (scan, 900)}}, "best"),
    "two scans": (
        {
            "systems": ["static", "lru"],
            "vms": {"a": (scan, 3000), "b": (scan, 2000), "c": (zipf(), 900)},
        },
        "apart",
    ),
    "a scan that writes": (
        {"systems": [*modes(), "lru"], "vms": BACKUP, "writes": 0.9},
        "best changes",
    ),
    "ties": ({"systems": ["lru", {"name": "lru", "label": "again"}]}, "best bounds"),
    "ties of three with a loser": (
        {"systems": ["lru", {"name": "lru", "label": "again"}, {"name": "hierarchy"}, "static"]},
        "best changes",
    ),
    "ties with the next": (
        {"systems": ["static", {"name": "static", "label": "b"}, "lru"]},
        "best",
    ),
    "ties with legacy": (
        {"systems": [{"name": "lru", "label": "old", "legacy": True}, "lru", "static"]},
        "best",
    ),
    "only legacy": (
        {"systems": ["static", {"name": "lru", "label": "old", "legacy": True}]},
        "best",
    ),
    "one VM": (
        {
            "systems": ["lru", "hierarchy", {"name": "hierarchy", "label": "arc", "policy": "arc"}],
            "vms": {"one": (zipf(1.2), 3000)},
        },
        "best bounds",
    ),
    "one system": ({"systems": ["lru"]}, "best bounds"),
    "one system and yardsticks": ({"systems": ["lru", "hindsight", "clairvoyant"]}, "best bounds"),
    "only a yardstick": ({"systems": ["hindsight"]}, "best"),
    "all cached": ({"systems": ["lru", "static", "karma"], "dram": 9000, "flash": 9000}, "best"),
    "all cached, in other tiers": (
        {"systems": ["lru", {"name": "static", "shares": {"good": 8}}], "dram": 40, "flash": 9000},
        "best changes",
    ),
    "no Global LRU": ({"systems": ["static", "multicache-joint", "karma"]}, "best changes bounds"),
    "no OPT": ({"systems": ["lru", "static"], "opt": False, "slowdowns": False}, "best changes"),
    "yardsticks": ({"systems": EVERY}, "best changes bounds"),
    "yardsticks and writes": ({"systems": EVERY, "writes": 0.5}, "best changes bounds"),
    "three write modes": ({"systems": modes(), "writes": 0.5}, "best changes bounds"),
    "a mode of one system": ({"systems": ["lru", "static", WRITE_BACK], "writes": 0.5}, "changes"),
    "static in two modes": (
        {"systems": ["lru", "static", *modes("static", "back"), "hindsight"], "writes": 0.3},
        "best changes bounds",
    ),
    "five modes": (
        {
            "systems": [*modes(), "eci-cache", {"name": "hystor", "extent": 16}, "lru"],
            "writes": 0.5,
        },
        "best changes",
    ),
    "no clock": (
        {
            "systems": EVERY[:4],
            "trace": {"without_clock": True},
            "interval": "500 references",
            "drive": SMALL_DRIVE,
        },
        "best changes bounds wear",
    ),
    "warm-up": ({"systems": EVERY, "warm_up": "2h", "drive": SMALL_DRIVE}, "best changes wear"),
    "all warm-up but an hour": (
        {"systems": EVERY[:3], "warm_up": "5h", "interval": "30min"},
        "best",
    ),
    "discards": (
        {"systems": [*EVERY, WRITE_BACK], "writes": 0.4, "trace": {"discards": True}},
        "best changes bounds",
    ),
    "a drive that wears": (
        {"systems": modes(), "writes": 0.6, "drive": SMALL_DRIVE},
        "best changes bounds wear",
    ),
    "a drive that does not wear": (
        {"systems": ["lru", "static"], "drive": LARGE_DRIVE},
        "best changes bounds wear",
    ),
    "a drive with a price alone": (
        {
            "systems": ["lru", "static"],
            "drive": {"device": "dram", "drive": "1.5GB", "price": 7},
        },
        "best changes bounds wear",
    ),
    "a drive that is never written": (
        {
            "systems": ["lru", "static"],
            "vms": {"a": (loop(20), 900), "b": (loop(10), 500)},
            "drive": LARGE_DRIVE,
        },
        "best wear",
    ),
    "many VMs": ({"systems": EVERY, "vms": MANY}, "best changes bounds"),
    "many VMs, one scan": (
        {"systems": EVERY[:3], "vms": MANY | {"walk": (scan, 9000)}},
        "apart changes",
    ),
    "an idle VM": ({"systems": EVERY[:4], "vms": MIX | {"idle": (idle, 1)}}, "best changes"),
    "staged blocks": (
        {
            "systems": [
                "lru",
                {
                    "name": "static",
                    "writes": "back",
                    "admission": "none / staged(n=2, mode=data, read_ns=40)",
                },
            ],
            "writes": 0.3,
        },
        "best changes",
    ),
    "hosts": (
        {
            "systems": [
                "cloudcache",
                {"name": "cloudcache", "label": "moved", "overload": "migrate"},
            ],
            "writes": 0.3,
            "hosts": {
                "names": ["full", "spare"],
                "vms": {"walk": "spare"},
                "link": {"latency": "100us", "rate": 2000},
            },
        },
        "best",
    ),
    "storage of a VM's own": (
        {
            "systems": EVERY[:4],
            "backend": {"device": "hdd", "read": "6500us", "write": "4ms", "vms": {"good": "9ms"}},
        },
        "best changes",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_number_follows_from_the_tables(name: str, tmp_path: Path) -> None:
    arguments, kinds = CASES[name]
    results = ran(tmp_path, **arguments)
    found = check(sentences(results), PlainRun(results.path))
    assert set(kinds.split()) <= found, results.answer
    assert results.answer == "\n".join(sentences(results))


@pytest.mark.parametrize("name", ["tiny", "placement", "guests", "remoca", "migration"])
def test_experiments_of_the_repository(name: str, tmp_path: Path) -> None:
    results = mc.run(EXPERIMENTS / f"{name}.yaml", out=tmp_path, figures=False)
    check(sentences(results), PlainRun(results.path))


RECORDED = {
    "msr/web_3.csv.zst": ({"name": "web_3"}, "1d"),
    "hp/hplajw_1week.csv.zst": ({"name": "hplajw_0"}, "1d"),
    "lirs/cs.txt.zst": ({"name": "cs"}, "1000 references"),
}


@pytest.mark.parametrize("file", RECORDED)
def test_recorded_traces(file: str, trace_dir: Path, tmp_path: Path) -> None:
    vm, interval = RECORDED[file]
    if not (trace_dir / file).is_file():
        pytest.skip(f"{trace_dir / file}: not there")
    spec = {
        "name": "recorded",
        "ops": "reads" if "lirs" in file else "all",
        "interval": interval,
        "workload": {"vms": [vm | {"trace": str(trace_dir / file)}]},
        "tiers": [{"device": "dram", "capacity": 500}, {"device": "flash", "capacity": 3000}],
        "systems": ["lru", {"name": "hierarchy", "label": "arc", "policy": "arc"}, "hindsight"],
    }
    results = mc.run(spec, out=tmp_path, figures=False)
    assert "best" in check(sentences(results), PlainRun(results.path))


def test_objects_are_compared_by_hits(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = [f"{t},{random.zipf(1.3) % 60},{10 * (1 + t % 3)},read" for t in range(3000)]
    (tmp_path / "o.csv").write_text("\n".join(["time_s,key,size,op", *rows]))
    spec = {
        "name": "objects",
        "interval": "10min",
        "workload": {"vms": [{"name": "a", "trace": str(tmp_path / "o.csv")}]},
        "tiers": [{"device": "dram", "capacity": 9}],
        "systems": ["lru", {"name": "hierarchy", "label": "lfu", "policy": "lfu"}],
    }
    results = mc.run(spec, out=tmp_path, figures=False)
    assert "latency" not in results.answer
    check(sentences(results), PlainRun(results.path))


def test_yardsticks_alone_have_a_life_of_drives(tmp_path: Path) -> None:
    results = ran(tmp_path, ["clairvoyant"], writes=0.6, drive=SMALL_DRIVE)
    check(sentences(results), PlainRun(results.path))
    (wear,) = [text for text in sentences(results) if "the drive of flash" in text]
    assert "shortest" not in wear


def test_a_changed_number_is_found(tmp_path: Path) -> None:
    results = ran(tmp_path, **CASES["a scan, reads and writes"][0], drive=SMALL_DRIVE)
    run, told = PlainRun(results.path), sentences(results)
    check(told, run)
    changed = 0
    for i, sentence in enumerate(told):
        for at, letter in enumerate(sentence):
            is_last = not sentence[at + 1 : at + 2].isdigit()
            if letter.isdigit() and is_last and sentence[at - 1] in ".0123456789":
                other = sentence[:at] + str((int(letter) + 5) % 10) + sentence[at + 1 :]
                with pytest.raises((AssertionError, KeyError)):
                    check([*told[:i], other, *told[i + 1 :]], run)
                changed += 1
    assert changed > 15
