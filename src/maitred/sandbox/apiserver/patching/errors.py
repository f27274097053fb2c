"""How a patch is refused."""

from typing import Any

from maitred.sandbox.apiserver.refusals import Refusal


class PatchError(Refusal):
    """A patch that cannot be applied. It takes the HTTP status, the reason and the message."""


def malformed(message: str) -> PatchError:
    return PatchError(400, "BadRequest", message)


def rejected() -> PatchError:
    """The patch is well formed but does not fit the object. The real server does not say why."""
    return PatchError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def failed(message: str) -> PatchError:
    """What the real server takes for its own failure, though the patch is to blame."""
    return PatchError(500, "", message)


def json_name(value: Any) -> str:
    """What a JSON decoder in Go calls a value that it cannot use."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "number"
