"""Trusts: answers that were worked out by hand for small files."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

import pytest
from commands import code_of

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.exchange.proposal import Proposal, propose
from mcsim.exchange.trial import try_reading
from mcsim.traces.mapping import write_mapping


class Answer(NamedTuple):
    """Counts of an unlimited cache of blocks of 4 KiB, or of objects, for all operations."""

    requests: int
    accesses: int
    distinct: int
    hits: int


def answer_of(path: Path, proposal: Proposal, cache: Path) -> Answer:
    """Return the counts of the whole trace, from the curve and not from the proposal's trial."""
    trace = mc.Trace.open(path, format=proposal.format, options=proposal.options, cache_dir=cache)
    blocks = trace.blocks("all")
    curve = mc.hit_ratio_curve(blocks)
    return Answer(trace.request_count, len(blocks), blocks.unique, int(curve.hits[-1]))


_AGAIN = Answer(3, 3, 2, 1)  # 4 KiB at 4 KiB, 8 KiB and 4 KiB again

# Files with one plausible reading.
ONE = {
    "lba,count\n10,128\n138,128\n": Answer(2, 34, 33, 1),
    "sector,nr_sector\n0,64\n64,64\n0,64\n": Answer(3, 24, 16, 8),
    "sector,nsectors\n0,64\n64,64\n0,64\n": Answer(3, 24, 16, 8),
    "start_lba,num_lbas\n0,64\n64,64\n0,64\n": Answer(3, 24, 16, 8),
    "slba,nlb\n0,64\n64,64\n0,64\n": Answer(3, 24, 16, 8),
    "lba,nblocks\n0,64\n64,64\n0,64\n": Answer(3, 24, 16, 8),
    "lba,n\n0,64\n64,64\n0,64\n": Answer(3, 24, 16, 8),
    "sector_number,sector_count\n8,8\n16,8\n8,8\n": _AGAIN,
    "lba,size\n8,8\n16,8\n8,8\n": _AGAIN,
    "Start LBA,Block Count,Cmd\n0,64,READ\n64,64,WRITE\n0,64,READ\n": Answer(3, 24, 16, 8),
    "LBA,Size(B),RW\n8,4096,R\n16,4096,W\n8,4096,R\n": _AGAIN,
    "DiskOffset,IOSize\n4096,4096\n8192,4096\n4096,4096\n": _AGAIN,
    "block,nblocks\n1,2\n3,1\n1,2\n": Answer(3, 5, 3, 2),
    "page,n\n1,2\n3,1\n1,2\n": Answer(3, 5, 3, 2),
    "sector,bytes\n8,4096\n16,4096\n8,4096\n": _AGAIN,
    "offset_kib,size_kib\n4,4\n8,4\n4,4\n": _AGAIN,
    "Offset (KiB);Size (KiB)\n4;4\n8;4\n4;4\n": _AGAIN,
    "offset,nsectors\n8,8\n16,8\n8,8\n": _AGAIN,
    "time,id,size\n1,26,10\n2,27,10\n3,28,10\n4,26,10\n": Answer(4, 4, 3, 1),
    'key,value_size,op\n"a,b",10,get\nc,10,set\n"a,b",10,get\n': _AGAIN,
    "op|addr|len\nRead|0x1000|4096\nWrite|0x2000|4096\nRead|0x1000|4096\n": _AGAIN,
    "1700000000123,R,4096,4096\n1700000000456,W,8192,4096\n1700000000789,R,4096,4096\n": _AGAIN,
    "2024-01-01T00:00:00\t4096\t4096\n2024-01-01T00:00:01\t8192\t4096\n"
    "2024-01-01T00:00:02\t4096\t4096\n": _AGAIN,
    "#time op sector count\n1.5 R 8 8\n2.5 W 16 8\n3.5 R 8 8\n": _AGAIN,
    '{"ts": 1, "lba": 8, "nlb": 8}\n{"ts": 2, "lba": 16, "nlb": 8}\n'
    '{"ts": 3, "lba": 8, "nlb": 8}\n': _AGAIN,
}


@pytest.mark.parametrize("content", ONE, ids=lambda text: text.split("\n")[0])
def test_a_plain_layout_has_one_proposal(content: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(content)
    (proposal,) = propose(file)
    assert not proposal.warnings
    assert answer_of(file, proposal, tmp_path / "cache") == ONE[content]
    assert try_reading(file, proposal.format, proposal.options, 10).hits == ONE[content]


_OBJECTS = Answer(4, 4, 3, 1)

# Files with several plausible readings, and the counts of each.
SEVERAL = {
    "1 26 10\n2 27 10\n3 28 10\n4 26 10\n": {
        "objects with sizes in bytes": _OBJECTS,
        "blocks: offsets in sectors, lengths in sectors": Answer(4, 8, 2, 6),
        "blocks: offsets in bytes, lengths in bytes": Answer(4, 4, 1, 3),
    },
    "a,b,c\n1,26,1000\n2,27,1000\n3,28,1000\n4,26,1000\n": {
        "objects with sizes in bytes": _OBJECTS,
        "blocks: offsets in bytes, lengths in bytes": Answer(4, 4, 1, 3),
    },
    "lba,size\n8,4096\n16,8192\n8,4096\n": {
        "blocks: offsets in sectors, lengths in bytes": Answer(3, 4, 3, 1),
        # 512, 1,024 and 512 blocks from 1, 2 and 1: those from 1 to 1,025
        "blocks: offsets in sectors, lengths in sectors": Answer(3, 2048, 1025, 1023),
    },
    "offset,nsectors\n4096,8\n8192,8\n4096,8\n": {
        "blocks: offsets in bytes, lengths in sectors": _AGAIN,
        "blocks: offsets in sectors, lengths in sectors": _AGAIN,
    },
    "object_id,offset,length\nx,4096,4096\ny,8192,4096\nx,4096,4096\n": {
        "objects with sizes in bytes": _AGAIN,
        "blocks: offsets in bytes, lengths in bytes": _AGAIN,
    },
}


@pytest.mark.parametrize("content", SEVERAL, ids=lambda text: text.split("\n")[0])
def test_all_plausible_readings_are_proposed(content: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(content)
    found = {p.title: answer_of(file, p, tmp_path / "cache") for p in propose(file)}
    assert found == SEVERAL[content]


def test_clocks_and_operations_are_known_by_their_values(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    rows = ["1700000000.1,R,8,8", "1700000000.2,WS,16,8", "1700000000.3,RA,8,8"]
    rows += ["1700000000.4,FF,0,0", "1700000000.5,D,16,8", "1700000000.6,N,0,0"]
    for header in ("Occurred (s),Flags,Sector,Sectors", "when,what,Sector,Sectors"):
        file.write_text("\n".join([header, *rows]) + "\n")
        (proposal,) = propose(file)
        trace = mc.Trace.open(file, format="csv", options=proposal.options, cache_dir=tmp_path)
        (batch,) = trace.batches()
        assert batch.op.tolist() == [0, 1, 0, 2]
        assert batch.time.tolist()[0] == 1_700_000_000_100_000_000
        assert (trace.metadata.rows.flushes, trace.metadata.rows.filtered) == (1, 1)


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("is_write,offset", "0,0\n1,4096", [0, 1]),
        ("is_read,offset", "0,0\n1,4096", [1, 0]),
        ("write,offset", "false,0\ntrue,4096", [0, 1]),
        ("op,offset", "0x28,0\n0x2a,4096", [0, 1]),
        ("kind,offset", "Get,0\nPUT,4096", [0, 1]),
    ],
)
def test_words_of_operations(header: str, row: str, expected: list[int], tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(f"{header}\n{row}\n")
    (proposal,) = propose(file)
    trace = mc.Trace.open(file, format="csv", options=proposal.options, cache_dir=tmp_path)
    (batch,) = trace.batches()
    assert batch.op.tolist() == expected


def test_a_word_that_only_begins_like_an_operation_is_none(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("type,offset,length\ndefault,0,4096\nreserved,4096,4096\n")
    (proposal,) = propose(file)
    assert (proposal.options.get("op"), proposal.unused()) == (None, ["type"])
    file.write_text("op,offset,length\ndefault,0,4096\nreserved,4096,4096\n")
    with pytest.raises(ConfigError, match=r"op: column op has the values default, reserved: state"):
        propose(file)


def test_each_column_of_numbers_without_a_field_is_in_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("seq,offset,length,zone,note\n1,0,4096,7,x\n2,4096,4096,7,y\n")
    (proposal,) = propose(file)
    (warning,) = proposal.warnings
    assert warning.startswith("not used, though of numbers: seq, zone: ")
    assert proposal.unused() == ["seq", "zone", "note"]


def test_a_time_of_day_beside_a_date_is_in_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("2024-01-01 00:00:00 R 4096 4096\n2024-01-01 00:00:01 W 8192 4096\n")
    (proposal,) = propose(file)
    assert proposal.warnings == [
        "not used, though of times of day: 2: join date and time in a column"
    ]


def test_two_sizes_of_blocks_cannot_be_stated(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("page,size_kib\n0,4\n1,4\n")
    with pytest.raises(ConfigError, match=r"count blocks of .* convert a column"):
        propose(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b'{"a":' * 9000 + b"1" + b"}" * 9000 + b"\n",
            "mine:1: not a JSON object: nested too deep",
        ),
        (b'{"a": 1}\n3\n', "mine:2: not a JSON object"),
        (b'{"a": 1}\n[1]\n', "mine:2: not a JSON object"),
        (b"{}\n", "mine:1: a JSON object without fields"),
        (b"[1]\n[2]\n", "no column looks like an offset"),
        (b"a," + b"x" * 200_000 + b"\n1,2\n", "not delimited text: field larger"),
        (b"x" * 300_000, "mine:1: longer than 262,144 bytes: not a text trace"),
        (b"t\xe9,offset\n1,2\n", "not text in UTF-8"),
        (b"\x00\x01\x02\x03", "mine: "),
        (b"", "there are no lines in it"),
    ],
)
def test_files_without_a_proposal_end_in_code_2(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine"
    file.write_bytes(content)
    assert code_of("trace", "map", file) == 2
    assert message in capsys.readouterr().err


def test_a_letter_that_the_sample_cuts_is_text(tmp_path: Path) -> None:
    for filler in range(4):
        file = tmp_path / "mine.csv"
        note = "x" * filler + "é" * 1000
        rows = [f"{i * 4096},4096,{note}\n" for i in range(300)]
        file.write_text("offset,length,note\n" + "".join(rows))
        assert propose(file)[0].options == {"offset": "offset", "length": "length"}


@pytest.fixture
def several(tmp_path: Path) -> Path:
    file = tmp_path / "time_id_size.txt"
    file.write_text("1 26 10\n2 27 10\n3 28 10\n4 26 10\n")
    return file


def test_without_a_terminal_all_readings_are_printed_and_none_is_saved(
    several: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved.yaml"
    assert code_of("trace", "map", several, "--save", saved) == 2
    out, err = capsys.readouterr()
    assert out.count(f"mcsim mrc {several} --format csv") == 3
    assert out.count("hit ratio 25.00 %") == 1
    assert out.count("first requests, for") == 3
    assert "3 readings are plausible" in err
    assert not saved.exists()


def test_a_terminal_asks_for_the_reading(
    several: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import click

    monkeypatch.setattr("mcsim.cli.trace_map.is_interactive", lambda: True)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: 2)
    saved = tmp_path / "saved.yaml"
    assert code_of("trace", "map", several, "--save", saved) == 0
    trace = mc.Trace.open(several, mapping=saved, cache_dir=tmp_path / "cache")
    assert (trace.kind, trace.metadata.options["offset_unit"]) == ("blocks", "sectors")


def test_a_trace_is_not_replaced_by_its_mapping(
    several: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link, hard = tmp_path / "link.txt", tmp_path / "hard.txt"
    link.symlink_to(several)
    os.link(several, hard)
    content = several.read_bytes()
    for save in (several, link, hard):
        assert code_of("trace", "map", several, "--save", save) == 2
        assert "an input of this command" in capsys.readouterr().err
    assert several.read_bytes() == content
    assert stat.S_ISLNK(link.lstat().st_mode)


def test_a_saved_mapping_has_a_parameter_on_each_line(tmp_path: Path) -> None:
    """So that a line that is added at its end is a parameter more."""
    rows = "".join(f"{i};{'ab'[i % 2]};{8 * i};4096\n" for i in range(20))
    path = tmp_path / "rows.csv"
    path.write_text("time;Machine;LBA;Bytes\n" + rows)
    (found,) = propose(path)
    assert dict(found.options)["vm"] == "Machine"
    rest = {key: value for key, value in found.options.items() if key != "vm"}
    write_mapping(tmp_path / "rows.map.yaml", found.format, rest)
    assert (tmp_path / "rows.map.yaml").read_text().startswith("format: csv\n")
    with (tmp_path / "rows.map.yaml").open("a") as file:
        file.write("vm: Machine\n")
    trace = mc.Trace.open(path, mapping=tmp_path / "rows.map.yaml", cache_dir=tmp_path / "cache")
    assert trace.vms == ("a", "b")
