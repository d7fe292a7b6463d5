"""C++ functions fit a screen, or a comment gives the reason.

Trusts: braces, counted outside of comments and strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from small import ROOT

SCREEN = 40  # lines between the braces
REASON = "over a screen"

NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/                            # comments
      | R"\(.*?\)" | "(?:\\.|[^"\\\n])*"              # texts
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'           # characters, but not 1'000
      | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*                # what the preprocessor reads""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
NO_FUNCTION = re.compile(
    r"(?:template <.*> )?(?:export |inline )*(?:namespace|class|struct|enum)\b"
)
MEMBER = re.compile(r"[:,] [\w:<>]+$")  # `: size_` before the braces of what it begins with


def functions(text: str) -> Iterator[tuple[int, int]]:
    """Where the braces of each function are, but for functions inside of others."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    statement = 0
    open_braces: list[tuple[int, bool, bool]] = []
    for found in re.finditer(r"[{};]", code):
        if found[0] == "{":
            head = " ".join(code[statement : found.start()].split())
            head = re.sub(r"^(?:public|private|protected): ", "", head)
            part = bool(MEMBER.search(head)) or head.count("(") > head.count(")")
            inside = any(function for _, function, _ in open_braces)
            starts = "(" in head and not NO_FUNCTION.match(head) and not head.endswith("=")
            open_braces.append((found.start(), starts and not part and not inside, part))
        elif found[0] == "}":
            at, function, part = open_braces.pop()
            if function:
                yield at, found.start()
        else:
            part = False
        if not part:
            statement = found.end()


def is_too_long(text: str, begin: int, end: int) -> bool:
    """Whether a function is too long without a comment that gives the reason."""
    above = text[:begin].rsplit("\n\n", 1)[-1]
    comments = re.findall(r"^ *// (.*)$", above + text[begin:end], re.MULTILINE)
    return text.count("\n", begin, end) - 1 > SCREEN and REASON not in " ".join(comments)


@pytest.mark.parametrize("tree", ["core", "policies", "optimizers", "capi", "bindings/src"])
def test_a_function_fits_a_screen_or_says_why(tree: str) -> None:
    seen, long = 0, []
    for path in (ROOT / tree).rglob("*"):
        if path.suffix not in {".hpp", ".cpp", ".inl", ".h"}:
            continue
        text = path.read_text(encoding="utf-8")
        for begin, end in functions(text):
            seen += 1
            if is_too_long(text, begin, end):
                line = text.count("\n", 0, begin) + 1
                long.append(f"{path.relative_to(ROOT)}:{line}")
    assert seen > 10, f"no functions found in {tree}"
    assert not long, "\n".join(long)


@pytest.mark.parametrize(
    "text",
    [
        "int g(int x)\n    : a_{{x}}, b_(1) {{\n{body}}}\n",
        "namespace a {{\nclass B {{\n public:\n  void f() {{\n{body}  }}\n}};\n}}\n",
        '// {{\nconst char* k = "{{";\nvoid f() {{\n{body}}}\n',
        "void f(std::vector<int> a = {{}}) {{\n  g([] {{\n  }});\n{body}}}\n",
    ],
)
def test_long_functions_are_found(text: str) -> None:
    text = text.format(body="  f();\n" * 41)
    ((begin, end),) = functions(text)
    assert is_too_long(text, begin, end)
    assert not is_too_long(text, begin, end - len("  f();\n") * 3)
    listed = text[:begin] + "{\n  // A list, over a screen.\n" + text[begin + 1 :]
    assert not is_too_long(listed, begin, end)
