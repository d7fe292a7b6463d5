# Trusts: sums of offsets of the content that a file has, whatever was parsed of it before.
from __future__ import annotations

import json
import mmap
import os
from pathlib import Path

import pytest

import mcsim as mc
from mcsim.traces import digests
from mcsim.traces import parse as parsing
from mcsim.traces.digests import file_state, read_note

ROWS = "time_s,offset,length\n1,0,4096\n2,4096,4096\n"
CHANGED = ROWS.replace("4096,4096", "8192,4096")


@pytest.fixture
def source(folder: Path) -> Path:
    path = folder / "web.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the times of files that were written a moment ago."""
    monkeypatch.setattr(digests, "_GRAIN_NS", -(10**12))


def edit_in_place(path: Path, content: str) -> None:
    """Change the content; keep size, inode number and time of change."""
    before = path.stat()
    with path.open("r+") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def offsets(path: Path) -> int:
    return sum(int(batch.offset.sum()) for batch in mc.Trace.open(path).batches())


@pytest.mark.usefixtures("coarse")
def test_an_edit_whose_time_is_restored_is_parsed(source: Path) -> None:
    assert offsets(source) == offsets(source) == 4096
    edit_in_place(source, CHANGED)
    assert offsets(source) == 8192


@pytest.mark.usefixtures("coarse")
def test_an_edit_through_a_mapping_is_parsed(source: Path) -> None:
    with source.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[:] = ROWS.encode()  # the page is dirty: later writes to it change no time
        assert offsets(source) == 4096
        before = source.stat()
        mapping[:] = CHANGED.encode()
        after = source.stat()
        if (after.st_mtime_ns, after.st_ctime_ns) != (before.st_mtime_ns, before.st_ctime_ns):
            pytest.skip("this file system changes the times of files that are mapped")
        assert offsets(source) == 8192


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 65_536, 65_537, 3_000_000])
def test_the_state_of_a_file_includes_sampled_pages(folder: Path, size: int) -> None:
    path = folder / "any"
    content = bytearray(size)

    def state() -> int:
        path.write_bytes(content)
        return file_state(path)[-1]

    before = state()
    pages = max(1, -(-size // 4096))
    # Pages 0, (pages - 1) / 15, …, pages - 1, rounded down; all pages if there are at most 16.
    sampled = {(pages - 1) * k // 15 for k in range(16)}
    for page in {*range(min(pages, 20)), pages - 1} if size else set():
        at = min(page * 4096 + 4095, size - 1)
        content[at] ^= 1
        assert (state() != before) == (page in sampled)
        content[at] ^= 1


@pytest.mark.parametrize("shows", [True, False], ids=["clock", "coarse clock"])
def test_a_file_that_changes_while_it_is_parsed_is_not_cached(
    source: Path, monkeypatch: pytest.MonkeyPatch, shows: bool
) -> None:
    reader_of = parsing.Parse.reader

    def changed_before(parse: parsing.Parse) -> object:
        edit_in_place(source, CHANGED)
        return reader_of(parse)

    if not shows:
        state = file_state(source)
        monkeypatch.setattr(parsing, "file_state", lambda path: state)
    monkeypatch.setattr(parsing.Parse, "reader", changed_before)
    with pytest.raises(mc.TraceError, match=r"web\.csv: it has changed since it was opened"):
        mc.Trace.open(source)
    monkeypatch.undo()
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(source.parent / "cache"))
    assert not list(Path("cache").glob("*.arrow"))
    edit_in_place(source, ROWS)
    assert offsets(source) == 4096


@pytest.mark.usefixtures("coarse")
def test_a_file_that_changes_while_it_is_hashed_is_not_noted(source: Path) -> None:
    def change(done: int, total: int) -> None:
        edit_in_place(source, CHANGED)

    with pytest.raises(mc.TraceError, match="it has changed since it was opened"):
        mc.Trace.open(source, progress=change)
    assert not [path for path in Path("cache").rglob("*") if path.is_file()]


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("damage", ["digit", "state", "shape", "nested", "other file"])
def test_a_damaged_note_is_absent(source: Path, damage: str) -> None:
    digest = mc.Trace.open(source).digest
    (note,) = Path("cache").glob("digest-*.json")
    noted = json.loads(note.read_bytes())
    if damage == "digit":
        last = noted["digest"][-1]
        noted["digest"] = noted["digest"][:-1] + ("0" if last != "0" else "1")
    elif damage == "state":
        noted["state"][0] += 1
    elif damage == "shape":
        noted = [noted]
    note.write_text("[" * 10**5 if damage == "nested" else json.dumps(noted))
    if damage == "other file":
        note = note.rename(note.with_name(f"digest-{'0' * 32}.json"))
    with pytest.raises(ValueError, match=r"digest-\w+\.json: "):
        read_note(note)
    assert mc.Trace.open(source).digest == digest
