"""System `dm-cache` that starts from a dump of metadata, and dumps with mistakes.

Trusts: NaiveSmq; the format of cache_dump of thin-provisioning-tools 1.1.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hosts import tiered
from naive_smq import Dumped, NaiveSmq

import mcsim as mc
from mcsim import ConfigError
from mcsim._core import engine, locality
from mcsim.experiment.cache_dumps import read_dump

SECOND = 1_000_000_000
BLOCK = 32 << 10
LINE_BLOCKS = 8
HEAD = '<superblock uuid="" block_size="64" nr_cache_blocks="{}" policy="{}" hint_width="4">'

Requests = Sequence[tuple[int, int, bool]]
"""Time since the first request, cache block of the origin, whether it writes."""


def dump_of(
    path: Path, blocks: Sequence[Dumped], size: int, *, policy: str = "smq", tail: str = ""
) -> Path:
    lines = [HEAD.format(size, policy), "  <mappings>"]
    lines += [
        f'    <mapping cache_block="{of.cache_block}" origin_block="{of.origin_block}"'
        f' dirty="{str(of.dirty).lower()}"/>'
        for of in blocks
    ]
    lines += ["  </mappings>", "  <hints>"]
    lines += [
        f'    <hint cache_block="{of.cache_block}" data="{_base64(of.hint)}"/>'
        for of in blocks
        if of.hint is not None
    ]
    path.write_text("\n".join([*lines, "  </hints>", "</superblock>", tail]))
    return path


def _base64(hint: int) -> str:
    return base64.b64encode(hint.to_bytes(4, "little")).decode()


def replayed(
    requests: Requests,
    dump: Path,
    blocks: int,
    *,
    interval: int = 3_600 * SECOND,
    departs: int | None = None,
    **params: Any,
) -> engine.RunResult:
    """Count every request apart, for a cache of so many cache blocks."""
    builder = engine.AccessBuilder(ops="all", addresses=True, line_blocks=LINE_BLOCKS)
    builder.begin_vm("vm")
    times, origin, writes = map(np.array, zip(*requests, strict=True))
    builder.add(
        times.astype(np.int64), np.zeros(len(times), np.uint16), writes.astype(np.uint8),
        (origin * BLOCK).astype(np.uint64), np.full(len(times), 4096, np.uint32),
    )  # fmt: skip
    if departs is not None:
        builder.depart(departs)
    accesses = builder.finish()
    machine = tiered(blocks * LINE_BLOCKS, read_ns=1e5)
    system = engine.System("dm-cache", params, machine, interval=interval)
    system.use_cache_dump(read_dump(dump))
    cuts = np.arange(len(times) + 1)
    return engine.run(accesses, system, locality.Characterised(), cuts)


def drawn_dump(draw: np.random.Generator, size: int, origin: int, mode: str) -> list[Dumped]:
    count = int(draw.integers(1, min(size, origin) + 1))
    has_hints = draw.random() < 0.7
    may_be_dirty = mode != "passthrough"
    return [
        Dumped(
            int(cache_block), int(block), may_be_dirty and draw.random() < 0.3,
            int(draw.choice([0, 1, 31, 32, 63, 64, 900])) if has_hints else None,
        )
        for cache_block, block in zip(
            draw.permutation(size)[:count], draw.permutation(origin)[:count], strict=True
        )
    ]  # fmt: skip


def drawn_requests(draw: np.random.Generator, origin: int) -> Requests:
    count = 4_000
    gaps = draw.choice([0.001, 0.02, 0.4, 3, 60], count, p=[0.3, 0.3, 0.35, 0.04, 0.01])
    times = (np.cumsum(gaps * draw.random(count)) * SECOND).astype(np.int64)
    blocks = (origin * 0.8 * draw.random(count) ** 3).astype(int)
    writes = draw.random(count) < 0.4
    return list(zip((times - times[0]).tolist(), blocks.tolist(), writes.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(16))
def test_every_request_hits_as_in_the_twin(seed: int, tmp_path: Path) -> None:
    """In all modes, with hints and without, with blocks that no request accesses."""
    draw = np.random.default_rng(seed)
    size = int(draw.choice([3, 40, 200, 500]))
    origin = 330
    mode = ("back", "through", "passthrough", "back")[seed % 4]
    policy = "cleaner" if seed % 8 == 7 else "smq"
    blocks = drawn_dump(draw, size, origin, mode)
    requests = drawn_requests(draw, origin)
    created, phase = (int(each * SECOND) for each in draw.random(2) * 3)
    of_dump = blocks
    if policy == "cleaner":  # a dump of smq: its hints are of another policy
        of_dump = [of._replace(hint=None) for of in blocks]
    twin = NaiveSmq(
        size, origin, created=created, mode=f"write{mode}".replace("writep", "p"),
        policy=policy, dump=of_dump,
    )  # fmt: skip
    expected = [twin.request(created + phase + time, *of) for time, *of in requests]
    result = replayed(
        requests, dump_of(tmp_path / "dump.xml", blocks, size), size, writes=mode, policy=policy,
        created=created, phase=phase, origin_gib=origin * BLOCK / (1 << 30),
    )  # fmt: skip
    assert result.vms["request_hits"][:, 0].tolist() == expected
    assert result.tiers["evictions"].sum() == twin.counts["demotions"] * LINE_BLOCKS
    assert result.tiers["fills"].sum() == twin.counts["promotions"] * LINE_BLOCKS
    assert result.tiers["occupancy"][-1, 0, 0] == len(twin.table) * LINE_BLOCKS
    assert result.vms["write_backs"].sum() == twin.counts["write-backs"] * LINE_BLOCKS
    assert result.vms["dirty"][-1, 0] == twin.dirty.count * LINE_BLOCKS


def test_hits_of_passthrough_are_served_by_the_origin(tmp_path: Path) -> None:
    """Trusts: a write drops its block."""
    dump = dump_of(tmp_path / "dump.xml", [Dumped(0, 5, False, 3)], 4)
    requests = [(0, 5, False), (1, 5, True), (2, 5, False)]
    result = replayed(requests, dump, 4, writes="passthrough")
    assert result.vms["request_hits"][:, 0].tolist() == [1, 1, 0]
    assert result.vms["backend_reads"][:, 0].tolist() == [1, 0, 1]
    assert result.vms["backend_writes"][:, 0].tolist() == [0, 1, 0]
    assert result.tiers["evictions"][:, 0, 0].tolist() == [0, 8, 0]


def test_dirty_blocks_stay_in_write_through(tmp_path: Path) -> None:
    """Trusts: a write to a dirty block goes to the cache alone, one to a clean block to both."""
    dump = dump_of(tmp_path / "dump.xml", [Dumped(0, 5, True, 3), Dumped(1, 6, False, 3)], 4)
    result = replayed([(0, 5, True), (1, 6, True)], dump, 4, writes="through")
    assert result.vms["backend_writes"][:, 0].tolist() == [0, 1]
    assert result.vms["dirty"][:, 0].tolist() == [8, 8]


MAPPING = '    <mapping cache_block="0" origin_block="5" dirty="false"/>\n'


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (('block_size="64"', 'block_size="128"'), 1,
         "block_size: 128 sectors are 64 KiB, and block_kib is 32"),
        (('nr_cache_blocks="8"', 'nr_cache_blocks="9"'), 1,
         "nr_cache_blocks: 9 do not fit in a cache of 8 blocks"),
        (('origin_block="5"', 'origin_block="2048"'), 3,
         "origin_block 2048 is outside of an origin of 1024 blocks"),
        (('cache_block="0"', 'cache_block="8"'), 3, "cache_block 8 is outside of 8 blocks"),
        ((MAPPING, 2 * MAPPING), 4, "cache_block 0 is mapped in line 3 already"),
        ((MAPPING, MAPPING + MAPPING.replace('cache_block="0"', 'cache_block="1"')), 4,
         "origin_block 5 is mapped in line 3 already"),
        (("AwAAAA==", "AwA*AA=="), 6, "data: 'AwA*AA==' is not valid base64"),
        (("AwAAAA==", "AwAA"), 6, "data: 3 bytes, and hint_width is 4"),
        (('dirty="false"', 'dirty="maybe"'), 3, "dirty: expected true or false, got 'maybe'"),
        (('dirty="false"', ""), 3, "missing attribute 'dirty'"),
        (('origin_block="5"', 'origin_block="-5"'), 3,
         "origin_block: expected a number of 48 bits, got '-5'"),
        (("<mappings>", "<maps>"), 2, "unknown element 'maps'"),
        (("\n</superblock>\n", ""), 7, "invalid XML: no element found"),
        (("<superblock", '<!DOCTYPE a [<!ENTITY b "c">]>\n<superblock'), 1,
         "document type declarations are not accepted"),
    ],
)  # fmt: skip
def test_mistakes_name_file_and_line(
    change: tuple[str, str], line: int, message: str, tmp_path: Path
) -> None:
    dump = dump_of(tmp_path / "dump.xml", [Dumped(0, 5, False, 3)], 8)
    text = dump.read_text()
    assert change[0] in text
    dump.write_text(text.replace(*change))
    with pytest.raises((ConfigError, ValueError)) as refused:
        replayed([(0, 5, False)], dump, 8, origin_gib=1 / 32)
    assert str(refused.value) == f"{dump}:{line}: {message}"


def experiment(tmp_path: Path, **keys: Any) -> dict[str, Any]:
    """Return requests to 60 cache blocks, 25 times over in 30 s, and a cache that holds them."""
    times = np.arange(1_500) * (SECOND // 50)
    offsets = np.arange(1_500) % 60 * BLOCK
    trace = mc.Trace.from_arrays(times, offsets, 4096, source="loop")
    trace.save(tmp_path / "loop.arrow")
    return {
        "name": "warm",
        "interval": "10s",
        "workload": {"vms": [{"name": "loop", "trace": str(tmp_path / "loop.arrow")}]},
        "tiers": [{"device": "flash", "capacity": "2MiB"}],
        "systems": ["dm-cache"],
    } | keys


def test_an_experiment_starts_from_the_dump(tmp_path: Path) -> None:
    """The first interval hits at once: nothing else than the dump differs."""
    dump = dump_of(tmp_path / "dump.xml", [Dumped(i, i, False, 63) for i in range(60)], 64)
    cold = mc.run(experiment(tmp_path), out=tmp_path / "out")
    keys = {"warm_up": {"cache_dump": str(dump)}}
    warm = mc.run(experiment(tmp_path, **keys), out=tmp_path / "out")
    assert warm.path != cold.path
    first = [of.table("metrics").column("hits")[0].as_py() for of in (cold, warm)]
    assert first[1] == 500
    assert first[0] < 250
    assert "start from a dump" in (warm.path / "log.txt").read_text()
    dump.write_text(dump.read_text().replace('cache_block="0" origin', 'cache_block="60" origin'))
    assert mc.run(experiment(tmp_path, **keys), out=tmp_path / "out").path != warm.path


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"systems": ["dm-cache", "lru"]},
         "systems[1]: cache_dump: only dm-cache starts from the metadata of a cache"),
        ({"warm_up": {"cache_dump": "none.xml"}}, "none.xml: not a regular file"),
        ({"opt": True}, "opt: with `warm_up: {cache_dump: …}` it would compare with caches that"),
        ({"warm_up": {"cache_dumb": "none.xml"}}, "cache_dumb"),
    ],
)  # fmt: skip
def test_mistakes_in_an_experiment(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    dump = dump_of(tmp_path / "dump.xml", [Dumped(0, 0, False, 63)], 64)
    given = experiment(tmp_path, **{"warm_up": {"cache_dump": str(dump)}} | keys)
    with pytest.raises(ConfigError) as refused:
        mc.run(given, out=tmp_path / "out")
    assert message in str(refused.value)


def test_a_search_starts_with_empty_caches(tmp_path: Path) -> None:
    dump = dump_of(tmp_path / "dump.xml", [Dumped(0, 0, False, 63)], 64)
    with pytest.raises(ConfigError, match="a search cannot start from a dump"):
        mc.search(experiment(tmp_path, warm_up={"cache_dump": str(dump)}))


def test_the_origin_is_one_device(tmp_path: Path) -> None:
    dump = dump_of(tmp_path / "dump.xml", [Dumped(0, 0, False, 63)], 64)
    given = experiment(tmp_path, warm_up={"cache_dump": str(dump)})
    trace = given["workload"]["vms"][0]
    given["workload"]["vms"] = [trace, trace | {"name": "other"}]
    with pytest.raises(ConfigError, match="the origin is one device, and the trace has 2 VMs"):
        mc.run(given, out=tmp_path / "out")


def test_every_phase_starts_from_the_dump(tmp_path: Path) -> None:
    """Trusts: runs of each phase alone."""
    blocks = [Dumped(i, 2 * i, False, i % 64) for i in range(60)]
    dump = dump_of(tmp_path / "dump.xml", blocks, 64)
    requests = [(i * SECOND // 20, i * 7 % 110, False) for i in range(4_000)]

    def counted(**params: Any) -> engine.RunResult:
        return replayed(requests, dump, 64, **params)

    phases = [998_000_000 + k * SECOND // 2 for k in range(2)]
    alone = [int(counted(phase=phase).tiers["hits"][:2_000].sum()) for phase in phases]
    result = counted(interval=100 * SECOND, phases=2)
    assert int(result.tiers["hits"][:2_000].sum()) == alone[0]
    least, most = (f"{100 * each / 2_000:.2f}" for each in (min(alone), max(alone)))
    note = f"{least} to {most} % of all accesses so far hit, at 2 phases"
    assert [decision["note"] for decision in result.decisions] == [note]


def test_a_departing_vm_takes_all_blocks_of_the_dump(tmp_path: Path) -> None:
    blocks = [Dumped(0, 5, True, 3), Dumped(1, 900, True, 3), Dumped(2, 901, False, 3)]
    dump = dump_of(tmp_path / "dump.xml", blocks, 4)
    result = replayed([(0, 5, False), (1, 6, False)], dump, 4, departs=SECOND, writes="back")
    assert result.tiers["occupancy"][:, 0, 0].tolist() == [24, 0]
    assert result.vms["write_backs"][:, 0].tolist() == [0, 16]
    assert result.tiers["invalidations"][:, 0, 0].tolist() == [0, 24]
