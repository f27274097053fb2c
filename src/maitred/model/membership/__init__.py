"""Which group a pod belongs to, how many members it takes, and where that is said.

Whoever asks (the scheduler, audits, plans, records, the ledger) asks here, so that all of them hear the same.
Only `verify` reads pods by itself, on purpose: it checks the others.

    said_by(pod) -> PodWords
        What a pod itself says. Pods that say the same are in the same group.
    settle(said, known, rules, waits) -> Settled
        Its group, once the objects that it points to are looked up in `known`: the id of the group, the group
        as an object declares it, and what is in conflict or was overruled.
    group_of(id, marks, declared, there) -> Group
        The group, from what `settle` found for its members.
    stages_of(owner) -> tuple[Stage, ...]
        What pods any owner makes (a Job, a JobSet, a RayJob ...): roles with their templates and counts,
        which of them at the same time, and after what.
    chain_of(said, known) -> Chain, top_owner(said, known) -> Object | None
        The owners above a pod, nearest first; and the last of them, which is what somebody has made.
    OWNERS, CONVENTIONS, SOURCES
        The kinds of owners whose pods are gangs, the languages of other schedulers, and all sources in the
        order of precedence.

What was written counts before what owners imply, and the first source in the order of the table names the
group: PodGroups of Kubernetes, our marks on the pod or on an owner above it, then other schedulers'
conventions. To add a source, write a row for it in `conventions` or in `owners`.
"""

from maitred.model.membership.conventions import CONVENTIONS, Convention, NamedGroup, all_marks
from maitred.model.membership.jobs import group_from_job, group_named_by, not_one_gang, size
from maitred.model.membership.owners import OWNERS, OwnerRow
from maitred.model.membership.paying import common_models, common_payer
from maitred.model.membership.progress import JobProgress, without_failed
from maitred.model.membership.renaming import renamed
from maitred.model.membership.settling import ALL_ALONE, SAYING, Settled, chain_of, settle, top_owner
from maitred.model.membership.source import ALONE, JOB, MARKS, OWNER, POD_GROUP, GroupId
from maitred.model.membership.stages import Stage, StageNeed, StageRole, stages_of
from maitred.model.membership.table import (
    SOURCES,
    Source,
    group_key,
    group_of,
    group_of_template,
    is_written,
    named_group,
    sorting_key,
    words_of_template,
)
from maitred.model.membership.words import KEYS, SILENT, PodWords, leads, said_by

__all__ = [
    "ALL_ALONE",
    "ALONE",
    "CONVENTIONS",
    "JOB",
    "KEYS",
    "MARKS",
    "OWNER",
    "OWNERS",
    "POD_GROUP",
    "SAYING",
    "SILENT",
    "SOURCES",
    "Convention",
    "GroupId",
    "JobProgress",
    "NamedGroup",
    "OwnerRow",
    "PodWords",
    "Settled",
    "Source",
    "Stage",
    "StageNeed",
    "StageRole",
    "all_marks",
    "chain_of",
    "common_models",
    "common_payer",
    "group_from_job",
    "group_key",
    "group_named_by",
    "group_of",
    "group_of_template",
    "is_written",
    "leads",
    "named_group",
    "not_one_gang",
    "renamed",
    "said_by",
    "settle",
    "size",
    "sorting_key",
    "stages_of",
    "top_owner",
    "without_failed",
    "words_of_template",
]
