"""Job: pods that run to completion."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.conditions import is_true
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required
from maitred.sandbox.apiserver.kinds.jobspecs import check_spec, is_indexed
from maitred.sandbox.apiserver.kinds.labels import selects
from maitred.sandbox.apiserver.kinds.metadata import immutable
from maitred.sandbox.apiserver.kinds.names import label
from maitred.sandbox.apiserver.kinds.poddefaults import set_pod_template_defaults
from maitred.sandbox.apiserver.kinds.podspecs import check_pod_template
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
NO_LIMIT = 2**31 - 1
DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")


class JobStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        spec, metadata = body["spec"], body["metadata"]
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", NO_LIMIT if "backoffLimitPerIndex" in spec else 6)
        only_failed = "podFailurePolicy" in spec
        spec.setdefault("podReplacementPolicy", "Failed" if only_failed else "TerminatingOrFailed")
        labels = spec["template"].get("metadata", {}).get("labels")
        if labels and not metadata.get("labels"):
            # One object for both: labels that the template still gets are the Job's too.
            metadata["labels"] = labels
        set_pod_template_defaults(spec["template"])

    def before_create(self, body: Body) -> None:
        spec, metadata = body["spec"], body["metadata"]
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        if not spec["manualSelector"]:
            for key, value in generated_labels(metadata).items():
                labels.setdefault(key, value)
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
        return [*check_generated(body), *check_all(body["spec"]), *check_hostnames(body)]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        spec, before = new["spec"], old["spec"]
        return [
            *check_all(spec),
            *check_completions(spec, before),
            *immutable("spec.selector", spec.get("selector"), before.get("selector")),
            *check_template_change(new, old),
            *check_variant(spec, before),
            *check_hostnames(new),
        ]


def check_all(spec: Body) -> Iterator[FieldError]:
    yield from check_spec(spec)
    yield from check_pod_template(spec["template"], "spec.template")
    yield from check_selector(spec)


# -- labels and selector -----------------------------------------------------------------------------------


def generated_labels(metadata: Body) -> dict[str, str]:
    """By these a Job knows its pods."""
    uid, name = str(metadata["uid"]), str(metadata.get("name", ""))
    return {**dict.fromkeys(UID_LABELS, uid), **dict.fromkeys(NAME_LABELS, name)}


def check_generated(body: Body) -> Iterator[FieldError]:
    """Labels and selector of the creator must not contradict those that are generated."""
    spec, metadata = body["spec"], body["metadata"]
    if spec["manualSelector"]:
        return
    expected, labels = generated_labels(metadata), template_labels(spec)
    for pair in zip(UID_LABELS, NAME_LABELS, strict=True):
        for key in pair:
            if labels.get(key) != expected[key]:
                path = f"spec.template.metadata.labels[{key}]"
                yield invalid(path, labels, f"must be '{expected[key]}'")
    if not selects(spec["selector"], expected):
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def check_selector(spec: Body) -> Iterator[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    labels = template_labels(spec)
    if not selects(selector, labels):
        path = "spec.template.metadata.labels"
        yield invalid(path, labels or None, "`selector` does not match template `labels`")


def template_labels(spec: Body) -> dict[str, str]:
    found: dict[str, str] = spec["template"].get("metadata", {}).get("labels", {})
    return found


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
    if policy is None or before is None or ("basic" in policy) == ("basic" in before):
        return
    why = "the basic/gang policy variant is immutable after creation"
    only = "only schedulingPolicy.gang.minCount may be updated"
    yield invalid("spec.scheduling.schedulingPolicy", None, f"{why}; {only}")


def check_template_change(new: Body, old: Body) -> Iterator[FieldError]:
    template, before = new["spec"]["template"], old["spec"]["template"]
    if not has_open_template(old):
        return immutable("spec.template", template, before)
    allowed = with_resources(with_directives(before["spec"], template["spec"]), template["spec"])
    return immutable("spec.template.spec", template["spec"], allowed)


def has_open_template(job: Body) -> bool:
    """A Job that waits and has no pods may still be told where they go and what they need."""
    status = job.get("status", {})
    rests = "startTime" not in status or is_true(job, "Suspended")
    return bool(job["spec"].get("suspend")) and rests and not status.get("active")


def with_directives(old: Body, new: Body) -> Body:
    """The pods as they were, but with the new directives for their scheduling."""
    fixed = {key: value for key, value in old.items() if key not in (*DIRECTIVES, "affinity")}
    changed = {key: new[key] for key in DIRECTIVES if key in new}
    affinity = {key: value for key, value in old.get("affinity", {}).items() if key != "nodeAffinity"}
    if "nodeAffinity" in new.get("affinity", {}):
        affinity["nodeAffinity"] = new["affinity"]["nodeAffinity"]
    return {**fixed, **changed, **({"affinity": affinity} if affinity or "affinity" in new else {})}


def with_resources(old: Body, new: Body) -> Body:
    """The pods as they were, but with the new resources of their containers."""
    changed = dict(old)
    for key in ("containers", "initContainers"):
        ours, theirs = old.get(key) or [], new.get(key) or []
        if ours and len(ours) == len(theirs):
            changed[key] = [exchanged(mine, yours) for mine, yours in zip(ours, theirs, strict=True)]
    return changed


def exchanged(old: Body, new: Body) -> Body:
    if old.get("name") != new.get("name"):
        return old
    return {**old, "resources": new.get("resources", {})}


JOBS = JobStrategy()
