"""Trusts: libCacheSim, of which the comparison is; but not how fast either is."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module("policies_vs_peers")


def test_libcachesim_misses_as_often_where_it_should(tmp_path: Path, peers: ModuleType) -> None:
    pytest.importorskip("libcachesim", reason="the libcachesim wheel is absent")
    out = tmp_path / "out.json"
    script = [sys.executable, str(BENCH / "policies_vs_peers.py"), "--out", str(out)]
    sizes = ["--accesses", "20000", "--capacity", "700", "--rounds", "1"]
    done = subprocess.run([*script, *sizes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())["policies"]
    named = [peer.policy for peer in peers.PEERS if peer.policy not in peers.SIZES_ALONE]
    assert [each["policy"] for each in found] == named
    for each in found:
        assert each["equal"] == (each["misses"] == each["peer_misses"])
        assert each["equal"] or each["differs"], each["policy"]
        assert 0 < each["misses"] < 20_000
    assert out.with_suffix(".md").read_text() == done.stdout


def test_libcachesim_misses_as_many_bytes_where_it_should(
    tmp_path: Path, peers: ModuleType
) -> None:
    pytest.importorskip("libcachesim", reason="the libcachesim wheel is absent")
    out = tmp_path / "out.json"
    script = [sys.executable, str(BENCH / "policies_vs_peers.py"), "--sizes", "--out", str(out)]
    options = ["--accesses", "20000", "--capacity", "700", "--rounds", "1"]
    done = subprocess.run([*script, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())["policies"]
    assert {each["policy"] for each in found} == set(peers.WITH_SIZES)
    for each in found:
        assert each["equal"] or each["differs"], each["policy"]
        if each["equal"]:
            assert each["byte_miss_ratio"] == pytest.approx(each["peer_byte_miss_ratio"], abs=1e-9)
    equal = {policy for policy, why in peers.WITH_SIZES.items() if not why}
    assert {each["policy"] for each in found if each["equal"]} >= equal


def test_without_libcachesim_it_says_so(
    peers: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["policies_vs_peers.py"])
    assert peers.main() == 0
    assert capsys.readouterr().out.startswith("Not compared with libCacheSim: its wheel")


def test_a_difference_that_should_not_be_is_an_error(
    peers: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("libcachesim", reason="the libcachesim wheel is absent")
    monkeypatch.setattr(peers, "PEERS", [peers.Peer("lru", "FIFO")])
    given = ["--accesses", "5000", "--capacity", "100", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", ["policies_vs_peers.py", *given])
    assert peers.main() == 1
    assert "NO, and they should be" in capsys.readouterr().out
