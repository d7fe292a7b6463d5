"""A flipped bit of an Arrow or Parquet file that mcsim wrote is an error, or changes nothing.

Trusts: the requests that were written.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import mcsim as mc

FLIPS = 200
BLOCKS = "time_s,vm,op,offset,length\n" + "".join(
    f"{k}.{k % 10},vm{k % 3},{'RW'[k % 4 == 0]},{k * k * 4096 % 2**30},{4096 * (1 + k % 5)}\n"
    for k in range(800)
)
OBJECTS = "time_s,key,size\n" + "".join(f"{k},key{k * k % 301},{k % 977}\n" for k in range(800))


def content(path: Path) -> tuple[Any, ...]:
    trace = mc.Trace.open(path)
    batches = [[column for column in batch if column is not None] for batch in trace.batches()]
    columns = [np.concatenate(column).tolist() for column in zip(*batches, strict=True)]
    return columns, list(trace.vms), None if trace.keys is None else trace.keys.to_pylist()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("rows", [BLOCKS, OBJECTS], ids=["blocks", "objects"])
def test_a_flipped_bit_is_an_error_or_changes_nothing(folder: Path, rows: str, kind: str) -> None:
    source, written, flipped = folder / "a.csv", folder / f"a.{kind}", folder / f"b.{kind}"
    source.write_text(rows)
    mc.Trace.open(source).save(written)
    sound = content(written)
    whole = written.read_bytes()
    rng = random.Random(1)
    errors = 0
    for _ in range(FLIPS):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        flipped.write_bytes(damaged)
        try:
            assert content(flipped) == sound
        except mc.McsimError:
            errors += 1
    assert errors > FLIPS / 2


def test_files_without_checksums_of_pages_are_read(folder: Path) -> None:
    source, written, older = folder / "a.csv", folder / "a.parquet", folder / "b.parquet"
    source.write_text(BLOCKS)
    mc.Trace.open(source).save(written)
    pq.write_table(pq.read_table(written), older, write_page_checksum=False)
    assert content(older) == content(written)
