"""One membership: a pod belongs to one group, whoever asks."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from maitred.explain.audit.auditing import audit
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.seen import SeenPod
from maitred.explain.floorplan import FloorPod, member_of
from maitred.explain.proposal.supposition import MARK, Supposition
from maitred.model.membership import ALONE, GroupId, membership_of
from maitred.model.meta import Timestamp
from maitred.model.pod import Pod
from maitred.model.policy import Policy
from maitred.simulate.traces.kubectl import read_groups
from tests.oracle import builders as b
from tests.oracle.builders import GROUP, MIN_COUNT, Obj
from tests.support import NOON, decide

OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "g", "controller": True}
WAYS = ("lone", "mark", "podgroup", "both", "volcano", "job")


def pod_in(way: str, number: int) -> Obj:
    raw = b.pod(f"p{number}", created=1)
    if way in ("mark", "both"):
        raw["metadata"]["annotations"] = {GROUP: "g", MIN_COUNT: "2"}
    if way in ("podgroup", "both"):
        raw["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    if way == "volcano":
        raw["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "g"}
    if way == "job":
        raw["metadata"]["ownerReferences"] = [OWNER]
    return raw


@given(st.lists(st.sampled_from(WAYS), min_size=1, max_size=6))
def test_a_pod_belongs_to_one_group_whoever_asks(ways: list[str]) -> None:
    """The scheduler, the floor, a plan, a trace and, of what is declared, an audit."""
    pods = [pod_in(way, number) for number, way in enumerate(ways)]
    objects = [b.node("n", cpu=8), b.pod_group("g", 2), *pods]
    read = [msgspec.convert(raw, Pod) for raw in pods]
    ids = [id_of(pod) for pod in read]
    groups = set(ids)

    assert [member_of(msgspec.convert(raw, FloorPod)).group for raw in pods] == [id.key for id in ids]
    plan = decide(objects)
    assert sorted(group["group"] for group in plan["groups"]) == sorted(id.key for id in groups)
    group_of = {f"default/{raw['metadata']['name']}": id.key for raw, id in zip(pods, ids, strict=True)}
    assert all(bind["group"] == group_of[bind["pod"]] for bind in plan["binds"])

    planned = Supposition(tuple(read)).proposed_groups("gang")
    assert {key.removesuffix(MARK) for party in planned for key in party.groups} == set(group_of.values())

    traced = read_groups(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects}), "t")
    sizes = [sum(crew.count for crew in job.crews) for job in traced.jobs]
    assert sorted(sizes) == sorted(map(ids.count, groups))

    observer, now = Observer(Policy()), msgspec.convert(NOON, Timestamp)
    for raw in pods:
        observer.see(msgspec.convert(raw, SeenPod), now.timestamp())
    audited = {kind.by: kind.groups for kind in audit(observer, now).groups}
    for source in ("PodGroup", "maitred.dev"):
        assert audited.get(source, 0) == sum(id.source == source for id in groups)


def id_of(pod: Pod) -> GroupId:
    found = membership_of(pod)
    return GroupId(ALONE, f"default/{pod.metadata.name}") if found is None else found.id
