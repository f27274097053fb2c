"""The table: on the terminal, and in the documentation with the machine that it was made on."""

import os
import platform
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.figures import Figure

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- table: made by python -m benchmarks --write -->\n", "<!-- end of table -->\n"
HEADER = ("Case", "What", "Median", "Best", "CPU", "Goal", "Met", "Floor", "Times the floor")


def rows(figures: Iterable[Figure]) -> list[tuple[str, ...]]:
    return [
        (
            figure.case,
            figure.what,
            amount(figure.median, figure.unit),
            amount(figure.best, figure.unit),
            amount(figure.cpu, figure.unit),
            goal(figure),
            {None: "", True: "yes", False: "**no**"}[figure.met],
            amount(figure.floor_median, figure.unit),
            "" if figure.ratio is None else f"{figure.ratio:.1f}",
        )
        for figure in figures
    ]


def amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    sign = "≥" if figure.goal.at_least else "<"
    return f"{sign} {figure.goal.limit:,g} {figure.unit}"


def plain_table(figures: list[Figure]) -> str:
    """Each case once, with its figures below it."""
    table = [HEADER[1:], *(row[1:] for row in rows(figures))]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = [line(table[0], widths)]
    for before, figure, row in zip([None, *figures], figures, table[1:], strict=False):
        if before is None or before.case != figure.case:
            lines += ["", figure.case]
        lines.append(line(tuple(cell.replace("*", "") for cell in row), widths))
    return "\n".join(lines)


def line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([f"  {first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]).rstrip()


def markdown(figures: list[Figure]) -> str:
    lines = [HEADER, ("---", "---", *("--:" for _ in HEADER[2:])), *rows(figures)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def machine() -> str:
    return (
        f"{os.cpu_count()} cores ({processor()}), load {os.getloadavg()[1]:.1f} over the last 5 minutes, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, msgspec {msgspec.__version__}"
    )


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def refresh(figures: list[Figure]) -> None:
    put_after(BEGIN, f"\n`python -m benchmarks --write` on {machine()}:\n\n{markdown(figures)}\n")


def put_after(begin: str, made: str) -> None:
    """In the documentation, from this mark to the next end of a table."""
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(before + begin + made + END + rest.partition(END)[2])
