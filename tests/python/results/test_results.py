# Trusts: the file system's rename, Python's json, and the layout in mcsim/results/results.py.
from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from commands import started
from complaints import complaint
from hypothesis import given
from hypothesis import strategies as st
from small import small_experiment

from mcsim.base import claims
from mcsim.base.errors import ConfigError, HostError
from mcsim.config import ExperimentSpec
from mcsim.results import writer as writer_module
from mcsim.results.files import json_of
from mcsim.results.results import Results
from mcsim.results.runs import runs_in, unsound_files
from mcsim.results.schemas import SCHEMAS
from mcsim.results.writer import RunWriter, SystemTables, draft_folder, is_under_way

RUN_ID = "pair-0123456789ab"
SPEC = ExperimentSpec.model_validate(
    small_experiment("lru", tiers={"dram": 5}, name="pair", workload={"vms": ["a"]})
)


def one_row(name: str) -> pa.Table:
    zero = {pa.string(): "x", pa.float64(): 0.5}
    return pa.table({f.name: [zero.get(f.type, 7)] for f in SCHEMAS[name]}, schema=SCHEMAS[name])


def a_system() -> SystemTables:
    return SystemTables(
        one_row("metrics"), one_row("vms"), one_row("decisions"), {"replay_seconds": 1.0}
    )


@pytest.fixture
def every_part_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are written however little work is in them."""
    monkeypatch.setattr(writer_module, "KEPT_AFTER_SECONDS", 0.0)


def write_all(draft: RunWriter) -> Results:
    if draft.part(0) is None:
        draft.save_part(0, a_system())
    for name in SCHEMAS:
        draft.write_table(name, one_row(name))
    draft.write_spec(SPEC)
    draft.write_json("environment", {"synthetic": True})
    draft.write_json("timings", {"stages": {"parse": 1.0}, "systems": {}})
    return draft.finish()


def test_a_finished_run_reads_back(tmp_path: Path) -> None:
    results = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [RUN_ID]
    assert sorted(p.name for p in results.path.iterdir()) == sorted(
        ["DONE", "spec.yaml", "environment.json", "timings.json"]
        + [f"{name}.parquet" for name in SCHEMAS]
    )
    opened = Results.open(tmp_path / RUN_ID)
    assert opened.run_id == RUN_ID
    assert opened.spec == SPEC
    assert opened.synthetic
    assert opened.title == "pair (synthetic workload)"
    for name, schema in SCHEMAS.items():
        assert opened.table(name).schema == schema
        columns = [*schema.names, *(["warm_up"] if "interval" in schema.names else [])]
        assert opened.to_arrow(name).column_names == columns
        assert opened.to_pandas(name).columns.tolist() == columns
        assert opened.to_polars(name).columns == columns


def test_who_ran_it_has_the_tables_that_are_in_the_files(tmp_path: Path) -> None:
    results = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    for name in SCHEMAS:
        mine, read = results.table(name), Results.open(results.path).table(name)
        assert mine.schema.equals(read.schema, check_metadata=True), name
        assert mine.equals(read), name


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    )
)
def test_json_is_what_python_indents(value: object) -> None:
    expected = json.dumps({"value": value, "of": (value, [])}, indent=2) + "\n"
    assert json_of({"value": value, "of": (value, [])}) == expected.encode()


def test_what_is_written_twice_is_the_same_bytes(tmp_path: Path) -> None:
    first = write_all(RunWriter(tmp_path / "1" / RUN_ID, "build"))
    second = write_all(RunWriter(tmp_path / "2" / RUN_ID, "build"))
    for name in SCHEMAS:
        file = f"{name}.parquet"
        assert (first.path / file).read_bytes() == (second.path / file).read_bytes()


def test_what_is_not_finished_does_not_open(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such run"):
        Results.open(tmp_path / "none")
    draft = RunWriter(tmp_path / RUN_ID, "build")
    with pytest.raises(ConfigError, match="not a finished run"):
        Results.open(draft.folder)
    draft.abandon()


def test_abandoning_leaves_finished_systems_and_nothing_else(tmp_path: Path) -> None:
    draft = RunWriter(tmp_path / RUN_ID, "build")
    draft.abandon()
    assert list(tmp_path.iterdir()) == []

    draft = RunWriter(tmp_path / RUN_ID, "build")
    draft.save_part(2, a_system())
    draft.abandon()
    resumed = RunWriter(tmp_path / RUN_ID, "build")
    assert resumed.part(0) is None
    assert resumed.part(2) == a_system()
    resumed.abandon()


def test_another_build_starts_over(tmp_path: Path) -> None:
    draft = RunWriter(tmp_path / RUN_ID, "build")
    draft.save_part(0, a_system())
    draft.abandon()
    fresh = RunWriter(tmp_path / RUN_ID, "another build")
    assert fresh.part(0) is None
    fresh.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_is_taken_over_and_a_live_one_is_not(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
import pyarrow as pa
from mcsim.results import writer as module
from mcsim.results.writer import RunWriter, SystemTables
from mcsim.results.schemas import SCHEMAS
module.KEPT_AFTER_SECONDS = 0
draft = RunWriter(Path({str(tmp_path)!r}) / {RUN_ID!r}, "build")
empty = [SCHEMAS[name].empty_table() for name in ("metrics", "vms", "decisions")]
draft.save_part(0, SystemTables(*empty, {{}}))
print("ready", flush=True)
time.sleep(60)
"""
    other = started(program)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        beside = RunWriter(tmp_path / RUN_ID, "build")
        assert beside.part(0) is None
        beside.abandon()
    finally:
        other.send_signal(signal.SIGKILL)
        other.wait()
        other.stdout.close()
    resumed = RunWriter(tmp_path / RUN_ID, "build")
    assert resumed.part(0) is not None
    write_all(resumed)
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]


def test_a_forced_run_replaces_the_old_one(tmp_path: Path) -> None:
    old = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    (old.path / "marker").touch()
    write_all(RunWriter(tmp_path / RUN_ID, "build"))
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]
    assert not (old.path / "marker").exists()


def test_the_time_of_figures_is_added_to_a_finished_run(tmp_path: Path) -> None:
    results = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    results.record_seconds("figures", 2.5)
    assert results.timings["stages"] == {"parse": 1.0, "figures": 2.5}
    assert not [p for p in results.path.iterdir() if str(os.getpid()) in p.name]


def damage(file: Path, how: str) -> None:
    content = file.read_bytes()
    match how:
        case "empty":
            file.write_bytes(b"")
        case "cut":
            file.write_bytes(content[: len(content) // 2])
        case "changed":
            middle = len(content) // 2
            other = bytes([content[middle] ^ 1])
            file.write_bytes(content[:middle] + other + content[middle + 1 :])
        case "gone":
            file.unlink()


DAMAGES = ("empty", "cut", "changed", "gone")


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.usefixtures("every_part_is_kept")
def test_a_damaged_part_is_made_again_and_told_once(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    draft = RunWriter(tmp_path / RUN_ID, "build")
    draft.save_part(0, a_system())
    draft.save_part(1, a_system())
    damage(draft.folder.parent / "parts" / "0", how)
    draft.abandon()
    resumed = RunWriter(tmp_path / RUN_ID, "build")
    assert resumed.part(0) is None
    assert resumed.part(0) is None
    assert resumed.part(1) == a_system()
    told = [record.getMessage() for record in caplog.records]
    part = resumed.folder.parent / "parts" / "0"
    why = "not what its checksum is of"
    assert told == ([] if how == "gone" else [f"{part}: cannot be read ({why}); it is made again"])
    resumed.save_part(0, a_system())
    assert resumed.part(0) == a_system()
    resumed.abandon()


def test_files_that_were_written_are_kept_with_the_systems(tmp_path: Path) -> None:
    draft = RunWriter(tmp_path / RUN_ID, "build")
    assert not draft.has("environment.json")
    draft.write_json("environment", {"synthetic": True})
    draft.write_table("vms", one_row("vms"))
    draft.save_part(0, a_system())
    draft.abandon()
    resumed = RunWriter(tmp_path / RUN_ID, "build")
    assert resumed.has("environment.json", "vms.parquet")
    assert not resumed.has("environment.json", "curves.parquet")
    resumed.write_spec(SPEC)
    results = resumed.finish()
    assert results.synthetic
    assert results.table("vms").equals(one_row("vms"))


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_draft_does_not_pass_for_written(tmp_path: Path, how: str) -> None:
    draft = RunWriter(tmp_path / RUN_ID, "build")
    draft.write_json("environment", {"synthetic": True})
    draft.save_part(0, a_system())
    draft.abandon()
    (left,) = draft_folder(tmp_path, RUN_ID).iterdir()
    damage(left / "parts" / "files", how)
    resumed = RunWriter(tmp_path / RUN_ID, "build")
    assert not resumed.has("environment.json")
    assert resumed.part(0) == a_system()
    resumed.write_json("environment", {"synthetic": True})
    assert resumed.has("environment.json")
    resumed.abandon()


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["metrics.parquet", "spec.yaml", "environment.json"])
def test_damaged_results_name_the_file_and_what_to_do(tmp_path: Path, name: str, how: str) -> None:
    results = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    damage(results.path / name, how)
    read = {
        "metrics.parquet": lambda of: of.table("metrics"),
        "spec.yaml": lambda of: of.spec,
        "environment.json": lambda of: of.environment,
    }[name]
    for ask in (read, Results.check):
        assert complaint(ask, Results.open(results.path)) == (
            f"{results.path / name}: damaged or gone: it is not what the run wrote; run the "
            "experiment again with --force (in Python: force=True)"
        )


def test_damaged_timings_are_told_too(tmp_path: Path) -> None:
    results = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    results.record_seconds("figures", 2.5)
    results.check()
    damage(results.path / "timings.json", "cut")
    for ask in (Results.check, lambda damaged: damaged.timings):
        with pytest.raises(ConfigError, match=r"timings.json: damaged or gone"):
            ask(Results.open(results.path))
    damage(results.path / "DONE", "empty")
    with pytest.raises(ConfigError, match=r"DONE: damaged, or of an earlier mcsim: run the exper"):
        Results.open(results.path)


def test_done_has_the_checksums_of_all_that_does_not_change(tmp_path: Path) -> None:
    results = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    checked = subprocess.run(
        ["sha256sum", "--check", "--quiet", "--strict", "DONE"], cwd=results.path, check=False
    )
    assert checked.returncode == 0
    head, *rows = (results.path / "DONE").read_text().splitlines(keepends=True)
    assert {row.split()[1] for row in rows} == {p.name for p in results.path.iterdir()} - {"DONE"}
    assert head.split()[-1] == hashlib.sha256("".join(rows).encode()).hexdigest()


@pytest.mark.parametrize("length", [0, 60, 200])
def test_a_cut_list_of_checksums_is_damaged(tmp_path: Path, length: int) -> None:
    results = write_all(RunWriter(tmp_path / RUN_ID, "build"))
    done = results.path / "DONE"
    lines = done.read_text().splitlines(keepends=True)
    done.write_text("".join(lines[: -1 if length == 200 else length // 60]))
    with pytest.raises(ConfigError, match="DONE: damaged"):
        Results.open(results.path)
    assert unsound_files(results.path) == ["DONE"]
    assert [run.state for run in runs_in(tmp_path)] == ["damaged"]


def test_equal_process_ids_on_two_hosts_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 7)
    drafts = [RunWriter(tmp_path / RUN_ID, "build") for _ in range(2)]
    assert len({draft.folder for draft in drafts}) == 2
    for draft in drafts:
        write_all(draft)
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]


def test_parts_that_several_left_come_together(tmp_path: Path) -> None:
    drafts = [RunWriter(tmp_path / RUN_ID, "build") for _ in range(3)]
    for index, draft in enumerate(drafts):
        draft.save_part(index, a_system())
        (draft.folder / "log.txt").write_text(f"line of {index}\n")
    for draft in drafts:
        draft.abandon()
    resumed = RunWriter(tmp_path / RUN_ID, "build")
    assert [resumed.part(index) for index in range(4)] == 3 * [a_system()] + [None]
    lines = (resumed.folder / "log.txt").read_text().splitlines()
    assert sorted(lines) == ["line of 0", "line of 1", "line of 2"]
    resumed.abandon()


def test_a_run_is_under_way_while_somebody_works_on_it(tmp_path: Path) -> None:
    drafts = draft_folder(tmp_path, RUN_ID)
    assert not is_under_way(drafts)
    draft = RunWriter(tmp_path / RUN_ID, "build")
    assert is_under_way(drafts)
    draft.save_part(0, a_system())
    draft.abandon()
    assert drafts.is_dir()
    assert not is_under_way(drafts)


def bytes_of(results: Results) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in results.path.iterdir()}


def test_of_two_that_finish_the_first_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (RunWriter(tmp_path / RUN_ID, "build") for _ in range(2))
    there = write_all(first).path.stat().st_ino
    assert write_all(second).path.stat().st_ino == there
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]
    assert caplog.records == []


def test_numbers_that_differ_from_those_of_the_first_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, third = (RunWriter(tmp_path / RUN_ID, "build") for _ in range(3))
    write_all(first)
    second.write_json("environment", {"synthetic": True, "host": "another"})
    for name in SCHEMAS:
        second.write_table(name, one_row(name))
    second.finish()
    assert caplog.records == []
    third.write_table("vms", SCHEMAS["vms"].empty_table())
    results = third.finish()
    (told,) = (record.getMessage() for record in caplog.records)
    assert told == (
        f"{results.path / 'vms.parquet'}: another process finished this run first, and found "
        "other numbers; they stay, see what differs between the hosts"
    )
    assert results.table("vms").equals(one_row("vms"))


def test_what_the_first_finished_is_replaced_if_it_is_damaged(tmp_path: Path) -> None:
    first, second = (RunWriter(tmp_path / RUN_ID, "build") for _ in range(2))
    damage(write_all(first).path / "vms.parquet", "cut")
    write_all(second).check()
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]


@pytest.mark.usefixtures("every_part_is_kept")
@pytest.mark.parametrize("gone", ["all", "run", "mine", "just run/"])
def test_a_folder_that_is_taken_away_is_made_again(
    tmp_path: Path, gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = bytes_of(write_all(RunWriter(tmp_path / "undisturbed" / RUN_ID, "build")))
    out = tmp_path / "out"
    draft = RunWriter(out / RUN_ID, "build")
    draft.save_part(0, a_system())
    mine = draft.folder.parent
    shutil.rmtree({"all": out, "run": mine.parent, "mine": mine}.get(gone, draft.folder))
    draft.save_part(1, a_system())
    assert bytes_of(write_all(draft)) == expected
    assert [p.name for p in out.iterdir()] == [RUN_ID]
    told = [record.getMessage() for record in caplog.records]
    expected_told = f"{mine}: somebody took it away; there is another one"
    assert told == ([] if gone == "just run/" else [expected_told])


@pytest.mark.usefixtures("every_part_is_kept")
def test_who_was_taken_for_gone_finishes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = RunWriter(tmp_path / RUN_ID, "build")
    asleep.save_part(0, a_system())
    with monkeypatch.context() as gone:
        gone.setattr(claims, "_is_alive", lambda *_: False)
        other = RunWriter(tmp_path / RUN_ID, "build")
    assert other.part(0) == a_system()
    asleep.save_part(1, a_system())
    assert other.part(1) is None
    write_all(asleep)
    write_all(other).check()
    assert [p.name for p in tmp_path.iterdir()] == [RUN_ID]


def test_a_draft_that_was_abandoned_writes_no_more(tmp_path: Path) -> None:
    draft = RunWriter(tmp_path / RUN_ID, "build")
    draft.abandon()
    draft.save_part(0, a_system())  # by a thread that did not notice
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_an_earlier_mcsim_is_left_alone(tmp_path: Path) -> None:
    earlier = tmp_path / f"{RUN_ID}.partial-0123abcd"
    (earlier / "parts").mkdir(parents=True)
    (earlier / "lock").touch()
    (draft_folder(tmp_path, RUN_ID) / "of another layout").mkdir(parents=True)
    write_all(RunWriter(tmp_path / RUN_ID, "build"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [RUN_ID, f"{RUN_ID}.partial", earlier.name]
    assert sorted(p.name for p in earlier.iterdir()) == ["lock", "parts"]


def test_a_disk_that_is_full_is_told_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = RunWriter(tmp_path / RUN_ID, "build")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(writer_module, "flush", full)
        with pytest.raises(HostError) as error:
            write_all(draft)
    assert str(error.value) == (
        f"{tmp_path / RUN_ID}: cannot be written: No space left on device; make room there and do "
        "it again"
    )
    draft.abandon()
    write_all(RunWriter(tmp_path / RUN_ID, "build")).check()
