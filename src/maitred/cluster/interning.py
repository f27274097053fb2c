"""Interning: pods that scheduling cannot tell apart get one shape.

A pod's shape has three parts. Its needs come from the spec. Its labels count only for keys that some live
selector reads in its namespace, so the completion index of a Job does not make 64 shapes of one, and a
selector of one tenant does not make many shapes of another's pods. Its volumes count by what they mean for
placement, so claims of one template are alike.
"""

from collections import defaultdict

import msgspec

from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.snapshot import LabelClass, Shape
from maitred.cluster.volumes import VolumeNeed
from maitred.model.needs import Needs, needs_of
from maitred.model.pod import Pod, PodSpec
from maitred.model.selector import Labels

# Bounds the memory that specs seen long ago may hold; needs themselves are few.
SPECS_REMEMBERED = 100_000

# Below this, what is old costs less than finding out what that is.
FEWEST_TO_FORGET = 1000


def outnumber(numbered: int, in_use: int) -> bool:
    """Whether so much of what was numbered is not in use that it is to be forgotten."""
    return numbered >= 2 * in_use + FEWEST_TO_FORGET


EVERYWHERE = ""
"""In place of a namespace, which always has a name."""

_encode = msgspec.msgpack.Encoder().encode


class Interner:
    def __init__(self) -> None:
        self.needs: list[Needs] = []
        self.shapes: list[Shape] = []
        self.classes: list[LabelClass] = []
        self.classes_with: dict[tuple[str, str], list[int]] = {}
        """Label -> the classes that have it."""
        self._needs_numbers: dict[Needs, int] = {}
        self._needs_by_spec: dict[bytes, int] = {}
        self._users: list[int] = []
        self._shape_numbers: dict[Shape, int] = {}
        self._class_numbers: dict[tuple[str, tuple[str | None, ...]], int] = {}
        self._live_keys: dict[str, tuple[str, ...]] = {EVERYWHERE: ()}
        """By namespace, where more are read than everywhere."""
        self._live_keys_stale = False

    def needs_number(self, pod: Pod) -> int:
        """The number of the pod's needs. A spec that was seen before is recognised by its bytes alone."""
        written = _spec_bytes(pod)
        number = self._needs_by_spec.get(written)
        if number is None:
            needs = needs_of(pod)
            number = self._needs_numbers.setdefault(needs, len(self.needs))
            if number == len(self.needs):
                self.needs.append(needs)
                self._users.append(0)
            if len(self._needs_by_spec) >= SPECS_REMEMBERED:
                self._needs_by_spec.clear()
            self._needs_by_spec[written] = number
        return number

    def count_user(self, needs: int, change: int) -> None:
        """Selectors are live while a pod has them."""
        before = self._users[needs]
        self._users[needs] = before + change
        if (before == 0 or before + change == 0) and any(True for _ in self.needs[needs].pod_terms()):
            self._live_keys_stale = True

    def forget_unused(self) -> dict[int, int] | None:
        """Drop needs that no pod has, once they outnumber the others; old numbers -> new ones if so."""
        used = [number for number, users in enumerate(self._users) if users]
        if not outnumber(len(self.needs), len(used)):
            return None
        self.needs = [self.needs[number] for number in used]
        self._users = [self._users[number] for number in used]
        self._needs_numbers = {needs: number for number, needs in enumerate(self.needs)}
        self._needs_by_spec = {}
        self._shape_numbers, self.shapes = {}, []
        return {old: new for new, old in enumerate(used)}

    def refresh_live_keys(self) -> bool:
        """Look again at which label keys selectors read; True if label classes have to be made anew."""
        if not self._live_keys_stale:
            return False
        self._live_keys_stale = False
        keys = self._keys_read()
        if keys == self._live_keys:
            return False
        self._live_keys = keys
        self._forget_classes()
        return True

    def forget_classes(self, pods: int) -> bool:
        """Drop label classes and shapes once there are many more than pods, each of which has one: a user may
        write labels for ever. True if so."""
        stale = outnumber(max(len(self.classes), len(self.shapes)), pods)
        if stale:
            self._forget_classes()
        return stale

    def _forget_classes(self) -> None:
        self._class_numbers, self.classes, self.classes_with = {}, [], {}
        self._shape_numbers, self.shapes = {}, []

    def _keys_read(self) -> dict[str, tuple[str, ...]]:
        """A term that chooses namespaces by their labels may read the pods of any."""
        found = defaultdict[str, set[str]](set)
        for needs, users in zip(self.needs, self._users, strict=True):
            for term in needs.pod_terms() if users else ():
                anywhere = term.namespace_selector is not None
                for namespace in (EVERYWHERE,) if anywhere else term.namespaces:
                    found[namespace].update(requirement.key for requirement in term.selector or ())
        everywhere = found[EVERYWHERE]
        return {namespace: tuple(sorted(keys | everywhere)) for namespace, keys in found.items()}

    def label_class(self, namespace: str, labels: Labels) -> int:
        live_keys = self._live_keys.get(namespace, self._live_keys[EVERYWHERE])
        read = tuple([labels.get(key) for key in live_keys])
        number = self._class_numbers.get((namespace, read))
        if number is None:
            number = self._class_numbers[namespace, read] = len(self.classes)
            known = {key: value for key, value in zip(live_keys, read, strict=True) if value is not None}
            self.classes.append(LabelClass(namespace, known))
            for label in known.items():
                self.classes_with.setdefault(label, []).append(number)
        return number

    def shape_number(
        self,
        needs: int,
        labels: int,
        volumes: tuple[VolumeNeed, ...],
        devices: tuple[ClaimNeed, ...] = (),
    ) -> int:
        shape = Shape(needs, labels, volumes, devices)
        number = self._shape_numbers.setdefault(shape, len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(shape)
        return number


def _spec_bytes(pod: Pod) -> bytes:
    spec = pod.spec
    return _encode(
        (
            pod.metadata.namespace,
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.host_network,
            spec.host_users,
            spec.ephemeral_containers,
            spec.resource_claims,
            pod.metadata.labels if _reads_own_labels(spec) else None,
        )
    )


def _reads_own_labels(spec: PodSpec) -> bool:
    """`matchLabelKeys` and its like make the needs depend on the pod's labels."""
    if any(constraint.match_label_keys for constraint in spec.topology_spread_constraints):
        return True
    if spec.affinity is None:
        return False
    pods, anti = spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity
    terms = [*pods.required, *anti.required]
    terms += [preferred.pod_affinity_term for preferred in (*pods.preferred, *anti.preferred)]
    return any(term.match_label_keys or term.mismatch_label_keys for term in terms)
