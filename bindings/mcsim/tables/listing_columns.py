"""The columns of listings: runs, sweeps, cached traces, names and collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcsim.tables.column import Column

_FILE = Column("path", "path", "text", "folder or file")
_PATH = Column("path", "path", "text", "folder or file", shown=False)

LISTINGS: Mapping[str, Sequence[Column]] = {
    "runs": [
        Column("run", "run", "text", "id of the run"),
        Column("name", "name", "text", "name of the experiment", shown=False),
        Column("started", "started", "time", "start of the run"),
        Column("state", "state", "text", "finished, under way, abandoned or damaged"),
        Column("systems", "systems", "names", "titles of the systems"),
        Column("vms", "VMs", "names", "names of the VMs"),
        Column("workload", "workload", "text", "recorded or synthetic"),
        Column("bytes", "size", "bytes", "size on disk"),
        Column("differs_in", "differs in", "text", "keys with other values than other runs"),
        _PATH,
        Column("pack", "pack", "text", "folder that the run shares with others", shown=False),
        Column("sweep", "sweep", "text", "sweep that the run is a cell of", shown=False),
    ],
    "sweeps": [
        Column("sweep", "sweep", "text", "name of the sweep"),
        Column("finished", "finished", "count", "finished cells"),
        Column("cells", "cells", "count", "all cells"),
        Column("axes", "axes", "text", "axes of the grid"),
    ],
    "entries": [
        Column("name", "name", "text", "name of the file"),
        Column("kind", "kind", "text", "kind of the entry"),
        Column("used", "used", "time", "last use"),
        Column("bytes", "size", "bytes", "size on disk"),
        Column("content", "content", "text", "what it was made of"),
        _PATH,
    ],
    "faults": [
        _FILE,
        Column("fault", "fault", "text", "why it is not as it was written"),
    ],
    "freed": [
        _FILE,
        Column("bytes", "size", "bytes", "size on disk"),
    ],
    "names": [
        Column("kind", "kind", "text", "kind of the name", shown=False),
        Column("name", "name", "text", "name"),
        Column("summary", "summary", "text", "what it is"),
        Column("reference", "reference", "text", "publication", shown=False),
    ],
    "collections": [
        Column("name", "name", "text", "name of the collection"),
        Column("year", "year", "text", "year of publication"),
        Column("formats", "opens as", "text", "formats that open its files"),
        Column("stresses", "stresses", "text", "what its traces stress"),
    ],
}
