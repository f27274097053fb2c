"""Where the API server is and who we are to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from ssl import SSLContext
from typing import Protocol

from maitred.kube.connection_errors import DEFAULT_SETTINGS, Settings, words
from maitred.kube.tls import RenewedContext


class Credentials(Protocol):
    """What proves who we are, beyond a client certificate."""

    async def headers(self) -> Mapping[str, str]:
        """Headers for the next request; renewed first where that is due. Raises NoCredentials."""

    def invalidate(self) -> None:
        """The server did not accept them: get new ones before the next request."""


@dataclass(frozen=True, slots=True)
class Connection:
    server: str
    credentials: Credentials
    ssl: SSLContext | RenewedContext | None = None
    """None for plain HTTP only; HTTPS is always verified unless a kubeconfig says otherwise."""
    tls_server_name: str | None = None
    """The name that the certificate of the server has, where it is not the host of `server`."""
    proxy: str | None = None
    namespace: str = "default"
    origin: str = ""
    """Where this comes from, for messages: `context kind-dev of ~/.kube/config`."""
    in_cluster: bool = False
    """We run in the cluster that we speak to, as one of its service accounts."""
    settings: Settings = DEFAULT_SETTINGS

    @property
    def context(self) -> SSLContext | None:
        """What the next request is made with."""
        return self.ssl.current if isinstance(self.ssl, RenewedContext) else self.ssl

    def no_answer(self, verb: str, path: str, error: BaseException) -> str:
        return f"{verb} {self.server}{path}: {words(error, self.server, self.settings)}"

    def refusal_hint(self, status: int, message: str) -> str:
        """What to do about a request that was refused because of how we are connected."""
        if status == 400 and "HTTP request to an HTTPS server" in message:
            return f"{self.settings.server} should start with https://"
        if status == 401:
            return f"{self.settings.user} may have expired; log in again or renew the credentials"
        if status == 403 and "system:anonymous" in message:
            return f"the request had no credentials; check {self.settings.user}"
        if status == 403:
            return "grant the user this permission (docs/install.md lists what maitred needs)"
        return ""
