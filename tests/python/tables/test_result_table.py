"""Trusts: the columns that were put in; pandas, Polars and csv for what they read."""

from __future__ import annotations

import csv
import io
import pickle
from datetime import UTC, datetime
from pathlib import Path

import made_up
import numpy as np
import pyarrow as pa
import pytest

import mcsim as mc
from mcsim.results.schemas import SCHEMAS
from mcsim.results.views import result_table
from mcsim.tables.column import Column, column
from mcsim.tables.formatted_table import FormattedTable
from mcsim.tables.result_columns import TABLES, column_of, schema_of_table

COLUMNS = {
    "policy": np.array(["lru", "s3-fifo"]),
    "hits": np.array([3, 4]),
    "hit_ratio": np.array([0.5, np.nan]),
    "pareto": np.array([True, False]),
}


def test_columns_rows_and_parts() -> None:
    table = mc.ResultTable(COLUMNS, "policies")
    assert table.column_names == list(COLUMNS)
    assert table.hits.tolist() == table["hits"].tolist() == [3, 4]
    assert type(table.hits) is np.ndarray
    assert (table[1].policy, table[-1]["hits"], len(table)) == ("s3-fifo", 4, 2)
    assert [row.policy for row in table] == ["lru", "s3-fifo"]
    for part in (table[table.policy == "s3-fifo"], table[1:], table[["policy", "hits"]][1:]):
        assert isinstance(part, mc.ResultTable)
        assert (len(part), part[0].hits, part.kind) == (1, 4, "policies")
    assert table.tolist()[0] == ("lru", 3, 0.5, True)
    assert "hits" in dir(table)


@pytest.mark.parametrize("names", [list(COLUMNS), ["hits", "policy"]])
def test_tables_of_other_libraries(names: list[str]) -> None:
    table = mc.ResultTable(COLUMNS)[names]
    expected = {name: COLUMNS[name].tolist() for name in names}
    for found in (
        table.to_arrow().to_pydict(),
        table.to_pandas().to_dict(orient="list"),
        table.to_polars().to_dict(as_series=False),
    ):
        np.testing.assert_equal(found, expected)
    assert table.to_arrow()["hits"].type == "int64"


def test_names_that_are_missing_are_suggested() -> None:
    table = mc.ResultTable(COLUMNS)
    with pytest.raises(AttributeError, match=r"no column 'hitz' \(did you mean 'hits'\?\)"):
        _ = table.hitz
    with pytest.raises(KeyError, match="did you mean 'hits'"):
        table["hitz"]
    with pytest.raises(KeyError, match="no column 'missing'"):
        table[["hits", "missing"]]
    with pytest.raises(AttributeError, match="did you mean 'policy'"):
        _ = table[0].polic
    for row in (2, -3):
        with pytest.raises(IndexError, match=f"row {row} of 2"):
            table[row]


def test_tables_are_pickled_whole() -> None:
    table = mc.ResultTable(COLUMNS, "policies", title="t", answer="a", notes=["n"], order=[1, 0])
    again = pickle.loads(pickle.dumps(table))
    assert type(again) is mc.ResultTable
    assert repr(again) == repr(table)
    found = mc.mix({"loop": [1, 2] * 6, "scan": range(12)}, [2], order="rates")
    again = pickle.loads(pickle.dumps(found))
    assert (type(again), again.answer) == (type(found), found.answer)
    assert again.allocation.tolist() == found.allocation.tolist()
    assert again.to_arrow().equals(found.to_arrow())


def test_a_run_is_pickled_with_its_tables(tmp_path: Path) -> None:
    table = made_up.run(tmp_path).comparison()
    again = pickle.loads(pickle.dumps(table))
    assert (again.answer, again.results.path) == (table.answer, table.results.path)
    assert again.to_arrow().equals(table.to_arrow())


def test_missing_values_are_dashes_and_nulls() -> None:
    arrow = pa.table({"vm": ["a", None], "hit_ratio": [0.25, None], "mean_latency_ns": [1e6, None]})
    table = mc.ResultTable(arrow, "comparison")
    assert table.formatted().rows == [["a", "25.00", "1.00 ms"], ["all", "–", "–"]]
    assert table.values("hit_ratio") == [0.25, None]
    assert table[1].hit_ratio is None
    assert table.to_arrow() is arrow
    assert table.to_csv() == '"vm","hit_ratio","mean_latency_ns"\n"a",0.25,1000000\n,,\n'
    columns = {"accesses": np.array([1]), "gain": np.array([np.nan])}
    nothing = mc.ResultTable(columns, "comparison")
    assert nothing.formatted().headings == ["accesses"]
    assert nothing.formatted(["accesses", "gain"]).rows == [["1", "–"]]


def test_hidden_columns_are_shown_if_they_are_named() -> None:
    columns = {name: np.array([1]) for name in ("hits", "accesses")}
    table = mc.ResultTable(columns, "comparison")
    assert table.formatted().headings == ["accesses"]
    assert table[["hits", "accesses"]].formatted().headings == ["accesses", "hits"]
    assert mc.ResultTable(columns, "comparison", more=["hits"]).formatted().headings == [
        "accesses",
        "hits",
    ]


def test_columns_are_in_the_order_of_their_kind() -> None:
    names = ("tiers.0.capacity", "system", "own", "hit_ratio", "vm")
    table = mc.ResultTable({name: np.array(["x"]) for name in names[:3]}, "comparison")
    assert table.formatted().headings == ["tiers.0.capacity", "system", "own"]
    rows = [("lru", 0.5, "a")]
    table = mc.ResultTable(
        pa.table(dict(zip(names[1:2] + names[3:], zip(*rows, strict=True), strict=True))),
        "comparison",
    )
    assert table.formatted().headings == ["VM", "system", "hit %"]
    assert table.column_names == ["system", "hit_ratio", "vm"]


def test_a_table_of_rows_has_its_own_columns() -> None:
    columns = [column("name", "text"), column("size", "bytes"), column("when", "time")]
    columns += [column("note"), column("of", "names"), column("*", "mark", name="best")]
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    rows = [("a", 4096, when, "~1", [*"abcd"], True), ("b", None, None, None, None, False)]
    table = mc.ResultTable.of_rows(columns, rows)
    shown = table.formatted()
    local = f"{when.astimezone():%Y-%m-%d %H:%M}"
    assert shown.headings == ["name", "size", "when", "note", "of", "*"]
    assert shown.rows == [
        ["a", "4 KiB", local, "~1", "a, b, c +1", "*"],
        ["b", "–", "–", "", "–", ""],
    ]
    assert shown.numeric == [False, True, False, True, False, False]
    assert table.to_arrow()["size"].to_pylist() == [4096, None]
    assert table.to_arrow()["when"].to_pylist() == [when, None]
    assert table.to_arrow()["of"].to_pylist() == [[*"abcd"], None]
    assert len(mc.ResultTable.of_rows(columns, [])) == 0
    with pytest.raises(ValueError, match="zip"):
        mc.ResultTable.of_rows(columns, [("a",)])


def test_a_value_of_each_tier_has_a_column_for_each() -> None:
    arrow = pa.table({"system": ["lru", "one"], "tier_hit_ratio": [[0.25, 0.5], [0.125]]})
    table = mc.ResultTable(arrow, "comparison", parts=["dram", "flash"])
    shown = table.formatted()
    assert shown.headings == ["system", "dram %", "flash %"]
    assert shown.rows == [["lru", "25.00", "50.00"], ["one", "12.50", "–"]]
    assert mc.ResultTable(arrow, "comparison").formatted().headings[1:] == ["tier 0 %", "tier 1 %"]
    head, *rows = csv.reader(io.StringIO(table.to_csv()))
    assert head == ["system", "tier_hit_ratio_0", "tier_hit_ratio_1"]
    assert rows == [["lru", "0.25", "0.5"], ["one", "0.125", ""]]


def test_a_spread_stands_beside_its_value() -> None:
    columns = {"hit_ratio": [0.5, 0.25, 0.1], "hit_ratio_deviation": [0.012, np.nan, 1e-9]}
    table = mc.ResultTable({name: np.array(of) for name, of in columns.items()}, "comparison")
    assert table.formatted().headings == ["hit %"]
    assert table.formatted().rows == [["50.00 ± 1.20"], ["25.00"], ["10.00"]]
    assert table.column_names == list(columns)


ODD = "a|b & c_d 50% {x} <b>\\~^#$"


def test_texts_are_escaped() -> None:
    table = mc.ResultTable(
        {"policy": np.array([ODD, "=1+1"]), "hits": np.array([1, 2])}, "policies"
    )
    head, align, first, _ = table.to_markdown().splitlines()
    assert (head, align) == ("| policy | hits |", "| --- | ---: |")
    assert first == "| " + ODD.replace("|", r"\|") + " | 1 |"
    latex = table.to_latex()
    assert latex.startswith("\\begin{tabular}{lr}\n\\toprule\npolicy & hits \\\\\n\\midrule\n")
    assert (
        r"a|b \& c\_d 50\% \{x\} <b>\textbackslash{}\textasciitilde{}\textasciicircum{}\#\$ & 1 \\"
        in latex
    )
    assert latex.endswith("\\bottomrule\n\\end{tabular}\n")
    rows = list(csv.reader(io.StringIO(table.to_csv())))
    assert rows == [["policy", "hits"], [ODD, "1"], ["'=1+1", "2"]]  # no formula
    assert "&lt;b&gt;" in table._repr_html_()
    assert "<b>" not in table._repr_html_()


def test_rows_that_stand_out() -> None:
    table = FormattedTable(
        ["system", "hit %"],
        [["arc", "2.00 ± 1.00"], ["opt", "3.00"], ["", "5"]],
        [False, True],
        styles=["best", "yardstick", "total"],
    )
    assert table.to_markdown().splitlines()[2:] == [
        "| **arc** | **2.00 ± 1.00** |",
        "| *opt* | *3.00* |",
        "|  | **5** |",
    ]
    assert r"\textbf{arc} & \textbf{2.00 $\pm$ 1.00} \\" in table.to_latex()
    assert r"\textit{opt} & \textit{3.00} \\" in table.to_latex()
    assert table.to_html().count("font-weight:bold") == 2
    assert table.to_html().count("color:#777") == 1


def test_a_table_shows_itself_as_text() -> None:
    table = mc.ResultTable(
        COLUMNS, "policies", title="Policies", answer="Both.", notes=["a note"], order=[1, 0]
    )
    assert repr(table) == (
        "Both.\nPolicies\n"
        "policy   hits  hit %  pareto\n"
        "s3-fifo     4      –  False\n"
        "lru         3  50.00  True\n"
        "a note"
    )
    # The order applies to printed tables only. A part of the table has no summary and no notes.
    assert table.tolist()[0][0] == "lru"
    assert repr(table[:1]).splitlines()[0] == "Policies"


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_declared(name: str) -> None:
    columns = TABLES[name]
    names = [each.name for each in columns]
    assert len(set(names)) == len(names)
    for each in columns:
        assert each.heading.strip()
        assert each.help.strip()
        assert not each.help.endswith(".")
        assert each.arrow_type is not None
        assert each.format(None) == "–"
        assert column_of(name, each.name) is each


def test_stored_tables_have_the_declared_columns(tmp_path: Path) -> None:
    run = made_up.run(tmp_path)
    for name, schema in SCHEMAS.items():
        assert schema.equals(schema_of_table(name))
        assert set(run.to_arrow(name).column_names) <= {c.name for c in TABLES[name]} | {"warm_up"}
    for name in ("comparison", "systems", "yardsticks", "requests", "devices", "misses"):
        table = result_table(run, name)
        declared = {column.name: column for column in TABLES[name]}
        for field in table.to_arrow().schema:
            assert field.type == declared[field.name].arrow_type, field.name


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("share", 0.63044, "63.04"),
        ("points", -0.00001, "0.00"),
        ("points", 0.0123, "+1.23"),
        ("relative", -0.5, "-50.0"),
        ("ns", 2_410_000.0, "2.41 ms"),
        ("ns", 0.0, "0"),
        ("count", 12_345, "12,345"),
        ("factor", 1.434, "1.43×"),
        ("number", float("inf"), "∞"),
        ("number", float("nan"), "–"),
        ("flag", False, "no"),
    ],
)
def test_formats(unit: str, value: object, text: str) -> None:
    assert Column("x", "x", unit, "a value").format(value) == text


def test_all_results_have_tables() -> None:
    trace = mc.Trace.from_arrays([0, 1, 2], [0, 4096, 0], 4096, source="few")
    blocks = trace.blocks()
    tables = [
        mc.simulate(blocks, "lru", [1]),
        mc.simulate_lines(trace.blocks(line=2), "lru", [2]),
        mc.miniature(blocks, "lru", [1]),
        mc.memory_needed(blocks, "lru", [1]),
        mc.tune(trace, "8KiB", block_bytes=["4KiB"]),
        mc.mix(trace, [1]),
        mc.what_if(trace, 1),
    ]
    for table in tables:
        assert isinstance(table, mc.ResultTable)
        assert table.kind in TABLES
        assert set(table.column_names) <= {c.name for c in TABLES[table.kind]} | {
            name for name in table.column_names if name.endswith(("_margin", "_deviation"))
        }
        assert "<table>" in table._repr_html_()
    for one in [trace, mc.hit_ratio_curve(blocks), mc.hit_ratio_curves(blocks), *tables]:
        arrow = one.to_arrow()
        assert arrow.num_rows > 0
        assert list(one.to_pandas().columns) == arrow.column_names
        assert one.to_polars().columns == arrow.column_names
