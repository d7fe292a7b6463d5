# Trusts: `mcsim.run` of each single cell.
"""Sweeps: cells equal single runs on every executor, and join into one table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from complaints import complaint
from small import ROOT, small_experiment

import mcsim
from mcsim import figures
from mcsim.base.errors import ConfigError
from mcsim.cli.main import cli
from mcsim.experiment.environment import build_digest
from mcsim.experiment.prepared import Prepared, View
from mcsim.results import tables
from mcsim.results.results import Results
from mcsim.results.runs import open_run
from mcsim.results.schemas import SCHEMAS
from mcsim.results.writer import RunWriter
from mcsim.sweeps.plan import read_grid
from mcsim.sweeps.sweep import look
from mcsim.sweeps.swept import Sweep

TINY: dict[str, Any] = small_experiment(
    "lru", tiers={"dram": 500, "flash": 2000}, name="grid", interval="30min", backend="hdd"
)
AXES: dict[str, Any] = {
    "tiers.1.capacity": [1000, "8MiB"],
    "systems": [["lru", "multicache"], {"name": "hierarchy", "policy": "arc / arc"}],
    "seed": "2 seeds",
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return mcsim.sweep(TINY, AXES, out=tmp_path_factory.mktemp("swept"))


def is_packed(results: Results) -> bool:
    return results.folder.parent == results.path.parent / "packs"


def unpacked(results: Results) -> Results:
    """Write the folder of a packed run, as if it had been run alone."""
    draft = RunWriter(results.path.parent / results.run_id, build_digest())
    for name in SCHEMAS:
        draft.write_table(name, results.table(name))
    draft.write_spec(results.spec)
    draft.write_json("environment", results.environment)
    draft.write_json("timings", results.timings)
    return draft.finish()


def test_a_cell_is_the_run_it_stands_for(swept: Sweep, tmp_path: Path) -> None:
    grid, _ = read_grid(TINY, AXES)
    for cell in grid.cells():
        alone = mcsim.run(grid.varied(cell).root, out=tmp_path, figures=False)
        results = swept.results(cell.index)
        assert is_packed(results)
        assert results.run_id == alone.run_id
        assert results.spec == alone.spec
        folder = unpacked(results).path
        files = sorted(path.name for path in alone.path.glob("*.parquet"))
        assert len(files) == 7
        for name in [*files, "spec.yaml"]:
            assert (folder / name).read_bytes() == (alone.path / name).read_bytes(), name
        assert {**results.environment, "started": ""} == {**alone.environment, "started": ""}
        Results.open(folder).check()


SHUTS = """
import mcsim

class Shuts:
    def __init__(self, shuts):
        self.shuts = shuts

    def allocate(self, seen):
        return mcsim.Decision(admits=[False] * len(seen.vms) if self.shuts else None)
"""


def test_a_column_that_few_runs_have_is_in_their_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "shutting.py").write_text(SHUTS)
    spec = TINY | {"systems": [{"name": "shutting:Shuts", "shuts": False}]}
    file = tmp_path / "shutting.yaml"
    file.write_text(json.dumps(spec))
    axes = {"systems.0.shuts": [False, True], "seed": [1, 2]}
    swept = mcsim.sweep(file, axes, out=tmp_path / "swept", allow_code=True)
    for cell in range(4):
        results = swept.results(cell)
        assert is_packed(results)
        said = [f"systems.0.shuts={cell > 1}", f"seed={cell % 2 + 1}"]
        alone = mcsim.run(
            file, overrides=said, out=tmp_path / "alone", figures=False, allow_code=True
        )
        assert alone.run_id == results.run_id
        assert ("admits" in alone.decisions().to_arrow().column_names) == (cell > 1)
        assert results.decisions().to_arrow().equals(alone.decisions().to_arrow())
        written = unpacked(results).path / "decisions.parquet"
        assert written.read_bytes() == (alone.path / "decisions.parquet").read_bytes()


def test_the_table_has_a_row_for_each_cell_system_and_vm(swept: Sweep) -> None:
    table = swept.to_arrow()
    assert table.column_names[:5] == ["cell", "run_id", *AXES]
    assert swept.axes == list(AXES)
    rows = table.to_pylist()
    expected = []
    for cell in range(8):
        for row in tables.comparison(swept.results(cell)).to_pylist():
            expected.append((cell, row["system"], row["vm"], row["hits"], row["mean_latency_ns"]))
            expected[-1] += tuple(row["tier_hits"])
    keys = ("cell", "system", "vm", "hits", "mean_latency_ns", "tier_hits_0", "tier_hits_1")
    assert [tuple(row[key] for key in keys) for row in rows] == expected
    assert rows[0]["tiers.1.capacity"] == 1000
    assert rows[-1]["tiers.1.capacity"] == 2048
    assert {row["systems"] for row in rows} == {"lru + multicache", "hierarchy policy=arc / arc"}


def test_what_is_there_is_not_run_again(swept: Sweep, tmp_path: Path) -> None:
    few = mcsim.sweep(TINY, AXES | {"seed": [1]}, out=tmp_path)
    assert few.finished() == [True] * 4
    packs = set((tmp_path / "packs").iterdir())
    all_of_them = mcsim.sweep(TINY, AXES, out=tmp_path)
    new = set((tmp_path / "packs").iterdir()) - packs
    assert all_of_them.to_arrow().equals(swept.to_arrow())
    mcsim.sweep(TINY, AXES, out=tmp_path)
    assert set((tmp_path / "packs").iterdir()) == packs | new


def test_a_run_of_its_own_is_a_cell_that_is_there(tmp_path: Path) -> None:
    grid, _ = read_grid(TINY, AXES)
    mcsim.run(grid.varied(grid.cells()[3]).root, out=tmp_path, figures=False)
    made = mcsim.sweep(TINY, AXES, out=tmp_path)
    assert not is_packed(made.results(3))
    assert is_packed(made.results(2))
    assert made.to_arrow()["cell"].to_pylist().count(3) == 4


def test_cells_of_one_trace_share_its_interning(tmp_path: Path) -> None:
    from mcsim.base.progress import Reporter

    told: list[str] = []

    class Told(Reporter):
        def note(self, text: str) -> None:
            told.append(text.split()[0])

    # The seed of the workload is stated, so the axis `seed` does not draw another one.
    workload = TINY["workload"] | {"seed": 1}
    mcsim.sweep(TINY | {"workload": workload}, AXES, out=tmp_path, reporter=Told())
    assert told.count("intern") == 1
    assert told.count("bound") == 2


def test_an_experiment_with_axes_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a grid of runs: `mcsim sweep` runs it"):
        mcsim.run(TINY | {"sweep": AXES}, out=tmp_path)
    with pytest.raises(ConfigError, match="spec: no `sweep:` in it: add an axis, such as"):
        mcsim.sweep(TINY, out=tmp_path)


def test_a_mistake_of_a_cell_is_blamed_on_its_axis(tmp_path: Path) -> None:
    file = tmp_path / "grid.yaml"
    text = (ROOT / "experiments/tiny.yaml").read_text()
    text = text.replace("workloads/", str(ROOT / "experiments/workloads") + "/")
    lines = len(text.splitlines())
    file.write_text(f"{text}sweep:\n  tiers.1.capacty: [1, 2]\n")
    message = "tiers[1]: unknown key 'capacty' (did you mean 'capacity'?)"
    assert complaint(mcsim.sweep, file, out=tmp_path) == f"{file}:{lines + 2}: {message}"
    file.write_text(f"{text}sweep:\n  tiers.7.capacity: [1, 2]\n")
    with pytest.raises(ConfigError, match=r"has no item '7' \(2 items, counted from 0\)"):
        mcsim.sweep(file, out=tmp_path)


def test_what_is_kept_of_large_traces_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if few were many; one view is interned and measured, the other is not.
    def kept(_: Prepared, view: View) -> tuple[bool, bool]:
        return True, view["block_bytes"] == 4096

    axes = {"block_bytes": ["4KiB", "8KiB"], "systems": [["lru"], ["static"]]}
    planned = look(TINY, axes, out=tmp_path)
    assert len(planned.text().splitlines()) == 2, "few have no files"
    monkeypatch.setattr(Prepared, "kept", kept)
    assert planned.text() == (
        "grid: 4 cells of one workload: 2 block_bytes x 2 systems\n"
        "in the cache: 2 of 2 interned traces, 1 of 2 profiles\n"
        "0 there already, 4 to run"
    )


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "grid.yaml"
    text = (ROOT / "experiments/tiny.yaml").read_text()
    text = text.replace("workloads/", str(ROOT / "experiments/workloads") + "/")
    file.write_text(text + "sweep:\n  tiers.1.capacity: [1000, 2000, 4000]\n")
    out = tmp_path / "results"

    def sweep(*arguments: str) -> str:
        given = ["sweep", *arguments, "--results", str(out)]
        ran = CliRunner().invoke(cli, given, catch_exceptions=False)
        assert ran.exit_code == 0
        return ran.output

    def results(*arguments: str) -> str:
        given = ["results", *arguments, "--results", str(out)]
        ran = CliRunner().invoke(cli, given, catch_exceptions=False)
        assert ran.exit_code == 0
        return ran.output

    planned = sweep(str(file), "--dry-run", "-q")
    assert planned.startswith(
        "tiny: 3 cells of one workload: 3 tiers.1.capacity\n0 there already, 3 to run\nabout "
    )
    assert not any(out.glob("*"))
    assert sweep("status") == f"no sweeps in {out}\n"
    assert sweep(str(file), "-q", "--cells", "0-1") == "2 of 3 cells finished\n"
    name = next((out / "sweeps").iterdir()).name
    told = f"{name}: 2 of 3 cells finished\n"
    assert sweep("status", str(file)) == told + "missing: 2\n"
    assert sweep("status") == told
    only = "2 of 3 cells finished\n"
    assert sweep(str(file), "-q", "--cells", "tiers.1.capacity=1000") == only
    where = out / "sweeps" / name
    assert f"{name}: all VMs together (2 of 3 cells finished)\n" in results("show", name)
    told = sweep(str(file), "-q")
    shown = results("show", name)
    assert shown.startswith(f"{Sweep.open(where).answer}\n\n{name}: all VMs together\n")
    assert told == (
        f"{shown}\n3 cells, 48 rows: {where / 'table.parquet'}, table.csv\n"
        f"Page: mcsim results page {where}\nFigures: mcsim results plot {where}\n"
    )
    header, *rows = (where / "table.csv").read_text().splitlines()
    assert header.startswith('"cell","run_id","tiers.1.capacity","system","vm"')
    assert len(rows) == 48
    assert results("show", name, "--csv") == (where / "table.csv").read_text()
    assert len(json.loads(results("show", str(where), "--json"))) == 48
    by_size = results("show", name, "--x", "tiers.1.capacity", "--latex")
    assert re.fullmatch(r"1,000 & \d\d\.\d\d & .*", by_size.splitlines()[4])
    header, *rows = results("show", name, "--x", "tiers.1.capacity", "--csv").splitlines()
    assert header.split(",")[0] == '"tiers.1.capacity"'
    assert len(rows) == 3
    assert [
        row["tiers.1.capacity"]
        for row in json.loads(
            results("show", name, "--x", "tiers.1.capacity", "--value", "mean_latency_ns", "--json")
        )
    ] == [int(row.split(",")[0]) for row in rows]
    listed = results("ls", "--latex")
    assert r"\begin{tabular}" in listed
    assert f"{name} & 3 & 3 & " in listed
    assert results("plot", name) == f"{where / 'figures' / 'hit_ratio.png'}\n"
    assert (where / "figures" / "hit_ratio.png").stat().st_size > 10_000
    drawn_of = [f"{where / 'figures' / f'hit_ratio-{vm}.png'}" for vm in ("scanner", "cyclic")]
    assert results("plot", name, "--vms", "sc*,cyclic").splitlines() == drawn_of


def test_figures_of_a_cell_do_not_hide_it(tmp_path: Path) -> None:
    made = mcsim.sweep(TINY, {"seed": [1, 2]}, out=tmp_path)
    folder = made.results(1).path
    drawn = figures.draw(made.results(1), ["hit-ratio"])
    assert drawn == [folder / "figures" / "hit-ratio.png"]
    assert Results.open(folder).metrics().to_arrow().equals(made.results(1).metrics().to_arrow())
    assert open_run(folder.name, tmp_path).run_id == folder.name
    assert made.finished() == [True, True]
    alone = mcsim.run(made.results(1).spec, out=tmp_path, figures=False)
    assert (
        alone.path,
        alone.metrics().to_arrow().equals(made.results(1).metrics().to_arrow()),
    ) == (folder, True)


def test_a_sweep_that_was_not_begun(tmp_path: Path) -> None:
    file = str(ROOT / "experiments/reproduce/multicache/sizes.yaml")
    with pytest.raises(ConfigError, match=r"this sweep was not begun in .*: mcsim sweep .*sizes"):
        CliRunner().invoke(
            cli, ["sweep", "status", file, "--results", str(tmp_path)], catch_exceptions=False
        )


def test_a_sweep_has_its_page(tmp_path: Path) -> None:
    axes = {"tiers.1.capacity": [1000, 2000, 40_000], "seed": [1, 2]}
    made = mcsim.sweep(TINY, axes, out=tmp_path)
    page = tmp_path / "page.html"
    run = CliRunner().invoke(cli, ["results", "page", str(made.path), "-o", str(page)])
    assert (run.exit_code, run.output) == (0, f"{page}\n")
    text = page.read_text("utf-8")
    assert "<dd>6 of 6 finished</dd>" in text
    assert "How do hits and latency depend on capacity of tier 2 and seed?" in text
    # A narrow screen may break the heading.
    assert ">tiers.<wbr>1.<wbr>capacity</button>" in text
    # Units on the axis, a band over seeds, and no chart over seeds.
    assert "<h3>Hit ratio over capacity of tier 2</h3>" in text
    assert "Capacity of tier 2 (blocks)" in text
    assert "Mean over seeds; bands: least to most." in text
    assert "over seed" not in text.lower().replace("mean over seeds", "").replace(
        "deviation over seeds", ""
    )
    rows = [row for row in made.to_arrow().to_pylist() if row["vm"] is None]
    # The table behind the plot has the mean over seeds.
    for system in {row["system"] for row in rows}:
        found = [
            row["hit_ratio"]
            for row in rows
            if row["system"] == system and row["tiers.1.capacity"] == 1000
        ]
        assert f"<td>{100 * sum(found) / 2:.4g}</td>" in text


def test_a_cell_has_a_page(tmp_path: Path) -> None:
    experiment = small_experiment("lru", tiers={"dram": 100})
    cell = mcsim.sweep(experiment, {"seed": "2 seeds"}, out=tmp_path).results(0)
    assert is_packed(cell)
    assert f"{cell.run_id}: the experiment, every" in mcsim.report(cell)


def test_planning_changes_nothing(tmp_path: Path) -> None:
    experiment = small_experiment("lru", tiers={"dram": 100})
    mcsim.sweep(experiment, {"seed": "2 seeds"}, out=tmp_path)
    for file in (tmp_path / "packs").glob("*/run_ids.txt"):
        file.write_bytes(file.read_bytes()[:-10])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(look(experiment, {"seed": "2 seeds"}, out=tmp_path).missing) == 2
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
