"""What came of the cases: on the terminal, and in the documentation."""

from collections.abc import Sequence

from benchmarks.figures import Goal
from benchmarks.kube.bodies import Ask
from benchmarks.kube.cold import ColdStart
from benchmarks.kube.contenders import BARE_BINDS, KUBE_SCHEDULER, MAITRED
from benchmarks.kube.eviction import Evictions
from benchmarks.kube.race import Race, Runs
from benchmarks.kube.usage import Usage
from benchmarks.report import amount, line, machine, put_after

BEGIN = "<!-- tables: made by python -m benchmarks.kube --write -->\n"
Found = Race | ColdStart | Evictions
Row = tuple[str, ...]
Table = list[Row]
"""The first row is its header."""

RUNS: Row = (
    "Case", "Who", "Pods/s", "× kube-scheduler", "Of bare binds", "Gang p50", "Gang p99",
    "Memory", "CPU", "API server memory", "API server CPU",
)  # fmt: skip
GOALS: Row = ("Case", "Goal", "Reached", "Met")
COLD: Row = ("Cold start", "Ready", "First Plan", "Memory", "CPU")
EVICTIONS: Row = (
    "Preemption", "Who", "First eviction", "Last eviction", "Last bind", "× kube-scheduler", "Evicted",
    "Memory", "CPU",
)  # fmt: skip


def tables(found: Sequence[Found]) -> list[Table]:
    races = [item for item in found if isinstance(item, Race)]
    colds = [item for item in found if isinstance(item, ColdStart)]
    evictions = [item for item in found if isinstance(item, Evictions)]
    made: list[Table] = [
        [RUNS, *(run_row(race, name) for race in races for name in race.runs)],
        [GOALS, *(row for race in races for row in goal_rows(race))],
        [COLD, *map(cold_row, colds)],
        [EVICTIONS, *(eviction_row(case, name) for case in evictions for name in case.runs)],
    ]
    return [table for table in made if len(table) > 1]


def run_row(race: Race, name: str) -> Row:
    runs = race.runs[name]
    return (
        title(race),
        name,
        rate(runs),
        "" if name == BARE_BINDS else f"{race.times_kube_scheduler(name):.1f}",
        f"{race.share_of_bare(name):.0f} %",
        *(("", "") if name == BARE_BINDS else (seconds(runs.percentile(50)), seconds(runs.percentile(99)))),
        *used(runs.own),
        *used(runs.server),
    )


def title(race: Race) -> str:
    return f"{race.size.nodes:,} nodes, {race.size.gangs} gangs of 64{race.ask.value}"


def rate(runs: Runs) -> str:
    run = runs.unfinished
    if run is None:
        return f"{runs.rate:,.0f}"
    return f"{runs.rate:,.1f} (not finished: {run.bound:,} bound in {run.seconds:.0f} s)"


def seconds(value: float) -> str:
    return "none whole" if value != value else amount(value, "s")


def used(usage: Usage | None) -> tuple[str, str]:
    return ("", "") if usage is None else (amount(usage.peak, "MB"), amount(usage.cpu, "s"))


def goal_rows(race: Race) -> list[Row]:
    """Rack-bound gangs have a goal where kube-scheduler looks at many racks."""
    share, times = race.share_of_bare(MAITRED), race.times_kube_scheduler(MAITRED)
    rows = [goal_row(race, "of bare binds", "%", share, Goal(65, at_least=True))]
    goals = {Ask.FREE: 4, Ask.CLAIMS: 8, Ask.RACK: 40}
    if race.ask is not Ask.RACK or race.size.nodes >= 5_000:
        rows.append(goal_row(race, KUBE_SCHEDULER, "×", times, Goal(goals[race.ask], at_least=True)))
    return rows


def goal_row(race: Race, what: str, unit: str, reached: float, goal: Goal) -> Row:
    met = "yes" if goal.met(reached) else "**no**"
    return title(race), f"≥ {goal.limit:g} {unit} {what}", f"{amount(reached, unit)}", met


def cold_row(cold: ColdStart) -> Row:
    what = f"{cold.nodes:,} nodes, {cold.pods:,} pods that run and {cold.waiting:,} that wait"
    return what, amount(cold.ready, "s"), amount(cold.planned, "s"), *used(cold.used)


def eviction_row(case: Evictions, name: str) -> Row:
    """How many times sooner it has the last member bound than kube-scheduler."""
    last, theirs = (case.mean(who, lambda run: run.last_bind) for who in (name, KUBE_SCHEDULER))
    return (
        f"{case.nodes:,} nodes full, a gang of {case.members} × 8 GPUs",
        name,
        amount(case.mean(name, lambda run: run.first_eviction), "s"),
        amount(case.mean(name, lambda run: run.last_eviction), "s"),
        amount(last, "s"),
        f"{theirs / last:.1f}",
        f"{case.evicted(name):,}",
        *used(case.own(name)),
    )


def plain(found: Sequence[Found]) -> str:
    return "\n\n".join(map(plain_table, tables(found))) + f"\n\n{machine()}"


def plain_table(table: Table) -> str:
    bare = [tuple(cell.replace("*", "") for cell in row) for row in table]
    widths = [max(len(row[column]) for row in bare) for column in range(len(table[0]))]
    return "\n".join(line(row, widths) for row in bare)


def markdown(table: Table) -> str:
    texts = 2 if table[0][1] in (RUNS[1], GOALS[1], EVICTIONS[1]) else 1
    rule = tuple("---" if column < texts else "--:" for column in range(len(table[0])))
    return "".join(f"| {' | '.join(row)} |\n" for row in (table[0], rule, *table[1:]))


def refresh(found: Sequence[Found], release: str) -> None:
    head = f"\n`python -m benchmarks.kube --write` on Kubernetes {release}, {machine()}:\n\n"
    put_after(BEGIN, head + "\n".join(map(markdown, tables(found))) + "\n")
