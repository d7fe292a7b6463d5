"""Traces: the store, its re-use, views without copies, slices, files written and read back.

Trusts: NumPy for sorting, filtering and counting; gzip, bz2, lzma and zstd for
compression; requests written by hand; and, for the real traces, the counts their
collection states for each.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
import recorded
from complaints import complaint
from hypothesis import given, settings
from hypothesis import strategies as st
from small import ROOT

from mcsim.base.errors import ConfigError, HostError, TraceError
from mcsim.traces import digests
from mcsim.traces import parse as parsing
from mcsim.traces.batches import Batch
from mcsim.traces.cache import cache_directory
from mcsim.traces.digests import file_digest
from mcsim.traces.find import TraceFinder, files_of
from mcsim.traces.mapping import trace_formats
from mcsim.traces.store import BATCH_REQUESTS
from mcsim.traces.table_files import TABLE_FORMATS
from mcsim.traces.trace import Trace

FEB_22 = 128166336000000000
OPS = ("Write", "Read", "Read")
MSR = "".join(
    f"{FEB_22 + 10 * i},web,{i % 2},{OPS[i % 3]},{4096 * (i % 7)},{1000 * i},{i}\n"
    for i in range(50)
)


def zstd(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


def change_an_offset(path: Path, batch: int = 0) -> None:
    """Damage a store in a way that only a checksum reveals."""
    column = pa.ipc.open_file(str(path)).get_batch(batch).column(3).to_numpy().tobytes()
    at = path.read_bytes().rindex(column)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([column[0] ^ 1]))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def msr_file(tmp_path: Path) -> Path:
    path = tmp_path / "web.csv"
    path.write_text(MSR)
    return path


def columns_of(trace: Trace) -> Batch:
    batches = list(trace.batches())
    return Batch(*(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def assert_same(left: Trace, right: Trace) -> None:
    """Assert that two traces are equal; VMs may have other numbers."""
    assert left.time_base == right.time_base
    assert set(left.vms) == set(right.vms)
    for name, a, b in zip(Batch._fields, columns_of(left), columns_of(right), strict=True):
        assert a.dtype == b.dtype, name
        if name == "vm":
            a, b = np.array(left.vms)[a], np.array(right.vms)[b]
        assert np.array_equal(a, b), name


def random_trace(n: int = 1000, seed: int = 1) -> Trace:
    rng = np.random.default_rng(seed)
    return Trace.from_arrays(
        np.sort(rng.integers(0, 10**15, n)),
        rng.integers(0, 2**63, n, dtype=np.uint64) * 2,
        rng.integers(0, 2**20, n),
        vm=rng.integers(0, 3, n),
        op=rng.integers(0, 2, n),
        response=np.maximum(rng.integers(-(10**8), 10**9, n), -1),
        vms=["web_0", "web_1", "a_b_2"],
    )


@st.composite
def requests(draw: st.DrawFn) -> Trace:
    """Traces with the extreme values of every column."""
    n = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(values, min_size=n, max_size=n))

    length = column(st.integers(0, 2**32 - 1))
    offset = [draw(st.integers(0, 2**64 - 1 - size)) for size in length]
    return Trace.from_arrays(
        np.sort(column(st.integers(-(2**63) + 1, 2**63 - 1))),
        np.array(offset, np.uint64),
        length,
        vm=np.arange(n) % 2,
        op=column(st.integers(0, 1)),
        response=column(st.integers(-1, 2**63 - 1)),
        vms=["web_0", "Zürich 7"][:n],
    )


class TestOpen:
    def test_msr_columns(self, msr_file: Path, cache: Path) -> None:
        trace = Trace.open(msr_file, cache_dir=cache)
        i = np.arange(50)
        got = columns_of(trace)
        assert np.array_equal(got.time, 1_172_160_000 * 10**9 + 1000 * i)
        assert trace.vms == ("web_0", "web_1")
        assert np.array_equal(got.vm, i % 2)
        assert np.array_equal(got.op, i % 3 == 0)
        assert np.array_equal(got.offset, 4096 * (i % 7))
        assert np.array_equal(got.length, 1000 * i)
        assert np.array_equal(got.response, 100 * i)
        assert trace.time_base == "clock"
        assert trace.metadata.format == "msr"
        assert trace.metadata.source == "web.csv"

    @pytest.mark.parametrize("ending", CODECS)
    def test_codecs_are_told_by_content(self, tmp_path: Path, cache: Path, ending: str) -> None:
        plain = tmp_path / "web.csv"
        plain.write_text(MSR)
        # The name does not show the codec.
        packed = tmp_path / "packed" / "web.csv"
        packed.parent.mkdir()
        packed.write_bytes(CODECS[ending](MSR.encode()))
        assert_same(Trace.open(plain, cache_dir=cache), Trace.open(packed, cache_dir=cache))

    @pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
    def test_a_file_cut_short_says_so(self, tmp_path: Path, cache: Path, ending: str) -> None:
        packed = CODECS[ending](MSR.encode())
        path = tmp_path / "web.csv"
        for size in range(len(packed) // 2, len(packed), 7):
            path.write_bytes(packed[:size])
            with pytest.raises(TraceError, match=r"web\.csv: the \w+ data is damaged or cut short"):
                Trace.open(path, format="msr", cache_dir=cache)
        assert not list(cache.glob("*"))

    def test_counts(self, msr_file: Path, cache: Path) -> None:
        counts = Trace.open(msr_file, cache_dir=cache).metadata.counts
        i = np.arange(50)
        begin, size = 4096 * (i % 7), 1000 * i
        blocks = np.where(size > 0, (begin + size - 1) // 4096 - begin // 4096 + 1, 0)
        reads = i % 3 != 0
        assert counts.requests == 50
        assert counts.reads == reads.sum()
        assert counts.blocks == blocks.sum()
        assert counts.read_blocks == blocks[reads].sum()

    def test_a_bad_line_is_named(self, tmp_path: Path, cache: Path) -> None:
        path = tmp_path / "web.csv"
        path.write_text(MSR + f"{FEB_22 + 10**6},web,0,R,0,4096,1\n")
        said = complaint(Trace.open, path, cache_dir=cache, error=TraceError)
        assert said == f"{path}:51: expected Read or Write in column 4, got 'R'"
        skipping = Trace.open(path, cache_dir=cache, on_bad_line="skip")
        assert skipping.request_count == 50
        assert skipping.metadata.rows.skipped == 1
        assert skipping.metadata.complaints == (said,)

    def test_unsorted_times(self, tmp_path: Path, cache: Path) -> None:
        path = tmp_path / "t.csv"
        rng = np.random.default_rng(5)
        times = rng.integers(0, 100, 1000)
        rows = "".join(f"{t},{i}\n" for i, t in enumerate(times))
        path.write_text("time_ns,offset\n" + rows)
        with pytest.raises(TraceError, match=r"t\.csv:\d+: time goes back from \d+ to \d+"):
            Trace.open(path, cache_dir=cache, on_unsorted="error")
        got = columns_of(Trace.open(path, cache_dir=cache))
        order = np.argsort(times, kind="stable")
        assert np.array_equal(got.time, times[order])
        assert np.array_equal(got.offset, order)

    def test_wrong_formats_are_refused(self, msr_file: Path, tmp_path: Path, cache: Path) -> None:
        with pytest.raises(TraceError, match=r"web\.csv:1: expected a first block"):
            Trace.open(msr_file, format="arc", cache_dir=cache)
        with pytest.raises(ConfigError, match=r"unknown trace format 'mrs' \(did you mean 'msr'"):
            Trace.open(msr_file, format="mrs", cache_dir=cache)
        with pytest.raises(ConfigError, match=r"arc: unknown parameter 'unit_byte' \(did you"):
            Trace.open(msr_file, format="arc", options={"unit_byte": 1}, cache_dir=cache)
        with pytest.raises(ConfigError, match="on_bad_line: unknown choice 'ignore'"):
            Trace.open(msr_file, on_bad_line="ignore", cache_dir=cache)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "content", [b"This is no trace.\n", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe"]
    )
    def test_prose_and_pictures_are_no_traces(
        self, tmp_path: Path, cache: Path, content: bytes
    ) -> None:
        file = tmp_path / "README"
        file.write_bytes(content)
        said = complaint(Trace.open, file, cache_dir=cache, error=TraceError).splitlines()
        assert said[0] == f"{file}: no known trace format. It begins:"
        assert said[1].startswith(("    This is no trace.", r"    \x89PNG"))
        assert said[-2].startswith("The nearest format is ")
        assert said[-1] == f"mcsim trace map {file} proposes which column is what"

    def test_files_that_cannot_be_read(self, tmp_path: Path, cache: Path) -> None:
        with pytest.raises(ConfigError, match=r"nothing\.csv: no such file"):
            Trace.open(tmp_path / "nothing.csv", cache_dir=cache)
        with pytest.raises(ConfigError, match="no trace in this folder"):
            Trace.open(tmp_path, cache_dir=cache)
        (tmp_path / "empty.csv").touch()
        with pytest.raises(TraceError, match=r"empty\.csv: the file is empty"):
            Trace.open(tmp_path / "empty.csv", cache_dir=cache)

    def test_a_cache_that_cannot_be_written(self, msr_file: Path, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(HostError, match="cannot write there"):
            Trace.open(msr_file, cache_dir=tmp_path / "file" / "cache")

    def test_options_are_taken_as_declared(self, tmp_path: Path, cache: Path) -> None:
        path = tmp_path / "t.lis"
        path.write_text("3 2 0 0\n")
        got = Trace.open(path, options={"unit_bytes": "1KiB"}, format="arc", cache_dir=cache)
        assert columns_of(got).offset.tolist() == [3072]
        path.write_text("7,3\n")
        mapping = {"header": "false", "offset": 2, "time": 1, "time_unit": "s"}
        got = Trace.open(path, options=mapping, format="csv", cache_dir=cache)
        assert columns_of(got).time.tolist() == [7 * 10**9]

    def test_progress_ends_at_the_total(self, msr_file: Path, cache: Path) -> None:
        for _ in range(2):
            seen: list[tuple[int, ...]] = []

            def note(*step: int, seen: list[tuple[int, ...]] = seen) -> None:
                seen.append(step)

            Trace.open(msr_file, cache_dir=cache, progress=note)
            assert seen == sorted(seen)
            assert seen[-1] == (len(MSR), len(MSR))

    def test_what_progress_raises_comes_through(self, msr_file: Path, cache: Path) -> None:
        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Trace.open(msr_file, cache_dir=cache, progress=stop)
        assert not list(cache.glob("*"))

    def test_a_file_that_did_not_change_is_not_read_again(
        self, msr_file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reads = 0

        def counted(path: Path, progress: Callable[[int], object]) -> str:
            nonlocal reads
            reads += 1
            return file_digest(path, progress)

        monkeypatch.setattr(parsing, "file_digest", counted)
        first = Trace.open(msr_file, cache_dir=cache)
        assert reads == 2  # it changed a moment ago, so it was hashed after it was parsed, too
        Trace.open(msr_file, cache_dir=cache)
        assert reads == 3
        monkeypatch.setattr(digests, "_GRAIN_NS", -(10**12))
        for _ in range(3):
            assert Trace.open(msr_file, cache_dir=cache).digest == first.digest
        assert reads == 4
        # A file of equal size with another time; then with an equal time and another inode.
        text = msr_file.read_bytes()
        msr_file.write_bytes(text.replace(b"4096", b"8192"))
        os.utime(msr_file, ns=(0, 10**18 + 1))
        assert Trace.open(msr_file, cache_dir=cache).digest != first.digest
        other = msr_file.with_name("other")
        other.write_bytes(text)
        os.utime(other, ns=(0, 10**18 + 1))
        other.replace(msr_file)
        assert Trace.open(msr_file, cache_dir=cache).digest == first.digest
        (note,) = cache.glob("digest-*.json")
        note.write_bytes(b"{")
        assert Trace.open(msr_file, cache_dir=cache).digest == first.digest

    def test_the_cache_is_the_users(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("MCSIM_CACHE_DIR", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_directory() == tmp_path / "mcsim" / "traces"

    def test_every_format_is_in_the_list(self) -> None:
        texts = [header.read_text() for header in ROOT.glob("core/trace/formats/*.hpp")]
        for known in trace_formats():
            if known["name"] not in TABLE_FORMATS:
                assert sum(f'"{known["name"]}"' in text for text in texts) == 1, known["name"]
        headers = [text for text in texts if "ComponentInfo kInfo{" in text]
        assert len(headers) <= len(trace_formats())


class TestStore:
    def test_columns_are_views_of_the_mapped_file(self, msr_file: Path, cache: Path) -> None:
        trace = Trace.open(msr_file, cache_dir=cache)
        assert trace.store_path is not None
        mapped = [
            tuple(int(x, 16) for x in line.split()[0].split("-"))
            for line in Path("/proc/self/maps").read_text().splitlines()
            if line.endswith(str(trace.store_path))
        ]
        batch = next(trace.batches())
        for column in batch:
            address = column.__array_interface__["data"][0]
            assert any(low <= address < high for low, high in mapped)
            assert not column.flags.writeable
        again = next(trace.batches())
        for column, same in zip(batch, again, strict=True):
            assert np.shares_memory(column, same)

    def test_columns_outlive_the_trace(self, msr_file: Path, cache: Path) -> None:
        batch = next(Trace.open(msr_file, cache_dir=cache).batches())
        assert batch.length.tolist() == [1000 * i for i in range(50)]

    def test_is_made_once_and_used_again(self, msr_file: Path, cache: Path) -> None:
        first = Trace.open(msr_file, cache_dir=cache)
        made = first.store_path
        assert made is not None
        written = made.stat().st_mtime_ns
        second = Trace.open(msr_file, cache_dir=cache)
        assert second.store_path == made
        assert second.digest == first.digest
        assert made.stat().st_mtime_ns == written
        assert list(cache.glob("[!.]*")) == [made]

    def test_is_known_by_content_and_way_of_reading(self, msr_file: Path, cache: Path) -> None:
        plain = Trace.open(msr_file, cache_dir=cache)
        skipping = Trace.open(msr_file, cache_dir=cache, on_bad_line="skip")
        assert plain.digest != skipping.digest
        assert plain.metadata.source_digest == skipping.metadata.source_digest
        msr_file.write_text(MSR[: len(MSR) // 2].rsplit("\n", 1)[0])
        changed = Trace.open(msr_file, cache_dir=cache)
        assert changed.digest != plain.digest
        assert changed.request_count < 50

    @pytest.mark.parametrize("damage", ["cut", "foreign", "empty"])
    def test_is_made_anew_if_damaged(self, msr_file: Path, cache: Path, damage: str) -> None:
        path = Trace.open(msr_file, cache_dir=cache).store_path
        assert path is not None
        if damage == "cut":
            path.write_bytes(path.read_bytes()[:-100])
        elif damage == "foreign":
            table = pa.table({"x": [1]})
            with pa.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table)
        else:
            path.write_bytes(b"")
        assert Trace.open(msr_file, cache_dir=cache).request_count == 50

    def test_is_made_anew_if_its_requests_are_damaged(
        self, msr_file: Path, cache: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = Trace.open(msr_file, cache_dir=cache).store_path
        assert path is not None
        whole = path.read_bytes()
        change_an_offset(path)
        opened = Trace.open(msr_file, cache_dir=cache)
        for _ in range(2):
            batch = next(opened.batches())
            assert batch.length.tolist() == [1000 * i for i in range(50)]
        assert path.read_bytes() == whole
        (record,) = caplog.records
        assert record.getMessage() == (
            f"{path}: batch 0: it is damaged, for its checksum does not match: "
            f"it was made anew from {msr_file}"
        )

    def test_goes_on_where_a_later_batch_is_damaged(self, tmp_path: Path, cache: Path) -> None:
        source = tmp_path / "keys.txt"
        source.write_bytes(b"".join(b"%d\n" % (i % 1000) for i in range(BATCH_REQUESTS + 5)))
        path = Trace.open(source, cache_dir=cache).store_path
        assert path is not None
        opened = Trace.open(source, cache_dir=cache)
        batches = opened.batches()
        first = next(batches)
        change_an_offset(path, batch=1)
        (second,) = batches
        whole = np.concatenate([first.offset, second.offset])
        assert (whole == np.arange(len(whole)) % 1000).all()

    @pytest.mark.parametrize("how", ["gone", "changed"])
    def test_stays_damaged_without_its_source(self, msr_file: Path, cache: Path, how: str) -> None:
        path = Trace.open(msr_file, cache_dir=cache).store_path
        assert path is not None
        change_an_offset(path)
        opened = Trace.open(msr_file, cache_dir=cache)
        if how == "gone":
            msr_file.unlink()
            why = f"{msr_file}: cannot be read: No such file or directory"
        else:
            msr_file.write_text(MSR[:100])
            why = f"{msr_file}: it has changed since it was opened"
        assert complaint(next, opened.batches(), error=TraceError) == (
            f"{path}: batch 0: it is damaged, for its checksum does not match, "
            f"and cannot be made anew: {why}"
        )

    def test_opens_directly(self, msr_file: Path, cache: Path, tmp_path: Path) -> None:
        trace = Trace.open(msr_file, cache_dir=cache)
        assert trace.store_path is not None
        direct = Trace.open(trace.store_path)
        assert_same(direct, trace)
        assert direct.metadata == trace.metadata
        with pytest.raises(ConfigError, match="takes neither format nor options"):
            Trace.open(trace.store_path, format="msr")
        cut = tmp_path / "cut.arrow"
        cut.write_bytes(trace.store_path.read_bytes()[:-50])
        with pytest.raises(TraceError, match=r"cut\.arrow: not a trace store of this version"):
            Trace.open(cut)

    def test_is_readable_by_any_arrow_reader(self, msr_file: Path, cache: Path) -> None:
        path = Trace.open(msr_file, cache_dir=cache).store_path
        table = pa.ipc.open_file(str(path)).read_all()
        assert table.schema.names == ["time", "vm", "op", "offset", "length", "response"]
        assert b"mcsim" in table.schema.metadata

    def test_is_private_whatever_the_umask(self, msr_file: Path, cache: Path) -> None:
        path = Trace.open(msr_file, cache_dir=cache).store_path
        assert path is not None
        assert path.stat().st_mode & 0o777 == 0o600

    def test_the_cache_is_where_the_environment_says(
        self, msr_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path / "there"))
        path = Trace.open(msr_file).store_path
        assert path is not None
        assert path.parent == tmp_path / "there"

    def test_can_be_sent_to_another_process(self, msr_file: Path, cache: Path) -> None:
        trace = Trace.open(msr_file, cache_dir=cache)
        for sent in (trace, trace.slice(ops="reads"), random_trace(10)):
            assert_same(pickle.loads(pickle.dumps(sent)), sent)

    def test_long_traces_come_in_batches(self, tmp_path: Path, cache: Path) -> None:
        n = 2 * BATCH_REQUESTS + 5
        path = tmp_path / "keys.txt"
        path.write_bytes(b"7\n" * n)
        trace = Trace.open(path, cache_dir=cache)
        assert [len(b.time) for b in trace.batches()] == [BATCH_REQUESTS, BATCH_REQUESTS, 5]
        assert trace.request_count == n
        assert trace.metadata.counts.last_time == n - 1


class TestArrays:
    def test_single_numbers_stand_for_columns(self) -> None:
        trace = Trace.from_arrays([1, 2], [0, 4096], 4096)
        got = columns_of(trace)
        assert got.length.tolist() == [4096, 4096]
        assert got.op.tolist() == [0, 0]
        assert got.response.tolist() == [-1, -1]

    def test_the_digest_is_that_of_the_content(self) -> None:
        assert random_trace().digest == random_trace().digest
        assert random_trace().digest != random_trace(seed=2).digest

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"time": [2, 1]}, "row 1: time goes back from 2 to 1"),
            ({"offset": [0]}, r"offset: expected 2 values in one dimension, got \(1,\)"),
            ({"offset": [0, -1]}, "offset: a value does not fit uint64"),
            ({"offset": [0.5, 1]}, "offset: expected whole numbers, got float64"),
            ({"length": [0, 2**32]}, "length: a value does not fit uint32"),
            ({"vm": [0, 1]}, "row 1: vm 1 is not a position among 1 names"),
            ({"op": 3}, r"row 0: op: expected 0 \(read\), 1 \(write\) or 2 \(discard\), got 3"),
            (
                {"offset": np.array([0, 2**64 - 1], np.uint64)},
                r"row 1: offset 18446744073709551615 \+ length 512 exceeds 64 bits",
            ),
            ({"response": [-1, -2]}, "row 1: response: expected nanoseconds, or -1 for unknown"),
            ({"vms": [""]}, "the name of a VM must be text in UTF-8, without control char"),
            ({"vms": ["a\nb"]}, r"control characters, got 'a\\x0ab'"),
        ],
    )
    def test_what_breaks_the_rules_is_refused(
        self, change: dict[str, object], message: str
    ) -> None:
        arrays: dict[str, object] = {"time": [1, 2], "offset": [0, 1], "length": 512}
        with pytest.raises(ConfigError, match=message):
            Trace.from_arrays(**(arrays | change))  # type: ignore[arg-type]

    def test_frames(self) -> None:
        trace = random_trace(100)
        want = columns_of(trace)
        pandas, polars = trace.to_pandas(), trace.to_polars()
        for name, column in zip(Batch._fields, want, strict=True):
            if name == "vm":
                names = [trace.vms[v] for v in column]
                assert pandas[name].tolist() == polars[name].to_list() == names
                assert trace.to_arrow()[name].to_pylist() == names
                continue
            assert np.array_equal(trace.to_arrow()[name].to_numpy(), column)
            assert np.array_equal(pandas[name].to_numpy(), column)
            assert np.array_equal(polars[name].to_numpy(), column)


class TestSlice:
    def test_agrees_with_masks(self) -> None:
        trace = random_trace()
        all_of = columns_of(trace)
        start, end = 2 * 10**14, 7 * 10**14
        begin = int(all_of.time[0])
        mask = (all_of.time >= begin + start) & (all_of.time < begin + end)
        mask &= (all_of.op == 0) & (all_of.vm != 1)
        part = trace.slice(start, end, vms=["a_b_2", "web_0"], ops="reads")
        got = columns_of(part)
        want = all_of.where(mask)
        assert part.vms == ("web_0", "a_b_2")
        assert np.array_equal(got.vm, np.where(want.vm == 2, 1, 0))
        for name in ("time", "op", "offset", "length", "response"):
            assert np.array_equal(getattr(got, name), getattr(want, name)), name
        assert part.request_count == mask.sum()
        assert part.digest != trace.digest

    def test_spans_add_up(self) -> None:
        trace = random_trace()
        cut = 5 * 10**14
        early, late = trace.slice(end=cut), trace.slice(start=cut)
        assert early.request_count + late.request_count == trace.request_count
        assert early.metadata.counts.last_time < late.metadata.counts.first_time
        assert_same(trace.slice(), trace)
        assert_same(trace.slice(start=-(2**80), end=2**80), trace)
        assert trace.slice(start=2**80).request_count == 0

    def test_times_may_have_units(self) -> None:
        hours = Trace.from_arrays(np.arange(4) * 3600 * 10**9, np.arange(4) * 4096, 4096)
        assert columns_of(hours.slice("1h", "10800 s")).offset.tolist() == [4096, 8192]
        assert hours.slice("1h", "3h").digest == hours.slice(3600 * 10**9, 10800 * 10**9).digest
        assert complaint(hours.slice, "2").startswith("start: expected a length of time such as")
        assert "unknown unit 'references'" in complaint(hours.slice, end="2 references")
        lines = Trace.from_arrays(range(4), np.arange(4) * 4096, 4096, time_base="index")
        assert columns_of(lines.slice(end="3 references")).offset.tolist() == [0, 4096, 8192]
        assert complaint(lines.slice, end="2h").startswith("end: expected a length such as '50000 ")

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(ConfigError, match=r"no VM 'web_9' \(did you mean 'web_"):
            random_trace().slice(vms=["web_9"])
        with pytest.raises(ConfigError, match="ops: unknown choice 'read'"):
            random_trace().slice(ops="read")  # type: ignore[arg-type]


class TestSave:
    @pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.zst", ".csv.bz2", ".arrow"])
    def test_text_reads_back(self, tmp_path: Path, cache: Path, ending: str) -> None:
        trace = random_trace()
        path = trace.save(tmp_path / f"t{ending}")
        assert_same(Trace.open(path, cache_dir=cache), trace)

    def test_text_keeps_traces_without_a_clock(self, tmp_path: Path, cache: Path) -> None:
        trace = Trace.from_arrays([0, 3], [0, 4096], [12288, 1], time_base="index")
        path = trace.save(tmp_path / "t.csv")
        assert_same(Trace.open(path, cache_dir=cache), trace)

    @settings(max_examples=60, deadline=None)
    @given(requests=requests())
    def test_any_requests_read_back(self, requests: Trace) -> None:
        with TemporaryDirectory() as folder:
            path = requests.save(Path(folder) / "t.csv")
            assert_same(Trace.open(path, cache_dir=Path(folder) / "cache"), requests)

    def test_parquet_holds_the_columns(self, tmp_path: Path) -> None:
        import pyarrow.parquet as pq

        trace = random_trace()
        table = pq.read_table(trace.save(tmp_path / "t.parquet"))
        for name, column in zip(Batch._fields, columns_of(trace), strict=True):
            if name == "vm":
                assert table[name].to_pylist() == [trace.vms[v] for v in column]
                continue
            assert np.array_equal(table[name].to_numpy(), column)

    def test_what_a_file_cannot_hold_is_refused(self, tmp_path: Path) -> None:
        clock = Trace.from_arrays([100], [0], 1, vms=["a_0"])
        with pytest.raises(ConfigError, match=r"expected a name that ends in \.arrow"):
            clock.save(tmp_path / "t.txt")
        assert not list(tmp_path.iterdir())


class TestInfo:
    def test_agrees_with_sets(self) -> None:
        trace = Trace.from_arrays(
            [0, 10**9, 2 * 10**9, 4 * 10**9],
            [0, 4095, 8192, 0],
            [8192, 2, 0, 1],
            vm=[0, 0, 1, 1],
            op=[0, 1, 0, 1],
            vms=["a", "b", "idle"],
        )
        info = trace.info()
        a, b, idle = info.vms
        assert (a.requests, a.read_requests, a.blocks, a.read_blocks) == (2, 1, 4, 2)
        assert (a.unique_blocks, a.unique_read_blocks, a.footprint_bytes) == (2, 2, 8192)
        assert (a.mean_request, a.median_request, a.largest_request) == (4097, 4097, 8192)
        assert (a.span, a.rate) == (10**9, 2.0)
        assert (b.unique_blocks, b.unique_read_blocks) == (1, 0)
        assert (idle.requests, idle.rate, idle.mean_request) == (0, 0.0, 0.0)
        assert info.total.requests == 4
        assert info.total.unique_blocks == 3
        assert trace.info(block_bytes=16384).total.unique_blocks == 2


class TestFind:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name in (
            "msr/web_3.csv.zst",
            "msr/web_1.csv",
            "web_1.csv.gz",
            "hp/ajw_1week.csv",
            "hp/io.log",
        ):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
        return tmp_path

    def test_by_vm_name_in_subfolders(self, folder: Path) -> None:
        assert TraceFinder([folder]).find("web_3") == folder / "msr/web_3.csv.zst"
        assert TraceFinder([folder, folder / "msr"]).find("web_3") == folder / "msr/web_3.csv.zst"

    def test_by_path(self, folder: Path) -> None:
        assert TraceFinder([folder]).find("hp/ajw_1week.csv") == folder / "hp/ajw_1week.csv"

    @pytest.mark.parametrize(
        ("name", "file"),
        [
            ("web_3.csv", "msr/web_3.csv.zst"),
            ("web_3.csv.zst", "msr/web_3.csv.zst"),
            ("msr/web_3", "msr/web_3.csv.zst"),
            ("msr/web_1", "msr/web_1.csv"),
            ("web_1.csv.gz", "web_1.csv.gz"),
            ("io.log", "hp/io.log"),
            ("web_3.tsv", None),
            ("web_3.", None),
            ("hp/web_3", None),
            ("io", None),
        ],
    )
    def test_with_any_extension(self, folder: Path, name: str, file: str | None) -> None:
        assert TraceFinder([folder]).find(name) == (file and folder / file)

    @pytest.mark.parametrize("name", ["web_3", "web_3.csv", "msr/web_3", "msr/web_3.csv"])
    def test_in_the_working_directory(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(folder if "/" in name else folder / "msr")
        file = Path(name).parent / "web_3.csv.zst"
        assert files_of([name], []) == files_of([Path(name)], [folder]) == [file]
        assert files_of([folder / "msr" / "web_3"], []) == [folder / "msr" / "web_3.csv.zst"]

    def test_files_in_the_working_directory_are_not_preferred(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "mine").mkdir()
        (folder / "mine" / "web_3.first.csv").touch()
        monkeypatch.chdir(folder / "mine")
        assert f"any of {folder}/msr/web_3.csv.zst, web_3.first.csv" in complaint(
            files_of, ["web_3"], [folder / "msr"]
        )

    def test_open_searches_where_the_shell_does(
        self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "hp" / "ajw_1week.csv").write_text("offset,length\n0,4096\n")
        monkeypatch.setenv("MCSIM_TRACE_DIR", f"{folder / 'msr'}{os.pathsep}{folder / 'hp'}")
        assert Trace.open("ajw_1week", cache_dir=cache).request_count == 1
        said = complaint(Trace.open, "ajw_2weeks")
        assert said.startswith(
            f"ajw_2weeks: no such file here or in {folder}/msr, {folder}/hp (did you mean"
        )

    def test_none(self, folder: Path) -> None:
        assert TraceFinder([folder]).find("web_4") is None
        assert TraceFinder([folder, folder / "missing"]).find("web") is None

    def test_several_are_named(self, folder: Path) -> None:
        said = complaint(TraceFinder([folder]).find, "web_1")
        assert str(folder / "msr/web_1.csv") in said
        assert str(folder / "web_1.csv.gz") in said


@pytest.mark.parametrize("file", recorded.REAL_TRACES)
def test_real_traces_hold_what_their_collection_says(file: str, cache: Path) -> None:
    trace = recorded.opened(file, cache)
    if trace is None:
        pytest.skip(f"needs {file} below MCSIM_TRACE_DIR")
    _, want = recorded.REAL_TRACES[file]
    total = trace.info().total
    if len(want) == 3:
        assert (total.requests, total.unique_blocks, total.blocks) == want
        assert total.read_requests == total.requests
    else:
        got = (total.requests, total.read_requests, total.unique_blocks, total.unique_read_blocks)
        assert (*got, total.blocks, total.read_blocks) == want
    assert trace.metadata.counts.blocks == total.blocks
    assert trace.metadata.counts.read_blocks == total.read_blocks
