"""Chromium without a network, driven by Selenium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

PHONE, DESK = (360, 740), (1200, 900)

Browser = Any


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Start a browser whose profile is in a folder; skip the test if none is installed."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with its chromedriver here")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "disable-dev-shm-usage",
        "hide-scrollbars",
        f"user-data-dir={folder}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        cut = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        driver.execute_cdp_cmd("Network.emulateNetworkConditions", cut)
        yield driver
    finally:
        driver.quit()
