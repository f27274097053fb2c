"""What the API server would say to a new object, without a server: for manifests that nobody has sent yet.

It is the same path that a created object takes, but for admission, which looks at other objects, and for the
store, which stays empty.
"""

import copy
from dataclasses import dataclass

from maitred.sandbox.apiserver.admission import Admission
from maitred.sandbox.apiserver.authorization import Authorizer
from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.objects import Objects
from maitred.sandbox.apiserver.receiving import conformed
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Store
from maitred.sandbox.apiserver.users import User

KINDS = {(kind.api_version, kind.name): kind for kind in BUILTIN}
UNKNOWN = "unknown field "
NEVER = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Judgement:
    faults: tuple[tuple[str, str], ...] = ()
    """Fields, and what is wrong with each, in the words of the server; the field is empty where it is not
    one alone. With any of these the object is refused."""
    unknown: tuple[str, ...] = ()
    """Fields that the kind does not have, which the server drops or, as kubectl asks it to, refuses."""


class NoAdmission(Admission):
    def admit(self, kind: Kind, namespace: str, body: Body) -> None:
        """Nothing is there that it could look at."""


def judged(api_version: str, kind: str, body: Body, namespace: str) -> Judgement | None:
    """None for a kind that the sandbox does not serve."""
    known = KINDS.get((api_version, kind))
    if known is None:
        return None
    store, call = Store(), Call(User("nobody"), NEVER, "", is_dry=True)
    faults: list[tuple[str, str]] = []
    try:
        made = conformed(known, copy.deepcopy(body), call)
        Objects(store, NoAdmission(store, Authorizer(store))).create(known, namespace, made, call)
    except Refusal as refusal:
        causes = refusal.details.get("causes", ())
        faults = [(cause["field"], cause["message"]) for cause in causes] or [("", refusal.message)]
    said = (warning.removeprefix(UNKNOWN) for warning in call.warnings if warning.startswith(UNKNOWN))
    return Judgement(tuple(faults), tuple(field.strip('"') for field in said))
