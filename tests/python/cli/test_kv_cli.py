"""`mcsim kv`.

Trusts: a small trace whose prefixes are counted by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from commands import code_of

CHAINS = [("ann", [1, 2, 3]), ("bob", [1, 7]), ("ann", [1, 2, 3]), ("bob", [1, 7])]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    lines = [
        {"timestamp": i, "input_length": 512 * len(ids), "hash_ids": ids, "tenant": name}
        for i, (name, ids) in enumerate(CHAINS)
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert code_of(*arguments, "-q") == 0
    return capsys.readouterr().out


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert code_of("kv", *arguments, "-q") == 0
    return capsys.readouterr().out


def rows(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(output(capsys, *arguments, "--json"))["rows"]
    return found


def test_the_table(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, trace)
    assert text.startswith(
        "chat: 4 requests, 10 blocks of 512 tokens, 4 distinct; at most 60.00 % of the tokens hit\n"
    )
    every = rows(capsys, trace, "--sizes", "1,2,3,4")
    # Block 1 is always on top; 2 has depth 2, and 3 and 7 have depth 3 when they are used again.
    assert [row["hits"] for row in every] == [3, 3, 4, 6]
    assert [row["full_hits"] for row in every] == [0, 0, 0, 2]
    assert [row["recomputed"] for row in every] == [512 * (10 - hits) for hits in (3, 3, 4, 6)]


def test_the_target(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, trace, "--target-token-hits", "40%", "--bytes-per-token", "2KiB")
    assert text.splitlines()[0] == "40 % of the tokens: 3 blocks (3 MiB)"
    assert code_of("kv", trace, "--target-token-hits", "0.7", "-q") == 2
    assert "no cache reaches 0.7: the best is 60.00 % of the tokens" in capsys.readouterr().err


def test_sizes_in_bytes_of_a_model(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = "layers=2,kv_heads=8,head_size=64"  # 4 KiB a token, 2 MiB a block
    (row,) = rows(capsys, trace, "--model", model, "--sizes", "6MiB")
    assert (row["capacity"], row["bytes"]) == (3, 6 << 20)
    for wrong, message in {
        "layers=2": "kv_heads is missing",
        "layers=2,kv_heads=8,head_size=64,heads=8": "unknown key 'heads'",
        "layers=x,kv_heads=8,head_size=64": "--model: ",
    }.items():
        assert code_of("kv", trace, "--model", wrong, "-q") == 2
        assert message in capsys.readouterr().err
    assert code_of("kv", trace, "--model", model, "--bytes-per-token", "1KiB") == 2
    assert "--bytes-per-token and --model: one at a time" in capsys.readouterr().err


def test_tenants_add_up(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    every = rows(capsys, trace, "--per-tenant", "--sizes", "3,4")
    assert [(row["tenant"], row["hits"]) for row in every] == [
        ("ann", 2), ("ann", 3), ("bob", 2), ("bob", 3),
    ]  # fmt: skip
    assert "bob" in output(capsys, trace, "--per-tenant")


def test_tiers(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    size = ("--bytes-per-token", "2KiB")  # 1 MiB a block
    rates = ("--bandwidth", "host=1MiB", "--prefill", "512")
    every = rows(capsys, trace, *size, "--tiers", "gpu=3MiB, host=1", *rates)
    assert [row["token_hits"] // 512 for row in every] == [4, 2, 4]
    assert [row["loaded"] for row in every] == [4 << 20, 2 << 20, None]
    assert [row["load_seconds"] for row in every] == [0, 2, None]
    assert [row["saved_seconds"] for row in every] == [4, 0, None]
    by_rule = {
        rule: [
            row["token_hits"] // 512
            for row in rows(capsys, trace, "--tiers", "gpu=3,host=4", "--tier-rule", rule)
        ]
        for rule in ("exclusive", "inclusive", "copy-on-eviction")
    }
    assert by_rule == {
        "exclusive": [4, 2, 4], "inclusive": [4, 2, 4], "copy-on-eviction": [4, 2, 4],
    }  # fmt: skip
    for wrong, message in {
        ("--tier-rule", "inclusive"): "--tier-rule: of which tiers?",
        ("--per-tenant", "--rate", "1%"): "--per-tenant and --rate: not together",
        ("--tiers", "gpu"): "--tiers: expected NAME=SIZE,...",
        ("--tiers", "gpu=1,gpu=2"): "--tiers: a name occurs twice",
        ("--tiers", "gpu=1GiB"): "--tiers: '1GiB': these blocks have no size in bytes",
        ("--sizes", "1,1GiB"): "--sizes: '1GiB': these blocks have no size in bytes; --bytes-per",
        ("--sizes", "log(1MiB, 1GiB, 3)"): "--sizes: '1MiB': these blocks have no size in bytes",
        ("--partition", "2GiB"): "--partition: '2GiB': these blocks have no size in bytes",
        ("--tiers", "gpu=1", *size, "--bandwidth", "ssd=1GB"): "bandwidth: no tier 'ssd'",
        ("--prefill", "1"): "--prefill: of which tiers?",
        ("--tiers", "gpu=1", "--per-tenant"): "--per-tenant and --tiers: one at a time",
    }.items():
        assert code_of("kv", trace, *wrong, "-q") == 2
        assert message in capsys.readouterr().err


def test_intervals(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    every = rows(capsys, trace, "--interval", "2ms", "--sizes", "3,4")
    assert [(row["interval"], row["hits"]) for row in every] == [
        ("0s", 1), ("0s", 1), ("2ms", 3), ("2ms", 5),
    ]  # fmt: skip
    assert code_of("kv", trace, "--interval", "0s", "-q") == 2
    assert "interval: expected a length above 0" in capsys.readouterr().err
    assert code_of("kv", trace, "--interval", "1h", "--per-tenant", "-q") == 2
    assert "--per-tenant and --interval: one at a time" in capsys.readouterr().err


def test_sharing(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    every = rows(capsys, trace, "--sharing")
    # Block 1 of the first request of bob was read by ann; the second requests repeat the first.
    assert [(row["before"], row["tokens"] // 512) for row in every] == [
        ("tenant", 5), ("others", 1), ("first", 4),
    ]  # fmt: skip


def test_a_partition(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    every = rows(capsys, trace, "--partition", "5")
    # Both prompts fit; shared, the first request of bob hits the block that ann has read.
    assert [(row["tenant"], row["capacity"]) for row in every] == [
        ("ann", 3), ("bob", 2), ("all", 5),
    ]  # fmt: skip
    assert [row["token_hits"] // 512 for row in every] == [3, 2, 5]
    assert [row["shared_token_hits"] // 512 for row in every] == [3, 3, 6]
    equal = rows(capsys, trace, "--partition", "4", "--optimizer", "equal")
    assert [row["capacity"] for row in equal] == [2, 2, 4]
    anew = rows(capsys, trace, "--partition", "6", "--interval", "2ms")
    # The first interval has parts of 3 blocks, and no hits; the second one hits both prompts.
    assert [row["token_hits"] // 512 for row in anew] == [3, 2, 5]
    for wrong, message in {
        ("--optimizer", "equal"): "--optimizer: of what?",
        ("--partition", "4", "--warm-up", "1"): "--partition and --warm-up: not together",
    }.items():
        assert code_of("kv", trace, *wrong, "-q") == 2
        assert message in capsys.readouterr().err


def test_policies(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "leaf-lru,fifo,bound"
    every = rows(capsys, trace, "--policies", names, "--sizes", "3,4")
    # The bound leaves block 7 out of the cache at 3 blocks.
    assert [(row["policy"], row["hits"]) for row in every] == [
        ("leaf-lru", 4), ("leaf-lru", 6), ("fifo", 4), ("fifo", 6), ("bound", 5), ("bound", 6),
    ]  # fmt: skip
    text = output(capsys, trace, "--policies", names, "--sizes", "3,4", "-o", tmp_path)
    assert "leaf-lru 40.00 60.00" in text
    assert (tmp_path / "chat-kv.svg").is_file()
    for wrong, message in {
        ("--policies", "opt"): "policies: opt: uses the future",
        ("--pin", "arrival-to-finish"): "--pin: of which policies?",
        ("--policies", "leaf-lru", "--pin", "arrival-to-finish"): "no finish times",
        ("--policies", "lru", "--target-token-hits", "1%"): "--policies and --target-token-hits",
    }.items():
        assert code_of("kv", trace, *wrong, "-q") == 2
        assert message in capsys.readouterr().err
    finish = ("--policies", "leaf-lru", "--pin", "arrival-to-finish", "--field", "finish=timestamp")
    assert rows(capsys, trace, *finish, "--sizes", "4")[0]["hits"] == 6


def test_rules_and_warm_up(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = rows(capsys, trace, "--sizes", "4", "--full-hit", "minus-one-block")
    assert whole[0]["hits"] == 4
    assert rows(capsys, trace, "--sizes", "4", "--warm-up", "50%")[0]["hits"] == 5
    assert rows(capsys, trace, "--sizes", "3", "--order", "head-first")[0]["hits"] == 3
    assert rows(capsys, trace, "--sizes", "4", "--rate", "99.99%")[0]["hits"] == 6
    assert code_of("kv", trace, "--rate", "0", "-q") == 2
    assert "rate: expected a share above 0" in capsys.readouterr().err
    assert code_of("kv", trace, "--field", "ids", "-q") == 2
    assert "--field ids: expected ROLE=NAME" in capsys.readouterr().err
    assert rows(capsys, trace, "--field", "ids=hash_ids", "--sizes", "4")[0]["hits"] == 6


def test_size_finds_the_target_of_kv(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = ("--target-token-hits", "40%")
    text = printed(capsys, "size", trace, *target)
    assert text == output(capsys, trace, *target)
    assert text.startswith("40 % of the tokens: 3 blocks\n")
    assert code_of("size", trace, "--target-token-hits", "61%") == 2
    assert "--target-token-hits: no cache reaches 61%" in capsys.readouterr().err
    assert code_of("size", trace, *target, "--estimator", "shards") == 2
    assert "--target-token-hits and --estimator: not together" in capsys.readouterr().err
    assert code_of("size", trace, trace, *target) == 2
    assert "expected one TRACE, got 2" in capsys.readouterr().err


def test_mix_of_tenants(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(
        printed(capsys, "mix", trace, "--prefixes", "--sizes", "3,5", "--json", "-o", tmp_path)
    )["rows"]
    assert [(row["capacity"], row["accesses"] // 512) for row in found] == [(3, 10), (5, 10)]
    # Shared, bob hits the block that ann has read; in parts, both prompts fit into 5 blocks.
    assert [row["shared"] // 512 for row in found] == [6, 4]
    assert [row["parts"] // 512 for row in found] == [7, 5]
    assert [(row["part of ann"], row["part of bob"]) for row in found][1] == (3, 2)
    text = printed(capsys, "mix", trace, "--prefixes", "--sizes", "3,5")
    assert "chat: 2 tenants, 5,120 tokens in 4 distinct blocks; LRU, hits of prefixes" in text
    assert code_of("mix", trace, "--prefixes", "--ops", "all") == 2
    assert "--prefixes and --ops: not together" in capsys.readouterr().err


def test_info_of_chains(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = "2 chains, 10 blocks of 512 tokens, 4 distinct; 5,120 tokens, at most 60.00 % hit"
    text = printed(capsys, "trace", "info", trace)
    assert f"chat: 4 requests of {about} in prefixes" in text
    assert "tenant  2,560    50.00" in text
    line = {"timestamp": 1, "chunk_hashes": ["a", "b"], "seq_len": 600, "chunk_size": 256}
    path = tmp_path / "lm.jsonl"
    path.write_text(f"{json.dumps(line)}\n" * 2)
    text = printed(capsys, "trace", "info", path)
    assert "lm: 2 requests of 1 chains, 4 blocks of 256 tokens, 2 distinct; 1,200 tokens" in text
    found = json.loads(printed(capsys, "trace", "info", path, "--json"))
    assert (found["requests"], found["distinct"]) == (2, 2)
    assert found["rows"][0] == {"before": "others", "tokens": 512, "share": 512 / 1200}
    assert code_of("trace", "info", path, "--format", "mooncake") == 2
    assert "chains of blocks and --format: not together" in capsys.readouterr().err
    wrong = {"timestamp": 1, "input_length": 5000, "output_length": 1, "hash_ids": [1]}
    path.write_text(json.dumps(wrong))
    assert f"prefixes: {path}:1: input_length: 5,000" in printed(capsys, "trace", "info", path)
    path.write_text("x")
    assert "format keys" in printed(capsys, "trace", "info", path)


def test_files(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output(capsys, trace, "-o", tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["chat-kv.arrow", "chat-kv.csv", "chat-kv.png", "chat-kv.svg"]
    with pa.memory_map(str(tmp_path / "out" / "chat-kv.arrow")) as source:
        steps = pa.ipc.open_file(source).read_all()
    assert steps["capacity"].to_pylist() == [1, 3, 4]
