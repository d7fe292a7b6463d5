"""Check that the links of the documents answer: links.py REPOSITORY."""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_LINK = re.compile(r"https?://[^\s<>\"'`\]{}|]+")
_EXAMPLES = re.compile(r"https?://(localhost|127\.|[^/]*example\.)")


def links(text: str) -> Iterator[str]:
    """Return the links in Markdown, without the punctuation that follows them."""
    for found in _LINK.findall(text):
        link = found
        while link.endswith((".", ",", ";", ":", "*")) or (
            link.endswith(")") and link.count(")") > link.count("(")
        ):
            link = link[:-1]
        if not _EXAMPLES.match(link):
            yield link


def problem(link: str) -> str:
    """Request a link; return why it is broken, or nothing."""
    request = urllib.request.Request(link, headers={"User-Agent": "Mozilla/5.0 (mcsim links)"})
    try:
        with urllib.request.urlopen(request, timeout=20):
            return ""
    except urllib.error.HTTPError as error:
        # Many publishers answer programs with these; the page is there.
        return (
            "" if error.code in (401, 403, 405, 406, 418, 429) else f"{error.code} {error.reason}"
        )
    except (OSError, ValueError) as error:
        return f"no answer: {getattr(error, 'reason', error)}"


def check(documents: list[Path]) -> tuple[str, int]:
    """Return a report on the links in documents, and an exit code."""
    where: dict[str, Path] = {}
    for document in documents:
        for link in links(document.read_text(encoding="utf-8")):
            where.setdefault(link, document)
    with ThreadPoolExecutor(8) as threads:
        problems = dict(zip(where, threads.map(problem, where), strict=True))
    broken = {link: why for link, why in problems.items() if why}
    if where and all(why.startswith("no answer") for why in problems.values()):
        return f"{len(where)} links could not be checked: none answers from this machine", 0
    lines = [f"{where[link]}: {link}: {why}" for link, why in broken.items()]
    return "\n".join([*lines, f"{len(where)} links, {len(broken)} broken"]), 1 if broken else 0


if __name__ == "__main__":
    root = Path(sys.argv[1])
    text, code = check([root / "README.md", *sorted(root.glob("docs/**/*.md"))])
    print(text)
    sys.exit(code)
