# Trusts: the same workload interned in memory.
from __future__ import annotations

import logging
import os
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from small import small_workload

from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.base.units import format_count
from mcsim.references.blocks import Blocks
from mcsim.references.interned import interned, is_kept
from mcsim.references.workload import Workload
from mcsim.traces.cache import INTERNED, entries
from mcsim.traces.trace import Trace

VIEW = {"block_bytes": 4096, "ops": "reads", "line_blocks": 1}
COLUMNS = ("ids", "request_begin", "request_time", "request_vm", "request_op")


def files(folder: Path) -> list[Path]:
    """Return all that is kept of interned traces."""
    return sorted((folder / INTERNED).glob("[!.]*"))


def assert_same(found: engine.Accesses, expected: engine.Accesses) -> None:
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
    assert [vm.name for vm in found.vms] == [vm.name for vm in expected.vms]
    assert found.given == expected.given


def test_first_makes_a_file_that_the_next_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = small_workload().intern(VIEW)
    assert not is_kept(small_workload(), VIEW, tmp_path)
    assert_same(interned(small_workload(), VIEW, folder=tmp_path, at_least=0), expected)
    assert is_kept(small_workload(), VIEW, tmp_path)
    (file,) = files(tmp_path)
    assert file.name.startswith("made up-")
    # A stored trace is read from its file; no request is read.
    monkeypatch.setattr(Workload, "intern", None)
    assert_same(interned(small_workload(), VIEW, folder=tmp_path, at_least=0), expected)


def test_other_requests_and_views_have_files_of_their_own(tmp_path: Path) -> None:
    for seed, view in [(1, VIEW), (2, VIEW), (1, VIEW | {"ops": "all"}), (1, {"line_blocks": 4})]:
        found = interned(small_workload(seed=seed), view, folder=tmp_path, at_least=0)
        assert_same(found, small_workload(seed=seed).intern(dict(view)))
    assert len(files(tmp_path)) == 4


def test_few_accesses_are_not_worth_a_file(tmp_path: Path) -> None:
    assert_same(interned(small_workload(), VIEW, folder=tmp_path), small_workload().intern(VIEW))
    assert not files(tmp_path)


def test_damaged_file_is_told_of_and_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    interned(small_workload(), VIEW, folder=tmp_path, at_least=0)
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:-9] + b"\x01" + whole[-8:], b"", b"something else"):
        # Another file: one that is mapped is never changed.
        file.unlink()
        file.write_bytes(damaged)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            found = interned(small_workload(), VIEW, folder=tmp_path, at_least=0)
        assert str(file) in caplog.text
        assert "mcsim will rebuild it" in caplog.text
        assert_same(found, small_workload().intern(VIEW))
        assert file.read_bytes() == whole


def test_folder_that_cannot_be_written_leaves_them_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        found = interned(small_workload(), VIEW, folder=tmp_path / "file" / "folder", at_least=0)
    assert_same(found, small_workload().intern(VIEW))
    assert "the interned trace is in memory" in caplog.text


def make(folder: Path) -> bytes:
    interned(small_workload(), VIEW, folder=folder, at_least=0)
    # Other processes may write theirs at the same time.
    (file,) = (path for path in files(folder) if path.suffix == ".accesses")
    return file.read_bytes()


def test_processes_that_make_one_at_a_time_make_the_same(tmp_path: Path) -> None:
    with get_context("spawn").Pool(4) as pool:
        made = pool.map(make, [tmp_path] * 8)
    assert len(set(made)) == 1
    assert [path.suffix for path in files(tmp_path)] == [".accesses"]


def test_cache_lists_and_verifies_them(tmp_path: Path) -> None:
    interned(small_workload(), VIEW, folder=tmp_path, at_least=0)
    (entry,) = entries(tmp_path)
    accesses = small_workload().intern(VIEW).access_count
    assert entry.kind.name == "interned"
    assert entry.describe() == f"{format_count(accesses)} accesses of 3 VMs in blocks of 4096 bytes"
    assert entry.fault() is None
    whole = entry.path.read_bytes()
    entry.path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert entry.fault() == (
        f"{entry.path}: a damaged interned trace (a checksum does not match); "
        "remove it and mcsim will rebuild it"
    )
    entry.path.write_bytes(b"")
    assert entry.describe() == "damaged"


def test_limit_removes_what_was_used_longest_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = interned(small_workload(seed=1), VIEW, folder=tmp_path, at_least=0)
    (file,) = files(tmp_path)
    size = file.stat().st_size
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", str(2 * size + size // 2))
    interned(small_workload(seed=2), VIEW, folder=tmp_path, at_least=0)
    (other,) = set(files(tmp_path)) - {file}
    for path in (other, file):
        os.utime(path, (10**9, 10**9))
    interned(small_workload(seed=1), VIEW, folder=tmp_path, at_least=0)  # used again
    interned(small_workload(seed=3), VIEW, folder=tmp_path, at_least=0)
    assert file.exists()
    assert not other.exists()
    assert len(files(tmp_path)) == 2
    # Processes that have mapped an entry keep it.
    file.unlink()
    assert_same(first, small_workload(seed=1).intern(VIEW))


def test_blocks_in_pieces_are_the_same_mapped(tmp_path: Path) -> None:
    plain = Blocks.of(small_workload().vms[0].trace)
    file = tmp_path / "trace.accesses"
    engine.write_accesses(plain.accesses, str(file))
    mapped = replace(plain, accesses=engine.open_accesses(str(file)))
    for _ in range(2):
        pieces = list(mapped.pieces())
        np.testing.assert_array_equal(np.concatenate([piece.keys for piece in pieces]), plain.ids)
        np.testing.assert_array_equal(
            np.concatenate([piece.times for piece in pieces]), plain.times
        )


def test_passed_beyond_the_end_is_refused() -> None:
    accesses = small_workload(requests=10).intern(VIEW)
    with pytest.raises(ConfigError, match="requests 0 to 11 of"):
        accesses.passed(0, 11)


def held_of(path: Path) -> int:
    """Return how many bytes of a file that is mapped this process holds in memory."""
    maps = Path("/proc/self/smaps")
    if not maps.exists():
        pytest.skip("this system does not say what is held")
    held, here = 0, False
    for line in maps.read_text().splitlines():
        if "-" in line.split(maxsplit=1)[0]:
            here = line.endswith(str(path))
        elif here and line.startswith("Rss:"):
            held += 1024 * int(line.split()[1])
    return held


def test_memory_holds_no_more_of_a_file_than_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "trace.accesses"
    engine.write_accesses(small_workload(requests=2_000_000).intern(VIEW), str(file))
    accesses = engine.open_accesses(str(file))
    whole = file.stat().st_size
    assert whole > 20 * 2**20
    assert held_of(file) < whole / 4, "it was checked, all of it"
    assert accesses.ids.max() < accesses.id_count
    looked_at = held_of(file)
    assert looked_at > accesses.ids.nbytes / 2
    accesses.passed(0, accesses.request_count)
    assert held_of(file) < looked_at / 4


def test_memory_holds_no_more_of_a_store_than_a_batch(tmp_path: Path) -> None:
    file = tmp_path / "trace.arrow"
    small_workload(requests=4_000_000).vms[0].trace.save(file)
    trace = Trace.open(file)
    total = sum(int(batch.offset.max() > 0) + len(batch.length) for batch in trace.batches())
    assert total > 4_000_000
    assert held_of(file) < file.stat().st_size / 2
