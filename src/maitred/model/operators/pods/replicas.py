"""Pods that a controller makes from one template: how many, named how, and owned by whom."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

import msgspec

from maitred.model.job import PodTemplate, TemplateMeta
from maitred.model.kinds import row_of
from maitred.model.meta import ObjectMeta, OwnerReference, controller_of
from maitred.model.objects import Object
from maitred.model.owner_chain import Found
from maitred.model.pod import Affinity, Pod, PodAffinity, PodAffinityTerm, PodSpec
from maitred.model.selector import Labels, LabelSelector, Requirement

T = TypeVar("T", bound=Object)


class MissingObject(Exception):
    """The pods of an owner cannot be known without another object, which is not there. It says which."""


class After(Enum):
    """What must be of others before the controller creates these pods."""

    NOTHING = ""
    SCHEDULED = "Scheduled"
    READY = "Ready"
    COMPLETE = "Complete"


@dataclass(frozen=True, slots=True)
class Manager:
    """A controller that an object names in place of the one of its kind, which then leaves it alone."""

    field: str
    name: str


def other_manager(name: str, usual: str, field: str) -> Manager | None:
    return Manager(field, name) if name not in ("", usual) else None


def nothing(_: int) -> Labels:
    return {}


@dataclass(frozen=True, slots=True)
class Replicas:
    """At least one pod. The template has the labels and annotations that all of them get."""

    role: str
    template: PodTemplate
    count: int
    namespace: str
    owner: OwnerReference
    """The controller of the pods."""
    name: Callable[[int], str]
    labels: Callable[[int], Labels] = nothing
    """Those in which the pods differ."""
    annotations: Callable[[int], Labels] = nothing
    between: tuple[Object, ...] = ()
    """What is made between the object that was asked about and these pods, the nearest to the pods first."""
    first: int = 0
    """The index of the first of them."""
    after: After = After.NOTHING
    claims: Sequence[dict[str, Any]] = ()
    """Templates of claims, of which each pod gets its own."""
    manager: Manager | None = None
    """Who else would have to make them; what it would make is not known."""
    deadline: int | None = None
    """Seconds after which its owner is ended."""
    field: str = ""
    """Where the object that was asked about has the template,"""
    count_field: str = ""
    """and the number of pods."""

    def pods(self) -> Iterator[Pod]:
        return map(self.pod, range(self.first, self.first + self.count))

    def pod(self, index: int) -> Pod:
        about = self.template.metadata
        metadata = ObjectMeta(
            name=self.name(index),
            namespace=self.namespace,
            labels={**about.labels, **self.labels(index)},
            annotations={**about.annotations, **self.annotations(index)},
            owner_references=(self.owner,),
        )
        return Pod(metadata, self.template.spec)


def reference(owner: Object, version: str = "") -> OwnerReference:
    """What an object that it controls says of it. `version`: as the owner was written; without: the best."""
    row = row_of(type(owner))
    about = owner.metadata
    return OwnerReference(row.name, about.name, about.uid, True, version or row.api_versions[0])


def made(kind: type[T], name: str, owner: Object, known: Found | None, version: str = "") -> ObjectMeta:
    """The metadata of an object that an owner makes; with the UID of the one that it has made, if any."""
    namespace = owner.metadata.namespace
    found = None if known is None else known.find(kind, f"{namespace or 'default'}/{name}")
    controller = None if found is None else controller_of(found.metadata)
    its_own = controller is not None and owner.metadata.uid and controller.uid == owner.metadata.uid
    uid = found.metadata.uid if found is not None and its_own else ""
    return ObjectMeta(name=name, namespace=namespace, uid=uid, owner_references=(reference(owner, version),))


def marked(template: PodTemplate, labels: Labels, annotations: Labels | None = None) -> PodTemplate:
    """With more labels and annotations, which stand against those of the template."""
    about = template.metadata
    metadata = TemplateMeta({**about.labels, **labels}, {**about.annotations, **(annotations or {})})
    return PodTemplate(metadata, template.spec)


# -- a topology domain for each -----------------------------------------------------------------------------


def alone_in_domain(
    template: PodTemplate, key: str, value: str, level: str, more: tuple[Requirement, ...] = (), **term: Any
) -> PodTemplate:
    """Pods with this label together in one domain of the level, and no others that have the label in it."""
    others = (Requirement(key, "Exists"), Requirement(key, "NotIn", (value,)), *more)
    apart = PodAffinityTerm(level, LabelSelector(match_expressions=others), **term)
    return _with_terms(template, (_together(key, value, level, **term),), (apart,))


def in_domain(template: PodTemplate, key: str, value: str, level: str, **term: Any) -> PodTemplate:
    """Where pods with this label are. Operators say it by a node selector once those have a node."""
    return _with_terms(template, (_together(key, value, level, **term),), ())


def _together(key: str, value: str, level: str, **term: Any) -> PodAffinityTerm:
    own = LabelSelector(match_expressions=(Requirement(key, "In", (value,)),))
    return PodAffinityTerm(level, own, **term)


def in_domain_of(pod: Pod, key: str, value: str | None) -> Pod:
    """The pod with another value of the label by which it asks to be where others are; None leaves it."""
    before, about, spec = pod.metadata.labels.get(key), pod.metadata, pod.spec
    if before is None or value is None or before == value or spec.affinity is None:
        return pod

    def said(one: Requirement) -> Requirement:
        return Requirement(key, one.operator, (value,)) if (one.key, one.values) == (key, (before,)) else one

    def changed(term: PodAffinityTerm) -> PodAffinityTerm:
        selector = term.label_selector
        if selector is None:
            return term
        selector = LabelSelector(selector.match_labels, tuple(map(said, selector.match_expressions)))
        return msgspec.structs.replace(term, label_selector=selector)

    near = spec.affinity.pod_affinity
    near = PodAffinity(tuple(map(changed, near.required)), near.preferred)
    affinity = msgspec.structs.replace(spec.affinity, pod_affinity=near)
    metadata = msgspec.structs.replace(about, labels={**about.labels, key: value})
    return Pod(metadata, msgspec.structs.replace(spec, affinity=affinity))


Terms = tuple[PodAffinityTerm, ...]


def _with_terms(template: PodTemplate, near: Terms, apart: Terms) -> PodTemplate:
    spec: PodSpec = template.spec
    before = spec.affinity or Affinity()
    affinity = Affinity(
        before.node_affinity,
        _and(before.pod_affinity, near),
        _and(before.pod_anti_affinity, apart),
    )
    return PodTemplate(template.metadata, msgspec.structs.replace(spec, affinity=affinity))


def _and(before: PodAffinity, terms: Terms) -> PodAffinity:
    return PodAffinity((*before.required, *terms), before.preferred)
