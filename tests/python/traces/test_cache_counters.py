"""Counters of real caches as text.

Trusts: counts written here by the formats of the kernel and of ZFS.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import call, printed

from mcsim import ConfigError, Trace, TraceError, cache_counters, compare

DM_CACHE = (
    "0 65536 cache 8 27/1024 64 {used}/512 {hits} 3 128 1 metadata2 1 writeback 2 "
    "migration_threshold 2048 smq 0 rw -"
)
WRITECACHE = "data: 0 65536 writecache 0 2040 1027 0 {counts} 9 1"
BCACHE = "/sys/block/bcache0/bcache/stats_total/"


def status(folder: Path, name: str, **values: object) -> Path:
    file = folder / name
    file.write_text("other: 0 8 linear\n" + DM_CACHE.format(**values) + "\n")
    return file


def counts_of(before: Path, after: Path) -> dict[str, int | None]:
    table = cache_counters(before, after)
    return dict(zip(table.values("kind"), table.values("requests"), strict=True))


def test_dm_cache(tmp_path: Path) -> None:
    before = status(tmp_path, "before", used=10, hits="100 50 20 30 2")
    after = status(tmp_path, "after", used=30, hits="160 90 25 45 7")
    assert counts_of(before, after) == {
        "read hits": 60, "read misses": 40, "write hits": 5, "write misses": 15,
        "promotions": 0, "demotions": 5, "all requests": None,
    }  # fmt: skip
    table = cache_counters(before, after)
    assert table.answer == "65 of 120 requests hit (54.17 %)"
    assert "is promoted is counted nowhere" in table.notes[0]
    assert cache_counters(before, before).answer == "0 of 0 requests hit"


def test_dm_writecache(tmp_path: Path) -> None:
    for name, counts in (("before", "0 0 0 0 0 0 0 0"), ("after", "50 20 100 30 10 5 55 2")):
        (tmp_path / name).write_text(WRITECACHE.format(counts=counts))
    assert counts_of(tmp_path / "before", tmp_path / "after") == {
        "read hits": 20, "read misses": 30, "write hits": 40, "write misses": 60,
        "promotions": 55, "all requests": None,
    }  # fmt: skip


@pytest.mark.parametrize("prefix", [BCACHE, ""])
def test_bcache_counts_reads_alone(tmp_path: Path, prefix: str) -> None:
    for name, (hits, misses, bypassed) in (("before", (10, 5, 0)), ("after", (70, 25, 20))):
        lines = {"cache_hits": hits, "cache_misses": misses, "cache_bypass_misses": bypassed}
        text = "".join(f"{prefix}{key}:{value}\n" for key, value in lines.items())
        (tmp_path / name).write_text(f"{text}{prefix}bypassed:28.0M\n")
    found = counts_of(tmp_path / "before", tmp_path / "after")
    assert found == {
        "read hits": 60, "read misses": 40, "write hits": None, "write misses": None,
        "all requests": None,
    }  # fmt: skip
    assert cache_counters(tmp_path / "before", tmp_path / "after").answer.startswith("60 of 100 re")


def test_zfs(tmp_path: Path) -> None:
    for name, at in (("before", 0), ("after", 10)):
        counts = {"demand_data_hits": 6, "demand_data_misses": 2, "demand_metadata_hits": 1}
        counts |= {"demand_metadata_misses": 1, "hits": 9, "l2_hits": 2}
        rows = [f"{key:<31} 4    {value * at}" for key, value in counts.items()]
        (tmp_path / name).write_text("9 1 0x01 147 39984 1 2\nname type data\n" + "\n".join(rows))
    found = counts_of(tmp_path / "before", tmp_path / "after")
    assert (found["read hits"], found["read misses"], found["write hits"]) == (70, 30, None)


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = status(tmp_path, "before", used=10, hits="100 50 20 30 2")
    after = status(tmp_path, "after", used=30, hits="160 90 25 45 7")
    other = tmp_path / "other"
    other.write_text("cache_hits:1\ncache_misses:2\n")
    texts = {
        "expected the text of dmsetup status of a cache": "nothing\n",
        "2 caches; give the status of one": before.read_text() * 2,
        "cache_misses is missing": "cache_hits:1\n",
        "expected 7 counters of a dm-cache": "0 65536 cache Fail\n",
    }
    for message, text in texts.items():
        (tmp_path / "wrong").write_text(text)
        with pytest.raises(TraceError, match=message):
            cache_counters(tmp_path / "wrong", after)
    with pytest.raises(ConfigError, match="read hits fell from 160 to 100: the files are exchang"):
        cache_counters(after, before)
    with pytest.raises(ConfigError, match=r"is of bcache, .*before of dm-cache"):
        cache_counters(before, other)
    for missing in ("none.txt", "", "."):
        code, _, said = call(capsys, "trace", "counters", missing, before)
        assert (code, said.startswith("mcsim: ")) == (2, True), said
    code, _, said = call(capsys, "trace", "counters", after, before)
    assert (code, said) == (
        2,
        f"mcsim: {before}: read hits fell from 160 to 100: the files are exchanged, or the cache "
        "was made anew in between\n",
    )


def test_counters_are_a_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = status(tmp_path, "before", used=10, hits="0 0 0 0 0")
    after = status(tmp_path, "after", used=30, hits="1 3 0 0 0")
    assert printed(capsys, "trace", "counters", "before", "after")[-1] == (
        "1 of 4 requests hit (25.00 %)"
    )
    trace = Trace.from_arrays([0, 1, 2, 3], [0, 0, 4096, 0], [4096] * 4)
    found = cache_counters(before, after)
    rows = compare(trace, "lru", [2], against=found, by="requests")
    assert rows.gain.tolist() == [1 / 2 - 1 / 4]
    trace.save("t.csv")
    words = ("compare", "t.csv", "--policies", "lru", "--sizes", "2")
    out = printed(capsys, *words, "--against", "real(before=before,after=after)")
    assert out[0].startswith("largest gain: `lru`, +25.00 points")
    code, _, said = call(capsys, *words, "--against", "real(before=before)")
    assert (code, "has origin and cache, or before and after, not before" in said) == (2, True)
    with pytest.raises(ConfigError, match="counters have no bytes"):
        compare(trace, "lru", [2], against=found, by="bytes")
