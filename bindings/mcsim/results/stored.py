"""Folders of runs and packs in a folder of results, with their states."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from mcsim.base.claims import is_claim
from mcsim.base.errors import ConfigError
from mcsim.results.files import DONE, ENVIRONMENT, LOG, SPEC
from mcsim.results.packs import is_pack, open_pack, pack_folders
from mcsim.results.removal import Kind
from mcsim.results.seals import read_list
from mcsim.results.writer import is_under_way

State = Literal["finished", "under way", "abandoned", "damaged"]
"""A run whose removal was killed is ``'abandoned'``, too."""

_NAME = re.compile(r"(?P<run>.+-[0-9a-f]{12})(?:\.(?P<kind>partial|replaced-.+))?")

_OURS = {DONE, ENVIRONMENT, LOG, SPEC}


@dataclass(frozen=True)
class Run:
    """A folder of a run, finished or not; or a pack of runs.

    Attributes
    ----------
    path : Path
    run_id : str
        The name of the folder if it is a pack.
    state : str
        A pack is ``'finished'``, without being read.
    kind : {'run', 'draft', 'replaced', 'pack'}
        As of `check_removable`.
    """

    path: Path
    run_id: str
    state: State
    kind: Kind

    @cached_property
    def run_ids(self) -> tuple[str, ...]:
        """Ids of its runs; none, and a warning, of a pack that cannot be read."""
        if self.kind != "pack":
            return (self.run_id,)
        pack = open_pack(self.path)
        return () if pack is None else pack.run_ids

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return name_of(self.run_id)

    @property
    def count(self) -> int:
        """How many runs it is; one of a pack that cannot be read."""
        return len(self.run_ids) or 1

    @classmethod
    def at(cls, path: Path) -> Run | None:
        """Describe a folder; None if its name is not of a run, or all its files are foreign."""
        if is_pack(path):
            return cls(path, path.name, "finished", "pack")
        if (named := _NAME.fullmatch(path.name)) is None:
            return None
        try:
            there = {file.name for file in path.iterdir()}
        except FileNotFoundError:  # finished, or removed, since its folder was read
            return None
        if there and not there & _OURS and not any(map(is_claim, there)):
            return None
        if named["kind"] == "partial":
            state: State = "under way" if is_under_way(path) else "abandoned"
            return cls(path, named["run"], state, "draft")
        if named["kind"] is not None:  # the removal by an earlier mcsim was killed
            return cls(path, named["run"], "abandoned", "replaced")
        sums = read_list(path / DONE)
        is_finished = bool(sums) and there.issuperset(sums)
        return cls(path, named["run"], "finished" if is_finished else "damaged", "run")


def run_id_of(path: Path) -> str | None:
    """Return the id in the name of a folder of a run; None if it has another name."""
    named = _NAME.fullmatch(path.name)
    return None if named is None else named["run"]


def name_of(run_id: str) -> str:
    """Return the name of the experiment of a run."""
    return run_id.rpartition("-")[0]


def runs_in(out: str | os.PathLike[str]) -> Iterator[Run]:
    """Return the folders of runs in a folder of results, by name, and then its packs.

    Raises
    ------
    ConfigError
        If there is no such folder.
    """
    for path in (*folders_in(Path(out)), *pack_folders(Path(out))):
        if (run := Run.at(path)) is not None:
            yield run


def folders_in(out: Path) -> list[Path]:
    """Return the folders in a folder of results, by name; ConfigError if there is none."""
    try:
        with os.scandir(out) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir())
    except FileNotFoundError:
        raise ConfigError(f"{out}: no such folder of results; --results names another") from None
    except NotADirectoryError:
        raise ConfigError(f"{out}: not a folder") from None


def bytes_below(folder: str | Path) -> int:
    """Add up the sizes of all files in a folder; some may go while they are counted.

    A link counts as nothing.
    """
    total = 0
    if Path(folder).is_symlink():
        return 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    total += bytes_below(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total
