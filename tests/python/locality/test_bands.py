"""Trusts: exact curves of the streams, made and recorded, on which estimates are tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recorded
import trials

SAMPLERS: list[tuple[str, dict[str, Any]]] = [
    ("shards", {"max_blocks": 1024}),
    ("shards", {"max_blocks": 1024, "correction": "none"}),
    ("shards-rate", {"rate": 0.01}),
]


@pytest.mark.parametrize(
    "kind", ["once, 5 hot", "once, zipf", "bursts", "one hot", "small", "once"]
)
@pytest.mark.parametrize(("name", "params"), SAMPLERS)
def test_bands_hold_the_exact_curve(kind: str, name: str, params: dict[str, Any]) -> None:
    stream = trials.Stream(trials.synthetic(60_000)[kind])
    trial = stream.estimated(name, params, range(1, 61))
    assert not trial.told.any() or trial.coverage >= 0.93


@pytest.mark.parametrize("ops", ["reads", "all"])
@pytest.mark.parametrize("file", recorded.REAL_TRACES)
def test_bands_hold_the_curves_of_recorded_traces(file: str, ops: Any, tmp_path: Path) -> None:
    trace = recorded.opened(file, tmp_path)
    if trace is None:
        pytest.skip(f"needs {file} below MCSIM_TRACE_DIR")
    if ops == "reads" and trace.metadata.counts.read_blocks < 1000:
        pytest.skip(f"{file} has hardly any reads")
    stream = trials.Stream(trace.blocks(ops).ids)
    seeds = range(1, 41)
    for name, params in SAMPLERS:
        trial = stream.estimated(name, params, seeds)
        assert not trial.told.any() or trial.coverage >= 0.93, (name, params)


def test_a_sample_of_few_blocks_resolves_nothing() -> None:
    stream = trials.Stream(trials.synthetic()["tiny"])
    for correction in ("auto", "none", "adj", "regression"):
        trial = stream.estimated(
            "shards-rate", {"rate": 0.01, "correction": correction}, range(1, 21)
        )
        assert not trial.told.any()


def expect_auto_near_the_best(stream: trials.Stream, name: str, params: dict[str, Any]) -> None:
    median = {
        correction: np.median(
            stream.estimated(name, params | {"correction": correction}, range(1, 61)).error
        )
        for correction in ("auto", "none", "adj", "regression")
    }
    assert median["auto"] <= 1.5 * min(median.values()), median


@pytest.mark.parametrize(
    ("kind", "name", "params"),
    [
        ("tiny", "shards-rate", {"rate": 0.01}),
        ("loop", "shards", {"max_blocks": 8192}),
        ("once, some twice", "shards-rate", {"rate": 0.001}),
        ("uniform, then once", "shards", {"max_blocks": 8192}),
        ("bursts", "shards-rate", {"rate": 0.001}),
    ],
)
def test_auto_is_near_the_best_correction(kind: str, name: str, params: dict[str, Any]) -> None:
    expect_auto_near_the_best(trials.Stream(trials.synthetic()[kind]), name, params)


@pytest.mark.parametrize(
    ("file", "ops"),
    [
        ("msr/web_0-3.first1000each.gwu.csv.zst", "reads"),
        ("msr/web_0-3.first1000each.gwu.csv.zst", "all"),
        ("misc/fiu_cheetah.first10000.csv.zst", "all"),
    ],
)
def test_auto_is_near_the_best_correction_of_recorded_traces(
    file: str, ops: Any, tmp_path: Path
) -> None:
    trace = recorded.opened(file, tmp_path)
    if trace is None:
        pytest.skip(f"needs {file} below MCSIM_TRACE_DIR")
    stream = trials.Stream(trace.blocks(ops).ids)
    expect_auto_near_the_best(stream, "shards", {"max_blocks": 8192})
