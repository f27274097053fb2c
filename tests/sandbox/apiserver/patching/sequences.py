"""Writes that follow each other on one object, of all the ways to write that there are."""

from collections.abc import Iterator
from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.patching.playground import (
    CONFIG_MAP,
    JOB,
    NODE,
    POD,
    TEMPLATE,
    container,
    pod_template,
    thing,
)
from tests.sandbox.apiserver.patching.writes import (
    How,
    Sequence,
    Step,
    apply,
    json,
    merge,
    op,
    put,
    strategic,
)


def config(**data: str) -> Body:
    return thing(CONFIG_MAP, data=data)


def labelled(labels: Body, **data: str) -> Body:
    return thing(CONFIG_MAP, {"labels": labels}, data=data)


def config_maps() -> Iterator[tuple[str, Body | None, list[Step]]]:
    start = labelled({"app": "x"}, a="1", b="2")
    yield "put changes", start, [put({"data": {"a": "9"}}, "b"), put({"data": {"b": None}}, "c")]
    yield (
        "put changes nothing but metadata",
        start,
        [
            put({"metadata": {"labels": {"app": "y", "n": "1"}}}, "b"),
            put({"metadata": {"labels": None}}, "c"),
        ],
    )
    yield (
        "put resets owners",
        start,
        [put({"metadata": {"managedFields": [{}]}}), put({"data": {"a": "3"}}), apply(config(c="4"))],
    )
    yield "merge resets owners", start, [merge({"metadata": {"managedFields": []}}), apply(config(a="2"))]
    yield (
        "owners are written by hand",
        start,
        [
            apply(config(c="1")),
            json(op("replace", "/metadata/managedFields/0/manager", "other")),
            json(op("remove", "/metadata/managedFields/1")),
            merge({"metadata": {"managedFields": [{"manager": "x"}]}, "data": {"z": "1"}}),
        ],
    )
    yield (
        "owners with odd fields",
        start,
        [
            merge(
                {
                    "metadata": {
                        "managedFields": [
                            {
                                "manager": "x",
                                "operation": "Update",
                                "apiVersion": "v1",
                                "fieldsType": "FieldsV1",
                                "fieldsV1": {"f:data": {"f:z": {}, "f:a": {".": {}}}, "q:x": {}},
                            },
                            {
                                "manager": "y",
                                "operation": "Update",
                                "apiVersion": "example.com/v7",
                                "fieldsType": "FieldsV1",
                                "fieldsV1": {"f:data": {"f:b": {}}},
                            },
                        ]
                    },
                    "data": {"a": "7"},
                }
            )
        ],
    )
    yield "many updaters", start, [merge({"data": {f"k{n}": "1"}}, f"m{n:02}") for n in range(13)]
    yield "updaters share", start, [merge({"data": {"a": f"{n}", "c": "0"}}, f"m{n}") for n in range(3)]
    yield "merge", start, [merge({"data": {"a": None, "c": "3"}, "metadata": {"annotations": {"n": "1"}}})]
    yield "merge refused", start, [merge([]), merge("x"), merge(None), merge(7)]
    yield (
        "json",
        start,
        [
            json(op("add", "/data/c", "3"), op("test", "/data/c", "3"), op("remove", "/data/a")),
            json(op("move", "/data/d", **{"from": "/data/c"}), op("copy", "/data/e", **{"from": "/data/d"})),
            json(op("replace", "/data/none", "1"), op("add", "/metadata/labels/a~1b", "1")),
        ],
    )
    yield (
        "json refused",
        start,
        [
            json(op("test", "/data/a", "9")),
            json(op("remove", "/data/none")),
            json(op("add", "/none/a", "1")),
            json(op("copy", "/data/a", **{"from": "/none/a"})),
            json(op("dance", "/data/a")),
            json(op("add", "data", "1")),
            json({"op": "add"}),
            json(op("remove", "")),
            Step(How.JSON, {"op": "add"}),
            Step(How.JSON, [1]),
            Step(How.JSON, [{"op": 1}]),
            Step(How.JSON, [op("test", "/data/a", "1")] * 10_001),
        ],
    )
    yield (
        "lists of finalizers",
        start,
        [
            strategic({"metadata": {"finalizers": ["x/a", "x/b"]}}),
            strategic({"metadata": {"finalizers": ["x/c"]}}, "b"),
            strategic({"metadata": {"$setElementOrder/finalizers": ["x/c", "x/a"]}}),
            apply(thing(CONFIG_MAP, {"finalizers": ["x/d", "x/a"]})),
            apply(thing(CONFIG_MAP, {"finalizers": ["x/a", "x/a"]})),
            json(op("add", "/metadata/finalizers/1", "x/e"), op("remove", "/metadata/finalizers/-1")),
            strategic({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/d", "x/e"]}}),
            merge({"metadata": {"finalizers": None}}),
        ],
    )
    yield "strategic refused", start, [strategic([]), strategic({"$patch": "merge", "data": {"a": "1"}})]


def appliers() -> Iterator[tuple[str, Body | None, list[Step]]]:
    start = labelled({"app": "x"}, a="1", b="2")
    yield "apply creates", None, [apply(config(a="1")), apply(config(a="1")), apply(config(a="2"))]
    yield "apply agrees", start, [apply(config(a="1")), apply(config(a="1")), apply(config(), "a")]
    yield (
        "apply conflicts",
        start,
        [
            apply(config(a="2")),
            apply(labelled({"app": "y"}, a="2", b="3")),
            apply(config(a="2"), force=True),
            apply(config(a="3", b="3"), "b"),
            apply(config(a="3", b="3"), "b", force=True),
        ],
    )
    yield (
        "apply removes",
        None,
        [
            apply(labelled({"x": "1", "y": "2"}, a="1", b="2")),
            apply(labelled({"y": "2"}, b="2", c="3"), "b"),
            apply(labelled({"x": "1"}, a="1")),
            apply(thing(CONFIG_MAP)),
            apply(thing(CONFIG_MAP), "b"),
        ],
    )
    yield (
        "apply and update",
        None,
        [
            apply(config(a="1", b="2")),
            put({"data": {"a": "5"}}, "u"),
            apply(config(a="1", b="2")),
            apply(config(b="2")),
            merge({"data": {"b": None}}, "u"),
            apply(config(b="2")),
        ],
    )
    yield (
        "apply nulls and empties",
        start,
        [
            apply({**config(), "data": None}),
            apply({**config(), "data": {}}),
            apply(thing(CONFIG_MAP, {"labels": {}}, immutable=None)),
            apply(thing(CONFIG_MAP, {"annotations": {"a": "b"}, "labels": None})),
            apply(thing(CONFIG_MAP)),
        ],
    )
    yield (
        "apply refused",
        start,
        [
            apply({**config(), "nonsense": 1}),
            apply({**config(), "data": {"a": 1}}),
            apply({**config(), "data": {"a": {"b": "c"}}}),
            apply({**config(), "data": "text"}),
            apply({**config(), "immutable": "text"}),
            apply({**config(), "metadata": {"finalizers": [{"kind": "x"}]}}),
            apply({**config(), "kind": "Secret"}),
            apply({**config(), "apiVersion": "apps/v2"}),
            apply({"data": {}}),
            apply(thing(CONFIG_MAP, {"managedFields": []})),
        ],
    )
    note = "kubectl.kubernetes.io/last-applied-configuration"
    said = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","b":"2"}}\n'
    yield (
        "apply after kubectl",
        thing(CONFIG_MAP, {"annotations": {note: said}}, data={"a": "1", "b": "2", "c": "3"}),
        [
            apply(config(a="5"), "other"),
            apply(config(a="5", c="9"), "kubectl"),
            apply(config(a="5<&>"), "kubectl"),
            apply(thing(CONFIG_MAP, {"annotations": {"x": "y"}}, data={"a": "6"}), "kubectl"),
        ],
    )


def templates() -> Iterator[tuple[str, Body | None, list[Step]]]:
    ports = [{"containerPort": 8080}, {"containerPort": 80, "protocol": "UDP"}]
    one = container("one", ports=ports, env=[{"name": "B", "value": "1"}, {"name": "A", "value": "2"}])
    two = container("two", resources={"limits": {"cpu": "1", "memory": "1Gi"}})
    three = container("three")
    spec = {"securityContext": {}, "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    start = pod_template(one, two, **spec)
    inner = {"template": {"spec": {"containers": [{"name": "one", "image": "new"}]}}}

    def of(**fields: Any) -> Body:
        return {"template": {"spec": fields}}

    yield (
        "strategic by keys",
        start,
        [
            strategic(inner),
            strategic(of(containers=[three, {"name": "two", "tty": True}]), "b"),
            strategic(
                of(containers=[{"name": "two", "$patch": "delete"}, {"name": "none", "$patch": "delete"}])
            ),
            strategic(of(containers=[{"name": "one", "ports": [{"containerPort": 80, "name": "web"}]}])),
            strategic(of(containers=[{"name": "one", "env": [{"name": "C", "value": "3"}]}])),
            strategic(of(containers=[{"$patch": "replace"}, three])),
        ],
    )
    yield (
        "strategic orders",
        start,
        [
            strategic(of(**{"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]})),
            strategic(
                of(
                    **{
                        "$setElementOrder/containers": [{"name": "three"}, {"name": "two"}],
                        "containers": [three],
                    }
                )
            ),
            strategic(
                of(**{"$setElementOrder/containers": [{"name": "one"}], "containers": [{"name": "two"}]})
            ),
        ],
    )
    yield (
        "strategic keys and directives",
        pod_template(one, **spec, volumes=[{"name": "v", "hostPath": {"path": "/a", "type": ""}}]),
        [
            strategic(of(volumes=[{"name": "v", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}])),
            strategic(of(volumes=[{"name": "v", "$retainKeys": ["name"], "emptyDir": {}}])),
            strategic(of(nodeSelector={"$patch": "replace", "c": "d"})),
            strategic(of(nodeSelector={"$patch": "delete"})),
            strategic(of(nodeSelector={"c": None, "e": "f"}, tolerations=None)),
            strategic(of(tolerations=[{"key": "a", "operator": "Exists"}])),
            strategic(of(securityContext={"runAsUser": 5, "fsGroup": None})),
            strategic(of(securityContext={"$patch": "dance"})),
        ],
    )
    yield (
        "strategic goes wrong",
        start,
        [
            strategic(of(containers=[{"image": "x"}])),
            strategic(of(containers=[{"name": "one", "$patch": "merge"}])),
            strategic(of(containers=[{"name": "one", "$patch": "dance"}])),
            strategic(of(containers=["one"])),
            strategic(of(**{"$setElementOrder/containers": "one"})),
            strategic(of(**{"$setElementOrder/nonsense": ["one"]})),
            strategic(of(**{"$setElementOrderless": ["one"]})),
            strategic(of(**{"$deleteFromPrimitiveListless": ["one"]})),
            strategic(of(**{"$retainKeys": "one"})),
        ],
    )
    yield (
        "json in lists",
        start,
        [
            json(
                op("add", "/template/spec/containers/-", three), op("remove", "/template/spec/containers/1")
            ),
            json(op("replace", "/template/spec/containers/0/env/1/value", "7")),
            json(op("add", "/template/spec/containers/9", three)),
            json(op("replace", "/template/spec/containers/x", three)),
        ],
    )
    yield (
        "put in lists",
        start,
        [
            put(of(containers=[three, one]), "b"),
            put(of(containers=[{**three, "ports": [{"containerPort": 1}]}], nodeSelector=None), "c"),
            put(of(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}})),
        ],
    )
    yield (
        "apply to lists",
        start,
        [
            apply(pod_template(three)),
            apply(pod_template({"name": "one", "ports": [{"containerPort": 8080, "name": "web"}]}), "b"),
            apply(pod_template({"name": "one", "ports": [{"containerPort": 9}]}, three), "b"),
            apply(pod_template(three, {"name": "one", "tty": True})),
            apply(pod_template({"name": "one", "tty": True})),
            apply(pod_template({"name": "one", "env": [{"name": "B", "value": "x"}]}), "c"),
            apply(pod_template({"name": "one", "env": [{"name": "B", "value": "x"}]}), "c", force=True),
            apply(pod_template(three, three)),
            apply(pod_template({"name": "two", "resources": {"limits": {"cpu": 1}}}), "d"),
            apply(pod_template({"name": "two", "resources": {"limits": {"cpu": "2"}}}), "d", force=True),
        ],
    )
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    yield (
        "items that are there twice",
        pod_template(container("one", env=[*twice, {"name": "B", "value": "3"}]), **spec),
        [
            put(of(containers=[container("one", env=[*reversed(twice), {"name": "B", "value": "4"}])]), "b"),
            apply(pod_template({"name": "one", "env": [{"name": "C", "value": "5"}]})),
            apply(pod_template({"name": "one", "env": [{"name": "A", "value": "6"}]}), "c"),
            apply(pod_template({"name": "one", "env": [{"name": "A", "value": "6"}]}), "c", force=True),
            put(of(containers=[container("one", env=twice)]), "d"),
            put(of(containers=[container("one", env=twice[:1])]), "e"),
            put(of(containers=[container("one", env=twice)]), "f"),
            put(of(containers=[container("one")]), "g"),
        ],
    )
    yield (
        "apply whole values",
        start,
        [
            apply(pod_template(nodeSelector={"a": "b"})),
            apply(pod_template(nodeSelector={"a": "b", "c": "d"})),
            apply(pod_template(nodeSelector={"c": "d"}), force=True),
            apply(pod_template(tolerations=[{"operator": "Exists"}]), "b"),
            apply(pod_template(tolerations=[]), "b"),
        ],
    )
    yield (
        "apply creates lists",
        None,
        [
            apply(pod_template(one, two, **spec)),
            apply(pod_template(two, three, one, **spec)),
            apply(pod_template(one, **spec)),
            apply(pod_template(container("one"), securityContext={})),
        ],
    )
    yield (
        "orders of items",
        pod_template(*map(container, "abcd"), **spec),
        [
            apply(pod_template({"name": "c"}, container("n"), {"name": "a"}), "x"),
            apply(pod_template(container("m"), {"name": "d"}, container("k"), {"name": "b"}), "y"),
            apply(pod_template({"name": "a"}, {"name": "c"}), "x"),
            strategic(of(containers=[{"name": "c"}, container("o"), {"name": "a"}])),
            strategic(of(**{"$setElementOrder/containers": [{"name": "d"}, {"name": "a"}]})),
        ],
    )


def pods() -> Iterator[tuple[str, Body | None, list[Step]]]:
    start = thing(
        POD,
        {"labels": {"a": "b"}, "annotations": {"n": "1"}},
        spec={
            "containers": [
                container("one", ports=[{"containerPort": 80}], resources={"limits": {"cpu": "1"}})
            ],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                    }
                }
            },
            "tolerations": [{"key": "x", "operator": "Exists"}],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "schedulingGates": [{"name": "x.io/g"}],
        },
    )
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "Why",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    held = {**ready, "type": "PodScheduled"}
    yield (
        "pod status",
        start,
        [
            strategic({"status": {"conditions": [ready]}}, "kubelet", "status"),
            strategic({"status": {"conditions": [{**ready, "reason": "Other"}]}}, "s", "status"),
            strategic({"status": {"conditions": [held], "phase": "Running"}}, "s", "status"),
            merge({"status": {"nominatedNodeName": "n"}, "metadata": {"labels": {"c": "d"}}}, "s", "status"),
            put({"status": {"message": "x", "conditions": [ready]}}, "kubelet", "status"),
            strategic({"status": {"phase": "Failed"}, "metadata": {"labels": {"e": "f"}}}, "s"),
            apply(thing(POD, status={"conditions": [{"type": "Ready", "status": "True"}]}), part="status"),
            apply(
                thing(POD, status={"conditions": [{"type": "Ready", "status": "True"}]}),
                part="status",
                force=True,
            ),
            apply(thing(POD, status={"reason": "Mine"}), part="status"),
        ],
    )
    yield (
        "pod metadata",
        start,
        [
            merge({"metadata": {"annotations": {"n": None, "m": "2"}}}, "b"),
            json(op("remove", "/spec/schedulingGates/0")),
            strategic({"metadata": {"labels": {"a": "c"}, "annotations": {"$patch": "delete"}}}, "c"),
            apply(thing(POD, {"labels": {"x": "y"}})),
            apply(thing(POD, {"labels": {"x": "z"}})),
        ],
    )


def jobs() -> Iterator[tuple[str, Body | None, list[Step]]]:
    template = {"spec": {"restartPolicy": "Never", "containers": [container("one")]}}
    start = thing(JOB, spec={"managedBy": "example.com/nobody", "template": template, "backoffLimit": 2})
    yield (
        "job",
        start,
        [
            merge({"spec": {"suspend": True}}, "b"),
            strategic({"spec": {"parallelism": 3}}, "b"),
            merge({"status": {"active": 1, "ready": 0}}, "c", "status"),
            put({"status": {"active": 2}}, "d", "status"),
            apply(thing(JOB, spec={"suspend": False}), force=True),
            apply(thing(JOB, status={"active": 2}), part="status"),
            apply(thing(JOB, spec={"parallelism": 4})),
        ],
    )


def nodes() -> Iterator[tuple[str, Body | None, list[Step]]]:
    now = "2096-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}
    status = {"conditions": [ready], "capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}
    start = thing(NODE, {"labels": {"rack": "r1"}}, status=status)
    yield (
        "node status",
        start,
        [
            strategic({"status": {"capacity": {"x.io/gpu": "8"}}}, "plugin", "status"),
            strategic({"status": {"conditions": [{**ready, "reason": "Fine"}]}}, "kubelet", "status"),
            merge({"status": {"allocatable": {"cpu": "2", "x.io/gpu": "0.5k"}}}, "kubelet", "status"),
            strategic({"status": {"addresses": [{"type": "Hostname", "address": "h"}]}}, "kubelet", "status"),
            merge({"spec": {"unschedulable": False}, "metadata": {"labels": {"rack": "r2"}}}, "kubectl"),
            apply(thing(NODE, {"labels": {"block": "b1"}})),
            apply(thing(NODE, status={"capacity": {"x.io/gpu": "8"}}), "plugin", part="status"),
        ],
    )


SEQUENCES = [
    Sequence(title, kind, start, steps)
    for kind, found in (
        (CONFIG_MAP, config_maps()),
        (CONFIG_MAP, appliers()),
        (TEMPLATE, templates()),
        (POD, pods()),
        (JOB, jobs()),
        (NODE, nodes()),
    )
    for title, start, steps in found
]
