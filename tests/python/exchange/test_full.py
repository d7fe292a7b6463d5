"""Trusts: the limit that the kernel puts on the size of files, as a disk that is full."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from commands import files_of_at_most

from mcsim.base.errors import HostError
from mcsim.traces.trace import Trace


@pytest.mark.parametrize(
    "ending",
    ["arrow", "parquet", "csv", "csv.gz", "csv.zst", "csv.bz2", "lcs", "oracleGeneral.zst"],
)
def test_a_full_disk_is_told_with_the_files_name(tmp_path: Path, ending: str) -> None:
    offsets = np.random.default_rng(1).integers(0, 2**40, 200_000)
    trace = Trace.from_arrays(np.arange(200_000), offsets, 4096)
    path = tmp_path / f"trace.{ending}"
    with pytest.raises(HostError) as caught, files_of_at_most(100_000):
        trace.save(path)
    assert str(caught.value) == (
        f"{path}: cannot be written: File too large; allow larger files there and do it again"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(records: object) -> Iterator[bytes]:
        yield b"first"
        raise KeyboardInterrupt

    monkeypatch.setattr("mcsim.exchange.written.lcs", interrupted)
    for name in ("t.lcs", "t.lcs.zst"):
        with pytest.raises(KeyboardInterrupt):
            Trace.from_arrays([0], [0], 4096).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
