"""The health of one node or group, by its name."""

from msgspec.structs import replace

from maitred.explain.health.answer import FleetHealth
from maitred.explain.health.survey import node_names
from maitred.explain.situation import Situation
from maitred.explain.why.names import Names
from maitred.model.manifest.errors import InputError


def about(health: FleetHealth, situation: Situation, name: str, home: str) -> FleetHealth:
    """A name without a slash is that of a node, if there is one; else of a group in the namespace `home`.
    Raises InputError for an unknown name."""
    if name in node_names(situation) or any(one.node == name for one in health.unwell):
        unwell = tuple(one for one in health.unwell if one.node == name)
        hurt = tuple(one for one in health.hurt if any(name == signal.node for signal in one.signals))
        return replace(health, about=f"node {name}", unwell=unwell, hurt=hurt, elsewhere=0, **NOTHING_ELSE)
    key = group_named(health, situation, name, home)
    hurt = tuple(one for one in health.hurt if one.group == key)
    unwell = tuple(one for one in health.unwell if key in one.groups)
    return replace(health, about=f"group {key}", unwell=unwell, hurt=hurt, elsewhere=0, **NOTHING_ELSE)


NOTHING_ELSE: dict[str, tuple[()]] = {"lemons": (), "unknown": (), "ignored": ()}
"""What is said of all, and not of the one that was asked about."""


def group_named(health: FleetHealth, situation: Situation, name: str, home: str) -> str:
    """A group of which only failed pods are left is known by its health alone."""
    key = name if "/" in name else f"{home}/{name}"
    if any(one.group == key for one in health.hurt):
        return key
    try:
        return Names(situation.snapshot).meant(name, home, None).key
    except InputError as error:
        if "/" in name:
            raise
        raise InputError("", "", "", f"there is no node {name}, and {error}") from None
