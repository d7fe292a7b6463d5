"""Commands of `mcsim`, run in this process, and Python that runs in another."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest

import mcsim
from mcsim.cli.main import cli, main
from mcsim.tables.result_table import ResultTable


def declared(
    of: click.Command = cli, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield all commands by their names."""
    if not isinstance(of, click.Group):
        yield " ".join(words), of
        return
    context = click.Context(of)
    for name in of.list_commands(context):
        command = of.get_command(context, name)
        assert command is not None
        yield from declared(command, (*words, name))


def code_of(*arguments: object) -> int:
    """Run a command, and return what it exits with."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command; return its exit code, its output and its messages."""
    return code_of(*arguments), *capsys.readouterr()


def lines(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[str], str]:
    """Run a command as `call` does; what it prints line by line."""
    code, out, err = call(capsys, *arguments)
    return code, out.splitlines(), err


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """Run a command that must succeed, and return what it prints line by line."""
    code, out, err = lines(capsys, *arguments)
    assert code == 0, err
    return out


def rendered(table: ResultTable) -> str:
    """Return the text of a table, its title and notes included."""
    return table.formatted().to_text()


def environment(**more: str) -> dict[str, str]:
    """Return the environment in which another process imports the same `mcsim`."""
    return {**os.environ, "PYTHONPATH": str(Path(mcsim.__file__).parents[1]), **more}


def python(
    *arguments: object, env: Mapping[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run Python in another process; `more` is what `subprocess.run` takes."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment(**(env or {})),
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def started(program: str) -> subprocess.Popen[str]:
    """Start a Python program and read its output by line."""
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment()
    )


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Limit the size of files, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def cells(printed: list[str], first: str) -> list[str]:
    """Return the row of a printed table that begins so."""
    (row,) = [line.split() for line in printed if line.split()[:1] == [first]]
    return row
