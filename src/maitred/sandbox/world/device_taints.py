"""Devices of a sandbox that fail on purpose: rules that taint them, and that go again."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from maitred.kube.resources import resource_of
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.model.manifest import InputError
from maitred.sandbox.world.nodes import for_each
from maitred.sandbox.world.objects import Json, WorldObjects

SLICES = resource_of(ResourceSlice)
RULES = resource_of(DeviceTaintRule)
KEY = "sandbox.maitred.dev/unwell"


async def meant(objects: WorldObjects, targets: Iterable[str]) -> list[str]:
    """Devices as POOL/DEVICE; a pool alone means all of its devices. Raises InputError if one means none."""
    known = sorted(set(published(await objects.list(SLICES))))
    found = dict[str, None]()
    for target in targets:
        hits = [device for device in known if target in (device, device.rpartition("/")[0])]
        if not hits:
            raise InputError(target, "", "", f"matches no device{hint(target, known)}")
        found |= dict.fromkeys(hits)
    return list(found)


def published(slices: Sequence[Json]) -> Iterator[str]:
    for body in slices:
        spec = body["spec"]
        yield from (f"{spec['pool']['name']}/{device['name']}" for device in spec.get("devices", ()))


def hint(target: str, known: Sequence[str]) -> str:
    if not known:
        return "; there are no devices: start a world that has some (examples/worlds/devices.yaml)"
    near = get_close_matches(target, known, n=1) or [known[0]]
    return f"; a device is a pool and a name, such as {near[0]}"


async def taint(objects: WorldObjects, devices: Iterable[str], effect: str) -> None:
    await for_each(devices, lambda device: objects.apply(rule(device, effect)))


async def untaint(objects: WorldObjects, devices: Iterable[str]) -> int:
    """How many were tainted."""
    lifted = list[str]()

    async def lift(device: str) -> None:
        if await objects.delete(RULES.path(name=rule_name(device))):
            lifted.append(device)

    await for_each(devices, lift)
    return len(lifted)


def rule(device: str, effect: str) -> Json:
    pool, _, name = device.rpartition("/")
    return {
        "apiVersion": RULES.api_version,
        "kind": RULES.kind,
        "metadata": {"name": rule_name(device)},
        "spec": {"deviceSelector": {"pool": pool, "device": name}, "taint": {"key": KEY, "effect": effect}},
    }


def rule_name(device: str) -> str:
    return f"sandbox-{device.replace('/', '-')}"
