"""A story: what happens on the floor, step by step, from one short file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import field

import maitred
from maitred.explain.floorplan import Outcome
from maitred.model.categories import Category
from maitred.model.manifest import InputError
from maitred.model.manifest.checks import name_problem
from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.settings import read_settings
from maitred.model.setting import Setting

MOST_STEPS = 1000
MOST_ROUNDS = 1000
LONGEST_NAME = 50
"""A Job adds to its name what tells its pods apart, and a label has 63 characters."""

_PACKAGE = Path(maitred.__file__).parent

Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class StoryGang(Setting, frozen=True):
    """A PodGroup and an Indexed Job whose pods are its members."""

    name: str
    workers: Count
    gpus: Annotated[int, msgspec.Meta(ge=0, le=64)] = 8
    """Of each worker."""
    cpu: str = "8"
    memory: str = "64Gi"
    seconds: Seconds | None = None
    """How long it runs; without it, until it is deleted."""
    start_seconds: Seconds | None = None
    quorum: Count | None = None
    """Without it: all workers."""
    basic: bool = False
    """Not a gang at all: every worker is seated when there is a place for it."""
    within: str = ""
    """The node label of which all members must have the same value."""
    priority_class_name: str = ""
    scheduler: str = "maitred"


class StoryWait(Setting, frozen=True):
    """For so many seconds; or until the group has this verdict, or so many members seated."""

    seconds: Seconds | None = None
    group: str = ""
    verdict: Outcome | None = field(default=None, name="is")
    because: Category | Literal[""] = ""
    """The first blocker."""
    placed: Count | None = None
    within: Seconds = 60.0


class StoryNodes(Setting, frozen=True):
    """Nodes: by targets as the command line takes them, or the racks in which a group is seated."""

    targets: tuple[str, ...] = ()
    racks_of: str = ""


class Step(Setting, frozen=True):
    """Some words, one thing to do, or both."""

    say: str = ""
    gangs: tuple[StoryGang, ...] = ()
    apply: tuple[dict[str, Any], ...] = ()
    wait: StoryWait | None = None
    fail: StoryNodes | None = None
    heal: StoryNodes | None = None
    drain: StoryNodes | None = None
    undrain: StoryNodes | None = None
    delete: tuple[str, ...] = ()
    """Names of what the story has made."""


ACTIONS = tuple(name for name in Step.__struct_fields__ if name != "say")


class Story(Setting, frozen=True):
    title: str
    steps: tuple[Step, ...]
    api_version: Literal["maitred.dev/v1alpha1"] = "maitred.dev/v1alpha1"
    kind: Literal["Story"] = "Story"
    about: str = ""
    rounds: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)] = 1
    """How often the steps are played, one after the other."""


def stories() -> dict[str, Path]:
    """The stories that come along, by name: in the package, or beside its sources in a checkout."""
    packaged = _PACKAGE / "examples" / "stories"
    folder = packaged if packaged.is_dir() else _PACKAGE.parents[1] / "examples" / "stories"
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def read_story(data: bytes, source: str) -> Story:
    """Raises InputError, which names the file and the field."""
    story, _ = read_settings(data, source, Story)
    try:
        check(story)
    except FieldError as problem:
        raise InputError(source, "", problem.field, problem.what) from None
    return story


def check(story: Story) -> None:
    if not 1 <= len(story.steps) <= MOST_STEPS:
        raise FieldError("steps", f"has {len(story.steps)} steps; a story has 1 to {MOST_STEPS}")
    known = set[str]()
    for position, step in enumerate(story.steps):
        check_step(f"steps[{position}]", step, known)


def check_step(where: str, step: Step, known: set[str]) -> None:
    """`known` has the names of what was made before."""
    actions = [name for name in ACTIONS if getattr(step, name)]
    if len(actions) > 1 or not (actions or step.say):
        raise FieldError(
            where, f"must have exactly one of {', '.join(ACTIONS)}, or say alone; it has {len(actions)}"
        )
    for position, gang in enumerate(step.gangs):
        if problem := name_problem(gang.name, LONGEST_NAME):
            raise FieldError(f"{where}.gangs[{position}].name", problem)
        known.add(gang.name)
    for position, body in enumerate(step.apply):
        check_object(f"{where}.apply[{position}]", body)
        known.add(body["metadata"]["name"])
    for what, name in named(step):
        if name not in known:
            raise FieldError(f"{where}.{what}", f"no earlier step created {name!r}")
    if step.wait is not None:
        check_wait(f"{where}.wait", step.wait)
    for what in ("fail", "drain"):
        places: StoryNodes | None = getattr(step, what)
        if places is not None and not (places.targets or places.racks_of):
            raise FieldError(f"{where}.{what}", "must say which nodes, with `targets` or `racksOf`")


def check_object(where: str, body: dict[str, Any]) -> None:
    for key in ("apiVersion", "kind"):
        if not isinstance(body.get(key), str):
            raise FieldError(f"{where}.{key}", "is required")
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise FieldError(f"{where}.metadata.name", "is required")


def named(step: Step) -> Iterator[tuple[str, str]]:
    """What a step says of others, and their names."""
    yield from (("delete", name) for name in step.delete)
    if step.wait is not None and step.wait.group:
        yield "wait.group", step.wait.group
    for what in ("fail", "heal", "drain", "undrain"):
        places: StoryNodes | None = getattr(step, what)
        if places is not None and places.racks_of:
            yield f"{what}.racksOf", places.racks_of


def check_wait(where: str, wait: StoryWait) -> None:
    if (wait.seconds is None) == (not wait.group):
        raise FieldError(where, "must have exactly one of seconds and group")
    if wait.group and wait.verdict is None and wait.placed is None:
        raise FieldError(where, "must say what to wait for, with `is` or `placed`")
