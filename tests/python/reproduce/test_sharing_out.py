# Trusts: the catalogue found by one process; whoever else finds it must leave the same bytes. Which
# figures show the same runs, docs/reproduction.md tells by the names of runs.
"""The same catalogue, whoever finds it: shards, Dask workers that die, processes at one time."""

from __future__ import annotations

import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from local_dask import Dask, until
from mcsim.reproduce.documents.multicache import figures as multicache
from small import ROOT

import mcsim
from mcsim.base.errors import ConfigError, HostError
from mcsim.cli.main import main
from mcsim.experiment.environment import build_digest
from mcsim.reproduce import catalogue, kept
from mcsim.reproduce.catalogue import chosen
from mcsim.reproduce.context import Context
from mcsim.reproduce.figure import Check, Figure, Found
from mcsim.reproduce.sharing_out import Task, shard_of

SMALL = ("eci/useful", "eci/devices", "thesis/fig9", "thesis/fig10", "cloudphysics/example")


def markdown(out: Path, *options: str) -> bytes:
    """What the command writes of some small figures."""
    file = out.with_name(f"{out.name}.md")
    where = ("--out", str(out), "--markdown", str(file))
    main(["reproduce", *SMALL, "--quick", "-q", *options, *where])
    return file.read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return markdown(tmp_path_factory.mktemp("one") / "out")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the catalogue up: six figures, that say here when they are asked for."""
    asked: list[str] = []

    def figure(name: str, seconds: float, runs: str = "") -> Figure:
        def find(context: Context) -> Found:
            asked.append(name)
            check = Check("it is found", True, f"{context.threads} thread")
            return Found(checks=[check], tables={"of": pa.table({"name": [name]})}, ran=[name])

        title = f"multicache/{name}"
        return Figure(title, name.upper(), seconds, seconds / 10, "synthetic", find, runs)

    made = [
        *(figure("a", 40, "web"), figure("b", 60), figure("c", 1, "web"), figure("d", 30)),
        *(figure("e", 2, "web"), figure("f", 15)),
    ]
    monkeypatch.setattr(multicache, "FIGURES", made)
    monkeypatch.setattr(catalogue, "DOCUMENTS", ("multicache",))
    return asked


def names(figures: list[Figure]) -> str:
    return "".join(figure.name[-1] for figure in figures)


def test_shards_take_about_as_long(found: list[str]) -> None:
    # 60, 43 of one run, 30 and 15: the longest first, to whom has least.
    figures = chosen([])
    assert [names(shard_of(figures, f"{i}/2", False)) for i in (0, 1)] == ["bf", "acde"]
    assert [names(shard_of(figures, f"{i}/3", True)) for i in (0, 1, 2)] == ["b", "ace", "df"]
    assert [names(shard_of(figures, f"{i}/6", True)) for i in range(6)] == [
        *("b", "ace", "d", "f", "", "")
    ]
    assert names(shard_of(figures, "0/1", True)) == "abcdef"


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
def test_shards_together_are_all_figures(count: int, quick: bool) -> None:
    figures = chosen([])
    parts = [shard_of(figures, f"{index}/{count}", quick) for index in range(count)]
    every = sorted(figure.name for part in parts for figure in part)
    assert every == sorted(figure.name for figure in figures)
    whole = sum(figure.estimate(quick) for figure in figures)
    # But for the one that takes longest, with what shows the same runs.
    longest = max(figure.estimate(quick) for figure in figures)
    loads = [sum(figure.estimate(quick) for figure in part) for part in parts]
    assert max(loads) <= max(1.5 * whole / count, 1.5 * longest)


def test_figures_that_show_the_same_runs_stay_together() -> None:
    file = ROOT / "docs" / "reproduction.md"
    text = file.read_text(encoding="utf-8")
    of_run: dict[str, set[str]] = {}
    for name, ran in re.findall(r"^### (\S+): .*\n\nRun: (.*)", text, re.MULTILINE):
        for run in re.findall(r"[\w-]+-[0-9a-f]{12}", ran):
            of_run.setdefault(run, set()).add(name)
    shared = [figures for figures in of_run.values() if len(figures) > 1]
    assert len(shared) > 3
    for figures in shared:
        assert len({figure.runs for figure in chosen(figures)}) == 1, figures


@pytest.mark.parametrize("shard", ["2/2", "1", "-1/2", "1/0", "a/b"])
def test_a_shard_that_is_none_is_refused_as_a_sweep_does(
    found: list[str], tmp_path: Path, shard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--list"]):
        with pytest.raises(SystemExit, match="2"):
            main(["reproduce", "--shard", shard, "--out", str(tmp_path), *more])
        assert capsys.readouterr().err == (
            f"mcsim: shard: expected i/n with i from 0 to n - 1, such as 3/64, got {shard!r}\n"
        )
    assert found == []


def test_a_shard_finds_and_shows_its_part(
    found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["reproduce", "--out", str(tmp_path), "-q"]
    main([*command, "--shard", "0/2", "--markdown", str(tmp_path / "part.md")])
    shown = capsys.readouterr().out
    assert "multicache/b: B" in shown
    assert "multicache/a" not in shown
    assert "2 figures; numbers and claims: 2 holds" in shown
    told = (tmp_path / "part.md").read_text(encoding="utf-8")
    assert "Made by `mcsim reproduce --shard 0/2`; do not edit." in told
    assert found == ["b", "f"]
    main([*command, "--shard", "1/2"])
    assert found == ["b", "f", "a", "c", "d", "e"]
    capsys.readouterr()
    main(command)
    assert "6 figures; numbers and claims: 6 holds" in capsys.readouterr().out
    assert len(found) == 6
    main([*command, "--shard", "5/6"])
    assert "0 figures" in capsys.readouterr().out
    main([*command, "--shard", "0/2", "--list"])
    assert "  2 figures, at most 1.2 min on two cores" in capsys.readouterr().out


def test_shards_in_any_order(tmp_path: Path, expected: bytes) -> None:
    shards = list(range(3))
    random.Random(2).shuffle(shards)
    out = tmp_path / "out"
    for shard in shards:
        assert markdown(out, "--shard", f"{shard}/3") != expected
    kept_at = {file: file.stat().st_mtime_ns for file in out.glob("reproduce/*/*/found.json")}
    assert len(kept_at) == len(SMALL)
    assert markdown(out) == expected
    assert {file: file.stat().st_mtime_ns for file in kept_at} == kept_at


@pytest.mark.slow
def test_dask_with_a_worker_that_is_killed(tmp_path: Path, expected: bytes, dask: Dask) -> None:
    dask.wait()
    out = tmp_path / "out"

    def kill() -> None:
        until(lambda: any(out.glob("reproduce/*/*/found.json")))
        dask.workers[0].kill()

    with ThreadPoolExecutor(1) as threads:
        killed = threads.submit(kill)
        found = markdown(out, "--dask", dask.address)
        killed.result()
    assert found == expected
    assert markdown(out) == expected
    assert len(list(out.glob("reproduce/*/*/found.json"))) == len(SMALL)


def test_a_scheduler_that_is_not_there(
    found: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("mcsim.sweeps.dask._SECONDS", 0.2)
    with pytest.raises(SystemExit, match="3"):
        main(["reproduce", "--dask", "tcp://127.0.0.1:9", "--out", str(tmp_path)])
    assert "mcsim: tcp://127.0.0.1:9: no Dask scheduler answers there: " in capsys.readouterr().err
    assert found == []


class AtOnce(ThreadPoolExecutor):
    """An executor that sends what another process could read, changed as it would see it."""

    def __init__(self, change: Callable[[Task], Task] = lambda sent: sent) -> None:
        super().__init__(2)
        self._change = change

    def submit(self, work: Any, /, *args: Any, **_: Any) -> Future[Any]:
        work, sent = pickle.loads(pickle.dumps((work, *args)))
        return super().submit(lambda: work(self._change(sent)))


def test_any_executor_will_do(found: list[str], tmp_path: Path) -> None:
    mcsim.reproduce("multicache/d", out=tmp_path / "sent")
    with AtOnce() as executor:
        sent = mcsim.reproduce(out=tmp_path / "sent", executor=executor)
    # The longest first, and what shows the same runs by one worker; what is kept is not sent.
    assert sorted(found) == ["a", "b", "c", "d", "e", "f"]
    assert [name for name in found if name in "ace"] == ["a", "c", "e"]
    details = {row.measured for outcome in sent.outcomes for row in outcome.rows}
    assert "1 thread" in " ".join(details)
    assert sent.tables == mcsim.reproduce(out=tmp_path / "alone").tables
    with AtOnce() as executor:
        again = mcsim.reproduce(out=tmp_path / "sent", executor=executor, force=True)
    assert len(found) == 3 * 6
    assert again.tables == sent.tables
    with AtOnce() as executor:
        mcsim.reproduce(out=tmp_path / "part", executor=executor, shard="0/2")
    assert sorted(found[3 * 6 :]) == ["b", "f"]


def test_a_worker_with_another_mcsim_is_refused(found: list[str], tmp_path: Path) -> None:
    def older(sent: Task) -> Task:
        return replace(sent, version="0.0.1", build="feed")

    with AtOnce(older) as executor, pytest.raises(ConfigError) as caught:
        mcsim.reproduce(out=tmp_path, executor=executor)
    told = str(caught.value)
    assert f"has mcsim {mcsim.__version__}, build {build_digest()}; " in told
    assert told.endswith(
        "the reproduction was planned by mcsim 0.0.1, build feed: install the same on all machines"
    )
    assert found == []


def test_a_worker_that_sees_other_traces_is_refused(found: list[str], tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    (traces / "web_0.csv").write_text("128166372003061629,web,0,Read,0,4096,1\n", encoding="utf-8")

    def without(sent: Task) -> Task:
        return replace(sent, settings={**sent.settings, "trace_dirs": ()})

    with AtOnce(without) as executor, pytest.raises(ConfigError, match="sees are others than whe"):
        mcsim.reproduce("multicache/b", out=tmp_path, trace_dirs=[traces], executor=executor)
    assert found == []


def test_a_folder_that_is_another_for_workers_is_told(found: list[str], tmp_path: Path) -> None:
    def moved(sent: Task) -> Task:
        return replace(sent, settings={**sent.settings, "out": tmp_path / "theirs"})

    with AtOnce(moved) as executor, pytest.raises(HostError) as caught:
        mcsim.reproduce("multicache/b", out=tmp_path / "ours", executor=executor)
    assert str(caught.value) == (
        f"{tmp_path}/ours/reproduce/multicache/b: a worker kept what it found of multicache/b "
        "there, and it is not to be seen here: all machines must see one folder by this name"
    )


def test_figures_that_kill_their_workers_do_not_hold_up_the_others(
    found: list[str], tmp_path: Path
) -> None:
    class KilledWorker(Exception):  # noqa: N818, as Dask calls it
        pass

    def poison(sent: Task) -> Task:
        if "multicache/a" in sent.causes:
            raise KilledWorker
        return sent

    with AtOnce(poison) as executor, pytest.raises(HostError) as caught:
        mcsim.reproduce(out=tmp_path, executor=executor)
    assert str(caught.value) == (
        "multicache/a, multicache/c, multicache/e: every worker that ran them died, out of memory "
        "perhaps: give workers more, or run them by themselves: mcsim reproduce multicache/a "
        "multicache/c multicache/e"
    )
    assert sorted(found) == ["b", "d", "f"]


AT_ONE_TIME = """
import sys, time
from pathlib import Path

import pyarrow as pa

import mcsim
from mcsim.reproduce import catalogue
from mcsim.reproduce.documents.multicache import figures as multicache
from mcsim.reproduce.figure import Figure, Found

out, number, force = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "force"


def meet(where):
    (out.parent / f"{where}-{number}").touch()
    while len(list(out.parent.glob(f"{where}-*"))) < 2:
        time.sleep(0.001)


def draw(folder, formats, found):
    path = folder / "a.png"
    path.write_bytes(bytes([number]) * 1000)
    meet("drawn")
    return [path]


def find(context):
    meet("found")
    # Findings differ, as they never do, so that a mixture would show.
    return Found(values={"by": number}, tables={"by": pa.table({"by": [number]})}, draw=draw)


multicache.FIGURES = [Figure("multicache/a", "A", 1, 1, "synthetic", find)]
catalogue.DOCUMENTS = ("multicache",)
made = mcsim.reproduce(out=out, force=force)
"""


@pytest.mark.parametrize("how", ["", "force"])
def test_two_processes_keep_one_finding_at_a_time(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    several = [
        subprocess.Popen([sys.executable, "-c", AT_ONE_TIME, str(out), str(number), how])
        for number in (1, 2)
    ]
    assert [process.wait(timeout=120) for process in several] == [0, 0]
    figure = Figure("multicache/a", "A", 1, 1, "synthetic", lambda context: Found())
    context = Context(out=out, trace_dirs=mcsim.traces.find.default_trace_dirs())
    monkeypatch.setattr(multicache, "FIGURES", [figure])
    finding = kept.opened(figure, context)
    assert finding is not None
    by = finding.found.values["by"]
    assert finding.found.tables["by"].to_pylist() == [{"by": by}]
    assert [set(path.read_bytes()) for path in finding.drawn] == [{by}]
    assert [path.name for path in (out / "reproduce" / "multicache").iterdir()] == ["a"]


def test_what_was_kept_stays_until_there_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(folder: Path, formats: Sequence[str], found: Found) -> list[Path]:
        if interrupted:
            raise KeyboardInterrupt
        (folder / "a.png").write_bytes(b"drawn")
        return [folder / "a.png"]

    interrupted: list[bool] = []
    figure = Figure("multicache/a", "A", 1, 1, "synthetic", lambda context: Found(draw=draw))
    monkeypatch.setattr(multicache, "FIGURES", [figure])
    mcsim.reproduce("multicache", out=tmp_path)
    interrupted.append(True)
    with pytest.raises(KeyboardInterrupt):
        mcsim.reproduce("multicache", out=tmp_path, force=True)
    (outcome,) = mcsim.reproduce("multicache", out=tmp_path).outcomes
    assert [path.read_bytes() for path in outcome.finding.drawn] == [b"drawn"]
    assert [path.name for path in (tmp_path / "reproduce" / "multicache").iterdir()] == ["a"]


def test_a_task_says_all_that_a_finding_comes_from(tmp_path: Path) -> None:
    context = Context(quick=True, seed=4, out=tmp_path, trace_dirs=[tmp_path], threads=3)
    (figure,) = chosen(["multicache/fig7"])
    assert kept.cause_of(figure, Context(**context.settings())) == kept.cause_of(figure, context)
