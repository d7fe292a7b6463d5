"""Every pair of options of `mcsim kv` is honoured, or refused with a reason.

Trusts: a trace on which each option changes the output. Two options are honoured if the output
changes when either of them is left out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import code_of

from mcsim.cli.kv import kv

Options = Mapping[str, str | None]

POLICIES = {"--policies": "leaf-lru,leaf-lfu"}
TIERS = {"--tiers": "gpu=3,host=9"}

OPTIONS: dict[str, tuple[str | None, Options]] = {
    "--target-token-hits": ("20%", {}),
    "--sizes": ("4,9", {}),
    "--bytes-per-token": ("1KiB", {}),
    "--model": ("layers=2,kv_heads=1,head_size=64", {}),
    "--block-tokens": ("8", {}),
    "--ids": ("content", {}),
    "--field": ("time=other", {}),
    "--warm-up": ("25%", {}),
    "--order": ("head-first", {}),
    "--full-hit": ("minus-one-block", {}),
    "--policies": ("lru,leaf-lfu", {}),
    "--pin": ("arrival-to-finish", POLICIES),
    "--per-tenant": (None, {}),
    "--rate": ("50%", {}),
    "--interval": ("40s", {}),
    "--sharing": (None, {}),
    "--partition": ("20", {}),
    "--optimizer": ("equal", {"--partition": "20"}),
    "--tiers": ("gpu=3,host=9", {}),
    "--tier-rule": ("copy-on-eviction", TIERS),
    "--bandwidth": ("host=1MB", {**TIERS, "--bytes-per-token": "1KiB"}),
    "--prefill": ("1000", TIERS),
}
"""A value of each option, and the options that it needs."""

OTHERS = {
    *("--trace-dir", "--quiet", "--linear", "--table-format", "--output"),
    *("--figure-format", "--style"),
}
"""Options of many commands: where the trace is, and the form of tables and pictures."""

MATRIX = """
--target-token-hits
--sizes             +
--bytes-per-token   ++
--model             ++-
--block-tokens      ++++
--ids               +++++
--field             ++++++
--warm-up           +++++++
--order             ++++++++
--full-hit          +++++++++
--policies          -+++++++++
--pin               -+++++++-+n
--per-tenant        ++++++++++--
--rate              ++++++++-+---
--interval          ++++++++++----
--sharing           +-+++++--------
--partition         +-+++++-++----+-
--optimizer         +-+++++-++----=-n
--tiers             +-++++++-+---+----
--tier-rule         +-++++++-+--------n
--bandwidth         +-n-++++-+---+----n+
--prefill           +-++++++-+---+----n++
"""
"""Each row has the pairs with the options of the rows above, in their order.

`+` is honoured, `-` refused, and `n` needed by the other one. `=` has no effect: equal parts are
the same in every interval.
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of contents without tokens, with two times, of which the second is not in order."""
    draw, last = random.Random(1), dict[tuple[str, int], list[int]]()
    path = tmp_path_factory.mktemp("options") / "kv.jsonl"
    with path.open("w") as file:
        for i in range(120):
            key = draw.choice("ab"), draw.randrange(4)
            prompt = last.get(key, [0])
            prompt = prompt[: draw.randrange(1, len(prompt) + 1)]
            prompt = [*prompt, *(draw.randrange(40) for _ in range(draw.randrange(1, 3)))]
            last[key] = prompt
            line = {"timestamp": 1000 * i, "other": 1000 * draw.randrange(120)}
            line["finish_time"] = 120_000 + 1000 * draw.randrange(5)
            line |= {"hash_ids": prompt, "block_size": 16}
            file.write(json.dumps({**line, "tenant": key[0], "session_id": key[1]}) + "\n")
    return path


class Outputs:
    """Runs `mcsim kv` once for each set of options."""

    def __init__(self, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._trace = trace
        self._capsys = capsys
        self._found: dict[frozenset[tuple[str, str | None]], tuple[int, Any]] = {}

    def of(self, options: Options) -> tuple[int, Any]:
        """Return the exit code, and the output without times or the message."""
        key = frozenset(options.items())
        if key not in self._found:
            words = [word for pair in options.items() for word in pair if word is not None]
            code = code_of("kv", self._trace, *words, "--table-format", "json", "-q")
            out, err = self._capsys.readouterr()
            found = err if code else json.loads(out)
            if not code:
                del found["stages"]
            self._found[key] = code, found
        return self._found[key]

    def verdict(self, one: str, other: str) -> str:
        """Return how two options go together, as in MATRIX."""
        needs = {**OPTIONS[one][1], **OPTIONS[other][1]}
        both = {one: OPTIONS[one][0], other: OPTIONS[other][0], **needs}
        code, found = self.of(both)
        if code == 2:
            assert any(option in found for option in both), (both, found)
            return "-"
        assert code == 0, (both, found)
        for option in {one, other} - needs.keys():
            without = {name: value for name, value in both.items() if name != option}
            if self.of(without) == (code, found):
                return "="
        return "n" if {one, other} & needs.keys() else "+"


def test_every_pair_of_options(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs, names = Outputs(trace, capsys), list(OPTIONS)
    rows = [
        f"{one:20}{''.join(outputs.verdict(one, other) for other in names[:at])}".rstrip()
        for at, one in enumerate(names)
    ]
    assert rows == MATRIX.strip().splitlines()


def test_every_option_has_a_row() -> None:
    options = {max(param.opts, key=len) for param in kv.params if param.param_type_name == "option"}
    assert options == OPTIONS.keys() | OTHERS


def test_options_are_refused_without_those_that_they_need(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = Outputs(trace, capsys)
    for option, (value, needs) in OPTIONS.items():
        code, found = outputs.of({option: value})
        assert code == (2 if needs else 0), (option, found)
        assert not needs or found.startswith(f"mcsim: {option}: of "), found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"--policies": "lru", "--pin": "arrival-to-finish"},
            "pin: not for lru, which evicts any block; for leaf-lru, leaf-lfu, leaf-fifo, bound",
        ),
        (
            {"--partition": "9", "--interval": "40s", "--order": "head-first"},
            "--partition with --interval, and --order: not together: they touch tails first",
        ),
        (
            {**TIERS, "--tier-rule": "copy-on-eviction", "--rate": "50%"},
            "--tier-rule copy-on-eviction and --rate: not together: it is replayed",
        ),
        (
            {**TIERS, "--bandwidth": "host=1MB"},
            "--bandwidth: of how many bytes? --bytes-per-token or --model has them",
        ),
        ({"--partition": "9", "--per-tenant": None}, "--per-tenant and --partition: one at a time"),
        ({"--sharing": None, "--sizes": "4"}, "it counts all tokens, in a cache without limit"),
    ],
)
def test_reasons(
    trace: Path, capsys: pytest.CaptureFixture[str], options: Options, message: str
) -> None:
    code, found = Outputs(trace, capsys).of(options)
    assert code == 2
    assert message in found


def test_defaults_may_be_given(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = Outputs(trace, capsys)
    defaults = {"--pin": "none", "--optimizer": "exact", "--tier-rule": "exclusive"}
    defaults |= {"--order": "tail-first", "--full-hit": "all", "--warm-up": "0", "--ids": "auto"}
    for table in ({}, TIERS, {"--sharing": None}, {"--partition": "20"}, POLICIES):
        assert outputs.of({**table, **defaults}) == outputs.of(table)
