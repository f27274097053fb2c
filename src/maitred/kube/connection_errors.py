"""Why there was no answer, in words that say which setting to look at."""

import errno
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp

# Verdicts of OpenSSL about a certificate (x509_vfy.h).
_NOT_YET_VALID, _EXPIRED = 9, 10
_WRONG_NAME = (62, 64)
_UNKNOWN = (2, 18, 19, 20, 21, 27)


@dataclass(frozen=True, slots=True)
class Settings:
    """What to call the settings that a connection was made from: `server of cluster dev in kube.yaml`."""

    server: str = "the address of the server"
    authority: str = "the certificate authorities of this system"
    tls_server_name: str = "tls-server-name"
    proxy: str = "the proxy"
    user: str = "the credentials"


DEFAULT_SETTINGS = Settings()


def words(error: BaseException, server: str, settings: Settings) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return certificate_words(error.certificate_error, server, settings)
        case aiohttp.ClientSSLError():
            return (
                f"TLS failed ({tls_reason(error.os_error)}); check that {settings.server} is an HTTPS address"
            )
        case aiohttp.ClientConnectorDNSError():
            setting = settings.server if error.host == urlsplit(server).hostname else settings.proxy
            return f"the name {error.host!r} cannot be resolved; check {setting}, and DNS"
        case aiohttp.ClientProxyConnectionError():
            return f"the proxy {error.host}:{error.port}: {reason(error.os_error)}; check {settings.proxy}"
        case aiohttp.ClientHttpProxyError():
            said = f"{error.status} {error.message}"
            return f"the proxy refused the connection ({said}); check {settings.proxy}"
        case aiohttp.ConnectionTimeoutError():
            return f"no connection in time; check {settings.server} and the network between"
        case TimeoutError():
            return "no answer in time; is the API server overloaded?"
        case aiohttp.ClientConnectorError():
            return (
                f"{reason(error.os_error)}; check that the API server runs and that {settings.server} is "
                f"right"
            )
        case _:
            return f"the connection broke before the answer was complete: {reason(error)}"


def certificate_words(error: Exception, server: str, settings: Settings) -> str:
    code = getattr(error, "verify_code", 0)
    if code in _WRONG_NAME:
        name = getattr(error, "verify_message", "").rpartition("certificate is not valid for ")[2]
        return (
            f"the certificate of the server is not valid for {name.rstrip('.')}; "
            f"check {settings.server}, or set {settings.tls_server_name} to a name that it is valid for"
        )
    if code in _UNKNOWN:
        return f"the certificate of the server is signed by an unknown authority; check {settings.authority}"
    if code == _EXPIRED:
        return (
            "the certificate of the server or of its authority has expired; renew it, or correct the "
            "clock of this machine"
        )
    if code == _NOT_YET_VALID:
        return (
            "the certificate of the server is not valid yet; correct the clock of this machine or of the "
            "server"
        )
    return f"the certificate of the server is refused: {reason(error)}; check {settings.authority}"


def tls_reason(error: OSError) -> str:
    return str(getattr(error, "reason", None) or reason(error)).replace("_", " ").lower()


def reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno == errno.ECONNREFUSED:
        return "connection refused"
    if isinstance(error, ssl.SSLError):
        return tls_reason(error)
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__
