"""Compare prefix hits of LRU, and the time to count them, with kvcache-simulator 0.1.3.

A synthetic trace of conversations is replayed at ten capacities by kvcache-simulator, which is
installed into a folder of its own, and counted in one pass by mcsim. Also measured is the pass over
a trace of 10^6 requests. Run as

    python tests/bench/kv.py [--requests N] [--peer PYTHON]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute
import pyarrow.json  # noqa: F401
from numpy.typing import NDArray

# Modules of both tools are imported before they are timed.
import mcsim as mc
import mcsim.locality.prefixes
import mcsim.traces.chain_files

PEER = "kvcache-simulator==0.1.3"
BLOCK = 512

# Run by the interpreter of the peer; prints its times and its hits by capacity.
REPLAY = """
import json, os, sys
from kvcache_sim.cpp_backend import ensure_cpp_simulator, run_cpp_sweep
from kvcache_sim.trace import parse_trace_file
ensure_cpp_simulator(None)
path, block, *sizes = sys.argv[1:]
begun = sum(os.times()[:4])
trace = parse_trace_file(path, block_size=int(block))
read = sum(os.times()[:4])
found = run_cpp_sweep(
    trace, capacities=[int(size) for size in sizes], policies=["lru"],
    warmup_requests=trace.request_count // 2,
)
ended = sum(os.times()[:4])
hits = {size: result.hitTokens for (_, size), result in found.results.items()
        if result.measurementMode == "fixed_window"}
print(json.dumps({"read": read - begun, "replay": ended - read, "hits": hits}))
"""


def conversations(requests: int, sessions: int = 2000, seed: int = 1) -> Iterator[list[int]]:
    """Yield prompts: each turn extends the last one of its session, half after a shared prompt."""
    draw = np.random.default_rng(seed)
    prompts: dict[int, list[int]] = {}
    unused = 100
    for _ in range(requests):
        session = int(draw.integers(sessions))
        prompt = prompts.get(session, [])
        if not prompt or len(prompt) > 60:
            prompt = list(range(8)) if draw.random() < 0.5 else []
        added = int(draw.integers(1, 12))
        prompt = [*prompt, *range(unused, unused + added)]
        unused += added
        prompts[session] = prompt
        yield prompt


def write_trace(path: Path, requests: int) -> None:
    """Write a trace in the format of Mooncake."""
    draw = np.random.default_rng(2)
    with path.open("w") as file:
        for i, prompt in enumerate(conversations(requests)):
            tokens = BLOCK * len(prompt) - int(draw.integers(BLOCK))
            line = {"timestamp": i, "input_length": tokens, "hash_ids": prompt}
            file.write(json.dumps(line) + "\n")


def peer_python(folder: Path) -> str:
    """Install the peer, and return the interpreter that has it."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True)
    return python


def compare(folder: Path, requests: int, peer: str) -> bool:
    """Print hits and times; return whether all hits are equal."""
    path = folder / "kv.jsonl"
    write_trace(path, requests)
    begun = time.process_time()
    trace = mc.read_chains(path)
    read = time.process_time()
    curve = mc.prefix_curve(trace, warm_up=requests // 2)
    counted = time.process_time()
    warm = int(np.unique(trace.blocks[: trace.starts[requests // 2]]).size)
    sizes: NDArray[np.int64] = np.unique(np.geomspace(64, warm // 2, 10).astype(np.int64))
    command = [peer, "-c", REPLAY, str(path), str(BLOCK), *map(str, sizes)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"{trace!r}, {path.stat().st_size / 1e6:.0f} MB\n")
    print("| blocks | hit tokens | of kvcache-simulator |")
    print("|---|---|---|")
    rows = curve.table(sizes)
    theirs = [told["hits"].get(str(size)) for size in sizes]
    for size, ours, hits in zip(sizes, rows.token_hits.tolist(), theirs, strict=True):
        print(f"| {size:,} | {ours:,} | {hits:,} |")
    print("\n| processor time | mcsim | kvcache-simulator | ratio |")
    print("|---|---|---|---|")
    times = {
        "read": (read - begun, told["read"]),
        "count": (counted - read, told["replay"]),
        "both": (counted - begun, told["read"] + told["replay"]),
    }
    for name, (ours, other) in times.items():
        print(f"| {name} | {ours:.2f} s | {other:.2f} s | {other / ours:.0f} |")
    return rows.token_hits.tolist() == theirs


def time_of_a_pass(requests: int) -> None:
    """Print the time of an exact curve of a trace that is in memory."""
    prompts = list(conversations(requests, sessions=20_000))
    starts = np.cumsum([0, *map(len, prompts)])
    ids = np.fromiter((one for prompt in prompts for one in prompt), np.uint64, starts[-1])
    trace = mc.ChainTrace.from_arrays(starts, ids, block_tokens=BLOCK)
    begun, cpu = time.perf_counter(), time.process_time()
    curve = mc.prefix_curve(trace)
    seconds, used = time.perf_counter() - begun, time.process_time() - cpu
    print(
        f"\n{len(trace):,} requests, {len(ids):,} blocks: {seconds:.2f} s, of the processor ",
        end="",
    )
    print(f"{used:.2f} s, {curve!r}")


def main() -> int:
    """Print the comparison and the time of a pass; return 1 if hits differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--peer", help="interpreter with kvcache-simulator; installed if not given")
    parser.add_argument("--pass-requests", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        is_equal = compare(folder, given.requests, given.peer or peer_python(folder / "peer"))
    time_of_a_pass(given.pass_requests)
    return not is_equal


if __name__ == "__main__":
    sys.exit(main())
