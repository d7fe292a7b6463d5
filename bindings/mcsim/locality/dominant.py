"""VMs that make most accesses and that a cache cannot serve: they decide every total."""

from __future__ import annotations

from mcsim.locality.sharing import Sharing

_HARDLY = 0.01
"""A VM hardly hits if its hit ratio is at most a point."""


def dominant_vm(of: Sharing, size: int) -> str | None:
    """Return the VM with most accesses that hardly hits, even with the whole cache to itself.

    Parameters
    ----------
    size : int
        Blocks.

    Returns
    -------
    str or None
        None if no VM makes over half of the accesses and hardly hits, or if there is no other VM.

    Examples
    --------
    >>> from mcsim.locality.dominant import dominant_vm
    >>> from mcsim.locality.sharing import sharing
    >>> two = sharing({"loop": [1, 2] * 4, "scan": range(9)}, "rates")
    >>> dominant_vm(two, 8)
    'scan'
    """
    for name, curve in of.alone.items():
        if 2 * curve.accesses > len(of) and len(of.vms) > 1:
            return str(name) if curve.at(size) <= _HARDLY else None
    return None


def share_text(of: Sharing, vm: str, size: int) -> str:
    """Return in words what such a VM makes of the accesses, and what it hits at most."""
    curve = of.alone[vm]
    share, ratio = 100 * curve.accesses / len(of), 100 * curve.at(size)
    hits = "nothing" if not ratio else f"at most {ratio:.2f} %"
    return f"VM {vm} makes {share:.1f} % of the accesses and hits {hits} even alone"
