"""Asking a scheduler that runs in a cluster: through the API server, as the user that we are to it.

The API server lets through whoever may `get` or `create` services/proxy there, and takes the Authorization
header off before it does. The scheduler has to know who asks, so the token goes along in a header of its own.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from maitred.kube.client import Client
from maitred.kube.errors import ApiError, KubeError

TOKEN_HEADER = "X-Maitred-Token"
VERSION = "v1alpha1"
PORT = "answers"
SERVICE = "maitred"
ANSWER_SECONDS = 30.0
ATTEMPTS = 12
"""Of several schedulers one leads, and the API server picks one of them at random each time."""
PAUSE_SECONDS = 0.1


class Reason(StrEnum):
    """Why there is no answer, in one word that is no reason of the API server's own."""

    BAD_QUESTION = "BadQuestion"
    NO_TOKEN = "NoToken"
    TOKEN_REFUSED = "TokenRefused"
    NOT_YOURS = "NotYours"
    UNKNOWN_NAME = "UnknownName"
    NO_LEDGER = "NoLedger"
    NO_SUCH_PATH = "NoSuchPath"
    WRONG_METHOD = "WrongMethod"
    TOO_LARGE = "TooLarge"
    BUSY = "Busy"
    TOO_LONG = "TooLong"
    NOT_LEADING = "NotLeading"
    NO_REVIEW = "NoReview"
    FAILED = "Failed"


ABOUT_THE_QUESTION = (Reason.BAD_QUESTION, Reason.UNKNOWN_NAME, Reason.NO_LEDGER)
"""Reasons why another question would be answered."""


class NoScheduler(KubeError):
    """There is none to ask, or none that we may ask: `hint` says how to get there."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(f"{why}; {hint}" if hint else why)
        self.why = why


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where the Service is."""

    namespace: str
    name: str = SERVICE

    def path(self, path: str) -> str:
        where = f"/api/v1/namespaces/{self.namespace}/services/https:{self.name}:{PORT}/proxy"
        return f"{where}/{VERSION}/{quote(path)}"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


async def ask(
    client: Client, place: ServiceAddress, path: str, query: Mapping[str, str], body: bytes | None = None
) -> bytes:
    """Raises NoScheduler where there is none to ask, ApiError with a Reason for what it does not answer."""
    headers = {TOKEN_HEADER: await own_token(client)}
    for attempt in range(ATTEMPTS):
        try:
            return await client.request(
                "GET" if body is None else "POST",
                place.path(path),
                params=query,
                body=body,
                headers=headers,
                seconds=ANSWER_SECONDS,
            )
        except ApiError as error:
            if error.reason not in (Reason.NOT_LEADING, Reason.BUSY) or attempt == ATTEMPTS - 1:
                raise (missing(error, place) or error) from None
        await asyncio.sleep(PAUSE_SECONDS * attempt)
    raise AssertionError("the last attempt returns or raises")


async def own_token(client: Client) -> str:
    """What proves to the scheduler who we are."""
    headers = await client.connection.credentials.headers()
    if any(name.lower().startswith("impersonate-") for name in headers):
        raise NoScheduler(
            "the scheduler answers only for your own user, not for the user that you impersonate", ""
        )
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    if scheme != "Bearer":
        raise NoScheduler(
            f"{client.connection.settings.user} has no token, and the scheduler cannot check a "
            f"certificate or password",
            "use a token, such as that of a service account: kubectl create token ACCOUNT (docs/access.md)",
        )
    return token


def missing(error: ApiError, place: ServiceAddress) -> NoScheduler | None:
    """What the API server said in place of a scheduler, if that was it who spoke."""
    if error.reason in list(Reason):
        return None
    if error.status == 403:
        return NoScheduler(
            f"you may not send questions to the scheduler: {error.message}",
            "ask an administrator to bind you to the ClusterRole maitred-user (docs/access.md)",
        )
    if error.status == 404:
        return NoScheduler(
            f"there is no Service {place}", "install the scheduler with the output of `maitred manifest`"
        )
    if error.status == 503:
        return NoScheduler(f"no scheduler answers behind Service {place}: {error.message}", "")
    return None
