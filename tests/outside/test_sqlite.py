"""Trusts: the SQLite library, which counts hits and misses of the page cache of a connection."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcsim as mc

HITS, MISSES = 7, 8
"""SQLITE_DBSTATUS_CACHE_HIT and SQLITE_DBSTATUS_CACHE_MISS."""
ROW, DONE = 100, 101
STEP = 100
"""Reads between two comparisons of misses so far."""
READS = 10_000


def library() -> Any:
    """Load the library of the system; its functions return int, or what is set here."""
    name = ctypes.util.find_library("sqlite3")
    if name is None:
        pytest.skip("the library of SQLite is missing: apt-get install libsqlite3-0")
    loaded = ctypes.CDLL(name)
    loaded.sqlite3_column_text.restype = ctypes.c_char_p
    loaded.sqlite3_errmsg.restype = ctypes.c_char_p
    return loaded


class Connection:
    """A connection to a file."""

    def __init__(self, path: Path) -> None:
        self.library = library()
        self.handle = ctypes.c_void_p()
        self.check(self.library.sqlite3_open(bytes(path), ctypes.byref(self.handle)))

    def check(self, code: int) -> None:
        assert code == 0, self.library.sqlite3_errmsg(self.handle)

    def close(self) -> None:
        self.check(self.library.sqlite3_close(self.handle))

    def execute(self, sql: str) -> None:
        self.check(self.library.sqlite3_exec(self.handle, sql.encode(), None, None, None))

    @contextmanager
    def prepared(self, sql: str) -> Iterator[ctypes.c_void_p]:
        statement = ctypes.c_void_p()
        text = sql.encode()
        place = ctypes.byref(statement)
        self.check(self.library.sqlite3_prepare_v2(self.handle, text, -1, place, None))
        yield statement
        self.check(self.library.sqlite3_finalize(statement))

    def count(self, what: int) -> int:
        """Return the hits or misses of the page cache so far."""
        current, highest = ctypes.c_int(), ctypes.c_int()
        places = ctypes.byref(current), ctypes.byref(highest)
        self.check(self.library.sqlite3_db_status(self.handle, what, *places, 0))
        return current.value

    def pages_of_rows(self) -> list[list[int]]:
        """Return the pages from the root to the leaf of each row, which has a leaf alone."""
        pages = {}
        with self.prepared("SELECT path, pageno FROM dbstat WHERE name = 'pages'") as statement:
            while (code := self.library.sqlite3_step(statement)) == ROW:
                path = self.library.sqlite3_column_text(statement, 0).decode()
                pages[path] = self.library.sqlite3_column_int(statement, 1)
            assert code == DONE
        depth = max(path.count("/") for path in pages)
        leaves = sorted(path for path in pages if path.count("/") == depth)
        ends = [[i + 1 for i, letter in enumerate(leaf) if letter == "/"] for leaf in leaves]
        return [[pages[leaf[:end]] for end in at] for leaf, at in zip(leaves, ends, strict=True)]


def database(path: Path, rows: int) -> None:
    """Write a table in which each row has a page."""
    connection = Connection(path)
    try:
        connection.execute(
            "PRAGMA page_size = 4096; PRAGMA journal_mode = off; PRAGMA synchronous = off;"
            "CREATE TABLE pages (number INTEGER PRIMARY KEY, content BLOB);"
            f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {rows - 1})"
            "INSERT INTO pages SELECT i, zeroblob(3000) FROM n"
        )
    finally:
        connection.close()


def read(connection: Connection, numbers: Sequence[int]) -> tuple[list[int], int]:
    """Return the misses so far after each `STEP` reads of a row, and the pages of all reads."""
    misses = []
    with connection.prepared("SELECT content FROM pages WHERE number = ?") as statement:
        before = connection.count(HITS) + connection.count(MISSES)
        for done, number in enumerate(numbers, 1):
            bind = connection.library.sqlite3_bind_int64
            connection.check(bind(statement, 1, ctypes.c_int64(number)))
            assert connection.library.sqlite3_step(statement) == ROW
            connection.check(connection.library.sqlite3_reset(statement))
            if done % STEP == 0:
                misses.append(connection.count(MISSES))
        return misses, connection.count(HITS) + connection.count(MISSES) - before


def misses_after(references: Sequence[Sequence[int]], capacity: int) -> list[int]:
    """Return the misses so far of the policy of SQLite, after each `STEP` reads."""
    keys = np.array([page for pages in references for page in pages])
    ends = np.cumsum([len(pages) for pages in references])[STEP - 1 :: STEP]
    hits = [mc.simulate(keys[:end], "sqlite", [capacity]).hits[0] for end in ends]
    return [int(end - hit) for end, hit in zip(ends, hits, strict=True)]


@pytest.mark.parametrize(("rows", "cache_size"), [(400, 12), (400, 100), (3000, 16), (3000, 250)])
@pytest.mark.parametrize("transaction", [False, True], ids=["autocommit", "transaction"])
def test_misses_are_those_of_the_library(
    tmp_path: Path, rows: int, cache_size: int, transaction: bool
) -> None:
    database(tmp_path / "file.db", rows)
    connection = Connection(tmp_path / "file.db")
    try:
        other = Connection(tmp_path / "file.db")  # whose statistics do not count
        paths = other.pages_of_rows()
        other.close()
        assert len(paths) == rows
        connection.execute(f"PRAGMA cache_size = {cache_size}")
        draw = np.random.default_rng(1)
        numbers = [int(number) for number in rows * draw.random(READS) ** 3]
        if transaction:
            connection.execute("BEGIN")
        misses, pages = read(connection, numbers)
    finally:
        connection.close()
    # Each read begins at page 1. A transaction has it in use, and does not look it up again.
    depth = len(paths[0])
    assert pages == READS * (depth + 1) - (READS - 1 if transaction else 0)
    references = [[1, *paths[number]] for number in numbers]
    assert misses == misses_after(references, cache_size - 1)
    if depth == 2:
        leaves = [[paths[number][-1]] for number in numbers]
        # Page 1 and the root are misses once, before the first leaf.
        assert [count - 2 for count in misses] == misses_after(leaves, cache_size - 3)
