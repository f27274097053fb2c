"""Plays stories: does what they say, and tells it line by line as it happens."""

import asyncio
from collections.abc import Callable

from maitred.explain.floorplan import ClusterFloor, FloorRow
from maitred.explain.floorplan_tables import where
from maitred.kube.client import Client
from maitred.kube.errors import KubeError
from maitred.model.words import counted
from maitred.sandbox.world import nodes
from maitred.sandbox.world.drain import drain
from maitred.sandbox.world.gangs import gang_objects
from maitred.sandbox.world.objects import Json, WorldObjects
from maitred.sandbox.world.story import Step, Story, StoryGang, StoryNodes, StoryWait
from maitred.sandbox.world.targets import chosen, name_of
from maitred.sandbox.world.watcher import WorldWatcher

GONE_SECONDS = 30.0
DRAIN_SECONDS = 120.0
PAUSE_SECONDS = 0.1
NAMESPACE = "default"

Say = Callable[[str], None]


class Player:
    def __init__(self, client: Client, watcher: WorldWatcher, say: Say) -> None:
        self._objects = WorldObjects(client)
        self._watcher = watcher
        self._say = say
        self._made: dict[str, Json] = {}
        """What the story has made and not yet deleted, by its path."""
        self._broken: dict[str, Json] = {}
        """Nodes that the story has failed or closed, by name."""

    async def play(self, story: Story, *, keep: bool = False) -> None:
        """All of it. What it has made is gone afterwards, and what it has broken is whole, unless kept."""
        await self._begin(story)
        try:
            for _ in range(story.rounds):
                for number, step in enumerate(story.steps, 1):
                    await self._play(step, number)
        finally:
            made = {f"{NAMESPACE}/{name_of(body)}" for body in self._made.values()}
            if not keep:
                await self._tidy()
        if not keep:
            await self._left(made)

    async def _begin(self, story: Story) -> None:
        """What is left of an earlier evening is cleared away; who else is here is said."""
        written = [body for step in story.steps for body in bodies_of(step)]
        left = [
            path
            for path in [await self._objects.path(body) for body in written]
            if await self._objects.delete(path)
        ]
        for path in left:
            await self._gone(path)
        others = [row for row in self._watcher.floor().groups if row.verdict != "Finished"]
        others = [
            row for row in others if row.group not in {f"{NAMESPACE}/{name_of(body)}" for body in written}
        ]
        if others:
            self._say(
                f"note: the sandbox has {counted(len(others), 'other group')}; the story may go differently"
            )

    async def _play(self, step: Step, number: int) -> None:
        if step.say:
            self._say(step.say)
        for gang in step.gangs:
            self._say(f"-> {gang_words(gang)}")
        for body in bodies_of(step):
            await self._apply(body)
        if step.wait is not None:
            await self._wait(step.wait, number)
        for change in (self._fail, self._heal, self._drain, self._undrain):
            await change(step)
        if step.delete:
            await self._delete(step.delete)

    # -- objects -------------------------------------------------------------------------------------------

    async def _apply(self, body: Json) -> None:
        self._made[await self._objects.path(body)] = body
        await self._objects.apply(body)

    async def _delete(self, names: tuple[str, ...]) -> None:
        paths = [path for path, body in self._made.items() if name_of(body) in names]
        for path in paths:
            await self._objects.delete(path)
        for path in paths:
            await self._gone(path)
            del self._made[path]
        self._say(f"-> {', '.join(names)} deleted")

    async def _gone(self, path: str) -> None:
        try:
            async with asyncio.timeout(GONE_SECONDS):
                while await self._objects.find(path) is not None:
                    await asyncio.sleep(PAUSE_SECONDS)
        except TimeoutError:
            hint = "pods on lost nodes stay until `maitred sandbox heal` brings the nodes back"
            raise KubeError(
                f"{path} was deleted and still exists after {GONE_SECONDS:.0f} s; {hint}"
            ) from None

    async def _tidy(self) -> None:
        if self._broken:
            broken = list(self._broken.values())
            await nodes.heal(self._objects, broken)
            await nodes.close(self._objects, broken, False)
            self._broken.clear()
        for path in list(self._made):
            await self._objects.delete(path)
            del self._made[path]

    async def _left(self, groups: set[str]) -> None:
        """Until no pod of these groups is on the floor, so that the next story finds it empty."""
        try:
            async with asyncio.timeout(GONE_SECONDS):
                await self._watcher.until(lambda floor: groups.isdisjoint(row.group for row in floor.groups))
        except TimeoutError:
            self._say("note: not all pods of the story are gone yet")

    # -- waiting -------------------------------------------------------------------------------------------

    async def _wait(self, wait: StoryWait, number: int) -> None:
        if wait.seconds is not None:
            await asyncio.sleep(wait.seconds)
            return
        group = f"{NAMESPACE}/{wait.group}"
        try:
            async with asyncio.timeout(wait.within):
                await self._watcher.until(lambda floor: comes_true(wait, floor.row(group)))
        except TimeoutError:
            now = row_words(self._watcher.floor().row(group), wait.group)
            wanted = wait.verdict or f"{wait.placed} placed"
            wanted += f" ({wait.because})" if wait.because else ""
            raise KubeError(
                f"step {number}: {now} after {wait.within:.0f} s, but should be {wanted}"
            ) from None
        self._say(f"   {row_words(self._watcher.floor().row(group), wait.group)}")

    # -- nodes ---------------------------------------------------------------------------------------------

    async def _fail(self, step: Step) -> None:
        if step.fail is not None:
            lost = await self._nodes(step.fail)
            self._broken |= {name_of(node): node for node in lost}
            await nodes.fail(self._objects, lost)
            self._say(f"-> {counted(len(lost), 'node')} lost: {span(lost)}")

    async def _heal(self, step: Step) -> None:
        if step.heal is not None:
            found = await self._nodes(step.heal)
            await nodes.heal(self._objects, found)
            self._say(f"-> {counted(len(found), 'node')} back: {span(found)}")

    async def _drain(self, step: Step) -> None:
        if step.drain is not None:
            drained = await self._nodes(step.drain)
            self._broken |= {name_of(node): node for node in drained}
            await drain(self._objects, drained, lambda _: None, force=True, seconds=DRAIN_SECONDS)
            self._say(f"-> {counted(len(drained), 'node')} drained: {span(drained)}")

    async def _undrain(self, step: Step) -> None:
        if step.undrain is not None:
            opened = await self._nodes(step.undrain)
            await nodes.close(self._objects, opened, False)
            self._say(f"-> {counted(len(opened), 'node')} uncordoned: {span(opened)}")

    async def _nodes(self, place: StoryNodes) -> list[Json]:
        """Without any word on it, all that the story has broken."""
        if not place.targets and not place.racks_of:
            return list(self._broken.values())
        targets = list(place.targets)
        if place.racks_of:
            targets += seats(self._watcher.floor(), f"{NAMESPACE}/{place.racks_of}")
        return chosen(targets, await nodes.simulated(self._objects))


def bodies_of(step: Step) -> list[Json]:
    return [*(body for gang in step.gangs for body in gang_objects(gang)), *step.apply]


def comes_true(wait: StoryWait, row: FloorRow | None) -> bool:
    if row is None:
        return False
    told = row.why.startswith(wait.because)
    return wait.verdict in (None, row.verdict) and row.placed >= (wait.placed or 0) and told


def seats(floor: ClusterFloor, group: str) -> list[str]:
    """The racks of a group as targets."""
    row = floor.row(group)
    if row is None or not row.where:
        raise KubeError(f"{group} is not placed on any node, so it has no racks")
    return [f"rack={place}" for place in row.where]


def gang_words(gang: StoryGang) -> str:
    kind = "pods" if gang.basic else "gang"
    each = f" with {counted(gang.gpus, 'GPU')} each" if gang.gpus else ""
    place = f", within one {gang.within.rpartition('/')[2]}" if gang.within else ""
    return f"{kind} {gang.name}: {counted(gang.workers, 'worker')}{each}{place}"


def row_words(row: FloorRow | None, name: str) -> str:
    if row is None:
        return f"{name} does not exist"
    if row.verdict == "Finished":
        return f"{name} is Finished"
    place = f" in {where(row)}" if row.where else ""
    told = f"{name} is {row.verdict}, {row.placed} of {row.members} placed{place}"
    return f"{told}: {row.why}" if row.why else told


def span(found: list[Json]) -> str:
    names = [name_of(node) for node in found]
    return " to ".join(dict.fromkeys((*names[:1], *names[-1:])))
