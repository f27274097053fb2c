"""What strangers wrote is hidden, whatever field it is in, and so is a field that nobody has thought of yet.

The objects of the strangers are made from the definitions of the structs, with a secret in every text. What
the reader may see is built field by field, so a field that is added to a struct is hidden until
`explain/redaction` tells it.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource
from itertools import product
from pkgutil import iter_modules
from typing import Any, TypeVar

import msgspec
import pytest

from maitred.cluster.groupapi import GroupApi
from maitred.cluster.state import ClusterState, Put
from maitred.explain import redaction
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.situation import Situation
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.model.group import MARKS
from maitred.model.history import History, PastEviction, PastGroup
from maitred.model.kinds import KINDS
from maitred.model.meta import ObjectMeta, Timestamp
from maitred.model.node import ContainerImage, Node, Taint
from maitred.model.objects import Namespace, Object
from maitred.model.plan import Alternative, Departure, Eviction, Receipt, Toll
from maitred.model.pod import Pod, PodSpec
from maitred.model.policy import (
    Devices,
    FairShare,
    Healing,
    Health,
    Holds,
    LemonRules,
    Nodes,
    NodeTemplate,
    Prices,
    Search,
    SlowRules,
    Spares,
    Topology,
    Workloads,
)
from maitred.model.priority import PriorityClass
from maitred.model.queues import PriorityRange, QueueBudget, QueueLimit
from maitred.model.reservations import ReservedDevices
from maitred.model.storage import CSIDriver, CSINode, PersistentVolume, StorageClass, VolumeAttachment
from maitred.model.suspension import SUSPENDED
from tests.explain.filling import Filling, field_names, inside, tomorrow
from tests.explain.tenants import OURS, SECRET
from tests.explain.test_redaction import answers, assert_kept
from tests.oracle import builders as b
from tests.support import NOON, policy_of, read

T = TypeVar("T", bound=msgspec.Struct)

NOW = msgspec.convert(NOON, Timestamp)
SPACE = f"{SECRET}-space"
OF_THE_CLUSTER = (
    Node,
    PriorityClass,
    StorageClass,
    CSINode,
    CSIDriver,
    DeviceClass,
    ResourceSlice,
    DeviceTaintRule,
)
"""Kinds that no tenant writes, and that everybody may know."""
WITHOUT_NAMESPACE = (Namespace, PersistentVolume, VolumeAttachment)
SETTINGS = (
    Topology,
    Nodes,
    NodeTemplate,
    Health,
    Healing,
    LemonRules,
    SlowRules,
    Spares,
    Devices,
    Search,
    Prices,
    Workloads,
    FairShare,
    Holds,
    QueueLimit,
    PriorityRange,
    QueueBudget,
    ReservedDevices,
)
PUBLIC = {kind.__name__ for kind in (*OF_THE_CLUSTER, *SETTINGS, Taint, GroupApi)}
"""What is in a scene as it is, whoever reads it."""
KEPT = {
    "name": SECRET,
    "devices": {"resource": "nvidia.com/gpu", "count": 1},
    "from": "2026-03-02T14:00",
    "until": "2026-03-02T18:00",
}
POLICY = policy_of(
    {
        "preemption": {"protection": {"namespaces": {"matchLabels": {SECRET: SECRET}}}},
        "reservations": [
            {**KEPT, "for": {"namespace": SECRET}},
            {**KEPT, "for": {"group": f"{SECRET}/{SECRET}"}},
            {**KEPT, "for": {"queue": SECRET}},
        ],
    }
)

HIDDEN = {
    "Allocation.devices",
    "Allocation.node_selector",
    "BudgetSpec.selector",
    "ClaimNeed.resource",
    "ClaimSpec.access_modes",
    "ClaimSpec.resources",
    "ClaimSpec.selector",
    "ClaimSpec.volume_attributes_class_name",
    "ClaimSpec.volume_mode",
    "Consumer.api_group",
    "DeviceClaim.config",
    "DeviceToleration.toleration_seconds",
    "Group.origin",
    "Group.warnings",
    "GroupView.account",
    "GroupView.claims",
    "DrainMove.uids",
    "DrainProgress.staying",
    "ExtendedResource.mappings",
    "GroupView.device_claims",
    "GroupView.override",
    "GroupView.overruled",
    "GroupView.owner",
    "GroupView.scavenges",
    "JobSpec.scheduling",
    "JobSpec.template",
    "JobStatus.completed_indexes",
    "JobStatus.conditions",
    "JobStatus.failed_indexes",
    "LabelSelector.match_labels",
    "ObjectMeta.annotations",
    "ObjectMeta.deletion_grace_period_seconds",
    "ObjectMeta.owner_references",
    "Occupant.order",
    "Provisioning.parameters",
    "ProvisioningCondition.message",
    "ProvisioningRequest.spec",
    "PersistentVolume.status",
    "PersistentVolumeClaim.status",
    "Policy.api_version",
    "Policy.kind",
    "ResourceClaimStatus.devices",
    "Signal.pod",
    "Situation.waiting",
    "Snapshot.balances",
    "Snapshot.book",
    "VolumeSpec.access_modes",
    "VolumeSpec.capacity",
    "VolumeSpec.storage_class_name",
    "VolumeSpec.volume_attributes_class_name",
    "VolumeSpec.volume_mode",
    "ContainerStatus.image",
    "LemonNode.evidence",
    "NodeScore.evidence",
    "PodStatus.extended_resource_claim_status",
    "PodStatus.message",
    "PodStatus.nominated_node_name",
    "PodStatus.resource_claim_statuses",
    "SaidCondition.message",
    *(f"PodSpec.{name}" for name in field_names(PodSpec) if name != "node_name"),
}
"""Fields of strangers' objects that are not told, since no decision about others reads them, or each makes
them anew."""


def one_word(field: str) -> str:
    """So that every reference leads to something."""
    return SPACE if field.startswith("namespace") else SECRET


def many_words(field: str) -> str:
    return SPACE if field == "namespace" else f"{SECRET}-{field.replace('_', '-')}"


FILLINGS = [Filling(word, flag) for word, flag in product((one_word, many_words), (True, False))]
filled = pytest.mark.parametrize("filling", FILLINGS)


def with_meta(item: T, **changes: Any) -> T:
    meta: ObjectMeta = item.metadata  # type: ignore[attr-defined]
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(meta, **changes))


def strangers(filling: Filling) -> Iterator[Object]:
    """Objects of every kind that tenants write, or that is about one of theirs."""
    marks = dict.fromkeys((*MARKS, SUSPENDED), SECRET)
    for kind in (row.type for row in KINDS):
        if kind in OF_THE_CLUSTER:
            continue
        made = filling.made(kind)
        if kind in WITHOUT_NAMESPACE:
            made = with_meta(made, namespace="", name=SPACE if kind is Namespace else made.metadata.name)
        yield made
        yield with_meta(made, name=f"{SECRET}-2", annotations=marks, deletion_timestamp=None)
    for number, (node, grouped) in enumerate(product(("", "n0"), (True, False))):
        pod = with_meta(filling.made(Pod), name=f"{SECRET}-{number}", deletion_timestamp=None)
        group = pod.spec.scheduling_group if grouped else None
        spec = msgspec.structs.replace(pod.spec, node_name=node, scheduling_group=group)
        yield msgspec.structs.replace(pod, spec=spec, status=type(pod.status)(phase="Running"))


def readers_own() -> Iterator[Object]:
    """Two pods of the reader, and a node that they share with the strangers."""
    pods = [b.pod("lone", cpu=1, priority=9), b.pod("mine", cpu=1, node="n0")]
    for item in read([b.node("n0", cpu=3, pods=10), *pods]):
        if isinstance(item, Node):
            images = tuple(ContainerImage((f"{name}:latest",), 10**9) for name in (SECRET, f"{SECRET}-image"))
            status = msgspec.structs.replace(item.status, images=images)
            item = msgspec.structs.replace(item, status=status)
        yield item


def past(filling: Filling) -> History:
    """A pod of the reader left for a stranger; and a pod of a stranger left."""
    group, eviction = f"{SPACE}/{SECRET}", filling.made(Eviction)
    stayed = Alternative((group,), Toll(), f"{group} is older")
    left = Departure("Job mine", "delete", True, f"{group} has its place")
    receipt = Receipt("default/mine", "priority", 0, 1, 0.0, None, (), left, Toll(), (stayed,))
    own = Eviction("default/mine", "u", None, group, "Preemption", receipt)
    return History(
        since=0.0,
        groups=[PastGroup(group, 0.0, 1.0, 2.0, True, 1, 1, 0, ((SECRET, 1),), SECRET)],
        waits={group: {"Capacity": 1.0}},
        evictions=[PastEviction(1.0, own), PastEviction(1.0, eviction)],
    )


def whole(filling: Filling, own: bool = True) -> Situation:
    state = ClusterState()
    for item in (*strangers(filling), *(readers_own() if own else ())):
        state.apply(Put(item))
    return Situation(state.snapshot(), POLICY, NOW, None, past(filling))


def test_there_are_secrets_to_keep() -> None:
    """So that what follows can fail."""
    for kind in (row.type for row in KINDS):
        assert any(SECRET in one for one in inside(FILLINGS[0].made(kind)) if isinstance(one, str))
    assert sum(SECRET in one for one in inside(whole(FILLINGS[0])) if isinstance(one, str)) > 100


@filled
def test_no_word_of_a_stranger_is_in_what_the_reader_sees(filling: Filling) -> None:
    situation = as_seen_by(whole(filling), OURS)
    words = [one for one in inside(situation) if isinstance(one, str)]
    assert "default/lone" in words
    assert [word for word in words if SECRET in word] == []
    for answer in answers(situation):
        assert_kept(answer)


@filled
def test_a_field_that_is_new_tomorrow_is_hidden(filling: Filling) -> None:
    """Every object gets one more field. None of them is passed on, nor copied with all that it has."""
    situation = tomorrow(whole(filling, own=False), SECRET)
    assert sum(hasattr(one, "tomorrow") for one in inside(situation)) > 100
    found = {type(one).__name__ for one in inside(as_seen_by(situation, OURS)) if hasattr(one, "tomorrow")}
    assert sorted(found - PUBLIC) == []


def built() -> dict[type, set[str]]:
    """The structs that `explain/redaction` builds, and the fields that it gives them."""
    found = defaultdict[type, set[str]](set)
    for name in [one.name for one in iter_modules(redaction.__path__)]:
        module = import_module(f"{redaction.__name__}.{name}")
        for call in ast.walk(ast.parse(getsource(module))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                kind = getattr(module, call.func.id, None)
                if isinstance(kind, type) and (names := field_names(kind)):
                    found[kind].update(names[: len(call.args)], (one.arg or "" for one in call.keywords))
    return found


def test_of_every_field_it_is_said_whether_it_is_told() -> None:
    """Who adds a field that decisions read has to tell it: otherwise strangers would count for something else
    in the answers to a tenant than in the cluster."""
    fields = built()
    untold = {(kind, name) for kind, told in fields.items() for name in field_names(kind) if name not in told}
    assert {f"{kind.__name__}.{name}" for kind, name in untold} == HIDDEN
