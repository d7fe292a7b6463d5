"""Chain traces: their files, and the rules that lines break.

Trusts: small files whose prefixes are counted by hand.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcsim as mc


def written(folder: Path, *lines: Any, name: str = "t.jsonl") -> Path:
    """Write lines: objects as JSON, texts as they are."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / name).write_text("\n".join(texts) + "\n")
    return folder / name


def mooncake(time: float, ids: list[Any], tokens: int | None = None, **more: Any) -> dict[str, Any]:
    length = 512 * len(ids) if tokens is None else tokens
    return {"timestamp": time, "input_length": length, "output_length": 1, "hash_ids": ids, **more}


def shared(trace: mc.ChainTrace) -> list[list[int]]:
    """Return the chains, their blocks numbered by first appearance."""
    number: dict[int, int] = {}
    blocks = [number.setdefault(int(block), len(number)) for block in trace.blocks]
    return [blocks[a:b] for a, b in zip(trace.starts, trace.starts[1:], strict=False)]


def test_mooncake(tmp_path: Path) -> None:
    path = written(tmp_path, mooncake(0, [0, 1, 2], 1300), "", mooncake(1500, [0, 1, 5]))
    trace = mc.read_chains(path)
    assert shared(trace) == [[0, 1, 2], [0, 1, 3]]
    assert (trace.tokens.tolist(), trace.block_tokens) == ([1300, 1536], 512)
    assert trace.times is not None
    assert trace.times.tolist() == [0, 1.5]
    assert trace.output_tokens is not None
    assert (trace.output_tokens.tolist(), list(trace.notes)) == ([1, 1], [])


def test_qwen_has_contents_seconds_and_turns(tmp_path: Path) -> None:
    def turn(chat: int, parent: int, time: float, tokens: int, ids: list[int]) -> dict[str, Any]:
        line = {"chat_id": chat, "parent_chat_id": parent, "timestamp": time, "type": "text"}
        return line | {"input_length": tokens, "output_length": 5, "turn": 1, "hash_ids": ids}

    path = written(
        tmp_path,
        turn(1, -1, 0.5, 40, [1, 2, 3]),
        turn(2, 1, 61.25, 70, [1, 2, 4, 5, 5]),
        turn(3, -1, 62, 48, [7, 2, 3]),
    )
    trace = mc.read_chains(path)
    assert shared(trace) == [[0, 1, 2], [0, 1, 3, 4, 5], [6, 7, 8]]
    assert (trace.block_tokens, list(trace.notes)) == (16, [])
    assert trace.times is not None
    assert trace.session is not None
    assert trace.times.tolist() == [0.5, 61.25, 62]
    assert trace.session.tolist() == [0, 0, 2]


def test_lmcache_lists_full_chunks_alone(tmp_path: Path) -> None:
    def line(time: float, tokens: int, hashes: list[str]) -> dict[str, Any]:
        return {"timestamp": time, "chunk_hashes": hashes, "seq_len": tokens, "chunk_size": 4}

    path = written(
        tmp_path, line(1, 10, ["0xa", "0xb"]), line(2, 3, []), line(3, 8, ["0xa", "0xb"])
    )
    trace = mc.read_chains(path)
    assert (shared(trace), trace.block_tokens) == ([[0, 1], [], [0, 1]], 4)
    # The two tokens after the full chunks are never hits.
    assert mc.prefix_curve(trace).table([2]).recomputed.tolist() == [10 + 3]


def test_litellm_ids_stay_text(tmp_path: Path) -> None:
    ids = ["0000000000000255", "255"]
    line = {"prefix_block_hashes": ids, "prompt_tokens": 20, "user": "ann"}
    path = written(tmp_path, line, {**line, "user": None})
    trace = mc.read_chains(path, block_tokens=16)
    assert (trace.distinct, list(trace.tenants)) == (2, ["ann", "(none)"])
    with pytest.raises(mc.ConfigError, match=r"t\.jsonl: block_tokens: the first line has no"):
        mc.read_chains(path)


def test_other_names_by_mapping(tmp_path: Path) -> None:
    path = written(tmp_path, {"b": [2**64 - 1, 0], "n": 7, "who": 3, "at": 1})
    fields = {"ids": "b", "tokens": "n", "tenant": "who", "time": "at"}
    trace = mc.read_chains(path, fields=fields, block_tokens=4)
    assert (trace.distinct, trace.tokens.tolist(), list(trace.tenants)) == (2, [7], ["3"])
    with pytest.raises(mc.ConfigError, match="no list of ids: expected one of hash_ids"):
        mc.read_chains(path)
    with pytest.raises(mc.ConfigError, match="fields: ids: the first line has no 'c'"):
        mc.read_chains(path, fields={"ids": "c"})
    with pytest.raises(mc.ConfigError, match="fields: unknown choice 'id'"):
        mc.read_chains(path, fields={"id": "b"})


def test_ids_that_follow_different_ids_are_chained_or_refused(tmp_path: Path) -> None:
    path = written(tmp_path, mooncake(0, [1, 2, 3]), mooncake(1, [9, 2, 3]))
    trace = mc.read_chains(path)
    assert shared(trace) == [[0, 1, 2], [3, 4, 5]]
    assert trace.notes == [
        "1 id follows different ids, so ids were chained: each block is its id after its prefix"
    ]
    assert mc.read_chains(path, ids="content").notes == []
    with pytest.raises(mc.TraceError) as raised:
        mc.read_chains(path, ids="prefix")
    assert str(raised.value) == (
        f"{path}:2: hash_ids: the id 2 follows 9, and follows 1 before: it does not name a prefix"
    )


def test_requests_are_sorted_by_time(tmp_path: Path) -> None:
    path = written(tmp_path, mooncake(5, [1]), mooncake(3, [2]), mooncake(5, [1, 3]))
    trace = mc.read_chains(path)
    assert trace.lengths.tolist() == [1, 1, 2]
    assert trace.times is not None
    assert trace.times.tolist() == [0.003, 0.005, 0.005]
    assert "1 time runs backwards, first at request 2" in trace.notes[0]


def test_compressed_files(tmp_path: Path) -> None:
    path = written(tmp_path, mooncake(0, [1, 2]))
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert mc.read_chains(packed).distinct == 2
    packed.write_bytes(gzip.compress(path.read_bytes())[:-12])
    with pytest.raises(mc.TraceError, match=r"t\.jsonl\.gz: cannot be decompressed"):
        mc.read_chains(packed)


def test_a_line_longer_than_a_chunk(tmp_path: Path) -> None:
    ids = list(range(10**18, 10**18 + 900_000))
    path = written(tmp_path, mooncake(0, ids[:2]), mooncake(0, ids))
    assert mc.read_chains(path).lengths.tolist() == [2, 900_000]


PLAIN = '{"timestamp": 1, "input_length": 900, "output_length": 2, "hash_ids": [7, 8]}'
OTHERS = [
    PLAIN.replace(", ", ","),
    PLAIN.replace(":", "\t:  ").replace("[7, 8]", "[ 7 , 8 ]"),
    PLAIN.replace('{"', ' { "') + "\t\r",
    PLAIN.replace("hash_ids", "hash\\u005fids"),
    PLAIN.replace("1,", "1.0,").replace("2,", '2, "x": [1, {"y": [null, -1e-3]}],'),
    PLAIN.replace("1,", "1e0,"),
    PLAIN.replace("2,", '2, "x": "ä \\"[7]\\"\\n",'),
    '{"hash_ids": [7, 8], "output_length": 2, "input_length": 900, "timestamp": 1}',
]


@pytest.mark.parametrize("other", OTHERS)
def test_other_forms_of_a_line_have_the_same_values(other: str, tmp_path: Path) -> None:
    assert json.loads(other).items() >= json.loads(PLAIN).items()
    trace = mc.read_chains(written(tmp_path, PLAIN, other, PLAIN))
    assert shared(trace) == [[0, 1]] * 3
    assert trace.times is not None
    assert trace.output_tokens is not None
    for values, expected in ((trace.times, 0.001), (trace.tokens, 900), (trace.output_tokens, 2)):
        assert values.tolist() == [expected] * 3


def test_the_scanner_equals_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(4)
    for text in (False, True):
        ids = [draw.randrange(2 ** draw.randrange(1, 65)) for _ in range(50)]
        lines = [
            mooncake(
                draw.choice([draw.randrange(10**6), draw.uniform(-9, 1e9)]),
                [f"{one:x}" if text else one for one in draw.choices(ids, k=draw.randrange(9))],
                session_id=draw.randrange(-(2**40), 2**40),
                tenant=draw.choice(["", "ann", "bob and eve"]),
                type=draw.choice([None, "text", 0.5, {"a": []}]),
            )
            for _ in range(60)
        ]
        path = written(tmp_path, *lines)
        found = mc.read_chains(path)
        with monkeypatch.context() as patched:
            patched.setattr("mcsim.traces.chain_files._flat_table", lambda *_: None)
            expected = mc.read_chains(path)
        for field in dataclasses.fields(mc.ChainTrace):
            ours, theirs = getattr(found, field.name), getattr(expected, field.name)
            assert np.array_equal(ours, theirs), field.name
        with monkeypatch.context() as patched:
            patched.setattr("mcsim.traces.chain_files._parsed_table", None)
            assert len(mc.read_chains(path)) == len(lines)


GOOD = mooncake(0, [5, 6])
TEXT = mooncake(0, ["a"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "the file is empty"),
        (["[1]"], "not a JSON object"),
        ([GOOD, "{"], ":2: not a JSON object"),
        ([GOOD, "", json.dumps(GOOD) * 2], ":3: not a JSON object"),
        ([GOOD, mooncake(0, [2**64])], r":2: hash_ids: an id is from 0 to 2\^64 - 1, got 1844"),
        ([GOOD, mooncake(0, [-1])], r":2: hash_ids: an id is from 0 to 2\^64 - 1, got -1"),
        ([GOOD, mooncake(0, [1.5])], ":2: hash_ids: expected an integer, got 1.5"),
        ([GOOD, mooncake(0, [2.0])], ":2: hash_ids: expected an integer, got 2.0"),
        ([GOOD, mooncake(0, [1], 512.0)],  # type: ignore[arg-type]
         ":2: input_length: expected a number of tokens, got 512.0"),
        ([GOOD, json.dumps(GOOD).replace("[5", "[05")], ":2: not a JSON object"),
        ([GOOD, mooncake(0, [None])], ":2: hash_ids: expected an integer, got None"),
        ([GOOD, mooncake(0, ["255"])], ":2: hash_ids: expected an integer, as in the first"),
        ([TEXT, mooncake(0, [255])], ":2: hash_ids: expected text, as in the first line"),
        ([GOOD, mooncake(0, ["255", 255])], ":2: hash_ids: expected an integer"),
        ([GOOD, {"timestamp": 1}], ":2: hash_ids: expected a list of ids, got None"),
        ([GOOD, mooncake(0, [])], None),
        ([GOOD, mooncake(0, [], 512)], ":2: input_length: 512 tokens do not fill 0 blocks"),
        ([GOOD, mooncake(0, [1, 2], 512)], ":2: input_length: 512 tokens do not fill 2 blocks"),
        ([GOOD, mooncake(0, [1], 1024)], ":2: input_length: 1,024 tokens do not fill 1 blocks"),
        ([GOOD, mooncake(0, [1], -1)], ":2: input_length: expected a number of tokens, got -1"),
        ([GOOD, mooncake(0, [1], None) | {"input_length": None}], ":2: input_length: expected"),
        ([GOOD, {"timestamp": 0, "hash_ids": [1]}], ":2: input_length: expected a number of"),
        ([GOOD, mooncake(0, [1], output_length=-2)], ":2: output_length: expected a number of"),
        ([mooncake(0, [1], finish_time=1), GOOD], ":2: finish_time: expected a number, got None"),
        ([mooncake(0, [1], finish_time=1), mooncake(4, [1], finish_time=3)],
         ":2: finish_time: 3, before timestamp"),
        ([GOOD, mooncake("x", [1])], ":2: timestamp: expected a number, got 'x'"),  # type: ignore[arg-type]
        ([GOOD, mooncake(float("nan"), [1])], ":2: timestamp: expected a finite time"),
        ([mooncake(0, [1], block_size=512), mooncake(0, [1], 256, block_size=256)],
         ":2: block_size: 256, after 512 in the first line: a trace has blocks of one size"),
        ([mooncake(0, [1], block_size=512), GOOD], ":2: block_size: expected a number of"),
        ([mooncake(0, [1], block_size=0)], ":1: block_size: expected a positive integer"),
        ([GOOD, mooncake(1e300, [1])], ":2: timestamp: expected a finite time, got 1e"),
        ([GOOD, mooncake(0, [1], 2**50)], ":2: input_length: expected a number of tokens"),
        ([mooncake(0, [1], block_size=2**40)], ":1: block_size: expected a positive"),
        ([{"hash_ids": [1]}, {"hash_ids": []}], ":2: hash_ids: the list is empty"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_an_error_with_the_line(
    lines: list[Any], message: str | None, tmp_path: Path
) -> None:
    path = written(tmp_path, *lines)
    if message is None:
        assert len(mc.read_chains(path)) == len(lines)
        return
    with pytest.raises(mc.TraceError, match=message) as raised:
        mc.read_chains(path)
    assert str(raised.value).startswith(f"{path}:")


def test_the_same_id_twice_in_a_request(tmp_path: Path) -> None:
    path = written(tmp_path, mooncake(0, [5, 5]))
    assert shared(mc.read_chains(path)) == [[0, 1]]
    with pytest.raises(mc.TraceError, match=":1: hash_ids: the id 5 follows 5, and is the first"):
        mc.read_chains(path, ids="prefix")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ids": "names"}, "ids: unknown choice 'names'"),
        ({"block_tokens": 0}, "block_tokens"),
        ({"time_unit": 0.0}, "time_unit"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(mc.ConfigError, match=message):
        mc.read_chains(written(tmp_path, GOOD), **wrong)


@pytest.mark.parametrize("few", [0, 3, 64])
def test_nodes_of_a_trie_stand_for_prefixes(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcsim.traces.chains._FEW", few)
    draw = random.Random(few)
    for _ in range(20):
        chains = [[draw.randrange(3) for _ in range(draw.randrange(12))] for _ in range(12)]
        starts = np.cumsum([0, *map(len, chains)])
        flat = [one for chain in chains for one in chain]
        trace = mc.ChainTrace.from_arrays(starts, flat, block_tokens=1)
        node_of: dict[tuple[int, ...], int] = {}
        for chain, nodes in zip(chains, shared(trace), strict=True):
            for end, node in enumerate(nodes):
                assert node_of.setdefault(tuple(chain[: end + 1]), node) == node
        assert trace.distinct == len(set(node_of.values())) == len(node_of)


def test_arrays_must_fit() -> None:
    of = mc.ChainTrace.from_arrays
    assert len(of([0, 1, 1], [4], block_tokens=2, tokens=[1, 0])) == 2
    for starts in ([], [1], [0, 2], [0, 1, 0, 1]):
        with pytest.raises(mc.ConfigError, match="starts: expected indices"):
            of(starts, [4], block_tokens=2)
    with pytest.raises(mc.ConfigError, match="tokens: expected as many as fill"):
        of([0, 1], [4], block_tokens=2, tokens=np.array([5]))
    with pytest.raises(mc.ConfigError, match="tenants: 2 names for 1 requests"):
        of([0, 1], [4], block_tokens=2, tenants=["a", "b"])
