"""One membership: a pod belongs to one group, whoever asks."""

from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.explain.audit.auditing import audit
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.seen import SeenPod
from maitred.explain.floorplan import Declared, FloorGroup, FloorPod, member_of
from maitred.explain.proposal.supposition import MARK, Supposition
from maitred.explain.why.names import Names
from maitred.explain.why.seen import Seen
from maitred.explain.why.seen import SeenPod as ToldPod
from maitred.model.group import PodGroup
from maitred.model.job import Job
from maitred.model.manifest import Reader
from maitred.model.meta import Timestamp, key_of
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.policy import JobsRule, Policy, Workloads
from maitred.verify.groups import read_groups
from maitred.verify.objects import read_cluster
from maitred.verify.policy import read_policy
from tests.oracle import builders as b
from tests.oracle.builders import GROUP, MIN_COUNT, Obj
from tests.support import NOON, decide

JOBS = ("a", "b")
MARKS = st.sampled_from([{}, {}, {GROUP: "g", MIN_COUNT: "2"}, {MIN_COUNT: "2"}, {GROUP: "a"}])


@st.composite
def jobs(draw: st.DrawFn, name: str) -> Obj:
    spec: Obj = {"parallelism": draw(st.integers(1, 3)), "completions": draw(st.integers(1, 3))}
    spec["completionMode"] = draw(st.sampled_from(["Indexed", "Indexed", "NonIndexed"]))
    policies: list[Any] = [None, None, {"basic": {}}, {"gang": {"minCount": 2}}, {"gang": {}}]
    if policy := draw(st.sampled_from(policies)):
        spec["scheduling"] = {"schedulingPolicy": policy}
    made = b.job(name, **spec)
    made["metadata"]["annotations"] = draw(MARKS)
    return made


@st.composite
def groups(draw: st.DrawFn, name: str) -> Obj:
    made = b.pod_group(name, draw(st.sampled_from([None, 1, 2])))
    if owner := draw(st.sampled_from([None, *JOBS])):
        made["metadata"]["ownerReferences"] = owners(owner)
    return made


@st.composite
def pods(draw: st.DrawFn, number: int) -> Obj:
    group, owner = draw(st.sampled_from([None, "g", "h"])), draw(st.sampled_from([None, *JOBS]))
    made = b.pod(f"p{number}", cpu=1, group=group, created=1, annotations=draw(MARKS))
    if owner is not None:
        made["metadata"]["ownerReferences"] = owners(owner)
    return made


def owners(job: str) -> list[Obj]:
    return [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"job-{job}", "controller": True}]


@st.composite
def mixtures(draw: st.DrawFn) -> list[Obj]:
    """Pods that name PodGroups, marks and Jobs, in any mixture, with or without the objects."""
    found = [draw(jobs(name)) for name in JOBS if draw(st.booleans())]
    found += [draw(groups(name)) for name in ("g", "h") if draw(st.booleans())]
    return [*found, *(draw(pods(number)) for number in range(draw(st.integers(1, 5))))]


def read(raw: list[Obj]) -> list[Object]:
    reader = Reader()
    reader.read(msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": raw}), "test")
    return list(reader.objects)


def state_of(objects: list[Object], watched: bool = False) -> ClusterState:
    state = ClusterState(waits_for_owners=watched)
    for item in objects:
        state.apply(Put(item))
    return state


def groups_on_floor(raw: list[Obj]) -> dict[str, str]:
    by_kind: dict[str, dict[str, Obj]] = {"Pod": {}, "PodGroup": {}, "Job": {}}
    for one in raw:
        by_kind[one["kind"]][f"default/{one['metadata']['name']}"] = one
    declared = Declared(
        {key: msgspec.convert(one, FloorGroup) for key, one in by_kind["PodGroup"].items()},
        {Job: {key: msgspec.convert(one, Job) for key, one in by_kind["Job"].items()}},
    )
    members = [member_of(msgspec.convert(one, FloorPod)) for one in by_kind["Pod"].values()]
    found = {member.key: declared.settled(member).id for member in members}
    return {key: key if id is None else id.key for key, id in found.items()}


@given(mixtures(), st.sampled_from(["gang", "as-written"]))
def test_a_pod_belongs_to_one_group_whoever_asks(raw: list[Obj], rule: str) -> None:
    """The scheduler, the checker by its own code, an answer about pods, a plan, the floor and an audit."""
    policy: Obj = {"workloads": {"jobs": rule}}
    objects = read(raw)
    state = state_of(objects)
    state.follow(msgspec.convert(policy, Policy).workloads)
    keys = [key_of(item.metadata) for item in objects if isinstance(item, Pod)]
    group_of = {key: state.group_key(key) for key in keys}

    checked = read_groups(read_cluster(raw), read_policy(policy))
    assert {pod.key: group.key for group in checked for pod in group.members} == group_of

    plan = decide([b.node("n", cpu=8), *raw], policy)
    assert sorted({group["group"] for group in plan["groups"]}) == sorted(set(group_of.values()))
    assert all(bind["group"] == group_of[bind["pod"]] for bind in plan["binds"])

    seen = Seen(
        pods=tuple(msgspec.convert(one, ToldPod) for one in raw if one["kind"] == "Pod"),
        groups=tuple(item for item in objects if isinstance(item, PodGroup)),
    )
    told = Names(state.snapshot(), seen).seen_members
    assert {key_of(pod.metadata): key for key, pods in told.items() for pod in pods} == group_of

    declared = [item for item in objects if isinstance(item, PodGroup)]
    if not any(group.metadata.owner_references for group in declared):  # as manifests are
        planned = Supposition(tuple(objects)).proposed_groups(Workloads(jobs=msgspec.convert(rule, JobsRule)))
        found = {key.removesuffix(MARK) for one in planned for key in one.groups}
        assert found == set(group_of.values())

    if rule == "gang":
        assert groups_on_floor(raw) == {key: state_of(objects, True).group_key(key) for key in keys}
        observer, now = Observer(Policy()), msgspec.convert(NOON, Timestamp)
        kinds: dict[str, Any] = {"Pod": SeenPod, "Job": Job, "PodGroup": PodGroup}
        for one in raw:
            observer.see(msgspec.convert(one, kinds[one["kind"]]), now.timestamp())
        audited = {kind.by: kind.groups for kind in audit(observer, now).groups}
        ids = {state.group_of(key) for key in keys}
        for source in ("PodGroup", "maitred.dev"):
            assert audited.get(source, 0) == sum(id is not None and id.source == source for id in ids)


@given(mixtures(), st.randoms(use_true_random=False))
def test_the_group_of_a_pod_does_not_depend_on_what_came_first(raw: list[Obj], chance: Random) -> None:
    objects = read(raw)
    state = state_of(objects)
    keys = [key_of(item.metadata) for item in objects if isinstance(item, Pod)]
    chance.shuffle(objects)
    other = state_of(objects)
    for item in chance.sample(objects, chance.randint(0, len(objects))):
        other.apply(Delete(type(item), key_of(item.metadata)))
        other.apply(Put(item))
    assert [other.group_of(key) for key in keys] == [state.group_of(key) for key in keys]
    assert [view.group for view in other.snapshot().groups] == [
        view.group for view in state.snapshot().groups
    ]
