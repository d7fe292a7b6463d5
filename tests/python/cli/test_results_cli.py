# Trusts: the functions of mcsim.results, which have tests of their own.
from __future__ import annotations

import json
import shutil
from pathlib import Path

import commands
import pytest
from small import EXPERIMENTS, small_experiment

import mcsim
from mcsim.base.units import format_size
from mcsim.cli import main as cli
from mcsim.results import collect, list_runs, open_run
from mcsim.results.schemas import SCHEMAS
from mcsim.results.writer import RunWriter, SystemTables, draft_folder

TINY = EXPERIMENTS / "tiny.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    for blocks in (500, 700):
        overrides = [f"tiers.0.capacity={blocks}", f"name=of-{blocks}"]
        mcsim.run(TINY, overrides=overrides, out=out, figures=False)
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "results"))


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.call(capsys, "results", *arguments)


def test_ls(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = call(capsys, "ls", "--results", out)
    assert code == 0
    headings, *rows = said.splitlines()
    assert headings.split() == ["run", "started", "state", "systems", "VMs", "workload", "size"]
    assert [row.split()[0] for row in rows] == list_runs(out)["run"].to_pylist()
    about = "finished  lru, static, multicache +1  friendly, cyclic, scanner  synthetic"
    assert about in rows[0]
    code, said, _ = call(capsys, "ls", "--results", out, "--json")
    assert [row["bytes"] for row in json.loads(said)] == list_runs(out)["bytes"].to_pylist()
    code, said, _ = call(capsys, "ls", "--results", out, "--latex")
    assert code == 0
    assert r"run & started & state & systems & VMs & workload & size \\" in said.splitlines()
    assert said.count(r"finished & lru, static, multicache +1 & ") == len(rows)
    (out / "empty").mkdir()
    assert call(capsys, "ls", "--results", out / "empty")[1] == f"no runs in {out / 'empty'}\n"
    code, _, said = call(capsys, "ls", "--results", out / "gone")
    assert (code, said) == (
        2,
        f"mcsim: {out / 'gone'}: no such folder of results; --results names another\n",
    )


def test_runs_of_one_name_are_told_apart_and_the_newest_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = []
    for blocks in (200, 300):
        spec = small_experiment("lru", tiers={"dram": blocks}, interval="30min")
        ids.append(mcsim.run(spec, out=tmp_path, figures=False).run_id)
    # Both may have begun in one second; then the end decides.
    said = call(capsys, "ls", "--results", tmp_path)[1]
    headings, *rows = said.splitlines()
    assert headings.endswith("differs in")
    told = {row.split()[0]: row.split()[-1] for row in rows}
    assert told == {ids[0]: "tiers.0.capacity=200", ids[1]: "tiers.0.capacity=300"}
    said = call(capsys, "ls", "--results", tmp_path, "--json")[1]
    assert {row["run"]: row["differs_in"] for row in json.loads(said)} == told

    sentence = f"tiny: {ids[1]} is the newest of 2 runs; mcsim results ls shows all\n"
    code, said, note = call(capsys, "show", "tiny", "--results", tmp_path)
    assert (code, note) == (0, sentence)
    assert said == call(capsys, "show", ids[1], "--results", tmp_path)[1]
    assert call(capsys, "page", "tiny", "--results", tmp_path)[2] == sentence
    assert (tmp_path / ids[1] / "page.html").is_file()
    code, _, note = call(capsys, "rm", "tiny", "--yes", "--results", tmp_path)
    assert (code, "give more letters" in note) == (2, True)


def test_show_says_what_run_said(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Finished runs are opened, not run again.
    overrides = ("--set", "tiers.0.capacity=500", "--set", "name=of-500")
    cli.main(["run", str(TINY), *overrides, "--results", str(out), "-q"])
    said = capsys.readouterr().out
    assert call(capsys, "show", "of-5", "--results", out) == (0, said, "")
    run = open_run("of-5", out)
    assert call(capsys, "show", run.path, "--config")[1] == (run.path / "spec.yaml").read_text()
    told = json.loads(call(capsys, "show", "of-5", "--results", out, "--json")[1])
    assert told["run"] == run.run_id
    assert told["experiment"] == run.spec.expanded()
    assert [row["system"] for row in told["systems"]] == [s.title for s in run.spec.systems]
    assert told["comparison"][0]["hits"] > 0
    latex = call(capsys, "show", "of-5", "--results", out, "--latex")[1]
    assert latex.startswith("% `")
    assert "%" not in [line.strip() for line in latex.splitlines()]


def test_diff_ends_as_diff_does(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = call(capsys, "diff", "of-5", "of-7", "--results", out)
    assert code == 1
    assert "tiers.0.capacity  500  700\n" in said
    assert "name" not in said
    assert "different: metrics, vms" in said
    code, said, _ = call(capsys, "diff", "of-5", "of-5", "--results", out)
    assert code == 0
    assert said.endswith("configuration: the same\n\nresults: equal bytes\n")
    code, said, _ = call(capsys, "diff", "of-5", "of-7", "--results", out, "--json")
    assert code == 1
    told = json.loads(said)
    assert told["configuration"] == {"tiers.0.capacity": [500, 700]}
    assert told["different"] is True
    code, _, said = call(capsys, "diff", "of-5", "of-9", "--results", out)
    assert code == 2
    assert said.startswith(f"mcsim: {out}: no run 'of-9' (did you mean 'of-")


def test_rm_asks(
    out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    code, said, _ = call(capsys, "rm", "of-5", "--results", out)
    assert code == 0
    assert said.endswith("nothing is removed\n")
    assert len(list_runs(out)) == 2
    code, said, _ = call(capsys, "rm", "--yes", "of-5", "of-5", "--results", out)
    assert code == 0
    assert said.splitlines()[0].endswith("  finished")
    assert said.splitlines()[-1].endswith(" freed")
    assert list_runs(out)["name"].to_pylist() == ["of-700"]


def test_packs_of_sweeps_are_removed_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mcsim.sweep(TINY, {"seed": "2 seeds"}, out=tmp_path)
    rows = list_runs(tmp_path).to_pylist()
    assert len(rows) == 2
    for pack in sorted({Path(row["pack"]) for row in rows}):
        count = sum(row["pack"] == str(pack) for row in rows)
        code, said, _ = call(capsys, "rm", "--yes", pack)
        assert code == 0
        assert said.splitlines()[0] == f"{pack}  {count} runs"
        assert not pack.exists()
    broken = tmp_path / "packs" / "broken-0123456789abcdef"
    broken.mkdir()
    code, said, _ = call(capsys, "verify", "--results", tmp_path)
    assert code == 1
    assert said.startswith(f"{broken}: not what was written, or gone: DONE\n")
    assert call(capsys, "rm", "--yes", broken)[0] == 2
    broken.rmdir()
    (sweep,) = (tmp_path / "sweeps").iterdir()
    said = call(capsys, "ls", "--results", tmp_path)[1].splitlines()
    assert [line.split() for line in said] == [
        ["sweep", "finished", "cells", "axes"],
        [sweep.name, "0", "2", "seed"],
    ]


def test_sweeps_are_verified_and_removed_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = mcsim.sweep(TINY, {"seed": [1, 2]}, out=tmp_path)
    (shared,) = (tmp_path / "packs").iterdir()
    large = mcsim.sweep(TINY, {"seed": [1, 2, 3]}, out=tmp_path)
    (own,) = {*(tmp_path / "packs").iterdir()} - {shared}
    large.draw(large.path / "figures" / "hit_ratio", ["svg"])
    (large.path / "figures" / "mine.svg").touch()

    def of_sweep(command: str, swept: mcsim.Sweep, *options: str) -> tuple[int, str, str]:
        return call(capsys, command, swept.path.name, *options, "--results", tmp_path)

    for swept, count in ((small, 1), (large, 2)):
        line = f"{count} of {count} folders and packs of runs are as they were written\n"
        assert of_sweep("verify", swept) == (0, line, "")
    (own / "metrics.parquet").write_bytes(b"")
    assert of_sweep("verify", small)[0] == 0
    assert of_sweep("verify", large)[1].startswith(f"{own}: not what was written")

    code, said, kept = of_sweep("rm", small, "--yes")
    assert (code, kept) == (0, f"{shared}: kept: it is also of other sweeps or runs\n")
    assert said.startswith(f"{small.path}  sweep of 2 cells\n")
    assert not small.path.exists()
    code, said, kept = of_sweep("rm", large, "--yes")
    mine = large.path / "figures" / "mine.svg"
    assert (code, kept) == (0, f"{mine}: kept: not of mcsim\n")
    assert [*(tmp_path / "packs").glob("*-*")] == []
    assert [path for path in large.path.rglob("*") if path.is_file()] == [mine]
    assert of_sweep("verify", large)[0] == 2


def test_rm_refuses_all_if_one_is_under_way(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = RunWriter(out / "busy-0123456789ab", "build")
    code, _, said = call(capsys, "rm", "--yes", "of-5", "busy", "--results", out)
    assert (code, said) == (
        2,
        f"mcsim: {draft_folder(out, 'busy-0123456789ab')}: this run is under way; end it first\n",
    )
    assert len(list_runs(out)) == 3
    draft.abandon()


def test_gc_says_what_it_freed(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "gc", "--results", out) == (0, "nothing to remove\n", "")
    draft = RunWriter(out / "left-0123456789ab", "build")
    tables = [SCHEMAS[name].empty_table() for name in ("metrics", "vms", "decisions")]
    draft.save_part(0, SystemTables(*tables, {}))
    draft.abandon()
    left = draft_folder(out, "left-0123456789ab")
    (size,) = collect(out, dry_run=True).values()
    *_, row, total = call(capsys, "gc", "--dry-run", "--results", out)[1].splitlines()
    assert row.split() == [str(left), *format_size(size).split()]
    assert total == f"{format_size(size)} would be freed"
    assert left.exists()
    said = call(capsys, "gc", "--json", "--results", out)[1]
    assert json.loads(said) == {"dry_run": False, "freed": {str(left): size}}
    assert not left.exists()


def test_verify_names_what_is_damaged(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "verify", "--results", out) == (
        0,
        "2 of 2 folders and packs of runs are as they were written\n",
        "",
    )
    run = open_run("of-5", out)
    (run.path / "curves.parquet").write_bytes(b"")
    code, said, _ = call(capsys, "verify", "--results", out)
    assert code == 1
    assert said == (
        f"{run.path}: not what was written, or gone: curves.parquet\n"
        "1 of 2 folders and packs of runs are as they were written\n"
        "remove them and run those experiments again\n"
    )
    assert call(capsys, "verify", "of-7", "--results", out)[0] == 0
    code, _, said = call(capsys, "verify", "", "--results", out)
    assert (code, said) == (2, "mcsim: expected the id or the folder of a run, got ''\n")
    told = json.loads(call(capsys, "verify", "--json", "--results", out)[1])
    assert told == {"verified": 2, "unsound": {str(run.path): ["curves.parquet"]}}


def test_options_of_runs_are_refused_for_sweeps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mcsim.sweep(TINY, {"seed": [1, 2]}, out=tmp_path)
    (sweep,) = (tmp_path / "sweeps").iterdir()
    for command, option in (
        ("show", "--per-vm"),
        ("show", "--config"),
        ("page", "--systems=lru"),
        ("plot", "--list"),
        ("plot", "--only=latency"),
        ("plot", "--systems=lru"),
    ):
        code, _, said = call(capsys, command, sweep, option)
        assert code == 2
        assert said == f"mcsim: {option.partition('=')[0]}: of runs; {sweep} is a sweep\n"
