"""The devices of a world as drivers publish them: slices of pools, and a class for each sort of device.

Each node has one pool for each driver, and so has each rack or block with devices of its own. A slice of a
node's pool belongs to its Node, and goes with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_DNS, uuid5

from maitred.kube.resources import NODES, resource_of
from maitred.model.devices.slices import ResourceSlice
from maitred.model.world import Levels, NodePlace, World, places
from maitred.model.world_devices import Attribute, Partition, WorldDevice
from maitred.sandbox.world.nodes import for_each
from maitred.sandbox.world.objects import Json, WorldObjects

SLICES = resource_of(ResourceSlice)
API_VERSION = SLICES.api_version
PARTITION = "partition"
STANDARD = "resource.kubernetes.io"
MOST_IN_SLICE, MOST_SETS_IN_SLICE = 64, 8


@dataclass(frozen=True, slots=True)
class WorldPool:
    """Of one driver: the devices of a node, or those that the nodes of a rack or block share."""

    driver: str
    name: str
    per: str
    place: NodePlace
    devices: tuple[WorldDevice, ...]


def classes(world: World) -> Iterator[Json]:
    """One for each name: devices of one name on other nodes differ by their attributes."""
    for device in {each.name: each for each in reversed(world.devices)}.values():
        yield device_class(device.driver, device.name, device.resource)
        if any(each.partitions for each in world.devices if each.name == device.name):
            yield device_class(device.driver, f"{device.name}-{PARTITION}", "")


def device_class(driver: str, name: str, resource: str) -> Json:
    expression = f'device.driver == "{driver}" && device.attributes["{driver}"].type == "{name}"'
    spec: Json = {"selectors": [{"cel": {"expression": expression}}]}
    if resource:
        spec["extendedResourceName"] = resource
    return {"apiVersion": API_VERSION, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def pools(world: World) -> Iterator[WorldPool]:
    """A place is a node; a rack or a block stands for itself at its first node that has such devices."""
    found: dict[tuple[str, str, str], WorldPool] = {}
    for place in places(world.kinds):
        for device in world.devices:
            if device.kinds and place.kind.name not in device.kinds:
                continue
            name = {"node": place.name, "rack": place.rack, "block": place.block}[device.per]
            key = (device.driver, device.per, name)
            known = found.get(key)
            if known is None:
                found[key] = WorldPool(device.driver, name, device.per, place, (device,))
            elif device not in known.devices:
                found[key] = WorldPool(device.driver, name, device.per, known.place, (*known.devices, device))
    yield from found.values()


def slices(pool: WorldPool, levels: Levels) -> Iterator[Json]:
    """All of a pool. Counters come in slices of their own, before those of the devices that use them."""
    published = [each for device in pool.devices for each in published_devices(device, pool)]
    sets = [each for device in pool.devices for each in counter_sets(device)]
    parts = [
        {"sharedCounters": sets[n : n + MOST_SETS_IN_SLICE]} for n in range(0, len(sets), MOST_SETS_IN_SLICE)
    ]
    parts += [{"devices": published[n : n + MOST_IN_SLICE]} for n in range(0, len(published), MOST_IN_SLICE)]
    for number, part in enumerate(parts):
        name = f"{pool.name}-{pool.driver}-{number}".lower()
        about = {"name": pool.name, "generation": 1, "resourceSliceCount": len(parts)}
        spec = {"driver": pool.driver, "pool": about, **nodes_of(pool, levels), **part}
        yield {"apiVersion": API_VERSION, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def nodes_of(pool: WorldPool, levels: Levels) -> Json:
    if pool.per == "node":
        return {"nodeName": pool.name}
    key = levels.rack if pool.per == "rack" else levels.block
    wanted = {"key": key, "operator": "In", "values": [pool.name]}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}


# -- devices -----------------------------------------------------------------------------------------------


def published_devices(device: WorldDevice, pool: WorldPool) -> Iterator[Json]:
    for index in range(device.count):
        name = f"{device.name}-{index}"
        whole: Json = {
            "name": name,
            "attributes": attributes_of(device, pool, index),
            "capacity": capacity_of(device),
        }
        if device.shared:
            whole["allowMultipleAllocations"] = True
        if device.partitions:
            whole["consumesCounters"] = [uses(name, device.capacity)]
        yield {key: value for key, value in whole.items() if value}
        for partition in device.partitions:
            yield from partitions_of(partition, whole)


def partitions_of(partition: Partition, whole: Json) -> Iterator[Json]:
    for place in range(partition.count):
        name = f"{whole['name']}-{partition.name}-{place}"
        sort = f"{whole['attributes']['type']['string']}-{PARTITION}"
        own = {"type": {"string": sort}, "profile": {"string": partition.name}}
        yield {
            "name": name,
            "attributes": {
                **whole["attributes"],
                **own,
                "uuid": unique(whole["attributes"]["uuid"]["string"], name),
            },
            "capacity": {key: {"value": str(amount)} for key, amount in partition.capacity.items()},
            "consumesCounters": [uses(str(whole["name"]), partition.capacity)],
        }


def counter_sets(device: WorldDevice) -> list[Json]:
    if not device.partitions:
        return []
    counters = {counter(key): {"value": str(amount)} for key, amount in device.capacity.items()}
    return [{"name": f"{device.name}-{index}", "counters": counters} for index in range(device.count)]


def uses(counter_set: str, amounts: Mapping[str, object]) -> Json:
    counters = {counter(key): {"value": str(amount)} for key, amount in amounts.items()}
    return {"counterSet": counter_set, "counters": counters}


def counter(capacity: str) -> str:
    """Counters have names like labels, capacities like variables."""
    return capacity.lower().replace("_", "-").strip("-")


def attributes_of(device: WorldDevice, pool: WorldPool, index: int) -> Json:
    place = pool.place
    known = {"{node}": place.name, "{rack}": place.rack, "{block}": place.block}
    found: Json = {name: attribute(value, known) for name, value in device.attributes.items()}
    found |= {"type": {"string": device.name}, "index": {"int": index}}
    found["uuid"] = unique(f"{pool.per}/{pool.name}", f"{device.name}-{index}")
    if device.pcie_roots:
        root = index * device.pcie_roots // device.count
        found[f"{STANDARD}/pcieRoot"] = {"string": f"pci0000:{root:02x}"}
    if device.numa_nodes:
        found[f"{STANDARD}/numaNode"] = {"int": index * device.numa_nodes // device.count}
    return found


def attribute(value: Attribute, known: Mapping[str, str]) -> Json:
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    for mark, name in known.items():
        value = value.replace(mark, name)
    return {"string": value}


def unique(place: str, name: str) -> Json:
    """The same in every run, so that a world is the same world again."""
    return {"string": str(uuid5(NAMESPACE_DNS, f"{place}/{name}.sandbox.maitred.dev"))}


def capacity_of(device: WorldDevice) -> Json:
    found: Json = {}
    for name, amount in device.capacity.items():
        found[name] = {"value": str(amount)}
        if device.shared:
            found[name]["requestPolicy"] = {"default": str(amount), "validRange": {"min": "1"}}
    return found


# -- on the server -----------------------------------------------------------------------------------------


async def publish(objects: WorldObjects, world: World, nodes: Sequence[Json]) -> None:
    """Classes and slices of the world; `nodes` are its Nodes."""
    owners = {node["metadata"]["name"]: owner(node) for node in nodes}

    async def make(body: Json) -> None:
        of_node = owners.get(body["spec"].get("nodeName", ""))
        metadata = {**body["metadata"], **({"ownerReferences": [of_node]} if of_node else {})}
        await objects.apply({**body, "metadata": metadata})

    await for_each([*classes(world), *all_slices(world)], make)


async def publish_like(objects: WorldObjects, like: Json, nodes: Iterable[str]) -> None:
    """These nodes have the devices that the node has which they are copies of."""
    model = like["metadata"]["name"]
    slices = await objects.list(SLICES, {"fieldSelector": f"spec.nodeName={model}"})
    for name in nodes if slices else ():
        node = await objects.find(NODES.path(name=name))
        if node is not None:
            await for_each([copied(body, model, node) for body in slices], objects.apply)


def copied(published: Json, model: str, node: Json) -> Json:
    """A slice of one node as the same of another, with devices of its own."""
    name, spec = node["metadata"]["name"], published["spec"]
    about = {
        "name": f"{name}{published['metadata']['name'].removeprefix(model)}",
        "ownerReferences": [owner(node)],
    }
    renamed = {"nodeName": name, "pool": {**spec["pool"], "name": name}}
    if "devices" in spec:
        renamed["devices"] = [
            {
                **device,
                "attributes": {
                    **device.get("attributes", {}),
                    "uuid": unique(f"node/{name}", device["name"]),
                },
            }
            for device in spec["devices"]
        ]
    return {"apiVersion": API_VERSION, "kind": SLICES.kind, "metadata": about, "spec": {**spec, **renamed}}


def all_slices(world: World) -> Iterable[Json]:
    return (body for pool in pools(world) for body in slices(pool, world.levels))


def owner(node: Json) -> Json:
    meta = node["metadata"]
    return {"apiVersion": NODES.api_version, "kind": NODES.kind, "name": meta["name"], "uid": meta["uid"]}
