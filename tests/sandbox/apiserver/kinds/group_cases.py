"""PodGroups, CompositePodGroups, Workloads and PriorityClasses, good and bad."""

from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import Case
from tests.sandbox.apiserver.kinds.job_cases import KEY_NAME, SUBDOMAIN

BASIC: Body = {"basic": {}}
GANG: Body = {"gang": {"minCount": 2}}
GANG_OF_GROUPS: Body = {"gang": {"minGroupCount": 2}}
ORIGIN: Body = {"workloadName": "w", "templateName": "t"}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NO_POLICY = 'schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'
CONSTANT = "Invalid value: null: field is immutable"
TIME = "2026-01-02T00:00:00Z"


def named(kind: str, version: str, name: str, **fields: Any) -> Body:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def group(**spec: Any) -> Body:
    spec = {"schedulingPolicy": GANG, **spec}
    return named("PodGroup", "scheduling.k8s.io/v1beta1", "g", spec=spec)


def composite(**spec: Any) -> Body:
    spec = {"schedulingPolicy": GANG_OF_GROUPS, "workloadRef": ORIGIN, **spec}
    return named("CompositePodGroup", "scheduling.k8s.io/v1alpha3", "c", spec=spec)


def workload(*templates: Body, **spec: Any) -> Body:
    if templates:
        spec["podGroupTemplates"] = list(templates)
    return named("Workload", "scheduling.k8s.io/v1beta1", "w", spec=spec)


def tree(*templates: Body) -> Body:
    return workload(compositePodGroupTemplates=list(templates))


def leaf(name: str = "l", **fields: Any) -> Body:
    return {"name": name, "schedulingPolicy": BASIC, **fields}


def branch(name: str, *leaves: Body, below: tuple[Body, ...] = (), **fields: Any) -> Body:
    body: Body = {"name": name, "schedulingPolicy": BASIC, **fields}
    if leaves:
        body["podGroupTemplates"] = list(leaves)
    if below:
        body["compositePodGroupTemplates"] = list(below)
    return body


def spec(**change: Any) -> Body:
    return {"spec": change}


def claim(name: str, **source: str) -> Body:
    return {"name": name, **source}


def condition(**fields: Any) -> Body:
    whole = {
        "type": "T",
        "status": "True",
        "reason": "R",
        "message": "m",
        "lastTransitionTime": TIME,
        **fields,
    }
    return {key: value for key, value in whole.items() if value is not None}


def conditioned(*conditions: Body) -> Body:
    return {"status": {"conditions": list(conditions)}}


DEEP = branch("a", below=(branch("b", below=(branch("c", below=(branch("d", leaf()),)),)),))

POD_GROUPS = [
    Case("a gang", group()),
    Case("the older version of the API", {**group(), "apiVersion": "scheduling.k8s.io/v1alpha3"}),
    Case("a basic group", group(schedulingPolicy=BASIC)),
    Case(
        "all that a group can have",
        group(
            parentCompositePodGroupName="p",
            workloadRef=ORIGIN,
            schedulingConstraints={"topology": [{"key": "example.com/rack"}]},
            resourceClaims=[claim("a", resourceClaimName="x"), claim("b", resourceClaimTemplateName="y")],
            disruptionMode={"all": {}},
            preemptionPolicy="PreemptLowerPriority",
        ),
    ),
    Case("no policy", group(schedulingPolicy={}), (f"spec.{NO_POLICY}",)),
    Case(
        "two policies",
        group(schedulingPolicy={**BASIC, **GANG}),
        (
            'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, '
            "`gang`",
        ),
    ),
    Case(
        "a gang of none",
        group(schedulingPolicy={"gang": {}}),
        ("spec.schedulingPolicy.gang.minCount: Required value",),
    ),
    Case(
        "a gang of less than none",
        group(schedulingPolicy={"gang": {"minCount": -1}}),
        ("spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",),
    ),
    Case(
        "a parent without a workload",
        group(parentCompositePodGroupName="p"),
        ("spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set",),
    ),
    Case(
        "bad names",
        group(
            parentCompositePodGroupName="A",
            workloadRef={"workloadName": "B_", "templateName": "a.b"},
        ),
        (
            f'spec.parentCompositePodGroupName: Invalid value: "A": {SUBDOMAIN}',
            f'spec.workloadRef.workloadName: Invalid value: "B_": {SUBDOMAIN}',
            'spec.workloadRef.templateName: Invalid value: "a.b": must not contain dots',
        ),
    ),
    Case(
        "a workload without names",
        group(workloadRef={}),
        (
            "spec.workloadRef.workloadName: Required value",
            "spec.workloadRef.templateName: Required value",
        ),
    ),
    Case(
        "two topologies",
        group(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
        ("spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item",),
    ),
    Case(
        "topologies without a key, or with a bad one",
        group(schedulingConstraints={"topology": [{"key": ""}]}),
        ("spec.schedulingConstraints.topology[0].key: Required value",),
    ),
    Case(
        "a bad topology",
        group(schedulingConstraints={"topology": [{"key": "a b"}]}),
        (f'spec.schedulingConstraints.topology[0].key: Invalid value: "a b": {KEY_NAME}',),
    ),
    Case(
        "claims of the same name, from nowhere and from two places",
        group(
            resourceClaims=[
                claim("a", resourceClaimName="x"),
                claim("a"),
                claim("B", resourceClaimName="x", resourceClaimTemplateName="Y_"),
            ]
        ),
        (
            'spec.resourceClaims[1]: Duplicate value: {"name":"a"}',
            'spec.resourceClaims[1]: Invalid value: "": must specify one of: `resourceClaimName`, '
            "`resourceClaimTemplateName`",
            'spec.resourceClaims[2]: Invalid value: "{resourceClaimName, resourceClaimTemplateName}": must '
            "specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`",
            f'spec.resourceClaims[2].name: Invalid value: "B": {LABEL}',
            f'spec.resourceClaims[2].resourceClaimTemplateName: Invalid value: "Y_": {SUBDOMAIN}',
        ),
    ),
    Case(
        "too many claims",
        group(resourceClaims=[claim(f"c{index}", resourceClaimName="x") for index in range(5)]),
        ("spec.resourceClaims: Too many: 5: must have at most 4 items",),
    ),
    Case(
        "two modes",
        group(disruptionMode={"single": {}, "all": {}}),
        (
            'spec.disruptionMode: Invalid value: "{single, all}": must specify exactly one of: `single`, '
            "`all`",
        ),
    ),
    Case(
        "no mode",
        group(disruptionMode={}),
        ('spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`',),
    ),
    Case("another size", group(), change=spec(schedulingPolicy={"gang": {"minCount": 3}})),
    Case(
        "no size any more",
        group(),
        ("spec.schedulingPolicy.gang.minCount: Required value",),
        change=spec(schedulingPolicy={"gang": {"minCount": 0}}),
    ),
    Case(
        "another policy",
        group(),
        (
            f"spec.schedulingPolicy.basic: {CONSTANT}",
            "spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set",
        ),
        change=spec(schedulingPolicy={"basic": {}, "gang": None}),
    ),
    Case(
        "all that does not change",
        group(),
        (
            f"spec.workloadRef: {CONSTANT}",
            f"spec.schedulingConstraints: {CONSTANT}",
            f"spec.resourceClaims: {CONSTANT}",
            f"spec.disruptionMode: {CONSTANT}",
            f"spec.priorityClassName: {CONSTANT}",
            f"spec.preemptionPolicy: {CONSTANT}",
        ),
        change=spec(
            workloadRef=ORIGIN,
            schedulingConstraints={"topology": []},
            resourceClaims=[claim("a", resourceClaimName="x")],
            disruptionMode={"all": {}, "single": None},
            priorityClassName="system-node-critical",
            preemptionPolicy="Never",
        ),
    ),
    Case("a condition", group(), change=conditioned(condition()), part="status"),
    Case(
        "bad conditions",
        group(),
        (
            f'status.conditions[0].type: Invalid value: "a b": {KEY_NAME}',
            'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", '
            '"Unknown"',
            "status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal "
            "to zero",
            "status.conditions[0].lastTransitionTime: Required value",
            "status.conditions[0].reason: Required value",
            'status.conditions[2]: Duplicate value: "T"',
        ),
        change=conditioned(
            condition(type="a b", status="Maybe", observedGeneration=-1, lastTransitionTime=None, reason=""),
            condition(),
            condition(),
        ),
        part="status",
    ),
    Case(
        "a claim that it does not have",
        group(),
        (
            'status.resourceClaimStatuses[0].name: Invalid value: "a": must match the name of an entry in '
            "`spec.resourceClaims`",
            f'status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "X": {SUBDOMAIN}',
        ),
        change={"status": {"resourceClaimStatuses": [claim("a", resourceClaimName="X")]}},
        part="status",
    ),
]

COMPOSITES = [
    Case("a gang of groups", composite()),
    Case("no workload", composite(workloadRef=None), ("spec.workloadRef: Required value",)),
    Case(
        "a gang of no groups",
        composite(schedulingPolicy={"gang": {}}),
        ("spec.schedulingPolicy.gang.minGroupCount: Required value",),
    ),
    Case(
        "another size",
        composite(),
        (f"spec.schedulingPolicy: {CONSTANT}",),
        change=spec(schedulingPolicy={"gang": {"minGroupCount": 3}}),
    ),
    Case(
        "another workload",
        composite(),
        (f"spec.workloadRef: {CONSTANT}",),
        change=spec(workloadRef={"workloadName": "v"}),
    ),
]

WORKLOADS = [
    Case("one template", workload(leaf())),
    Case(
        "all that it can have",
        workload(
            leaf("a", schedulingPolicy=GANG, disruptionMode={"all": {}}, priority=1),
            leaf("b", priority=1),
            controllerRef={"apiGroup": "batch", "kind": "Job", "name": "j"},
        ),
    ),
    Case("a tree", tree(branch("a", leaf("x"), below=(branch("b", leaf("y")),)))),
    Case(
        "no templates",
        workload(),
        ('spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`',),
    ),
    Case(
        "templates of both kinds",
        workload(leaf(), compositePodGroupTemplates=[branch("a", leaf("b"))]),
        (
            'spec: Invalid value: "{podGroupTemplates, compositePodGroupTemplates}": must specify '
            "exactly one "
            "of: `podGroupTemplates`, `compositePodGroupTemplates`",
        ),
    ),
    Case(
        "too many templates",
        workload(*(leaf(f"l{index}") for index in range(9))),
        ("spec.podGroupTemplates: Too many: 9: must have at most 8 items",),
    ),
    Case(
        "templates of one name, without a policy, and without a name",
        workload(leaf(), leaf(), {"name": "m"}, {"schedulingPolicy": BASIC}),
        (
            'spec.podGroupTemplates[1]: Duplicate value: {"name":"l","schedulingPolicy":{"basic":{}},'
            '"schedulingConstraints":null}',
            f"spec.podGroupTemplates[2].{NO_POLICY}",
            "spec.podGroupTemplates[3].name: Required value",
        ),
    ),
    Case(
        "a controller with bad names",
        workload(leaf(), controllerRef={"apiGroup": "A", "kind": "a/b", "name": ".."}),
        (
            f'spec.controllerRef.apiGroup: Invalid value: "A": {SUBDOMAIN}',
            "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'",
            "spec.controllerRef.name: Invalid value: \"..\": may not be '..'",
        ),
    ),
    Case(
        "too much priority, and another one",
        workload(leaf("a", priority=1_000_000_001), leaf("b", preemptionPolicy="Maybe")),
        (
            "spec: Invalid value: null: detected multiple priority configurations",
            "spec.podGroupTemplates[0].priority: Invalid value: 1000000001: must be less than or equal to "
            "1000000000",
            'spec.podGroupTemplates[1].preemptionPolicy: Unsupported value: "Maybe": supported values: '
            '"Never", "PreemptLowerPriority"',
        ),
    ),
    Case(
        "a tree of two priorities",
        tree(branch("a", leaf("b", priorityClassName="p"))),
        (
            "spec: Invalid value: null: all priority and priorityClassName values must be identical, "
            "detected "
            "multiple values",
        ),
    ),
    Case(
        "a tree that is too deep",
        tree(DEEP),
        ("spec.compositePodGroupTemplates[0]: ...: maximum template hierarchy depth is 4",),
    ),
    Case(
        "a tree with a name twice, and a branch without leaves",
        tree(branch("a", leaf("x"), below=(branch("a", leaf("x")), branch("b")))),
        (
            'spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].name: Duplicate value: "a"',
            "spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].podGroupTemplates[0].name: "
            'Duplicate value: "x"',
            "spec.compositePodGroupTemplates[0].compositePodGroupTemplates[1]: Invalid value: "
            '"b": must have at least one child PodGroupTemplate or CompositePodGroupTemplate',
        ),
    ),
    Case(
        "another size of a gang",
        workload(leaf(schedulingPolicy=GANG)),
        change=spec(podGroupTemplates=[leaf(schedulingPolicy={"gang": {"minCount": 3}})]),
    ),
    Case(
        "one template more and another less",
        workload(leaf("a"), leaf("b")),
        (
            "spec.podGroupTemplates[1]: Forbidden: item may not be added",
            "spec.podGroupTemplates: Forbidden: item may not be removed",
        ),
        change=spec(podGroupTemplates=[leaf("a"), leaf("c")]),
    ),
    Case(
        "another controller and other constraints",
        workload(leaf("a"), controllerRef={"kind": "Job", "name": "j"}),
        (
            f"spec.controllerRef: {CONSTANT}",
            f"spec.podGroupTemplates[0].disruptionMode: {CONSTANT}",
        ),
        change=spec(
            controllerRef={"kind": "Job", "name": "k"},
            podGroupTemplates=[leaf("a", disruptionMode={"all": {}})],
        ),
    ),
]


def priority_class(name: str = "p", **fields: Any) -> Body:
    return named("PriorityClass", "scheduling.k8s.io/v1", name, **fields)


RESERVED = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only"
)

PRIORITY_CLASSES = [
    Case("a priority", priority_class(value=5, description="d", globalDefault=False)),
    Case("no priority", priority_class(preemptionPolicy="Never")),
    Case(
        "too much of it",
        priority_class(value=1_000_000_001, preemptionPolicy="Maybe"),
        (
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
            'preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"',
        ),
    ),
    Case(
        "a name of the system",
        priority_class("system-mine", value=1),
        (f"{RESERVED}. error: system-mine is not a known system priority class",),
    ),
    Case(
        "a class of the system with another value",
        priority_class("system-node-critical", value=1),
        (f"{RESERVED}. error: value of system-node-critical PriorityClass must be 2000001000",),
    ),
    Case("another description", priority_class(value=5), change={"description": "d"}),
    Case(
        "another value and policy",
        priority_class(value=5),
        (
            "value: Forbidden: may not be changed in an update.",
            'preemptionPolicy: Invalid value: "Never": field is immutable',
        ),
        change={"value": 6, "preemptionPolicy": "Never"},
    ),
]

GROUPS = [*POD_GROUPS, *COMPOSITES, *WORKLOADS, *PRIORITY_CLASSES]
