"""Commands of `mcsim`, run in this process."""

from __future__ import annotations

import pytest

from mcsim.cli.main import main


def code_of(*arguments: object) -> int:
    """Run a command, and return what it exits with."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command, and return what it exits with, and what it prints and tells."""
    return code_of(*arguments), *capsys.readouterr()


def lines(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[str], str]:
    """Run a command as `call` does; what it prints line by line."""
    code, out, err = call(capsys, *arguments)
    return code, out.splitlines(), err


def cells(printed: list[str], first: str) -> list[str]:
    """Return the row of a printed table that begins so."""
    (row,) = [line.split() for line in printed if line.split()[:1] == [first]]
    return row
