"""The folder of a finished run, read and verified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.base.errors import ConfigError, HostError, host_faults
from mcsim.base.inputs import note_input, read_regular
from mcsim.config.spec import ExperimentSpec
from mcsim.results.files import DONE, ENVIRONMENT, SPEC, TIMINGS, read_json, read_parquet
from mcsim.results.foreign import check_environment, check_timings, checked_table, parse_spec
from mcsim.results.seals import is_damaged, read_list


class RunFolder:
    """The folder of a run, which has number 0; checksums are verified when files are read.

    Attributes
    ----------
    path : Path
    remedy : str
        End of all messages about damage.
    """

    remedy = "run the experiment again with --force (in Python: force=True)"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._verified: set[str] = set()

    @cached_property
    def sums(self) -> dict[str, str]:
        """The checksums in DONE, by file."""
        return read_list(self.path / DONE)

    def check(self) -> None:
        """Verify all files; ConfigError names the first damaged one."""
        for name in self.sums:
            self.checked(name)

    def checked(self, name: str) -> Path:
        """Return the path of a file after verifying its checksum."""
        if name not in self._verified and is_damaged(self.path, self.sums, name):
            raise ConfigError(
                f"{self.path / name}: damaged or gone: it is not what the run wrote; {self.remedy}"
            )
        self._verified.add(name)
        note_input(self.path / name)
        return self.path / name

    @contextmanager
    def valid(self, name: str) -> Iterator[Path]:
        """Open a file with a valid checksum; raise ConfigError if its content is invalid."""
        path = self.checked(name)
        try:
            with host_faults(path):
                yield path
        except HostError:
            raise
        except (ValueError, KeyError, TypeError, OSError, pa.ArrowException) as error:
            raise ConfigError(f"{path}: {error}; {self.remedy}") from None

    def spec(self, number: int) -> ExperimentSpec:
        """Read the experiment."""
        with self.valid(SPEC) as file:
            return parse_spec(read_regular(file))

    def environment(self, number: int) -> dict[str, Any]:
        """Read `environment.json`."""
        with self.valid(ENVIRONMENT) as file:
            value = read_json(file)
            check_environment(value)
        return value

    def timings(self, number: int) -> dict[str, Any]:
        """Read `timings.json`, and seconds that were recorded later."""
        try:
            value = read_json(self.path / TIMINGS)
            check_timings(value)
        except (OSError, ValueError):
            value = {"stages": {}, "systems": {}}
        if TIMINGS in self.sums:
            self.checked(TIMINGS)
        for file in sorted(self.path.glob("seconds-*.json")):
            with suppress(OSError, ValueError):
                value["stages"][file.stem.partition("-")[2]] = float(read_json(file)["seconds"])
        return value

    def table(self, name: str, number: int) -> pa.Table:
        """Read a table."""
        with self.valid(f"{name}.parquet") as path:
            return checked_table(name, read_parquet(path))
