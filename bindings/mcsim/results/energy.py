"""The energy of devices with a known power."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsim.config.spec import PlacedSpec


def energy_joules(
    device: PlacedSpec, busy: NDArray[np.float64], interval_seconds: float
) -> float | None:
    """Return the energy of a device: its power at work while it is busy, else its idle power.

    Parameters
    ----------
    device : PlacedSpec
    busy : array
        Share of each interval in which it works; more than 1 is all of the interval.
    interval_seconds : float

    Returns
    -------
    float or None
        None if its power is not known.
    """
    if device.watts is None:
        return None
    idle = device.watts if device.idle_watts is None else device.idle_watts
    at_work = np.minimum(busy, 1)
    watts = at_work * device.watts + (1 - at_work) * idle
    return float(watts.sum() * interval_seconds)
