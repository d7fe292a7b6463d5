# Trusts: ninja's status lines, `[built/total] …`.
from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from small import ROOT

OUTPUT = "[0/1] Running CMake\n[1/4] Building CXX object a.o\nwarning: [3/4] b\n[4/4] Linking\n"


@pytest.fixture
def backend() -> ModuleType:
    path = ROOT / "packaging/build_with_progress.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_terminal_shows_progress_and_the_output_is_unchanged(
    backend: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    terminal, other = os.openpty()
    with backend.progress_shown(None, os.ttyname(other), seconds=0):
        subprocess.run(["printf", "%s", OUTPUT], check=True)
    assert capfd.readouterr().out == OUTPUT
    shown = os.read(terminal, 1000).decode().split("\n")
    assert [line.strip() for line in shown if line.strip()] == [
        "mcsim: compiled 1 of 4 files, about 0 min left",
        "mcsim: compiled 4 of 4 files, about 0 min left",
    ]
    os.close(terminal)
    os.close(other)


@pytest.mark.parametrize("settings", [None, {"build-dir": "build/py"}])
def test_without_a_terminal_nothing_changes(
    backend: ModuleType,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    settings: dict[str, str] | None,
) -> None:
    with backend.progress_shown(settings, str(tmp_path / "none"), seconds=0):
        subprocess.run(["printf", "%s", OUTPUT], check=True)
    assert capfd.readouterr().out == OUTPUT


def test_an_error_of_the_build_is_raised(backend: ModuleType) -> None:
    def fail() -> None:
        with backend.progress_shown(None, "/dev/null"):
            raise SystemExit(1)

    with pytest.raises(SystemExit):
        fail()
    os.fstat(1)
