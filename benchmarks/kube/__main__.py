"""`python -m benchmarks.kube`: run the cases on a real API server and print what came of them."""

import argparse
import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.figures import say
from benchmarks.kube.bodies import Ask
from benchmarks.kube.claims import CLAIM_CONTROLLER, publish
from benchmarks.kube.cluster import prepare
from benchmarks.kube.cold import cold_start
from benchmarks.kube.eviction import race_evictions
from benchmarks.kube.race import Size, race
from benchmarks.kube.report import Found, plain, refresh
from maitred.cli.loops import quickest_loop
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.versions import RELEASES

RELEASE = RELEASES["1.37.1"]
GANGS, QUICK_GANGS = 32, 3
ROUNDS, QUICK_ROUNDS = 2, 1


@dataclass(frozen=True, slots=True)
class Case:
    """What is there before it begins, and what is then run on it. Every case has a server of its own."""

    nodes: int
    quick_nodes: int
    run: Callable[[ControlPlane, Size], Awaitable[Found]]


async def free(plane: ControlPlane, size: Size) -> Found:
    return await race(plane, size, Ask.FREE)


async def rack(plane: ControlPlane, size: Size) -> Found:
    return await race(plane, size, Ask.RACK)


async def claims(plane: ControlPlane, size: Size) -> Found:
    """The claims are made by Kubernetes' own controller, and no other runs."""
    await publish(plane, size.nodes)
    with plane.controller_manager([CLAIM_CONTROLLER]):
        return await race(plane, size, Ask.CLAIMS)


async def cold(plane: ControlPlane, size: Size) -> Found:
    return await cold_start(plane, size.nodes)


CASES = {
    "free-1000": Case(1_000, 32, free),
    "rack-1000": Case(1_000, 32, rack),
    "free-5000": Case(5_000, 48, free),
    "rack-5000": Case(5_000, 48, rack),
    "claims": Case(500, 48, claims),
    "cold": Case(10_000, 100, cold),
    "preempt-500": Case(500, 20, race_evictions),
    "preempt-1000": Case(1_000, 30, race_evictions),
    "preempt-2000": Case(2_000, 40, race_evictions),
}


def main() -> int:
    arguments = options()
    found, failed = list[Found](), False
    for name in chosen(arguments.cases):
        say(f"{name} ...")
        case = CASES[name]
        try:
            with asyncio.Runner(loop_factory=quickest_loop()) as runner:
                found.append(runner.run(on_server(case, size_of(case, arguments))))
        except Exception:
            traceback.print_exc()
            failed = True
    print(plain(found))
    if arguments.write and not failed:
        refresh(found, RELEASE.name)
    return int(failed)


def chosen(wanted: list[str]) -> list[str]:
    """Those that are named or begin with a name that is given; all, if none is."""
    return [
        name for name in CASES if not wanted or any(name == w or name.startswith(f"{w}-") for w in wanted)
    ]


def size_of(case: Case, arguments: argparse.Namespace) -> Size:
    if arguments.quick:
        return Size(case.quick_nodes, arguments.gangs or QUICK_GANGS, QUICK_ROUNDS)
    return Size(case.nodes, arguments.gangs or GANGS, ROUNDS)


async def on_server(case: Case, size: Size) -> Found:
    with ControlPlane(RELEASE, say=say) as plane:
        await prepare(plane, size.nodes)
        return await case.run(plane, size)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kube", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}, or how some begin; without any, all"
    )
    parser.add_argument("--gangs", type=int, metavar="COUNT", help=f"of 64 pods each; without it {GANGS}")
    parser.add_argument("--quick", action="store_true", help="few nodes, to see that the benchmark runs")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if not chosen([name])]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    if arguments.write and (arguments.quick or arguments.cases or arguments.gangs):
        parser.error("--write is for all cases at full size")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
