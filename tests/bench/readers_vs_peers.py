"""Compare how fast MSR text is read: mcsim's reader, DuckDB's and Polars' CSV readers.

All read one generated file into columns on one thread, taking turns; what counts is
the ratio of medians. Run as

    python tests/bench/readers_vs_peers.py [--requests N] [--rounds N] [--threads N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

NAMES = ["time", "host", "disk", "op", "offset", "length", "response"]


def generate(path: Path, requests: int) -> None:
    """Write requests that look like those of a busy volume."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(1)
    columns = [
        128_166_372_000_000_000 + np.cumsum(rng.integers(0, 100_000, requests)),
        np.repeat("web", requests),
        np.zeros(requests, int),
        np.where(rng.random(requests) < 0.75, "Read", "Write"),
        rng.integers(0, 200_000_000, requests) * 512,
        rng.integers(1, 17, requests) * 4096,
        rng.integers(0, 200_000, requests),
    ]
    table = pa.table(columns, names=NAMES)
    csv.write_csv(table, path, csv.WriteOptions(include_header=False, quoting_style="none"))


def read_mcsim(path: Path) -> int:
    """Read with mcsim's reader, without the store."""
    from mcsim._core import trace

    reader = trace.Reader(str(path), "msr", {}, False, False)
    total = 0
    while (columns := reader.next()) is not None:
        total += int(columns[3].sum())
    return total


def read_duckdb(path: Path) -> int:
    """Read with DuckDB, the schema given, into an Arrow table."""
    import duckdb
    import pyarrow.compute as pc

    types = ["BIGINT", "VARCHAR", "USMALLINT", "VARCHAR", "UBIGINT", "UINTEGER", "BIGINT"]
    columns = dict(zip(NAMES, types, strict=True))
    with duckdb.connect() as db:
        db.execute(f"SET threads = {os.environ['POLARS_MAX_THREADS']}")
        table = db.read_csv(str(path), header=False, columns=columns, auto_detect=False, sep=",")
        return int(pc.sum(table.to_arrow_table()["offset"]).as_py())


def read_polars(path: Path) -> int:
    """Read with Polars, the schema given."""
    import polars as pl

    types = [pl.Int64, pl.String, pl.UInt16, pl.String, pl.UInt64, pl.UInt32, pl.Int64]
    frame = pl.read_csv(path, has_header=False, schema=dict(zip(NAMES, types, strict=True)))
    return int(frame["offset"].sum())


def main() -> None:
    """Generate, read in turns, and print medians and ratios."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--requests", type=int, default=2_000_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--threads", type=int, default=1, help="of the peers; mcsim reads on one")
    given = options.parse_args()
    os.environ["POLARS_MAX_THREADS"] = str(given.threads)

    readers: dict[str, Callable[[Path], int]] = {
        "mcsim": read_mcsim,
        "duckdb": read_duckdb,
        "polars": read_polars,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "web.csv"
        generate(path, given.requests)
        megabytes = path.stat().st_size / 1e6
        sums = {name: read(path) for name, read in readers.items()}
        if len(set(sums.values())) != 1:
            raise SystemExit(f"the readers disagree on the offsets: {sums}")
        wall: dict[str, list[float]] = {name: [] for name in readers}
        cpu: dict[str, list[float]] = {name: [] for name in readers}
        for _ in range(given.rounds):
            for name, read in readers.items():
                began, began_cpu = time.perf_counter(), time.process_time()
                read(path)
                wall[name].append(time.perf_counter() - began)
                cpu[name].append(time.process_time() - began_cpu)
    base = statistics.median(cpu["mcsim"])
    print(f"{megabytes:.0f} MB, {given.requests:,} requests, medians of {given.rounds} rounds")
    for name in readers:
        seconds = statistics.median(cpu[name])
        print(
            f"{name:<8} {megabytes / seconds:8.0f} MB/s of CPU time   "
            f"{megabytes / statistics.median(wall[name]):8.0f} MB/s of wall time   "
            f"{seconds / base:6.2f} x mcsim's CPU time"
        )


if __name__ == "__main__":
    main()
