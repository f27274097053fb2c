"""What `maitred sandbox load` does with a file."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from maitred.model.manifest import InputError, Reader, documents
from maitred.model.policy import API_VERSION
from maitred.model.words import printable

if TYPE_CHECKING:
    from maitred.kube.client import Client


def is_story(data: bytes, source: str) -> bool:
    first = next(documents(data, source), None)
    return first is not None and first.kind == "Story" and first.api_version == API_VERSION


async def play(client: "Client", data: bytes, name: str, keep: bool) -> None:
    from maitred.cli.sandbox.asked_floor import watching_from_outside
    from maitred.sandbox.world.player import Player
    from maitred.sandbox.world.story import read_story

    story = read_story(data, name)
    began = time.monotonic()

    def say(line: str) -> None:
        click.echo(printable(f"{time.monotonic() - began:4.0f}s  {line}"))

    click.echo(story.title)
    async with watching_from_outside(client) as watcher:
        await Player(client, watcher, say).play(story, keep=keep)


def is_workload(data: bytes, source: str) -> bool:
    """Whether there is something in it that makes pods, and no cluster around it."""
    from maitred.model.owners import owner_kind

    given = list(documents(data, source))
    makers = any(owner_kind(one.api_version, one.kind) is not None for one in given)
    return makers and not any(one.kind == "Node" for one in given)


async def submit(client: "Client", data: bytes, source: str) -> None:
    from maitred.sandbox.world import operators
    from maitred.sandbox.world.objects import WorldObjects

    def say(line: str) -> None:
        click.echo(printable(line))

    await operators.submit(WorldObjects(client), list(documents(data, source)), say)


async def take_over(
    client: "Client", data: bytes, source: str, clear: bool, places: Mapping[str, str]
) -> None:
    """`places`: see `takeover.Surroundings`."""
    from maitred.sandbox.world import takeover
    from maitred.sandbox.world.loading import clear_floor, load
    from maitred.sandbox.world.objects import WorldObjects

    found = bodies(data, source)
    check_places(found, places)
    taken = takeover.take_over(found, places)
    if not any(body["kind"] == "Node" for body in taken.objects):
        raise InputError(source, "", "", "is neither a story nor a dump of a cluster: it has no Node in it")
    objects = WorldObjects(client)
    if clear:
        await clear_floor(objects, click.echo)
    await load(objects, taken, lambda line: click.echo(printable(line)))


def check_places(found: list[dict[str, Any]], places: Mapping[str, str]) -> None:
    labels = [body["metadata"].get("labels") or {} for body in found if body["kind"] == "Node"]
    for key in places.values():
        if not any(key in own for own in labels):
            raise InputError(key, "", "", "no node of the dump has this label")


def bodies(data: bytes, source: str) -> list[dict[str, Any]]:
    """Every object of a dump. Those that decisions read are checked, as `maitred decide` checks them."""
    reader, found = Reader(), []
    for document in documents(data, source):
        reader.take(document)
        body = {**document.plain(), "apiVersion": document.api_version, "kind": document.kind}
        metadata = body.get("metadata")
        if not (isinstance(metadata, dict) and isinstance(metadata.get("name"), str)):
            raise InputError(source, document.title, "metadata.name", "is required")
        found.append(body)
    return found
