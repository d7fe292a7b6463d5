"""References as users pass them: a trace, several traces, blocks or an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mcsim.references.blocks import Blocks, References
from mcsim.references.warm_up import check_no_warm_up

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace


def blocks_in(
    references: References, *, line: int = 1, warm_up: bool = False, addresses: bool = False
) -> Blocks | None:
    """Return the blocks of a trace, of several, or those given; None for an array.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks or array_like
    line : int
        Blocks of a line, of a trace.
    warm_up : bool
        Whether references may have one.
    addresses : bool
        As of `Blocks.of`, of a trace.

    Raises
    ------
    ConfigError
        As of `Trace.blocks`.
    """
    if isinstance(references, Blocks):
        if not warm_up:
            check_no_warm_up(references, "this")
        return references
    traces = traces_in(references)
    return None if traces is None else Blocks.of(traces, line=line, addresses=addresses)


def traces_in(references: References) -> list[Trace] | None:
    """Return the traces of a trace or a sequence; None for other values."""
    if isinstance(references, (Blocks, np.ndarray)):
        return None
    from mcsim.traces.trace import Trace

    if isinstance(references, Trace):
        return [references]
    if isinstance(references, (list, tuple)) and references and isinstance(references[0], Trace):
        return list(references)
    return None
