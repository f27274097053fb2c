"""Allocations and their end on a server that refuses, loses and delays, and on which others write too."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import pytest

from maitred.kube import writes
from maitred.kube.claim_writes import ClaimWriter
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.permit import Always
from maitred.kube.resources import resource_of
from maitred.kube.wire import WatchedClaim
from maitred.kube.writes import Writer
from maitred.model.devices.claims import (
    ALLOCATED_BY,
    EXTENDED_RESOURCE_CLAIM,
    FINALIZER,
    Allocation,
    ResourceClaim,
)
from maitred.model.plan import ClaimAllocation, ClaimToMake
from tests.kube.claim_server import ClaimServer
from tests.kube.pod_server import Fault

T = TypeVar("T")
LOST_REPLY, LOST_REQUEST = Fault(executed=True), Fault()
POD = {"resource": "pods", "name": "p", "uid": "uid-p"}
OTHER = {"resource": "pods", "name": "q", "uid": "uid-q"}


def devices(*names: str) -> dict[str, Any]:
    results = [{"request": "gpu", "driver": "d.example.com", "pool": "n1", "device": name} for name in names]
    return {"devices": {"results": results}}


WANTED = ClaimAllocation("default/c", devices("gpu-0"), (POD,))


@pytest.fixture
def server() -> ClaimServer:
    return ClaimServer()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "pause", lambda attempt, wanted=None: 0.0)


def write(server: ClaimServer, work: Callable[[ClaimWriter], Awaitable[T]]) -> T:
    async def run() -> T:
        async with server.running() as client:
            return await work(ClaimWriter(Writer(client, Always()), resource_of(ResourceClaim), "maitred"))

    return asyncio.run(run())


def known(server: ClaimServer, name: str = "c") -> WatchedClaim:
    return msgspec.convert(server.claims[name], WatchedClaim)


def allocate(
    server: ClaimServer, wanted: ClaimAllocation = WANTED, claim: WatchedClaim | None = None
) -> WatchedClaim | Refused | Unknown:
    seen = claim or known(server)
    return write(server, lambda writer: writer.allocate(wanted, seen))


def release(server: ClaimServer, *uids: str, allocation: Any = None) -> Done | Refused | Unknown:
    uid = server.claims["c"]["metadata"]["uid"]
    typed = None if allocation is None else msgspec.convert(allocation, Allocation)
    return write(server, lambda writer: writer.release("default/c", uid, uids, typed))


def status(server: ClaimServer) -> dict[str, Any]:
    return dict(server.claims["c"]["status"])


def is_free(server: ClaimServer) -> bool:
    meta = server.claims["c"]["metadata"]
    return not status(server) and not meta["finalizers"] and not meta["annotations"]


def test_an_allocation_is_the_finalizer_and_then_devices_with_their_user(server: ClaimServer) -> None:
    uid = server.add_claim("c")
    done = allocate(server)
    assert isinstance(done, WatchedClaim)
    assert done.metadata.resource_version == str(server.versions)
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"
    assert server.asked == [("PATCH", path), ("PATCH", path + "/status")]
    first, second = server.bodies
    assert first == {
        "metadata": {
            "uid": uid,
            "resourceVersion": "1",
            "finalizers": [FINALIZER],
            "annotations": {ALLOCATED_BY: "maitred"},
        }
    }
    allocation = second["status"]["allocation"]
    assert allocation.pop("allocationTimestamp").endswith("Z")
    assert second["status"] == {"allocation": devices("gpu-0"), "reservedFor": [POD]}


@pytest.mark.parametrize("nth", [0, 1])
@pytest.mark.parametrize(
    "fault", [LOST_REPLY, LOST_REQUEST, Fault(409), Fault(429), Fault(500, executed=True), Fault(503)]
)
def test_an_allocation_is_seen_through(server: ClaimServer, fault: Fault, nth: int) -> None:
    server.add_claim("c")
    server.faults = [*[Fault(429)] * nth, fault]
    assert isinstance(allocate(server), WatchedClaim)
    assert status(server)["reservedFor"] == [POD]
    assert server.claims["c"]["metadata"]["finalizers"] == [FINALIZER]


def test_an_old_copy_is_good_enough_to_write_on_but_not_to_be_content_with(server: ClaimServer) -> None:
    server.add_claim("c")
    allocate(server)
    old = known(server)
    release(server, "uid-p")
    assert isinstance(allocate(server, claim=old), WatchedClaim)
    assert status(server)["reservedFor"] == [POD]


def test_who_was_first_has_allocated_it(server: ClaimServer) -> None:
    server.add_claim("c")
    old = known(server)
    theirs = {"allocation": devices("gpu-7"), "reservedFor": [OTHER]}
    server.set_claim("c", status=theirs)
    outcome = allocate(server, claim=old)
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.TAKEN
    assert outcome.message == (
        "another scheduler allocated claim default/c first, with device gpu-7 of pool n1"
    )
    assert status(server) == theirs


def test_others_who_use_the_same_devices_stay(server: ClaimServer) -> None:
    server.add_claim("c", allocation=devices("gpu-0"), reservedFor=[OTHER])
    assert isinstance(allocate(server), WatchedClaim)
    assert status(server) == {"allocation": devices("gpu-0"), "reservedFor": [OTHER, POD]}
    assert release(server, "uid-p", allocation=devices("gpu-0")) == Done()
    assert status(server) == {"allocation": devices("gpu-0"), "reservedFor": [OTHER]}


def test_a_claim_that_is_being_deleted_gets_nothing(server: ClaimServer) -> None:
    server.add_claim("c")
    server.claims["c"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    outcome = allocate(server)
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.DELETING
    assert not server.bodies


def test_a_claim_that_took_the_name_gets_nothing(server: ClaimServer) -> None:
    server.add_claim("c")
    old = known(server)
    server.add_claim("c")
    outcome = allocate(server, claim=old)
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.REPLACED
    assert not status(server)


def test_a_claim_that_others_write_all_the_time_is_not_guessed_about(server: ClaimServer) -> None:
    server.add_claim("c")
    server.faults = [Fault(409)] * 50
    assert isinstance(allocate(server), Unknown)


@pytest.mark.parametrize("fault", [None, LOST_REPLY, LOST_REQUEST, Fault(409), Fault(503)])
def test_what_nobody_uses_any_more_is_free(server: ClaimServer, fault: Fault | None) -> None:
    server.add_claim("c")
    server.claims["c"]["metadata"] |= {"finalizers": ["of.another/one"]}
    allocate(server)
    server.faults = [fault] if fault else []
    assert release(server, "uid-p") == Done()
    assert server.claims["c"]["metadata"]["finalizers"] == ["of.another/one"]
    assert ALLOCATED_BY not in server.claims["c"]["metadata"]["annotations"]
    assert status(server) == {}


def test_a_release_of_what_others_have_allocated_changes_nothing(server: ClaimServer) -> None:
    server.add_claim("c", allocation=devices("gpu-7"))
    assert release(server, "uid-p", allocation=devices("gpu-0")) == Done()
    assert status(server) == {"allocation": devices("gpu-7")}


def test_what_others_have_allocated_after_our_first_write_is_not_called_ours(server: ClaimServer) -> None:
    server.add_claim("c")
    server.faults = [LOST_REPLY, *[Fault(403)] * 5]
    allocate(server)
    server.faults = []
    theirs = {"allocation": devices("gpu-7"), "reservedFor": [OTHER]}
    server.set_claim("c", status=theirs)
    assert release(server, "uid-p", allocation=devices("gpu-0")) == Done()
    assert server.claims["c"]["metadata"]["annotations"] == {}
    assert server.claims["c"]["metadata"]["finalizers"] == [FINALIZER]
    assert status(server) == theirs


def test_an_allocation_that_nobody_has_reserved_is_free(server: ClaimServer) -> None:
    server.add_claim("c")
    allocate(server)
    server.set_claim("c", status={"allocation": devices("gpu-0")})
    assert release(server, allocation=devices("gpu-0")) == Done()
    assert is_free(server)


def test_a_finalizer_without_an_allocation_goes_too(server: ClaimServer) -> None:
    server.add_claim("c")
    server.faults = [LOST_REPLY, *[Fault(403)] * 5]
    assert isinstance(allocate(server), Refused)
    assert server.claims["c"]["metadata"]["finalizers"] == [FINALIZER]
    server.faults = []
    assert release(server) == Done()
    assert is_free(server)


def test_what_is_gone_needs_no_release(server: ClaimServer) -> None:
    server.add_claim("c")
    uid = server.claims["c"]["metadata"]["uid"]
    del server.claims["c"]
    assert write(server, lambda writer: writer.release("default/c", uid, ("uid-p",))) == Done()


# -- claims that the scheduler makes ---------------------------------------------------------------------

SPEC = {
    "devices": {
        "requests": [
            {
                "name": "container-0-request-0",
                "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
            }
        ]
    }
}
MADE = ClaimAllocation(
    "default/p-extended-resources", devices("gpu-0"), (POD,), ClaimToMake("default/p", SPEC, ())
)


def make(
    server: ClaimServer, wanted: ClaimAllocation = MADE, pod: str = "uid-p"
) -> WatchedClaim | Refused | Unknown:
    return write(server, lambda writer: writer.make(wanted, pod))


@pytest.mark.parametrize("fault", [None, LOST_REPLY, LOST_REQUEST, Fault(503)])
def test_a_claim_is_made_once_as_kube_scheduler_makes_it(server: ClaimServer, fault: Fault | None) -> None:
    server.faults = [fault] if fault else []
    assert isinstance(make(server), WatchedClaim)
    [claim] = server.claims.values()
    meta = claim["metadata"]
    assert (claim["apiVersion"], claim["kind"], claim["spec"]) == (
        "resource.k8s.io/v1",
        "ResourceClaim",
        SPEC,
    )
    assert meta["annotations"] == {EXTENDED_RESOURCE_CLAIM: "true", ALLOCATED_BY: "maitred"}
    assert meta["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    ]
    assert meta["finalizers"] == [FINALIZER]


def test_one_that_asks_for_something_else_is_in_the_way(server: ClaimServer) -> None:
    make(server)
    other = msgspec.structs.replace(MADE, made=ClaimToMake("default/p", {"devices": {"requests": []}}, ()))
    for uid, wanted in (("uid-p", other), ("uid-of-another-pod", MADE)):
        outcome = make(server, wanted, uid)
        assert isinstance(outcome, Refused)
        assert outcome.why is RefusalReason.TAKEN


@pytest.mark.parametrize("fault", [None, LOST_REPLY, LOST_REQUEST, Fault(503)])
def test_a_claim_that_was_made_in_vain_is_removed(server: ClaimServer, fault: Fault | None) -> None:
    found = make(server)
    assert isinstance(found, WatchedClaim)
    assert isinstance(allocate(server, MADE, found), WatchedClaim)
    server.faults = [fault] if fault else []
    uid = found.metadata.uid
    assert write(server, lambda writer: writer.remove(MADE.claim, uid, ("uid-p",))) == Done()
    assert server.claims == {}
