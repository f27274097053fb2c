"""`python -m benchmarks.anchors.failures [--seeds 1,2,3]`: what failures cost in 54 days on 2,048 nodes.

The rate and the causes are those of the training of Llama 3. Every policy of `failures.yaml` sees the same
failures. The table is written as in docs/benchmarks.md. `--save` names a file that keeps runs, so that
they are not done again.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.figures import say
from benchmarks.report import machine
from maitred.simulate.clock import DAY
from maitred.simulate.results import PolicySummary, Run
from maitred.simulate.run import simulate
from maitred.simulate.scenario import prepare, read_scenario
from maitred.simulate.scenario.document import Scenario
from maitred.simulate.scenario.values import ScenarioDuration
from maitred.simulate.summary import summarise

SCENARIO = Path(__file__).with_suffix(".yaml")

LARGE = "pretrain"
"""The gang whose goodput is told apart."""


class Case(NamedTuple):
    policy: str
    seed: int
    days: int


class Outcome(msgspec.Struct, frozen=True):
    """What is kept of a run."""

    case: Case
    run: Run
    cpu_seconds: float


Row = tuple[str, Callable[[PolicySummary, Sequence[Outcome]], str]]


def main() -> int:
    args = arguments().parse_args()
    policies = args.policies.split(",") if args.policies else list(scenario().policies)
    cases = [Case(policy, int(seed), args.days) for seed in args.seeds.split(",") for policy in policies]
    outcomes = [one for one in gather(cases, args.jobs, args.save) if one.case in cases]
    by_policy = [[one for one in outcomes if one.case.policy == policy] for policy in policies]
    summaries = summarise([one.run for own in by_policy for one in own])
    print("\n".join(table(summaries, by_policy)), machine(), sep="\n\n")
    return 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anchors.failures", description=__doc__)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--policies", default="", help="names from failures.yaml; the first is the baseline")
    parser.add_argument("--days", type=int, default=54)
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--save", type=Path, help="a file of results, which are added to it")
    return parser


# -- runs --------------------------------------------------------------------------------------------------


def scenario() -> Scenario:
    return read_scenario(SCENARIO.read_bytes(), str(SCENARIO))


def gather(cases: Sequence[Case], jobs: int, save: Path | None) -> list[Outcome]:
    known = load(save)
    left = [case for case in cases if case not in {one.case for one in known}]
    with get_context("spawn").Pool(jobs) as pool:
        for outcome in pool.imap_unordered(play, left):
            say(f"{outcome.case.policy}, seed {outcome.case.seed}: {outcome.cpu_seconds:.0f} s of CPU")
            known.append(outcome)
            if save is not None:
                with save.open("ab") as file:
                    file.write(msgspec.json.encode(outcome) + b"\n")
    return known


def load(save: Path | None) -> list[Outcome]:
    if save is None or not save.exists():
        return []
    return [msgspec.json.decode(line, type=Outcome) for line in save.read_bytes().splitlines()]


def play(case: Case) -> Outcome:
    begun, told = time.process_time(), scenario()
    told = msgspec.structs.replace(told, horizon=ScenarioDuration(case.days * DAY))
    run = simulate(
        prepare(told, SCENARIO.name, {}, case.seed), case.policy, told.policies[case.policy], case.seed
    )
    kept = tuple(one for one in run.outcomes if one.job.startswith(LARGE))
    run = msgspec.structs.replace(run, outcomes=kept, samples=(), floor=None)
    return Outcome(case, run, time.process_time() - begun)


# -- the table ---------------------------------------------------------------------------------------------


def table(summaries: Sequence[PolicySummary], runs: Sequence[Sequence[Outcome]]) -> Iterable[str]:
    yield f"| device-hours, mean of {len(runs[0])} seeds | {' | '.join(one.policy for one in summaries)} |"
    yield f"|---|{'---:|' * len(summaries)}"
    base = summaries[0].failure_cost.total
    rows: list[Row] = [
        ("below quorum", lambda one, own: f"{one.failure_cost.below_quorum:,.0f}"),
        ("work done twice", lambda one, own: f"{one.failure_cost.done_twice:,.0f}"),
        ("spares", lambda one, own: f"{one.failure_cost.spares:,.0f}"),
        ("**cost**", lambda one, own: f"**{one.failure_cost.total:,.0f}**"),
        ("saved", lambda one, own: f"{1 - one.failure_cost.total / base:.1%}"),
        ("saved, seed by seed", lambda one, own: between(saved(own, runs[0]))),
        ("starting", lambda one, own: f"{one.device_hours['starting']:,.0f}"),
        (
            "idle or fragmented",
            lambda one, own: f"{one.device_hours['idle'] + one.device_hours['fragmented']:,.0f}",
        ),
        ("broken, not held", lambda one, own: f"{one.device_hours['broken']:,.0f}"),
        ("goodput: productive of all", lambda one, own: f"{one.utilisation['productive']:.2%}"),
        ("goodput of the large gang", lambda one, own: f"{mean(map(goodput, own)):.2%}"),
        ("over seeds", lambda one, own: between(list(map(goodput, own)))),
        ("groups hit by failures", lambda one, own: f"{one.failures:,.0f}"),
        ("evictions", lambda one, own: f"{one.evictions:,.0f}"),
    ]
    for label, figure in rows:
        cells = " | ".join(figure(one, own) for one, own in zip(summaries, runs, strict=True))
        yield f"| {label} | {cells} |"


def saved(own: Sequence[Outcome], baseline: Sequence[Outcome]) -> list[float]:
    cost = {one.case.seed: cost_of(one) for one in baseline}
    return [1 - cost_of(one) / cost[one.case.seed] for one in own]


def cost_of(outcome: Outcome) -> float:
    (summary,) = summarise([outcome.run])
    return summary.failure_cost.total


def goodput(outcome: Outcome) -> float:
    (job,) = outcome.run.outcomes
    return job.useful_device_seconds / (job.devices * (outcome.run.duration - job.arrival))


def between(shares: Sequence[float]) -> str:
    return f"{min(shares):.1%} to {max(shares):.1%}"


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


if __name__ == "__main__":
    sys.exit(main())
