"""What caches of the kernel did, from blktrace of their devices.

Trusts: counts of recorded devices, of which the kernel counted the same; made-up events.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from block_devices import (
    CACHE,
    COMPLETED,
    ORIGIN,
    QUEUED,
    READ,
    REMAPPED,
    UPPER,
    WRITE,
    Devices,
    bcache,
    event,
    write_back,
)
from commands import call, printed

from mcsim import ConfigError, ResultTable, Trace, TraceError, cache_device, compare


@pytest.fixture
def recorded(trace_dir: Path) -> Path:
    for folder in (trace_dir / "blktrace", trace_dir.parent / "cases" / "blktrace"):
        if folder.is_dir():
            return folder
    pytest.skip("needs blktrace/ beside MCSIM_TRACE_DIR")


def counts_of(table: ResultTable) -> dict[str, int | None]:
    return dict(zip(table.values("kind"), table.values("requests"), strict=True))


ALL = {
    "read hits": 1, "read misses": 2, "write hits": 1, "write misses": 1, "all requests": 5,
    "promotions": 1, "write-backs": 1,
}  # fmt: skip


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("left_out", ["", "origin", "cache"])
def test_classes_of_made_up_requests(tmp_path: Path, left_out: str, order: str) -> None:
    """Any of the two devices below is enough in write-back."""
    devices = write_back()
    upper, origin, cache = devices.written(tmp_path)
    files = {"origin": origin, "cache": cache}
    table = cache_device(upper, **{name: file for name, file in files.items() if name != left_out})
    assert counts_of(table) == ALL
    assert table.answer == "2 of 5 requests hit (40.00 %)"
    assert table.notes == ("2 flushes and discards are left out",)
    assert table.values("mean_latency_ns")[:4] == [4_000.0] * 4
    assert table.values("bytes")[-2:] == [32_768] * 2


def test_writes_through_need_the_file_of_the_cache(tmp_path: Path) -> None:
    devices = Devices()
    devices.request(READ, 640, [(ORIGIN, 640)])
    devices.request(WRITE, 640, [(ORIGIN, 640), (CACHE, 0)])
    devices.request(WRITE, 1_280, [(ORIGIN, 1_280)])
    upper, origin, cache = devices.written(tmp_path)
    expected = {"read hits": 0, "read misses": 1, "write hits": 1, "write misses": 1}
    expected |= {"all requests": 3, "promotions": 0, "write-backs": 0}
    for given in ({"origin": origin, "cache": cache}, {"cache": cache}):
        assert counts_of(cache_device(upper, **given)) == expected
    table = cache_device(upper, origin)
    assert counts_of(table) == expected | {"write hits": None, "write misses": None}
    assert table.values("reason")[2].startswith("every write reaches the origin")
    assert table.answer == "0 of 1 reads hit (0.00 %)"


def test_the_device_alone_shows_latency(tmp_path: Path) -> None:
    table = cache_device(write_back().written(tmp_path)[0])
    assert counts_of(table) == dict.fromkeys(ALL, None) | {"all requests": 5}
    assert table.values("mean_latency_ns")[4] == 4_000
    assert table.values("reason")[0] == "needs the file of the origin or of the cache"


def test_parts_of_a_split_request_hit_together(tmp_path: Path) -> None:
    """A request is a hit if the cache has all of it."""
    devices = Devices()
    for targets in ((CACHE, ORIGIN), (CACHE, CACHE)):
        devices.add(QUEUED, READ, 56, UPPER, size=8_192)
        for at, device in zip((56, 64), targets, strict=True):
            moved = at + 640 * (device == CACHE)
            devices.add(REMAPPED, READ, moved, device, source=(UPPER, at))
            devices.add(QUEUED, READ, moved, device)
        devices.add(COMPLETED, READ, 56, UPPER, size=8_192)
    counts = counts_of(cache_device(*devices.written(tmp_path)))
    assert (counts["read hits"], counts["read misses"]) == (1, 1)
    assert (counts["promotions"], counts["write-backs"]) == (0, 0)


def test_bcache_is_completed_by_its_backing_device(tmp_path: Path) -> None:
    upper, origin, cache = bcache().written(tmp_path)
    table = cache_device(upper, origin, cache)
    expected = {
        "read hits": 1, "read misses": 1, "write hits": None, "write misses": None, "writes": 1,
        "all requests": 3, "promotions": None, "write-backs": 1, "cache writes": 2,
        "metadata writes": 1,
    }  # fmt: skip
    assert counts_of(table) == expected
    assert table.answer == "1 of 2 reads hit (50.00 %)"
    assert table.values("mean_latency_ns")[:2] == [1_000, 4_000]
    missing = {"cache writes": None, "metadata writes": None}
    assert counts_of(cache_device(upper, origin)) == expected | missing
    unknown = dict.fromkeys(("read hits", "read misses", "write-backs"), None)
    assert counts_of(cache_device(upper, cache=cache)) == expected | unknown
    assert cache_device(upper, cache=cache).values("mean_latency_ns")[5] is None


def test_dm_cache_recorded(recorded: Path) -> None:
    upper, origin, cache = (
        recorded / f"dmcache.{name}.blktrace.0.zst" for name in ("dm-1", "ram0", "dm-0")
    )
    for given in ({"origin": origin, "cache": cache}, {"origin": origin}, {"cache": cache}):
        counts = counts_of(cache_device(upper, **given))
        assert counts == {
            "read hits": 531, "read misses": 799, "write hits": 281, "write misses": 389,
            "all requests": 2_000, "promotions": 440, "write-backs": 0,
        }  # fmt: skip


def test_bcache_recorded(recorded: Path) -> None:
    """The file of its cache device is missing."""
    upper, origin = (recorded / f"bcache.{name}.blktrace.0.zst" for name in ("bcache0", "dm-0"))
    table = cache_device(upper, origin)
    counts = counts_of(table)
    assert (counts["read misses"], counts["writes"]) == (1_241 - 670, 670)
    assert (counts["read hits"], counts["all requests"]) == (1_330 - 571, 2_000)
    assert None not in table.values("mean_latency_ns")[:2]
    assert counts_of(cache_device(upper))["read hits"] is None


def test_devices_that_do_not_fit(tmp_path: Path) -> None:
    upper, origin, cache = write_back().written(tmp_path)
    later = tmp_path / "later"
    later.mkdir()
    devices = Devices()
    devices.time = 10**9
    devices.request(READ, 640, [(ORIGIN, 640)])
    devices.request(READ, 640, [(CACHE, 0)])
    other = devices.written(later)
    stranger = tmp_path / "stranger"
    moved = event(1, REMAPPED, READ, 5, 9 << 20, source=(7 << 20, 5))
    stranger.write_bytes(moved + event(2, QUEUED, READ, 5, 9 << 20))
    silent = tmp_path / "silent"
    silent.write_bytes(event(2, QUEUED, READ, 5, 9 << 20))
    alone = tmp_path / "bcache"
    alone.mkdir()
    wrong: list[tuple[tuple[Path | None, ...], str]] = [
        ((upper, upper), "origin: has the events of 253,3, as device"),
        ((upper, cache, origin), "origin: requests of 253,3 have other sectors on 253,0"),
        (
            (upper, None, origin),
            "cache: requests of 253,3 have the same sectors on 253,2, as on an",
        ),
        ((upper, other[1]), "origin: 253,2 was recorded at another time than 253,3"),
        ((upper, stranger), "origin: 9,0 has requests of 7,0, none of 253,3"),
        ((upper, silent), "device: no request of 253,3 was mapped to 9,0"),
        ((bcache().written(alone)[0], silent), "origin: 9,0 does not complete the requests of"),
    ]
    for files, message in wrong:
        with pytest.raises(ConfigError) as refused:
            cache_device(*files)  # type: ignore[arg-type]
        assert str(refused.value).startswith(message)


def test_files_that_are_no_blktrace(tmp_path: Path) -> None:
    file = tmp_path / "upper.blktrace.0"
    good = event(1, QUEUED, READ, 8, UPPER)
    for content, message in (
        (b"time,op\n" * 20, "not a binary file of blktrace, version 7"),
        (good + good[:30], "record 2: the file ends in it"),
        (good + b"x" * 46 + bytes(2), "record 2: expected 0x65617407, got 0x78787878"),
        (
            good + event(2, QUEUED, READ, 8, CACHE),
            "expected events of one device, got 253,0, 253,3",
        ),
        (b"", "expected events of one device, got none"),
    ):
        file.write_bytes(content)
        with pytest.raises(TraceError) as refused:
            cache_device(file)
        assert str(refused.value) == f"{file}: {message}"


def test_files_of_several_processors(tmp_path: Path) -> None:
    events = write_back().files[UPPER]
    for cpu, part in enumerate((events[::2], events[1::2], [])):
        (tmp_path / f"dm-3.blktrace.{cpu}").write_bytes(b"".join(part))
    (tmp_path / "all").write_bytes(b"".join(events))
    tables = [cache_device(tmp_path / name).tolist() for name in ("dm-3.blktrace.*", "all")]
    assert tables[0] == tables[1]


def test_the_command_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    upper, origin, cache = write_back().written(tmp_path)
    said = printed(capsys, "trace", "cache-device", upper, "--origin", origin, "--cache", cache)
    assert said[0] == "253,3 (device mapper): origin 253,2, cache 253,0"
    assert said[-1] == "2 of 5 requests hit (40.00 %)"
    code, _, error = call(capsys, "trace", "cache-device", upper, "--origin", upper)
    assert code == 2
    assert "--origin: has the events of 253,3, as device" in error


def test_policies_against_the_real_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of five requests hit there. A cache for all blocks hits two: 640, 648 and others."""
    monkeypatch.chdir(tmp_path)
    devices = Devices()
    for sector in (640, 1_280, 640, 648):
        devices.request(READ, sector, [(ORIGIN, sector)])
    devices.request(WRITE, 648, [(CACHE, 8)])
    upper, origin, cache = devices.written(tmp_path)
    found = cache_device(upper, origin, cache)
    trace = Trace.open(upper)
    rows = compare(trace, "lru", [10], against=found, ops="all", by="requests")
    assert rows.gain.tolist() == pytest.approx([2 / 5 - 1 / 5])
    assert compare(trace, "lru", [10], against=found, by="bytes").gain.tolist() == [1 / 4]
    files = f"real(origin={origin.name},cache={cache.name})"
    words = ("compare", upper.name, "--policies", "lru", "--sizes", "10", "--ops", "all")
    rows_of = printed(capsys, *words, "--against", files)
    assert rows_of[0] == (
        "largest gain: `lru`, +20.00 points at 40 KiB; `lru` hits more than `real` at every size."
    )
    assert [row.split() for row in rows_of[4:6]] == [["real", "20.00"], ["lru", "+20.00"]]
    (tmp_path / "traces").mkdir()
    upper.rename(tmp_path / "traces" / upper.name)
    elsewhere = ("--trace-dir", "traces", "--against", files)
    assert printed(capsys, *words, *elsewhere)[4:6] == rows_of[4:6]
    (tmp_path / "traces" / upper.name).rename(upper)
    mistakes: list[tuple[tuple[str, ...], str]] = [
        (("--by", "blocks"), "--by: a real cache counts requests; expected 'requests' or 'bytes'"),
        (("--warm-up", "1us"), "--against real: a real cache has no warm-up"),
    ]
    for more, message in mistakes:
        code, _, said = call(capsys, *words, "--against", files, *more)
        assert (code, said.splitlines()[-1].startswith(f"mcsim: {message}")) == (2, True), said
    for wrong, message in (
        ("real(orign=x)", "--against: real has origin and cache, or before and after, not orign"),
        ("real", "--against real: read hits of the real cache: needs the file of the origin or"),
    ):
        code, _, said = call(capsys, *words, "--against", wrong)
        assert (code, said.splitlines()[-1].startswith(f"mcsim: {message}")) == (2, True), said
    shorter = Trace.from_arrays([0, 1], [0, 4096], [4096, 4096])
    with pytest.raises(ConfigError, match="the real cache had 5 requests, the trace 2"):
        compare(shorter, "lru", [10], against=found, by="requests")
    with pytest.raises(ConfigError, match="a real cache is of one trace, not of each"):
        compare([shorter, trace], "lru", [10], against=found, each=True)


def test_the_real_dm_cache_is_a_baseline(recorded: Path) -> None:
    upper, origin, cache = (
        recorded / f"dmcache.{name}.blktrace.0.zst" for name in ("dm-1", "ram0", "dm-0")
    )
    found = cache_device(upper, origin, cache)
    rows = compare(upper, ["lru", "opt"], [128], against=found, ops="all", by="requests")
    assert rows.gain.tolist() == pytest.approx((rows.request_hit_ratio - 812 / 2_000).tolist())


def test_models_stand_beside_the_real_dm_cache(
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("dm-1", "ram0", "dm-0"):
        file = f"dmcache.{name}.blktrace.0"
        (tmp_path / f"{name}.blktrace.0.zst").write_bytes((recorded / f"{file}.zst").read_bytes())
    monkeypatch.chdir(tmp_path)
    model = "dm-cache(writes=back,origin_gib=1)"
    files = "real(origin=ram0.blktrace.0.zst,cache=dm-0.blktrace.0.zst)"
    words = ("compare", "dm-1.blktrace.0.zst", "--ops", "all", "--sizes", "16MiB")
    lines = printed(capsys, *words, "--policies", f"{model},opt", "--against", files)
    assert lines[0] == (
        f"Model `{model}` hits 42.00 %, the real cache 40.60 % (+1.40 points at 16 MiB)."
    )
    assert [line.split()[-1] for line in lines[4:7]] == ["40.60", "+1.40", "+21.40"]
    assert lines[-1] == f"{model}: cache blocks of 32KiB; a size is rounded down to whole ones"
