"""The language of comments, docstrings, documents and commit subjects.

Trusts: the table of patterns below.
"""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from small import ROOT

# A pattern, and what to write instead.
PATTERNS = {
    r"(?i:\b(who|whom|whose|whoever|nobody|somebody|anybody|everybody)\b)": "VM, policy, caller",
    r"(?i:\b(told|tells?|says?|said|knows?|asks?|asked|answers?)\b)": "report, return, request",
    r"(?i:\b(besides?|in vain|lest|hence|therein|thereof|wherein)\b)": "next to, also, so",
    r"(?i:\b(so|as) many\b(?! as\b)|\bso much\b)": "a number with its noun",
    r"(?i:\b(comes? to|goes? on|lets? go|for good|by itself)\b)": "reach, continue, release",
    r"(?i:\b(nor|neither)\b)": "two sentences, or `not … or …`",
    r"(?:^|[.:;] )What\b(?![^.]*\?)": "the noun that the clause describes",
    r"(?:^|[.:;] )Of\b": "a sentence with a subject",
    r"^(?:Hold|Have|Let|Give|Put|Keep|Bring|Leave)\b": "Return, Compute, Check, Write",
}
FINDING = re.compile("|".join(PATTERNS))

# Findings per 1,000 words, at most. A limit may only be lowered.
LIMITS = {
    "core": 2,
    "policies": 2,
    "optimizers": 3,
    "bindings": 3,
    "docs": 5,
    "experiments": 6,
    "tests": 6,
}


def of_cpp(text: str) -> Iterator[str]:
    """Yield blocks of comments, each with its lines joined."""
    for block in re.findall(r"(?:^[ \t]*//+.*\n)+|(?<=\S)[ \t]+// .*\n", text, re.MULTILINE):
        yield " ".join(re.sub(r"^\s*//+ ?", "", line) for line in block.splitlines())


def of_python(text: str) -> Iterator[str]:
    """Yield comments and docstrings."""
    block: list[str] = []
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            block.append(token.string.lstrip("# "))
            continue
        if token.type != tokenize.NL:
            if block:
                yield " ".join(block)
            block = []
            if token.type == tokenize.STRING and begins and '"""' in token.string:
                yield " ".join(token.string.strip('"r').split())
            begins = token.type in {tokenize.NEWLINE, tokenize.INDENT, tokenize.ENCODING}


def of_markdown(text: str) -> Iterator[str]:
    """Yield paragraphs and items of lists, without code and tables."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        if not paragraph.startswith(("|", "    ", "<!--")):
            text = re.sub(r"^\s*(?:[-*#]+|\d+\.) ", "", paragraph)
            yield re.sub(r"`[^`]*`", "x", " ".join(text.split()))


def of_yaml(text: str) -> Iterator[str]:
    """Yield blocks of comments."""
    for block in re.findall(r"(?:^[ \t]*#.*\n)+", text, re.MULTILINE):
        yield " ".join(line.strip("# \t") for line in block.splitlines())


PROSE = {
    **dict.fromkeys((".cpp", ".hpp", ".inl", ".h", ".c"), of_cpp),
    **dict.fromkeys((".py", ".pyi"), of_python),
    ".md": of_markdown,
    ".yaml": of_yaml,
}


def prose(path: Path) -> list[str]:
    return list(PROSE[path.suffix](path.read_text(encoding="utf-8")))


def findings(text: str) -> int:
    return sum(1 for _ in FINDING.finditer(text))


@pytest.mark.parametrize("folder", LIMITS)
def test_findings_are_within_the_limit_of_the_folder(folder: str) -> None:
    words = 0
    found: dict[str, int] = {}
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in PROSE and path.is_file():
            texts = prose(path)
            words += sum(len(text.split()) for text in texts)
            found[str(path.relative_to(ROOT))] = sum(map(findings, texts))
    rate = 1000 * sum(found.values()) / words
    worst = sorted(found, key=found.__getitem__, reverse=True)[:10]
    assert rate <= LIMITS[folder], "\n".join(
        [
            f"{folder}: {rate:.1f} findings per 1,000 words",
            *(f"  {path}: {found[path]}" for path in worst),
            *(f"  {pattern}: write {instead}" for pattern, instead in PATTERNS.items()),
        ]
    )


def test_recent_commits_have_an_area_and_a_short_subject() -> None:
    log = subprocess.run(
        ["git", "log", "-30", "--no-merges", "--format=%s"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if log.returncode != 0:
        pytest.skip("no history here")
    wrong = [
        subject
        for subject in log.stdout.splitlines()
        if len(subject) > 72 or not re.match(r"[\w ,./-]+: \S", subject)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("suffix", "text", "count"),
    [
        (".cpp", "int a;  // Who gives is asked.\n// Of these\n// two.\nint who;\n", 3),
        (".py", '"""Tell a number."""\nx = "told"  # What is held.\n', 2),
        (".md", "What is a tier?\n\nThe VM who gives.\n\n```\nwho\n```\n- Of it.\n", 2),
        (".yaml", "# Nobody\n# asks\nwho: 1  # it says\n", 2),
    ],
)
def test_findings_are_counted(suffix: str, text: str, count: int) -> None:
    assert sum(map(findings, PROSE[suffix](text))) == count
