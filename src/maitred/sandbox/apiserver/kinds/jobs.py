"""Job: pods that run to completion."""

import re
from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, immutable, invalid, required
from maitred.sandbox.apiserver.kinds.labels import selects
from maitred.sandbox.apiserver.kinds.names import label
from maitred.sandbox.apiserver.kinds.podspecs import check_pod_spec, set_pod_template_defaults
from maitred.sandbox.apiserver.kinds.strategy import Strategy, is_true
from maitred.sandbox.apiserver.schema.types import Body

UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
NO_LIMIT = 2**31 - 1
DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")
MOST_INDEXES = 100_000
"""That an Indexed Job runs at once, or that may fail: both are lists of numbers in its status."""
INDEXES = re.compile(r"\d{1,10}(-\d{1,10})?(,\d{1,10}(-\d{1,10})?)*", re.ASCII)


class JobStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        spec, metadata = body["spec"], body["metadata"]
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", NO_LIMIT if "backoffLimitPerIndex" in spec else 6)
        only_failed = "podFailurePolicy" in spec
        spec.setdefault("podReplacementPolicy", "Failed" if only_failed else "TerminatingOrFailed")
        labels = template_labels(spec)
        if labels and not metadata.get("labels"):
            # One object for both: labels that the template still gets are the Job's too.
            metadata["labels"] = labels
        set_pod_template_defaults(spec["template"])

    def before_create(self, body: Body) -> None:
        """By these labels a Job knows its pods."""
        spec, metadata = body["spec"], body["metadata"]
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        if not spec["manualSelector"]:
            for key in UID_LABELS:
                labels[key] = metadata["uid"]
            for key in NAME_LABELS:
                labels[key] = metadata.get("name", "")
            selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
            selector.setdefault(UID_LABELS[1], metadata["uid"])
        if not labels:
            del spec["template"]["metadata"]["labels"]
        elif metadata.get("labels") is labels:
            metadata["labels"] = dict(labels)

    def before_store(self, body: Body) -> None:
        metadata, labels = body["metadata"], template_labels(body["spec"])
        if labels and not metadata.get("labels"):
            metadata["labels"] = dict(labels)

    def check(self, body: Body) -> list[FieldError]:
        return [*check_spec(body["spec"]), *check_hostnames(body)]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        spec, before = new["spec"], old["spec"]
        return [
            *check_spec(spec),
            *check_completions(spec, before),
            *immutable("spec.selector", spec.get("selector"), before.get("selector")),
            *check_template_change(new, old),
            *check_variant(spec, before),
            *check_hostnames(new),
        ]


JOBS = JobStrategy()


def template_labels(spec: Body) -> dict[str, str]:
    found: dict[str, str] = spec["template"].get("metadata", {}).get("labels", {})
    return found


def is_indexed(spec: Body) -> bool:
    return spec.get("completionMode") == "Indexed"


def check_spec(spec: Body) -> Iterator[FieldError]:
    yield from check_pod_spec(spec["template"].get("spec", {}), "spec.template.spec")
    yield from check_indexed(spec) if is_indexed(spec) else check_plain(spec)
    yield from check_policies(spec)
    yield from check_scheduling(spec)
    if not selects(spec.get("selector"), template_labels(spec)):
        path = "spec.template.metadata.labels" if "selector" in spec else "spec.selector"
        yield invalid(path, template_labels(spec) or None, "`selector` does not match template `labels`")


def check_plain(spec: Body) -> Iterator[FieldError]:
    for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
        if name in spec:
            yield invalid(f"spec.{name}", spec[name], "requires indexed completion mode")


def check_indexed(spec: Body) -> Iterator[FieldError]:
    completions, failures = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield required("spec.completions", "when completion mode is Indexed")
    elif failures is not None and failures > completions:
        yield invalid("spec.maxFailedIndexes", failures, "must be less than or equal to completions")
    for name in ("parallelism", "maxFailedIndexes"):
        if spec.get(name, 0) > MOST_INDEXES:
            why = f"must be less than or equal to {MOST_INDEXES} when completion mode is Indexed"
            yield invalid(f"spec.{name}", spec[name], why)
    if failures is not None and "backoffLimitPerIndex" not in spec:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")


def check_policies(spec: Body) -> Iterator[FieldError]:
    restarts, path = spec["template"].get("spec", {}).get("restartPolicy", "Always"), "spec.template.spec"
    if restarts == "Always":
        yield required(f"{path}.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif "podFailurePolicy" in spec and restarts == "OnFailure":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid(f"{path}.restartPolicy", restarts, why)
    for index, rule in enumerate(spec.get("podFailurePolicy", {}).get("rules") or ()):
        if rule.get("action") == "FailIndex" and "backoffLimitPerIndex" not in spec:
            here = f"spec.podFailurePolicy.rules[{index}].action"
            yield invalid(here, "FailIndex", "requires the backoffLimitPerIndex to be set")
    for index, rule in enumerate(spec.get("successPolicy", {}).get("rules") or ()):
        indexes = rule.get("succeededIndexes")
        if indexes and not INDEXES.fullmatch(indexes):
            here = f"spec.successPolicy.rules[{index}].succeededIndexes"
            yield invalid(here, indexes, "must be indexes and ranges, such as 0,2-5,7")


def check_scheduling(spec: Body) -> Iterator[FieldError]:
    scheduling, path = spec.get("scheduling", {}), "spec.scheduling"
    policy, mode = scheduling.get("schedulingPolicy", {}), scheduling.get("disruptionMode", {})
    count, parallelism = policy.get("gang", {}).get("minCount"), spec.get("parallelism", 1)
    if count is not None and count > parallelism:
        why = f"must not be greater than parallelism ({parallelism})"
        yield invalid(f"{path}.schedulingPolicy.gang.minCount", count, why)
    if "gang" not in policy and "all" in mode and "single" not in mode:
        why = "the disruptionMode `all` is not supported with the Basic scheduling policy"
        yield invalid(f"{path}.disruptionMode", "", why)


def check_hostnames(body: Body) -> Iterator[FieldError]:
    """The pods of an Indexed Job have its name and their index as hostnames."""
    name, last = body["metadata"].get("name", ""), body["spec"].get("completions", 0) - 1
    if is_indexed(body["spec"]) and last >= 0 and label(f"{name}-{last}"):
        why = f"will not able to create pod with invalid DNS label: {name}-{last}"
        yield invalid("metadata.name", name, why)


# -- updates -----------------------------------------------------------------------------------------------


def check_completions(new: Body, old: Body) -> Iterator[FieldError]:
    count, before = new.get("completions"), old.get("completions")
    if not is_indexed(new):
        yield from immutable("spec.completions", count, before)
    elif count not in (None, before, new.get("parallelism")):
        yield invalid("spec.completions", count, "can only be modified in tandem with spec.parallelism")


def check_variant(new: Body, old: Body) -> Iterator[FieldError]:
    policy, before = (spec.get("scheduling", {}).get("schedulingPolicy") for spec in (new, old))
    if policy is not None and before is not None and ("basic" in policy) != ("basic" in before):
        why = "of the policy, only gang.minCount may be updated"
        yield invalid("spec.scheduling.schedulingPolicy", None, why)


def check_template_change(new: Body, old: Body) -> Iterator[FieldError]:
    template, before = new["spec"]["template"], old["spec"]["template"]
    if not has_open_template(old):
        return immutable("spec.template", template, before)
    return immutable("spec.template.spec", as_it_stays(template["spec"]), as_it_stays(before["spec"]))


def has_open_template(job: Body) -> bool:
    """A Job that waits and has no pods may still be told where they go and what they need."""
    status = job.get("status", {})
    rests = "startTime" not in status or is_true(job, "Suspended")
    return bool(job["spec"].get("suspend")) and rests and not status.get("active")


def as_it_stays(spec: Body) -> Body:
    """The pods without the directives for their scheduling, and without the resources of their containers."""
    fixed = {key: value for key, value in spec.items() if key not in (*DIRECTIVES, "affinity")}
    affinity = spec.get("affinity", {})
    fixed["affinity"] = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
    for kind in ("containers", "initContainers"):
        fixed[kind] = [{**container, "resources": None} for container in spec.get(kind) or []]
    return fixed
