"""HTTPS: whom we trust, and which certificate we show."""

import ssl
from collections.abc import Callable
from tempfile import NamedTemporaryFile


class RenewedContext:
    """A context for client certificates that are renewed.

    A connection keeps the certificate and the context that it was opened with, and serves only requests that
    have this context. So every certificate gets a new one.
    """

    def __init__(self, make: Callable[[], ssl.SSLContext]) -> None:
        self._make = make
        self.current = make()

    def show(self, certificate: bytes, key: bytes) -> None:
        context = self._make()
        show(context, certificate, key)
        self.current = context


def trusting(authorities: bytes | None) -> ssl.SSLContext:
    """Trusts these certificates, or those that the system trusts. Raises ValueError if there is none in it.

    `ssl.create_default_context` is stricter than Go from Python 3.13 on: it refuses the certificates of many
    clusters, which lack fields that nobody else asks for.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Whatever is listed is trusted, also where another authority signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if authorities is None:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError):
        raise ValueError("has no certificate in PEM form") from None
    return context


def trusting_anyone() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Show this certificate on every connection that is opened from now on. Raises ValueError if it is none.

    Only a file can be loaded. It is readable by nobody else, and is gone as soon as it was read.
    """
    try:
        with NamedTemporaryFile(prefix="maitred-") as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            # A key with a password would otherwise ask for it on the terminal.
            context.load_cert_chain(file.name, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ValueError("the certificate and the key do not belong together") from None
        raise ValueError("not a certificate and a key without password, both in PEM form") from None
    except OSError as error:
        raise ValueError(f"no temporary file could be written to load it from: {error}") from None
