"""What members of a gang claim that is described by options: devices of a class, and of one model."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from maitred.cluster.devices.hardware import DeviceKind, kind_of, model_expression
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes, spec_of
from maitred.cluster.devices.pools import PooledDevice
from maitred.cluster.devices.requests import program_of, suiting
from maitred.cluster.snapshot import Shape, Snapshot
from maitred.explain.proposal.nearest import MOST_NAMED, nearest
from maitred.explain.remedies.changes import with_members_like
from maitred.model.devices.claims import DeviceClaim, ExactRequest
from maitred.model.devices.classes import CelSelector, DeviceSelector
from maitred.model.manifest import InputError
from maitred.model.needs import Needs


def claims_devices(snapshot: Snapshot, numbers: list[int]) -> bool:
    return any(_specs(snapshot, numbers))


def check_device_classes(snapshot: Snapshot, numbers: list[int]) -> None:
    """Raises InputError."""
    known = snapshot.inventory.classes
    for spec in _specs(snapshot, numbers):
        for request in spec_of(spec).requests:
            name = "" if request.exactly is None else request.exactly.device_class_name
            if name not in known:
                what = f"no DeviceClass is called {name!r}; {nearest(name, known)}"
                raise InputError("--device-class", "", "", what)


def with_device_model(snapshot: Snapshot, model: str, numbers: list[int]) -> Snapshot:
    """Claims are for devices of this model only. Raises InputError."""
    chosen = {spec: _selecting(spec, model, snapshot.inventory) for spec in _specs(snapshot, numbers)}

    def of_model(shape: Shape, needs: Needs) -> tuple[Shape, Needs]:
        return replace(shape, devices=tuple(map(changed, shape.devices))), needs

    def changed(need: ClaimNeed) -> ClaimNeed:
        return msgspec.structs.replace(need, spec=chosen.get(need.spec, need.spec))

    for number in numbers:
        snapshot = with_members_like(snapshot, number, of_model)
    return snapshot


def _specs(snapshot: Snapshot, numbers: list[int]) -> list[bytes]:
    shapes = {shape for number in numbers for shape in snapshot.groups[number].shapes.tolist()}
    return sorted({need.spec for shape in shapes for need in snapshot.shapes[shape].devices if need.spec})


def _selecting(spec: bytes, model: str, inventory: Inventory) -> bytes:
    claim = spec_of(spec)
    found = {kind_of(device): model_expression(device) for device in _suiting(spec, inventory)}
    expression = " || ".join(found[kind] for kind in sorted(_matching(model, set(found))))
    selector = DeviceSelector(CelSelector(expression))
    requests = tuple(
        msgspec.structs.replace(request, exactly=_with_selector(request.exactly, selector))
        for request in claim.requests
    )
    return spec_bytes(DeviceClaim(requests, claim.constraints, claim.config))


def _with_selector(request: ExactRequest | None, selector: DeviceSelector) -> ExactRequest | None:
    if request is None:
        return None
    return msgspec.structs.replace(request, selectors=(*request.selectors, selector))


def _suiting(spec: bytes, inventory: Inventory) -> Iterator[PooledDevice]:
    for ask in program_of(spec, inventory).asks:
        for pool in inventory.pools.values():
            bits = suiting(ask, pool, inventory).bits
            yield from (device for place, device in enumerate(pool.devices) if bits >> place & 1)


def _matching(model: str, kinds: set[DeviceKind]) -> list[DeviceKind]:
    """Those of the one model that has this in its name."""
    matching = [kind for kind in kinds if model.lower() in kind.model.lower()]
    exact = [kind for kind in matching if kind.model.lower() == model.lower()]
    found = exact or matching
    models = sorted({kind.model for kind in found})
    if not models:
        hint = nearest(model, (kind.model for kind in kinds if kind.model))
        raise InputError("--model", "", "", f"no device of the class has {model!r} in its model; {hint}")
    if len(models) > 1:
        which = ", ".join(models[:MOST_NAMED])
        raise InputError(
            "--model", "", "", f"{model!r} matches several models: {which}; give more of the name"
        )
    return found
