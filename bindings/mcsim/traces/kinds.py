"""Kinds of entries in the trace cache: their names, and how they are described and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mcsim._core import engine, locality
from mcsim.base.units import format_count
from mcsim.traces.digests import read_note
from mcsim.traces.metadata import read_metadata
from mcsim.traces.replayed import read_rows
from mcsim.traces.store import open_store

INTERNED = "interned"
"""The folder of interned traces in that of the cache."""


@dataclass(frozen=True)
class Kind:
    """A kind of entries.

    Attributes
    ----------
    name : str
        As `mcsim cache ls` shows it.
    folder : str
        In the cache folder; may be empty.
    pattern : Pattern
        Pattern of the names of its files. A name contains a digest, so the pattern matches no
        foreign file in a folder that has other uses.
    describe : callable
        Returns a short description of a file.
    check : callable
        Reads a whole file; raises an `McsimError` if it is damaged.
    is_listed : bool
        Whether `mcsim cache ls` lists its files.
    """

    name: str
    folder: str
    pattern: re.Pattern[str]
    describe: Callable[[Path], str]
    check: Callable[[Path], object]
    is_listed: bool = True


def _of_store(path: Path) -> str:
    metadata = open_store(path).metadata
    kind = "generated from" if metadata.synthetic else "of"
    return f"{format_count(metadata.counts.requests)} requests {kind} {metadata.source}"


def _check_store(path: Path) -> None:
    for _ in open_store(path):
        pass


def _of_note(_: Path) -> str:
    return "of a file that was parsed"


def _of_interned(path: Path) -> str:
    accesses, vms, block_bytes = engine.describe_accesses(os.fsencode(path))
    of = f"{vms} VM{'s' if vms > 1 else ''}"
    return f"{format_count(accesses)} accesses of {of} in blocks of {block_bytes} bytes"


def _check_interned(path: Path) -> None:
    engine.open_accesses(os.fsencode(path))


def _of_metadata(_: Path) -> str:
    return "of a file that was interned as it was read"


def _of_profile(path: Path) -> str:
    return locality.describe_profile(os.fsencode(path))


def _of_rows(path: Path) -> str:
    rows = read_rows(path)
    return f"replayed, {len(rows)} row{'s' if len(rows) != 1 else ''}"


def _named(ending: str) -> re.Pattern[str]:
    return re.compile(rf".+-[0-9a-f]{{16}}\.{ending}")


KINDS = (
    Kind("trace", "", _named("arrow"), _of_store, _check_store),
    Kind("interned", INTERNED, _named("accesses"), _of_interned, _check_interned),
    Kind("metadata", INTERNED, _named("metadata"), _of_metadata, read_metadata, is_listed=False),
    Kind("profile", INTERNED, _named("profile"), _of_profile, _of_profile),
    Kind("replayed", INTERNED, _named("replayed"), _of_rows, read_rows),
    Kind("digest", "", re.compile(r"digest-[0-9a-f]{32}\.json"), _of_note, read_note, False),
)
