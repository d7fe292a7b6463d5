"""Every damage of a run or a pack, seen alike by verify, run, sweep and show; faults of hosts.

Trusts: the bytes that were written first.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import EXPERIMENTS

import mcsim
from mcsim.base.errors import ConfigError, HostError
from mcsim.results import verify
from mcsim.results.packs import PackFolder, packs_in, set_aside_damaged
from mcsim.results.results import Results
from mcsim.results.runs import open_run
from mcsim.results.seals import listed, read_list

TINY = EXPERIMENTS / "tiny.yaml"
SEEDS = {"seed": "2 seeds"}

FILES = (
    *("DONE", "alone.parquet", "bounds.parquet", "curves.parquet", "decisions.parquet"),
    "environment.json",
    *("metrics.parquet", "reuse_intensity.parquet", "spec.yaml", "timings.json", "vms.parquet"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run and a sweep of two."""
    out = tmp_path_factory.mktemp("runs")
    mcsim.run(TINY, out=out, figures=False)
    mcsim.sweep(TINY, SEEDS, out=out)
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "results"))


def run_of(out: Path) -> Path:
    (path,) = out.glob("tiny-*")
    return path


def pack_of(out: Path) -> Path:
    (path,) = (out / "packs").iterdir()
    return path


def flip(path: Path, at: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[at if at >= 0 else len(content) // 2] ^= 1
    path.write_bytes(content)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


WAYS: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut": lambda path: os.truncate(path, path.stat().st_size - 1),
    "emptied": lambda path: os.truncate(path, 0),
    "flipped": flip,
    "removed": Path.unlink,
    "folder": make_folder,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FILES)
def test_all_agree_on_a_damaged_file_of_a_run(out: Path, name: str, way: str) -> None:
    run = run_of(out)
    whole = {path.name: path.read_bytes() for path in run.iterdir()}
    assert {*FILES, "log.txt"} == set(whole)
    WAYS[way](run / name)
    assert verify(out)[1] == {run: [name]}
    with pytest.raises(ConfigError, match=name):
        open_run(run.name, out)
    found = mcsim.run(TINY, out=out, figures=False)
    assert found.path == run
    assert verify(out)[1] == {}
    open_run(run.name, out)
    for same in set(FILES) - {"DONE", "environment.json", "timings.json"}:
        assert (run / same).read_bytes() == whole[same]


IN_PACK = (
    *("DONE", "run_ids.txt", "runs.parquet", "environment.json", "metrics.parquet", "vms.parquet"),
    *("decisions.parquet", "bounds.parquet", "alone.parquet", "points.parquet", "summary.parquet"),
    *("curves.parquet", "reuse_intensity.parquet"),
)


@pytest.mark.parametrize("way", WAYS)
def test_all_agree_on_a_damaged_file_of_a_pack(made: Path, tmp_path: Path, way: str) -> None:
    for name in IN_PACK:
        out = Path(shutil.copytree(made, tmp_path / name))
        pack = pack_of(out)
        assert {path.name for path in pack.iterdir()} == set(IN_PACK)
        (before,) = packs_in(out)
        WAYS[way](pack / name)
        assert verify(out)[1] == {pack: [name]}
        with pytest.raises(ConfigError):
            open_run(before.run_ids[0], out)
        set_aside_damaged(out)
        assert list(packs_in(out)) == []
        assert verify(out)[1] == {}


@pytest.mark.parametrize("way", ["removed", "file", "flipped"])
def test_a_sweep_makes_the_runs_of_a_damaged_pack_again(out: Path, way: str) -> None:
    pack = pack_of(out)
    (before,) = packs_in(out)
    if way == "flipped":
        flip(pack / "summary.parquet")
    else:
        shutil.rmtree(pack)
    if way == "file":
        pack.touch()
    assert set(verify(out)[1]) == (set() if way == "removed" else {pack})
    mcsim.sweep(TINY, SEEDS, out=out)
    assert verify(out)[1] == {}
    (after,) = packs_in(out)
    assert after.run_ids == before.run_ids
    assert open_run(after.run_ids[0], out).run_id == after.run_ids[0]


@pytest.mark.parametrize("way", ["flipped", "removed"])
def test_a_sweep_runs_a_cell_again_whose_folder_is_damaged(tmp_path: Path, way: str) -> None:
    run = mcsim.run(TINY, overrides=["seed=5"], out=tmp_path, figures=False)
    mcsim.sweep(TINY, {"seed": [5]}, out=tmp_path)
    assert list(packs_in(tmp_path)) == []  # the run is there
    WAYS[way](run.path / "metrics.parquet")
    mcsim.sweep(TINY, {"seed": [5]}, out=tmp_path)
    assert [pack.run_ids for pack in packs_in(tmp_path)] == [(run.run_id,)]


FAULTS = [errno.EIO, errno.EMFILE, errno.ENOMEM, errno.EACCES, errno.ESTALE]


class _Unreadable(io.BytesIO):
    """A file with content that the host cannot read."""

    number = errno.EIO

    def read(self, *_: Any) -> bytes:
        raise OSError(self.number, os.strerror(self.number))


@pytest.fixture(params=[(number, when) for number in FAULTS for when in ("open", "read")])
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], str]:
    """Return a function that makes a file unreadable, and returns the message."""
    number, when = request.param

    def let_fail(failing: Path) -> str:
        from mcsim.base.inputs import open_regular

        def opened(path: Path) -> Any:
            if path != failing:
                return open_regular(path)
            if when == "open":
                raise OSError(number, os.strerror(number), str(path))
            file = _Unreadable(b"x" * path.stat().st_size)
            file.number = number
            return file

        for module in ("base.inputs", "results.seals", "results.files"):
            monkeypatch.setattr(f"mcsim.{module}.open_regular", opened)
        return f"{failing}: cannot be read: {os.strerror(number)}"

    return let_fail


def names(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*"))


@pytest.mark.parametrize("name", ["DONE", "metrics.parquet", "spec.yaml"])
def test_a_fault_of_the_host_is_no_damage_of_a_run(
    out: Path, fault: Callable[[Path], str], name: str
) -> None:
    run, before = run_of(out), names(out)
    said = fault(run / name)
    asks: list[Callable[[], object]] = [
        lambda: verify(out),
        lambda: open_run(run.name, out),
        lambda: mcsim.run(TINY, out=out, figures=False),
        lambda: Results.open(run).spec if name == "spec.yaml" else Results.open(run).check(),
    ]
    for ask in asks:
        with pytest.raises(HostError) as caught:
            ask()
        assert str(caught.value).startswith(said)
    assert names(out) == before


@pytest.mark.parametrize("name", ["DONE", "run_ids.txt"])
def test_a_fault_of_the_host_is_no_damage_of_a_pack(
    out: Path, fault: Callable[[Path], str], name: str
) -> None:
    before = names(out)
    said = fault(pack_of(out) / name)
    asks: list[Callable[[], object]] = [
        lambda: verify(out),
        lambda: list(packs_in(out)),
        lambda: mcsim.sweep(TINY, SEEDS, out=out),
    ]
    for ask in asks:
        with pytest.raises(HostError) as caught:
            ask()
        assert str(caught.value).startswith(said)
    assert names(out) == before


def test_packs_of_before_have_no_vms_alone(out: Path) -> None:
    pack = pack_of(out)
    sums = read_list(pack / "DONE")
    del sums["alone.parquet"]
    (pack / "alone.parquet").unlink()
    (pack / "DONE").write_text(listed(sums), encoding="utf-8")
    run = PackFolder(pack).run_ids[0]
    found = open_run(run, out)
    assert len(found.alone()) == 0
    assert found.yardsticks().to_arrow()["worst_slowdown"].null_count == len(found.yardsticks())
    assert "OPT" in found.answer
