"""Start estimates against what came of it: simulated weeks in which groups ask when they will start.

`python -m benchmarks.estimates`: a question is asked of the cluster as it is at some moment, with all that
has been seen so far as history. The run goes on, and the answer is held against the moment at which the group
started. Beside it, what the median of all waits so far would have said, or that of groups of its size.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

import msgspec
import numpy as np

from benchmarks.figures import say
from benchmarks.report import machine
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import ClusterState, Put
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.forecast import estimates
from maitred.explain.situation import Situation
from maitred.model.history import History, PastGroup
from maitred.model.meta import ObjectMeta
from maitred.model.objects import Object
from maitred.model.policy import Policy, Topology
from maitred.model.requests import pod_requests
from maitred.model.runtime import EXPECTED_RUNTIME
from maitred.simulate.clock import BEGINNING, HOUR, SECOND, Time, moment
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.run import simulate
from maitred.simulate.scenario.preparation import prepare, read_scenario
from maitred.simulate.seating.objects import group_key, is_lone, pod, pod_group, written
from maitred.simulate.setup import Setup

ASKED_FROM, ASKED_UNTIL = 24 * HOUR, 96 * HOUR
"""Nobody asks on the first day, of which there is nothing to remember."""
ASKED_AT_ONCE = 3
BETWEEN = HOUR
"""On average, from asking to asking again."""
TOLERANCE = 1.0
"""Seconds: estimates are written in whole ones."""
SEEDS, QUICK_SEEDS = 3, 1

HEAD = """
apiVersion: maitred.dev/v1alpha1
kind: Scenario
name: estimates
horizon: 9d
cluster:
  kinds:
  - {name: h100, racks: 4, nodes: 8, resources: {cpu: "96", memory: 1Ti, nvidia.com/gpu: 8}}
"""
SIZES = """
  workers: {values: [1, 2, 4, 8], weights: [4, 3, 2, 1]}
  gpus: 8
  runTime: {logNormal: {median: 2h, sigma: 0.8}}
"""
SCENARIOS = {
    "gangs of 1 to 8 nodes, full all week": f"""
workload:
- name: job
  arrivals: {{perHour: 4.2}}{SIZES}""",
    "gangs of 12 to 20 nodes among small ones": """
workload:
- name: train
  arrivals: {perHour: 0.15}
  workers: {values: [12, 16, 20]}
  gpus: 8
  runTime: {logNormal: {median: 4h, sigma: 0.4}}
- name: job
  arrivals: {perHour: 4}
  workers: {values: [1, 2, 4], weights: [3, 2, 1]}
  gpus: 8
  runTime: {logNormal: {median: 2h, sigma: 0.6}}
""",
    "parts of nodes, and gangs within a rack": """
workload:
- name: lone
  arrivals: {perHour: 15}
  gpus: {values: [1, 2, 4, 8], weights: [3, 2, 2, 1]}
  runTime: {logNormal: {median: 2h, sigma: 0.7}}
- name: gang
  arrivals: {perHour: 1.2}
  workers: {values: [2, 4, 6]}
  gpus: 8
  within: rack
  runTime: {logNormal: {median: 2h, sigma: 0.5}}
""",
    "two priorities, nobody is evicted": f"""
workload:
- name: low
  arrivals: {{perHour: 2.4}}{SIZES}
- name: high
  priority: 100
  arrivals: {{perHour: 1.5}}{SIZES}
policies:
  default: {{preemption: {{mode: never}}}}
""",
    "two priorities, with preemption": f"""
workload:
- name: low
  arrivals: {{perHour: 2.6}}{SIZES}
- name: high
  priority: 100
  arrivals: {{perHour: 1.2}}{SIZES}
""",
    "days and nights": f"""
workload:
- name: job
  arrivals:
    daily: true
    windows:
    - {{from: 0h, until: 8h, perHour: 2}}
    - {{from: 8h, until: 18h, perHour: 7}}
    - {{from: 18h, until: 24h, perHour: 2}}{SIZES}""",
}
UNSAID = "gangs of 1 to 8 nodes, full all week"
"""Asked once more with no word of how long anybody runs: history is all there is."""


@dataclass(slots=True, eq=False)
class Question:
    group: SimulatedGroup
    asked: float
    estimate: Estimate
    usual: float
    """What the median of all waits so far would have said,"""
    usual_of_size: float
    """and that of groups with as many members."""
    started: float = np.nan

    @property
    def wait(self) -> float:
        """From when it was asked."""
        return max(self.started - self.asked, 1.0)

    @property
    def inside(self) -> bool:
        return seconds(self.estimate.earliest) - TOLERANCE <= self.started <= self.latest + TOLERANCE

    @property
    def latest(self) -> float:
        return seconds(self.estimate.latest)

    @property
    def width(self) -> float:
        earliest = seconds(self.estimate.earliest)
        return np.inf if earliest == np.inf else self.latest - earliest

    @property
    def error(self) -> float:
        return abs(seconds(self.estimate.likely) - self.started)


def seconds(at: str | None) -> float:
    """Since the beginning of the run."""
    return np.inf if at is None else (datetime.fromisoformat(at) - BEGINNING).total_seconds()


class Asker(RunObserver):
    """Asks for some of those who wait, now and then."""

    def __init__(self, setup: Setup, policy: Policy, seed: int, said: bool) -> None:
        self.setup, self.policy, self.said = setup, policy, said
        self.questions: list[Question] = []
        self._chance = Random(seed)
        self._next: Time = ASKED_FROM
        self._open: list[Question] = []
        self._asked: set[SimulatedGroup] = set()
        """Once each: those who wait longest would have most of the say."""

    def settled(self, loop: Simulation) -> None:
        for question in self._open:
            if not question.group.waits:
                question.started = loop.now / SECOND
        self._open = [question for question in self._open if question.group.waits]
        if self._next <= loop.now < ASKED_UNTIL:
            self._ask(loop)
            self._next = loop.now + round(self._chance.expovariate(1) * BETWEEN)

    def _ask(self, loop: Simulation) -> None:
        waiting = [p for p in loop.groups if p.waits and not p.nominated and p not in self._asked]
        if not waiting:
            return
        chosen = self._chance.sample(waiting, min(ASKED_AT_ONCE, len(waiting)))
        self._asked.update(chosen)
        situation = Situation(self._snapshot(loop), self.policy, moment(loop.now), history=history_of(loop))
        answers = estimates(situation, [group_key(group.job) for group in chosen])
        for group in chosen:
            arrival, now = group.job.arrival / SECOND, loop.now / SECOND
            usual = max(now, arrival + usual_wait(loop.groups))
            alike = max(
                now, arrival + usual_wait(p for p in loop.groups if p.job.members == group.job.members)
            )
            self._open.append(Question(group, now, answers[group_key(group.job)], usual, alike))
        self.questions += self._open[-len(chosen) :]

    def _snapshot(self, loop: Simulation) -> Snapshot:
        """All of the queue: the seater of a run knows only its head."""
        state = ClusterState()
        for node in self.setup.nodes:
            state.apply(Put(node))
        for group in loop.groups:
            if group.phase != Phase.OVER:
                for item in objects(group, self.said):
                    state.apply(Put(item))
        return state.snapshot()


def objects(group: SimulatedGroup, said: bool) -> Iterator[Object]:
    """A group with a word of how long it runs."""
    job = group.job
    assert job.run_time is not None
    marks = {EXPECTED_RUNTIME: written(job.run_time)} if said else {}
    if not is_lone(job):
        made = pod_group(job)
        yield msgspec.structs.replace(made, metadata=marked(made.metadata, marks))
    for member in range(job.members):
        one = pod(group, member)
        yield msgspec.structs.replace(one, metadata=marked(one.metadata, marks)) if is_lone(job) else one


def marked(metadata: ObjectMeta, marks: dict[str, str]) -> ObjectMeta:
    return msgspec.structs.replace(metadata, annotations={**metadata.annotations, **marks})


def usual_wait(groups: Iterable[SimulatedGroup]) -> float:
    waits = [p.first_seated - p.job.arrival for p in groups if p.first_seated is not None]
    return float(np.median(waits)) / SECOND if waits else 0.0


def history_of(loop: Simulation) -> History:
    return History(since=stamp(0), groups=[past(group, loop) for group in loop.groups])


def past(group: SimulatedGroup, loop: Simulation) -> PastGroup:
    job = group.job
    return PastGroup(
        group=group_key(job),
        arrived=stamp(job.arrival),
        started=None if group.first_seated is None else stamp(group.first_seated),
        ended=None if group.ended is None else stamp(group.ended),
        finished=group in loop.ends and loop.ends[group][0] == "finished",
        members=job.members,
        quorum=job.quorum,
        priority=job.priority,
        requests=tuple(sorted(pod_requests(job.crews[0].spec).items())),
        required=job.within,
    )


def stamp(time: Time) -> float:
    return moment(time).timestamp()


def asked(name: str, seed: int, said: bool = True) -> list[Question]:
    """The questions of one run that were answered by what came of it."""
    scenario = read_scenario((HEAD + SCENARIOS[name]).encode(), name)
    setup = prepare(scenario, name, {}, seed)
    (policy,) = scenario.policies.values()
    policy = msgspec.structs.replace(policy, topology=Topology(setup.levels))
    asker = Asker(setup, policy, seed, said)
    simulate(setup, name, policy, seed, watchers=[asker])
    return [question for question in asker.questions if not np.isnan(question.started)]


# -- the table -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """How good the answers to some questions were."""

    questions: int
    inside: float
    width: float
    """The median of widths, as parts of the waits that followed."""
    error: float
    usual_error: float
    usual_error_of_size: float
    """Medians, in seconds."""

    @property
    def good(self) -> bool:
        return self.inside >= 0.9 and self.width <= 0.5 and self.error < self.usual_error


def judged(questions: Sequence[Question]) -> Judged:
    def median(measure: Callable[[Question], float]) -> float:
        return float(np.median([measure(question) for question in questions]))

    return Judged(
        questions=len(questions),
        inside=float(np.mean([question.inside for question in questions])),
        width=median(lambda question: question.width / question.wait),
        error=median(lambda question: question.error),
        usual_error=median(lambda question: abs(question.usual - question.started)),
        usual_error_of_size=median(lambda question: abs(question.usual_of_size - question.started)),
    )


HEADER = (
    "Cluster of 256 GPUs",
    "Questions",
    "Inside the range",
    "Width / wait",
    "Off by",
    "Median of waits off by",
    "of its size",
)


def row(name: str, found: Judged) -> tuple[str, ...]:
    errors = (found.error, found.usual_error, found.usual_error_of_size)
    return (
        name,
        str(found.questions),
        f"{found.inside:.1%}",
        f"{found.width:.2f}",
        *(f"{error / 60:.0f} min" for error in errors),
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    lines = [HEADER, ("---", *("--:" for _ in HEADER[1:])), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimates", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run of each scenario")
    seeds = range(QUICK_SEEDS if parser.parse_args().quick else SEEDS)
    rows, everything = list[tuple[str, ...]](), list[Question]()
    for name in SCENARIOS:
        say(f"{name} ...")
        questions = [question for seed in seeds for question in asked(name, seed)]
        everything += questions
        rows.append(row(name, judged(questions)))
    whole = judged(everything)
    rows.append(row("**all of them**", whole))
    say("without a word of run times ...")
    unsaid = [question for seed in seeds for question in asked(UNSAID, seed, said=False)]
    rows.append(row("the first again, run times not said", judged(unsaid)))
    print(f"{table(rows)}\n\n{machine()}")
    return int(not whole.good)


if __name__ == "__main__":
    sys.exit(main())
