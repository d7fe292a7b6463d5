# Trusts: the schema's prose (mcsim/synth_profile.py), line numbers one counts in the text
# below, requests counted from the columns, and the published totals of the `web` volumes.
from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from small import EXPERIMENTS

from mcsim.base.errors import ConfigError
from mcsim.cli.trace import synth
from mcsim.config.profile import read_profile
from mcsim.traces.store import open_store
from mcsim.traces.synth import profile_digest, synth_trace

WORKLOADS = EXPERIMENTS / "workloads"

GOOD = textwrap.dedent("""\
    name: pair
    seed: 7
    vms:
      a:
        requests: 4000
        components:
          hot: {stack: {curve: [[10, 0.2], [1e3, 0.9]], over: log}, sizes: {4KiB: 3, 16KiB: 1}}
          sweep: {loop: {blocks: 2MiB}, sizes: 64KiB}
        phases:
          - {duration: 1h, requests: 1e3, reads: {hot: 1, sweep: 1}}
          - {duration: 30min, rate: 6000 per h, read_share: 1/3, reads: hot, writes: sweep}
      b:
        components:
          new: {scan: {}}
        phases:
          - {start: 30min, duration: 1h, requests: 500, reads: new}
    """)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pair.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(tmp_path: Path, old: str, new: str) -> str:
    assert old in GOOD
    with pytest.raises(ConfigError) as error:
        read_profile(written(tmp_path, GOOD.replace(old, new, 1)))
    return str(error.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("loop:", "lop:", "pair.yaml:8: vms.a.components.sweep: unknown key 'lop'"),
        ("blocks: 2MiB", "block: 2MiB", "unknown key 'block' (did you mean 'blocks'?)"),
        ("blocks: 2MiB", "blocks: 4000B", "is less than a block of 4096 bytes"),
        ("{scan: {}}", "{}", "pair.yaml:14: vms.b.components.new: expected exactly one of stack"),
        ("{scan: {}}", "{scan: {}, loop: {blocks: 1}}", "got loop and scan"),
        ("0.9]]", "0.1]]", "pair.yaml:7: vms.a.components.hot: stack: curve: hit ratio 0.1 after"),
        ("[[10, 0.2], [1e3, 0.9]]", "[10, 0.2]", "curve: expected points such as [[1000, 0.2], ["),
        ("16KiB: 1", "16KiB: -1", "pair.yaml:7: vms.a.components.hot: sizes: weight -1 is not"),
        ("sizes: 64KiB", "sizes: 64KB2", "pair.yaml:8: vms.a.components.sweep.sizes: expected"),
        ("sweep: 1}", "swep: 1}", "pair.yaml:10: vms.a.phases[0]: reads: unknown component 'swep'"),
        ("6000 per h", "6000/h", "pair.yaml:11: vms.a.phases[1].rate: expected a rate such as"),
        ("rate: 6000 per h, ", "", "expected either 'requests' or 'rate'"),
        ("read_share: 1/3", "read_share: 4/3", "expected a share such as 10%, 1/16 or 0.1, got '4"),
        (", writes: sweep", "", "pair.yaml:11: vms.a.phases[1]: writes: the weights must have"),
        ("requests: 4000", "requests: 4001", "pair.yaml:5: vms.a.requests: expected 4,001"),
        ("start: 30min", "start: 30", "vms.b.phases[0].start: expected a length of time"),
        ("requests: 500", "requests: 1e12", "pair.yaml:16: vms.b.phases[0]: requests: 10000000000"),
        ("6000 per h", "1e30 per s", "vms.a.phases[1]: requests: 9223372036854775807 is outside"),
        ("6000 per h", "1e999999999 per s", "vms.a.phases[1].rate: expected a rate such as"),
        ("requests: 500", "requests: 4294967000", "vms: more than 4294967296 requests in all phas"),
        ("{start: 30min, duration: 1h", "{start: 100000d, duration: 90000d", "ends after"),
        (
            "reads: new",
            "reads: new, bursts: {period: 1ns, length: 1ns, share: 1}",
            "at most 1000000",
        ),
        ("hot: 1, sweep", "hot: 1" + 400 * "0" + ", sweep", "expected a weight for hot, got 1000"),
        ("1h, requests: 1e3", "0h, requests: 1e3", "vms.a.phases[0]: duration: must be at least"),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert expected in complaint(tmp_path, old, new)


def test_more_blocks_than_memory_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1024}
    monkeypatch.setattr("os.sysconf", told.__getitem__)
    assert "its blocks need 11.44 MiB of memory, and this machine has 4 MiB" in complaint(
        tmp_path, "{scan: {}}", "{zipf: {blocks: 5e5, alpha: 1}}"
    )


def test_phases_that_overlap_are_refused(tmp_path: Path) -> None:
    message = complaint(tmp_path, "duration: 30min", "start: 59min, duration: 30min")
    assert message.startswith("pair.yaml:4: vms.a: phases[1]: starts at")


def test_the_requests_are_those_of_the_profile(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    trace = synth_trace(
        written(tmp_path, GOOD), tmp_path, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (4500, 4500)
    assert trace.vms == ("a", "b")
    assert trace.metadata.synthetic
    assert trace.metadata.format == "synthetic"
    assert trace.time_base == "clock"
    table = trace.to_arrow()
    time, vm, op, length = (table[name].to_numpy() for name in ("time", "vm", "op", "length"))
    hour = 3600 * 10**9
    assert np.all(np.diff(time) >= 0)
    assert [int((vm == name).sum()) for name in ("a", "b")] == [4000, 500]
    assert np.count_nonzero((vm == "a") & (op == 0)) == 1000 + 1000
    assert np.count_nonzero((vm == "a") & (time < hour)) == 1000
    assert time[vm == "b"].min() >= hour // 2
    assert set(length[vm == "a"]) == {4096, 16384, 65536}
    assert set(table["response"].to_numpy()) == {-1}


def test_the_same_profile_gives_the_same_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    first, second = (synth_trace(path, tmp_path / name) for name in ("one", "two"))
    assert first.store_path is not None
    assert second.store_path is not None
    assert first.store_path.read_bytes() == second.store_path.read_bytes()
    other = synth_trace(path, tmp_path, seed=8)
    assert other.digest != first.digest
    assert not other.to_arrow()["offset"].equals(first.to_arrow()["offset"])


def test_what_was_generated_is_used_again(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    kept = synth_trace(path, tmp_path).store_path
    assert kept is not None
    made = kept.stat().st_mtime_ns
    # Another comment or another way to write a number is the same profile.
    path.write_text("# hello\n" + GOOD.replace("1e3, 0.9", "1000, 0.90"), encoding="utf-8")
    calls: list[int] = []
    again = synth_trace(path, tmp_path, progress=lambda done, total: calls.append(done))
    assert again.store_path == kept
    assert kept.stat().st_mtime_ns == made
    assert calls == []
    # One that was cut off is made anew.
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-100])
    assert synth_trace(path, tmp_path).request_count == 4500
    # So is one with other requests in it, which shows when they are read.
    whole = kept.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    kept.write_bytes(damaged)
    assert sum(len(batch.time) for batch in synth_trace(path, tmp_path).batches()) == 4500
    assert kept.read_bytes() == whole


def test_the_digest_names_everything_that_counts(tmp_path: Path) -> None:
    changes = [
        ("", ""),
        ("seed: 7", "seed: 8"),
        ("name: pair", "name: pairs"),
        ("0.9]]", "0.8]]"),
        ("over: log", "over: linear"),
        ("start: 30min", "start: 31min"),
        ("{hot: 1, sweep: 1}", "{hot: 2, sweep: 1}"),
        ("seed: 7", "seed: 7\nblock_bytes: 8KiB"),
    ]
    digests = {
        profile_digest(read_profile(written(tmp_path, GOOD.replace(*change, 1))))
        for change in changes
    }
    assert len(digests) == len(changes)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path / "cache"))


def test_the_command_writes_what_the_name_says(tmp_path: Path) -> None:
    profile = str(written(tmp_path, GOOD))
    for name in ("tiny.csv", "tiny.parquet", "tiny.arrow"):
        assert CliRunner().invoke(synth, [profile, str(tmp_path / name)]).exit_code == 0
    assert (tmp_path / "tiny.csv").read_text().startswith("time_ns,vm,op,offset,length")
    assert (tmp_path / "tiny.parquet").read_bytes()[:4] == b"PAR1"
    assert open_store(tmp_path / "tiny.arrow").metadata.synthetic


def test_the_command_writes_a_store_that_says_synthetic(tmp_path: Path) -> None:
    out = tmp_path / "out.arrow"
    done = CliRunner().invoke(synth, [str(written(tmp_path, GOOD)), str(out)])
    assert done.exit_code == 0, done.output
    assert "synthetic trace of 2 VMs: 4,500 requests (2,500 reads)" in done.output
    assert open_store(out).metadata.synthetic


@pytest.mark.parametrize(
    ("workload", "requests"),
    [
        ("web", {"web_0": 2_029_945, "web_1": 160_891, "web_2": 5_175_368, "web_3": 31_380}),
        ("prn", {"prn_0": 5_585_886, "prn_1": 11_233_411}),
    ],
)
def test_a_week_has_the_published_numbers_of_requests(
    workload: str, requests: dict[str, int]
) -> None:
    profile = read_profile(WORKLOADS / f"{workload}.yaml")
    assert {name: vm.requests for name, vm in profile.vms.items()} == requests
    for vm in profile.vms.values():
        assert sum(phase.duration for phase in vm.phases) <= 7 * 86_400 * 10**9


def test_the_tiny_workload_is_tiny(tmp_path: Path) -> None:
    counts = synth_trace(WORKLOADS / "tiny.yaml", tmp_path).metadata.counts
    assert 40_000 < counts.blocks < 60_000
