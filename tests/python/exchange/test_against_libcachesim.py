"""Trusts: libCacheSim's readers, record by record; NumPy, which writes the files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libraries import libcachesim_hits

import mcsim as mc
from mcsim import Trace

Rows = list[tuple[int, int, int]]
"""Seconds, id and size of requests."""

_ROWS = 500


@pytest.fixture(scope="module")
def library() -> Any:
    return pytest.importorskip("libcachesim", reason="the libcachesim wheel is absent")


def _random_rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "time": np.sort(rng.integers(0, 1000, _ROWS)),
        "id": rng.integers(1, 2**63, _ROWS, dtype=np.uint64)
        * rng.integers(1, 3, _ROWS, dtype=np.uint64),
        "size": rng.integers(1, 2**20, _ROWS),
        "op": rng.integers(1, 12, _ROWS),
        "next": np.full(_ROWS, -1),
    }


def _write(path: Path, fields: list[tuple[str, str]], head: bytes = b"") -> None:
    rows = _random_rows()
    records = np.zeros(_ROWS, np.dtype(fields))
    for name, _ in fields:
        if name in rows:
            records[name] = rows[name]
    path.write_bytes(head + records.tobytes())


def _lcs_head(version: int) -> bytes:
    magic = 0x123456789ABCDEF0
    return struct.pack("<4Q", magic, version, 1, _ROWS).ljust(8184, b"\0") + struct.pack(
        "<Q", magic
    )


def _write_lcs(path: Path, version: int) -> None:
    fields = [("time", "<u4"), ("id", "<u8"), ("size", "<u4" if version < 3 else "<i8")]
    if version >= 2:
        fields += [("op", "u1"), ("tenant", "V3")]
    if version >= 3:
        fields += [("ttl", "<u4")]
    fields += [("next", "<i8")]
    if version > 3:
        fields += [("features", f"V{4 << (version - 4)}")]
    _write(path, fields, _lcs_head(version))


def _write_twr(path: Path, more: tuple[tuple[str, str], ...] = ()) -> None:
    rows = _random_rows()
    fields = [("time", "<u4"), ("id", "<u8"), ("sizes", "<u4"), ("op", "<u4"), *more]
    records = np.zeros(_ROWS, np.dtype(fields))
    records["time"], records["id"] = rows["time"], rows["id"]
    records["sizes"] = 20 << 22 | rows["size"]
    records["op"] = rows["op"] << 24 | 60
    path.write_bytes(records.tobytes())


def _theirs(library: Any, path: Path, kind: str, params: Any = None) -> Rows:
    reader = library.TraceReader(str(path), getattr(library.TraceType, kind), params)
    return [(request.clock_time, request.obj_id, request.obj_size) for request in reader]


def _ours(trace: Trace) -> Rows:
    table = trace.to_arrow().to_pydict()
    times = [time // 10**9 for time in table["time"]]
    sizes = table.get("size", [1] * len(table["key"]))
    return list(zip(times, table["key"], sizes, strict=True))


_KEY = [("time", "<u4"), ("id", "<u8")]
_OBJECT = [*_KEY, ("size", "<u4")]
_NEXT = ("next", "<i8")


def _write_oracle(path: Path) -> None:
    _write(path, [*_OBJECT, _NEXT])


def _write_sim_twr_ns(path: Path) -> None:
    _write(path, [*_OBJECT, ("ttl", "<i4"), ("ns", "<u2"), _NEXT])


def _write_sys_twr_ns(path: Path) -> None:
    sizes = [("key_size", "<u2"), ("size", "<u4")]
    _write(path, [*_KEY, *sizes, ("op", "<u2"), ("ns", "<u2"), ("ttl", "<i4"), _NEXT])


@pytest.mark.parametrize(
    ("format", "kind", "write"),
    [
        pytest.param("oracle-general", "ORACLE_GENERAL_TRACE", _write_oracle, id="oracle-general"),
        pytest.param("twr", "TWR_TRACE", _write_twr, id="twr"),
        pytest.param(
            "twr-ns", "TWRNS_TRACE", partial(_write_twr, more=(("ns", "<u2"),)), id="twr-ns"
        ),
        pytest.param(
            "oracle-sim-twr-ns", "ORACLE_SIM_TWRNS_TRACE", _write_sim_twr_ns, id="oracle-sim-twr-ns"
        ),
        pytest.param(
            "oracle-sys-twr-ns", "ORACLE_SYS_TWRNS_TRACE", _write_sys_twr_ns, id="oracle-sys-twr-ns"
        ),
        *[
            pytest.param(
                "lcs", "LCS_TRACE", partial(_write_lcs, version=version), id=f"lcs {version}"
            )
            for version in range(1, 9)
        ],
    ],
)
def test_objects_are_the_same(
    library: Any, format: str, kind: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "t.bin"
    write(path)
    trace = Trace.open(path, format=format, cache_dir=tmp_path / "cache")
    assert _ours(trace) == _theirs(library, path, kind)


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ("<IQI", _OBJECT),
        ("<IqIhb", [*_OBJECT, ("tenant", "<i2"), ("op", "i1")]),
        ("<QqQ", [("time", "<u8"), ("id", "<i8"), ("size", "<u8")]),
    ],
)
def test_binary_has_the_same_objects(
    library: Any, record: str, fields: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "t.bin"
    _write(path, fields)
    options: dict[str, Any] = {"record": record, "time": 1, "time_unit": "s", "key": 2, "length": 3}
    trace = Trace.open(path, format="binary", cache_dir=tmp_path / "cache", options=options)
    params = library.ReaderInitParam(binary_fmt_str=record, obj_id_is_num=True)
    params.time_field, params.obj_id_field, params.obj_size_field = 1, 2, 3
    assert _ours(trace) == _theirs(library, path, "BIN_TRACE", params)


def test_valpin_has_the_same_ids(library: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    _write(path, [("id", "<u8")])
    trace = Trace.open(path, format="valpin", cache_dir=tmp_path / "cache")
    assert trace.to_arrow()["key"].to_pylist() == [
        id_ for _, id_, _ in _theirs(library, path, "VALPIN_TRACE")
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_vscsi_has_the_same_sectors(library: Any, version: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    fields = {
        1: ["sn", "len", "nSG", "cmd", "ver", "lbn", "ts"],
        2: ["cmd", "ver", "sn", "len", "nSG", "lbn", "ts", "rt"],
    }[version]
    types = {"cmd": "<u2", "ver": "<u2", "lbn": "<u8", "ts": "<u8", "rt": "<u8"}
    records = np.zeros(_ROWS, np.dtype([(name, types.get(name, "<u4")) for name in fields]))
    records["cmd"] = rng.choice([0x28, 0x2A], _ROWS)
    records["ver"] = version << 8
    records["len"] = rng.integers(1, 64, _ROWS) * 512
    records["lbn"] = rng.integers(0, 2**40, _ROWS)
    records["ts"] = np.sort(rng.integers(0, 10**9, _ROWS))
    path = tmp_path / "t.vscsi"
    path.write_bytes(records.tobytes())
    table = Trace.open(path, format="vscsi", cache_dir=tmp_path / "cache").to_arrow().to_pydict()
    times = [time // 10**9 for time in table["time"]]
    sectors = [offset // 512 for offset in table["offset"]]
    assert list(zip(times, sectors, table["length"], strict=True)) == _theirs(
        library, path, "VSCSI_TRACE"
    )


def test_csv_has_the_same_objects(library: Any, tmp_path: Path) -> None:
    rows = _random_rows()
    path = tmp_path / "t.csv"
    lines = [
        f"{time},{key},{size}\n"
        for time, key, size in zip(rows["time"], rows["id"], rows["size"], strict=True)
    ]
    path.write_text("time_s,key,size\n" + "".join(lines))
    params = library.ReaderInitParam(
        has_header=True, has_header_set=True, obj_id_is_num=True, obj_id_is_num_set=True
    )
    params.time_field, params.obj_id_field, params.obj_size_field = 1, 2, 3
    trace = Trace.open(path, format="csv", cache_dir=tmp_path / "cache", options={"length": "size"})
    # Keys of text files are text, or numbers printed as text.
    ours = [(time, int(key), size) for time, key, size in _ours(trace)]
    assert ours == _theirs(library, path, "CSV_TRACE", params)


_ACCESSES = 100_000


@pytest.mark.parametrize(
    ("file", "format"),
    [
        ("msr/rsrch_1.csv.zst", "msr"),
        ("hp/hplajw_1week.csv.zst", "msr"),
        ("cloudphysics/cloudPhysicsIO.csv.zst", "cloudphysics"),
        ("misc/fiu_cheetah.first10000.csv.zst", "fiu"),
        ("misc/mqsim.tpcc-small.trace.zst", "mqsim"),
        ("misc/disksim.ssd-postmark-aligned2.trace.zst", "disksim"),
        ("arc/OLTP.lis.zst", "arc"),
        ("arc/P3.lis.zst", "arc"),
        ("lirs/2_pools.txt.zst", "keys"),
        ("lirs/sprite.txt.zst", "keys"),
    ],
)
def test_real_traces_miss_as_often(
    library: Any, file: str, format: str, trace_dir: Path, tmp_path: Path
) -> None:
    trace = Trace.open(trace_dir / file, format=format, cache_dir=tmp_path / "cache")
    keys = trace.blocks("all").ids[:_ACCESSES].astype(np.int64)
    peers = {"lru": "LRU", "fifo": "FIFO", "sieve": "Sieve", "arc": "ARC"}
    for capacity in (len(np.unique(keys)) // 50, len(np.unique(keys)) // 5):
        found = mc.simulate(keys, list(peers), [capacity])
        for row, (policy, peer) in zip(found, peers.items(), strict=True):
            hits = libcachesim_hits(keys.tolist(), capacity, peer)
            assert row.hits == hits, f"{policy}, {capacity} blocks"
