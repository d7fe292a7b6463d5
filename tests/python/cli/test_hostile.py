"""Odd names, FIFOs, devices and links, given to commands: one line, or correct handling.

Trusts: the file system, before and after.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import commands
import pytest
from pyarrow import csv
from small import EXPERIMENTS, TINY

import mcsim
from mcsim.cli.output import Output
from mcsim.traces.digests import note_path
from mcsim.traces.trace import Trace

ODD = os.fsdecode(b"caf\xe9 \x1b[31m\n.x")
SHOWN = "caf\\xe9 \\x1b[31m\\x0a"


def small_trace(vms: tuple[str, str] = ("db.prod", "db.dev")) -> Trace:
    return Trace.from_arrays(
        range(8), [4096 * i for i in (1, 2, 3, 1, 2, 3, 1, 2)], [4096] * 8, vm=[0, 1] * 4, vms=vms
    )


@pytest.fixture
def folder(folder: Path) -> Path:
    small_trace().save(folder / "t.csv")
    return folder


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    return partial(commands.call, capsys)


def test_names_with_dots_have_files_of_their_own(run: Any) -> None:
    for vm in ("db.prod", "db.dev"):
        code, out, err = run("mrc", "t.csv", "--vms", vm, "-o", "results")
        assert code == 0, err
        assert f"results/t-{vm}-mrc.csv" in out.splitlines()
    for path in ("db.prod.csv", "db.dev.csv"):
        os.link("t.csv", path)
        assert run("mrc", path, "-o", "results")[0] == 0
    found = {path.name for path in Path("results").glob("*.csv")}
    names = ("t-db.prod", "t-db.dev", "db.prod", "db.dev")
    assert found == {f"{name}-mrc.csv" for name in names}


@pytest.mark.parametrize("given", [",", "", " , ,"])
@pytest.mark.parametrize("command", ["mrc", "distances", "compare", "mix"])
def test_no_vm_at_all_is_a_mistake(run: Any, command: str, given: str) -> None:
    code, _, err = run(command, "t.csv", "--vms", given)
    assert (code, err.splitlines()[-1][:14]) == (2, "mcsim: --vms: ")


@pytest.mark.parametrize(
    "name", [b"\xff.csv", b"caf\xe9.csv.gz", b"a\nb.csv", b"\x1b[31m.csv"], ids=range(4)
)
def test_odd_names_of_traces_are_shown_escaped(run: Any, folder: Path, name: bytes) -> None:
    trace, out = os.fsdecode(name), os.fsdecode(b"out\xfe")
    ending = trace.partition(".")[2]
    small_trace(("a", "a2")).save(f"plain.{ending}")
    Path(f"plain.{ending}").rename(trace)
    for arguments in (
        ("trace", "info", trace),
        ("mrc", trace, "-o", out),
        ("distances", trace, "-o", out),
        ("compare", trace, "-o", out, "--against", "lru"),
        ("size", trace, "--target-hit-ratio", "0.1"),
        ("trace", "convert", trace, f"{out}/{trace}.arrow"),
        ("trace", "info", f"{out}/{trace}.arrow"),
        ("mrc", f"{out}/{trace}.arrow"),
        ("trace", "info", trace, "--cache-dir", out),
        ("cache", "ls", "--cache-dir", out),
        ("cache", "verify", "--cache-dir", out),
    ):
        code, said, err = run(*arguments)
        assert code == 0, (arguments, err)
        if arguments[:2] == ("mrc", trace):
            assert said.encode().decode().splitlines()[0].isprintable()
    with pytest.raises(SystemExit):
        mcsim.cli.main.main(["trace", "info", os.fsdecode(b"none\xff.csv")])


def test_odd_names_of_experiments_and_results(run: Any, folder: Path) -> None:
    here = Path(os.fsdecode(b"here\xff"))
    here.mkdir()
    text = (EXPERIMENTS / "tiny.yaml").read_text().replace("workloads/tiny.yaml", "tiny.yaml")
    experiment, out = here / os.fsdecode(b"e\xfe.yaml"), here / os.fsdecode(b"r\xfd")
    experiment.write_text(text)
    (here / "tiny.yaml").write_text(TINY.read_text())
    assert run("run", experiment, "--results", out, "--no-figures")[0] == 0
    (made,) = out.glob("tiny-*")
    page = here / os.fsdecode(b"p\xfc.html")
    for arguments in (
        ("results", "ls", "--results", out),
        ("results", "ls", "--results", out, "--json"),
        ("results", "show", "tiny", "--results", out),
        ("results", "show", "tiny", "--results", out, "--json"),
        ("results", "verify", "--results", out, "--json"),
        ("results", "plot", made, "--only", "curves"),
        ("results", "page", made, "-o", page),
        ("sweep", "run", experiment, "--results", out),
        ("results", "rm", "tiny", "--results", out, "-y"),
    ):
        code, _, err = run(*arguments)
        assert code in (0, 2) if arguments[0] == "sweep" else code == 0, (arguments, err)
        assert "Traceback" not in err
    assert page.is_file()
    assert not made.exists()


def test_runs_of_odd_names_are_listed_escaped(run: Any, folder: Path) -> None:
    odd = Path("results") / os.fsdecode(b"caf\xe9-0123456789ab")
    odd.mkdir(parents=True)
    (odd / "DONE").touch()
    code, out, err = run("results", "ls")
    assert (code, err) == (0, "")
    assert "caf\\xe9-0123456789ab" in out


def in_the_way(kind: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path.name)
        case "dangling":
            path.symlink_to("nowhere")
        case "folder":
            path.mkdir()


KINDS = ("fifo", "device", "loop", "dangling", "folder")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_waits_for_a_file_that_is_none(run: Any, folder: Path, kind: str) -> None:
    odd = folder / "odd.yaml"
    in_the_way(kind, odd)
    (folder / "extends.yaml").write_text("extends: odd.yaml\n")
    profile = (EXPERIMENTS / "tiny.yaml").read_text().replace("workloads/tiny.yaml", "odd.yaml")
    (folder / "profile.yaml").write_text(profile)
    for arguments in (
        ("run", odd),
        ("run", "extends.yaml"),
        ("run", "profile.yaml"),
        ("sweep", "run", odd),
        ("search", odd),
        ("trace", "info", odd),
        ("mrc", odd),
        ("trace", "info", "t.csv", "--mapping", odd),
        ("trace", "synth", odd, "o.arrow"),
        ("compare", "t.csv", "--plugin", odd),
        ("results", "page", odd),
        ("results", "plot", odd),
        ("results", "show", odd),
    ):
        code, _, err = run(*arguments)
        assert code in (2, 3), (arguments, err)
        assert "Traceback" not in err


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_waits_for_what_is_in_the_cache(run: Any, folder: Path, kind: str) -> None:
    assert run("trace", "info", "t.csv")[0] == 0
    (store,) = (folder / "cache").glob("t-*.arrow")
    in_the_way(kind, store)
    for command in ("ls", "verify"):
        assert run("cache", command)[0] in (0, 1)
    code, _, err = run("trace", "info", "t.csv")
    assert code in ((0,) if kind == "dangling" else (2, 3)), err
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", KINDS)
def test_a_digest_note_may_be_anything(run: Any, folder: Path, kind: str) -> None:
    note = note_path(folder / "cache", folder / "t.csv")
    note.parent.mkdir(exist_ok=True)
    in_the_way(kind, note)
    assert run("trace", "info", "t.csv")[0] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["DONE", "metrics.parquet", "timings.json", "log.txt"])
def test_nothing_waits_for_what_is_in_a_run(
    run: Any, folder: Path, kind: str, name: str, made: Path
) -> None:
    out = folder / "results"
    shutil.copytree(made, out)
    (one,) = out.glob("tiny-*")
    in_the_way(kind, one / name)
    for arguments in (("ls",), ("verify",), ("show", one.name), ("gc",), ("rm", "-y", one.name)):
        code, _, err = run("results", *arguments, "--results", out)
        assert code in (0, 1, 2), (arguments, err)
        assert "Traceback" not in err
    code, _, err = run("run", EXPERIMENTS / "tiny.yaml", "--results", out, "--no-figures")
    assert code in (0, 3), err
    assert "Traceback" not in err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    mcsim.run(EXPERIMENTS / "tiny.yaml", out=out, figures=False)
    return out


def test_outputs_are_no_inputs(run: Any, folder: Path) -> None:
    (folder / "link.csv").symlink_to("t.csv")
    (folder / "m.yaml").write_text("format: csv\n")
    before = {path: path.read_bytes() for path in folder.glob("*.*")}
    for arguments in (
        ("trace", "convert", "t.csv", "t.csv"),
        ("trace", "convert", "t.csv", "link.csv"),
        ("trace", "convert", "t.csv", "t.csv", "--out-format", "lcs"),
        ("trace", "slice", "link.csv", "t.csv", "--vms", "db.dev"),
        ("trace", "info", "t.csv", "--save", "t.csv"),
        ("trace", "info", "t.csv", "--mapping", "m.yaml", "--save", "m.yaml"),
    ):
        code, _, err = run(*arguments)
        assert (code, "of this command" in err) == (2, True), (arguments, err)
    profile = folder / "p.csv"
    profile.write_text(TINY.read_text())
    assert run("trace", "synth", profile, "-o", profile)[0] == 2
    assert profile.read_text() == TINY.read_text()
    assert {path: path.read_bytes() for path in before} == before


def test_a_page_replaces_no_file_of_its_run(run: Any, folder: Path, made: Path) -> None:
    (one,) = made.glob("tiny-*")
    for name in ("metrics.parquet", "DONE", "spec.yaml"):
        before = (one / name).read_bytes()
        code, _, err = run("results", "page", one, "-o", one / name)
        assert (code, "an input of this command" in err) == (2, True), err
        assert (one / name).read_bytes() == before


def test_outputs_keep_links_and_modes(run: Any, folder: Path) -> None:
    Path("kept").mkdir()
    secret = Path("kept/secret.csv")
    secret.write_text("old")
    secret.chmod(0o600)
    Path("out.csv").symlink_to(secret)
    assert run("trace", "convert", "t.csv", "out.csv")[0] == 0
    assert Path("out.csv").is_symlink()
    assert secret.read_text().startswith("time_ns")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    for device in ("/dev/null.csv", "null.csv"):
        if device == "null.csv":
            Path(device).symlink_to("/dev/null")
            code, _, err = run("trace", "convert", "t.csv", device)
            assert (code, "not a regular file" in err) == (2, True)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_cells_are_no_formulas(run: Any, folder: Path) -> None:
    small_trace(("=HYPERLINK(1)", "-1.5")).save("f.csv")
    assert run("mrc", "f.csv", "--per-vm", "-o", "results")[0] == 0
    assert {"'=HYPERLINK(1)", "-1.5"} <= set(
        csv.read_csv("results/f-mrc-per-vm.csv")["curve"].cast("string").to_pylist()
    )
    assert run("trace", "convert", "f.csv", "f.arrow")[0] == 0  # a trace keeps its names
    assert Trace.open("f.arrow").vms == ("=HYPERLINK(1)", "-1.5")


@pytest.mark.parametrize("letters", ["a", "a b "])
def test_long_arguments_are_shortened(run: Any, letters: str) -> None:
    text = letters * 100_000
    for arguments in (("mrc", text), ("describe", text), ("mrc", "t.csv", f"--{text}"), (text,)):
        code, _, err = run(*arguments)
        assert code in (2, 3)
        assert len(err) < 4_000
        assert "more letters" in err or f"{len(text):,} characters: at most" in err


def test_tables_are_written_if_the_picture_fails(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[Path]:
        raise ZeroDivisionError("of this test")

    monkeypatch.setattr(Output, "_draw", fail)
    code, _, err = run("mrc", "t.csv", "-o", "results")
    assert code == 4
    assert "results/t-mrc: the picture is missing: ZeroDivisionError: of this test" in err
    assert Path("results/t-mrc.csv").is_file()
