# Trusts: DESIGN's table of exit codes; the modules in `sys.modules`.
from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from commands import call, environment, python
from small import TINY

import mcsim
from mcsim._core import engine, locality, optimizers
from mcsim.base.errors import HostError, InternalError
from mcsim.figures import FIGURES


def test_an_instruction_set_that_cannot_be_had_is_an_error() -> None:
    done = python(
        "-c",
        "import os; os.environ['MCSIM_ISA'] = 'sse9'\n"
        "from mcsim.cli.main import main; main(['list'])",
    )
    assert done.returncode == 2
    assert (
        done.stderr == "mcsim: MCSIM_ISA: unknown choice 'sse9' (one of portable, avx2, avx512)\n"
    )


def test_help_imports_nothing_heavy() -> None:
    code = """
import sys
from mcsim.cli.main import main
try:
    main(["--help"])
except SystemExit as stop:
    assert not stop.code
heavy = {"numpy", "pyarrow", "pandas", "polars", "matplotlib", "pydantic", "rich", "mcsim._core"}
sys.exit(", ".join(heavy & set(sys.modules)) or None)
"""
    done = python("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    for command in (
        "run",
        "mrc",
        "size",
        "list",
        "describe",
        "trace",
        "results",
        "sweep",
        "schema",
    ):
        assert f"\n  {command} " in done.stdout


def test_a_small_comparison_imports_no_schema(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("1\n2\n1\n")
    code = f"""
import sys
from mcsim.cli.main import main
main(["compare", {str(tmp_path / "keys.txt")!r}, "--policies=lru,2q", "--sizes=2", "--csv", "-q"])
heavy = {{"pandas", "polars", "matplotlib", "pydantic", "mcsim.config", "mcsim.locality"}}
sys.exit(", ".join(heavy & set(sys.modules)) or None)
"""
    done = python("-c", code)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_is_quick() -> None:
    def cpu_seconds() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    # Processor time does not depend on the load of the machine.
    before = cpu_seconds()
    assert python("-c", "from mcsim.cli.main import main; main(['--help'])").returncode == 0
    assert cpu_seconds() - before < 0.3


def test_the_package_can_be_run_as_a_module() -> None:
    done = python("-m", "mcsim", "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: mcsim ")


def test_the_version_is_the_cores(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version") == (0, f"mcsim {mcsim.__version__}\n", "")


def test_list_shows_everything_that_is_declared(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "list")
    assert code == 0
    declared = [
        *engine.describe_systems(),
        *optimizers.describe(),
        *locality.describe_estimators(),
        *locality.describe_meters(),
    ]
    assert "\nestimators\n" in out
    assert "\nmeters\n" in out
    for name in [*(entry["name"] for entry in declared), "msr", "dram", "flash", "hdd"]:
        assert f"\n{name} " in out


def test_describe_shows_every_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "describe", "multicache")
    assert code == 0
    assert "Reference: Rajasekaran" in out
    (multicache,) = (d for d in engine.describe_systems() if d["name"] == "multicache")
    for param in multicache["params"]:
        assert f"\n  {param['name']} = " in out
        assert param["help"] in out
    assert "ri_window = 1min" in out
    assert "one of literal, gated, linear" in out


def test_deployed_caches_stand_apart_with_their_rules(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "list", "systems")
    assert "\nsystems, deployed\ndm-cache " in out
    _, out, _ = call(capsys, "describe", "dm-cache")
    assert "Linux 6.1.176" in out
    assert "dm-cache-policy-smq.c  64 levels of blocks." in out
    assert "Not modelled" in out
    code, lvmcache, _ = call(capsys, "describe", "LVMcache")
    assert (code, lvmcache[: len(out)]) == (0, out)
    assert "Nearest: system dm-cache" in lvmcache[len(out) :]
    _, out, _ = call(capsys, "describe", "bcache")
    assert "Linux 6.1.176" in out
    assert "  alloc.c      Blocks are appended to the open bucket of their VM." in out
    _, out, _ = call(capsys, "describe", "open-cas")
    assert "b8b4b704 in 26 replays" in out
    assert "Nearest: system open-cas" in out


def test_describe_shows_a_meter(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "describe", "curve")
    assert code == 0
    assert out.startswith("curve (meter)\n  Hits of an LRU cache of any size.\n")
    assert "scope = interval   one of interval, cumulative, warm" in out
    code, out, _ = call(capsys, "describe", "intensity")
    assert code == 0
    assert "window = 1min" in out


def test_describe_prints_what_the_source_of_a_device_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = call(capsys, "describe", "hdd")
    assert code == 0
    assert "read = 6500us" in out
    assert "the source prints 5ms to 8ms" in out


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "schema")
    assert code == 0
    assert "tiers" in json.loads(out)["properties"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rum"], "no such command 'rum' (did you mean 'run'?)"),
        (["run", "none.yaml"], "mcsim: none.yaml: No such file or directory"),
        (["run", "bad.yaml"], "mcsim: bad.yaml:2: unknown key 'tires' (did you mean 'tiers'?)"),
        (["run", "bad.yaml", "--threads", "0"], "0 is not in the range x>=1"),
        (["run", "bad.yaml", "--trace-dir", "none"], "Directory 'none' does not exist"),
        (["describe", "multicach"], "nothing is called 'multicach' (did you mean 'multicache'?)"),
        (["results", "page", "none"], "mcsim: results: no such folder of results; --res"),
        (["results", "polt"], "no such command 'polt' (did you mean 'plot'?)"),
        (["run", "bad.yaml", "--result", "x"], "(Did you mean one of: '--results', "),
        (["reproduce", "--page", "x"], "No such option '--page' (one of --list, --quick,"),
        (["trace", "map", "t.csv", "--option", "x=1"], "(one of --trace-dir, --save, --help)"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], expected: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = "workload: {vms: [a]}\nsystems: [lru]\n"
    (folder / "bad.yaml").write_text(f"name: bad\ntires: []\n{rest}", encoding="utf-8")
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert expected in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "code", "last_line"),
    [
        (HostError("the disk is full"), 3, "mcsim: the disk is full"),
        (PermissionError(13, "Permission denied", "x"), 3, "[Errno 13] Permission denied: 'x'"),
        (MemoryError(), 3, "mcsim: there is not enough memory"),
        (InternalError("hits + misses != accesses"), 70, "this is a bug in mcsim; please report"),
        (ZeroDivisionError(), 70, "this is a bug in mcsim; please report"),
    ],
)
def test_other_errors_have_their_exit_codes(
    error: Exception,
    code: int,
    last_line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("mcsim.experiment.catalogue.catalogue", fail)
    got, _, err = call(capsys, "list")
    assert got == code
    assert last_line in err.splitlines()[-1]
    assert ("Traceback" in err) == (code == 70)


def write_experiment(path: Path, systems: str) -> None:
    path.write_text(
        f"name: {path.stem}\nworkload: {{profile: {TINY}}}\n"
        "tiers: [{device: dram, capacity: 100}, {device: flash, capacity: 1000}]\n"
        f"{systems}\n"
    )


def test_run_prints_the_answer_and_a_table_and_show_prints_them_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_experiment(folder / "small.yaml", "systems: [lru, static]")
    code, first, err = call(capsys, "run", "small.yaml", "--set", "seed=2")
    assert code == 0
    assert "replay lru " in err
    (run,) = (folder / "results").iterdir()
    assert first.startswith(f"{mcsim.Results.open(run).answer}\n\n")
    assert first.count("small (synthetic workload)") == 1
    assert "reads, 400 KiB + 3.906 MiB (100 + 1,000 blocks of 4KiB)" in first
    assert "\nhit % by VM, and the mean over VMs\nsystem friendly cyclic scanner  mean\n" in first
    assert first.endswith(
        f"Results in results/{run.name}\n"
        f"Every VM and device: mcsim results show {run.name} --per-vm\n"
        f"Page: mcsim results page {run.name}\n"
    )
    assert not list(run.glob("figures*"))
    assert not (run / "page.html").exists()
    code, again, _ = call(capsys, "results", "show", f"results/{run.name}")
    assert code == 0
    assert again == first
    assert call(capsys, "results", "show", "small")[:2] == (0, first)  # by the start of its id
    every = call(capsys, "results", "show", "small", "--per-vm")[1]
    assert call(capsys, "run", "small.yaml", "--set", "seed=2", "--per-vm")[1] == every
    assert every.startswith(first[: first.index("\nResults in ")])
    for table in ("what was possible", "systems", "requests", "devices"):
        assert f"small (synthetic workload): {table}" in every
    assert "friendly" in every
    assert call(capsys, "results", "plot", run.name, "--list")[0] == 0
    code, _, err = call(capsys, "results", "show", "smell")
    assert code == 2
    assert "no run 'smell' (did you mean 'small'?)" in err


@pytest.mark.parametrize("asked", ["options", "experiment"])
def test_run_draws_and_writes_a_page_if_asked(
    asked: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ["--figures", "--page"] if asked == "options" else []
    more = "" if wanted else "\nfigures: [curves]\nfigure_formats: [svg]\npage: true"
    write_experiment(folder / "small.yaml", f"systems: [lru]{more}")
    code, said, _ = call(capsys, "run", "small.yaml", "-q", *wanted)
    assert code == 0
    (run,) = (folder / "results").iterdir()
    assert f"Page: results/{run.name}/page.html\n" in said
    assert (run / "page.html").read_text().startswith("<!")
    drawn = {path.name for path in (run / "figures").iterdir()}
    assert "curves.png" in drawn if wanted else drawn == {"curves.svg"}
    # The run id does not depend on the outputs that were requested.
    without = ["--no-figures", "--no-page", "--results", "other"]
    assert call(capsys, "run", "small.yaml", "-q", *without)[0] == 0
    (other,) = (folder / "other").iterdir()
    assert other.name == run.name
    assert not (other / "page.html").exists()
    assert not (other / "figures").exists()


def test_figures_compare_runs_at_several_sizes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_experiment(folder / "sizes.yaml", "systems: [lru, multicache]")
    for slow in (1000, 2000):
        size = f"tiers.1.capacity={slow}"
        assert call(capsys, "run", "sizes.yaml", "--set", size)[0] == 0
    runs = [path.name for path in Path("results").iterdir()]
    name = "hit-ratio-by-capacity"
    wanted = ("--only", name, "-o", "both", "--figure-format", "png,pdf")
    code, out, _ = call(capsys, "results", "plot", *runs, *wanted)
    assert code == 0
    assert out.splitlines()[:2] == [f"both/{name}.png", f"both/{name}.pdf"]
    one = ("--only", "hit-ratio-over-time", "-o", "both")
    code, out, err = call(capsys, "results", "plot", *runs, *one)
    assert (code, out) == (2, "")
    assert err == (
        "mcsim: hit-ratio-over-time (Hit ratio over time) is not drawn: shows one run, got 2; "
        "there are hit-ratio-by-capacity\n"
    )
    chosen = ("--only", name, "-o", "both", "--systems")
    assert call(capsys, "results", "plot", *runs, *chosen, "lru")[0] == 0
    code, _, err = call(capsys, "results", "plot", *runs, *chosen, "lruu")
    assert (code, err) == (
        2,
        "mcsim: systems: no 'lruu' (did you mean 'lru'?); there are lru, multicache\n",
    )
    code, out, _ = call(capsys, "results", "plot", "--list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(FIGURES)
    code, out, _ = call(capsys, "results", "plot", "--list", runs[0])
    assert code == 0
    reasons = [line.split("[cannot be drawn: ") for line in out.splitlines()]
    without = {line[0].split()[0]: line[1] for line in reasons if len(line) > 1}
    assert without == {name: "needs runs of one experiment at two or more capacities]"}
    code, _, err = call(capsys, "results", "plot")
    assert (code, err) == (2, "mcsim: RUN: name a finished run, by its folder or id (or --list)\n")
    code, _, err = call(capsys, "results", "plot", *runs)
    assert code == 2
    assert "figures of several runs need a folder to go to" in err
    code, _, err = call(capsys, "results", "plot", runs[0], "--x", "seed")
    assert (code, err) == (2, f"mcsim: --x: of sweeps; {runs[0]} is no sweep\n")
    code, _, err = call(capsys, "results", "page", *runs)
    assert (code, err) == (2, "mcsim: -o: name the file of a page of several runs\n")
    for page in ("both.html", "new/both.html"):
        assert call(capsys, "results", "page", *runs, "-o", page)[:2] == (0, f"{page}\n")


def test_the_public_names_are_those_announced() -> None:
    assert sorted(mcsim.__all__) == dir(mcsim)
    for name in mcsim.__all__:
        assert getattr(mcsim, name) is not None
    assert callable(mcsim.run)
    with pytest.raises(AttributeError, match="module 'mcsim' has no attribute 'runn'"):
        _ = mcsim.runn  # type: ignore[attr-defined]


def test_a_missing_core_is_said_in_a_sentence() -> None:
    done = python("-c", "import sys; sys.modules['mcsim._core'] = None; import mcsim; mcsim.run")
    assert done.returncode == 1
    assert (
        "the compiled core of mcsim is missing: run `pip install .`" in done.stderr.splitlines()[-1]
    )
    done = python(
        "-c",
        "import sys; sys.modules['mcsim._core'] = None\n"
        "from mcsim.cli.main import main; main(['list'])",
    )
    assert done.returncode == 3
    assert done.stderr.startswith("mcsim: the compiled core of mcsim is missing")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("interruption", "code", "what"),
    [
        ("signal.raise_signal(signal.SIGTERM)", 143, "terminated"),
        ("signal.raise_signal(signal.SIGINT)", 130, "interrupted"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
    ],
)
def test_an_interruption_leaves_at_once(interruption: str, code: int, what: str) -> None:
    """An exit would wait for threads, and call what a library cut short has not set up."""
    program = f"""
import atexit, signal, threading
from mcsim.cli import main as cli

@cli.cli.command()
def work():
    atexit.register(print, "an exit that broke")
    threading.Thread(target=threading.Event().wait).start()
    {interruption}

print("printed before")
cli.main(["work"])
"""
    done = python("-c", program)
    assert done.returncode == code
    assert done.stdout == "printed before\n"
    assert done.stderr.strip() == f"mcsim: {what}; what had finished is kept"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_no_terminal_ends_a_run(encoding: str) -> None:
    code = (
        "import sys; sys.argv = ['mcsim']; from mcsim.cli import main as cli\n"
        "@cli.cli.command()\n"
        "def words(): print('5 µs – 7 ±1 … 日 \\udcff')\n"
        "cli.main(['words'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(PYTHONIOENCODING=encoding),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (
        done.stdout.decode(encoding)
        == {
            "latin-1": "5 µs - 7 ±1 ... \\u65e5 \\xff\n",
            "ascii": "5 us - 7 +-1 ... \\u65e5 \\xff\n",
            "utf-8": "5 µs – 7 ±1 … 日 \\xff\n",
        }[encoding]
    )
