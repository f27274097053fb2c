"""A server that stops leaves no connection behind, whatever state it is in."""

import asyncio
import gc
import socket
import ssl
import warnings
from collections.abc import Callable
from contextlib import closing

import pytest

from maitred.sandbox.apiserver.server import HOST, ApiServer
from maitred.sandbox.apiserver.users import ADMIN

PATIENCE = 10.0


def port_of(server: ApiServer) -> int:
    return int(server.url.rpartition(":")[2])


def says_nothing(server: ApiServer) -> socket.socket:
    return socket.create_connection((HOST, port_of(server)), PATIENCE)


def does_not_say_goodbye(server: ApiServer) -> socket.socket:
    """TLS is there, and nobody reads what the server sends, its goodbye among it."""
    context = ssl.create_default_context(cadata=server.authority.decode())
    return context.wrap_socket(says_nothing(server), server_hostname="localhost")


@pytest.mark.parametrize("connect", [says_nothing, does_not_say_goodbye])
def test_a_server_that_stops_leaves_no_connection_behind(
    connect: Callable[[ApiServer], socket.socket],
) -> None:
    async def story() -> socket.socket:
        async with ApiServer({"token": ADMIN}) as server:
            client = await asyncio.to_thread(connect, server)
            for _ in range(20):  # until the server has accepted it
                await asyncio.sleep(0)
            return client

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with closing(asyncio.run(story())) as client:
            gc.collect()
            assert client.recv(1) == b""
    assert [str(one.message) for one in caught if one.category is ResourceWarning] == []
