"""Lease: who holds something for a while."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import (
    NOT_NEGATIVE,
    FieldError,
    forbidden,
    invalid,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.names import check_name, label_key
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

STRATEGIES = ("OldestEmulationVersion",)


class LeaseStrategy(Strategy):
    def check(self, body: Body) -> list[FieldError]:
        return list(check_spec(body.get("spec", {})))


def check_spec(spec: Body) -> Iterator[FieldError]:
    if (seconds := spec.get("leaseDurationSeconds", 1)) <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if (transitions := spec.get("leaseTransitions", 0)) < 0:
        yield invalid("spec.leaseTransitions", transitions, NOT_NEGATIVE)
    if strategy := spec.get("strategy"):
        yield from check_strategy(strategy)
    elif spec.get("preferredHolder"):
        yield forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def check_strategy(strategy: str) -> Iterator[FieldError]:
    # The server says `strategy` twice.
    path = "spec.strategy.strategy"
    if "/" in strategy:
        yield from check_name(path, strategy, label_key)
    elif strategy not in STRATEGIES:
        yield unsupported(path, strategy, STRATEGIES)


LEASES = LeaseStrategy()
