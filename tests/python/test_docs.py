# Trusts: nothing but that what a document shows must run as shown.
"""The examples of README.md and CONTRIBUTING.md, and those in docstrings."""

from __future__ import annotations

import doctest
import gzip
import importlib
import re
from pathlib import Path

import pytest

import mcsim
from mcsim.experiment.experiment import Experiment

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bindings"

MSR_LINES = "128166372003061629,web,0,Read,4096,8192,100\n128166372013061629,web,0,Read,0,4096,90\n"


def example(document: str, language: str, containing: str) -> str:
    """The one code block of a document that contains a text."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if containing in block]
    return str(found)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory that sees the experiments."""
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_readme_commands_name_files_that_exist() -> None:
    for path in re.findall(r"experiments/[\w/-]+\.yaml", (ROOT / "README.md").read_text()):
        assert (ROOT / path).is_file(), path


def test_readme_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "web_0.csv.gz").write_bytes(gzip.compress(MSR_LINES.encode()))
    exec(example("README.md", "python", "import mcsim"), {})
    out = capsys.readouterr().out
    assert out.startswith("0.0 None\nNone 0.0\n[[1 1]] 0.4")


def test_readme_experiment(folder: Path) -> None:
    (folder / "example.yaml").write_text(example("README.md", "yaml", "systems:"))
    spec = Experiment.load(folder / "example.yaml", []).spec
    assert [tier.capacity_blocks for tier in spec.tiers] == [2**18, 10 * 2**18]


def test_contributing_system_in_python(folder: Path) -> None:
    (folder / "demand.py").write_text(example("CONTRIBUTING.md", "python", "allocate"))
    systems = example("CONTRIBUTING.md", "yaml", "demand:Demand")
    tiny = (ROOT / "experiments/tiny.yaml").read_text()
    tiny = tiny.replace("workloads/", "experiments/workloads/")
    (folder / "mine.yaml").write_text(tiny[: tiny.index("systems:")] + systems)
    metrics = mcsim.run("mine.yaml", figures=False).to_pandas("metrics")
    assert set(metrics["system"]) == {"lru", "demand:Demand"}
    mine = metrics[(metrics["system"] == "demand:Demand") & (metrics["interval"] > 0)]
    granted = mine.groupby(["tier", "interval"])["target"].sum().unstack()
    # Three VMs, each rounded down.
    assert granted.loc[0].between(498, 500).all()
    assert granted.loc[1].between(1998, 2000).all()


@pytest.mark.parametrize(
    "module",
    [
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in sorted(PACKAGE.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ],
)
def test_docstrings(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
