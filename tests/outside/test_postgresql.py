"""Trusts: the buffers of a PostgreSQL server on a socket in a temporary folder.

The server counts the blocks of a table that it found in its buffers, also within a transaction.
A read by `ctid` accesses one block of the table, and no index. So each read is a hit or a miss.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcsim as mc

LIMIT_S = 300
BLOCK_BYTES = 8192
BUFFERS = (16, 100, 512)
SETTINGS: Mapping[str, object] = {
    "listen_addresses": "",
    "autovacuum": "off",
    "bgwriter_lru_maxpages": 0,
    "fsync": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": 0,
    "max_logical_replication_workers": 0,
    "statement_timeout": f"{LIMIT_S}s",
    "synchronize_seqscans": "off",
}
"""One process uses the buffers, and scans begin at the first block."""

SCHEMA = """
CREATE TABLE pages (content text);
CREATE TABLE scanned (content text);
ALTER TABLE pages ALTER content SET STORAGE PLAIN;
ALTER TABLE scanned ALTER content SET STORAGE PLAIN;
INSERT INTO pages SELECT repeat('x', 5000) FROM generate_series(1, {pages});
INSERT INTO scanned SELECT repeat('x', 5000) FROM generate_series(1, {pages});
VACUUM (FREEZE) pages;
VACUUM (FREEZE) scanned;
CREATE FUNCTION hits_of(numbers integer[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  number integer;
  before bigint;
  hits text[] := '{{}}';
BEGIN
  FOREACH number IN ARRAY numbers LOOP
    before := pg_stat_get_xact_blocks_hit('pages'::regclass);
    IF number < 0 THEN
      PERFORM count(*) FROM scanned;
    ELSE
      PERFORM FROM pages WHERE ctid = format('(%s,1)', number)::tid;
    END IF;
    hits := hits || (pg_stat_get_xact_blocks_hit('pages'::regclass) - before)::text;
  END LOOP;
  RETURN array_to_string(hits, '');
END $$;
"""
SCAN = -1
STEP = 100
"""Reads between two comparisons of hits so far."""


def folder_of_programs() -> Path:
    """Return the folder of the newest installed server."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    found_by_debian = Path("/usr/lib/postgresql").glob("*/bin")
    folders = sorted(found_by_debian, key=lambda folder: int(folder.parent.name))
    if not folders:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql")
    return folders[-1]


def ordinary_user() -> dict[str, Any]:
    """Return the user of the server, which refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


class Server:
    """A server that ends with the block."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder

    def query(self, sql: str) -> str:
        words = ["psql", "-h", self.folder, "-U", "mcsim", "-d", "postgres", "-qAtX"]
        done = subprocess.run(
            [*words, "-v", "ON_ERROR_STOP=1"],
            input=sql,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def hits_of(self, numbers: Sequence[int]) -> list[int]:
        """Return 1 for each read that is a hit, of blocks of the table or `SCAN`."""
        listed = ",".join(map(str, numbers))
        return [int(hit) for hit in self.query(f"SELECT hits_of('{{{listed}}}')")]


@contextmanager
def postgresql(buffers: int, pages: int) -> Iterator[Server]:
    programs, user = folder_of_programs(), ordinary_user()
    with tempfile.TemporaryDirectory(prefix="mcsim-pg-") as text:
        folder = Path(text)
        if user:
            os.chown(folder, user["user"], user["group"])
        shared: dict[str, Any] = {"cwd": folder, "env": {"LC_ALL": "C"}, **user}
        words = ["initdb", "-D", "data", "-U", "mcsim", "-A", "trust", "--no-sync"]
        words[0] = str(programs / words[0])
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S, **shared)
        settings = {
            **SETTINGS,
            "unix_socket_directories": folder,
            "shared_buffers": f"{buffers * BLOCK_BYTES // 1024}kB",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(programs / "postgres"), "-D", "data", *options]
        with (
            (folder / "log").open("w") as log,
            subprocess.Popen(command, stderr=log, **shared) as process,
        ):
            try:
                until_ready(programs, folder)
                server = Server(programs, folder)
                server.query(SCHEMA.format(pages=pages))
                yield server
            finally:
                process.terminate()


def until_ready(programs: Path, folder: Path) -> None:
    for _ in range(20 * LIMIT_S):
        ready = [programs / "pg_isready", "-q", "-h", folder]
        if subprocess.run(ready, check=False).returncode == 0:
            return
        time.sleep(0.05)
    pytest.fail((folder / "log").read_text())


def filling(buffers: int, pages: int) -> list[int]:
    """Return reads after which all buffers have blocks of the table, with count 1.

    A second pass evicts all other blocks. All blocks then have the highest count, so that new
    ones enter in the order of the buffers. The last block entered in front of the hand.
    """
    passes = [*range(pages), *range(pages)]
    return [*passes, *passes[-buffers:] * 5, *range(buffers)]


def skewed(pages: int, count: int) -> list[int]:
    """Return numbers of blocks, of which the low ones come more often."""
    draw = np.random.default_rng(1)
    return [int(number) for number in pages * draw.random(count) ** 3]


def hits_after(numbers: Sequence[int], buffers: int) -> list[int]:
    """Return the hits of `gclock` after each `STEP` reads of a full cache."""
    first = list(range(buffers))
    ends = range(STEP, len(numbers) + 1, STEP)
    keys = np.array([*first, *numbers])
    return [int(mc.simulate(keys[: buffers + end], "gclock", [buffers]).hits[0]) for end in ends]


@pytest.mark.parametrize("buffers", BUFFERS)
def test_hits_are_those_of_the_server(buffers: int) -> None:
    pages = 4 * buffers
    filled, numbers = filling(buffers, pages), skewed(pages, 10_000)
    with postgresql(buffers, pages) as server:
        hits = server.hits_of([*filled, *numbers])
    # Before the five passes, all misses; then, all hits: no other block is in a buffer.
    assert sum(hits[: 2 * pages]) == 0
    assert sum(hits[2 * pages : 2 * pages + 5 * buffers]) == 5 * buffers
    found = np.cumsum(hits[len(filled) :])[STEP - 1 :: STEP]
    assert found.tolist() == hits_after(numbers, buffers)


def test_scans_of_a_large_table_leave_most_blocks() -> None:
    """The ring for scans is not modelled: requests do not have the size of the table."""
    buffers, pages, every = 512, 2048, 1000
    filled, numbers = filling(buffers, pages), skewed(pages, 20_000)
    starts = range(0, len(numbers), every)
    with_scans = [read for at in starts for read in (SCAN, *numbers[at : at + every])]
    with postgresql(buffers, pages) as server:
        hits = sum(server.hits_of([*filled, *with_scans])[len(filled) :])

    def simulated(scan: Sequence[int]) -> int:
        keys = [key for at in starts for key in (*scan, *numbers[at : at + every])]
        return int(mc.simulate(np.array([*range(buffers), *keys]), "gclock", [buffers]).hits[0])

    # Blocks of the scanned table are read once between two accesses to each: they do not hit.
    read_by_all = simulated(range(pages, 2 * pages))
    left_out = simulated(())
    points = 100 / len(numbers)
    assert 9 < points * (hits - read_by_all) < 14
    assert 0 < points * (left_out - hits) < 2.5
