"""Ranges of values: `log(1MiB, 1TiB, 12)`, `linear(0.1, 0.9, 5)`, `5 seeds`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mcsim.base import units
from mcsim.base.sizes import between, count_of, split_range
from mcsim.config.values import DEFAULT_BLOCK_BYTES

_SEEDS = re.compile(r"\s*([0-9][0-9_]*)\s+seeds?\s*")
_POINT = re.compile(r"[-+]?[0-9]*[.][0-9]*")


def values_of_range(text: str, experiment: Mapping[str, Any], name: str) -> list[Any] | None:
    """Write out a range.

    Parameters
    ----------
    text : str
        ``log(FROM, TO, COUNT)``, in equal ratios; ``linear(FROM, TO, COUNT)``, in equal
        steps; or ``COUNT seeds``, from the experiment's own on. Ends may be whole numbers,
        numbers with a point, sizes, lengths of time or shares such as ``1%``. Sizes are rounded
        to whole blocks.
    experiment : mapping
        Experiment with its seed and the size of its blocks.
    name : str
        Name of the axis.

    Returns
    -------
    list or None
        None if the text is no range.

    Raises
    ------
    ValueError
        If it is one that is wrong.
    """
    if (seeds := _SEEDS.fullmatch(text)) is not None:
        own = _own_seed(experiment, name, text)
        return [own + index for index in range(count_of(seeds[1], text))]
    if (found := split_range(text)) is None:
        return None
    write, first, last = _ends(found.begin, found.end, experiment, text)
    values = [write(value) for value in between(found, first, last)]
    if len(set(values)) < len(values):
        raise ValueError(
            f"{text!r} comes to {max(values, key=values.count)!r} more than once: ask for fewer, "
            "or give ends with a point, such as 1.0, for what need not be whole"
        )
    return values


def _own_seed(experiment: Mapping[str, Any], name: str, text: str) -> int:
    """Return the seed of the experiment; 0 for a profile without `workload.seed`."""
    if name == "seed":
        own = experiment.get("seed")
        return 1 if own is None else int(own)
    if name == "workload.seed":
        return int(experiment["workload"].get("seed") or 0)
    raise ValueError(f"{text!r} are values of the axis 'seed' or 'workload.seed'")


_Write = Callable[[float], Any]


def _ends(
    begin: str, end: str, experiment: Mapping[str, Any], text: str
) -> tuple[_Write, float, float]:
    """Parse both ends by their type; return also the function that formats values between them."""
    if begin.endswith("%") and end.endswith("%"):
        return (lambda v: f"{v:.6g}%"), _number(begin[:-1], text), _number(end[:-1], text)
    try:
        if not any(_POINT.fullmatch(one) for one in (begin, end)):
            return round, units.parse_count(begin), units.parse_count(end)
    except ValueError:
        pass
    try:
        return (lambda v: float(f"{v:.12g}")), float(begin), float(end)
    except ValueError:
        pass
    for read, write in (
        (units.parse_bytes, _blocks_of(experiment)),
        (units.parse_duration, lambda v: units.format_duration(round(v))),
        (units.parse_references, lambda v: units.format_references(round(v))),
    ):
        try:
            return write, read(begin), read(end)
        except ValueError:
            continue
    raise ValueError(f"{text!r}: expected two numbers, sizes, lengths of time or shares")


def _blocks_of(experiment: Mapping[str, Any]) -> _Write:
    try:
        size = units.parse_bytes(experiment.get("block_bytes", DEFAULT_BLOCK_BYTES))
    except ValueError:
        size = DEFAULT_BLOCK_BYTES
    return lambda v: units.format_bytes(max(1, round(v / size)) * size)


def _number(text: str, of: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{of!r}: expected a share such as 1%, got {text + '%'!r}") from None
