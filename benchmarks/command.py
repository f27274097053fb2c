"""`maitred decide -o json` as a whole process, beside a process that only parses the same file."""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clusters import mixed_cluster
from benchmarks.dressing import dressed_node, with_status
from benchmarks.figures import Figure, Goal, Samples, Work, in_turns, say
from benchmarks.loading import listed
from benchmarks.mix import gangs
from benchmarks.objects import Obj
from benchmarks.storage import classes, csi_node, local_volumes

REPEATS = 3
PARSE = "import json, sys; json.load(open(sys.argv[1], 'rb'))"
TIMES = 8


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    gangs: int
    shapes: int


FULL, QUICK = Size(5_000, 60, 40), Size(200, 8, 8)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "cluster.json")
        megabytes = write(file, size)
        decide = [sys.executable, "-m", "maitred.cli", "decide", "-f", file, "-o", "json"]
        works = [Work(lambda: process(decide)), Work(lambda: process([sys.executable, "-c", PARSE, file]))]
        own, floor = in_turns(works, REPEATS)
    case = f"maitred decide, a dump of {size.nodes:,} nodes ({megabytes:.0f} MB), beside json.load"
    ratios = tuple(mine / least for mine, least in zip(own.clock, floor.clock, strict=True))
    return [
        Figure(case, "whole process, start included", "s", Samples(own.clock), Samples(floor.clock)),
        Figure(case, "times json.load in its own process", "×", Samples(ratios), goal=Goal(TIMES)),
    ]


def process(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:4])} failed: {done.stderr.strip()[-500:]}")


def write(file: str, size: Size) -> float:
    """One List, as kubectl writes it but without the indentation; how large it is in MB."""
    items = list(objects(size))
    kinds = [item["kind"] for item in items]
    bound = sum("nodeName" in item["spec"] for item in items if item["kind"] == "Pod")
    say(f"  {kinds.count('Node')} nodes, {bound} running pods, {kinds.count('Pod') - bound} waiting")
    return Path(file).write_bytes(listed(items)) / 1e6


def objects(size: Size) -> Iterator[Obj]:
    rng, names = random.Random(4), []
    for number, item in enumerate(mixed_cluster(size.nodes, rng, lone_jobs=False, most=3)):
        if item["kind"] == "Node":
            names.append(item["metadata"]["name"])
            yield dressed_node(item, number)
            yield csi_node(names[-1])
        else:
            yield with_status(item, number)
    yield from classes()
    yield from local_volumes(names[::5])
    for gang in gangs(size.gangs, size.shapes, rng):
        for number, item in enumerate(gang.objects()):
            yield with_status(item, number) if item["kind"] == "Pod" else item
