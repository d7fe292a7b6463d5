"""Trusts: what is in the folder, before and after."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from commands import started

from mcsim.base.claims import claim_folder, release_lease
from mcsim.base.errors import HostError
from mcsim.base.files import rename, replacing, replacing_folder, temporary_beside, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    for text in ("one", "two"):
        with replacing(path) as temporary:
            temporary.write_text(text)
            assert temporary.parent == path.parent
        assert path.read_text() == text
        assert names(path.parent) == ["file.txt"]


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "make room there and do it again"),
        (errno.EIO, "see to the disk and do it again"),
        (errno.EROFS, "choose a folder that may be written"),
    ],
)
def test_a_disk_that_fails_is_told_with_the_files_name(
    tmp_path: Path, number: int, remedy: str
) -> None:
    path = tmp_path / "file.txt"
    with pytest.raises(HostError) as caught, replacing(path):
        raise OSError(number, os.strerror(number))
    assert str(caught.value) == f"{path}: cannot be written: {os.strerror(number)}; {remedy}"
    assert names(tmp_path) == []


def test_other_errors_of_the_system_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "file.txt"):
        (tmp_path / "another.txt").read_text()


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("in the way")
    with (
        pytest.raises(HostError, match=r"file\.txt: cannot write there: (Not a dir|File exists)"),
        replacing(tmp_path / "file.txt" / "below"),
    ):
        pass


def test_what_a_killed_process_left_is_swept_and_what_a_live_one_writes_is_not(
    tmp_path: Path,
) -> None:
    program = f"""
import sys, time
from pathlib import Path
from typing import Any
from mcsim.base.files import replacing
with replacing(Path({str(tmp_path)!r}) / "file.txt") as temporary:
    print(temporary.name, flush=True)
    time.sleep(60)
"""
    other = started(program)
    with other:
        assert other.stdout is not None
        left = other.stdout.readline().strip()
        with temporary_beside(tmp_path / "mine"):
            pass
        assert names(tmp_path) == [left]
        other.send_signal(signal.SIGKILL)
    with temporary_beside(tmp_path / "mine"):
        pass
    assert names(tmp_path) == []


def test_files_have_the_rights_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with replacing(tmp_path / "file"):
        pass
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.fixture
def repeated_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make mkdir and rename fail as if a network file system repeated each after success."""
    made: list[str] = []

    def repeat(name: str) -> None:
        call = getattr(os, name)

        def twice(*arguments: Any, **options: Any) -> None:
            call(*arguments, **options)
            made.append(name)
            call(*arguments, **options)

        monkeypatch.setattr(os, name, twice)

    for name in ("mkdir", "rename"):
        repeat(name)
    return made


def test_a_repeated_rename_of_a_file_has_succeeded(
    tmp_path: Path, repeated_calls: list[str]
) -> None:
    for text in ("one", "two"):
        write_whole(tmp_path / "new" / "file.txt", text)
        assert (tmp_path / "new" / "file.txt").read_text() == text
    assert names(tmp_path / "new") == ["file.txt"]
    assert repeated_calls.count("rename") == 2


def test_a_repeated_mkdir_or_rename_of_a_folder_has_succeeded(
    tmp_path: Path, repeated_calls: list[str]
) -> None:
    final = tmp_path / "final"
    for text in ("one", "two"):
        with replacing_folder(final, lambda: False) as made:
            (made / "file").write_text(text)
        assert (final / "file").read_text() == text
    assert names(tmp_path) == ["final"]
    assert "mkdir" in repeated_calls


def test_a_repeated_rename_of_an_abandoned_folder_has_succeeded(
    tmp_path: Path, repeated_calls: list[str]
) -> None:
    first = claim_folder(tmp_path)
    (first / "kept").touch()
    release_lease(first, keep=True)
    second = claim_folder(tmp_path)
    (taken,) = second.iterdir()
    assert names(taken) == ["kept"]


def test_a_rename_of_what_is_missing_fails(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with pytest.raises(FileNotFoundError):
        rename(tmp_path / "missing", tmp_path / "there")
