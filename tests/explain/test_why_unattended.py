"""What no decision reads and `why` tells all the same: that no scheduler runs, that pods are refused."""

from typing import Any

import msgspec
import pytest

from maitred.explain.why.names import find
from maitred.explain.why.seen import Leases, Seen, SeenEvent, SeenJob, SeenLease
from maitred.explain.why.why import why
from maitred.model.meta import Timestamp
from maitred.model.pod import Pod
from tests.explain.whys import situation_of
from tests.oracle import builders as b
from tests.support import Obj

NOON, LATER = (msgspec.convert(text, Timestamp) for text in ("2026-01-31T12:00:00Z", "2026-01-31T12:05:00Z"))
QUOTA = 'Error creating: pods "crew-x" is forbidden: exceeded quota: gpus, requested: 8, used: 8, limited: 8'


def lease(name: str, namespace: str = "maitred-system", holder: str = "a", renewed: str = "12:00:00") -> Obj:
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "renewTime": f"2026-01-31T{renewed}.000000Z",
    }
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def seen_leases(*found: Obj, at: Any = NOON, doubt: str = "") -> Seen:
    return Seen(leases=Leases(tuple(msgspec.convert(one, SeenLease) for one in found), at, doubt))


def told(seen: Seen, scheduler: str = "maitred", gpu: int = 1) -> tuple[str, str, list[str]]:
    objects = [b.node("n1", gpu=4), *b.pods("crew", 1, gpu=gpu, scheduler=scheduler)]
    answer = why(situation_of(objects), "default/crew-0", seen)
    return answer.state, answer.summary, [note for note in answer.notes if "scheduler" in note]


RENEWED = "Lease maitred-system/maitred was last renewed at 2026-01-31T12:00:00Z"


def test_a_group_that_fits_is_told_that_no_scheduler_runs() -> None:
    state, summary, _ = told(seen_leases())
    assert state == "Unattended"
    assert summary == (
        "default/crew-0 fits now, but no scheduler will place it: its pods name scheduler maitred, and "
        "no scheduler of that name seems to run (there is no Lease maitred)"
    )


@pytest.mark.parametrize(
    ("found", "at", "words"),
    [
        ([lease("maitred", holder="")], NOON, "Lease maitred-system/maitred has no holder"),
        ([lease("maitred")], LATER, RENEWED),
        ([lease("other")], NOON, "there is no Lease maitred"),
    ],
)
def test_a_lease_that_is_not_held_is_no_scheduler(found: list[Obj], at: Any, words: str) -> None:
    state, summary, _ = told(seen_leases(*found, at=at))
    assert (state, summary[-len(words) - 2 :]) == ("Unattended", f"({words})")


@pytest.mark.parametrize(
    ("scheduler", "held"),
    [("maitred", lease("maitred")), ("default-scheduler", lease("kube-scheduler", "kube-system"))],
)
def test_a_scheduler_that_holds_its_lease_runs(scheduler: str, held: Obj) -> None:
    assert told(seen_leases(held), scheduler)[::2] == ("Starting", [])


def test_where_a_scheduler_answers_there_is_one() -> None:
    assert told(Seen())[::2] == ("Starting", [])


def test_what_a_dump_does_not_show_is_not_claimed() -> None:
    doubt = "this dump does not show it"
    assert told(seen_leases(doubt=doubt))[::2] == (
        "Starting",
        ["its pods name scheduler maitred; this dump does not show it"],
    )
    assert told(seen_leases(doubt=doubt), gpu=8)[::2] == ("Waiting", [])


def test_a_group_that_waits_is_told_too() -> None:
    state, summary, notes = told(seen_leases(), gpu=8)
    assert state == "Waiting"
    assert "no scheduler will place it" not in summary
    assert notes[0].startswith("no scheduler will place it: ")


# -- pods that are refused ---------------------------------------------------------------------------------


def job(wanted: int, *conditions: Obj) -> Obj:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "crew", "namespace": "default", "uid": "crew"},
        "spec": {"parallelism": wanted, "completions": wanted, "template": {"spec": {"containers": []}}},
        "status": {"conditions": list(conditions)},
    }


def refused(kind: str = "Job", name: str = "crew", reason: str = "FailedCreate") -> Obj:
    return {
        "involvedObject": {"kind": kind, "namespace": "default", "name": name},
        "reason": reason,
        "message": QUOTA,
        "count": 7,
        "lastTimestamp": "2026-01-31T11:58:00Z",
    }


def seen_jobs(objects: list[Obj], *events: Obj) -> Seen:
    return Seen(
        tuple(msgspec.convert(one, Pod) for one in objects if one["kind"] == "Pod"),
        tuple(msgspec.convert(event, SeenEvent) for event in events),
        jobs=tuple(msgspec.convert(one, SeenJob) for one in objects if one["kind"] == "Job"),
    )


def test_a_job_whose_pods_are_refused() -> None:
    objects = [b.node("n1"), job(4)]
    situation, seen = situation_of(objects), seen_jobs(objects, refused())
    answer = why(situation, find(situation, "crew", "default", "job", seen), seen)
    words = f"Job crew cannot create its pods: {QUOTA} (7 times, last at 2026-01-31T11:58:00Z)"
    assert (answer.state, answer.summary) == ("NoPods", f"default/crew has no pods to schedule: {words}")


def test_a_group_that_lacks_the_members_that_are_refused() -> None:
    members = b.pods("crew", 2, 1, group="crew", owner="Job/crew")
    objects = [b.node("n1"), b.pod_group("crew", 4), *members, job(4)]
    answer = why(situation_of(objects), "default/crew", seen_jobs(objects, refused()))
    assert answer.blockers[0].category == "Members"
    assert answer.notes[0].startswith("Job crew cannot create its pods: Error creating")


def test_refusals_are_over_once_all_pods_are_there() -> None:
    members = b.pods("crew", 4, 1, group="crew", owner="Job/crew")
    objects = [b.node("n1"), b.pod_group("crew", 4), *members, job(4)]
    answer = why(situation_of(objects), "default/crew", seen_jobs(objects, refused()))
    assert not any("cannot create" in note for note in answer.notes)


def test_events_about_others_are_not_told() -> None:
    objects = [b.node("n1"), job(4)]
    seen = seen_jobs(objects, refused(name="crew-2"), refused(reason="SuccessfulCreate"))
    answer = why(situation_of(objects), "default/crew", seen)
    assert answer.notes == ("Job crew has no pods yet: the Job controller has created none of 4 pods",)


def test_a_job_that_has_failed_says_why() -> None:
    ended = {
        "type": "Failed",
        "status": "True",
        "reason": "BackoffLimitExceeded",
        "message": "Job has reached the specified backoff limit",
    }
    objects = [b.node("n1"), job(4, ended)]
    answer = why(situation_of(objects), "default/crew", seen_jobs(objects))
    assert (answer.state, answer.summary) == (
        "Failed",
        "default/crew is over: Job crew has failed (BackoffLimitExceeded): Job has reached the specified "
        "backoff limit",
    )
