"""From a scenario, its files and a seed to all that a run begins with."""

from collections.abc import Mapping, Sequence

from maitred.model.manifest.errors import FieldError, InputError
from maitred.model.manifest.settings import read_settings
from maitred.model.node import Node
from maitred.model.policy import Level
from maitred.simulate.faults import Breakdowns, Reaction
from maitred.simulate.jobs import WHOLE, SimulatedJob
from maitred.simulate.scenario.breakage import device_count, faults_of
from maitred.simulate.scenario.checks import check_scenario, inside
from maitred.simulate.scenario.cluster import levels_of, nodes_of, warnings_of
from maitred.simulate.scenario.document import Scenario, WrittenReaction
from maitred.simulate.scenario.streams import Streams
from maitred.simulate.scenario.values import read_value
from maitred.simulate.scenario.workload import WorkloadInputs, jobs_of
from maitred.simulate.setup import Setup
from maitred.simulate.traces.causes import USUAL, read_causes


def read_scenario(data: bytes, source: str) -> Scenario:
    """Raises InputError, which names the file and the field."""
    scenario, _ = read_settings(data, source, Scenario, read_value, named=("policies",))
    try:
        check_scenario(scenario)
    except FieldError as problem:
        raise InputError(source, "", problem.field, problem.what) from None
    return scenario


def prepare(
    scenario: Scenario, source: str, files: Mapping[str, bytes], seed: int, queues: bool = False
) -> Setup:
    """What a run begins with; the same seed gives the same. It serves one run: faults are drawn only once.

    `files` has the content of all that `scenario.files()` names; `queues`: whether any policy has queues, so
    that those count that a dump or record names. Raises InputError.
    """
    try:
        return set_up(scenario, files, Streams(seed), queues)
    except FieldError as problem:
        raise InputError(source, "", problem.field, problem.what) from None


def set_up(scenario: Scenario, files: Mapping[str, bytes], streams: Streams, queues: bool = False) -> Setup:
    nodes = nodes_of(scenario.cluster, files)
    levels = levels_of(scenario.cluster.levels, nodes)
    check_within(scenario, nodes, levels)
    supply = WorkloadInputs(files, streams, scenario.horizon, sum(map(device_count, nodes)) * WHOLE, queues)
    workload, warnings, names = list[SimulatedJob](), warnings_of(scenario.cluster, nodes), set[str]()
    for position, entry in enumerate(scenario.workload):
        with inside(f"workload[{position}]"):
            jobs, words = jobs_of(entry, supply)
            check_names(jobs, names)
        workload += jobs
        warnings += words
    return Setup(
        nodes=nodes,
        workload=tuple(sorted(workload, key=lambda job: job.arrival)),
        faults=faults(scenario, nodes, files, streams),
        reaction=reaction(scenario.faults.reaction) if scenario.faults and scenario.faults.reaction else None,
        horizon=scenario.horizon,
        period=scenario.cycle,
        levels=levels,
        warnings=tuple(warnings),
    )


def faults(
    scenario: Scenario, nodes: Sequence[Node], files: Mapping[str, bytes], streams: Streams
) -> Breakdowns:
    faulty = scenario.faults
    if faulty is None:
        return iter(())
    causes = read_causes(files[faulty.causes], faulty.causes) if faulty.causes else USUAL
    return faults_of(faulty, causes, nodes, scenario.cluster.levels.rack, streams)


def reaction(written: WrittenReaction) -> Reaction:
    return Reaction(written.detection, written.eviction, written.retry, written.relapse)


def check_names(jobs: Sequence[SimulatedJob], taken: set[str]) -> None:
    """Names begin with that of their entry, and still `a` with `b-1` and `a-b` with `1` come to the same."""
    for job in jobs:
        if job.name in taken:
            raise FieldError("name", f"another job has the name {job.name}; choose another name")
        taken.add(job.name)


def check_within(scenario: Scenario, nodes: Sequence[Node], levels: Sequence[Level]) -> None:
    """A level that no node is in would keep jobs waiting for ever."""
    named = [*levels, *(level for policy in scenario.policies.values() for level in policy.topology.levels)]
    names = {level.name for level in named}
    for position, entry in enumerate(scenario.workload):
        if entry.within and entry.within not in names and not labelled(nodes, entry.within):
            known = ", ".join(sorted(names)) or "none"
            what = f"{entry.within!r} is neither a topology level ({known}) nor a label of any node"
            raise FieldError(f"workload[{position}].within", what)


def labelled(nodes: Sequence[Node], key: str) -> bool:
    return any(key in node.metadata.labels for node in nodes)
