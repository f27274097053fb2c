"""What became of the workload that a group's pods come from: its Job failed, or its pods were refused."""

from collections.abc import Iterable, Iterator

from maitred.explain.why.names import Names
from maitred.explain.why.seen import SeenEvent
from maitred.model.kinds import row_of
from maitred.model.meta import controller_of, key_of
from maitred.model.objects import Object
from maitred.model.words import counted, moment, printable

LONGEST_MESSAGE = 300
OVER = ("Failed", "FailureTarget")
"""Conditions of a Job that makes no more pods."""


def refusal_of(names: Names, key: str) -> str | None:
    """Why the latest pod of the group could not be created, in the words of the API server."""
    return _latest_refusal(names, _owners(names, key))


def refusal_below(names: Names, one: Object) -> str | None:
    """Why an object that has no pods, or a Job that it made, could not create the latest."""
    own = (row_of(type(one)).name, key_of(one.metadata))
    jobs = (
        ("Job", key)
        for key, job in names.snapshot.jobs.items()
        if (above := controller_of(job.metadata)) is not None and above.uid == one.metadata.uid
    )
    return _latest_refusal(names, (own, *jobs))


def _latest_refusal(names: Names, owners: Iterable[tuple[str, str]]) -> str | None:
    found = [(one, owner) for owner in owners for one in names.seen.failures_of(*owner)]
    if not found:
        return None
    latest, (kind, owner) = max(found, key=lambda one: _when(one[0]))
    name = owner.partition("/")[2]
    return f"{kind} {name} cannot create its pods: {_told(latest.words)}{_times(latest)}"


def failure_of(names: Names, key: str) -> str | None:
    """Why its Job has failed, or is about to."""
    job = names.job_of(key)
    seen = None if job is None else names.seen.job(key_of(job.metadata))
    if seen is None:
        return None
    ended = next(filter(None, map(seen.condition, OVER)), None)
    if ended is None:
        return None
    reason = f" ({ended.reason})" if ended.reason else ""
    return f"Job {seen.metadata.name} has failed{reason}: {_told(ended.message)}"


def _owners(names: Names, key: str) -> Iterator[tuple[str, str]]:
    """Kinds, and `namespace/name`."""
    job, namespace = names.job_of(key), key.partition("/")[0]
    found = dict[tuple[str, str], None]()
    if job is not None:
        found["Job", key_of(job.metadata)] = None
    for pod in names.seen_members.get(key, ()):
        owner = controller_of(pod.metadata)
        if owner is not None:
            found[owner.kind, f"{namespace}/{owner.name}"] = None
    yield from found


def _told(message: str) -> str:
    words = printable(" ".join(message.split()))
    return words if len(words) <= LONGEST_MESSAGE else f"{words[:LONGEST_MESSAGE]}..."


def _when(event: SeenEvent) -> float:
    return event.latest.timestamp() if event.latest else 0.0


def _times(event: SeenEvent) -> str:
    count = max(event.count, event.series.count if event.series else 0, 1)
    last = f", last at {moment(int(event.latest.timestamp()))}" if event.latest else ""
    return f" ({counted(count, 'time')}{last})"
