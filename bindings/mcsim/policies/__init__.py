"""Eviction policies replayed: whole, in miniature, over a grid; policies in Python."""

from collections.abc import Iterable

BOUND = "opt"
"""Name of the upper bound, which needs foresight."""

BOUND_OF_SIZES = "pfoo"
"""Name of the upper bound of caches in bytes."""

_FORESIGHT = (BOUND, "belady-size", BOUND_OF_SIZES)


def has_foresight(policy: str) -> bool:
    """Return whether a policy, perhaps with parameters, uses the future: it wins no comparison."""
    return policy.partition("(")[0] in _FORESIGHT


def bound_among(policies: Iterable[str]) -> str:
    """Return the policy that bounds all others in a picture."""
    return BOUND_OF_SIZES if BOUND_OF_SIZES in policies else BOUND
