"""Traces of several VMs, and their curves in pieces, for tests."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from mcsim.cli.main import cli
from mcsim.locality.column_file import ColumnFile
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.curve_pieces import CurvePiece
from mcsim.locality.curve_ranges import MOST_JOINS, RangeMerge, can_merge_by_ranges
from mcsim.sweeps.curve_plan import CurvePlan, planned
from mcsim.sweeps.curves import CurveTask, checked, run_task
from mcsim.traces.open import Reading
from mcsim.traces.trace import Trace

SECOND = 10**9


def made_trace(folder: Path, name: str, rng: np.random.Generator, begin: int, **more: Any) -> Path:
    """Write requests of up to three VMs, several at most times, and return the file."""
    count, seconds = more.get("count", 400), more.get("seconds", 90)
    vms = [f"vm{v}" for v in rng.permutation(more.get("vms", 3))]
    whole = Trace.from_arrays(
        (np.sort(rng.integers(0, seconds, count)) + begin) * SECOND,
        rng.integers(0, more.get("blocks", 60), count) * more.get("align", 2048),
        rng.choice(more.get("lengths", [512, 4096, 9000, 20000]), count),
        op=rng.integers(0, 2, count),
        vm=rng.integers(0, len(vms), count),
        vms=vms,
        source=name,
    )
    return whole.save(folder / f"{name}.csv")


def plan_of(files: list[Path], count: int, folder: Path, **more: Any) -> CurvePlan:
    given = {"ops": "all", "block_bytes": 4096, "vms": None, "per_vm": True, **more}
    return planned(
        CurvePlan(
            files=tuple(files), reading=Reading(), vm_name=None, count=count, folder=folder, **given
        )
    )


def in_pieces(plan: CurvePlan, rng: random.Random) -> CurvePiece:
    """Merge neighbours in random order, every tree can come out, and by ranges of hashes."""
    for index in range(plan.count):
        run_task(CurveTask(plan, index, index + 1))
    paths = tuple(plan.path(index, index + 1) for index in range(plan.count))
    whole = _in_a_tree([CurvePiece.read(path) for path in paths], rng)
    if can_merge_by_ranges([ColumnFile(path) for path in paths]):
        joins = rng.choice([1, 2, rng.randrange(1, MOST_JOINS), MOST_JOINS])
        merge = RangeMerge(paths, plan.folder / f"ranges{joins}", joins)
        for task in range(joins):
            merge.join(task)
        for index in range(plan.count):
            merge.rank(index)
        resolved = [merge.resolve(index) for index in range(plan.count)]
        assert not any(len(curve.columns["first"]) for curve in resolved[-1].curves.values())
        found = _in_a_tree(resolved, rng).finished()
        expected = whole.finished()
        assert found.keys() == expected.keys()
        for label, curve in found.items():
            expect_equal(curve, expected[label])
    return whole


def _in_a_tree(pieces: list[CurvePiece], rng: random.Random) -> CurvePiece:
    while len(pieces) > 1:
        at = rng.randrange(len(pieces) - 1)
        pieces[at : at + 2] = [pieces[at].merge(pieces[at + 1])]
    return checked(pieces[0])


def expect_equal(found: HitRatioCurve, expected: HitRatioCurve) -> None:
    assert found.to_arrow().equals(expected.to_arrow(), check_metadata=True)


def run(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def untimed(text: str) -> dict[str, Any]:
    """Read JSON without the times of the stages."""
    found: dict[str, Any] = json.loads(text)
    assert found.pop("stages") is not None
    return found
