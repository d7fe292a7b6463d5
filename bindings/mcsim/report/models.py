"""Bokeh's models in the JSON that its library reads in a browser, written without its Python.

That takes longer to be imported and to check what it makes than all else that makes a page, and
what is made here is the same each time: tests have Bokeh read and check it.
"""

from __future__ import annotations

import base64
import gzip
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Model", "by_column", "document", "library", "mapping", "model", "numbers", "same"]

Model: TypeAlias = dict[str, Any]


def library() -> str:
    """Return the program that draws: Bokeh's, as its package has it.

    Raises
    ------
    ModuleNotFoundError
        If the package is not there.
    """
    found = find_spec("bokeh")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'bokeh'", name="bokeh")
    folder = Path(found.submodule_search_locations[0]) / "server" / "static" / "js"
    return (folder / "bokeh.min.js").read_text(encoding="utf-8")


def model(kind: str, /, **attributes: Any) -> Model:
    """Return a model; it is one and the same wherever it is put into others."""
    return {"type": "object", "name": kind, "attributes": attributes}


def by_column(name: str) -> dict[str, str]:
    """Return that a property of a glyph is a column of its source."""
    return {"type": "field", "field": name}


def same(value: Any) -> dict[str, Any]:
    """Return that a property of a glyph is alike for all that it draws."""
    return {"type": "value", "value": value}


def mapping(pairs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping, as properties and sources have it."""
    return {"type": "map", "entries": [[key, value] for key, value in pairs.items()]}


def numbers(values: NDArray[np.floating[Any]]) -> dict[str, Any]:
    """Return an array, packed."""
    data = base64.b64encode(gzip.compress(values.tobytes(), mtime=1)).decode()
    return {
        "type": "ndarray",
        "array": {"type": "bytes", "data": data},
        "shape": list(values.shape),
        "dtype": values.dtype.name,
        "order": sys.byteorder,
    }


def document(root: Model) -> dict[str, Any]:
    """Return what `Bokeh.embed.embed_item` shows: a document of one root, its models numbered."""
    names: dict[int, str] = {}

    def numbered(node: Any) -> Any:
        if isinstance(node, Sequence) and not isinstance(node, str):
            return [numbered(each) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("type") != "object":
            return {key: numbered(value) for key, value in node.items()}
        if id(node) in names:
            return {"id": names[id(node)]}
        names[id(node)] = name = f"p{len(names) + 1}"
        attributes = {key: numbered(value) for key, value in node["attributes"].items()}
        return {"type": "object", "name": node["name"], "id": name, "attributes": attributes}

    roots = [numbered(root)]
    return {"doc": {"version": _version(), "roots": roots}, "root_id": names[id(root)]}


@cache
def _version() -> str:
    return version("bokeh")
