"""What the `spec` of a Job may say."""

import re
from collections.abc import Callable, Iterator

from maitred.sandbox.apiserver.kinds.conditions import STATUSES
from maitred.sandbox.apiserver.kinds.fielderrors import (
    NOT_NEGATIVE,
    OMITTED,
    FieldError,
    check_choice,
    duplicate,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.indexes import BadIndexes, count_indexes
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.names import check_name, label_key, subdomain
from maitred.sandbox.apiserver.schema.types import Body

INDEXED, NON_INDEXED = "Indexed", "NonIndexed"
COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
NOT_INDEXED = "requires indexed completion mode"

MOST_INDEXES = 100_000
"""That an Indexed Job runs at once, or that may fail: both are lists of numbers in its status."""
MANY_COMPLETIONS = 100_000
MOST_OF_MANY = 10_000
MANY = f"when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
LONGEST_MANAGER = 63
MOST_RULES = 20
MOST_EXIT_CODES = 255
MOST_CONDITIONS = 20
LONGEST_INDEXES = 64 * 1024

ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS = ("In", "NotIn")
REPLACEMENTS = ("Failed", "TerminatingOrFailed")
RESTARTS = ("OnFailure", "Never")
HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

SUCCESS_RULE = {"succeededIndexes": None, "succeededCount": None}


def is_indexed(spec: Body) -> bool:
    return spec.get("completionMode") == INDEXED


def check_spec(spec: Body) -> Iterator[FieldError]:
    """All but the template, which has rules of its own."""
    yield from check_counts(spec)
    if "managedBy" in spec:
        yield from check_manager(spec["managedBy"], "spec.managedBy")
    yield from check_mode(spec)
    if "podFailurePolicy" in spec:
        yield from check_failure_policy(spec)
    if "successPolicy" in spec:
        yield from check_success_policy(spec)
    yield from check_replacement(spec)
    yield from check_scheduling(spec)


def check_counts(spec: Body) -> Iterator[FieldError]:
    for name in COUNTS:
        if spec.get(name, 0) < 0:
            yield invalid(f"spec.{name}", spec[name], NOT_NEGATIVE)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")


def check_manager(name: str, path: str) -> Iterator[FieldError]:
    """A domain and a path below it."""
    host, _, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not host or not rest:
        yield invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from check_name(path, host, subdomain)
        if not re.fullmatch(HTTP_PATH, rest):
            yield invalid(path, rest, f"Invalid path (regex used for validation is '{HTTP_PATH}')")
    if len(name.encode()) > LONGEST_MANAGER:
        yield too_long(path, LONGEST_MANAGER)


# -- completion modes --------------------------------------------------------------------------------------


def check_mode(spec: Body) -> Iterator[FieldError]:
    mode = spec.get("completionMode", NON_INDEXED)
    if mode == INDEXED:
        yield from check_indexed(spec)
    elif mode != NON_INDEXED:
        yield unsupported("spec.completionMode", mode, (NON_INDEXED, INDEXED))
    else:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield invalid(f"spec.{name}", spec[name], NOT_INDEXED)


def check_indexed(spec: Body) -> Iterator[FieldError]:
    completions, failures = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield required("spec.completions", f"when completion mode is {INDEXED}")
    yield from check_bound(spec, "parallelism", MOST_INDEXES, f" when completion mode is {INDEXED}")
    if completions is not None and failures is not None and failures > completions:
        yield invalid("spec.maxFailedIndexes", failures, "must be less than or equal to completions")
    yield from check_bound(spec, "maxFailedIndexes", MOST_INDEXES)
    if (completions or 0) > MANY_COMPLETIONS and "backoffLimitPerIndex" in spec:
        if failures is None:
            why = f"must be specified when completions is above {MANY_COMPLETIONS}"
            yield required("spec.maxFailedIndexes", why)
        yield from check_bound(spec, "parallelism", MOST_OF_MANY, f" {MANY}")
        yield from check_bound(spec, "maxFailedIndexes", MOST_OF_MANY, f" {MANY}")


def check_bound(spec: Body, name: str, limit: int, when: str = "") -> Iterator[FieldError]:
    if spec.get(name, 0) > limit:
        yield invalid(f"spec.{name}", spec[name], f"must be less than or equal to {limit}{when}")


def check_replacement(spec: Body) -> Iterator[FieldError]:
    policy = spec.get("podReplacementPolicy", "Failed")
    known = REPLACEMENTS[:1] if "podFailurePolicy" in spec else REPLACEMENTS
    if policy not in known:
        yield unsupported("spec.podReplacementPolicy", policy, known)


# -- podFailurePolicy --------------------------------------------------------------------------------------


def check_failure_policy(spec: Body) -> Iterator[FieldError]:
    path, rules = "spec.podFailurePolicy.rules", spec["podFailurePolicy"].get("rules") or []
    if len(rules) > MOST_RULES:
        yield too_many(path, len(rules), MOST_RULES)
    for index, rule in enumerate(rules):
        yield from check_failure_rule(rule, f"{path}[{index}]", spec)


def check_failure_rule(rule: Body, path: str, spec: Body) -> Iterator[FieldError]:
    yield from check_action(rule.get("action", ""), f"{path}.action", spec)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions", [])
    if codes is not None:
        yield from check_exit_codes(codes, f"{path}.onExitCodes", container_names(spec))
    if conditions:
        yield from check_patterns(conditions, f"{path}.onPodConditions")
    if codes is not None and conditions:
        yield invalid(path, OMITTED, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield invalid(path, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")


def container_names(spec: Body) -> set[str]:
    pod = spec.get("template", {}).get("spec", {})
    containers = [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
    return {container.get("name", "") for container in containers}


def check_action(action: str, path: str, spec: Body) -> Iterator[FieldError]:
    if action == "FailIndex":
        if "backoffLimitPerIndex" not in spec:
            yield invalid(path, action, "requires the backoffLimitPerIndex to be set")
    else:
        yield from check_listed(path, action, ACTIONS)


def check_listed(path: str, value: str, known: tuple[str, ...]) -> Iterator[FieldError]:
    quoted = " ".join(f'"{name}"' for name in known)
    return check_choice(path, value, known, f"valid values: [{quoted}]")


def check_exit_codes(codes: Body, path: str, containers: set[str]) -> Iterator[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    yield from check_listed(f"{path}.operator", operator, OPERATORS)
    container = codes.get("containerName")
    if container is not None and container not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", container, why)
    if not values:
        yield invalid(f"{path}.values", None, "at least one value is required")
    elif len(values) > MOST_EXIT_CODES:
        yield too_many(f"{path}.values", len(values), MOST_EXIT_CODES)
    yield from check_each_code(values, f"{path}.values", operator)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


def check_each_code(values: list[int], path: str, operator: str) -> Iterator[FieldError]:
    seen = set[int]()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(f"{path}[{index}]", value)
        seen.add(value)


def check_patterns(patterns: list[Body], path: str) -> Iterator[FieldError]:
    if len(patterns) > MOST_CONDITIONS:
        yield too_many(path, len(patterns), MOST_CONDITIONS)
    for index, pattern in enumerate(patterns):
        here = f"{path}[{index}]"
        yield from check_name(f"{here}.type", pattern.get("type", ""), label_key)
        yield from check_listed(f"{here}.status", pattern.get("status", ""), STATUSES)


# -- successPolicy -----------------------------------------------------------------------------------------


def check_success_policy(spec: Body) -> Iterator[FieldError]:
    policy, path = spec["successPolicy"], "spec.successPolicy"
    if not is_indexed(spec):
        yield invalid(path, inner_success(policy), NOT_INDEXED)
        return
    rules = policy.get("rules") or []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", why)
    if len(rules) > MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), MOST_RULES)
    for index, rule in enumerate(rules):
        yield from check_success_rule(rule, f"{path}.rules[{index}]", spec.get("completions", 0))


def check_success_rule(rule: Body, path: str, completions: int) -> Iterator[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        here = f"{path}.succeededIndexes"
        if len(indexes) > LONGEST_INDEXES:
            yield too_long(here, LONGEST_INDEXES)
        try:
            total = count_indexes(indexes, completions)
        except BadIndexes as problem:
            yield invalid(here, indexes, f"error parsing succeededIndexes: {problem}")
    if count is not None:
        limits = [(completions, "the number of specified completions")]
        if indexes is not None:
            limits.append((total, "the number of indexes in the specified succeededIndexes field"))
        yield from check_success_count(count, f"{path}.succeededCount", limits)


def check_success_count(count: int, path: str, limits: list[tuple[int, str]]) -> Iterator[FieldError]:
    if count < 0:
        yield invalid(path, count, NOT_NEGATIVE)
    for limit, meaning in limits:
        if count > limit:
            yield invalid(path, count, f"must be less than or equal to {limit} ({meaning})")


def inner_success(policy: Body | None) -> Body | None:
    return inner_rules(policy, lambda rule: inner(rule, SUCCESS_RULE))


def inner_failure(policy: Body | None) -> Body | None:
    return inner_rules(policy, inner_failure_rule)


def inner_rules(policy: Body | None, inner_rule: Callable[[Body], Body | None]) -> Body | None:
    if policy is None:
        return None
    rules = policy.get("rules")
    return {"Rules": None if rules is None else [inner_rule(rule) for rule in rules]}


def inner_failure_rule(rule: Body) -> Body:
    conditions = rule.get("onPodConditions")
    return {
        "Action": rule.get("action", ""),
        "OnExitCodes": inner(
            rule.get("onExitCodes"), {"containerName": None, "operator": "", "values": None}
        ),
        "OnPodConditions": conditions and [inner(each, {"type": "", "status": ""}) for each in conditions],
    }


# -- scheduling --------------------------------------------------------------------------------------------


def check_scheduling(spec: Body) -> Iterator[FieldError]:
    scheduling, path = spec.get("scheduling", {}), "spec.scheduling"
    policy = scheduling.get("schedulingPolicy", {})
    count, parallelism = policy.get("gang", {}).get("minCount"), spec.get("parallelism", 1)
    if count is not None and count > parallelism:
        why = f"must not be greater than parallelism ({parallelism})"
        yield invalid(f"{path}.schedulingPolicy.gang.minCount", count, why)
    is_basic = "basic" in policy or "gang" not in policy
    mode = scheduling.get("disruptionMode", {})
    if is_basic and "all" in mode and "single" not in mode:
        why = "the disruptionMode `all` is not supported with the Basic scheduling policy"
        yield invalid(f"{path}.disruptionMode", "", why)


def check_restarts(spec: Body) -> Iterator[FieldError]:
    policy = spec.get("template", {}).get("spec", {}).get("restartPolicy", "Always")
    path = "spec.template.spec.restartPolicy"
    if policy == "Always":
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in RESTARTS:
        yield unsupported(path, policy, RESTARTS)
    elif "podFailurePolicy" in spec and policy != "Never":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
