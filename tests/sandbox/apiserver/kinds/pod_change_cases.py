"""Changes of pods, and of what is said of them, that are taken or refused."""

from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import Case
from tests.sandbox.apiserver.kinds.making import MAIN, NODE_TERMS, REQUIRED, pod

GATES = [{"name": "a"}, {"name": "b"}]
OTHERS = "spec: Forbidden: pod updates may not change fields other than"
TOLERATIONS: list[Body] = [
    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
    {"operator": "Exists", "effect": "NoExecute"},
]
TIME = "2026-01-01T00:00:00Z"


def changed(what: str, *errors: str, before: Body | None = None, **spec: Any) -> Case:
    return Case(what, pod(**(before or {})), errors, change={"spec": spec})


def relabelled(what: str, *errors: str, before: Body | None = None, **metadata: Any) -> Case:
    return Case(what, pod(before), errors, change={"metadata": metadata})


def reported(
    what: str, *errors: str, spec: Body | None = None, was: Body | None = None, **status: Any
) -> Case:
    """The status `was` so, and is to be so."""
    before = None if was is None else {"qosClass": "BestEffort", **was}
    return Case(what, pod(**(spec or {})), errors, {"status": status}, before, "status")


def terms(*expressions: Body) -> Body:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}}


def expression(key: str) -> Body:
    return {"key": key, "operator": "Exists"}


def ended(code: int, **more: Any) -> Body:
    return {**status_of("terminated", {"exitCode": code, "startedAt": TIME, "finishedAt": TIME}), **more}


def running() -> Body:
    return status_of("running", {"startedAt": TIME})


def status_of(state: str, particulars: Body) -> Body:
    return {
        "name": "main",
        "image": "busybox",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {state: particulars},
    }


UPDATES = (
    changed("nothing"),
    changed("image", containers=[{**MAIN, "image": "busybox:1.37"}]),
    changed("no image", "spec.containers[0].image: Required", containers=[{**MAIN, "image": ""}]),
    changed("one more container", "spec.containers: Forb", containers=[MAIN, {**MAIN, "name": "b"}]),
    changed(
        "one more init container", "spec.initContainers: Forbidden", initContainers=[{**MAIN, "name": "b"}]
    ),
    changed("deadline", activeDeadlineSeconds=5),
    changed("earlier deadline", before={"activeDeadlineSeconds": 9}, activeDeadlineSeconds=5),
    changed(
        "later deadline",
        "spec.activeDeadlineSeconds: Invalid",
        before={"activeDeadlineSeconds": 5},
        activeDeadlineSeconds=9,
    ),
    changed(
        "no deadline",
        "spec.activeDeadlineSeconds: Invalid",
        before={"activeDeadlineSeconds": 5},
        activeDeadlineSeconds=None,
    ),
    changed("more tolerations", before={"tolerations": TOLERATIONS[1:]}, tolerations=TOLERATIONS),
    changed(
        "longer toleration",
        before={"tolerations": TOLERATIONS},
        tolerations=[{**TOLERATIONS[0], "tolerationSeconds": 9}, TOLERATIONS[1]],
    ),
    changed(
        "fewer tolerations",
        "spec.tolerations: Forbidden",
        before={"tolerations": TOLERATIONS},
        tolerations=TOLERATIONS[1:],
    ),
    changed(
        "bad toleration",
        "spec.tolerations[0].operator: Unsupported",
        before={"tolerations": TOLERATIONS[1:]},
        tolerations=[{"key": "x", "operator": "Like"}, TOLERATIONS[1]],
    ),
    changed("fewer gates", before={"schedulingGates": GATES}, schedulingGates=GATES[1:]),
    changed("no gates", before={"schedulingGates": GATES}, schedulingGates=None),
    changed("a gate", "spec.schedulingGates[0].name: Forbidden", schedulingGates=GATES[:1]),
    changed(
        "another gate",
        "spec.schedulingGates[1].name: Forbidden",
        before={"schedulingGates": GATES[:1]},
        schedulingGates=GATES,
    ),
    changed("selector", OTHERS, nodeSelector={"a": "b"}),
    changed("selector of a gated pod", before={"schedulingGates": GATES}, nodeSelector={"a": "b"}),
    changed(
        "other selector of a gated pod",
        "spec.nodeSelector: Invalid",
        before={"schedulingGates": GATES, "nodeSelector": {"a": "b"}},
        nodeSelector={"a": "c"},
    ),
    changed(
        "no selector of a gated pod",
        "spec.nodeSelector: Invalid",
        before={"schedulingGates": GATES, "nodeSelector": {"a": "b"}},
        nodeSelector=None,
    ),
    changed("affinity", OTHERS, affinity=terms(expression("a"))),
    changed("affinity of a gated pod", before={"schedulingGates": GATES}, affinity=terms(expression("a"))),
    changed(
        "narrower affinity of a gated pod",
        before={"schedulingGates": GATES, "affinity": terms(expression("a"))},
        affinity=terms(expression("a"), expression("b")),
    ),
    changed(
        "other affinity of a gated pod",
        f"{NODE_TERMS}[0]: Invalid",
        before={"schedulingGates": GATES, "affinity": terms(expression("a"))},
        affinity=terms(expression("b")),
    ),
    changed(
        "no affinity of a gated pod",
        f"{NODE_TERMS}: Invalid",
        before={"schedulingGates": GATES, "affinity": terms(expression("a"))},
        affinity=None,
    ),
    changed(
        "affinity of a gated pod to others",
        OTHERS,
        before={"schedulingGates": GATES},
        affinity={"podAffinity": {REQUIRED: [{"topologyKey": "a"}]}},
    ),
    changed("node", OTHERS, nodeName="n1"),
    changed("scheduler", OTHERS, schedulerName="maitred"),
    changed("group", OTHERS, schedulingGroup={"podGroupName": "g"}),
    changed("resources", OTHERS, containers=[{**MAIN, "resources": {"requests": {"cpu": "1"}}}]),
    changed("grace", OTHERS, terminationGracePeriodSeconds=5),
    relabelled("labels", labels={"a": "b"}, annotations={"a": "b c"}),
    relabelled("bad labels", "metadata.labels: Invalid", labels={"a b": "c"}),
    relabelled("finalizers", finalizers=["example.dev/mine"]),
    relabelled("bad finalizers", "metadata.finalizers[0]: Invalid", finalizers=["mine"]),
    relabelled("other prefix of names", generateName="x-"),
    relabelled(
        "mirror",
        "metadata.annotations[kubernetes.io/config.mirror]: Invalid",
        "metadata.annotations[kubernetes.io/config.mirror]: Forbidden",
        annotations={"kubernetes.io/config.mirror": "x"},
    ),
)

STATUSES = (
    reported("running", phase="Running", startTime=TIME),
    reported(
        "conditions",
        conditions=[{"type": "Ready", "status": "True"}, {"type": "example.dev/Fit", "status": "False"}],
    ),
    reported(
        "bad condition", "status.conditions[0].Type: Invalid", conditions=[{"type": "a b", "status": "True"}]
    ),
    reported("nomination", nominatedNodeName="n1"),
    reported("bad nomination", "status.nominatedNodeName: Invalid", nominatedNodeName="N1"),
    reported(
        "nomination of a bound pod",
        "status.nominatedNodeName: Forbidden",
        spec={"nodeName": "n1", "terminationGracePeriodSeconds": 0},
        nominatedNodeName="n2",
    ),
    reported("other quality", "status.qosClass: Invalid", qosClass="Guaranteed"),
    reported("address", podIP="10.1.0.1"),
    reported("addresses", podIPs=[{"ip": "10.1.0.1"}, {"ip": "fd00::1"}]),
    reported("bad address", "status.podIPs[0]: Invalid", podIP="x"),
    reported(
        "addresses of a family",
        "status.podIPs: Invalid",
        podIPs=[{"ip": "10.1.0.1"}, {"ip": "10.1.0.2"}],
    ),
    reported("other host", "status.hostIPs[0].ip: Invalid", hostIP="10.1.0.1", hostIPs=[{"ip": "10.1.0.2"}]),
    reported("container that ends", was={"containerStatuses": [running()]}, containerStatuses=[ended(1)]),
    reported("container that restarts", was={"containerStatuses": [ended(1)]}, containerStatuses=[running()]),
    *(
        reported(
            f"container that restarts after {code} though {policy}",
            *errors,
            spec={"restartPolicy": policy},
            was={"containerStatuses": [ended(code)]},
            containerStatuses=[running()],
        )
        for policy, code, errors in (
            ("OnFailure", 1, ()),
            ("OnFailure", 0, ("status.containerStatuses[0].state: Forbidden",)),
            ("Never", 1, ("status.containerStatuses[0].state: Forbidden",)),
        )
    ),
    reported(
        "container that restarts by a rule",
        spec={
            "restartPolicy": "Never",
            "containers": [
                {
                    **MAIN,
                    "restartPolicy": "Never",
                    "restartPolicyRules": [
                        {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
                    ],
                }
            ],
        },
        was={"containerStatuses": [ended(42)]},
        containerStatuses=[running()],
    ),
    reported(
        "unknown claim",
        "status.resourceClaimStatuses[0].name: Invalid",
        "status.resourceClaimStatuses[0].resourceClaimName: Invalid",
        resourceClaimStatuses=[{"name": "a", "resourceClaimName": "A"}],
    ),
)

OF_CHANGES = (*UPDATES, *STATUSES)
