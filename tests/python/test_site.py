# Trusts: Sphinx, whose warnings are errors; axe-core; Chromium without a network.
"""The documentation site, as `./mcsim docs` builds it, in a browser."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import DESK, PHONE, Browser, chromium
from small import ROOT

pytestmark = pytest.mark.slow

SAMPLE = [
    "index.html",
    "tutorials/first-curve.html",
    "how-to/write-a-policy.html",
    "reference/systems/multicache.html",
    "reference/policies/arc.html",
    "reference/policies/index.html",
    "reference/estimators/shards.html",
    "reference/cli/mrc.html",
    "reference/api/hit_ratio_curve.html",
    "reference/experiments.html",
    "glossary.html",
    "traces.html",
]
"""One page of each kind."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "docs" / "_site"), "--output", str(folder)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    return folder / "html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


def open_page(browser: Browser, page: str, size: tuple[int, int], dark: bool = False) -> None:
    look = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [look]})
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page)


def test_no_page_loads_anything_from_outside(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 150
    loaded = re.compile(
        r"<(?:script|img|link|iframe|source|video)\b[^>]*?(?:src|href)=\"(https?:)?//"
    )
    assert [page for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(https?:)?//", style.read_text()), style


def test_pages_load_without_a_message_in_the_console(site: Path, browser: Browser) -> None:
    browser.get_log("browser")
    for page in SAMPLE:
        open_page(browser, (site / page).as_uri(), DESK)
        assert browser.get_log("browser") == [], page


def test_pages_fit_a_phone(site: Path, browser: Browser) -> None:
    for page in SAMPLE:
        open_page(browser, (site / page).as_uri(), PHONE)
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= PHONE[0], page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_violation(site: Path, browser: Browser, dark: bool) -> None:
    """Contrast, names, structure and keyboard access, by the rules of WCAG 2.1 A and AA."""
    from axe_core_python.selenium import Axe

    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    found: list[tuple[str, str, Any]] = []
    for page in SAMPLE:
        open_page(browser, (site / page).as_uri(), DESK, dark)
        result = Axe().run(browser, options=rules)
        assert result["passes"]
        found += [
            (page, violation["id"], [node["html"][:150] for node in violation["nodes"][:3]])
            for violation in result["violations"]
        ]
    assert found == []


def test_the_search_works_from_files(site: Path, browser: Browser) -> None:
    from selenium.webdriver import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    open_page(browser, (site / "index.html").as_uri(), DESK)
    field = browser.find_element("css selector", ".sidebar-search")
    field.send_keys("reuse distance", Keys.ENTER)
    WebDriverWait(browser, 20).until(
        lambda b: b.find_elements("css selector", "#search-results a[href*='reference/']")
    )


def test_the_keyboard_reaches_search_and_navigation(site: Path, browser: Browser) -> None:
    from selenium.webdriver import ActionChains, Keys

    open_page(browser, (site / "index.html").as_uri(), DESK)
    reached = []
    for _ in range(25):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        active = browser.switch_to.active_element
        reached.append(f"{active.tag_name} {active.get_attribute('class')}")
    assert any("sidebar-search" in one for one in reached)
    assert sum(one.startswith("a reference internal") for one in reached) > 3
