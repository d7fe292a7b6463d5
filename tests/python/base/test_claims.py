"""Trusts: the file system's rename and times; processes that are there or are not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcsim.base import claims
from mcsim.base.claims import (
    LEASE_SECONDS,
    changed_ns,
    claim_folder,
    is_claim,
    is_claimed,
    is_left,
    new_claim,
    release_lease,
)

ELSEWHERE = "0" * 8


def claim_of(process: int, begun: int = 1, place: str = ELSEWHERE) -> str:
    return f"node1.4711.{process}-{begun}-{place}.00c0ffee"


def taken_by(mine: Path) -> list[Path]:
    return sorted(mine.glob("taken.*"))


def age(path: Path, seconds: float) -> None:
    """Set back the time of a change, by the clock of the file system."""
    then = changed_ns(path) - int(seconds * 1e9)
    os.utime(path, ns=(then, then))


def test_a_claim_names_host_job_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    claims._place()  # which is read once, with the true name of the host
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setattr(claims, "_host", lambda: "node-1.cluster.example")
    host, job, process, _ = new_claim().split(".")
    assert (host, job) == ("node-1-cluster-example", "4711")
    assert process.startswith(f"{os.getpid()}-")
    assert is_claim(new_claim())
    assert new_claim() != new_claim()
    assert not is_claim("parts")


def test_what_lives_elsewhere_is_left_when_its_lease_is_over(tmp_path: Path) -> None:
    for seconds, left in ((0, False), (LEASE_SECONDS - 1, False), (LEASE_SECONDS + 1, True)):
        theirs = tmp_path / claim_of(os.getpid())
        theirs.mkdir()
        now = changed_ns(theirs)
        age(theirs, seconds)
        assert is_left(theirs, theirs.name, now) == left
        mine = claim_folder(tmp_path)
        assert len(taken_by(mine)) == left
        assert theirs.exists() != left
        release_lease(mine, keep=False)
        theirs.rmdir() if not left else tmp_path.mkdir(exist_ok=True)


@pytest.mark.parametrize("minutes", [-10, 10, 10**6])
def test_the_clock_of_the_host_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    wrong = time.time() + 60 * minutes
    monkeypatch.setattr(time, "time", lambda: wrong)
    monkeypatch.setattr(time, "time_ns", lambda: int(wrong * 1e9))
    at_work, gone = (tmp_path / claim_of(process) for process in (1, 2))
    at_work.mkdir()
    gone.mkdir()
    age(gone, LEASE_SECONDS + 1)
    mine = claim_folder(tmp_path)
    assert at_work.exists()
    assert not gone.exists()
    release_lease(mine, keep=False)
    assert is_claimed(tmp_path)
    at_work.rmdir()


def test_a_process_of_this_machine_is_left_when_it_is_gone(tmp_path: Path) -> None:
    """And not before, however long it gives no sign of life: it may be stopped."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        begun = claims._begun(other.pid)
        assert begun is not None
        theirs = tmp_path / claim_of(other.pid, begun, claims._place())
        theirs.mkdir()
        now = changed_ns(theirs)
        age(theirs, 10 * LEASE_SECONDS)
        assert not is_left(theirs, theirs.name, now)
        # Its number, which is another's by now.
        assert is_left(theirs, claim_of(other.pid, begun + 1, claims._place()), now)
        other.kill()
        deadline = time.monotonic() + 20
        while not is_left(theirs, theirs.name, now):  # before any thread waits for it
            assert time.monotonic() < deadline
    assert is_left(theirs, theirs.name, now)


def test_a_released_folder_is_free_at_once(tmp_path: Path) -> None:
    mine = claim_folder(tmp_path)
    (mine / "work").touch()
    release_lease(mine, keep=True)
    assert not is_claimed(tmp_path)
    again = claim_folder(tmp_path)
    (taken,) = taken_by(again)
    assert (taken / "work").exists()
    release_lease(again, keep=False)
    assert not tmp_path.exists()


def test_names_of_others_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    mine = claim_folder(tmp_path)
    assert taken_by(mine) == []
    assert not is_left(tmp_path / "notes", "notes", 2**62)
    release_lease(mine, keep=False)
    assert (tmp_path / "notes").is_dir()


def test_of_many_that_find_what_is_left_one_gets_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for _ in range(20):
        for process in range(3):
            left = home / claim_of(process)
            left.mkdir(parents=True)
            age(left, LEASE_SECONDS + 1)
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: claim_folder(home), range(8)))
        assert sum(len(taken_by(mine)) for mine in found) == 3
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda mine: release_lease(mine, keep=False), found))
        assert not home.exists()


def test_folders_come_and_go_beside_each_other(tmp_path: Path) -> None:
    home = tmp_path / "home"

    def come_and_go(_: int) -> None:
        for _ in range(50):
            release_lease(claim_folder(home), keep=False)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(come_and_go, range(8)))
    assert not home.exists()


def test_leases_are_renewed_until_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "RENEWED_SECONDS", 0.01)
    monkeypatch.setattr(claims, "_renewer", claims._Renewer())
    mine = claim_folder(tmp_path)
    file = tmp_path / "file"
    file.touch()
    claims.hold(file)
    for path in (mine, file):
        age(path, 1000)
    deadline = time.monotonic() + 20
    while changed_ns(mine) < changed_ns(tmp_path) or changed_ns(file) < changed_ns(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    file.unlink()  # it is gone, and the others are renewed as before
    while file in claims._renewer.held():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert mine in claims._renewer.held()
    release_lease(mine, keep=False)
    assert claims._renewer.held() == []


def test_a_child_holds_nothing_of_its_parents(tmp_path: Path) -> None:
    mine = claim_folder(tmp_path)
    child = os.fork()
    if child == 0:
        os._exit(len(claims._renewer.held()))
    assert os.waitpid(child, 0)[1] == 0
    assert mine in claims._renewer.held()
    release_lease(mine, keep=False)
