"""How devices are published and tainted, and how claims to them come to be and change."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.devicerules import check_claim_status, device_of, results_of
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, too_many
from maitred.sandbox.apiserver.kinds.rules import check_conditions, check_struct
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.times import now
from maitred.sandbox.apiserver.schema.types import Body

CLAIM_STATUS = struct("resource.v1.ResourceClaimStatus")
MOST_CONDITIONS = 8


class ResourceClaimStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        count_devices(body.get("spec", {}))

    def before_status(self, new: Body, old: Body) -> None:
        """What drivers say of a device goes with its allocation."""
        status = new.setdefault("status", {})
        gone = {device_of(result) for result in results_of(old.get("status", {}))}
        gone -= {device_of(result) for result in results_of(status)}
        devices = [device for device in status.pop("devices", ()) if device_of(device) not in gone]
        if devices:
            status["devices"] = devices

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        status, before = new.get("status", {}), old.get("status", {})
        return [
            *check_struct(CLAIM_STATUS, "status", status, before),
            *check_claim_status(new, status, before, "status"),
        ]


class TemplateStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        count_devices(body.get("spec", {}).get("spec", {}))


class SliceStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        for device in body.get("spec", {}).get("devices", ()):
            for taint in device.get("taints", ()):
                taint.setdefault("timeAdded", now())


class TaintRuleStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        taint = body.get("spec", {}).get("taint")
        if taint:
            taint.setdefault("timeAdded", now())

    def before_update(self, new: Body, old: Body) -> None:
        """Tolerations count from when a device got this effect, not from when the rule was made."""
        taint, before = new["spec"]["taint"], old["spec"]["taint"]
        if taint.get("effect") != before.get("effect") and taint["timeAdded"] == before["timeAdded"]:
            taint["timeAdded"] = now()

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        count = len(new.get("status", {}).get("conditions", ()))
        full = [too_many("status.conditions", count, MOST_CONDITIONS)] if count > MOST_CONDITIONS else []
        return [*check_conditions(new), *full]


RESOURCE_CLAIMS = ResourceClaimStrategy()
RESOURCE_CLAIM_TEMPLATES = TemplateStrategy()
RESOURCE_SLICES = SliceStrategy()
DEVICE_TAINT_RULES = TaintRuleStrategy()


def count_devices(spec: Body) -> None:
    """One, of a request that says neither how many nor all."""
    for request in alternatives(spec):
        if request.get("allocationMode") == "ExactCount" and not request.get("count"):
            request["count"] = 1


def alternatives(spec: Body) -> Iterator[Body]:
    for request in spec.get("devices", {}).get("requests") or ():
        if "exactly" in request:
            yield request["exactly"]
        yield from request.get("firstAvailable", ())
