"""Trusts: NumPy's record arrays; the columns that were put in."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import mcsim as mc

COLUMNS = {
    "policy": np.array(["lru", "s3-fifo"]),
    "hits": np.array([3, 4]),
    "hit_ratio": np.array([0.5, np.nan]),
    "pareto": np.array([True, False]),
}


def test_rows_are_a_record_array() -> None:
    rows = mc.Rows.of(COLUMNS)
    assert rows.dtype.names == tuple(COLUMNS)
    assert rows.hits.tolist() == rows["hits"].tolist() == [3, 4]
    assert type(rows.hits) is np.ndarray
    chosen = rows[rows.policy == "s3-fifo"]
    assert isinstance(chosen, mc.ResultTable)
    assert (len(chosen), chosen[0].hits, rows[1].policy) == (1, 4, "s3-fifo")
    assert isinstance(pickle.loads(pickle.dumps(rows)), mc.ResultTable)


@pytest.mark.parametrize("names", [list(COLUMNS), ["hits", "policy"]])
def test_rows_go_to_tables(names: list[str]) -> None:
    rows = mc.Rows.of(COLUMNS)[names]
    expected = {name: COLUMNS[name].tolist() for name in names}
    arrow, pandas, polars = rows.to_arrow(), rows.to_pandas(), rows.to_polars()
    for found in (
        arrow.to_pydict(),
        pandas.to_dict(orient="list"),
        polars.to_dict(as_series=False),
    ):
        np.testing.assert_equal(found, expected)
    assert arrow["hits"].type == "int64"


def test_what_has_tables_has_all_three() -> None:
    trace = mc.Trace.from_arrays([0, 1, 2], [0, 4096, 0], 4096, source="few")
    blocks = trace.blocks()
    found = [
        trace,
        mc.hit_ratio_curve(blocks),
        mc.hit_ratio_curves(blocks),
        mc.simulate(blocks, "lru", [1]),
        mc.simulate_lines(trace.blocks(line=2), "lru", [2]),
        mc.miniature(blocks, "lru", [1]),
        mc.memory_needed(blocks, "lru", [1]),
        mc.tune(trace, "8KiB", block_bytes=["4KiB"]),
    ]
    for one in found:
        table = one.to_arrow()
        assert table.num_rows > 0
        assert list(one.to_pandas().columns) == table.column_names
        assert one.to_polars().columns == table.column_names
