"""What is to be run: every policy with every seed, on one scenario."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from maitred.cli.files import content, read_policy_file
from maitred.model.manifest import InputError
from maitred.model.policy import Policy
from maitred.simulate.results import Run
from maitred.simulate.run import simulate
from maitred.simulate.scenario import Scenario, prepare, read_scenario

Tick = Callable[[float], None]
"""Is told now and then how far a run is, from 0 to 1."""


class EngineError(Exception):
    """The runs could not be brought to an end, through no fault of the input."""


@dataclass(frozen=True)
class PolicyChoice:
    """A policy that was chosen, and where it is written."""

    policy: Policy
    source: str
    place: str = ""
    """What comes before the names of its fields, in the file of a scenario."""

    def refusal(self, field: str, what: str) -> InputError:
        return InputError(self.source, "", f"{self.place}{field}", what)


@dataclass(frozen=True)
class StudyCase:
    """One run."""

    name: str
    choice: PolicyChoice
    seed: int

    def __str__(self) -> str:
        return f"policy {self.name}, seed {self.seed}"


@dataclass(frozen=True)
class Study:
    """Everything that the runs need, so that it can be sent to where they run."""

    source: str
    scenario: Scenario
    files: Mapping[str, bytes]
    cases: tuple[StudyCase, ...]

    def run(self, number: int, tick: Tick) -> Run:
        """The case of this number. Nothing that another run could have changed goes into it."""
        case = self.cases[number]
        queues = any(other.choice.policy.queues for other in self.cases)
        setup = prepare(self.scenario, self.source, self.files, case.seed, queues)
        try:
            return simulate(setup, case.name, case.choice.policy, case.seed, tick)
        except InputError as problem:
            raise case.choice.refusal(problem.field, problem.what) from None


def read_study(path: str, traces: str | None, policies: Sequence[str], seeds: Iterable[int]) -> Study:
    data, source = content(path)
    scenario = read_scenario(data, source)
    own = {
        name: PolicyChoice(policy, source, f"policies.{name}.") for name, policy in scenario.policies.items()
    }
    chosen = chosen_policies(policies, own)
    for choice in chosen.values():
        check_order(choice)
        check_calendar(choice)
        check_nodes(choice)
    cases = [StudyCase(name, choice, seed) for name, choice in chosen.items() for seed in seeds]
    return Study(source, scenario, read_files(scenario, source, path, traces), tuple(cases))


def read_files(scenario: Scenario, source: str, path: str, traces: str | None) -> Mapping[str, bytes]:
    """What the scenario names, from the folder of traces or beside it."""
    folder, files = Path(path).parent if traces is None else Path(traces), dict[str, bytes]()
    for name, field in scenario.files().items():
        try:
            files[name] = content(str(folder / name))[0]
        except InputError as problem:
            hint = "; --traces names another folder" if traces is None else ""
            raise InputError(source, "", field, f"{problem}{hint}") from None
    return files


def chosen_policies(asked: Sequence[str], own: Mapping[str, PolicyChoice]) -> Mapping[str, PolicyChoice]:
    """By name; all of the scenario's if none are asked for. What is not one of their names is a file."""
    chosen: dict[str, PolicyChoice] = {}
    for text in asked:
        name, choice = (text, own[text]) if text in own else from_file(text, own)
        if name in chosen:
            raise InputError("--policy", "", "", f"two policies have the name {name!r}; rename one of them")
        chosen[name] = choice
    return chosen or own


def from_file(path: str, own: Mapping[str, PolicyChoice]) -> tuple[str, PolicyChoice]:
    if not os.path.exists(path):
        what = f"{path!r} is neither a file nor one of the scenario's policies: {', '.join(own)}"
        raise InputError("--policy", "", "", what)
    return Path(path).stem, PolicyChoice(read_policy_file(path)[0], path)


def check_order(choice: PolicyChoice) -> None:
    """A policy says nothing that a run would ignore."""
    policy = choice.policy
    if policy.placement != "whole-groups" and policy.order != "priority":
        goes = f"with placement {policy.placement}, which orders jobs by priority"
        what = f"{policy.order!r} has no effect {goes}; leave it out"
        raise choice.refusal("order", what)


def check_calendar(choice: PolicyChoice) -> None:
    if choice.policy.reservations:
        what = "are on days of the calendar, which simulations do not have; leave them out"
        raise choice.refusal("reservations", what)


def check_nodes(choice: PolicyChoice) -> None:
    if choice.policy.provisioning.class_name:
        what = "asks an autoscaler for nodes, and simulations have none; leave it out"
        raise choice.refusal("provisioning", what)
