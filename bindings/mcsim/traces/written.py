"""The formats that traces are written in, and what each of them cannot hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import check_choice

ASPECTS: Mapping[str, str] = {
    "offsets": "offset and length within blocks",
    "operations": "reads and writes",
    "vms": "names of VMs",
    "fractions": "fractions of a second",
    "order": "traces without a clock",
    "responses": "response times",
    "discards": "discards",
    "keys": "keys that are text",
    "empty": "objects of unknown size or size 0",
    "classes": "classes",
}
"""Properties of traces that some formats cannot hold."""

_OF_OBJECTS: Mapping[str, str] = {
    "offsets": "one record for each block of a request; offset and length in it are lost",
    "operations": "writes become reads",
    "vms": "the VM is part of the object id; names of VMs are lost",
    "fractions": "times are whole seconds, rounded down",
    "order": "the trace has no clock: all times are 0",
    "responses": "response times are lost",
    "discards": "discards are left out",
    "keys": "text keys become numbers, in the order of their first request",
    "empty": "unknown sizes, and 0, become 1: libCacheSim leaves out requests of size 0",
    "classes": "classes are lost",
}


@dataclass(frozen=True)
class WrittenFormat:
    """A format that traces are written in.

    Attributes
    ----------
    name : str
    endings : tuple of str
        Ends of file names that select it, without compression.
    codecs : mapping of str to str
        Compression by the last ending.
    lacks : mapping of str to str
        By key of `ASPECTS` that the format cannot hold: the effect on the file.
    """

    name: str
    endings: tuple[str, ...]
    codecs: Mapping[str, str] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_objects(self) -> bool:
        """Whether blocks are written as objects."""
        return "offsets" in self.lacks


_ZSTD = {".zst": "zstd"}

FORMATS = (
    WrittenFormat("arrow", (".arrow",)),
    WrittenFormat("parquet", (".parquet",)),
    WrittenFormat("csv", (".csv",), {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}),
    WrittenFormat("oracle-general", (".oracleGeneral", ".oracleGeneral.bin"), _ZSTD, _OF_OBJECTS),
    WrittenFormat(
        "lcs",
        (".lcs",),
        _ZSTD,
        {name: text for name, text in _OF_OBJECTS.items() if name != "operations"}
        | {"vms": "VMs become tenant numbers and a part of the object id; names are lost"},
    ),
)


def codec_of(path: Path) -> str | None:
    """Return the compression that the end of a file's name selects; None without any."""
    return next((f.codecs[path.suffix] for f in FORMATS if path.suffix in f.codecs), None)


def format_of(path: Path, name: str | None = None) -> WrittenFormat:
    """Return the format in which a trace is written to a file.

    Parameters
    ----------
    path : Path
    name : str, optional
        The format; by default the end of the path selects it.

    Raises
    ------
    ConfigError
        If there is no such format, the end of the path selects none, or the format is not
        compressed this way.
    """
    if name is not None:
        check_choice("format", name, [of.name for of in FORMATS])
        found = next(of for of in FORMATS if of.name == name)
        if codec_of(path) is not None and path.suffix not in found.codecs:
            raise ConfigError(f"{path}: {name} is not compressed as {path.suffix}")
        return found
    for of in FORMATS:
        plain = path.name.removesuffix(path.suffix) if path.suffix in of.codecs else path.name
        if plain.endswith(of.endings):
            return of
    endings = [ending for of in FORMATS for ending in of.endings]
    raise ConfigError(
        f"{path}: expected a name that ends in {', '.join(endings)}, or the last three with .zst, "
        ".csv also with .gz or .bz2"
    )
