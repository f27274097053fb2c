"""Who asks, and how: what of a request matters to whoever carries it out."""

from dataclasses import dataclass, field

from multidict import MultiMapping

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from maitred.sandbox.apiserver.users import User

VALIDATIONS = ("", "Ignore", "Strict", "Warn")
OPTIONS = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}
LONGEST_MANAGER = 128
Params = MultiMapping[str]


@dataclass(slots=True)
class Call:
    user: User
    now: str
    """As objects have it: whole seconds, UTC."""
    manager: str
    """Who owns the fields that this call sets."""
    is_dry: bool = False
    """Do all but store it."""
    validation: str = "Warn"
    force: bool = False
    warnings: list[str] = field(default_factory=list)
    verb: str = ""


def call_of(user: User, params: Params, agent: str, now: str, verb: str, *, is_apply: bool) -> Call:
    errors = option_errors(params, is_forcible=is_apply or verb != "patch")
    if is_apply and not params.get("fieldManager"):
        errors.insert(0, required("fieldManager", "is required for apply patch"))
    if errors:
        raise refusals.invalid("meta.k8s.io", OPTIONS[verb], "", errors)
    return Call(
        user,
        now,
        manager_of(params, agent),
        bool(params.getall("dryRun", [])),
        params.get("fieldValidation") or "Warn",
        truth(params.get("force", "")),
        verb=verb,
    )


def manager_of(params: Params, agent: str) -> str:
    """The one that is named, or the program that the user agent names first."""
    if params.get("fieldManager"):
        return params["fieldManager"]
    program = "".join(filter(str.isprintable, legible(agent).split("/")[0].strip()))
    return program.encode()[:LONGEST_MANAGER].decode(errors="ignore") or "unknown"


def legible(header: str) -> str:
    """Headers can be any bytes; those that are no text come as halves of characters, which cannot be sent."""
    return header.encode(errors="surrogateescape").decode(errors="replace")


def option_errors(params: Params, *, is_forcible: bool) -> list[FieldError]:
    errors = list[FieldError]()
    if truth(params.get("force", "")) and not is_forcible:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    manager = params.get("fieldManager", "")
    if len(manager.encode()) > LONGEST_MANAGER:
        errors.append(too_long("fieldManager", LONGEST_MANAGER))
    if not manager.isprintable():
        errors.append(invalid("fieldManager", manager, "should only contain printable characters"))
    dry = params.getall("dryRun", [])
    if dry and set(dry) != {"All"}:
        errors.append(unsupported("dryRun", dry, ("All",)))
    validation = params.get("fieldValidation", "")
    if validation not in VALIDATIONS:
        errors.append(unsupported("fieldValidation", validation, VALIDATIONS))
    return errors


def truth(text: str) -> bool:
    """As the real server reads a query: anything but a plain no is a yes."""
    return text.lower() not in ("", "0", "false")
