"""Fixtures of the tests of faults."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from processes import ForkServer, contents, final_runs


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library to preload."""
    path = tmp_path_factory.mktemp("library") / "fail_nth.so"
    source = Path(__file__).with_name("fail_nth.c")
    compile_it = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compile_it, "-o", path, source, "-ldl"], check=True)
    return path


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[ForkServer]:
    found = ForkServer(tmp_path_factory.mktemp("fork-server"), library)
    yield found
    found.close()


@pytest.fixture(scope="session")
def undisturbed(
    fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, bytes]:
    """Files of an undisturbed run."""
    out = tmp_path_factory.mktemp("undisturbed")
    process = fork_server.run(out)
    assert process.wait() == 0, process.said
    (run,) = final_runs(out)
    return contents(run)
