"""Recorded keys and hits of the kernel's caches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest


def lines_of(trace_dir: Path, name: str) -> list[str]:
    """Return the words of a recorded file, or skip the test."""
    for folder in (trace_dir / "hostcaches", trace_dir.parent / "cases" / "hostcaches"):
        if (file := folder / f"{name}.zst").is_file():
            with pa.input_stream(str(file), compression="zstd") as opened:
                return bytes(opened.read()).decode().split()
    pytest.skip(f"needs hostcaches/{name}.zst beside MCSIM_TRACE_DIR")
