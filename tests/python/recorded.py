"""Recorded traces of the tests: how to read each, and published facts."""

from __future__ import annotations

import os
from pathlib import Path

from mcsim.traces.trace import Trace

CLOUDPHYSICS = {
    "time": "time",
    "time_unit": "us",
    "read": "28",
    "write": "2a",
    "offset": "lbn",
    "offset_unit": "sectors",
    "length": "size",
}
GWU = {
    "header": False,
    "time": 1,
    "time_unit": "s",
    "vm": "2+3",
    "op": 4,
    "offset": 5,
    "length": 6,
    "response": 7,
    "response_unit": "filetime",
}
TENCENT = {"header": False, "delimiter": "tab", "time": 1, "time_unit": "s", "offset": 2}
TENCENT |= {"offset_unit": "blocks"}
FIU = {"delimiter": "tab", "time": 2, "time_unit": "ns", "op": 7, "offset": 5, "length": 6}
FIU |= {"offset_unit": "sectors", "length_unit": "sectors"}
MQSIM = {"header": False, "delimiter": "space", "time": 1, "time_unit": "ns", "vm": 2, "op": 5}
MQSIM |= {"read": 1, "write": 0, "offset": 3, "offset_unit": "sectors", "length": 4}
MQSIM |= {"length_unit": "sectors"}
DISKSIM = MQSIM | {"time_unit": "ms"}

# file: options; requests, reads, unique blocks all and read, references all and reads
REAL_TRACES: dict[str, tuple[dict[str, object] | None, tuple[int, ...]]] = {
    "msr/rsrch_1.csv.zst": (None, (13780, 42, 28775, 144, 42413, 162)),
    "msr/wdev_1.csv.zst": (None, (1055, 0, 369, 0, 1354, 0)),
    "msr/wdev_3.csv.zst": (None, (682, 11, 316, 183, 1586, 185)),
    "msr/web_3.csv.zst": (None, (31380, 10050, 154699, 58754, 331109, 198261)),
    "msr/web_0-3.first1000each.gwu.csv.zst": (GWU, (4000, 1088, 32828, 26496, 38915, 28107)),
    "hp/hplajw_1week.csv.zst": (None, (44519, 13040, 7344, 5702, 73671, 18844)),
    "cloudphysics/cloudPhysicsIO.csv.zst": (
        CLOUDPHYSICS,
        (113872, 46974, 269210, 210000, 1141869, 485700),
    ),
    "tencent/tencentBlock.ns1326.sample.csv.zst": (TENCENT, (100001, 50350, 100001)),
    "tencent/tencentBlock.ns2706.sample.csv.zst": (TENCENT, (100001, 34571, 100001)),
    "tencent/tencentBlock.ns6579.sample.csv.zst": (TENCENT, (100001, 36720, 100001)),
    "misc/fiu_cheetah.first10000.csv.zst": (FIU, (10000, 8905, 9207, 8323, 10000, 8905)),
    "misc/mqsim.wsrch-small.trace.zst": (MQSIM, (24783, 24779, 93029, 93025, 93312, 93304)),
    "misc/mqsim.tpcc-small.trace.zst": (MQSIM, (6999, 4381, 20470, 12663, 20669, 12674)),
    "misc/disksim.ssd-postmark-aligned2.trace.zst": (
        DISKSIM,
        (62257, 51780, 1533388, 963019, 3460260, 1278390),
    ),
    # Without operations: requests, unique blocks, references.
    "arc/OLTP.lis.zst": (None, (914145, 186880, 914145)),
    "arc/P2.lis.zst": (None, (666176, 913347, 12729495)),
    "arc/P3.lis.zst": (None, (238578, 762543, 3912296)),
    "cloudphysics/w106.lbn.txt.zst": (None, (5292456, 275171, 5292456)),
    "lirs/2_pools.txt.zst": (None, (100000, 9939, 100000)),
    "lirs/cs.txt.zst": (None, (6781, 1409, 6781)),
    "lirs/gli.txt.zst": (None, (6015, 2529, 6015)),
    "lirs/multi1.txt.zst": (None, (15858, 2606, 15858)),
    "lirs/multi2.txt.zst": (None, (26311, 5684, 26311)),
    "lirs/sprite.txt.zst": (None, (133996, 7075, 133996)),
}


def folder() -> Path | None:
    """Return the folder of recorded traces, if the environment names it."""
    given = os.environ.get("MCSIM_TRACE_DIR")
    return Path(given) if given else None


def opened(file: str, cache: Path) -> Trace | None:
    """Open a trace of `REAL_TRACES`; None if it is not there."""
    where = folder()
    if where is None or not (where / file).is_file():
        return None
    options, _ = REAL_TRACES[file]
    return Trace.open(
        where / file,
        format="csv" if options else None,
        options=options,  # type: ignore[arg-type]
        cache_dir=cache,
    )
