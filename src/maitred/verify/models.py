"""Where there are queues, the devices of a gang are of one model, as they are charged by it."""

from collections.abc import Iterator

from .case import Breach, Case, breach
from .claimed import is_device, names_of_class
from .claims import wish_of
from .groups import Group
from .objects import Node
from .payers import places_of
from .pods import Pod

MODELS, ANY, SAME = "maitred.dev/device-models", "any", "same"


def judge_models(case: Case) -> Iterator[Breach]:
    """Members of a gang are on devices of one model."""
    for group in case.groups:
        new = [seat for seat in case.bound(group) if _has_devices(case, seat[0])]
        old = [seat for seat in case.staying(group) if _has_devices(case, seat[0])]
        before = {case.model_of(node) for _, node in old}
        models = before | {case.model_of(node) for _, node in new}
        if new and len(models) > 1 >= len(before) and not _minds_not(group):
            words = ", ".join(sorted(model or "unknown" for model in models))
            yield breach(3, group.key, f"its devices are of several models: {words}")


def _has_devices(case: Case, pod: Pod) -> bool:
    if case.policy.device_count(pod.requests) > 0:
        return True
    wishes = (wish_of(case.cluster, pod, use) for use in pod.devices)
    asked = (one for wish in wishes if wish for alternatives in wish.requests for one in alternatives)
    classes = {one.class_name for one in asked} | {
        case.cluster.device_resources[resource] for resource in pod.by_class
    }
    return any(_is_of_devices(case, name) for name in classes)


def _is_of_devices(case: Case, name: str) -> bool:
    """Claims are for other things too, such as networks."""
    known = names_of_class(case.cluster, name)
    if not case.policy.rights.resources.isdisjoint(known) or is_device(case.policy.devices, name):
        return True
    return case.policy.device_count(dict.fromkeys(known, 1)) > 0


def _minds_not(group: Group) -> bool:
    """Whether it may be on several models: it may say so on objects that are not looked at here."""
    alone = len(group.members) < 2
    return alone or any(
        {**pod.annotations, **pod.labels}.get(MODELS) == ANY or pod.controller or pod.group_name
        for pod in group.members
    )


def says_unknown_models(case: Case, group: Group) -> bool:
    """Whether what it says of models is no word of ours, or two things at once."""
    said = set[str]()
    for pod in group.pending:
        own = (pod.labels, pod.annotations)
        places = (*own, *places_of(pod, case.leaf_of[pod.key].key, case.cluster))
        said |= {marks.get(MODELS, "") for marks in places}
    return len(said - {""}) > 1 or not said <= {"", ANY, SAME}


def by_model(case: Case, group: Group, nodes: list[Node]) -> list[list[Node]]:
    """The nodes on which a group may be together, model by model where that counts."""
    if not case.policy.rights or len(group.members) < 2:
        return [nodes]
    if not any(_has_devices(case, pod) for pod in group.members):
        return [nodes]
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(case.model_of(node), []).append(node)
    return list(found.values())
