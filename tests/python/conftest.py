"""Fixtures shared by the Python tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcsim._core import engine
from mcsim.traces.trace import Trace, find_trace


@pytest.fixture(scope="session")
def trace_dir() -> Path:
    """Where the real traces are; tests that need them skip without."""
    folder = os.environ.get("MCSIM_TRACE_DIR")
    if not folder:
        pytest.skip("MCSIM_TRACE_DIR is not set: no real traces here")
    return Path(folder)


@pytest.fixture(scope="session")
def real_trace(
    trace_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], engine.Accesses]:
    """Intern a real trace of one VM by its name, every block of every request."""
    cache = tmp_path_factory.mktemp("traces")
    interned: dict[str, engine.Accesses] = {}

    def intern(name: str) -> engine.Accesses:
        if name not in interned:
            path = find_trace(name.partition(".")[0], [trace_dir])
            assert path is not None, name
            trace = Trace.open(path, cache_dir=cache)
            builder = engine.AccessBuilder(ops="all", time_base=trace.time_base)
            builder.begin_vm(name)
            for batch in trace.batches():
                builder.add(batch.time, batch.vm, batch.op, batch.offset, batch.length)
            interned[name] = builder.finish()
        return interned[name]

    return intern
