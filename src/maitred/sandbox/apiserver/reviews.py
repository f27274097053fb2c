"""Questions about rights, which are answered and not kept: who am I, and may I?"""

from maitred.sandbox.apiserver.authorization import Authorizer
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.refusals import bad_request
from maitred.sandbox.apiserver.routing import Target
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.controlplane.users import User


class Reviews:
    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def answer(self, target: Target, body: Body, call: Call) -> Body:
        spec = body.get("spec") or {}
        match target.kind.name:
            case "SelfSubjectReview":
                status = {"userInfo": described(call.user)}
            case "SelfSubjectAccessReview":
                status = self._verdict(call.user, spec)
            case _:
                status = self._verdict(User(spec.get("user", ""), tuple(spec.get("groups") or ())), spec)
        meta = {"creationTimestamp": None, **(body.get("metadata") or {})}
        kind = {"kind": target.kind.name, "apiVersion": target.kind.api_version}
        return {**kind, "metadata": meta, "spec": spec, "status": status}

    def _verdict(self, user: User, spec: Body) -> Body:
        resource: Body = spec.get("resourceAttributes") or {}
        path: Body = spec.get("nonResourceAttributes") or {}
        if bool(resource) == bool(path):
            raise bad_request("exactly one of nonResourceAttributes or resourceAttributes must be specified")
        if path:
            why = self._authorizer.path_refusal(user, path.get("verb", ""), path.get("path", ""))
        else:
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


def described(user: User) -> Body:
    return {"username": user.name, "uid": user.name, "groups": [*user.groups, "system:authenticated"]}
