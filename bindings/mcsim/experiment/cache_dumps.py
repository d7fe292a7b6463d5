"""Dumps of the metadata of dm-cache: the XML that `cache_dump` writes, and starts from it."""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from mcsim._core import engine
from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import is_regular, read_regular
from mcsim.config import ExperimentSpec, Source

_SECTOR_BYTES = 512
_IGNORED = frozenset(("mappings", "hints", "discards", "discard"))
_HINT_BYTES = 4
"""Of policy smq, little endian: the level of a block."""


def read_dump(path: Path) -> engine.CacheDump:
    """Read the XML of `cache_dump` of thin-provisioning-tools.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ConfigError
        With the line of the first mistake.
    """
    return _Reader(path).read()


def _dump_file(spec: ExperimentSpec, source: Source) -> Path:
    """Return the dump from which the systems start."""
    assert spec.cache_dump is not None
    return source.code_folder / spec.cache_dump


def start_from_dump(
    system: engine.System, spec: ExperimentSpec, source: Source, index: int
) -> None:
    """Let the system at `index` start from the dump of the experiment.

    Raises
    ------
    ConfigError
        If the file has mistakes, or the system cannot start from it.
    """
    with source.blaming(("warm_up",)):
        file_given("cache_dump", spec.cache_dump)
    with source.blaming(("warm_up", "cache_dump")):
        dump = read_dump(_dump_file(spec, source))
    with source.blaming(("systems", index)):
        system.use_cache_dump(dump)


def dump_checksum(spec: ExperimentSpec, source: Source) -> str:
    """Return the checksum of the dump, which results depend on."""
    return hashlib.sha256(read_regular(_dump_file(spec, source))).hexdigest()


class _Reader:
    """Reads one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._superblock: dict[str, str] = {}
        self._superblock_line = 0
        self._cache_blocks = self._hint_width = 0
        # By cache block: origin block, whether it is dirty, and line in the file.
        self._mappings: dict[int, tuple[int, bool, int]] = {}
        self._origin_lines: dict[int, int] = {}
        self._hints: dict[int, int] = {}
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._element
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self) -> engine.CacheDump:
        if not is_regular(self._path):
            raise ConfigError(f"{self._path}: not a regular file")
        content = read_regular(self._path)
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise ConfigError(f"{self._path}:{error.lineno}: invalid XML: {reason}") from None
        if not self._superblock:
            raise self._complain("missing element 'superblock'")
        blocks = sorted(self._mappings)
        rows = [self._mappings[block] for block in blocks]
        return engine.CacheDump(
            file=str(self._path),
            policy=self._superblock["policy"],
            block_bytes=_SECTOR_BYTES * int(self._superblock["block_size"]),
            cache_blocks=self._cache_blocks,
            has_hints=bool(self._hints),
            text_line=self._superblock_line,
            cache_block=np.array(blocks, np.uint32),
            origin_block=np.array([origin for origin, _, _ in rows], np.uint64),
            is_dirty=np.array([dirty for _, dirty, _ in rows], np.uint8),
            hint=np.array([self._hints.get(block, 0) for block in blocks], np.uint32),
            text_lines=np.array([line for _, _, line in rows], np.int64),
        )

    def _complain(self, what: str) -> ConfigError:
        return ConfigError(f"{self._path}:{self._parser.CurrentLineNumber}: {what}")

    def _doctype(self, *_: Any) -> None:
        raise self._complain("document type declarations are not accepted")

    def _element(self, name: str, given: dict[str, str]) -> None:
        if not self._superblock and name != "superblock":
            raise self._complain(f"expected element 'superblock', got '{name}'")
        if name == "superblock":
            self._read_superblock(given)
        elif name == "mapping":
            self._read_mapping(given)
        elif name == "hint":
            self._read_hint(given)
        elif name not in _IGNORED:
            raise self._complain(f"unknown element '{name}'")

    def _read_superblock(self, given: dict[str, str]) -> None:
        if self._superblock:
            raise self._complain("a second superblock")
        self._number(given, "block_size", 32)
        self._cache_blocks = self._number(given, "nr_cache_blocks", 32)
        self._hint_width = self._number(given, "hint_width", 32)
        if self._hint_width not in (0, _HINT_BYTES):
            raise self._complain(f"hint_width: expected 0 or {_HINT_BYTES}, got {self._hint_width}")
        self._text(given, "policy")
        self._superblock = given
        self._superblock_line = self._parser.CurrentLineNumber

    def _read_mapping(self, given: dict[str, str]) -> None:
        block = self._number(given, "cache_block", 32)
        origin = self._number(given, "origin_block", 48)
        dirty = self._text(given, "dirty")
        if dirty not in ("true", "false"):
            raise self._complain(f"dirty: expected true or false, got {dirty!r}")
        line = self._parser.CurrentLineNumber
        if block in self._mappings:
            before = self._mappings[block][2]
            raise self._complain(f"cache_block {block} is mapped in line {before} already")
        if origin in self._origin_lines:
            before = self._origin_lines[origin]
            raise self._complain(f"origin_block {origin} is mapped in line {before} already")
        self._origin_lines[origin] = line
        self._mappings[block] = origin, dirty == "true", line

    def _read_hint(self, given: dict[str, str]) -> None:
        block = self._number(given, "cache_block", 32)
        text = self._text(given, "data")
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise self._complain(f"data: {text!r} is not valid base64") from None
        if len(data) != self._hint_width:
            what = f"data: {len(data)} bytes, and hint_width is {self._hint_width}"
            raise self._complain(what)
        if block in self._hints:
            raise self._complain(f"cache_block {block} has a hint already")
        self._hints[block] = int.from_bytes(data, "little")

    def _text(self, given: dict[str, str], name: str) -> str:
        if name not in given:
            raise self._complain(f"missing attribute '{name}'")
        return given[name]

    def _number(self, given: dict[str, str], name: str, bits: int) -> int:
        text = self._text(given, name)
        if not (text.isascii() and text.isdigit()) or len(text) > 20 or int(text) >= 1 << bits:
            raise self._complain(f"{name}: expected a number of {bits} bits, got {text!r}")
        return int(text)
