"""Lease: who holds something for a while."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import NOT_NEGATIVE, FieldError, invalid
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

UNHEARD = ("strategy", "preferredHolder")
"""For leaders that the server chooses: a feature that is off."""


class LeaseStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        drop_unheard(body)

    def check(self, body: Body) -> list[FieldError]:
        return list(check_spec(body.get("spec", {})))

    def before_update(self, new: Body, old: Body) -> None:
        drop_unheard(new)


def drop_unheard(body: Body) -> None:
    for name in UNHEARD:
        body.get("spec", {}).pop(name, None)


def check_spec(spec: Body) -> Iterator[FieldError]:
    if (seconds := spec.get("leaseDurationSeconds", 1)) <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if (transitions := spec.get("leaseTransitions", 0)) < 0:
        yield invalid("spec.leaseTransitions", transitions, NOT_NEGATIVE)


LEASES = LeaseStrategy()
