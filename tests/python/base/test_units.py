# Trusts: the definitions of the units (SI, IEC), and that writing undoes reading.
from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcsim.base import sizes, units


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1h", 3600 * 10**9),
        ("60 s", 60 * 10**9),
        ("30ns", 30),
        ("25 us", 25_000),
        ("25µs", 25_000),
        ("6.5ms", 6_500_000),
        ("1e3 ms", 10**9),
        ("2 d", 172800 * 10**9),
    ],
)
def test_durations(text: str, ns: int) -> None:
    assert units.parse_duration(text) == ns


@pytest.mark.parametrize(
    ("text", "size"),
    [("4KiB", 4096), ("4 kB", 4000), ("4KB", 4000), ("1GiB", 2**30), ("512B", 512), (4096, 4096)],
)
def test_bytes(text: object, size: int) -> None:
    assert units.parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (250000, 250_000),
        ("2.5e5 blocks", 250_000),
        ("250_000", 250_000),
        ("1 block", 1),
        (2.5e5, 250_000),
        ("1GiB", 262_144),
    ],
)
def test_blocks(text: object, blocks: int) -> None:
    assert sizes.parse_blocks(text, block_bytes=4096) == blocks


@pytest.mark.parametrize(
    ("size", "blocks"),
    [
        *((5, 5), ("7", 7), ("1%", 10), ("0.001%", 1), ("1MiB", 256), (1, 1)),
        *((0.5, 500), ("0.25", 250), ("1/8", 125), ("100%", 1000), ("1GB", 244_140)),
    ],
)
def test_capacities(size: int | str, blocks: int) -> None:
    assert sizes.parse_capacity(size, unique=1000, block_bytes=4096) == blocks


def test_intervals_are_of_time_or_of_references() -> None:
    assert units.parse_interval("1h") == (3600 * 10**9, False)
    assert units.parse_interval("5e4 references") == (50_000, True)


@pytest.mark.parametrize(
    ("parse", "text", "complaint"),
    [
        (units.parse_duration, 3600, "expected a length of time such as 60s, got 3600: it has no"),
        (units.parse_duration, "1 hour", "unknown unit 'hour' (one of ns, us,"),
        (units.parse_duration, "0.5ns", "it is not a whole number"),
        (units.parse_duration, "-1s", "it must not be negative"),
        (units.parse_duration, "soon", "expected a length of time such as 60s, got 'soon'"),
        (units.parse_duration, True, "got True"),
        (units.parse_duration, "1e30 h", "more than 63 bits"),
        (units.parse_bytes, "1e1000000", "its exponent is out of range"),
        (units.parse_duration, "1e-999999999s", "its exponent is out of range"),
        (units.parse_count, "1e9999999999999999999", "expected a whole number"),
        (lambda v: sizes.parse_capacity(v, 9, 4096), 2**53 + 1, "at most 9,007,199,254,740,992"),
        (units.parse_bytes, "4Kib", "unknown unit 'Kib'"),
        (units.parse_count, "12 blocks", "expected a whole number, got '12 blocks'"),
        (units.parse_references, "1h", "unknown unit 'h' (one of reference, references)"),
        (lambda v: sizes.parse_capacity(v, 9, 4096), "x%", "expected a size such as"),
        (lambda v: sizes.parse_capacity(v, 9, 4096), 0, "at least 1 block"),
        (lambda v: sizes.parse_capacity(v, 9, None), "1GiB", "these blocks have no size in bytes"),
        (
            lambda v: len(sizes.parse_capacities(v, 9, None)),
            "log(1, 900, 1000000000)",
            "'log(1, 900, 1000000000)': expected 1 to 10,000 values, got 1,000,000,000",
        ),
        (lambda v: sizes.parse_blocks(v, 4096), "4095B", "is less than a block of 4096 bytes"),
        (lambda v: sizes.parse_blocks(v, 4096), "10%", "got '10%': a share of what?"),
        (lambda v: sizes.parse_capacity(v, None, 4096), 0.1, "got 0.1: a share of what?"),
        (lambda v: sizes.parse_capacity(v, 9, 4096), 1.0, "write 1 for one block or 100% for all"),
        (lambda v: sizes.parse_capacity(v, 9, 4096), "1.0", "write 1 for one block or 100% for"),
        (lambda v: sizes.parse_capacity(v, 9, 4096), "17/16", "got '17/16'"),
        (lambda v: sizes.parse_capacity(v, 9, 4096), "0%", "expected more than nothing"),
        (
            lambda v: sizes.parse_capacities(v, 9, 4096),
            "1%:100%:13",
            "'1%:100%:13'",
        ),
        (units.parse_share, "101%", "expected a share such as 10%, 1/16 or 0.1, got '101%'"),
        (lambda v: sizes.parse_blocks(v, 4096), "2.5 blocks", "not a whole number"),
        (lambda v: sizes.parse_blocks(v, 4096), None, "1GiB or 10%, got None"),
        (lambda v: sizes.parse_blocks(v, 4096), float("nan"), "got nan"),
    ],
)
def test_what_is_not_a_quantity_is_refused(
    parse: Callable[[object], int], text: object, complaint: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse(text)


def test_bytes_are_rounded_down_with_one_note(caplog: pytest.LogCaptureFixture) -> None:
    assert [sizes.parse_blocks("9999B", 4096) for _ in range(3)] == [2, 2, 2]
    assert [record.getMessage() for record in caplog.records if record.name == "mcsim"] == [
        "9999B: rounded down to 2 blocks of 4096 bytes"
    ]


@pytest.mark.parametrize("share", [0.0625, ".0625", "6.25%", "1/16"])
def test_shares_have_several_spellings(share: float | str) -> None:
    assert sizes.share_given("rate", share) == 1 / 16
    assert sizes.share_given("rate", 1) == sizes.share_given("rate", "100%") == 1


def test_exact_numbers_are_bounded() -> None:
    assert units.parse_fraction("1576/1831", "a share") == Fraction(1576, 1831)
    assert units.parse_fraction(0.5, "a share") == Fraction(1, 2)
    for text in (
        "1e999999999",
        "1e-999999999",
        "1/1e999999999",
        "1/0",
        "nan",
        "",
        "9" * 5000,
        None,
    ):
        with pytest.raises(ValueError, match="expected a share, got"):
            units.parse_fraction(text, "a share")


@given(st.integers(0, 2**62))
def test_writing_undoes_reading(number: int) -> None:
    assert units.parse_duration(units.format_duration(number)) == number
    assert units.parse_bytes(units.format_bytes(number)) == number
    assert units.parse_references(units.format_references(number)) == number


def test_people_read_three_digits() -> None:
    assert units.format_duration(3600 * 10**9) == "1h"
    assert units.format_bytes(4096) == "4KiB"
    assert units.format_latency(1_734_000) == "1.73 ms"
    assert units.format_latency(30) == "30.0 ns"
    assert units.format_latency(574_321) == "574 us"
    assert units.format_latency(999_900) == "1000 us"
    assert units.format_count(5_175_368) == "5.18 M"
    assert units.format_count(382) == "382"
    assert units.format_count(1.5) == "1.50"
    assert units.format_blocks(250_000) == "250,000 blocks"


def test_a_wrong_unit_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown unit 'x' \(one of block, blocks, B, KiB"):
        sizes.parse_blocks("5 x", 4096)
    with pytest.raises(ValueError, match=r"unknown unit 'x' \(one of B, KiB"):
        units.parse_bytes("5 x")
    with pytest.raises(ValueError, match=r"got '5 x': unknown unit 'x'$"):
        units.parse_count("5 x")
