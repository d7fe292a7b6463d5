"""One definition of each name in the whole program, which C++ cannot check by file.

Trusts: the one definition rule, as far as the layout of the headers shows it: a type that
begins in the first column belongs to the namespace that all of them share.
"""

from __future__ import annotations

import re
from collections import defaultdict

from small import ROOT

TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?: final)?(?: :[^;]*)? \{", re.M)


def test_a_type_has_one_definition() -> None:
    where = defaultdict(set)
    for room in ("core", "policies", "optimizers", "bindings/src"):
        for header in (ROOT / room).rglob("*.hpp"):
            for name in TYPE.findall(header.read_text()):
                where[name].add(str(header.relative_to(ROOT)))
    assert len(where) > 200
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
