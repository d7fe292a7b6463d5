# Trusts: bytes that only one of two processes writes.
"""Findings kept by several processes at a time, and by one that is interrupted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import mcsim
from mcsim.reproduce import kept
from mcsim.reproduce.catalogue import Figure, Found
from mcsim.reproduce.context import Context
from mcsim.reproduce.documents.multicache import figures as multicache

AT_ONE_TIME = """
import sys, time
from pathlib import Path

import pyarrow as pa

import mcsim
from mcsim.reproduce import catalogue, kept
from mcsim.reproduce.documents.multicache import figures as multicache
from mcsim.reproduce.catalogue import Figure, Found

out, number, force = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "force"


def meet(where):
    (out.parent / f"{where}-{number}").touch()
    while len(list(out.parent.glob(f"{where}-*"))) < 2:
        time.sleep(0.001)


def draw(found, folder, formats, style):
    path = folder / "a.png"
    path.write_bytes(bytes([number]) * 1000)
    meet("drawn")
    return [path]


def find(context):
    meet("found")
    # Findings differ, as they never do, so that a mixture would show.
    return Found(values={"by": number}, tables={"by": pa.table({"by": [number]})})


kept.draw_found = draw
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
    def draw(found: Found, folder: Path, formats: Sequence[str], style: str) -> list[Path]:
        if interrupted:
            raise KeyboardInterrupt
        (folder / "a.png").write_bytes(b"drawn")
        return [folder / "a.png"]

    interrupted: list[bool] = []
    figure = Figure("multicache/a", "A", 1, 1, "synthetic", lambda context: Found())
    monkeypatch.setattr(kept, "draw_found", draw)
    monkeypatch.setattr(multicache, "FIGURES", [figure])
    mcsim.reproduce("multicache", out=tmp_path)
    interrupted.append(True)
    with pytest.raises(KeyboardInterrupt):
        mcsim.reproduce("multicache", out=tmp_path, force=True)
    (outcome,) = mcsim.reproduce("multicache", out=tmp_path).outcomes
    assert [path.read_bytes() for path in outcome.finding.drawn] == [b"drawn"]
    assert [path.name for path in (tmp_path / "reproduce" / "multicache").iterdir()] == ["a"]
