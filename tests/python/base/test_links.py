# Trusts: a server of the test, which answers by the path.
from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small import ROOT


@pytest.fixture
def links() -> Any:
    spec = importlib.util.spec_from_file_location("links", ROOT / "tests/packages/links.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _ByPath(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(int(self.path[1:]))
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _ByPath) as made:
        threading.Thread(target=made.serve_forever).start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()


def test_links_end_before_the_punctuation_of_a_sentence(links: Any) -> None:
    text = "See <https://a.org/x>, [b](https://b.org/y_(z)), https://c.org/. `http://localhost:1/`"
    assert list(links.links(text)) == ["https://a.org/x", "https://b.org/y_(z)", "https://c.org/"]


def test_links_that_do_not_answer_are_reported(
    tmp_path: Path, links: Any, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "_EXAMPLES", links.re.compile("$^"))
    document = tmp_path / "a.md"
    document.write_text(f"{server}/200 {server}/403 {server}/404 http://127.0.0.1:1/")
    report, code = links.check([document])
    assert report.splitlines() == [
        f"{document}: {server}/404: 404 Not Found",
        f"{document}: http://127.0.0.1:1/: no answer: [Errno 111] Connection refused",
        "4 links, 2 broken",
    ]
    assert code == 1


def test_without_a_network_links_cannot_be_checked(
    tmp_path: Path, links: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "_EXAMPLES", links.re.compile("$^"))
    document = tmp_path / "a.md"
    document.write_text("http://127.0.0.1:1/ http://127.0.0.1:1/b")
    report, code = links.check([document])
    assert report == "2 links could not be checked: none answers from this machine"
    assert code == 0
