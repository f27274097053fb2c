"""What is to be run: every policy with every seed, on one scenario."""

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
class Case:
    """One run."""

    name: str
    policy: Policy
    seed: int

    def __str__(self) -> str:
        return f"policy {self.name}, seed {self.seed}"


@dataclass(frozen=True)
class Study:
    """Everything that the runs need, so that it can be sent to where they run."""

    source: str
    scenario: Scenario
    files: Mapping[str, bytes]
    cases: tuple[Case, ...]

    def run(self, number: int, tick: Tick) -> Run:
        """The case of this number. Nothing that another run could have changed goes into it."""
        case = self.cases[number]
        setup = prepare(self.scenario, self.source, self.files, case.seed)
        return simulate(setup, case.name, case.policy, case.seed, tick)


def read_study(path: str, traces: str | None, policies: Sequence[str], seeds: Iterable[int]) -> Study:
    data, source = content(path)
    scenario = read_scenario(data, source)
    chosen = chosen_policies(policies, scenario.policies)
    for name, policy in chosen.items():
        check_order(name, policy)
    cases = [Case(name, policy, seed) for name, policy in chosen.items() for seed in seeds]
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


def chosen_policies(asked: Sequence[str], own: Mapping[str, Policy]) -> Mapping[str, Policy]:
    """By name; all of the scenario's if none are asked for. What is not one of their names is a file."""
    chosen: dict[str, Policy] = {}
    for text in asked:
        name, policy = (text, own[text]) if text in own else from_file(text, own)
        if name in chosen:
            raise InputError("--policy", "", "", f"two are called {name!r}; give one of them another name")
        chosen[name] = policy
    return chosen or own


def from_file(path: str, own: Mapping[str, Policy]) -> tuple[str, Policy]:
    if not Path(path).exists():
        what = f"{path!r} is neither a file nor one of the scenario's policies: {', '.join(own)}"
        raise InputError("--policy", "", "", what)
    return Path(path).stem, read_policy_file(path)[0]


def check_order(name: str, policy: Policy) -> None:
    """A policy says nothing that a run would ignore."""
    if policy.placement != "whole-groups" and policy.order != "priority":
        goes = f"in placement {policy.placement}, which goes by priority"
        what = f"{policy.order!r} has no say {goes}; leave it out"
        raise InputError(f"policy {name}", "", "order", what)
