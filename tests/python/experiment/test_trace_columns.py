"""Response times, classes and bytes, from columns of files to what systems see.

Trusts: sums over the lines of the file, worked out in the test; runs that nobody asked to keep
response times, whose numbers must not depend on it; and a sequence whose hits are known.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from complaints import complaint
from ruamel.yaml import YAML
from small import TINY, small_experiment

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.references import interned as interned_traces
from mcsim.traces.cache import INTERNED
from mcsim.traces.metadata import TraceMetadata

SECOND = 10**9
Kept = Callable[[], set[Path]]


class Watcher:
    """Records the response times that it receives."""

    meters = {"waits": {"meter": "responses"}, "load": {"meter": "load"}}  # noqa: RUF012
    interval = "10s"
    told: list[dict[str, Any]]

    def allocate(self, seen: mcsim.Observation) -> None:
        type(self).told.append(seen.meters["waits"])


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    Watcher.told = []
    return folder


@pytest.fixture
def kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """Every interned trace is kept: in these files."""
    monkeypatch.setattr(interned_traces.interned, "__kwdefaults__", {"folder": None, "at_least": 0})
    return lambda: set((folder / "cache" / INTERNED).glob("*.acc*"))


def lines_of(seed: int, count: int = 600) -> list[tuple[int, int, int, int]]:
    """Milliseconds, block, microseconds and whether it writes."""
    draw = random.Random(seed)
    times = sorted(draw.randrange(0, 60_000) for _ in range(count))
    return [(t, draw.randrange(50), draw.randrange(40_000), draw.randrange(2)) for t in times]


def write(path: Path, lines: list[tuple[int, int, int, int]]) -> None:
    rows = [f"{t},{'RW'[op]},{4096 * b},4096,{us}" for t, b, us, op in lines]
    path.write_text("\n".join(["time_ms,op,offset,length,response_us", *rows]) + "\n")


def of_both(write: Callable[..., Any], folder: Path, **how: Any) -> dict[str, Any]:
    """Lines of the file for each VM."""
    return {name: write(folder / f"{name}.csv", s, **how) for s, name in enumerate("ab")}


def experiment(*systems: Any, **more: Any) -> dict[str, Any]:
    return (
        small_experiment(
            *systems,
            tiers={"flash": 20},
            name="waits",
            interval="10s",
            ops="all",
            workload={"vms": ["a", "b"]},
        )
        | more
    )


def run(folder: Path, given: Any, **more: Any) -> Any:
    return mcsim.run(given, trace_dirs=[folder], out=folder / "results", figures=False, **more)


def test_an_allocator_sees_what_the_lines_of_the_files_add_up_to(folder: Path) -> None:
    lines = {name: lines_of(seed) for seed, name in enumerate("ab")}
    for name, of_vm in lines.items():
        write(folder / f"{name}.csv", of_vm)
    run(folder, experiment({"name": Watcher}))
    start = min(of_vm[0][0] for of_vm in lines.values())
    assert len(Watcher.told) == 5
    for interval, told in enumerate(Watcher.told):
        for vm, of_vm in enumerate(lines.values()):
            inside = [
                us
                for t, _, us, _ in of_vm
                if interval * 10_000 <= t - start < interval * 10_000 + 10_000
            ]
            assert told["requests"][vm] == len(inside)
            assert told["mean_ns"][vm] == pytest.approx(1000 * np.mean(inside), rel=1e-12)
            assert told["outstanding"][vm] == pytest.approx(sum(inside) / 10e6, rel=1e-12)


def test_those_who_do_not_ask_count_the_same(folder: Path, kept: Kept) -> None:
    for seed, name in enumerate("ab"):
        write(folder / f"{name}.csv", lines_of(seed))
    plain = run(folder, experiment("lru", {"name": "slo", "interval": "10s"}))
    files = {path: path.read_bytes() for path in kept()}
    together = run(folder, experiment("lru", {"name": "slo", "interval": "10s"}, {"name": Watcher}))
    assert len(Watcher.told) == 5
    for table in ("metrics", "vms", "decisions"):
        rows = together.to_pandas(table)
        rows = rows[~rows["system"].str.contains("Watcher")].reset_index(drop=True)
        assert rows.equals(plain.to_pandas(table))
    # The entry without response times is unchanged and reused; with them there is another entry.
    assert {path: path.read_bytes() for path in files} == files
    (other,) = kept() - set(files)
    assert other.stat().st_size >= len(next(iter(files.values()))) + 8 * 1200


def refused(folder: Path, given: dict[str, Any]) -> str:
    path = folder / "mine.yaml"
    YAML().dump(given, path)
    return complaint(run, folder, path).replace(str(folder), "")


ASKS = {"name": "slo", "interval": "10s", "iops": {"a": 100.0}, "outstanding": {"a": 0}}


def test_who_asks_for_what_a_trace_lacks_is_told_so_with_the_line(folder: Path) -> None:
    for seed, name in enumerate("ab"):
        write(
            folder / f"{name}.csv",
            [(t, b, -1 if seed else 5, op) for t, b, _, op in lines_of(seed)],
        )
    assert refused(folder, experiment("lru", ASKS)).endswith(
        "systems[1]: it asks for response times: the trace of 'b', b.csv, has none: give one whose "
        "columns have them (`mcsim describe csv`: response)"
    )
    assert "mine.yaml:" in refused(folder, experiment("lru", ASKS))
    profile = experiment(ASKS | {"iops": {"cyclic": 9.0}, "outstanding": {"cyclic": 0}})
    profile["workload"] = {"profile": str(TINY)}
    assert "those of a synthetic workload are not known: give recorded traces" in refused(
        folder, profile
    )


def test_latency_of_vcacheshare_is_measured_in_the_trace_if_that_is_asked_for(folder: Path) -> None:
    """For VMs with equal response times it is the latency of the backend."""
    waits_us = {"a": 500, "b": 20_000}
    for seed, (name, us) in enumerate(waits_us.items()):
        lines = [(t, b, us, op) for t, b, _, op in lines_of(seed)]
        write(folder / f"{name}.csv", lines)
    by_trace = {"name": "vcacheshare", "interval": "10s", "window": "10s", "latency": "trace"}
    measured = run(folder, experiment(by_trace))
    own = {"device": "hdd", "vms": {name: f"{us}us" for name, us in waits_us.items()}}
    declared = run(folder, experiment(by_trace | {"latency": "machine"}, backend=own))
    assert len(measured.decisions()) == 5
    assert measured.decisions().to_arrow().equals(declared.decisions().to_arrow())
    assert measured.metrics().to_arrow().equals(declared.metrics().to_arrow())
    alike = run(folder, experiment(by_trace | {"latency": "machine"}))
    assert not alike.metrics().to_arrow().equals(measured.metrics().to_arrow())
    for name in "ab":
        write(folder / f"{name}.csv", [(t, b, -1, op) for t, b, _, op in lines_of(0)])
    assert "it asks for response times: the trace of 'a'" in refused(folder, experiment(by_trace))


def test_a_trace_without_a_clock_has_no_response_times(folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"{i % 7}\n" for i in range(100)))
    given = experiment(ASKS | {"interval": "20 references"}, interval="20 references")
    given["workload"] = {"vms": [{"name": "a", "trace": "a.txt", "format": "keys"}]}
    assert "the workload has no clock, and without one there are none" in refused(folder, given)


def test_a_column_of_classes_is_read_as_the_vms(folder: Path) -> None:
    """Scans of a class that does not matter leave what matters where it is."""
    rows = []
    for i in range(4000):
        metadata = i % 4 == 0
        block = (i // 4) % 10 if metadata else 100 + i
        rows.append(f"{i},{'metadata' if metadata else 'data'},R,{4096 * block},4096")
    (folder / "classed.csv").write_text("\n".join(["time_ms,class,op,offset,length", *rows]) + "\n")
    vms = [{"trace": "classed.csv", "vms": "all", "options": {"vm": "class"}}]
    classes = {"metadata": 0, "data": 7}
    results = run(
        folder, experiment("lru", {"name": "dss", "classes": classes}, workload={"vms": vms})
    )
    counts = results.to_pandas("vms").groupby(["system", "vm"])[["accesses", "misses"]].sum()
    assert counts.loc["dss", "metadata"].tolist() == [1000, 10]
    assert counts.loc["lru", "metadata"].tolist() == [1000, 1000]


def write_classed(path: Path, seed: int, classes: bool = True) -> None:
    """Requests of one to 32 blocks, of class 0, 1 or 2 by their size as `dss` has it."""
    draw = random.Random(seed)
    rows = []
    for t in sorted(draw.randrange(0, 60_000) for _ in range(600)):
        blocks = 2 ** draw.randrange(6)
        of_class = 0 if blocks <= 1 else 1 if blocks <= 16 else 2
        op, first = draw.choice("RRW"), draw.randrange(60)
        rows.append(f"{t},{op},{4096 * first},{4096 * blocks},{of_class if classes else 0}")
    path.write_text("\n".join(["time_ms,op,offset,length,level", *rows]) + "\n")


def classed_vms(column: str = "level") -> dict[str, Any]:
    options = {"options": {"classes": column}} if column else {}
    return {"vms": [{"name": name} | options for name in "ab"]}


def counts(results: Any, system: str) -> Any:
    rows = results.to_pandas("vms")
    return rows[rows["system"] == system].drop(columns="system").reset_index(drop=True)


BY_COLUMN = {"name": "dss", "label": "column", "by": "column"}
BY_SIZE = {"name": "dss", "by": "size"}


def test_a_column_of_classes_is_worth_the_rule_that_made_it(folder: Path) -> None:
    of_both(write_classed, folder)
    results = run(folder, experiment("lru", BY_SIZE, BY_COLUMN, workload=classed_vms()))
    assert counts(results, "column").equals(counts(results, "dss"))
    assert not counts(results, "column").equals(counts(results, "lru"))
    of_both(write_classed, folder, classes=False)
    one_class = run(folder, experiment(BY_SIZE, BY_COLUMN, workload=classed_vms()))
    assert not counts(one_class, "column").equals(counts(one_class, "dss"))


def test_classes_are_those_of_the_trace_if_it_has_any(folder: Path) -> None:
    of_both(write_classed, folder, classes=False)
    by_size = BY_SIZE | {"label": "size"}
    classed = run(folder, experiment("dss", by_size, BY_COLUMN, workload=classed_vms()))
    assert counts(classed, "dss").equals(counts(classed, "column"))
    assert not counts(classed, "dss").equals(counts(classed, "size"))
    alone = run(folder, experiment("dss", workload=classed_vms()))
    assert counts(alone, "dss").equals(counts(classed, "column"))
    # Without a column of classes in all files, request sizes define them.
    for workload in (classed_vms(""), {"vms": ["a", *classed_vms()["vms"][1:]]}):
        results = run(folder, experiment("lru", "dss", by_size, workload=workload))
        assert counts(results, "dss").equals(counts(results, "size"))


def test_classes_that_nobody_asks_for_cost_nothing(folder: Path, kept: Kept) -> None:
    of_both(write_classed, folder)
    plain = run(folder, experiment("lru", BY_SIZE, workload=classed_vms()))
    (plainly,) = kept()
    size = plainly.stat().st_size
    together = run(folder, experiment("lru", BY_SIZE, BY_COLUMN, workload=classed_vms()))
    for system in ("lru", "dss"):
        assert counts(together, system).equals(counts(plain, system))
    (other,) = kept() - {plainly}
    assert plainly.stat().st_size == size
    assert size + 1200 <= other.stat().st_size <= size + 1200 + 2 * 8 + 2 * 64


def test_who_asks_for_classes_that_a_trace_lacks_is_told_so_with_the_line(folder: Path) -> None:
    of_both(write_classed, folder)
    given = experiment("lru", BY_COLUMN, workload=classed_vms())
    del given["workload"]["vms"][1]["options"]
    assert refused(folder, given).endswith(
        "systems[1]: it asks for classes of requests: the trace of 'b', b.csv, has none: say which "
        "column has them, as numbers from 0 to 7 (`mcsim describe csv`: classes)"
    )
    assert "mine.yaml:" in refused(folder, given)
    given["workload"] = {"profile": str(TINY)}
    assert "has none: say the `class` of every component of the profile" in refused(folder, given)


def test_classes_of_a_synthetic_profile_keep_what_matters(folder: Path) -> None:
    given = YAML(typ="safe").load(TINY.parents[1] / "classes.yaml")
    given["workload"] = {"profile": str(TINY.parent / "classed.yaml")}
    results = run(folder, given)
    hits = results.to_pandas("vms").groupby("system")[["accesses", "misses"]].sum()
    assert hits["accesses"].nunique() == 1
    assert hits.loc["by column", "misses"] < hits.loc["by size", "misses"]
    assert hits.loc["by column", "misses"] < hits.loc["lru", "misses"]
    assert hits["misses"].nunique() > 3


class Bandwidth:
    """Records the bytes that it receives."""

    meters = {  # noqa: RUF012
        "bytes": {"meter": "load", "bytes": True},
        "long": {"meter": "load", "bytes": True, "window": "30s"},
    }
    interval = "10s"
    told: list[dict[str, Any]]

    def allocate(self, seen: mcsim.Observation) -> None:
        type(self).told.append(dict(seen.meters))


def write_sized(path: Path, seed: int) -> list[tuple[int, int, int]]:
    """Milliseconds, whether it writes, and bytes that are no whole blocks."""
    draw = random.Random(seed)
    times = sorted(draw.randrange(0, 60_000) for _ in range(600))
    lines = [(t, draw.randrange(2), draw.randrange(1, 20_000)) for t in times]
    rows = [f"{t},{'RW'[op]},{512 * draw.randrange(400)},{size}" for t, op, size in lines]
    path.write_text("\n".join(["time_ms,op,offset,length", *rows]) + "\n")
    return lines


@pytest.fixture
def bandwidth() -> type[Bandwidth]:
    Bandwidth.told = []
    return Bandwidth


def told_bytes(lines: dict[str, list[tuple[int, int, int]]], ops: str) -> None:
    start = min(t for of_vm in lines.values() for t, op, _ in of_vm if ops == "all" or not op)
    for interval, told in enumerate(Bandwidth.told):
        end = (interval + 1) * 10_000
        for vm, of_vm in enumerate(lines.values()):
            for name, window in (("bytes", 10_000), ("long", 30_000)):
                sums = [0, 0]
                for t, op, size in of_vm:
                    sums[op] += size if end - window <= t - start < end else 0
                assert told[name]["bytes_read"][vm] == sums[0]
                assert told[name]["bytes_written"][vm] == (sums[1] if ops == "all" else 0)


@pytest.mark.parametrize("ops", ["all", "reads"])
def test_bytes_are_what_the_lines_of_the_files_add_up_to(
    folder: Path, bandwidth: type[Bandwidth], ops: str
) -> None:
    lines = of_both(write_sized, folder)
    run(folder, experiment({"name": bandwidth}, ops=ops))
    assert len(Bandwidth.told) == 5
    told_bytes(lines, ops)


def test_bytes_are_kept_once(folder: Path, bandwidth: type[Bandwidth], kept: Kept) -> None:
    of_both(write_sized, folder)
    plain = run(folder, experiment("lru", "vcacheshare"))
    before = kept()
    assert len(before) == 1
    together = run(folder, experiment("lru", "vcacheshare", {"name": bandwidth}))
    assert len(Bandwidth.told) == 5
    for system in ("lru", "vcacheshare"):
        assert counts(together, system).equals(counts(plain, system))
    assert kept() == before


def test_bytes_of_a_sample_are_those_of_its_pieces(
    folder: Path, bandwidth: type[Bandwidth]
) -> None:
    of_both(write_sized, folder)
    run(folder, experiment({"name": bandwidth}, workload={"vms": ["a", "b"], "sample": 0.5}))
    sampled = sum(told["bytes"]["bytes_read"].sum() for told in Bandwidth.told)
    Bandwidth.told = []
    run(folder, experiment({"name": bandwidth}))
    assert 0.2 < sampled / sum(told["bytes"]["bytes_read"].sum() for told in Bandwidth.told) < 0.8


@pytest.mark.parametrize(
    ("size", "told", "placed"),
    [("request", True, "b"), ("blocks", True, "a"), ("request", False, "a")],
)
def test_hystor_goes_by_what_was_asked_for_where_the_trace_tells(
    folder: Path, size: str, told: bool, placed: str
) -> None:
    for name, length in (("a", 4096), ("b", 512)):
        rows = [f"{t},0,{length}" if told else f"{t},0" for t in range(0, 6_000, 10)]
        head = "time_ms,offset,length" if told else "time_ms,offset"
        (folder / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    system = {"name": "hystor", "extent": 64, "epoch": "1s", "size": size}
    given = experiment(system, workload={"vms": ["a", "b"]}, interval="1s")
    given["tiers"] = [{"device": "dram", "capacity": 64}]  # for the extent of one
    metrics = run(folder, given).to_pandas("metrics")
    assert metrics.groupby("vm")["hits"].sum().to_dict() == {
        vm: 500 if vm == placed else 0 for vm in "ab"
    }


def test_who_asks_for_bytes_of_a_trace_without_lengths_is_told_so_with_the_line(
    folder: Path, bandwidth: type[Bandwidth]
) -> None:
    write_sized(folder / "a.csv", 0)
    lines = [f"{t},R,{4096 * (t % 9)}" for t in range(0, 60_000, 500)]
    (folder / "b.csv").write_text("\n".join(["time_ms,op,offset", *lines]) + "\n")
    (folder / "mine.py").write_text(
        "class Mine:\n"
        "    meters = {'load': {'meter': 'load', 'bytes': True}}\n"
        "    def allocate(self, seen):\n"
        "        return None\n"
    )
    given = experiment("lru", "mine:Mine")
    path = folder / "mine.yaml"
    YAML().dump(given, path)
    said = complaint(run, folder, path, allow_code=True)
    assert said.endswith(
        "systems[1]: it asks for bytes of requests: the trace of 'b', b.csv, does not tell how "
        "long they were: say which column has the length (`mcsim describe csv`: length)"
    )
    assert "mine.yaml:" in said
    run(folder, experiment("vcacheshare"))  # with a load without bytes
    (folder / "b.txt").write_text("".join(f"{i % 7}\n" for i in range(100)))
    keys = experiment({"name": bandwidth}, interval="20 references")
    keys["workload"] = {"vms": [{"name": "b", "trace": "b.txt", "format": "keys"}]}
    own = {"interval": 20, "meters": {"bytes": {"meter": "load", "bytes": True}}}
    keys["systems"] = [{"name": type("ByReference", (bandwidth,), own)}]
    with pytest.raises(ConfigError, match=r"b\.txt, does not tell .*the format has none"):
        run(folder, keys)


def test_a_table_without_lengths_says_so_wherever_it_goes(folder: Path) -> None:
    columns = {"time_s": [0.5, 1.5], "offset": [0, 4096]}
    for sized in (False, True):
        frame = pd.DataFrame(columns | ({"length": [1, 2]} if sized else {}))
        trace = mcsim.Trace.from_pandas(frame)
        assert trace.metadata.has_lengths == sized
        assert (b"has_lengths" in trace.metadata.to_json()) != sized
        again = mcsim.Trace.from_arrow(trace.to_arrow())
        assert again.metadata.has_lengths == sized
        (folder / f"{sized}.csv").write_text(frame.to_csv(index=False))
        for _ in range(2):  # read, and then found
            assert mcsim.Trace.open(folder / f"{sized}.csv").metadata.has_lengths == sized
    (folder / "k.txt").write_text("1\n2\n")
    assert not mcsim.Trace.open(folder / "k.txt", format="keys").metadata.has_lengths
    (folder / "o.bin").write_bytes(struct.pack("<IQIq", 0, 7, 4096, -1))
    oracle = {"path": folder / "o.bin", "format": "oracle-general"}
    assert mcsim.Trace.open(**oracle).metadata.has_lengths
    with pytest.raises(ConfigError, match=r"ignore_size is gone: .* unit_bytes=4096"):
        mcsim.Trace.open(**oracle, options={"ignore_size": True})


@pytest.mark.parametrize(
    ("format", "options", "tells"),
    [
        ("keys", {}, False),
        ("oracle-general", {"ignore_size": True}, False),
        ("oracle-general", {}, True),
        ("csv", {"offset": "lba", "length": ""}, False),
        ("csv", {"offset": "lba"}, True),
    ],
)
def test_stores_of_before_are_known_by_how_they_were_read(
    format: str, options: dict[str, Any], tells: bool
) -> None:
    (saved,) = (mcsim.Trace.from_arrays([0], [0], [4096], vms=["a"]).metadata,)
    said = json.loads(saved.to_json()) | {"format": format, "options": options}
    assert "has_lengths" not in said
    assert TraceMetadata.from_json(json.dumps(said).encode()).has_lengths == tells


def test_a_table_of_mcsims_without_lengths_says_how_it_is_made_again(
    folder: Path, bandwidth: type[Bandwidth]
) -> None:
    (folder / "a.csv").write_text("time_ms,offset\n0,0\n20000,4096\n")
    for name, says in (
        (
            "mine.arrow",
            "the trace of 'a', a.csv, does not tell how long they were: say which column has the "
            "length (`mcsim describe csv`: length), and make mine.arrow again, which was made "
            "without: `mcsim trace convert`",
        ),
        (
            "mine.parquet",
            "the trace of 'a', mine.parquet, does not tell how long they were: say which column "
            "has the length (`mcsim describe arrow`: length); if mcsim made the table of a trace "
            "that does not tell, make it again of one that does: `mcsim trace convert`",
        ),
    ):
        mcsim.Trace.open(folder / "a.csv").save(folder / name)
        given = experiment({"name": bandwidth})
        given["workload"] = {"vms": [{"name": "a", "trace": name}]}
        assert complaint(run, folder, given).endswith(says)
