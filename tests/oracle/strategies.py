"""Small whole clusters for Hypothesis, as lists of raw objects that an API server would accept.

A cluster is built around its own answer: every waiting member is given a home, and nodes are cut to the size
of what lives on them with a little slack more or less, so that about half of the gangs just fit and half just
miss. Everything else is a feature, switched on for the whole cluster first and then pod by pod: a failing
example shrinks by losing features, then pods, then nodes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.oracle.builders import (
    GPU,
    TOPOLOGY,
    Obj,
    gang,
    indexed,
    namespace,
    node,
    owner_object,
    pod,
    pod_group,
    priority_class,
    topology_key,
)
from tests.oracle.storage import add_volumes
from tests.oracle.traits import (
    APPS,
    FEATURES,
    LEVELS,
    SPACES,
    TEAM,
    Deck,
    Fields,
    half_cpus,
    node_demands,
    node_fields,
    pod_demands,
    size_fields,
)

HARMLESS = frozenset(FEATURES) - {"gates", "mixed", "priority", "lost_volumes"}
"""Features that leave a group valid and open, and nobody to evict: what remains is whether it fits."""

CONSTRAINTS = frozenset(FEATURES) - {
    "gpu",
    "unwell",
    "memory",
    "pod_count",
    "requests",
    "gates",
    "mixed",
    "priority",
    "csi",
}
"""Features that are about where a pod may go, and not about how much it takes or whether it may go at all."""

THEMES = (
    (),
    ("gpu", "memory", "pod_count", "requests"),
    ("node_selector", "node_affinity", "taints", "health", "declared"),
    ("gpu", "unwell", "health"),
    ("affinity",),
    ("anti_affinity", "ports"),
    ("affinity", "anti_affinity"),
    ("spread",),
    ("spread", "affinity", "unlabelled"),
    ("topology", "states"),
    ("topology", "affinity", "spread"),
    ("bound_volumes", "waiting_volumes", "csi", "rwop"),
    ("priority", "states"),
)
"""Features that are most interesting together; every cluster has one theme and a few features more."""

FORMS = ("lone", *("gang",) * 6, "label", "annotation", "label", "annotation", "basic")
OWNED = ("indexed job", "job set", "coscheduling")
"""Groups that nobody names in our words: by the owners of the pods, or in another scheduler's language."""
OWNERS = "owners"
"""The feature that adds them, for those who read them as `tests.oracle.reading` does."""
WITH_OWNERS = (*FEATURES, OWNERS)
CLASSES = {"low": -10, "high": 100}
GPU_COUNT = "nvidia.com/gpu.count"


@dataclass
class Draft:
    """A pod on its way: ``home`` is the node whose size is cut to hold it, ``node`` the one it runs on."""

    name: str
    cpu: int
    fields: Fields
    home: int | None = None
    node: int | None = None
    objects: list[Obj] = field(default_factory=list)

    def build(self, nodes: list[str]) -> Obj:
        return pod(self.name, node=None if self.node is None else nodes[self.node], **self.fields)


@dataclass(frozen=True)
class Ground:
    """The floor before it is cut to size: node names and the rack, zone, labels and taints of each."""

    names: list[str]
    fields: list[Fields]

    def beside(self, index: int, level: str | None) -> list[int]:
        """The nodes of one domain, for members that run: no scheduler would have let them run apart."""
        if level is None or level == "hostname":
            return [index] if level else list(range(len(self.names)))
        value = self.fields[index][level]
        return [
            i for i, fields in enumerate(self.fields) if fields[level] == value and value is not None
        ] or [index]


@st.composite
def clusters(
    draw: DrawFn,
    max_nodes: int = 6,
    max_members: int = 6,
    max_groups: int = 3,
    features: Iterable[str] = FEATURES,
    min_nodes: int = 1,
    min_members: int = 1,
) -> list[Obj]:
    """Whole clusters: nodes, running pods, and one to ``max_groups`` groups that wait."""
    allowed = sorted(features)
    usual = [feature for feature in allowed if feature != OWNERS]
    theme = frozenset(draw(st.sampled_from(THEMES))).intersection(allowed)
    chosen = theme | draw(st.frozensets(st.sampled_from(usual), max_size=3))
    if OWNERS in allowed and draw(st.booleans()):
        chosen |= {OWNERS}
    deck = Deck(draw, chosen)
    ground = _ground(deck, min_nodes, max_nodes)
    groups = [_group(deck, ground, i, min_members, max_members) for i in range(deck.number(1, max_groups))]
    drafts = [draft for members, _ in groups for draft in members] + list(_running(deck, ground))
    objects = [obj for _, objs in groups for obj in objs]
    objects += add_volumes(deck, ground.names, [(d.fields, d.node is None, d.name) for d in drafts])
    objects += [_cut(deck, ground, i, drafts) for i in range(len(ground.names))]
    if "namespaces" in chosen:
        objects += [namespace(name, {TEAM: team}) for name, team in zip(SPACES, ("ml", "web"), strict=True)]
    if "priority" in chosen:
        objects += [priority_class(name, value) for name, value in CLASSES.items()]
    return objects + [draft.build(ground.names) for draft in drafts]


def one_group(features: Iterable[str] = HARMLESS, max_size: int = 6) -> SearchStrategy[list[Obj]]:
    """A cluster where a single group waits, and nothing but the floor decides whether it is seated.

    Mostly with several nodes and members, which Hypothesis on its own draws too seldom to be of much use.
    """
    some, few = (clusters(max_size, max_size, 1, features, least, least) for least in (2, 1))
    many = clusters(max_size, max_size, 1, features, 3, 4) if max_size > 3 else some
    return st.one_of(few, some, many, many)


# ---- nodes


def _ground(deck: Deck, least: int, most: int) -> Ground:
    count, racks = deck.size(least, most), deck.size(1, 3)
    return Ground([f"n{i}" for i in range(count)], [node_fields(deck, i, racks) for i in range(count)])


def _cut(deck: Deck, ground: Ground, index: int, drafts: list[Draft]) -> Obj:
    """The node, just large enough for what lives on it; sometimes a little more or less."""
    lodgers = [
        draft for draft in drafts if index in (draft.home, draft.node) and not draft.fields.get("phase")
    ]
    cpu = sum(draft.cpu for draft in lodgers) + deck.pick([0, 0, 0, 0, -1, 1])
    size: Fields = {"cpu": half_cpus(max(cpu, 0))}
    if "gpu" in deck.features:
        size["gpu"] = max(sum(d.fields.get("gpu", 0) for d in lodgers) + deck.pick([0, 0, 1, -1]), 0)
    if "memory" in deck.features:
        size["memory"] = deck.pick(["4Gi", "3G", "6Gi"])
    if "pod_count" in deck.features:
        size["pods"] = max(len(lodgers) + deck.pick([0, 1, -1]), 1)
    return _ailing(deck, node(ground.names[index], **size, **ground.fields[index]), size.get("gpu", 0))


def _ailing(deck: Deck, made: Obj, gpus: int) -> Obj:
    """Of its GPUs some may be broken, or all; or its device plugin is not registered, which its labels tell,
    sometimes without the number."""
    if not gpus or not deck.chance("unwell"):
        return made
    labels = deck.pick([{}, {}, {}, {GPU_COUNT: str(gpus)}, {"nvidia.com/gpu.present": "true"}])
    broken = gpus if labels else deck.pick([1, 1, gpus])
    status = made["status"]
    made["metadata"]["labels"] |= labels
    status["allocatable"] = {**status["allocatable"], GPU: str(gpus - broken)}
    if labels:
        status["capacity"] = {name: amount for name, amount in status["capacity"].items() if name != GPU}
    return made


def _running(deck: Deck, ground: Ground) -> Iterator[Draft]:
    """Pods of other people that run already, and the DaemonSet pods that stay even on an empty floor."""
    for index in range(len(ground.names)):
        for k in range(deck.number(0, 2)):
            app = deck.pick(APPS)
            fields = _merge(size_fields(deck, 1), {"labels": {"app": app}}, _space(deck))
            if deck.number(0, 2) == 2:
                fields = _merge(fields, pod_demands(deck, app), node_demands(deck, ground.names))
            if deck.rarely("priority"):
                fields.update(_class(deck.pick(list(CLASSES))))
            if deck.rarely("states"):
                fields["deleted"] = True
            if deck.chance("daemons"):
                fields["owner"] = "DaemonSet/agent"
            yield Draft(f"old-{index}-{k}", 1, fields, node=index)


# ---- groups


def _group(deck: Deck, ground: Ground, number: int, least: int, most: int) -> tuple[list[Draft], list[Obj]]:
    """One group in one of the forms there are, its members in up to three shapes and whatever states."""
    forms = (*FORMS, *OWNED * 4) if OWNERS in deck.features else FORMS
    name, form = f"g{number}", deck.pick(forms if least == 1 else forms[1:])
    level = deck.pick(LEVELS) if deck.chance("topology") else None
    common = _merge({"created": deck.number(0, 3)}, _space(deck))
    ranked = deck.pick([None, *CLASSES]) if "priority" in deck.features else None
    if ranked:
        common.update(_class(ranked))
    shapes = _shapes(deck, ground)
    anchor, stride = deck.number(0, len(ground.names) - 1), deck.number(1, 5)
    members = []
    for k in range(1 if form == "lone" else deck.size(least, most)):
        cpu, shape = shapes[k] if k < len(shapes) else deck.pick(shapes)
        fields = _merge({"index": k} if deck.number(0, 1) else {}, shape, common)
        draft = Draft(f"{name}-{k}", cpu, fields)
        _settle(deck, draft, (anchor + k * stride) % len(ground.names), ground.beside(anchor, level))
        members.append(draft)
    quorum = max(1, len(members) + deck.pick([0, 0, 0, -1, -2, 1 if deck.features & {"mixed"} else 0]))
    objects = _identify(deck, form, name, quorum, level, members, common.get("namespace", "default"), ranked)
    return members, objects


def _shapes(deck: Deck, ground: Ground) -> list[tuple[int, Fields]]:
    """Up to three kinds of members of one application, each of another size, so that packing is a puzzle."""
    app, count, shapes = deck.pick(APPS), deck.size(1, 3), []
    for cpu in deck.draw(st.lists(st.integers(1, 5), min_size=count, max_size=count, unique=True)):
        labels = {"app": app, **({"role": deck.pick(["lead", "work"])} if deck.number(0, 1) else {})}
        wants = _merge(node_demands(deck, ground.names), pod_demands(deck, app))
        shapes.append((cpu, _merge({"labels": labels}, size_fields(deck, cpu), wants)))
    return shapes


def _settle(deck: Deck, draft: Draft, home: int, near: list[int]) -> None:
    """The state of a member: waiting, with a node cut to hold it, unless states or gates are in play."""
    state = (
        deck.pick(["pending", "running", "Succeeded", "Failed", "dying", "gone"])
        if deck.rarely("states")
        else ""
    )
    draft.home = home if state in ("", "pending") else None
    if state in ("running", "dying", "Succeeded", "Failed"):
        draft.node = deck.pick(near)
    if state in ("Succeeded", "Failed"):
        draft.fields["phase"] = state
    if state in ("dying", "gone"):
        draft.fields["deleted"] = True
    if draft.node is None and deck.rarely("gates"):
        draft.fields["gates"] = ["example.com/quota"]
    if deck.rarely("mixed"):
        draft.fields.update(deck.pick([{"scheduler": "other"}, {"preemption": "Never"}, {"priority": 7}]))


def _identify(
    deck: Deck,
    form: str,
    name: str,
    quorum: int,
    level: str | None,
    members: list[Draft],
    space: str,
    ranked: str | None,
) -> list[Obj]:
    """Write into the members which group they are of; a PodGroup where the form has one."""
    if form in OWNED and len(members) > 1:
        return _own(form, name, quorum, level, members, space)
    if form in ("gang", "basic"):
        for member in members:
            member.fields["group"] = name
        rank = ranked if ranked and deck.number(0, 1) else None
        count = quorum if form == "gang" else None
        api = deck.pick(["v1beta1", "v1alpha3", "v1alpha2"])
        return [pod_group(name, count, level, api=api, namespace=space, created=0, priority_class=rank)]
    key = topology_key(level) if level else None
    marks = gang(name, quorum) if form != "lone" else {}
    for member in members:
        if form == "label":
            member.fields["labels"] = {**member.fields["labels"], **marks}
            member.fields["annotations"] = {TOPOLOGY: key} if key else {}
        else:
            member.fields["annotations"] = {**marks, **({TOPOLOGY: key} if key else {})}
    return []


def _own(form: str, name: str, quorum: int, level: str | None, members: list[Draft], space: str) -> list[Obj]:
    """An Indexed Job; a JobSet of two replicated jobs with a Job each; or a PodGroup of scheduler-plugins."""
    marks = {TOPOLOGY: topology_key(level)} if level else {}
    if form == "coscheduling":
        for member in members:
            label = {"scheduling.x-k8s.io/pod-group": name}
            member.fields.update(labels={**member.fields["labels"], **label}, annotations=marks)
        version = "scheduling.x-k8s.io/v1alpha1"
        return [owner_object(version, "PodGroup", name, space, {"minMember": quorum})]
    whole = max(2, quorum)
    if form == "indexed job":
        for member in members:
            member.fields["owner"] = f"Job/{name}"
        return [owner_object("batch/v1", "Job", name, space, indexed(whole), annotations=marks)]
    counts, jobs = {"a": whole // 2, "b": whole - whole // 2}, []
    for number, member in enumerate(members):
        member.fields["owner"] = f"Job/{name}-{'a' if number < len(members) // 2 else 'b'}-0"
    for role, count in counts.items():
        labels = {"jobset.sigs.k8s.io/replicatedjob-name": role}
        of_role, above = (f"{name}-{role}-0", space, indexed(count)), f"JobSet/{name}"
        jobs.append(owner_object("batch/v1", "Job", *of_role, owner=above, labels=labels))
    roles = [{"name": role, "template": {"spec": indexed(count)}} for role, count in counts.items()]
    spec = {"replicatedJobs": roles}
    return [owner_object("jobset.x-k8s.io/v1alpha2", "JobSet", name, space, spec, annotations=marks), *jobs]


# ---- small helpers


def _space(deck: Deck) -> Fields:
    return {"namespace": deck.pick(SPACES)} if "namespaces" in deck.features else {}


def _class(name: str) -> Fields:
    """As the API server leaves it: the name of the class and its value."""
    return {"priority_class": name, "priority": CLASSES[name]}


def _merge(*parts: Fields) -> Fields:
    """Pod fields laid over each other; raw ``spec`` parts are joined."""
    merged: Fields = {}
    for part in parts:
        spec = {**merged.get("spec", {}), **part.get("spec", {})}
        merged.update(part)
        if spec:
            merged["spec"] = spec
    return merged
