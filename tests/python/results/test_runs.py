# Trusts: the file system; `sha256sum`; the layout that mcsim/results/results.py states.
"""Runs of a folder: listed with their states, found, removed, collected, verified, compared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from complaints import complaint
from small import EXPERIMENTS, small_experiment

import mcsim
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.files import replacing_folder
from mcsim.results import collect, difference, find_run, list_runs, open_run, remove, verify
from mcsim.results.output import RunOutput
from mcsim.results.packs import write_pack
from mcsim.results.results import Results
from mcsim.results.runs import bytes_below, removable
from mcsim.results.schemas import SCHEMAS
from mcsim.results.tables import comparison
from mcsim.results.writer import RunWriter, SystemTables, draft_folder

TINY = EXPERIMENTS / "tiny.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one experiment: as it is, and with a larger tier and a legacy system."""
    out = tmp_path_factory.mktemp("runs")
    mcsim.run(TINY, out=out, figures=False)
    larger = ["tiers.0.capacity=1000", "systems.0.legacy=true"]
    mcsim.run(TINY, overrides=larger, out=out, figures=False)
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "results"))


def two(out: Path) -> tuple[Path, Path]:
    """The runs of `made`, the plain one first."""
    first, second = sorted(
        out.glob("tiny-*"), key=lambda path: "legacy: true" in (path / "spec.yaml").read_text()
    )
    return first, second


def killed(out: Path, run_id: str) -> Path:
    """Files of a run that was killed after a system had finished."""
    draft = RunWriter(out / run_id, "build")
    tables = [SCHEMAS[name].empty_table() for name in ("metrics", "vms", "decisions")]
    draft.save_part(0, SystemTables(*tables, {}))
    (draft.folder / "log.txt").write_text("x" * 1000)
    draft.abandon()
    return draft_folder(out, run_id)


def states(out: Path) -> dict[str, str]:
    return {Path(row["path"]).name: row["state"] for row in list_runs(out).to_pylist()}


def test_a_list_says_what_runs_say(out: Path) -> None:
    table = list_runs(out)
    assert table["state"].to_pylist() == ["finished", "finished"]
    assert table["started"].to_pylist() == sorted(table["started"].to_pylist())
    for row in table.to_pylist():
        run = open_run(row["run"], out)
        assert row["name"] == run.spec.name
        assert row["systems"] == [system.title for system in run.spec.systems]
        assert row["vms"] == [vm["vm"] for vm in run.environment["traces"]]
        assert row["workload"] == "synthetic"
        assert row["started"].isoformat() == run.environment["started"]
        du = subprocess.run(
            ["find", run.path, "-type", "f", "-printf", "%s\n"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert row["bytes"] == sum(map(int, du.stdout.split()))


def test_states_of_runs(out: Path) -> None:
    first, second = two(out)
    (first / "vms.parquet").unlink()
    (out / "tiny-000000000001").mkdir()  # nothing was written into it
    left = killed(out, "tiny-000000000002")
    at_work = RunWriter(out / "tiny-000000000003", "build")
    second.rename(out / f"{second.name}.replaced-0123abcd")
    (out / "notes").mkdir()
    (out / "photos-0123456789ab").mkdir()
    (out / "photos-0123456789ab" / "beach.jpg").touch()
    (out / "file-0123456789ab").touch()
    assert states(out) == {
        first.name: "damaged",
        "tiny-000000000001": "damaged",
        left.name: "abandoned",
        draft_folder(out, "tiny-000000000003").name: "under way",
        f"{second.name}.replaced-0123abcd": "abandoned",
    }
    at_work.abandon()


def test_a_run_is_found_by_how_its_name_begins(out: Path) -> None:
    first, second = two(out)
    begin = next(k for k in range(20) if first.name[:k] != second.name[:k])
    for given in (first.name, first.name[:begin], str(first), f"{first}/", first):
        assert open_run(given, out).path == first
    one, other = sorted([first.name, second.name])
    several = f"'tiny' may be {one} or {other}: give more letters"
    assert complaint(find_run, "tiny", out) == several
    (out / "sweeps" / "tiny-0123").mkdir(parents=True)
    hint = "; `mcsim results ls tiny` lists the runs of the sweep"
    assert complaint(find_run, "tiny", out) == several + hint
    (out / "sweeps" / "tiny-0123").rmdir()
    (out / "sweeps").rmdir()
    assert complaint(find_run, "tinny", out) == (
        f"{out}: no run 'tinny' (did you mean 'tiny'?); mcsim results ls shows them"
    )
    wrong = first.name[:-1] + ("0" if first.name[-1] != "0" else "1")
    with pytest.raises(ConfigError, match=f"did you mean '{first.name}'"):
        find_run(wrong, out)
    with pytest.raises(ConfigError, match="nowhere: no such folder of results; --results names"):
        find_run("tiny", out / "nowhere")
    with pytest.raises(ConfigError, match="gone: no such run"):
        find_run(out / "gone")


def test_a_name_is_that_of_its_newest_run(out: Path) -> None:
    first, second = two(out)
    told: list[str] = []
    for started, newest in (("2026-01-02", second), ("2024-01-02", first)):
        file = second / "environment.json"
        environment = json.loads(file.read_text()) | {"started": f"{started}T00:00:00+00:00"}
        file.write_text(json.dumps(environment))
        file = first / "environment.json"
        environment = json.loads(file.read_text()) | {"started": "2025-01-02T00:00:00+00:00"}
        file.write_text(json.dumps(environment))
        assert find_run("tiny", out, on_several=told.append) == newest
        assert told.pop() == (
            f"tiny: {newest.name} is the newest of 2 runs; mcsim results ls shows all"
        )
    # Only whole names, of finished runs; removal is never of a name.
    assert "may be" in complaint(find_run, "tin", out, on_several=told.append)
    assert "may be" in complaint(removable, "tiny", out)
    (second / "DONE").unlink()
    assert find_run("tiny", out, on_several=told.append) == first
    assert told == []


def test_runs_of_one_second_are_listed_by_their_ends(out: Path) -> None:
    runs = two(out)
    for run in runs:
        file = run / "environment.json"
        same = json.loads(file.read_text()) | {"started": "2025-01-02T00:00:00+00:00"}
        file.write_text(json.dumps(same))
    for order in (runs, tuple(reversed(runs))):
        for second, run in enumerate(order):
            os.utime(run / "DONE", (second, second))
        assert list_runs(out)["run"].to_pylist() == [run.name for run in order]


def test_one_id_may_begin_as_another(tmp_path: Path) -> None:
    for name in ("a-0123456789ab", "a-0123456789ab-0123456789ab"):
        (tmp_path / name).mkdir()
    assert find_run("a-0123456789ab", tmp_path).name == "a-0123456789ab"


def test_what_is_not_finished_does_not_open_and_says_why(tmp_path: Path) -> None:
    left = killed(tmp_path, "tiny-000000000002")
    assert complaint(open_run, "tiny", tmp_path) == (
        f"tiny-000000000002: not a finished run: {left.name} is abandoned"
    )


def test_a_run_is_removed_with_what_was_left_of_it(out: Path) -> None:
    first, second = two(out)
    left = killed(out, first.name)
    freed = sum(
        file.stat().st_size
        for folder in (first, left)
        for file in folder.rglob("*")
        if file.is_file()
    )
    assert remove(first.name, out) == freed
    assert [path.name for path in out.iterdir()] == [second.name]


def test_runs_under_way_are_not_removed(out: Path) -> None:
    first, _ = two(out)
    draft = RunWriter(out / first.name, "build")
    assert (
        complaint(remove, first, out)
        == f"{draft_folder(out, first.name)}: this run is under way; end it first"
    )
    assert open_run(first).path == first
    draft.abandon()


def test_folders_of_others_are_not_removed(out: Path) -> None:
    mine = out / "photos-0123456789ab"
    mine.mkdir()
    (mine / "beach.jpg").touch()
    for folder in (mine, out):
        with pytest.raises(ConfigError, match=f"{folder.name}: not a run"):
            remove(folder)
    assert (mine / "beach.jpg").exists()


def test_collecting_leaves_what_is_finished_or_under_way(out: Path) -> None:
    first, second = two(out)
    left = killed(out, "tiny-000000000002")
    replaced = out / f"{second.name}.replaced-0123abcd"
    shutil.copytree(second, replaced)
    at_work = RunWriter(out / "tiny-000000000003", "build")
    told = collect(out, dry_run=True)
    assert set(told) == {left, replaced}
    assert told[left] >= 1000
    assert left.exists()
    assert collect(out) == told
    assert set(out.iterdir()) == {first, second, draft_folder(out, "tiny-000000000003")}
    assert collect(out) == {}
    at_work.abandon()


@pytest.mark.parametrize("name", ["removed", "replaced.0123abcd"])
def test_what_a_killed_removal_or_replacement_left_is_collected(out: Path, name: str) -> None:
    first, second = two(out)
    left = draft_folder(out, second.name) / "left.01234567"
    left.mkdir(parents=True)
    second.rename(left / name)
    assert states(out) == {first.name: "finished", left.parent.name: "abandoned"}
    assert set(collect(out)) == {left.parent}
    assert list(out.iterdir()) == [first]


def test_a_removal_that_fails_leaves_an_abandoned_run(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two(out)

    def fails(path: Path, kind: str) -> None:
        raise HostError(f"{path}: cannot be removed")

    with monkeypatch.context() as patch:
        patch.setattr("mcsim.results.runs.remove_folder", fails)
        with pytest.raises(HostError):
            remove(second)
    draft = draft_folder(out, second.name)
    assert states(out) == {first.name: "finished", draft.name: "abandoned"}
    assert set(collect(out)) == {draft}
    assert list(out.iterdir()) == [first]


def test_every_file_is_held_to_its_checksum(out: Path) -> None:
    first, second = two(out)
    assert verify(out) == (2, {})
    said = subprocess.run(["sha256sum", "--check", "DONE"], cwd=first, capture_output=True)
    assert said.returncode == 0
    table = first / "metrics.parquet"
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    (first / "spec.yaml").unlink()
    count, wrong = verify(out, [first])
    assert (count, sorted(wrong[first])) == (1, ["metrics.parquet", "spec.yaml"])
    (second / "DONE").write_text("")
    assert verify(out, [second]) == (1, {second: ["DONE"]})
    assert set(verify(out)[1]) == {first, second}


def test_a_difference_is_what_was_overridden_and_what_came_of_it(made: Path) -> None:
    a, b = (open_run(path) for path in two(made))
    found = difference(a, b)
    assert found
    changes = {change.key: (change.a, change.b) for change in found.configuration}
    assert changes == {
        "tiers.0.capacity": (500, 1000),
        "systems.lru.legacy": (False, True),
    }
    assert found.tables == {
        name: "equal bytes"
        if (a.path / f"{name}.parquet").read_bytes() == (b.path / f"{name}.parquet").read_bytes()
        else "different"
        for name in SCHEMAS
    }
    one, other = (
        {(row["system"], row["vm"]): row["hit_ratio"] for row in comparison(of).to_pylist()}
        for of in (a, b)
    )
    told = {(row["system"], row["vm"]): row["hit_ratio"] for row in found.results}
    assert told == {key: (one[key], other[key]) for key in told}
    assert {key for key in one if one[key] != other[key]} <= set(told)


def test_a_run_does_not_differ_from_itself_under_another_name(made: Path, tmp_path: Path) -> None:
    first, _ = two(made)
    mcsim.run(TINY, overrides=["name=other"], out=tmp_path, figures=False)
    found = difference(open_run(first), open_run("other", tmp_path))
    assert not found
    assert found.configuration == found.results == []
    assert set(found.tables.values()) == {"equal bytes"}


def test_systems_are_compared_by_name_wherever_they_stand(made: Path, tmp_path: Path) -> None:
    first, _ = two(made)
    spec = open_run(first).spec.expanded()
    spec["workload"]["profile"] = str(TINY.parent / "workloads" / "tiny.yaml")
    spec["systems"] = spec["systems"][2:0:-1]
    b = mcsim.run(spec, out=tmp_path, figures=False)
    found = difference(open_run(first), b)
    gone = {change.key.split(".")[1] for change in found.configuration if change.b is None}
    assert gone == {"lru", "multicache-joint"}
    changed = {change.key for change in found.configuration if None not in (change.a, change.b)}
    assert changed == {"workload.profile"}
    assert {row["system"] for row in found.results} == gone
    assert all(row["hit_ratio"][1] is None for row in found.results)


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """Three runs of a sweep, two of them in one pack."""
    spec = small_experiment("lru", "static", tiers={"dram": 500}, name="swept", interval="10min")
    out = tmp_path / "swept"
    cells = [RunOutput(out / f"swept-{k:012x}") for k in range(3)]
    for k, cell in enumerate(cells):
        size = [f"tiers.0.capacity={100 * (k + 1)}"]
        hold(cell, mcsim.run(spec, overrides=size, out=tmp_path / "each", figures=False))
    write_pack(out, "swept", cells[:2])
    write_pack(out, "alone", cells[2:])
    return out


def hold(cell: RunOutput, run: Results) -> None:
    """Load the results of a run into memory, as sweeps do."""
    for name in SCHEMAS:
        cell.write_table(name, run.table(name))
    cell.write_curves(run.table("curves"), run.table("curves"))
    cell.write_spec(run.spec)
    cell.write_json("environment", run.environment)
    cell.write_json("timings", run.timings)


def test_runs_of_sweeps_are_runs(swept: Path) -> None:
    rows = list_runs(swept).to_pylist()
    assert sorted(row["run"] for row in rows) == [f"swept-{k:012x}" for k in range(3)]
    for row in rows:
        assert row["state"] == "finished"
        assert row["systems"] == ["lru", "static"]
        assert row["vms"] == ["friendly", "cyclic", "scanner"]
        assert row["started"].isoformat() == open_run(row["run"], swept).environment["started"]
    packs = {row["pack"] for row in rows}
    assert sum(row["bytes"] for row in rows) == pytest.approx(
        sum(bytes_below(pack) for pack in packs), abs=3
    )
    a, b = (open_run(f"swept-{k:012x}", swept) for k in range(2))
    found = difference(a, b)
    changes = {change.key: (change.a, change.b) for change in found.configuration}
    assert changes == {"tiers.0.capacity": (100, 200)}
    assert found.tables["metrics"] == "different"
    assert {row["system"] for row in found.results} == {"lru", "static"}
    assert not difference(a, open_run(swept / a.run_id))


def test_runs_of_sweeps_are_verified_and_removed_by_the_pack(swept: Path) -> None:
    assert verify(swept) == (2, {})
    pack = next(swept.glob("packs/swept-*"))
    alone = next(swept.glob("packs/alone-*"))
    assert complaint(remove, "swept-000000000001", swept) == (
        "swept-000000000001: one of 2 runs in one folder, which go together: "
        f"mcsim results rm {pack}"
    )
    assert "a pack of runs; name one" in complaint(open_run, pack)
    assert [run.count for run in removable(pack)] == [2]
    size = bytes_below(alone)
    assert remove("swept-000000000002", swept) == size
    assert not alone.exists()
    (pack / "metrics.parquet").write_bytes(b"damaged")
    assert verify(swept, ["swept-000000000001"]) == (1, {pack: ["metrics.parquet"]})
    assert remove(pack) > 0
    assert list_runs(swept).num_rows == 0


def test_what_killed_writers_of_packs_left_is_collected(swept: Path) -> None:
    claims = swept / "packs" / ".partial"
    with replacing_folder(swept / "packs" / "x", lambda: True, claims) as made:
        assert collect(swept) == {}  # a process holds it
        (made / "metrics.parquet").write_bytes(b"half")
        left = claims / "left.01234567"
        shutil.copytree(made, left)
    assert collect(swept, dry_run=True) == {claims: 4}
    assert left.exists()
    assert collect(swept) == {claims: 4}
    assert not claims.exists()


def test_damaged_runs_are_not_compared(out: Path) -> None:
    first, second = two(out)
    (first / "vms.parquet").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"vms\.parquet: damaged or gone"):
        difference(open_run(first), open_run(second))
