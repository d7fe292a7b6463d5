"""`extends: other.yaml`: configuration that several experiments share, written once.

Maps of both files are merged, key by key; all other values of the file replace those of the base.
Paths are relative to the folder of their own file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import is_regular, read_regular, resolved
from mcsim.base.package import find_file, shipped_files
from mcsim.base.suggest import did_you_mean
from mcsim.config.load import Location, Source, to_plain

_EXTENDS = re.compile(rb"^extends\s*:", re.MULTILINE)


def extended(source: Source) -> Source:
    """Return an experiment with what it extends.

    Raises
    ------
    ConfigError
        If the other file cannot be read, or extends this one in turn; with file and line.
    """
    return _extended(source, (resolved(source.name),))


def _extended(source: Source, chain: Sequence[Path]) -> Source:
    if "extends" not in source.root:
        return source
    given = source.root["extends"]
    if not isinstance(given, str) or not given:
        raise source.complain(("extends",), f"expected the path of an experiment, got {given!r}")
    try:
        found = find_file("experiment", file_given("extends", given), source.folder)
    except ConfigError as error:
        raise source.complain(("extends",), str(error).removeprefix("extends: ")) from None
    path = None if found is None else resolved(found)
    if path is None or not is_regular(path):
        hint = did_you_mean(given, shipped_files("experiment"))
        raise source.complain(("extends",), f"no file {given!r}{hint}")
    if path in chain:
        circle = " extends ".join(one.name for one in (*chain[chain.index(path) :], path))
        raise source.complain(("extends",), f"a circle: {circle}")
    base = _extended(Source.read(path), (*chain, path))
    theirs = to_plain(base.root)
    if base.folder != source.folder:
        _move_paths(theirs, base.folder, source.folder)
    ours = to_plain(source.root)
    del ours["extends"]
    inherited: list[Location] = []
    merged = _merged(theirs, ours, (), inherited)
    return source.inheriting(merged, dict.fromkeys(inherited, base))


def extended_path(path: Path) -> Path | None:
    """Return the existing file that an experiment extends; None if there is none."""
    if not _EXTENDS.search(read_regular(path)):
        return None
    given = Source.read(path).root.get("extends")
    base = resolved(path.parent / given) if isinstance(given, str) else path
    return base if base != path and is_regular(base) else None


def _merged(
    theirs: Mapping[str, Any], ours: Mapping[str, Any], where: Location, inherited: list[Location]
) -> dict[str, Any]:
    """Merge two maps; `inherited` gets the places where what is `theirs` begins."""
    merged: dict[str, Any] = {}
    for key, value in theirs.items():
        mine = ours.get(key)
        if key not in ours:
            inherited.append((*where, key))
            merged[key] = value
        elif isinstance(value, Mapping) and isinstance(mine, Mapping):
            merged[key] = _merged(value, mine, (*where, key), inherited)
        else:
            merged[key] = mine
    return merged | {key: value for key, value in ours.items() if key not in merged}


def _move_paths(root: dict[str, Any], old: Path, new: Path) -> None:
    """Rewrite paths that were relative to one folder to be relative to another."""

    def moved(path: Any) -> Any:
        return os.path.relpath(old / path, new) if isinstance(path, (str, Path)) else path

    def moved_profile(path: Any) -> Any:
        found = find_file("profile", path, old) if isinstance(path, str) else None
        return moved(path if found is None else found)

    def move_all(of: dict[str, Any], key: str, move: Callable[[Any], Any]) -> None:
        given = of.get(key)
        of[key] = [move(one) for one in given] if isinstance(given, list) else move(given)

    def move_vm(vm: Any) -> Any:
        vm = {"name": vm} if isinstance(vm, str) else vm
        if not isinstance(vm, dict):
            return vm
        # A trace may be a name to look up, wherever the experiment is.
        trace = vm.get("trace", vm.get("name"))
        if isinstance(trace, str) and (old / trace).is_file():
            vm["trace"] = moved(trace)
        if "mapping" in vm:
            vm["mapping"] = moved(vm["mapping"])
        return vm

    def move_traces(of: Any) -> None:
        if not isinstance(of, dict):
            return
        if "profile" in of:
            move_all(of, "profile", moved_profile)
        if isinstance(of.get("vms"), list):
            of["vms"] = [move_vm(vm) for vm in of["vms"]]

    warm_up = root.get("warm_up")
    for key in ("state", "cache_dump"):
        if isinstance(warm_up, dict) and key in warm_up:
            warm_up[key] = moved(warm_up[key])
    if "plugins" in root:
        move_all(root, "plugins", moved)
    sweep = root.get("sweep")
    for key in ("workload", "warm_up"):
        move_traces(root.get(key))
        if not isinstance(sweep, dict):
            continue
        of_axis = sweep.get(key)
        for one in of_axis.values() if isinstance(of_axis, dict) else of_axis or ():
            move_traces(one)
        if f"{key}.profile" in sweep:
            move_all(sweep, f"{key}.profile", moved_profile)
