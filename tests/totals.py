"""Sum the reports of ctest and pytest.

Shows what failing C++ tests wrote (pytest has shown its own), names what was skipped and what
failed, and ends with a note, if there is one, and one line of totals.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree


def reason(case: ElementTree.Element) -> str:
    """Why a test was skipped: pytest says it in the report, GoogleTest in the test's output."""
    skipped = case.find("skipped")
    message = "" if skipped is None else skipped.get("message", "")
    output = case.findtext("system-out", "").splitlines()
    for line, following in pairwise(output):
        if line.endswith(": Skipped"):
            return following.strip()
    return message


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--note", help="printed before the totals")
    parser.add_argument("reports", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    passed, failed, skipped = 0, [], []
    for report in options.reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name = case.get("name", "?")
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
                if output := case.findtext("system-out", "").strip():
                    print(output)
            elif case.find("skipped") is not None:
                skipped.append(f"{name}: {reason(case)}")
            else:
                passed += 1
    for line in skipped:
        print(f"skipped {line}")
    for line in failed:
        print(f"failed {line}")
    if options.note:
        print(options.note)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
