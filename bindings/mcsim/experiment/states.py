"""Saved states of systems: their files, what they are states of, and which systems have one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mcsim.base.arguments import file_given
from mcsim.base.files import replacing
from mcsim.base.inputs import is_regular
from mcsim.config import ExperimentSpec, Source
from mcsim.config.load import Location
from mcsim.config.spec import SystemSpec
from mcsim.experiment.checks import foresight_of
from mcsim.experiment.code import is_class
from mcsim.experiment.components import prefetches
from mcsim.results.foresight import FORESEEN, policy_foresight
from mcsim.results.version import RESULTS_VERSION

if TYPE_CHECKING:
    from mcsim._core import engine
    from mcsim.references.workload import Workload

_LONGEST_NAME = 200
_HEAD = 24
"""Bytes of a state file before its content: magic, version and checksum."""


def state_file(folder: Path, title: str) -> Path:
    """Return the file of the state of a system.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mcsim.experiment.states import state_file
    >>> state_file(Path("states"), "arc / lru").name
    'arc %2F lru.state'
    """
    name = quote(title, safe=" ()+,=@")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{hashlib.sha256(title.encode()).hexdigest()[:12]}"
    return folder / f"{name}.state"


def setup_of(spec: ExperimentSpec, index: int, workload: Workload) -> str:
    """Describe what a state depends on: system, parameters, tiers, blocks and version.

    Text keys of objects are numbered in each trace: a trace with other keys has other numbers.
    """
    system = spec.systems[index]
    values: dict[str, Any] = {
        "system": system.name,
        "params": system.params,
        "tiers": [tier.capacity for tier in spec.tiers],
        "block_bytes": spec.block_bytes,
        "kind": workload.kind,
        "ops": spec.ops,
        "seed": spec.random_seed,
        "results_version": RESULTS_VERSION,
    }
    if any(tier.delayed_hits for tier in spec.tiers):
        values["delayed_hits"] = [bool(tier.delayed_hits) for tier in spec.tiers]
    keys = {vm.name: vm.trace.metadata.keys_digest for vm in workload.vms}
    if any(keys.values()):
        values["keys"] = keys
    if spec.workload.sample is not None:
        values["sample"] = spec.workload.sample
    return json.dumps(values, default=str, ensure_ascii=False)


def state_arguments(
    spec: ExperimentSpec, source: Source, workload: Workload, index: int, saved: Path | None
) -> dict[str, Any]:
    """Return the arguments of `engine.run` for the states that a run loads and saves."""
    arguments: dict[str, Any] = {}
    if spec.saved_states is not None:
        arguments["state_from"] = os.fsencode(_start_of(spec, source, index))
    if saved is not None:
        arguments["state_to"] = os.fsencode(saved)
    if arguments:
        arguments["state_setup"] = setup_of(spec, index, workload)
    return arguments


@contextmanager
def saved_state(folder: Path | None, title: str) -> Iterator[Path | None]:
    """Yield a temporary file that becomes the state of a system, unless its run fails."""
    if folder is None:
        yield None
        return
    with replacing(state_file(folder, title)) as temporary:
        yield temporary


def state_checksums(spec: ExperimentSpec, source: Source) -> dict[str, str]:
    """Return the checksum of the state from which each system starts, by title.

    Raises
    ------
    ConfigError
        If a system has no file. The content is checked when it is loaded.
    """
    checksums = {}
    for index, system in enumerate(spec.systems):
        path = _start_of(spec, source, index)
        if not is_regular(path):
            message = (
                f"no state of {system.title} (mcsim run --save-state): {path}: not a regular file"
            )
            raise source.complain(("warm_up", "state"), message)
        with path.open("rb") as file:
            checksums[system.title] = file.read(_HEAD).hex()
    return checksums


def start_folder(spec: ExperimentSpec, source: Source) -> Path | None:
    """Return the folder of the states from which the systems start, if any."""
    return None if spec.saved_states is None else source.code_folder / spec.saved_states


def _start_of(spec: ExperimentSpec, source: Source, index: int) -> Path:
    folder = start_folder(spec, source)
    assert folder is not None
    return state_file(folder, spec.systems[index].title)


def check_savable(
    system: engine.System, given: SystemSpec, where: Location, source: Source
) -> None:
    """Check that the state of a system can be saved and loaded.

    Raises
    ------
    ConfigError
        With the reason.
    """
    foresight = policy_foresight(given.params.get("policy")) or foresight_of(system)
    if foresight != "none":
        why = f"it knows {FORESEEN[foresight]} beforehand"
    elif is_class(given.name):
        why = "it is a class of Python"
    elif prefetches(given.params):
        why = "a tier prefetches, and what it has read ahead is not saved"
    elif system.timers:
        why = "it decides while it runs, and what it has learned is not saved"
    else:
        return
    raise source.complain(where, f"the state of {given.title} can be neither saved nor read: {why}")


def check_start(spec: ExperimentSpec, source: Source) -> None:
    """Check the folder, and that a run from it computes nothing that starts with empty caches."""
    with source.blaming(("warm_up",)):
        file_given("state", spec.saved_states or "")
    given = "state" if spec.cache_dump is None else "cache_dump"
    for key in ("opt", "slowdowns"):
        if getattr(spec, key):
            raise source.complain(
                (key,),
                f"with `warm_up: {{{given}: …}}` it would compare with caches that start empty",
            )


def refuse_states(spec: ExperimentSpec, source: Source, what: str) -> None:
    """Check that an experiment starts with empty caches, as `what` does."""
    if spec.saved_states is not None:
        raise source.complain(("warm_up", "state"), f"{what} cannot start from a state")
    if spec.cache_dump is not None:
        raise source.complain(("warm_up", "cache_dump"), f"{what} cannot start from a dump")


def start_warning(spec: ExperimentSpec) -> str | None:
    """Return the note on what a run from a state leaves out, or None."""
    if not spec.starts_filled:
        return None
    start = "a state" if spec.cache_dump is None else "a dump"
    return (
        f"the caches start from {start}: OPT and replays of each VM alone are left out, because "
        "they would start with empty caches"
    )
