"""What is supposed to be there too: new pods and groups, under names that nothing in the cluster can have.

They are asked about over HTTP as well, so a supposition can be written as JSON and read again:

    {"objects": [...], "model": "H100", "within": "rack", "options": ["--gang", "--gpus"]}

`objects` are Pods, their owners, PodGroups, CompositePodGroups, PersistentVolumeClaims, ResourceClaims and
ResourceClaimTemplates as manifests.
`model` and `within` are for who knows neither the labels of the nodes nor the policy: whoever answers looks
them up.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, TypeVar

import msgspec

from maitred.cluster.parts import root_of
from maitred.cluster.supposing import CLAIMS
from maitred.cluster.trees import COMPOSITE_POD_GROUP
from maitred.explain.proposal.expansion import PLANNED, as_new, manifest_of
from maitred.explain.proposal.workloads import MOST_PODS
from maitred.model.devices.claims import (
    DeviceClaim,
    DeviceRequest,
    ExactRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from maitred.model.group import (
    CompositePodGroup,
    GangPolicy,
    PodGroup,
    PodGroupSpec,
    SchedulingPolicy,
    composite_from_object,
    group_from_pod_group,
)
from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.manifest import Document, InputError, Reader
from maitred.model.manifest.errors import FieldError, field_error
from maitred.model.membership import ALONE, POD_GROUP, GroupId, renamed, said_by, settle
from maitred.model.meta import Lean, ObjectMeta, OwnerReference, controller_of, key_of
from maitred.model.objects import Object
from maitred.model.operators.leaderworkerset import SET_NAME, LeaderWorkerSet
from maitred.model.operators.pods import reference
from maitred.model.owner_chain import LONGEST_CHAIN, row_of_owner
from maitred.model.owners import kind_of
from maitred.model.pod import (
    Container,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceRequirements,
    Resources,
    SchedulingGroup,
)
from maitred.model.policy import Workloads
from maitred.model.runtime import EXPECTED_RUNTIME

T = TypeVar("T", bound=Object)
MARK = "$"
"""Behind the names of what is only supposed: no name that the API server accepts has it, and names that it is
added to stay in their order."""
DEVICES = "gpu"
"""Devices of whatever resource the cluster has them as; no manifest can ask for this."""
CLAIM = "devices"
"""What members of a gang that is described by options call their claims."""
MOST_OBJECTS = 3 * MOST_PODS
"""Pods, and a group and a claim for each of them."""
MOST_OPTIONS = 100
LONGEST_TEXT = 1_000
Option = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]


class Request(Lean, frozen=True, forbid_unknown_fields=True):
    """A supposition as it is posted."""

    objects: tuple[dict[str, Any], ...] = ()
    model: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] = ""
    within: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] = ""
    options: Annotated[tuple[Option, ...], msgspec.Meta(max_length=MOST_OPTIONS)] = ()


@dataclass(frozen=True, slots=True)
class ProposedGroup:
    """Pods that get one answer: a group, or the lone pods of one owner."""

    name: str
    """`namespace/name`, as the user knows it."""
    kind: str
    """Of what makes the pods; empty for pods that are given themselves."""
    source: str
    """Of its membership; ALONE for lone pods."""
    groups: tuple[str, ...]
    """What decisions call it: the group, or each of the lone pods."""
    owner: str = ""
    """`namespace/name` of what makes the pods."""
    above: str = ""
    """The kind and name of what the owner was made for, where other pods were made for it too."""

    @property
    def title(self) -> str:
        if not self.kind:
            return self.name
        if self.name.startswith(f"{self.owner}-"):
            return f"{self.kind} {self.owner}, group {self.name}"
        return f"{self.kind} {self.name}{f' of {self.above}' if self.above else ''}"


@dataclass(frozen=True)
class Supposition:
    objects: tuple[Object, ...]
    model: str = ""
    """Part of the name of a device model."""
    within: str = ""
    """The level, or the label key, that each group has to be within one domain of."""
    options: tuple[str, ...] = ()
    """Those that describe it where there is no manifest to change: changes are then told as options."""

    @property
    def by_options(self) -> bool:
        return bool(self.options)

    def body(self) -> bytes:
        objects = tuple(manifest_of(item) for item in self.objects if isinstance(item, PLANNED))
        return msgspec.json.encode(Request(objects, self.model, self.within, self.options))

    @property
    def namespaces(self) -> tuple[str, ...]:
        return tuple(sorted({item.metadata.namespace or "default" for item in self.objects}))

    @property
    def pods(self) -> list[Pod]:
        return [item for item in self.objects if isinstance(item, Pod)]

    @cached_property
    def _supposed(self) -> frozenset[tuple[type[Object], str]]:
        """What is supposed, by kind and key."""
        return frozenset(self._by_name)

    def stand_ins(self, now: datetime, scheduler: str | None = None) -> list[Object]:
        """The objects as they would be if they were created now, for this scheduler if it is the only one."""
        return [self._stand_in(item, now, scheduler) for item in self.objects]

    def _stand_in(self, item: Object, now: datetime, scheduler: str | None) -> Object:
        if isinstance(item, CLAIMS):
            return item
        named = self._renamed(item)
        metadata = msgspec.structs.replace(named.metadata, creation_timestamp=now)
        if scheduler is None or not isinstance(named, Pod):
            return msgspec.structs.replace(named, metadata=metadata)
        return Pod(metadata, msgspec.structs.replace(named.spec, scheduler_name=scheduler))

    def _renamed(self, item: T) -> T:
        """Under a name that nothing in the cluster can have, and in groups of such names, but for groups that
        are there already."""
        return renamed(item, MARK, lambda kind, key: (kind, key) in self._supposed)

    @cached_property
    def _trees(self) -> dict[str, str]:
        """PodGroups in trees, and these, under the names that both have once they are supposed."""
        found = [self._renamed(one) for one in self.objects if isinstance(one, CompositePodGroup)]
        composites = {one.key: one for one in map(composite_from_object, found)}
        named = [self._renamed(one) for one in self.objects if isinstance(one, PodGroup)]
        groups = [group_from_pod_group(one) for one in named]
        return {group.key: root_of(group.parent, composites) for group in groups if group.parent}

    def proposed_groups(self, rules: Workloads) -> tuple[ProposedGroup, ...]:
        """In the order of the objects; `rules` are those of the policy."""
        groups: dict[tuple[str, str], dict[str, Pod]] = {}
        for pod in self.pods:
            id = self._settled(pod, rules)
            if id.source == ALONE:
                form, name = _kind_and_key(pod, controller_of(pod.metadata))
                name = name or key_of(pod.metadata)
            else:
                form, name = id.source, id.key.replace(MARK, "")
            groups.setdefault((form, name), {}).setdefault(id.key, pod)
        found = [self._proposed(name, members, rules) for (_, name), members in groups.items()]
        times = Counter(one.title for one in found)
        return tuple(
            self._told_apart(one, members) if one.source == ALONE and times[one.title] > 1 else one
            for one, members in zip(found, groups.values(), strict=True)
        )

    def _settled(self, pod: Pod, rules: Workloads) -> GroupId:
        """Its group once both are supposed."""
        found = settle(said_by(self._renamed(pod)), self, rules).id
        if found is None:
            return GroupId(ALONE, f"{key_of(pod.metadata)}{MARK}")
        tree = self._trees.get(found.key) if found.source == POD_GROUP else None
        return found if tree is None else GroupId(COMPOSITE_POD_GROUP, tree)

    def job(self, key: str) -> Job | None:
        """The Job of this name, as the user wrote it."""
        jobs = (item for item in self.objects if isinstance(item, Job))
        return next((job for job in jobs if key_of(job.metadata) == key), None)

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """What is supposed under its new name, but for PodGroups: these were made by nobody."""
        found = None if kind is PodGroup else self._by_new_name.get((kind, key))
        return found if isinstance(found, kind) else None

    @cached_property
    def _by_new_name(self) -> dict[tuple[type[Object], str], Object]:
        others = (self._renamed(item) for item in self.objects if not isinstance(item, Pod))
        return {(row_of(type(item)).type, key_of(item.metadata)): item for item in others}

    def _proposed(self, name: str, members: dict[str, Pod], rules: Workloads) -> ProposedGroup:
        """Named by what the user wrote: the owner above all others."""
        first = next(iter(members.values()))
        source = self._settled(first, rules).source
        kind, owner = _kind_and_key(first, self._top(first))
        return ProposedGroup(
            owner if source == ALONE and owner else name, kind, source, tuple(members), owner
        )

    def _told_apart(self, one: ProposedGroup, members: dict[str, Pod]) -> ProposedGroup:
        """By the owner that made the pods, where the one above all others made other pods too."""
        first = next(iter(members.values()))
        kind, owner = _kind_and_key(first, controller_of(first.metadata))
        return replace(one, name=owner, kind=kind, owner=owner, above=f"{one.kind} {one.owner}")

    def _top(self, pod: Pod) -> OwnerReference | None:
        """The owner that nobody owns, as far as it is supposed."""
        owner, space = controller_of(pod.metadata), pod.metadata.namespace or "default"
        if (name := pod.metadata.labels.get(SET_NAME)) and (
            LeaderWorkerSet,
            f"{space}/{name}",
        ) in self._supposed:
            return reference(LeaderWorkerSet(ObjectMeta(name=name)))
        for _ in range(LONGEST_CHAIN):
            row = None if owner is None else row_of_owner(owner)
            item = (
                None
                if row is None or owner is None
                else self._by_name.get((row.type, f"{space}/{owner.name}"))
            )
            above = None if item is None else controller_of(item.metadata)
            if above is None:
                break
            owner = above
        return owner

    @cached_property
    def _by_name(self) -> dict[tuple[type[Object], str], Object]:
        return {(row_of(type(item)).type, key_of(item.metadata)): item for item in self.objects}


def _kind_and_key(pod: Pod, owner: OwnerReference | None) -> tuple[str, str]:
    if owner is None:
        return "", ""
    return kind_of(owner), f"{pod.metadata.namespace or 'default'}/{owner.name}"


# -- from elsewhere ----------------------------------------------------------------------------------------


def read_supposition(body: bytes) -> Supposition:
    """What was posted, checked as manifests are. Raises InputError."""
    try:
        request = msgspec.json.decode(body, type=Request)
    except msgspec.ValidationError as error:
        problem = field_error(error, None, Request)
        raise InputError("", "", problem.field, problem.what) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError("", "", "", "the body is not valid JSON") from None
    if len(request.objects) > MOST_OBJECTS:
        raise InputError("", "", "objects", f"at most {MOST_OBJECTS} objects can be planned")
    objects = tuple(_read_objects(request.objects))
    if sum(isinstance(item, Pod) for item in objects) > MOST_PODS:
        raise InputError("", "", "objects", f"at most {MOST_PODS} pods can be planned")
    if not any(isinstance(item, Pod) for item in objects):
        raise InputError("", "", "objects", "has no pods")
    return Supposition(objects, request.model, request.within, request.options)


def _read_objects(bodies: Iterable[dict[str, Any]]) -> Iterable[Object]:
    reader = Reader()
    for position, body in enumerate(bodies):
        version, kind = body.get("apiVersion"), body.get("kind")
        place = f"objects[{position}]"
        document = Document("", place, version if isinstance(version, str) else "", str(kind or ""), body)
        item = reader.take(document)
        if not isinstance(item, PLANNED):
            raise InputError(
                "",
                place,
                "kind",
                "only Pods, PodGroups, CompositePodGroups, Jobs, PersistentVolumeClaims, ResourceClaims and "
                "ResourceClaimTemplates can be planned",
            )
        try:
            yield as_new(item)
        except FieldError as problem:
            raise InputError("", document.title, problem.field, problem.what) from None


@dataclass(frozen=True, slots=True)
class WantedDevices:
    """What each member of a gang claims for itself."""

    device_class: str
    count: int = 1


def gang_objects(
    name: str,
    namespace: str,
    members: int,
    quorum: int,
    requests: Resources,
    priority_class: str = "",
    run_time: str | None = None,
    devices: WantedDevices | None = None,
) -> tuple[Object, ...]:
    """A gang of equal members, for those who have no manifest yet."""
    said = {} if run_time is None else {EXPECTED_RUNTIME: run_time}
    gang = SchedulingPolicy(gang=GangPolicy(quorum))
    group = PodGroup(
        ObjectMeta(name=name, namespace=namespace, annotations=said),
        PodGroupSpec(scheduling_policy=gang, priority_class_name=priority_class),
    )
    templates = () if devices is None else (_claim_template(name, namespace, devices),)
    spec = PodSpec(
        containers=(Container(resources=ResourceRequirements(requests)),),
        scheduling_group=SchedulingGroup(name),
        priority_class_name=priority_class,
        resource_claims=tuple(PodResourceClaim(CLAIM, None, one.metadata.name) for one in templates),
    )
    pods = (Pod(ObjectMeta(name=f"{name}-{index}", namespace=namespace), spec) for index in range(members))
    return (*templates, group, *pods)


def _claim_template(name: str, namespace: str, devices: WantedDevices) -> ResourceClaimTemplate:
    exactly = ExactRequest(device_class_name=devices.device_class, count=devices.count)
    claim = DeviceClaim((DeviceRequest(devices.device_class, exactly),))
    spec = ResourceClaimTemplateSpec(ResourceClaimSpec(claim))
    return ResourceClaimTemplate(ObjectMeta(name=name, namespace=namespace), spec)
