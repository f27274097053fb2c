"""What a scenario may not say. Every finding names the file, the field and what is wrong with it."""

import json

import pytest

from maitred.model.duration import FORM
from maitred.model.manifest import InputError
from maitred.simulate.scenario import read_scenario
from tests.simulate.scenario.writing import entry, setup

GOOD = "arrivals: {perHour: 1}, runTime: 1h"
ITP = b"job_id,submission_time,duration,num_gpu\n1,0,60,8\n"
TWO = ITP + b"2,100,60,8\n"
NINES = "9" * 400
SPLIT = "; split a window over midnight in two, one until 24h and one from 0h"


def refusal(text: str, files: dict[str, bytes] | None = None) -> str:
    with pytest.raises(InputError) as refused:
        setup(text, files=files)
    return str(refused.value)


def test_the_scenario_that_the_others_are_changed_from_is_good() -> None:
    assert setup(entry(GOOD)).workload


@pytest.mark.parametrize(
    ("arrivals", "error"),
    [
        ("{}", ": give one of perHour, every, at, windows"),
        ("{perHour: 1, every: 1h}", ": give one of perHour, every, at, windows"),
        ("{perHour: 0}", ".perHour: must be more than 0, not 0"),
        ("{perHour: -2.5}", ".perHour: must be more than 0, not -2.5"),
        ("{perHour: .nan}", ".perHour: must be more than 0, not nan"),
        ("{perHour: 1000000}", ".perHour: would make about 240000000 jobs; at most 1000000 are possible"),
        ("{every: 0s}", ".every: must be more than 0"),
        ("{every: 1ms}", ".every: would make about 864000000 jobs; at most 1000000 are possible"),
        ("{every: -3m}", ".every: -3m is a negative time"),
        ("{at: [1h, -1h]}", ".at[1]: -1h is a negative time"),
        ("{at: []}", ".at: is empty; no job would arrive"),
        (
            "{at: [1h], jobs: 3}",
            ".jobs: cannot be combined with at, which says when jobs arrive; leave it out",
        ),
        ("{perHour: 1, from: 3h, until: 2h}", ".until: is not after from"),
        ("{perHour: 1, daily: true}", ".daily: needs windows; add at least one"),
        ("{windows: []}", ".windows: is empty; no job would arrive"),
        (
            "{windows: [{from: 2h, until: 4h, perHour: 1}, {from: 1h, until: 3h, perHour: 2}]}",
            ".windows[0]: overlapping rates: windows[1] has not ended",
        ),
        (
            "{windows: [{from: 3h, until: 1h, perHour: 1}]}",
            ".windows[0].until: is not after from",
        ),
        (
            "{windows: [{from: 1h, until: 3h, perHour: 0}]}",
            ".windows[0].perHour: must be more than 0, not 0",
        ),
        (
            "{daily: true, windows: [{from: 20h, until: 30h, perHour: 1}]}",
            f".windows[0].until: a day has 24 hours{SPLIT}",
        ),
        (
            "{daily: true, windows: [{from: 20h, until: 8h, perHour: 1}]}",
            f".windows[0].until: is not after from{SPLIT}",
        ),
    ],
)
def test_arrivals(arrivals: str, error: str) -> None:
    text = entry(f"runTime: 1h, arrivals: {arrivals}")
    assert refusal(text) == f"s.yaml: workload[0].arrivals{error}"


@pytest.mark.parametrize(
    ("arrivals", "error"),
    [
        ("{perHour: 1}", "perHour: would never end; set a horizon, or until or jobs here"),
        ("{every: 1h}", "every: would never end; set a horizon, or until or jobs here"),
        (
            "{daily: true, windows: [{from: 1h, until: 3h, perHour: 1}], jobs: 5}",
            "daily: would never end; set a horizon, or until here",
        ),
        ("{every: 400d, jobs: 100}", "every: 100 jobs would take more than a hundred years to arrive"),
        ("{perHour: 1e-15, jobs: 3}", "perHour: 3 jobs would take more than a hundred years to arrive"),
        ("{perHour: 1e-320, jobs: 3}", "perHour: 3 jobs would take more than a hundred years to arrive"),
    ],
)
def test_arrivals_must_end(arrivals: str, error: str) -> None:
    text = entry(f"runTime: 1h, arrivals: {arrivals}", rest="")
    assert refusal(text) == f"s.yaml: workload[0].arrivals.{error}"


@pytest.mark.parametrize(
    ("time", "error"),
    [
        ("soon", f"'soon' is not {FORM}"),
        ("'1 h'", f"'1 h' is not {FORM}"),
        ("true", f"'True' is not {FORM}"),
        (".inf", f"'inf' is not {FORM}"),
        ("-3", "-3 is a negative time"),
        ("-3h", "-3h is a negative time"),
        ("40000d", f"'40000d' is not {FORM}"),
        (f"{NINES}d", f"'{NINES[:40]}' is not {FORM}"),
        ("1e305", f"'1e+305' is not {FORM}"),
        ("{values: [1h, 999999h]}", f"values[1]: '999999h' is not {FORM}"),
        ("{}", "give one of values, logNormal, exponential and uniform"),
        (
            "{exponential: {mean: 1h}, values: [1h]}",
            "give one of values, logNormal, exponential and uniform",
        ),
        ("{lognormal: {median: 1h, sigma: 1}}", "lognormal: there is no such field; did you mean logNormal?"),
        ("{logNormal: {median: 1h}}", "logNormal.sigma: is required"),
        ("{logNormal: {median: 0s, sigma: 1}}", "logNormal.median: must be more than 0"),
        ("{logNormal: {median: 1h, sigma: -1}}", "logNormal.sigma: must be at least 0, not -1"),
        ("{exponential: {mean: 0}}", "exponential.mean: must be more than 0"),
        ("{uniform: {from: 2h, until: 1h}}", "uniform.until: is before from"),
        ("{values: []}", "values: is empty"),
        ("{values: [1h, -2h]}", "values[1]: -2h is a negative time"),
        ("{values: [1h, 2h], weights: [1]}", "weights: there are 1, and 2 values"),
        ("{values: [1h], weights: [0]}", "weights[0]: must be more than 0, not 0"),
        ("{weights: [1]}", "weights: need values; add values"),
    ],
)
def test_times(time: str, error: str) -> None:
    text = entry(f"arrivals: {{perHour: 1}}, runTime: {time}")
    assert refusal(text) == f"s.yaml: workload[0].runTime: {error}"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ("workers: 0", "workers: must be from 1 to 100000, not 0"),
        ("workers: -1", "workers: must be at least 0, not -1"),
        ("workers: 1.5", "workers: expected a whole number, got a number"),
        ("workers: {values: [1, 2], weights: [1, 2, 3]}", "workers: weights: there are 3, and 2 values"),
        ("workers: {values: [1, many]}", "workers: values[1]: expected a whole number, got a string"),
        ("gpus: 5000", "gpus: must be from 0 to 1024, not 5000"),
        ("quorum: 0", "quorum: must be at least 1, not 0"),
        ("cancelled: 1.5", "cancelled: must be at most 1, not 1.5"),
        ("priority: 99999999999", "priority: must be at most 2147483647, not 99999999999"),
        ("grace: -1s", "grace: -1s is a negative time"),
        ("minRunTime: long", f"minRunTime: 'long' is not {FORM}"),
        ("maxRuntime: 2h", "maxRuntime: expected an object, got a string"),
        ("maxRuntime: {from: 1}", "maxRuntime.until: is required"),
        ("maxRuntime: {from: 0.5, until: 2}", "maxRuntime.from: must be at least 1, not 0.5"),
        ("maxRuntime: {from: 3, until: 2}", "maxRuntime.until: is less than from"),
        ("disruption: all", "disruption: 'all' is not one of Pod, PodGroup"),
        ("within: rak", "within: 'rak' is neither a topology level (block, rack) nor a label of any node"),
        ("within: a b", "within: 'a b' is not a label key"),
        ("cpu: lots", "cpu: 'lots' is not a quantity, such as 500m, 4, 1.5Gi or 2e3"),
        ("memory: -1Gi", "memory: '-1Gi' is negative"),
        ("startUp: -1s", "startUp: -1s is a negative time"),
        ("stay: true", "stay: contradicts runTime; give one of the two"),
        ("start: 1h", "start: there is no such field; did you mean startUp?"),
        ("trace: {format: itp, file: jobs.csv}", "arrivals: give either arrivals or a trace"),
    ],
)
def test_entries(fields: str, error: str) -> None:
    assert refusal(entry(f"{GOOD}, {fields}")) == f"s.yaml: workload[0].{error}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("workload: []", "workload: is empty; nothing would arrive"),
        ("workload: [{name: a}]", "workload[0].arrivals: give either arrivals or a trace"),
        ("workload: [{arrivals: {every: 1h}, runTime: 1h}]\nhorizon: 1d", "workload[0].name: is required"),
        (
            "workload: [{name: A b, arrivals: {at: [0]}, runTime: 1h}]",
            "workload[0].name: 'A b' is not a valid name for pods: use a-z, 0-9 and '-' only",
        ),
        (
            "workload: [{name: a, arrivals: {at: [0]}}]",
            "workload[0].runTime: is required; or stay: true for jobs that never end",
        ),
        (
            "workload: [{name: a, arrivals: {at: [0]}, stay: true, maxRuntime: {from: 1, until: 2}}]",
            "workload[0].stay: contradicts maxRuntime; give one of the two",
        ),
        (
            "workload: [&a {name: a, arrivals: {at: [0]}, runTime: 1h}, *a]",
            "workload[1].name: 'a' is already used by workload[0]; give each entry another name",
        ),
        (
            "workload: [{name: a, arrivals: {at: [0]}, stay: true}]\nfaults: {perThousandNodeDays: 1}",
            "horizon: is required: some jobs stay and nodes break, so the run would never end",
        ),
    ],
)
def test_workloads(text: str, error: str) -> None:
    assert refusal(text) == f"s.yaml: {error}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("horizn: 3d", "horizn: there is no such field; did you mean horizon?"),
        ("kind: Policy", "kind: 'Policy' is not Scenario"),
        ("cycle: -1s", "cycle: -1s is a negative time"),
        ("policies: {}", "policies: is empty; leave it out for the default policy"),
        ("policies: {a: , b: {order: fifo}}", "policies.a: is empty; write {} for the defaults"),
        ("policies: {a: {}, b: ~}", "policies.b: is empty; write {} for the defaults"),
        ("policies: {a: {ordr: fifo}}", "policies.a.ordr: there is no such field; did you mean order?"),
        ("policies: {a b: {}}", "policies: 'a b' is not a name: letters, digits, '-' and '.' only"),
        (
            "policies: {a: {topology: {levels: [{name: x, key: a b}]}}}",
            "policies.a.topology.levels[0].key: 'a b' is not a label key",
        ),
        ("cluster: {kinds: []}", "cluster.kinds: is empty; leave it out for the usual 64 nodes"),
        (
            "cluster: {kinds: [{name: a, resources: {cpu: x}}]}",
            "cluster.kinds[0].resources.cpu: 'x' is not a quantity, such as 500m, 4, 1.5Gi or 2e3",
        ),
        (
            "cluster: {kinds: [{name: a, resources: {nvidia.com/gpu: 1500m}}]}",
            "cluster.kinds[0].resources.nvidia.com/gpu: '1500m' is not a whole number",
        ),
        (
            "cluster: {trace: {format: lingjun, file: y, resources: {nvidia.com/gpu: 7.5}}}",
            "cluster.trace.resources.nvidia.com/gpu: 7.5 is not a whole number",
        ),
        (
            "cluster: {levels: {rack: example.com/block}}",
            "cluster.levels.rack: 'example.com/block' is also the key of the blocks; use another",
        ),
        (
            "cluster: {trace: {format: philly, file: y}}",
            "cluster.trace.format: 'philly' is not one of kubectl, lingjun, openb, record",
        ),
        (
            "cluster: {trace: {format: openb, file: y, resources: {cpu: 1}}}",
            "cluster.trace.resources: cannot be combined with a trace of nodes, which says what each node "
            "has; leave it out",
        ),
        (
            "cluster: {kinds: [{name: a, resources: {}}], trace: {format: openb, file: y}}",
            "cluster.trace: cannot be combined with kinds; give one of the two",
        ),
        ("faults: {}", "faults.perThousandNodeDays: is required"),
        ("faults: {perThousandNodeDays: 0}", "faults.perThousandNodeDays: must be more than 0, not 0"),
        (
            "faults: {perThousandNodeDays: 1, lemons: {share: 2, carry: 1}}",
            "faults.lemons.share: must be less than 1, not 2",
        ),
        (
            "faults: {perThousandNodeDays: 1, causes: .}",
            "faults.causes: '.' is not the name of a file",
        ),
        (
            "faults: {perThousandNodeDays: 1, repair: {device: -5m}}",
            "faults.repair.device: -5m is a negative time",
        ),
    ],
)
def test_the_rest(text: str, error: str) -> None:
    assert refusal(f"{entry(GOOD)}{text}") == f"s.yaml: {error}"


def test_a_horizon_of_nothing_and_a_name_of_nothing() -> None:
    assert refusal(entry(GOOD, "horizon: 0")) == "s.yaml: horizon: must be more than 0"
    with pytest.raises(InputError, match=r"s\.yaml: name: is required"):
        read_scenario(entry(GOOD).encode(), "s.yaml")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (
            "trace: {format: itp, file: f}, gpus: 3",
            "workload[0].gpus: cannot be combined with a trace, which already says it; leave it out",
        ),
        (
            "trace: {format: openb, file: f}, cpu: 3",
            "workload[0].cpu: cannot be combined with a trace, which already says it; leave it out",
        ),
        (
            "trace: {format: itp, file: f}, quorum: 3",
            "workload[0].quorum: cannot be combined with a trace, which already says it; leave it out",
        ),
        (
            "trace: {format: itp, file: f, gangs: owners}",
            "workload[0].trace.gangs: is only for traces with pods and their owners, such as kubectl "
            "dumps; leave it out",
        ),
        (
            "trace: {format: kubectl, file: f, gangs: jobs}",
            "workload[0].trace.gangs: 'jobs' is not one of declared, owners",
        ),
        ("trace: {format: itp, file: ''}", "workload[0].trace.file: is required: the path of a file"),
        (
            "trace: {format: itp, file: f, from: 2h, until: 1h}",
            "workload[0].trace.until: is not after from",
        ),
        (
            "trace: {format: itp, file: f, from: 2h}",
            "workload[0].trace.file: f has no jobs between from and until",
        ),
        (
            "trace: {format: philly, file: f}",
            "workload[0].trace.format: 'philly' is not one of itp, kubectl, muri, openb, record",
        ),
        ("trace: {format: itp, file: f, speed: 0}", "workload[0].trace.speed: must be more than 0, not 0"),
        (
            "trace: {format: itp, file: f, speed: 1e-320}",
            "workload[0].trace.speed: is too slow: the jobs would take more than a hundred years to arrive",
        ),
    ],
)
def test_traces(fields: str, error: str) -> None:
    assert refusal(entry(fields), {"f": TWO}).startswith(f"s.yaml: {error}")


@pytest.mark.parametrize("file", [".", "..", "traces/", "traces/..", "-", "./-", "a\0b"])
def test_a_file_has_the_name_of_one(file: str) -> None:
    """Also where a job's name would come from it."""
    name = json.dumps(file)
    text = f"workload: [{{trace: {{format: itp, file: {name}}}}}]"
    assert refusal(text) == f"s.yaml: workload[0].trace.file: {file!r} is not the name of a file"


def test_files_are_named_in_what_is_said_of_them() -> None:
    text = entry("trace: {format: itp, file: jobs.csv}")
    assert refusal(text, {"jobs.csv": b"job_id,duration,num_gpu\n"}) == (
        "jobs.csv: line 1: submission_time: there is no such column; there are job_id, duration, num_gpu"
    )
    assert refusal(text, {"jobs.csv": ITP.replace(b"60", b"-60")}) == (
        "jobs.csv: line 2: duration: -60 is negative"
    )
    assert refusal(text, {"jobs.csv": ITP.splitlines()[0]}) == (
        "s.yaml: workload[0].trace.file: jobs.csv has no jobs"
    )


def test_a_trace_without_run_times_needs_some() -> None:
    pods = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\n"
    text = entry("trace: {format: openb, file: f, shuffle: true}")
    said = refusal(text, {"f": pods})
    assert "workload[0].runTime: is required: the trace does not say how long 1 of 1" in said


def test_names_that_come_to_the_same_are_refused() -> None:
    rows = ITP.replace(b"1,0", b"b-00001,0")
    text = """workload:
- {name: a, trace: {format: itp, file: f}}
- {name: a-b, arrivals: {at: [0s]}, runTime: 1h}
"""
    what = "another job has the name a-b-00001; choose another name"
    assert refusal(text, {"f": rows}) == f"s.yaml: workload[1].name: {what}"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ('queue: "a b"', "queue: 'a b' is not a name: letters, digits, '-' and '.' only"),
        (f"queue: {'q' * 64}", "queue: is 64 characters long; the API allows 63"),
        (f"user: {'u' * 201}", "user: is 201 characters long; 200 are allowed"),
    ],
)
def test_queues_and_users(fields: str, error: str) -> None:
    assert refusal(entry(f"{GOOD}, {fields}")) == f"s.yaml: workload[0].{error}"
