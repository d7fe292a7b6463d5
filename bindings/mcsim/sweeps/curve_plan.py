"""The division of traces into pieces, of which exact curves are computed one by one."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim import _core
from mcsim.base.errors import ConfigError
from mcsim.experiment.environment import build_digest
from mcsim.traces.open import Reading

if TYPE_CHECKING:
    from mcsim.traces.batches import Ops

_MOST_OF_A_PIECE = 4 << 30


@dataclass(frozen=True)
class CurvePlan:
    """Values that all pieces of a curve share. Workers get it, and see files by the same names.

    Attributes
    ----------
    files : tuple of Path
        The traces, in the order of time.
    ops, block_bytes : str, int
        As of `Trace.blocks`.
    vms : str, optional
        Names of VMs and patterns, between commas; all if not given.
    per_vm : bool
        Whether every VM also has a curve of its own.
    reading, vm_name : Reading, str
        As of `open_files`.
    count : int
        Number of pieces.
    folder : Path
        Folder of the pieces of all curves.
    estimator, seed : str, int
        As of `mcsim mrc`: `exact`, or `shards-rate` with its parameters.
    interval : str, optional
        Such as ``'1h'``: every interval also has a curve of its own.
    """

    files: tuple[Path, ...]
    ops: Ops
    block_bytes: int
    vms: str | None
    per_vm: bool
    reading: Reading
    vm_name: str | None
    count: int
    folder: Path
    estimator: str = "exact"
    seed: int = 1
    interval: str | None = None
    version: str = _core.__version__
    build: str = ""

    @property
    def by(self) -> str:
        """What also has curves: 'vm', 'interval' or nothing."""
        return "vm" if self.per_vm else "interval" if self.interval else ""

    @cached_property
    def digest(self) -> str:
        """Digest of the names of the files, of their division, and of all options."""
        files = [file.name for file in self.files]
        reading = {of.name: str(getattr(self.reading, of.name)) for of in fields(Reading)}
        del reading["cache_dir"]
        given = (
            *(self.ops, self.block_bytes, self.vms, self.per_vm, self.vm_name, self.count),
            *(self.estimator, self.seed, self.interval),
        )
        text = json.dumps([files, reading, given])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def path(self, begin: int, end: int) -> Path:
        """Return the file of the pieces from `begin` to before `end`."""
        return self.folder / self.digest / f"{begin:05}-{end:05}-of-{self.count}.piece"

    def shares(self, index: int) -> Iterator[tuple[int, int, int]]:
        """Yield the positions of the files of a piece; it has parts `a` to `b` of `count`."""
        begin, end = index * len(self.files), (index + 1) * len(self.files)
        for file in range(begin // self.count, math.ceil(end / self.count)):
            first = file * self.count
            yield file, max(begin - first, 0), min(end - first, self.count)


def pieces_for(files: Sequence[Path], workers: int) -> int:
    """Return a number of pieces: one for each worker, or more of at most 4 GiB of files each.

    Merges take longer with more pieces, and a worker needs memory for the references of a piece.
    """
    size = sum(file.stat().st_size for file in files)
    return max(workers, math.ceil(size / _MOST_OF_A_PIECE))


_NOT_MERGED = {
    "aet": "pieces do not keep the times of first and last references",
    "counter-stacks": "its counters begin at positions in the whole stream",
    "mimir": "its buckets depend on all earlier references",
    "parda": "it has the curve of exact, which pieces compute",
    "shards": "its sampling rate falls with all earlier blocks",
    "statstack": "pieces do not keep the times of first and last references",
    "urd": "pieces do not keep the operations of first and last references",
}
"""Why the samples or counts of pieces cannot be merged, by estimator."""


def planned(plan: CurvePlan) -> CurvePlan:
    """Check a plan and return it with this build of mcsim.

    Raises
    ------
    ConfigError
        If a file is given twice, or the estimator cannot merge pieces.
    """
    name = plan.estimator.partition("(")[0]
    if name not in ("exact", "shards-rate"):
        why = _NOT_MERGED.get(name, "it has no rule to merge them")
        raise ConfigError(f"{name}: not in pieces: {why}; exact and shards-rate are")
    seen: set[Path] = set()
    for file in plan.files:
        if file.resolve() in seen:
            raise ConfigError(f"{file.name}: the same trace is given twice")
        seen.add(file.resolve())
    return replace(plan, build=build_digest())
