"""Headers that prove who we are: fixed ones, and a token in a file that somebody renews."""

import base64
import logging
import time
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from multidict import CIMultiDict

from maitred.kube import files
from maitred.kube.errors import NoCredentials

TOKEN_SECONDS = 60.0
"""A token file is read again after this time. The kubelet renews a token long before it expires."""

_log = logging.getLogger(__name__)


class Fixed:
    """The same headers for ever."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    def invalidate(self) -> None:
        """There are no others."""


class TokenFile:
    """A token that is renewed in its file. `others` are headers to send along."""

    def __init__(self, path: str, others: Mapping[str, str]) -> None:
        self._path = path
        self._others = others
        self._headers: Mapping[str, str] | None = None
        self._read_again_at = 0.0

    async def headers(self) -> Mapping[str, str]:
        if self._headers is None or time.monotonic() >= self._read_again_at:
            self._headers = self._read()
            self._read_again_at = time.monotonic() + TOKEN_SECONDS
        return self._headers

    def invalidate(self) -> None:
        self._read_again_at = 0.0

    def _read(self) -> Mapping[str, str]:
        try:
            return with_token(self._others, token_of(files.content(self._path)))
        except (OSError, ValueError) as error:
            what = files.why(error) if isinstance(error, OSError) else error
            if self._headers is None:
                raise NoCredentials(
                    f"{self._path}: {what}; without this token no request can be sent"
                ) from None
            # The token that we have may be good for a while yet.
            _log.warning("%s: %s; the previous token stays in use", self._path, what)
            return self._headers


def token_of(data: bytes) -> str:
    """Raises ValueError for what cannot be sent as a token, without saying what it is."""
    token = data.strip().decode(errors="replace")
    if not token:
        raise ValueError("has no token in it")
    if not (token.isascii() and token.isprintable()):
        raise ValueError("is not a token: it has characters that an HTTP header cannot have")
    return token


def with_token(others: Mapping[str, str], token: str) -> Mapping[str, str]:
    headers = CIMultiDict(others)
    headers["Authorization"] = f"Bearer {token}"
    return headers


def with_password(others: Mapping[str, str], username: str, password: str) -> Mapping[str, str]:
    headers = CIMultiDict(others)
    headers["Authorization"] = f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"
    return headers


def impersonation(
    user: str, uid: str, groups: Iterable[str], extra: Mapping[str, Iterable[str]]
) -> Mapping[str, str]:
    """Headers that ask the server to treat us as somebody else. Some occur more than once."""
    headers = CIMultiDict[str]()
    if user:
        headers["Impersonate-User"] = user
    if uid:
        headers["Impersonate-Uid"] = uid
    for group in groups:
        headers.add("Impersonate-Group", group)
    for key, values in extra.items():
        for value in values:
            headers.add(f"Impersonate-Extra-{quote(key.lower(), safe='')}", value)
    return headers
