"""Binds, removals, nominations, suspensions and conditions on a server that refuses, loses and delays."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import msgspec
import pytest

from maitred.kube import bodies, writes
from maitred.kube.outcomes import Bound, Done, RefusalReason, Refused, Unbound, Unknown
from maitred.kube.permit import Always, NotLeading, Permit, ShadowPermit
from maitred.kube.resources import JOBS, Resource, resource_of
from maitred.kube.wire import Condition
from maitred.kube.writes import ATTEMPTS, FoundOwner, FoundOwnerMeta, OwnerToWrite, Writer
from maitred.model.runtime import SET_DEADLINE
from maitred.model.suspending import BY_TITLE, SUSPENDABLE, SuspendableKind
from maitred.model.suspension import SUSPENDED
from tests.kube.pod_server import Fault, PodServer

T = TypeVar("T")

LOST_REPLY = Fault(executed=True)
LOST_REQUEST = Fault()
GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")


@pytest.fixture
def server() -> PodServer:
    return PodServer()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """What the server asked us to wait, in place of waiting."""
    asked: list[float | None] = []

    def pause(attempt: int, wanted: float | None = None) -> float:
        asked.append(wanted)
        return 0.0

    monkeypatch.setattr(writes, "pause", pause)
    return asked


def write(server: PodServer, work: Callable[[Writer], Awaitable[T]], permit: Permit | None = None) -> T:
    async def run() -> T:
        async with server.running() as client:
            return await work(Writer(client, permit or Always()))

    return asyncio.run(run())


def bind(server: PodServer, uid: str, node: str = "n1") -> Bound | Refused | Unknown:
    return write(server, lambda writer: writer.bind("default", "p", uid, node))


def test_a_bind_is_one_request_and_brings_its_annotations(server: PodServer) -> None:
    uid = server.add("p")
    done = write(server, lambda writer: writer.bind("default", "p", uid, "n1", {"maitred.dev/cycle": "7"}))
    assert done == Bound()
    assert server.asked == [("POST", "/api/v1/namespaces/default/pods/p/binding")]
    assert server.pods["p"]["spec"]["nodeName"] == "n1"
    assert server.pods["p"]["metadata"]["annotations"] == {"maitred.dev/cycle": "7"}
    assert server.bodies == [
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "p", "uid": uid, "annotations": {"maitred.dev/cycle": "7"}},
            "target": {"kind": "Node", "name": "n1"},
        }
    ]


def test_a_bind_of_a_pod_that_is_gone(server: PodServer) -> None:
    outcome = bind(server, "uid-1")
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.GONE


def test_a_bind_does_not_hit_the_pod_that_took_the_name(server: PodServer) -> None:
    server.add("p")
    outcome = bind(server, "another")
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.REPLACED
    assert "nodeName" not in server.pods["p"]["spec"]


def test_a_bind_that_came_too_late(server: PodServer) -> None:
    outcome = bind(server, server.add("p", nodeName="n2"))
    assert outcome == Refused(RefusalReason.BOUND_ELSEWHERE, "the pod is bound to node n2")


def test_a_bind_that_is_done_already(server: PodServer) -> None:
    assert bind(server, server.add("p", nodeName="n1")) == Bound()


def test_a_bind_of_a_pod_that_is_being_deleted(server: PodServer) -> None:
    uid = server.add("p")
    server.pods["p"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert bind(server, uid) == Refused(RefusalReason.DELETING, "the pod is being deleted")


def test_a_bind_of_a_gated_pod(server: PodServer) -> None:
    outcome = bind(server, server.add("p", schedulingGates=[{"name": "a.b/c"}]))
    assert outcome == Refused(RefusalReason.GATED, "the pod has scheduling gates: a.b/c")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (403, RefusalReason.FORBIDDEN),
        (400, RefusalReason.INVALID),
        (410, RefusalReason.INVALID),
        (422, RefusalReason.INVALID),
    ],
)
def test_an_answer_that_is_final_is_not_asked_for_again(
    server: PodServer, status: int, why: RefusalReason
) -> None:
    uid = server.add("p")
    server.faults = [Fault(status, "because")]
    outcome = bind(server, uid)
    assert isinstance(outcome, Refused)
    assert outcome.why is why
    assert "because" in outcome.message
    assert len(server.asked) == 1


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize(
    "fault", [LOST_REPLY, Fault(500, "etcd timed out", executed=True), Fault(504, executed=True)]
)
def test_a_bind_whose_answer_was_lost_is_read_not_repeated(server: PodServer, fault: Fault) -> None:
    uid = server.add("p")
    server.faults = [fault]
    assert bind(server, uid) == Bound()
    assert [verb for verb, _ in server.asked] == ["POST", "GET"]


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("fault", [LOST_REQUEST, Fault(500), Fault(503)])
def test_a_bind_that_was_not_executed_is_sent_again(server: PodServer, fault: Fault) -> None:
    uid = server.add("p")
    server.faults = [fault]
    assert bind(server, uid) == Bound()
    assert [verb for verb, _ in server.asked] == ["POST", "GET", "POST"]


def test_a_busy_server_is_given_the_time_it_asks_for(server: PodServer, pauses: list[float | None]) -> None:
    uid = server.add("p")
    server.faults = [Fault(429, headers={"Retry-After": "3"})]
    assert bind(server, uid) == Bound()
    assert [verb for verb, _ in server.asked] == ["POST", "POST"]
    assert pauses == [3.0]


@pytest.mark.usefixtures("pauses")
def test_credentials_that_have_just_expired_are_not_the_end(server: PodServer) -> None:
    uid = server.add("p")
    server.faults = [Fault(401)]
    assert bind(server, uid) == Bound()


@pytest.mark.usefixtures("pauses")
def test_attempts_are_bounded_and_the_end_of_them_is_unknown(server: PodServer) -> None:
    uid = server.add("p")
    server.faults = [LOST_REQUEST] * 10
    outcome = bind(server, uid)
    assert isinstance(outcome, Unknown)
    assert [verb for verb, _ in server.asked].count("POST") == ATTEMPTS


@pytest.mark.usefixtures("pauses")
def test_a_server_that_never_answers(server: PodServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executed, and the connection stays silent: the time limit ends the wait and the read finds it done."""
    monkeypatch.setattr(writes, "WRITE_SECONDS", 0.2)
    uid = server.add("p")
    server.faults = [Fault(executed=True, hangs=True)]
    assert bind(server, uid) == Bound()


@pytest.mark.usefixtures("pauses")
def test_no_outcome_is_guessed_where_nothing_can_be_read(
    server: PodServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "LOOK_SECONDS", 0.1)
    uid = server.add("p")
    server.faults = [LOST_REPLY, *[LOST_REQUEST] * 10]
    server.read_faults = [Fault(hangs=True)] * 10
    assert isinstance(bind(server, uid), Unknown)
    server.faults, server.read_faults = [], []
    assert write(server, lambda writer: writer.look("default", "p", uid, "n1")) == Bound()


def test_a_look_at_a_pod_without_a_node(server: PodServer) -> None:
    uid = server.add("p")
    assert write(server, lambda writer: writer.look("default", "p", uid, "n1")) == Unbound()


def test_a_pod_that_was_bound_and_is_being_deleted_since_was_bound(server: PodServer) -> None:
    uid = server.add("p", nodeName="n1")
    server.pods["p"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert write(server, lambda writer: writer.look("default", "p", uid, "n1")) == Bound()


class Once:
    """A permit that is taken away after the first write."""

    def __init__(self) -> None:
        self.asked = 0

    def check(self) -> None:
        self.asked += 1
        if self.asked > 1:
            raise NotLeading("over")


def condition(**fields: object) -> Condition:
    given = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    return Condition(**(given | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "work",
    [
        lambda writer: writer.bind("default", "p", "uid-1", "n1"),
        lambda writer: writer.delete_pod("default", "p", "uid-1"),
        lambda writer: writer.evict("default", "p", "uid-1"),
        lambda writer: writer.nominate("default", "p", "uid-1", "n1"),
        lambda writer: writer.patch_pod_condition("default", "p", "uid-1", condition()),
        lambda writer: writer.patch_group_condition(GROUPS, "default", "g", "uid-1", condition()),
    ],
)
def test_without_a_permit_nothing_is_sent(
    server: PodServer, work: Callable[[Writer], Awaitable[object]]
) -> None:
    server.add("p")
    with pytest.raises(NotLeading):
        write(server, work, ShadowPermit())
    assert server.asked == []


@pytest.mark.usefixtures("pauses")
def test_an_attempt_is_not_repeated_by_one_who_leads_no_more(server: PodServer) -> None:
    uid = server.add("p")
    server.faults = [LOST_REQUEST]
    with pytest.raises(NotLeading):
        write(server, lambda writer: writer.bind("default", "p", uid, "n1"), Once())
    assert "nodeName" not in server.pods["p"]["spec"]


Removal = Callable[[Writer, str], Awaitable[Done | Refused | Unknown]]
REMOVALS = pytest.mark.parametrize(
    "remove",
    [
        pytest.param(lambda writer, uid: writer.delete_pod("default", "p", uid), id="delete"),
        pytest.param(lambda writer, uid: writer.evict("default", "p", uid), id="evict"),
    ],
)


@REMOVALS
def test_a_removal_is_one_request(server: PodServer, remove: Removal) -> None:
    uid = server.add("p")
    assert write(server, lambda writer: remove(writer, uid)) == Done()
    assert server.pods == {}
    assert len(server.asked) == 1


@REMOVALS
def test_a_pod_that_is_gone_is_removed(server: PodServer, remove: Removal) -> None:
    assert write(server, lambda writer: remove(writer, "uid-1")) == Done()


@REMOVALS
def test_the_pod_that_took_the_name_stays(server: PodServer, remove: Removal) -> None:
    server.add("p")
    assert write(server, lambda writer: remove(writer, "another")) == Done()
    assert "p" in server.pods


@pytest.mark.usefixtures("pauses")
@REMOVALS
@pytest.mark.parametrize(
    "fault", [LOST_REPLY, LOST_REQUEST, Fault(500), Fault(500, executed=True), Fault(429)]
)
def test_a_removal_is_seen_through(server: PodServer, remove: Removal, fault: Fault) -> None:
    uid = server.add("p", nodeName="n1")
    server.faults = [fault]
    assert write(server, lambda writer: remove(writer, uid)) == Done()
    assert "deletionTimestamp" in server.pods["p"]["metadata"]


@pytest.mark.usefixtures("pauses")
@REMOVALS
def test_a_removal_without_an_answer_is_unknown(server: PodServer, remove: Removal) -> None:
    uid = server.add("p")
    server.faults = [Fault(503)] * 10
    assert isinstance(write(server, lambda writer: remove(writer, uid)), Unknown)
    assert "p" in server.pods


def test_a_deletion_says_how_long_the_pod_may_take(server: PodServer) -> None:
    uid = server.add("p", nodeName="n1")
    assert write(server, lambda writer: writer.delete_pod("default", "p", uid, 0)) == Done()
    assert server.pods == {}
    assert server.bodies[0]["gracePeriodSeconds"] == 0


def test_a_budget_is_a_refusal_and_not_a_busy_server(server: PodServer) -> None:
    uid = server.add("p", nodeName="n1")
    server.budget_spent = True
    outcome = write(server, lambda writer: writer.evict("default", "p", uid))
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.BUDGET
    assert len(server.asked) == 1


def test_two_budgets_are_a_refusal_too(server: PodServer) -> None:
    uid = server.add("p", nodeName="n1")
    words = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    server.faults = [Fault(500, words)]
    assert write(server, lambda writer: writer.evict("default", "p", uid)) == Refused(
        RefusalReason.BUDGET, words
    )


def test_a_condition_is_merged_by_its_type(server: PodServer) -> None:
    uid = server.add("p")
    moment = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    first = condition(last_transition_time=moment, observed_generation=2)
    assert write(server, lambda writer: writer.patch_pod_condition("default", "p", uid, first)) == Done()
    again = condition(reason="SchedulerError", message="")
    assert write(server, lambda writer: writer.patch_pod_condition("default", "p", uid, again)) == Done()
    assert server.pods["p"]["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulerError",
            "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
            "observedGeneration": 2,
        }
    ]


def test_a_condition_is_not_given_to_the_pod_that_took_the_name(server: PodServer) -> None:
    server.add("p")
    outcome = write(server, lambda writer: writer.patch_pod_condition("default", "p", "another", condition()))
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.REPLACED
    assert server.pods["p"]["status"] == {}


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("fault", [LOST_REPLY, LOST_REQUEST, Fault(409), Fault(429), Fault(503)])
def test_a_group_gets_its_condition_all_the_same(server: PodServer, fault: Fault) -> None:
    server.groups["g"] = {"metadata": {"uid": "uid-g"}}
    server.faults = [fault]
    given = condition(type="PodGroupInitiallyScheduled", status="True", reason="Scheduled")
    outcome = write(
        server, lambda writer: writer.patch_group_condition(GROUPS, "default", "g", "uid-g", given)
    )
    assert outcome == Done()
    assert [c["status"] for c in server.groups["g"]["status"]["conditions"]] == ["True"]


async def nominate(uid: str, node: str, writer: Writer) -> Done | Refused | Unknown:
    return await writer.nominate("default", "p", uid, node)


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("fault", [None, LOST_REPLY, LOST_REQUEST, Fault(409), Fault(429), Fault(503)])
def test_a_nomination_is_written_and_taken_back(server: PodServer, fault: Fault | None) -> None:
    uid = server.add("p")
    for node in ("n1", ""):
        server.faults = [fault] if fault else []
        assert write(server, partial(nominate, uid, node)) == Done()
        assert server.pods["p"]["status"]["nominatedNodeName"] == node
        assert server.bodies[-1] == {"metadata": {"uid": uid}, "status": {"nominatedNodeName": node}}


def test_a_nomination_is_not_given_to_the_pod_that_took_the_name(server: PodServer) -> None:
    server.add("p")
    outcome = write(server, partial(nominate, "another", "n1"))
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.REPLACED
    assert server.pods["p"]["status"] == {}


def job(uid: str) -> OwnerToWrite:
    return OwnerToWrite(BY_TITLE["Job"], JOBS, "default", "j", uid)


def suspend(server: PodServer, uid: str) -> Done | Refused | Unknown:
    return write(server, lambda writer: writer.suspend(job(uid), "for others"))


def resume(server: PodServer, uid: str) -> Done | Refused | Unknown:
    return write(server, lambda writer: writer.resume(job(uid)))


JOB_FAULTS = pytest.mark.parametrize(
    "fault", [None, LOST_REPLY, LOST_REQUEST, Fault(409), Fault(429), Fault(500, executed=True)]
)


@pytest.mark.usefixtures("pauses")
@JOB_FAULTS
def test_a_job_is_suspended_and_resumed(server: PodServer, fault: Fault | None) -> None:
    uid = server.add_job("j", annotations={"other": "mark"})
    server.faults = [fault] if fault else []
    assert suspend(server, uid) == Done()
    assert server.jobs["j"]["spec"] == {"suspend": True}
    assert server.jobs["j"]["metadata"]["annotations"] == {"other": "mark", SUSPENDED: "for others"}
    server.faults = [fault] if fault else []
    assert resume(server, uid) == Done()
    assert server.jobs["j"]["spec"] == {"suspend": False}
    assert server.jobs["j"]["metadata"]["annotations"] == {"other": "mark"}


def test_a_job_that_its_user_has_suspended_is_not_marked_as_ours(server: PodServer) -> None:
    uid = server.add_job("j", suspend=True)
    assert suspend(server, uid) == Refused(RefusalReason.TAKEN, "the Job is suspended already")
    assert [verb for verb, _ in server.asked] == ["GET"]


def test_a_line_is_taken_off_a_job_that_runs_and_not_off_one_that_is_suspended(server: PodServer) -> None:
    uid = server.add_job("j", suspend=True, annotations={SUSPENDED: "for others"})
    tidied = partial(write, server, lambda writer: writer.tidy(job(uid)))
    assert tidied() == Refused(RefusalReason.STALE, "the Job is suspended")
    server.jobs["j"]["spec"]["suspend"] = False
    assert tidied() == Done()
    assert server.jobs["j"]["metadata"]["annotations"] == {}


def test_a_job_that_its_user_has_resumed_loses_our_mark(server: PodServer) -> None:
    uid = server.add_job("j", annotations={SUSPENDED: "for others"})
    assert resume(server, uid) == Done()
    assert server.jobs["j"] == {
        "metadata": {"name": "j", "uid": uid, "resourceVersion": "2", "annotations": {}},
        "spec": {"suspend": False},
    }
    assert resume(server, uid) == Done()
    assert server.jobs["j"]["metadata"]["resourceVersion"] == "2"


@pytest.mark.parametrize("change", [suspend, resume, lambda server, uid: set_deadline(server, uid, 60)])
def test_a_job_that_is_gone_is_left_alone(
    server: PodServer, change: Callable[[PodServer, str], Done | Refused | Unknown]
) -> None:
    gone = change(server, "uid-1")
    assert isinstance(gone, Refused)
    assert gone.why is RefusalReason.GONE
    server.add_job("j")
    replaced = change(server, "another")
    assert isinstance(replaced, Refused)
    assert replaced.why is RefusalReason.REPLACED
    assert server.jobs["j"]["spec"] == {"suspend": False}


def set_deadline(server: PodServer, uid: str, seconds: int | None) -> Done | Refused | Unknown:
    return write(server, lambda writer: writer.set_deadline("default", "j", uid, seconds))


@pytest.mark.usefixtures("pauses")
@JOB_FAULTS
def test_the_deadline_of_a_job_is_set_and_taken_back(server: PodServer, fault: Fault | None) -> None:
    uid = server.add_job("j", annotations={"other": "mark"})
    server.faults = [fault] if fault else []
    assert set_deadline(server, uid, 60) == Done()
    assert server.jobs["j"]["spec"] == {"suspend": False, "activeDeadlineSeconds": 60}
    assert server.jobs["j"]["metadata"]["annotations"] == {"other": "mark", SET_DEADLINE: "60"}
    server.faults = [fault] if fault else []
    assert set_deadline(server, uid, None) == Done()
    assert server.jobs["j"]["spec"]["activeDeadlineSeconds"] is None
    assert server.jobs["j"]["metadata"]["annotations"] == {"other": "mark"}


@pytest.mark.parametrize("seconds", [None, 60])
def test_an_earlier_deadline_that_somebody_else_has_set_stands(
    server: PodServer, seconds: int | None
) -> None:
    """Also if it was written since the decision was made."""
    uid = server.add_job("j", annotations={SET_DEADLINE: "50"})
    server.jobs["j"]["spec"]["activeDeadlineSeconds"] = 40
    outcome = set_deadline(server, uid, seconds)
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.STALE
    assert server.jobs["j"]["spec"]["activeDeadlineSeconds"] == 40


def test_a_later_deadline_is_made_earlier(server: PodServer) -> None:
    uid = server.add_job("j")
    server.jobs["j"]["spec"]["activeDeadlineSeconds"] = 400
    assert set_deadline(server, uid, 60) == Done()
    assert server.jobs["j"]["spec"]["activeDeadlineSeconds"] == 60


@pytest.mark.usefixtures("pauses")
def test_a_job_that_cannot_be_written_is_not_guessed_about(server: PodServer) -> None:
    uid = server.add_job("j")
    server.faults = [Fault(403, "no")]
    refused = suspend(server, uid)
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.FORBIDDEN
    server.faults = [Fault(409)] * 20
    assert isinstance(suspend(server, uid), Unknown)
    server.faults = [LOST_REQUEST] * 20
    assert isinstance(suspend(server, uid), Unknown)
    server.faults, server.read_faults = [], [Fault(403, "no")]
    unread = suspend(server, uid)
    assert isinstance(unread, Refused)
    assert unread.why is RefusalReason.FORBIDDEN


def test_a_job_is_not_suspended_without_a_permit(server: PodServer) -> None:
    uid = server.add_job("j")
    with pytest.raises(NotLeading):
        write(server, lambda writer: writer.suspend(job(uid), "for others"), ShadowPermit())
    assert server.jobs["j"]["spec"] == {"suspend": False}


@pytest.mark.parametrize("kind", SUSPENDABLE, ids=lambda kind: kind.title)
def test_the_field_of_every_kind_is_written_as_it_is_read(kind: SuspendableKind) -> None:
    one = OwnerToWrite(kind, resource_of(kind.type), "default", "one", "uid-1")

    def found(value: bool) -> tuple[bool, bool]:
        """As the API server has it, and as decisions read it, after it was written."""
        body = msgspec.json.decode(bodies.owner_patch("uid-1", "7", kind.path[1:], value, {SUSPENDED: None}))
        assert body["metadata"] == {"uid": "uid-1", "resourceVersion": "7", "annotations": {SUSPENDED: None}}
        read = msgspec.convert({"metadata": {}, "spec": body["spec"]}, kind.type)
        return FoundOwner(FoundOwnerMeta(), body["spec"]).is_suspended(one), kind.is_suspended(read)

    assert found(kind.value) == (True, True)
    assert found(not kind.value) == (False, False)
    assert not FoundOwner(FoundOwnerMeta()).is_suspended(one)
    assert not kind.is_suspended(msgspec.convert({"metadata": {}}, kind.type))
