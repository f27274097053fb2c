"""Queues that are closed to a group: such a group is Invalid, and gets no place."""

from collections.abc import Iterator

from .case import Breach, Case, breach
from .groups import Group
from .limits import asked_by
from .models import says_unknown_models
from .payers import account_of
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
    return asks_too_much(case, group) or says_unknown_models(case, group)


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
        if (case.bound(group) or case.nominated(group)) and asks_too_much(case, group):
            yield breach(
                LIMITS, group.key, "gets places, and asks for a longer run time than its queue allows"
            )
