# Trusts: `pyproject.toml`'s extras; what `sys.modules` says was imported.
from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import python
from small import EXPERIMENTS, ROOT

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.sweeps.dask import dask_executor

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = {
    re.split("[^a-z0-9]", need)[0]: need
    for needs in _PROJECT["optional-dependencies"].values()
    for need in needs
}
SKIPPED = {".git", ".mypy_cache", ".pytest_cache", ".venv", "build", "results", "__pycache__"}
HEAVY = {"numpy", "pyarrow", "pydantic", "rich", "ruamel", "click", "mcsim._core", *EXTRAS}


def test_import_takes_no_package_and_little_time() -> None:
    program = f"""
import resource, sys
def seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime
before = seconds()
import mcsim
assert seconds() - before < 0.3
sys.exit(", ".join({HEAVY!r} & set(sys.modules)) or None)
"""
    done = python("-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_runs_curves_and_tables_need_no_extra(tmp_path: Path) -> None:
    program = f"""
import importlib.machinery
find = importlib.machinery.PathFinder.find_spec
def find_without_extras(name, path=None, target=None):
    return None if name.partition(".")[0] in {sorted(EXTRAS)!r} else find(name, path, target)
importlib.machinery.PathFinder.find_spec = find_without_extras
import mcsim as mc
results = mc.run({str(EXPERIMENTS / "tiny.yaml")!r}, out={str(tmp_path)!r})
print(results.comparison())
print(mc.hit_ratio_curve([1, 2, 1, 2]).at(2))
"""
    done = python("-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0.5"


def _connect() -> None:
    with dask_executor("tcp://127.0.0.1:1"):
        pass


@pytest.mark.parametrize(
    ("purpose", "package", "use"),
    [
        ("plots", "matplotlib", lambda: mc.hit_ratio_curve([1, 1]).plot()),
        ("figures", "matplotlib", lambda: mc.simulate([1, 1], ["lru"], [1]).plot()),
        ("frames of pandas", "pandas", lambda: mc.simulate([1], ["lru"], [1]).to_pandas()),
        ("frames of Polars", "polars", lambda: mc.simulate([1], ["lru"], [1]).to_polars()),
        ("solutions of ilp", "highspy", lambda: mc.optimize([[0, 1]], 1, optimizer="ilp")),
        ("Dask clusters", "distributed", _connect),
    ],
)
def test_an_absent_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, purpose: str, package: str, use: Callable[[], object]
) -> None:
    monkeypatch.setattr("mcsim.base.package.find_spec", lambda name: None)
    command = f"{sys.executable} -m pip install '{EXTRAS[package]}'"
    with pytest.raises(ConfigError) as error:
        use()
    assert str(error.value) == f"{purpose} need {package}: run {command}"


def test_no_text_installs_the_mcsim_of_the_index() -> None:
    """It is another project."""
    pattern = re.compile(r"(pip|uv pip|uv|pipx) install +['\"]?mcsim\b(?!-)")
    kinds = (".py", ".md", ".cpp", ".hpp", ".txt", ".toml", ".yml", ".ipynb", "")
    read = set()
    for folder, below, files in os.walk(ROOT):
        # No history is needed, which an unpacked archive does not have.
        below[:] = {*below} - SKIPPED
        for path in (Path(folder) / name for name in files):
            if path.suffix in kinds and path.is_file():
                assert not pattern.search(path.read_text("utf-8", "replace")), path
                read.add(path)
    assert {ROOT / "README.md", ROOT / "mcsim", Path(__file__)} <= read


def test_numbers_of_the_version_agree() -> None:
    declared = re.search(r"project\(mcsim VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert declared is not None
    assert mc.__version__ == declared[1]
    assert f"\nversion: {declared[1]}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"## [{declared[1]}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
