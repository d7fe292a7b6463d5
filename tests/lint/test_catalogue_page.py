"""Trusts: nothing. docs/catalogue.md has the collections of `mcsim.traces.collections`.

`python tests/lint/test_catalogue_page.py` writes the page.
"""

from __future__ import annotations

from pathlib import Path

from mcsim.traces.collections import UNKNOWN, Checksum, collections

PAGE = Path(__file__).parents[2] / "docs" / "catalogue.md"

FIELDS = ("year", "files", "requests", "size", "source", "licence", "citation", "command")


def page() -> str:
    """Return the page."""
    found = collections().values()
    lines = [
        "# Public collections of traces",
        "",
        "To choose a trace, look up what each collection stresses. `mcsim trace info` measures one",
        "trace, and names its collection if the file has one of the SHA-256 digests below.",
        "`mcsim trace catalogue NAME` prints a section of this page, `--json` all of it. Both are",
        "made from `bindings/mcsim/traces/collections.toml`. A field that is absent is unknown.",
        "mcsim downloads nothing.",
        "",
        "| name | kind | `--format` | stresses |",
        "|---|---|---|---|",
    ]
    for of in found:
        formats = ", ".join(f"`{name}`" for name in of.formats) or "no reader here"
        lines.append(f"| [`{of.name}`](#{of.name}) | {of.kind} | {formats} | {of.stresses} |")
    for of in found:
        lines += ["", f"## {of.name}", "", of.title, "", "| field | value |", "|---|---|"]
        for name in FIELDS:
            value = getattr(of, name)
            if value != UNKNOWN:
                lines.append(f"| {name} | {f'`{value}`' if name == 'command' else value} |")
        lines += [f"| checksum | {_text_of(known)} |" for known in of.checksums]
    return "\n".join([*lines, ""])


def _text_of(known: Checksum) -> str:
    digest = f"SHA-256 `{known.sha256}`" if known.sha256 else f"MD5 `{known.md5}`"
    size = f", {known.bytes:,} bytes" if known.bytes else ""
    return f"`{known.file}`{size}, {digest}"


def test_the_page_has_the_collections() -> None:
    assert PAGE.read_text("utf-8") == page(), f"python {__file__} writes it"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
