"""Compare the way from a public collection's file to the hits of LRU: mcsim and others.

A file is generated in the layout of each collection: requests of one aligned block of 4 KiB each,
a quarter of which write, so that every program counts the same references. libCacheSim and
Caffeine replay LRU; DuckDB, which has no caches, counts requests and distinct blocks. Each is a
process of its own, from start to exit, in turns; the medians go to a table in Markdown. mcsim runs
with an empty cache, and again once the cache has the accesses. Run as

    python tests/bench/collections_vs_peers.py [--requests N] [--rounds N] [--only NAME,…]
        [--caffeine CLASSPATH] [--write]

CLASSPATH has Caffeine's simulator from Maven with its dependencies. With --write the table goes to
docs/traces.md.
"""

from __future__ import annotations

import argparse
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = 1 << 20
CAPACITY = 50_000
BEGIN, END = "<!-- collections: begin -->\n", "<!-- collections: end -->\n"


@dataclass(frozen=True)
class Requests:
    """Requests as columns: seconds, the number of a block, and whether they write."""

    seconds: np.ndarray
    block: np.ndarray
    is_write: np.ndarray

    @classmethod
    def drawn(cls, count: int) -> Requests:
        """Draw blocks from a Zipf distribution, 1,000 requests a second."""
        rng = np.random.default_rng(1)
        share = np.cumsum(np.arange(1, BLOCKS + 1, dtype=np.float64) ** -0.9)
        block = rng.permutation(BLOCKS)[np.searchsorted(share / share[-1], rng.random(count))]
        return cls(np.arange(count) // 1000, block.astype(np.int64), rng.random(count) < 0.25)

    def op(self, read: object, write: object) -> np.ndarray:
        """Return the operation of each, in the words of a format."""
        return np.where(self.is_write, write, read)

    def text(self, path: Path, *columns: object, delimiter: str = ",", head: str = "") -> None:
        """Write columns as text; what is no array is the same in each line."""
        count = len(self.block)
        arrays = [of if isinstance(of, np.ndarray) else np.repeat(of, count) for of in columns]
        table = pa.table(arrays, names=[str(i) for i in range(len(arrays))])
        options = csv.WriteOptions(include_header=False, quoting_style="none", delimiter=delimiter)
        with path.open("wb") as file:
            file.write(head.encode())
            csv.write_csv(table, file, options)

    def records(self, path: Path, **columns: tuple[str, object]) -> None:
        """Write columns as packed records."""
        kinds = [(name, kind) for name, (kind, _) in columns.items()]
        records = np.zeros(len(self.block), kinds)
        for name, (_, values) in columns.items():
            records[name] = values
        records.tofile(path)


def _oracle_general(path: Path, of: Requests) -> None:
    order = np.argsort(of.block, kind="stable")
    again = of.block[order[1:]] == of.block[order[:-1]]
    following = np.full(len(of.block), -1)
    following[order[:-1][again]] = order[1:][again] + 1
    of.records(
        path,
        time=("<u4", of.seconds),
        object=("<u8", of.block + 1),
        size=("<u4", 1),
        next=("<i8", following),
    )


@dataclass(frozen=True)
class Collection:
    """A collection: how its files look, and how each program reads one.

    Attributes
    ----------
    file : str
        Name of the generated file.
    write : callable
        Writes requests to a path.
    libcachesim : str
        Type of trace and parameters of `ReaderInitParam`; empty if there is no reader.
    caffeine : str
        Format of a trace; empty if there is no reader. `*` follows where it counts bytes.
    duckdb : str
        How it reads the file and what a block is; empty if it cannot.
    """

    name: str
    file: str
    write: Callable[[Path, Requests], None]
    libcachesim: str = ""
    caffeine: str = ""
    duckdb: str = ""
    option: str = ""
    """Option of mcsim: sizes that are all 8 could be SCSI commands of CloudPhysics."""


def _csv(time: int, key: int, size: int, more: str = "") -> str:
    return f"CSV_TRACE time_field={time}, obj_id_field={key}, obj_size_field={size}{more}"


COLLECTIONS = [
    Collection(
        "MSR Cambridge", "msr.csv",
        lambda path, of: of.text(
            path, 128_166_372_000_000_000 + of.seconds * 10**7, "web", 0,
            of.op("Read", "Write"), of.block * 4096, 4096, 100,
        ),
        _csv(1, 5, 6), "snia-cambridge*", "column4 // 4096",
    ),
    Collection(
        "Alibaba block", "alibaba_io_traces.csv",
        lambda path, of: of.text(
            path, 7, of.op("R", "W"), of.block * 4096, 4096, of.seconds * 10**6
        ),
        _csv(5, 3, 4), "", "column2 // 4096",
    ),
    Collection(
        "Tencent CBS", "tencent.csv",
        lambda path, of: of.text(path, 1538323200 + of.seconds, of.block * 8, 8, of.op(0, 1), 1063),
        _csv(1, 2, 3), "snia-tencent-block", "column1 // 8", " --format tencent",
    ),
    Collection(
        "Fujitsu K5", "k5cloud.csv",
        lambda path, of: of.text(
            path, 1, of.seconds.astype(np.float64), of.op("R", "W"), of.block * 4096, 4096
        ),
        _csv(2, 4, 5), "snia-k5cloud", "column3 // 4096",
    ),
    Collection(
        "SYSTOR '17", "systor17.csv",
        lambda path, of: of.text(
            path, 1455592199 + of.seconds.astype(np.float64), 0.001,
            of.op("R", "W"), 1, of.block * 4096, 4096,
            head="Timestamp,Response,IOType,LUN,Offset,Size\n",
        ),
        _csv(1, 5, 6, ", has_header=True"), "snia-systor", '"Offset" // 4096',
    ),
    Collection(
        "UMass SPC", "umass.spc",
        lambda path, of: of.text(
            path, 0, of.block * 8, 4096, of.op("r", "w"), of.seconds.astype(np.float64)
        ),
        _csv(5, 2, 3), "umass-storage", "column1 // 8",
    ),
    Collection(
        "Twitter", "twitter.csv",
        lambda path, of: of.text(
            path, of.seconds, np.char.add("nq", of.block.astype(str)), 8, 100, 1,
            of.op("get", "set"), 0,
        ),
        _csv(1, 2, 4, ", obj_id_is_num=False, obj_id_is_num_set=True"), "twitter", "column1",
    ),
    Collection(
        "ARC", "P1.lis",
        lambda path, of: of.text(path, of.block, 1, 0, np.arange(len(of.block)), delimiter=" "),
        "", "arc", "column0",
    ),
    Collection(
        "keys", "keys.txt",
        lambda path, of: of.text(path, of.block),
        "PLAIN_TXT_TRACE", "lirs", "column0",
    ),
    Collection("libCacheSim", "made.oracleGeneral.bin", _oracle_general, "ORACLE_GENERAL_TRACE"),
]  # fmt: skip

_THEIRS = """\
import sys, libcachesim as lcs
options = lcs.ReaderInitParam(ignore_obj_size=True, has_header_set=True)
for name, value in dict({params}).items():
    setattr(options, name, value)
reader = lcs.TraceReader(sys.argv[1], lcs.TraceType.{kind}, options)
print(round((1 - lcs.LRU({capacity}).process_trace(reader)[0]) * {requests}))
"""
_DUCKDB = "import sys, duckdb; print(duckdb.sql(sys.argv[1]).fetchall())"


@dataclass(frozen=True)
class Case:
    """A generated file, and how each program is called on it."""

    of: Collection
    path: Path
    requests: int
    classpath: str | None

    def shown(self) -> dict[str, str]:
        """Return the calls as people write them, by program."""
        asked = f"{self.of.option} --ops all --policies lru --sizes {CAPACITY}"
        shown = {"mcsim": f"mcsim compare {self.of.file}{asked}"}
        if self.of.libcachesim:
            kind, params = self._reader()
            shown["libCacheSim"] = f"TraceReader(…, {kind}{f', {params}' if params else ''})"
        if self.of.caffeine:
            shown["Caffeine"] = f"files.format={self.of.caffeine.rstrip('*')}"
        if self.of.duckdb:
            shown["DuckDB"] = f"count(DISTINCT {self.of.duckdb})"
        return shown

    def commands(self, cache: Path) -> dict[str, list[str]]:
        """Return the commands by program."""
        ours = shlex.split(self.shown()["mcsim"].replace(self.of.file, str(self.path)))
        ours[0] = str(Path(sys.executable).with_name("mcsim"))
        commands = {"mcsim": [*ours, "-q", "--csv", "--cache-dir", str(cache)]}
        python = [sys.executable, "-c"]
        if self.of.libcachesim:
            kind, params = self._reader()
            code = _THEIRS.format(
                kind=kind, params=params, capacity=CAPACITY, requests=self.requests
            )
            commands["libCacheSim"] = [*python, code, str(self.path)]
        if self.of.caffeine and self.classpath:
            settings = {
                "files.format": self.of.caffeine.rstrip("*"),
                "files.paths.0": self.path,
                "maximum-size": CAPACITY * (4096 if self.of.caffeine.endswith("*") else 1),
                "policies.0": "linked.Lru",
                "admission.0": "Always",
                "report.format": "csv",
            }
            java = [f"-Dcaffeine.simulator.{name}={value}" for name, value in settings.items()]
            main = "com.github.benmanes.caffeine.cache.simulator.Simulator"
            commands["Caffeine"] = ["java", *java, "-cp", self.classpath, main]
        if self.of.duckdb:
            delimiter = " " if self.of.name == "ARC" else ","
            file = f"read_csv('{self.path}', delim='{delimiter}', header={'Off' in self.of.duckdb})"
            query = f"SELECT count(*), count(DISTINCT {self.of.duckdb}) FROM {file}"
            commands["DuckDB"] = [*python, _DUCKDB, query]
        return commands

    def _reader(self) -> tuple[str, str]:
        kind, _, params = self.of.libcachesim.partition(" ")
        return kind, params

    def measure(self, rounds: int) -> dict[str, float]:
        """Return the median seconds of each program; `again` is mcsim's with the parsed trace."""
        seconds: dict[str, list[float]] = {}
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as cache:
                commands = self.commands(Path(cache))
                for program, command in [*commands.items(), ("again", commands["mcsim"])]:
                    if program == "again":
                        _wait_for_accesses(Path(cache))
                    began = time.perf_counter()
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    seconds.setdefault(program, []).append(time.perf_counter() - began)
                    if done.returncode:
                        raise SystemExit(f"{program}, {self.of.name}: {done.stderr[-500:]}")
                    print(f"{self.of.name}: {program}: {' '.join(done.stdout.split())[-120:]}")
        return {program: statistics.median(each) for program, each in seconds.items()}


def _wait_for_accesses(cache: Path) -> None:
    """Wait for what mcsim writes after its answer."""
    end = time.monotonic() + 20
    while time.monotonic() < end and not list(cache.rglob("*.metadata")):
        time.sleep(0.1)


PROGRAMS = ("mcsim", "again", "libCacheSim", "Caffeine", "DuckDB")


def rows_of(case: Case, seconds: dict[str, float]) -> str:
    """Write a collection's row: the calls, and their seconds."""
    shown = case.shown()
    cells = [case.of.name]
    for program in PROGRAMS:
        measured = f"{seconds[program]:.1f} s" if program in seconds else "–"
        call = f"`{shown[program]}`: " if program in shown else ""
        cells.append(f"{call}{measured}")
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    """Generate, measure in turns, and print or write the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--requests", type=int, default=10_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", default="", help="names of collections, with commas")
    options.add_argument("--caffeine", metavar="CLASSPATH")
    options.add_argument("--write", action="store_true", help="write the table to docs/traces.md")
    given = options.parse_args()
    requests = Requests.drawn(given.requests)
    names = ("collection", "mcsim", "again", "libCacheSim", "Caffeine", "DuckDB")
    table = f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"
    for collection in COLLECTIONS:
        if given.only and collection.name not in given.only.split(","):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / collection.file
            collection.write(path, requests)
            case = Case(collection, path, given.requests, given.caffeine)
            table += rows_of(case, case.measure(given.rounds))
    print(table)
    if given.write:
        page = ROOT / "docs" / "traces.md"
        text = re.sub(
            f"{BEGIN}.*{END}", lambda _: BEGIN + table + END, page.read_text(), flags=re.S
        )
        page.write_text(text)


if __name__ == "__main__":
    main()
