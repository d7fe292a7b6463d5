"""The public names of the package. Trusts: Python's import system."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mcsim as mc

FUNCTIONS = """
import importlib, inspect, pickle, mcsim
importlib.import_module("mcsim.report.page")
importlib.import_module("mcsim.reproduce.catalogue")
for call in (mcsim.report, mcsim.reproduce):
    assert inspect.isfunction(call) and call.__doc__
    assert pickle.loads(pickle.dumps(call)) is call
"""


def test_report_and_reproduce_are_functions() -> None:
    """An import of a subpackage binds it to its name in the package."""
    subprocess.run([sys.executable, "-c", FUNCTIONS], check=True)


def test_names_are_listed_and_described() -> None:
    for names in (
        *(mc.system_names(), mc.format_names(), mc.device_names(), mc.policy_names()),
        mc.experiment_names(),
    ):
        assert names
        for name in names:
            assert mc.describe(name).startswith(f"{name} (")
    assert mc.describe("ARC") == mc.describe("arc")
    with pytest.raises(mc.ConfigError, match=r"nothing is called 'LRUU' \(did you mean 'lru'\?\)"):
        mc.describe("LRUU")


def test_errors_are_exported() -> None:
    assert issubclass(mc.OutOfMemoryError, MemoryError)
    assert issubclass(mc.HostError, mc.McsimError)
