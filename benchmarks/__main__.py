"""`python -m benchmarks`: run the cases and print one table."""

import argparse
import sys
import traceback
from collections.abc import Callable

from benchmarks import (
    answers,
    command,
    device_memory,
    devices,
    events,
    hard_mix,
    healing,
    holds,
    memory,
    preemption,
    queues,
    rack_gangs,
    single,
)
from benchmarks.figures import Figure, say
from benchmarks.report import machine, plain_table, refresh
from maitred.cli.garbage_collection import expect_much_to_stay

CASES: dict[str, Callable[[bool], list[Figure]]] = {
    "rack-gangs": rack_gangs.run,
    "hard-mix": hard_mix.run,
    "large-gang": single.large_gang,
    "impossible": single.impossible,
    "preemption": preemption.run,
    "queues": queues.run,
    "healing": healing.run,
    "holds": holds.run,
    "events": events.run,
    "memory": memory.run,
    "devices": devices.run,
    "device-memory": device_memory.run,
    "command": command.run,
    "answers": answers.run,
}


def main() -> int:
    arguments = options()
    expect_much_to_stay()  # as the scheduler does
    figures, failed = [], False
    for name in arguments.cases or CASES:
        say(f"{name} ...")
        try:
            figures += CASES[name](arguments.quick)
        except Exception:
            traceback.print_exc()
            failed = True
    print(f"{plain_table(figures)}\n\n{machine()}")
    if arguments.write and not failed:
        refresh(figures)
    return int(failed)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"one of {', '.join(CASES)}; without any, all"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that the benchmarks run")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    if arguments.write and (arguments.quick or arguments.cases):
        parser.error("--write is for the whole table at full size")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
