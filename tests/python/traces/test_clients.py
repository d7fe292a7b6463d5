"""Profiles with clients that wait for each response.

Trusts: line numbers one counts in the text below; the engine, whose fixed parts are the reference
that clients wait for; Little's law, worked out by hand. What clients do request by request,
`reference_client_test.cpp` holds to a simulation.
"""

from __future__ import annotations

import hashlib
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from complaints import complaint
from small import TINY, small_experiment

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.config.profile import read_profile
from mcsim.results.models import requests
from mcsim.traces.metadata import STORE_VERSION
from mcsim.traces.synth import GENERATOR_VERSION, profile_digest, synth_trace

SECOND = 10**9

GOOD = textwrap.dedent("""\
    name: waiting
    seed: 4
    vms:
      busy:
        client: {cache_blocks: 400, hit: 25us, miss: 6.5ms, write: 200us}
        components:
          hot: {zipf: {blocks: 900, alpha: 0.8}, sizes: {4KiB: 2, 16KiB: 1}}
        phases:
          - {duration: 30s, think: 2ms, read_share: 0.8, reads: hot, writes: hot}
          - {duration: 30s, think: 50ms, reads: hot}
      lazy:
        client: {cache_blocks: 2MiB, hit: 0ns, miss: 1ms, write: 1ms}
        components:
          sweep: {loop: {blocks: 600}}
        phases:
          - {duration: 1min, think: 15ms, reads: sweep}
    """)


def written(folder: Path, old: str = "", new: str = "") -> Path:
    assert old in GOOD
    path = folder / "waiting.yaml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("think: 2ms", "think: 2ms, rate: 5 per s", "9: vms.busy.phases[0]: expected either 'r"),
        ("think: 2ms", "think: 2ms, requests: 5", "expected either 'requests' or 'rate', or of a"),
        ("think: 2ms, ", "", "waiting.yaml:9: vms.busy.phases[0]: expected either 'requests' or"),
        ("think: 50ms", "rate: 5 per s", "waiting.yaml:10: vms.busy.phases[1]: requests: a VM wi"),
        ("think: 2ms", "think: 2", "vms.busy.phases[0].think: expected a length of time"),
        ("think: 2ms", "think: -2ms", "phases[0].think: expected a length of time such as 60s"),
        ("hit: 25us, ", "", "waiting.yaml:5: vms.busy.client: missing key 'hit'"),
        ("miss: 6", "mis: 6", "unknown key 'mis' (did you mean 'miss'?)"),
        ("cache_blocks: 400", "cache_blocks: 0", "5: vms.busy.client: cache_blocks: 0 is outside"),
        (
            "    client: {cache_blocks: 400, hit: 25us, miss: 6.5ms, write: 200us}\n",
            "",
            "waiting.yaml:8: vms.busy.phases[0]: think: needs a VM with a 'client'",
        ),
        (
            "think: 50ms",
            "think: 50ms, diurnal: {amplitude: 1, peak: 1h}",
            "waiting.yaml:10: vms.busy.phases[1]: think: cannot be combined with diurnal",
        ),
        (
            "think: 50ms",
            "think: 50ms, bursts: {period: 9s, length: 1s, share: 1}",
            "think: cannot be combined with bursts",
        ),
        ("think: 15ms", "think: 0ns", "waiting.yaml:16: vms.lazy.phases[0]: think: 0 ns and res"),
        (
            "1min, think: 15ms",
            "10h, think: 1ns",
            "waiting.yaml:16: vms.lazy.phases[0]: think: 1 ns after responses that take 0 ns or "
            "more are 36000000000000 requests: at most 4294967296 can be made",
        ),
        (
            "busy:\n",
            "busy:\n    requests: 5\n",
            "5: vms.busy.requests: how many a client sends shows",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(folder: Path, old: str, new: str, expected: str) -> None:
    assert expected in complaint(read_profile, written(folder, old, new)).replace(f"{folder}/", "")


def test_progress_ends_with_as_many_requests_as_there_are(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = written(folder)
    trace = synth_trace(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[0][1] > trace.request_count
    assert seen[-1] == (trace.request_count, trace.request_count)


def test_the_same_profile_gives_the_same_bytes(folder: Path) -> None:
    path = written(folder)
    first, second = (synth_trace(path, folder / name).store_path for name in ("one", "two"))
    assert first is not None
    assert second is not None
    assert first.read_bytes() == second.read_bytes()


def test_the_digest_names_the_client_and_what_it_thinks(folder: Path) -> None:
    changes = [(), ("25us", "26us"), ("6.5ms", "7ms"), ("200us", "1us"), ("400", "500")]
    changes += [("think: 2ms", "think: 3ms")]
    digests = {profile_digest(read_profile(written(folder, *change))) for change in changes}
    assert len(digests) == len(changes)


def test_profiles_without_clients_are_what_they_were_before_there_were_any(folder: Path) -> None:
    path = folder / "plain.yaml"
    path.write_text(
        "name: plain\nvms:\n  a:\n    components: {c: {scan: {}}}\n"
        "    phases: [{duration: 1s, requests: 9, reads: c}]\n"
    )
    said = (
        '{"name":"plain","block_bytes":"4KiB","seed":0,"vms":{"a":{"requests":null,"components":'
        '{"c":{"stack":null,"zipf":null,"loop":null,"scan":{},"sizes":[[4096,1.0]]}},"phases":'
        '[{"start":null,"duration":1000000000,"requests":9,"rate":null,"read_share":1.0,"reads":'
        '[["c",1.0]],"writes":[],"diurnal":null,"bursts":null}]}}}'
    )
    expected = hashlib.sha256(f"{STORE_VERSION} {GENERATOR_VERSION} {said}".encode()).hexdigest()
    assert profile_digest(read_profile(path)) == expected
    digest = hashlib.sha256()
    for column in zip(*synth_trace(TINY).batches(), strict=True):
        digest.update(np.concatenate(column).tobytes())
    assert digest.hexdigest() == "3881cce17d1dba846e248bc2711b07c2bf9fad0772246ab339c335594c9dfd63"


def experiment(folder: Path, *systems: Any, **more: Any) -> Any:
    given = (
        small_experiment(
            *systems,
            tiers={"flash": 800},
            name="waiting",
            ops="all",
            interval="10s",
            workload={"profile": str(written(folder))},
            backend="hdd",
        )
        | more
    )
    return mcsim.run(given, out=folder / "results", figures=False)


def test_in_fixed_parts_responses_are_those_that_the_clients_waited_for(folder: Path) -> None:
    text = GOOD.replace("write: 200us", "write: 6.5ms").replace("2MiB", "400")
    text = text.replace("hit: 0ns, miss: 1ms, write: 1ms", "hit: 25us, miss: 6.5ms, write: 6.5ms")
    path = folder / "of-machine.yaml"
    path.write_text(text)
    results = experiment(folder, "static", "lru", workload={"profile": str(path)})
    waited = synth_trace(path).to_arrow()
    found = {(row["system"], row["vm"]): row for row in requests(results).to_pylist()}
    for name in ("busy", "lazy"):
        took = waited["response"].to_numpy()[waited["vm"].to_numpy() == name]
        row = found["static", name]
        assert row["requests"] == len(took)
        assert row["mean_ns"] == pytest.approx(took.mean(), rel=1e-12)
        assert row["p50_ns"] == np.sort(took)[(len(took) - 1) // 2]
    # Elsewhere they take what they take there, at the same times.
    assert found["lru", "lazy"]["requests"] == found["static", "lazy"]["requests"]
    assert found["lru", "busy"]["mean_ns"] != found["static", "busy"]["mean_ns"]


class Watcher:
    """Records the response times that it receives."""

    meters = {"waits": {"meter": "responses"}}  # noqa: RUF012
    interval = "10s"
    told: list[dict[str, Any]]

    def allocate(self, seen: mcsim.Observation) -> None:
        type(self).told.append(seen.meters["waits"])


def test_outstanding_is_response_by_response_and_thought(folder: Path) -> None:
    Watcher.told = []
    experiment(folder, {"name": Watcher})
    assert len(Watcher.told) >= 5
    for told in Watcher.told[:5]:
        # The loop is larger than its cache: it always misses, 1 ms of every 16.
        assert told["outstanding"][1] == pytest.approx(1 / 16, abs=1e-6)
        assert told["mean_ns"][1] == 1e6
    for told, think in zip(Watcher.told[:5], (2e6, 2e6, 2e6, 50e6, 50e6), strict=True):
        took = told["mean_ns"][0]
        assert 25e3 < took < 6.5e6
        # But for the request at either end of the ten seconds.
        assert told["outstanding"][0] == pytest.approx(took / (took + think), abs=6.5e6 / 10e9)


def test_of_a_mix_who_has_no_client_is_named(folder: Path) -> None:
    mix = {"profile": [str(written(folder)), str(TINY)]}
    with pytest.raises(ConfigError, match="in its profile 'friendly' a client"):
        experiment(folder, {"name": Watcher}, workload=mix)
