"""Folders and files of results that mcsim did not write: refused, skipped, never removed.

Trusts: the file system, before and after.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import code_of, python
from complaints import complaint
from small import EXPERIMENTS

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.figures import FIGURES
from mcsim.results import collect, list_runs, remove, verify
from mcsim.results.files import RUN_FILES
from mcsim.results.foreign import parse_spec
from mcsim.results.packs import packs_in
from mcsim.results.results import Results
from mcsim.results.seals import digest_of, listed
from mcsim.results.writer import RunWriter, draft_folder

TINY = EXPERIMENTS / "tiny.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run and a sweep of two."""
    out = tmp_path_factory.mktemp("runs")
    mcsim.run(TINY, out=out, figures=False)
    mcsim.sweep(TINY, {"seed": "2 seeds"}, out=out)
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "results"))


def run_of(out: Path) -> Path:
    return next(path for path in out.glob("tiny-*"))


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def pack_of(path: Path, **files: str) -> None:
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)


def test_folders_of_others_are_not_removed_as_packs(out: Path) -> None:
    alike = out / "packs" / "tiny-0123456789abcdef"
    pack_of(alike, run_ids__txt="tiny-0123456789ab\n", DONE="")
    assert "not a pack of runs that mcsim wrote" in complaint(remove, alike, out)
    assert content(alike).keys() == {"run_ids.txt", "DONE"}
    pack = next(pack.path for pack in packs_in(out) if pack.path != alike)
    (pack / "beach.jpg").write_text("sand")
    foreign = f"{pack}: not removed: {pack / 'beach.jpg'} in it is not of mcsim"
    assert complaint(remove, pack, out) == foreign
    (pack / "beach.jpg").unlink()
    assert remove(pack, out) > 0
    assert not pack.exists()


@pytest.mark.parametrize("name", ["beach.jpg", "photos/beach.jpg", "figures/notes.txt"])
def test_runs_with_files_of_others_are_not_removed(out: Path, name: str) -> None:
    run = run_of(out)
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_text("mine")
    before = content(run)
    foreign = run / name if name.startswith("figures") else run / name.partition("/")[0]
    assert complaint(remove, run, out) == f"{run}: not removed: {foreign} in it is not of mcsim"
    assert content(run) == before


def test_runs_with_earlier_names_of_keys_are_read(out: Path) -> None:
    now = run_of(out).joinpath("spec.yaml").read_bytes()
    old = now.replace(b"capacity:", b"capacity_blocks:")
    assert old != now
    assert parse_spec(old) == parse_spec(now)


def test_a_name_alone_makes_no_run(out: Path) -> None:
    run = out / "tiny-0123456789ab"
    run.mkdir()
    (run / "log.txt").write_text("of another program")
    assert "nothing in it shows that it is a run" in complaint(remove, run, out)
    assert (run / "log.txt").exists()


def test_every_file_that_a_run_may_have_is_removed(out: Path) -> None:
    run = run_of(out)
    (run / "figures").mkdir(exist_ok=True)
    for name in RUN_FILES - {file.name for file in run.iterdir()}:
        (run / name).touch()
    assert (run / "page.html").exists()
    for name in (*FIGURES, "fig1", "fig14"):
        (run / "figures" / f"{name}.svg").touch()
    assert remove(run, out) > 0
    assert not run.exists()


def test_figures_are_known_before_one_is_drawn(out: Path) -> None:
    run = run_of(out)
    (run / "figures").mkdir(exist_ok=True)
    (run / "figures" / "hit-ratio.png").touch()
    program = "import sys; from mcsim.results.runs import remove; remove(*sys.argv[1:])"
    assert python("-c", program, run, out).returncode == 0
    assert not run.exists()


def test_only_declared_files_are_written(out: Path, tmp_path: Path) -> None:
    draft = RunWriter(tmp_path / "new" / run_of(out).name, "")
    with pytest.raises(AssertionError, match=r"beach\.json"):
        draft.write_json("beach", {})
    draft.abandon()


def test_damaged_runs_are_removed(out: Path) -> None:
    run = run_of(out)
    (run / "metrics.parquet").write_bytes(b"damaged")
    (run / "figures").mkdir()
    (run / "figures" / "curve.png").touch()
    assert remove(run, out) > 0
    assert not run.exists()


def test_links_are_removed_and_not_followed(out: Path, tmp_path: Path) -> None:
    run, elsewhere = run_of(out), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "beach.jpg").touch()
    (run / "figures").symlink_to(elsewhere)
    remove(run, out)
    assert not run.exists()
    link = out / "tiny-0123456789ab"
    link.symlink_to(elsewhere)
    (elsewhere / "DONE").touch()
    remove(link, out)
    assert not link.is_symlink()
    assert {file.name for file in elsewhere.iterdir()} == {"beach.jpg", "DONE"}


def test_collecting_leaves_what_others_put_there(out: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "parts").mkdir(parents=True)
    (elsewhere / "parts" / "0").write_text("mine")
    for name in ("a-000000000001.partial/left.01234567/photos", "b-000000000001.replaced-0123abcd"):
        folder = out / name
        folder.mkdir(parents=True)
        (folder / "beach.jpg").touch()
    (out / "b-000000000001.replaced-0123abcd" / "DONE").touch()
    linked = out / "c-000000000001.partial"
    linked.mkdir()
    (linked / "left.01234567").symlink_to(elsewhere)
    before = content(out)
    collect(out)
    assert content(out) == before
    RunWriter(out / "c-000000000001", "build").abandon()
    assert (elsewhere / "parts" / "0").read_text() == "mine"
    assert draft_folder(out, "c-000000000001").exists()


ODD: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_bytes(b"no folder"),
    "empty": lambda path: path.mkdir(),
    "no ids": lambda path: pack_of(path, DONE=""),
    "odd ids": lambda path: sealed_pack(path, "../x\n"),
    "no runs": lambda path: sealed_pack(path, ""),
    "pipe": os.mkfifo,
    "loop": lambda path: path.symlink_to(path),
    "dangling": lambda path: path.symlink_to("nowhere"),
}


def sealed_pack(path: Path, run_ids: str) -> None:
    pack_of(path, run_ids__txt=run_ids)
    (path / "DONE").write_text(listed({"run_ids.txt": digest_of(path / "run_ids.txt")}))


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_pack_is_skipped_by_all_commands(
    kind: str, out: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = out / "packs" / "odd-0123456789abcdef"
    before = list_runs(out).num_rows
    ODD[kind](odd)
    assert list_runs(out).num_rows == before
    assert odd.name in caplog.text
    for command in ("ls", "gc"):
        assert code_of("results", command, "--results", out) == 0
    sealed = kind in ("odd ids", "no runs")
    assert code_of("results", "verify", "--results", out) == (0 if sealed else 1)
    assert code_of("results", "show", run_of(out).name, "--results", out) == 0
    assert code_of("sweep", "status", _sweep_file(out), "--results", out) in (0, 2)
    assert "Traceback" not in capfd.readouterr().err
    assert os.path.lexists(odd)


def _sweep_file(out: Path) -> Path:
    file = out.parent / "sweep.yaml"
    file.write_text(f"extends: {TINY}\nsweep: {{seed: 2 seeds}}\n")
    return file


def replaced(run: Path, name: str, value: Any) -> Results:
    """Change a file of a run, and its list of checksums with it."""
    (run / name).write_text(value if isinstance(value, str) else json.dumps(value))
    sums = {file.name: digest_of(file) for file in run.iterdir() if file.name != "DONE"}
    (run / "DONE").write_text(listed(sums))
    return Results.open(run)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spec.yaml", "[" * 100_000),
        ("spec.yaml", "name: tiny\nretired_key: 1\n"),
        ("spec.yaml", "- a\n- b\n"),
        ("spec.yaml", "\x00"),
        ("environment.json", "[" * 100_000),
        ("environment.json", []),
        ("environment.json", {"synthetic": 1, "traces": 5}),
        ("environment.json", {"synthetic": True, "traces": [1]}),
    ],
)
def test_other_shapes_are_named(out: Path, name: str, value: Any) -> None:
    run = run_of(out)
    results = replaced(run, name, value)
    with pytest.raises(ConfigError, match=name):
        _ = results.spec, results.environment
    assert code_of("results", "show", run.name, "--results", out) == 2
    assert code_of("results", "ls", "--results", out) == 0


@pytest.mark.parametrize("value", ["[" * 100_000, [], {"systems": 3}, {"stages": {"a": "b"}}])
def test_timings_of_earlier_runs_may_be_damaged(out: Path, value: Any) -> None:
    run = run_of(out)
    (run / "timings.json").write_text(value if isinstance(value, str) else json.dumps(value))
    sums = {
        file.name: digest_of(file)
        for file in run.iterdir()
        if file.name not in ("DONE", "timings.json", "log.txt")
    }
    (run / "DONE").write_text(listed(sums).partition("\n")[2])
    assert verify(out, [run]) == (1, {})
    assert code_of("results", "show", run.name, "--results", out) == 0
    assert code_of("results", "ls", "--results", out) == 0


def test_runs_with_a_page_are_removed(out: Path) -> None:
    run = run_of(out)
    assert code_of("results", "page", run, "--results", out) == 0
    assert (run / "page.html").is_file()
    assert code_of("results", "rm", run, "--yes", "--results", out) == 0
    assert not run.exists()


def test_aliases_in_a_stored_experiment_are_limited(out: Path) -> None:
    """A few hundred bytes that are ten thousand million values."""
    lines = ["a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"]
    for level in range(1, 10):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    bomb = "\n".join(lines).encode()
    with pytest.raises(ValueError, match=r"line \d+: more than 1,000,000 values"):
        parse_spec(bomb)
    with pytest.raises(ValueError, match="line 1: nested more than 50 deep"):
        parse_spec(b"a: " + b"[" * 60 + b"]" * 60)
    with pytest.raises(ValueError, match="a value that contains itself"):
        parse_spec(b"a: &a [*a]")
    found = replaced(run_of(out), "spec.yaml", bomb.decode())
    assert "more than 1,000,000 values" in complaint(lambda: found.spec)
