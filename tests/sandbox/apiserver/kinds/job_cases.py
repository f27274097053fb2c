"""Jobs, good and bad."""

from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import Case

POD: Body = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
LONG_NAME = "n" * 63
LABELLED = {"name": "j", "labels": {"a": "b"}}


def job(*, name: str = "j", labels: Body | None = None, pod: Body | None = None, **spec: Any) -> Body:
    template: Body = {"spec": {**POD, **(pod or {})}}
    if labels is not None:
        template["metadata"] = {"labels": labels}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def indexed(**spec: Any) -> Body:
    return job(**{"completionMode": "Indexed", "completions": 3, **spec})


def failing(*rules: Body, **spec: Any) -> Body:
    return job(podFailurePolicy={"rules": list(rules)}, **spec)


def succeeding(*rules: Body) -> Body:
    return indexed(completions=5, successPolicy={"rules": list(rules)})


def scheduled(**scheduling: Any) -> Body:
    return job(parallelism=4, scheduling=scheduling)


def codes(*values: int, operator: str = "In", **more: Any) -> Body:
    return {"action": "FailJob", "onExitCodes": {"operator": operator, "values": list(values), **more}}


RULE = "spec.podFailurePolicy.rules[0]"
SUCCESS = "spec.successPolicy.rules[0]"
SCHEDULING = "spec.scheduling"
PARSING = f"{SUCCESS}.succeededIndexes: Invalid value: "
NOT_INDEXED = "requires indexed completion mode"
NEGATIVE = "must be greater than or equal to 0"
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY_NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
MANY_RULES = [codes(1) for _ in range(21)]

GOOD = [
    Case("the least that it can be", job()),
    Case("parallel without an end", job(parallelism=3)),
    Case("an end but one at a time", job(completions=3)),
    Case("labels of its template become its own", job(labels={"a": "b"})),
    Case("labels of its own stay as they are", {**job(labels={"a": "b"}), "metadata": LABELLED}),
    Case("indexed", indexed()),
    Case("a limit per index", indexed(backoffLimitPerIndex=1, maxFailedIndexes=2)),
    Case("a failure policy", failing(codes(1, 2), {"action": "Ignore", "onPodConditions": [{"type": "T"}]})),
    Case("a success policy", succeeding({"succeededIndexes": "0,2-4", "succeededCount": 2})),
    Case("another manager", job(managedBy="example.com/nobody")),
    Case(
        "a selector of its own",
        job(manualSelector=True, selector={"matchLabels": {"a": "b"}}, labels={"a": "b"}),
    ),
    Case("suspended", job(suspend=True)),
    Case("basic scheduling", scheduled(schedulingPolicy={"basic": {}})),
    Case("a gang", scheduled(schedulingPolicy={"gang": {"minCount": 4}}, disruptionMode={"all": {}})),
    Case("a gang of all", scheduled(schedulingPolicy={"gang": {}})),
    Case("a topology", scheduled(schedulingConstraints={"topology": [{"key": "example.com/rack"}]})),
    Case("claims", scheduled(resourceClaims=[{"name": "c", "resourceClaimName": "x"}])),
]

BAD = [
    Case(
        "numbers below zero",
        job(
            parallelism=-1,
            completions=-2,
            activeDeadlineSeconds=-3,
            backoffLimit=-4,
            ttlSecondsAfterFinished=-5,
        ),
        (
            f"spec.parallelism: Invalid value: -1: {NEGATIVE}",
            f"spec.completions: Invalid value: -2: {NEGATIVE}",
            f"spec.activeDeadlineSeconds: Invalid value: -3: {NEGATIVE}",
            f"spec.backoffLimit: Invalid value: -4: {NEGATIVE}",
            f"spec.ttlSecondsAfterFinished: Invalid value: -5: {NEGATIVE}",
        ),
    ),
    Case(
        "an unknown mode",
        job(completionMode="Some"),
        ('spec.completionMode: Unsupported value: "Some": supported values: "NonIndexed", "Indexed"',),
    ),
    Case(
        "indexed without an end",
        job(completionMode="Indexed", parallelism=1),
        ("spec.completions: Required value: when completion mode is Indexed",),
    ),
    Case(
        "too parallel to be indexed",
        indexed(parallelism=100_001),
        (
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 "
            "when completion mode is Indexed",
        ),
    ),
    Case(
        "more failures than indexes",
        indexed(backoffLimitPerIndex=1, maxFailedIndexes=4),
        ("spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions",),
    ),
    Case(
        "a limit of failures without one per index",
        indexed(maxFailedIndexes=1),
        ("spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",),
    ),
    Case(
        "limits per index without indexes",
        job(backoffLimitPerIndex=1, maxFailedIndexes=1),
        (
            f"spec.backoffLimitPerIndex: Invalid value: 1: {NOT_INDEXED}",
            f"spec.maxFailedIndexes: Invalid value: 1: {NOT_INDEXED}",
        ),
    ),
    Case(
        "many indexes, and no limit of failures",
        indexed(completions=100_001, parallelism=10_001, backoffLimitPerIndex=1),
        (
            "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
            "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when "
            "completions are "
            "above 100000 and used with backoff limit per index",
        ),
    ),
    Case(
        "a manager without a domain",
        job(managedBy="nobody"),
        ('spec.managedBy: Invalid value: "nobody": must be a domain-prefixed path (such as "acme.io/foo")',),
    ),
    Case(
        "a manager with a bad domain, a bad path and too much of both",
        job(managedBy=f"A_B/{LONG_NAME} "),
        (
            f'spec.managedBy: Invalid value: "A_B": {SUBDOMAIN}',
            f'spec.managedBy: Invalid value: "{LONG_NAME} ": Invalid path (regex used for validation is '
            r"'[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')",
            "spec.managedBy: Too long: may not be more than 63 bytes",
        ),
    ),
    Case(
        "a failure policy with an unknown action",
        failing({**codes(1), "action": "Panic"}),
        (
            f'{RULE}.action: Unsupported value: "Panic": supported values: "Count", "FailIndex", "FailJob", '
            '"Ignore"',
        ),
    ),
    Case(
        "a failure policy without an action",
        failing({"onExitCodes": {"operator": "In", "values": [1]}}),
        (f'{RULE}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',),
    ),
    Case(
        "a failure policy for indexes without indexes",
        failing({**codes(1), "action": "FailIndex"}),
        (f'{RULE}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',),
    ),
    Case(
        "a failure policy about nothing",
        failing({"action": "Count"}),
        (f"{RULE}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",),
    ),
    Case(
        "a failure policy about too much",
        failing({**codes(1), "onPodConditions": [{"type": "T"}]}),
        (f"{RULE}: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",),
    ),
    Case(
        "a failure policy with bad exit codes",
        failing(codes(2, 0, 2, containerName="x")),
        (
            f'{RULE}.onExitCodes.containerName: Invalid value: "x": must be one of the container or '
            "initContainer names in the pod template",
            f"{RULE}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
            f"{RULE}.onExitCodes.values[2]: Duplicate value: 2",
            f"{RULE}.onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
        ),
    ),
    Case(
        "a failure policy without exit codes",
        failing({"action": "FailJob", "onExitCodes": {"operator": "Of"}}),
        (
            f'{RULE}.onExitCodes.operator: Unsupported value: "Of": supported values: "In", "NotIn"',
            f"{RULE}.onExitCodes.values: Invalid value: null: at least one value is required",
        ),
    ),
    Case(
        "a failure policy with bad conditions",
        failing({"action": "Count", "onPodConditions": [{"type": "a b", "status": "Maybe"}]}),
        (
            f'{RULE}.onPodConditions[0].type: Invalid value: "a b": {KEY_NAME}',
            f'{RULE}.onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", '
            '"True", '
            '"Unknown"',
        ),
    ),
    Case(
        "a failure policy with too many rules",
        failing(*MANY_RULES),
        ("spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items",),
    ),
    Case(
        "a failure policy with pods that are restarted and replaced",
        failing(codes(1), podReplacementPolicy="TerminatingOrFailed", pod={"restartPolicy": "OnFailure"}),
        (
            'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"',
            'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when '
            "podFailurePolicy is specified",
        ),
    ),
    Case(
        "an unknown replacement",
        job(podReplacementPolicy="Never"),
        (
            'spec.podReplacementPolicy: Unsupported value: "Never": supported values: "Failed", '
            '"TerminatingOrFailed"',
        ),
    ),
    Case(
        "a success policy without indexes",
        job(successPolicy={"rules": [{"succeededCount": 1}]}),
        (
            'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: '
            f"{NOT_INDEXED}",
        ),
    ),
    Case(
        "a success policy without rules",
        succeeding(),
        (
            "spec.successPolicy.rules: Required value: at least one rules must be specified when the "
            "successPolicy is specified",
        ),
    ),
    Case(
        "a success policy about nothing",
        succeeding({}),
        (f"{SUCCESS}: Required value: at least one of succeededCount or succeededIndexes must be specified",),
    ),
    Case(
        "a success policy with too many successes",
        succeeding({"succeededIndexes": "1-2", "succeededCount": 6}),
        (
            f"{SUCCESS}.succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of "
            "specified completions)",
            f"{SUCCESS}.succeededCount: Invalid value: 6: must be less than or equal to 2 (the number of "
            "indexes in the specified succeededIndexes field)",
        ),
    ),
    Case(
        "indexes with letters",
        succeeding({"succeededIndexes": "0,a"}),
        (f'{PARSING}"0,a": error parsing succeededIndexes: cannot convert string to integer for index: "a"',),
    ),
    Case(
        "indexes beyond the end",
        succeeding({"succeededIndexes": "0-5"}),
        (f'{PARSING}"0-5": error parsing succeededIndexes: too large index: "5"',),
    ),
    Case(
        "indexes out of order",
        succeeding({"succeededIndexes": "3,1"}),
        (f'{PARSING}"3,1": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1',),
    ),
    Case(
        "an interval backwards",
        succeeding({"succeededIndexes": "3-1"}),
        (f'{PARSING}"3-1": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1',),
    ),
    Case(
        "an interval with three ends",
        succeeding({"succeededIndexes": "0-1-2"}),
        (
            f'{PARSING}"0-1-2": error parsing succeededIndexes: the fragment "0-1-2" violates the '
            "requirement "
            "that an index interval can have at most two parts separated by '-'",
        ),
    ),
    Case(
        "pods that run forever",
        job(pod={"restartPolicy": "Always"}),
        ('spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',),
    ),
    Case(
        "a name that is too long for hostnames",
        {**indexed(), "metadata": {"name": LONG_NAME}},
        (
            f'metadata.name: Invalid value: "{LONG_NAME}": will not able to create pod with invalid DNS '
            "label: "
            f"{LONG_NAME}-2",
        ),
    ),
    Case(
        "labels and a selector that contradict those to come",
        job(labels={"a": "b", "job-name": "x"}, selector={"matchLabels": {"x": "y"}}),
        (
            'spec.template.metadata.labels[job-name]: Invalid value: {"a":"b",'
            '"batch.kubernetes.io/controller-uid":"UID","batch.kubernetes.io/job-name":"j",'
            '"controller-uid":"UID","job-name":"x"}: must be \'j\'',
            'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"UID",'
            '"x":"y"}}: `selector` not auto-generated',
            "spec.template.metadata.labels: Invalid value: "
            '{"a":"b","batch.kubernetes.io/controller-uid":"UID",'
            '"batch.kubernetes.io/job-name":"j","controller-uid":"UID","job-name":"x"}: `selector` does not '
            "match template `labels`",
        ),
    ),
    Case(
        "a manual selector that is not there",
        job(manualSelector=True, labels={"a": "b"}),
        (
            "spec.selector: Required value",
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template '
            "`labels`",
        ),
    ),
    Case(
        "no containers",
        job(pod={"containers": []}),
        ("spec.template.spec.containers: Required value",),
    ),
    Case(
        "both policies",
        scheduled(schedulingPolicy={"basic": {}, "gang": {"minCount": 2}}),
        (
            f'{SCHEDULING}.schedulingPolicy: Invalid value: "{{basic, gang}}": must specify exactly one of: '
            "`basic`, `gang`",
        ),
    ),
    Case(
        "no policy",
        scheduled(schedulingPolicy={}),
        (f'{SCHEDULING}.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',),
    ),
    Case(
        "a gang of none",
        scheduled(schedulingPolicy={"gang": {"minCount": 0}}),
        (
            f"{SCHEDULING}.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal "
            "to 1",
        ),
    ),
    Case(
        "a gang of more than there are",
        scheduled(schedulingPolicy={"gang": {"minCount": 5}}),
        (
            f"{SCHEDULING}.schedulingPolicy.gang.minCount: Invalid value: 5: must not be greater than "
            "parallelism (4)",
        ),
    ),
    Case(
        "pods that come alone and go together",
        scheduled(disruptionMode={"all": {}}),
        (
            f'{SCHEDULING}.disruptionMode: Invalid value: "": the disruptionMode `all` is not supported with '
            "the Basic scheduling policy",
        ),
    ),
    Case(
        "two topologies",
        scheduled(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
        (f"{SCHEDULING}.schedulingConstraints.topology: Too many: 2: must have at most 1 item",),
    ),
    Case(
        "a bad topology",
        scheduled(schedulingConstraints={"topology": [{"key": "a b"}]}),
        (f'{SCHEDULING}.schedulingConstraints.topology[0].key: Invalid value: "a b": {KEY_NAME}',),
    ),
]

JOBS = [*GOOD, *BAD]
