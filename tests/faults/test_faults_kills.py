# Trusts: a run to which nothing happened; the kernel's SIGKILL; sha256 by `unsound_files`.
"""Runs that are killed, at every named point and at random moments, and gone on with."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from processes import LONG, ROOT, ForkServer, assert_whole, contents, final_runs, is_stopped, until

pytestmark = pytest.mark.slow

POINTS = sorted(
    {
        point
        for file in (ROOT / "bindings" / "mcsim").rglob("*.py")
        for point in re.findall(r'\breached\("(.+?)"\)', file.read_text(encoding="utf-8"))
    }
)
OF_FINDINGS = {"folder made"}
"""Passed by what figures of documents found, and not by runs."""
OF_FOLDERS = {"claim made", "claim taken", "folder in place", "old folder aside"}
"""Passed by both: they are put in place as folders."""


def assert_finished(out: Path, undisturbed: Mapping[str, bytes]) -> None:
    """Check that a folder has the run, and nothing else."""
    (run,) = out.iterdir()
    assert contents(run) == undisturbed
    assert_whole(out)


@pytest.mark.parametrize("point", sorted({*POINTS} - OF_FINDINGS))
@pytest.mark.parametrize("times", [1, 3] if LONG else [1])
def test_killed_at_every_point(
    fork_server: ForkServer,
    undisturbed: Mapping[str, bytes],
    tmp_path: Path,
    point: str,
    times: int,
) -> None:
    # So that every point is reached: one was finished, and another was killed with a part.
    assert fork_server.run(tmp_path).wait() == 0
    assert fork_server.run(tmp_path, "--force", die_at=["part saved", 2]).wait() == -signal.SIGKILL
    killed = fork_server.run(tmp_path, "--force", die_at=[point, times])
    assert killed.wait() == -signal.SIGKILL or times > 1
    assert_whole(tmp_path)
    again = fork_server.run(tmp_path)
    assert again.wait() == 0, again.said
    assert_finished(tmp_path, undisturbed)


@pytest.mark.parametrize("point", sorted(OF_FINDINGS | OF_FOLDERS))
def test_a_finding_killed_at_every_point(
    fork_server: ForkServer, tmp_path: Path, point: str
) -> None:
    arguments = ["reproduce", "eci/useful", "--quiet", "--results", str(tmp_path)]
    assert fork_server.start("command", arguments=arguments).wait() == 0
    folder = tmp_path / "reproduce" / "eci" / "useful"
    undisturbed = found_in(folder)
    # So that every point is reached: one was killed while there was another.
    forced = [*arguments, "--force"]
    for at in ("folder made", point):
        killed = fork_server.start("command", arguments=forced, die_at=[at, 1])
        assert killed.wait() == -signal.SIGKILL, killed.said
    again = fork_server.start("command", arguments=arguments)
    assert again.wait() == 0, again.said
    assert found_in(folder) == undisturbed
    # Files of a killed process remain until the folder is written again.
    assert fork_server.start("command", arguments=forced).wait() == 0
    assert [path.name for path in folder.parent.iterdir()] == ["useful"]


def found_in(folder: Path) -> Mapping[str, bytes]:
    """Findings without their times."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    note = json.loads(files["found.json"])
    del note["seconds"]
    return files | {"found.json": json.dumps(note).encode()}


def test_every_point_has_a_name_of_its_own() -> None:
    assert len(POINTS) >= 10
    assert {*POINTS} >= OF_FINDINGS | OF_FOLDERS


@pytest.mark.parametrize("seed", range(20 if LONG else 2))
def test_killed_at_random_moments(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path, seed: int
) -> None:
    """Several times, then left alone; odd seeds force the run, so that there is one to lose."""
    chance = random.Random(seed)
    began = time.monotonic()
    first = fork_server.run(tmp_path)
    assert first.wait() == 0, first.said
    took = time.monotonic() - began
    options = ["--force"] if seed % 2 else []
    if not options:
        fork_server.run(tmp_path, "--force", die_at=["old folder aside", 1]).wait()
    for _ in range(10 if LONG else 5):
        process = fork_server.run(tmp_path, *options)
        time.sleep(chance.uniform(0, took))
        process.kill()
        assert process.wait() in (0, -signal.SIGKILL)
        assert_whole(tmp_path)
    again = fork_server.run(tmp_path)
    assert again.wait() == 0, again.said
    assert_finished(tmp_path, undisturbed)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_preempted_at_random_moments(
    fork_server: ForkServer,
    undisturbed: Mapping[str, bytes],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    chance = random.Random(number)
    for _ in range(20 if LONG else 4):
        process = fork_server.run(tmp_path)
        time.sleep(chance.uniform(0.02, 0.4))
        began = time.monotonic()
        process.kill(number)
        code = process.wait()
        took = time.monotonic() - began
        assert code in (0, 128 + number, -number), process.said
        assert took < 10  # on a busy machine; a second on an idle one
        assert_whole(tmp_path)
    again = fork_server.run(tmp_path)
    assert again.wait() == 0, again.said
    assert_finished(tmp_path, undisturbed)


def test_two_at_once_and_one_is_killed(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    for point in ("part saved", "results flushed", "folder in place"):
        out = tmp_path / point
        one, other = fork_server.run(out, die_at=[point, 1]), fork_server.run(out)
        assert other.wait() == 0, other.said
        assert one.wait() in (0, -signal.SIGKILL), one.said  # 0: the other was first
        assert fork_server.run(out).wait() == 0
        assert_finished(out, undisturbed)


def test_many_at_once(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    processes = [fork_server.run(tmp_path) for _ in range(6)]
    assert [process.wait() for process in processes] == 6 * [0]
    assert_finished(tmp_path, undisturbed)


def test_one_that_was_stopped_finishes_too(
    fork_server: ForkServer, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    stopped = fork_server.run(tmp_path, stop_at=["part saved", 2])
    until(lambda: is_stopped(stopped.pid))
    # It is there, if asleep: another does not take its parts, and is first.
    assert fork_server.run(tmp_path).wait() == 0
    assert len(final_runs(tmp_path)) == 1
    os.kill(stopped.pid, signal.SIGCONT)
    assert stopped.wait() == 0, stopped.said
    assert fork_server.run(tmp_path).wait() == 0
    assert_finished(tmp_path, undisturbed)
