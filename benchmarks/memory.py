"""Loading a large cluster page by page in a process of its own: how much memory it takes, and how long.

The pages come over a pipe, so that the process holds one at a time, as a client that lists in pages does.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from benchmarks.bare import NODES, PODS, BareTable
from benchmarks.figures import Figure, Goal, Samples
from benchmarks.pages import node_pages, pod_pages
from maitred.cluster.state import ClusterState, Put

REPEATS = 3
HEAD = 8


class Measured(msgspec.Struct):
    peak: float
    """MB."""
    clock: float
    cpu: float


def run(quick: bool) -> list[Figure]:
    nodes, pods = (1_000, 5_000) if quick else (10_000, 100_000)
    rounds = [(child("state", nodes, pods), child("bare", nodes, pods)) for _ in range(REPEATS)]
    own, floor = zip(*rounds, strict=True)
    case = f"{pods:,} bound pods on {nodes:,} nodes, loaded in pages of 500"
    peaks = [Samples(tuple(m.peak for m in kind)) for kind in (own, floor)]
    times = [Samples(tuple(m.clock for m in kind), tuple(m.cpu for m in kind)) for kind in (own, floor)]
    return [
        Figure(case, "peak memory of the process", "MB", peaks[0], peaks[1], Goal(350)),
        Figure(case, "time, decoding included", "s", times[0], times[1]),
    ]


def child(kind: str, nodes: int, pods: int) -> Measured:
    command = [sys.executable, "-m", "benchmarks.memory", kind, str(nodes)]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None, "a pipe"
        assert process.stdout is not None, "a pipe"
        for mark, pages in ((b"n", node_pages(nodes)), (b"p", pod_pages(pods, nodes))):
            for page in pages:
                process.stdin.write(mark + len(page).to_bytes(HEAD) + page)
        process.stdin.close()
        return msgspec.json.decode(process.stdout.read(), type=Measured)


def pages_from(stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    while mark := stream.read(1):
        yield mark, stream.read(int.from_bytes(stream.read(HEAD)))


def load(kind: str, nodes: int) -> Measured:
    """Only the work is timed, not the wait for the next page."""
    state, table = ClusterState(), BareTable(nodes)
    clock = cpu = 0.0
    for mark, page in pages_from(sys.stdin.buffer):
        start, start_cpu = time.perf_counter(), time.process_time()
        for item in NODES.decode(page).items if mark == b"n" else ():
            table.put_node(item) if kind == "bare" else state.apply(Put(item))
        for pod in PODS.decode(page).items if mark == b"p" else ():
            table.put_pod(pod) if kind == "bare" else state.apply(Put(pod))
        clock, cpu = clock + time.perf_counter() - start, cpu + time.process_time() - start_cpu
    if kind == "state":
        state.snapshot()
    gc.collect()
    return Measured(peak_memory(), clock, cpu)


def peak_memory() -> float:
    """MB. Of this program alone: what getrusage says includes the parent's peak from before the exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("this system does not say how much memory a process took")


if __name__ == "__main__":
    print(msgspec.json.encode(load(sys.argv[1], int(sys.argv[2]))).decode())
