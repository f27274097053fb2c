"""Who asks, and how: what of a request matters to whoever carries it out."""

from dataclasses import dataclass, field

from multidict import MultiMapping

from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.controlplane.users import User

VALIDATIONS = ("Ignore", "Warn", "Strict")
LONGEST_MANAGER = 128
Params = MultiMapping[str]


@dataclass(slots=True)
class Call:
    user: User
    now: str
    """As objects have it: whole seconds, UTC."""
    manager: str
    """Who owns the fields that this call sets."""
    is_named: bool = True
    """Whether it has given the name itself."""
    is_dry: bool = False
    """Do all but store it."""
    validation: str = "Warn"
    force: bool = False
    warnings: list[str] = field(default_factory=list)


def call_of(user: User, params: Params, agent: str, now: str) -> Call:
    return Call(
        user,
        now,
        manager_of(params, agent),
        bool(params.get("fieldManager")),
        is_dry(params.getall("dryRun", [])),
        validation_of(params.get("fieldValidation", "")),
        truth(params.get("force", "")),
    )


def manager_of(params: Params, agent: str) -> str:
    """The one that is named, or the program that the user agent names first."""
    given = params.get("fieldManager", "")
    if len(given) > LONGEST_MANAGER or not given.isprintable():
        raise invalid_option("fieldManager", given, "must be printable and at most 128 bytes")
    return given or agent.split("/")[0].strip() or "unknown"


def is_dry(values: list[str]) -> bool:
    for value in values:
        if value != "All":
            raise invalid_option("dryRun", value, 'supported values: "All"')
    return bool(values)


def validation_of(value: str) -> str:
    if value and value not in VALIDATIONS:
        known = ", ".join(f'"{name}"' for name in sorted(VALIDATIONS))
        raise invalid_option("fieldValidation", value, f"supported values: {known}")
    return value or "Warn"


def invalid_option(name: str, value: str, why: str) -> Refusal:
    return bad_request(f'invalid {name} "{value}": {why}')


def truth(text: str) -> bool:
    """As the real server reads a query: anything but a plain no is a yes."""
    return text.lower() not in ("", "0", "false")
