"""Trace files opened: parsed into stores unless that was done before, and joined."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim._core import trace as _core_trace
from mcsim.base.arguments import check_param, file_given, shortened, text
from mcsim.base.errors import ConfigError, EmptyTraceError, McsimError, TraceError
from mcsim.base.inputs import note_input, printable
from mcsim.base.limits import limits_named, memory_limit, thread_faults
from mcsim.base.suggest import check_choice
from mcsim.base.threads import Pool, run_in_main_thread, threads_given
from mcsim.traces.cache import cache_directory
from mcsim.traces.checks import check_skipped, warn_of_format, warn_of_signs
from mcsim.traces.joined import join
from mcsim.traces.made import OnBadLine, OnUnsorted
from mcsim.traces.mapping import as_declared, read_mapping
from mcsim.traces.metadata import OptionValue, Signs
from mcsim.traces.parse import LARGE_BYTES, Parse, Progress
from mcsim.traces.pipes import Spool, is_pipe, spooled
from mcsim.traces.store import is_store, open_store
from mcsim.traces.table_files import table_format

if TYPE_CHECKING:
    from mcsim.traces.streamed import View
    from mcsim.traces.trace import Trace

_log = logging.getLogger(__name__)

_MOST_BYTES = 1 << 30
"""Memory to allow for each of several files that are parsed at the same time."""


@dataclass(frozen=True)
class Reading:
    """How to read trace files; most attributes are arguments of `Trace.open`."""

    format: str | None = None
    options: Mapping[str, OptionValue] | None = None
    mapping: str | os.PathLike[str] | None = None
    cache_dir: str | os.PathLike[str] | None = None
    on_bad_line: OnBadLine = "error"
    on_unsorted: OnUnsorted = "sort"
    max_skipped: int | float | str | None = None
    view: View | None = None
    """References that the caller replays, if the trace is one file."""

    def checked(self) -> Reading:
        """Return the same plus the content of the mapping; ConfigError if a value is wrong."""
        check_choice("on_bad_line", self.on_bad_line, ("error", "skip"))
        check_choice("on_unsorted", self.on_unsorted, ("error", "sort"))
        format, options = self.format, self.options
        if self.mapping is not None:
            of_file, kept = read_mapping(self.mapping)
            format, options = format or of_file, kept | dict(options or {})
        if format is not None:
            text("format", format)
        if not isinstance(options, Mapping | None):
            raise ConfigError(f"options: expected a mapping, got {shortened(options)}")
        for name, value in (options or {}).items():
            check_param(f"options: {name}", value)
        folder = self.cache_dir
        folder = cache_directory() if folder is None else file_given("cache_dir", folder)
        return replace(self, format=format, options=options, cache_dir=folder)


@limits_named()
def open_files(
    files: Sequence[Path],
    reading: Reading,
    vm_name: str | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Open files and join their traces.

    Parameters
    ----------
    files : sequence of Path
    reading : Reading
    vm_name : str, optional
        Name of the VM of files without names of VMs; by default each has its file's name.
    progress : callable, optional
        As of `Trace.open`, with the bytes of all files.

    Raises
    ------
    ConfigError, HostError, TraceError
        As of `Trace.open`.
    """
    reading = reading.checked()
    if vm_name is not None:
        _core_trace.check_vm_name(text("vm_name", vm_name))
    if vm_name is not None or len(files) > 1:
        reading = replace(reading, view=None)  # the trace is joined
    sizes = [_size(file) for file in files]
    if plans := unparsed([(file, reading) for file in files]):
        parse_side_by_side(plans, progress or (lambda *_: None))
        progress = None

    def opened(file: Path, format: str | None) -> Trace:
        before, whole = sum(sizes[: files.index(file)]), sum(sizes)

        def count(done: int, total: int) -> None:
            if progress is not None:
                progress(before + done, max(whole, before + total))

        trace = open_file(file, replace(reading, format=format), count)
        return trace if vm_name is None else _with_vm_name(trace, file, vm_name)

    return join(with_requests(files, reading.format, opened))


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


def unparsed(given: Sequence[tuple[Path, Reading]]) -> list[tuple[Parse, Path]]:
    """Return how files are parsed, and the folder of the cache, if it pays to do it side by side.

    That is so for several large files that are not in the cache yet.

    Parameters
    ----------
    given : sequence of (Path, Reading)

    Returns
    -------
    list of (Parse, Path)
        Empty if it does not pay.
    """
    if len(given) < 2 or threads_given(None) < 2:
        return []
    plans: dict[Path, tuple[Parse, Path]] = {}
    for file, unchecked in given:
        if file in plans or is_pipe(file) or not file.is_file() or table_format(file) is not None:
            continue
        with suppress(McsimError):  # opening meets it again
            reading = unchecked.checked()
            assert isinstance(reading.cache_dir, Path)
            plan, _ = _plan(file, reading, lambda *_: None)
            if not plan.is_parsed(reading.cache_dir):
                plans[file] = plan, reading.cache_dir
    is_worth = len(plans) > 1 and sum(map(_size, plans)) >= LARGE_BYTES
    return list(plans.values()) if is_worth else []


def parse_side_by_side(plans: Sequence[tuple[Parse, Path]], progress: Progress) -> None:
    """Parse files into the cache on all cores; errors are left to opening, which meets them again.

    Parameters
    ----------
    plans : sequence of (Parse, Path)
        As of `unparsed`.
    progress : callable
        Called in this thread with the bytes done and in all.
    """
    sizes = [_size(plan.source) for plan, _ in plans]
    done = [0] * len(plans)

    def parse(index: int) -> None:
        def count(now: int, _: int) -> None:
            pool.check()
            done[index] = now
            run_in_main_thread(lambda: progress(sum(done), sum(sizes)))

        plan, cache_dir = plans[index]
        with suppress(McsimError):
            replace(plan, progress=count).cached_store(cache_dir)

    threads = min(threads_given(None), len(plans), max(1, memory_limit() // _MOST_BYTES))
    with thread_faults(), Pool(threads) as pool:
        for index in range(len(plans)):
            pool.submit(parse, index)


def with_requests(
    files: Sequence[Path], format: str | None, opened: Callable[[Path, str | None], Trace]
) -> list[Trace]:
    """Open files; leave out those without requests if others have some.

    Parameters
    ----------
    files : sequence of Path
    format : str, optional
        Stated format. Without one, a file that no format fits, such as a header alone, has the
        format of the first other file.
    opened : callable
        Opens a file in a format; None means to detect it.

    Raises
    ------
    TraceError
        As of `opened`; also if no file has requests.
    """
    traces: list[Trace] = []
    refused: dict[Path, TraceError] = {}
    empty: dict[Path, TraceError] = {}
    for file in files:
        try:
            traces.append(opened(file, format))
        except EmptyTraceError as error:
            empty[file] = error
        except TraceError as error:
            if len(files) == 1 or format is not None:
                raise
            refused[file] = error
    for file, why in refused.items():
        if not traces:
            raise why
        try:
            opened(file, traces[0].metadata.format)
        except EmptyTraceError as error:
            empty[file] = error
        except McsimError:
            raise why from None
        else:
            raise why
    if not traces:
        raise next(iter(empty.values()))
    for file in empty:
        _log.warning("%s: there are no requests in it: left out", printable(file.name))
    return traces


def _with_vm_name(trace: Trace, file: Path, name: str) -> Trace:
    """Rename the VM of a file; ConfigError if the content of the file names its VMs."""
    if not trace.metadata.vm_from_file:
        vms = repr(trace.vms[0]) if len(trace.vms) == 1 else f"{len(trace.vms)} VMs"
        raise ConfigError(
            f"vm_name: {file}: its format names VMs ({vms}); {name!r} is for files that name none"
        )
    return join([trace], [[name]])


def open_file(file: Path, reading: Reading, progress: Progress) -> Trace:
    """Open one file or pipe, with a `Reading` that was checked."""
    assert isinstance(reading.cache_dir, Path)
    if is_pipe(file):
        with spooled(file, reading.cache_dir, progress) as spool:
            return _open_regular(spool.file, reading, progress, spool)
    note_input(file)
    return _open_regular(file, reading, progress)


def _open_regular(
    file: Path, reading: Reading, progress: Progress, spool: Spool | None = None
) -> Trace:
    from mcsim.traces.trace import Trace

    is_table = table_format(file) if file.is_file() else None
    if is_table == "arrow" and is_store(file):
        if spool is not None:
            raise ConfigError(f"{file}: a store of mcsim's is not read through a pipe: name it")
        if reading.format is not None or reading.options:
            raise ConfigError(f"{file}: a store of mcsim's takes neither format nor options")
        store = open_store(file)
        warn_of_signs(store.metadata, Signs())
        return Trace(store, store.metadata)
    plan, detected = _plan(file, reading, progress, spool, is_table)
    if detected is not None:
        warn_of_format(file.name, detected)
    needs_order = detected is not None and detected.needs_order
    assert isinstance(reading.cache_dir, Path)
    try:
        opened = plan.opened(reading.cache_dir, reading.view)
    except (ConfigError, TraceError) as error:
        if needs_order and "time goes back" in str(error):
            raise TraceError(
                f"{error}; without a stated format, times in order are the sign of {plan.format}: "
                "state the format"
            ) from None
        if reading.mapping is not None:
            raise type(error)(f"{error}; it is read by the mapping {reading.mapping}") from None
        raise
    check_skipped(opened.metadata, file, reading.max_skipped)
    warn_of_signs(opened.metadata, opened.metadata.signs)
    return Trace(opened, opened.metadata)


def _plan(
    file: Path,
    reading: Reading,
    progress: Progress,
    spool: Spool | None = None,
    format: str | None = None,
) -> tuple[Parse, _core_trace.DetectedFormat | None]:
    """Return how a file is parsed, and what its format was detected from, unless it is known."""
    format, detected = reading.format or format, None
    if format is None:
        detected = _core_trace.detect_format(os.fsencode(file))
        format = detected.name
    needs_order = detected is not None and detected.needs_order
    plan = Parse(
        source=file,
        format=format,
        options=as_declared(format, reading.options or {}),
        skip_bad_lines=reading.on_bad_line == "skip",
        sort=reading.on_unsorted == "sort" and not needs_order,
        progress=progress,
        spool=spool,
    )
    return plan, detected
