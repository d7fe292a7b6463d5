"""Devices by name: of an experiment or a command, of the catalogue, or a latency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from mcsim.base.arguments import list_of
from mcsim.base.arguments import text as check_text
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import parse_duration
from mcsim.config.devices import CATALOGUE, NO_PRICE, Device, Range
from mcsim.config.load import Source, check
from mcsim.config.placed import DeviceSpec


class _Devices(BaseModel):
    model_config = ConfigDict(extra="forbid")

    devices: dict[str, DeviceSpec]


def spec_of_device(name: str, own: Mapping[str, DeviceSpec]) -> DeviceSpec:
    """Return a device by name: from `own` or the catalogue, or by latency such as `4ms`.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known ones.
    """
    if name in own:
        return own[name]
    if (device := CATALOGUE.get(name)) is not None:
        return DeviceSpec.model_construct(
            read=round(device.read_ns.middle),
            write=round(device.write_ns.middle),
            price=None if device.dollars_per_gb == NO_PRICE else device.dollars_per_gb.middle,
            pe_cycles=device.pe_cycles,
            bandwidth=device.bandwidth,
            watts=device.watts,
            idle_watts=device.idle_watts,
        )
    if (latency := _latency(name)) is not None:
        return DeviceSpec.model_construct(read=latency, write=latency)
    known = [*own, *CATALOGUE]
    raise ValueError(
        f"unknown device {name!r}{did_you_mean(name, known)}; one of {', '.join(known)}, or a "
        "latency such as 4ms"
    )


def _latency(name: str) -> int | None:
    try:
        return parse_duration(name)
    except ValueError:
        return None


def device_given(option: str, name: str, own: Mapping[str, DeviceSpec] | None = None) -> Device:
    """Return a device by name, as `spec_of_device` does.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if check_text(option, name) in CATALOGUE and name not in (own or {}):
        return CATALOGUE[name]
    with mistakes_in(option):
        spec = spec_of_device(name, own or {})
    return Device(
        name=name,
        read_ns=Range(spec.read, spec.read),
        write_ns=Range(spec.write, spec.write),
        dollars_per_gb=NO_PRICE if spec.price is None else Range(spec.price, spec.price),
        pe_cycles=spec.pe_cycles,
        summary="",
        reference="",
    )


def devices_given(option: str, given: Mapping[str, Any] | Iterable[str]) -> dict[str, DeviceSpec]:
    """Validate devices that the catalogue does not have.

    Parameters
    ----------
    option : str
        Name of the option, for messages.
    given : mapping or iterable of str
        Devices by name, with the keys of `devices` in an experiment. In a text, a device is
        ``'name=read:80us,write:20us,price:0.2'``.

    Raises
    ------
    ConfigError
        If a key is missing, unknown or wrong.

    Examples
    --------
    >>> from mcsim.config.device_choice import devices_given
    >>> devices_given("--device", ["mine=read:80us,write:20us"])["mine"].read
    80000
    """
    if not isinstance(given, Mapping):
        given = dict(_device_in(option, one) for one in list_of(option, given, "devices"))
    return check(Source(option, {"devices": given}, Path()), _Devices).devices


def _device_in(option: str, text: str) -> tuple[str, dict[str, Any]]:
    name, equals, rest = text.partition("=")
    keys = dict(pair.partition(":")[::2] for pair in rest.split(","))
    if not (name and equals and all(keys.values())):
        raise ConfigError(f"{option}: expected NAME=read:80us,write:20us,price:0.2, got {text!r}")
    return name.strip(), {key.strip(): _number_or_text(value) for key, value in keys.items()}


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip()
