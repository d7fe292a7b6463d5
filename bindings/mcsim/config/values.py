"""Values of an experiment, such as times, sizes and prices: parsing and JSON schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, InstanceOf, PlainSerializer, ValidationInfo, WithJsonSchema

from mcsim.base import units
from mcsim.base.sizes import check_capacity, parse_blocks


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
