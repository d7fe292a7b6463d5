"""The runs of a folder as a table, quickly, and the keys in which they differ."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.base.inputs import parse_object, printable, read_regular
from mcsim.config.placed import DeviceSpec
from mcsim.results.differences import NO_CAUSE
from mcsim.results.files import DONE, ENVIRONMENT, SPEC, TIMINGS
from mcsim.results.foreign import check_environment, check_timings
from mcsim.results.packs import PackFolder, open_pack
from mcsim.results.stored import Run, bytes_below, name_of, runs_in

RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("name", pa.string()),  # of the experiment
        ("state", pa.string()),
        ("started", pa.timestamp("s", "UTC")),  # null where that is not known
        ("systems", pa.list_(pa.string())),
        ("vms", pa.list_(pa.string())),
        ("workload", pa.string()),  # recorded or synthetic
        ("bytes", pa.int64()),  # on disk; of a run in a pack its part of that
        ("path", pa.string()),
        ("pack", pa.string()),  # the folder that has it, if it has none of its own
    ]
)


def list_runs(out: str | os.PathLike[str] = "results") -> pa.Table:
    """List the runs of a folder, including those of sweeps, in the order of their starts.

    Only names, sizes and two small files of each run are read. Checksums are not verified.

    Parameters
    ----------
    out : path
        Folder of all results.

    Returns
    -------
    pyarrow.Table
        A row for every run: ``run`` (its id), ``name`` (of the experiment), ``state``
        (``'finished'``, ``'under way'``, ``'abandoned'`` or ``'damaged'``),
        ``started``, ``systems``, ``vms``, ``workload`` (``'recorded'`` or ``'synthetic'``),
        ``bytes`` on disk, ``path`` and ``pack`` (the folder that
        a run of a sweep shares with others).

    Raises
    ------
    ConfigError
        If there is no such folder.
    """
    rows: list[dict[str, Any]] = []
    for run in runs_in(out):
        if run.kind != "pack":
            rows.append(_describe(run))
        elif (pack := open_pack(run.path)) is not None:
            there = {row["run"] for row in rows if row["state"] == "finished"}
            rows += [row for row in _describe_packed(pack) if row["run"] not in there]
    never = datetime.max.replace(tzinfo=UTC)
    rows.sort(key=lambda row: (row["started"] or never, row.get("ended", 0), row["run"]))
    return pa.Table.from_pylist(rows, schema=RUNS)


def _describe(run: Run) -> dict[str, Any]:
    """Return a row of `RUNS`; what cannot be read is null."""
    environment = _read_or_nothing(run.path / ENVIRONMENT)
    timings = _read_or_nothing(run.path / TIMINGS)
    told = _described(run.run_id, run.state, environment, timings)
    # Starts are in seconds; of runs that started in the same second, the ends differ.
    with suppress(OSError):
        told["ended"] = (run.path / DONE).stat().st_mtime_ns
    return told | {"bytes": bytes_below(run.path), "path": printable(run.path), "pack": None}


def _described(
    run_id: str, state: str, environment: Mapping[str, Any], timings: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        check_environment(environment)
        check_timings(timings)
    except ValueError:
        environment, timings = {}, {}
    synthetic = environment.get("synthetic")
    return {
        "run": printable(run_id),
        "name": printable(name_of(run_id)),
        "state": state,
        "started": _started(environment),
        "systems": list(timings["systems"]) if "systems" in timings else None,
        "vms": [vm["vm"] for vm in environment["traces"]] if "traces" in environment else None,
        "workload": None if synthetic is None else "synthetic" if synthetic else "recorded",
    }


def _describe_packed(pack: PackFolder) -> Iterator[dict[str, Any]]:
    """Return a row of `RUNS` for every run in a pack."""
    told = {"bytes": bytes_below(pack.path) // len(pack.run_ids), "pack": printable(pack.path)}
    numbers, state = range(len(pack.run_ids)), "finished"
    try:
        causes = [(pack.environment(number), pack.timings(number)) for number in numbers]
    except ConfigError:
        causes, state = [({}, {}) for _ in numbers], "damaged"
    for run_id, (environment, timings) in zip(pack.run_ids, causes, strict=True):
        found = _described(run_id, state, environment, timings)
        yield found | told | {"path": printable(pack.path.parent.parent / run_id)}


def _read_or_nothing(file: Path) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        return parse_object(read_regular(file))
    return {}


def _started(environment: Mapping[str, Any]) -> datetime | None:
    with suppress(KeyError, ValueError, TypeError):
        return datetime.fromisoformat(environment["started"])
    return None


_KEY = re.compile(r"(?P<key>[^\s'\"][^:]*|'[^']*'|\"[^\"]*\"):(?: (?P<value>.*))?")
_TIER = re.compile(r"tiers\.\d+\.")
_SYSTEM = re.compile(r"systems\.(\d+)\.")


def differing_keys(runs: Iterable[Mapping[str, Any]]) -> list[str | None]:
    """Return the keys of each run that other runs of its experiment have with other values.

    Parameters
    ----------
    runs : iterable of mapping
        Rows of `list_runs`. Unreadable runs are skipped.

    Returns
    -------
    list of str or None
        Keys as in `--set` with their values, but systems by name: ``'seed=2'``. Each run is
        compared with all others of its name. The item is None if there is no other run.
    """
    rows = list(runs)
    causes = [_causes(Path(row["path"])) for row in rows]
    of_name: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        if causes[index]:
            of_name.setdefault(row["name"], []).append(index)
    found: list[str | None] = [None] * len(rows)
    for same in of_name.values():
        if len(same) > 1:
            for index, text in zip(same, _compared([causes[i] for i in same]), strict=True):
                found[index] = text
    return found


def _compared(causes: Sequence[Mapping[str, str]]) -> list[str]:
    """Return for each run its values of the keys that differ."""
    titles = [set(each["systems"].split(", ")) for each in causes]
    in_all = set.intersection(*titles)
    keys = dict.fromkeys(key for each in causes for key in each)
    differing = [key for key in keys if len({each.get(key) for each in causes}) > 1]
    # The name is enough for a system that some runs lack.
    alone = tuple(f"systems.{title}." for title in set.union(*titles) - in_all)
    differing = [key for key in differing if key != "systems" and not key.startswith(alone)]
    differing = _without_models(differing)
    if any(key.startswith(("seed", "workload.", "warm_up")) for key in differing):
        differing = [key for key in differing if key != "traces"]  # a consequence
    texts = []
    for each, own in zip(causes, titles, strict=True):
        values = {key: each.get(key, "null") for key in differing if _has_tier(each, key)}
        if own != in_all:
            more = [title for title in each["systems"].split(", ") if title not in in_all]
            values = {"systems": f"+{' +'.join(more)}"} | values
        texts.append(", ".join(f"{key}={value}" for key, value in values.items()))
    return texts


def _without_models(keys: Sequence[str]) -> list[str]:
    """Drop the values of devices in places where runs have different devices."""
    places = {place for key in keys if (place := key.removesuffix("device")) != key}
    of_devices = {place + name for place in places for name in DeviceSpec.model_fields}
    return [key for key in keys if key not in of_devices]


def _has_tier(causes: Mapping[str, str], key: str) -> bool:
    """Whether a run has the tier of a key, if the key is of a tier."""
    tier = _TIER.match(key)
    return tier is None or f"{tier[0]}device" in causes


def _causes(folder: Path) -> dict[str, str]:
    """Return all that may change the results of a run, by dotted key; empty if it is unreadable."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = read_flat(read_regular(folder / SPEC).decode())
        environment = parse_object(read_regular(folder / ENVIRONMENT))
        titles = {
            key.split(".")[1]: value or found[f"systems.{key.split('.')[1]}.name"]
            for key, value in found.items()
            if key.startswith("systems.") and key.endswith(".label") and key.count(".") == 2
        }
        causes = {
            _SYSTEM.sub(lambda of: f"systems.{titles[of[1]]}.", key): value
            for key, value in found.items()
            if key.partition(".")[0] not in NO_CAUSE
        }
        causes["systems"] = ", ".join(titles.values())
        digests = "".join(sorted(str(trace["digest"]) for trace in environment["traces"]))
        causes["traces"] = hashlib.sha256(digests.encode()).hexdigest()[:8]
        causes["mcsim"] = str(environment["mcsim"])
        return {printable(key): printable(value) for key, value in causes.items()}
    return {}


def read_flat(text: str) -> dict[str, str]:
    r"""Return the single values of a run's `spec.yaml` by dotted key.

    A general parser takes a hundred times as long. It is not needed for text that mcsim wrote.
    A value of several lines is cut after its first line.

    Examples
    --------
    >>> from mcsim.results.listing import read_flat
    >>> read_flat("seed: 2\ntiers:\n- device: dram\n  capacity: 500\n")
    {'seed': '2', 'tiers.0.device': 'dram', 'tiers.0.capacity': '500'}
    """
    found: dict[str, str] = {}
    levels: list[tuple[int, str]] = []  # indents and keys
    items: dict[str, int] = {}  # items of each list
    quote = ""  # of a text that is not closed
    for line in text.splitlines():
        if quote:
            quote = "" if line.endswith(quote) else quote
            continue
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        while content.startswith("- "):
            levels = [level for level in levels if level[0] <= indent]
            of = ".".join(key for _, key in levels)
            items[of] = items.get(of, -1) + 1
            levels.append((indent + 1, str(items[of])))
            content, indent = content[2:], indent + 2
        if (named := _KEY.fullmatch(content)) is not None:
            levels = [level for level in levels if level[0] < indent]
            levels.append((indent, named["key"].strip("'\"")))
            content = named["value"] or ""
        elif not line.lstrip(" ").startswith("- "):
            continue
        if content[:1] in ("'", '"') and (len(content) == 1 or content[-1] != content[0]):
            quote = content[0]
        if content:
            found[".".join(key for _, key in levels)] = content.strip("'\"")
    return found
