"""Which group a pod belongs to, how many members it takes, and where that is said.

Whoever asks (the scheduler, audits, plans, records, the ledger) asks here, so that all of them hear the same.
Only `verify` reads pods by itself, on purpose: it checks the others.

There is one table of sources, `SOURCES`. Of the sources that claim a pod, the first one counts: what the user
wrote for us, then what the user wrote for another scheduler, then what the pod's owner implies. Decisions go
by the sources that have `decided`, audits by all of them. To add a source, write a row for it in `declared`,
`conventions` or `owned`.
"""

from maitred.model.membership.declared import MARKS, POD_GROUP, naming_group
from maitred.model.membership.jobs import group_from_job, group_named_by, not_one_gang, size
from maitred.model.membership.owned import JOB
from maitred.model.membership.settling import JobFacts, PodWords, Settled, said_by, same_uid, settle
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
    KEYS,
    SOURCES,
    group_key,
    group_of,
    group_of_pods,
    group_of_template,
    is_decided,
    membership_of,
    observed,
    quorum_of,
    settled,
    sorting_key,
)

__all__ = [
    "ALONE",
    "DECIDED",
    "JOB",
    "KEYS",
    "MARKS",
    "POD_GROUP",
    "SOURCES",
    "GroupId",
    "JobFacts",
    "Known",
    "Members",
    "Membership",
    "Objects",
    "PodWords",
    "Settled",
    "Sizing",
    "Source",
    "group_from_job",
    "group_key",
    "group_named_by",
    "group_of",
    "group_of_pods",
    "group_of_template",
    "is_decided",
    "membership_of",
    "naming_group",
    "not_one_gang",
    "observed",
    "quorum_of",
    "said_by",
    "same_uid",
    "settle",
    "settled",
    "size",
    "sorting_key",
]
