"""PodDisruptionBudget: how many pods of a kind may be down at once."""

import re
from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.conditions import check_conditions
from maitred.sandbox.apiserver.kinds.fielderrors import NOT_NEGATIVE, FieldError, invalid
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

BOUNDS = ("minAvailable", "maxUnavailable")
COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class DisruptionBudgetStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        body["status"] = dict.fromkeys(COUNTS, 0)

    def check(self, body: Body) -> list[FieldError]:
        return list(check_spec(body.get("spec", {})))

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        status = new.get("status", {})
        errors = check_conditions(status.get("conditions", []), "status.conditions")
        negative = [name for name in COUNTS if status.get(name, 0) < 0]
        return errors + [invalid(f"status.{name}", status[name], NOT_NEGATIVE) for name in negative]


def check_spec(spec: Body) -> Iterator[FieldError]:
    if all(name in spec for name in BOUNDS):
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in BOUNDS:
        if name in spec:
            yield from check_share(spec[name], f"spec.{name}")


def check_share(share: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(share, int):
        if share < 0:
            yield invalid(path, share, NOT_NEGATIVE)
    elif not re.fullmatch("[0-9]+%", share):
        yield invalid(
            path,
            share,
            "a valid percent string must be a numeric string followed by an ending '%' "
            "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        )
    elif int(share[:-1]) > 100:
        yield invalid(path, share, "must not be greater than 100%")


DISRUPTION_BUDGETS = DisruptionBudgetStrategy()
