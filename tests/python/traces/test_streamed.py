# Trusts: the references of a trace that was parsed into a store first.
from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest

import mcsim as mc
from mcsim._core import engine
from mcsim.traces import digests, parse, streamed
from mcsim.traces.cache import INTERNED, entries
from mcsim.traces.find import default_trace_dirs, files_of
from mcsim.traces.open import Reading, open_files
from mcsim.traces.streamed import Streamed, View

ALL = View(4096, "all")


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Intern files of any size as they are read, and return the list of the work put off."""
    work: list[Callable[[], object]] = []
    monkeypatch.setattr(streamed, "LARGE_BYTES", 0)
    monkeypatch.setattr(streamed, "WORTH_KEEPING_S", 0)
    monkeypatch.setattr(streamed, "do_later", work.append)
    monkeypatch.setattr(digests, "_GRAIN_NS", -(10**12))  # files of a moment ago have notes
    return work


def msr(path: Path, vms: int = 3, rows: int = 3000, step: int = 40) -> Path:
    rng = np.random.default_rng(vms)
    lines = [
        f"{128166372003061629 + i // step},host{rng.integers(vms)},0,"
        f"{'Read' if rng.integers(4) else 'Write'},{rng.integers(1 << 20) * 512},"
        f"{rng.integers(1, 40) * 512},{rng.integers(100)}"
        for i in range(rows)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def keys(path: Path, prefix: str = "") -> Path:
    rng = np.random.default_rng(1)
    path.write_text("".join(f"{prefix}{key}\n" for key in rng.integers(500, size=3000)))
    return path


def opened(path: Path, cache: Path, view: View | None = ALL, **options: Any) -> mc.Trace:
    files = files_of([os.fspath(path)], default_trace_dirs())
    return open_files(files, Reading(cache_dir=cache, view=view, **options))


def file_of(accesses: engine.Accesses, path: Path) -> bytes:
    engine.write_accesses(accesses, os.fsencode(path))
    return path.read_bytes()


def is_streamed(trace: mc.Trace) -> bool:
    return isinstance(trace._batches, Streamed)


@pytest.mark.parametrize("view", [ALL, View(4096, "reads"), View(1000, "all")])
@pytest.mark.parametrize("vms", [1, 3, 40])
def test_accesses_and_metadata_are_those_of_the_store(tmp_path: Path, view: View, vms: int) -> None:
    source = msr(tmp_path / "web.csv", vms)
    found, stored = opened(source, tmp_path / "a", view), opened(source, tmp_path / "b", None)
    assert is_streamed(found)
    assert not is_streamed(stored)
    assert found.metadata == stored.metadata
    one, other = (trace.blocks(view.ops, view.block_bytes) for trace in (found, stored))
    assert file_of(one.accesses, tmp_path / "x") == file_of(other.accesses, tmp_path / "x")
    assert not list((tmp_path / "a").glob("*.arrow"))


@pytest.mark.parametrize("prefix", ["", "key "])
def test_objects_have_their_keys(tmp_path: Path, prefix: str) -> None:
    source = keys(tmp_path / "objects.txt", prefix and "key-")
    found, stored = opened(source, tmp_path / "a"), opened(source, tmp_path / "b", None)
    assert is_streamed(found)
    assert found.metadata == stored.metadata
    assert (found.blocks("all").ids == stored.blocks("all").ids).all()
    assert found.keys == stored.keys


def test_another_view_and_requests_are_those_of_the_store(tmp_path: Path) -> None:
    source = msr(tmp_path / "web.csv")
    found, stored = opened(source, tmp_path / "a"), opened(source, tmp_path / "b", None)
    for options in (("reads", 4096), ("all", 8192), ("writes", 4096), ("all", 4096, "host1*")):
        assert (found.blocks(*options).ids == stored.blocks(*options).ids).all()
    assert found.to_arrow().equals(stored.to_arrow())
    assert found.store_path is not None
    assert found.store_path.is_file()


def unsorted(path: Path) -> Path:
    lines = msr(path).read_text().splitlines()
    path.write_text("\n".join(reversed(lines)) + "\n")
    return path


def with_discards(path: Path) -> Path:
    rows = "".join(f"{i},{'RWD'[i % 3]},{i % 50 * 4096},8192\n" for i in range(300))
    path.write_text("time_s,op,offset,length\n" + rows)
    return path


@pytest.mark.parametrize("write", [unsorted, with_discards])
def test_other_files_are_parsed_into_a_store(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    source = write(tmp_path / "web.csv")
    found, stored = opened(source, tmp_path / "a"), opened(source, tmp_path / "b", None)
    assert not is_streamed(found)
    assert found.metadata == stored.metadata
    assert (found.blocks("all").ids == stored.blocks("all").ids).all()


def test_bad_lines_are_refused_or_skipped_as_by_the_store(tmp_path: Path) -> None:
    source = msr(tmp_path / "web.csv")
    source.write_text(source.read_text() + "1,a,b\n")
    for options in ({}, {"on_bad_line": "skip"}):
        results = []
        for name, view in (("a", ALL), ("b", None)):
            try:
                results.append(opened(source, tmp_path / name, view, **options).metadata)
            except mc.TraceError as error:
                results.append(str(error))
        assert results[0] == results[1]


def kept(work: list[Callable[[], object]]) -> None:
    for each in work:
        each()
    work.clear()


def test_kept_accesses_are_opened_again(
    tmp_path: Path, small_files: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, cache = msr(tmp_path / "web.csv"), tmp_path / "cache"
    first = opened(source, cache)
    kept(small_files)
    kinds = {entry.kind.name: entry for entry in entries(cache)}
    assert {"interned", "metadata", "digest", "trace"} == set(kinds)
    assert all(entry.fault() is None for entry in kinds.values())
    with monkeypatch.context() as patch:
        patch.setattr(streamed.Parse, "reader", None)  # it is not parsed
        again = opened(source, cache)
    assert again.metadata == first.metadata
    content = [file_of(trace.blocks("all").accesses, tmp_path / "x") for trace in (first, again)]
    assert content[0] == content[1]
    assert again.to_arrow().equals(opened(source, tmp_path / "b", None).to_arrow())
    assert not is_streamed(opened(source, cache, View(512, "all")))  # the store is there now


@pytest.mark.parametrize("ending", [".accesses", ".metadata"])
def test_damaged_entries_are_made_anew(
    tmp_path: Path, small_files: list[Callable[[], object]], ending: str
) -> None:
    source, cache = msr(tmp_path / "web.csv"), tmp_path / "cache"
    first = opened(source, cache)
    kept(small_files)
    (entry,) = (cache / INTERNED).glob(f"*{ending}")
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    entry.write_bytes(content)
    (found,) = [each for each in entries(cache) if each.path == entry]
    assert found.fault() is not None
    again = opened(source, cache)
    assert again.metadata == first.metadata
    assert (again.blocks("all").ids == first.blocks("all").ids).all()


def test_an_edited_file_is_read_again(
    tmp_path: Path, small_files: list[Callable[[], object]]
) -> None:
    source, cache = msr(tmp_path / "web.csv"), tmp_path / "cache"
    opened(source, cache)
    kept(small_files)
    msr(source, vms=5)
    assert len(opened(source, cache).vms) == 5


def test_a_file_that_cannot_be_written_is_left_out(
    tmp_path: Path, small_files: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, cache = msr(tmp_path / "web.csv"), tmp_path / "cache"
    first = opened(source, cache)

    def full(accesses: engine.Accesses, path: bytes, packed: bool) -> None:
        Path(os.fsdecode(path)).write_bytes(b"half")
        raise mc.HostError("no space left on device")

    def full_note(*_: object) -> None:
        raise mc.HostError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(parse, "write_note", full_note)
        assert (opened(source, tmp_path / "b").blocks("all").ids == first.blocks("all").ids).all()
    del small_files[1:]
    with monkeypatch.context() as patch:
        patch.setattr(streamed.engine, "write_accesses", full)
        with pytest.raises(mc.HostError):
            kept(small_files)
    assert {entry.kind.name for entry in entries(cache)} == {"digest"}
    assert (opened(source, cache).blocks("all").ids == first.blocks("all").ids).all()


def test_accesses_without_metadata_are_not_used(
    tmp_path: Path, small_files: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed between the two files leaves accesses alone."""
    source, cache = msr(tmp_path / "web.csv"), tmp_path / "cache"
    first = opened(source, cache)
    with monkeypatch.context() as patch:
        patch.setattr(streamed, "write_metadata", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            kept(small_files)
    assert list((cache / INTERNED).glob("*.accesses"))
    assert not list((cache / INTERNED).glob("*.metadata"))
    assert (opened(source, cache).blocks("all").ids == first.blocks("all").ids).all()


def wait_for(folder: Path, ending: str) -> None:
    end = time.monotonic() + 60
    while not list(folder.glob(f"*{ending}")):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_commands_keep_accesses_after_their_answers(tmp_path: Path) -> None:
    """Two commands on one file at once, and one more from the cache, print the same."""
    source, cache = tmp_path / "web.txt", tmp_path / "cache"
    source.write_text("".join(f"{i * i % 300_007}\n" for i in range(1_500_000)))
    os.utime(source, ns=(0, 0))
    arguments = ["compare", source, "--policies", "lru,fifo", "--csv", "--cache-dir", cache, "-q"]
    always = "from mcsim.traces import streamed; streamed.WORTH_KEEPING_S = 0"
    main = f"{always}; from mcsim.cli.main import main; main()"
    command = [sys.executable, "-c", main, *map(os.fspath, arguments)]

    def rows(text: str) -> list[list[str]]:
        return [row[:-3] + row[-2:] for row in csv.reader(text.splitlines())]

    at_once = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [rows(run.communicate()[0]) for run in at_once]
    assert [run.returncode for run in at_once] == [0, 0]
    wait_for(cache / INTERNED, ".metadata")
    again = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answers.append(rows(again.stdout))
    assert len(answers[0]) == 7
    assert answers[0] == answers[1] == answers[2]
    assert commands.code_of("cache", "verify", "--cache-dir", cache) == 0
    wait_for(cache, ".arrow")  # for commands that read requests
