"""Questions to the API server about others: whose token is this, and what may they do?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from maitred.kube.client import Client, decoder, encode
from maitred.kube.errors import KubeError
from maitred.kube.resources import Resource
from maitred.model.meta import Lean

T = TypeVar("T")

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
REVIEW_SECONDS = 5.0


class UserInfo(Lean, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class TokenStatus(Lean, frozen=True):
    authenticated: bool = False
    user: UserInfo = UserInfo()


class AccessStatus(Lean, frozen=True):
    allowed: bool = False


class ReviewedToken(Lean, frozen=True):
    status: TokenStatus = TokenStatus()


class ReviewedAccess(Lean, frozen=True):
    status: AccessStatus = AccessStatus()


@dataclass(frozen=True, slots=True)
class User:
    """Someone whom the API server knows, in all that authorizers look at."""

    name: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]


async def user_of(client: Client, token: str) -> User | None:
    """Whose token it is; None if the API server does not accept it."""
    found = await _asked(client, TOKEN_REVIEWS, {"token": token}, ReviewedToken)
    if not found.status.authenticated or not found.status.user.username:
        return None
    user = found.status.user
    return User(user.username, user.uid, user.groups, tuple(sorted(user.extra.items())))


async def may(
    client: Client, user: User, verb: str, resource: Resource, namespace: str = "", name: str = ""
) -> bool:
    """Whether they may do this in a namespace; without one, in all of them. With a name: to that object."""
    asked = {"verb": verb, "group": resource.group, "resource": resource.plural, "namespace": namespace}
    asked |= {"name": name} if name else {}
    spec = {
        "user": user.name,
        "uid": user.uid,
        "groups": user.groups,
        "extra": dict(user.extra),
        "resourceAttributes": asked,
    }
    return (await _asked(client, ACCESS_REVIEWS, spec, ReviewedAccess)).status.allowed


async def _asked(client: Client, review: Resource, spec: Mapping[str, object], into: type[T]) -> T:
    body = encode({"apiVersion": review.api_version, "kind": review.kind, "spec": spec})
    data = await client.request("POST", review.path(), body=body, seconds=REVIEW_SECONDS)
    try:
        return decoder(into).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KubeError(f"POST {review.path()}: the answer is not a {review.kind}: {error}") from None
