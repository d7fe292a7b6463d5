"""Trusts: what each thread was seen to do."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from mcsim.base.threads import Pool, Stopped, run_in_main_thread


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
def test_an_error_in_the_block_stops_threads_that_check(error: type[BaseException]) -> None:
    at_work = threading.Event()
    ended: list[type[BaseException]] = []

    def holds_on(pool: Pool) -> None:
        at_work.set()
        try:
            while True:
                with contextlib.suppress(Exception):
                    pool.check()
                    time.sleep(0.001)
        except BaseException as stopped:
            ended.append(type(stopped))
            raise

    def interrupted() -> None:
        with Pool(1) as pool:
            pool.submit(holds_on, pool)
            pool.submit(ended.append, KeyError)  # queued, and so cancelled
            at_work.wait()
            raise error

    began = time.monotonic()
    with pytest.raises(error):
        interrupted()
    assert ended == [Stopped]
    assert time.monotonic() - began < 0.4  # less than the grace of threads that do not check


def test_threads_that_never_check_are_not_waited_for() -> None:
    at_work, let_end = threading.Event(), threading.Event()

    def sleeps() -> None:
        at_work.set()
        let_end.wait()

    def interrupted() -> None:
        with Pool(1) as pool:
            pool.submit(sleeps)
            at_work.wait()
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - began < 10
    let_end.set()


def test_calls_run_in_the_thread_that_waits() -> None:
    me = threading.get_ident()
    with Pool(3) as pool:
        answers = [pool.submit(run_in_main_thread, threading.get_ident) for _ in range(20)]
        elsewhere = pool.submit(threading.get_ident)
    assert {answer.result() for answer in answers} == {me}
    assert elsewhere.result() != me
    assert run_in_main_thread(threading.get_ident) == me  # and in its own thread without a pool


def test_an_error_of_a_call_is_raised_where_it_was_submitted() -> None:
    caught: list[str] = []

    def fails() -> None:
        raise SystemExit("no")

    def asks() -> None:
        try:
            run_in_main_thread(fails)
        except SystemExit as error:
            caught.append(str(error))

    with Pool(1) as pool:
        pool.submit(asks)
    assert caught == ["no"]


def test_no_thread_waits_for_an_interrupted_call() -> None:
    ended: list[type[BaseException]] = []

    def asks() -> None:
        try:
            while True:
                run_in_main_thread(interrupts)
        except BaseException as error:
            ended.append(type(error))
            raise

    def interrupts() -> None:
        raise KeyboardInterrupt

    def interrupted() -> None:
        with Pool(4) as pool:
            for _ in range(4):
                pool.submit(asks)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert set(ended) == {Stopped}
