"""Synthetic traces: a profile's requests, generated once into the trace store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mcsim._core import synthetic as core
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import read_regular
from mcsim.base.package import file_named
from mcsim.config.profile import SyntheticProfile, read_profile, vms_of
from mcsim.traces.batches import Batch, batch_with
from mcsim.traces.cache import cache_directory, kept_store
from mcsim.traces.metadata import STORE_VERSION, Counts, TraceMetadata
from mcsim.traces.store import BATCH_REQUESTS, Store, write_store
from mcsim.traces.trace import Trace

GENERATOR_VERSION = 1
"""To be raised when the same profile and seed give other requests than before."""


def profile_digest(profile: SyntheticProfile) -> str:
    """Return the identity of a profile's requests: SHA-256, in hexadecimal.

    Comments, descriptions and the ways a number may be written do not count.
    """
    # A profile without clients has the digest of versions before clients existed.
    unsaid: Any = {"client": True, "phases": {"__all__": {"think"}}}
    waitless = [name for name, vm in profile.vms.items() if vm.client is None]
    said = profile.model_dump_json(
        exclude={"description": True, "vms": dict.fromkeys(waitless, unsaid)}
    )
    return hashlib.sha256(f"{STORE_VERSION} {GENERATOR_VERSION} {said}".encode()).hexdigest()


def synth_trace(
    profile_path: str | os.PathLike[str],
    cache_dir: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    seed: int | None = None,
) -> Trace:
    """Generate the requests of a profile, unless that was done before.

    Parameters
    ----------
    profile_path : path-like
        A profile in YAML (`mcsim.config.profile`), or the name of one that mcsim has.
    cache_dir : path-like, optional
        Where generated traces are kept; by default as for `Trace.open`.
    progress : callable, optional
        ``progress(done_requests, total_requests)``; the requests of clients are counted at the end.
    seed : int, optional
        Instead of the profile's.

    Returns
    -------
    Trace
        Its `metadata` mark it as synthetic.

    Raises
    ------
    ConfigError
        If the profile is wrong; the message names file and line.
    HostError
        If the store cannot be written.
    """
    source = file_named("profile", profile_path)
    profile = read_profile(source)
    if seed is not None:
        if not 0 <= seed < 2**64:
            raise ConfigError(f"seed: {seed} is outside [0, 2^64)")
        profile = profile.model_copy(update={"seed": seed})
    digest = profile_digest(profile)
    folder = Path(cache_dir) if cache_dir is not None else cache_directory()
    path = folder / f"{profile.name}-{digest[:16]}.arrow"
    store = kept_store(
        path, digest, source, lambda: _generate(profile, source, digest, path, progress)
    )
    return Trace(store, store.metadata)


def _generate(
    profile: SyntheticProfile,
    source: Path,
    digest: str,
    path: Path,
    progress: Callable[[int, int], None] | None,
) -> Store:
    generator = core.Generator(
        vms=vms_of(profile), block_bytes=profile.block_bytes, seed=profile.seed
    )

    def batches() -> Iterator[Batch]:
        done = 0
        while len((batch := batch_with(generator.next(BATCH_REQUESTS).values())).time):
            done += len(batch.time)
            yield batch
            if progress is not None:
                progress(done, generator.request_count)
        if progress is not None:
            progress(done, done)  # of clients more were expected

    def describe(counts: Counts) -> TraceMetadata:
        return TraceMetadata(
            source=source.name,
            source_digest=hashlib.sha256(read_regular(source)).hexdigest(),
            digest=digest,
            format="synthetic",
            options={"seed": profile.seed},
            time_base="clock",
            vms=tuple(profile.vms),
            counts=counts,
            synthetic=True,
        )

    return write_store(path, batches(), describe, private=True)
