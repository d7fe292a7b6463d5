"""How a file is read, kept in a YAML file of its own: its format and the format's parameters.

format: csv
time: 1
time_unit: ms
offset: lba
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing
from mcsim.traces.store import OptionValue


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
