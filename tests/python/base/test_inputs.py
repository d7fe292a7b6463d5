"""Trusts: the file system, before and after."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv

from mcsim.base.errors import ConfigError, HostError
from mcsim.base.files import replacing, write_whole
from mcsim.base.inputs import (
    note_input,
    open_regular,
    parse_object,
    plain_name,
    printable,
    protected_inputs,
    read_regular,
)
from mcsim.tables.csv import write_csv


def test_a_link_is_followed_and_the_mode_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "secret.csv"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o600)
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.chmod(0o444)
    write_whole(link, "newer")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("newer", 0o444)


def test_a_dangling_link_makes_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to("made.csv")
    write_whole(link, "new")
    assert (tmp_path / "made.csv").read_text() == "new"


def make(kind: str, path: Path) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/null")
        case "loop":
            path.symlink_to(path)


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "device", "loop"])
def test_only_regular_files_are_replaced_and_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / kind
    make(kind, path)
    before = path.lstat()
    with pytest.raises(
        (ConfigError, HostError), match=f"{kind}: (not a regular|cannot be written)"
    ):
        write_whole(path, "new")
    assert path.lstat() == before
    assert [one.name for one in tmp_path.iterdir()] == [kind]
    with pytest.raises(OSError, match=r"regular|levels|directory"):
        read_regular(path)


def test_a_command_does_not_replace_its_inputs(tmp_path: Path) -> None:
    source = tmp_path / "trace.csv"
    source.write_text("x")
    hard, link = tmp_path / "hard.csv", tmp_path / "link.csv"
    os.link(source, hard)
    link.symlink_to(source)
    with protected_inputs():
        note_input(source)
        for output in (source, hard, link):
            with pytest.raises(ConfigError, match=f"{output.name}: an input of this command"):
                write_whole(output, "new")
        write_whole(tmp_path / "other.csv", "new")
    assert source.read_text() == "x"
    write_whole(source, "new")


def test_what_fails_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "old.csv"
    target.write_text("old")
    target.chmod(0o640)

    def interrupted() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("old", 0o640)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "1", '"a"', "{", "", "\x00"])
def test_what_is_no_json_object_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_object(text)
    with pytest.raises(ValueError, match=r".+"):
        parse_object(b"\xff" + text.encode())


def test_large_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than"):
        read_regular(path)
    with open_regular(path) as file:
        assert file.read(1) == b"\0"


def test_names_that_are_not_utf8_are_shown_escaped() -> None:
    assert printable(os.fsdecode(b"a\xff\x1b\nb\xc3\xa4")) == "a\\xff\\x1b\\x0abä"


def test_other_names_are_other_files() -> None:
    names = ["a,b", "a_b", "a/b", "a b", "a+b", "a*", "a?", "db.prod", "db.dev", "x" * 99, "x" * 98]
    assert len({plain_name(name) for name in names}) == len(names)
    assert all(len(os.fsencode(plain_name(name))) < 100 for name in names)


def test_text_in_csv_is_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    texts = ["=HYPERLINK(1)", "+cmd", "-2+3", "@SUM(1)", "\t=1", "-1.5", "+2e3", "web", "", None]
    write_csv(path, pa.table({"vm": texts, "gain": [-1.5] * len(texts)}))
    read = csv.read_csv(path, convert_options=csv.ConvertOptions(column_types={"vm": pa.string()}))
    assert read["vm"].to_pylist() == [
        *("'=HYPERLINK(1)", "'+cmd", "'-2+3", "'@SUM(1)", "'\t=1", "-1.5", "+2e3", "web", "", "")
    ]
    assert read["gain"].to_pylist() == [-1.5] * len(texts)
