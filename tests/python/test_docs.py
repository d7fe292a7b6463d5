# Trusts: nothing but that what a document shows must run as shown.
"""Every Python block and shell line of the documents, of `--help` and of docstrings.

They run in a folder of stand-ins: `web_0.csv.gz` to `web_3.csv.gz`, as mcsim generates them of a
small profile, the experiments, and results of small ones. Pictures, which have tests of their own,
are left out. What takes minutes or a compiler is held to what it names instead: `_CHECKED` says
which, and why. What a document shows that a command or a statement prints is compared with it.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import fnmatch
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from commands import cells
from documents import blocks_of, example, write_stand_ins
from small import ROOT

import mcsim
from mcsim.cli.main import cli, main
from mcsim.experiment.experiment import Experiment
from mcsim.reproduce.catalogue import chosen
from mcsim.sweeps.plan import read_grid

PACKAGE = ROOT / "bindings"
OURS = ("bindings", "core", "docs", "examples", "experiments", "optimizers", "policies", "tests")
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for folder in OURS for path in (ROOT / folder).rglob("*.md")),
    ]
)


def shell_lines(document: Path) -> Iterator[str]:
    """The commands of a document: lines of its blocks, and code in its text that begins as one."""
    for block in blocks_of(document, "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            yield " ".join(shlex.quote(word) if " " in word else word for word in words)
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.S | re.M)
    for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
        if re.match(r"(\./)?mcsim \w|\./mcsim|cmake |python \w|pip |pre-commit ", code):
            yield " ".join(code.split())


def help_lines() -> Iterator[str]:
    """The commands that `--help` shows as examples."""

    def below(command: click.Command, name: str) -> Iterator[str]:
        for line in (command.help or "").splitlines():
            if line.strip().startswith("mcsim "):
                yield line.strip()
        if isinstance(command, click.Group):
            for word in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), word)
                assert found is not None
                yield from below(found, f"{name} {word}")

    yield from below(cli, "mcsim")


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with traces as the documents call them, and their parsed forms."""
    folder = tmp_path_factory.mktemp("stand_ins")
    write_stand_ins(folder)
    return folder


@pytest.fixture(scope="module")
def finished(stand_ins: Path) -> Path:
    """A folder of results: two runs of the smallest experiment, and a sweep."""
    tiny = "experiments/tiny.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MCSIM_CACHE_DIR", str(stand_ins / "cache"))
        patch.chdir(stand_ins)
        mcsim.run(tiny, out="finished", figures=False)
        larger = ["tiers.0.capacity=1000"]
        mcsim.run(tiny, out="finished", overrides=larger, figures=False)
        mcsim.sweep("sizes.yaml", out="finished")
    return stand_ins / "finished"


@pytest.fixture
def folder(stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that has the stand-ins and the experiments."""
    for path in stand_ins.iterdir():
        if path.suffix == ".yaml":
            shutil.copy(path, tmp_path)
        elif path.name not in ("finished", "results"):
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(stand_ins / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


# --- Python --------------------------------------------------------------------------------------


def run_python(code: str, names: dict[str, Any]) -> None:
    """Run a block by statement; `# → text` at its end or after it is its output, `…` anything."""
    lines = [*code.splitlines(), ""]
    for statement in ast.parse(code).body:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module([statement], []), "<document>", "exec"), names)
        assert statement.end_lineno is not None
        last_line, next_line = lines[statement.end_lineno - 1 : statement.end_lineno + 1]
        shown = re.search(r"  # → (.*)$", last_line) or re.match(r"# → (.*)$", next_line)
        if shown is not None:
            pattern = ".*".join(re.escape(part) for part in shown[1].split("…"))
            found = re.fullmatch(pattern, printed.getvalue().strip(), re.DOTALL)
            assert found, last_line


@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if blocks_of(path, "python")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_python_of_documents(document: Path, folder: Path) -> None:
    # A document other than the first one's need not say again how a trace is opened.
    trace = mcsim.Trace.open("web_0.csv.gz")
    names: dict[str, Any] = {"mcsim": mcsim, "trace": trace}
    for block in blocks_of(document, "python"):
        run_python(block, names)


def test_the_first_example_agrees_with_the_first_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    code = example("README.md", "python", "import mcsim")
    run_python(code[: code.index("print")], names)
    first = "mcsim mrc tiny.csv.gz"
    main([*shlex.split(first)[1:], "--sizes", "20"])
    *_, said = cells(capsys.readouterr().out.splitlines(), "80")  # KiB
    assert said == f"{100 * names['curve'].at(20):.2f}"
    assert 0 < names["curve"].at(20) < 1


def test_python_of_the_package_needs_no_pandas(folder: Path) -> None:
    """As it is installed without extras, one of which pages need."""
    code = example("README.md", "python", "import mcsim")
    code = code[: code.index("mc.report")]
    without = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('pandas', 'polars', 'duckdb'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Without())\n"
    )
    subprocess.run([sys.executable, "-c", without + code], check=True, capture_output=True)


def test_the_docstring_of_the_package(folder: Path) -> None:
    assert mcsim.__doc__ is not None
    code = "\n".join(re.findall(r"^    (.*)$", mcsim.__doc__, re.MULTILINE))
    run_python(code, {})


def test_contributing_system_in_python(folder: Path) -> None:
    (folder / "demand.py").write_text(example("CONTRIBUTING.md", "python", "class Demand"))
    systems = example("CONTRIBUTING.md", "yaml", "demand:Demand")
    mine = (folder / "mine.yaml").read_text()
    (folder / "mine.yaml").write_text(mine[: mine.index("systems:")] + systems)
    metrics = mcsim.run("mine.yaml", figures=False, allow_code=True).to_pandas("metrics")
    assert set(metrics["system"]) == {"lru", "demand:Demand"}
    mine = metrics[(metrics["system"] == "demand:Demand") & (metrics["interval"] > 0)]
    granted = mine.groupby(["tier", "interval"])["target"].sum().unstack()
    # Three VMs, each rounded down.
    assert granted.loc[0].between(498, 500).all()
    assert granted.loc[1].between(1998, 2000).all()


def test_contributing_busiest(folder: Path) -> None:
    (folder / "busiest.py").write_text(example("CONTRIBUTING.md", "python", "class Busiest"))
    mine = (folder / "mine.yaml").read_text()
    systems = (
        "systems:\n  - {name: vfrm, extent: 64, memory: 0, epoch: 10min}\n  - busiest:Busiest\n"
    )
    (folder / "mine.yaml").write_text(mine[: mine.index("systems:")] + systems)
    metrics = mcsim.run("mine.yaml", allow_code=True, figures=False).to_pandas("metrics")
    hits = metrics[metrics["tier"] == 0].groupby("system")["hits"].sum()
    assert hits["busiest:Busiest"] > 0
    # Of extents that were asked for as often it may take others.
    assert abs(hits["busiest:Busiest"] - hits["vfrm"]) < 0.05 * hits["vfrm"]


def test_contributing_scave(folder: Path) -> None:
    (folder / "scave.py").write_text(example("CONTRIBUTING.md", "python", "class Scave"))
    mine = (folder / "mine.yaml").read_text()
    (folder / "mine.yaml").write_text(mine[: mine.index("systems:")] + "systems: [scave:Scave]\n")
    metrics = mcsim.run("mine.yaml", figures=False, allow_code=True).to_pandas("metrics")
    targets = metrics.set_index(["tier", "interval", "vm"])["target"].unstack()
    assert (targets.sum(axis=1).unstack(0) == [500, 2000]).all(axis=None)
    for tier, chunk in enumerate((5, 20)):
        # Decisions fall twice in an interval, and each moves a chunk or none.
        moved = targets.loc[tier].diff().dropna()
        assert set(moved.to_numpy().ravel() % chunk) == {0.0}
        assert (moved.abs().sum(axis=1) <= 2 * 2 * chunk).all()
        assert moved.any(axis=None)


@pytest.mark.parametrize(
    "module",
    [
        ".".join((*within, *path.relative_to(folder).with_suffix("").parts))
        for folder, within in (
            (PACKAGE, ()),
            (ROOT / "experiments" / "reproduce", ("mcsim", "reproduce", "documents")),
        )
        for path in sorted(folder.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ],
)
def test_docstrings(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples need the package and NumPy alone; runs and files are in the working directory."""
    monkeypatch.chdir(tmp_path)
    known = {"mcsim": mcsim, "mc": mcsim, "np": np}
    result = doctest.testmod(importlib.import_module(module), globs=known)
    assert result.attempted > 0
    assert result.failed == 0


def test_experiment_of_the_guide(folder: Path) -> None:
    (folder / "example.yaml").write_text(
        example("docs/how-to/experiments.md", "yaml", "name: shared-or-split")
    )
    spec = Experiment.load(folder / "example.yaml", []).spec
    assert [tier.capacity for tier in spec.tiers] == [2**18, 10 * 2**18]


# --- Shell ---------------------------------------------------------------------------------------


def run_mcsim(words: list[str]) -> str:
    """Run a command of mcsim; what it prints."""
    command, rest = command_of(words)
    ours = words[0] == "cache"  # patterns of names in the cache, which stand in quotes
    given = words if ours else [name for word in words for name in matching(word)]
    if isinstance(command, click.Group) or (not rest and lacks_something(command)):
        given = [*words, "--help"]  # it is only named
    taken = io.BytesIO()
    printed = io.TextIOWrapper(taken, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed):
        try:
            main(given)
        except SystemExit as ended:
            code = ended.code
        else:
            code = 0
    # Two runs that differ are told so.
    assert code in (0, None) or words[:2] == ["results", "diff"], (words, code)
    said = taken.getvalue().decode()
    assert said, words
    return said


def lacks_something(command: click.Command) -> bool:
    """Whether a command does nothing unless it is told what with."""
    return command.name == "plot" or any(param.required for param in command.params)


def matching(word: str) -> list[str]:
    """The files that a word names, as the shell does; all are in the working directory."""
    if "*" not in word:
        return [word]
    return sorted(fnmatch.filter([path.name for path in Path().iterdir()], word)) or [word]


# What stands for something of one's own in a command, and what it is here.
_STANDS_FOR = {
    "RUN…": ["RUN A"],
    "RUN": ["RUN A"],
    "A": ["RUN A"],
    "B": ["RUN B"],
    "tiny-20b8": ["RUN A"],
    "tiny-b9": ["RUN B"],
    "tiny": ["RUN A"],  # the beginning of two
    "tiny-2": ["RUN A"],
    "tiny-7": ["RUN B"],
    "SWEEP": ["sizes"],
    "web-sizes": ["sizes"],
    "AXIS": ["tiers.1.capacity"],
    "NAME": ["multicache"],
    "results/packs/NAME": ["results/packs/*-*"],
}


def filled_in(words: list[str]) -> list[str]:
    """A command with what there is here for what it leaves open."""
    runs = sorted(Path("results").glob("tiny-*/DONE"), key=lambda path: path.stat().st_mtime_ns)
    by_id = words[0] == "results"
    here = {
        f"RUN {name}": path.parent.name if by_id else str(path.parent)
        for name, path in zip("AB", runs, strict=False)
    }
    given = []
    experiments = words[0] in ("run", "search", "sweep", "trace", "describe")
    for word in words:
        if experiments and word in mcsim.experiment_names():
            given.append(word)
            continue
        for stand_in in _STANDS_FOR.get(word, [word]):
            if "packs" in stand_in:
                stand_in = str(next(Path().glob(stand_in)))
            given.append(here.get(stand_in, stand_in))
    if "FILE" in given:
        given[given.index("FILE")] = "sizes.yaml" if given[0] == "sweep" else "page.html"
    if given[:2] == ["results", "rm"]:
        given.append("--yes")
    if given[:2] == ["results", "plot"] and given[2:] in ([run] for run in here.values()):
        given += ["--only", "hit-ratio"]
    return given


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words name, and the words after it."""
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        word = rest.pop(0)
        found = command.get_command(click.Context(command), word)
        assert found is not None, words
        command = found
        if found.name != word:
            return found, [word, *rest]  # `sweep FILE` runs it
    return command, rest


def check_options(words: list[str]) -> None:
    """Hold a command that is only named, or lacks its files, to the options that there are."""
    command, rest = command_of(words)
    known = {name for option in command.params for name in option.opts} | {"--help"}
    assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= known, words


def check_long_run(words: list[str]) -> None:
    """Hold `run` of a large experiment to its options and to the file: it loads."""
    run, rest = command_of(words)
    given = run.make_context("run", rest).params
    assert Experiment.load(given["file"], given["overrides"]).spec.systems


def check_long_sweep(words: list[str]) -> None:
    """Hold a sweep that is large, or needs others, to its options, and ours to its file."""
    command, _ = command_of(["sweep", "run"])
    given = command.make_context("sweep", words[1:]).params
    if given["file"] in mcsim.experiment_names():
        grid, _ = read_grid(given["file"])
        assert grid.cells()


def check_reproduction(words: list[str]) -> None:
    """Hold a reproduction to its options, and to documents and figures that there are."""
    check_options(words)
    chosen([word for word in words[1:] if re.match(r"[a-z]+(/\w+)?$", word)])


def check_launcher(words: list[str]) -> None:
    """Hold the launcher's own words to it, and the names of benchmarks to the benchmarks."""
    assert re.search(rf"^\s+{words[0]}\) ", (ROOT / "mcsim").read_text(), re.MULTILINE), words
    if words[0] in ("test", "fuzz"):
        return  # what follows is any word, or a number of seconds
    sources = "".join(path.read_text() for path in (ROOT / "tests/bench").iterdir())
    for word in words[1:]:
        option, _, pattern = word.partition("=")
        if option == "--benchmark_filter" and pattern != "REGEX":
            assert re.search(rf"BENCHMARK\w*\((BM_)?{pattern}|/?{pattern}\w*[,)]", sources), word
        elif not word.startswith("--"):
            assert re.search(rf"\"?{word}\b", sources + (ROOT / "mcsim").read_text()), word


def check_cmake(words: list[str]) -> None:
    """Hold presets and components to those that there are; compiling has tests of its own."""
    presets = (ROOT / "CMakePresets.json").read_text()
    lists = "".join(path.read_text() for path in cmake_lists())
    for option, value in pairwise(words):
        if option == "--preset":
            assert f'"name": "{value}"' in presets, words
        if option == "--component":
            assert re.search(rf"(COMPONENT |install_package\(){value}\b", lists), words


@cache
def cmake_lists() -> list[Path]:
    return [
        ROOT / "CMakeLists.txt",
        *(p for f in OURS for p in (ROOT / f).rglob("CMakeLists.txt")),
        *(ROOT / "capi").rglob("CMakeLists.txt"),
    ]


def check_script(words: list[str]) -> None:
    """Hold a script that measures for minutes to being one."""
    compile((ROOT / words[0]).read_text(), words[0], "exec")


def check_pipe(words: list[str]) -> None:
    """Check the options of the command in a pipe; tests of pipes run pipes."""
    check_options(words[words.index("mcsim") + 1 :])


def check_install(words: list[str]) -> None:
    """Hold what installs to the file that it goes by."""
    (file,) = {"pip": ["pyproject.toml"], "pre-commit": [".pre-commit-config.yaml"]}[words[0]]
    assert (ROOT / file).is_file()


def check_image(words: list[str]) -> None:
    """Compare commands in a container with the Dockerfile and with mcsim."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert 'ENTRYPOINT ["mcsim"]' in text
    assert "WORKDIR /data\n" in text
    if words[1] == "run":
        check_options(words[words.index("mcsim") + 1 :])


def check_yes(words: list[str]) -> None:
    """Check that the launcher has the option."""
    assert '"${1-}" = --yes' in (ROOT / "mcsim").read_text("utf-8")


def check_executable(words: list[str]) -> None:
    """Hold what runs everything, tests included, to being there."""
    assert os.access(ROOT / words[0], os.X_OK)


# What does not run as it stands: how such a line begins, why, and what is looked at instead, with
# how many of its words left out.
_CHECKED: list[tuple[str, str, Callable[[list[str]], None], int]] = [
    (r"\./mcsim run (?!tiny)", "minutes", check_long_run, 1),
    (r"(\./)?mcsim sweep .*(web-sizes|--dask)", "minutes, or a cluster", check_long_sweep, 1),
    (r"mcsim search deployed ", "minutes", check_options, 1),
    (r"mcsim mrc .*--(dask|shard|merge)", "a cluster, or its pieces", check_options, 1),
    (r"(\./)?mcsim reproduce (?!--list)", "minutes", check_reproduction, 1),
    (r"mcsim reproduce$", "hours", check_options, 1),
    (
        r"\./mcsim (docs|test|lint|bench|faults|fuzz|packages|odd-)",
        "this test is among it",
        check_launcher,
        1,
    ),
    (r"\./mcsim$", "what it sets up, this runs in", check_executable, 0),
    (r"\.ci/run", "this test is among it", check_executable, 0),
    (r"(cmake|ctest) ", "compiles", check_cmake, 0),
    (r"(pip|pre-commit) install", "installs", check_install, 0),
    (r"docker (build|run) ", "./mcsim packages image does it", check_image, 1),
    (r"\./mcsim --yes ", "installs", check_yes, 0),
    (r"python tests/bench/", "measures for minutes", check_script, 1),
    (r"mcsim .*--plugin build/", "test_out_of_tree_policy does it", check_options, 1),
    (r"mcsim (mrc|compare|trace info) --", "a few words of a command", check_options, 1),
    (r"mcsim compare .* --sizes 50000$", "10^7 requests; a benchmark runs it", check_options, 1),
    (r".*(\||<\()", "needs other programs", check_pipe, 0),
    (r"mcsim watch -$", "reads a pipe", check_options, 1),
    (r"mcsim --", "no command", check_options, 1),
]


def checked_only(part: str) -> tuple[Callable[[list[str]], None], int] | None:
    """How a command is looked at that does not run."""
    for beginning, _, check, skipped in _CHECKED:
        if re.match(beginning, part):
            return check, skipped
    return None


def run_line(line: str) -> None:
    for part in line.split(" && "):
        words = shlex.split(part)
        if (found := checked_only(part)) is not None:
            check, skipped = found
            check(words[skipped:])
        else:
            assert words[0] in ("mcsim", "./mcsim"), f"nothing here runs or checks: {part}"
            run_mcsim(filled_in(words[1:]))


LINES = [
    pytest.param(line, id=f"{path.relative_to(ROOT)}: {line}")
    for path in DOCUMENTS
    if "decisions" not in path.parts and path.name != "catalogue.md"
    for line in dict.fromkeys(shell_lines(path))
] + [pytest.param(line, id=f"--help: {line}") for line in dict.fromkeys(help_lines())]


@pytest.mark.parametrize("line", LINES)
def test_shell_lines(line: str, folder: Path, finished: Path) -> None:
    shutil.copytree(finished, folder / "results", copy_function=shutil.copy2)
    if " cache " in line:
        mcsim.Trace.open("web_0.csv.gz")
    run_line(line)


# --- What commands print -------------------------------------------------------------------------

# What is another on every machine, at every time or of every version: ids, digests and times.
_OWN = [
    (r"-[0-9a-f]{12,16}\b", "-ID"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b", "NOW"),
    (r"\bdigest [0-9a-f]{16}\b", "digest ID"),
]


def steps(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block of a console, each with the lines that it is shown to print."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def pattern_of(shown: list[str]) -> str:
    """What a command is to print: `…` alone is any lines, within a line anything."""
    whole = ""
    for line in shown:
        for own, name in _OWN:
            line = re.sub(own, name, line)
        if line.strip() == "…":
            whole += r"(?:.*\n)*?"
        else:
            whole += r"[^\n]*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
    return whole


def check_printed(shown: list[str], printed: str) -> None:
    """Hold what is shown to what was printed, line by line; tables may end with spaces."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    for own, name in _OWN:
        lines = [re.sub(own, name, line) for line in lines]
    assert re.fullmatch(pattern_of(shown), "".join(f"{line}\n" for line in lines)), (
        "the document shows\n" + "\n".join(shown) + "\nand it prints\n" + printed
    )


SESSIONS = [path for path in DOCUMENTS if blocks_of(path, "console")]


@pytest.mark.parametrize("document", SESSIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_print_what_documents_show(
    document: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, in a folder without results and with a cache of its own."""
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(folder / "own"))
    for block in blocks_of(document, "console"):
        for command, shown in steps(block):
            words = filled_in(shlex.split(command)[1:])
            check_printed(shown, run_mcsim(words))


def test_commands_of_collections_have_options_that_there_are() -> None:
    for line in shell_lines(ROOT / "docs" / "catalogue.md"):
        check_options(shlex.split(line)[1:])


def test_what_documents_show_is_compared() -> None:
    printed = "run  started\na-0123456789ab  2026-01-02 03:04  1.5 s   \nb\nc\n"
    shown = ["run  started", "a-ba9876543210  2025-12-31 23:59  … s", "…", "c"]
    check_printed(shown, printed)
    check_printed(["run  started", "…"], printed)
    for wrong in (["run  started"], [*shown, "d"], [shown[0].upper(), *shown[1:]], ["…", "b"]):
        with pytest.raises(AssertionError, match="the document shows"):
            check_printed(wrong, printed)
    assert steps("$ a b\nc\n$ d\n") == [("a b", ["c"]), ("d", [])]


def test_shell_lines_are_found() -> None:
    found = [str(param.values[0]) for param in LINES]
    assert "mcsim mrc web_0.csv.gz" in found
    assert "./mcsim run web" in found
    assert any(line.startswith("mcsim tune web_") for line in found)
    parts = [part for line in found for part in line.split(" && ")]
    assert sum(checked_only(part) is None for part in parts) > 100
    assert len(SESSIONS) > 5
    with pytest.raises(AssertionError, match="nothing here runs or checks: make all"):
        run_line("make all")
    with pytest.raises(AssertionError):
        run_line("mcsim mrc … --polices")


def test_the_readme_names_files_that_exist() -> None:
    for document in DOCUMENTS:
        for path in re.findall(r"experiments/[\w/-]+\.yaml", document.read_text(encoding="utf-8")):
            assert (ROOT / path).is_file(), path
