"""Requests whose bodies are protobuf, to a server that runs."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from maitred.sandbox.apiserver.receiving import parse
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body, Struct
from maitred.sandbox.apiserver.users import ADMIN
from tests.sandbox.apiserver.running import RunningServer, running_server
from tests.sandbox.apiserver.schema.messages import enveloped, number, sized

PROTOBUF = "application/vnd.kubernetes.protobuf"
PODS = "/api/v1/namespaces/default/pods"
POD = {
    "metadata": {"name": "one"},
    "spec": {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]},
}
NAMED = sized(1, sized(1, b"one") + sized(5, b"") + sized(6, b""))
"""As Go writes it: the name, and no uid and no version in so many words."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path) as running:
        yield running


def ask(server: RunningServer, verb: str, path: str, body: bytes | Body | None = None) -> tuple[int, Any]:
    content: dict[str, Any] = {"json": body}
    if isinstance(body, bytes):
        content = {"data": body, "headers": {"Content-Type": PROTOBUF}}

    async def run() -> tuple[int, Any]:
        connection = server.connection(ADMIN)
        assert connection.context is not None
        headers = {**await connection.credentials.headers(), **content.pop("headers", {})}
        asked = {"headers": headers, "ssl": connection.context, **content}
        async with (
            aiohttp.ClientSession() as session,
            session.request(verb, server.url + path, **asked) as answer,
        ):
            return answer.status, await answer.json()

    return asyncio.run(run())


def test_a_pod_is_created_bound_and_deleted(server: RunningServer) -> None:
    container = sized(2, sized(1, b"c") + sized(2, b"i"))
    spec = sized(2, container + number(21, 0))
    code, pod = ask(server, "POST", PODS, enveloped(NAMED + spec, b"Pod"))
    assert code == 201, pod
    assert pod["spec"]["containers"][0]["name"] == "c"
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["metadata"]["uid"]

    target = sized(2, sized(1, b"Node") + sized(3, b"n"))
    code, answer = ask(server, "POST", f"{PODS}/one/binding", enveloped(NAMED + target, b"Binding"))
    assert code == 201, answer

    options = enveloped(number(1, 0) + sized(2, sized(1, b"another")), b"DeleteOptions")
    assert ask(server, "DELETE", f"{PODS}/one", options)[0] == 409
    options = enveloped(number(1, 0) + sized(2, sized(1, pod["metadata"]["uid"].encode())), b"DeleteOptions")
    assert ask(server, "DELETE", f"{PODS}/one", options)[0] == 200
    assert ask(server, "GET", f"{PODS}/one")[0] == 404


def test_a_pod_is_evicted(server: RunningServer) -> None:
    assert ask(server, "POST", PODS, POD)[0] == 201
    wish = sized(2, number(1, 0))
    eviction = enveloped(NAMED + wish, b"Eviction", b"policy/v1")
    assert ask(server, "POST", f"{PODS}/one/eviction", eviction)[0] == 201
    assert ask(server, "GET", f"{PODS}/one")[0] == 404


def test_questions_about_rights(server: RunningServer) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    wanted = sized(2, b"list") + sized(5, b"pods")

    def review(spec: bytes) -> bytes:
        return enveloped(
            sized(1, b"") + sized(2, spec), b"SelfSubjectAccessReview", b"authorization.k8s.io/v1"
        )

    code, answer = ask(server, "POST", path, review(sized(1, wanted)))
    assert (code, answer["status"]) == (201, {"allowed": True})
    assert answer["spec"] == {"resourceAttributes": {"verb": "list", "resource": "pods"}}
    assert ask(server, "POST", path, review(b""))[0] == 422
    assert ask(server, "POST", path, review(sized(1, wanted) + sized(2, b"")))[0] == 422


def test_what_cannot_be_read_is_a_bad_request(server: RunningServer) -> None:
    for path in (PODS, f"{PODS}/one/binding"):
        code, answer = ask(server, "POST", path, b"not protobuf")
        assert (code, answer["reason"]) == (400, "BadRequest")
    assert ask(server, "POST", PODS, POD)[0] == 201
    assert ask(server, "DELETE", f"{PODS}/one", b"k8s\0\xff")[0] == 400


def test_custom_resources_have_no_protobuf() -> None:
    with pytest.raises(Refusal, match=r"accepted media types include: application/json$"):
        parse(enveloped(b""), PROTOBUF, Struct("example.v1.Thing", custom=True))
    with pytest.raises(Refusal, match=r"application/json, application/vnd.kubernetes.protobuf$"):
        parse(b"", "application/xml", Struct("core.v1.Thing"))
