"""`python -m benchmarks.sandbox`: fill a sandbox and a real server alike, and print what they can bear."""

import argparse
import asyncio
import sys
import traceback
from collections.abc import Callable, Coroutine

from benchmarks.figures import say
from benchmarks.sandbox.bare import in_same_process, measured
from benchmarks.sandbox.evening import whole_evening
from benchmarks.sandbox.figures import Found, Size
from benchmarks.sandbox.report import KUBERNETES, SAME, SERVER, UP, Results, plain, refresh
from benchmarks.sandbox.servers import RELEASE, alone, real
from maitred.cli.loops import quickest_loop

FULL, QUICK = Size(1_000, 20_000, 1_000), Size(40, 400, 40)


async def server(size: Size) -> Found:
    with alone() as running:
        return await measured(running, size)


async def kubernetes(size: Size) -> Found:
    with real() as running:
        return await measured(running, size)


CASES: dict[str, Callable[[Size], Coroutine[None, None, Found]]] = {
    SERVER: server,
    SAME: in_same_process,
    KUBERNETES: kubernetes,
    UP: whole_evening,
}


def main() -> int:
    arguments = options()
    size = QUICK if arguments.quick else FULL
    results, failed = Results(), False
    for name in arguments.cases or CASES:
        say(f"{name} ...")
        try:
            with asyncio.Runner(loop_factory=quickest_loop()) as runner:
                results[name] = runner.run(CASES[name](size))
        except Exception:
            traceback.print_exc()
            failed = True
    print(plain(results))
    if arguments.write and not failed:
        refresh(results, size, RELEASE.name)
    return int(failed)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"one of {', '.join(CASES)}; without any, all"
    )
    parser.add_argument("--quick", action="store_true", help="few nodes, to see that the benchmark runs")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    if arguments.write and (arguments.quick or arguments.cases):
        parser.error("--write is for all cases at full size")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
