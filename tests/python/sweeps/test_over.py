# Trusts: NumPy's means of numbers that are written out here, and `mcsim.run` of single cells.
"""Sweeps over workloads: means over an axis, cells that are left out, traces without a clock."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from commands import call

import mcsim as mc
from mcsim.figures.sweeps import over_axis, series
from mcsim.sweeps.swept import Sweep
from mcsim.sweeps.views import overview, pivot, pivot_data

RATIOS = {
    "lru": [[0.1, 0.3], [0.2, 0.2], [0.6, 0.9], [0.1, 0.2]],
    "arc": [[0.2, 0.3], [0.1, 0.4], [0.8, 0.9], [0.3, 0.1]],
}
"""By policy, workload and seed; a size of 20 adds 0.05."""


def joined() -> pa.Table:
    rows = []
    for policy, of in RATIOS.items():
        for size, workload, seed in product((10, 20), range(4), (1, 2)):
            rows.append(
                {"cell": len(rows), "run_id": f"x-{len(rows)}", "workload": f"w{workload}"}
                | {"size": size, "seed": seed, "systems": f"hierarchy policy={policy}"}
                | {"system": "hierarchy", "vm": None, "policy": policy, "foresight": None}
                | {"hit_ratio": (ratio := of[workload][seed - 1] + (0.05 if size == 20 else 0))}
                | {"accesses": 1_000, "hits": round(1_000 * ratio)}
                | {"mean_latency_ns": None, "gain": None, "latency_gain": None}
            )
    types = dict.fromkeys(("mean_latency_ns", "gain", "latency_gain"), pa.float64())
    table = pa.Table.from_pylist(rows)
    fields = [pa.field(of.name, types.get(of.name, of.type)) for of in table.schema]
    return table.cast(pa.schema(fields))


class MadeUp:
    path = Path("made-0")

    def to_arrow(self) -> pa.Table:
        return joined()

    def finished(self) -> list[bool]:
        return [True] * len(joined())


MADE_UP = cast("Sweep", MadeUp())


def means_of(policy: str) -> list[float]:
    """Return the mean over seeds for each workload."""
    return [sum(of) / 2 for of in RATIOS[policy]]


def test_lines_are_means_over_workloads_with_their_interval() -> None:
    at, lines = series(joined(), "size", over="workload")
    assert at == [10, 20]
    assert [line.label for line in lines] == ["hierarchy policy=lru", "hierarchy policy=arc"]
    for line, policy in zip(lines, ("lru", "arc"), strict=True):
        means = means_of(policy)
        expected = sum(means) / 4
        assert line.middle == pytest.approx([expected, expected + 0.05])
        # All 256 equally likely samples of 4 workloads.
        sampled = sorted(sum(sample) / 4 for sample in product(means, repeat=4))
        assert sampled[2] - 1e-9 <= line.low[0] <= sampled[10] + 1e-9
        assert sampled[-11] - 1e-9 <= line.high[0] <= sampled[-3] + 1e-9


def test_the_figure_has_a_line_for_each_policy_and_says_what_bands_are() -> None:
    sheet = over_axis(joined(), "size", over="workload")
    assert len(sheet.charts[0].series) == 2
    assert sheet.notes == ["Mean over 4 values of workload; bands: 95 % interval."]
    (chart,) = over_axis(joined(), "systems", over="workload").charts
    assert chart.kind == "points"


def test_tables_are_means_over_workloads() -> None:
    table = overview(MADE_UP, over="workload")
    assert [(row.size, row.systems) for row in table] == [
        (size, f"hierarchy policy={policy}") for size in (10, 20) for policy in ("arc", "lru")
    ]
    for row in table:
        means = means_of(row.systems.partition("=")[2])
        assert row.hit_ratio == pytest.approx(np.mean(means) + (0.05 if row.size == 20 else 0))
        assert row.hit_ratio_deviation == pytest.approx(np.std(means, ddof=1))
        assert row["values"] == 4
    assert table.answer == "`hierarchy policy=arc` is best at 2 of 2 points."
    data = pivot_data(MADE_UP, "size", over="workload").to_pydict()
    assert data["hierarchy policy=lru"] == pytest.approx(
        [np.mean(means_of("lru")), np.mean(means_of("lru")) + 0.05]
    )


def test_many_systems_are_rows_of_a_table() -> None:
    rows = [
        {"cell": i, "run_id": f"x-{i}", "size": size, "systems": f"hierarchy policy=p{i:02}"}
        | {"system": "hierarchy", "vm": None, "policy": f"p{i:02}", "foresight": None}
        | {"hit_ratio": i / 100 + size / 1000}
        for size in (1, 2)
        for i in range(35)
    ]

    class Many(MadeUp):
        def to_arrow(self) -> pa.Table:
            return pa.Table.from_pylist(rows)

    table = pivot(cast("Sweep", Many()), "size")
    assert list(table.headings) == ["system", "size 1", "2"]
    assert len(table.rows) == 35
    assert table.rows[7] == ["hierarchy policy=p07", "7.10", "7.20"]


def test_lru_is_among_the_lines_that_are_drawn() -> None:
    rows = [
        {"cell": i, "run_id": f"x-{i}", "size": size, "systems": f"hierarchy policy={name}"}
        | {"system": "hierarchy", "vm": None, "hit_ratio": i / 100}
        for size in (1, 2)
        for i, name in enumerate(["lru", "slru", *(f"p{i}" for i in range(30))])
    ]
    sheet = over_axis(pa.Table.from_pylist(rows), "size")
    labels = [one.look.label for one in sheet.charts[0].series]
    assert len(labels) == 10
    assert "hierarchy policy=lru" in labels
    assert sheet.notes[0] == "10 of 32 lines: the highest on average and hierarchy policy=lru."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"over": "worklod"}, r"no axis 'worklod' \(did you mean 'workload'\?\); one of work"),
        ({"over": "workload", "x": "workload"}, "'workload' is the axis that is shown"),
        ({"value": "latency"}, r"no column of numbers 'latency'.*one of .*mean_latency_ns"),
    ],
)
def test_mistakes_name_what_there_is(options: dict[str, Any], message: str) -> None:
    with pytest.raises(mc.ConfigError, match=message):
        over_axis(joined(), **options)
    with pytest.raises(mc.ConfigError, match=message):
        pivot(MADE_UP, **options)


def written(folder: Path, name: str, seed: int, op: int = 0, *, has_clock: bool = True) -> str:
    rng = np.random.default_rng(seed)
    keys = (200 * rng.random(800) ** 2).astype(np.int64)
    base = {} if has_clock else {"time_base": "index"}
    times = 10**9 * np.arange(800) if has_clock else np.arange(800)
    path = folder / f"{name}.parquet"
    mc.Trace.from_arrays(times, 4096 * keys, 4096, op=op, vms=("a",), **base).save(path)
    return str(path)


def experiment(folder: Path, traces: dict[str, str], interval: str | None) -> Path:
    lines = [
        "name: many",
        *([] if interval is None else [f"interval: {interval}"]),
        "tiers: [{device: dram, capacity: 10%}]",
        "systems: [lru]",
        f"workload: {{vms: [{{name: a, trace: {next(iter(traces.values()))}}}]}}",
        "sweep:",
        "  workload:",
        *(f"    {name}: {{vms: [{{name: a, trace: {of}}}]}}" for name, of in traces.items()),
        "  systems: [lru, {name: hierarchy, policy: arc}, {name: hierarchy, policy: opt}]",
    ]
    path = folder / "many.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_workload_without_reads_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    traces = {
        "one": written(tmp_path, "one", 1),
        "none": written(tmp_path, "none", 2, op=1),
        "two": written(tmp_path, "two", 3),
    }
    path = experiment(tmp_path, traces, "10min")
    code, out, err = call(capsys, "sweep", path, "--dry-run")
    assert code == 0, err
    assert "left out: 3 cells: none" in out
    assert "there are no reads" in out
    assert "0 there already, 6 to run" in out
    swept = mc.sweep(path)
    assert swept.plan["cell"].to_pylist() == [0, 1, 2, 6, 7, 8]
    assert all(swept.finished())
    assert swept.results(6).run_id == swept.plan["run_id"][3].as_py()
    with pytest.raises(mc.ConfigError, match="no cell 3"):
        swept.results(3)
    code, out, _ = call(capsys, "sweep", "status", path)
    assert "6 of 6 cells finished" in out
    for workload in ("one", "two"):
        run = mc.run(
            {
                "name": "alone",
                "interval": "10min",
                "tiers": [{"device": "dram", "capacity": "10%"}],
                "systems": ["lru"],
                "workload": {"vms": [{"name": "a", "trace": traces[workload]}]},
            },
            figures=False,
        )
        alone = run.comparison()
        table = swept.to_pandas()
        row = table[(table.workload == workload) & (table.systems == "lru") & table.vm.isna()]
        assert row.hits.item() == alone.hits[0]


def test_all_workloads_without_reads_are_an_error(tmp_path: Path) -> None:
    traces = {"none": written(tmp_path, "none", 2, op=1)}
    with pytest.raises(mc.ConfigError, match="all cells are left out: none"):
        mc.sweep(experiment(tmp_path, traces, "10min"), out=tmp_path / "results")


def test_traces_with_and_without_a_clock_share_a_sweep(tmp_path: Path) -> None:
    traces = {
        "timed": written(tmp_path, "timed", 1),
        "plain": written(tmp_path, "plain", 1, has_clock=False),
    }
    swept = mc.sweep(experiment(tmp_path, traces, None), out=tmp_path / "results")
    table = swept.to_pandas()
    whole = table[table.vm.isna()].pivot(index="workload", columns="systems", values="hits")
    # Both have the same references.
    assert whole.loc["timed"].tolist() == whole.loc["plain"].tolist()
    with pytest.raises(mc.ConfigError, match="it has no clock"):
        mc.sweep(experiment(tmp_path, traces, "10min"), out=tmp_path / "results")


def test_the_policy_opt_is_a_yardstick_of_sweeps(tmp_path: Path) -> None:
    traces = {"one": written(tmp_path, "one", 1), "two": written(tmp_path, "two", 2)}
    swept = mc.sweep(experiment(tmp_path, traces, "10min"), out=tmp_path / "results")
    assert "opt" not in swept.answer
    table = swept.overview()
    assert [row.systems for row in table][2::3] == ["hierarchy policy=opt"] * 2
    assert "opt" not in swept.overview(over="workload").answer


def test_errors_of_a_sweep_have_a_short_traceback(tmp_path: Path) -> None:
    with pytest.raises(mc.ConfigError) as raised:
        mc.sweep(tmp_path / "missing.yaml")
    assert len(raised.traceback) == 2
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
