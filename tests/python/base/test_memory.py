"""Trusts: a tree of files as the kernel shows control groups, written by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcsim.base.limits import memory_available, memory_limit, resident
from mcsim.policies.simulation import default_memory
from mcsim.references.interned import many_accesses

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = "35 31 0:32 {top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"


def tree(root: Path, mounts: str, groups: str, files: Mapping[str, object]) -> Path:
    """Write what the kernel shows of a process."""
    other = "22 1 0:20 / / rw - ext4 /a rw\n33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup c cpu\n"
    every = {"proc/self/mountinfo": other + mounts, "proc/self/cgroup": groups}
    every |= {f"sys/fs/cgroup/{name}": str(of) for name, of in files.items()}
    for name, content in every.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n", encoding="ascii")
    return root


V1_LIMIT = "memory/memory.limit_in_bytes"
SMALL, LESS, LEAST = PHYSICAL // 2, PHYSICAL // 4, PHYSICAL // 8


@pytest.mark.parametrize(
    ("mounts", "groups", "files", "expected"),
    [
        ("", "", {}, PHYSICAL),
        (V2, "0::/job", {"job/memory.max": "max"}, PHYSICAL),
        (V2, "0::/job", {"job/memory.max": 4 * PHYSICAL}, PHYSICAL),
        (V2, "0::/job", {"job/memory.max": SMALL}, SMALL),
        (V2, "0::/job", {"job/memory.max": SMALL, "job/memory.high": LESS}, LESS),
        (V2, "0::/a/b/c", {"a/b/c/memory.max": "max", "a/memory.max": SMALL}, SMALL),
        (V2, "0::/a/b", {"a/memory.max": LESS, "a/b/memory.max": SMALL}, LESS),
        (V2, "0::/a/b", {"c/memory.max": LESS}, PHYSICAL),
        # A container: its group is the mount, and its name is outside.
        (V2, "0::/../other", {"memory.max": SMALL}, SMALL),
        (V2, "0::/docker/1", {"memory.max": SMALL}, SMALL),
        (V1.format(top="/docker/1"), "4:memory:/docker/1", {V1_LIMIT: SMALL}, SMALL),
        (V1.format(top="/docker/1"), "4:memory:/x", {V1_LIMIT: SMALL}, SMALL),
        (
            V1.format(top="/"),
            "5:cpu,cpuacct:/\n4:memory:/slurm/job",
            {
                V1_LIMIT: 9223372036854771712,
                "memory/slurm/job/memory.limit_in_bytes": LESS,
            },
            LESS,
        ),
        # Both versions side by side.
        (
            V1.format(top="/") + V2.replace("cgroup rw,nosuid", "cgroup/unified rw"),
            "4:memory:/job\n0::/job",
            {"memory/job/memory.limit_in_bytes": SMALL, "unified/job/memory.max": LESS},
            LESS,
        ),
    ],
)  # fmt: skip
def test_the_least_limit_counts(
    tmp_path: Path, mounts: str, groups: str, files: Mapping[str, object], expected: int
) -> None:
    assert memory_limit(tree(tmp_path, mounts, groups, files)) == expected


def test_what_others_of_the_group_use_is_not_available(tmp_path: Path) -> None:
    stat = f"anon {LEAST}\nactive_file 4096\ninactive_file 8192"
    files = {"a/memory.max": LESS, "a/memory.current": LEAST, "a/memory.stat": stat}
    root = tree(tmp_path, V2, "0::/a", files)
    (root / "proc/meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {PHYSICAL >> 10} kB\n")
    assert abs(memory_available(root) - resident() - (LESS - LEAST + 12288)) < 2**24
    (root / "proc/meminfo").write_text("MemAvailable: 1 kB\n")
    assert memory_available(root) < resident() + 2**24


def test_files_count_once_in_version_1(tmp_path: Path) -> None:
    stat = "active_file 1\ninactive_file 1\ntotal_active_file 4096\ntotal_inactive_file 0"
    of = "memory/a/memory"
    files = {f"{of}.limit_in_bytes": LESS, f"{of}.usage_in_bytes": 8192, f"{of}.stat": stat}
    root = tree(tmp_path, V1.format(top="/"), "4:memory:/a", files)
    (root / "proc/meminfo").write_text(f"MemAvailable: {PHYSICAL >> 10} kB\n")
    assert abs(memory_available(root) - resident() - (LESS - 4096)) < 2**24


def test_this_machine() -> None:
    assert 0 < memory_limit() <= PHYSICAL
    assert resident() < memory_available() <= PHYSICAL + resident()
    assert default_memory() == memory_limit() // 2
    assert many_accesses() == memory_limit() // 64
