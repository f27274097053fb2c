"""Definitions of custom kinds, and their objects, as clients meet them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.sandbox.apiserver.session import Session, session

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.dev/v1/namespaces/default/things"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def with_session(test: Callable[[Session], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), session() as here:
            await test(here)

    asyncio.run(run())


def definition(schema: Any, **subresources: Any) -> Any:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, **subresources},
    }
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.dev"}, "spec": spec}


def thing(**fields: Any) -> Any:
    return {"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": "a"}, **fields}


def of_spec(**properties: Any) -> Any:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def test_no_pattern_takes_for_ever() -> None:
    async def test(here: Session) -> None:
        await here.make(DEFINITIONS, definition(of_spec(a={"type": "string", "pattern": "^(a+)+$"})))
        status, answer = await here.ask("POST", THINGS, thing(spec={"a": "a" * 40 + "!"}))
        assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec.a")

    with_session(test)


def test_a_pattern_that_is_none_is_refused_with_its_definition() -> None:
    async def test(here: Session) -> None:
        status, _ = await here.ask(
            "POST", DEFINITIONS, definition(of_spec(a={"type": "string", "pattern": "("}))
        )
        assert status == 422

    with_session(test)


def test_a_schema_need_not_speak_of_the_status() -> None:
    async def test(here: Session) -> None:
        await here.make(DEFINITIONS, definition(OPEN))
        made = await here.make(THINGS, thing(spec={"a": 1}, status={"b": 1}))
        assert "status" not in made
        status, answer = await here.ask("PUT", f"{THINGS}/a/status", {**made, "status": {"c": 1}})
        assert (status, answer["status"]) == (200, {"c": 1})

    with_session(test)


def test_an_object_says_what_it_is() -> None:
    async def test(here: Session) -> None:
        await here.make(DEFINITIONS, definition(OPEN))
        for missing in ("kind", "apiVersion"):
            status, answer = await here.ask("POST", THINGS, {**thing(), missing: ""})
            assert (status, answer["reason"]) == (400, "BadRequest")

    with_session(test)


def test_a_definition_is_accepted_once_it_is_stored() -> None:
    async def test(here: Session) -> None:
        _, tried = await here.ask("POST", DEFINITIONS, definition(OPEN), params={"dryRun": "All"})
        made = await here.make(DEFINITIONS, definition(OPEN))
        assert tried["status"] == made["status"]
        assert made["status"]["conditions"] is None
        version = str(int(made["metadata"]["resourceVersion"]) - 1)
        async with here.watch(DEFINITIONS, resourceVersion=version) as watch:
            events = [await watch.next() for _ in range(2)]
        assert [event for event, _ in events] == ["ADDED", "MODIFIED"]
        [_, (_, last)] = events
        assert [each["type"] for each in last["status"]["conditions"]] == ["NamesAccepted", "Established"]
        assert last["status"]["acceptedNames"]["plural"] == "things"
        assert [each["manager"] for each in last["metadata"]["managedFields"]][1:] == ["kube-apiserver"]

    with_session(test)


def test_rules_that_are_not_read_are_told() -> None:
    async def test(here: Session) -> None:
        ruled = {**OPEN, "x-kubernetes-validations": [{"rule": "self.a > 1"}]}
        url, headers = here.server.url + DEFINITIONS, {"Authorization": "Bearer let-me-in"}
        async with here.http.post(url, json=definition(ruled), headers=headers) as answer:
            assert answer.status == 201
            assert "CEL is not read here" in answer.headers["Warning"]

    with_session(test)
