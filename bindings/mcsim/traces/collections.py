"""Public collections of traces: source, licence, size, formats and checksums."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mcsim.traces.batches import Kind

DATA = Path(__file__).with_name("collections.toml")

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Checksum:
    """Checksum of a published file; an empty field, or 0, is unknown."""

    file: str
    bytes: int = 0
    sha256: str = ""
    md5: str = ""


@dataclass(frozen=True)
class Collection:
    """A public collection of traces; a field that is not known is ``"unknown"``.

    Attributes
    ----------
    name : str
    title : str
    kind : {'blocks', 'objects'}
    stresses : str
    formats : tuple of str
        Readers of its files here; empty if there is none.
    source : str
        Address of the publisher.
    year, licence, files, requests, size, citation : str
        `size` is that of the download.
    command : str
        An example that opens a file.
    checksums : tuple of Checksum
    """

    name: str
    title: str
    kind: Kind
    stresses: str
    formats: tuple[str, ...]
    source: str
    year: str = UNKNOWN
    licence: str = UNKNOWN
    files: str = UNKNOWN
    requests: str = UNKNOWN
    size: str = UNKNOWN
    command: str = UNKNOWN
    citation: str = UNKNOWN
    checksums: tuple[Checksum, ...] = ()


@cache
def collections() -> Mapping[str, Collection]:
    """Return all collections by name, in the order of the data file."""
    found = {}
    for name, fields in tomllib.loads(DATA.read_text("utf-8")).items():
        fields["formats"] = tuple(fields["formats"])
        fields["checksums"] = tuple(Checksum(**of) for of in fields.get("checksums", ()))
        found[name] = Collection(name, **fields)
    return found


def published_as(sha256: str) -> tuple[Collection, Checksum] | None:
    """Return the collection and the file with a digest; None if no published file has it."""
    for collection in collections().values():
        for checksum in collection.checksums:
            if checksum.sha256 == sha256:
                return collection, checksum
    return None
