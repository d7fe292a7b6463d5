"""What replays of a workload found, as files of the trace cache: rows of a table in JSON."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from mcsim.base.errors import TraceError, mistakes_in
from mcsim.base.inputs import parse_object, read_regular

Rows = list[dict[str, Any]]


def write_rows(path: Path, rows: Rows) -> None:
    """Write rows and their checksum."""
    text = json.dumps(rows)
    path.write_text(json.dumps({"rows": text, "checksum": _digest(text)}))


def read_rows(path: bytes | Path) -> Rows:
    """Read rows.

    Raises
    ------
    HostError
        If the file cannot be read.
    TraceError
        If it is damaged.
    """
    name = os.fsdecode(path)
    try:
        with mistakes_in(name):
            found = parse_object(read_regular(Path(name)))
        text = found["rows"]
        if set(found) != {"rows", "checksum"} or found["checksum"] != _digest(text):
            raise ValueError("its checksum does not match")
        rows: Rows = json.loads(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TraceError(
            f"{name}: damaged: {error}; remove it and mcsim will rebuild it"
        ) from error
    return rows


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
