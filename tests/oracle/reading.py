"""Who belongs to which group and what state it is in, read from raw objects.

A second reading of the rules, kept apart from the engine's on purpose: an oracle that asked the engine who
the members are would repeat its mistakes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tests.oracle.builders import GROUP, MIN_COUNT, TOPOLOGY, Obj

BUILTIN_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
COSCHEDULING = "scheduling.x-k8s.io/pod-group"
Policy = Mapping[str, object]


def key(obj: Obj) -> str:
    meta = obj["metadata"]
    return f"{meta.get('namespace', 'default')}/{meta['name']}"


def phase(pod: Obj) -> str:
    return str(pod.get("status", {}).get("phase", ""))


def finished(pod: Obj) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def succeeded(pod: Obj) -> bool:
    return phase(pod) == "Succeeded"


def terminating(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"] and not finished(pod)


def running(pod: Obj) -> bool:
    """On a node and holding its resources, terminating or not."""
    return bool(pod["spec"].get("nodeName")) and not finished(pod)


def pending(pod: Obj) -> bool:
    return not (pod["spec"].get("nodeName") or finished(pod) or terminating(pod))


def stays_on_empty(pod: Obj) -> bool:
    """DaemonSet and static pods are part of a node: even an empty cluster has them."""
    if "kubernetes.io/config.mirror" in pod["metadata"].get("annotations", {}):
        return running(pod)
    return running(pod) and any(map(is_daemons_owner, pod["metadata"].get("ownerReferences", ())))


def is_daemons_owner(owner: Obj) -> bool:
    """Without an API version it is written by hand, and meant."""
    kinds = {("apps", "DaemonSet"), ("", "Node")}
    if "apiVersion" not in owner:
        return owner["kind"] in {kind for _, kind in kinds}
    group = owner["apiVersion"].rpartition("/")[0]
    return bool(owner.get("controller")) and (group, owner["kind"]) in kinds


@dataclass(frozen=True)
class Group:
    """A group as the objects tell it; ``flaws`` says why it is invalid, ``missing`` that its PodGroup is."""

    name: str
    quorum: int
    members: tuple[Obj, ...]
    topology: str | None = None
    flaws: tuple[str, ...] = ()
    missing: bool = False

    @cached_property
    def pending(self) -> list[Obj]:
        return [pod for pod in self.members if pending(pod)]

    @cached_property
    def running(self) -> list[Obj]:
        return [pod for pod in self.members if running(pod) and not terminating(pod)]

    @property
    def succeeded(self) -> int:
        return sum(map(succeeded, self.members))

    @property
    def placed(self) -> int:
        """Members that count for the quorum before anything is decided."""
        return len(self.running) + self.succeeded

    @property
    def needed(self) -> int:
        return max(0, self.quorum - self.placed)

    @property
    def created(self) -> int:
        """Members that count for the quorum or still may."""
        return self.placed + len(self.pending)

    @property
    def gated(self) -> bool:
        return any(pod["spec"].get("schedulingGates") for pod in self.pending)

    @property
    def open(self) -> bool:
        """Whether nothing but the floor decides: the group is valid, not gated, and its quorum is created."""
        return not (self.flaws or self.missing or self.gated or self.created < self.quorum)


def groups(objects: Iterable[Obj], policy: Policy | None = None) -> list[Group]:
    """Every group with a pending member, by name."""
    listed = list(objects)
    by_name: dict[str, list[Obj]] = {}
    for pod in (obj for obj in listed if obj["kind"] == "Pod"):
        by_name.setdefault(_group_of(pod, listed), []).append(pod)
    podgroups = {key(obj): obj for obj in listed if obj["kind"] == "PodGroup" and not _is_foreign(obj)}
    found = [_group(name, pods, podgroups, listed, policy or {}) for name, pods in sorted(by_name.items())]
    return [group for group in found if group.pending]


def only_group(objects: Iterable[Obj], policy: Policy | None = None) -> Group | None:
    """The group that waits, where a test made just one; None when all its members are placed or gone."""
    waiting = groups(objects, policy)
    assert len(waiting) <= 1, [group.name for group in waiting]
    return waiting[0] if waiting else None


def _group_of(pod: Obj, objects: list[Obj]) -> str:
    space = pod["metadata"].get("namespace", "default")
    named = pod["spec"].get("schedulingGroup", {}).get("podGroupName") or mark(pod, GROUP)
    named = named or mark(pod, COSCHEDULING)
    maker = None if named else _maker(pod, objects)
    return key(maker) if maker is not None else f"{space}/{named or pod['metadata']['name']}"


# ---- groups that owners make, or that are named in another scheduler's language


def _is_foreign(group: Obj) -> bool:
    return not str(group["apiVersion"]).startswith("scheduling.k8s.io/")


def _above(obj: Obj, objects: list[Obj]) -> Obj | None:
    """Its controller, if that is among the objects and no other of that name."""
    for owner in obj["metadata"].get("ownerReferences", ()):
        for one in objects:
            same = (one["kind"], one["metadata"]["name"]) == (owner["kind"], owner["name"])
            beside = one["metadata"].get("namespace") == obj["metadata"].get("namespace")
            if owner.get("controller") and same and beside and one["metadata"].get("uid") == owner["uid"]:
                return one
    return None


def _maker(pod: Obj, objects: list[Obj]) -> Obj | None:
    """The JobSet above a pod, else its Job if all indexes of that run at once."""
    job = _above(pod, objects)
    if job is None or job["kind"] != "Job":
        return None
    above = _above(job, objects)
    if above is not None and above["kind"] == "JobSet":
        return above
    return job if job["spec"].get("completionMode") == "Indexed" and _made(job) > 1 else None


def _made(maker: Obj) -> int:
    """How many pods it makes at once."""
    if maker["kind"] == "Job":
        spec = maker["spec"]
        return int(spec["parallelism"]) if spec["parallelism"] == spec.get("completions") else 1
    several = maker["spec"]["replicatedJobs"]
    return sum(one.get("replicas", 1) * one["template"]["spec"]["parallelism"] for one in several)


def mark(obj: Obj, name: str) -> str | None:
    """A key that may be written as a label or as an annotation."""
    meta = obj["metadata"]
    value = meta.get("labels", {}).get(name) or meta.get("annotations", {}).get(name)
    return None if value is None else str(value)


def _group(
    name: str, pods: list[Obj], podgroups: dict[str, Obj], objects: list[Obj], policy: Policy
) -> Group:
    flaws = set(_flaws(pods, podgroups.get(name), objects))
    levels = {str(level["name"]): str(level["key"]) for level in _levels(policy)}
    named_by_pods = any(mark(pod, GROUP) or mark(pod, COSCHEDULING) for pod in pods)
    if name not in podgroups and not named_by_pods and (maker := _maker(pods[0], objects)) is not None:
        asked_for = mark(maker, TOPOLOGY)
        topology = levels.get(asked_for or "", asked_for)
        return Group(name, _made(maker), tuple(pods), topology, tuple(sorted(flaws)))
    if not any(pod["spec"].get("schedulingGroup") for pod in pods):
        foreign = [
            obj for obj in objects if obj["kind"] == "PodGroup" and _is_foreign(obj) and key(obj) == name
        ]
        quorum = max((int(mark(pod, MIN_COUNT) or 1) for pod in pods), default=1)
        quorum = int(foreign[0]["spec"]["minMember"]) if foreign else quorum
        keys = {mark(pod, TOPOLOGY) for pod in pods if not finished(pod)}
        flaws |= {"topology"} if len(keys) > 1 else set()
        named = next(iter(keys), None)
        return Group(name, quorum, tuple(pods), levels.get(named or "", named), tuple(sorted(flaws)))
    if name not in podgroups:
        return Group(name, 1, tuple(pods), flaws=tuple(sorted(flaws)), missing=True)
    spec = podgroups[name]["spec"]
    quorum = spec.get("schedulingPolicy", {}).get("gang", {}).get("minCount", 1)
    asked = spec.get("schedulingConstraints", {}).get("topology") or [{}]
    noted = podgroups[name]["metadata"].get("annotations", {}).get(TOPOLOGY)
    noted = levels.get(noted or "", noted)
    topology = asked[0].get("key") or noted
    flaws |= {"topology"} if noted and noted != topology else set()
    return Group(name, quorum, tuple(pods), topology, tuple(sorted(flaws)))


def _levels(policy: Policy) -> list[Mapping[str, object]]:
    topology = policy.get("topology")
    levels = topology.get("levels", []) if isinstance(topology, Mapping) else []
    return list(levels)


def _flaws(pods: list[Obj], podgroup: Obj | None, objects: list[Obj]) -> Iterable[str]:
    """Members must agree on scheduler, priority and preemption, and with their PodGroup."""
    live = [pod["spec"] for pod in pods if not finished(pod)]
    classes = {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == "PriorityClass"}
    if len({spec.get("schedulerName", "default-scheduler") for spec in live}) > 1:
        yield "scheduler"
    specs = list(live)
    if podgroup is not None and {"priority", "priorityClassName"} & podgroup["spec"].keys():
        specs.append(podgroup["spec"])
    ranks = {_priority(spec, classes) for spec in specs}
    if None in ranks:
        yield "class"
    if len(ranks) > 1:
        yield "priority"
    if podgroup is not None and "preemptionPolicy" in podgroup["spec"]:
        live = [*live, podgroup["spec"]]
    if len({_preemption(spec, classes) for spec in live}) > 1:
        yield "preemption"


def _priority(spec: Obj, classes: dict[str, Obj]) -> int | None:
    """None for a class that does not exist."""
    if "priority" in spec:
        return int(spec["priority"])
    named = spec.get("priorityClassName")
    if named:
        return int(classes[named]["value"]) if named in classes else BUILTIN_CLASSES.get(named)
    return next((int(c["value"]) for c in classes.values() if c.get("globalDefault")), 0)


def _preemption(spec: Obj, classes: dict[str, Obj]) -> str:
    chosen = classes.get(spec.get("priorityClassName", ""), {})
    return str(spec.get("preemptionPolicy") or chosen.get("preemptionPolicy") or "PreemptLowerPriority")
