# Trusts: a run to which nothing happened; the kernel's namespaces, which are hosts to processes.
"""Hosts that share a folder without locks, disks that are full, folders that go."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from processes import TINY, ForkServer, assert_whole, contents, final_runs, is_stopped, until

pytestmark = pytest.mark.slow

is_root = pytest.mark.skipif(
    os.geteuid() != 0
    or subprocess.run(["unshare", "-mup", "--fork", "true"], capture_output=True).returncode != 0,
    reason="mounts and hosts of one's own need root",
)


def assert_finished(out: Path, undisturbed: Mapping[str, bytes]) -> None:
    (run,) = out.iterdir()
    assert contents(run) == undisturbed
    assert_whole(out)


def youngest_of(process: int) -> int:
    """The process that a host was started for, given that which started it."""
    while children := Path(f"/proc/{process}/task/{process}/children").read_text().split():
        process = int(children[0])
    return process


def drafts(out: Path) -> list[Path]:
    return sorted(path for home in out.glob("*.partial") for path in home.iterdir())


@is_root
def test_hosts_with_equal_process_ids_at_once(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    # Their clocks are ten minutes apart, more than a lease.
    processes = [fork_server.run(tmp_path, host=f"host{n}", clock=10 * n) for n in (-1, 0, 1)]
    assert [process.wait() for process in processes] == 3 * [0]
    assert "flock" not in "".join(process.said for process in processes)
    assert_finished(tmp_path, undisturbed)


@is_root
def test_a_host_takes_over_from_another_when_the_lease_is_over_and_not_before(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    killed = fork_server.run(tmp_path, host="a", die_at=["part saved", 3])
    assert killed.wait() == 128 + signal.SIGKILL
    (left,) = drafts(tmp_path)
    assert left.name.startswith("a.nojob.2-")
    parts = sorted((left / "parts").iterdir())
    assert len(parts) == 3
    early = fork_server.run(tmp_path, host="b", clock=60, die_at=["part saved", 1])
    assert early.wait() == 128 + signal.SIGKILL
    assert left in drafts(tmp_path)
    assert sorted((left / "parts").iterdir()) == parts
    time.sleep(2.5)
    late = fork_server.run(tmp_path, host="b", clock=-60, lease=2.0)
    assert late.wait() == 0, late.said
    assert_finished(tmp_path, undisturbed)


@is_root
def test_work_that_was_taken_from_a_host_that_lives_does_no_harm(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    asleep = fork_server.run(tmp_path, host="a", stop_at=["part saved", 2])
    until(lambda: [d for d in drafts(tmp_path) if len(list(d.glob("parts/[!.]*"))) == 2])
    until(lambda: is_stopped(youngest_of(asleep.pid)))
    time.sleep(1.5)
    other = fork_server.run(tmp_path, host="b", lease=1.0)
    assert other.wait() == 0, other.said
    assert len(final_runs(tmp_path)) == 1
    assert drafts(tmp_path) == []
    os.kill(youngest_of(asleep.pid), signal.SIGCONT)
    assert asleep.wait() == 0, asleep.said
    assert_finished(tmp_path, undisturbed)


@is_root
@pytest.mark.parametrize("room", [1, 5, 9, 17, 25, 33])
def test_a_disk_that_is_full_and_then_has_room(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path, room: int
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    arguments = ["run", str(TINY), "--results", str(folder / "out"), "--no-figures", "--quiet"]
    work = {"bytes": 1 << 20, "room": room * 4096, "copy": str(tmp_path / "copy")}
    process = fork_server.start("fill_up", folder=str(folder), arguments=arguments, **work)
    assert process.wait() == 0, process.said
    told = [json.loads(line) for line in process.said.splitlines() if line.startswith("[")]
    assert [code for code, _ in told] == [3, 0]
    assert "No space left on device; make room there and do it again" in process.said
    assert not any(name == "DONE" for name in told[0][1])
    assert_finished(tmp_path / "copy", undisturbed)


@is_root
def test_a_folder_that_may_only_be_read(fork_server: ForkServer, tmp_path: Path) -> None:
    process = fork_server.run(tmp_path, folder=str(tmp_path))
    assert process.wait() == 3
    assert process.said == (
        f"mcsim: {tmp_path}: cannot write there: Read-only file system; choose a folder that may "
        "be written\n"
    )
    assert list(tmp_path.iterdir()) == []


@is_root
def test_runs_of_a_folder_that_may_only_be_read_are_listed(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    assert fork_server.run(tmp_path, die_at=["part saved", 1]).wait() == -signal.SIGKILL
    before = sorted(tmp_path.rglob("*"))
    arguments = ["results", "ls", "--results", str(tmp_path)]
    process = fork_server.start("command", arguments=arguments, folder=str(tmp_path))
    assert process.wait() == 0, process.said
    assert "abandoned" in process.said
    assert fork_server.start("command", arguments=arguments).wait() == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "point", ["claim made", "part saved", "file written", "result written", "results flushed"]
)
def test_a_folder_that_is_removed_under_a_run(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path, point: str
) -> None:
    out = tmp_path / "out"
    process = fork_server.run(out, remove_at=[point, 1], removed=str(out))
    code = process.wait()
    assert code == 0, process.said
    told = "somebody took it away; there is another one" in process.said
    assert told == (point != "claim made")  # when there was nothing to take
    assert_finished(out, undisturbed)


def test_results_of_an_earlier_mcsim_stay_beside_new_ones(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    assert fork_server.run(tmp_path).wait() == 0
    (run,) = final_runs(tmp_path)
    earlier = tmp_path / "tiny-0123456789ab"
    shutil.copytree(run, earlier)
    (earlier / "bounds.parquet").unlink()  # it had none
    (earlier / "DONE").write_text("")
    (run / "DONE").write_text("")  # of this very run, before there were checksums
    partial = tmp_path / f"{run.name}.partial-0123abcd"
    (partial / "parts" / "0").mkdir(parents=True)
    (partial / "lock").touch()
    again = fork_server.run(tmp_path)
    assert again.wait() == 0, again.said
    assert contents(run) == undisturbed
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [earlier.name, run.name, partial.name]
    )
    assert (partial / "lock").exists()
    assert (earlier / "DONE").read_text() == ""
