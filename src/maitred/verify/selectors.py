"""Selectors, taints and tolerations: the small languages in which pods and nodes speak of each other."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .fields import Doc

Labels = Mapping[str, str]
SET_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*SET_OPERATORS, "Gt", "Lt")


def int64(text: str) -> int | None:
    """A number as Go's strconv.ParseInt reads it."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


@dataclass(frozen=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        have, bound = int64(value), int64(self.values[0])
        if have is None or bound is None:
            return False
        return have > bound if self.operator == "Gt" else have < bound


Selector = tuple[Requirement, ...]


def matches(selector: Selector | None, labels: Labels) -> bool:
    """No selector matches nothing; an empty one matches everything."""
    return selector is not None and all(requirement.holds(labels) for requirement in selector)


def exact(labels: Labels) -> Selector:
    return tuple(Requirement(key, "In", (value,)) for key, value in labels.items())


def requirement(doc: Doc, operators: Iterable[str]) -> Requirement:
    operator, values = doc.text("operator"), tuple(doc.texts("values"))
    if operator not in operators:
        raise doc.error("operator", f"{operator!r} is not one of {', '.join(operators)}")
    if operator in ("In", "NotIn") and not values:
        raise doc.error("values", f"{operator} needs at least one")
    if operator in ("Exists", "DoesNotExist") and values:
        raise doc.error("values", f"{operator} takes none")
    if operator in ("Gt", "Lt") and len(values) != 1:
        raise doc.error("values", f"{operator} takes exactly one")
    return Requirement(doc.text("key"), operator, values)


def labels_of_namespace(name: str, namespaces: Mapping[str, Labels]) -> Labels:
    """With the one that every namespace has."""
    return {"kubernetes.io/metadata.name": name, **namespaces.get(name, {})}


def label_selector(owner: Doc, field: str) -> Selector | None:
    """A metav1.LabelSelector; None where the field is absent."""
    if not owner.given(field):
        return None
    doc = owner.doc(field)
    return exact(doc.strings("matchLabels")) + tuple(
        requirement(item, SET_OPERATORS) for item in doc.docs("matchExpressions")
    )


@dataclass(frozen=True)
class NodeTerm:
    """One alternative of a node selector. One that asks for nothing matches no node."""

    labels: Selector
    fields: Selector

    def holds(self, labels: Labels, name: str) -> bool:
        if not self.labels and not self.fields:
            return False
        return matches(self.labels, labels) and matches(self.fields, {"metadata.name": name})


NodeTerms = tuple[NodeTerm, ...]
ANYTHING = (Requirement("kubernetes.io/no-such-label", "DoesNotExist"),)


def node_terms(owner: Doc, field: str) -> NodeTerms | None:
    """A core/v1 NodeSelector; None where the field is absent."""
    if not owner.given(field):
        return None
    return tuple(
        NodeTerm(
            tuple(requirement(item, NODE_OPERATORS) for item in term.docs("matchExpressions")),
            tuple(requirement(item, ("In", "NotIn")) for item in term.docs("matchFields")),
        )
        for term in owner.doc(field).docs("nodeSelectorTerms")
    )


def labels_only(terms: NodeTerms | None) -> NodeTerms | None:
    """The terms of a volume: Kubernetes holds them against the labels of a node and never against its name,
    so a term about fields alone matches every node."""
    if terms is None:
        return None
    said = [term for term in terms if term.labels or term.fields]
    return tuple(NodeTerm(term.labels or ANYTHING, ()) for term in said)


def any_term(terms: NodeTerms | None, labels: Labels, name: str) -> bool:
    return terms is None or any(term.holds(labels, name) for term in terms)


@dataclass(frozen=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Toleration:
    key: str
    operator: str
    value: str
    effect: str

    def covers(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self._compares(taint.value)

    def _compares(self, value: str) -> bool:
        """Lt and Gt: the taint's value is below or above what the toleration names, both in canonical
        form."""
        have, bound = int64(value), int64(self.value)
        if have is None or bound is None or str(have) != value or str(bound) != self.value:
            return False
        return (self.operator == "Lt" and have < bound) or (self.operator == "Gt" and have > bound)


def taints(owner: Doc, field: str) -> tuple[Taint, ...]:
    return tuple(Taint(t.text("key"), t.text("value"), t.text("effect")) for t in owner.docs(field))


def tolerations(spec: Doc) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(t.text("key"), t.text("operator"), t.text("value"), t.text("effect"))
        for t in spec.docs("tolerations")
    )


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps a pod away: PreferNoSchedule never does."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(t.covers(taint) for t in tolerations):
            return taint
    return None
