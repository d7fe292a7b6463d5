# Trusts: the file system's sizes and times; what is made anew equals what was made first.
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import commands
import pytest
from small import TINY

from mcsim.base import claims
from mcsim.base.errors import ConfigError
from mcsim.base.files import temporary_beside
from mcsim.traces.cache import (
    INTERNED,
    adding,
    cache_directory,
    cache_limit,
    entries,
    find,
    make_room,
)
from mcsim.traces.marks import mark_in_use
from mcsim.traces.pipes import spooled
from mcsim.traces.synth import synth_trace
from mcsim.traces.trace import Trace

AN_HOUR_NS = 3600 * 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache with three parsed traces, used an hour apart, the first longest ago."""
    cache = tmp_path / "cache"
    for k in range(3):
        parsed(tmp_path, k)
    for k in range(3):
        age(store_of(cache, k), (3 - k) * AN_HOUR_NS)
    return cache


def parsed(tmp_path: Path, k: int) -> Trace:
    source = tmp_path / f"trace_{k}.txt"
    if not source.exists():
        source.write_text("\n".join(str(block % (50 + k)) for block in range(1000)))
    return Trace.open(source, format="keys", cache_dir=tmp_path / "cache")


def store_of(cache: Path, k: int) -> Path:
    (path,) = cache.glob(f"trace_{k}-*.arrow")
    return path


def age(path: Path, ns: int) -> None:
    found = path.stat()
    os.utime(path, ns=(found.st_mtime_ns - ns, found.st_mtime_ns - ns))


def stores(cache: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in cache.glob("*.arrow"))


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.call(capsys, "cache", *arguments)


def test_what_is_kept_is_known_by_its_name(folder: Path) -> None:
    synth_trace(TINY, cache_dir=folder)
    (folder / "mine.arrow").write_text("not of the cache")
    (folder / "results-0123456789abcdef.csv").touch()
    found = list(entries(folder))
    kinds = [entry.kind.name for entry in found]
    assert kinds == ["trace"] * 4 + ["digest"] * kinds.count("digest")
    assert sum(entry.bytes for entry in found[:4]) == sum(
        path.stat().st_size for path in folder.glob("*-*.arrow")
    )
    described = {entry.path.name.partition("-")[0]: entry.describe() for entry in found[:4]}
    assert described["trace_0"] == "1.00 k requests of trace_0.txt"
    assert described["tiny"].endswith(" requests generated from tiny.yaml")
    assert [entry.fault() for entry in found] == [None] * len(found)
    assert list(entries(folder / "nowhere")) == []


def test_what_was_used_longest_ago_makes_room(folder: Path) -> None:
    sizes = {entry.path: entry.bytes for entry in entries(folder)}
    notes = sum(size for path, size in sizes.items() if path.suffix == ".json")
    one = store_of(folder, 0).stat().st_size
    assert make_room(folder, sum(sizes.values())) == []
    removed = make_room(folder, 2 * one + notes)
    assert [entry.path.name.partition("-")[0] for entry in removed] == ["trace_0"]
    assert stores(folder) == ["trace_1", "trace_2"]
    # A process may need its used entries again.
    assert make_room(folder, 0, since_ns=0) == []
    make_room(folder, 0)
    assert stores(folder) == []


def test_to_open_a_trace_is_to_use_it(folder: Path, tmp_path: Path) -> None:
    before = next(entries(folder))
    parsed(tmp_path, 0)
    assert next(entries(folder)).path == before.path == store_of(folder, 0)
    assert next(entries(folder)).used_ns > before.used_ns + 2 * AN_HOUR_NS
    make_room(folder, 2 * store_of(folder, 0).stat().st_size)
    assert "trace_0" in stores(folder)


def test_to_look_at_what_is_kept_is_no_use_of_it(folder: Path) -> None:
    before = {entry.path: entry.used_ns for entry in entries(folder)}
    for entry in entries(folder):
        assert entry.describe() != "damaged"
        assert entry.fault() is None
    assert {entry.path: entry.used_ns for entry in entries(folder)} == before


def test_there_is_a_limit_where_something_is_made(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = store_of(folder, 0).stat().st_size
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", str(5 * one // 2))
    references = parsed(tmp_path, 3).blocks("all").ids.tolist()
    assert stores(folder) == ["trace_2", "trace_3"]
    assert references[:3] == [0, 1, 2]
    # Removed entries are computed again.
    assert parsed(tmp_path, 0).request_count == 1000
    # One entry exceeds the limit: it stays, all others are removed.
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", "1")
    for path in folder.iterdir():
        age(path, AN_HOUR_NS)
    assert parsed(tmp_path, 4).request_count == 1000
    assert stores(folder) == ["trace_4"]


def test_one_that_is_open_can_be_removed(folder: Path, tmp_path: Path) -> None:
    trace = parsed(tmp_path, 1)
    for entry in list(entries(folder)):
        assert entry.remove()
        assert not entry.remove()
    assert len(trace.blocks("all")) == 1000


def test_files_of_others_are_left(folder: Path) -> None:
    mine = [folder / "mine.arrow", folder / "web-2024.arrow", folder / "digest-of-mine.json"]
    for path in mine:
        path.write_bytes(bytes(100_000))
        age(path, 100 * AN_HOUR_NS)
    make_room(folder, 0)
    assert all(path.exists() for path in mine)
    assert list(entries(folder)) == []


def test_damage_is_found_and_made_good(folder: Path, tmp_path: Path) -> None:
    damage(store_of(folder, 1))
    (note,) = [entry for entry in entries(folder) if entry.kind.name == "digest"][:1] or [None]
    if note is not None:
        note.path.write_text("{}")
    faults = {e.path: e.fault() for e in entries(folder) if e.fault() is not None}
    assert set(faults) == {store_of(folder, 1)} | ({note.path} if note else set())
    assert str(store_of(folder, 1)) in str(faults[store_of(folder, 1)])
    assert len(parsed(tmp_path, 1).blocks("all")) == 1000
    assert all(e.fault() is None for e in entries(folder) if e.kind.name == "trace")


def test_the_limit_is_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", "3GiB")
    assert cache_limit(tmp_path) == 3 * 2**30
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", "lots")
    with pytest.raises(ConfigError, match="MCSIM_CACHE_LIMIT: expected a size such as 4KiB"):
        cache_limit(tmp_path)


@pytest.mark.parametrize(
    ("total", "free", "taken", "limit"),
    [(1000, 50, 0, 16), (1000, 10, 0, 5), (1000, 6, 4, 5), (100, 90, 0, 10), (100, 0, 0, 0)],
)
def test_the_default_limit_suits_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int, taken: int, limit: int
) -> None:
    """In GiB. Entries, which take free space, do not change it."""
    asked: list[Path] = []

    def disk_usage(path: Path) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(total=total * 2**30, free=free * 2**30)

    monkeypatch.delenv("MCSIM_CACHE_LIMIT", raising=False)
    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    folder = tmp_path / "not" / "there" / "yet"
    if taken:
        folder.mkdir(parents=True)
        with (folder / "a-0123456789abcdef.arrow").open("wb") as file:
            file.truncate(taken * 2**30)  # sparse
    assert cache_limit(folder) == limit * 2**30
    assert asked == [folder if taken else tmp_path]


def test_traces_that_fit_together_stay_when_the_disk_fills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk has room for eight entries at first."""
    monkeypatch.delenv("MCSIM_CACHE_LIMIT", raising=False)
    cache = tmp_path / "cache"
    parsed(tmp_path, 0)
    size = store_of(cache, 0).stat().st_size

    def disk_usage(path: Path) -> SimpleNamespace:
        taken = sum(entry.bytes for entry in entries(cache))
        return SimpleNamespace(total=1000 * size, free=8 * size - taken)

    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    monkeypatch.setattr("mcsim.traces.cache._BEGUN_NS", 2**63)  # as if by later processes
    for k in (1, 2):
        parsed(tmp_path, k)
    assert stores(cache) == ["trace_0", "trace_1", "trace_2"]
    for k in (3, 4, 5):
        parsed(tmp_path, k)
    assert stores(cache)[-1] == "trace_5"
    assert 3 <= len(stores(cache)) <= 4


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a path one of another user; all paths, if this user cannot."""
    if os.geteuid() == 0:
        os.chown(path, 12345, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr("os.geteuid", lambda: 12345)


def modes_below(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mode & 0o777 for p in folder.rglob("*")}


@pytest.mark.parametrize("umask", [0o022, 0])
def test_copies_of_a_private_trace_are_private(tmp_path: Path, umask: int) -> None:
    source = tmp_path / "trace_0.txt"
    source.touch(0o600)
    source.write_text("1\n2\n", encoding="ascii")
    os.utime(source, (1, 1))
    before = os.umask(umask)
    try:
        cache = tmp_path / "new" / "cache"
        Trace.open(source, format="keys", cache_dir=cache)
        with adding(cache, cache / INTERNED / "a-0123456789abcdef.profile") as temporary:
            temporary.write_bytes(b"a")
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        threading.Thread(target=fifo.write_text, args=("1\n2\n",)).start()
        with spooled(fifo, cache, lambda done, total: None) as spool:
            assert spool.file.stat().st_mode & 0o777 == 0o600
            modes = modes_below(cache)
    finally:
        os.umask(before)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert modes["interned"] == modes["spooled"] == 0o700
    files = {name: mode for name, mode in modes.items() if name.endswith((".arrow", ".json"))}
    assert len(files) > 0
    assert set(files.values()) == {0o600}
    assert modes["interned/a-0123456789abcdef.profile"] == 0o600


def test_entries_of_other_users_are_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    path = store_of(folder, 1)
    give_away(path, monkeypatch)
    planted = path.stat().st_ino
    assert commands.code_of("cache", "verify", "--cache-dir", folder) == 1
    assert len(parsed(tmp_path, 1).blocks("all")) == 1000
    assert f"{path}: of another user, number 12345; it is not used" in caplog.text
    found = path.stat()
    assert (found.st_uid, found.st_mode & 0o777) == (0, 0o600)
    assert found.st_ino != planted
    assert commands.code_of("cache", "verify", "--cache-dir", folder) == 0


@pytest.mark.parametrize("below", ["", INTERNED])
@pytest.mark.parametrize("why", ["other users may write it", "of another user, number "])
def test_folders_of_other_users_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str, why: str
) -> None:
    refused = folder / below
    refused.mkdir(exist_ok=True)
    if why == "other users may write it":
        refused.chmod(0o1777)
    else:
        give_away(refused, monkeypatch)
    expected = pytest.raises(ConfigError, match=f"^{refused}: {why}.*chmod 700")
    with expected:
        if below:
            find(refused / "a-0123456789abcdef.profile", lambda _: None)
        else:
            parsed(tmp_path, 1)
    assert commands.code_of("cache", "verify", "--cache-dir", folder) == 2


def test_a_link_of_another_user_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    Trace.open(tmp_path / "trace_1.txt", format="keys", cache_dir=link)
    give_away(link, monkeypatch)
    with pytest.raises(ConfigError, match=f"^{link}: of another user"):
        Trace.open(tmp_path / "trace_1.txt", format="keys", cache_dir=link)


def test_the_folder_of_the_user_becomes_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions made it for everyone; a folder with a name may have other uses."""
    monkeypatch.delenv("MCSIM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    named = tmp_path / "named"
    for made in (named, tmp_path / "mcsim" / "traces" / INTERNED):
        made.mkdir(parents=True)
    (tmp_path / "mcsim" / "traces").chmod(0o775)
    named.chmod(0o755)
    (tmp_path / "keys.txt").write_text("1\n2\n", encoding="ascii")
    Trace.open(tmp_path / "keys.txt", format="keys")
    Trace.open(tmp_path / "keys.txt", format="keys", cache_dir=named)
    assert (tmp_path / "mcsim" / "traces").stat().st_mode & 0o777 == 0o700
    assert named.stat().st_mode & 0o777 == 0o755


def test_ls(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", "3GiB")
    code, said, _ = call(capsys, "ls", "--cache-dir", folder)
    assert code == 0
    headings, *rows, last = said.splitlines()
    assert headings.split() == ["name", "kind", "used", "size", "content"]
    assert [row.partition("-")[0] for row in rows] == ["trace_0", "trace_1", "trace_2"]
    assert rows[0].endswith("1.00 k requests of trace_0.txt")
    assert last.startswith("3 entries")
    assert last.endswith(f"of at most 3 GiB in {folder}")
    told = json.loads(call(capsys, "ls", "--cache-dir", folder, "--json")[1])
    assert told["bytes"] == sum(entry["bytes"] for entry in told["entries"])
    assert {entry["path"] for entry in told["entries"]} == {str(e.path) for e in entries(folder)}
    assert told["limit"] == 3 * 2**30


def test_verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = len(list(entries(folder)))
    assert call(capsys, "verify", "--cache-dir", folder) == (
        0,
        f"{count} of {count} entries are whole\n",
        "",
    )
    damage(store_of(folder, 1))
    code, said, _ = call(capsys, "verify", "--cache-dir", folder)
    assert code == 1
    assert said.startswith(f"{store_of(folder, 1)}: ")
    assert said.endswith(f"{count - 1} of {count} entries are whole\n")
    path = store_of(folder, 1)
    code, said, _ = call(capsys, "verify", "--cache-dir", folder, "--remove", "--json")
    assert code == 1
    assert list(json.loads(said)["damaged"]) == [str(path)]
    assert not path.exists()
    assert call(capsys, "verify", "--cache-dir", folder)[0] == 0


def test_rm(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rm = ("rm", "--cache-dir", folder)
    first, size = store_of(folder, 0), store_of(folder, 0).stat().st_size
    code, said, _ = call(capsys, *rm, first.name)
    assert code == 0
    _, row, total = said.splitlines()
    assert row.startswith(f"{first}  ")
    assert total.endswith(" freed")
    code, _, said = call(capsys, *rm, first.name)
    assert code == 2
    assert said.startswith(f"mcsim: no entry '{first.name}'")
    notes = sum(entry.bytes for entry in entries(folder) if entry.kind.name == "digest")
    call(capsys, *rm, "--to", str(size + notes))
    assert stores(folder) == ["trace_2"]
    assert call(capsys, *rm, "trace_*")[0] == 0
    assert stores(folder) == []
    call(capsys, *rm, "--all")
    assert list(entries(folder)) == []
    assert call(capsys, *rm, "--all") == (0, "nothing to remove\n", "")
    for wrong in ((), ("x", "--all"), ("--all", "--to", "1")):
        code, _, said = call(capsys, *rm, *wrong)
        assert (code, said) == (2, "mcsim: give names, --all or --to SIZE: one of them\n")
    code, _, said = call(capsys, *rm, "--to", "few")
    assert (code, said[:35]) == (2, "mcsim: --to: expected a size such a")


def test_the_folder_is_the_users_or_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("MCSIM_CACHE_LIMIT", "3GiB")
    assert cache_directory() == tmp_path
    assert call(capsys, "ls")[1] == f"0 entries; 0 B of at most 3 GiB in {tmp_path}\n"


def elsewhere(folder: Path, *names: str, age_ns: int = 0) -> Path:
    """Write the mark of a process of another host."""
    place = claims._place().translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    host, job, process, random = claims.new_claim().split(".")
    claim = f"other-{host}.{job}.{process[:-8]}{place}.{random}"
    mark = folder / f".in-use.{claim}{claims.TEMPORARY_SUFFIX}"
    mark.write_text("".join(f"{name}\0" for name in names))
    age(mark, age_ns)
    return mark


def test_what_another_host_has_open_stays(folder: Path) -> None:
    open_there, closed_there = store_of(folder, 0), store_of(folder, 1)
    elsewhere(folder, "trace_7-0123456789abcdef.arrow", open_there.name)
    lease_ns = int(claims.LEASE_SECONDS * 1e9)
    expired = elsewhere(folder, closed_there.name, age_ns=2 * lease_ns)
    removed = make_room(folder, 0)
    assert open_there.exists()
    assert open_there not in [entry.path for entry in removed]
    assert not closed_there.exists()
    # The next file that is made in the folder takes expired marks away.
    with temporary_beside(folder / "any"):
        assert not expired.exists()


def test_a_process_marks_what_it_opens(tmp_path: Path) -> None:
    program = (
        "import sys, mcsim; from pathlib import Path\n"
        "from mcsim.traces.marks import _PREFIX\n"
        "cache = Path(sys.argv[1]) / 'cache'\n"
        "for _ in range(2):  # made, found\n"
        "    mcsim.Trace.open(Path(sys.argv[1]) / 'trace_0.txt', format='keys', cache_dir=cache)\n"
        "    (mark,) = cache.glob(f'{_PREFIX}*')\n"
        "    (store,) = cache.glob('*.arrow')\n"
        "    assert store.name in mark.read_text().split('\\0')\n"
    )
    (tmp_path / "trace_0.txt").write_text("1\n2\n1\n", encoding="ascii")
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
    assert not list((tmp_path / "cache").glob(".*"))  # gone with the process


def test_a_mark_that_was_removed_is_written_again_with_all_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        mark_in_use(tmp_path / name)
    (mark,) = tmp_path.iterdir()
    assert mark.read_bytes() == b"a\0b\0"
    mark.unlink()
    mark_in_use(tmp_path / "b")
    assert sorted(mark.read_bytes().split(b"\0")) == [b"", b"a", b"b"]
