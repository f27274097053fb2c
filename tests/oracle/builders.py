"""Raw Kubernetes objects, written the way one says them.

Tests speak of "a node with four CPUs in rack r1" and "three members of pg": these functions turn that into
the dicts an API server would hand out. Everything but the name is optional, short forms exist for what tests
write often (taints as ``"key=value:NoSchedule"``, topology keys as ``"rack"``), and a dict is taken as it is
wherever the short form does not reach.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

Obj = dict[str, Any]
Labels = Mapping[str, str]
Amounts = Mapping[str, str | int]
Moment = int | str | None

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
RACK = "rack"
GPU = "nvidia.com/gpu"
INDEX = "batch.kubernetes.io/job-completion-index"
GROUP = "maitred.dev/group"
MIN_COUNT = "maitred.dev/min-count"
TOPOLOGY = "maitred.dev/topology-required"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_KEYS = {"hostname": HOSTNAME, "zone": ZONE, "region": REGION, "rack": RACK}
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
LEFT_BY = "2026-01-31T12:00:30Z"
"""Soon after `tests.support.NOON`: pods that are deleted are on their way out then, and not stuck."""


def topology_key(name: str) -> str:
    """The label key behind ``rack``, ``zone``, ``region``, ``hostname``; any other key stands for itself."""
    return _KEYS.get(name, name)


def moment(at: Moment) -> str | None:
    """A timestamp: a number counts seconds since the start of 2026."""
    if isinstance(at, int):
        return (_EPOCH + timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return at


def lean(**fields: Any) -> Obj:
    """The fields that say something: None, empty strings and empty collections are left out."""
    return {
        name: value for name, value in fields.items() if value is not None and value not in ("", [], {}, ())
    }


def metadata(
    name: str,
    namespace: str | None = None,
    labels: Labels | None = None,
    annotations: Labels | None = None,
    created: Moment = None,
    **more: Any,
) -> Obj:
    return lean(
        name=name,
        namespace=namespace,
        uid=f"{namespace}-{name}" if namespace else name,
        labels=dict(labels or {}),
        annotations=dict(annotations or {}),
        creationTimestamp=moment(created),
        **more,
    )


def amounts(
    cpu: str | int | None = None,
    memory: str | int | None = None,
    gpu: int | None = None,
    pods: int | None = None,
    more: Amounts | None = None,
) -> Obj:
    """A resource list; a GPU count of 0 is left out, as a node without GPUs does not list them."""
    given = {"cpu": cpu, "memory": memory, GPU: gpu or None, "pods": pods, **(more or {})}
    return {name: str(value) for name, value in given.items() if value is not None}


# ---- nodes


def taint(text: str | Obj) -> Obj:
    """``"key=value:NoSchedule"`` or ``"key:NoSchedule"``."""
    if isinstance(text, dict):
        return text
    left, _, effect = text.rpartition(":")
    key, _, value = left.partition("=")
    return lean(key=key, value=value, effect=effect)


def toleration(text: str | Obj) -> Obj:
    """``"key=value:Effect"`` (Equal), ``"key:Effect"`` and ``"key"`` (Exists), ``"*"`` (everything)."""
    if isinstance(text, dict):
        return text
    if text == "*":
        return {"operator": "Exists"}
    left, _, effect = text.partition(":")
    key, equal, value = left.partition("=")
    return lean(key=key, operator="Equal" if equal else "Exists", value=value, effect=effect)


def node(
    name: str,
    cpu: str | int = "8",
    memory: str | int = "32Gi",
    gpu: int = 0,
    pods: int | None = 110,
    *,
    rack: str | None = None,
    zone: str | None = None,
    labels: Labels | None = None,
    taints: Iterable[str | Obj] = (),
    cordoned: bool = False,
    ready: bool | None = True,
    allocatable: Amounts | None = None,
    broken: int = 0,
    features: Iterable[str] = (),
    created: Moment = None,
) -> Obj:
    """A node. ``ready=None`` is a kubelet that went silent; ``allocatable`` adds further resources; of its
    GPUs some may be ``broken``."""
    own = {HOSTNAME: name, **lean(**{RACK: rack, ZONE: zone}), **(labels or {})}
    room = amounts(cpu, memory, gpu, pods, allocatable)
    status = {True: "True", False: "False", None: "Unknown"}[ready]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, labels=own, created=created),
        "spec": lean(taints=[taint(t) for t in taints], unschedulable=cordoned or None),
        "status": {
            "capacity": room,
            "allocatable": {**room, **({GPU: str(gpu - broken)} if broken else {})},
            "conditions": [{"type": "Ready", "status": status}],
            **lean(declaredFeatures=list(features)),
        },
    }


# ---- selectors, affinity, spread


def expr(key: str, operator: str, *values: str) -> Obj:
    """One requirement of a selector: ``expr("disk", "In", "ssd", "nvme")``, ``expr("disk", "Exists")``."""
    return lean(key=key, operator=operator, values=list(values))


def selector(match: Labels | None = None, *exprs: Obj) -> Obj:
    """A label selector; without arguments the empty one, which matches every pod."""
    return lean(matchLabels=dict(match or {}), matchExpressions=list(exprs))


def near(
    key: str,
    match: Labels | Obj | None = None,
    *,
    namespaces: Sequence[str] = (),
    namespace_selector: Obj | None = None,
    match_label_keys: Sequence[str] = (),
    mismatch_label_keys: Sequence[str] = (),
) -> Obj:
    """A term of required pod affinity or anti-affinity.

    ``match`` is a set of labels or a whole selector; ``{}`` matches every pod, None (no selector) matches
    none.
    """
    term = lean(
        topologyKey=topology_key(key),
        namespaces=list(namespaces),
        matchLabelKeys=list(match_label_keys),
        mismatchLabelKeys=list(mismatch_label_keys),
    )
    if match is not None:
        term["labelSelector"] = _as_selector(match)
    if namespace_selector is not None:
        term["namespaceSelector"] = namespace_selector
    return term


def spread(
    key: str,
    match: Labels | Obj | None = None,
    *,
    skew: int = 1,
    min_domains: int | None = None,
    match_label_keys: Sequence[str] = (),
    affinity_policy: str | None = None,
    taints_policy: str | None = None,
    soft: bool = False,
) -> Obj:
    """A topology spread constraint (DoNotSchedule unless ``soft``)."""
    constraint = lean(
        maxSkew=skew,
        topologyKey=topology_key(key),
        whenUnsatisfiable="ScheduleAnyway" if soft else "DoNotSchedule",
        minDomains=min_domains,
        matchLabelKeys=list(match_label_keys),
        nodeAffinityPolicy=affinity_policy,
        nodeTaintsPolicy=taints_policy,
    )
    if match is not None:
        constraint["labelSelector"] = _as_selector(match)
    return constraint


def _as_selector(match: Labels | Obj) -> Obj:
    if "matchLabels" in match or "matchExpressions" in match:
        return dict(match)
    return selector(match)


def node_terms(terms: Sequence[Obj | Sequence[Obj]]) -> list[Obj]:
    """Node selector terms: one list of requirements, or several lists (or terms) of which one must hold."""
    if terms and all(isinstance(t, dict) and "key" in t for t in terms):
        return [{"matchExpressions": list(terms)}]
    return [t if isinstance(t, dict) else {"matchExpressions": list(t)} for t in terms]


def on_nodes(*names: str) -> Obj:
    """A node selector term that names one node, as the DaemonSet controller writes it."""
    return {"matchFields": [expr("metadata.name", "In", *names)]}


def _affinity(nodes: Sequence[Any], together: Sequence[Obj], apart: Sequence[Obj]) -> Obj:
    return lean(
        nodeAffinity=lean(**{REQUIRED: lean(nodeSelectorTerms=node_terms(nodes))}),
        podAffinity=lean(**{REQUIRED: list(together)}),
        podAntiAffinity=lean(**{REQUIRED: list(apart)}),
    )


# ---- pods


def gang(name: str, min_count: int | None = None, topology: str | None = None) -> dict[str, str]:
    """How pods name their group where there is no PodGroup API: for ``labels`` or ``annotations``."""
    count = None if min_count is None else str(min_count)
    return lean(**{GROUP: name, MIN_COUNT: count, TOPOLOGY: topology})


def port(number: int | Obj, protocol: str | None = None, ip: str | None = None) -> Obj:
    if isinstance(number, dict):
        return number
    return lean(containerPort=number, hostPort=number, protocol=protocol, hostIP=ip)


def container(
    name: str = "main", requests: Obj | None = None, limits: Obj | None = None, sidecar: bool = False
) -> Obj:
    """A container; ``sidecar`` makes an init container that keeps running."""
    resources = lean(requests=requests, limits=limits)
    return lean(name=name, image="pause", restartPolicy="Always" if sidecar else None, resources=resources)


def pod(
    name: str,
    cpu: str | int | None = None,
    memory: str | int | None = None,
    gpu: int | None = None,
    *,
    namespace: str = "default",
    requests: Amounts | None = None,
    limits: Amounts | None = None,
    init: Sequence[Obj] = (),
    overhead: Amounts | None = None,
    group: str | None = None,
    index: int | None = None,
    labels: Labels | None = None,
    annotations: Labels | None = None,
    node: str | None = None,
    phase: str | None = None,
    created: Moment = None,
    deleted: bool = False,
    where: Labels | None = None,
    node_affinity: Sequence[Obj | Sequence[Obj]] = (),
    tolerations: Iterable[str | Obj] = (),
    affinity: Sequence[Obj] = (),
    anti_affinity: Sequence[Obj] = (),
    spread: Sequence[Obj] = (),
    ports: Iterable[int | Obj] = (),
    restarts_all: bool = False,
    claims: Iterable[str] = (),
    gates: Iterable[str] = (),
    priority: int | None = None,
    priority_class: str | None = None,
    preemption: str | None = None,
    scheduler: str | None = None,
    owner: str | None = None,
    spec: Obj | None = None,
) -> Obj:
    """A pod: pending, unless ``node`` or ``phase`` says otherwise.

    ``group`` names a PodGroup, ``where`` is the nodeSelector, ``claims`` are PVCs to mount, ``owner`` is
    ``"DaemonSet/agent"``, and ``spec`` is laid over what the other arguments made.
    """
    main = container("main", amounts(cpu, memory, gpu, more=requests), amounts(gpu=gpu, more=limits))
    main.update(lean(ports=[port(p) for p in ports]))
    if restarts_all:
        exits = {"operator": "In", "values": [42]}
        rules = [{"action": "RestartAllContainers", "exitCodes": exits}]
        main.update(restartPolicy="Never", restartPolicyRules=rules)
    body = lean(
        nodeName=node,
        schedulerName=scheduler,
        schedulingGroup=lean(podGroupName=group),
        priority=priority,
        priorityClassName=priority_class,
        preemptionPolicy=preemption,
        nodeSelector=dict(where or {}),
        affinity=_affinity(node_affinity, affinity, anti_affinity),
        topologySpreadConstraints=list(spread),
        tolerations=[toleration(t) for t in tolerations],
        schedulingGates=[{"name": gate} for gate in gates],
        initContainers=list(init),
        containers=[main],
        volumes=[{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims],
        overhead=dict(overhead or {}),
    )
    own = {**({} if index is None else {INDEX: str(index)}), **(labels or {})}
    dying = {"deletionTimestamp": LEFT_BY, "deletionGracePeriodSeconds": 30} if deleted else {}
    meta = metadata(name, namespace, own, annotations, created, ownerReferences=_owners(owner), **dying)
    state = {"phase": phase or ("Running" if node else "Pending")}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {**body, **(spec or {})},
        "status": state,
    }


def pods(name: str, count: int, *args: Any, start: int = 0, **fields: Any) -> list[Obj]:
    """``count`` members ``name-0 …``, indexed as the pods of an Indexed Job; the rest as for `pod`."""
    return [pod(f"{name}-{i}", *args, index=i, **fields) for i in range(start, start + count)]


def _owners(owner: str | None) -> list[Obj]:
    if owner is None:
        return []
    kind, _, name = owner.partition("/")
    api = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1" if kind.endswith("Set") else "v1"
    api = "jobset.x-k8s.io/v1alpha2" if kind == "JobSet" else api
    return [
        {"apiVersion": api, "kind": kind, "name": name, "uid": f"{kind}-{name}".lower(), "controller": True}
    ]


def job(name: str, parallelism: int, **spec: Any) -> Obj:
    """The owner of pods with ``owner="Job/<name>"``; not indexed, so that it is no gang by itself."""
    said = {"parallelism": parallelism, **spec}
    about = {**metadata(name, "default"), "uid": f"job-{name}"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": said}


def indexed(count: int) -> Obj:
    """The spec of a Job all of whose indexes run at once."""
    return {"parallelism": count, "completions": count, "completionMode": "Indexed"}


def owner_object(
    version: str, kind: str, name: str, namespace: str, spec: Obj, *, owner: str | None = None, **about: Any
) -> Obj:
    """What pods with ``owner="<kind>/<name>"`` are of; ``owner`` is what is above it."""
    meta = metadata(name, namespace, ownerReferences=_owners(owner), **about)
    meta["uid"] = f"{kind}-{name}".lower()
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


# ---- groups and what stands beside them


def pod_group(
    name: str,
    min_count: int | None = None,
    topology: str | None = None,
    *,
    api: str = "v1beta1",
    namespace: str = "default",
    priority: int | None = None,
    priority_class: str | None = None,
    preemption: str | None = None,
    disruption: str | None = None,
    annotations: Labels | None = None,
    created: Moment = None,
    spec: Obj | None = None,
) -> Obj:
    """A PodGroup: a gang with ``min_count``, basic without. ``api`` is v1alpha2, v1alpha3 or v1beta1."""
    policy: Obj = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    mode: str | Obj | None = None if disruption is None else {disruption: {}}
    if api == "v1alpha2" and disruption is not None:
        mode = {"single": "Pod", "all": "PodGroup"}[disruption]
    levels = [] if topology is None else [{"key": topology_key(topology)}]
    body = lean(
        schedulingPolicy=policy,
        schedulingConstraints=lean(topology=levels),
        disruptionMode=mode,
        priority=priority,
        priorityClassName=priority_class,
        preemptionPolicy=preemption,
    )
    return {
        "apiVersion": f"scheduling.k8s.io/{api}",
        "kind": "PodGroup",
        "metadata": metadata(name, namespace, annotations=annotations, created=created),
        "spec": {**body, **(spec or {})},
    }


def composite(
    name: str,
    min_groups: int | None = None,
    topology: str | None = None,
    *,
    parent: str | None = None,
    namespace: str = "default",
    disruption: str | None = None,
    priority: int | None = None,
    preemption: str | None = None,
    workload: str = "w",
) -> Obj:
    """A CompositePodGroup: a gang of groups with ``min_groups``, basic without."""
    levels = [] if topology is None else [{"key": topology_key(topology)}]
    spec = lean(
        workloadRef={"workloadName": workload, "templateName": name},
        parentCompositePodGroupName=parent,
        schedulingConstraints=lean(topology=levels),
        disruptionMode=None if disruption is None else {disruption: {}},
        priority=priority,
        preemptionPolicy=preemption,
    )
    policy: Obj = {"basic": {}} if min_groups is None else {"gang": {"minGroupCount": min_groups}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": metadata(name, namespace),
        "spec": {"schedulingPolicy": policy, **spec},
    }


def below(parent: str, workload: str = "w") -> Obj:
    """Part of the spec of a PodGroup: whose child it is."""
    return {
        "workloadRef": {"workloadName": workload, "templateName": "t"},
        "parentCompositePodGroupName": parent,
    }


def priority_class(name: str, value: int, *, default: bool = False, preemption: str | None = None) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata(name),
        **lean(value=value, globalDefault=default or None, preemptionPolicy=preemption),
    }


def namespace(name: str, labels: Labels | None = None) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, labels=labels)}


# ---- storage


def storage_class(
    name: str, provisioner: str = "csi.example.com", *, wait: bool = True, zones: Sequence[str] = ()
) -> Obj:
    """A StorageClass, WaitForFirstConsumer unless ``wait`` is False; ``zones`` are its allowed topologies."""
    levels = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else []
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata(name),
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if wait else "Immediate",
        **lean(allowedTopologies=levels),
    }


def pvc(
    name: str,
    size: str = "1Gi",
    *,
    namespace: str = "default",
    storage_class: str | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    volume: str | None = None,
) -> Obj:
    """A claim; with ``volume`` it is bound to that PV."""
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else None
    body = lean(
        accessModes=list(modes),
        resources={"requests": {"storage": size}},
        volumeName=volume,
        storageClassName=storage_class,
    )
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(name, namespace, annotations=bound),
        "spec": body,
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def pv(
    name: str,
    size: str = "1Gi",
    *,
    storage_class: str | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    claim: str | None = None,
    on: Sequence[Obj | Sequence[Obj]] = (),
    driver: str | None = None,
    labels: Labels | None = None,
) -> Obj:
    """A volume; ``on`` are the node selector terms it is limited to, ``claim`` is ``"ns/name"``."""
    space, _, claimed = (claim or "").partition("/")
    source: Obj = {"nfs": {"server": "nfs.example.com", "path": f"/{name}"}}
    if driver is not None:
        source = {"csi": {"driver": driver, "volumeHandle": name}}
    body = lean(
        capacity={"storage": size},
        accessModes=list(modes),
        storageClassName=storage_class,
        claimRef=lean(namespace=space, name=claimed, uid=f"{space}-{claimed}") if claim else None,
        nodeAffinity=lean(required=lean(nodeSelectorTerms=node_terms(on))),
    )
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata(name, labels=labels),
        "spec": {**body, **source},
        "status": {"phase": "Bound" if claim else "Available"},
    }


def attachment(name: str, node: str, volume: str, driver: str) -> Obj:
    """A volume that is attached to a node, whether or not a pod there uses it."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": metadata(name),
        "spec": {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}},
    }


def csi_driver(name: str, strict: bool) -> Obj:
    """A driver; if ``strict``, pods with its volumes keep away from nodes that do not have it."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": metadata(name),
        "spec": {"preventPodSchedulingIfMissing": strict},
    }


def csi_node(name: str, drivers: Mapping[str, int]) -> Obj:
    """How many volumes of each driver can be attached to the node of that name."""
    entries = [
        {"name": d, "nodeID": name, "topologyKeys": [], "allocatable": {"count": n}}
        for d, n in drivers.items()
    ]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": metadata(name),
        "spec": {"drivers": entries},
    }
