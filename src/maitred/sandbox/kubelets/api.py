"""The API as kubelets use it: patiently, since a server that is away comes back."""

import asyncio
from itertools import count

from maitred.kube.client import JSON, Client, decoder, encode, pause
from maitred.kube.errors import ApiError, Unreachable
from maitred.kube.resources import NODES
from maitred.sandbox.kubelets.bodies import Json
from maitred.sandbox.kubelets.objects import Node

AT_ONCE = 64


class KubeletApi:
    """All kubelets share it, so that thousands of them do not open thousands of connections."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def node(self, name: str) -> Node | None:
        answer = await self.send("GET", NODES.path(name=name), None)
        return None if answer is None else decoder(Node).decode(answer)

    async def send(self, verb: str, path: str, body: Json | None, content_type: str = JSON) -> bytes | None:
        """Until it is executed. None if there is no such object, or another one in its place.

        It may be executed twice when an answer is lost, so it must be a write for which that is the same.
        Raises ApiError if it is refused for good, as people can bring about by what they write themselves.
        """
        data = None if body is None else encode(body)
        for attempt in count():
            asked = None
            try:
                async with self._gate:
                    return await self._client.request(verb, path, body=data, content_type=content_type)
            except Unreachable:
                pass
            except ApiError as error:
                if error.is_gone or error.is_conflict:
                    return None
                if not error.is_passing:
                    raise
                asked = error.retry_after
            await asyncio.sleep(pause(attempt, asked))
        raise AssertionError("there is always another attempt")
