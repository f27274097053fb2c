"""What `plan` says of a group that does not exist yet, one case at a time."""

from typing import Any

import pytest

from maitred.explain.proposal.answer import Proposal, Proposals
from maitred.explain.proposal.supposition import Supposition, gang_objects, read_supposition
from maitred.model.manifest import InputError
from tests.explain.supposing import expanded, plan, planned
from tests.oracle import builders as b
from tests.oracle.builders import GROUP, MIN_COUNT, TOPOLOGY, Obj
from tests.support import read, state_of

GANG = {GROUP: "train", MIN_COUNT: "4"}
COUNT = "spec.parallelism: {0}, and spec.completions: {0} if it was the same"
LEVELS = {"topology": {"levels": [{"name": "zone", "key": b.ZONE}, {"name": "rack", "key": b.RACK}]}}


def rack(name: str, nodes: int = 4, zone: str = "z1") -> list[Obj]:
    return [b.node(f"{name}-n{i}", gpu=8, cpu=64, rack=name, zone=zone) for i in range(nodes)]


def job(parallelism: int = 4, gpu: int = 8, name: str = "train", marks: Obj = GANG, **spec: Any) -> Obj:
    pod = b.pod("", gpu=gpu, priority_class=spec.pop("priority_class", None))["spec"]
    template = {"metadata": {"annotations": dict(marks)}, "spec": pod}
    body = {"parallelism": parallelism, "completions": parallelism, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}


def in_one_rack(**fields: Any) -> Obj:
    return job(marks={**GANG, TOPOLOGY: "rack"}, **fields)


def only(answer: Proposals) -> Proposal:
    (proposal,) = answer.proposals
    return proposal


def offered(proposal: Proposal) -> list[tuple[str, str]]:
    return [(offer.words, offer.change) for offer in proposal.offers]


def test_it_fits_and_where() -> None:
    proposal = only(plan([*rack("r1", 3), *rack("r2", 4)], in_one_rack(), policy=LEVELS))
    assert proposal.words == "Job default/train fits now: all 4 members on 4 nodes in rack r2"
    assert proposal.where.nodes == {f"r2-n{i}": 1 for i in range(4)}
    assert proposal.where.domains == {"zone": ("z1",), "rack": ("r2",)}
    assert (proposal.group, proposal.members, proposal.quorum, proposal.placed) == ("default/train", 4, 4, 4)
    assert not proposal.offers


def test_it_waits_and_what_could_be_had_instead() -> None:
    proposal = only(plan([*rack("r1", 2), *rack("r2", 3)], in_one_rack(), policy=LEVELS))
    assert proposal.outcome == "never"
    assert offered(proposal) == [
        ("now with 3 of 4 members", f'{COUNT.format(3)}; maitred.dev/min-count: "3"'),
        ("now across 2 racks (r1, r2) of one zone", "maitred.dev/topology-required: zone"),
        (
            "now if you ask for 4 instead of 8 nvidia.com/gpu for each member",
            "resources.requests and resources.limits of nvidia.com/gpu: 4",
        ),
    ]
    assert proposal.offers[1].where.domains["rack"] == ("r1", "r2")
    assert [remedy.change for remedy in proposal.remedies] == [
        "add 1 node like r2-n0 (8 nvidia.com/gpu, 64 cpu, 32Gi memory) in rack r2"
    ]


def test_when_it_will_fit_as_asked() -> None:
    old = b.pod("old", gpu=8, node="r1-n0", annotations={"maitred.dev/expected-runtime": "4h"})
    old["status"]["startTime"] = "2026-01-31T10:20:00Z"
    proposal = only(plan([*rack("r1"), old], in_one_rack(), policy=LEVELS))
    assert proposal.outcome == "waits"
    assert proposal.estimate is not None
    assert offered(proposal)[-1] == ("about 14:20 UTC as asked", "")


def test_at_whose_cost() -> None:
    classes = [b.priority_class("high", 100)]
    low = b.pods("low", 2, gpu=8, node="r1-n0", owner="Job/low")
    low[1]["spec"]["nodeName"] = "r1-n1"
    for pod in low:
        pod["status"]["startTime"] = "2026-01-31T11:00:00Z"
    proposal = only(plan([*rack("r1"), *low, *classes], in_one_rack(priority_class="high"), policy=LEVELS))
    assert proposal.words == (
        "Job default/train fits after preempting 2 pods of default/low-0, default/low-1, "
        "16 device-hours of work lost"
    )
    assert [(v.unit, v.pods, v.priority) for v in proposal.cost.victims] == [
        ("default/low-0", 1, 0),
        ("default/low-1", 1, 0),
    ]
    assert offered(proposal)[0][0] == "now with 2 of 4 members"


NIGHTS: Obj = {"from": "22:00", "until": "06:00", "timeZone": "Europe/Berlin", "factor": 0.5}


@pytest.mark.parametrize(
    ("marks", "hours", "offers"),
    [
        ({"expected-runtime": "4h"}, [NIGHTS], ["2026-01-31T21:00:00Z costs 128.00 instead of 256.00"]),
        ({"max-runtime": "4h"}, [NIGHTS], ["2026-01-31T21:00:00Z costs 128.00 instead of 256.00"]),
        # It is longer than a night: as much of it as there is.
        ({"expected-runtime": "12h"}, [NIGHTS], ["2026-01-31T17:00:00Z costs 512.00 instead of 672.00"]),
        # Saturday noon: until Monday, but no longer than its deadline allows.
        (
            {"expected-runtime": "4h"},
            [{"factor": 0.25, "days": ["Mon"]}, NIGHTS],
            [
                "2026-01-31T21:00:00Z costs 128.00 instead of 256.00",
                "2026-02-02T00:00:00Z costs 64.00 instead of 256.00",
            ],
        ),
        (
            {"expected-runtime": "4h", "deadline": "2026-02-01T12:00:00Z"},
            [{"factor": 0.25, "days": ["Mon"]}, NIGHTS],
            ["2026-01-31T21:00:00Z costs 128.00 instead of 256.00"],
        ),
        ({"expected-runtime": "4h", "deadline": "2026-01-31T17:00:00Z"}, [NIGHTS], []),
        ({"expected-runtime": "4h"}, [{**NIGHTS, "factor": 2}], []),
        ({"expected-runtime": "4h"}, [], []),
        ({}, [NIGHTS], []),
    ],
)
def test_when_it_would_cost_less(marks: Obj, hours: list[Obj], offers: list[str]) -> None:
    """Noon is on a Saturday; four members with eight devices each."""
    prices = {"devices": [{"perHour": 2}], "hours": hours, "currency": "EUR"}
    said = {f"maitred.dev/{name}": value for name, value in marks.items()}
    proposal = only(plan(rack("r1"), job(marks={**GANG, **said}), policy={"prices": prices}))
    assert offered(proposal) == [
        (f"starting at {one} EUR, if there is room then", f'maitred.dev/not-before: "{one.split()[0]}"')
        for one in offers
    ]


def test_who_is_delayed() -> None:
    waiting = [b.pod("other", gpu=8, created=0, priority=-1)]
    proposal = only(plan([*rack("r1"), *waiting], job()))
    assert (proposal.outcome, proposal.delayed) == ("fits", ("default/other",))


def test_pods_that_are_seated_one_by_one() -> None:
    lone = job(parallelism=6, marks={})
    proposal = only(plan(rack("r1"), lone))
    assert (proposal.outcome, proposal.group, proposal.members, proposal.placed) == ("waits", "", 6, 4)
    assert offered(proposal)[0] == ("now with 4 of 6 pods", COUNT.format(4))
    assert only(plan(rack("r1"), job(parallelism=4, marks={}))).words == (
        "Job default/train fits now: all 4 members on 4 nodes"
    )


def test_pods_of_one_owner_are_not_in_each_others_way() -> None:
    """Four of them have the nodes: what the others lack is room, and nobody went first."""
    proposal = only(plan(rack("r1"), job(parallelism=6, marks={})))
    assert proposal.words == (
        "Job default/train waits: 4 of 6 members fit now: Capacity: needs 8 nvidia.com/gpu for 1 member, "
        "0 free on 4 eligible nodes: 0 of 1 would fit"
    )


def test_others_who_went_first_are_named_and_no_siblings() -> None:
    others = b.pods("other", 2, gpu=8, created=0)
    (blocker,) = only(plan([*rack("r1"), *others], job(parallelism=3, marks={}))).blockers
    assert (blocker.category, blocker.detail["ahead"]) == ("Priority", ["default/other-0", "default/other-1"])


def test_who_would_leave_is_not_for_the_sake_of_siblings() -> None:
    low = b.pod("low", gpu=8, node="r1-n0")
    lone = job(parallelism=4, marks={}, priority_class="high")
    proposal = only(plan([*rack("r1"), low, b.priority_class("high", 5)], lone))
    assert (proposal.outcome, proposal.blockers) == ("preempts", ())


def test_the_worst_of_several_counts() -> None:
    answer = plan(rack("r1"), job(2, name="a", marks={}), job(2, gpu=9, name="b", marks={}))
    assert [proposal.outcome for proposal in answer.proposals] == ["fits", "never"]
    assert answer.outcome == "never"


def test_several_that_are_submitted_together_share_the_room() -> None:
    answer = plan(rack("r1"), job(name="a", marks={GROUP: "a", MIN_COUNT: "4"}), job(name="b"))
    assert [proposal.outcome for proposal in answer.proposals] == ["fits", "waits"]


def test_a_second_one_of_a_name() -> None:
    running = [b.pod(f"train-{i}", gpu=8, node=f"r1-n{i}", labels=GANG) for i in range(4)]
    proposal = only(plan([*rack("r1"), *rack("r2"), *running], job()))
    assert proposal.outcome == "fits"
    assert proposal.notes == ("Job default/train already exists: this answer is for a second one",)


def test_a_second_pod_of_a_name() -> None:
    (note,) = only(plan([*rack("r1"), b.pod("lone", node="r1-n0")], b.pod("lone", gpu=8))).notes
    assert note == "default/lone already exists: this answer is for a second one"


def test_one_pod() -> None:
    assert only(plan([b.node("n1")], b.pod("lone", 1))).words == "default/lone fits now, on n1"


def test_many_at_once_are_all_answered_and_the_first_get_offers() -> None:
    jobs = [job(5, name=f"j{i}", marks={GROUP: f"j{i}", MIN_COUNT: "5"}) for i in range(12)]
    answer = plan([*rack("r1"), b.pod("old", gpu=8, node="r1-n0")], *jobs)
    assert len(answer.proposals) == 12
    assert [bool(proposal.offers) for proposal in answer.proposals] == [True] * 8 + [False] * 4


def test_pods_for_a_group_that_exists() -> None:
    group = [b.pod_group("crew", 2), b.pod("crew-0", gpu=8, group="crew")]
    proposal = only(plan([*rack("r1"), *group], b.pod("crew-1", gpu=8, group="crew")))
    assert (proposal.outcome, proposal.members, proposal.placed) == ("fits", 2, 2)
    assert not proposal.notes


def test_a_group_without_pods_is_told() -> None:
    answer = plan(rack("r1"), b.pod_group("crew", 2), b.pod("lone", gpu=1))
    assert answer.warnings == ("PodGroup default/crew: none of the given pods names it",)


def test_a_surplus_that_finds_no_room() -> None:
    proposal = only(plan(rack("r1"), job(parallelism=6)))
    assert proposal.outcome == "fits"
    assert proposal.words == "Job default/train fits now: 4 of 6 members, quorum 4, on 4 nodes"


def test_claims_that_come_along() -> None:
    claim = b.pvc("data", storage_class="disk")
    cluster = [*rack("r1"), b.storage_class("disk")]
    pod = b.pod("lone", claims=["data"])
    assert plan(cluster, pod).outcome == "waits"
    assert plan(cluster, pod, claim).outcome == "fits"
    state = state_of(read([*cluster, claim]))
    found = expanded(pod, claim)
    before = state.snapshot().storage
    assert planned(state, Supposition(tuple(found.objects))).outcome == "fits"
    assert state.snapshot().storage == before, "what is there already is not taken away"


def test_another_scheduler_than_the_one_that_answers() -> None:
    found = Supposition(tuple(expanded(job()).objects))
    proposal = only(planned(state_of(read(rack("r1"))), found, scheduler="maitred"))
    assert proposal.outcome == "fits"
    assert proposal.notes == (
        "its pods name scheduler default-scheduler; this answer is for pods that name maitred",
    )


@pytest.mark.parametrize("spec", [{}, {"containers": []}])
def test_pods_without_containers_are_refused(spec: Obj) -> None:
    bare = {**job(2), "spec": {"parallelism": 2, "template": {"spec": spec}}}
    with pytest.raises(InputError, match=r"Job train: spec.template.spec.containers: is required$"):
        plan(rack("r1"), bare)
    pod = {**b.pod("lone"), "spec": spec}
    with pytest.raises(InputError, match=r"Pod default/lone: spec.containers: is required$"):
        plan(rack("r1"), pod)


# ---- a gang by options

GIVEN = ("--gang", "--gpus")
A100, H100 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3"


def pool(model: str, resource: str = "nvidia.com/gpu", count: int = 2) -> list[Obj]:
    vendor = resource.partition("/")[0]
    labels = {f"{vendor}/gpu.product": model, "example.com/rack": model[-3:]}
    taints = [f"{resource}:NoSchedule"]
    return [
        b.node(f"{model.lower()}-{i}", labels=labels, taints=taints, allocatable={resource: 8})
        for i in range(count)
    ]


def ask(cluster: list[Obj], members: int = 2, policy: Obj | None = None, **wishes: Any) -> Proposal:
    objects = gang_objects("gang", "default", members, members, {"gpu": 8}, wishes.pop("priority", ""))
    return only(planned(state_of(read(cluster)), Supposition(objects, options=GIVEN, **wishes), policy))


def test_devices_by_their_model() -> None:
    cluster = [*pool(A100), *pool(H100)]
    proposal = ask(cluster, model="h100")
    assert proposal.words == "A gang of 2 members fits now: all 2 members on 2 nodes"
    assert list(proposal.where.nodes) == [f"{H100.lower()}-{i}" for i in range(2)]
    assert ask(cluster, members=3, model="h100").outcome == "never"
    assert ask(cluster, members=4).outcome == "fits"


def test_devices_of_whatever_resource_the_cluster_has() -> None:
    assert ask(pool("MI300X", "amd.com/gpu")).outcome == "fits"
    mixed = [*pool("MI300X", "amd.com/gpu"), *pool(H100)]
    assert list(ask(mixed, model="mi300").where.nodes) == ["mi300x-0", "mi300x-1"]
    with pytest.raises(InputError, match=r"^--gpus: nodes have amd.com/gpu and nvidia.com/gpu; say"):
        ask(mixed)
    assert ask([b.node("n1")]).outcome == "never"


def test_offers_are_told_as_options() -> None:
    proposal = ask(pool(H100), members=4, within="rack")
    assert [offer.change for offer in proposal.offers] == ["--gang 2", "--gpus 4"]
    cluster = [*pool("x-r1", count=2), *pool("x-r2", count=2)]
    assert [offer.change for offer in ask(cluster, 4, within="rack").offers][1] == "leave out --within"


@pytest.mark.parametrize(
    ("wishes", "refusal"),
    [
        ({"model": "b200"}, f"--model: no node with devices has 'b200' in a label; there is {A100}, {H100}"),
        (
            {"model": "nvidia"},
            f"'nvidia' matches several models: {A100} (2 nodes), {H100} (2 nodes); give more of the name",
        ),
        ({"within": "rakc"}, "no topology level and no node label has the name 'rakc'; did you mean rack"),
        ({"priority": "hihg"}, "--priority: no PriorityClass is called 'hihg'; did you mean high?"),
    ],
)
def test_what_there_is_not(wishes: dict[str, Any], refusal: str) -> None:
    policy = {"topology": {"levels": [{"name": "rack", "key": "example.com/rack"}]}}
    with pytest.raises(InputError) as refused:
        ask([*pool(A100), *pool(H100), b.priority_class("high", 5)], policy=policy, **wishes)
    assert refusal in str(refused.value)


# ---- what is posted


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (b"{", "the body is not valid JSON"),
        (b"[]", "expected an object, got a list"),
        (b'{"objects": [], "modle": "x"}', "modle: there is no such field; did you mean model?"),
        (b'{"objects": []}', "objects: has no pods"),
        (b'{"objects": [{}]}', "apiVersion: is required"),
        (b'{"objects": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}]}', "can be planned"),
        (
            b'{"objects": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, '
            b'"spec": {"nodeName": "n1"}}]}',
            "Pod p: spec.nodeName: is n1, so the pod has a node already",
        ),
    ],
)
def test_what_cannot_be_posted(body: bytes, refusal: str) -> None:
    with pytest.raises(InputError) as refused:
        read_supposition(body)
    assert refusal in str(refused.value)


def test_a_group_that_contradicts_itself() -> None:
    pods = [b.pod(f"crew-{i}", labels={GROUP: "crew", MIN_COUNT: str(i + 1)}) for i in range(2)]
    with pytest.raises(
        InputError,
        match=r"^default/crew: its members have different values of "
        "maitred.dev/min-count: 1, 2$",
    ):
        plan(rack("r1"), *pods)


# -- what to write, as the cluster has it --------------------------------------------------------------------


def job_group(**reference: Obj) -> Obj:
    """A group that the Job controller has made for some other Job."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "old", "uid": "old", "controller": True}
    made = b.pod_group("old-1", 2)
    made["metadata"]["ownerReferences"] = [owner]
    made["spec"] |= reference
    return made


OF_137 = job_group(workloadRef={"workloadName": "old", "templateName": "old-pgt-0"})
OF_136 = job_group(podGroupTemplateRef={"workload": {"workloadName": "old", "podGroupTemplateName": "t"}})


def advised(cluster: list[Obj], annotations: dict[str, str] | None = None, **spec: Any) -> Proposals:
    template = {"metadata": {"annotations": annotations or {}}, "spec": b.pod("", cpu=1)["spec"]}
    said = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": template, **spec}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": said}
    found = expanded(job)
    return planned(state_of(read(cluster)), Supposition(tuple(found.objects)))


NODE = b.node("n0", cpu=64)


def test_a_job_is_planned_as_the_gang_that_it_is() -> None:
    found = advised([NODE])
    assert (found.warnings, found.proposals[0].quorum, found.proposals[0].workload) == (
        (),
        2,
        "Job default/train",
    )
    assert advised([b.node("n0", cpu=1)]).outcome == "never"


def test_a_job_that_is_no_gang_is_told_why_and_what_makes_it_one() -> None:
    (warning,) = advised([NODE], completions=4).warnings
    assert warning == (
        "Job default/train names no group and is no gang by itself (its spec.completions is 4, and its "
        "spec.parallelism is 2: they differ), so its 2 pods are scheduled one by one; to make them a gang, "
        "set the annotation maitred.dev/min-count: '2' on the Job"
    )


def test_marks_count_where_the_job_controller_makes_groups_too() -> None:
    """It makes them by default; what the user has written counts."""
    marks = b.gang("crew", 2)
    for made in ((), (OF_137,), (OF_136,)):
        assert advised([NODE, *made], marks).outcome == "fits"
    gang = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    assert advised([NODE, OF_137], scheduling=gang).outcome == "fits"


def test_a_group_that_no_server_makes_is_warned_of() -> None:
    state = state_of(read([NODE]))
    state.group_makers.served = False
    assert [state.snapshot().group_api.served] == [False]
    template = {"spec": b.pod("", cpu=1)["spec"]}
    spec = {"parallelism": 2, "template": template, "scheduling": {"schedulingPolicy": {"gang": {}}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec}
    (warning,) = planned(state, Supposition(tuple(expanded(job).objects))).warnings
    assert warning.startswith(
        "Job default/train: this cluster has no PodGroups, so spec.scheduling is ignored"
    )
