"""From the file to what a run begins with."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from maitred.model.node import allocatable
from maitred.model.policy import Level, Policy
from maitred.model.requests import pod_requests
from maitred.simulate.clock import HOUR, SECOND
from maitred.simulate.scenario import prepare, read_scenario
from maitred.simulate.traces.workers import MODEL
from tests.simulate.data import shared
from tests.simulate.scenario.writing import HEAD, entry, setup

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
ONE = "arrivals: {at: [0s]}, runTime: 1h"
ITP = b"job_id,submission_time,duration,num_gpu\n1,100,60,8\n2,200,60,16\n3,500,60,1\n4,900,60,1\n"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_examples_are_valid(file: Path) -> None:
    scenario = read_scenario(file.read_bytes(), file.name)
    files = {name: (file.parent / name).read_bytes() for name in scenario.files()}
    ready = prepare(scenario, file.name, files, 1)
    assert ready.nodes
    assert ready.workload
    assert "whole-groups" in {policy.placement for policy in scenario.policies.values()}
    assert len(scenario.policies) > 1


def test_a_job_has_all_that_is_said_of_its_entry() -> None:
    ready = setup(
        entry(
            "arrivals: {at: [1h]}, workers: 4, quorum: 3, gpus: 2, cpu: 6, memory: 10Gi, models: [B, A], "
            "runTime: 2h, priority: 7, within: rack, startUp: 90s, checkpoint: 30m, patience: 1d, "
            "grace: 30s, minRunTime: 10m, nonPreemptible: true, disruption: PodGroup, "
            "rendezvous: 10m"
        )
    )
    (job,) = ready.workload
    assert (job.name, job.arrival, job.run_time, job.quorum) == ("a-00001", HOUR, 2 * HOUR, 3)
    assert (job.priority, job.within, job.start_up, job.checkpoint) == (7, "rack", 90 * SECOND, HOUR // 2)
    assert (job.grace, job.min_run_time) == (30 * SECOND, 600 * SECOND)
    assert (job.non_preemptible, job.disruption) == (True, "PodGroup")
    assert (job.patience, job.rendezvous, job.cancelled) == (24 * HOUR, HOUR // 6, None)
    (crew,) = job.crews
    assert (crew.count, crew.devices, crew.models) == (4, 2, ("A", "B"))
    requests = pod_requests(crew.spec)
    assert (requests["cpu"], requests["memory"], requests["nvidia.com/gpu"]) == (6000, 10 * 2**30, 2)


def test_limits_are_drawn_between_multiples_of_what_jobs_need() -> None:
    some = "arrivals: {every: 1h}, runTime: {uniform: {from: 10m, until: 2h}}, startUp: 90s"
    exact, drawn = (
        setup(entry(f"{some}, maxRuntime: {{from: 1, until: {most}}}")).workload for most in (1, 10)
    )
    assert [job.run_time for job in exact] == [job.run_time for job in drawn], "no other stream moves"
    needed = [(job.run_time or 0) + job.start_up for job in exact]
    for job, least in zip(exact, needed, strict=True):
        assert job.limit is not None
        assert job.limit % SECOND == 0
        assert least <= job.limit < least + SECOND
    factors = [(job.limit or 0) / least for job, least in zip(drawn, needed, strict=True)]
    assert min(factors) >= 1
    assert max(factors) > 9
    assert {job.limit for job in setup(entry(some)).workload} == {None}


def test_a_quorum_is_no_larger_than_the_job() -> None:
    jobs = setup(entry("arrivals: {every: 1h}, runTime: 1h, workers: {values: [1, 8]}, quorum: 4")).workload
    assert {(job.members, job.quorum) for job in jobs} == {(1, 1), (8, 4)}


def test_jobs_that_stay_never_end() -> None:
    (job,) = setup(entry("arrivals: {at: [0]}, stay: true")).workload
    assert job.run_time is None


def test_a_job_larger_than_the_cluster_is_kept() -> None:
    (job,) = setup(entry(f"{ONE}, workers: 5000, gpus: 64")).workload
    assert job.members == 5000


def test_jobs_of_all_entries_come_in_the_order_of_their_arrival() -> None:
    text = """workload:
- {name: late, arrivals: {at: [2h, 1h]}, runTime: 1h}
- {name: early, arrivals: {at: [0h, 1h]}, runTime: 1h}
"""
    assert [job.name for job in setup(text).workload] == [
        "early-00001",
        "late-00001",
        "early-00002",
        "late-00002",
    ]


def test_the_cluster_is_the_usual_one_or_as_described() -> None:
    usual = setup(entry(ONE))
    assert len(usual.nodes) == 64
    assert usual.levels == (Level("block", "example.com/block"), Level("rack", "example.com/rack"))
    kinds = "[{name: big, racks: 2, nodes: 3, resources: {nvidia.com/gpu: 4}, labels: {a: b}}]"
    own = setup(entry(ONE, f"cluster: {{levels: {{rack: x/r}}, kinds: {kinds}}}"))
    assert [node.metadata.name for node in own.nodes[2:4]] == ["b1-r1-n03", "b1-r2-n01"]
    labels = own.nodes[0].metadata.labels
    assert (labels["x/r"], labels["a"], labels["kubernetes.io/hostname"]) == ("r1", "b", "b1-r1-n01")
    assert allocatable(own.nodes[0])["nvidia.com/gpu"] == 4
    assert own.levels[1] == Level("rack", "x/r")


def test_within_may_name_a_label_or_a_level_of_a_policy() -> None:
    assert setup(entry(f"{ONE}, within: example.com/rack")).workload[0].within == "example.com/rack"
    policy = "policies: {mine: {topology: {levels: [{name: row, key: example.com/rack}]}}}"
    assert setup(entry(f"{ONE}, within: row", policy)).workload[0].within == "row"


def test_policies_have_names_and_one_is_there_by_default() -> None:
    assert read_scenario((HEAD + entry(ONE)).encode(), "s.yaml").policies == {"default": Policy()}
    two = entry(ONE, "policies: {quick: {order: shortest}, plain: {placement: pod-by-pod}}")
    policies = read_scenario((HEAD + two).encode(), "s.yaml").policies
    assert list(policies) == ["quick", "plain"]
    assert (policies["quick"].order, policies["plain"].placement) == ("shortest", "pod-by-pod")


def test_the_rhythm_of_the_scheduler_and_the_end_are_passed_on() -> None:
    ready = setup(entry(ONE, "horizon: 2d\ncycle: 30s"))
    assert (ready.horizon, ready.period) == (48 * HOUR, 30 * SECOND)
    ready = setup(entry(ONE, ""))
    assert (ready.horizon, ready.period, list(ready.faults)) == (None, 0, [])


def test_a_scenario_can_be_sent_to_another_process() -> None:
    text = (EXAMPLES / "first-week.yaml").read_bytes()
    scenario = read_scenario(text, "s.yaml")
    sent = pickle.loads(pickle.dumps(scenario))
    assert prepare(sent, "s.yaml", {}, 5).workload == prepare(scenario, "s.yaml", {}, 5).workload


# ---- traces


def test_a_cluster_and_its_jobs_can_come_from_one_dump() -> None:
    about = {"name": "n1", "labels": {"example.com/rack": "r"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": about}
    created = {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": created}
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}).encode()
    text = """
cluster: {trace: {format: kubectl, file: all.json}}
workload: [{name: a, trace: {format: kubectl, file: all.json}, runTime: 1h, priority: 5}]
"""
    ready = setup(text, files={"all.json": dump})
    assert [node.metadata.name for node in ready.nodes] == ["n1"]
    assert [level.name for level in ready.levels] == ["rack"]
    assert [(job.name, job.run_time, job.priority) for job in ready.workload] == [("a-default-p", HOUR, 5)]


def test_pods_of_a_dump_are_gangs_by_their_owners_and_need_as_many_as_is_said() -> None:
    owner = {"kind": "Job", "name": "train", "uid": "u", "controller": True}
    about = {"creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [owner]}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{n}", **about}} for n in range(4)]
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}).encode()
    text = entry("trace: {format: kubectl, file: f, gangs: owners}, runTime: 1h, quorum: 3", "")
    (job,) = setup(text, files={"f": dump}).workload
    assert (job.members, job.quorum) == (4, 3)


def test_nodes_that_a_dump_found_closed_stay_so_and_are_told_of() -> None:
    has = {"allocatable": {"nvidia.com/gpu": "8"}}
    unready = {**has, "conditions": [{"type": "Ready", "status": "Unknown"}]}
    nodes = [
        {"metadata": {"name": "open"}, "status": has},
        {"metadata": {"name": "cordoned"}, "status": has, "spec": {"unschedulable": True}},
        {"metadata": {"name": "unready"}, "status": unready},
    ]
    listed = [{"apiVersion": "v1", "kind": "Node", **node} for node in nodes]
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}).encode()
    ready = setup(entry(ONE, "cluster: {trace: {format: kubectl, file: n.json}}"), files={"n.json": dump})
    assert [node.spec.unschedulable for node in ready.nodes] == [False, True, False]
    assert ready.warnings == ("n.json: 2 nodes cordoned or not ready: 16 devices unused for the whole run",)
    assert setup(entry(ONE)).warnings == ()


def test_every_file_is_named_with_the_field_that_has_it() -> None:
    text = """
cluster: {trace: {format: lingjun, file: topo}}
workload:
- {name: a, arrivals: {at: [0s]}, runTime: 1h}
- {name: b, trace: {format: itp, file: jobs}}
- {name: c, trace: {format: itp, file: jobs, from: 1h}}
faults: {perThousandNodeDays: 1, causes: why}
"""
    assert read_scenario((HEAD + text).encode(), "s.yaml").files() == {
        "topo": "cluster.trace.file",
        "jobs": "workload[1].trace.file",
        "why": "faults.causes",
    }


def test_a_trace_of_muri() -> None:
    rows = b"job_id,num_gpu,submit_time,iterations,iteration_time,model_name\n0,16,0,10,100,bert\n"
    (job,) = setup(entry("trace: {format: muri, file: f}"), files={"f": rows}).workload
    assert (job.name, job.run_time, job.members) == ("a-0", 10 * 100 * 1015, 2)


def traced(options: str, fields: str = "", seed: int = 1) -> list[tuple[str, float]]:
    text = entry(f"trace: {{format: itp, file: f, {options}}}{fields}", "")
    return [(job.name, job.arrival / SECOND) for job in setup(text, seed, {"f": ITP}).workload]


def test_a_trace_begins_with_its_first_job() -> None:
    assert traced("") == [("a-1", 0), ("a-2", 100), ("a-3", 400), ("a-4", 800)]


def test_a_trace_can_be_cut_and_made_faster() -> None:
    assert traced("from: 50s, until: 800s") == [("a-2", 50), ("a-3", 350)]
    assert traced("limit: 2, speed: 4") == [("a-1", 0), ("a-2", 25)]


def test_a_shuffled_trace_has_an_arrival_each_second() -> None:
    orders = {tuple(name for name, _ in traced("shuffle: true", seed=seed)) for seed in range(10)}
    assert len(orders) > 3
    assert all(sorted(order) == ["a-1", "a-2", "a-3", "a-4"] for order in orders)
    assert [time for _, time in traced("shuffle: true")] == [0, 1, 2, 3]


def test_a_trace_can_be_filled_up_to_a_multiple_of_the_cluster() -> None:
    text = entry("trace: {format: itp, file: f, fill: 1.5}")
    jobs = setup(text, files={"f": ITP}).workload
    load = sum(job.devices for job in jobs)
    assert 1.5 * 512 - 16 < load <= 1.5 * 512
    assert len({job.name for job in jobs}) == len(jobs)
    assert [job.name for job in jobs[:4]] == ["a-1", "a-2", "a-3", "a-4"]
    assert [job.arrival - jobs[3].arrival for job in jobs[4:6]] == [SECOND, 2 * SECOND]
    few = setup(text.replace("1.5", "0.048"), files={"f": ITP}).workload
    assert [job.name for job in few] == ["a-1", "a-2"]  # With the next one it would be 25 of 512 devices.


def test_what_is_said_of_an_entry_applies_to_its_trace() -> None:
    text = entry("trace: {format: itp, file: d/jobs.x.csv.gz, gpusPerWorker: 4}, priority: 3, within: rack")
    jobs = setup(text.replace("name: a, ", ""), files={"d/jobs.x.csv.gz": ITP}).workload
    assert [(job.name, job.members, job.quorum) for job in jobs[:2]] == [("jobs-1", 2, 2), ("jobs-2", 4, 4)]
    assert {(job.priority, job.within) for job in jobs} == {(3, "rack")}


def test_pods_that_never_ran_are_given_up_when_they_were() -> None:
    head = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
    pods = head + b"a,1,1,1,1000,10,30,\nb,1,1,1,1000,10,30,20\n"
    given_up, ran = setup(entry("trace: {format: openb, file: f}"), files={"f": pods}).workload
    assert (given_up.run_time, given_up.cancelled) == (None, 20 * SECOND)
    assert (ran.run_time, ran.cancelled) == (10 * SECOND, None)
    for job in setup(entry("trace: {format: openb, file: f}, stay: true"), files={"f": pods}).workload:
        assert (job.run_time, job.cancelled) == (None, None)


def test_the_experiment_of_fgd_on_openb() -> None:
    names = {"nodes": "openb_node_list_gpu_node", "pods": "openb_pod_list_default"}
    text = """
cluster: {trace: {format: openb, file: nodes}}
workload:
- {trace: {format: openb, file: pods, shuffle: true, fill: 1.3}, stay: true, patience: 0s}
"""
    ready = setup(text, 42, {key: shared(f"fgd/{name}.csv.gz") for key, name in names.items()})
    capacity = sum(allocatable(node)["nvidia.com/gpu"] for node in ready.nodes) * 1000
    assert capacity == 6_212_000
    assert 1.29 < sum(job.load for job in ready.workload) / capacity <= 1.3
    assert {(job.run_time, job.patience, job.members) for job in ready.workload} == {(None, 0, 1)}
    assert len({job.name for job in ready.workload}) == len(ready.workload)
    assert ready.levels == ()
    assert all(MODEL in node.metadata.labels for node in ready.nodes)


def test_jobs_of_itp_on_the_topology_of_lingjun() -> None:
    text = """
cluster: {trace: {format: lingjun, file: topo}}
workload: [{trace: {format: itp, file: jobs}, within: rack}]
"""
    ready = setup(text, 1, {"topo": shared("lingjun/topo.csv.gz"), "jobs": shared("itp/cluster01.csv.gz")})
    assert (len(ready.nodes), len(ready.workload)) == (847, 1595)
    assert sum(allocatable(node)["nvidia.com/gpu"] for node in ready.nodes) == 847 * 8
    assert [level.name for level in ready.levels] == ["block", "rack"]
    assert (np.diff([job.arrival for job in ready.workload]) >= 0).all()


def test_queues_of_a_dump_count_only_where_a_policy_has_queues_and_those_of_the_scenario_always() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "namespace": "team",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"maitred.dev/queue": "vision"},
        },
        "spec": {"containers": [{"name": "c"}]},
    }
    files = {"pods.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}).encode()}

    def queue_of(fields: str, queues: bool) -> str:
        text = f"workload: [{{trace: {{format: kubectl, file: pods.json}}, runTime: 1h{fields}}}]\n"
        scenario = read_scenario(f"name: a test\n{text}".encode(), "s.yaml")
        (only,) = prepare(scenario, "s.yaml", files, 1, queues).workload
        return only.queue

    assert [queue_of("", False), queue_of("", True)] == ["", "vision"]
    assert [queue_of(", queue: mine", False), queue_of(", queue: mine", True)] == ["mine", "mine"]
