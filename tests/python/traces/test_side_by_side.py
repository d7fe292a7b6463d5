# Trusts: files that are opened one after the other.
from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mcsim as mc
from mcsim.traces import digests, parse
from mcsim.traces import open as opening
from mcsim.traces.open import Reading, parse_side_by_side, unparsed


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse files of any size side by side."""
    monkeypatch.setattr(opening, "LARGE_BYTES", 0)
    monkeypatch.setattr(opening, "threads_given", lambda _: 2)
    monkeypatch.setattr(digests, "_GRAIN_NS", -(10**12))  # files of a moment ago have notes


def hours(folder: Path, count: int = 6) -> list[Path]:
    rng = np.random.default_rng(1)
    files = [folder / f"web_{hour}.csv" for hour in range(count)]
    for hour, file in enumerate(files):
        begin = 128166372003061629 + 36 * 10**9 * hour
        lines = [f"{begin + i},web,0,Read,{rng.integers(999) * 512},512,9" for i in range(500)]
        file.write_text("\n".join(lines) + "\n")
    return files


def opened(files: list[Path], cache: Path, **options: object) -> mc.Trace:
    return mc.Trace.open([*map(str, files)], cache_dir=cache, **options)  # type: ignore[arg-type]


def test_files_side_by_side_are_those_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = hours(tmp_path)
    threads: set[int] = set()
    whole = parse.Parse._parse

    def noted(*given: object) -> object:
        threads.add(threading.get_ident())
        return whole(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(parse.Parse, "_parse", noted)
    done: list[tuple[int, int]] = []
    beside = opened(files, tmp_path / "a", progress=lambda *now: done.append(now))
    assert threading.main_thread().ident not in threads
    size = sum(file.stat().st_size for file in files)
    assert done == sorted(done)
    assert done[-1] == (size, size)
    monkeypatch.setattr(opening, "threads_given", lambda _: 1)
    after = opened(files, tmp_path / "b")
    assert threading.main_thread().ident in threads
    assert beside.digest == after.digest
    assert (beside.blocks("all").ids == after.blocks("all").ids).all()


def test_files_in_the_cache_are_not_parsed_again(tmp_path: Path) -> None:
    files, cache = hours(tmp_path), tmp_path / "cache"
    reading = Reading(cache_dir=cache)
    given = [(file, reading) for file in files]
    plans = unparsed([*given, *given])
    assert [plan.source for plan, _ in plans] == files
    parse_side_by_side(plans, lambda *_: None)
    assert len(list(cache.glob("*.arrow"))) == len(files)
    assert unparsed(given) == []


def test_a_damaged_file_is_reported_as_if_alone(tmp_path: Path) -> None:
    files = hours(tmp_path)
    files[3].write_text("128166372003061629,web,0,Read,12,512,9\nno,request\n")
    with pytest.raises(mc.TraceError) as beside:
        opened(files, tmp_path / "a")
    with pytest.raises(mc.TraceError) as alone:
        opened([files[3]], tmp_path / "b")
    assert str(beside.value) == str(alone.value)


def test_ctrl_c_ends_all_threads(tmp_path: Path) -> None:
    files, cache = hours(tmp_path), tmp_path / "cache"
    plans = unparsed([(file, Reading(cache_dir=cache)) for file in files])

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parse_side_by_side(plans, interrupt)
    assert len(list(cache.glob("*.arrow"))) < len(files)


def test_pipes_tables_and_one_file_are_opened_as_before(tmp_path: Path) -> None:
    (file,) = hours(tmp_path, 1)
    table = tmp_path / "web.parquet"
    pq.write_table(pa.table({"time": [1], "offset": [512], "length": [512]}), table)
    reading = Reading(cache_dir=tmp_path / "b")
    assert unparsed([(file, reading)]) == []
    assert unparsed([(file, reading), (table, reading), (tmp_path / "none", reading)]) == []
