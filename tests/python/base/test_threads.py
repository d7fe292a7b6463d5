"""Trusts: what each thread was seen to do."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from mcsim.base.threads import Pool, Stopped


def test_results_are_there_after_the_block() -> None:
    with Pool(3) as pool:
        running = [pool.submit(pow, x, 2) for x in range(20)]
    assert [one.result() for one in running] == [x * x for x in range(20)]


def test_the_first_to_fail_stops_the_others() -> None:
    at_work = threading.Event()
    begun: list[str] = []

    def works_on(pool: Pool) -> None:
        begun.append("works on")
        at_work.set()
        while True:
            pool.check()
            time.sleep(0.001)

    def fails() -> None:
        at_work.wait()
        raise ValueError("this one")

    def together() -> None:
        with Pool(2) as pool:
            pool.submit(works_on, pool)
            pool.submit(fails)
            pool.submit(begun.append, "queued")

    with pytest.raises(ValueError, match="this one"):
        together()
    assert begun == ["works on"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_in_the_block_breaks_python_code_off(error: type[BaseException]) -> None:
    at_work = threading.Event()
    ended: list[type[BaseException]] = []

    def holds_on() -> None:
        at_work.set()
        try:
            while True:
                with contextlib.suppress(Exception):
                    time.sleep(0.001)
        except BaseException as stopped:
            ended.append(type(stopped))
            raise

    def interrupted() -> None:
        with Pool(1) as pool:
            pool.submit(holds_on)
            at_work.wait()
            raise error

    began = time.monotonic()
    with pytest.raises(error):
        interrupted()
    assert ended == [Stopped]
    assert time.monotonic() - began < 10
