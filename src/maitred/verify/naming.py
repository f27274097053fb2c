"""Queues that are closed to a group: such a group is Invalid, and gets no place."""

from collections.abc import Iterator

from .case import Breach, Case, breach
from .groups import Group
from .limits import asked_by
from .models import says_unknown_models
from .payers import account_of, names_of
from .rights import LIMITS


def may_be_barred(case: Case, group: Group) -> bool:
    """Whether its queue may be closed to it. Whose namespaces and priorities may use a queue is not read a
    second time, so where a queue says that, the Plan is believed."""
    rights = case.policy.rights
    parents = {rule.parent for rule in rights.queues.values()}
    for pod in group.pending if rights else ():
        found = account_of(pod, case.leaf_of[pod.key].key, case.cluster)
        if found.contradictory or found.queue not in rights.queues or found.queue in parents:
            return True
        if any(rights.queues[name].is_selective for name in rights.chain(found.queue)):
            return True
    return is_divided(case, group) or asks_too_much(case, group) or says_unknown_models(case, group)


def is_divided(case: Case, group: Group) -> bool:
    """Whether its waiting members name different queues, some of them perhaps none, or are of different
    users."""
    names = {names_of(pod, case.leaf_of[pod.key].key, case.cluster) for pod in group.pending}
    return bool(case.policy.rights) and len(names) > 1


def asks_too_much(case: Case, group: Group) -> bool:
    """Whether it asks for a longer run-time limit than its queue allows."""
    rights, asked = case.policy.rights, asked_by(case, group)
    if asked is None or not group.pending:
        return False
    pod = group.pending[0]
    queue = account_of(pod, case.leaf_of[pod.key].key, case.cluster).queue
    chain = rights.chain(queue) if queue in rights.queues else []
    longest = (rights.queues[name].longest for name in chain)
    return any(span is not None and asked > span for span in longest)


def judge_askers(case: Case) -> Iterator[Breach]:
    for group in case.groups if case.policy.rights else ():
        if not case.bound(group) and not case.nominated(group):
            continue
        if asks_too_much(case, group):
            yield breach(
                LIMITS, group.key, "gets places, and asks for a longer run time than its queue allows"
            )
        if is_divided(case, group):
            yield breach(LIMITS, group.key, "gets places, and its members name different queues or users")
