#!/usr/bin/env bash
# SQLite, version 3.50.4 (apsw from PyPI): a page cache of N pages holds N - 1, of which one is page 1.
#
# With "PRAGMA cache_size = N", the page cache takes the least recently used page for a new one as
# soon as that would be number N. Each read of a row also looks up page 1 and the root of its table.
# So of rows with a page each, N - 3 hit in a loop, and N - 2 never hit.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.50.4.0
"$folder/venv/bin/python" - "$folder/file.db" <<'PYTHON'
import sys

import apsw

print("SQLite, version", apsw.sqlite_lib_version())
SIZE = 20
writer = apsw.Connection(sys.argv[1])
writer.execute("CREATE TABLE pages (number INTEGER PRIMARY KEY, content BLOB)")
writer.executemany("INSERT INTO pages VALUES (?, zeroblob(3000))", [(i,) for i in range(100)])
writer.close()


def misses_of_second_loop(rows: int) -> int:
    """Return the misses of reads of each row, after a first loop over all of them."""
    connection = apsw.Connection(sys.argv[1])
    connection.execute(f"PRAGMA cache_size = {SIZE}").fetchall()
    for _ in range(2):
        connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS, True)
        for number in range(rows):
            connection.execute("SELECT content FROM pages WHERE number = ?", (number,)).fetchall()
    return connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]


found = {rows: misses_of_second_loop(rows) for rows in (SIZE - 3, SIZE - 2, SIZE)}
for rows, misses in found.items():
    print(f"cache_size {SIZE}: {misses} misses in a loop over {rows} rows with a page each")
if found != {SIZE - 3: 0, SIZE - 2: SIZE - 2, SIZE: SIZE}:
    sys.exit("the behaviour has changed")
PYTHON
