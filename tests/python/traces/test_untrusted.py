"""Forged and damaged stores, and bytes that are not text.

Trusts: the rules of a trace, broken one at a time in a file written by pyarrow alone;
that zeroes in place of anything else must be noticed.
"""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mcsim._core import trace as core_trace
from mcsim.base.errors import ConfigError, TraceError
from mcsim.traces.batches import SCHEMA
from mcsim.traces.store import open_store
from mcsim.traces.trace import Trace

ROWS = 3000


def right_columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "time": np.arange(ROWS),
        "vm": rng.integers(0, 2, ROWS),
        "op": rng.integers(0, 2, ROWS),
        "offset": rng.integers(0, 1 << 40, ROWS, np.uint64),
        "length": rng.integers(1, 1 << 16, ROWS),
        "response": np.full(ROWS, -1),
    }


def save(path: Path, vms: tuple[str, ...] = ("a", "b")) -> Path:
    return Trace.from_arrays(**right_columns(), vms=vms).save(path)


def write_foreign(path: Path, like: Path, columns: dict[str, np.ndarray], batch: int) -> None:
    """Write a store as someone else would, with the metadata of another."""
    schema = pa.ipc.open_file(str(like)).schema
    table = pa.table({f.name: pa.array(columns[f.name], f.type) for f in SCHEMA}, schema=schema)
    with pa.ipc.new_file(str(path), schema) as writer:
        writer.write_table(table, batch)


class TestCraftedStores:
    @pytest.mark.parametrize(
        ("column", "value", "message"),
        [
            ("op", 200, r"op: expected 0 \(read\), 1 \(write\) or 2 \(discard\), got 200"),
            ("vm", 60000, "vm 60000 is not a position among 2 names"),
            ("offset", 2**64 - 1, r"offset 18446744073709551615 \+ length \d+ exceeds 64 bits"),
            ("time", -5, r"time goes back from \d+ to -5"),
            ("response", -7, "response: expected nanoseconds, or -1 for unknown, got -7"),
        ],
    )
    @pytest.mark.parametrize("row", [1, 1024, ROWS - 1])
    def test_a_wrong_row_is_named(
        self, tmp_path: Path, column: str, value: int, message: str, row: int
    ) -> None:
        good, bad = save(tmp_path / "good.arrow"), tmp_path / "bad.arrow"
        columns = right_columns()
        columns[column][row] = value
        write_foreign(bad, good, columns, 1024)
        trace = Trace.open(bad)
        for _ in range(2):  # once found, found again
            with pytest.raises(TraceError, match=message) as caught:
                list(trace.batches())
            assert f"bad.arrow: batch {row // 1024}: row {row}: " in str(caught.value)
        with pytest.raises(TraceError, match=message):
            trace.info()

    def test_right_rows_of_someone_else_are_taken(self, tmp_path: Path) -> None:
        good, other = save(tmp_path / "good.arrow"), tmp_path / "other.arrow"
        write_foreign(other, good, right_columns(), 700)
        assert Trace.open(other).info() == Trace.open(good).info()

    def test_columns_of_another_length_than_the_batch(self, tmp_path: Path) -> None:
        columns = [np.zeros(9, f.type.to_pandas_dtype()) for f in SCHEMA]
        columns[-1] = columns[-1][:8]
        assert core_trace.wrong_in(*columns, vms=1) == "columns of 9 and 8 rows"
        with pytest.raises(ConfigError, match="columns of 9 and 5 rows"):
            core_trace.Summary(4096).add(columns[0], *(column[:5] for column in columns[1:5]))

    def test_columns_that_lie_between_their_elements(self) -> None:
        time = np.zeros(81, np.uint8)[1:].view(np.int64)
        rest = [np.zeros(10, f.type.to_pandas_dtype()) for f in SCHEMA][1:]
        with pytest.raises(ConfigError, match="a column of 8 bytes an element does not lie"):
            core_trace.wrong_in(time, *rest, vms=1)

    @pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31m"])
    def test_names_that_cannot_be_shown(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ConfigError, match="the name of a VM must be text in UTF-8"):
            save(tmp_path / "x.arrow", ("a", name))

    def test_metadata_of_another_shape(self, tmp_path: Path) -> None:
        good, bad = save(tmp_path / "good.arrow"), tmp_path / "bad.arrow"
        schema = pa.ipc.open_file(str(good)).schema
        said = schema.metadata[b"mcsim"]
        for wrong in (
            said.replace(b'["a", "b"]', b'["a", "\\n"]'),
            said.replace(b'["a", "b"]', b"[1, 2]"),
            said.replace(b'"clock"', b'"sundial"'),
            said.replace(b'"requests": 3000', b'"requests": "3000"'),
        ):
            assert wrong != said
            with pa.ipc.new_file(str(bad), SCHEMA.with_metadata({b"mcsim": wrong})):
                pass
            with pytest.raises(TraceError, match=r"bad\.arrow: not a trace store of this version"):
                Trace.open(bad)


class TestDamagedStores:
    def test_zeroes_anywhere_are_noticed(self, tmp_path: Path) -> None:
        path = save(tmp_path / "good.arrow")
        whole = path.read_bytes()
        bad = tmp_path / "bad.arrow"
        noticed = 0
        for begin in range(0, len(whole), 2048):
            zeroed = whole[:begin] + bytes(len(whole[begin : begin + 4096])) + whole[begin + 4096 :]
            if zeroed == whole:
                continue
            bad.write_bytes(zeroed)
            with pytest.raises(TraceError, match=r"bad\.arrow: "):
                list(Trace.open(bad).batches())
            noticed += 1
        assert noticed > 20

    def test_a_bit_of_the_columns_or_of_what_is_said_of_them(self, tmp_path: Path) -> None:
        path = save(tmp_path / "good.arrow")
        whole = bytearray(path.read_bytes())
        bad = tmp_path / "bad.arrow"
        # Within the column of offsets, and within the names of the VMs.
        offsets = bytes(right_columns()["offset"][:4].tobytes())
        for at, message in (
            (whole.index(offsets) + 3, "batch 0: it is damaged, for its checksum does not match"),
            # They stand at the head and, where they are read, at the foot.
            (whole.rindex(b'["a", "b"]') + 2, "its metadata are damaged"),
        ):
            flipped = whole.copy()
            flipped[at] ^= 2
            bad.write_bytes(flipped)
            with pytest.raises(TraceError, match=message):
                list(Trace.open(bad).batches())

    def test_batches_that_changed_places(self, tmp_path: Path) -> None:
        path = save(tmp_path / "good.arrow")
        trace = Trace.open(path)
        columns = [np.array(column) for column in next(trace.batches())]
        sums = {core_trace.checksum(*columns, first_row=row) for row in range(10)}
        assert len(sums) == 10

    def test_a_batch_is_checked_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = open_store(save(tmp_path / "good.arrow"))
        checked = []
        check = type(store)._check
        monkeypatch.setattr(type(store), "_check", lambda *args: checked.append(1) or check(*args))
        for _ in range(3):
            list(store)
        assert checked == [1]


class TestBytesThatAreNoText:
    @pytest.mark.parametrize(
        ("name", "given", "content", "message"),
        [
            (
                "latin.csv",
                "msr",
                b"128166372003061629,caf\xe9,0,Read,0,4096,1\n",
                r"expected a host name \(UTF-8 without control characters\) in column 2, got "
                r"'caf\\xe9'",
            ),
            ("utf16.csv", None, "time_ns,offset\n1,0\n".encode("utf-16"), "this is text in UTF-16"),
            ("cut.xz", None, lzma.compress(b"1\n")[:5], "the xz data is damaged or cut short"),
            ("header.csv", "csv", b"n\xe9me,\xff\n1,2\n", r"one of n\\xe9me, \\xff"),
            ("binary", None, bytes(range(256)) * 20, "no known trace format. It begins:"),
        ],
    )
    def test_are_an_error_that_can_be_shown(
        self, tmp_path: Path, name: str, given: str | None, content: bytes, message: str
    ) -> None:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises((TraceError, ConfigError), match=message):
            Trace.open(path, format=given, cache_dir=tmp_path / "cache")

    def test_a_byte_order_mark_is_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "web.csv"
        path.write_bytes(b"\xef\xbb\xbf128166372003061629,web,0,Read,0,4096,1\n")
        trace = Trace.open(path, cache_dir=tmp_path / "cache")
        assert trace.vms == ("web_0",)
        assert trace.metadata.format == "msr"


def test_a_block_of_no_bytes_is_refused(tmp_path: Path) -> None:
    trace = Trace.open(save(tmp_path / "t.arrow"))
    for wrong in (0, -1, 1 << 40):
        with pytest.raises(
            ConfigError, match=rf"block_bytes: {wrong} is outside \[1, 4294967295\]"
        ):
            trace.info(block_bytes=wrong)


def test_a_store_moved_to_another_place_is_the_same(tmp_path: Path) -> None:
    path = save(tmp_path / "a.arrow")
    shutil.copy(path, tmp_path / "b.arrow")
    assert Trace.open(tmp_path / "b.arrow").info() == Trace.open(path).info()
