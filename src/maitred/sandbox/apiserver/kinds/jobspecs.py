"""What the `spec` of a Job may say: what its fields must be to each other."""

import re
from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required, unsupported
from maitred.sandbox.apiserver.schema.types import Body

INDEXED = "Indexed"
NOT_INDEXED = "requires indexed completion mode"
MOST_INDEXES = 100_000
"""That an Indexed Job runs at once, or that may fail: both are lists of numbers in its status."""
INDEXES = re.compile(r"\d{1,10}(-\d{1,10})?(,\d{1,10}(-\d{1,10})?)*", re.ASCII)


def is_indexed(spec: Body) -> bool:
    return spec.get("completionMode") == INDEXED


def check_spec(spec: Body) -> Iterator[FieldError]:
    """All but the template, which has rules of its own."""
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from check_indexed(spec) if is_indexed(spec) else check_plain(spec)
    if "podFailurePolicy" in spec:
        yield from check_failure_policy(spec)
    yield from check_success_policy(spec)
    yield from check_scheduling(spec)
    yield from check_restarts(spec)


def check_plain(spec: Body) -> Iterator[FieldError]:
    for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
        if name in spec:
            yield invalid(f"spec.{name}", spec[name], NOT_INDEXED)


def check_indexed(spec: Body) -> Iterator[FieldError]:
    completions, failures = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield required("spec.completions", f"when completion mode is {INDEXED}")
    elif failures is not None and failures > completions:
        yield invalid("spec.maxFailedIndexes", failures, "must be less than or equal to completions")
    for name in ("parallelism", "maxFailedIndexes"):
        if spec.get(name, 0) > MOST_INDEXES:
            why = f"must be less than or equal to {MOST_INDEXES} when completion mode is {INDEXED}"
            yield invalid(f"spec.{name}", spec[name], why)


def check_failure_policy(spec: Body) -> Iterator[FieldError]:
    if spec.get("podReplacementPolicy", "Failed") != "Failed":
        yield unsupported("spec.podReplacementPolicy", spec["podReplacementPolicy"], ("Failed",))
    for index, rule in enumerate(spec["podFailurePolicy"].get("rules") or ()):
        if rule.get("action") == "FailIndex" and "backoffLimitPerIndex" not in spec:
            path = f"spec.podFailurePolicy.rules[{index}].action"
            yield invalid(path, "FailIndex", "requires the backoffLimitPerIndex to be set")


def check_success_policy(spec: Body) -> Iterator[FieldError]:
    for index, rule in enumerate(spec.get("successPolicy", {}).get("rules") or ()):
        path, indexes = f"spec.successPolicy.rules[{index}]", rule.get("succeededIndexes")
        if indexes is None and "succeededCount" not in rule:
            yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
        if indexes and not INDEXES.fullmatch(indexes):
            yield invalid(f"{path}.succeededIndexes", indexes, "must be indexes and ranges, such as 0,2-5,7")


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
    elif "podFailurePolicy" in spec and policy == "OnFailure":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
