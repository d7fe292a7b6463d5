"""Keys in which runs of one experiment differ."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcsim.base.inputs import parse_object, printable, read_regular
from mcsim.config.placed import DeviceSpec
from mcsim.results.differences import NO_CAUSE
from mcsim.results.run_files import ENVIRONMENT, SPEC

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
    >>> from mcsim.results.differing_keys import read_flat
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
