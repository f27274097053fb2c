"""The same writes, sent to a real API server and done here, give the same objects with the same owners."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.patching.apply import apply
from maitred.sandbox.apiserver.patching.errors import PatchError
from maitred.sandbox.apiserver.patching.jsonpatch import json_patch
from maitred.sandbox.apiserver.patching.mergepatch import merge_patch
from maitred.sandbox.apiserver.patching.ownership import decoded, encoded, record
from maitred.sandbox.apiserver.patching.strategic import strategic_merge_patch
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import ADMIN
from tests.sandbox.apiserver.patching.playground import call, received
from tests.sandbox.apiserver.patching.sequences import SEQUENCES
from tests.sandbox.apiserver.patching.writes import How, Sequence, Step

MEDIA = {
    How.PUT: "application/json",
    How.JSON: "application/json-patch+json",
    How.MERGE: "application/merge-patch+json",
    How.STRATEGIC: "application/strategic-merge-patch+json",
    How.APPLY: "application/apply-patch+yaml",
}
NAMESPACE = "patching"
DEADLINE = 30.0
AFTER_ALL = "2096-01-01T00:00:00Z"
"""Each write is newer than all that the real server has seen so far."""
SET_LATER = {"Pod": ("priority", "preemptionPolicy", "tolerations"), "Job": ("selector",)}
"""Parts of specs that are not yet there when it is noted who owns what."""


@dataclass(frozen=True, slots=True)
class Refused:
    status: int
    message: str


Outcome = Body | Refused


def fresh(body: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body))


# -- here --------------------------------------------------------------------------------------------------


def done_here(step: Step, kind: Kind, live: Body | None) -> Outcome:
    try:
        return written_here(step, kind, live)
    except PatchError as error:
        return Refused(error.code, error.message)


def written_here(step: Step, kind: Kind, live: Body | None) -> Body:
    asking = call(step.manager, AFTER_ALL, force=step.force)
    if step.how is How.APPLY:
        return settled(received(apply(live, fresh(step.what), kind, asking, step.part), kind), live, step)
    assert live is not None
    body = received(patched(step, kind, fresh(live)), kind)
    record(live, body, kind, asking, step.part)
    return settled(body, live, step)


def patched(step: Step, kind: Kind, body: Body) -> Body:
    if step.how is How.JSON:
        return json_patch(body, fresh(step.what))
    if step.how is How.STRATEGIC:
        return strategic_merge_patch(body, fresh(step.what), kind.type)
    return merge_patch(body, fresh(step.what))


def settled(body: Body, live: Body | None, step: Step) -> Body:
    """What the rules of every kind restore: what a write by this way cannot change."""
    if live is None:
        return body
    kept = live.keys() - {"metadata", "status"} if step.part else {"status"} & live.keys()
    body = {name: value for name, value in body.items() if step.part or name != "status"}
    return {**body, **{name: live[name] for name in kept}}


# -- there -------------------------------------------------------------------------------------------------


async def done_there(client: Client, step: Step, path: str, live: Body | None) -> Outcome:
    """A PUT sends the whole object, changed as a merge patch would."""
    what = merge_patch(fresh(live), fresh(step.what)) if step.how is How.PUT else step.what
    params = {"fieldManager": step.manager} | ({"force": "true"} if step.force else {})
    verb = "PUT" if step.how is How.PUT else "PATCH"
    where = f"{path}/{step.part}" if step.part else path
    body = msgspec.json.encode(what)
    try:
        answer = await client.request(verb, where, params=params, body=body, content_type=MEDIA[step.how])
    except ApiError as error:
        return Refused(error.status, error.message)
    found: Body = msgspec.json.decode(answer)
    return found


async def created_there(client: Client, kind: Kind, path: str, body: Body) -> Body:
    """The object as soon as no controller is at work on it."""
    parent = path.rpartition("/")[0]
    await client.request("POST", parent, params={"fieldManager": "creator"}, body=msgspec.json.encode(body))

    async def is_quiet() -> Body | None:
        live: Body = msgspec.json.decode(await client.request("GET", path))
        return None if live["spec"].get("taints") else live

    if kind.name == "Node":
        return await until(is_quiet)
    found: Body = msgspec.json.decode(await client.request("GET", path))
    return found


async def until(attempt: Callable[[], Awaitable[Body | None]]) -> Body:
    async with asyncio.timeout(DEADLINE):
        while (found := await attempt()) is None:
            await asyncio.sleep(0.05)
        return found


# -- compared ----------------------------------------------------------------------------------------------


def comparable(outcome: Outcome, *, with_content: bool) -> Any:
    """Without what tells one write from another: versions, and when it was."""
    if isinstance(outcome, Refused):
        return outcome
    body: Body = fresh(outcome)
    metadata = body["metadata"]
    for name in ("resourceVersion", "generation"):
        metadata.pop(name, None)
    entries = metadata.pop("managedFields", [])
    owned = {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): {
            **entry,
            "time": "time" in entry,
        }
        for entry in entries
    }
    return owned, (body if with_content else None)


def check_creation(kind: Kind, sent: Body, live: Body) -> None:
    """All that is there was asked for or is a default, but for a few things, which nobody owns."""
    body = {name: value for name, value in fresh(live).items() if name != "status"}
    body["metadata"].pop("managedFields")
    for name in SET_LATER.get(kind.name, ()):
        body["spec"].pop(name, None)
        if name in sent["spec"]:
            body["spec"][name] = sent["spec"][name]
    if kind.name == "Job":
        del body["metadata"]["labels"], body["spec"]["template"]["metadata"]["labels"]
    record(None, body, kind, call("creator"))
    assert comparable(body, with_content=False) == comparable(live, with_content=False)


async def play(client: Client, sequence: Sequence) -> None:
    kind, live = sequence.kind, None
    path = object_path(kind, sequence.name)
    if sequence.start is not None:
        sent = {**sequence.start, "metadata": {**sequence.start["metadata"], "name": sequence.name}}
        live = await created_there(client, kind, path, sent)
        if kind.name != "Node":
            check_creation(kind, sent, live)
    for number, step in enumerate(sequence.steps, start=1):
        if step.how is How.APPLY and isinstance(step.what.get("metadata"), dict):
            step.what["metadata"]["name"] = sequence.name
        there = await done_there(client, step, path, live)
        here = done_here(step, kind, live)
        told = f"{sequence.title}, step {number}"
        whole = live is not None
        assert comparable(here, with_content=whole) == comparable(there, with_content=whole), told
        if isinstance(there, dict):
            check_wire(there, told)
            live = there


def check_wire(body: Body, told: str) -> None:
    """Entries and the steps of their fields are in the order in which this server would write them."""
    entries = body["metadata"].get("managedFields", [])
    holdings = decoded(entries)
    assert holdings is not None, told
    assert msgspec.json.encode(encoded(holdings)) == msgspec.json.encode(entries), told


def object_path(kind: Kind, name: str) -> str:
    group = f"/apis/{kind.group}" if kind.group else "/api"
    place = f"/namespaces/{NAMESPACE}" if kind.namespaced else ""
    return f"{group}/{kind.version}{place}/{kind.plural}/{name}"


@asynccontextmanager
async def playing(client: Client) -> AsyncIterator[None]:
    space = msgspec.json.encode({"metadata": {"name": NAMESPACE}})
    await client.request("POST", "/api/v1/namespaces", body=space)
    try:
        yield
    finally:
        everywhere = [each for each in SEQUENCES if not each.kind.namespaced]
        for path in [object_path(each.kind, each.name) for each in everywhere]:
            # It is not there if an earlier sequence went wrong.
            with suppress(ApiError):
                await client.request("DELETE", path)
        await client.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


def test_writes_give_what_a_real_server_makes_of_them(control_plane: ControlPlane) -> None:
    async def main() -> None:
        async with Client(control_plane.connection(ADMIN)) as client, playing(client):
            for sequence in SEQUENCES:
                await play(client, sequence)

    asyncio.run(main())
