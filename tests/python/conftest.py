"""Fixtures shared by the Python tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from local_dask import Dask

from mcsim.references.blocks import Blocks
from mcsim.traces.find import TraceFinder
from mcsim.traces.trace import Trace


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark notebooks as slow."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Parsed and generated traces of tests are none of the user's."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MCSIM_CACHE_DIR", str(cache))
        yield
    shutil.rmtree(cache, ignore_errors=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a cache of its own, where no trace is found by its name."""
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("MCSIM_TRACE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
) -> Callable[[str], Blocks]:
    """Split a real trace of one VM, by its name, into every block of every request."""
    cache = tmp_path_factory.mktemp("traces")
    made: dict[str, Blocks] = {}

    def blocks_of(name: str) -> Blocks:
        if name not in made:
            path = TraceFinder([trace_dir]).find(name.partition(".")[0])
            assert path is not None, name
            made[name] = Trace.open(path, cache_dir=cache).blocks("all")
        return made[name]

    return blocks_of


@pytest.fixture
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """Start a scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed")
    made = Dask(tmp_path_factory.mktemp("dask"))
    try:
        yield made
    finally:
        made.close()
