"""Trusts: `mcsim.simulate`, and the arithmetic of scores that is written out here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from commands import python

import mcsim as mc
from mcsim.cli.main import cli
from mcsim.contests.candidates import candidates_given, candidates_of_json
from mcsim.contests.conformance import check_conformance
from mcsim.contests.scores import Scale, Summary
from mcsim.policies import has_foresight

HOSTILE = """
import os, random, signal, time

import mcsim as mc


class Lru(mc.PriorityPolicy):
    def priority(self, accesses, last, inserted, now):
        return last


class Exits(Lru):
    def start(self, capacity, seed):
        os._exit(7)


class Crashes(Lru):
    def start(self, capacity, seed):
        os.kill(os.getpid(), signal.SIGSEGV)


class Hangs(Lru):
    def start(self, capacity, seed):
        time.sleep(1000)


class Hoards(Lru):
    kept = []

    def start(self, capacity, seed):
        while True:
            self.kept.append(bytearray(1 << 26))


class Draws(mc.PriorityPolicy):
    rising = False

    def priority(self, accesses, last, inserted, now):
        return [random.random() for _ in last]


class Raises(Lru):
    def priority(self, accesses, last, inserted, now):
        raise SystemExit("not today")


class Prints(Lru):
    def start(self, capacity, seed):
        print("noise", flush=True)
        os.write(1, b"noise")
"""


def skewed(seed: int, count: int = 20_000) -> mc.Trace:
    """Skewed accesses, a third of them in scans."""
    draw = np.random.default_rng(seed)
    hot = np.minimum(draw.zipf(1.2, count), 3000)
    blocks = np.where(draw.random(count) < 0.3, 10_000 + np.arange(count) % 4000, hot)
    return mc.Trace.from_arrays(np.arange(count), 4096 * blocks, 4096)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hostile.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_scores_are_those_of_full_replays() -> None:
    traces, sizes = [skewed(1), skewed(2)], ["2%", "10%"]
    ranking = mc.arena(traces, ["lru", "arc", "sieve"], sizes, threads=2)
    expected = {}
    for policy in ("lru", "arc", "sieve"):
        scores = []
        for trace in traces:
            rows = mc.simulate(trace, ["lru", "opt(refuse=true)", policy], sizes)
            low, high, own = rows.hit_ratio.reshape(3, 2)
            scores.append((own - low) / (high - low))
        expected[policy] = np.array(scores)
    order = sorted(expected, key=lambda policy: -expected[policy].mean())
    assert ranking.candidate.tolist() == order
    assert ranking["rank"].tolist() == [1, 2, 3]
    for row in ranking:
        assert row.score == pytest.approx(expected[row.candidate].mean(), abs=1e-12)
        assert row.worst == pytest.approx(expected[row.candidate].min(), abs=1e-12)
        assert row.low <= row.score <= row.high
    cells = ranking.by_trace[ranking.by_trace.candidate == "arc"]
    assert cells.score.tolist() == pytest.approx(expected["arc"].ravel().tolist())


def test_held_out_traces_decide_the_rank() -> None:
    loop = np.tile(np.arange(300), 20)
    looping = mc.Trace.from_arrays(np.arange(6000), 4096 * loop, 4096)
    seen = mc.arena(looping, ["fifo", "mru"], ["50%"])
    assert seen.candidate[0] == "mru"
    held = mc.arena(looping, ["fifo", "mru"], ["2%"], held_out=[skewed(1)])
    assert held.candidate[0] == "fifo"
    assert "held-out" in held.answer
    # One leader: chosen on the traces that are seen, where `mru` wins.
    one = mc.arena(looping, ["fifo", "mru"], ["50%"], held_out=[skewed(1)], leaders=1)
    assert one[["candidate", "rank"]].tolist() == [("mru", 1), ("fifo", 0)]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Exits", "exit code 7"),
        ("Crashes", "SIGSEGV"),
        ("Hangs", "not done after 20 s"),
        ("Hoards", "more memory than"),
        ("Draws", "different counts"),
        ("Raises", "not today"),
    ],
)
def test_a_hostile_candidate_costs_only_itself(folder: Path, kind: str, reason: str) -> None:
    ranking = mc.arena(
        skewed(1),
        [f"hostile:{kind}", "hostile:Prints", "arc"],
        ["5%"],
        seconds=20 if kind == "Hangs" else 60,
        memory="700MiB",
        threads=1,
        allow_code=True,
    )
    failed = ranking[ranking.candidate == f"hostile:{kind}"][0]
    assert reason in failed.failure
    assert failed.rank == 0
    others = ranking[ranking["rank"] > 0]
    assert sorted(others.candidate.tolist()) == ["arc", "hostile:Prints"]
    # A Python class with the rule of LRU has the score of LRU.
    assert others[others.candidate == "hostile:Prints"].score.tolist() == [0.0]


def test_a_wrong_parameter_costs_only_its_candidate() -> None:
    ranking = mc.arena(skewed(1), ["2q(kin=7)", "nothing", "opt", "arc"], ["5%"])
    assert ranking.candidate[0] == "arc"
    assert ranking["rank"].tolist() == [1, 0, 0, 0]
    failures = dict(zip(ranking.candidate.tolist(), ranking.failure.tolist(), strict=True))
    assert "kin" in failures["2q(kin=7)"]
    assert "nothing" in failures["nothing"]
    assert failures["opt"] == "it uses the future"


def test_code_needs_a_permission(folder: Path) -> None:
    with pytest.raises(mc.ConfigError, match="hostile is code that does not run unasked"):
        mc.arena(skewed(1), "hostile:Lru", ["5%"])
    with pytest.raises(mc.ConfigError, match=r"mine\.so is code that does not run unasked"):
        mc.arena(skewed(1), {"policy": "mine", "library": "mine.so"}, ["5%"])


def test_no_score_without_a_distance() -> None:
    once = mc.Trace.from_arrays(np.arange(100), 4096 * np.arange(100), 4096)
    with pytest.raises(mc.ConfigError, match="as many hits as LRU"):
        mc.arena(once, "lru", ["50%"])


POLICIES = [name for name in mc.policy_names() if not has_foresight(name)]


@pytest.mark.parametrize("policy", [*POLICIES, "talus(policy=lru)", "shards(n=4,policy=lru)"])
def test_every_policy_conforms(policy: str) -> None:
    check_conformance(policy, 1)


def test_foresight_shows_in_no_test_but_more_hits_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcsim.contests import conformance

    check_conformance("opt", 1)
    monkeypatch.setattr(conformance, "_optimum", lambda *_: [0, 0, 0, 0])
    with pytest.raises(mc.ConfigError, match="but the optimum has 0"):
        check_conformance("lru", 1)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "at least one"),
        (3, "expected a list"),
        ([3], r"candidates\[0\]: expected a policy"),
        ([{"policy": ""}], r"candidates\[0\].policy: expected a text"),
        ([{"name": "a"}], "the key policy is missing"),
        ([{"policy": "lru", "librery": "x"}], "did you mean 'library'"),
        (["lru", {"policy": "arc", "name": "lru"}], r"is that of candidates\[0\]"),
    ],
)
def test_wrong_candidates_are_named(given: object, reason: str) -> None:
    with pytest.raises(mc.ConfigError, match=reason):
        candidates_given(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "{", "3", '{"candidate": []}', "[" * 100_000])
def test_wrong_json_is_named(text: str) -> None:
    with pytest.raises(mc.ConfigError, match=r"^some\.json: "):
        candidates_of_json(text, "some.json")


def test_the_shell_takes_and_returns_json(tmp_path: Path) -> None:
    skewed(1).save(tmp_path / "one.csv")
    given = json.dumps([{"name": "small", "policy": "2q(kin=0.1)"}, "lru", "nothing"])
    shared = ["arena", str(tmp_path / "one.csv"), "--sizes", "5%", "-q"]
    shown = CliRunner().invoke(cli, [*shared, "--candidates", "-", "--json"], input=given)
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert [row["candidate"] for row in found["rows"]] == ["small", "lru", "nothing"]
    assert [row["rank"] for row in found["rows"]] == [1, 2, None]
    assert found["rows"][0]["policy"] == "2q(kin=0.1)"
    assert len(found["by_trace"]) == 2
    out = tmp_path / "out"
    shown = CliRunner().invoke(cli, [*shared, "--policies", "lru,arc", "-o", str(out)])
    assert shown.exit_code == 0, shown.output
    assert sorted(path.suffix for path in out.iterdir()) == [
        ".csv",
        ".csv",
        ".html",
        ".png",
        ".svg",
    ]
    assert "gains and loses" in (out / "one-arena.html").read_text()


def test_processes_end_with_their_parent(folder: Path) -> None:
    program = (
        "import os, threading, numpy as np, mcsim as mc\n"
        "at = np.arange(600)\n"
        "loop = mc.Trace.from_arrays(at, 4096 * (at % 60), 4096)\n"
        "threading.Timer(4, os._exit, [9]).start()\n"
        "mc.arena(loop, 'hostile:Hangs', ['50%'], threads=1, allow_code=True)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], env=dict(os.environ), check=False)
    assert ended.returncode == 9
    left = ["pgrep", "-P", "1", "-f", "mcsim.contests.worker"]
    deadline = time.monotonic() + 60
    while subprocess.run(left, capture_output=True, check=False).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_interruption_keeps_no_ranks(tmp_path: Path) -> None:
    skewed(1).save(tmp_path / "one.arrow")
    program = """
import sys
import mcsim.contests.contest
from mcsim.cli import main

def interrupted(*_):
    raise KeyboardInterrupt

mcsim.contests.contest.contest = interrupted
main.main(["arena", sys.argv[1], "--policies", "lru"])
"""
    done = python("-c", program, tmp_path / "one.arrow")
    assert done.returncode == 130
    message = "mcsim: interrupted; an arena that was not finished has no ranks"
    assert done.stderr.splitlines()[-1] == message


def test_a_heading_has_no_blocks_where_objects_are_replayed(tmp_path: Path) -> None:
    keys = "".join(f"{second},{second % 5}\n" for second in range(40))
    objects, blocks = tmp_path / "objects.csv", tmp_path / "blocks.arrow"
    objects.write_text(f"time_s,key\n{keys}")
    skewed(1).save(blocks)

    def heading(*files: Path) -> str:
        words = ["arena", *map(str, files), "--policies", "lru,mru", "--sizes", "60%"]
        shown = CliRunner().invoke(cli, words)
        assert shown.exit_code == 0, shown.output
        (line,) = [line for line in shown.output.splitlines() if line.endswith("each trace alone")]
        return line.partition(", each")[0]

    assert heading(objects) == "objects: reads of objects"
    both = heading(objects, blocks)
    assert both == "objects, blocks: reads in blocks of 4KiB or of objects"


def test_a_mean_counts_each_trace_once() -> None:
    scale = Scale(np.zeros((2, 2)), np.array([[1.0, 1.0], [1.0, 0.0]]))
    scores = scale.scores(np.array([[0.5, 0.1], [0.7, 0.0]]))
    summary = Summary.of([scores], 1)
    assert summary.mean.tolist() == [pytest.approx((0.3 + 0.7) / 2)]
    assert summary.worst.tolist() == [pytest.approx(0.1)]


def test_no_requests_are_seen_and_held_out() -> None:
    with pytest.raises(mc.ConfigError, match=r"held_out: .* which candidates see"):
        mc.arena([skewed(1)], "arc", ["5%"], held_out=[skewed(1)])


def test_processes_of_a_candidate_end_with_its_own(folder: Path) -> None:
    (folder / "forks.py").write_text(
        "import os, time, mcsim as mc\n"
        "class Forks(mc.PriorityPolicy):\n"
        "    def start(self, capacity, seed):\n"
        "        child = None if os.path.exists('child') else os.fork()\n"
        "        if child == 0:\n"
        "            time.sleep(600)\n"
        "        if child:\n"
        "            open('child', 'w').write(str(child))\n"
        "    def priority(self, accesses, last, inserted, now):\n"
        "        return last\n"
    )
    mc.arena(skewed(1), "forks:Forks", ["5%"], threads=1, allow_code=True)
    child = int((folder / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    # Ended, though nothing may have waited for it.
    assert not state.exists() or state.read_text().split()[2] == "Z"
