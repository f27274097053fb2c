"""Questions to the real API server, one at a time."""

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane

SECONDS = 30


class Real:
    def __init__(self, plane: ControlPlane) -> None:
        self._connection = plane.connection(ADMIN)
        self._headers = asyncio.run(self._connection.credentials.headers())

    def ask(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the body of the answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": "application/json"}
        request = Request(self._connection.server + path, data, headers, method=verb)
        try:
            with urlopen(request, timeout=SECONDS, context=self._connection.context) as answer:
                return answer.status, content(answer)
        except HTTPError as answer:
            with answer:
                return answer.code, content(answer)

    def protobuf(self, path: str) -> bytes:
        """An object, as typed clients ask for it."""
        headers = {**self._headers, "Accept": "application/vnd.kubernetes.protobuf"}
        request = Request(self._connection.server + path, headers=headers)
        with urlopen(request, timeout=SECONDS, context=self._connection.context) as answer:
            data: bytes = answer.read()
            return data


def content(answer: Any) -> Any:
    """A path that nobody serves is answered with a text."""
    data = answer.read()
    return json.loads(data) if answer.headers.get_content_type() == "application/json" else data.decode()
