"""Count the reuse distances of a trace that is larger than memory.

Generates a trace store of one VM, requests for single blocks: nine in ten by Zipf's law, the
tenth from a loop over an equal number of blocks. Then reads it by batches, counts every reuse
distance, prints references per second and peak memory, and deletes the store. A request takes 31
bytes of disk.

    python tests/bench/out_of_core.py --requests 1e9 --blocks 1e7 --threads 2
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim._core import synthetic
from mcsim.locality.estimators import Estimator
from mcsim.traces.batches import SCHEMA, Batch, record_batch_of
from mcsim.traces.metadata import BLOCK_BYTES, Counts, TraceMetadata, schema_with
from mcsim.traces.store import BATCH_REQUESTS

WEEK = 7 * 24 * 3600 * 10**9


def workload(requests: int, blocks: int, length: int) -> synthetic.Generator:
    """Describe requests of a given length; they are equal each time."""
    sizes = [(length * BLOCK_BYTES, 1.0)]
    models = {
        "hot": synthetic.ZipfModel(blocks=blocks, alpha=0.9),
        "sweep": synthetic.LoopModel(blocks=blocks),
    }
    components = [
        synthetic.Component(name=name, model=model, sizes=sizes) for name, model in models.items()
    ]
    phase = synthetic.Phase(
        start=0,
        duration=WEEK,
        requests=requests,
        read_share=1.0,
        reads=[("hot", 9.0), ("sweep", 1.0)],
        writes=[],
    )
    vm = synthetic.Vm(name="vm", components=components, phases=[phase])
    return synthetic.Generator(vms=[vm], block_bytes=BLOCK_BYTES, seed=1)


def batches(requests: int, blocks: int, length: int) -> Iterator[Batch]:
    """Generate the requests, a batch of the store at a time."""
    generator = workload(requests, blocks, length)
    while len((batch := Batch(**generator.next(BATCH_REQUESTS))).time):
        yield batch


def write(path: Path, requests: int, blocks: int, length: int = 1) -> None:
    """Write the store in one pass over the disk.

    Its counts stand before the columns, so everything is generated twice.
    """
    counts = Counts()
    for batch in batches(requests, blocks, length):
        counts = counts.plus(batch)
    described = f"{requests} requests of {length} of {blocks} blocks"
    metadata = TraceMetadata(
        source="out_of_core.py",
        source_digest="",
        digest=hashlib.sha256(described.encode()).hexdigest(),
        format="synthetic",
        options={"blocks": blocks},
        time_base="clock",
        vms=("vm",),
        counts=counts,
        synthetic=True,
    )
    with pa.ipc.new_file(str(path), schema_with(metadata, SCHEMA)) as writer:
        for batch in batches(requests, blocks, length):
            writer.write_batch(record_batch_of(batch))


def block_numbers(path: Path) -> Iterator[npt.NDArray[np.uint64]]:
    """Read the column of offsets alone, one batch at a time, into memory that is given back.

    Pages of a mapped file would count as memory held.
    """
    wanted = pa.ipc.IpcReadOptions(included_fields=[SCHEMA.get_field_index("offset")])
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file, options=wanted)
        for index in range(reader.num_record_batches):
            offsets = reader.get_batch(index).column("offset")
            values = np.frombuffer(offsets.buffers()[1], np.uint64)
            yield values[offsets.offset : offsets.offset + len(offsets)] // np.uint64(BLOCK_BYTES)


def peak_bytes() -> int:
    """Return the most memory this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def stream(path: Path, estimator: Estimator) -> float:
    """Pass the store to an estimator; return its share of the seconds."""
    estimating = 0.0
    for keys in block_numbers(path):
        start = time.perf_counter()
        estimator.process(keys)
        estimating += time.perf_counter() - start
    return estimating


def in_a_process_of_its_own(work: Callable[..., None], *arguments: object) -> None:
    """Run work in a process of its own, without its memory here."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        process.submit(work, *arguments).result()


def main() -> None:
    """Generate, stream, print and delete."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=float, default=1e9)
    parser.add_argument("--blocks", type=float, default=1e7)
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--estimator", default="exact")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    requests, blocks = int(arguments.requests), int(arguments.blocks)

    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="mcsim_") as folder:
        path = Path(folder) / "trace.arrow"
        start = time.perf_counter()
        in_a_process_of_its_own(write, path, requests, blocks)
        seconds, size = time.perf_counter() - start, path.stat().st_size
        print(f"wrote {requests:,} requests, {size / 1e9:.1f} GB, in {seconds:.0f} s", flush=True)
        print(f"memory before {peak_bytes() / 1e6:.0f} MB", flush=True)
        # From few threads to many, for the peak of memory never falls.
        for threads in sorted(arguments.threads):
            report(path, Estimator(arguments.estimator, threads=threads), threads)


def report(path: Path, estimator: Estimator, threads: int) -> None:
    """Stream the store once and print what it took."""
    start, cpu = time.perf_counter(), time.process_time()
    estimating = stream(path, estimator)
    fed = time.perf_counter()
    curve = estimator.curve()
    estimating += time.perf_counter() - fed
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    count = estimator.references
    print(f"{estimator.name}, {threads} threads: {estimator.distinct:,.0f} blocks")
    print(f"  read and counted {count / seconds / 1e6:6.1f} M references/s")
    print(f"  counted          {count / estimating / 1e6:6.1f} M references/s")
    print(f"  processor time   {cpu / count * 1e9:6.1f} ns a reference, reading included")
    print(f"  peak memory      {peak_bytes() / 1e6:6.0f} MB")
    print(f"  estimator holds  {estimator.bytes / 1e6:6.0f} MB")
    print(f"  hit ratio of all {curve.best_ratio:.9f}", flush=True)


if __name__ == "__main__":
    main()
