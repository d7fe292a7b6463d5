"""Experiments on files of each collection of chains, and the faults of these files.

Trusts: `mcsim kv` on the same file, whose hits other tests compare with naive replays.
"""

from __future__ import annotations

import errno
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import code_of

import mcsim as mc
from mcsim.traces import chain_files

CAPACITIES = [1, 30, 90]

Prompt = list[int]
Line = dict[str, Any]


def prompts(*, contents: int | None = None) -> Iterator[tuple[int, int, Prompt]]:
    """Yield session, turn and ids: each prompt of a session extends the last one.

    The ids are of prefixes; with `contents`, they are drawn from that number of contents of blocks.
    """
    draw = random.Random(3)
    last: dict[int, tuple[int, Prompt]] = {}
    unused = 100
    for _ in range(300):
        session = draw.randrange(25)
        turn, prompt = last.get(session, (0, [session % 3, 10 + session % 3]))
        if len(prompt) > 12:
            prompt = prompt[:2]
        added = [draw.randrange(contents or 1) for _ in range(draw.randrange(1, 4))]
        if contents is None:
            added = list(range(unused, unused + len(added)))
        unused += len(added)
        last[session] = turn + 1, [*prompt, *added]
        yield session, turn, last[session][1]


def mooncake() -> Iterator[Line]:
    for i, (_, _, ids) in enumerate(prompts()):
        tokens = 512 * len(ids) - i % 512
        yield {"timestamp": 30 * i, "input_length": tokens, "output_length": 9, "hash_ids": ids}


def qwen() -> Iterator[Line]:
    chats: dict[int, int] = {}
    for i, (session, turn, ids) in enumerate(prompts(contents=5)):
        parent, chats[session] = chats.get(session, -1), i
        yield {
            "chat_id": i, "parent_chat_id": parent, "timestamp": i * 0.125, "type": "text",
            "input_length": 16 * len(ids) - i % 16, "output_length": 9, "turn": turn + 1,
            "hash_ids": ids,
        }  # fmt: skip


def lmcache() -> Iterator[Line]:
    for i, (_, _, ids) in enumerate(prompts()):
        yield {
            "timestamp": 1.7e9 + i / 3, "chunk_hashes": [f"0x{one:016x}" for one in ids],
            "seq_len": 256 * len(ids) + i % 256, "chunk_size": 256,
            "shapes": [[2, 32, 256, 8, 128]], "dtypes": ["bfloat16"],
        }  # fmt: skip


def litellm() -> Iterator[Line]:
    for i, (session, _, ids) in enumerate(prompts()):
        # No user has blocks of another one: all sessions that begin alike are of one user.
        yield {
            "timestamp": i * 0.5, "prompt_tokens": 64 * len(ids) - i % 64, "completion_tokens": 9,
            "prefix_block_hashes": [f"{one:016d}" for one in ids], "user": f"user-{session % 3}",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "block_tokens", "is_given"),
    [(mooncake, 512, False), (qwen, 16, False), (lmcache, 256, False), (litellm, 64, True)],
)
def test_runs_hit_as_the_curve(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lines: Callable[[], Iterator[Line]],
    block_tokens: int,
    is_given: bool,
) -> None:
    file = tmp_path / "kv.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines()))
    option = ("--block-tokens", block_tokens) if is_given else ()
    sizes = ",".join(map(str, CAPACITIES))
    assert code_of("kv", file, "--sizes", sizes, *option, "--json", "-q") == 0
    expected = json.loads(capsys.readouterr().out)["rows"]
    assert 0 < expected[0]["hits"] < expected[1]["hits"] < expected[2]["hits"]
    for row in expected:
        experiment = tmp_path / "kv.yaml"
        experiment.write_text(
            json.dumps(
                {
                    "name": "kv",
                    "block_bytes": 4096 * block_tokens,
                    "interval": "10s",
                    "workload": {
                        "chains": {"file": "kv.jsonl"}
                        | ({"block_tokens": block_tokens} if is_given else {})
                    },
                    "tiers": [{"device": "dram", "capacity": row["capacity"]}],
                    "systems": ["lru"],
                }
            )
        )
        out = tmp_path / f"out-{row['capacity']}"
        assert code_of("run", experiment, "--results", out, "--no-figures", "-q") == 0
        capsys.readouterr()
        (path,) = out.iterdir()
        results = mc.Results.open(path)
        whole = results.prefix_hits()[-1]
        assert (whole.hits, whole.token_hits) == (row["hits"], row["token_hits"])
        users = 3 if lines is litellm else 1
        assert len(results.environment["traces"]) == users


def experiment(folder: Path, **chains: Any) -> Path:
    file = folder / "kv.yaml"
    workload = {"chains": {"file": "kv.jsonl", **chains}}
    tiers = [{"device": "dram", "capacity": 20}]
    given = {"name": "kv", "interval": "10s", "block_bytes": 512, "workload": workload}
    file.write_text(json.dumps({**given, "tiers": tiers, "systems": ["lru"]}, indent=1))
    return file


@pytest.mark.parametrize(
    ("chains", "message"),
    [
        ({"file": "x" * 5_000}, r"kv\.yaml:7: workload\.chains\.file: 'xxx.*…: File name too long"),
        ({"file": "folder"}, r"kv\.yaml:7: workload\.chains\.file: 'folder' is a folder"),
        ({"file": "kv.jsonl/a"}, r"kv\.yaml:7: workload\.chains\.file: no file 'kv\.jsonl/a'"),
        ({"file": "fifo"}, r"kv\.yaml:7: workload\.chains\.file: no file 'fifo'"),
        (
            {"block_tokens": 1},
            r"kv\.yaml:6: workload\.chains: .*kv\.jsonl:1: input_length: 9 tokens do not fill 1 "
            r"blocks of 1 tokens \(block_tokens\)",
        ),
        (
            {"fields": {"ids": "none"}},
            r"kv\.yaml:6: workload\.chains: .*fields: ids: the first line has no 'none'",
        ),
    ],
)
def test_faults_of_files_name_their_place(
    tmp_path: Path, chains: dict[str, Any], message: str
) -> None:
    line = {"timestamp": 0, "input_length": 9, "hash_ids": [1]}
    (tmp_path / "kv.jsonl").write_text(json.dumps(line) + "\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises((mc.ConfigError, mc.TraceError), match=message) as fault:
        mc.run(experiment(tmp_path, **chains), out=tmp_path / "out")
    assert fault.value.exit_code == 2


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_faults_of_the_host_name_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "kv.jsonl").write_text("{}")
    file = experiment(tmp_path)

    def fail(path: Path) -> None:
        raise OSError(number, os.strerror(number), os.fspath(path))

    monkeypatch.setattr(chain_files, "open_regular", fail)
    place = rf"kv\.yaml:6: workload\.chains: .*kv\.jsonl: cannot be read: {os.strerror(number)}"
    with pytest.raises(mc.HostError, match=place):
        mc.run(file, out=tmp_path / "out")


def test_tiers_without_blocks(tmp_path: Path) -> None:
    lines = [{"timestamp": i, "input_length": 512, "hash_ids": [i % 2]} for i in range(4)]
    (tmp_path / "kv.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = json.loads(experiment(tmp_path).read_text())
    for capacities, hits in (([0], 0), ([0, 2], 2), ([2, 0], 2)):
        tiers = [{"device": "dram", "capacity": capacity} for capacity in capacities]
        systems = ["lru", "static", "multicache", "clairvoyant"]
        (tmp_path / "kv.yaml").write_text(json.dumps({**given, "tiers": tiers, "systems": systems}))
        results = mc.run(tmp_path / "kv.yaml", out=tmp_path / "out", figures=False)
        rows = results.prefix_hits()
        assert rows[rows.vm == None].hits.tolist() == [hits] * 4  # noqa: E711
        assert set(results.bounds().opt_hits.tolist()) == {hits}
