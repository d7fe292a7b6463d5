# Trusts: arithmetic by hand.
from __future__ import annotations

import pytest

from mcsim.reproduce.context import Context
from mcsim.reproduce.documents.multicache.text import find_worked_examples


def test_worked_examples_come_to_what_the_text_says() -> None:
    values = find_worked_examples(Context()).values
    assert values["reuse intensity"] == pytest.approx(1 - 9 / 10)
    # cap_1 / (cap_1 + cap_2), of 250,000 and 2,500,000 blocks.
    assert values["weight"] == pytest.approx(1 / 11)
    assert values["hit ratio"] == pytest.approx(100 * (5000 + 5) / (10_000 + 5000))
