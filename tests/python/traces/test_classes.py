"""Classes of requests as a column: from any file into any file, and what it may hold.

Trusts: rows written by hand, with their classes.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small import EXPERIMENTS

import mcsim as mc
from mcsim.base.errors import ConfigError, TraceError
from mcsim.traces.batches import CLASSED_SCHEMA, SCHEMA
from mcsim.traces.store import open_store
from mcsim.traces.synth import profile_digest, synth_trace

ROWS = [(0, 5), (4, 0), (4, 7), (9, 3), (12, 0)]
"""Milliseconds and classes."""
WORKLOADS = EXPERIMENTS / "workloads"

pytestmark = pytest.mark.usefixtures("folder")


def write(rows: list[tuple[int, Any]] = ROWS, name: str = "a.csv", header: str = "class") -> Path:
    path = Path(name)
    lines = [f"{t},{4096 * i},4096,{c}" for i, (t, c) in enumerate(rows)]
    path.write_text("\n".join([f"time_ms,offset,length,{header}", *lines]) + "\n")
    return path


def classes_of(trace: mc.Trace) -> list[int]:
    found = [batch.classes for batch in trace.batches()]
    assert all(classes is not None for classes in found)
    return np.concatenate(found).tolist()


@pytest.fixture
def classed() -> mc.Trace:
    return mc.Trace.open(write(), options={"classes": "class"})


def test_a_column_of_text_is_read_as_classes_if_somebody_says_so(classed: mc.Trace) -> None:
    assert classes_of(classed) == [c for _, c in ROWS]
    plain = mc.Trace.open(write())
    (batch,) = plain.batches()
    assert batch.classes is None
    assert len(batch) == 6
    assert plain.digest != classed.digest


def test_stores_without_classes_are_as_ever(classed: mc.Trace) -> None:
    plain, with_them = mc.Trace.open(write()), classed
    for trace, schema in ((plain, SCHEMA), (with_them, CLASSED_SCHEMA)):
        assert trace.store_path is not None
        assert pa.ipc.open_file(str(trace.store_path)).schema.remove_metadata().equals(schema)
        again = open_store(trace.store_path)
        assert [rb.schema.names for rb in again] == [schema.names]


@pytest.mark.parametrize("name", ["w.parquet", "w.arrow", "w.csv", "w.csv.zst"])
def test_what_mcsim_wrote_comes_back(classed: mc.Trace, name: str) -> None:
    options = {"classes": "class"} if ".csv" in name else {}
    again = mc.Trace.open(classed.save(name), options=options)
    assert classes_of(again) == classes_of(classed)
    for one, other in zip(again.batches(), classed.batches(), strict=True):
        for left, right in zip(one, other, strict=True):
            assert np.array_equal(left, right)


def test_tables_and_frames_have_them(classed: mc.Trace) -> None:
    for again in (
        mc.Trace.from_arrow(classed.to_arrow()),
        mc.Trace.from_pandas(classed.to_pandas()),
        mc.Trace.from_polars(classed.to_polars()),
    ):
        assert classes_of(again) == classes_of(classed)
    mine = pa.table({"ts": [9, 3], "lba": [0, 8], "level": [6, 2]})
    mapping = {"time": "ts", "time_unit": "ms", "offset": "lba", "classes": "level"}
    mapping["offset_unit"] = "bytes"
    assert classes_of(mc.Trace.from_arrow(mine, **mapping)) == [2, 6], "sorted with their requests"
    del mapping["classes"]
    (batch,) = mc.Trace.from_arrow(mine, **mapping).batches()
    assert batch.classes is None
    pq.write_table(mine, "mine.parquet")
    by_file = mc.Trace.open(
        "mine.parquet", options=mapping | {"classes": "level"}, on_unsorted="sort"
    )
    assert classes_of(by_file) == [2, 6]


def test_arrays_may_have_them() -> None:
    trace = mc.Trace.from_arrays([0, 1], [0, 0], [1, 1], classes=[7, 0])
    assert classes_of(trace) == [7, 0]
    assert classes_of(mc.Trace.from_arrays([0, 1], [0, 0], [1, 1], classes=4)) == [4, 4]
    with pytest.raises(ConfigError, match="class: expected 0, which matters most, to 7, got 8"):
        mc.Trace.from_arrays([0, 1], [0, 0], [1, 1], classes=[7, 8])
    with pytest.raises(ConfigError, match="class: expected 2 values in one dimension"):
        mc.Trace.from_arrays([0, 1], [0, 0], [1, 1], classes=[7])


def test_parts_and_copies_keep_them(classed: mc.Trace) -> None:
    assert classes_of(classed.slice(start=4 * 10**6, end=12 * 10**6)) == [0, 7, 3]
    mixed = mc.Trace.from_arrays(
        [0, 1, 2],
        [0, 0, 0],
        [1, 1, 1],
        vm=[0, 1, 0],
        op=[0, 0, 1],
        classes=[3, 4, 5],
        vms=["a", "b"],
    )
    assert classes_of(mixed.slice(vms="a")) == [3, 5]
    assert classes_of(mixed.slice(ops="writes")) == [5]
    (batch,) = mixed.batches()
    assert batch._replace(time=batch.time + 1).classes.tolist() == [3, 4, 5]
    assert pickle.loads(pickle.dumps(batch)).classes.tolist() == [3, 4, 5]


@pytest.mark.parametrize("wrong", ["8", "-1", "256", "metadata", "1.5", ""])
def test_text_that_is_no_class_is_named(wrong: str) -> None:
    rows = [*ROWS, (20, wrong)]
    with pytest.raises(TraceError, match=r"a\.csv:7: .*class"):
        mc.Trace.open(write(rows), options={"classes": "class"})
    skipping = mc.Trace.open(write(rows), options={"classes": "class"}, on_bad_line="skip")
    assert classes_of(skipping) == [c for _, c in ROWS]
    assert skipping.metadata.rows.skipped == 1


def test_rows_that_have_no_class_are_named() -> None:
    for wrong in (8, -1, 1.5, None):
        table = pa.table({"offset": [0, 1], "time_s": [0, 1], "k": [1, wrong]})
        with pytest.raises(TraceError, match=r"row 2: .*\(k\)"):
            mc.Trace.from_arrow(table, classes="k")
    with pytest.raises(ConfigError, match="classes: no column 'k'"):
        mc.Trace.from_arrow(table.drop(["k"]), classes="k")
    with pytest.raises(ConfigError, match="classes: no column 'k'; there are"):
        mc.Trace.open(write(), options={"classes": "k"})


def test_a_damaged_column_is_found(classed: mc.Trace) -> None:
    path = classed.save("w.arrow")
    bytes_ = path.read_bytes()
    column = bytes([c for _, c in ROWS])
    assert bytes_.count(column) == 1
    path.write_bytes(bytes_.replace(column, bytes([5, 0, 7, 3, 1])))
    with pytest.raises(TraceError, match="its checksum does not match"):
        list(open_store(path))


PROFILE = """
name: two
vms:
  a:
    components:
      hot: {{{hot} loop: {{blocks: 10}}}}
      cold: {{{cold} scan: {{}}}}
    phases: [{{duration: 1h, requests: 500, reads: {{hot: 1, cold: 1}}}}]
  b:
    components: {{only: {{{only} zipf: {{blocks: 20, alpha: 1}}}}}}
    phases: [{{duration: 1h, requests: 100, reads: only}}]
"""


def profile(hot: str = "", cold: str = "", only: str = "") -> Path:
    path = Path("two.yaml")
    path.write_text(PROFILE.format(hot=hot, cold=cold, only=only))
    return path


def test_components_of_a_profile_have_classes() -> None:
    plain = synth_trace(profile())
    classed = synth_trace(profile("class: 0,", "class: 6,", "class: 3,"))
    (without,), (batch,) = plain.batches(), classed.batches()
    assert without.classes is None
    for one, other in zip(without, batch, strict=False):
        assert np.array_equal(one, other), "the requests are the same"
    for vm, expected in ((0, {0, 6}), (1, {3})):
        assert set(batch.classes[batch.vm == vm].tolist()) == expected
    # A loop of ten blocks is what comes again; what a scan reads does not.
    of_a = batch.offset[batch.vm == 0], batch.classes[batch.vm == 0]
    assert len(np.unique(of_a[0][of_a[1] == 0])) == 10
    assert len(np.unique(of_a[0][of_a[1] == 6])) == np.sum(of_a[1] == 6)


def test_profiles_without_classes_have_the_identity_they_had() -> None:
    from mcsim.config.profile import read_profile

    tiny = read_profile(WORKLOADS / "tiny.yaml")
    assert "class" not in tiny.model_dump_json()
    assert profile_digest(read_profile(profile())) != profile_digest(
        read_profile(profile("class: 0,", "class: 0,", "class: 0,"))
    )


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (("class: 1,", "", "class: 1,"), r"two\.yaml:7: .*expected a `class` from 0 to 7"),
        (("class: 1,", "class: 1,", ""), r"two\.yaml:10: .*expected a `class` from 0 to 7"),
        (("class: 8,", "class: 1,", "class: 1,"), r"two\.yaml:6: .*class"),
        (("class: hot,", "class: 1,", "class: 1,"), r"two\.yaml:6: .*class"),
        (("class: true,", "class: 1,", "class: 1,"), r"two\.yaml:6: .*class"),
    ],
)
def test_mistakes_in_classes_of_profiles_are_named(said: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        synth_trace(profile(*said))
