"""The tables: on the terminal, and in the documentation."""

from benchmarks.report import amount, line, machine, put_after
from benchmarks.sandbox import figures
from benchmarks.sandbox.figures import Found, Measure, Size

BEGIN = "<!-- tables: made by python -m benchmarks.sandbox --write -->\n"
Row = tuple[str, ...]

Results = dict[str, Found]
"""By case."""
SERVER, SAME, KUBERNETES, UP = "server", "same-process", "kubernetes", "up"
SERVERS: Row = (
    "The API server alone", "Sandbox", "In one process", "Kubernetes", "Times Kubernetes", "Goal", "Met",
)  # fmt: skip
EVENING: Row = ("`maitred up`", "Reached", "Goal", "Met")


def server_rows(results: Results) -> list[Row]:
    own, same, real = (results.get(name, {}) for name in (SERVER, SAME, KUBERNETES))
    return [
        (
            measure.what,
            *(cell(found, measure) for found in (own, same, real)),
            times(measure, own.get(measure), real.get(measure)),
            *judged(measure, own.get(measure)),
        )
        for measure in dict.fromkeys([*own, *real, *same])
    ]


def up_rows(results: Results) -> list[Row]:
    found = results.get(UP, {})
    return [(measure.what, cell(found, measure), *judged(measure, found[measure])) for measure in found]


def cell(found: Found, measure: Measure) -> str:
    return amount(found.get(measure), measure.unit).replace(" /s", "/s")


def times(measure: Measure, own: float | None, real: float | None) -> str:
    """How many times as fast as the real one it is, or as small."""
    if own is None or real is None:
        return ""
    return f"{own / real if measure.unit == figures.PER_SECOND else real / own:.1f}"


def judged(measure: Measure, value: float | None) -> Row:
    goal = measure.goal
    if goal is None or value is None:
        return "", ""
    wanted = f"{'≥' if goal.at_least else '<'} {amount(goal.limit, measure.unit)}".replace(" /s", "/s")
    return wanted, "yes" if goal.met(value) else "**no**"


def tables(results: Results) -> list[list[Row]]:
    made = [[SERVERS, *server_rows(results)], [EVENING, *up_rows(results)]]
    return [table for table in made if len(table) > 1]


def plain(results: Results) -> str:
    return "\n\n".join(map(plain_table, tables(results))) + f"\n\n{machine()}"


def plain_table(table: list[Row]) -> str:
    bare = [tuple(text.replace("*", "").replace("`", "") for text in row) for row in table]
    widths = [max(len(row[column]) for row in bare) for column in range(len(table[0]))]
    return "\n".join(line(row, widths) for row in bare)


def markdown(table: list[Row]) -> str:
    rule = ("---", *("--:" for _ in table[0][1:]))
    return "".join(f"| {' | '.join(row)} |\n" for row in (table[0], rule, *table[1:]))


def refresh(results: Results, size: Size, release: str) -> None:
    head = (
        f"\n`python -m benchmarks.sandbox --write` with {size.nodes:,} nodes and {size.pods:,} pods, beside "
        f"Kubernetes {release}, on {machine()}:\n\n"
    )
    put_after(BEGIN, head + "\n".join(map(markdown, tables(results))) + "\n")
