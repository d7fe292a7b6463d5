"""Single values that users pass to functions: validated before the core converts them."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from mcsim.base.errors import ConfigError

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 2**63 - 1
_MOST_LETTERS = 4096
_MOST_ELEMENTS = 1_000_000

_MOST_SHOWN = 60
"""Characters of a wrong value in a message."""


def shortened(value: object) -> str:
    """Return the `repr` of a value for a message: short, also if it fails or is long.

    Examples
    --------
    >>> from mcsim.base.arguments import shortened
    >>> shortened("ab"), len(shortened("a" * 1000))
    ("'ab'", 60)
    """
    try:
        # The digits of an integer take quadratic time, and Python refuses too many.
        written = hex(value) if isinstance(value, int) and abs(value) >> 200 else repr(value)
    except Exception:
        written = f"<{type(value).__name__}>"
    return written if len(written) <= _MOST_SHOWN else f"{written[: _MOST_SHOWN - 1]}…"


def whole_number(name: str, value: Any, least: int = 0, most: int = _MOST) -> int:
    """Return a whole number within bounds.

    Raises
    ------
    ConfigError
        If it is not an integer (`bool` is not), or out of bounds; the message begins with `name`.

    Examples
    --------
    >>> from mcsim.base.arguments import whole_number
    >>> whole_number("seeds", 5, least=1)
    5
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"{name}: expected a whole number, got {shortened(value)}") from None
    if number < least:
        raise ConfigError(f"{name}: at least {least:,}, got {shortened(number)}")
    if number > most:
        raise ConfigError(f"{name}: at most {most:,}, got {shortened(number)}")
    return number


def seed_given(seed: Any) -> int:
    """Return the seed of a generator of random numbers: 64 bits."""
    return whole_number("seed", seed, 0, 2**64 - 1)


def text(name: str, value: Any) -> str:
    """Return text that UTF-8 can encode, of at most 4,096 characters.

    Raises
    ------
    ConfigError
        If it is not; the message begins with `name`.
    """
    if not isinstance(value, str):
        raise ConfigError(f"{name}: expected text, got {shortened(value)}")
    if len(value) > _MOST_LETTERS:
        raise ConfigError(f"{name}: {len(value):,} characters: at most {_MOST_LETTERS:,}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{name}: UTF-8 cannot encode {shortened(value)}") from None
    return value


def file_given(name: str, value: Any) -> Path:
    """Return the path of a file that the operating system can have.

    Raises
    ------
    ConfigError
        If it is not a path, or has a NUL or letters that file names cannot encode.
    """
    if not isinstance(value, (str, os.PathLike)):
        raise ConfigError(f"{name}: expected a path, got {shortened(value)}")
    path = Path(value)
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise ConfigError(f"{name}: no file can have the name {shortened(str(path))}")
    return path


def list_of(name: str, given: Any, what: str) -> list[Any]:
    """Return the elements of an iterable that is not text.

    Raises
    ------
    ConfigError
        If it is text or no iterable. The message begins with `name`; it expects a list of `what`.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ConfigError(f"{name}: expected a list of {what}, got {shortened(given)}")
    try:
        some = list(islice(given, _MOST_ELEMENTS + 1))
    except (TypeError, OverflowError):
        raise ConfigError(f"{name}: expected a list of {what}, got {shortened(given)}") from None
    if len(some) > _MOST_ELEMENTS:
        raise ConfigError(f"{name}: at most {_MOST_ELEMENTS:,} elements")
    return some


def check_param(name: str, value: object) -> None:
    """Raise ConfigError if the core cannot take a value as a parameter."""
    if isinstance(value, str):
        text(name, value)
    elif not isinstance(value, (bool, float)):
        whole_number(name, value, -(2**63))
