"""Small inputs in the layouts of public traces, with results of an independent simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import mcsim as mc

CASES = Path(__file__).parents[2] / "data" / "cases"


class Answer(NamedTuple):
    """Counts of an unlimited cache with blocks of 4 KiB."""

    requests: int
    accesses: int
    unique: int
    hits: int


class Case(NamedTuple):
    file: str
    reads: Answer | None
    all: Answer
    filtered: int = 0
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed
    format: str | None = None


_S = {"time_unit": "s"}
TABLE = [
    Case("umass.spc", Answer(4, 4, 3, 1), Answer(7, 12, 9, 3)),
    Case("systor17.csv", Answer(3, 5, 4, 1), Answer(5, 8, 4, 4), filtered=1),
    Case("alibaba_io_traces.csv", Answer(5, 207, 204, 3), Answer(6, 211, 208, 3)),
    Case("tencent_raw.csv", Answer(4, 66, 65, 1), Answer(5, 67, 65, 2)),
    Case("k5cloud.csv", Answer(3, 4, 3, 1), Answer(4, 5, 3, 2)),
    Case("disksim.txt", Answer(2, 3, 2, 1), Answer(3, 4, 2, 2)),
    Case("camelab.txt", Answer(2, 3, 2, 1), Answer(3, 4, 2, 2)),
    Case("thesios.csv", Answer(3, 3, 2, 1), Answer(4, 5, 4, 1)),
    Case("biosnoop.txt", Answer(2, 2, 1, 1), Answer(3, 4, 3, 1)),
    Case("fio_v2.log", Answer(2, 2, 2, 0), Answer(3, 6, 4, 1), filtered=4),
    Case(
        "fio_v3.log",
        Answer(3, 9, 8, 1),
        Answer(4, 13, 8, 5),
        filtered=6,
        options={"time_unit": "ms"},
    ),
    Case("blkparse.txt", Answer(2, 2, 1, 1), Answer(3, 4, 3, 1), filtered=18),
    Case(
        "alpha_ids.csv",
        None,
        Answer(6, 6, 3, 3),
        options=_S | {"read": "0", "write": "1"},
        format="csv",
    ),
    Case("meta_kvcache.csv", Answer(24, 24, 2, 21), Answer(26, 26, 3, 22)),
    Case("mooncake.jsonl", Answer(12, 12, 7, 5), Answer(12, 12, 7, 5)),
    # L of 04222c5c and 04222c7e, S and M of 1ffefff2f8; M reads and writes.
    Case("lackey.txt", Answer(3, 3, 2, 1), Answer(5, 5, 2, 3), filtered=5),
    Case("strace.txt", Answer(3, 3, 2, 1), Answer(4, 4, 2, 2), filtered=2),
    # Block 123: three times 128 KiB, then 64 KiB, then 128 KiB again; 128 KiB of 456 are written.
    Case("tectonic.trace", Answer(5, 144, 48, 96), Answer(6, 176, 80, 96)),
    Case("msr_overlap.csv", Answer(2, 3, 2, 1), Answer(2, 3, 2, 1)),
    Case("msr_header.csv", Answer(2, 3, 2, 1), Answer(3, 4, 2, 2)),
    Case("mixed_ids.txt", Answer(6, 6, 4, 2), Answer(6, 6, 4, 2)),
    Case("mixed.oracleGeneral.bin", Answer(6, 6, 4, 2), Answer(6, 6, 4, 2)),
    Case("objs.csv", Answer(4, 4, 3, 1), Answer(4, 4, 3, 1)),
    Case("nolen_unaligned.csv", Answer(3, 3, 2, 1), Answer(3, 3, 2, 1)),
    Case("sizes6.csv", Answer(6, 6, 4, 2), Answer(6, 6, 4, 2), options=_S),
    Case("v1.vscsi", Answer(6, 6, 3, 3), Answer(6, 6, 3, 3)),
    Case("v2.vscsi", Answer(6, 6, 3, 3), Answer(6, 6, 3, 3)),
    Case("v1.lcs", Answer(6, 6, 3, 3), Answer(6, 6, 3, 3)),
    Case("keys.twr", Answer(6, 6, 3, 3), Answer(6, 6, 3, 3)),
    Case("keys.valpin", Answer(6, 6, 3, 3), Answer(6, 6, 3, 3), format="valpin"),
    Case("oracle.oracleGeneral.bin", Answer(6, 6, 3, 3), Answer(6, 6, 3, 3)),
    Case("keys_be64.trace", Answer(6, 6, 3, 3), Answer(6, 6, 3, 3)),
]


def open_case(case: Case, cache: Path) -> mc.Trace:
    return mc.Trace.open(
        CASES / case.file, format=case.format, options=case.options, cache_dir=cache
    )


def answer_of(trace: mc.Trace, ops: Any) -> Answer:
    blocks = trace.blocks(ops)
    curve = mc.hit_ratio_curve(blocks)
    requests = trace.metadata.counts.reads if ops == "reads" else trace.request_count
    return Answer(requests, len(blocks), blocks.unique, int(curve.hits[-1]))


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.file)
def test_answers_are_those_of_the_independent_simulation(case: Case, tmp_path: Path) -> None:
    trace = open_case(case, tmp_path)
    if case.reads is not None:
        assert answer_of(trace, "reads") == case.reads
    assert answer_of(trace, "all") == case.all
    assert trace.metadata.rows.filtered == case.filtered
    assert trace.metadata.rows.skipped == 0


def test_one_vm_in_hourly_files_has_its_blocks_once(tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "hourly", cache_dir=tmp_path)
    assert trace.vms == ("lun4",)
    assert answer_of(trace, "all") == Answer(4, 6, 3, 3)
    assert mc.hit_ratio_curve(trace).at(3) == 0.5


def test_blocks_of_512_bytes_of_overlapping_requests(tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "msr_overlap.csv", cache_dir=tmp_path)
    blocks = trace.blocks(block_bytes=512)
    assert (len(blocks), blocks.unique) == (16, 9)
    assert mc.hit_ratio_curve(blocks).hits[-1] == 7


@pytest.mark.parametrize("name", ["ibm_object_store", "twitter.csv"])
def test_text_keys(name: str, tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / name, cache_dir=tmp_path)
    assert trace.kind == "objects"
    assert trace.blocks("all").unique == 2
    assert trace.metadata.counts.discards == 1


@pytest.mark.parametrize("name", ["sp", "flt", "iso", "com"])
def test_dialects_of_csv(name: str, tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / f"{name}.csv", cache_dir=tmp_path)
    assert trace.metadata.counts.reads == (1 if name == "com" else 2)
    assert trace.vms == ("a",)


def test_a_trailing_comma_is_no_column(tmp_path: Path) -> None:
    assert mc.Trace.open(CASES / "trail.csv", cache_dir=tmp_path).request_count == 2


def test_discards_and_flushes_are_counted_apart(tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "trim.csv", cache_dir=tmp_path)
    counts = trace.metadata.counts
    assert (counts.requests, counts.discards, trace.metadata.rows.flushes) == (1, 1, 1)


def test_fio_filters_what_is_no_request(tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "fio_v2.log", cache_dir=tmp_path)
    rows, counts = trace.metadata.rows, trace.metadata.counts
    assert (counts.requests, counts.discards) == (3, 1)
    # add, open, wait and close; sync
    assert (rows.filtered, rows.flushes) == (4, 1)


def test_repeated_requests_are_counted(tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "meta_kvcache.csv", cache_dir=tmp_path)
    assert trace.metadata.rows.repeated == 17 + 1 + 2
    assert trace.metadata.counts.discards == 1


def test_ratios_of_requests_and_bytes_of_objects(tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "sizes6.csv", options=_S, cache_dir=tmp_path)
    curve = mc.hit_ratio_curve(trace)
    assert (curve.byte_hits[-1], curve.bytes) == (222, 664)  # type: ignore[index]


@pytest.mark.parametrize("interval", ["1h", "1min", "1s"])
def test_empty_intervals_take_no_time(interval: str, tmp_path: Path) -> None:
    trace = mc.Trace.open(CASES / "sparse_intervals.csv", cache_dir=tmp_path)
    assert [len(part) for part in trace.blocks().by_interval(interval)] in ([1, 0, 2], [1, 0, 1, 1])


def test_a_gap_of_years_gives_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mc.Trace.open(CASES / "epoch_gap.csv", cache_dir=tmp_path)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith("epoch_gap.csv: request 2 comes 53.2 years after the one before it")


def test_an_unknown_layout_is_refused_with_a_proposal(tmp_path: Path) -> None:
    nearest = r"It begins:(.|\n)*nearest format is .*(line|record) \d"
    with pytest.raises(mc.TraceError, match=nearest):
        mc.Trace.open(CASES / "addresses.txt", cache_dir=tmp_path)


_BLANKS = {"delimiter": "space", "header": False}


# The mappings of docs/traces.md, and reads, blocks or objects, and hits of reads.
@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (
            (CASES / "addresses.txt").read_text(),
            _BLANKS | {"op": "1", "read": "l", "write": "s", "offset": "2"},
            (2, 1, 1),
        ),
        ("1 7 68\n2 9 7454\n3 7 68\n", _BLANKS | {"key": "2", "length": "3"}, (3, 2, 1)),
        (
            "5,7,68\n6,7,68\n",
            {"header": False, "time": "1", "time_unit": "s", "key": "2", "length": "3"},
            (2, 1, 1),
        ),
        (
            "uuid,document_id,timestamp,platform\na,7,61,1\nb,7,63,2\n",
            {"key": "document_id", "time": "timestamp", "time_unit": "ms"},
            (2, 1, 1),
        ),
        (
            "1189.5 s c GETVIDEO a d\n1189.6 s c OTHER b d\n1190.5 s c GETVIDEO a d\n",
            _BLANKS | {"time": "1", "time_unit": "s", "key": "5", "where": "4=GETVIDEO"},
            (2, 1, 1),
        ),
    ],
    ids=["address", "adapt-size", "tragen", "outbrain", "umass-youtube"],
)
def test_formats_of_caffeine_are_mappings(
    text: str, options: dict[str, Any], expected: tuple[int, int, int], tmp_path: Path
) -> None:
    file = tmp_path / "requests.txt"
    file.write_text(text)
    trace = mc.Trace.open(file, format="csv", options=options, cache_dir=tmp_path / "cache")
    reads = answer_of(trace, "reads")
    assert (reads.accesses, reads.unique, reads.hits) == expected
