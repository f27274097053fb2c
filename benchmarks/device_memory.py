"""Loading a cluster whose devices all differ in a UUID, in a process of its own: the memory, and the time.

The same nodes without devices are loaded beside it: what is more is what devices take.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import msgspec

from benchmarks.clusters import rack_of, zone_of
from benchmarks.device_objects import Wanted, claim_template, claiming_pod, device_class, resource_slice
from benchmarks.figures import Figure, Goal, Samples
from benchmarks.loading import NOW, listed
from benchmarks.memory import HEAD, Measured, pages_from, peak_memory
from benchmarks.objects import H100, Obj, node, pod_group
from benchmarks.pages import PAGE, node_name
from maitred.cluster.state import ClusterState, Put
from maitred.decide import decide
from maitred.model.manifest import Reader
from maitred.model.policy import Policy

REPEATS = 3
DEVICES, MEMBERS = 8, 8


def run(quick: bool) -> list[Figure]:
    nodes = 500 if quick else 5_000
    rounds = [(child(nodes, DEVICES), child(nodes, 0)) for _ in range(REPEATS)]
    case = f"{nodes * DEVICES:,} devices on {nodes:,} nodes, each with a UUID, to the first Plan with a claim"
    more = Samples(tuple(own.peak - bare.peak for own, bare in rounds))
    times, floor = (
        Samples(tuple(m.clock for m in kind), tuple(m.cpu for m in kind))
        for kind in zip(*rounds, strict=True)
    )
    return [
        Figure(case, "memory, more than without devices", "MB", more, goal=Goal(300)),
        Figure(case, "time, decoding included", "s", times, floor),
    ]


def objects(nodes: int, devices: int) -> Iterator[Obj]:
    """Without devices, pods ask for nothing but CPU and memory."""
    for number in range(nodes):
        rack, name = rack_of(number, nodes), node_name(number)
        yield node(name, f"rack-{rack:04}", zone_of(rack), replace(H100, gpus=0))
        if devices:
            yield resource_slice(name, number, devices)
    yield device_class()
    yield claim_template("train", Wanted(2))
    yield pod_group("train", MEMBERS)
    for index in range(MEMBERS):
        pod = claiming_pod("train", index, "train")
        if not devices:
            del pod["spec"]["resourceClaims"]
        yield pod


def child(nodes: int, devices: int) -> Measured:
    command = [sys.executable, "-m", "benchmarks.device_memory"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None, "a pipe"
        assert process.stdout is not None, "a pipe"
        items = objects(nodes, devices)
        while page := list(islice(items, PAGE)):
            data = listed(page)
            process.stdin.write(b"o" + len(data).to_bytes(HEAD) + data)
        process.stdin.close()
        return msgspec.json.decode(process.stdout.read(), type=Measured)


def load() -> Measured:
    """Only the work is timed, not the wait for the next page."""
    state = ClusterState()
    clock = cpu = 0.0
    for _, page in pages_from(sys.stdin.buffer):
        start, start_cpu = time.perf_counter(), time.process_time()
        reader = Reader()
        reader.read(page, "benchmark")
        for item in reader.objects:
            state.apply(Put(item))
        clock, cpu = clock + time.perf_counter() - start, cpu + time.process_time() - start_cpu
    start, start_cpu = time.perf_counter(), time.process_time()
    plan = decide(state.snapshot(), Policy(), NOW)
    clock, cpu = clock + time.perf_counter() - start, cpu + time.process_time() - start_cpu
    assert len(plan.binds) == MEMBERS, "the gang is seated"
    gc.collect()
    return Measured(peak_memory(), clock, cpu)


if __name__ == "__main__":
    print(msgspec.json.encode(load()).decode())
