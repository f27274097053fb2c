"""What to write so that the pods of a workload are one gang, as the cluster at hand wants it said."""

from maitred.model.group import GROUP, MIN_COUNT
from maitred.model.job import Job
from maitred.model.membership import not_one_gang
from maitred.model.owners import BATCH_JOB, REPLICA_SET
from maitred.model.policy import Policy

SERVICES = frozenset(("Deployment", REPLICA_SET.title, "ReplicationController", "DaemonSet"))
"""Kinds whose pods serve one by one: nobody needs to be told how to make a gang of them."""


def marks_words(name: str, count: int) -> str:
    return f"set {GROUP}: {name} and {MIN_COUNT}: {str(count)!r} in its pod template"


def no_gang_words(job: Job, policy: Policy) -> str:
    """Why a Job is not one gang by itself, to be added to the words that say so."""
    if missed := not_one_gang(job):
        return f" and is no gang by itself ({'; '.join(missed)})"
    as_written = policy.workloads.jobs == "as-written"
    return " and policy.workloads.jobs is as-written" if as_written else ""


def gang_advice(kind: str, name: str, count: int) -> str:
    """How its pods become one gang. `kind` is that of what makes them, as `OwnerKind.title` has it."""
    if kind == BATCH_JOB.title:
        return f"set the annotation {MIN_COUNT}: {str(count)!r} on the Job"
    return marks_words(name, count)
