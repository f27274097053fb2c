"""Questions about rights, which are answered and not kept: who am I, and may I?"""

from collections.abc import Callable

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.authorization import AUTHENTICATED, Authorizer
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.routing import Target
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.users import User

Authenticate = Callable[[str], User | None]
UNKNOWN_TOKEN = "invalid bearer token"
AUDIENCES = ["https://kubernetes.default.svc"]


class Reviews:
    def __init__(self, authenticate: Authenticate, authorizer: Authorizer) -> None:
        self._authenticate = authenticate
        self._authorizer = authorizer

    def answer(self, target: Target, body: Body, call: Call) -> Body:
        spec = body.get("spec", {})
        match target.kind.name:
            case "SelfSubjectReview":
                body["metadata"]["creationTimestamp"] = call.now
                status = {"userInfo": described(call.user)}
            case "TokenReview":
                status = self._authenticated(spec)
            case "SelfSubjectAccessReview":
                check(target.kind, attribute_errors(spec))
                status = self._verdict(call.user, spec)
            case _:
                check(target.kind, attribute_errors(spec) + subject_errors(spec))
                status = self._verdict(User(spec.get("user", ""), tuple(spec.get("groups", ()))), spec)
        return {**body, "status": status}

    def _authenticated(self, spec: Body) -> Body:
        if not spec.get("token"):
            raise refusals.bad_request("token is required for TokenReview in authentication")
        user = self._authenticate(spec["token"])
        if user is None:
            return {"user": {}, "error": UNKNOWN_TOKEN}
        return {"authenticated": True, "user": described(user), "audiences": AUDIENCES}

    def _verdict(self, user: User, spec: Body) -> Body:
        if "nonResourceAttributes" in spec:
            path: Body = spec["nonResourceAttributes"]
            why = self._authorizer.path_refusal(user, path.get("verb", ""), path.get("path", ""))
        else:
            resource: Body = spec["resourceAttributes"]
            part = resource.get("subresource")
            name = f"{resource.get('resource', '')}/{part}" if part else resource.get("resource", "")
            why = self._authorizer.refusal(
                user,
                resource.get("verb", ""),
                resource.get("group", ""),
                name,
                resource.get("namespace", ""),
                resource.get("name", ""),
            )
        return {"allowed": why is None}


def attribute_errors(spec: Body) -> list[FieldError]:
    path = spec.get("nonResourceAttributes")
    if ("resourceAttributes" in spec) != (path is not None):
        return []
    shown = None if path is None else {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
    why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    return [invalid("spec", shown, why)]


def subject_errors(spec: Body) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", "", "at least one of user or group must be specified")]


def check(kind: Kind, errors: list[FieldError]) -> None:
    if errors:
        # The real server does not name the kind here either.
        raise refusals.invalid(kind.group, "", "", errors)


def described(user: User) -> Body:
    return {"username": user.name, "uid": user.name, "groups": [*user.groups, AUTHENTICATED]}
