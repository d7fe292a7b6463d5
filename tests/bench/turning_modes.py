"""An allocator that divides space once, and has every VM write in another mode each hour."""

from __future__ import annotations

import numpy as np

import mcsim as mc

MODES = ("through", "back", "around")


class TurningModes:
    """Equal parts of every tier; through, back and around in turn."""

    resize_mode = "eager"

    def __init__(self, chain: str = "exclusive") -> None:
        self.data_path = {"policy": "lru", "chain": chain}

    def allocate(self, seen: mc.Observation) -> mc.Decision:
        """Set the next write mode for each VM."""
        vms = len(seen.vms)
        modes = [MODES[(vm + seen.interval) % 3] for vm in range(vms)]
        parts = seen.capacities[:, None] // vms * np.ones(vms, np.int64)
        return mc.Decision(parts, modes)
