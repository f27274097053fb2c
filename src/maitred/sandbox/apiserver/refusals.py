"""How the server says no: an HTTP status with a `Status` body, in the words of the Kubernetes API."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError
from maitred.sandbox.apiserver.schema.types import Body


class Refusal(Exception):
    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Body | None = None,
        *,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self._is_detailed = details is not None
        """Also if there is nothing to tell: the real server then has empty details."""
        self.retry_after = retry_after
        if retry_after is not None:
            self.details["retryAfterSeconds"] = retry_after

    def body(self) -> Body:
        body: Body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details or self._is_detailed:
            body["details"] = self.details
        body["code"] = self.code
        return body


def about(group: str, kind: str, name: str) -> Body:
    """The `details` of a refusal that concerns one object."""
    known = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in known.items() if value}


def titled(group: str, kind: str) -> str:
    return f"{kind}.{group}" if group else kind


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def other_namespace() -> Refusal:
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"
    )


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, why: str) -> Refusal:
    subject = f'{titled(group, plural)} "{name}"' if name else titled(group, plural)
    return Refusal(403, "Forbidden", f"{subject} is forbidden: {why}", about(group, plural, name))


def not_found(group: str, plural: str, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{titled(group, plural)} "{name}" not found', about(group, plural, name))


def no_such_path() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource", {})


def nothing_runs(pod: str, part: str) -> Refusal:
    """In place of a kubelet, which would be asked for this."""
    return bad_request(
        f'pod "{pod}" has no containers to ask for {part}: in the sandbox nothing runs, its kubelets only '
        "report that pods are Running. `kubectl describe pod` and `maitred why` say how a pod is doing"
    )


def method_not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, {})


def not_acceptable(served: Sequence[str]) -> Refusal:
    known = ", ".join(served)
    message = f"406: Not Acceptable\n\nAvailable representations: {known}"
    return Refusal(406, "NotAcceptable", message, {})


def not_convertible(why: str) -> Refusal:
    return Refusal(406, "NotAcceptable", why)


def already_exists(group: str, plural: str, name: str, *, is_leaving: bool) -> Refusal:
    message = f'{titled(group, plural)} "{name}" already exists'
    if is_leaving:
        message = f"object is being deleted: {message}"
    return Refusal(409, "AlreadyExists", message, about(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {titled(group, plural)} "{name}": {why}'
    return Refusal(409, "Conflict", message, about(group, plural, name))


def failed_precondition(group: str, plural: str, name: str, what: str, wanted: str, found: str) -> Refusal:
    why = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
    return conflict(group, plural, name, why)


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def expired(message: str) -> Refusal:
    return Refusal(410, "Expired", message)


def too_large(limit: int) -> Refusal:
    return Refusal(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def unsupported_media(served: Sequence[str]) -> Refusal:
    known = ", ".join(served)
    return Refusal(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {known}",
    )


def unknown_patch() -> Refusal:
    return Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def rejected_patch() -> Refusal:
    """The patch is well formed but does not fit the object. The real server does not say why."""
    return Refusal(422, "Invalid", "the server rejected our request due to an error in our request", {})


def failed_patch(message: str) -> Refusal:
    """What the real server takes for its own failure, though the patch is to blame."""
    return Refusal(500, "", message)


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> Refusal:
    unique = dict[str, FieldError]()
    for error in errors:
        unique.setdefault(str(error), error)
    causes: list[Any] = [
        {"reason": error.reason, "message": error.message, "field": error.field} for error in unique.values()
    ]
    texts = list(unique)
    words = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {**about(group, kind, name), "causes": causes}
    return Refusal(422, "Invalid", f'{titled(group, kind)} "{name}" is invalid: {words}', details)


def too_many_requests() -> Refusal:
    return Refusal(429, "TooManyRequests", "Too many requests, please try again later.", retry_after=1)


def internal_error() -> Refusal:
    """For what should not happen; the log has the rest."""
    return Refusal(
        500,
        "InternalError",
        "Internal error occurred: see the log of the sandbox",
        {"causes": [{"message": HTTPStatus.INTERNAL_SERVER_ERROR.phrase}]},
    )
