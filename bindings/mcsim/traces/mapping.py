"""Formats with their parameters, as given and as kept in a YAML file.

format: csv
time: 1
time_unit: ms
offset: lba
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing
from mcsim.base.units import parse_bytes
from mcsim.traces.metadata import OptionValue
from mcsim.traces.table_files import describe_table_formats


def read_mapping(path: str | os.PathLike[str]) -> tuple[str | None, dict[str, OptionValue]]:
    """Read the format, if it is stated, and its parameters.

    Raises
    ------
    ConfigError
        If it cannot be read, or is no map of names to values.
    """
    from mcsim.config.load import Source, to_plain

    source = Source.read(path)
    given = to_plain(source.root)
    for name, value in given.items():
        if not isinstance(value, (bool, int, float, str)):
            raise source.complain((name,), f"expected a value, got {value!r}")
    format = given.pop("format", None)
    if format is not None and not isinstance(format, str):
        raise source.complain(("format",), f"expected the name of a format, got {format!r}")
    return format, given


def write_mapping(
    path: str | os.PathLike[str], format: str, options: Mapping[str, OptionValue]
) -> None:
    """Write a file that `read_mapping` reads; it appears whole or not at all.

    Raises
    ------
    HostError
        If that cannot be.
    ConfigError
        If the path is that of a folder.
    """
    from pathlib import Path

    from ruamel.yaml import YAML

    target = Path(path)
    if target.is_dir():
        raise ConfigError(f"{target}: that is a folder")
    with replacing(target) as file:
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
        yaml.dump({"format": format, **options}, file)


def trace_formats() -> list[dict[str, Any]]:
    """Return the trace formats: name, summary, reference and parameters of each."""
    formats = _core_trace.formats()
    (csv,) = (format for format in formats if format["name"] == "csv")
    return formats + describe_table_formats(csv)


_REPLACED_OPTIONS = {
    ("oracle-general", "ignore_size"): "ids are keys of objects; with unit_bytes=4096 they are "
    "blocks at id * 4096, with their sizes",
}
"""Replacements of removed options of formats."""


def as_declared(format: str, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Return options as the kinds their format declares, where that is plain.

    So YAML accepts ``time: 1`` for a column and ``unit_bytes: 4KiB`` for a size. All
    else is left as it is, for the format to judge. Options that are gone are a ConfigError that
    names the replacement.
    """
    for option in options:
        if (replacement := _REPLACED_OPTIONS.get((format, option))) is not None:
            raise ConfigError(f"{format}: {option} is gone: {replacement}")
    kinds = {
        param["name"]: param["kind"]
        for known in trace_formats()
        if known["name"] == format
        for param in known["params"]
    }

    def as_declared(name: str, value: OptionValue) -> OptionValue:
        kind = kinds.get(name)
        if name == "length" and value == "":
            return "none"
        if kind == "text" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if kind == "bool" and value in ("true", "false"):
            return value == "true"
        if kind == "integer" and isinstance(value, str):
            with suppress(ValueError):
                return parse_bytes(value)
        return value

    return {name: as_declared(name, value) for name, value in options.items()}
