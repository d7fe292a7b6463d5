#!/usr/bin/env bash
# pyarrow, version 26.0.1: an INT96 time of the year 9999 is read as one of 1816, without an error.
#
# Spark and Hive write times of Parquet files as INT96, and 9999-12-31 often means "no end". pyarrow
# converts INT96 to nanoseconds by default, in which 64 bits hold the years 1677 to 2262, and wraps.
# The same time as INT64 in microseconds is an error if it is cast to nanoseconds. With the option
# coerce_int96_timestamp_unit="us" pyarrow reads the right time, as do DuckDB, version 2.0.1, and
# Polars, version 2.1.0, by default.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0
"$folder/venv/bin/python" - "$folder/times.parquet" <<'PYTHON'
import datetime
import sys

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

for package in (pa, duckdb, polars):
    print(f"{package.__name__}, version {package.__version__}")
path = sys.argv[1]
last = datetime.datetime(9999, 12, 31)
times = pa.table({"time": pa.array([last], pa.timestamp("us"))})
pq.write_table(times, path, use_deprecated_int96_timestamps=True)


def year_of(table: pa.Table) -> int:
    return table["time"].cast(pa.timestamp("s"), safe=False)[0].as_py().year


found = {
    "pyarrow": year_of(pq.read_table(path)),
    "pyarrow, microseconds": year_of(pq.read_table(path, coerce_int96_timestamp_unit="us")),
    "duckdb": duckdb.sql(f"SELECT time FROM '{path}'").fetchall()[0][0].year,
    "polars": polars.read_parquet(path)["time"][0].year,
}
print("written: the year 9999; read:", found)
if found != {"pyarrow": 1816, "pyarrow, microseconds": 9999, "duckdb": 9999, "polars": 9999}:
    sys.exit("the behaviour has changed")
PYTHON
