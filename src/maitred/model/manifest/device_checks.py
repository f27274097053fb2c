"""What the API server would refuse in the objects of `resource.k8s.io`, as far as a decision would go wrong.

Expressions are not checked here: one that does not compile is a reason why a group waits.
"""

from collections.abc import Collection, Iterable, Sequence

from maitred.model.cel import is_version
from maitred.model.devices.claims import (
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    ExactRequest,
    ResourceClaim,
    ResourceClaimTemplate,
)
from maitred.model.devices.classes import DeviceClass, DeviceSelector
from maitred.model.devices.slices import (
    CapacityRange,
    CapacityRequestPolicy,
    Device,
    DeviceAttribute,
    DeviceTaint,
    DeviceTaintRule,
    Quantity,
    ResourceSlice,
)
from maitred.model.manifest.errors import FieldError
from maitred.model.pod import NodeSelector, PodResourceClaim
from maitred.model.quantity import QuantityError, parse_nano

INT64 = range(-(2**63), 2**63)
PLACES = "nodeName, nodeSelector, allNodes and perDeviceNodeSelection"


def check_slice(published: ResourceSlice) -> None:
    spec = published.spec
    _check_given("spec.driver", spec.driver)
    _check_given("spec.pool.name", spec.pool.name)
    if spec.pool.resource_slice_count < 1:
        raise FieldError("spec.pool.resourceSliceCount", "must be at least 1")
    given = (spec.node_name, spec.node_selector, spec.all_nodes, spec.per_device_node_selection)
    if sum(map(bool, given)) != 1:
        raise FieldError("spec", f"needs exactly one of {PLACES}")
    _check_one_term("spec.nodeSelector", spec.node_selector)
    for position, counters in enumerate(spec.shared_counters):
        for name, counter in counters.counters.items():
            _amount(f"spec.sharedCounters[{position}].counters.{name}.value", counter.value)
    _check_unique("spec.devices", [device.name for device in spec.devices])
    for position, device in enumerate(spec.devices):
        _check_device(f"spec.devices[{position}]", device)


def _check_device(field: str, device: Device) -> None:
    _check_given(f"{field}.name", device.name)
    for name, attribute in device.attributes.items():
        if problem := _attribute_problem(attribute):
            raise FieldError(f"{field}.attributes.{name}", problem)
    for name, capacity in device.capacity.items():
        _amount(f"{field}.capacity.{name}.value", capacity.value)
        if capacity.request_policy is not None:
            _check_policy(f"{field}.capacity.{name}.requestPolicy", capacity.request_policy)
    for position, consumed in enumerate(device.consumes_counters):
        for name, counter in consumed.counters.items():
            _amount(f"{field}.consumesCounters[{position}].counters.{name}.value", counter.value)
    for position, taint in enumerate(device.taints):
        _check_taint(f"{field}.taints[{position}]", taint)


def _attribute_problem(attribute: DeviceAttribute) -> str:
    one = (attribute.int_value, attribute.bool_value, attribute.string, attribute.version)
    lists = (attribute.ints, attribute.bools, attribute.strings, attribute.versions)
    if sum(value is not None for value in one) + sum(map(bool, lists)) != 1:
        return "needs exactly one value"
    for number in (attribute.int_value, *attribute.ints):
        if number is not None and number not in INT64:
            return f"{str(number)[:40]} is out of range"
    for version in (attribute.version, *attribute.versions):
        if version is not None and not is_version(version):
            return f"{version[:60]!r} is not a semantic version, such as 1.2.3"
    return ""


def _check_policy(field: str, policy: CapacityRequestPolicy) -> None:
    if policy.default is not None:
        _amount(f"{field}.default", policy.default)
    for position, value in enumerate(policy.valid_values):
        _amount(f"{field}.validValues[{position}]", value)
    if policy.valid_range is not None:
        _check_range(f"{field}.validRange", policy.valid_range)


def _check_range(field: str, valid: CapacityRange) -> None:
    if valid.min is None:
        raise FieldError(f"{field}.min", "is required")
    least = _amount(f"{field}.min", valid.min)
    if valid.max is not None and _amount(f"{field}.max", valid.max) < least:
        raise FieldError(f"{field}.max", f"{valid.max} is less than min, {valid.min}")
    if valid.step is not None and _amount(f"{field}.step", valid.step) <= 0:
        raise FieldError(f"{field}.step", "must be more than 0")


def check_named_claims(claims: Sequence[PodResourceClaim]) -> None:
    """The claims of a pod or of a PodGroup."""
    _check_unique("spec.resourceClaims", [one.name for one in claims])
    for position, one in enumerate(claims):
        _check_given(f"spec.resourceClaims[{position}].name", one.name)
        if bool(one.resource_claim_name) == bool(one.resource_claim_template_name):
            names = "resourceClaimName and resourceClaimTemplateName"
            raise FieldError(f"spec.resourceClaims[{position}]", f"needs exactly one of {names}")


def check_claim(claim: ResourceClaim) -> None:
    _check_devices("spec.devices", claim.spec.devices)


def check_template(template: ResourceClaimTemplate) -> None:
    _check_devices("spec.spec.devices", template.spec.spec.devices)


def _check_devices(field: str, claim: DeviceClaim) -> None:
    _check_unique(f"{field}.requests", [request.name for request in claim.requests])
    names = {request.name for request in claim.requests}
    for position, request in enumerate(claim.requests):
        _check_request(f"{field}.requests[{position}]", request)
        names.update(f"{request.name}/{one.name}" for one in request.first_available)
    for position, constraint in enumerate(claim.constraints):
        _check_constraint(f"{field}.constraints[{position}]", constraint)
        _check_known(f"{field}.constraints[{position}].requests", constraint.requests, names)
    for position, own in enumerate(claim.config):
        _check_known(f"{field}.config[{position}].requests", own.requests, names)


def _check_request(field: str, request: DeviceRequest) -> None:
    _check_given(f"{field}.name", request.name)
    if (request.exactly is None) == (not request.first_available):
        raise FieldError(field, "needs exactly one of exactly and firstAvailable")
    if request.exactly is not None:
        _check_exact(f"{field}.exactly", request.exactly)
    _check_unique(f"{field}.firstAvailable", [one.name for one in request.first_available])
    for position, one in enumerate(request.first_available):
        _check_given(f"{field}.firstAvailable[{position}].name", one.name)
        _check_exact(f"{field}.firstAvailable[{position}]", one)


def _check_exact(field: str, exact: ExactRequest) -> None:
    _check_given(f"{field}.deviceClassName", exact.device_class_name)
    if exact.count < 0 or exact.count not in INT64:
        raise FieldError(f"{field}.count", f"{str(exact.count)[:40]} is not a number of devices")
    if exact.count and exact.allocation_mode == "All":
        raise FieldError(f"{field}.count", "is not allowed with allocationMode All")
    _check_selectors(f"{field}.selectors", exact.selectors)
    for name, amount in (exact.capacity.requests if exact.capacity else {}).items():
        _amount(f"{field}.capacity.requests.{name}", amount)


def _check_constraint(field: str, constraint: DeviceConstraint) -> None:
    attribute = constraint.match_attribute or constraint.distinct_attribute
    if not attribute:
        raise FieldError(field, "needs matchAttribute or distinctAttribute")
    if "/" not in attribute:
        raise FieldError(field, f"{attribute[:60]!r} has no domain: write DOMAIN/NAME")


def check_class(device_class: DeviceClass) -> None:
    _check_selectors("spec.selectors", device_class.spec.selectors)


def check_taint_rule(rule: DeviceTaintRule) -> None:
    _check_taint("spec.taint", rule.spec.taint)


def _check_taint(field: str, taint: DeviceTaint) -> None:
    _check_given(f"{field}.key", taint.key)


def _check_selectors(field: str, selectors: Iterable[DeviceSelector]) -> None:
    for position, one in enumerate(selectors):
        if one.cel is None or not one.cel.expression:
            raise FieldError(f"{field}[{position}].cel.expression", "is required")


def _check_one_term(field: str, selector: NodeSelector | None) -> None:
    if selector is not None and len(selector.node_selector_terms) != 1:
        raise FieldError(f"{field}.nodeSelectorTerms", "must have exactly one term")


def _check_given(field: str, value: str) -> None:
    if not value:
        raise FieldError(field, "is required")


def _check_unique(field: str, names: list[str]) -> None:
    seen = set[str]()
    for position, name in enumerate(names):
        if name in seen:
            raise FieldError(f"{field}[{position}].name", f"{name[:60]!r} is there twice")
        seen.add(name)


def _check_known(field: str, said: Iterable[str], names: Collection[str]) -> None:
    for position, name in enumerate(said):
        if name not in names:
            raise FieldError(f"{field}[{position}]", f"there is no request {name[:60]!r}")


def _amount(field: str, quantity: Quantity) -> int:
    try:
        return parse_nano(quantity)
    except QuantityError as error:
        raise FieldError(field, str(error)[:200]) from None
