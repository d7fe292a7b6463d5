"""Cache libraries from their registries, compared with the policies of their names.

Trusts: hits of the libraries, in the versions of `mcsim list libraries`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from library_hits import CAPACITIES, HITS, TRACES, VARIES, keys_of, points

import mcsim as mc

PROGRAMS = Path(__file__).parent / "programs"
VERSIONS = mc.library_versions()
_GROUPCACHE = "v0.0.0-20241129210726-2c02b8208cf8"
_CORE = "theine-core==2.1.0"  # has the policy of theine
_LIMIT_S = 1200

Command = Sequence[str | Path]
Build = Callable[[Path], Command]


class UnavailableError(Exception):
    """A tool or a registry that is not there."""


def fetched(*command: str | Path, folder: Path, **environment: str) -> None:
    """Run a command that installs packages; a failure is no fault of mcsim."""
    if shutil.which(str(command[0])) is None:
        raise UnavailableError(f"{command[0]} is absent")
    done = _run(command, folder, environment)
    if done.returncode:
        raise UnavailableError(
            f"{' '.join(map(str, command[:3]))}: {(done.stdout + done.stderr)[-400:]}"
        )


def built(*command: str | Path, folder: Path, **environment: str) -> None:
    """Run a command that compiles our programs."""
    done = _run(command, folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr


def _run(
    command: Command, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )


def of_node(folder: Path) -> Command:
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    packages = {
        "lru-cache": "node-lru-cache",
        "quick-lru": "quick-lru",
        "@neophi/sieve-cache": "neophi-sieve",
        "@thi.ng/cache": "thi-lru",
    }
    pins = [f"{package}@{VERSIONS[name]}" for package, name in packages.items()]
    fetched("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", *pins, folder=folder)
    shutil.copy(PROGRAMS / "caches.mjs", folder)
    return "node", folder / "caches.mjs"


def of_go(folder: Path) -> Command:
    golang = f"v{VERSIONS['golang-lru']}"
    pins = [
        f"github.com/hashicorp/golang-lru/v2@{golang}",
        f"github.com/hashicorp/golang-lru/arc/v2@v{VERSIONS['golang-lru-arc']}",
        f"github.com/golang/groupcache@{_GROUPCACHE}",
        f"github.com/maypok86/otter/v2@v{VERSIONS['otter']}",
        f"github.com/Yiling-J/theine-go@v{VERSIONS['theine-go']}",
        f"github.com/dgraph-io/ristretto/v2@v{VERSIONS['ristretto']}",
    ]
    assert VERSIONS["groupcache"] in _GROUPCACHE
    fetched("go", "mod", "init", "caches", folder=folder)
    fetched("go", "get", *pins, folder=folder)
    shutil.copy(PROGRAMS / "caches.go", folder)
    built("go", "build", "-o", "caches", "caches.go", folder=folder)
    return (folder / "caches",)


def of_python(folder: Path) -> Command:
    pins = [f"cachetools=={VERSIONS['cachetools-lru']}", f"theine=={VERSIONS['theine']}", _CORE]
    fetched(sys.executable, "-m", "pip", "install", "-q", "--target", folder, *pins, folder=folder)
    shutil.copy(PROGRAMS / "caches.py", folder)
    return sys.executable, folder / "caches.py"


def of_java(folder: Path) -> Command:
    pins = {
        ("com.github.ben-manes.caffeine", "caffeine"): VERSIONS["caffeine"],
        ("com.google.guava", "guava"): VERSIONS["guava"],
        ("org.cache2k", "cache2k-core"): VERSIONS["cache2k"],
        ("org.ehcache", "ehcache"): VERSIONS["ehcache"],
    }
    # Ehcache needs it for configurations in XML only; its parents are at addresses without TLS.
    unused = (
        "<exclusions><exclusion><groupId>org.glassfish.jaxb</groupId>"
        "<artifactId>jaxb-runtime</artifactId></exclusion></exclusions>"
    )
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version>{unused}</dependency>"
        for (group, name), version in pins.items()
    )
    (folder / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>caches</groupId>"
        "<artifactId>caches</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
    copied = "-DoutputDirectory=jars"
    fetched("mvn", "-q", "-B", "dependency:copy-dependencies", copied, folder=folder)
    built("javac", "-cp", "jars/*", "-d", ".", PROGRAMS / "Caches.java", folder=folder)
    return "java", "-cp", f"{folder}/jars/*:{folder}", "Caches"


def of_rust(folder: Path) -> Command:
    (folder / "src").mkdir()
    shutil.copy(PROGRAMS / "caches.rs", folder / "src" / "main.rs")
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "caches"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\n'
        f'lru = "={VERSIONS["lru-rs"]}"\n'
        f'moka = {{ version = "={VERSIONS["moka"]}", features = ["sync"] }}\n'
        f'quick_cache = "={VERSIONS["quick-cache-unsync"]}"\n'
        f'foyer-memory = "={VERSIONS["foyer-lfu"]}"\n'
        f'sieve-cache = "={VERSIONS["sieve-cache"]}"\n'
        f'TinyUFO = "={VERSIONS["tinyufo"]}"\n'
    )
    fetched("cargo", "fetch", "-q", folder=folder)
    built("cargo", "build", "-q", "--release", "--offline", folder=folder)
    return (folder / "target" / "release" / "caches",)


LANGUAGES: Mapping[str, tuple[Build, tuple[str, ...]]] = {
    "Node.js": (of_node, ("node-lru-cache", "quick-lru", "neophi-sieve", "thi-lru", "thi-mru")),
    "Go": (
        of_go,
        (
            *("golang-lru", "golang-lru-2q", "golang-lru-arc", "groupcache"),
            *("otter", "theine-go", "ristretto"),
        ),
    ),
    "Python": (
        of_python,
        ("cachetools-lru", "cachetools-fifo", "cachetools-lfu", "cachetools-rr", "theine"),
    ),
    "Java": (of_java, ("caffeine", "guava", "guava-1", "cache2k", "ehcache")),
    "Rust": (
        of_rust,
        (
            *("lru-rs", "moka", "moka-lru", "quick-cache-unsync", "sieve-cache", "tinyufo"),
            *("foyer-fifo", "foyer-lru", "foyer-sieve", "foyer-s3fifo", "foyer-lfu"),
        ),
    ),
}


def counted(
    command: Command, libraries: Sequence[str], folder: Path
) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the hits of libraries by trace and capacity, counted by a program."""
    cells = []
    for trace in TRACES:
        keys_of(trace).astype("<i8").tofile(folder / f"{trace}.keys")
        for library in libraries:
            cells += [(library, size, trace) for size in CAPACITIES]
    lines = [f"{library} {size} {folder / trace}.keys" for library, size, trace in cells]
    done = subprocess.run(
        command,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    hits = dict(zip(cells, map(int, done.stdout.split()), strict=True))
    return {
        library: {
            trace: tuple(hits[library, size, trace] for size in CAPACITIES) for trace in TRACES
        }
        for library in libraries
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_libraries_hit_as_recorded(language: str, tmp_path: Path) -> None:
    build, libraries = LANGUAGES[language]
    try:
        command = build(tmp_path)
    except UnavailableError as error:
        pytest.skip(str(error))
    found = counted(command, libraries, tmp_path)
    for library in libraries:
        for place, trace in enumerate(TRACES):
            hits, recorded = found[library][trace], HITS[library][place]
            if library in VARIES:
                assert points(hits, recorded, trace) <= VARIES[library][place], (library, trace)
            else:
                assert hits == recorded, (library, trace)


def test_every_pinned_library_is_counted() -> None:
    counted_ones = {name for _, libraries in LANGUAGES.values() for name in libraries}
    assert counted_ones == set(HITS)
    assert set(HITS) <= set(VERSIONS)
