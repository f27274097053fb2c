"""Jobs that change, well and badly."""

from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import Case
from tests.sandbox.apiserver.kinds.job_cases import NEGATIVE, SCHEDULING, codes, indexed, job, succeeding

GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}
LIMITED = indexed(backoffLimitPerIndex=1, podFailurePolicy={"rules": [codes(1)]})
SUSPENDED = job(suspend=True)


def spec(**change: Any) -> Body:
    return {"spec": change}


def template(**change: Any) -> Body:
    return spec(template={"spec": change})


UPDATES = [
    Case("more at a time", job(), change=spec(parallelism=5, suspend=True, backoffLimit=1)),
    Case(
        "another end",
        job(),
        ("spec.completions: Invalid value: 2: field is immutable",),
        change=spec(completions=2),
    ),
    Case("more indexes and as many at a time", indexed(), change=spec(completions=5, parallelism=5)),
    Case(
        "more indexes alone",
        indexed(),
        ("spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism",),
        change=spec(completions=5),
    ),
    Case(
        "another selector",
        job(),
        (
            'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"UID",'
            '"batch.kubernetes.io/job-name":"j","controller-uid":"UID","job-name":"j"}: `selector` does not '
            "match template `labels`",
            'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable',
        ),
        change=spec(selector={"matchLabels": {"a": "b", "batch.kubernetes.io/controller-uid": None}}),
    ),
    Case(
        "another mode, manager, limit and policies",
        LIMITED,
        (
            'spec.completionMode: Invalid value: "NonIndexed": field is immutable',
            'spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"FailJob","OnExitCodes":'
            '{"ContainerName":null,"Operator":"In","Values":[2]},"OnPodConditions":null}]}: field is '
            "immutable",
            "spec.backoffLimitPerIndex: Invalid value: null: field is immutable",
            'spec.managedBy: Invalid value: "a.b/c": field is immutable',
        ),
        change=spec(
            completionMode="NonIndexed",
            managedBy="a.b/c",
            backoffLimitPerIndex=None,
            podFailurePolicy={"rules": [codes(2)]},
        ),
    ),
    Case(
        "another success policy",
        succeeding({"succeededCount": 2}),
        (
            'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":3}]}: '
            "field is immutable",
        ),
        change=spec(successPolicy={"rules": [{"succeededCount": 3}]}),
    ),
    Case(
        "other pods",
        job(),
        ("spec.template: ...: field is immutable",),
        change=template(nodeSelector={"a": "b"}),
    ),
    Case(
        "other places for pods that wait",
        SUSPENDED,
        change=template(
            nodeSelector={"a": "b"},
            tolerations=[{"key": "k", "operator": "Exists"}],
            schedulingGates=[{"name": "g"}],
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                    }
                }
            },
        ),
    ),
    Case(
        "other needs of pods that wait",
        SUSPENDED,
        change=template(
            containers=[
                {
                    "name": "c",
                    "image": "i",
                    "imagePullPolicy": "Always",
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "resources": {"requests": {"cpu": "1"}},
                }
            ]
        ),
    ),
    Case(
        "another image for pods that wait",
        SUSPENDED,
        ("spec.template.spec: ...: field is immutable",),
        change=template(containers=[{"name": "c", "image": "other"}]),
    ),
    Case(
        "other places for pods that have run",
        SUSPENDED,
        ("spec.template: ...: field is immutable",),
        change=template(nodeSelector={"a": "b"}),
        status={"startTime": "2026-01-01T00:00:00Z"},
    ),
    Case(
        "a smaller gang",
        job(parallelism=4, scheduling=GANG),
        change=spec(scheduling={"schedulingPolicy": {"gang": {"minCount": 1}}}),
    ),
    Case(
        "no gang any more",
        job(parallelism=4, scheduling=GANG),
        (
            f"{SCHEDULING}.schedulingPolicy: Invalid value: null: the basic/gang policy variant is immutable "
            "after creation; only schedulingPolicy.gang.minCount may be updated",
        ),
        change=spec(scheduling={"schedulingPolicy": {"basic": {}, "gang": None}}),
    ),
    Case(
        "scheduling that comes late",
        job(),
        (f"{SCHEDULING}: Invalid value: null: field cannot be set once created",),
        change=spec(scheduling={"schedulingPolicy": {"basic": {}}}),
    ),
    Case(
        "scheduling that goes",
        job(parallelism=4, scheduling=GANG),
        (f"{SCHEDULING}: Invalid value: null: field cannot be cleared once set",),
        change=spec(scheduling=None),
    ),
    Case(
        "another topology",
        job(parallelism=4, scheduling=GANG),
        (f"{SCHEDULING}.schedulingConstraints: Invalid value: null: field is immutable",),
        change=spec(scheduling={"schedulingConstraints": {"topology": [{"key": "a"}]}}),
    ),
]

TIME, LATER, EARLIER = "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z"


def conditions(*kinds: str, status: str = "True") -> list[Body]:
    return [
        {"type": kind, "status": status, "lastProbeTime": TIME, "lastTransitionTime": TIME} for kind in kinds
    ]


def status(*kinds: str, **fields: Any) -> Body:
    """A change of the whole status."""
    return {"status": {"startTime": TIME, **fields, **({"conditions": conditions(*kinds)} if kinds else {})}}


COMPLETE = ("SuccessCriteriaMet", "Complete")
RUNNING = {"startTime": TIME, "active": 1, "failed": 2, "succeeded": 2}
CONDITIONS = "status.conditions: Invalid value: "


def to_status(
    what: str, change: Body, *errors: str, before: Body | None = None, body: Body | None = None
) -> Case:
    return Case(what, body or job(), errors, change=change, status=before, part="status")


STATUSES = [
    to_status("it runs", status(active=1, ready=1, terminating=0, uncountedTerminatedPods={})),
    to_status("it is complete", status(*COMPLETE, succeeded=1, completionTime=LATER)),
    to_status("it has failed", status("FailureTarget", "Failed", failed=1)),
    to_status(
        "counts below zero",
        status(active=-1, succeeded=-2, failed=-3, ready=-4, terminating=-5),
        f"status.active: Invalid value: -1: {NEGATIVE}",
        f"status.succeeded: Invalid value: -2: {NEGATIVE}",
        f"status.failed: Invalid value: -3: {NEGATIVE}",
        f"status.ready: Invalid value: -4: {NEGATIVE}",
        f"status.terminating: Invalid value: -5: {NEGATIVE}",
        "status.failed: Invalid value: -3: cannot decrease the failed counter",
        "status.succeeded: Invalid value: -2: cannot decrease the succeeded counter",
    ),
    to_status(
        "a pod that is counted twice",
        status(uncountedTerminatedPods={"succeeded": ["a", "b"], "failed": ["a"]}),
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    ),
    to_status(
        "both ends at once",
        status("Complete", "Failed", "FailureTarget", completionTime=LATER),
        f"{CONDITIONS}cannot set Complete=True and Failed=true conditions",
        f"{CONDITIONS}cannot set Complete=True and FailureTarget=true conditions",
        f"{CONDITIONS}cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
    to_status(
        "complete without a time",
        status(*COMPLETE),
        "status.completionTime: Required value: completionTime is required for Complete jobs",
    ),
    to_status(
        "a time of completion without it",
        status(completionTime=LATER),
        f'status.completionTime: Invalid value: "{LATER}": cannot set completionTime when there is no '
        "Complete=True condition",
    ),
    to_status(
        "complete before it started",
        status(*COMPLETE, completionTime=EARLIER),
        f'status.completionTime: Invalid value: "{EARLIER}": must be equal to or after `startTime`',
    ),
    to_status(
        "failed without a reason",
        status("Failed"),
        f"{CONDITIONS}cannot set Failed=True condition without the FailureTarget=true condition",
    ),
    to_status(
        "failed and never started, with pods",
        status("Failed", "FailureTarget", startTime=None, active=1, terminating=1),
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
        "status.startTime: Required value: startTime is required for finished job",
        "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
    ),
    to_status(
        "failed with pods to count",
        status("Failed", "FailureTarget", uncountedTerminatedPods={"failed": ["a"]}),
        'status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: must be empty for '
        "finished job",
    ),
    to_status(
        "indexes without indexes",
        status(completedIndexes="0", failedIndexes="0"),
        'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed '
        "completion mode",
        'status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when '
        "backoffLimitPerIndex "
        "is null",
        'status.failedIndexes: Invalid value: "0": failedIndexes and completedIndexes overlap at index: 0',
    ),
    to_status(
        "indexes that are none",
        status(completedIndexes="3", failedIndexes="x,1"),
        'status.completedIndexes: Invalid value: "3": error parsing completedIndexes: too large index: "3"',
        'status.failedIndexes: Invalid value: "x,1": error parsing failedIndexes: cannot convert string to '
        'integer for index: "x"',
        body=LIMITED,
    ),
    to_status(
        "an index that failed and succeeded",
        status(completedIndexes="0,2", failedIndexes="1-2"),
        'status.failedIndexes: Invalid value: "1-2": failedIndexes and completedIndexes overlap at index: 2',
        body=LIMITED,
    ),
    to_status(
        "more ready than active",
        status(active=1, ready=2),
        "status.ready: Invalid value: 2: cannot set more ready pods than active",
    ),
    to_status(
        "a success that failed",
        status("SuccessCriteriaMet", "Failed", "FailureTarget"),
        f"{CONDITIONS}cannot set SuccessCriteriaMet=True and Failed=true conditions",
        f"{CONDITIONS}cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
    to_status(
        "counters that go back",
        status(failed=1, succeeded=1),
        "status.failed: Invalid value: 1: cannot decrease the failed counter",
        "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
        before=RUNNING,
    ),
    to_status(
        "another start",
        status(startTime=LATER, failed=2, succeeded=2),
        f'status.startTime: Invalid value: "{LATER}": field is immutable for unsuspended job once set',
        before=RUNNING,
    ),
    to_status(
        "back from the end",
        {"status": {"conditions": conditions("SuccessCriteriaMet"), "completionTime": None}},
        f"{CONDITIONS}cannot disable the terminal Complete=True condition",
        before={"startTime": TIME, "completionTime": LATER, "conditions": conditions(*COMPLETE)},
    ),
    to_status(
        "another end",
        {"status": {"completionTime": "2026-01-04T00:00:00Z"}},
        'status.completionTime: Invalid value: "2026-01-04T00:00:00Z": field is immutable',
        before={"startTime": TIME, "completionTime": LATER, "conditions": conditions(*COMPLETE)},
    ),
    to_status(
        "no success after all",
        {"status": {"conditions": None}},
        f"{CONDITIONS}cannot disable the SuccessCriteriaMet=True condition",
        before={"startTime": TIME, "conditions": conditions("SuccessCriteriaMet")},
    ),
]

CHANGED_JOBS = [*UPDATES, *STATUSES]
