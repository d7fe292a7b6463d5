"""Public docstrings have the sections of numpydoc, and the most used names have examples.

Trusts: the list of public names, and `tests/python/test_docs.py`, which runs the examples.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import mcsim

LEAST_EXAMPLES = 60
"""Distinct functions, methods and classes with examples, at least."""

HEADING = re.compile(r"^([A-Z]\w*(?: \w+)*)\n-{3,}$", re.MULTILINE)


class Documented(NamedTuple):
    """A public name of Python code, and the function that its docstring is about."""

    name: str
    what: Any
    is_property: bool = False


def sections(docstring: str) -> dict[str, str]:
    """Split a docstring into its sections by heading."""
    _, *parts = HEADING.split(docstring)
    return dict(zip(parts[::2], (text.strip("\n") for text in parts[1::2]), strict=True))


def names_in(section: str) -> list[str]:
    """List the names at the left margin of a section, such as `a, b : int`."""
    lines = [line for line in section.splitlines() if line[:1].strip()]
    return [name.strip(" *") for line in lines for name in line.split(" : ")[0].split(",")]


def raised_in(function: Callable[..., Any]) -> set[type[Exception]]:
    """Return the exceptions that the body itself raises by name."""
    inner = inspect.unwrap(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(inner)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    made = [call.func for call in calls if isinstance(call, ast.Call)]
    names = [name.id for name in made if isinstance(name, ast.Name)]
    known = vars(builtins) | inner.__globals__
    return {known[name] for name in names if name in known}


def gaps(each: Documented) -> Iterator[str]:
    """Yield what a docstring lacks."""
    docstring = inspect.getdoc(each.what)
    if not docstring:
        yield "no docstring"
        return
    if inspect.isclass(each.what) or each.is_property:
        return
    found = sections(docstring)
    signature = inspect.signature(each.what)
    takes = [name for name in signature.parameters if name not in ("self", "cls")]
    listed = names_in(found.get("Parameters", ""))
    if sorted(listed) != sorted(takes):
        yield f"Parameters: {listed}, takes {takes}"
    gives = signature.return_annotation not in ("None", None)
    if gives and not found.keys() & {"Returns", "Yields"}:
        yield "no Returns"
    listed_errors = set(names_in(found.get("Raises", "")))
    for error in raised_in(each.what) - {NotImplementedError}:
        if listed_errors.isdisjoint(base.__name__ for base in error.__mro__):
            yield f"Raises: not {error.__name__}"


def members(name: str, owner: type) -> Iterator[Documented]:
    """Yield the public methods and properties of a class that are ours."""
    for attribute in dir(owner):
        kept = inspect.getattr_static(owner, attribute)
        home = next(each for each in owner.__mro__ if attribute in vars(each))
        if attribute.startswith("_") or not home.__module__.startswith("mcsim."):
            continue
        if isinstance(kept, classmethod | staticmethod):
            kept = kept.__func__
        computed = getattr(kept, "fget", getattr(kept, "func", None))
        what = kept if computed is None else computed
        if inspect.isfunction(inspect.unwrap(what)):
            yield Documented(f"{name}.{attribute}", what, is_property=computed is not None)


def documented() -> Iterator[Documented]:
    """Yield all public functions, classes, methods and properties of Python code."""
    for name in mcsim.__all__:
        what = getattr(mcsim, name)
        if inspect.isclass(what):
            yield Documented(name, what)
            yield from members(name, what)
        elif callable(what):
            yield Documented(name, what)


EVERY = {id(inspect.unwrap(each.what)): each for each in documented()}
"""Each once, also if several classes inherit it."""


def test_public_docstrings_have_no_gaps() -> None:
    assert len(EVERY) > 200
    found = [f"{each.name}: {gap}" for each in EVERY.values() for gap in gaps(each)]
    assert found == []


def test_the_most_used_names_have_examples() -> None:
    have = {
        each.name
        for each in EVERY.values()
        if ">>> " in sections(inspect.getdoc(each.what) or "").get("Examples", "")
    }
    assert len(have) >= LEAST_EXAMPLES, sorted(have)
    most_used = {"Trace", "run", "simulate", "compare", "hit_ratio_curve", "estimate", "tune"}
    missing = {
        name for name in most_used if not any(each.partition(".")[0] == name for each in have)
    }
    assert missing == set()


def _whole(size: int, *rest: str) -> int:
    """Round.

    Parameters
    ----------
    size : int
    *rest : str

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If it is negative.
    """
    if size < 0:
        raise ValueError("size")
    return size


def _bare(size: int) -> int:
    """Round."""
    if size < 0:
        raise ValueError("size")
    return size


def _others(sizes: int) -> None:
    """Round.

    Parameters
    ----------
    size : int
    """


def _undocumented() -> None: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_whole, []),
        (_bare, ["Parameters: [], takes ['size']", "no Returns", "Raises: not ValueError"]),
        (_others, ["Parameters: ['size'], takes ['sizes']"]),
        (_undocumented, ["no docstring"]),
    ],
)
def test_gaps_are_found(function: Callable[..., Any], expected: list[str]) -> None:
    assert list(gaps(Documented("function", function))) == expected
