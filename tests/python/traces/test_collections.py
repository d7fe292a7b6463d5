"""Trusts: the names of readers, and the files of the collections where they are at hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from commands import call, environment, printed

import mcsim as mc
from mcsim.traces.collections import collections, published_as

FILES = {
    "msr/rsrch_1.csv": "msr-cambridge",
    "arc/P3.lis": "arc",
    "lirs/multi2.txt": "lirs",
    "misc/mqsim.tpcc-small.trace": "mqsim",
    "misc/disksim.ssd-postmark-aligned2.trace": "disksim-ssd",
    "tencent/tencentBlock.ns1326.sample.csv": "tencent-cbs-samples",
}


def test_formats_of_collections_have_readers() -> None:
    for name, of in collections().items():
        assert set(of.formats) <= set(mc.format_names()), name
        words = of.command.split()
        if "--format" in words:
            assert words[words.index("--format") + 1] in of.formats, name
        assert of.source.startswith("https://"), name
        assert of.title, name
        assert of.stresses, name


def test_checksums_are_distinct_and_whole() -> None:
    known = [checksum for of in collections().values() for checksum in of.checksums]
    digests = [checksum.sha256 or checksum.md5 for checksum in known]
    assert len(set(digests)) == len(digests)
    for checksum in known:
        digits = checksum.sha256 or checksum.md5
        assert len(digits) == (64 if checksum.sha256 else 32)
        assert int(digits, 16)
        assert bool(checksum.bytes) == bool(checksum.sha256)


@pytest.mark.parametrize("name", FILES)
def test_a_published_file_is_recognised(
    name: str, trace_dir: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compressed = pa.input_stream(str(trace_dir / f"{name}.zst"), compression="zstd")
    file = folder / Path(name).name
    file.write_bytes(compressed.read())
    more = collections()[FILES[name]].command.split()[3:]
    out = printed(capsys, "trace", "info", file, *more, "--json", "-q")
    assert json.loads("\n".join(out))["collection"] == FILES[name]
    out = printed(capsys, "trace", "info", file, *more, "-q")
    assert out[1] == f"published in: {FILES[name]} (mcsim trace catalogue {FILES[name]})"
    (known,) = [
        of for of in collections()[FILES[name]].checksums if of.bytes == file.stat().st_size
    ]
    assert published_as(known.sha256) == (collections()[FILES[name]], known)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    names = list(collections())
    listed = [line.split()[0] for line in printed(capsys, "trace", "catalogue")[1:-1]]
    assert listed == names
    whole = json.loads("\n".join(printed(capsys, "trace", "catalogue", "--json")))
    assert [of["name"] for of in whole] == names
    one = json.loads("\n".join(printed(capsys, "trace", "catalogue", "alibaba-block", "--json")))
    assert one["checksums"][1]["md5"] == "c60dd8f771738d4d8df56271e56dd308"
    assert one["licence"] == "CC BY 4.0"
    assert len(printed(capsys, "trace", "catalogue", "--csv")) == len(names) + 1
    shown = printed(capsys, "trace", "catalogue", "hp-cello")
    assert "formats: no reader here" in shown
    assert "citation: unknown" in shown
    code, _, err = call(capsys, "trace", "catalogue", "alibaba")
    assert code == 2
    assert "'alibaba'" in err


@pytest.mark.parametrize("arguments", [["catalogue", "--json"], ["info", "t.csv", "--json", "-q"]])
def test_a_closed_pipe_ends_the_command_quietly(arguments: list[str], folder: Path) -> None:
    (folder / "t.csv").write_text("offset\n0\n")
    command = [sys.executable, "-m", "mcsim", "trace", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
