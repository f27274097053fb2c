"""Leases, events, roles, disruption budgets and definitions of kinds, good and bad."""

from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import Case
from tests.sandbox.apiserver.kinds.group_cases import condition, named, spec
from tests.sandbox.apiserver.kinds.job_cases import KEY_NAME, SUBDOMAIN

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
TIME = "2026-01-02T00:00:00.000000Z"


def lease(**fields: Any) -> Body:
    return named("Lease", "coordination.k8s.io/v1", "l", spec=fields)


LEASES = [
    Case("nothing in it", lease()),
    Case("held", lease(holderIdentity="me", leaseDurationSeconds=15, leaseTransitions=0, renewTime=TIME)),
    Case(
        "bad numbers",
        lease(leaseDurationSeconds=0, leaseTransitions=-1),
        (
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            f"spec.leaseTransitions: Invalid value: -1: {NEGATIVE}",
        ),
    ),
    Case(
        "a bad number later",
        lease(holderIdentity="me"),
        ("spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0",),
        change=spec(leaseDurationSeconds=-1),
    ),
]


def old_event(name: str = "e", **fields: Any) -> Body:
    return named("Event", "v1", name, **{"involvedObject": {"namespace": "default", "name": "x"}, **fields})


def new_event(**fields: Any) -> Body:
    known = {
        "regarding": {"namespace": "default", "kind": "Pod", "name": "x"},
        "eventTime": TIME,
        "type": "Normal",
        "reason": "r",
        "action": "a",
        "note": "n",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
    }
    return named("Event", "events.k8s.io/v1", "e", **{**known, **fields})


OBJECT = (
    '{{"Kind":"Pod","Namespace":"default","Name":"{}","UID":"","APIVersion":"","ResourceVersion":"",'
    '"FieldPath":""}}'
)

EVENTS = [
    Case("an old one", old_event(reason="r", message="m", count=1, type="Odd", source={"component": "c"})),
    Case(
        "a new one in the old form",
        old_event(eventTime=TIME, reportingComponent="c", reportingInstance="i", action="a", reason="r"),
    ),
    Case(
        "about another namespace",
        old_event(involvedObject={"namespace": "other"}),
        ('involvedObject.namespace: Invalid value: "other": does not match event.namespace',),
    ),
    Case(
        "a new one in the old form without what it needs",
        old_event(eventTime=TIME),
        (
            "reportingComponent: Required value",
            'reportingComponent: Invalid value: "": name part must be non-empty',
            f'reportingComponent: Invalid value: "": {KEY_NAME}',
            "reportingInstance: Required value",
            "action: Required value",
            "reason: Required value",
        ),
    ),
    Case("an old one may change", old_event(reason="r"), change={"reason": "s", "count": 2}),
    Case("a new one", new_event()),
    Case("a series", new_event(series={"count": 2, "lastObservedTime": TIME})),
    Case(
        "much too long",
        new_event(reportingInstance="i" * 129, action="a" * 129, reason="r" * 129, note="n" * 1025),
        (
            'reportingInstance: Invalid value: "": can have at most 128 characters',
            'action: Invalid value: "": can have at most 128 characters',
            'reason: Invalid value: "": can have at most 128 characters',
            'message: Invalid value: "": can have at most 1024 characters',
        ),
    ),
    Case(
        "fields of old ones, and a bad series",
        new_event(
            type="Odd",
            series={"count": 1},
            deprecatedCount=1,
            deprecatedFirstTimestamp="2026-01-02T00:00:00Z",
            deprecatedSource={"host": "h"},
        ),
        (
            'series.count: Invalid value: "": should be at least 2',
            "series.lastObservedTime: Required value",
            'type: Invalid value: "": has invalid value: Odd',
            'firstTimestamp: Invalid value: "": needs to be unset',
            'count: Invalid value: "": needs to be unset',
            'source: Invalid value: "": needs to be unset',
        ),
    ),
    Case(
        "no time",
        new_event(eventTime=None),
        ("eventTime: Required value",),
    ),
    Case("a series that grows", new_event(), change={"series": {"count": 3, "lastObservedTime": TIME}}),
    Case(
        "another event",
        new_event(),
        (
            f"involvedObject: Invalid value: {OBJECT.format('y')}: {IMMUTABLE}",
            f'reason: Invalid value: "s": {IMMUTABLE}',
            f'message: Invalid value: "o": {IMMUTABLE}',
            f'type: Invalid value: "Warning": {IMMUTABLE}',
            f'action: Invalid value: "b": {IMMUTABLE}',
            f"related: Invalid value: {OBJECT.format('z')}: {IMMUTABLE}",
            f'reportingController: Invalid value: "d": {IMMUTABLE}',
        ),
        change={
            "regarding": {"name": "y"},
            "reason": "s",
            "note": "o",
            "type": "Warning",
            "action": "b",
            "related": {"namespace": "default", "kind": "Pod", "name": "z"},
            "reportingController": "d",
        },
    ),
]

RBAC = "rbac.authorization.k8s.io"
READ_PODS: Body = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
PATHS: Body = {"verbs": ["get"], "nonResourceURLs": ["/x"]}


def role(*rules: Body, kind: str = "Role", **fields: Any) -> Body:
    return named(kind, f"{RBAC}/v1", "r", rules=list(rules), **fields)


def binding(*subjects: Body, kind: str = "RoleBinding", role_kind: str = "ClusterRole", **ref: Any) -> Body:
    roleref = {"kind": role_kind, "name": "view", **ref}
    return named(kind, f"{RBAC}/v1", "b", subjects=list(subjects), roleRef=roleref)


ROLES = [
    Case("a role", role(READ_PODS)),
    Case("a role of all namespaces", role(READ_PODS, PATHS, kind="ClusterRole")),
    Case("a role without rules", role()),
    Case(
        "an empty rule",
        role({}),
        (
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
            "rules[0].verbs: Required value",
        ),
    ),
    Case(
        "paths in a namespace",
        role(PATHS),
        (
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to '
            "non-resource URLs",
        ),
    ),
    Case(
        "paths and resources",
        role({**PATHS, **READ_PODS}, kind="ClusterRole"),
        (
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular '
            "resources and "
            "non-resource URLs",
        ),
    ),
    Case(
        "a sum of nothing",
        role(kind="ClusterRole", aggregationRule={}),
        (
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required "
            "if aggregationRule is non-nil",
        ),
    ),
    Case(
        "a binding",
        binding(
            {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}, role_kind="ClusterRole"
        ),
    ),
    Case(
        "a binding in all namespaces",
        binding({"kind": "Group", "name": "g"}, kind="ClusterRoleBinding"),
    ),
    Case(
        "a binding to nothing known",
        binding(kind="ClusterRoleBinding", role_kind="Role", name="", apiGroup="apps"),
        (
            f'roleRef.apiGroup: Unsupported value: "apps": supported values: "{RBAC}"',
            'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
            "roleRef.name: Required value",
        ),
    ),
    Case(
        "a binding of bad subjects",
        binding(
            {"kind": "Robot", "name": "r"},
            {"kind": "User", "name": "", "apiGroup": "apps"},
            {"kind": "ServiceAccount", "name": "A", "apiGroup": RBAC},
            kind="ClusterRoleBinding",
        ),
        (
            'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", '
            '"Group"',
            f'subjects[1].apiGroup: Unsupported value: "apps": supported values: "{RBAC}"',
            f'subjects[2].name: Invalid value: "A": {SUBDOMAIN}',
            f'subjects[2].apiGroup: Unsupported value: "{RBAC}": supported values: ""',
            "subjects[2].namespace: Required value",
            "subjects[1].name: Required value",
        ),
    ),
    Case("other subjects", binding(), change={"subjects": [{"kind": "User", "name": "u"}]}),
    Case(
        "another role",
        binding(),
        (f'roleRef: Invalid value: {{"APIGroup":"{RBAC}","Kind":"ClusterRole","Name":"edit"}}: {IMMUTABLE}',),
        change={"roleRef": {"name": "edit"}},
    ),
]


def budget(**fields: Any) -> Body:
    return named("PodDisruptionBudget", "policy/v1", "b", spec=fields)


BUDGETS = [
    Case("a number", budget(minAvailable=1, selector={"matchLabels": {"a": "b"}})),
    Case("a share", budget(maxUnavailable="10%", unhealthyPodEvictionPolicy="AlwaysAllow")),
    Case(
        "both bounds",
        budget(minAvailable=1, maxUnavailable="10%"),
        (
            'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"10%",'
            '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
        ),
    ),
    Case("less than none", budget(minAvailable=-1), (f"spec.minAvailable: Invalid value: -1: {NEGATIVE}",)),
    Case(
        "a share of something else",
        budget(minAvailable="ten"),
        (
            'spec.minAvailable: Invalid value: "ten": a valid percent string must be a numeric string '
            "followed "
            "by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ),
    ),
    Case(
        "more than all",
        budget(minAvailable="110%", unhealthyPodEvictionPolicy="Never"),
        (
            'spec.minAvailable: Invalid value: "110%": must not be greater than 100%',
            'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", '
            '"IfHealthyBudget"',
        ),
    ),
    Case(
        "a bad selector",
        budget(selector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
        (
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is "
            "'In' or 'NotIn'",
        ),
    ),
    Case(
        "a bad status",
        budget(minAvailable=1),
        (
            "status.conditions[0].reason: Required value",
            f"status.currentHealthy: Invalid value: -1: {NEGATIVE}",
        ),
        change={"status": {"conditions": [condition(reason="")], "currentHealthy": -1}},
        part="status",
    ),
]

OPEN: Body = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def version(name: str = "v1", schema: Body | None = OPEN, **fields: Any) -> Body:
    known = {} if schema is None else {"schema": {"openAPIV3Schema": schema}}
    return {"name": name, "served": True, "storage": True, **known, **fields}


def definition(*versions: Body, **fields: Any) -> Body:
    known = {"group": "example.com", "names": {"plural": "foos", "kind": "Foo"}, "scope": "Namespaced"}
    whole = {**known, "versions": list(versions) or [version()], **fields}
    return named("CustomResourceDefinition", "apiextensions.k8s.io/v1", "foos.example.com", spec=whole)


def fields(**properties: Body) -> Body:
    return {"type": "object", "properties": properties}


ROOT = "spec.validation.openAPIV3Schema"
BACKSLASH = "\\\\"
"""One, as JSON has it."""


def bad_pattern(pattern: str, why: str) -> str:
    begin = f'Invalid value: "{pattern}": must be a valid regular expression, but isn\'t'
    return f"{begin}: error parsing regexp: {why}"


DEFINITIONS = [
    Case("the least that it can be", definition()),
    Case(
        "a finalizer of nobody",
        {**definition(), "metadata": {"name": "foos.example.com", "finalizers": ["mine"]}},
    ),
    Case("two versions", definition(version(), version("v2", fields(a={"type": "string"}), storage=False))),
    Case(
        "names of all kinds",
        definition(
            names={
                "plural": "foos",
                "singular": "foo",
                "kind": "Foo",
                "listKind": "Foos",
                "shortNames": ["f"],
                "categories": ["all"],
            }
        ),
    ),
    Case(
        "columns",
        definition(
            version(additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".spec.a"}])
        ),
    ),
    Case(
        "another name than it should have",
        definition(group="example.org"),
        ('metadata.name: Invalid value: "foos.example.com": must be spec.names.plural+"."+spec.group',),
    ),
    Case(
        "bad names",
        definition(scope="Everywhere", names={"plural": "foos", "kind": "F_", "shortNames": ["F"]}),
        (
            'spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"',
            f'spec.names.singular: Invalid value: "f_": {LABEL_1035}',
            'spec.names.kind: Invalid value: "F_": may have mixed case, but should otherwise match: '
            f"{LABEL_1035}",
            'spec.names.listKind: Invalid value: "F_List": may have mixed case, but should otherwise match: '
            f"{LABEL_1035}",
            f'spec.names.shortNames[0]: Invalid value: "F": {LABEL_1035}',
        ),
    ),
    Case(
        "no names",
        definition(names={"plural": "foos"}),
        (
            "spec.names.singular: Required value",
            "spec.names.kind: Required value",
            "spec.names.listKind: Required value",
        ),
    ),
    Case(
        "no schema",
        definition(version(schema=None)),
        ("spec.versions[0].schema.openAPIV3Schema: Required value",),
    ),
    Case(
        "nothing in the schema",
        definition(version(schema={})),
        (f"{ROOT}.type: Required value: must not be empty at the root",),
    ),
    Case(
        "no version that is stored",
        definition(version(storage=False)),
        (
            "spec.versions: ...: must have exactly one version marked as storage version",
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ),
    ),
    Case(
        "a version twice, with a schema of another type",
        definition(version(), version(schema={"type": "string"}, storage=False)),
        (
            'spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": must be object at '
            "the root",
            "spec.versions: ...: must contain unique version names",
        ),
    ),
    Case(
        "fields without types",
        definition(version(schema=fields(a={}, b={"type": "array"}, c={"type": "array", "items": {}}))),
        (
            f"{ROOT}.properties[a].type: Required value: must not be empty for specified object fields",
            f"{ROOT}.properties[b].items: Required value: must be specified",
            f"{ROOT}.properties[c].items.type: Required value: must not be empty for specified array items",
        ),
    ),
    Case(
        "a type that there is not",
        definition(version(schema=fields(a={"type": "text"}))),
        (
            f'{ROOT}.properties[a].type: Unsupported value: "text": supported values: "array", "boolean", '
            '"integer", "number", "object", "string"',
        ),
    ),
    Case(
        "a list by keys that are not there",
        definition(
            version(
                schema=fields(
                    a={
                        "type": "array",
                        "items": fields(b={"type": "string"}),
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["b", "c"],
                    }
                )
            )
        ),
        (
            f'{ROOT}.properties[a].x-kubernetes-list-map-keys: Invalid value: ["b","c"]: entries must all be '
            "names of item properties",
            f"{ROOT}.properties[a].items.properties[b].default: Required value: this property is in "
            "x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
    ),
    Case(
        "types in alternatives",
        definition(version(schema=fields(a={"type": "string", "anyOf": [{"type": "string"}]}))),
        (f"{ROOT}.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",),
    ),
    Case(
        "patterns that are none",
        definition(
            version(
                schema=fields(
                    a={"type": "string", "pattern": "(", "not": {"pattern": "a**"}},
                    b={"type": "string", "pattern": "(?=a)"},
                    c={"type": "string", "pattern": "a{2000}"},
                    d={"type": "string", "pattern": "^[[:alpha:]]$"},
                    e={"type": "array", "items": {"type": "string", "pattern": "\\"}},
                )
            )
        ),
        (
            f"{ROOT}.properties[a].not.pattern: "
            f"{bad_pattern('a**', 'invalid nested repetition operator: `**`')}",
            f"{ROOT}.properties[a].pattern: {bad_pattern('(', 'missing closing ): `(`')}",
            f"{ROOT}.properties[b].pattern: "
            f"{bad_pattern('(?=a)', 'invalid or unsupported Perl syntax: `(?=`')}",
            f"{ROOT}.properties[c].pattern: {bad_pattern('a{2000}', 'invalid repeat count: `{2000}`')}",
            f"{ROOT}.properties[e].items.pattern: "
            f"{bad_pattern(BACKSLASH, 'trailing backslash at end of expression: ``')}",
        ),
    ),
    Case(
        "bad columns",
        definition(
            version(
                additionalPrinterColumns=[
                    {"name": "A", "type": "text", "jsonPath": "spec"},
                    {"name": "", "type": "", "jsonPath": ""},
                ]
            )
        ),
        (
            'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
            "boolean,date,integer,number,string",
            'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path '
            "starting with .",
            "spec.additionalPrinterColumns[1].name: Required value",
            "spec.additionalPrinterColumns[1].type: Required value: must be one of "
            "boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[1].JSONPath: Required value",
        ),
    ),
    Case(
        "a protected group",
        {
            **definition(group="foo.k8s.io"),
            "metadata": {"name": "foos.foo.k8s.io"},
        },
        (
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have "
            'approval annotation "api-approved.kubernetes.io", see '
            "https://github.com/kubernetes/enhancements/pull/1111",
        ),
    ),
    Case(
        "a kind that keeps all",
        definition(preserveUnknownFields=True),
        (
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
    ),
    Case(
        "a webhook that is not there",
        definition(conversion={"strategy": "Webhook"}),
        (
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            "spec.conversion.conversionReviewVersions: Required value",
        ),
    ),
]

OTHERS = [*LEASES, *EVENTS, *ROLES, *BUDGETS, *DEFINITIONS]
