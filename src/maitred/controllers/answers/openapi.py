"""The OpenAPI document, from the same table that requests are routed by."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from maitred import __version__
from maitred.controllers.answers.refusals import RETRY_SECONDS, STATUSES, Refusal
from maitred.controllers.answers.route import Parameter, Route
from maitred.kube.answers import TOKEN_HEADER, VERSION, Reason

JSON = "application/json"
TOKEN = "token"
REFERENCE = "#/components/schemas/{name}"
ALWAYS = (
    Reason.BAD_QUESTION,
    Reason.NO_TOKEN,
    Reason.TOKEN_REFUSED,
    Reason.NOT_YOURS,
    Reason.UNKNOWN_NAME,
    Reason.NO_LEDGER,
    Reason.BUSY,
    Reason.FAILED,
    Reason.NOT_LEADING,
    Reason.NO_REVIEW,
    Reason.TOO_LONG,
)


def document(routes: Sequence[Route]) -> dict[str, Any]:
    types = dict.fromkeys((*(one for route in routes for one in (*route.answers, *body_of(route))), Refusal))
    schemas, components = msgspec.json.schema_components(tuple(types), ref_template=REFERENCE)
    named = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(f"/{VERSION}/{route.path}", {})[route.method.lower()] = operation(route, named)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "maitred answers",
            "version": __version__,
            "description": "Why a group waits, what would fit, and how much capacity there is.",
        },
        "security": [{TOKEN: []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                TOKEN: {
                    "type": "apiKey",
                    "in": "header",
                    "name": TOKEN_HEADER,
                    "description": "Your token for the API server; the API server checks it.",
                }
            },
        },
    }


def body_of(route: Route) -> tuple[type, ...]:
    return () if route.body is None else (route.body,)


def operation(route: Route, named: dict[type, Any]) -> dict[str, Any]:
    reasons = (*ALWAYS, Reason.TOO_LARGE) if route.body is not None else ALWAYS
    answers = [named[one] for one in route.answers]
    found: dict[str, Any] = {
        "operationId": "-".join((route.method.lower(), *named_parts(route.path))),
        "summary": route.words,
        "parameters": [parameter(one) for one in route.parameters],
        "responses": {
            "200": content("The answer.", answers[0] if len(answers) == 1 else {"anyOf": answers}),
            **refusals(reasons, named[Refusal]),
        },
    }
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": named[route.body]}}}
    return found


def named_parts(path: str) -> list[str]:
    return [part for part in path.split("/") if not part.startswith("{")]


def parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": one.place,
        "required": one.place == "path",
        "description": one.words,
        "schema": msgspec.json.schema(one.form),
    }


def refusals(reasons: Iterable[Reason], schema: Any) -> dict[str, Any]:
    by_status: dict[int, list[Reason]] = {}
    for reason in reasons:
        by_status.setdefault(STATUSES[reason], []).append(reason)
    return {str(status): refused(found, schema) for status, found in sorted(by_status.items())}


def refused(reasons: Sequence[Reason], schema: Any) -> dict[str, Any]:
    found = content(f"Reason {' or '.join(reasons)}.", schema)
    if any(reason in RETRY_SECONDS for reason in reasons):
        found["headers"] = {"Retry-After": {"schema": {"type": "string"}}}
    return found


def content(words: str, schema: Any) -> dict[str, Any]:
    return {"description": words, "content": {JSON: {"schema": schema}}}
