"""Compare eviction policies, speed and misses, with libCacheSim's wheel, both in this process.

Each cache replays the same accesses alone on one thread, in turns with its peer; what counts is CPU
time, the best of several rounds. Theirs reads a mapped file of binary records, the fastest that its
`process_trace` has, next uses included; ours replays blocks that were numbered before, which is
distinguished, and the time of OPT's next uses is left out, too. Where both are meant to be the same
algorithm, misses that differ are an error. A short run is for misses alone: in it their hash table,
of 2^24 buckets, is mostly touched for the first time. Run as

    python tests/bench/policies_vs_peers.py [--accesses N] [--capacity N] [--rounds N]
        [--policies NAME,…] [--sizes] [--out FILE.json]

With --sizes, objects have up to 8,000 bytes, and the capacity is in bytes, 4,000 for each object.
Misses of bytes are compared, too, and by how much the anonymous memory of a process that replays
grows for each cached object.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mcsim._core import policies as core
from mcsim.base.files import write_whole
from mcsim.policies.specs import parse_policies

sys.path.insert(0, str(Path(__file__).parent))

from report import processor, row

BLOCKS = 2_000_000
SKEW = 0.9
PIECE = 1_000_000
LARGEST = 8_000
WITH_SIZES = {
    **dict.fromkeys(("lru", "fifo", "clock", "sieve", "lfu", "lru-k(history=0)"), ""),
    "2q": "misses two fewer in six million, for a reason not found",
    "arc": "moves p by ratios of bytes",
    "belady-size": "draws other samples",
    "cacheus": "draws its learning rate",
    "gdsf": "inserts before it evicts",
    "hyperbolic": "ignores the size",
    "lecar": "decays regrets by accesses",
    "lfu-da": "adds the age at every hit",
    "lhd(period=1048576)": "draws other samples",
    "lirs(stack=2)": "refuses objects larger than the HIR share",
    "random": "draws by bucket",
    "s3-fifo": "fills the main queue at first",
    "slru": "has four segments",
    "w-tinylfu": "refuses objects larger than the window",
}
"""Policies with a rule for sizes, and why their misses differ."""
SIZES_ALONE = ("belady-size",)

# A slower peer runs once.
PATIENCE_SECONDS = 15


@dataclass(frozen=True)
class Peer:
    """A cache of libCacheSim, and the reason of a difference from the policy, if any."""

    policy: str
    cache: str
    differs: str = ""
    # Its parameters, by the capacity, where its defaults are not ours.
    parameters: Callable[[int], dict[str, float]] = lambda capacity: {}

    @property
    def name(self) -> str:
        return self.policy.partition("(")[0]


PEERS = [
    Peer("lru", "LRU"),
    Peer("fifo", "FIFO"),
    Peer("clock", "Clock"),
    Peer("sieve", "Sieve"),
    Peer("random", "Random", "draws by bucket"),
    Peer("lfu", "LFU"),
    Peer("slru", "SLRU", "has four segments"),
    Peer("s4lru(fill=true)", "SLRU"),
    Peer("2q", "TwoQ"),
    Peer("s3-fifo", "S3FIFO", "fills the main queue at first"),
    Peer("s3-fifo(variant=libcachesim)", "S3FIFO"),
    Peer("clock2q-plus", "Clock2QPlus"),
    Peer("arc", "ARC"),
    Peer("opt", "Belady"),
    Peer("lirs(stack=2)", "LIRS", "forgets the first evicted"),
    Peer("clock-pro", "ClockPro", "keeps all pages cold", lambda capacity: {"init_ratio_cold": 1}),
    Peer("w-tinylfu", "WTinyLFU", "counts no hits in the window"),
    Peer("lfu-da", "LFUDA", "adds the age at every hit"),
    Peer("gdsf", "GDSF", "inserts before it evicts"),
    Peer("lru-k(history=0)", "LRUK"),
    Peer("mq", "MQ", "takes a ghost out first", lambda capacity: {"lifetime": 10 * capacity}),
    Peer("hyperbolic", "Hyperbolic", "draws other samples"),
    Peer("lhd(period=1048576)", "LHD", "draws other samples"),
    Peer("lecar", "LeCaR", "starts counts anew"),
    Peer("belady-size", "BeladySize", "draws other samples"),
    Peer("cacheus", "Cacheus", "draws its learning rate"),
]


def zipf20m_np(accesses: int) -> np.ndarray:
    """Return the first accesses of the trace that the benchmarks in C++ have, by NumPy."""
    rng = np.random.Generator(np.random.PCG64(20240901))
    share = np.cumsum(np.arange(1, BLOCKS + 1, dtype=np.float64) ** -SKEW)
    share /= share[-1]
    pieces = [min(PIECE, accesses - begin) for begin in range(0, accesses, PIECE)]
    ranks = [np.searchsorted(share, rng.random(piece), side="right") for piece in pieces]
    return np.concatenate(ranks).astype(np.uint64)


def sizes_of(blocks: np.ndarray) -> np.ndarray:
    """Draw the bytes of every object."""
    draw = np.random.default_rng(5)
    return draw.integers(1, LARGEST + 1, int(blocks.max()) + 1).astype(np.uint32)[blocks]


def write_oracle_general(path: Path, blocks: np.ndarray, sizes: np.ndarray | None) -> None:
    """Write their records: time, object, size and the position of its next access, or -1."""
    order = np.argsort(blocks, kind="stable")
    again = blocks[order[1:]] == blocks[order[:-1]]
    records = np.zeros(
        len(blocks), [("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")]
    )
    records["object"] = blocks
    records["object"] += 1
    records["size"] = 1 if sizes is None else sizes
    records["next"] = -1
    records["next"][order[:-1][again]] = order[1:][again] + 1
    records.tofile(path)


def anonymous_bytes() -> int:
    """Return the private memory of this process that is not of files."""
    text = Path("/proc/self/smaps_rollup").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("Anonymous:")]
    return int(line.split()[1]) << 10


def in_another_process(
    replay: Callable[[Peer], tuple[float, int]], peer: Peer
) -> tuple[float, float]:
    """Return the byte miss ratio, and how much memory the replay took for each cached object."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def tell() -> None:
        before = anonymous_bytes()
        watch = Peak()
        ratio, objects = replay(peer)
        # Of objects that leave after their last use, none is left at the end.
        queue.put((ratio, (watch.stop() - before) / objects if objects else math.nan))

    child = context.Process(target=tell)
    child.start()
    ratio, held = queue.get()
    child.join()
    return ratio, held


class Peak(threading.Thread):
    """The most anonymous memory of this process, as looked at now and then."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self.stopped = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.stopped.wait(0.01):
            self.most = max(self.most, anonymous_bytes())

    def stop(self) -> int:
        self.stopped.set()
        self.join()
        return max(self.most, anonymous_bytes())


class Theirs:
    """libCacheSim on records in a file."""

    def __init__(self, records: Path, accesses: int, capacity: int, *, sizes: bool) -> None:
        self.records = records
        self.accesses = accesses
        self.capacity = capacity
        self.sizes = sizes

    def replay(self, peer: Peer) -> tuple[int, float]:
        """Return misses and CPU seconds; the loop over the accesses is theirs, in C."""
        import libcachesim as lcs

        cache = getattr(lcs, peer.cache)(self.capacity, **peer.parameters(self.capacity))
        options = lcs.ReaderInitParam(ignore_obj_size=not self.sizes)
        kind = lcs.TraceType.ORACLE_GENERAL_TRACE
        reader = lcs.TraceReader(str(self.records), kind, options)
        began = time.thread_time()
        miss_ratio, _ = cache.process_trace(reader)
        return round(miss_ratio * self.accesses), time.thread_time() - began

    def replay_bytes(self, peer: Peer) -> tuple[float, int]:
        """Return the byte miss ratio, and the number of cached objects."""
        import libcachesim as lcs

        cache = getattr(lcs, peer.cache)(self.capacity, **peer.parameters(self.capacity))
        kind = lcs.TraceType.ORACLE_GENERAL_TRACE
        reader = lcs.TraceReader(str(self.records), kind, lcs.ReaderInitParam())
        _, ratio = cache.process_trace(reader)
        self.kept = cache  # until its memory is measured
        return ratio, cache.get_n_obj()


class Ours:
    """mcsim on blocks that were numbered before."""

    def __init__(self, blocks: np.ndarray, capacity: int, sizes: np.ndarray | None) -> None:
        began = time.thread_time()
        self.blocks, self.unique = core.number(blocks)
        self.numbering_seconds = time.thread_time() - began
        self.capacity = capacity
        self.sizes = sizes
        if sizes is not None:
            first = np.arange(len(blocks) + 1, dtype=np.uint64)
            self.requests = (first, sizes, np.zeros(len(blocks), np.uint32), 1)
            for column in (self.blocks, sizes, *self.requests[:3]):
                column.flags.writeable = False  # the core copies others

    def replay_bytes(self, peer: Peer) -> tuple[float, int]:
        """Return the byte miss ratio, and the number of cached objects."""
        (spec,) = parse_policies(peer.policy, sizes=True)
        config = (spec.name, spec.declared(), self.capacity)
        found = core.simulate(
            self.blocks, self.unique, [config], weights=self.sizes, requests=self.requests
        )
        objects = int(found["accesses"][0] - found["hits"][0] - found["evictions"][0])
        return float(1 - found["byte_hits"][0] / found["request_bytes"][0]), objects

    def replay(self, peer: Peer) -> tuple[int, float]:
        """Return misses and CPU seconds, of the replay alone."""
        (spec,) = parse_policies(peer.policy, sizes=True)
        config = (spec.name, spec.declared(), self.capacity)
        columns = core.simulate(self.blocks, self.unique, [config], weights=self.sizes)
        (accesses,), (hits,), (seconds,) = (columns[n] for n in ("accesses", "hits", "seconds"))
        return int(accesses - hits), float(seconds)


def compare(peer: Peer, ours: Ours, theirs: Theirs, rounds: int) -> dict[str, Any]:
    """Alternate; all rounds of a policy without random draws have equal misses."""
    our_times, their_times = [], []
    for _ in range(rounds):
        our_misses, seconds = ours.replay(peer)
        our_times.append(seconds)
        if not their_times or min(their_times) < PATIENCE_SECONDS:
            their_misses, seconds = theirs.replay(peer)
            their_times.append(seconds)
    accesses = theirs.accesses
    of_bytes = {}
    if theirs.sizes:
        for whose, side in (("", ours), ("peer_", theirs)):
            ratio, held = in_another_process(side.replay_bytes, peer)
            of_bytes |= {f"{whose}byte_miss_ratio": ratio, f"{whose}bytes_per_object": held}
    return of_bytes | {
        "policy": peer.policy,
        "peer": peer.cache,
        "rate": accesses / min(our_times),
        "peer_rate": accesses / min(their_times),
        "ratio": min(their_times) / min(our_times),
        "misses": our_misses,
        "peer_misses": their_misses,
        "equal": our_misses == their_misses,
        "differs": WITH_SIZES[peer.policy] if theirs.sizes else peer.differs,
    }


def row_of(found: dict[str, Any]) -> str:
    if found["equal"]:
        verdict = "yes"
    else:
        share = found["peer_misses"] / found["misses"] - 1
        verdict = f"{share:+.2%}: libCacheSim {found['differs']}"
        if not found["differs"]:
            verdict = "NO, and they should be"
    cells = [found["policy"], found["peer"]]
    cells += [f"{found[key] / 1e6:.1f}" for key in ("rate", "peer_rate")]
    cells += [f"{found['ratio']:.1f}", f"{found['misses']:,}", f"{found['peer_misses']:,}"]
    for name, digits in (("byte_miss_ratio", 5), ("bytes_per_object", 0)):
        if name in found:
            cells += [f"{found[whose + name]:.{digits}f}" for whose in ("", "peer_")]
    return row([*cells, verdict])


def head(ours: Ours, accesses: int) -> str:
    from libcachesim import __version__ as version

    return (
        f"mcsim and libCacheSim {version} in one process on {processor()}: {accesses:,} accesses "
        f"of zipf20m-np, {ours.unique:,} distinct, capacity {ours.capacity:,}. Million accesses "
        "per second of CPU time, the best of several rounds in turns. Ours are of blocks that "
        f"were numbered before, which took {ours.numbering_seconds:.2f} s for all policies; "
        "theirs include the reading of mapped records.\n"
    )


def parse_arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--accesses", type=int, default=20_000_000)
    options.add_argument("--capacity", type=int, default=200_000)
    options.add_argument("--sizes", action="store_true", help="objects of up to 8,000 bytes")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--policies", help="only these, divided by commas")
    options.add_argument("--out", type=Path, help="a JSON file; the table is written beside it")
    return options.parse_args()


def write_reports(out: Path | None, lines: list[str], found: list[dict[str, Any]]) -> None:
    if out is None:
        return
    write_whole(out, json.dumps({"head": lines[0].strip(), "policies": found}, indent=1) + "\n")
    write_whole(out.with_suffix(".md"), "\n".join(lines) + "\n")


def main() -> int:
    given = parse_arguments()
    if find_spec("libcachesim") is None:
        absent = "Not compared with libCacheSim: its wheel, libcachesim, is not installed."
        print(absent)
        write_reports(given.out, [absent], [])
        return 0
    wanted = given.policies.split(",") if given.policies else [peer.policy for peer in PEERS]
    blocks = zipf20m_np(given.accesses)
    sizes = sizes_of(blocks) if given.sizes else None
    capacity = given.capacity * (LARGEST // 2 if given.sizes else 1)
    ours = Ours(blocks, capacity, sizes)
    columns = ["policy", "libCacheSim's", "mcsim, M/s", "libCacheSim, M/s", "ratio"]
    columns += ["misses", "libCacheSim's misses"]
    if given.sizes:
        columns += ["byte miss ratio", "libCacheSim's", "B an object", "libCacheSim's"]
    rule = ["---", "---"] + ["---:"] * (len(columns) - 2) + ["---"]
    lines = [head(ours, given.accesses), row([*columns, "equal"]), row(rule)]
    print(*lines, sep="\n", flush=True)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "zipf20m-np.oracleGeneral"
        write_oracle_general(records, blocks, sizes)
        theirs = Theirs(records, given.accesses, capacity, sizes=given.sizes)
        for peer in PEERS:
            has_rule = peer.policy in WITH_SIZES if given.sizes else peer.policy not in SIZES_ALONE
            if peer.policy in wanted and has_rule:
                found.append(compare(peer, ours, theirs, given.rounds))
                lines.append(row_of(found[-1]))
                print(lines[-1], flush=True)
    write_reports(given.out, lines, found)
    return 0 if all(each["equal"] or each["differs"] for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
