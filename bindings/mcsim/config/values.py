"""Values of an experiment, such as times, sizes and prices, and ranges of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, InstanceOf, PlainSerializer, ValidationInfo, WithJsonSchema

from mcsim.base import units
from mcsim.base.sizes import between, check_capacity, count_of, parse_blocks, split_range


class Interval(NamedTuple):
    """A length of time in nanoseconds or, by reference, in references."""

    length: int
    by_reference: bool

    def __str__(self) -> str:
        write = units.format_references if self.by_reference else units.format_duration
        return write(self.length)


class Quantities(NamedTuple):
    """A device's latencies and price."""

    read_ns: int
    write_ns: int
    dollars_per_gb: float


def _quantity_schema(example: str, description: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": ["string", "number"], "description": description, "examples": [example]}
    )


def _read_bytes(value: object) -> int:
    number = units.parse_bytes(value) if isinstance(value, str) else 0
    if number == 0:
        raise ValueError(f"expected bytes such as 960GB, got {value!r}")
    return number


def _read_block_bytes(value: object) -> int:
    number = units.parse_bytes(value)
    if number == 0:
        raise ValueError(f"expected more than nothing, got {value!r}")
    if number >= 2**32:
        raise ValueError(f"expected less than 4GiB, got {value!r}")
    return number


def _read_interval(value: object) -> Interval:
    if isinstance(value, Interval):
        return value
    interval = Interval(*units.parse_interval(value))
    if interval.length == 0:
        raise ValueError(f"expected more than nothing, got {value!r}")
    return interval


def _read_blocks(value: object, info: ValidationInfo) -> int:
    block_bytes = (info.context or {}).get("block_bytes", DEFAULT_BLOCK_BYTES)
    return parse_blocks(value, block_bytes)


def _read_capacity(value: object, info: ValidationInfo) -> int:
    blocks = _read_blocks(value, info)
    check_capacity(blocks, value)
    return blocks


def _read_price(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
        raise ValueError(f"expected dollars per GB, got {value!r}")
    return float(value)


def _read_positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e12:
        raise ValueError(f"expected a number above 0, got {value!r}")
    return float(value)


def _read_bandwidth(value: object) -> int:
    if not isinstance(value, str) or not value.rstrip().endswith("/s"):
        raise ValueError(f"expected bytes a second such as 180MB/s, got {value!r}")
    number = units.parse_bytes(value.rstrip().removesuffix("/s"))
    if number == 0:
        raise ValueError(f"expected more than nothing, got {value!r}")
    return number


def _read_share(value: object) -> float:
    return float(units.parse_share(value))


def _read_sample(value: object) -> float:
    share = _read_share(value)
    if share == 0:
        raise ValueError(f"expected more than nothing, got {value!r}")
    return share


def _read_options(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError(f"expected a map of names to values, got {value!r}")
    for name, of in value.items():
        if not isinstance(name, str) or not isinstance(of, (bool, int, float, str)):
            raise ValueError(f"{name}: expected a value, got {of!r}")
    return value


def _read_vms(value: object) -> object:
    def is_text(values: Iterable[object]) -> bool:
        return all(isinstance(one, str) and one for one in values)

    if is_text([value]) or (isinstance(value, list) and value and is_text(value)):
        return value
    if isinstance(value, dict) and value and is_text([*value, *value.values()]):
        return value
    raise ValueError(
        "expected all, a name, a pattern such as web_*, a list of these, or a map from names in "
        f"the file to names of results, got {value!r}"
    )


_SHARE_SCHEMA = WithJsonSchema(
    {"type": ["string", "number"], "description": "a share", "examples": ["10%", "1/16", 0.1]}
)

Share = Annotated[float, BeforeValidator(_read_share), _SHARE_SCHEMA]

Sample = Annotated[float, BeforeValidator(_read_sample), _SHARE_SCHEMA]

Latency = Annotated[
    int,
    BeforeValidator(units.parse_duration),
    PlainSerializer(units.format_duration),
    _quantity_schema("25us", "a length of time"),
]

Price = Annotated[
    float,
    BeforeValidator(_read_price),
    WithJsonSchema({"type": "number", "minimum": 0, "description": "dollars per GB"}),
]

Positive = Annotated[
    float,
    BeforeValidator(_read_positive),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]

Bandwidth = Annotated[
    int,
    BeforeValidator(_read_bandwidth),
    PlainSerializer(lambda number: f"{units.format_bytes(number)}/s"),
    WithJsonSchema(
        {"type": "string", "description": "bytes a second", "examples": ["180MB/s", "1GiB/s"]}
    ),
]

Blocks = Annotated[
    int,
    BeforeValidator(_read_blocks),
    _quantity_schema("2.5e5 blocks", "blocks, or bytes with a unit"),
]

Options = Annotated[dict[str, Any], BeforeValidator(_read_options)]

Capacity = Annotated[
    int,
    BeforeValidator(_read_capacity),
    _quantity_schema("10GiB", "blocks, bytes with a unit, or a share such as 10% or 1/16"),
]

VmChoice = Annotated[
    Any,
    BeforeValidator(_read_vms),
    WithJsonSchema({"type": ["string", "array", "object"], "examples": ["all", "web_*"]}),
]

Bytes = Annotated[
    int,
    BeforeValidator(_read_bytes),
    PlainSerializer(units.format_bytes),
    _quantity_schema("960GB", "a number of bytes, with a unit"),
]

BlockBytes = Annotated[
    int,
    BeforeValidator(_read_block_bytes),
    PlainSerializer(units.format_bytes),
    _quantity_schema("4KiB", "a number of bytes"),
]

IntervalLength = Annotated[
    InstanceOf[Interval],
    BeforeValidator(_read_interval),
    PlainSerializer(str),
    _quantity_schema("1h", "a length of time or, for traces without a clock, of references"),
]

DEFAULT_BLOCK_BYTES = 4096


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
