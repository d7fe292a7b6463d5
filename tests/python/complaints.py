"""Messages of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcsim.base.errors import ConfigError


def complaint(
    call: Callable[..., object],
    *arguments: Any,
    error: type[Exception] = ConfigError,
    **named: Any,
) -> str:
    """Call a function that must raise this error; return the message."""
    with pytest.raises(error) as caught:
        call(*arguments, **named)
    return str(caught.value)
