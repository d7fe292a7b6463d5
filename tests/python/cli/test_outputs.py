"""Every option that writes a file: it never replaces an input, a folder or a device."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import click
import pytest
from commands import code_of, declared

from mcsim.cli.options import file_to_write, folder_to_write

TRACE = "web.csv"

# Commands by option that writes a file. OUT stands for it, and the first file is an input.
FILES: dict[tuple[str, str], list[str]] = {
    ("trace info", "--save"): ["trace", "info", TRACE, "--save", "OUT"],
    ("trace convert", "out"): ["trace", "convert", TRACE, "OUT", "--out-format", "csv"],
    ("trace slice", "out"): ["trace", "slice", TRACE, "OUT"],
    ("trace misses", "out"): ["trace", "misses", TRACE, "OUT", "--size", "1"],
    ("trace map", "--save"): ["trace", "map", TRACE, "--save", "OUT"],
    ("trace synth", "out"): ["trace", "synth", "profile.yaml", "OUT"],
    ("search", "--output"): ["search", "search.yaml", "--output", "OUT"],
    ("results page", "--output"): ["results", "page", "run", "--output", "OUT"],
    ("reproduce", "--html"): ["reproduce", "--list", "--html", "OUT"],
    ("reproduce", "--markdown"): ["reproduce", "--list", "--markdown", "OUT"],
}

# Options above that take a folder for the file as well.
IN_FOLDERS = {("search", "--output"), ("results page", "--output")}

# Commands by option that writes files into a folder, OUT.
FOLDERS: dict[tuple[str, str], list[str]] = {
    ("advise", "--output"): ["advise", TRACE, "--size", "8", "--output", "OUT"],
    ("arena", "--output"): ["arena", TRACE, "--sizes", "8", "--policies", "arc", "--output", "OUT"],
    ("compare", "--output"): ["compare", TRACE, "--sizes", "8", "--output", "OUT"],
    ("distances", "--output"): ["distances", TRACE, "--output", "OUT"],
    ("kv", "--output"): ["kv", "kv.jsonl", "--output", "OUT"],
    ("mix", "--output"): ["mix", TRACE, "--sizes", "8", "--output", "OUT"],
    ("mrc", "--output"): ["mrc", TRACE, "--sizes", "8", "--output", "OUT"],
    ("tune", "--output"): ["tune", TRACE, "--size", "64KiB", "--output", "OUT"],
    ("whatif", "--output"): ["whatif", TRACE, "--size", "8", "--output", "OUT"],
    ("watch", "--output"): ["watch", TRACE, "--sizes", "8", "--output", "OUT"],
}
# Folders of results and figures; `replacing` writes their files, too.
OF_RUNS = {
    ("run", "--results"),
    ("run", "--save-state"),
    ("mrc", "--pieces"),
    ("reproduce", "--results"),
    ("sweep run", "--results"),
    ("sweep status", "--results"),
    ("results plot", "--output"),
}
# Commands above that read no file by its name.
READ_NONE = {"reproduce", "results page"}
# Parameters that name what is read, or folders that mcsim alone writes.
READ = {
    "--trace-dir",
    "--mapping",
    "--cache-dir",
    "--candidates",
    "--held-out",
    "file",
    "files",
    "runs",
    "named",
    "profile",
    "before",
    "after",
}


def test_each_option_that_writes_is_checked() -> None:
    found = {file_to_write: set(), folder_to_write: set()}
    for name, command in declared():
        for param in command.params:
            option = max(param.opts, key=len)
            if param.metavar == "DIR|FILE":
                found[file_to_write].add((name, option))
            elif param.callback in found:
                found[param.callback].add((name, option))
            elif isinstance(param.type, click.Path):
                is_stored = option == "--results" and name.startswith("results ")
                assert option in READ or is_stored, (name, option)
    assert found[file_to_write] == set(FILES)
    assert found[folder_to_write] == set(FOLDERS) | OF_RUNS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"{k},read,{4096 * (k % 7)},4096,vm{k % 2}\n" for k in range(40)]
    Path(TRACE).write_text("time_s,op,offset,length,vm\n" + "".join(rows))
    Path("kv.jsonl").write_text('{"timestamp": 0, "input_length": 9, "hash_ids": [1]}\n')
    Path("profile.yaml").write_text("kind: none\n")
    Path("search.yaml").write_text("name: none\n")
    Path("run").mkdir()
    return tmp_path


def input_of(command: list[str]) -> Path:
    """Return the file that a command reads before it fails or ends."""
    return next(Path(word) for word in command if Path(word).is_file())


@pytest.mark.parametrize("link", ["itself", "symbolic", "hard", "dots"])
@pytest.mark.parametrize("key", [key for key in FILES if key[0] not in READ_NONE], ids=" ".join)
def test_no_input_is_replaced(
    key: tuple[str, str], link: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = input_of(FILES[key])
    out = source
    if link == "symbolic":
        out = Path("other.csv")
        out.symlink_to(source.absolute())
    elif link == "hard":
        out = Path("other.csv")
        os.link(source, out)
    elif link == "dots":
        out = Path("run") / ".." / source
    content = source.read_bytes()
    assert code_of(*(str(out) if word == "OUT" else word for word in FILES[key])) == 2
    assert "an input of this command" in capsys.readouterr().err
    assert source.read_bytes() == content


@pytest.mark.parametrize("kind", ["folder", "fifo", "device"])
@pytest.mark.parametrize("key", FILES, ids=" ".join)
def test_only_regular_files_are_replaced(
    key: tuple[str, str], kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == "folder" and key in IN_FOLDERS:
        pytest.skip("this option takes folders as well")
    out = Path("out.csv")
    if kind == "folder":
        out.mkdir()
    elif kind == "fifo":
        os.mkfifo(out)
    else:
        out.symlink_to("/dev/null")
    assert code_of(*(str(out) if word == "OUT" else word for word in FILES[key])) == 2
    err = capsys.readouterr().err
    assert "not a regular file: it is not replaced" in err or "is a directory" in err
    mode = out.stat().st_mode
    is_same = {"folder": stat.S_ISDIR, "fifo": stat.S_ISFIFO, "device": stat.S_ISCHR}[kind]
    assert is_same(mode)


@pytest.mark.parametrize("key", FOLDERS, ids=" ".join)
def test_no_file_in_a_folder_of_outputs_is_an_input(
    key: tuple[str, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(out: str) -> int:
        return code_of(*(out if word == "OUT" else word for word in FOLDERS[key]))

    assert run("first") == 0, capsys.readouterr().err
    source = input_of(FOLDERS[key])
    names = [file.name for file in Path("first").iterdir()]
    assert names
    content = source.read_bytes()
    for name in names:
        out = Path(f"second-{name}")
        out.mkdir()
        (out / name).symlink_to(source.absolute())
        assert run(str(out)) != 0
        assert source.read_bytes() == content
    assert run(str(source)) != 0
    assert source.read_bytes() == content


def test_the_mode_of_a_replaced_file_stays(folder: Path) -> None:
    out = Path("out.csv")
    out.write_text("old")
    out.chmod(0o640)
    assert code_of("trace", "convert", TRACE, out) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    link = Path("link.csv")
    link.symlink_to(out)
    assert code_of("trace", "slice", TRACE, link, "--vms", "vm1") == 0
    assert link.is_symlink()
    assert out.read_text().count("\n") == 21
