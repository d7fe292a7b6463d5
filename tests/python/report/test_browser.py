# Trusts: Chromium, which loads the page without a network, and counts of its pixels.
"""Pages in a real browser. Where there is none, these tests are skipped by name."""

from __future__ import annotations

import base64
import io
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pyarrow as pa
import pytest
from chromium import DESK, PHONE, Browser, chromium
from numpy.typing import NDArray

import mcsim as mc
from mcsim.figures.declared import Plot
from mcsim.reproduce.catalogue import Found
from mcsim.reproduce.render import reproduction_page

pytestmark = pytest.mark.slow

VILLAIN = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    mc.report(made_up.run(folder), html=folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def villainous(folder: Path) -> Path:
    vms = [VILLAIN, "$$x^2$$ @y0{0} $name", "'\"><img src=x onerror=alert(1)>"]
    systems = ["lru", {"name": "multicache", "label": VILLAIN}]
    run = made_up.run(folder, run_id="villainous", vms=vms, systems=systems)
    mc.report(run, html=folder / "villainous.html")
    return folder / "villainous.html"


def until(happened: Callable[[], Any]) -> Any:
    """Wait for what takes the browser a moment."""
    deadline = time.monotonic() + 60
    while not (result := happened()):
        assert time.monotonic() < deadline, "nothing happened for a minute"
        time.sleep(0.05)
    return result


def open_page(
    browser: Browser, page: Path, size: tuple[int, int] = DESK, dark: bool = False
) -> None:
    """Load a page, open all that is folded, and wait for its plots."""
    look = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [look]})
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    browser.execute_script(
        "for (const fold of document.querySelectorAll('details.section')) fold.open = true"
    )
    plots = browser.execute_script("return document.querySelectorAll('figure.chart').length")
    for number in range(1, plots + 1):
        browser.execute_script(f"document.querySelector('#chart-{number}').scrollIntoView()")
        until(lambda n=number: drawn(browser, n))


def drawn(browser: Browser, number: int) -> bool:
    script = f"return document.querySelector('#chart-{number}').dataset.drawn === 'yes'"
    return bool(browser.execute_script(script))


def complaints(browser: Browser) -> list[str]:
    """Messages of the console, without the log level of the plotting library."""
    return [
        entry["message"]
        for entry in browser.get_log("browser")
        if "setting log level" not in entry["message"]
    ]


def pixels(browser: Browser, selector: str) -> NDArray[np.uint8]:
    """Return an element as it is seen, shape (height, width, 3)."""
    from PIL import Image

    element = browser.find_element("css selector", selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    image = Image.open(io.BytesIO(base64.b64decode(element.screenshot_as_base64)))
    return np.asarray(image.convert("RGB"))


def share_of(image: NDArray[np.uint8], color: str, within: int = 12) -> float:
    wanted = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])
    return float((np.abs(image.astype(int) - wanted).max(axis=2) <= within).mean())


def test_a_page_loads_without_a_network(browser: Browser, page: Path) -> None:
    browser.get_log("performance")
    complaints(browser)
    open_page(browser, page)
    assert complaints(browser) == []
    log = browser.get_log("performance")
    requests = [
        entry["message"] for entry in log if '"Network.requestWillBeSent"' in entry["message"]
    ]
    asked = [text for text in requests if page.as_uri() not in text]
    assert len(requests) > len(asked)
    assert [text for text in asked if '"url":"data:' not in text] == []


def occupancy(browser: Browser) -> str:
    """Return the selector of the last chart, which has areas of VMs."""
    plots = browser.execute_script("return document.querySelectorAll('figure.chart').length")
    return f"#chart-{plots}"


def test_plots_show_what_they_are_of(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    # Areas of two VMs; dots of Global LRU.
    areas = pixels(browser, f"{occupancy(browser)} .plot")
    assert share_of(areas, "#a63200") > 0.01
    assert share_of(areas, "#005f99") > 0.01
    assert share_of(pixels(browser, "#chart-1 .plot"), "#a63200") > 0.0005
    plots = browser.execute_script("return document.querySelectorAll('figure.chart').length")
    for number in range(1, plots + 1):
        image = pixels(browser, f"#chart-{number} .plot")
        white = share_of(image, "#ffffff", 0)
        assert 1 - white > 0.02, number
        colours = {tuple(colour) for colour in image.reshape(-1, 3)[::7]}
        assert len(colours) > 10, number


def visible_range(browser: Browser, number: int) -> list[float]:
    script = f"const r = document.querySelector('#chart-{number}').model.x_range"
    found: list[float] = browser.execute_script(f"{script}; return [r.start, r.end]")
    return found


def test_plots_zoom_by_buttons_keys_and_pointer(browser: Browser, page: Path) -> None:
    from selenium.webdriver import ActionChains, Keys

    open_page(browser, page)
    begin, end = visible_range(browser, 5)

    def press(zoom: str) -> None:
        button = browser.find_element("css selector", f"#chart-5 [data-zoom={zoom}]")
        browser.execute_script("arguments[0].click()", button)

    press("in")
    a, b = visible_range(browser, 5)
    assert b - a == pytest.approx((end - begin) / 2)
    press("out")
    assert visible_range(browser, 5) == pytest.approx([begin, end])
    plot = browser.find_element("css selector", "#chart-5 .plot")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    plot.send_keys("+")
    assert visible_range(browser, 5) == pytest.approx([a, b])
    plot.send_keys(Keys.ARROW_RIGHT)
    assert visible_range(browser, 5) == pytest.approx([a + (b - a) / 4, b + (b - a) / 4])
    plot.send_keys("0")
    until(lambda: visible_range(browser, 5) == pytest.approx([begin, end]))
    drag = ActionChains(browser).move_to_element_with_offset(plot, -100, 0)
    drag.click_and_hold().move_by_offset(200, 0).release().perform()
    until(lambda: visible_range(browser, 5)[1] < end)
    assert visible_range(browser, 5)[0] > begin


@pytest.fixture(scope="module")
def reproduced(folder: Path) -> Path:
    """Write the page of a reproduction with a plot of each kind."""
    hours = np.arange(48.0)
    held = pa.table(
        {
            "vm": np.repeat(["db", VILLAIN], 48),
            "hour": np.tile(hours, 2),
            "hits": np.concatenate([50 + hours, 100 - hours]),
        }
    )
    bars = {"bars", "stacked"}
    plots = [
        Plot(
            kind, f"Hits as {kind}.", "held", "vm" if kind in bars else "hour", "hits",
            "Time (h)", "Hits (%)", kind, by=["vm"], sums=kind in bars, levels=[(75, "target")],
        )
        for kind in ("lines", "steps", "areas", "points", "bars", "stacked")
    ]  # fmt: skip
    figure = made_up.outcome("a/fig1", "Hits", Found(tables={"held": held}, plots=plots))
    file = folder / "reproduced.html"
    file.write_text(reproduction_page([figure]), encoding="utf-8")
    return file


def test_a_reproduction_loads_without_a_network_and_shows_its_plots(
    browser: Browser, reproduced: Path
) -> None:
    complaints(browser)
    browser.get_log("performance")
    open_page(browser, reproduced)
    assert complaints(browser) == []
    asked = [e["message"] for e in browser.get_log("performance") if "requestWillBeSent" in str(e)]
    outside = [text for text in asked if '"url":"file:' not in text and '"url":"data:' not in text]
    assert outside == []
    for number in range(1, 7):
        image = pixels(browser, f"#chart-{number} .plot")
        assert share_of(image, "#005f99") > 0.0005, number
        assert share_of(image, "#c98300") > 0.0005, number


def test_plots_of_a_reproduction_zoom_and_tell(browser: Browser, reproduced: Path) -> None:
    from selenium.webdriver import ActionChains

    open_page(browser, reproduced)
    for number in range(1, 7):
        begin, end = visible_range(browser, number)
        button = browser.find_element("css selector", f"#chart-{number} [data-zoom=in]")
        browser.execute_script("arguments[0].click()", button)
        a, b = visible_range(browser, number)
        assert b - a == pytest.approx((end - begin) / 2), number
    plot = browser.find_element("css selector", "#chart-2 .plot")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(browser).move_to_element(plot).perform()
    told = re.compile(r"Time \(h\):?\s*\d+")
    until(lambda: told.search(all_text(browser)))


def test_a_logarithmic_axis_zooms_by_ratios(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    begin, end = visible_range(browser, 6)
    button = browser.find_element("css selector", "#chart-6 [data-zoom=in]")
    browser.execute_script("arguments[0].click()", button)
    a, b = visible_range(browser, 6)
    assert b / a == pytest.approx((end / begin) ** 0.5)


def all_text(browser: Browser) -> str:
    """Visible text of the page and its plots."""
    script = """
      const read = (node) => [...node.childNodes].map((child) =>
        child.nodeType === 3 ? child.data : read(child)).join(" ") +
        (node.shadowRoot ? read(node.shadowRoot) : "");
      return read(document.querySelector(arguments[0]));
    """
    return str(browser.execute_script(script, "body"))


def test_values_are_told_under_the_pointer(browser: Browser, villainous: Path) -> None:
    from selenium.webdriver import ActionChains

    open_page(browser, villainous)
    before = all_text(browser).count(VILLAIN)
    plot = browser.find_element("css selector", "#chart-5 .plot")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(browser).move_to_element(plot).perform()
    until(lambda: all_text(browser).count(VILLAIN) > before)
    assert "Time (h)" in all_text(browser)


def test_names_of_the_legend_hide_and_show(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    button = browser.find_element("css selector", f"{occupancy(browser)} .legend button")
    assert share_of(pixels(browser, f"{occupancy(browser)} .plot"), "#005f99") > 0.01
    browser.execute_script("arguments[0].click()", button)
    assert button.get_attribute("aria-pressed") == "false"
    until(lambda: share_of(pixels(browser, f"{occupancy(browser)} .plot"), "#005f99") < 0.001)
    browser.execute_script("arguments[0].click()", button)
    until(lambda: share_of(pixels(browser, f"{occupancy(browser)} .plot"), "#005f99") > 0.01)


def column(browser: Browser, table: int, place: int) -> list[str]:
    script = """
      const table = document.querySelectorAll("table.sorts")[arguments[0]];
      return [...table.tBodies[0].rows].map((row) => row.cells[arguments[1]].textContent);
    """
    cells: list[str] = browser.execute_script(script, table, place)
    return cells


def test_tables_sort(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    heads = browser.execute_script(
        "return [...document.querySelectorAll('table.sorts')].map((table) =>"
        " [...table.tHead.rows[0].cells].map((cell) => cell.textContent))"
    )
    (table,) = [i for i, head in enumerate(heads) if "latency" in head and "VM" in head]
    place = heads[table].index("flash %")
    unsorted = column(browser, table, place)

    def press() -> str:
        script = """
          const head = document.querySelectorAll("table.sorts")[arguments[0]].tHead;
          const cell = head.rows[0].cells[arguments[1]];
          cell.querySelector("button").click();
          return cell.getAttribute("aria-sort");
        """
        return str(browser.execute_script(script, table, place))

    def numbers() -> list[float]:
        return [float(t) for t in column(browser, table, place) if t != "–"]

    assert press() == "ascending"
    assert numbers() == sorted(numbers())
    # Rows without a number are last in both directions.
    assert column(browser, table, place)[-1] == "–"
    assert press() == "descending"
    assert numbers() == sorted(numbers(), reverse=True)
    assert column(browser, table, place)[-1] == "–"
    assert sorted(column(browser, table, place)) == sorted(unsorted)


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, page: Path, villainous: Path, size: tuple[int, int]
) -> None:
    for each in (page, villainous):
        open_page(browser, each, size)
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0]


def test_notes_of_wide_tables_fit_a_phone(browser: Browser, page: Path) -> None:
    open_page(browser, page, PHONE)
    tables = browser.execute_script("""
      return [...document.querySelectorAll("main section > .scroll table:has(caption)")].map(
        (table) => [table.getBoundingClientRect().right,
          table.querySelector("caption span").getBoundingClientRect().right]);
    """)
    assert any(table > PHONE[0] for table, _ in tables)
    assert all(note <= PHONE[0] for _, note in tables)


def test_the_answer_fits_a_phone_without_scrolling(browser: Browser, page: Path) -> None:
    open_page(browser, page, (375, 740))
    script = """
      const table = document.querySelector("table.narrow");
      return [table.scrollWidth, table.parentElement.clientWidth,
        Math.max(...[...table.querySelectorAll("td")].map((cell) =>
          cell.getBoundingClientRect().right))];
    """
    wide, room, right = browser.execute_script(script)
    assert 0 < wide <= room
    assert right <= 375


CONTRAST = """
  const shades = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map(
      (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = shades(getComputedStyle(node).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
  };
  const worst = {};
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    if (!own || node.closest("script, style, noscript, svg")) continue;
    const [a, b] = [light(shades(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = node.tagName + "." + node.className;
    worst[name] = Math.min(worst[name] ?? 99, ratio);
  }
  return worst;
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(browser: Browser, page: Path, dark: bool) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    open_page(browser, page, dark=dark)
    worst = browser.execute_script(CONTRAST)
    assert len(worst) > 10
    assert {name: ratio for name, ratio in worst.items() if ratio < 4.5} == {}
    background = "#0d1117" if dark else "#ffffff"
    ink = "#e6edf3" if dark else "#1f2328"
    image = pixels(browser, "#chart-1 .plot")
    assert share_of(image, background, 0) > 0.3
    assert share_of(image, ink, 24) > 0.001


def test_a_page_turns_dark_with_the_system(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    assert share_of(pixels(browser, "#chart-1 .plot"), "#ffffff", 0) > 0.3
    look = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [look]})
    until(lambda: share_of(pixels(browser, "#chart-1 .plot"), "#0d1117", 0) > 0.3)
    until(lambda: share_of(pixels(browser, f"{occupancy(browser)} .plot"), "#3d9be0") > 0.01)


def test_names_are_text_to_a_browser(browser: Browser, villainous: Path) -> None:
    complaints(browser)
    open_page(browser, villainous)
    # An alert would have stopped the driver, and a blocked one would be in the console.
    assert complaints(browser) == []
    assert browser.execute_script("return document.querySelectorAll('script').length") == (
        2 + browser.execute_script("return document.querySelectorAll('figure.chart').length")
    )


def test_plots_have_names_for_those_who_listen(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored") and "role" in node
    }
    assert ("group", "Hit ratio by VM") in named
    assert ("button", "Zoom in: Hit ratio by VM") in named
    says = [
        node["description"]["value"]
        for node in nodes
        if node.get("name", {}).get("value") == "Hit ratio by VM" and node.get("description")
    ]
    assert any(text.startswith("Over all VMs, multicache-joint hits most") for text in says)
