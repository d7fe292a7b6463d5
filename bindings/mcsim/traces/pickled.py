"""Pickle interned traces, which the core holds: as the content of their file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from mcsim._core import engine


def reduced_accesses(accesses: engine.Accesses) -> tuple[Any, ...]:
    """Return how `pickle` makes interned accesses again."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "accesses"
        engine.write_accesses(accesses, os.fsencode(file))
        return _restored, (file.read_bytes(),)


def _restored(content: bytes) -> engine.Accesses:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "accesses"
        file.write_bytes(content)
        return engine.open_accesses(os.fsencode(file))  # mapped: the file may go
