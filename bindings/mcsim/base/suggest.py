"""Names that users write: choices, those that patterns choose, the nearest to a misspelt one."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Collection, Iterable, Sequence

from mcsim.base.arguments import list_of, shortened, text
from mcsim.base.errors import ConfigError

_LEAST_LETTERS = 3
"""Length of a word that may match known names as a prefix, at least."""

_MOST_COMMAS = 16
"""Commas in a name that stands in a list, at most."""


def nearest(word: object, known: Iterable[str]) -> str | None:
    """Return the known name nearest to a word in any case, if any.

    Examples
    --------
    >>> from mcsim.base.suggest import nearest
    >>> nearest("LRU", ["lru", "arc"]), nearest("nvme", ["hdd", "nvme-flash"])
    ('lru', 'nvme-flash')
    """
    if not isinstance(word, str):
        return None
    lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), list(lower), n=1, cutoff=0.6)
    if not found and len(word) >= _LEAST_LETTERS:
        found = [name for name in lower if name.startswith(word.lower())]
    return lower[found[0]] if found else None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)`, or `` if no known name is near enough."""
    near = nearest(word, known)
    return "" if near is None else f" (did you mean {near!r}?)"


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Check that the value of a parameter is one of `choices`.

    Raises
    ------
    ConfigError
        If it is another; the message lists the choices.
    """
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(
            f"{name}: unknown choice {shortened(value)} (one of {', '.join(choices)})"
        )


def names_matching(
    patterns: str | Sequence[str], known: Sequence[str], what: str = "VM"
) -> list[str]:
    """Select names by name or pattern, each once, in the order of the patterns.

    Parameters
    ----------
    patterns : str or sequence of str
        ``'web_3'``, ``'web_*'``, ``'web_[0-3]'``, ``'web_?'``; ``'all'`` is every name, and
        ``'!backup*'`` excludes, from all names if nothing else is given. A name that is one of
        `known` is no pattern.
    known : sequence of str
        All names.
    what : str
        Kind of the names, for messages.

    Raises
    ------
    ConfigError
        If a pattern matches none, or no name is left.

    Examples
    --------
    >>> from mcsim.base.suggest import names_matching
    >>> names_matching(["b", "a*"], ["a1", "a2", "b", "c"])
    ['b', 'a1', 'a2']
    >>> names_matching("!a*", ["a1", "a2", "b", "c"])
    ['b', 'c']
    """
    asked = [patterns] if isinstance(patterns, str) else list_of(f"{what} names", patterns, "text")
    exact = set(known)
    chosen: dict[str, None] = {}
    for pattern in asked:
        text(f"{what} names", pattern)
    excluded = [name[1:] for name in asked if name.startswith("!") and name not in exact]
    if excluded:
        included = [name for name in asked if not name.startswith("!") or name in exact]
        without = set(names_matching(excluded, known, what))
        kept = [n for n in names_matching(included or "all", known, what) if n not in without]
        if not kept:
            raise ConfigError(f"no {what} is left of {shortened(asked)}")
        return kept
    for pattern in asked:
        if pattern in exact:
            found = [pattern]
        elif pattern == "all":
            found = list(known)
        else:
            found = fnmatch.filter(known, pattern) if set("*?[") & set(pattern) else []
        if not found:
            near = did_you_mean(pattern, known) or f" (one of {some_of(known)})"
            raise ConfigError(f"no {what} {pattern!r}{near if known else ''}")
        chosen |= dict.fromkeys(found)
    return list(chosen)


def names_listed(text: str, known: Collection[str]) -> list[str]:
    """Split a list at its commas, but not within names.

    The longest run of words that is a name, or a pattern that matches one, is one item.

    Examples
    --------
    >>> from mcsim.base.suggest import names_listed
    >>> names_listed("8,0,8,16", ["8,0", "8,16"]), names_listed("a, b", ["a", "b"])
    (['8,0', '8,16'], ['a', 'b'])
    """
    words = text.split(",")
    names = set(known)

    def is_item(run: str) -> bool:
        if {run, run.removeprefix("!")} & names:
            return True
        pattern = run.removeprefix("!")
        return bool(set("*?[") & set(pattern)) and bool(fnmatch.filter(known, pattern))

    items: list[str] = []
    at = 0
    while at < len(words):
        longest = min(len(words), at + _MOST_COMMAS + 1)
        runs = [",".join(words[at:end]) for end in range(longest, at + 1, -1)]
        run = next((run for run in runs if is_item(run) or is_item(run.strip())), words[at])
        at += run.count(",") + 1
        item = run if run in names else run.strip()
        items += [item] if item else []
    return items


def some_of(names: Sequence[str], most: int = 10) -> str:
    """Write the first of many names, and how many more there are.

    Examples
    --------
    >>> from mcsim.base.suggest import some_of
    >>> some_of(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")
