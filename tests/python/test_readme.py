"""Numbers of README.md and docs/multicache.md: counts of names, and hits of the experiment `web`.

Trusts: the registries, and the tables of a run.
"""

from __future__ import annotations

import re
from pathlib import Path

import commands
import pytest
from small import ROOT

import mcsim as mc

WORDS = {"nine": 9}


def text_of(document: str) -> str:
    """A document as one line."""
    return " ".join((ROOT / document).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("kind", "document", "sentence"),
    [
        ("systems", "README.md", r"\*\*Systems:\*\* (\w+) ways"),
        ("policies", "README.md", r"\*\*Policies:\*\* (\w+), from"),
        ("estimators", "README.md", r"in parallel; (\w+) estimators"),
        ("formats", "README.md", r"\*\*Traces:\*\* (\w+) formats"),
        ("formats", "docs/how-to/own-trace.md", r"reads \[(\w+) formats\]"),
        ("systems", "docs/tutorials/divide-a-cache.md", r"\) has all (\w+)\."),
    ],
)
def test_counts_are_those_of_the_lists(
    kind: str, document: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = re.findall(
        r"^\S+ {2,}", "\n".join(commands.printed(capsys, "list", kind)), re.MULTILINE
    )
    (count,) = re.findall(sentence, text_of(document))
    assert WORDS.get(count) or int(count) == len(names)


@pytest.mark.slow
def test_hits_are_those_of_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is that of the synthetic week, which every reader can replay."""
    monkeypatch.delenv("MCSIM_TRACE_DIR", raising=False)
    overrides = ["slowdowns=false", "page=false", "opt=true"]
    results = mc.run("web", overrides=overrides, out=tmp_path, figures=False)
    assert results.synthetic
    rows = results.overview().to_arrow().to_pylist()
    hits = {row["system"]: 100 * row["hit_ratio"] for row in rows}
    opt = hits["lirs"] / next(row["share_of_opt"] for row in rows if row["system"] == "lirs")
    divided = max(hits[name] for name in hits if name == "static" or name.startswith("multicache"))
    assert (
        f"LIRS hits {hits['lirs']:.1f} % of the reads, and the best division of the paper "
        f"{divided:.1f} %. One shared LRU hits {hits['lru']:.1f} %, and OPT, the upper bound, "
        f"{opt:.1f} %."
    ) in text_of("README.md")
    table = (ROOT / "docs/multicache.md").read_text(encoding="utf-8")
    for title, name in (
        ("Global LRU", "lru"),
        ("Multi-Cache as printed", "multicache"),
        ("Multi-Cache with history", "multicache-history"),
        ("Multi-Cache as coded", "multicache-legacy"),
    ):
        assert f"| {title} | {hits[name]:.2f} | {100 * hits[name] / opt:.1f} |" in table, title
    assert f"| OPT, one cache of all | {opt:.1f} | 100 |" in table
