# Trusts: counting the same references as one array in memory.
from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mcsim.locality.estimators import Estimator, estimate
from mcsim.traces.store import BATCH_REQUESTS, open_store

SCRIPT = Path(__file__).parents[2] / "bench" / "out_of_core.py"
REQUESTS = 5 * BATCH_REQUESTS + 77  # longer than what waits for several threads
BLOCKS = 200_000


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("out_of_core", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def store(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "trace.arrow"
    script.write(path, REQUESTS, BLOCKS)
    return path


@pytest.mark.parametrize(
    ("name", "threads"), [("exact", 1), ("exact", 2), ("parda", 2), ("parda limit=1000", 2)]
)
def test_streaming_is_counting_in_memory(
    script: ModuleType, store: Path, name: str, threads: int
) -> None:
    kind, _, limit = name.partition(" limit=")
    params = {"limit": int(limit)} if limit else {}
    streamed = Estimator(kind, threads=threads, **params)
    script.stream(store, streamed)
    found = streamed.curve()
    held = np.concatenate(list(script.block_numbers(store)))
    assert held.size == REQUESTS
    whole = estimate(held, "exact", threads=1)
    expected = whole.resampled(whole.capacities[whole.capacities <= int(limit or 2**62)])
    assert found.accesses == REQUESTS
    np.testing.assert_array_equal(found.capacities, expected.capacities)
    np.testing.assert_array_equal(found.hits, expected.hits)


def test_what_is_streamed_is_a_store(script: ModuleType, store: Path) -> None:
    opened = open_store(store)
    assert opened.metadata.counts.blocks == REQUESTS
    offsets = np.concatenate([batch.column("offset").to_numpy() for batch in opened])
    held = np.concatenate(list(script.block_numbers(store)))
    np.testing.assert_array_equal(offsets, held * np.uint64(4096))
