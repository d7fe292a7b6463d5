# Trusts: the script's exit codes, and the folders that it leaves.
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from small import ROOT

LAUNCHER = ROOT / "mcsim"


def copy_scripts(checkout: Path) -> None:
    for name in ("mcsim", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, checkout)


def launched(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run the launcher of a checkout, which stops where it needs a Python."""
    copy_scripts(checkout)
    return subprocess.run(
        [checkout / "mcsim", "--version"],
        env=os.environ | {"MCSIM_APT": "no", "MCSIM_PYTHON": "/none"},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that was set up, in a path with a space."""
    found = tmp_path / "a checkout"
    for folder in (".venv", "build/py", "build/asan", "build/fuzz/inputs"):
        (found / folder).mkdir(parents=True)
    (found / ".venv/root").write_text(f"{found}\n", encoding="utf-8")
    return found


def test_a_checkout_in_its_place_keeps_its_build(checkout: Path) -> None:
    done = launched(checkout)
    assert (done.returncode, "set MCSIM_PYTHON" in done.stderr) == (3, True)
    assert (checkout / ".venv").is_dir()
    assert (checkout / "build/py").is_dir()


@pytest.mark.parametrize("make", [shutil.copytree, shutil.move], ids=["copied", "moved"])
def test_another_place_needs_another_build(checkout: Path, make: object) -> None:
    """Programs of .venv start the code of the place where they were installed."""
    other = checkout.with_name("another place")
    assert callable(make)
    make(checkout, other)
    copy_scripts(other)
    inputs = "cat {mcsim,pyproject.toml,requirements.lock,requirements-dev.lock} | sha256sum"
    stamp = subprocess.run(["bash", "-c", inputs], cwd=other, capture_output=True, check=True)
    (other / ".venv/set_up_run").write_bytes(stamp.stdout)
    (other / ".venv/bin").mkdir()
    shutil.copy("/bin/true", other / ".venv/bin/python")
    (other / "build/py/build.ninja").touch()
    assert launched(other).returncode == 3
    assert not (other / ".venv").exists()
    assert sorted(path.name for path in (other / "build").iterdir()) == ["fuzz", "lock", "log"]


def test_a_checkout_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "build").touch()
    done = launched(tmp_path)
    assert done.returncode == 3
    assert f"{tmp_path} cannot be written by " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_ccache_and_ninja_are_not_needed(tmp_path: Path) -> None:
    for folder in os.environ["PATH"].split(":"):
        for tool in Path(folder).glob("*"):
            if tool.name not in ("ccache", "ninja") and not (tmp_path / tool.name).exists():
                (tmp_path / tool.name).symlink_to(tool)
    functions = LAUNCHER.read_text("utf-8").removesuffix('main "$@"\n')

    def printed(function: str) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", f"{functions}\n{function}"],
            env={**os.environ, "PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert not {"ccache", "ninja-build"} & {*printed("missing_packages test")}
    assert printed("helpful_packages") == ["ninja-build", "ccache"]
