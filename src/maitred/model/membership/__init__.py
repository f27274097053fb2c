"""Which group a pod belongs to, how many members it takes, and where that is said.

Whoever asks (the scheduler, audits, plans, records, the ledger) asks here, so that all of them hear the same.
Only `verify` reads pods by itself, on purpose: it checks the others.

There is one table of sources, `SOURCES`. Of the sources that claim a pod, the first one counts: what the user
wrote for us, then what the user wrote for another scheduler, then what the pod's owner implies. Decisions go
by the sources that have `decided`, audits by all of them. To add a source, write a row for it in `declared`,
`conventions` or `owned`.
"""

from maitred.model.membership.declared import MARKS, POD_GROUP
from maitred.model.membership.owned import JOB
from maitred.model.membership.source import (
    GroupId,
    Known,
    Members,
    Membership,
    Objects,
    Sizing,
    Source,
)
from maitred.model.membership.table import (
    ALONE,
    DECIDED,
    DECLARING,
    KEYS,
    SOURCES,
    contradiction,
    declaration,
    declared_id,
    group_key,
    group_of,
    group_of_pods,
    is_decided,
    marks_for,
    membership_of,
    membership_of_template,
    memberships,
    observed,
    quorum_of,
    settled,
    sorting_key,
)

__all__ = [
    "ALONE",
    "DECIDED",
    "DECLARING",
    "JOB",
    "KEYS",
    "MARKS",
    "POD_GROUP",
    "SOURCES",
    "GroupId",
    "Known",
    "Members",
    "Membership",
    "Objects",
    "Sizing",
    "Source",
    "contradiction",
    "declaration",
    "declared_id",
    "group_key",
    "group_of",
    "group_of_pods",
    "is_decided",
    "marks_for",
    "membership_of",
    "membership_of_template",
    "memberships",
    "observed",
    "quorum_of",
    "settled",
    "sorting_key",
]
